#!/usr/bin/perl
# The calls of examples/nvtx.h to a tool: NVTX hands its calls to nvtx/injection.c, which judges them, on the
# libcudart substitute. Mistakes planted in copies of the observer must be found. It must not know how the arena
# places blocks.
# Run: make test TESTS=tests/real/nvtx.t
# Runs once: it builds programs of its own.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin/../..: $!";
delete @ENV{qw(GPUARENA_SIM GPUARENA_CONF LD_PRELOAD LD_LIBRARY_PATH NVTX_INJECTION64_PATH)};
my $build = $ENV{BUILD} // 'build';
my $dir   = tempdir(CLEANUP => 1);
my @cuda  = split ' ', $ENV{CUDA_FLAGS} // '-isystem /usr/local/cuda/include';
my @cc    = (split(' ', $ENV{CC} // 'gcc'), qw(-std=c99 -D_POSIX_C_SOURCE=200809L), @cuda);

plan skip_all => 'no CUDA Toolkit' if grep { $_ eq '-DGPUARENA_NO_CUDA' } @cuda;
plan skip_all => 'the CUDA Toolkit has no nvtx3/nvToolsExtMem.h'
    if system "echo '#include <nvtx3/nvToolsExtMem.h>' | @cc -x c - -fsyntax-only 2>/dev/null";

sub text_of {
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!";
    local $/;
    return scalar <$file>;
}

# Compiles with these words; 1: done.
sub compiled { return system(@cc, qw(-Wall -Wextra -pedantic -Werror -I.), @_) == 0 }

# Builds the example with another text in the place of one in its files; dies where that text is not there. The header
# is linked as the stress program has it.
sub built {
    my ($file, $from, $to) = @_;
    for my $name (qw(15_nvtx.c nvtx.h example.h)) {
        my $text = text_of("examples/$name");
        if ($file && $file eq $name) { $text =~ s/\Q$from\E/$to/ or die "$name has no '$from'" }
        $text =~ s{"\.\./gpuarena\.h"}{"gpuarena.h"};
        $text =~ s/^#define GPUARENA_IMPLEMENTATION\n//m;
        open my $copy, '>', "$dir/$name" or die "$dir/$name: $!";
        print $copy $text;
    }
    return compiled("$dir/15_nvtx.c", "$build/obj/stress/policy/arena.o", "-L$build/sim", qw(-lcudart -lpthread -ldl -o), "$dir/example");
}

# Runs it with these VARIABLE=VALUE words: (status, stdout, stderr).
sub run_it {
    my @words = map { "'$_'" } "LD_LIBRARY_PATH=$build/sim", @_;
    system "env @words '$dir/example' >$dir/out 2>$dir/err";
    return ($?, text_of("$dir/out"), text_of("$dir/err"));
}

# The tool's report on a run without mistakes, by the run's own counts.
sub all_well {
    my ($out) = @_;
    my ($segments, $blocks) = $out =~ /^(\d+) segments, (\d+) blocks$/ or return "it counts nothing: $out";
    return "nvtx: $segments pools, $segments ended; $blocks regions, $blocks ended, 10 resized; 0 mistakes\n";
}

my $tool = "NVTX_INJECTION64_PATH=$dir/injection.so";

sub tells_the_truth {
    my ($where, @environment) = @_;
    my ($status, $out, $err) = run_it($tool, @environment);
    is($status, 0, "$where: the example runs") or diag($err);
    is($err, all_well($out), "$where: the tool knows each segment and each block, and that all have ended");
    return $out =~ /^(\d+) segments/ ? $1 : 0;
}

ok(compiled(qw(-shared -fPIC tests/real/nvtx/injection.c -o), "$dir/injection.so"),
   'the library in the place of the tool is built');
ok(built(), 'so is the example');
is_deeply([(run_it())[0, 2]], [0, ''], 'without a tool it runs and says nothing');
cmp_ok(tells_the_truth('segments'), '<', 240, 'segments: they are fewer than blocks');
tells_the_truth('exact segments', 'GPUARENA_CONF=growth=exact');
tells_the_truth('a fixed arena', 'GPUARENA_CONF=growth=fixed');
is(tells_the_truth('passthrough', 'GPUARENA_CONF=debug=passthrough'), 240, 'passthrough: a segment for each block');

my @planted = (
    ['a free is not told', 'case GPUARENA_ACTION_FREE:', 'case GPUARENA_ACTION_FREE: if (0)'],
    ['an allocation is not told', 'case GPUARENA_ACTION_ALLOC:', 'case GPUARENA_ACTION_ALLOC: if (0)'],
    ['a release is not told', 'case GPUARENA_ACTION_RELEASE:', 'case GPUARENA_ACTION_RELEASE: if (0)'],
    ['a resize is not told', 'case GPUARENA_ACTION_RESIZE:', 'case GPUARENA_ACTION_RESIZE: if (0)'],
    ['a region is too long', 'block->ptr, block->requested_bytes', 'block->ptr, block->bytes + 1'],
    ['a pool is too short', 'segment->ptr, segment->bytes', 'segment->ptr, segment->bytes / 2'],
);
for my $mistake (@planted) {
    my ($what, @change) = @$mistake;
    ok(built('nvtx.h', @change), "$what: it is built");
    my ($status, $out, $err) = run_it($tool);
    isnt($err, all_well($out), "$what: the tool notices") or diag($out);
    like($err, qr/^nvtx: .* mistakes$/m, "$what: and is there to notice");
}

ok(built('15_nvtx.c', 'config.driver =', 'config.backing = GPUARENA_BACKING_PAGED; config.driver ='),
   'a paged arena:');
my ($status, $out, $err) = run_it($tool);
is($status, 1 << 8, 'it is refused');
is($err, "a paged arena has no pools\n", 'and told why');

done_testing;

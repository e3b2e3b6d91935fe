#!/usr/bin/perl
# Compiles programs of users against gpuarena.h, by the script that lies with them, and runs on the libcudart
# substitute those that capture a graph, serve a model, resize and free in scopes; and PyTorch's allocator, by the
# calls that PyTorch made in recorded steps. It must not know how the header serves them.
# Run: make test TESTS=tests/real/clients.t (GPUARENA_CLIENTS: their folder, default ../shared/clients)
# Runs once: it builds programs of its own.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $build   = $ENV{BUILD} // 'build';
my $root    = "$FindBin::Bin/../..";
my $clients = $ENV{GPUARENA_CLIENTS} // "$root/../shared/clients";
my $dir     = tempdir(CLEANUP => 1);
my @cuda    = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';
my $toolkit = !grep { $_ eq '-DGPUARENA_NO_CUDA' } @cuda;

# needs of each beside a compiler
my %needs = (
    '01_quickstart.c' => '',    '01_quickstart.cu' => 'nvcc', '03_adapters.cu' => 'nvcc', '04_cupy.c'    => '',
    '02_torch.c'      => 'cuda',
    '06_capture.c'    => 'cuda', '07_budget.c'     => '', '08_llm.c'       => '',     '09_error.c'     => '',     '11_threads.c' => '',
    '13_resize_scopes.c' => '',  '16_cxx98.cc'     => '',     '17_lambda.cc'   => '',
);

plan skip_all => "no client programs in $clients: set GPUARENA_CLIENTS" unless -e "$clients/build.sh";

sub missing_for {
    my ($client) = @_;
    return 'the CUDA Toolkit' if $needs{$client} && !$toolkit;
    return 'nvcc' if $needs{$client} eq 'nvcc' && system('nvcc --version >/dev/null 2>&1');
    return -e "$clients/$client" ? '' : 'the file';
}

sub compiles {
    my ($client) = @_;
    my $output = qx(bash '$clients/build.sh' '$root' '$client' 2>&1);
    my $status = $?;
    SKIP: {
        skip("$client: no compiler for it", 1) if $output =~ /^0 passed, 0 failed/m;
        is($status, 0, "$client compiles") or diag($output);
    }
}

# Compiles and links; 1: done.
sub linked {
    my ($made, @words) = @_;
    my @sanitize = qx(nm -D "$build/libcudart-sim.so" 2>/dev/null | grep -c __asan_init) > 0
        ? '-fsanitize=address,undefined' : ();
    my @strict = qw(-std=c99 -Wall -Wextra -pedantic -D_POSIX_C_SOURCE=200809L);
    my @command = (split(' ', $ENV{CC} // 'gcc'), @strict, @sanitize, @cuda, "-I$root", @words, '-o', "$dir/$made",
                   "-L$build/sim", '-lcudart', '-lpthread', '-ldl');
    return is(system(@command), 0, "$made is linked") || diag("@command") && 0;
}

# The header's implementation as the stress program has it, in the place of one more copy.
my @implementation = ('-DGPUARENA_IMPLEMENTATION_DONE', "$build/obj/stress/policy/arena.o");

# Client programs that are linked with a main of their own and run on the substitute, with each GPUARENA_SIM, and
# their output.
my @runs = (
    ['06_capture.c', 'capture', ['work=0', 'work=1000000'], qr/\Alive 0, failures 0\n\z/, 'leaves nothing, with no finding'],
    ['07_budget.c', 'budget', [''], qr/\A5000 and 11264 MiB, 16264 of 16264 in all\n\z/, 'each tenant has its limit to the byte'],
    ['08_llm.c', 'llm', ['device=2G'], qr/\A(?=.*^gpuarena_live_bytes\{arena="serve"\}\ ([1-9]\d*)$)(?=.*^gpuarena_limit_bytes\{arena="serve"\}\ \1$)
        .*^kv:\ (\d+)\ blocks,\ \2\ allocations\n\z/msx, 'fills its limit with its cache, and its tag knows every block'],
    ['13_resize_scopes.c', 'scopes', [''], qr/\A16384 MiB in place, then 1; 2 blocks freed by their scope; the arena has ended\n\z/,
     'grows in place, frees its scope, and ends'],
);

sub runs {
    my ($client, $name, $sims, $prints, $what) = @_;
    linked($name, @implementation, "$clients/$client", "$FindBin::Bin/clients/${name}_main.c") or return;
    for my $sim (@$sims) {
        local @ENV{qw(LD_LIBRARY_PATH GPUARENA_SIM)} = ("$build/sim", $sim);
        my $output = qx("$dir/$name" 2>&1);
        ok($? == 0 && $output =~ $prints, "$name $sim: $what") or diag("status $?\n", $output);
    }
}

# The library is loaded as PyTorch does it, and called by its names alone. Sentences of refusals go to stderr.
sub serves_pytorch {
    my ($traces, @configurations) = @_;
    open my $whole, '>', "$dir/whole.c" or die "$dir/whole.c: $!";
    print $whole "#define GPUARENA_IMPLEMENTATION\n#include \"gpuarena.h\"\n";
    close $whole;
    linked('pool.so', qw(-shared -fPIC), "$clients/02_torch.c", "$dir/whole.c") or return;
    linked('torch', "$FindBin::Bin/clients/torch_main.c") or return;
    my @traces = map { "'$traces/pytorch/medium_${_}_training.trace'" } 128, 512;
    local $ENV{LD_LIBRARY_PATH} = "$build/sim";
    local $ENV{GPUARENA_SIM} = 'device=16G*2,work=20000';
    for my $text (@configurations) {
        local $ENV{GPUARENA_CONF} = $text;
        my $output = qx("$dir/torch" "$dir/pool.so" @traces 2>"$dir/said");
        is($?, 0, "PyTorch's calls are served, GPUARENA_CONF=$text") or diag($output, qx(cat "$dir/said"));
        is($output, "device 0: 7190 allocations, 885 left, 1 shared, 1 marks, requested peak 7013335044, live 0, reserved 0, " .
                    "misuse 0\ndevice 1: 8255 allocations, 885 left, 1 shared, 1 marks, requested peak 12426629128, live 0, " .
                    "reserved 0, misuse 0\n", '.. in sum, and nothing is left');
        my $said = qx(cat "$dir/said");
        is(scalar(() = $said =~ /^gpuarena: alloc: .*\b1073741824 bytes\b.*limit.*$/mg), 2, '.. both refusals are told');
        is($said =~ tr/\n//, 2, '.. and nothing else') or diag($said);
    }
}

for my $client (sort keys %needs) {
    SKIP: {
        my $missing = missing_for($client);
        skip("$client: not there: $missing", 1) if $missing;
        compiles($client);
    }
}
for my $run (@runs) {
    SKIP: {
        skip('the substitute is not there: built without the CUDA Toolkit', 1) unless -e "$build/libcudart-sim.so";
        skip("$run->[0]: not there", 1) unless -e "$clients/$run->[0]";
        runs(@$run);
    }
}
SKIP: {
    my $traces = $ENV{GPUARENA_TRACES} // "$root/../shared/traces";
    skip('the substitute is not there: built without the CUDA Toolkit', 1) unless -e "$build/libcudart-sim.so";
    skip("PyTorch's client is not there", 1) unless -e "$clients/02_torch.c";
    skip("no recorded steps in $traces: set GPUARENA_TRACES", 1) unless -e "$traces/pytorch/medium_512_training.trace";
    serves_pytorch($traces, '', 'backing=segments');
}
done_testing();

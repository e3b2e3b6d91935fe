#!/usr/bin/perl
# Threads as the program has them: larson, --threads and joined workloads; the same bytes for a seed; times of real
# threads; and what verification makes of a header that loses the order of streams.
# It must not test how turns are drawn: test_workload_mix.c does.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @timed = qw(host_ns_per_op alloc_p50_ns alloc_p99_ns alloc_max_ns free_p50_ns);
my @apart = qw(hit_p50_ns hit_p99_ns miss_p50_ns);

# ---- times of real threads
my ($timed, @real) = csv(qw(-w larson:blocks=100,uniform:n=1000 -p raw,segments,paged --threads 4));
is($timed->{code}, 0, 'real threads complete, and the sums are exact');
for my $row (@real) {
    my @missing = grep { $row->{$_} !~ /^\d+(?:\.\d)?$/ } @timed;
    ok(!@missing, "$row->{workload}/$row->{policy}: all times are there") or print "#   not: @missing\n";
}
my $verified = stress(qw(run -w larson:blocks=100,uniform:n=1000 -p raw,segments,paged --threads 4 -q --no-timing --out csv=-));
my @plain = rows($verified->{out});
is(join(' ', map { $_->{hit_p50_ns} eq '' ? '-' : '+' } @real), '- + + - + +', 'hits and misses apart: raw has no hits');
ok($_->{miss_p50_ns} ne '', 'and misses alone') for @real[0, 3];
is(join('', map { @$_{@timed, @apart} } @plain), '', 'without times none of them');
for my $row (@real, @plain) { delete @$row{@timed, @apart} }
is(join(' ', map { my $row = $_; map { $row->{$_} } sort keys %$row } @real),
   join(' ', map { my $row = $_; map { $row->{$_} } sort keys %$row } @plain), 'nothing else depends on them');
my $met = stress(qw(run -w uniform:n=300 --threads 4 -p segments --limit 100M));
is($met->{code}, 0, 'a limit that is met: threads stop, exit 0');
my $rival = stress(qw(run -w uniform:n=100 --threads 2 -p cub-library));
if ($rival->{code} == 77) { skip('cub-library is not in this build') }
else { ok($rival->{out} =~ m{^uniform:n=100/cub-library: not timed on several threads$}m, 'cub-library is not timed') }

# ---- CUDA, as the substitute has it
if (built_with_cuda()) {
    local $ENV{LD_LIBRARY_PATH} = ($ENV{BUILD} || 'build') . '/sim:' . ($ENV{LD_LIBRARY_PATH} // '');
    my ($cuda, @there) = csv(qw(-w larson:blocks=10,uniform:n=200 --threads 3 -p raw,segments,paged --device cuda:0));
    is($cuda->{code} . join('', map { " $_->{status}" } @there), '0' . ' ok' x 6, 'threads on a CUDA device');
    ok((grep { $_->{host_ns_per_op} eq '' } @there) == 0, 'and their times');
} else {
    skip('no CUDA in this build');
}

# ---- a header that loses order: what is planted, on which workload
my @planted = (
    ['a hit takes another stream\'s block without a wait',
     '    return gpuarena__better(arena, index, gpuarena__record_search(arena, 0, bytes, req));',
     'for (uint32_t at = 1; !index && at < arena->streams.count; at++)
          if (!arena->streams.list[at].home) index = gpuarena__record_search(arena, at, bytes, req);
      return index ? index : gpuarena__record_search(arena, 0, bytes, req);'],
    ['the rest of a split waits for nothing', '    gpuarena__bin_insert(arena, gpuarena__bins_of(arena, heap, rest), node->next, rest);',
     '    rest->record = 0; gpuarena__bin_insert(arena, gpuarena__bins_of(arena, heap, rest), node->next, rest);'],
);

# The program with this header; '' or why not.
sub build {
    my ($name, $header) = @_;
    my $build = $ENV{BUILD} || 'build';
    my ($cc, $cuda) = ($ENV{CC} || 'cc', built_with_cuda());
    my $flags = $ENV{CUDA_FLAGS} // ($cuda ? '-isystem /usr/local/cuda/include' : '-DGPUARENA_NO_CUDA');
    my $libraries = $cuda ? "-L$build/sim -lcudart -Wl,-rpath,$build/sim" : '';
    spew("$name.h", $header);
    my $source = spew("$name.c", "#define GPUARENA_IMPLEMENTATION\n#include \"$name.h\"\n");
    return '' if system("$cc -std=c99 -D_POSIX_C_SOURCE=200809L $flags -O0 -w $source $build/obj/stress/main.o "
                        . "$build/libstress.a $libraries -lpthread -lm -ldl -o $folder/$name 2>$folder/$name.err") == 0;
    return slurp("$folder/$name.err");
}

my $header = slurp('gpuarena.h');
my $why = build('sound', $header);
if ($why) {
    print "#   $_\n" for (split /\n/, $why)[0 .. 2];
    skip('the program cannot be linked anew with this build\'s objects');
} else {
    my @words = qw(run -p segments,paged --no-timing -q -w uniform:n=500,larson:blocks=25 --threads 4);
    $stress = "$folder/sound";
    is(stress(@words)->{code}, 0, 'the header as it is passes');
    for my $at (0 .. $#planted) {
        my ($name, $text, $instead) = @{$planted[$at]};
        my $count = () = $header =~ /\Q$text\E/g;
        is($count, 1, "to plant: $text");
        $why = build("planted$at", $header =~ s/\Q$text\E/$instead/r);
        is($why, '', "$name: it builds");
        $stress = "$folder/planted$at";
        my $found = stress(@words);
        is($found->{code}, 3, "$name: exit 3");
        ok($found->{err} =~ /verify_failed: op \d+: device: .*not ordered after/, "$name: and what is not in order")
            or print "#   $found->{err}\n";
        is(stress(@words[0 .. 4], qw(-w uniform:n=300+uniform:n=300+producer:n=1,steps=1))->{code}, 3,
           "$name: seen, too, on threads without work of their own beside one with it");
    }
}
done();

#!/usr/bin/perl
# Threads as the program has them: times of real threads, and what else a row says, which does not depend on them.
# It must not test how turns are drawn, nor who is found out on threads: test_workload_mix.c and test_pass_seams.c do.
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

done();

#!/usr/bin/perl
# Measurements of `stress run`, on real threads too, and that nothing else depends on them. Answers where nothing is
# timed: cases/*.case.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @timed = qw(host_ns_per_op alloc_p50_ns alloc_p99_ns alloc_max_ns free_p50_ns);
my @apart = qw(hit_p50_ns hit_p99_ns miss_p50_ns);                                # timed, where there are such

# ---- where times were measured
my ($timed, $untimed, $part) = map { JSON::PP->new->decode(stress('run', '-w', 'uniform:n=50', '-p', 'raw', '-q', @$_, '--out', 'json=-')->{out} =~ s/\A#.*\n//r) }
    [], ['--no-timing'], ['--shard', '0/2'];
is(join(' ', sort keys %{$timed->{host}}), 'argv compiler cpu cpus date flags governor kernel load', 'times come with what they were measured on');
ok($timed->{host}{compiler} =~ /^(?:gcc|clang) \d/ && $timed->{host}{flags} =~ /-\w/ && $timed->{host}{cpus} >= 1, 'compiler, flags, processors');
is(join(' ', @{$timed->{host}{argv}}[1 .. 5]), 'run -w uniform:n=50 -p raw', 'how');
ok($timed->{host}{date} =~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ && $timed->{host}{kernel} =~ /^\w+ \d/, 'when, and under what');
ok(!exists $untimed->{host} && join(' ', sort keys %{$part->{host}}) eq join(' ', sort keys %{$timed->{host}}), 'not without times; in a shard, too');

ok(stress(qw(run -w uniform:n=9 -p raw -v))->{err} =~ /^stress: .*, \d+ processors, load /m, '-v says it in a line');

# ---- values that are measured, and values that do not change
my @once = csv('-w', 'uniform:n=3000', '-p', 'raw,segments', '--seed', 7);
my @again = csv('-w', 'uniform:n=3000', '-p', 'raw,segments', '--seed', 7);
for my $index (1, 2) {
    ok(scalar($once[$index]{$_} =~ /^\d+(?:\.\d)?$/), "$once[$index]{policy}: $_ is measured") for @timed;
    delete @{$_}{@timed, @apart} for $once[$index], $again[$index];
    is(encode_json([map { $once[$index]{$_} } sort keys %{$once[$index]}]),
       encode_json([map { $again[$index]{$_} } sort keys %{$again[$index]}]), "row $index is the same, time aside");
}
my ($few) = (csv('-w', 'uniform:n=100', '-p', 'segments'))[1];
ok($few->{alloc_p99_ns} eq '' && $few->{alloc_p50_ns} ne '', 'too few samples for a p99 leave it empty');

my %points = (19 => '', 20 => '500', 99 => '500 750', 100 => '500 750 900', 1000 => '500 750 900 950 990', 2000 => '500 750 900 950 990 995');
my $few_points = stress('run', '-w', join(',', map { "uniform:n=$_" } sort { $a <=> $b } keys %points), qw(-p raw -q --out), 'latency=-');
my %told_points;
push @{$told_points{"$_->{workload} $_->{call}"}}, $_->{per_mille} for rows($few_points->{out});
is(join('|', map { join ' ', @{$told_points{"uniform:n=$_ alloc"} // []} } sort { $a <=> $b } keys %points), join('|', map { $points{$_} } sort { $a <=> $b } keys %points),
   'so in latency: a percentile where ten samples lie above it');

# ---- times of real threads
my ($threaded, @real) = csv(qw(-w larson:blocks=100,uniform:n=1000 -p raw,segments,paged --threads 4));
is($threaded->{code}, 0, 'real threads complete, and the sums are exact');
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

done();

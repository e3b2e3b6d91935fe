#!/usr/bin/perl
# --repeat: what JSON says of repeats together.
# --rounds, and files of them: cases/passes.case. batch's --repeat: cases/search.case.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

# ---- repeats in JSON: their histograms are added up bucket by bucket; and what a shard's JSON says
my $odd = spew("odd \"name\"\nof two lines.trace", "gpuarena-trace 1\na 1 100 0\nf 1\n");
my $repeated = JSON::PP->new->utf8->decode(stress('run', '-w', "uniform:n=300,uniform:n=20,replay:$odd", '-p', 'raw,segments', '--repeat', 3, '--rate', 1000000,
                                               '--no-timing', '-q', '--out', 'json=-')->{out});
is(join(' ', map { "$_->{policy} $_->{repeats} $_->{rate}{waited}{n}" } @{$repeated->{repeats}}),
   'raw 3 1800 segments 3 1800 raw 3 120 segments 3 120 raw 3 6 segments 3 6', 'three times as many samples as one row has');
for my $of (@{$repeated->{repeats}}[0, 4]) {
    my %sum;
    for my $case (grep { $_->{workload} eq $of->{workload} && $_->{policy} eq $of->{policy} } @{$repeated->{cases}}) { $sum{$_->[0]} += $_->[1] for @{$case->{rate}{waited}{bins}} }
    is(join(' ', map { "$_->[0]:$_->[1]" } @{$of->{rate}{waited}{bins}}), join(' ', map { "$_:$sum{$_}" } sort { $a <=> $b } keys %sum), 'bucket by bucket');
    is($of->{rate}{waited}{p99} // 'null', $of->{rate}{waited}{n} < 1000 ? 'null' : $of->{rate}{waited}{p99}, 'a percentile where there are enough of all');
}
my $times = JSON::PP->new->utf8->decode(stress('run', '-w', 'uniform:n=300', '-p', 'raw', '--repeat', 8, '-q', '--shard', '1/2', '--out', 'json=-')->{out});
is(join(' ', map { $times->{repeats}[0]{lat}{$_}{n} } qw(alloc hit miss free)), '1200 0 1200 1200', 'measured latencies, too');
is($times->{repeats}[0]{host_ns_per_op}{n}, 4, 'and the median of all');
is($times->{shard}, 'shard 1/2: 4 of 8 rows', 'a shard says that it has not all rows');
ok(JSON::PP->new->canonical->encode($times->{host}) =~ /"cpus":/ && !exists $repeated->{host}, 'times stand beside where they were measured');
done();

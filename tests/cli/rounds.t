#!/usr/bin/perl
# --rounds and --repeat: a workload several times, on one pool or on pools of its own: columns, files that others read, times.
# Which rounds fail, and where: cases/passes.case. batch's --repeat: batch.t.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

# ---- every column of a run without them is there, filled as there, and then those of rounds
my @few = qw(-w uniform:n=1000 -p segments,paged --rate 1000000 --no-timing -q);
sub header { return (split /\n/, $_[0])[0] }
my ($one, $two) = map { stress('run', @few, @$_, qw(--out csv=-))->{out} } [], [qw(--rounds 2)];
is(header($two), header($one) =~ s/(?=,vns_per_op)/,rounds,oom_round,oom_round_op/r, 'columns: all of a plain run, then those of rounds');
my $single = stress('run', @few, qw(--rounds 1 --out csv=-))->{out};
is(join("\n", map { s/,1,,(?=(?:,[^,]*){7}\z)//r } (split /\n/, $single)[1 .. 2]), join("\n", (split /\n/, $one)[1 .. 2]), 'one round: the cells of the plain run');
my ($waits) = @{JSON::PP->new->decode(stress('run', @few, qw(--rounds 2 --out json=-))->{out})->{cases}};
is($waits->{rate}{waited}{n}, 4000, '--rate: the operations of both rounds are waited for');
is(join(' ', map { (rows($two))[0]{$_} } qw(waited_max_vns ops)), "$waits->{rate}{waited}{max} 4000", '.. and the csv says for how long');
ok((grep { $_ > 0 } map { (rows($two))[0]{$_} } qw(misses waited_p50_vns waited_p99_vns served_p99_vns)) == 4, '.. in all columns of a plain run');

# ---- and such files are what others read
spew('one.csv', $one), spew('two.csv', $two);
stress('run', @few, qw(--rounds 2 --shard), "$_/2", '--out', "csv=$folder/part.$_") for 0, 1;
is(stress('merge', map { "$folder/part.$_" } 1, 0)->{out}, $two, 'merge: the bytes of the whole run');
my $same = stress('compare', "$folder/two.csv", "$folder/two.csv");
is($same->{code}, 0, 'compare: the same');
my $more = stress('compare', "$folder/one.csv", "$folder/two.csv");
ok($more->{code} == 1 && $more->{out} !~ /ONLY IN A/, 'compare with a plain run: no column is missing');
my $older = spew('older.csv', join '', map { join(',', (cells($_))[0 .. 29, 39 .. 41]) . "\n" } split /\n/, $two);
my $newer = stress('compare', $older, "$folder/two.csv", '--out', "md=$folder/older.md", '--fail-if', 'oom_round >= 1');
is($newer->{code}, 0, 'compare with a file that has fewer of them');
is(stress('run', @few, '--rounds', 2, '--base', "$folder/two.csv", '--fail-if', 'misses > base', '--fail-if', 'waited_max_vns > base')->{code}, 0,
   'gates, with a base');
is(stress('run', @few, '--rounds', 2, '--fail-if', 'misses > 0')->{code}, 1, '.. and without one');

# ---- timed, capacity
my $timed = stress(qw(run -w uniform:n=100 -p segments --rounds 3 -q --out csv=-));
ok((rows($timed->{out}))[0]{host_ns_per_op} > 0, 'rounds are timed');
my $threads = stress(qw(run -w uniform:n=100 -p segments --rounds 3 --threads 2 -q --out csv=-));
is((rows($threads->{out}))[0]{host_ns_per_op}, '', 'not on several threads');
my ($capacity) = rows(stress(qw(capacity -w uniform:n=100 -p paged --rounds 3 -q --out csv=-))->{out});
is($capacity->{status}, 'ok', 'capacity: the smallest limit for all rounds');
my $warm = JSON::PP->new->decode(stress(qw(run -w uniform:n=100 -p segments --warmup 3 -q --out json=-))->{out});
is($warm->{cases}[0]{lat}{alloc}{n}, 100, '--warmup: passes that are dropped leave no sample');
my $many = JSON::PP->new->decode(stress(qw(run -w uniform:n=100 -p segments --threads 2 --warmup 2 -q --out json=-))->{out});
is($many->{cases}[0]{lat}{alloc}{n}, 200, '.. nor of threads');

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

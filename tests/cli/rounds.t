#!/usr/bin/perl
# --rounds: a workload several times on one pool; passing twice and failing the third time is seen, and where.
# It must not test what workloads do, nor batch's --repeat: tests/cli/batch.t does.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @plain = qw(-q --no-timing --out csv=-);

sub row {
    my $run = stress('run', @_, @plain);
    print "#   $_\n" for split /\n/, $run->{err};
    my ($first) = rows($run->{out});
    return $first // {};
}

# ---- all well: operations add up, what is live in between is freed, a warm pool calls the driver no more
my $once = row(qw(-w uniform:n=100 -p segments));
my $thrice = row(qw(-w uniform:n=100 -p segments --rounds 3));
is($thrice->{ops}, 3 * $once->{ops}, 'three rounds are three times the operations');
is($thrice->{driver_calls}, $once->{driver_calls}, 'the second finds the memory of the first');
is("$thrice->{status} $thrice->{rounds} $thrice->{oom_round}", 'ok 3 ', 'and nothing fails');
ok(!exists $once->{rounds}, 'without --rounds there are no such columns');
is(row(qw(-w uniform:n=100 -p segments --rounds 1))->{digest}, $once->{digest}, 'one round is the run itself');
my $kept = row(qw(-w uniform:n=100 -p segments --ops 51 --rounds 2));
ok($kept->{ops} > 102 && $kept->{ops} <= 153, 'what a round leaves live is freed before the next: operations, too');

is(row(qw(-w train:layers=2,steps=1,seq=64,zero3=2,streams=2 -p best --rounds 2))->{status}, 'ok',
   'gathers of a round are in order after its setup, whatever memory the setup had again');

# ---- passes twice, fails the third time: another process takes all in the middle of round 3 of 5
my $third = row(qw(-w uniform:n=100 -p raw --rounds 5 --faults rival@450=80G));
is(join(' ', @$third{qw(status oom_round)}), 'oom 3', 'passes twice, fails the third time');
ok($third->{oom_round_op} >= 50 && $third->{oom_round_op} < 200, 'and says at which of its operations');
is($third->{oom_op}, 400 + $third->{oom_round_op}, 'which is that one of all');
my $told = stress(qw(run -w uniform:n=100 -p raw --rounds 5 --faults rival@450=80G --no-timing));
ok($told->{out} =~ /uniform:n=100\/cudaMalloc: in round 3 of 5, at its\s+operation $third->{oom_round_op}:/, 'the table says so');
my $json = decode_json(stress(qw(run -w uniform:n=100 -p raw --rounds 5 --faults rival@450=80G -q --no-timing --out json=-))->{out});
my ($case) = @{$json->{cases} // $json->{rows} // []};
is($case->{oom_round}, 3, 'and JSON');
my $gate = stress(qw(run -w uniform:n=100 -p raw --rounds 5 --faults rival@450=80G -q --no-timing --fail-if), 'oom_round < 5');
is($gate->{code}, 1, 'and a gate can ask for it');

# ---- no rival needed: what one round leaves behind, the next trips over
my @phases = qw(-w phases:layers=4,steps=2 --limit 9200M);
is(row(@phases, qw(-p segments))->{status}, 'ok', 'once it completes');
my $second = row(@phases, qw(-p segments --rounds 6));
is(join(' ', @$second{qw(status oom_round oom_reason)}), 'oom 2 fragmented', 'in the second round memory is in pieces');
is(row(@phases, qw(-p paged --rounds 6))->{status}, 'ok', 'paged goes on');

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

# ---- timed, capacity, mistakes
my $timed = stress(qw(run -w uniform:n=100 -p segments --rounds 3 -q --out csv=-));
ok((rows($timed->{out}))[0]{host_ns_per_op} > 0, 'rounds are timed');
my $threads = stress(qw(run -w uniform:n=100 -p segments --rounds 3 --threads 2 -q --out csv=-));
is((rows($threads->{out}))[0]{host_ns_per_op}, '', 'not on several threads');
my ($capacity) = rows(stress(qw(capacity -w uniform:n=100 -p paged --rounds 3 -q --out csv=-))->{out});
is($capacity->{status}, 'ok', 'capacity: the smallest limit for all rounds');
refused(2, qr/--rounds means nothing to batch, only to run, capacity/, qw(batch -w train -p raw --rounds 2));
refused(2, qr/--rounds/, qw(run -w uniform -p raw --rounds 0));

# ---- no clock says how often anything is made on a simulated device
refused(2, qr/--repeat auto: not on sim:80G: no clock says how many rows a simulated device has; expected a number/, qw(run -w uniform -p raw --repeat auto));
refused(2, qr/--repeat: expected auto or a number from 1 to 1000, found 'often'/, qw(run -w uniform -p raw --repeat often));
refused(2, qr/--repeat auto means nothing to batch, which measures no time/, qw(batch -w train -p raw --repeat auto));
refused(2, qr/--repeat means nothing to capacity/, qw(capacity -w train -p raw --repeat auto));
refused(2, qr/$_->[0] says when --repeat auto ends, which is not given/, qw(run -w uniform -p raw --repeat 6), @$_) for ['--precision', '1%'], ['--budget', 9];
refused(2, qr/$_->[0] means nothing to capacity, only to run/, qw(capacity -w uniform -p raw), @$_)
    for ['--precision', '1%'], ['--budget', 9], ['--warmup', 1];
refused(2, qr/--warmup: expected a number from 0 to 100/, qw(run -w uniform -p raw --warmup 101));
my $warm = JSON::PP->new->decode(stress(qw(run -w uniform:n=100 -p segments --warmup 3 -q --out json=-))->{out});
is($warm->{cases}[0]{lat}{alloc}{n}, 100, '--warmup: passes that are dropped leave no sample');
my $many = JSON::PP->new->decode(stress(qw(run -w uniform:n=100 -p segments --threads 2 --warmup 2 -q --out json=-))->{out});
is($many->{cases}[0]{lat}{alloc}{n}, 200, '.. nor of threads');

done();

#!/usr/bin/perl
# Workloads of several streams, through the program: trace out and in again, flags, mistakes.
# It must not test what their operations are: test_workload_*.c do.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @csv = qw(-q --no-timing --out csv=-);
my @same = qw(ops status requested_peak_bytes live_peak_bytes reserved_peak_bytes driver_calls gpu_waits digest);

sub row {
    my $run = stress('run', @_, @csv);
    print "#   $_\n" for split /\n/, $run->{err};
    my ($first) = rows($run->{out});
    return $first // {};
}

sub text { return stress('run', '-w', @_, qw(-p raw --verify off --no-timing -q --out trace=-))->{out} }

# ---- trace out, and in again
for my $workload ('producer:n=200,steps=2', 'producer:n=30,steps=2,images=3,depth=4,consumers=3,side=32-640',
                  'phases:layers=2,hidden=256,ff=688,streams=2,steps=2',
                  'train:layers=2,hidden=256,ff=688,steps=2,zero3=4,streams=2',
                  'pareto:n=2000', 'dataset:items=2000,batch=64,side=32-128,steps=1',
                  'embedding:batch=16-512,steps=2', 'serve:requests=5', 'serve:requests=5,layout=contiguous',
                  'cnn:batch=1-4,steps=2,streams=2', 'tape:layers=2,steps=3', 'growing:layers=2,steps=2') {
    my $made = row('-w', $workload, '-p', 'segments', '--out', "trace=$folder/made.trace");
    my $again = row('-w', "replay:$folder/made.trace", '-p', 'segments');
    ok($made->{digest} && $made->{status} eq 'ok', "$workload runs");
    is(join(' ', map { $_ // '' } @$again{@same}), join(' ', map { $_ // '' } @$made{@same}), 'and its trace gives the same row');
    is(text("replay:$folder/made.trace"), slurp("$folder/made.trace"), 'and the same trace');
    my $other = row('-w', $workload, '-p', 'segments', '--seed', 2);
    ok($other->{digest} ne $made->{digest} && $other->{seed} == 2, 'another seed is another stream');
}

# ---- steps, ops, quick
is((() = text('producer:n=5', '--steps', 3) =~ /^s step\d+$/mg) . '', 3, "--steps is producer's steps");
is((() = text('phases:layers=1,updates=0,generate=0', '--steps', 3) =~ /^s checkpoint\d+$/mg) . '', 3,
   "and phases' trials");
is(row(qw(-w producer -p raw --ops 77))->{ops}, 77, '--ops cuts a producer');
is(row(qw(-w phases:layers=2,hidden=64,ff=64 -p raw --ops 77))->{ops}, 77, 'and phases');
is(row(qw(-w producer:n=30000 -p raw --quick --verify off))->{ops}, 20000, '--quick cuts a producer');
is(row(qw(-w phases:layers=2,hidden=64,ff=64,generate=3000 -p raw --quick --verify off))->{ops}, 20000, 'and phases');

my @stepless = qw(run -w uniform:n=5,train:layers=1+larson:blocks=2 -p raw --steps 1 --verify off --no-timing);
is(join(' ', stress(@stepless)->{err} =~ /^stress: workload "(\S+)": has no steps, --steps changes nothing$/mg),
   'uniform:n=5 larson:blocks=2', 'what --steps does not reach is told');
is(stress(@stepless, '-q')->{err}, '', 'but not with -q');

# ---- the same bytes on every machine: integers alone
my @inexact;
for my $file (glob 'stress/workload/*.[ch] stress/sim/*.[ch] stress/oracle*.[ch] stress/pass*.[ch]') {
    my $code = slurp($file) =~ s{/\*.*?\*/|"(?:\\.|[^"\\])*"}{}gsr;
    push @inexact, "$file: $1" while $code =~ /\b(float\b|double\b|math\.h|\d+\.\d*|time\(|s?rand\()/g;
}
is("@inexact", '', 'no floating point, clock or rand() makes operations or the simulated device');

# ---- what each says of itself
for my $line (split /\n(?=\w)/, stress('help', 'workloads')->{out} =~ s/^-w.*\n//r) {
    my ($name) = $line =~ /^(\w+)/;
    next if $name =~ /^(replay|all)$/;
    my ($peak) = $line =~ /^ +peak \S+ \w+, (\d+) bytes: \S/m;
    is(row('-w', $name, qw(-p raw --verify off))->{requested_peak_bytes}, $peak, "$name has the peak that the list tells");
}

my %peak = map { /^(\w+)/ ? ($1 => $_) : () } split /\n(?=\w)/, stress('help', 'workloads')->{out};
ok($peak{tape} =~ m{weights x 2 bytes \+ \(keep \+ 1\) tapes of layers x sbh \(34 \+ 5 as/h\) \+ 2 sb \(h \+ vocab\) \+ 4; keep=0: \+ 2 sb vocab$}m, 'tape says how');
for my $keep (0, 1, 2) {
    my ($s, $b, $h, $as, $vocab) = (128, 8, 768, 12 * 128, 30522);
    my $tape = 12 * $s * $b * (34 * $h + 5 * $as) + 2 * $s * $b * ($h + $vocab) + 4;
    is(row('-w', "tape:keep=$keep,seq=128", qw(-p raw --verify off))->{requested_peak_bytes},
       2 * (($vocab + 516) * $h + 12 * (12 * $h * $h + 13 * $h)) + ($keep + 1) * $tape + ($keep ? 0 : 2 * $s * $b * $vocab), ".. keep=$keep has that");
}
ok($peak{growing} =~ m{batch x heads x 2 bytes x \(prompt \+ tokens x by\) x \(2 layers x head \+ max\(head, by\)\); tokens=0: x 2 layers x head$}m, 'growing says how');
for my $case ([ 0, 1 ], [ 3, 1 ], [ 3, 500 ]) {
    my ($tokens, $by) = @$case;
    is(row('-w', "growing:prompt=100,tokens=$tokens,by=$by", qw(-p raw --verify off))->{requested_peak_bytes},
       32 * 2 * (100 + $tokens * $by) * (64 * 128 + ($tokens ? $by > 128 ? $by : 128 : 0)), ".. tokens=$tokens, by=$by has that");
}

# ---- a rival: the same for all policies, and for a recording with the fault that its trace names
my @rival = qw(--verify full);
for my $of (['raw', 'ok'], ['paged', 'ok'], ['segments', 'oom']) {
    is(row('-w', 'rival', '-p', $of->[0], @rival)->{status}, $of->[1], "a rival leaves little: $of->[0] ends $of->[1]");
}
is(row(qw(-w rival:size=73000 -p segments), @rival)->{status}, 'ok', 'and where it leaves more segments is enough');
my $rival = row(qw(-w rival -p segments --verify off), '--out', "trace=$folder/rival.trace");
my $faults = join ';', slurp("$folder/rival.trace") =~ /^# --faults (\S+)$/mg;
my $again = row('-w', "replay:$folder/rival.trace", qw(-p segments --verify off --faults), $faults);
my @alike = ((grep { $_ ne 'digest' } @same), 'oom_op');
is(join(' ', map { $_ // '' } @$again{@alike}), join(' ', map { $_ // '' } @$rival{@alike}), "--faults $faults is the same");
is(row('-w', "replay:$folder/rival.trace", qw(-p segments --verify off))->{status}, 'ok', 'without them there is none');

my $help = stress(qw(help workloads))->{out};
for my $line ('layout=blocks  blocks, contiguous', 'seq=64-512  1 to 4294967295, or LO-HI', 'sharing=50  0 to 100',
              'gradient=dense  dense, sparse', 'repeat=1  1 to 100000') {
    ok($help =~ /^  \Q$line\E$/m, "help workloads: $line");
}

# ---- all of them at once
my @families = grep { !/^(replay|all)$/ } stress('list', 'workloads')->{out} =~ /^  (\w+)/mg;
my $sweep = stress(qw(run -w all -p raw,paged --quick --verify off), @csv);
my @swept = rows($sweep->{out});
is(join(' ', map { $_->{workload} } grep { $_->{policy} eq 'raw' } @swept), "@families", '-w all is every family that needs no file');
is(scalar(grep { $_->{status} ne 'ok' } @swept), 0, 'and raw and paged complete each');
refused(2, qr/--out trace: holds one workload, and several are asked for/, qw(run -w all -p raw --out trace=-));
is(scalar(() = rows(stress(qw(run -w all,uniform:n=5 -p raw --filter uniform*), @csv)->{out})), 2, 'it stands beside others');

# ---- memory that comes in a stream's order: others follow it before they use it
my @ordered = rows(stress(qw(run -w train:streams=2,zero3=8,layers=2,seq=64-256,steps=2,producer:n=200 -p async,config:backing=async,paged:scrub=both --verify full), @csv)->{out});
my @passed = rows(stress(qw(run -w train:layers=2,producer:n=200 -p paged:debug=passthrough,config:backing=async,debug=passthrough --verify full --no-timing), @csv)->{out});
is(join(' ', map { $_->{status} } grep { $_->{policy} ne 'raw' } @ordered), 'ok ok ok ok ok ok', 'several streams on memory that comes in the order of one are verified');
is(join(' ', map { $_->{status} } grep { $_->{policy} ne 'raw' } @passed), 'ok ok ok ok', 'so are blocks that are allocations of the driver each');

# ---- mistakes
refused(2, qr/^stress: workload producer: n is "0", expected a number from 1 to 10000000$/m, qw(run -w producer:n=0 -p raw));
refused(2, qr/producer: max is given beside images/, qw(run -w producer:images=2,max=3 -p raw));
refused(2, qr/producer: side is given without images/, qw(run -w producer:side=2 -p raw));
refused(2, qr/option steps and --steps are both given/, qw(run -w producer:steps=2 -p raw --steps 3));
refused(2, qr/option seed and --seed are both given/, qw(run -w phases:seed=2 -p raw --seed 3));
refused(2, qr/phases: no option "update", did you mean 'updates'/, qw(run -w phases:update=2 -p raw));
refused(2, qr/phases: streams is "0", expected a number from 1 to 2/, qw(run -w phases:streams=0 -p raw));
refused(2, qr/producer: --steps is 1000001, expected a number from 0 to 1000000/, qw(run -w producer -p raw --steps 1000001));
refused(2, qr/embedding: option gradient has words, expected a number to vary/, qw(batch -w embedding -p raw --vary gradient));
refused(2, qr{^stress: $folder/a: No such file or directory, expected a trace to read; 'b.trace' names no workload, and a path may have no comma$},
        'run', '-w', "replay:$folder/a,b.trace", qw(-p raw));
refused(2, qr{^stress: $folder/a: No such file or directory, expected a trace to read$}, 'run', '-w', "replay:$folder/a,$_", qw(-p raw)) for qw(uniform:n=9 all);
refused(2, qr/no workload "phase", did you mean 'phases'/, qw(run -w phase -p raw));

done();

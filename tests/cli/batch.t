#!/usr/bin/perl
# `stress batch`: its columns, and that its answer is what `run` says of that value and of the next one.
# It must not test the search alone: test_batch does.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $header = 'workload,policy,device,seed,key,largest,allowed,requested_peak_bytes,next_peak_bytes,status,remapped_pages,'
    . 'driver_calls,gpu_waits,repeats,probes,stop_op,stop_reason,stop_text,threads';

sub batch {
    my $run = stress('batch', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

sub run_row {
    return (rows(stress('run', @_, '-q', '--no-timing', '--out', 'csv=-')->{out}))[0];
}

# ---- what every policy reaches with training on a 24 GiB device, and why no more
my $spec = 'train:zero3=8,recompute=1';
my @device = ('--device', 'sim:24G');
my ($run, @rows) = batch('-w', $spec, '-p', 'raw,bfc,pytorch,paged', @device);
is($run->{code}, 0, 'exit 0');
is((split /\n/, $run->{out})[0], $header, 'the columns are these, in this order');
is(join(' ', map { $_->{policy} } @rows), 'raw bfc pytorch paged', 'a row for every policy');
my %of = map { $_->{policy} => $_ } @rows;
for my $row (@rows) {
    my ($policy, $largest) = @$row{qw(policy largest)};
    my ($last, $next) = map { run_row('-w', "$spec,batch=$_", '-p', $policy, @device) } $largest, $largest + 1;
    is("$last->{status} $next->{status}", 'ok oom', "$policy: batch=$largest completes, and one more does not");
    is(join(' ', @$row{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits next_peak_bytes stop_op stop_reason)}),
       join(' ', @$last{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits)},
            $row->{next_peak_bytes}, @$next{qw(oom_op oom_reason)}), '.. with the numbers of those two runs');
    my @sentences = split /(?<=[.!?])\s+(?=[A-Z])/, $row->{stop_text};
    ok(@sentences == 1 && $row->{stop_text} =~ /^batch=@{[$largest + 1]} ends at op $row->{stop_op}: .{20}/,
       "$policy: one sentence says why: $row->{stop_text}");
}

is(join("\n", map { join(' ', @$_{qw(workload policy status varied largest allowed remapped), 'ends at op', 'reason'}) =~ s/ cudaMalloc / raw /r } readme_rows(qr/^workload .* varied /)),
   join("\n", map { my $row = $_; join ' ', map { $row->{$_} eq '' ? '-' : $row->{$_} }
       qw(workload policy status key largest allowed remapped_pages stop_op stop_reason) } @rows), "README's table");

# the peaks of those batches, from the workload alone: what no policy can pass
sub peak {
    my ($batch) = @_;
    return run_row('-w', "$spec,batch=$batch", '-p', 'raw', '--device', 'sim:200G')->{requested_peak_bytes};
}
my ($room, $paged) = (24 << 30, $of{paged});
ok(peak($paged->{largest}) <= $room && peak($paged->{largest} + 1) > $room,
   "paged reaches what the requested peak allows, to the unit: $paged->{largest}");
is($_->{allowed}, $paged->{largest}, "$_->{policy}: allowed says so") for @rows;
is($paged->{next_peak_bytes}, peak($paged->{largest} + 1), 'next_peak_bytes is that of one more');
ok($of{bfc}{largest} < $of{pytorch}{largest} && $of{pytorch}{largest} < $paged->{largest}, 'bfc and pytorch stay below');
ok($paged->{stop_text} =~ /requests $paged->{next_peak_bytes} bytes at its peak, and there are $room$/, 'paged: too much is requested');
ok($of{bfc}{stop_text} =~ /fit in no single free block/, 'bfc: it is fragmented');

# ---- a limit counts as the device does; another option; a largest that the option itself sets
my (undef, $limited) = batch('-w', $spec, '-p', 'paged', '--limit', '8G');
ok($limited->{largest} == $limited->{allowed} && $limited->{largest} < $paged->{largest}
   && peak($limited->{largest}) <= 8 << 30 && peak($limited->{largest} + 1) > 8 << 30, 'under --limit: what that allows');
my (undef, $seq) = batch('-w', 'train:layers=2,steps=2,batch=8', '-p', 'paged,segments', '--vary', 'seq', '--device', 'sim:4G');
my ($fits, $not) = map { run_row('-w', "train:layers=2,steps=2,batch=8,seq=$_", '-p', 'paged', '--device', 'sim:4G')->{status} }
    $seq->{largest}, $seq->{largest} + 1;
is("$seq->{key} $fits $not", 'seq ok oom', "--vary seq: $seq->{largest} tokens, not one more");
my (undef, $every) = batch('-w', 'larson:blocks=10,rounds=1,size=1', '-p', 'segments', '--vary', 'threads');
is(join('|', @$every{qw(largest allowed next_peak_bytes stop_op stop_reason stop_text)}),
   '64|64|||option_maximum|threads=64 is the most that larson takes', 'where all survive it is the highest, which is told');
my (undef, $unmade) = batch(qw(-w serve --vary block -p paged --ops 3000 --device sim:40G));
is("$unmade->{largest} $unmade->{stop_reason}: $unmade->{stop_text}", '24576 not_made: block=24577 cannot be made: '
   . 'workload serve: budget is 3072, expected at least 3073 (MiB), for the longest request', 'and what the others forbid');
my (undef, @most) = batch('-w', 'uniform:n=300', '-p', 'paged,raw', '--device', 'sim:400M', '--fail-if', 'stop_reason == nope');
is(scalar @most, 0, 'a gate knows the words of stop_reason');
my $most = stress(qw(batch -w uniform:n=300 -p paged,raw --device sim:400M --fail-if), 'stop_reason == option_maximum');
is($most->{code}, 1, 'and that one');
ok($most->{out} =~ m{^uniform:n=300  paged .* -  option_maximum\n}m, 'the table has it where else the reason is');
ok($most->{out} =~ m{^uniform:n=300/paged: cap=1073741824 is the most that uniform takes$}m, 'and the sentence');
ok($most->{out} =~ m{^uniform:n=300/cudaMalloc: cap=308 ends at op }m, 'of others, what ended them');
my (undef, $none) = batch('-w', 'train:layers=2', '-p', 'paged', '--device', 'sim:256M');
is(join('|', @$none{qw(status largest allowed)}), 'oom||', 'where not even one survives: oom, and no largest');
ok($none->{stop_text} =~ /^batch=0 ends at op $none->{stop_op}: it requests /, 'and why');

# ---- 0 is a value as any other, where the workload then allocates; with it none may be of another kind than few
for my $case ([ 'tape', 'keep', '4G' ], [ 'dataset', 'prefetch', '200M' ], [ 'embedding', 'slots', '4500M' ]) {
    my ($workload, $key, $size) = @$case;
    my @zero = ('-w', $workload, '-p', 'paged', '--vary', $key, '--device', "sim:$size");
    my (undef, $row) = batch(@zero);
    my ($last, $next) = map { run_row('-w', "$workload:$key=$_", '-p', 'paged', '--device', "sim:$size") } 0, 1;
    is(join('|', @$row{qw(status largest allowed requested_peak_bytes stop_op)}, $last->{status}, $next->{status}),
       "ok|0|0|$last->{requested_peak_bytes}|$next->{oom_op}|ok|oom", "--vary $key: 0 completes, and 1 does not");
    next if $key ne 'keep';
    ok($row->{stop_text} =~ /^keep=1 ends at op $next->{oom_op}: it requests /, '.. and why');
    my $told = stress('batch', @zero, '--out', "md=$folder/zero.md", '--fail-if', 'largest < 1');
    is($told->{code}, 1, '.. a gate counts with it');
    ok($told->{out} =~ /^tape +paged +ok +keep +0 +0 /m && slurp("$folder/zero.md") =~ /keep \| 0 \| 0 \|/, '.. table and md have it');
}
my (undef, $lora) = batch(qw(-w train:layers=4 -p raw --vary lora --device sim:6G));
is(join('|', $lora->{status}, map { run_row('-w', "train:layers=4,lora=$_", qw(-p raw --device sim:6G))->{status} }
        0, $lora->{largest}, $lora->{largest} + 1), 'ok|oom|ok|oom', 'where 0 is of another kind, and more, 1 is asked');
my (undef, $steps) = batch(qw(-w uniform:n=9 -p raw --device sim:2M));
is(join('|', @$steps{qw(status largest)}), 'oom|', 'of a lowest value above 0, as ever');

# ---- a peak that falls and rises with its option: what is allowed is looked for further up, and promised by nobody
my @falling = qw(-w pareto -p paged --device sim:300M --vary places);
my (undef, $places) = batch(@falling);
my @peaks = map { run_row('-w', "pareto:places=$_", qw(-p raw --device sim:9G --verify off))->{requested_peak_bytes} }
    $places->{allowed}, 2396, 2397;
ok($places->{allowed} > 2600 && $peaks[0] <= 300 << 20, "allowed: $places->{allowed}, which requests $peaks[0]");
ok($peaks[1] <= 300 << 20 && $peaks[2] > 300 << 20, '.. though 2397 requests more than there is, and 2396 does not');
ok(stress('batch', @falling)->{out} =~ /allowed:\s+the\s+largest\s+found\s.*where\s+peaks\s+grow\s/s, 'the table says so');

# ---- what needs less the larger it is has no largest; all else may be varied
refused(2, qr/^stress: workload $_->[0]: a larger $_->[1] is no larger workload, expected another option to vary$/,
        'batch', '-w', $_->[2], '--vary', $_->[1], qw(-p paged,raw --device sim:6G))
    for [ 'train', 'zero3', 'train:layers=4' ], [ 'train', 'recompute', 'train' ], [ 'rival', 'zero3', 'rival' ];
my ($family, @not_varied);
for my $line (split /\n/, stress('help', 'workloads')->{out}) {
    $family = $1 if $line =~ /^(\w+): /;
    next if $line !~ /^  (\w+)=\d/ || $1 eq 'seed';
    my $of = { 'producer side' => 'producer:images=2' }->{"$family $1"} // $family;
    my $run = stress('batch', '-w', $of, '--vary', $1, qw(-p raw -q --shard 1/2));
    push @not_varied, "$family $1" if $run->{code};
}
is("@not_varied", 'train recompute train zero3 pareto size rival zero3', 'every other option may be varied');

my (undef, $budget) = batch('-w', 'serve:weights=0,requests=24', '-p', 'paged', '--vary', 'budget', '--device', 'sim:1G');
is($budget->{status}, 'ok', 'where other options forbid the lowest value, it begins with the first that they do not');
($fits, $not) = map { run_row('-w', "serve:weights=0,requests=24,budget=$_", '-p', 'paged', '--device', 'sim:1G')->{status} }
    $budget->{largest}, $budget->{largest} + 1;
is("$fits $not", 'ok oom', ".. budget=$budget->{largest} completes, and not one more");

# ---- repeats go on on the same pool: raw makes a call an op, and one for each block that is freed in between
my $tiny = 'train:layers=2,hidden=64,ff=64,heads=2,vocab=100,steps=1';
my @words = ('-w', $tiny, '-p', 'raw', '--device', 'sim:64M');
my (undef, $once) = batch(@words);
my (undef, $thrice) = batch(@words, '--repeat', 3);
my $one = run_row('-w', "$tiny,batch=$thrice->{largest}", '-p', 'raw', '--device', 'sim:64M');
my $live = 2 * $one->{allocs} - $one->{ops};
is("$once->{repeats} $thrice->{repeats}", '1 3', 'repeats');
is($thrice->{driver_calls}, 3 * $one->{ops} + 2 * $live, 'three times the calls, and what is live is freed twice');
is($thrice->{largest}, $once->{largest}, 'raw has no memory of what was');

# ---- formats, determinism, gates, shards
my @again = ('-w', 'train:layers=1,hidden=128,ff=256,heads=2,vocab=1000,steps=1,uniform:n=500', '-p', 'segments,paged', '--device', 'sim:512M');
is((batch(@again))[0]{out}, (batch(@again))[0]{out}, 'two runs: the same bytes');
my $json = eval { JSON::PP->new->decode(stress('batch', @again, '-q', '--out', 'json=-')->{out}) } // {};
is(join(',', sort keys %{$json->{cases}[3] // {}}), join(',', sort split /,/, $header), 'JSON: a case has every column');
is($json->{cases}[2]{key} // '', 'cap', 'uniform: cap is varied');
my $table = stress('batch', @again);
ok($table->{out} =~ /^train:layers=1,hidden=128\S* +segments +ok +batch +\d+ +\d+ /m, 'the table has the largest and the allowed');
ok($table->{out} =~ /^uniform:n=500\/paged: cap=\d+ ends at op/m, 'and a sentence for every row');
is(stress('batch', @again, '-q', '--fail-if', '*/paged: largest < 2')->{code}, 0, 'a gate on largest passes');
is(stress('batch', @again, '-q', '--fail-if', '*/paged: largest < 4000000')->{code}, 1, 'another does not');
my @parts = map { my $path = "$folder/$_.csv"; stress('batch', @again, '-q', '--shard', "$_/3", '--out', "csv=$path"); $path } 0 .. 2;
is(stress('merge', @parts, '-q', '--out', 'csv=-')->{out}, (batch(@again))[0]{out}, 'three shards merged are the whole');

# ---- failures: exit codes, and a line that shows it again
for my $case ([ 'overlap', 3, qw(--faults overlap:100) ], [ 'lost device', 4, qw(--faults obtain:3=700) ]) {
    my ($name, $code, @faults) = @$case;
    my $failed = stress('batch', '-w', 'train:layers=2,steps=2', '-p', 'raw', '--device', 'sim:4G', '--repeat', 2, '-q', @faults);
    is($failed->{code}, $code, "$name: exit $code");
    my ($line) = $failed->{err} =~ /^repro: (.*)$/m;
    ok(defined $line && $line =~ / batch -w .*--repeat 2/, "$name: a repro line: " . ($line // ''));
    qx{$line -q 2>&1 >/dev/null} if defined $line;
    is($? >> 8, $code, "$name: it ends alike");
}

# ---- usage
refused(2, qr/option batch is given, and is to be varied/, qw(batch -w train:batch=3 -p raw));
refused(2, qr/--vary: workload uniform: no option "maxx", did you mean 'max'\?, expected one of n, max, cap$/,
        qw(batch -w uniform -p raw --vary maxx));
refused(2, qr/--vary: workload cnn: no option "width", expected one of batch, image, classes, steps, streams$/,
        qw(batch -w cnn -p raw --vary width));
refused(2, qr/workload uniform: a larger seed is no larger workload/, qw(batch -w uniform -p raw --vary seed));
refused(2, qr/workload producer: side is given without images/, qw(batch -w producer -p raw --vary side));
refused(2, qr/workload pareto: size spans less than a doubling/, qw(batch -w pareto -p raw --vary size));
refused(2, qr/--on-oom skip: not with batch/, qw(batch -w train -p segments --on-oom skip));
refused(2, qr/--vary means nothing to run/, qw(run -w train -p segments --vary batch));
refused(2, qr/^stress: workload \Q$_\E: joined by '\+', expected one alone to vary$/, 'batch', '-w', $_, qw(-p segments --ops 99))
    for qw(train+uniform train:layers=2+larson larson+train:layers=2 uniform:n=9,max=1+uniform:n=9);
my $recording = spew('one.trace', "gpuarena-trace 1\na 0 5 0\nf 0\n");
refused(2, qr/^stress: workload replay: a recording, which has no options to vary$/, 'batch', '-w', "replay:$recording", '-p', 'raw', @$_)
    for [], [ '--vary', 'n' ];
refused(2, qr/joined by '\+', expected one alone/, 'batch', '-w', "replay:$recording+larson", qw(-p raw));
ok(stress('help', 'batch')->{out} =~ /largest/, 'help batch');
ok(stress('help', 'columns')->{out} =~ /of batch.*\n  workload\n(?:  \w+\n)*  stop_text\n  threads$/m, 'help columns has them');
done();

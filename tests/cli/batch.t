#!/usr/bin/perl
# `stress batch`: that its answer is what `run` says of that value and of the next one.
# Its answers, and what it refuses: cases/search.case.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

sub batch {
    my $run = stress('batch', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

# ---- what every policy reaches with training on a 24 GiB device, and why no more
my $spec = 'train:zero3=8,recompute=1';
my @device = ('--device', 'sim:24G');
my ($run, @rows) = batch('-w', $spec, '-p', 'raw,bfc,pytorch,paged', @device);
is($run->{code}, 0, 'exit 0');
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
ok($paged->{stop_text} =~ /requests $paged->{next_peak_bytes} bytes at its peak, 8\.31 MiB more than the $room there are$/, 'paged: too much is requested');
ok($of{bfc}{stop_text} =~ /fit in no single free block/, 'bfc: it is fragmented');

# ---- a limit counts as the device does; another option; a largest that the option itself sets
my (undef, $limited) = batch('-w', $spec, '-p', 'paged', '--limit', '8G');
ok($limited->{largest} == $limited->{allowed} && $limited->{largest} < $paged->{largest}
   && peak($limited->{largest}) <= 8 << 30 && peak($limited->{largest} + 1) > 8 << 30, 'under --limit: what that allows');
my (undef, $seq) = batch('-w', 'train:layers=2,steps=2,batch=8', '-p', 'paged,segments', '--vary', 'seq', '--device', 'sim:4G');
my ($fits, $not) = map { run_row('-w', "train:layers=2,steps=2,batch=8,seq=$_", '-p', 'paged', '--device', 'sim:4G')->{status} }
    $seq->{largest}, $seq->{largest} + 1;
is("$seq->{key} $fits $not", 'seq ok oom', "--vary seq: $seq->{largest} tokens, not one more");
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

# ---- a peak that falls and rises with its option: what is allowed is one end of what fits, and promised by nobody
my @falling = qw(-w pareto -p paged --device sim:300M --vary places);
my (undef, $places) = batch(@falling);
my @peaks = map { run_row('-w', "pareto:places=$_", qw(-p raw --device sim:9G --verify off))->{requested_peak_bytes} }
    $places->{allowed}, $places->{allowed} + 1;
ok($peaks[0] <= 300 << 20 && $peaks[1] > 300 << 20, "allowed: $places->{allowed}, which requests $peaks[0], and one more too much");
ok(stress('batch', @falling)->{out} =~ /allowed:\s+the\s+largest\s+found\s.*where\s+peaks\s+grow\s/s, 'the table says so');

# ---- what needs less the larger it is has no largest; all else may be varied
my ($family, @not_varied);
for my $line (split /\n/, stress('help', 'workloads')->{out}) {
    $family = $1 if $line =~ /^(\w+): /;
    next if $line !~ /^  (\w+)=\d/ || $1 eq 'seed';
    my $of = { 'producer side' => 'producer:images=2', 'dataset steps' => 'dataset:items=4' }->{"$family $1"} // $family;
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

done();

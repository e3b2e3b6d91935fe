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
    return rows($run->{out});
}

# One row for each policy: `run` completes with the largest value, and not with one more, and says the same of both.
sub confirmed {
    my ($spec, $policies, @words) = @_;
    my @rows = batch('-w', $spec, '-p', $policies, @words);
    my @device = grep { !/^--vary$/ && !($_ eq ($rows[0]{key} // '')) } @words;
    is(join(',', map { $_->{policy} } @rows), $policies, "$spec @words: a row for every policy");
    for my $row (@rows) {
        my ($last, $next) = map { run_row('-w', $spec . ($spec =~ /:/ ? ',' : ':') . "$row->{key}=$_", '-p', $row->{policy}, @device) }
            $row->{largest}, $row->{largest} + 1;
        is("$row->{status} $last->{status} $next->{status}", 'ok ok oom', "$row->{policy}: $row->{key}=$row->{largest} completes, and one more does not");
        is(join(' ', @$row{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits stop_op stop_reason)}),
           join(' ', @$last{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits)}, @$next{qw(oom_op oom_reason)}),
           '.. with the numbers of those two runs');
        my @sentences = split /(?<=[.!?])\s+(?=[A-Z])/, $row->{stop_text};
        ok(@sentences == 1 && $row->{stop_text} =~ /^$row->{key}=@{[$row->{largest} + 1]} ends at op $row->{stop_op}: .{20}/, "one sentence says why: $row->{stop_text}");
    }
    return @rows;
}

sub peak { my ($spec) = @_; return run_row('-w', $spec, qw(-p raw --device sim:200G --verify off))->{requested_peak_bytes} }

# ---- what every policy reaches with training on a 24 GiB device, and why no more
my $spec = 'train:zero3=8,recompute=1';
my @rows = confirmed($spec, 'raw,bfc,pytorch,paged', '--device', 'sim:24G');
is(join("\n", map { join(' ', @$_{qw(workload policy status varied largest allowed remapped), 'ends at op', 'reason'}) =~ s/ cudaMalloc / raw /r } readme_rows(qr/^workload .* varied /)),
   join("\n", map { my $row = $_; join ' ', map { $row->{$_} eq '' ? '-' : $row->{$_} }
       qw(workload policy status key largest allowed remapped_pages stop_op stop_reason) } @rows), "README's table");
my ($room, $bfc, $pytorch, $paged) = (24 << 30, @rows[1 .. 3]);
ok(peak("$spec,batch=$paged->{largest}") <= $room && peak("$spec,batch=" . ($paged->{largest} + 1)) == $paged->{next_peak_bytes} && $paged->{next_peak_bytes} > $room,
   'paged reaches what the peak requested allows, to the unit');
is(join(' ', map { $_->{allowed} } @rows), join(' ', ($paged->{largest}) x 4), '.. which is what is allowed');
ok($bfc->{largest} < $pytorch->{largest} && $pytorch->{largest} < $paged->{largest}, 'bfc and pytorch stay below');
ok($paged->{stop_text} =~ /requests $paged->{next_peak_bytes} bytes at its peak, 8\.31 MiB more than the $room there are$/, 'paged: too much is requested');
ok($bfc->{stop_text} =~ /fit in no single free block/, 'bfc: it is fragmented');

# ---- a limit counts as the device does; other options; those that forbid the lowest value
my ($limited) = confirmed($spec, 'paged', '--limit', '8G');
ok($limited->{largest} == $limited->{allowed} && $limited->{largest} < $paged->{largest}, 'under --limit: what that allows');
confirmed('train:layers=2,steps=2,batch=8', 'paged,segments', '--vary', 'seq', '--device', 'sim:4G');
confirmed('serve:weights=0,requests=24', 'paged', '--vary', 'budget', '--device', 'sim:1G');

# ---- 0 is a value as any other, where the workload then allocates; with it none may be of another kind than few
is(join(' ', map { my ($row) = confirmed($_->[0], 'paged', '--vary', $_->[1], '--device', "sim:$_->[2]"); "$row->{largest} $row->{allowed}" }
        [ 'tape', 'keep', '4G' ], [ 'dataset', 'prefetch', '200M' ], [ 'embedding', 'slots', '4500M' ]), '0 0 0 0 0 0', '0 completes, and 1 does not');
my ($lora) = batch(qw(-w train:layers=4 -p raw --vary lora --device sim:6G));
is(join('|', $lora->{status}, map { run_row('-w', "train:layers=4,lora=$_", qw(-p raw --device sim:6G))->{status} }
        0, $lora->{largest}, $lora->{largest} + 1), 'ok|oom|ok|oom', 'where 0 is of another kind, and more, 1 is asked');

# ---- a peak that falls and rises with its option: what is allowed is one end of what fits, and promised by nobody
my ($places) = batch(qw(-w pareto -p paged --device sim:300M --vary places));
my @peaks = map { peak("pareto:places=$_") } $places->{allowed}, $places->{allowed} + 1;
ok($peaks[0] <= 300 << 20 && $peaks[1] > 300 << 20, "allowed: $places->{allowed}, which requests $peaks[0], and one more too much");

# ---- repeats go on on the same pool: raw makes a call an op, and one for each block that is freed in between
my $tiny = 'train:layers=2,hidden=64,ff=64,heads=2,vocab=100,steps=1';
my ($once, $thrice) = map { batch('-w', $tiny, '-p', 'raw', '--device', 'sim:64M', @$_) } [], [ '--repeat', 3 ];
my $one = run_row('-w', "$tiny,batch=$thrice->{largest}", '-p', 'raw', '--device', 'sim:64M');
is(join(' ', @$once{qw(repeats largest)}, @$thrice{qw(repeats largest driver_calls)}),
   join(' ', 1, $once->{largest}, 3, $once->{largest}, 3 * $one->{ops} + 2 * (2 * $one->{allocs} - $one->{ops})), 'three times the calls, and what is live is freed twice');

done();

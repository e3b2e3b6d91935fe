#!/usr/bin/perl
# `stress capacity`: its columns, and that its answer is what `run --limit` says of it and of the limit one step below.
# It must not test the bisection alone: test_capacity does.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

my $step = 2 << 20;
my $header = 'workload,policy,device,seed,requested_peak_bytes,min_limit_bytes,ratio,remapped_pages,driver_calls,'
    . 'status,gpu_waits,probes,stop_op,stop_reason,threads';

sub capacity {
    my $run = stress('capacity', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

sub run_row {
    return (rows(stress('run', @_, '-q', '--no-timing', '--out', 'csv=-')->{out}))[0];
}

# ---- a workload whose every number is known: 3 MiB, freed for 5 MiB. Segments do not join: 4 MiB and 6 MiB, or 6 alone.
my $small = spew('small.trace', "gpuarena-trace 1\na 1 3000000 0\na 2 100 0\nf 1\na 3 5000000 7 tag\nf 2\nf 3\n");
my ($run, $exact, $raw) = capacity('-w', "replay:$small", '-p', 'segments:growth=exact,raw');
is($run->{code}, 0, 'exit 0');
is((split /\n/, $run->{out})[0], $header, 'the columns are these, in this order');
is(join(' ', @$exact{qw(device seed requested_peak_bytes min_limit_bytes ratio remapped_pages status stop_reason)}),
   'sim:80G 1 5000100 10485760 2.0971 0 ok over_limit', 'segments: 10 MiB, and with 8 MiB the third block fits nowhere');
is($exact->{stop_op}, 3, 'it ends at the fourth op then');
is(join(' ', @$raw{qw(requested_peak_bytes min_limit_bytes remapped_pages status stop_reason)}),
   "5000100 8388608  ok driver_refused", 'raw: a slab of 2 MiB, and 6 MiB');
is($raw->{min_limit_bytes}, run_row('-w', "replay:$small", '-p', 'raw')->{reserved_peak_bytes},
   'which is what it holds at its peak');

# ---- the answer is what `run` says: it completes under the limit, and not with one step less
sub confirm {
    my ($row, @words) = @_;
    my $name = "$row->{workload} $row->{policy}";
    my @under = $row->{policy} =~ /^(?:raw|cub-library)$/ ? ('--device', 'sim:') : ('--limit', '');
    my @cases = map { run_row('-w', $row->{workload}, '-p', $row->{policy}, @words, $under[0], "$under[1]$_") }
        $row->{min_limit_bytes}, $row->{min_limit_bytes} - $step;
    is("$row->{status} $cases[0]{status} $cases[1]{status}", 'ok ok oom', "$name: completes, and not with 2 MiB less");
    is(join(' ', @$row{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits)}),
       join(' ', @{$cases[0]}{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits)}), 'with the numbers of that run');
    is("$row->{stop_op} $row->{stop_reason}", join(' ', @{$cases[1]}{qw(oom_op oom_reason)}), 'it ends where it says');
    is($row->{ratio}, sprintf('%.4f', $row->{min_limit_bytes} / $row->{requested_peak_bytes}), 'the ratio');
    ok($row->{min_limit_bytes} % $step == 0 && $row->{min_limit_bytes} >= $row->{requested_peak_bytes}, 'whole steps');
}
my @policies = split / /, 'paged best segments segments:growth=exact segments:growth=fixed raw';
my @words = ('--seed', 3, '--ops', 6000);
my (undef, @rows) = capacity('-w', 'train:steps=2,layers=6,uniform:n=3000,train:layers=3,steps=3,streams=2', '-p',
                             join(',', @policies), @words);
is(scalar @rows, 3 * @policies, 'a row for every workload and policy');
confirm($_, @words) for @rows;

# ---- nothing is timed, and --rate counts: the sooner the next op comes, the less have streams done
my @paced = qw(-w train:streams=2,layers=4 -p paged --device sim:40G);
my %waits;
for my $rate (1, 1000000000) {
    my (undef, $row) = capacity(@paced, '--rate', $rate);
    confirm($row, qw(--device sim:40G --rate), $rate);
    $waits{$rate} = $row->{gpu_waits};
}
ok($waits{1} == 0 && $waits{1000000000} > 0, "at the rate at which they come: $waits{1} waits, and $waits{1000000000}");

# ---- a policy that completes with 24 to 28 MiB, fails with 30, and completes with more: what it grows by depends on the
# limit. One of the two ends is found.
my $gaps = spew('gaps.trace', join("\n", 'gpuarena-trace 1', 'a 1 7340032 0', 'f 1', 'a 2 3145728 0', 'a 3 11534336 0',
    'f 2', 'f 3', 'a 4 12582912 0', 'a 5 9437184 0', 'f 4', 'a 6 7340032 0', 'a 7 3145728 0', 'f 5', 'a 8 11534336 0', "f 7\n"));
my @gapped = ('-w', "replay:$gaps", '-p', 'segments:growth=step,step=8M');
is(join('', map { run_row(@gapped, '--limit', "${_}M")->{status} eq 'ok' ? 1 : 0 } map { 2 * $_ } 11 .. 20), '0111011111',
   'this is such a policy');
my (undef, $gap) = capacity(@gapped);
confirm($gap);

# ---- what does not complete without a limit, what cannot be opened, nothing at all
my (undef, $poor, $poor_raw) = capacity('-w', 'train:steps=2', '-p', 'segments,raw', '--device', 'sim:8G');
is(join(' ', map { @$_{qw(status requested_peak_bytes min_limit_bytes ratio driver_calls)} } $poor, $poor_raw),
   'oom     oom    ', 'more than the device has: status oom, and no limit');
ok($poor->{stop_op} =~ /^\d+$/ && $poor->{stop_reason} =~ /^(?:fragmented|driver_refused)$/, 'where it ends and why');
my (undef, $first) = capacity('-w', 'uniform:n=100', '-p', 'segments:initial=1G');
is(join(' ', @$first{qw(status min_limit_bytes stop_op stop_reason)}), 'ok 1073741824 0 not_opened',
   'an arena that cannot be made under a limit does not complete under it');
my (undef, $none) = capacity('-w', 'replay:' . spew('none.trace', "gpuarena-trace 1\na 1 0 0\nf 1\n"), '-p', 'segments');
is(join(' ', @$none{qw(status requested_peak_bytes min_limit_bytes ratio)}), 'ok 0 0 ', 'nothing is enough for nothing');
my (undef, $tiny) = capacity('-w', 'replay:' . spew('tiny.trace', "gpuarena-trace 1\na 1 1 0\nf 1\n"), '-p', 'segments,raw');
is(join(' ', @$tiny{qw(status min_limit_bytes stop_op stop_reason)}), "ok $step  ", 'less than a step is not tried');
my ($bare, $context) = map { (capacity('-w', 'uniform:n=500', '-p', 'raw', '--context', $_))[1] } 0, '1G';
is($context->{min_limit_bytes}, $bare->{min_limit_bytes}, "raw: the context's memory is not counted");

# ---- failures of the run without a limit, of the run that counts, of a probe
sub fails {
    my ($name, $code, $pattern, @words) = @_;
    my $run = stress('capacity', @words, '-q');
    is($run->{code}, $code, "$name: exit $code");
    ok($run->{err} =~ $pattern, "$name: is told") or print "#   $_\n" for split /\n/, $run->{err};
    my ($line) = $run->{err} =~ /^repro: (.*)$/m;
    return ok(0, "$name: a repro line") if !defined $line;
    qx{$line -q 2>&1 >/dev/null};
    is($? >> 8, $code, "$name: the repro line ends alike: $line");
}
fails('overlap', 3, qr/verify_failed: op \d+: \w+: block/, qw(-w uniform:n=500 -p raw --faults overlap:100));
fails('lost device', 4, qr/error: .*device_lost/, qw(-w uniform:n=500 -p segments --faults obtain:3=700));
fails('a fault that only smaller limits meet', 4, qr/driver_error/,
      qw(-w train:steps=2,layers=6 -p segments:growth=exact --verify off --faults), 'give_back:1+');

# ---- determinism, formats, the table
my @again = ('-w', 'uniform:n=1000', '-p', 'raw,segments', '--seed', 7);
is((capacity(@again))[0]{out}, (capacity(@again))[0]{out}, 'two runs: the same bytes');
is((capacity(@again, '--verify', 'off'))[0]{out}, (capacity(@again))[0]{out}, 'verified or not');
my $json = eval { JSON::PP->new->decode(stress('capacity', @again, '-q', '--out', 'json=-')->{out}) } // {};
is(join(',', sort keys %{$json->{cases}[1] // {}}), join(',', sort split /,/, $header), 'JSON: a case has every column');
is($json->{cases}[0]{remapped_pages} // 'null', 'null', 'what does not exist is null');
my $table = stress('capacity', @again);
ok($table->{out} =~ /^uniform:n=1000 +segments +ok +\d\.\d{4} .* fragmented$/m, 'the table has the ratio and the reason');
ok($table->{out} =~ /smallest limit found by bisection/ && $table->{out} !~ /drv time/, 'and says what it shows');
is((capacity(@again, '--filter', '*/raw'))[0]{out} =~ tr/\n//, 2, '--filter chooses rows');

# ---- usage
refused(2, qr/--limit means nothing to capacity/, qw(capacity -w train -p segments --limit 1G));
refused(2, qr/--on-oom skip: not with capacity/, qw(capacity -w train -p segments --on-oom skip));
refused(2, qr/policy 'segments:limit=1G' has a limit key: not with capacity/, qw(capacity -w train -p segments:limit=1G));
refused(2, qr/unexpected argument 'extra' after capacity/, qw(capacity extra -w train -p raw));
refused(2, qr/--out: expected KIND=PATH with csv, json, junit, md, html or svg, found 'trace'/, qw(capacity -w train -p raw --out trace=x));
refused(2, qr/no policy/, qw(capacity -w train));
ok(stress('help', 'capacity')->{out} =~ /smallest limit/, 'help capacity');
ok(stress('help', 'columns')->{out} =~ /of capacity.*\n  workload\n(?:  \w+\n)*  stop_reason\n  threads$/m, 'help columns has them');

# ---- real traces
my $pangu = "$traces/intervals/somas_pangu_2.6B.csv";
if (-r $pangu) {
    my ($real, @of) = capacity('-w', "replay:$pangu", '-p', 'raw,segments,paged');
    confirm($_) for @of;
    is(join("\n", map { join(' ', @$_{qw(policy status), 'min limit / peak', 'ends at op', 'reason'}) =~ s/^cudaMalloc /raw /r } (readme_rows(qr/^workload .* min limit /))[0, 1]),
       join("\n", map { join ' ', @$_{qw(policy status ratio stop_op stop_reason)} } @of[0, 1]), "README's table");
    ok($of[2]{ratio} < $of[1]{ratio} && $of[2]{remapped_pages} > 0, 'paged needs less than segments, and moves pages');
} else {
    skip("no real traces in $traces: set GPUARENA_TRACES");
}
done();

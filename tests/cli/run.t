#!/usr/bin/perl
# What `stress run` finds and writes: CSV and JSON, determinism, out of memory, faults, repro lines, broken inputs.
# It must not test the syntax of options: cli.t does.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

my $header = 'workload,policy,device,seed,ops,status,host_ns_per_op,alloc_p50_ns,alloc_p99_ns,alloc_max_ns,'
    . 'free_p50_ns,driver_calls,driver_vns,gpu_waits,requested_peak_bytes,live_peak_bytes,reserved_peak_bytes,'
    . 'footprint,fragmentation,stranded_peak_bytes,remapped_pages,oom_op,oom_requested_bytes,oom_free_bytes,'
    . 'oom_largest_bytes,oom_reason,digest,pending_peak_bytes,allocs,threads,'
    . 'misses,hit_p50_ns,hit_p99_ns,miss_p50_ns,waited_p50_vns,waited_p99_vns,waited_max_vns,served_p99_vns,ended,'
    . 'vns_per_op,steady_steps,steady_driver_calls,steady_driver_vns,last_driver_calls,'
    . 'last_remapped_pages,last_footprint';
my @timed = qw(host_ns_per_op alloc_p50_ns alloc_p99_ns alloc_max_ns free_p50_ns);
my @apart = qw(hit_p50_ns hit_p99_ns miss_p50_ns);                                # timed, where there are such

sub csv {
    my $run = stress('run', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

# ---- columns, and a workload whose every number is known
my $small = spew('small.trace', "gpuarena-trace 1\na 1 3000000 0\na 2 100 0\nf 1\na 3 5000000 7 tag\nf 2\nf 3\n");
my ($run, $raw, $arena) = csv('-w', "replay:$small", '-p', 'raw,segments:growth=exact', '--no-timing');
is($run->{code}, 0, 'the small trace runs');
is((split /\n/, $run->{out})[0], $header, 'the columns are these, in this order');
is($run->{out} =~ tr/\r//, 0, 'lines end in a newline alone');
is(join(' ', @$raw{qw(ops allocs status driver_calls requested_peak_bytes live_peak_bytes footprint fragmentation oom_op)}),
   '6 3 ok 6 5000100 5000448 ' . sprintf('%.4f', $raw->{reserved_peak_bytes} / 5000100) . '  ', 'raw');
is(join(' ', @$arena{qw(ops status driver_calls requested_peak_bytes live_peak_bytes reserved_peak_bytes footprint
                        gpu_waits)}),
   '6 ok 2 5000100 5000448 10485760 2.0971 0', 'segments: 4 MiB, then 6 MiB as the 5,000,000 bytes fit nowhere');
is($arena->{fragmentation}, sprintf('%.4f', 1 - 3000064 / (10485760 - 5000448)), 'fragmentation at peak reserved');
is($arena->{digest}, $raw->{digest}, 'the digest does not depend on the policy');
ok($raw->{digest} =~ /^[0-9a-f]{16}$/, 'the digest has 16 digits');
is(join('', @$raw{@timed, @apart}, @$arena{@timed, @apart}), '', '--no-timing leaves measured cells empty');
my $other = spew('other.trace', slurp($small) =~ s/100 0/101 0/r);
my ($changed) = (csv('-w', "replay:$other", '-p', 'raw', '--no-timing'))[1];
ok($changed->{digest} ne $raw->{digest}, 'one byte more changes the digest');

# ---- streams: work and waits of a trace are followed, and what is not ordered is told
my $head_of_race = "gpuarena-trace 1\na 1 3000000 1\nk 1 5000000 1\n";
my $apart = spew('apart.trace', "${head_of_race}f 1 2\na 2 3000000 2\nk 2 1000 2\n");
my $order = spew('order.trace', "${head_of_race}w 2 1\nf 1 2\na 2 3000000 2\nk 2 1000 2\n");
my $race = spew('race.trace', "${head_of_race}f 1\na 2 3000000 1\nk 2 1000 2\n");
my $found = repro('a use that nothing orders', 3, qr{/segments: verify_failed: op 3: device: stream 2 uses 3000000 bytes at \S+ not ordered after op 1 on stream 1; .*the workload's if no `w` line.*$}m,
                  '-w', "replay:$race", '-p', 'segments', '--verify', 'full');
my ($named, $told) = csv('-w', "replay:$apart", '-p', 'segments', '--verify', 'full', '--no-timing');
is("$named->{code} $told->{status}", '0 ok', 'a free that nothing orders: the arena is told what it is not behind');
my ($ordered, $waits, $pends) = csv('-w', "replay:$order", '-p', 'raw,segments', '--verify', 'full', '--no-timing');
is("$ordered->{code} $waits->{status} $pends->{status}", '0 ok ok', 'with a wait it is in order');
is($waits->{digest}, $pends->{digest}, 'and every policy has done the same');
ok($waits->{driver_vns} > 5000000 - 100000, "raw: cudaFree waits for the stream's work, and driver_vns has it");
is(join(' ', map { $_->{pending_peak_bytes} } $waits, $pends), ' 3000064', 'what a stream has freed is pending for others');
my ($elsewhere) = (csv('-w', 'replay:' . spew('none.trace', "gpuarena-trace 1\na 1 3000000 1\nf 1 2\na 2 3000000 2\nf 2 0\n"), '-p', 'segments', '--verify', 'full', '--no-timing'))[1];
is($elsewhere->{status}, 'ok', 'without work of its own a trace is a program that waits');

# ---- where times were measured
my ($timed, $untimed, $part) = map { JSON::PP->new->decode(stress('run', '-w', 'uniform:n=50', '-p', 'raw', '-q', @$_, '--out', 'json=-')->{out} =~ s/\A#.*\n//r) }
    [], ['--no-timing'], ['--shard', '0/2'];
is(join(' ', sort keys %{$timed->{host}}), 'argv compiler cpu cpus date flags governor kernel load', 'times come with what they were measured on');
ok($timed->{host}{compiler} =~ /^(?:gcc|clang) \d/ && $timed->{host}{flags} =~ /-\w/ && $timed->{host}{cpus} >= 1, 'compiler, flags, processors');
is(join(' ', @{$timed->{host}{argv}}[1 .. 5]), 'run -w uniform:n=50 -p raw', 'how');
ok($timed->{host}{date} =~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ && $timed->{host}{kernel} =~ /^\w+ \d/, 'when, and under what');
ok(!exists $untimed->{host} && join(' ', sort keys %{$part->{host}}) eq join(' ', sort keys %{$timed->{host}}), 'not without times; in a shard, too');

# ---- operations that come at a rate
my @rated = map { (csv('-w', 'uniform:n=2000', '-p', 'raw', '--no-timing', '--rate', $_))[1] } 100, 1000000;
is($rated[0]{waited_p99_vns}, $rated[0]{served_p99_vns}, 'slowly: nothing waits for what came before');
ok($rated[1]{waited_p50_vns} > 100 * $rated[1]{served_p99_vns}, 'a million a second: ops wait for those before');
is($rated[0]{digest}, $rated[1]{digest}, 'the results are the same');
refused(2, qr/--rate: expected a number from 1/, qw(run -w uniform:n=9 -p raw --rate 0));
refused(2, qr/--rate: expected a number from 1 to 1000000000, found '\Q$_\E'/, qw(run -w uniform:n=9 -p raw --rate), $_) for qw(1000000001 -1 1.5 1e3 18446744073709551617);
my $rated = JSON::PP->new->decode(stress(qw(run -w larson:blocks=9,uniform:n=50 --ops 71 --threads 3 -p raw,paged --rate 1000000000 --no-timing -q --out json=-))->{out});
is(join(' ', map { "$_->{ops} $_->{rate}{waited}{n} $_->{rate}{served}{n}" } @{$rated->{cases}}), join(' ', ('71 71 71') x 4),
   'of several threads, too: each op once, what is freed at the end not at all');
is($rated->{cases}[$_]{digest}, $rated->{cases}[$_ + 1]{digest}, '.. and every policy the same') for 0, 2;
ok(!exists $untimed->{cases}[0]{rate} && $untimed->{cases}[0]{seed} == 1, 'without --rate nobody waits');

# ---- determinism
for my $out (qw(csv json)) {
    my @words = ('run', '-w', 'train:steps=2,layers=4,uniform:n=3000', '-p', 'raw,segments', '-q', '--no-timing',
                 '--out', "$out=-");
    is(stress(@words)->{out}, stress(@words)->{out}, "$out of two runs: the same bytes");
}
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

# ---- JSON
my $text = stress(qw(run -w uniform:n=3000 -p raw,segments --limit 1G -q --out json=-))->{out};
my $json = eval { JSON::PP->new->utf8->decode($text) } // {};
is($json->{schema}, 'gpuarena-stress/1', 'JSON parses and names its schema');
is(scalar @{$json->{cases} // []}, 2, 'a case a row');
my ($first, $second) = @{$json->{cases} // [{}, {}]};
is(join(',', grep { !exists $first->{$_} } grep { !/^oom_/ } split /,/, $header), '',
   'a case has every column but the oom ones');
ok($text =~ /"ops":\d/ && $text =~ /"footprint":\d/ && $text =~ /"seed":1,/, 'numbers are numbers');
ok(exists $first->{oom} && !defined $first->{oom} && !defined $first->{fragmentation}, 'what does not exist is null');
ok(scalar(($second->{oom}{reason} // '') =~ /^(?:over_limit|fragmented)$/), 'the arena under its limit: the reason');
ok(($second->{oom}{op} // '') =~ /^\d+$/ && ($second->{oom}{text} // '') =~ /\w/, 'its op and its sentence');
my $n = 0;
$n += $_->[1] for @{$first->{lat}{alloc}{bins} // []};
is($n, $first->{lat}{alloc}{n}, 'the bins hold all allocations');
is($first->{lat}{alloc}{n} + $first->{lat}{free}{n}, $first->{ops}, 'allocations and frees are the ops');
is($first->{lat}{hit}{n} + $first->{lat}{miss}{n}, $first->{lat}{alloc}{n}, 'hits and misses are the allocations');
is($first->{lat}{miss}{n}, $first->{misses}, 'as many misses as are counted');

# ---- out of memory is a result
my ($stop, $poor) = csv('-w', 'train', '-p', 'segments', '--limit', '1G', '--no-timing');
is("$stop->{code} $poor->{status}", '0 oom', 'train under 1G: status oom, exit 0');
ok($poor->{reserved_peak_bytes} <= 1 << 30, 'the limit holds');
ok($poor->{$_} =~ /^\d+$/, "$_ is a number") for qw(oom_op oom_requested_bytes oom_free_bytes oom_largest_bytes);
ok($poor->{oom_reason} =~ /^(over_limit|fragmented)$/, "reason $poor->{oom_reason}");
is($poor->{oom_op} + 1, $poor->{ops}, 'the row ends at the first failure');
ok(stress(qw(run -w train -p segments --limit 1G --no-timing))->{out} =~ m{^train/segments: \S.* bytes}m,
   'the table says why in a sentence');
my ($skip, $on) = csv('-w', 'train', '-p', 'segments', '--limit', '1G', '--no-timing', '--on-oom', 'skip');
is("$skip->{code} $on->{status}", '0 oom', 'skip: status stays oom');
ok($on->{ops} > $poor->{ops}, 'and the run goes on');
is(join(',', @$on{grep { /^oom/ } split /,/, $header}), join(',', @$poor{grep { /^oom/ } split /,/, $header}),
   "with the first failure's numbers");
ok($on->{reserved_peak_bytes} <= 1 << 30, 'the limit holds to the end');
my ($full, $device) = csv('-w', 'uniform:n=2000,max=64', '-p', 'raw,segments', '--device', 'sim:1G', '--no-timing');
is("$full->{code} $device->{status} $device->{oom_reason}", '0 oom driver_refused', 'raw on a full device');
ok($device->{oom_free_bytes} < $device->{oom_requested_bytes} && $device->{oom_largest_bytes} eq '',
   "the device's free bytes");

# ---- faults: driver errors, lies, repro lines that reproduce
sub repro {
    my ($name, $code, $pattern, @words) = @_;
    my $run = stress('run', @words, '--no-timing', '-q');
    is($run->{code}, $code, "$name: exit $code") or print "#   $_\n" for split /\n/, $run->{err};
    ok($run->{err} =~ $pattern, "$name: is told");
    my ($line) = $run->{err} =~ /^repro: (.*)$/m;
    return ok(0, "$name: a repro line") if !defined $line;
    my $shown = qx{$line -q 2>&1 >/dev/null};
    is($? >> 8, $code, "$name: the repro line ends alike: $line");
    is(($shown =~ /^(stress: .*)$/m)[0], ($run->{err} =~ /^(stress: .*)$/m)[0], "$name: and says the same");
    return $line;
}
my @random = ('-w', 'uniform:n=500', '-p');
my $line = repro('overlap', 3, qr{stress: uniform:n=500/cudaMalloc: verify_failed: op \d+: \w+: block \d+: expected .*found},
                 @random, 'raw', '--faults', 'overlap:100');
ok($line =~ / --faults overlap:100 --ops 1\d\d$/, 'cut right after the failing op') or print "#   $line\n";
repro('misaligned', 3, qr/misaligned: block/, @random, 'raw', '--faults', 'misaligned:9', '--seed', 4);
repro('give_back fails', 4, qr/: error: op \d+: free: driver_error/, @random, 'raw', '--faults', 'give_back:3');
repro('device lost', 4, qr/device_lost/, @random, 'segments', '--faults', 'obtain:3=700', '--device', 'sim:8G');
repro('give_back by name', 4, qr/: error: op \d+: free: driver_error: cudaFree of \d+ bytes: cudaErrorUnknown \(999\)$/m, @random, 'raw',
      '--faults', 'give_back:3');
repro('trim fails at the end', 4, qr/trim: driver_error/, @random, 'segments', '--faults', 'give_back:1+',
      '--on-oom', 'skip');
repro('several faults in quotes', 4, qr/error/, @random, 'raw', '--faults', 'give_back:4;obtain>100G');
is(stress('run', '-w', 'uniform:n=500', '-p', 'raw,segments', '--faults', 'overlap:100;give_back:3', '-q')->{code}, 4,
   'of several exit codes the highest');
my ($baseline) = stress(qw(run -w uniform:n=500 -p segments --faults give_back:50));
ok($baseline->{code} eq 0 && $baseline->{err} eq '', 'a baseline that nobody asked for fails no run');
my ($wrong) = stress(qw(run -w uniform:n=500 -p paged --faults null:3));
ok($wrong->{code} eq 0 && $wrong->{out} =~ m{^uniform:n=500  cudaMalloc +verify_failed .*^uniform:n=500/cudaMalloc: op 3: null_block: }ms,
   '.. but is verified as all are: no figure comes of what it got wrong');
my (undef, $rival) = csv(qw(-w uniform:n=500,max=64 -p segments --device sim:1G --faults rival@20=1G --no-timing));
is($rival->{status}, 'oom', 'a rival takes the device: out of memory');
ok(($rival->{oom_op} || 0) >= 20, 'not before it came');
my ($refused_code, $large) = csv('-w', 'uniform:n=500', '-p', 'segments', '--faults', 'obtain>4M', '--no-timing');
is("$refused_code->{code} $large->{status}", '0 ok', 'a driver that refuses above 4 MiB is lived with');

# ---- costs, clock, context
my $costs = spew('costs', "malloc_block 1000000 0\nfree_block 0 0\nmalloc_slab 1000000 0\nfree_slab 0 0\n");
my (undef, $priced) = csv('-w', "replay:$small", '-p', 'raw', '--costs', $costs, '--no-timing');
is($priced->{driver_vns}, 3000000, 'driver_vns is what the costs say');
my (undef, $context) = csv(qw(-w uniform:n=2000,max=64 -p raw --device sim:2G --context 1G --no-timing));
is($context->{oom_op}, $device->{oom_op}, 'a context of 1G on 2G is a device of 1G');

# ---- trace out, and in again
my ($writes, $made) = csv(qw(-w train:steps=2,layers=3 -p segments --seed 3 --no-timing), '--out',
                          "trace=$folder/made.trace");
my (undef, $replayed) = csv('-w', "replay:$folder/made.trace", '-p', 'segments', '--no-timing');
is($writes->{code}, 0, 'a trace is written');
is(join(' ', @$replayed{qw(ops requested_peak_bytes driver_calls digest)}),
   join(' ', @$made{qw(ops requested_peak_bytes driver_calls digest)}), 'and replays to the same numbers');

# ---- outputs that cannot be written
if (-w '/dev/full') {
    for my $out ('csv=/dev/full', 'json=/dev/full', 'trace=/dev/full') {
        my $lost = stress('run', '-w', 'uniform:n=50', '-p', 'raw', '-q', '--out', $out);
        ok($lost->{code} eq 4 && $lost->{err} =~ m{\Astress: /dev/full: not all was written: .*\n\z}, "$out: exit 4");
    }
    for my $words ('run -w uniform:n=50 -p raw', 'list', 'help', 'version', 'run -w train -p raw -q --out csv=-') {
        my $told = qx{$stress $words 2>&1 >/dev/full};
        ok($? >> 8 == 4 && $told =~ /^stress: stdout: not all was written/m, "$words to a full disk: exit 4");
    }
} else {
    skip('no /dev/full here');
}
my $to_pipe = "$stress run -w uniform:n=20000 -p raw --no-timing -q --out trace=- 2>$folder/pipe";
system "($to_pipe; echo \$? >$folder/code) | cat >/dev/null";
is(slurp("$folder/code"), "0\n", 'to an open pipe: exit 0');
system "($to_pipe; echo \$? >$folder/code) | head -c 10 >/dev/null";
is(slurp("$folder/code"), "4\n", 'to a closed pipe: exit 4, no signal');
ok(slurp("$folder/pipe") =~ /\Astress: stdout: not all was written: .*\n\z/, 'and a clear line');

# ---- progress
{
    local $ENV{CI} = 1;
    my $silent = stress('run', '-w', 'uniform:n=50', '-p', 'raw', '--no-timing', '--progress', 'always');
    ok($silent->{err} !~ /\r/, 'under CI no line is redrawn');
}

# ---- broken traces: one clear line, file and line named, exit 2
my $head = "gpuarena-trace 1\n";
my %broken = (
    'bad number' => [$head . "a 1 x 0\n", 2], 'unknown id' => [$head . "a 1 5 0\nf 2\n", 3],
    'double free' => [$head . "a 1 5 0\nf 1\nf 1\n", 4], 'truncated last line' => [$head . "a 1 5 0\nf 1", 3],
    '2^64' => [$head . "a 1 18446744073709551616 0\n", 2], 'negative' => [$head . "a 1 -5 0\n", 2],
    'binary garbage' => [join('', map { chr(($_ * 7919) % 256) } 1 .. 5000), 1],
    'live id again' => [$head . "a 1 5 0\na 1 5 0\n", 3], 'unknown verb' => [$head . "z 1\n", 2],
);
for my $name (sort keys %broken) {
    my $file = spew('broken', $broken{$name}[0]);
    refused(2, qr/\Q$file\E:$broken{$name}[1]: /, 'run', '-w', "replay:$file", '-p', 'raw');
}
refused(2, qr/empty.*empty/, 'run', '-w', 'replay:' . spew('empty', ''), '-p', 'raw');
refused(2, qr/\Q$folder\E: /, 'run', '-w', "replay:$folder", '-p', 'raw');
refused(2, qr/missing: /, 'run', '-w', "replay:$folder/missing", '-p', 'raw');

my $crowd = spew('crowd.trace', "${head}a 1 3000 0\n" . join('', map { "k $_ 5 1\n" } 1 .. 1024));
refused(2, qr/workload replay:\Q$crowd\E: more than 1024 streams/, 'run', '-w', "replay:$crowd", '-p', 'raw');
is((csv('-w', 'replay:' . spew('full.trace', slurp($crowd) =~ s/k 1024 5 1\n//r), '-p', 'segments', '--no-timing'))[0]{code}, 0, 'and 1024 are served');

# ---- outputs never destroy what is there: another output, the recording itself, or earlier results
my $keep = slurp($small);
refused(2, qr/is the recording of/, 'run', '-w', "replay:$small", '-p', 'raw', '--out', "csv=$small");
is(slurp($small), $keep, 'the recording is as it was');
refused(2, qr/written twice/, 'run', '-w', 'uniform:n=10', '-p', 'raw', '--out', "csv=$folder/same", '--out', "json=$folder/./same");
ok(!-e "$folder/same", '.. and no empty file is left');
my @json = map { stress('run', '-w', 'uniform:n=100', '-p', 'segments', '--no-timing', '-q', '--out', "json=$folder/$_"); slurp("$folder/$_") }
    qw(first.json second.json);
is($json[0], $json[1], 'equal runs give equal JSON, wherever it goes');

# ---- a repro line repeats its failure, refused ids left out on the way or not
my @lies = qw(run -w uniform:n=2000 -p raw --device sim:1G --on-oom skip --faults misaligned:1200 --no-timing -q);
my $lied = stress(@lies);
is($lied->{code}, 3, 'a misaligned block after many refusals: exit 3');
my ($repro) = $lied->{err} =~ /^repro: \S+ (.*)$/m;
my $repeated = stress(map { s/^'(.*)'$/$1/r } split / /, $repro // '', -1);
is($repeated->{code}, 3, "repeated: $repro");
is(join("\n", grep { /^stress: / } split /\n/, $repeated->{err}), join("\n", grep { /^stress: / } split /\n/, $lied->{err}), 'the same violation');

# ---- the table: what a newcomer asks for, the best marked; whole runs alone are compared
my $table = do { local $ENV{COLUMNS} = 250; stress(qw(run -w uniform:n=2000 -p raw,segments --limit 64M --no-timing)) };
ok($table->{out} =~ /^uniform:n=2000 +segments +oom +[\d.]+ MiB +\+\d\S* % +- +- +- +\d\S* % +\d+$/m, 'a row that ended early has no warm-up, but a fragmentation') or print "#   $table->{out}";
is($table->{out} =~ tr/*// - 1, 0, 'and nothing is best where one alone completes');
ok($table->{out} =~ /^uniform:n=2000: only cudaMalloc completes, with .*; segments ran out of memory at operation \d+$/m, 'the verdict');
ok($table->{out} !~ /p50|p99|host\/op/ && $table->{out} =~ /warm-up calls/, 'what was not timed takes no room') or print "#   $table->{out}";
my @looped = ('run', '-w', 'cnn:batch=2,image=64,steps=3,uniform:n=300', '-p', 'segments,paged', '--no-timing');
my $both = stress(@looped);
is(join(' ', map { "$_->{'calls/step'}" } grep { $_->{workload} =~ /uniform/ } table_rows($both->{out})), '- - -', 'no step comes again: no column has a number of one');
ok($both->{out} !~ /frag|OOM/, 'nothing failed: no fragmentation') or print "#   $both->{out}";
is(scalar(() = $both->{out} =~ /^$/mg), 3, 'a blank line between workloads, and around the verdicts');
my ($steps) = grep { $_->{workload} =~ /cnn/ && $_->{policy} eq 'paged' } rows(stress(@looped, '-q', '--out', 'csv=-')->{out});
my ($step_row) = grep { $_->{workload} =~ /cnn/ && $_->{policy} eq 'paged' } table_rows($both->{out});
is("$steps->{steady_steps} $step_row->{'warm-up calls'} $step_row->{'calls/step'}",
   '2 ' . ($steps->{driver_calls} - $steps->{steady_driver_calls}) . ' ' . ($steps->{steady_driver_calls} / 2 || 0), 'the first step is the warm-up, the others are told each');
ok($both->{out} =~ /cudaMalloc was not asked for/, 'who was not asked for takes no part, and that is said');
my $coloured = stress(@looped, '--color', 'always');
ok($coloured->{out} =~ /\033\[1m[\d.]+ MiB\033\[0m/ && $coloured->{out} !~ /\d\*/, 'with colours the best are bold');
my ($html, $md) = map { stress(@looped, '-q', '--out', "$_=-")->{out} } qw(html md);
my ($verdict) = $both->{out} =~ /^(cnn\S*: .*)$/m;
ok(index($html, "<li>$verdict</li>") > 0 && index($md =~ s/\\//gr, "- $verdict\n") > 0, 'html and md say the same') or print "#   $verdict\n";
my (undef, $rounds) = csv(qw(-w uniform:n=300 -p segments --rounds 3 --no-timing));
is("$rounds->{steady_steps} $rounds->{steady_driver_calls}", '2 0', 'rounds come again where no step does');
my (undef, $threaded) = csv(qw(-w cnn:batch=1,image=64,steps=2 -p segments --threads 3 --no-timing));
is($threaded->{steady_steps}, 1, "steps are those of the first thread: another's are no repetition");
ok($table->{out} =~ /the limit of 67108864 bytes/, 'the sentence names the limit');

# ---- memory that moves: counted, and shown where there is any. Four pages, the first and the third free: 4 MiB must move.
my $apart_pages = spew('pages.trace', $head . join('', map { "a $_ 2097152 0\n" } 1 .. 4) . "f 1\nf 3\na 5 4194304 0\na 6 100 0\nf 5\n");
my @moving = ('-w', "replay:$apart_pages", '--no-timing', '-p');
my ($paged_run, $paged, $none, $segments) = csv(@moving, 'paged:limit=10M,best:limit=10M,segments:limit=8M');
is($paged_run->{code}, 0, 'paged, a plain range and segments');
is(join(' ', @$paged{qw(status allocs remapped_pages reserved_peak_bytes stranded_peak_bytes)}), 'ok 6 2 10485760 2096896',
   'paged: two pages move; 100 bytes strand the rest of theirs');
is(join(' ', map { @$_{qw(status remapped_pages)} } $none, $segments), 'oom  oom 0', 'the others move none: a model has no such figure');
ok($paged->{driver_calls} > 5 + 7 + 2, 'five creates, seven maps, two unmaps and more are counted');

# ---- real traces
my ($gpt, $pangu) = ("$traces/pytorch/medium_128_training.trace", "$traces/intervals/somas_pangu_2.6B.csv");
if (-r $gpt && -r $pangu) {
    my ($real, @rows) = csv('-w', "replay:$gpt,replay:$pangu", '-p', 'raw,segments', '--seed', 1);
    is($real->{code}, 0, 'real traces: exit 0');
    is(join(' ', map { $_->{status} } @rows), 'ok ok ok ok', 'status ok');
    is(join(' ', map { $_->{requested_peak_bytes} } @rows), '7013335044 7013335044 5530099775 5530099775',
       'requested peaks');
    is(join("\n", map { join ' ', @$_{qw(policy status), 'warm-up calls', 'overhead'} } grep { $_->{policy} =~ /^\w+$/ } readme_rows(qr/^workload .*\nreplay:medium/)),
       join("\n", map { join ' ', $_->{policy} =~ s/^raw$/cudaMalloc/r, @$_{qw(status driver_calls)}, sprintf('%+.1f %%', ($_->{footprint} - 1) * 100) } @rows), "README's table");
    ok($rows[$_ + 1]{driver_calls} * 100 < $rows[$_]{driver_calls}, 'segments: less than 1 % of the driver calls')
        for 0, 2;
} else {
    skip("no real traces in $traces: set GPUARENA_TRACES");
}

# ---- what the driver's pool keeps beyond what it handed out is not the arena's
for my $words (['uniform:n=300'], ['uniform:n=300', '--limit', '6G'], ['larson:rounds=1,blocks=20']) {
    my (undef, $kept) = csv('-w', $words->[0], '-p', 'config:backing=async', '--no-timing', @$words[1 .. $#$words]);
    is($kept->{status}, 'ok', "backing=async: verified, @$words");
}

# ---- work that the virtual clock cannot count is refused, not counted wrong
my $endless = spew('endless.trace', "gpuarena-trace 1\na 1 100 0\nk 0 4611686018427387904 1\nk 0 1 1\nf 1\n");
refused(2, qr/endless\.trace:4: 1 ns of work beside 4611686018427387904, expected at most 2\^62 ns in all/, 'run', '-w', "replay:$endless", qw(-p raw));
refused(2, qr/--rounds 1000: so often the work of replay:\S+long\.trace, 4611686018427388 ns, is more than 2\^62 ns/, 'run', '-w', 'replay:' . spew('long.trace', "gpuarena-trace 1\na 1 100 0\nk 0 4611686018427388 1\nf 1\n"), qw(-p raw --rounds 1000));
done();

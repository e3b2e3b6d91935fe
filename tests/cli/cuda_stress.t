#!/usr/bin/perl
# build/stress on CUDA devices, served by the libcudart substitute: the same results as on the simulated device itself,
# contents checked in real bytes, failures told, exit codes.
# It must not need a GPU: gpu.t does.
# Takes long: every byte of the simulated devices is memory of the host.
use strict;
use warnings;
no warnings 'qw';
use Cwd qw(abs_path);
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $build = $ENV{BUILD} || 'build';
if (!built_with_cuda()) {
    print "1..0 # SKIP built without the CUDA Toolkit\n";
    exit 0;
}
$ENV{LD_LIBRARY_PATH} = abs_path("$build/sim");
my $path = $ENV{PATH};
mkdir "$folder/none";
$ENV{PATH} = "$folder/none:/usr/bin:/bin" if -x '/usr/bin/nvidia-smi' || grep { -x "$_/nvidia-smi" } split /:/, $path;

sub csv {
    my $run = stress('run', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

# A program called nvidia-smi, first in PATH.
sub smi {
    my ($text) = @_;
    mkdir "$folder/bin";
    spew('bin/nvidia-smi', "#!/bin/sh\n$text\n");
    chmod 0755, "$folder/bin/nvidia-smi";
    $ENV{PATH} = "$folder/bin:$path";
}

# ---- the same operations, the same answers
my @work = ('-w', 'uniform:n=600,max=1,train:steps=2,layers=1,hidden=256,batch=1', '-p', 'raw,segments', '--no-timing');
my ($real, @on_cuda) = csv(@work, '--device', 'cuda:0', '--verify', 'full');
my ($virtual, @on_sim) = csv(@work);
is("$real->{code} @{[map { $_->{status} } @on_cuda]}", '0 ok ok ok ok', 'cuda:0 runs, everything verified');
my @same = qw(workload policy ops requested_peak_bytes live_peak_bytes driver_calls digest);
for my $index (0 .. $#on_sim) {
    my ($cuda, $sim) = ($on_cuda[$index] // {}, $on_sim[$index]);
    is(join(' ', map { $_ // '' } @$cuda{@same}), join(' ', @$sim{@same}), "row $index: the same as simulated");
    is(($cuda->{device} // '') . ':' . ($cuda->{driver_vns} // 'none'), 'cuda:0:', "row $index: no virtual time on CUDA");
}
is($on_cuda[$_]{reserved_peak_bytes}, $on_sim[$_]{reserved_peak_bytes}, "row $_: reserved is the same") for 0 .. 3;
my @pieces = qw(-w uniform:max=2 -p raw --verify off --no-timing);
is((csv(@pieces, '--device', 'cuda:0'))[1]{footprint}, (csv(@pieces))[1]{footprint}, 'many small blocks: the footprint is the same');
my ($timed, $row) = csv('-w', 'uniform:n=3000', '-p', 'segments', '--device', 'cuda:0');
ok($timed->{code} eq 0 && $row->{host_ns_per_op} > 0 && $row->{alloc_p50_ns} > 0, 'timed in a second pass');

# ---- every workload; but nobody can be told to take a GPU's memory
my ($all, @all) = csv(qw(-w all -p raw --ops 300 --verify off --no-timing --device cuda:0));
ok(@all > 10 && !grep({ $_->{status} ne 'ok' || $_->{workload} eq 'rival' } @all), '-w all: ' . @all . ' workloads run');
refused(2, qr/workload rival: another process takes memory, expected --device sim/, qw(run -w rival -p raw --device cuda:0));

# ---- streams are CUDA's, and nothing of them stays
my $streams = spew('streams.trace', "gpuarena-trace 1\na 1 5000000 1\na 2 3000 1\nk 1 1000 1 2\nw 2 1\nk 2 1000 1 2\nf 1\nf 2 2\na 3 5000000 1\n"
    . "k 1 1000 3\na 4 3000 2\nk 2 1000 4\nw 0 2\nf 4 0\na 5 3000 0\nk 0 5 5\n");
for my $policy (qw(raw segments)) {
    local $ENV{GPUARENA_SIM} = 'work=3000';
    my ($many, $there) = csv('-w', "replay:$streams", '-p', $policy, '--device', 'cuda:0', '--verify', 'full');
    is("$many->{code} $there->{status} $many->{err}", '0 ok ', "$policy on three streams of cuda:0");
    $ENV{GPUARENA_SIM} = 'fail=cudaStreamCreateWithFlags:2';
    my ($none) = csv('-w', "replay:$streams", '-p', $policy, '--device', 'cuda:0', '--no-timing');
    ok($none->{code} eq 4 && $none->{err} =~ m{error: cudaStreamCreateWithFlags: cudaErrorUnknown \(999\)$}m, 'one that cannot be made')
        or print "#   $none->{err}";
}

# ---- contents are real bytes
{
    local $ENV{GPUARENA_SIM} = 'fail=cudaMemcpy:5=1';
    my ($failed, $broken) = csv('-w', 'uniform:n=500', '-p', 'segments', '--device', 'cuda:0', '--verify', 'full', '--no-timing');
    is("$failed->{code} $broken->{status}", '4 error', 'a copy that fails: status error, exit 4');
    ok($failed->{err} =~ m{^stress: uniform:n=500/segments: error: op \d+: unverified: block \d+: cudaMemcpy .*cudaErrorInvalidValue \(1\)}m,
       'and says which');
    ok($failed->{err} =~ m{^repro: \S+ run .*--device cuda:0 --verify full --ops \d+$}m, 'and how to see it again');
    ok($failed->{err} !~ /leak|finding|never gave|given back already/i, 'nothing else is found');
    my $one = spew('one.trace', "gpuarena-trace 1\na 1 100 0\nf 1\n");
    $ENV{GPUARENA_SIM} = 'fail=cudaMemcpy:3=1';
    my $unread = stress('run', '-w', "replay:$one", '-p', 'raw', '--device', 'auto', '--no-timing', '-q');
    ok($unread->{code} eq 4 && $unread->{err} =~ /op 1: unverified: block 0: cudaMemcpy from the device: cudaErrorInvalidValue/,
       'and so does one that reads back');
    ok($unread->{err} =~ /^repro: .* --device cuda:0/m, 'the repro line of auto names the device');
    $ENV{GPUARENA_SIM} = 'fail=cudaMemset:1=1';
    ok(stress('run', '-w', 'uniform:n=500', '-p', 'raw', '--device', 'cuda:0', '--no-timing', '-q')->{err}
           =~ /cudaMemset: cudaErrorInvalidValue/, 'by default one block in 64 is filled');
    my ($unasked, $fine) = csv('-w', 'uniform:n=500', '-p', 'segments', '--device', 'cuda:0', '--verify', 'off', '--no-timing');
    is("$unasked->{code} $fine->{status}", '0 ok', '--verify off fills nothing');
}

# ---- out of memory is a result, and the next row starts with everything given back
{
    local $ENV{GPUARENA_SIM} = 'device=1G';
    my ($poor, @rows) = csv('-w', 'uniform:n=2000,max=64', '-p', 'raw,segments,raw', '--device', 'cuda:0', '--no-timing');
    is("$poor->{code} @{[map { $_->{status} } @rows]}", '0 oom oom oom', 'a full device: status oom, exit 0');
    is($rows[0]{oom_op}, $rows[2]{oom_op}, 'the same for the third row as for the first: all was given back');
    ok($rows[1]{oom_reason} =~ /^(?:driver_refused|fragmented)$/, 'the arena says why');
    my ($skipped, $on) = csv('-w', 'uniform:n=2000,max=64', '-p', 'segments', '--device', 'cuda:0', '--no-timing', '--on-oom', 'skip');
    ok($skipped->{code} eq 0 && $on->{ops} > $rows[1]{ops}, 'and --on-oom skip goes on');
    my ($lost, $gone) = do {
        local $ENV{GPUARENA_SIM} = 'fail=cudaMalloc:2=700';
        csv('-w', 'uniform:n=500', '-p', 'segments', '--device', 'cuda:0', '--no-timing');
    };
    ok("$lost->{code} $gone->{status}" eq '4 error' && $lost->{err} =~ /device_lost/, 'a lost device: status error, exit 4');
    local $ENV{GPUARENA_SIM} = 'fail=cudaMalloc:3=700';
    my ($ended, @left) = csv('-w', 'uniform:n=500,max=64', '-p', 'raw,segments,config:initial=64M', '--device', 'cuda:0', '--no-timing');
    is(join(' ', $ended->{code}, map { $_->{status} } @left), '4 error', 'nothing is run on a device that is lost');
    ok($ended->{out} =~ /^# partial: 1 of 3 rows, then the device did not answer any more$/m, 'which the file says');
    is(scalar(() = $ended->{err} =~ /^repro:/mg), 1, 'one failure to repeat');
    ok($ended->{err} =~ /^stress: cuda:0 does not answer any more, 2 rows are left out: .*cudaErrorIllegalAddress/m, 'and one line on the others');
    ok($ended->{err} =~ /cudaMalloc: error: op \d+: alloc: device_lost: cudaErrorIllegalAddress \(700\) for a block of \d+ bytes(?:;|$)/m
           && $ended->{err} !~ /the device has/, 'a lost device has no free bytes to tell');

    # what cannot be given back at the end is told, whoever notices it
    my $left = spew('left.trace', "gpuarena-trace 1\na 1 3000000 0\na 2 500 0\n");
    my @leaves = ('-w', "replay:$left", '--device', 'cuda:0', '--verify', 'off');
    $ENV{GPUARENA_SIM} = 'fail=cudaFree:2';
    my ($ends, $keeps) = csv(@leaves, '-p', 'raw', '--no-timing');
    is("$ends->{code} $keeps->{status}", '4 error', 'memory that stays on the device: exit 4');
    ok($ends->{err} =~ /(?:500|3000000) bytes could not be given back to cuda:0: cudaErrorUnknown \(999\)$/m, 'and how much');
    $ENV{GPUARENA_SIM} = 'fail=cudaFree:4';
    is((csv(@leaves, '-p', 'raw'))[0]{code}, 4, 'so it is in the timing pass');
    $ENV{GPUARENA_SIM} = 'fail=cudaFree:2';
    my $told = stress('run', @leaves, '-p', 'segments', '--no-timing');
    ok($told->{code} eq 4 && $told->{err} =~ m{/cudaMalloc: error: .*could not be given back}, 'and of the baseline');
}

# ---- other processes: memory that runs out in the timing pass alone leaves the row without times, not without results
{
    my @work = qw(-w uniform:n=600,max=2 -p raw --device cuda:0 --verify off);
    local $ENV{GPUARENA_SIM} = 'device=2G,fail=rival@3000=1900M';
    my ($crowded, $row) = csv(@work);
    is("$crowded->{code} $row->{status} $row->{ops} $row->{host_ns_per_op}$row->{alloc_p50_ns}", '0 ok 1200 ', 'no times');
    ok(stress('run', @work)->{out} =~ /not timed: in the timing pass memory ran\s+out after \d+ ops; another process may\s+have\s+taken\s+memory/, 'and the table says why');
    $ENV{GPUARENA_SIM} = 'device=2G,fail=cudaMalloc:800=999';
    ok(stress('run', @work, '-q')->{err} =~ m{cudaMalloc: error: op \d+: alloc: driver_error: cudaErrorUnknown}, 'a failure there is told as what it is');
}

# ---- how long is measured: warm-up, and repeats until times are known
{
    my @hundred = qw(-w uniform:n=100,max=1 -p raw --device cuda:0 --verify off);
    my $latencies = JSON::PP->new->utf8->decode(stress('run', @hundred, '-q', '--out', 'json=-')->{out});
    is($latencies->{cases}[0]{lat}{alloc}{n}, 100, 'a pass that warms up leaves no sample');
    local $ENV{GPUARENA_SIM} = 'fail=cudaMalloc:250=999';
    is(join(' ', map { (csv(@hundred, @$_))[1]{status} } [], ['--warmup', 0], ['--warmup', 2], ['--no-timing']), 'error ok error ok',
       'it comes third: one warms up, or as many as are asked for');
    delete $ENV{GPUARENA_SIM};
    my @two = (qw(-w uniform:n=100,max=1,uniform:n=50,max=1 -p raw,segments --device cuda:0 --verify off --repeat auto));
    my ($precise, @enough) = csv(@two, '--precision', '100%');
    my %times;
    push @{$times{"$_->{workload} $_->{ended}"}}, $_->{policy} for @enough;
    is(join(' ', map { (split / /)[0] } sort keys %times), 'uniform:n=100,max=1 uniform:n=50,max=1', 'each workload until its own times are known');
    for my $name (sort keys %times) {                # on a busy machine six times may not be enough even for this
        my $each = @{$times{$name}} / 2;
        is(join(' ', @{$times{$name}}), join(' ', ('raw segments') x $each), '.. all policies as often');
        ok($name =~ / precise$/ ? (grep { $each == $_ } 6, 9, 14, 21, 32, 48, 60) : $name =~ / rounds$/ ? $each == 60 : $name =~ / time$/, ".. $each times: $name");
    }
    my $until = stress('run', @two, qw(--precision 0% --budget 1 --filter *n=50* --fail-if), 'ended != precise', '--out', "csv=$folder/until.csv");
    my @until = rows(slurp("$folder/until.csv"));
    is(join(' ', map { $_->{ended} } @until), join(' ', (@until == 120 ? 'rounds' : 'time') x @until), 'or until the time is over, or 60 times: each row says which');
    ok($until->{out} =~ /^measuring ended as precise as asked for \(--precision\) in 0 of \d+ rows; in \d+/m, '.. and the table');
    is($until->{code}, 1, '.. and a gate can ask');
    refused(2, qr/--repeat auto: not with --no-timing/, 'run', @two, '--no-timing');
    refused(2, qr/--repeat auto: not in shards, whose rows must be known; expected a number/, 'run', @two, '--shard', '0/2');
}

# ---- which device
{
    local $ENV{GPUARENA_SIM} = 'device=24G*2';
    my ($second, $there) = csv('-w', 'uniform:n=500', '-p', 'segments', '--device', 'cuda:1', '--no-timing');
    is("$second->{code} $there->{status} $there->{device}", '0 ok cuda:1', 'cuda:1 of two');
    refused(77, qr/--device cuda:2: there is no CUDA device 2: 2 answer, numbered from 0/, qw(run -w train -p raw --device cuda:2));
    my $list = stress('list', 'devices')->{out};
    ok($list =~ /^  cuda:0 +\S.*, 24\.0 GiB, GPU-[0-9a-f-]{36}$/m && $list =~ /^  cuda:1 /m && $list !~ /cuda:2/, 'list devices has both')
        or print "#   $list";
}
for my $code (35, 100) {
    local $ENV{GPUARENA_SIM} = "fail=cudaGetDeviceCount:1+=$code";
    refused(77, qr/--device cuda:0: the CUDA driver .*\($code|, $code\)/, qw(run -w train -p raw --device cuda:0));
    my $fallen = stress(qw(run -w uniform:n=100 -p raw --no-timing --device auto));
    ok($fallen->{code} eq 0 && $fallen->{err} =~ /^stress: --device auto: running on sim:80G, simulated: the CUDA driver .*, $code\)$/m,
       "auto says why it is simulated ($code)");
    local $ENV{COLUMNS} = 200;
    ok(stress('list', 'devices')->{out} =~ /^  cuda:N  +none: the CUDA driver .*, $code\)$/m, 'and so does list');
    is(stress(qw(run -w uniform:n=100 -p raw --no-timing --device auto -q --out csv=-))->{err}, '', '-q: without a word');
}
{
    local $ENV{GPUARENA_SIM} = 'fail=cudaMemGetInfo:1=46';
    my $busy = stress(qw(run -w uniform:n=100 -p raw --no-timing --device auto --out csv=-));
    ok($busy->{code} eq 0 && $busy->{out} =~ /,sim:80G,1,200,ok,,,,,,200,\d+,/ && $busy->{err} =~ /simulated: CUDA device 0: cudaMemGetInfo: \w+ \(46\)$/m,
       'a device that cannot be used: simulated, and says why');
    refused(4, qr/--device cuda:0: CUDA device 0: cudaMemGetInfo: \w+ \(46\)/, qw(run -w uniform:n=100 -p raw --device cuda:0));
}
my $auto = stress(qw(run -w uniform:n=500 -p raw,segments --no-timing --device auto));
ok($auto->{code} eq 0 && $auto->{err} =~ /^stress: --device auto: running on cuda:0, \S/m, 'auto takes cuda:0 and says so');
ok($auto->{out} !~ /is simulated|warm-up time|time\/op/ && $auto->{out} =~ /in use before the first op/, 'the table is of a CUDA device')
    or print "#   $_\n" for split /\n/, $auto->{out};

# ---- the record
sub environment {
    my $run = stress(qw(run -w uniform:n=100 -p segments --no-timing -q --device cuda:0 --out json=-));
    return eval { JSON::PP->new->utf8->decode($run->{out}) } // {};
}
my $json = environment();
is("$json->{device}{kind} $json->{device}{name}", 'cuda cuda:0', 'JSON: the kind of device');
my $record = $json->{environment} // {};
ok(length $record->{name} && $record->{uuid} =~ /^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'its name and UUID');
ok($record->{total_bytes} > 0 && $record->{other_bytes} < $record->{total_bytes}, 'its memory');
ok($record->{driver_cuda} =~ /^\d+\.\d$/ && $record->{runtime_cuda} =~ /^\d+\.\d$/, 'versions');
ok(exists $record->{other_processes} && !defined $record->{other_processes} && !defined $record->{driver},
   'without nvidia-smi the rest is null');
smi('case "$*" in *driver_version*) echo 570.86.15;; *clocks*) echo "1980 MHz, 1980 MHz, 2619 MHz";; *"--id=' . ($record->{uuid} // '?') . ' --query-compute-apps=pid"*) echo 17; echo 4711;; esac');
is(join(' ', map { $_ // 'null' } @{environment()->{environment}}{qw(driver other_processes clocks)}), '570.86.15 2 1980 MHz, 1980 MHz, 2619 MHz',
   'with it they are there');
is(join(' ', map { $_ // 'null' } @{environment()->{environment}}{qw(persistence mig_mode throttle_reasons)}), 'null null null', 'what it does not answer is null');
ok($record->{pci} =~ /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0$/ && $record->{compute_capability} =~ /^\d+\.\d$/ && $record->{multiprocessors} > 0
   && $record->{free_bytes} == $record->{total_bytes} - $record->{other_bytes}, 'where it is, what it can, what is free');
smi('case "$*" in *persistence*) echo "Enabled, [N/A], Disabled, Exclusive_Process";; *throttle*) echo 0x0000000000000004;; esac');
is(join(' ', map { $_ // 'null' } @{environment()->{environment}}{qw(persistence ecc_mode mig_mode compute_mode throttle_reasons driver)}),
   'Enabled null Disabled Exclusive_Process 0x0000000000000004 null', 'modes, and what keeps the clocks down');
smi('case "$*" in *driver_version*) echo 570.86.15;; *apps*) echo 17; echo 4711;; esac');
ok(stress(qw(run -w uniform:n=100 -p segments --no-timing -v --device cuda:0))->{err}
       =~ /^stress: device cuda:0, verify sample.*\nstress: .*driver 570\.86\.15, .*2 other processes$/m, '-v: a line of it');
for my $odd ('echo "[Insufficient Permissions]"', 'echo 1; exit 9', 'echo', 'kill $$', 'printf "%0300d\n" 7', 'printf 17') {
    smi($odd);
    is(environment()->{environment}{other_processes} // 'null', 'null', "nvidia-smi: $odd: not known");
}
smi('case "$*" in *apps*) echo 4711; p=$PPID; while [ "$(cat /proc/$p/comm)" != stress ]; do p=$(cut -d" " -f4 /proc/$p/stat); done; echo $p;; esac');
is(environment()->{environment}{other_processes} // 'null', 1, 'our own process is not counted') if -r '/proc/self/stat';
smi('exec sleep 60');
my $start = time;
my $hung = environment()->{environment} // {};
ok(exists $hung->{other_processes} && !defined $hung->{other_processes} && time - $start < 30, 'an nvidia-smi that hangs is not waited for');
smi('exit 0');
is(environment()->{environment}{other_processes} // 'null', 0, 'nobody else');
$ENV{PATH} = $path;

# ---- costs of a CUDA device
my $costs = stress('costs', '--device', 'cuda:0', '--out', "costs=$folder/costs");
is($costs->{code}, 0, 'costs --device cuda:0') or print "#   $costs->{err}\n";
my $file = slurp("$folder/costs");
ok($file =~ /^# cuda:0: /m, 'the file names the device');
ok($file =~ /^# measured on \d{4}-\d\d-\d\d by: \S+ costs --device cuda:0 --out/m, 'the date, and the command')
    or print map { "#   $_\n" } grep { /^#/ } split /\n/, $file;
is(scalar(grep { length > 118 } split /\n/, $file), 0, 'in lines that can be read');
ok(stress('costs', '--device', 'cuda:0', '--out', "costs=$folder/new\nline")->{code} eq 0
       && stress(qw(run -w uniform:n=100 -p raw -q --costs), "$folder/new\nline")->{code} eq 0, 'a newline in a word ends no comment');
ok($file =~ /^$_ \d+ \d+ /m, "it has $_") for qw(malloc_slab malloc_block free_slab free_block info);
is(stress(qw(run -w uniform:n=100 -p raw -q --costs), "$folder/costs")->{code}, 0, 'and --costs reads it');
refused(2, qr/--costs shapes simulated devices alone/, 'costs', '--device', 'cuda:0', '--costs', "$folder/costs");
done();

#!/usr/bin/perl
# build/stress and the examples on a real GPU, without the libcudart substitute: real runs, real contents, real costs.
# It must not run anywhere else: without a GPU that answers all of it is skipped, aloud.
# Run: prove tests/gpu.t (BUILD=build folder, GPUARENA_TRACES=folder of recorded traces)
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/stress_run.pl';
our ($folder, $stress, $traces);

my $build = $ENV{BUILD} || 'build';
delete @ENV{qw(COLUMNS NO_COLOR FORCE_COLOR CI GPUARENA_CONF GPUARENA_SIM LD_PRELOAD)};
# The substitute, if somebody runs everything on it, is no GPU.
$ENV{LD_LIBRARY_PATH} = join ':', grep { !-e "$_/../libcudart-sim.so" } split /:/, $ENV{LD_LIBRARY_PATH} // '';
my ($devices) = stress('list', 'devices')->{out} =~ /^(  cuda:.*)$/m;
if (($devices // '') !~ /^  cuda:0 /) {
    print '1..0 # SKIP no CUDA device answers: ', ($devices // 'list devices failed') =~ s/^ *cuda:N *none: //r, "\n";
    exit 0;
}
print "# $devices\n";

sub csv {
    my $run = stress('run', @_, '--device', 'cuda:0', '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

# ---- the workloads, timed: the arena answers as cudaMalloc does, and asks the driver for next to nothing
my @workloads = ('train', map { "replay:$_" } grep { -r } map { "$traces/pytorch/$_" }
                 qw(medium_128_training.trace medium_512_training.trace));
skip("no recorded PyTorch traces in $traces/pytorch: set GPUARENA_TRACES") if @workloads < 3;
for my $workload (@workloads) {
    my ($run, $raw, $arena) = csv('-w', $workload, '-p', 'raw,segments');
    is("$run->{code} $raw->{status} $arena->{status}", '0 ok ok', "$workload: exit 0");
    is($arena->{digest}, $raw->{digest}, "$workload: the same results");
    is((rows(stress('run', '-w', $workload, '-p', 'raw', '-q', '--no-timing', '--out', 'csv=-')->{out}))[0]{digest},
       $raw->{digest}, "$workload: and those of the simulated device");
    ok($arena->{driver_calls} * 20 < $raw->{driver_calls}, "$workload: $arena->{driver_calls} driver calls, not $raw->{driver_calls}");
    ok($arena->{host_ns_per_op} < $raw->{host_ns_per_op}, "$workload: $arena->{host_ns_per_op} ns an op, not $raw->{host_ns_per_op}");
}

# ---- every byte of every block, written and read back
my ($full, @verified) = csv('-w', 'uniform:n=2000,max=8,train:steps=2,layers=2', '-p', 'raw,segments', '--verify', 'full', '--no-timing');
is("$full->{code} @{[map { $_->{status} } @verified]}", '0 ok ok ok ok', 'contents hold, all of them');

# ---- limits hold, and out of memory is a result
my ($limited, $poor) = csv('-w', 'train', '-p', 'segments', '--limit', '1G', '--no-timing');
is("$limited->{code} $poor->{status}", '0 oom', 'train under 1G: status oom, exit 0');
ok($poor->{reserved_peak_bytes} <= 1 << 30, 'the limit holds');

# ---- the record, and the choice of auto
my $json = eval { JSON::PP->new->utf8->decode(stress(qw(run -w uniform:n=500 -p segments --device cuda:0 --no-timing -q --out json=-))->{out}) } // {};
my $record = $json->{environment} // {};
ok(length $record->{name} && $record->{uuid} =~ /^GPU-[0-9a-f-]{36}$/ && $record->{total_bytes} > 1 << 30, 'the record names the GPU');
ok($record->{other_bytes} > 0 && $record->{driver_cuda} =~ /^\d+\.\d$/, 'and what is in use, and the driver');
ok(stress(qw(run -w uniform:n=500 -p raw --no-timing --device auto))->{err} =~ /running on cuda:0/, 'auto takes it');
refused(77, qr/there is no CUDA device 64/, qw(run -w train -p raw --device cuda:64));

# ---- costs, measured
my $costs = stress('costs', '--device', 'cuda:0', '--out', "costs=$folder/costs");
is($costs->{code}, 0, 'stress costs');
my $file = slurp("$folder/costs");
print "# $_\n" for grep { !/^# (?:malloc|free|info)/ } split /\n/, $file;
ok($file =~ /^$_ [1-9]\d* \d+ /m, "$_ costs something") for qw(malloc_block free_block info);
is(stress(qw(run -w train -p raw,segments -q --costs), "$folder/costs")->{code}, 0, '--costs reads the file');

# ---- the examples, as they were built
for my $example (sort grep { -x && !-d && !/\.\w+$/ } glob "$build/examples/*") {
    my $out = qx{'$example' 2>&1};
    my $code = $? >> 8;
    if ($code == 77) { skip("$example: $out" =~ s/\n.*//sr) }
    else { is($code, 0, "$example ends with 0") or print "#   $_\n" for split /\n/, $out }
}
done();

#!/usr/bin/perl
# build/stress and the examples on a real GPU, without the libcudart substitute: real runs, real contents, real costs.
# It must not run anywhere else: without a GPU that answers all of it is skipped, aloud.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

my $build = $ENV{BUILD} || 'build';
delete @ENV{qw(LD_PRELOAD)};
# The substitute, if somebody runs everything on it, is no GPU.
$ENV{LD_LIBRARY_PATH} = join ':', grep { !-e "$_/../libcudart-sim.so" } split /:/, $ENV{LD_LIBRARY_PATH} // '';
my ($devices) = stress('list', 'devices')->{out} =~ /^(  cuda:.*)$/m;
if (($devices // '') !~ /^  cuda:0 /) {
    print '1..0 # SKIP no CUDA device answers: ', ($devices // 'list devices failed') =~ s/^ *cuda:N *none: //r, "\n";
    exit 0;
}
print "# $devices\n";

sub on_gpu { return csv(@_, '--device', 'cuda:0') }

# ---- room on the GPU, which may be small, or busy
my $json = eval { JSON::PP->new->utf8->decode(stress(qw(run -w uniform:n=500 -p segments --device cuda:0 --no-timing -q --out json=-))->{out}) } // {};
my $record = $json->{environment} // {};
my $free = ($record->{total_bytes} // 0) - ($record->{other_bytes} // 0);
print "# $free bytes are free\n";

# The simulated rows of a workload that fits, raw and segments, with a tenth to spare; none: it does not.
sub fitting {
    my ($workload) = @_;
    my @rows = rows(stress('run', '-w', $workload, '-p', 'raw,segments', '-q', '--no-timing', '--out', 'csv=-')->{out});
    return grep({ $_->{status} ne 'ok' || $_->{reserved_peak_bytes} > $free * 0.9 } @rows) ? () : @rows;
}

sub no_room {
    skip("$_[0]: does not fit into the $free bytes that are free on this device");
}

# ---- the workloads, timed: the arena answers as cudaMalloc does, and asks the driver for next to nothing
my ($train) = grep { fitting($_) } qw(train train:layers=8 train:layers=4,hidden=2048 train:steps=2,layers=2);
no_room('train') if ($train // '') ne 'train';
my @traces = grep { -r } map { "$traces/pytorch/$_" } qw(medium_128_training.trace medium_512_training.trace);
skip("no recorded PyTorch traces in $traces/pytorch: set GPUARENA_TRACES") if @traces < 2;
for my $workload (grep({ defined } $train), map { "replay:$_" } @traces) {
    my ($simulated) = fitting($workload) or no_room($workload), next;
    my ($run, $raw, $arena) = on_gpu('-w', $workload, '-p', 'raw,segments');
    is("$run->{code} $raw->{status} $arena->{status}", '0 ok ok', "$workload: exit 0");
    is($arena->{digest}, $raw->{digest}, "$workload: the same results");
    is($simulated->{digest}, $raw->{digest}, "$workload: and those of the simulated device");
    ok($arena->{driver_calls} * 20 < $raw->{driver_calls}, "$workload: $arena->{driver_calls} driver calls, not $raw->{driver_calls}");
    ok($arena->{host_ns_per_op} < $raw->{host_ns_per_op}, "$workload: $arena->{host_ns_per_op} ns an op, not $raw->{host_ns_per_op}");
}

# ---- every byte of every block, written and read back
for my $workload (qw(uniform:n=2000,max=8 train:steps=2,layers=2)) {
    fitting($workload) or no_room($workload), next;
    my ($full, @verified) = on_gpu('-w', $workload, '-p', 'raw,segments', '--verify', 'full', '--no-timing');
    is("$full->{code} @{[map { $_->{status} } @verified]}", '0 ok ok', "$workload: contents hold, all of them");
}

# ---- limits hold, and out of memory is a result
if ($free > 5 << 28) {
    my ($limited, $poor) = on_gpu('-w', 'train', '-p', 'segments', '--limit', '1G', '--no-timing');
    is("$limited->{code} $poor->{status}", '0 oom', 'train under 1G: status oom, exit 0');
    ok($poor->{reserved_peak_bytes} <= 1 << 30, 'the limit holds');
} else {
    no_room('train under 1G');
}

# ---- the record, and the choice of auto
ok(length $record->{name} && $record->{uuid} =~ /^GPU-[0-9a-f-]{36}$/ && $record->{total_bytes} > 0, 'the record names the GPU');
ok($record->{other_bytes} > 0 && $record->{driver_cuda} =~ /^\d+\.\d$/, 'and what is in use, and the driver');
ok(stress(qw(run -w uniform:n=500 -p raw --no-timing --device auto))->{err} =~ /running on cuda:0/, 'auto takes it');
my $none = stress(qw(run -w train -p raw --device cuda:64));
ok($none->{code} == 77 && $none->{err} =~ /there is no CUDA device 64/, 'a device that is not there is named');

# ---- costs, measured
my $costs = stress('costs', '--device', 'cuda:0', '--out', "costs=$folder/costs");
is($costs->{code}, 0, 'stress costs');
my $file = slurp("$folder/costs");
print "# $_\n" for grep { !/^# (?:malloc|free|info)/ } split /\n/, $file;
for my $kind (qw(malloc_block free_block info)) {
    my ($fixed, $per_mib) = $file =~ /^$kind (\d+) (\d+) /m;
    ok(($fixed // 0) + ($per_mib // 0) > 0, "$kind costs something");
}
is(stress(qw(run -w uniform:n=2000 -p raw,segments -q --costs), "$folder/costs")->{code}, 0, '--costs reads the file');

# ---- the examples, as they were built: they are written for devices with 4 GiB and more
no_room('examples') if $free < 5 << 30;
for my $example (sort grep { -x && !-d && !/\.\w+$/ } $free < 5 << 30 ? () : glob "$build/examples/*") {
    my $out = qx{'$example' 2>&1};
    my $ended = $?;                              # the whole of it: a signal is no success
    if ($ended == 77 << 8) {
        skip("$example: $out" =~ s/\n.*//sr);
        next;
    }
    is($ended, 0, "$example ends with 0");
    print map { "#   $_\n" } split /\n/, $ended ? $out : '';
}
done();

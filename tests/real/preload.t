#!/usr/bin/perl
# The libraries for LD_PRELOAD under a program that knows nothing of them: its memory comes from an arena, with a
# limit that it never heard of; and its calls are recorded as a trace that stress replays. On the libcudart
# substitute. It must not know how the header places blocks.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $build = $ENV{BUILD} // 'build';
my $dir   = tempdir(CLEANUP => 1);
my @cuda  = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';
my %library = map { $_ => "$build/libgpuarena-$_.so" } qw(preload record);
my $cc = $ENV{CC} // 'cc';

plan skip_all => 'built without the CUDA Toolkit' if grep { $_ eq '-DGPUARENA_NO_CUDA' } @cuda;
plan skip_all => "no $_" for grep { !-e } values %library;
plan skip_all => 'a sanitizer must be loaded first, and so must these libraries'
    if qx(nm -D "$build/libcudart-sim.so" 2>/dev/null) =~ /__[at]san_init/;

for (['program', 'program'], ['own', 'program', '-DCUDA_API_PER_THREAD_DEFAULT_STREAM'], ['family', 'family'],
     ['reset', 'reset'], ['refused', 'refused'], ['events', 'events'], ['abrupt', 'abrupt'], ['texture', 'texture']) {
    my ($name, $source, @flags) = @$_;
    is(system($cc, '-std=gnu99', @flags, @cuda, "$FindBin::Bin/preload/$source.c", '-o', "$dir/$name", "-L$build/sim", '-lcudart'),
       0, "$name is built") or BAIL_OUT('no program');
}
chomp(my $root = qx(pwd));

sub run_program {
    my (%environment) = (NAME => 'program', @_);
    local @ENV{keys %environment} = values %environment;
    local $ENV{LD_LIBRARY_PATH} = "$root/$build/sim";
    $ENV{LD_PRELOAD} = "$root/$library{$environment{LIBRARY}}" if $environment{LIBRARY};
    my $out = qx("$dir/$environment{NAME}" @{[ $environment{ARGUMENT} // '' ]} 2>"$dir/err");
    my $status = $?;
    delete $ENV{LD_PRELOAD};
    open my $err, '<', "$dir/err" or die;
    return ($status, $out, join '', <$err>);
}

# ---- alone: the program's own view of the device
my ($status, $out, $err) = run_program();
is($status, 0, 'the program runs alone') or diag $out, $err;
my ($total) = $out =~ /^total (\d+) MiB/;
like($out, qr/, taken 40 MiB$/m, 'without a pool only its weights are taken');

# ---- from an arena
($status, $out, $err) = run_program(LIBRARY => 'preload', GPUARENA_CONF => 'limit=256M', GPUARENA_REPORT => '');
is($status, 0, 'it runs unchanged from an arena') or diag $out;
like($out, qr/^total 256 MiB, free 216 MiB/m, 'which tells it of the limit, and that only its weights are in use');
like($out, qr/^too much: (cudaErrorMemoryAllocation, ){3}cudaSuccess$/m, 'what is above the limit is refused, and stays the last error');
like($out, qr/^the last of two: cudaErrorMemoryAllocation, cudaErrorInvalidDevice, cudaSuccess$/m,
     'until a call of the runtime fails');
like($err, qr/^gpuarena: device 0: .* limit/m, 'and a sentence says why') or diag $err;
like($err, qr/device 0: 15 allocations, 15 frees, 2 failed; peak requested 52428800 bytes/, 'the report counts its calls') or diag $err;
like($err, qr/; 0 blocks \(0 bytes\) were never freed/, 'and what was not freed');
my ($calls) = $err =~ /would have made (\d+) driver calls/;
is($calls, 32, 'and its calls that were served without the driver');
($status, $out, $err) = run_program(LIBRARY => 'preload', GPUARENA_CONF => 'limit=256M', GPUARENA_REPORT => "$dir/report");
is($err =~ /peak/ ? 1 : 0, 0, 'the report goes to a file that is named');
ok(-s "$dir/report", 'and is there');
SKIP: {
    skip('no /dev/full', 1) if !-e '/dev/full';
    ($status, $out, $err) = run_program(LIBRARY => 'preload', GPUARENA_CONF => 'limit=256M', GPUARENA_REPORT => '/dev/full');
    like($err, qr{^/dev/full: \w}m, 'a report that cannot be written is told of');
}
($status, $out, $err) = run_program(LIBRARY => 'preload', GPUARENA_CONF => 'headroom=1G');
my $free = $total - 1024 - 40;
like($out, qr/^total $total MiB, free $free MiB/m, 'the headroom is not free') or diag $out;
($status, $out, $err) = run_program(LIBRARY => 'preload', GPUARENA_CONF => 'backing=pinned');
like($out, qr/^total $total MiB, free $total MiB/m, 'idle memory of the host does not make more free than there is') or diag $out;
($status, $out, $err) = run_program(LIBRARY => 'preload', GPUARENA_CONF => 'limit=nonsense');
like($err, qr/GPUARENA_CONF.*limit/, 'a configuration that cannot be is named');
is($status, 0, 'and the program runs without an arena');
($status, $out, $err) = run_program(LIBRARY => 'preload', NAME => 'texture', GPUARENA_REPORT => '');
is($out, "0\n", 'textures may be bound to memory of cudaMalloc') or diag $err;
($status, $out, $err) = run_program(LIBRARY => 'preload', NAME => 'texture', GPUARENA_CONF => 'alignment=4K,limit=512M', GPUARENA_REPORT => '');
like($err, qr/live 409600,/, 'a configuration may align it otherwise') or diag $err;
($status, $out, $err) = run_program(LIBRARY => 'preload', NAME => 'texture', GPUARENA_CONF => 'debug=passthrough', GPUARENA_REPORT => '');
is($status, 0, 'what is the driver\'s is aligned by it') or diag $err;
($status, $out, $err) = run_program(LIBRARY => 'preload', NAME => 'refused', GPUARENA_REPORT => '');
is($status, 0, 'a graph does not free what it did not allocate') or diag $err;

# ---- recorded
($status, $out, $err) = run_program(LIBRARY => 'record', GPUARENA_TRACE => "$dir/mine.trace");
is($status, 0, 'it runs unchanged while it is recorded') or diag $err;
open my $trace, '<', "$dir/mine.trace" or BAIL_OUT("no trace: $!");
my @lines = <$trace>;
is($lines[0], "gpuarena-trace 1\n", 'a trace is written');
is(scalar(grep { /^a / } @lines), 15, 'with each allocation');
is(scalar(grep { /^a \d+ 1048576 0$/ } @lines), 2, 'the default stream has one number by either of its names');
is(scalar(grep { /^f / } @lines), 15, 'each free');
is(scalar(grep { /^w 2 1$/ } @lines), 3, 'and each wait of a stream for another');
is(scalar(grep { /^f \d+ 2$/ } @lines), 3, 'frees are on the streams that they were on');
my $rows = qx("$build/stress" run -w "replay:$dir/mine.trace" -p raw,segments,paged --no-timing -q --out csv=-);
is($?, 0, 'stress replays it') or diag $rows;
is(() = $rows =~ /,ok,/g, 3, 'on each policy') or diag $rows;

($status, $out, $err) = run_program(LIBRARY => 'record', GPUARENA_TRACE => "$dir/own.trace", NAME => 'own');
my $own = do { local (@ARGV, $/) = "$dir/own.trace"; <> };
is($own, join('', @lines), 'a program whose threads have default streams of their own is recorded, too');

($status, $out, $err) = run_program(LIBRARY => 'record', GPUARENA_TRACE => "$dir/events.trace", NAME => 'events');
is($status, 0, 'a program of many events is done in time') or diag $err;
is(qx(grep -c '^w 2 1' "$dir/events.trace"), "200000\n", 'and each wait is recorded');

($status, $out, $err) = run_program(LIBRARY => 'record', GPUARENA_TRACE => "$dir/abrupt.trace", NAME => 'abrupt');
isnt($status, 0, 'a program that aborts');
is(qx(tail -n 3 "$dir/abrupt.trace"), "a 998 5000000 0\nf 998\na 999 5000000 0\n", 'is recorded to its last call; frees by the driver show as their addresses come again');

($status, $out, $err) = run_program(LIBRARY => 'record', GPUARENA_TRACE => "$dir/refused.trace", NAME => 'refused');
is($status, 0, 'a program one of whose frees is refused');
is(qx(cat "$dir/refused.trace"), "gpuarena-trace 1\na 0 1000 1\nf 0\na 1 1000 1\nf 1\n", 'has the block still, and frees it once more');

SKIP: {
    open my $probe, '|-', "$cc -fsanitize=thread -x c - -o $dir/probe 2>/dev/null" or die;
    print $probe 'int main(void) { return 0; }';
    skip("what $cc links with -fsanitize=thread does not run", 1) if !close $probe || system "$dir/probe 2>/dev/null";
    is(system($cc, qw(-std=gnu99 -g -fsanitize=thread), @cuda, "$FindBin::Bin/preload/threads.c", "$root/examples/preload/record.c",
              '-o', "$dir/threads", "-L$build/sim", qw(-lcudart -lpthread -ldl)), 0, 'threads with the recorder in it is built');
    ($status, $out, $err) = run_program(NAME => 'threads', GPUARENA_TRACE => "$dir/threads.trace");
    is($status, 0, 'threads find the runtime\'s functions without a race') or diag $err;
}

# ---- several devices, and processes
my @two = (NAME => 'family', GPUARENA_SIM => 'device=8G*2,work=1000000000');
($status, $out, $err) = run_program(@two, LIBRARY => 'preload', GPUARENA_REPORT => "$dir/two.report");
is($out, "after the free: cudaSuccess\n", 'cudaFree waits for the device of the memory, which is not the current one');
my $report = do { local (@ARGV, $/) = "$dir/two.report"; <> };
my $tells = qx(nm -D "$build/libcudart-sim.so") =~ /cudaStreamGetDevice/;
is(join(', ', $report =~ /device (\d: \d) allocations/g), $tells ? '0: 1, 1: 2' : '0: 2, 1: 1',
   "one report tells of both devices; a stream's memory is its device's, where CUDA tells which that is") or diag $report;
is(() = $report =~ /would have made/g, 1, 'and none is of a child of fork');
($status, $out, $err) = run_program(@two, LIBRARY => 'record', GPUARENA_TRACE => "$dir/family.trace");
my $text = do { local (@ARGV, $/) = "$dir/family.trace"; <> };
is($text, "gpuarena-trace 1\na 0 1048576 0\na 1 1048576 0\nf 1\na 2 2097152 1\nf 2\nf 0\n", 'and what a child has of the buffer is not written again');
($status, $out, $err) = run_program(@two, LIBRARY => 'preload', NAME => 'reset', GPUARENA_REPORT => '');
like($err, qr/^gpuarena: device 0: 9 allocations, 0 frees,.*; 9 blocks \(9216 bytes\) were never freed\n.*device 0: 1 allocations, 1 frees,/,
     'what a device had is reported before it is reset') or diag $err;
($status, $out, $err) = run_program(@two, LIBRARY => 'record', GPUARENA_TRACE => "$dir/reset.trace", NAME => 'reset');
$text = do { local (@ARGV, $/) = "$dir/reset.trace"; <> };
is($text, join('', "gpuarena-trace 1\n", (map { "a $_ 1000 0\n" } 0 .. 8), "a 9 3000 0\n", (map { "f $_\n" } 0 .. 8), "a 10 4000 0\nf 10\nf 9\n"),
   'what a device had ends when it is reset, in the order of allocation, and the other\'s does not');
for my $nth (1, 2) {
    ($status, $out, $err) = run_program(@two, LIBRARY => 'record', GPUARENA_TRACE => "$dir/family.trace", ARGUMENT => 'lingers');
    is($err, '', "a child that lives on does not keep the file, run $nth");
}
open my $held, '>', "$dir/held.trace" or die;
flock $held, 2 or die;
($status, $out, $err) = run_program(@two, LIBRARY => 'record', GPUARENA_TRACE => "$dir/held.trace");
is($status, 0, 'a program runs where another process writes its trace');
is($err, "gpuarena: the trace ends here: another process writes the file\n", 'and that is said');
done_testing();

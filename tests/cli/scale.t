#!/usr/bin/perl
# What a command costs when there is four times as much to do: instructions, counted by callgrind; and host memory.
# It must not test how many they are, nor time.
# Run: prove tests/cli/scale.t (STRESS=program); skipped, aloud, where there is no valgrind
# Runs once: callgrind counts the instructions of this build alone.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our ($stress, $folder);

if (qx{valgrind --version 2>/dev/null} !~ /^valgrind/) {
    skip('no valgrind: instructions cannot be counted');
    done();
}

# Blocks of one size, half of them freed, each between two that are live, and given again to another stream.
sub trace_of {
    my ($count) = @_;
    return spew("$count.trace", join "\n", 'gpuarena-trace 1', (map { "a $_ 4096 0" } 1 .. $count),
                (map { "f @{[2 * $_]} 0" } 1 .. $count / 2), (map { "a @{[$count + $_]} 4096 1" } 1 .. $count / 2), '');
}

# Blocks that are all freed, each on a stream of its own or, where `streams` is 0, on one.
sub freed_of {
    my ($count, $bytes, $streams) = @_;
    return spew("$count.$bytes.trace", join "\n", 'gpuarena-trace 1',
                (map { "a $_ $bytes @{[$_ * $streams]}" } 1 .. $count), (map { "f $_" } 1 .. $count), '');
}

sub rows_of {
    my ($count) = @_;
    return spew("$count.csv", join "\n", 'workload,policy,device,seed,status,driver_calls',
                (map { "uniform,raw,sim,$_,ok,7" } 1 .. $count), '');
}

my @commands = (
    ['a replay on async', 1000, sub { ('run', '-w', 'replay:' . trace_of($_[0]), qw(-q -p async --no-timing)) }],
    ['frees on many streams', 60,
     sub { ('run', '-w', 'replay:' . freed_of($_[0], 4 << 20, 1), qw(-q -p raw --no-timing)) }],
    ["frees into CUB's bins", 1500,
     sub { ('run', '-w', 'replay:' . freed_of($_[0], 512, 0), qw(-q -p cub --verify off --no-timing)) }],
    ['compare', 100, sub { ('compare', (rows_of($_[0])) x 2, '-q') }],
    ['a table of repeats', 30,
     sub { ('run', qw(-w uniform:n=1 --no-timing -p), 'raw,best-fit', '--repeat', $_[0]) }],
    ['a report of repeats', 30,
     sub { ('run', qw(-w uniform:n=1 -q --no-timing --out), "html=$folder/page", '-p', 'raw,best-fit', '--repeat', $_[0]) }],
    ['compare by rules', 100, sub { ('compare', (rows_of($_[0])) x 2, '-q', '--fail-if', 'driver_calls > base') }],
);
my @counts = in_parallel([0 .. 2 * @commands - 1], sub {
    my ($name, $count, $words) = @{$commands[$_[0] / 2]};
    my @words = ($stress, $words->($_[0] % 2 ? 4 * $count : $count));
    local $stress = 'valgrind';
    my $run = stress(qw(--tool=callgrind --callgrind-out-file=/dev/null), @words);
    return $run->{code} ? "exit $run->{code}: $run->{err}" : $run->{err} =~ /Collected : (\d+)/ ? $1 : $run->{err};
});
for my $at (0 .. $#commands) {
    my ($few, $many) = @counts[2 * $at, 2 * $at + 1];
    ok("$few$many" =~ /^\d+$/ && $many < 5 * $few, "$commands[$at][0]: four times as much costs less than five times")
        or print "#   $few, then $many\n";
}

# A record of a row keeps as many samples as the row had, not as many as a row may have, which take 0.8 MB.
sub within {
    my ($kib, @words) = @_;
    my $program = $stress;
    local $stress = 'sh';
    return stress('-c', "ulimit -c 0; ulimit -v $kib && exec \"\$0\" \"\$@\"", $program, @words);
}
my $run = within(262144, qw(run -w uniform:n=1 -p raw --no-timing -q --repeat 400 --out), "svg=$folder/figures");
ok(!$run->{code}, 'figures of 400 short rows: within 256 MiB of host memory') or print "#   $run->{code}: $run->{err}\n";

# Where host memory runs out, which here is after some hundred timed rows, there is still some for all files of what is finished.
$run = within(65536, qw(run -w uniform:n=10 -p raw -q --repeat 1000), map { ('--out', "$_=$folder/$_") } qw(svg html csv));
my @lines = split /\n/, slurp("$folder/csv");
ok($run->{code} == 4 && @lines > 50 && $lines[-1] =~ /^# partial: .*no host memory/ && slurp("$folder/svg") =~ m{</svg>\s*$}
   && slurp("$folder/html") =~ m{</html>\s*$}, 'without host memory what is finished is written, pictures, too')
    or print "#   $run->{code}, @{[scalar @lines]} lines: $run->{err}\n";
done();

#!/usr/bin/perl
# `stress shrink`: planted failures are found again among noise, alone; what is written fails the same way by itself.
# What it refuses: cases/search.case.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

sub slurp_lines {
    my ($path) = @_;
    open my $in, '<', $path or return ();
    chomp(my @lines = <$in>);
    return @lines;
}

# Shrinks; checks the exit code, the sizes that are told, and that the repro line ends the same way. Returns the trace.
sub shrink {
    my ($name, $code, @words) = @_;
    my $path = "$folder/small.trace";
    my $run = stress('shrink', @words, '--out', "trace=$path");
    my @lines = slurp_lines($path);
    is($run->{code}, $code, "$name: exit $code");
    is(shift @lines, 'gpuarena-trace 1', "$name: a recording");
    my ($before) = $run->{out} =~ /^before: (\d+) allocations and frees/m;
    my ($after, $in_all) = $run->{out} =~ /^after: (\d+) allocations and frees, (\d+) operations in all/m;
    is("$after $in_all", scalar(grep { /^[af] / } @lines) . ' ' . @lines, "$name: its size is told: $before, then $after");
    my ($line) = $run->{err} =~ /^repro: (.*)$/m;
    my $again = qx{$line -q --no-timing --out csv=- 2>$folder/err};
    is($? >> 8, $code, "$name: the repro line ends alike: $line");
    my ($row) = rows($again);
    my ($what) = $run->{out} =~ /\A.*? on .*?: (.*)/;
    my $told = $row->{status} eq 'oom' ? join('', slurp_lines("$folder/err")) : join(' ', slurp_lines("$folder/err"));
    ok($row->{status} eq ($code == 0 ? 'oom' : $code == 3 ? 'verify_failed' : 'error'), "$name: $row->{status} ($what)");
    return ($row, $run, @lines);
}

# Without any one of its blocks (or one other line) it does not fail so. The failing request must be of the same size.
sub is_least {
    my ($name, $row, $alone, $lines, @words) = @_;
    my $wrong = 0;
    for my $at (grep { $lines->[$_] !~ /^f / || $alone } 0 .. $#$lines) {
        my ($id) = $lines->[$at] =~ /^a (\d+)/;
        my @left = map { $lines->[$_] } grep { $_ != $at && !(defined $id && $lines->[$_] =~ /^f $id\b/) } 0 .. $#$lines;
        my $trace = spew('less.trace', join("\n", 'gpuarena-trace 1', @left, ''));
        my ($less) = rows(stress('run', '-w', "replay:$trace", @words, '-q', '--no-timing', '--out', 'csv=-')->{out});
        $wrong++ if $less->{status} eq $row->{status} && $less->{oom_requested_bytes} eq $row->{oom_requested_bytes}
            && $less->{oom_reason} eq $row->{oom_reason};
    }
    is($wrong, 0, "$name: without any one of them it does not fail so");
}

# ---- out of memory, planted: two segments of 4 MiB, each in use, and a request of 5 MiB under a limit of 12; around it
# noise that comes and goes
my @planted = ('a 901 2621440 0', 'a 902 3670016 0', 'a 903 5242880 0 tag');
my ($id, @noisy) = (0);
for my $part (@planted) {
    for (1 .. 60) {
        push @noisy, sprintf('a %d %d 0', $id, 100 + 37 * $id % 900), "f $id";
        push @noisy, "s step$id", 'k 0 10' if $id % 10 == 0;
        $id++;
    }
    push @noisy, $part;
}
push @noisy, 'a 904 100 0', 'f 902';
my $trace = spew('noisy.trace', join("\n", 'gpuarena-trace 1', @noisy, ''));
my @under = ('-p', 'segments:growth=exact', '--limit', '12M', '--seed', 5);
my ($row, $run, @lines) = shrink('planted oom', 0, '-w', "replay:$trace", @under);
is("$row->{oom_requested_bytes} $row->{oom_reason}", '5242880 over_limit', 'it is the planted one');
is(join('|', @lines), join('|', @planted), 'what was planted is left, and no more');
is_least('planted oom', $row, 0, \@lines, @under);
ok($run->{out} =~ /fails at op 362\n.*fails at op 2\n/s, 'where it fails is told, before and after');

# ---- out of memory as it comes: the least that fails so
my @fragmented = ('-p', 'segments', '--device', 'sim:700M');
my ($real, undef, @left) = shrink('uniform', 0, '-w', 'uniform:n=400,max=16', @fragmented);
is_least('uniform', $real, 0, \@left, @fragmented);

# ---- verification, planted: the fifth obtain lies; five of raw's blocks are left, no free, no work
my ($lie, undef, @five) = shrink('overlap', 3, '-w', 'train:layers=2,steps=2,streams=2', '-p', 'raw', '--faults', 'overlap:5');
is(scalar(grep { /^a / } @five) . ' of ' . @five, '5 of 5', 'five allocations alone');
# ---- and a lost device
my ($lost, undef, @two) = shrink('lost device', 4, '-w', 'uniform:n=500', '-p', 'raw', '--faults', 'obtain:3=700');
is(scalar @two, 3, 'three allocations');

# ---- another process, which no recording has: the line names it
my ($taken) = shrink('rival', 0, qw(-w rival -p segments));
is($taken->{oom_reason}, 'driver_refused', 'as before');

# ---- threads: the recording is made by one
my (undef, undef, @mixed) = shrink('threads', 3, '-w', 'uniform:n=200+train:layers=1,steps=1', '-p', 'raw', '--faults', 'overlap:7');
is(scalar @mixed, 7, 'seven allocations, whosever they were');

done();

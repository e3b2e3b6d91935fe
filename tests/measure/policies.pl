#!/usr/bin/perl
# The table of policies in stress/RESULTS.md, as Markdown: the costs of each on the recorded workloads of at least 1
# GiB peak. It must not judge, nor measure time: it prints the same bytes every time.
# Run: make policies (STRESS=path of the program, GPUARENA_TRACES=folder of other recordings)
use strict;
use warnings;
require './tests/support/stress_run.pl';
require './tests/measure/paged_workloads.pl';
our ($folder, $stress, $paged_device);
my $recordings = $ENV{GPUARENA_TRACES} || 'stress/recordings';

sub measured {
    my ($command, @words) = @_;
    my $run = stress($command, @words, '-q', '--no-timing', '--out', 'csv=-');
    die "@words: $run->{err}" if $run->{code};
    return rows($run->{out});
}

sub is_large {
    my ($row) = measured('run', '-w', $_[0], '-p', 'raw', '--verify', 'off', '--device', $paged_device);
    return $row->{requested_peak_bytes} >= 1 << 30;
}

my @workloads = recorded_workloads($recordings, \&is_large);
die "no recordings in $recordings (GPUARENA_TRACES)\n" if !@workloads;
my @policies = map { $_->{policy} } measured(qw(run -w uniform:n=1 -p all --device), $paged_device);
my @cells = in_parallel(\@policies, sub {
    my ($policy) = @_;
    my (@footprints, $calls, $needs, $pieces);
    for my $workload (@workloads) {
        my @words = ('-w', $workload->{text}, '-p', $policy, '--verify', 'off', '--device', $paged_device);
        my ($row) = measured('run', @words);
        my ($limit) = measured('capacity', @words);
        push @footprints, $row->{status} eq 'ok' ? sprintf '%.3f', $row->{footprint} : $row->{status};
        $calls += $row->{driver_calls};
        $needs = $limit->{ratio} if !defined $needs || $limit->{ratio} > $needs;
        my $share = $row->{fragmentation};
        $pieces = $share if length $share && (!defined $pieces || $share > $pieces);
    }
    return [@footprints, $calls, sprintf('%.3f', $needs), defined $pieces ? sprintf '%.2f', $pieces : '-'];
});
my @names = map { $_->{group} =~ s/^recorded: //r } @workloads;
print '| policy | ', join(' | ', @names), " | driver calls | min limit | in pieces |\n",
    '|---|', '--:|' x (@names + 3), "\n";
for my $index (0 .. $#policies) {
    my $cells = $cells[$index] // die "$policies[$index]: not measured\n";
    print "| $policies[$index] | ", join(' | ', @$cells), " |\n";
}

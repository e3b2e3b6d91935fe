#!/usr/bin/perl
# The table of footprints in stress/RESULTS.md, as Markdown, over the workloads of paged_workloads.pl: the worst of each group.
# It must not judge: paged_bounds.t does.
# Run: make footprints (STRESS=path of the program, GPUARENA_TRACES=folder of other recordings)
use strict;
use warnings;
require './tests/support/stress_run.pl';
require './tests/measure/paged_workloads.pl';
our ($folder, $stress, $paged_device);
my $recordings = $ENV{GPUARENA_TRACES} || 'stress/recordings';

my @policies = qw(raw segments best first paged);

sub measured {
    my ($command, $text, @words) = @_;
    my $run = stress($command, '-w', $text, @words, '-q', '--no-timing', '--verify', 'off', '--device', $paged_device,
                     '--out', 'csv=-');
    die "$text: $run->{err}" if $run->{code};
    return rows($run->{out});
}

sub is_large {
    return (measured('run', $_[0], '-p', 'raw'))[0]{requested_peak_bytes} >= 1 << 30;
}

# The cells of one workload: footprints, then moved pages, then the smallest limits.
sub cells_of {
    my ($workload) = @_;
    my %rows = map { $_->{policy} => $_ } measured('run', $workload->{text}, '-p', join ',', @policies, 'paged:idle=0');
    my @all = (@policies, 'paged:idle=0');
    my @broken = grep { $rows{$_}{status} ne 'ok' } @all;
    die "$workload->{text}: no whole run of @broken" if @broken;
    my $paged = $rows{paged};
    my @ratios = map { $_->{ratio} } measured('capacity', $workload->{text}, '-p', 'segments,paged');
    return [$paged->{requested_peak_bytes} / 2 ** 30, (map { $rows{$_}{footprint} } @all),
            $paged->{remapped_pages} / $paged->{allocs}, @ratios];
}

my @workloads = trained_workloads();
unshift @workloads, recorded_workloads($recordings, \&is_large);
my @cells = in_parallel(\@workloads, \&cells_of);
my (%worst, %count, @groups);
for my $index (0 .. $#workloads) {
    my $group = $workloads[$index]{group};
    my $cells = $cells[$index] // die "$workloads[$index]{text}: not measured\n";
    push @groups, $group if !$count{$group}++;
    for my $column (0 .. $#$cells) {
        my $seen = $worst{$group}[$column];
        $worst{$group}[$column] = $cells->[$column] if !defined $seen || $cells->[$column] > $seen;
    }
}
print "| workload | | peak GiB | raw | segments | best-fit | first-fit | **paged** | idle=0 | moved | segments min limit | **paged min limit** |\n",
    '|---|--:|', '--:|' x 10, "\n";
for my $group (@groups) {
    my ($peak, @cells) = @{$worst{$group}};
    printf "| %s | %s | %.1f | %s |\n", $group, $count{$group} > 1 ? $count{$group} : '', $peak,
        join ' | ', map { sprintf '%.3f', $_ } @cells;
}

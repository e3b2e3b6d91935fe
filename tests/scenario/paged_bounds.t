#!/usr/bin/perl
# The bounds that paged ranges keep, on recordings and on training: footprint, pages moved, limits, driver calls.
# It must not know how they are kept, nor choose workloads: paged_workloads.pl has them.
# Run: prove tests/scenario/paged_bounds.t; whole, some minutes: make bounds (GPUARENA_BOUNDS=all). STRESS, GPUARENA_TRACES.
# Runs once: its figures do not depend on the build.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
require './tests/measure/paged_workloads.pl';
our ($folder, $stress, $traces, $paged_device);

my $is_whole = ($ENV{GPUARENA_BOUNDS} // '') eq 'all';

sub measured {
    my ($command, @words) = @_;
    return rows(stress($command, @words, '-q', '--no-timing', '--device', $paged_device, '--out', 'csv=-')->{out});
}

sub is_large {
    my ($row) = measured('run', '-w', $_[0], '-p', 'raw', '--verify', 'off');
    return $row && $row->{requested_peak_bytes} >= 1 << 30;
}

# All runs of one workload. Limits are whole bytes, not whole pages.
sub judge {
    my ($workload) = @_;
    my @of = ('-w', $workload->{text});
    my ($default, $none) = measured('run', @of, '-p', 'paged,paged:idle=0');
    return undef if !$none;
    my $limit = int($none->{requested_peak_bytes} * 1.02);
    my ($limited) = measured('run', @of, '-p', "paged:limit=$limit");
    my ($least) = measured('capacity', @of, '-p', 'paged');
    my ($two, $twelve) = $workload->{fixed} ? map { measured('run', @of, '-p', 'paged', '--steps', $_) } 2, 12 : ();
    return { default => $default, none => $none, limited => $limited, least => $least, two => $two, twelve => $twelve };
}

# Checks that the cell is a number, and at most the bound.
sub within {
    my ($name, $status, $found, $most) = @_;
    my $is_number = defined $found && $found =~ /^\d+(?:\.\d+)?$/;
    return if ok($status eq 'ok' && $is_number && $found <= $most, "$name <= $most");
    printf "#   %s, found %s\n", $status, $found // '(nothing)';
}

sub moved {
    my ($row) = @_;
    return $row->{remapped_pages} =~ /^\d+$/ && $row->{allocs} ? sprintf('%.4f', $row->{remapped_pages} / $row->{allocs}) : undef;
}

sub bounds {
    my ($workload, $found) = @_;
    my $name = $workload->{text} =~ s{^replay:.*/}{}r;
    return ok(0, "$name: it runs") if !$found;
    my ($default, $none, $limited, $least) = @$found{qw(default none limited least)};
    within("$name: footprint", $default->{status}, $default->{footprint}, 1.06);
    within("$name: pages moved an allocation", $default->{status}, moved($default), $workload->{moved} // 0.05);
    within("$name: footprint, idle=0", $none->{status}, $none->{footprint}, 1.04);
    within("$name: pages moved under 1.02 x peak", $limited->{status}, moved($limited),
           $workload->{moved_under_limit} // 0.1);
    within("$name: capacity", $least->{status}, $least->{ratio}, 1.02);
    return if !$workload->{fixed};
    is("$found->{two}{status} $found->{two}{driver_calls}", "$found->{twelve}{status} $found->{twelve}{driver_calls}",
       "$name: 12 steps take no more driver calls than 2");
}

# Two steps are the beginning of twelve: else equal numbers of driver calls would say nothing.
sub is_beginning {
    my @traces = map { stress('run', '-w', 'train:seq=1024', '-p', 'raw', '-q', '--verify', 'off', '--no-timing', '--steps', $_,
                              '--out', 'trace=-')->{out} } 2, 12;
    ok(length $traces[0] && index($traces[1], $traces[0]) == 0 && length $traces[1] > 5 * length $traces[0],
       'two steps are the beginning of twelve');
}

my @workloads = grep { $is_whole || $_->{is_quick} } trained_workloads();
if (-d $traces) {
    unshift @workloads, recorded_workloads($traces, \&is_large);
} else {
    skip("no real traces in $traces: set GPUARENA_TRACES");
}
skip('most forms of training: make bounds runs all') if !$is_whole;
is_beginning();
my @found = in_parallel(\@workloads, \&judge);
bounds($workloads[$_], $found[$_]) for 0 .. $#workloads;
done();

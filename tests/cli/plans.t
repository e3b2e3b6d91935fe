#!/usr/bin/perl
# Plans on recordings: the third round calls no driver; and steps that change from the fourth on cost at most 2 % more than
# without plans, but for bcrafton_small_training shuffled, which costs at most 7 %. The judge on plans:
# tests/property/test_space.c.
# Runs once: its figures do not depend on the build.
use strict;
use warnings;
no warnings 'qw';             # policies are listed with commas
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @plain = qw(-q --no-timing --verify off --out csv=-);

# ---- a step that comes again: the third round is served by a plan that cost no page
for my $name (qw(medium_128_training bcrafton_small_training)) {
    my ($first, $third) = map { rows(stress('run', '-w', "replay:$name.trace", '-p', 'paged', '--rounds', $_, @plain)->{out}) } 2, 3;
    is("$third->{last_driver_calls} $third->{last_remapped_pages}", '0 0', "$name: no driver call in the third round, no page moved");
    is($third->{driver_vns}, $first->{driver_vns}, '.. nor between it and the second');
}

# ---- steps that change from the fourth on
for my $case (['medium_128_training.trace', qw(shuffled growing perturbed)], ['bcrafton_small_training.trace', qw(shuffled growing perturbed)],
              ['somas_pangu_2.6B.csv', qw(shuffled growing perturbed)]) {
    my ($name, @changes) = @$case;
    for my $change (@changes) {
        my $steps = spew("$change.trace", scalar qx{stress/import/repeat_trace.pl stress/recordings/$name 8 $change});
        my ($without, $with) = rows(stress('run', '-w', "replay:$steps", '-p', 'paged:plan=off,paged', @plain)->{out});
        my $most = "$name $change" =~ /^bcrafton.* shuffled/ ? 1.07 : 1.02;
        ok($with->{$_} <= $most * $without->{$_}, "$name $change: $_ $with->{$_}, without plans $without->{$_}")
            for qw(driver_vns reserved_peak_bytes);
    }
}

done();

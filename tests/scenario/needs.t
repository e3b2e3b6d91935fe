#!/usr/bin/perl
# The table of stress/README.md: what people ask, and how many of a group's needs pass, of those that apply.
# It must not know how a scenario measures: test_needs says what each verdict is.
use strict;
use warnings;
require './tests/support/stress_run.pl';

my @policies = qw(raw bfc segments paged);
my $program = ($ENV{BUILD} || 'build') . '/tests/test_needs';
my %found;
my $told = `$program`;
push @{$found{$1}}, $2 while $told =~ /^ok \d+ - ([a-z-]+) on \w+, seed 1: (\S)$/mg;
ok(%found && !grep({ @$_ != @policies } values %found), 'verdicts are found, of four policies each');

my (%grouped, @wrong);
for (grep { /^\| .* \| `.*` \| \d/ } split /\n/, slurp('stress/README.md')) {
    my (undef, $question, $names, @counts) = split / *\| */;
    my @names = $names =~ /`([^`]+)`/g;
    @grouped{@names} = (1) x @names;
    for my $at (0 .. $#policies) {
        my @of = grep { $_ ne '-' } map { ($found{$_} || [qw(? ? ? ?)])->[$at] } @names;
        my $count = (grep { $_ eq 'P' } @of) . ' of ' . @of;
        push @wrong, "$question, $policies[$at]: $counts[$at], not $count" if $counts[$at] ne $count;
    }
}
is(join(' ', sort keys %grouped), join(' ', sort keys %found), 'the README has every need');
is(join("\n", @wrong), '', '.. and counts them right');
done();

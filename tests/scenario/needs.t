#!/usr/bin/perl
# The table of stress/README.md: what people ask, and how many of a group's needs pass, of those that apply. test_needs gives
# verdicts on policies. What only an arena has, raw fails, and a model is not asked: cases of needs.script answer it, whose
# titles begin with the need, or the tests of the header that %answered names.
# Runs once: verdicts do not depend on the build, and test_needs runs in each.
use strict;
use warnings;
require './tests/support/stress_run.pl';

my @policies = qw(raw bfc segments paged);
my $program = ($ENV{BUILD} || 'build') . '/tests/test_needs';
my %found;
my $told = `$program`;
push @{$found{$1}}, $2 while $told =~ /^ok \d+ - ([a-z-]+) on \w+, seed 1: (\S)$/mg;
ok(%found && !grep({ @$_ != @policies } values %found), 'verdicts are found, of four policies each');

# A need, a file, and a text in it: the title of a case, or the first words about a test.
my %answered = (
    report        => ['unit/arena/sentences.golden', 'report text device 1G plain'],
    events        => ['unit/arena/observe.script', 'case Actions of segments'],
    threads       => ['support/thread_world.h', 'in each its limit holds'],
    'late-change' => ['unit/arena/sentences.golden', 'create ; zero_begin=1'],
    environment   => ['unit/arena/growth.script', 'case The environment fills fields'],
    steps         => ['unit/arena/growth.script', 'case Steps of 64M, of 6M, and exact'],
    pressure      => ['unit/arena/streams_pressure.script', 'case Served with what is freed'],
    tenants       => ['unit/arena/tenants.script', 'case Two tenants share a device'],
    devices       => ['unit/arena/test_calls.c', 'static void test_owner('],
    pinned        => ['unit/arena/backings.script', 'case One arena of each kind'],
    async         => ['unit/arena/backings.script', 'case The limit holds at every instant'],
);
for my $need (sort keys %answered) {
    my ($file, $text) = @{ $answered{$need} };
    ok(index(slurp("tests/$file"), $text) >= 0, "$need: tests/$file has it");
    $found{$need} = [qw(F - P P)];
}
$found{$_} = $_ eq 'addresses' ? [qw(- - - P)] : [qw(F - P P)] for slurp('tests/scenario/needs.script') =~ /^case ([a-z-]+): /mg;

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

#!/usr/bin/perl
# Instructions counted by callgrind: the same in two runs, of the bench and of `stress holes`.
# It must not test how many they are: README says that, and the bench whether it is few enough.
# Run: prove tests/cli/instructions.t (BUILD=folder of bench and stress); skipped, aloud, where there is no valgrind
# Runs once: callgrind counts the instructions of this build alone.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($stress);

my $build = $ENV{BUILD} || 'build';
if (qx{valgrind --version 2>/dev/null} !~ /^valgrind/) {
    skip('no valgrind: instructions cannot be counted');
    done();
}
my @counts = qw(--no-timing --instructions -q --out csv=-);
my ($bench, $holes, $same, $profile) = in_parallel([0 .. 3], sub {
    return scalar qx{BUILD='$build' $^X tests/measure/profile.pl} if $_[0] == 3;
    local $stress = $_[0] ? $stress : "$build/bench";
    my $run = $_[0] ? stress(qw(holes -p segments,paged --device sim:512M), @counts) : stress(@counts);
    return $run->{code} ? "exit $run->{code}: $run->{err}" : $run->{out};
});
my @rows = grep { $_->{case} =~ /instructions$/ } rows($bench);
is(join(' ', map { "$_->{case}/$_->{policy}" } @rows), join(' ', map { my $case = $_; map { "$case instructions/$_" }
   'segments', 'paged' } 'random 1000', '4 KiB'), 'of these cases');
for my $row (@rows) {
    my $alone = $row->{against} eq 'cub-library' && !(built_with_cuda() && -e "$build/libcub-null.so");
    ok($row->{instructions_per_pair} =~ /^\d+\.\d$/ && $row->{instructions_per_pair} > 50, "$row->{case}/$row->{policy}: counted");
    next if $alone;
    ok(abs($row->{ratio} - $row->{instructions_per_pair} / $row->{against_instructions_per_pair}) < 0.001, '.. and over the other');
    is($row->{met}, $row->{instructions_per_pair} <= 470 ? 'yes' : 'no', '.. and against its target') if $row->{target};
}
is(join(' ', $profile =~ /^all +(\S+) +(\S+)$/m), join(' ', map { $_->{instructions_per_pair} } @rows[0, 1]),
   'the profile, another run, spends what is counted');
is($same, $holes, 'holes: two runs count the same');
my @counted = map { $_->{instructions_per_pair} } grep { $_->{status} eq 'ok' } rows($holes);
ok(@counted == 4 && !grep({ !/^\d+\.\d$/ || $_ < 50 } @counted), 'every number of holes that there is room for') or print "#   @counted\n";
my $page = stress(qw(holes -p segments --device sim:1G), @counts[0 .. 3], 'md=-')->{out};
ok($page =~ /^\| policy .* instructions_per_pair /m, "on a job's page, too");
done();

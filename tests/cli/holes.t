#!/usr/bin/perl
# `stress holes`: its columns, that pairs are served without the driver, and rules about them. Times are never a test.
# It must not test how holes lie (test_bench does) nor instructions (instructions.t). Refusals: cases/cli.case and
# search.case.
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $header = 'policy,holes,ns_per_pair,instructions_per_pair,ratio,ratio_low,ratio_high,device,seed,status,driver_calls,rounds,target,met,ended';
my @steps = (64, 1024, 4096, 16384, 65536);
my @csv = qw(-q --out csv=-);

# ---- measured
my $quick = stress(qw(holes -p segments,paged --quick), @csv);
is($quick->{code}, 0, 'exit 0') or print "#   $quick->{err}\n";
is((split /\n/, $quick->{out})[0], $header, 'the columns are these, in this order');
my @rows = rows($quick->{out});
is(join(' ', map { "$_->{policy}/$_->{holes}" } @rows), join(' ', map { my $policy = $_; map { "$policy/$_" } @steps } qw(segments paged)),
   'a row for each policy and number of holes');
is(join('', map { $_->{status} eq 'ok' && $_->{driver_calls} eq '0' ? '' : "$_->{policy}/$_->{holes} " } @rows), '',
   'every pair is served without the driver');
is(join('', map { my $row = $_; grep { $row->{$_} !~ /^\d+\.\d+$/ } qw(ns_per_pair ratio ratio_low ratio_high) } @rows), '',
   'and measured');
is(join(' ', @{$rows[5]}{qw(ratio ratio_low ratio_high)}), '1.0000 1.0000 1.0000', 'the fewest holes are what ratios are over');
is(join('', map { $_->{ratio_low} <= $_->{ratio} && $_->{ratio} <= $_->{ratio_high} ? '' : 'x' } @rows), '', 'within its interval');

is(join(' ', map { "$_->{rounds} $_->{ended}" } @rows), join(' ', ('5 rounds') x 10), '--quick: five rounds, whatever they say');
my @precise = rows(stress(qw(holes -p segments --device sim:1G --precision 100%), @csv)->{out});
is(join(' ', map { $_->{rounds} ? "$_->{rounds} $_->{ended}" : '' } @precise), join(' ', ('25 precise') x 3, '', ''), 'as few as may be, where they agree');
my @late = rows(stress(qw(holes -p segments --device sim:1G --precision 0% --budget 1), @csv)->{out});
ok($late[0]{ended} =~ /^(?:rounds|time)$/ && ($late[0]{ended} eq 'time') == ($late[0]{rounds} < 201), 'else all, or until the time is over')
    or print "#   $late[0]{rounds} $late[0]{ended}\n";
is(join('|', map { $_->{target} } @rows), '||||<= 1.5|||||<= 1.5', 'the most holes have a target');
is($_->{met}, $_->{ratio_high} <= 1.5 ? 'yes' : $_->{ratio_low} > 1.5 ? 'no' : 'unclear', '.. and a verdict') for @rows[4, 9];

# ---- ended: finished rows are in the file, which says that it ended early
my ($ended_code, @ended) = ('');
for my $delay (0.3, 1, 4, 8) {                   # it may not have begun: the machine may be busy
    last if $ended_code eq '130';
    my $child = fork // die "fork: $!";
    if (!$child) {
        open STDERR, '>', "$folder/.err";
        $SIG{INT} = 'DEFAULT';
        exec $stress, qw(holes -q -p segments,paged,best,first,bfc,rmm,ort,pytorch,raw,cub --out), "csv=$folder/ended.csv" or exit 126;
    }
    select undef, undef, undef, $delay;
    kill 'INT', $child;
    waitpid $child, 0;
    $ended_code = $? >> 8;
    @ended = split /\n/, slurp("$folder/ended.csv");
}
my ($done) = ($ended[-1] // '') =~ /^# partial: (\d+) of 50 rows, then SIGINT$/;
ok($ended_code eq '130' && defined $done && $done % 5 == 0 && @ended == 2 + $done, 'SIGINT: exit 130, the policies that were finished, and a mark');

# ---- sentences of the table on times
my $said = stress(qw(holes -p segments --quick --device sim:1G))->{out};
ok($said =~ /measured on this machine/, 'of times, too');

# ---- rules: a ratio is judged by its own interval, counts exactly
my $gated = stress(qw(holes -p segments,paged --quick --device sim:512M --fail-if), '*/paged: ratio > 90', '--fail-if', 'ratio > 0.001', '--fail-if', 'driver_calls > 0',
                   '--fail-if', '*/segments: status == oom', '--fail-if', 'ns_per_pair > segments*1000', '--fail-if', 'ns_per_pair > 0.001', '--out', "junit=$folder/holes.xml", '--out', "csv=$folder/holes.csv");
is($gated->{code}, 1, 'rules that are true: exit 1');
my %holes_of = map { ("$_->{policy} holes $_->{holes}" => $_) } rows(slurp("$folder/holes.csv"));
my ($first_ratio) = $gated->{out} =~ /^fail if ratio > 0\.001\n((?:  .*\n)+)/m;
is(scalar(() = ($first_ratio // '') =~ /^  FAILED     (?:segments|paged) free blocks \d+: /mg), scalar(grep { $_->{ratio} ne '' } values %holes_of), 'the whole interval is past the limit');
is(scalar(() = ($first_ratio // '') =~ /^  NO VALUE /mg), scalar(grep { $_->{ratio} eq '' } values %holes_of), '.. and rows without one have no verdict');
ok($gated->{out} =~ /^fail if \*\/paged: ratio > 90\n(?:  (?:pass|NO VALUE) +paged free blocks .*\n)+fail if/m, 'below it: pass');
ok($gated->{out} =~ /^  FAILED     segments free blocks 65536: oom, limit oom$/m, 'words, by the number of holes');
ok($gated->{out} =~ /^  AMBIGUOUS  paged free blocks 64: \S+, limit \S+; a time without an interval: ratio has one$/m, 'a time alone is measured once');
my $cases = slurp("$folder/holes.xml");
is(scalar(() = $cases =~ /<testcase classname="(?:segments|paged) holes \d+" name="runs"\/>/g), scalar(keys %holes_of), 'JUnit: a case a row, told apart by holes');
done();

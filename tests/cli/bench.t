#!/usr/bin/perl
# build/bench: that it runs, and the shape of its output. Measured values are never a test.
# Its mistakes: cases/cli.case. It must not test instructions: instructions.t does.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $build = $ENV{BUILD} || 'build';
$stress = "$build/bench";
my $has_cub = built_with_cuda() && -e "$build/libcub-null.so";
my $header = 'case,policy,against,ns_per_pair,against_ns_per_pair,ratio,ratio_low,ratio_high,instructions_per_pair,'
    . 'against_instructions_per_pair,target,met,seed,rounds,ended';
my @timed = ('random 16', 'random 1000', 'random 20000', 'cold 16', 'cold 1000', 'cold 20000', '4 KiB', '1 GiB',
             '2 threads 2 streams', '4 threads 1 stream');
my @arenas = ('segments', 'paged');
my @counted = ('random 1000 instructions', '4 KiB instructions');

# ---- few short rounds: every case has a row for each arena, and every measured cell a number
my $quick = stress('--quick', '--out', "csv=$folder/quick.csv");
is($quick->{code}, 0, 'exit 0') or print "#   $quick->{err}\n";
my $csv = slurp("$folder/quick.csv");
is((split /\n/, $csv)[0], $header, 'the columns are these, in this order');
my @rows = rows($csv);
my %found = map { ("$_->{case}/$_->{policy}" => $_) } @rows;
is(scalar @rows, @arenas * (@timed + @counted), 'a row for each case and arena');
is(join(' ', grep { !$found{$_} } map { my $case = $_; map { "$case/$_" } @arenas } @timed, @counted), '',
   'none is missing');
for my $row (map { my $case = $_; map { $found{"$case/$_"} } @arenas } @timed) {
    my $name = "$row->{case}/$row->{policy}";
    my $alone = $row->{against} eq 'cub-library' && !$has_cub;
    my $number = qr/^\d+\.\d+$/;
    ok($row->{ns_per_pair} =~ $number && $row->{rounds} eq 3 && $row->{ended} eq 'rounds', "$name: measured");
    is(join(' ', @$row{qw(against_ns_per_pair ratio ratio_low ratio_high met)}), '    ', "$name: no CUB, no ratio") if $alone;
    next if $alone;
    ok($row->{$_} =~ $number, "$name: $_") for qw(against_ns_per_pair ratio ratio_low ratio_high);
    ok($row->{ratio_low} <= $row->{ratio} && $row->{ratio} <= $row->{ratio_high}, "$name: within its interval");
    next if !ok(($row->{met} eq '') == ($row->{target} eq ''), "$name: what has a target has a verdict") || !$row->{target};
    my ($sense, $bound) = $row->{target} =~ /^([<>]=) ([\d.]+)$/;
    my ($best, $worst) = $sense eq '<=' ? (-$row->{ratio_low}, -$row->{ratio_high}) : @$row{qw(ratio_high ratio_low)};
    $bound = -$bound if $sense eq '<=';
    is($row->{met}, $worst >= $bound ? 'yes' : $best < $bound ? 'no' : 'unclear', "$name: the verdict is the interval's");
}
my %target = map { ($_->{case} => $_->{target}) } @rows;
is(join('|', map { $target{$_} } @timed, @counted), '<= 0.25|<= 0.1667|<= 0.125|<= 0.25|<= 0.25|<= 0.25|<= 1.4||>= 1.6|>= 0.8|<= 470|',
   'the targets');
ok($quick->{out} =~ /^case +policy +against +ns .*\nrandom 16 +segments +cub-library/, 'the table');
ok($has_cub || $quick->{err} =~ /^bench: nothing is compared with CUB: libcub-null\.so: not found/m, 'where CUB is not, that is said');

# ---- not timed: the same bytes, and nothing measured
my $untimed = stress('--no-timing', '-q', '--out', 'csv=-');
is($untimed->{code}, 0, '--no-timing: exit 0');
is($untimed->{err}, '', '-q: without a word');
is(stress('--no-timing', '-q', '--out', 'csv=-')->{out}, $untimed->{out}, 'the same bytes every time');
is(join('', map { @$_{qw(ns_per_pair against_ns_per_pair ratio instructions_per_pair met rounds ended)} } rows($untimed->{out})), '',
   'and those cells stay empty');
ok(stress('--no-timing', '--out', 'csv=-')->{err} =~ /^case +policy/m, 'the table goes where the file does not');

done();

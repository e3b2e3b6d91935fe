#!/usr/bin/perl
# Every workload as a trace: what --out trace writes of it replay reads, and writes again as the same bytes, with the same
# digest of operations and results.
# It must not know what a workload does.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our $folder;

my ($listed) = stress('list')->{out} =~ /^workloads\n(.*?)^policies$/ms;
my @names = grep { $_ !~ /^(?:replay|all)$/ } ($listed // '') =~ /^  ([a-z]+) /mg;
ok(@names >= 6, 'workloads are listed: ' . join ' ', @names);
for my $name (@names) {
    my ($first, $second) = map { "$folder/$name.$_" } 1, 2;
    my @run = qw(-p segments --no-timing -q --ops 600 --seed 3 --device sim:160G);
    my $made = stress('run', '-w', $name, @run, '--out', "trace=$first", '--out', "csv=$folder/csv.1");
    ok($made->{code} == 0 && slurp($first) =~ /\Agpuarena-trace 1\n(?:.*\n)*a \d+ \d+ \d+/, "$name: a trace") or print "#   $made->{err}\n";
    my $again = stress('run', '-w', "replay:$first", grep({ !/^(?:--seed|3)$/ } @run), '--out', "trace=$second", '--out', "csv=$folder/csv.2");
    ok($again->{code} == 0 && slurp($first) eq slurp($second), "$name: replay reads it and writes the same") or print "#   $again->{err}\n";
    my @rows = map { (rows(slurp("$folder/csv.$_")))[0] } 1, 2;
    my @wrong = grep { $rows[0]{$_} ne $rows[1]{$_} } qw(ops allocs status requested_peak_bytes digest);
    ok(!@wrong, "$name: and it does the same @wrong");
}
done();

#!/usr/bin/perl
# JUnit as its schema wants it, and verdicts on times, by the intervals of repeats. Verdicts on exact numbers:
# cases/gate.case.
# Run: prove tests/cli/gate.t (BUILD=folder of stress); where there is xmllint it holds JUnit files against junit.xsd
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
require './tests/support/pictures.pl';
our ($folder, $stress);

my @work = ('-w', 'uniform:n=300,train:steps=1,layers=1,hidden=256,batch=1', '-p', 'raw,segments,paged', '--no-timing');
my ($base, $junit) = ("$folder/base.csv", "$folder/junit.xml");
my %of;

# Outcomes of the rules, as the verdict table has them: rule => [outcome, row, value, limit].
sub verdicts {
    my ($text) = @_;
    my (%of, $rule);
    for (split /\n/, $text) {
        if (/^fail if (.*)$/) { $rule = $1 }
        elsif (/^  (pass|AMBIGUOUS|NO VALUE|FAILED) +(.*): (\S+), limit ([^\s;]+)/) { push @{$of{$rule // ''}}, [$1, $2, $3, $4] }
    }
    return %of;
}

sub outcome { my ($of, $rule) = @_; return join ' ', map { $_->[0] } @{$of->{$rule} || []} }

# Against the schema: by hand, and by xmllint where there is one.
sub valid {
    my ($path, $name) = @_;
    my $text = slurp($path);
    my $attributes = qr/(?: \w+="[^"]*")+/;
    my $case = qr/<testcase classname="[^"]*" name="[^"]*"(?:\/>|><(?:failure|error) type="[^"]*" message="[^"]*"\/><\/testcase>|><skipped message="[^"]*"\/><\/testcase>)\n/;
    ok(eval { xml_elements($text) } && $text =~ m{\A<\?xml[^\n]*\n<testsuites>\n<testsuite name="[^"]+" tests="\d+" failures="\d+" errors="\d+" skipped="\d+">\n<properties>\n(?:<property$attributes/>\n)+</properties>\n(?:$case)*</testsuite>\n</testsuites>\n\z},
       "$name: elements, order and attributes are the schema's");
    my ($tests, @counts) = $text =~ /tests="(\d+)" failures="(\d+)" errors="(\d+)" skipped="(\d+)"/;
    my @found = map { scalar(() = $text =~ /<$_ /g) } qw(failure error skipped);
    is("@found " . (() = $text =~ /<testcase /g), "@counts $tests", "$name: the counts are those of the cases");
    if (qx{xmllint --version 2>&1} =~ /xmllint/) {
        is(qx{xmllint --noout --schema tests/support/junit.xsd '$path' 2>&1 | tail -1} =~ /validates$/ ? 1 : 0, 1, "$name: xmllint validates it");
    } else {
        skip('no xmllint');
    }
}

stress('run', @work, '-q', '--out', "csv=$base", '--fail-if', 'footprint > 1.2', '--out', "junit=$junit");
valid($junit, 'with gates');
my $odd = spew("odd <&\">'\xff\x01\xef\xbf\xbf.trace", "gpuarena-trace 1\na 1 100 0\nf 1\n");
stress('run', '-w', "replay:$odd", '-p', 'raw', '--no-timing', '-q', '--out', "junit=$junit");
valid($junit, 'of odd names');
stress('run', @work, '-q', '--faults', 'obtain:2=999', '--out', "junit=$junit");
valid($junit, 'with errors');
stress('run', @work, '-q', '--repeat', 3, '--fail-if', 'alloc_p50_ns > 1ns', '--out', "junit=$junit");
valid($junit, 'with repeats, without verdicts');
spew('broken.csv', slurp($base) =~ s/,ok,/,error,/r . "# partial: 6 of 9 rows, then SIGINT\n");
stress('compare', $base, "$folder/broken.csv", '-q', '--fail-if', 'footprint > 9', '--out', "junit=$junit");
valid($junit, 'of files');
ok(slurp($junit) =~ /errors="2"/ && slurp($junit) =~ /<error type="error" message="error, as [^"]*broken\.csv says"/, 'a row that is an error there is one, and rows that are missing');
spew('nobody.csv', "policy,footprint,status\n,1.5,ok\n");
stress('compare', ("$folder/nobody.csv") x 2, '--fail-if', 'footprint > 9', '--out', "junit=$junit");
valid($junit, 'of a row without names');

# ---- times: by the interval of repeats
my @repeats = ('run', '-w', 'uniform:n=2000', '-p', 'raw,segments');
my $once = stress(@repeats, '--fail-if', '*/segments: alloc_p50_ns > 1ns');
ok($once->{code} eq 0 && $once->{out} =~ /AMBIGUOUS  \S+: \S+, limit 1\.0; timed 1 times: an interval takes 6/, 'measured once: ambiguous');
my $six = stress(@repeats, '--repeat', 6, '--fail-if', '*/segments: alloc_p50_ns > 1ns', '--fail-if', '*/segments: alloc_p50_ns > 10s',
                 '--fail-if', '*/segments: alloc_p50_ns > segments', '--out', "csv=$folder/six.csv");
%of = verdicts($six->{out});
is("$six->{code} " . join(' ', map { outcome(\%of, "*/segments: alloc_p50_ns > $_") } '1ns', '10s'), '1 FAILED pass', 'six times: a verdict');
ok(outcome(\%of, '*/segments: alloc_p50_ns > segments') =~ /^(?:AMBIGUOUS|pass)$/, 'against itself it never fails');
is(join(' ', map { $_->{policy} } rows(slurp("$folder/six.csv"))), join(' ', ('raw segments') x 6), 'repeats are made in turn');
my ($line) = $six->{out} =~ m{^(uniform:n=2000/cudaMalloc, 6 times: .*\n(?:    .*\n)*)}m;
$line = ($line // '') =~ s/\s+/ /gr;                               # it is wrapped, by how long its numbers are
ok($line =~ m{^\S+ 6 times: host ns/op ([\d.]+) \[([\d.]+),([\d.]+)\]; ns of all 12000 allocations together: max \d+, p50 \d+, p99 \d+, p99\.9 \d+ $}
   && $2 <= $1 && $1 <= $3, 'below the table: median, interval, and percentiles of all samples together') or print "#   $line\n# $six->{out}";
ok($once->{out} !~ / times: host/, '.. not of what was measured once');
# The order in which rows come about is that of their failures on stderr: every second time backwards. Files do not show it.
my $turns = stress('run', '-w', 'uniform:n=9', '-p', 'raw,segments,paged', '--repeat', 4, '--no-timing', '-q', '--faults', 'obtain:1=999;create:1=999',
                   '--out', 'csv=-');
is(join(' ', map { $_->{policy} } rows($turns->{out})), join(' ', ('raw segments paged') x 4), 'in files, in the order asked for');
is(join(' ', $turns->{err} =~ m{^stress: uniform:n=9/(\w+): error: }mg), join(' ', ('cudaMalloc segments paged paged segments cudaMalloc') x 2),
   'made there and back, so that none has the better half');

done();

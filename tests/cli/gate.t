#!/usr/bin/perl
# Gates from end to end: --fail-if, --base, --strict, --repeat, JUnit, the step summary, exit codes.
# It must not test how rules are read: test_gate.c does.
# Run: prove tests/cli/gate.t (BUILD=folder of stress); where there is xmllint it holds JUnit files against junit.xsd
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @work = ('-w', 'uniform:n=300,train:steps=1,layers=1,hidden=256,batch=1', '-p', 'raw,segments,paged', '--no-timing');

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

# ---- every kind of rule, one true and one false
my $base = "$folder/base.csv";
my $first = stress('run', @work, '-q', '--out', "csv=$base");
is($first->{code}, 0, 'a base');
my %row = map { ("$_->{workload}/$_->{policy}" => $_) } rows(slurp($base));
my $paged = $row{'uniform:n=300/paged'};
my ($calls, $raw_calls) = ($paged->{driver_calls}, $row{'uniform:n=300/raw'}{driver_calls});
my @true = (
    'uniform*/paged: driver_calls <= ' . $calls, 'uniform*/paged: driver_calls >= ' . $calls,
    'uniform*/paged: driver_calls == ' . $calls, 'uniform*/paged: driver_calls < ' . ($calls + 1),
    'uniform*/paged: driver_calls > ' . ($calls - 1), 'uniform*/paged: driver_calls != ' . ($calls + 1),
    'uniform*/paged: status == ok', 'uniform*/paged: footprint > 50%', 'uniform*/paged: reserved_peak_bytes > 2M',
    'uniform*/paged: driver_vns > 1us', 'uniform*/paged: driver_calls > raw/1000', 'uniform*/paged: footprint < raw*1.5',
    'uniform*/paged: driver_calls == base', 'uniform*/paged: footprint < base+3pp', 'uniform*/paged: digest == base',
    'uniform*/paged: reserved_peak_bytes > base-1M', "\"uniform:n=300\"/'paged': footprint > 1",
);
my @false = (
    'uniform*/paged: driver_calls <= ' . ($calls - 1), 'uniform*/paged: driver_calls >= ' . ($calls + 1),
    'uniform*/paged: driver_calls == ' . ($calls + 1), 'uniform*/paged: driver_calls < ' . $calls,
    'uniform*/paged: driver_calls > ' . $calls, 'uniform*/paged: driver_calls != ' . $calls,
    'uniform*/paged: status != ok', 'uniform*/paged: footprint > 500%', 'uniform*/paged: reserved_peak_bytes > 2T',
    'uniform*/paged: driver_vns > 100s', 'uniform*/paged: driver_calls > raw*1000', 'uniform*/paged: footprint > raw*1.5',
    'uniform*/paged: driver_calls != base', 'uniform*/paged: footprint > base+3pp', 'uniform*/paged: digest != base',
    'uniform*/paged: reserved_peak_bytes > base+1M', "\"uniform:n=300\"/'paged': footprint > 100",
);
my $rules = spew('rules.txt', join '', "# rules\n\n", map { "$_\n" } @true, @false);
my $junit = "$folder/junit.xml";
$ENV{GITHUB_STEP_SUMMARY} = spew('summary.md', "before\n");
my $gated = stress('run', @work, '--base', $base, '--fail-if', "\@$rules", '--out', "junit=$junit");
delete $ENV{GITHUB_STEP_SUMMARY};
is($gated->{code}, 1, 'rules that are true: exit 1');
my %of = verdicts($gated->{out});
is(outcome(\%of, $_), 'FAILED', "true: $_") for @true;
is(outcome(\%of, $_), 'pass', "false: $_") for @false;
is(join(' ', @{$of{$true[0]}[0]}), "FAILED uniform:n=300/paged $calls $calls", 'with row, value and limit');
is($of{'uniform*/paged: driver_calls > raw*1000'}[0][3], $raw_calls * 1000, 'the limit is worked out');
ok($gated->{out} =~ /^@{[scalar @true]} of @{[@true + @false]} verdicts fail$/m, 'and how many failed');
is(stress('run', @work, map { ('--fail-if', $_) } grep { !/base/ } @false)->{code}, 0, 'rules that are false: exit 0');
is(outcome({ verdicts(stress('run', @work, '--fail-if', 'footprint > 9')->{out}) }, 'footprint > 9'), join(' ', ('pass') x 6),
   'without a selector: of every row');

# ---- JUnit and the summary
my $xml = slurp($junit);
my ($tests, $failures, $errors, $skipped) = $xml =~ /<testsuite name="[^"]+" tests="(\d+)" failures="(\d+)" errors="(\d+)" skipped="(\d+)">/;
is("$tests $failures $errors $skipped", 6 + @true + @false . ' ' . @true . ' 0 0', 'JUnit counts them');
is(scalar(() = $xml =~ /<testcase /g), $tests, 'a case each');
is(scalar(() = $xml =~ /<failure type="gate" message="FAILED: [^"<&]*"\/><\/testcase>/g), $failures, 'a failure each, with its reason');
valid($junit, 'with gates');
for my $rule (map { s/^.*?: //r } @true) {
    ok((() = $xml =~ /name="fail if [^"]*\Q@{[escaped($rule)]}\E"><failure/g) >= 1, "the true rule is named: $rule");
}
for my $rule (map { s/^.*?: //r } @false) {
    ok((() = $xml =~ /name="fail if [^"]*\Q@{[escaped($rule)]}\E"\/>/g) >= 1, "the false rule is named: $rule");
}
my $summary = slurp("$folder/summary.md");
ok($summary =~ /\Abefore\n### gpuarena stress on sim:80G\n/, 'the step summary is added to');
is(scalar(() = $summary =~ /^\| \*\*FAILED\*\* \| /mg), scalar @true, 'with every verdict');
is(scalar(() = $summary =~ /^\| uniform:n\\=300 \| (?:cudaMalloc|segments|paged) \| ok \| \\\+\d+\.\d \\% \|/mg), 3, 'and the rows');
local $ENV{GITHUB_STEP_SUMMARY} = "$folder/none/summary.md";
my $lost = stress('run', @work);
ok($lost->{code} eq 4 && $lost->{err} =~ /GITHUB_STEP_SUMMARY: .* cannot be written/, 'a summary that is not written: exit 4');
delete $ENV{GITHUB_STEP_SUMMARY};

# ---- compare judges rows that were read as run judges its own, and writes the same
$ENV{GITHUB_STEP_SUMMARY} = spew('read.md', '');
my $read = stress('compare', $base, $base, '-q', '--fail-if', "\@$rules", '--out', "junit=$folder/read.xml", '--out', "md=$folder/table.md");
delete $ENV{GITHUB_STEP_SUMMARY};
is($read->{code}, 1, 'compare: exit 1');
my ($of_run, $of_files) = map { join '', $_->{out} =~ /^(?:fail if |  \w|\d+ of ).*\n/mg } $gated, $read;
is($of_files, $of_run, '.. with the same verdicts');
is(slurp("$folder/read.xml"), $xml, '.. and the same JUnit');
is(slurp("$folder/read.md"), substr($summary, length "before\n"), '.. and the same step summary');
is(slurp("$folder/table.md"), slurp("$folder/read.md"), '--out md: likewise');
spew('broken.csv', slurp($base) =~ s/,ok,/,error,/r . "# partial: 6 of 9 rows, then SIGINT\n");
stress('compare', $base, "$folder/broken.csv", '-q', '--fail-if', 'footprint > 9', '--out', "junit=$folder/broken.xml");
valid("$folder/broken.xml", 'of files');
ok(slurp("$folder/broken.xml") =~ /errors="2"/ && slurp("$folder/broken.xml") =~ /<error type="error" message="error, as [^"]*broken\.csv says"/, 'a row that is an error there is one, and rows that are missing');
refused(2, qr/--out: of verdicts on rules: give --fail-if too/, 'compare', $base, $base, '--out', "junit=$junit");
refused(2, qr/--out -: expected a file/, 'compare', $base, $base, '--fail-if', 'footprint > 9', '--out', 'junit=-');
refused(4, qr/cannot be written/, 'compare', $base, $base, '--fail-if', 'footprint > 9', '--out', "junit=$folder/none/x.xml");
spew('nobody.csv', "policy,footprint,status\n,1.5,ok\n");
stress('compare', "$folder/nobody.csv", "$folder/nobody.csv", '--fail-if', 'footprint > 9', '--out', "junit=$folder/nobody.xml");
valid("$folder/nobody.xml", 'of a row without names');

# A reader of the XML that we write: tags that nest, attributes in quotes, no stray < or &.
sub well_formed {
    my ($text) = @_;
    my @open;
    $text =~ s/\A<\?xml version="1\.0" encoding="UTF-8"\?>\n// or return 0;
    while ($text =~ /\G(?:<(\w+)((?: \w+="(?:[^<&"]|&#x?[0-9A-F]+;)*")*)(\/?)>|<\/(\w+)>|\n)/gc) {
        if (defined $4) { return 0 if !@open || pop(@open) ne $4 }
        elsif (defined $1 && $3 eq '') { push @open, $1 }
    }
    return pos($text) == length $text && !@open;
}

sub escaped { return $_[0] =~ s/([<>&"])/'&#' . ord($1) . ';'/ger }

# Against the schema: by hand, and by xmllint where there is one.
sub valid {
    my ($path, $name) = @_;
    my $text = slurp($path);
    my $attributes = qr/(?: \w+="[^"]*")+/;
    my $case = qr/<testcase classname="[^"]*" name="[^"]*"(?:\/>|><(?:failure|error) type="[^"]*" message="[^"]*"\/><\/testcase>|><skipped message="[^"]*"\/><\/testcase>)\n/;
    ok(well_formed($text) && $text =~ m{\A<\?xml[^\n]*\n<testsuites>\n<testsuite name="[^"]+" tests="\d+" failures="\d+" errors="\d+" skipped="\d+">\n<properties>\n(?:<property$attributes/>\n)+</properties>\n(?:$case)*</testsuite>\n</testsuites>\n\z},
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

# odd names; a row that ended in an error
my $odd = spew("odd <&\">'\xff\x01\xef\xbf\xbf.trace", "gpuarena-trace 1\na 1 100 0\nf 1\n");
stress('run', '-w', "replay:$odd", '-p', 'raw', '--no-timing', '-q', '--out', "junit=$junit");
ok(well_formed(slurp($junit)) && slurp($junit) =~ /odd &#60;&#38;&#34;&#62;'&#xFFFD;&#xFFFD;&#xFFFD;\.trace\/raw" name="runs"\/>/, 'names are escaped');
is(stress('run', @work, '-q', '--faults', 'obtain:2=999', '--out', "junit=$junit")->{code}, 4, 'rows that fail');
ok(slurp($junit) =~ /errors="[1-6]"/ && slurp($junit) =~ /name="runs"><error type="error" message="[^"]+"\/><\/testcase>/, 'are errors in JUnit');

valid($junit, 'with errors');
stress('run', @work, '-q', '--repeat', 3, '--out', "junit=$junit");
valid($junit, 'with repeats');

# ---- no verdict
my $timed = 'alloc_p50_ns > 1ns';
my $empty = stress('run', @work, '--fail-if', $timed, '--out', "junit=$junit");
is("$empty->{code} " . outcome({ verdicts($empty->{out}) }, $timed), '0 ' . join(' ', ('NO VALUE') x 6), 'not measured: no verdict, and exit 0');
valid($junit, 'without verdicts');
ok(slurp($junit) =~ /skipped="6"/ && slurp($junit) =~ /<skipped message="NO VALUE: /, 'in JUnit: skipped');
is(stress('run', @work, '--fail-if', $timed, '--strict')->{code}, 1, '--strict: exit 1');
my $elsewhere = stress('run', @work, '--seed', 2, '--base', $base, '--fail-if', 'uniform*/raw: footprint > base', '--out', "csv=$folder/elsewhere.csv");
ok($elsewhere->{code} eq 2 && $elsewhere->{err} =~ /base\.csv has none of these rows/, 'a base with another seed says nothing: exit 2');
is(scalar(rows(slurp("$folder/elsewhere.csv"))), 6, '.. and what was run is there');
my $some = stress('run', @work, '-w', 'uniform:n=301', '--base', $base, '--fail-if', 'footprint > base');
ok($some->{code} eq 0 && $some->{out} =~ /^  NO VALUE +uniform:n=301\/cudaMalloc: .*no such row of raw in /m && $some->{out} =~ /^  pass +uniform:n=300\/cudaMalloc/m, 'where it has some of the rows the others have no verdict');
my $rowless = stress('run', @work, '--base', spew('base.header', slurp($base) =~ s/\n.*/\n/sr), '--fail-if', 'digest != base');
ok($rowless->{code} eq 2 && $rowless->{err} =~ /base\.header has none of these rows/, 'nor has a base without rows');
my $word = 'oom_reason != fragmented';
my @short = ('run', '-w', 'uniform:n=300', '-p', 'paged', '--no-timing');
my $wordless = stress(@short, '--fail-if', $word, '--fail-if', 'oom_reason == fragmented');
is("$wordless->{code} " . outcome({ verdicts($wordless->{out}) }, $word), '0 NO VALUE', 'an empty cell is not another word: no verdict');
ok($wordless->{out} =~ /NO VALUE .*; no oom_reason in this row/, '.. and says so');
is(outcome({ verdicts($wordless->{out}) }, 'oom_reason == fragmented'), 'pass', '.. nor the word itself');
is(stress(@short, '--limit', '4M', '--fail-if', 'oom_reason != fragmented')->{code}, 1, 'a cell with another word fails');
my $quiet = stress('run', @work, '-q', '--fail-if', '*/raw: footprint > 1', '--fail-if', 'footprint > 9');
is(scalar(() = $quiet->{err} =~ /^stress: gate: FAILED: \S+\/cudaMalloc: footprint is \S+, limit 1\.0000 \(fail if /mg), 2, '-q tells failures alone');
ok($quiet->{out} eq '' && $quiet->{code} eq 1, '.. on stderr');
my $alone = stress('run', '-w', 'uniform:n=300', '-p', 'paged', '--no-timing', '-q', '--fail-if', 'driver_calls > raw*100');
is("$alone->{code} $alone->{err}", '0 ', 'raw is run where a rule needs it');
refused(2, qr/'driver_calls > segments': no row is of policy segments: give it to -p too/, 'run', '-w', 'uniform:n=300', '-p', 'paged', '--no-timing',
        '--fail-if', 'driver_calls > segments');
refused(2, qr/no row is of policy raw/, 'capacity', '-w', 'uniform:n=300', '-p', 'paged', '--fail-if', 'driver_calls > raw');
refused(2, qr/'footprint > base\+3%': expected a share of it, as base\*1\.05, or points, as base\+5pp, found '3%'/, 'run', @work, '--base', $base, '--fail-if', 'footprint > base+3%');
refused(2, qr/expected one of < .* behind growth; a name that holds : or \/ stands in quotes/, 'run', @work, '--fail-if', '*/segments:growth=exact: driver_calls > 1');

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

# ---- files of rules as editors leave them
my $as_left = spew('rules.left', "\xef\xbb\xbf# a mark, spaces, and other ends of lines\r\nfootprint > 9  \t\r\n\r\n  footprint > 8 # don't\r\n'uniform#*'/* : footprint > 1#");
refused(2, qr/rules\.left: line 5: --fail-if ''uniform#\*'\/\* : footprint > 1#': expected a number/, 'run', @work, '--fail-if', "\@$as_left");
$as_left = spew('rules.left', slurp($as_left) =~ s/'uniform#.*//r);
is(join(', ', sort keys %{{ verdicts(stress('run', @work, '--fail-if', "\@$as_left")->{out}) }}), 'footprint > 8, footprint > 9', 'a mark, CR LF, spaces and comments are passed over');
refused(2, qr/rules\.nul: a NUL byte/, 'run', @work, '--fail-if', '@' . spew('rules.nul', "footprint > 9\n\0\nfootprint > 1\n"));
refused(2, qr/rules\.mac: line 1: /, 'run', @work, '--fail-if', '@' . spew('rules.mac', "footprint > 9\rfootprint > 1\r"));
my $marked = stress('run', @work, '--base', spew('marked.csv', "\xef\xbb\xbf" . slurp($base) =~ s/\n/\r\n/gr), '--fail-if', 'footprint != base');
is("$marked->{code} " . outcome({ verdicts($marked->{out}) }, 'footprint != base'), '0 ' . join(' ', ('pass') x 6), 'so it is with a base');

# ---- a gate that says nothing is none
my $path = spew("it's a \"path\": x.trace", "gpuarena-trace 1\na 1 5000000 0\nf 1\n");
my $named = '"replay:' . ($path =~ s/"/?/gr) . '"/\'segments:growth=step,step=4M\': footprint > 1';
my $long = $named . ' ' x 300;
my $paths = stress('run', '-w', "replay:$path", '-p', 'segments:growth=step,step=4M', '--no-timing', '--fail-if', $long, '--fail-if', '*/raw*: footprint > 9',
                   '-p', 'raw', '--out', "junit=$junit");
ok($paths->{code} eq 1 && slurp($junit) =~ /name="fail if \Q@{[escaped($named)]}\E +"><failure/, 'paths with quotes and colons; a name is whole, however long');
refused(2, qr/none of the rows, which are named WORKLOAD\/POLICY, as "train:steps=1,layers=1,hidden=256,batch=1"\/"paged"$/, 'run', @work, '--fail-if', '*/pagd: footprint > 1');
refused(2, qr/--base: judges nothing without a rule/, 'run', @work, '--base', $base);
refused(2, qr/--strict: judges nothing without a rule/, 'run', @work, '--strict');
my ($at) = grep { (split /,/, slurp($base))[$_] eq 'footprint' } 0 .. 40;
my $narrow = spew('narrow.csv', join '', map { my @cells = split /,(?=(?:[^"]*"[^"]*")*[^"]*$)/; splice @cells, $at, 1; join ',', @cells } slurp($base) =~ /^.*\n/mg);
refused(2, qr/'footprint > base': .*narrow\.csv has no footprint/, 'run', @work, '--base', $narrow, '--fail-if', 'footprint > base');
is(stress('run', @work, '--base', $narrow, '--fail-if', 'driver_calls > base')->{code}, 0, 'other columns of such a base will do');
my $nowhere = stress('compare', $narrow, $narrow, '--fail-if', 'footprint > 9');
ok($nowhere->{code} eq 2 && $nowhere->{err} =~ /'footprint > 9': .*narrow\.csv has no footprint/, 'and of files that are compared');
$nowhere = stress('compare', $base, $base, '--fail-if', 'footprint > rawr*2');
ok($nowhere->{code} eq 2 && $nowhere->{err} =~ /'footprint > rawr\*2': .*base\.csv has no row of policy 'rawr'/, '.. nor a policy that they lack');
my $not = spew('not.csv', slurp($base) =~ s/(?<=,)1\.\d{4}(?=,)/nan/gr);
ok(stress('run', @work, '--base', $not, '--fail-if', 'footprint > base')->{out} =~ /^  NO VALUE .*; no number in the row of raw in .*^0 of 6 verdicts fail, 6 could not be given \(--strict: that fails\)$/ms,
   'what is no number is no limit, and the last line says so');

# ---- very many rules
my $thousands = spew('rules.many', join '', map { "driver_calls > $_\n" } 1 .. 5000);
local $ENV{GITHUB_STEP_SUMMARY} = spew('many.md', '');
my $many = stress('run', '-w', 'uniform:n=300', '-p', 'paged', '--no-timing', '--fail-if', "\@$thousands");
delete $ENV{GITHUB_STEP_SUMMARY};
ok($many->{out} =~ /^@{[$calls - 1]} of 5000 verdicts fail$/m, '5,000 rules are judged');
my $cut = slurp("$folder/many.md");
is(scalar(() = $cut =~ /^\| \*\*FAILED\*\* \| /mg), $calls - 1, 'the step summary has those that fail');
ok($cut =~ /^@{[5001 - $calls]} verdicts are left out, those that pass first$/m && $cut !~ /^\| pass/m, '.. and says that others are left out');

# ---- mistakes
refused(2, qr/is about none of the rows/, 'run', @work, '--fail-if', 'larson/*: footprint > 1');
refused(2, qr/base is what --base FILE has/, 'run', @work, '--fail-if', 'footprint > base');
refused(2, qr/'footprint > segmnts\*2': unknown policy 'segmnts', did you mean 'segments'/, 'run', @work, '--fail-if', 'footprint > segmnts*2');
refused(2, qr/unknown policy 'nan'/, 'run', @work, '--fail-if', 'footprint > nan');
refused(2, qr/--fail-if \@: expected a file of rules/, 'run', @work, '--fail-if', '@');
refused(2, qr/run has no min_limit_bytes/, 'run', @work, '--fail-if', 'min_limit_bytes > 1G');
refused(2, qr/rules\.bad: line 2: --fail-if 'nothing': expected one of|rules\.bad: line 2: --fail-if 'nothing': no metric/, 'run', @work,
        '--fail-if', '@' . spew('rules.bad', "footprint > 1\nnothing\n"));
refused(2, qr/no rule in it/, 'run', @work, '--fail-if', '@' . spew('rules.none', "# none\n"));
refused(2, qr/cannot be read/, 'run', @work, '--fail-if', "\@$folder/missing");
refused(2, qr/cannot be read/, 'run', @work, '--base', "$folder/missing");
refused(2, qr/no column 'policy'/, 'run', @work, '--base', spew('other.csv', "a,b\n1,2\n"));
stress('run', @work, '-q', map { ('--out', "$_=$folder/kind.$_") } qw(csv json junit html md));
for my $case ([ 'json', qr/JSON/ ], [ 'junit', qr/XML or HTML/ ], [ 'html', qr/XML or HTML/ ], [ 'md', qr/no column 'policy'/ ]) {
    my ($kind, $said) = @$case;
    my $expected = qr{^stress: \Q$folder\E/kind\.$kind: $said: expected CSV as --out csv writes it$};
    refused(2, $expected, 'compare', "$folder/kind.csv", "$folder/kind.$kind");
    refused(2, $expected, 'compare', "$folder/kind.$kind", "$folder/kind.csv");
    refused(2, $expected, 'run', @work, '--fail-if', 'ops > base', '--base', "$folder/kind.$kind");
}
refused(2, qr/prose: no column 'policy': expected CSV/, 'compare', spew('prose', "A title\n\nIt says this, and that.\n"), "$folder/kind.csv");
refused(2, qr/empty/, 'run', @work, '--base', spew('empty.csv', ''));
refused(2, qr/--repeat means nothing to capacity/, 'capacity', '-w', 'uniform:n=300', '-p', 'raw', '--repeat', 2);
my $capacity = stress('capacity', '-w', 'uniform:n=300', '-p', 'segments', '--fail-if', 'ratio > 1', '--fail-if', 'ratio > 90', '--out', "junit=$junit");
is("$capacity->{code} " . (slurp($junit) =~ /tests="3" failures="1" errors="0" skipped="0"/ ? 'counted' : ''), '1 counted', 'of capacity too');

# ---- no output takes the place of what is read
my ($kept, $kept_rules) = (spew('kept.csv', slurp("$folder/base.csv") || stress('run', qw(-w uniform:n=50 -p raw --no-timing -q --out csv=-))->{out}), spew('kept.rules', "footprint > 9\n"));
my $kept_text = slurp($kept);
link $kept, "$folder/kept.hard";
symlink $kept, "$folder/kept.soft";
refused(2, qr/--out: \Q$_\E is what --base \S+kept\.csv reads; give another file/, qw(run -w uniform:n=50 -p raw --no-timing --base), $kept, '--fail-if', 'ops > 9', '--out', "csv=$_")
    for $kept, "$folder/./kept.csv", "$folder/kept.hard", "$folder/kept.soft";
refused(2, qr/is what --fail-if \@\S+kept\.rules reads/, qw(run -w uniform:n=50 -p raw --no-timing --fail-if), "\@$kept_rules", '--out', "junit=$kept_rules");
ok(slurp($kept) eq $kept_text && slurp($kept_rules) eq "footprint > 9\n", 'and they are as they were');
done();

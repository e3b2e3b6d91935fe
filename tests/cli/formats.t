#!/usr/bin/perl
# Files of results, read by others than who wrote them: JSON by its schema (here, and by Python's jsonschema), CSV and
# JUnit by Python, Markdown as tables; whatever names workloads have. It must not test the contents of rows.
# Runs once: Python reads every format.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our $folder;

my $has_python = !system('python3 -c "import json" >/dev/null 2>&1');
my $rules = JSON::PP->new->utf8->decode(slurp('stress/report/schema.json'));

sub is_of_type {
    my ($value, $type) = @_;
    return !defined $value if $type eq 'null';
    return ref $value eq 'HASH' if $type eq 'object';
    return ref $value eq 'ARRAY' if $type eq 'array';
    return 0 if !defined $value || ref $value;
    my $is_number = JSON::PP->new->allow_nonref->encode($value) !~ /^"/;
    return !$is_number if $type eq 'string';
    return $is_number && ($type eq 'number' || $value =~ /^-?\d+$/);
}

# The part of JSON schemas that ours uses; returns the first error, or ''.
sub schema_error {
    my ($value, $rule, $where) = @_;
    return schema_error($value, $rules->{definitions}{$1}, $where) if ($rule->{'$ref'} // '') =~ m{^#/definitions/(\w+)$};
    my @allowed = exists $rule->{enum} ? @{$rule->{enum}} : exists $rule->{const} ? $rule->{const} : ();
    return "$where: not one of those allowed" if @allowed && !grep { ($_ // "\0") eq ($value // "\0") } @allowed;
    my @types = ref $rule->{type} ? @{$rule->{type}} : $rule->{type} // ();
    return "$where: not @types" if @types && !grep { is_of_type($value, $_) } @types;
    return "$where: below $rule->{minimum}" if defined $rule->{minimum} && defined $value && $value < $rule->{minimum};
    return "$where: not like $rule->{pattern}" if $rule->{pattern} && defined $value && $value !~ /$rule->{pattern}/;
    if (ref $value eq 'HASH') {
        for my $key (@{$rule->{required} // []}) { return "$where: no $key" if !exists $value->{$key} }
        for my $key (sort keys %$value) {
            my $inner = $rule->{properties}{$key} or next;
            my $error = schema_error($value->{$key}, $inner, "$where.$key");
            return $error if $error;
        }
    }
    if (ref $value eq 'ARRAY') {
        return "$where: too few or too many" if @$value < ($rule->{minItems} // 0) || @$value > ($rule->{maxItems} // ~0);
        for my $at (0 .. $#$value) {
            my $error = $rule->{items} ? schema_error($value->[$at], $rule->{items}, "$where\[$at]") : '';
            return $error if $error;
        }
    }
    return '';
}

my $odd = spew("a \"b\";<c>|`d`&\n*e*_f_\\.trace", "gpuarena-trace 1\na 0 5000 0\nf 0\n");
my ($wide, $few) = ('train:layers=1,hidden=256,batch=1,steps=1', 'uniform:n=10');
my %runs = (
    run      => ['run', '-w', "replay:$odd", '-w', $wide, '-p', 'raw,segments,paged', '--fail-if', 'footprint > 1.2', '--limit', '500M'],
    untimed  => ['run', '-w', "replay:$odd", '-w', 'uniform:n=100', '-p', 'raw', '--no-timing', '--rounds', 5, '--faults', 'rival@450=80G'],
    capacity => ['capacity', '-w', "replay:$odd", '-p', 'raw,segments,segments:initial=64M'],
    oom      => ['run', '-w', 'uniform:n=300', '-p', 'raw,segments', '--limit', '300M'],
    batch    => ['batch', '-w', 'train:layers=2,hidden=256,steps=1,uniform:n=50', '-p', 'segments', '--device', 'sim:1G'],
    holes    => ['holes', '-p', 'segments,paged', '--quick'],
    cramped  => ['holes', '-p', 'segments', '--no-timing', '--device', 'sim:1G'],
    repeats  => ['run', '-w', $few, '-w', 'uniform:n=2000', '-p', 'raw,paged', '--repeat', 6, '--rate', 1000000, ('--fail-if', 'footprint > 9') x 2],
);
sub is_holes { return $runs{$_[0]}[0] eq 'holes' }

# The contents of a job's page: columns, and sentences below them.
my %said = (
    run      => ['status footprint requested_peak_bytes remapped_pages fragmentation driver_vns host_ns_per_op oom_op',
                 qr{steps=1/segments: arena: \d+ bytes .* would pass the limit of \d+ bytes .*steps=1/paged: arena: }],
    oom      => ['oom_op oom_reason', qr{uniform:n=300/segments: arena: .* fit in no single free block, though enough is free}],
    untimed  => ['oom_op oom_reason oom_round', qr{uniform:n=100/cudaMalloc: in round 3 of 5, at its operation \d+:}],
    capacity => ['min_limit_bytes ratio requested_peak_bytes stop_op stop_reason', qr/^$/],
    batch    => ['key largest allowed requested_peak_bytes stop_op stop_reason',
                 qr{/segments: batch=\d+ ends at op \d+: it requests \d+ bytes at its peak, [\d.]+ [KM]iB more than the 1073741824 there are.*/segments: cap=1073741824 is the most}s],
    cramped  => ['status target', qr{segments free blocks 16384: arena: \d+ bytes .* were refused by the driver}],
    holes    => ['ns_per_pair ratio ratio_low ratio_high target met', qr/^$/],
    repeats  => ['footprint waited_p99_vns alloc_p99_ns',
                 qr{/cudaMalloc, 6 times: host ns/op [\d.]+ \[[\d.,]+\]; ns of all \d+ allocations together: max \d+, p50 \d+}],
);
for my $name (sort keys %runs) {
    my @kinds = ('csv', 'json', 'md', is_holes($name) ? () : 'junit');
    my $run = stress(@{$runs{$name}}, '-q', map { ('--out', "$_=$folder/$name.$_") } @kinds);
    ok($run->{code} <= 1, "$name runs") or print "#   $run->{err}\n";
    my $document = JSON::PP->new->utf8->decode(slurp("$folder/$name.json"));
    is(schema_error($document, $rules, '$'), '', "$name: JSON as its schema says");
    my %unknown = map { $_ => 1 } grep { !$rules->{definitions}{case}{properties}{$_} } map { keys %$_ } @{$document->{cases}};
    is(join(' ', sort keys %unknown), '', "$name: .. and every key is in it");
    is(join(' ', map { "$_->{workload} $_->{policy} $_->{repeats} $_->{host_ns_per_op}{n} $_->{rate}{waited}{n} $_->{lat}{alloc}{n}" } @{$document->{repeats}}),
       $name eq 'repeats' ? "$few raw 6 6 120 60 $few paged 6 6 120 60 uniform:n=2000 raw 6 6 24000 12000 uniform:n=2000 paged 6 6 24000 12000" : '',
       "$name: .. what is there more than once is added up");
    for my $of (map { my $of = $_; map { [$of, @$_] } [qw(lat alloc)], [qw(lat free)], [qw(rate waited)] } @{$document->{repeats}}) {
        my ($all, $part, $what, %sum) = @$of;
        $sum{$_->[0]} += $_->[1] for map { @{$_->{$part}{$what}{bins}} } grep { "$_->{workload}/$_->{policy}" eq "$all->{workload}/$all->{policy}" } @{$document->{cases}};
        is(join(' ', map { "$_->[0]:$_->[1]" } @{$all->{$part}{$what}{bins}}), join(' ', map { "$_:$sum{$_}" } sort { $a <=> $b } keys %sum),
           "$name: .. bucket by bucket, $part.$what of $all->{policy}");
        is(defined $all->{$part}{$what}{p99} ? 1 : 0, $all->{$part}{$what}{n} >= 1000 ? 1 : 0, '.. and a percentile where there are enough of all');
    }
    my %edges = map { ($_->[0] => 1) } map { @{$_->{bins}} } map { my $part = $_; map { $_ ? grep { ref } values %$_ : () } @$part{qw(lat rate)} }
        @{$document->{cases}}, @{$document->{repeats} // []};
    my @odd = grep { my $edge = $_; my $width = 1; $width *= 2 while $edge / $width >= 64; $edge % $width || $edge < 32 * ($width - 1) } keys %edges;
    is(join(' ', @odd), '', "$name: .. all edges of buckets are those of the schema");
    my @tables = map { [split /\n/] } grep { /^\|/ } split /\n\n/, slurp("$folder/$name.md");
    my @wrong = grep { my $cells = () = $tables[-1][0] =~ /(?<!\\)\|/g; my $own = () = /(?<!\\)\|/g; $own != $cells } @{$tables[-1]};
    ok(@tables && !@wrong && @{$tables[-1]} == 2 + @{$document->{cases}}, "$name: a table in Markdown, a line a row") or print "#   $_\n" for @wrong;
    my ($heading, undef, @lines) = map { [map { s/\\([[:punct:]])/$1/gr } /(?<=\| )((?:[^|\\]|\\.)*?) \|/g] } @{$tables[-1]};
    my @csv = rows(slurp("$folder/$name.csv") =~ s/("(?:[^"]|"")*")/$1 =~ tr{\n}{ }r/ger);
    my %name = ('overhead' => 'footprint', 'driver time (modelled), ns' => 'driver_vns', 'min limit / peak' => 'ratio', 'free blocks' => 'holes');
    my @unknown = grep { !exists $csv[0]{$_} && !$name{$_} } @$heading;
    is("@unknown", '', "$name: .. columns of the csv, or what people call them");
    $_ = $name{$_} // $_ for @$heading;
    for my $row (@csv) {
        $row->{policy} =~ s/^raw$/cudaMalloc/;
        $row->{footprint} = sprintf '%+.1f %%', ($row->{reserved_peak_bytes} / $row->{requested_peak_bytes} - 1) * 100 if $row->{footprint};
    }
    my @differ = grep { my $at = $_; grep { $lines[$_][$at] ne $csv[$_]{$heading->[$at]} } 0 .. $#csv } 0 .. $#$heading;
    is(join(' ', map { $heading->[$_] } @differ), '', "$name: .. each cell that of the csv");
    my @lacks = grep { my $column = $_; !grep { $_ eq $column } @$heading } split ' ', $said{$name}[0];
    is("@lacks", '', "$name: .. with what the table for people tells");
    my $sentences = join(' ', slurp("$folder/$name.md") =~ /^- (.*)$/mg) =~ s/\\([[:punct:]])/$1/gr;
    ok($sentences =~ $said{$name}[1], "$name: .. and the sentences below it") or print "#   $sentences\n";
    my %cases;
    $cases{$_}++ for slurp("$folder/$name.junit") =~ /<testcase (classname="[^"]*" name="[^"]*")/g;
    is(join(' ', grep { $cases{$_} > 1 } sort keys %cases), '', "$name: JUnit: every case has a name of its own") if !is_holes($name);
    next if !$has_python;
    my $csv = qx(python3 tests/support/formats_check.py csv '$folder/$name.csv' 2>&1);
    my ($count) = $csv =~ /^(\d+) rows of [1-9]\d* cells/;
    is($count, scalar @{$document->{cases}}, "$name: CSV that Python reads") or print "#   $csv\n";
    my ($names) = $csv =~ /; (\[.*\])$/;
    is(JSON::PP->new->encode(JSON::PP->new->decode($names || '[]')), JSON::PP->new->encode([map { $_->{workload} } @{$document->{cases}}]),
       "$name: .. names and all") if !is_holes($name);
    ok(qx(python3 tests/support/formats_check.py junit '$folder/$name.junit' 2>&1) =~ /^[1-9]\d* cases, \d+ failures$/, "$name: JUnit that Python reads")
        if !is_holes($name);
}
my $thrice = slurp("$folder/repeats.junit");
is(join(',', $thrice =~ /<testcase classname="\S*n=2000\/raw" name="([^"]*)"/g),
   'runs,runs #2,runs #3,runs #4,runs #5,runs #6,fail if footprint &#62; 9,fail if footprint &#62; 9 #2', 'JUnit: the first has the name that it has without --repeat');
skip('python3 is not installed') if !$has_python;

stress('run', '-w', 'uniform:n=200', '-p', 'raw,segments', '-q', '--shard', '1/2', '--out', "json=$folder/shard.json");
my $shard = JSON::PP->new->utf8->decode(slurp("$folder/shard.json"));
is(schema_error($shard, $rules, '$'), '', 'a shard: JSON as its schema says');
is(join(' ', grep { !$rules->{properties}{$_} } keys %$shard), '', '.. and every key is in it');
is($shard->{shard}, 'shard 1/2: 1 of 2 rows', '.. which says that it has not all rows');

# A job's page has equal bytes at any width of the terminal, in a step's summary, too; of very many sentences it has
# the first.
my @search = @{$runs{batch}};
for my $width (40, 60, 200) {
    local ($ENV{COLUMNS}, $ENV{GITHUB_STEP_SUMMARY}) = ($width, spew('step.md', ''));
    stress(@search, '--out', "md=$folder/width.md");
    is(slurp("$folder/width.md") . slurp("$folder/step.md"), slurp("$folder/batch.md") x 2, "COLUMNS=$width: the same Markdown");
}
stress('run', '-w', join(',', map { "uniform:n=30,seed=$_" } 1 .. 60), '-p', 'segments,paged', '--limit', '2M', '--no-timing', '-q', '--out', "md=$folder/long.md");
my $long = slurp("$folder/long.md");
is(join(' ', scalar(() = $long =~ /^- uniform\S+\/\w+: /mg), $long =~ /^(\d+) sentences more are left out$/m), '100 20', 'of 120 sentences 100');

# Every kind of file, of every workload: the same bytes every time.
my @kinds = map { slurp($_) =~ /^    "(\w+)", "run\b[a-z|]*", 0,/mg } glob 'stress/report/*.c';
ok(@kinds >= 11, "@kinds");
my @written;
for my $time (0, 1) {
    stress('run', '-w', 'all', '-p', 'raw,segments,paged', '--ops', 400, '--no-timing', '-q', '--fail-if', 'footprint > 1.05', '--seed', 3,
           map { ('--out', "$_=$folder/every.$_") } @kinds);
    $written[$time] = { map { $_ => slurp("$folder/every.$_") } @kinds };
}
ok(length $written[0]{$_} && $written[0]{$_} eq $written[1]{$_}, "$_: the same bytes every time") for @kinds;

# Documents that break the schema are refused by both readers.
my %broken = (none => sub { }, schema => sub { $_[0]{schema} = 'gpuarena-stress/2' }, status => sub { $_[0]{cases}[0]{status} = 'fine' },
              ops => sub { $_[0]{cases}[0]{ops} = -1 }, text => sub { $_[0]{cases}[0]{ops} = "12" }, digest => sub { $_[0]{cases}[0]{digest} = 'g' },
              cases => sub { delete $_[0]{cases} }, bins => sub { push @{$_[0]{cases}[0]{lat}{alloc}{bins}}, [1] });
for my $name (sort keys %broken) {
    my $document = JSON::PP->new->utf8->decode(slurp("$folder/run.json"));
    $broken{$name}->($document);
    spew("broken.$name.json", JSON::PP->new->utf8->encode($document));
    ok((schema_error($document, $rules, '$') eq '') == ($name eq 'none'), "broken: $name");
}
my @files = map { "'$folder/$_.json'" } sort 'shard', keys %runs;
my $valid = $has_python ? qx(python3 tests/support/formats_check.py schema stress/report/schema.json @files 2>&1) : 'skipped: no python3';
if ($valid =~ /^skipped: (.*)/) {
    skip($1);
} else {
    is($valid, join('', map { "$_.json: valid\n" } sort 'shard', keys %runs), "Python's validator says the same of ours");
    my $found = qx(python3 tests/support/formats_check.py schema stress/report/schema.json @{[map { "'$folder/broken.$_.json'" } sort keys %broken]} 2>&1);
    is(join(' ', $found =~ /^broken\.(\w+)\.json: valid$/mg), 'none', '.. and of broken ones');
}
done();

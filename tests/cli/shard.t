#!/usr/bin/perl
# --shard and stress merge: the merged bytes are those of a run without shards; what does not belong together is refused;
# shards are detected.
# It must not test what rows say.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @detected = qw(SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_MIN SLURM_ARRAY_TASK_MAX SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_STEP JOB_COMPLETION_INDEX SLURM_PROCID
                  SLURM_NTASKS OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE);
delete @ENV{@detected};
my $odd = spew("odd \"name\"\nof two lines.trace", "gpuarena-trace 1\na 1 100 0\nf 1\n");
my @sweep = ('-w', "uniform:n=100,train:steps=1,layers=1,hidden=256,batch=1,replay:$odd,uniform:n=200", '-p', 'raw,segments,paged,segments:growth=exact',
             '--no-timing', '-q');
my $whole = stress('run', @sweep, '--out', "csv=$folder/whole.csv", '--out', "json=$folder/whole.json");
is($whole->{code}, 0, 'the whole run') or print "#   $whole->{err}\n";

# ---- as many shards as there are, fewer than rows, more than rows
for my $count (2, 3, 16, 20) {
    my @shards = map { my $shard = $_; "$folder/$count-" . sprintf('%0*d', length($count - 1), $shard) . "-of-$count" } 0 .. $count - 1;
    my $failed = 0;
    for my $shard (0 .. $count - 1) {
        my $run = stress('run', @sweep, '--shard', "$shard/$count", '--out', "csv=$folder/$count-{shard}.csv", '--out', "json=$folder/$count-{shard}.json");
        $failed++ if $run->{code} ne 0 || $run->{err} !~ m{^stress: shard $shard/$count, \d of 16 rows, from --shard$}m;
    }
    is($failed, 0, "$count shards run");
    for my $format (qw(csv json)) {
        my $merged = stress('merge', (map { "$_.$format" } reverse @shards), '--out', "$format=$folder/merged");
        is($merged->{code}, 0, "and are merged: $format") or print "#   $merged->{err}\n";
        ok(slurp("$folder/merged") eq slurp("$folder/whole.$format"), 'to the same bytes');
    }
    is(stress('merge', map { "$_.csv" } @shards)->{out}, slurp("$folder/whole.csv"), 'without --out: to stdout') if $count == 2;
}
ok(slurp("$folder/whole.csv") !~ /shard/, 'a whole run has no mark');
ok(slurp("$folder/3-1-of-3.csv") =~ m{\A# gpuarena-stress shard 1/3 rows 16 version \d\S* seed 1 sweep \d+\nworkload,}, 'a shard has');
refused(2, qr/has the rows of one shard: stress merge/, 'compare', "$folder/3-1-of-3.csv", "$folder/whole.csv");
my $repeated = stress('run', @sweep, '--repeat', 3, '--filter', 'uniform*', '--out', "csv=$folder/repeated.csv");
stress('run', @sweep, '--repeat', 3, '--filter', 'uniform*', '--shard', "$_/5", '--out', "csv=$folder/r$_.csv") for 0 .. 4;
is(stress('merge', map { "$folder/r$_.csv" } 0 .. 4)->{out}, slurp("$folder/repeated.csv"), 'with --repeat and --filter too');

# ---- histograms: the repeats of a row lie in different shards, and are added up as one run would have
my @waits = ('-w', "uniform:n=300,uniform:n=20,replay:$odd", '-p', 'raw,segments', '--repeat', 3, '--rate', 1000000, '--no-timing', '-q');
stress('run', @waits, '--out', "json=$folder/waits.json");
stress('run', @waits, '--shard', "$_/4", '--out', "json=$folder/w$_.json") for 0 .. 3;
stress('merge', (map { "$folder/w$_.json" } 0 .. 3), '--out', "json=$folder/merged");
ok(slurp("$folder/merged") eq slurp("$folder/waits.json"), 'JSON with repeats: the same bytes');
ok(slurp("$folder/w0.json") !~ /"repeats"/, 'a shard adds nothing up');
my $waits = JSON::PP->new->utf8->decode(slurp("$folder/merged"));
is(join(' ', map { "$_->{policy} $_->{repeats} $_->{rate}{waited}{n}" } @{$waits->{repeats}}),
   'raw 3 1800 segments 3 1800 raw 3 120 segments 3 120 raw 3 6 segments 3 6', 'three times as many samples as one row has');
for my $of (@{$waits->{repeats}}[0, 4]) {
    my %sum;
    for my $case (grep { $_->{workload} eq $of->{workload} && $_->{policy} eq $of->{policy} } @{$waits->{cases}}) { $sum{$_->[0]} += $_->[1] for @{$case->{rate}{waited}{bins}} }
    is(join(' ', map { "$_->[0]:$_->[1]" } @{$of->{rate}{waited}{bins}}), join(' ', map { "$_:$sum{$_}" } sort { $a <=> $b } keys %sum), 'bucket by bucket');
    is($of->{rate}{waited}{p99} // 'null', $of->{rate}{waited}{n} < 1000 ? 'null' : $of->{rate}{waited}{p99}, 'a percentile where there are enough of all');
}
stress('run', '-w', 'uniform:n=300', '-p', 'raw', '--repeat', 4, '-q', '--shard', "$_/2", '--out', "json=$folder/t$_.json") for 0, 1;
my $times = JSON::PP->new->utf8->decode(stress('merge', "$folder/t0.json", "$folder/t1.json")->{out});
is(join(' ', map { $times->{repeats}[0]{lat}{$_}{n} } qw(alloc hit miss free)), '1200 0 1200 1200', 'measured latencies, too');
is($times->{repeats}[0]{host_ns_per_op}{n}, 4, 'and the median of all');
my @hosts = map { JSON::PP->new->utf8->canonical->encode($_ // {}) } map { JSON::PP->new->utf8->decode(slurp("$folder/t$_.json") =~ s/\A#.*\n//r)->{host} } 0, 1;
ok($hosts[0] =~ /"cpus":/ && $hosts[0] =~ m{"0/2"} && $hosts[1] =~ m{"1/2"}, 'each says where it was measured, and how');
is(join(' ', map { JSON::PP->new->utf8->canonical->encode($_) } @{$times->{hosts}}), "@hosts", 'and what is merged has both, and no word of one host');
ok(!exists $times->{host} && !exists $waits->{hosts}, '.. nor of any without times');
my $older = spew('t1.json', slurp("$folder/t1.json") =~ s/^\],"host":.*/]}/mr);
my $mixed = JSON::PP->new->utf8->decode(stress('merge', "$folder/t0.json", $older)->{out});
is(join(' ', map { ref $_ || 'null' } @{$mixed->{hosts}}), 'HASH null', 'a shard that does not say: null');
my $second = slurp("$folder/t0.json") =~ s{shard 0/2}{shard 1/2}r;
refused(4, qr{cut\.json: ends before its time}, 'merge', "$folder/t0.json", spew('cut.json', $second =~ s/\],"host":(.{$_}).*\n\z/],"host":$1\n/r)) for 0, 1, 15, 60;
refused(4, qr{part\.json: shard 1/2 has 1 rows, expected 2: it must run again}, 'merge', "$folder/t0.json",
        spew('part.json', $second =~ s/\},"cases"/},"partial":{"text":"1 of 2 rows, then SIGINT"},"cases"/r =~ s/,\n\{[^\n]*\n\]/\n]/r));
my %broken = ('another n' => sub { s/"n":\d+/"n":7/ }, 'negative' => sub { s/"n":/"n":-/ }, 'another layout' => sub { s/\],\[\d+,/],[1000001,/ },
              'out of order' => sub { s/\],\[\d+,/],[0,/ }, 'another max' => sub { s/"max":\d+/"max":1/ }, 'another name' => sub { s/"waited":/"awaited":/ },
              'no end' => sub { s/\]\]\}/]]/ }, 'a comma too many' => sub { s/"vns",/"vns",,/ }, 'no ops' => sub { s/,"ops":/,"opps":/ },
              'too many' => sub { s/\],\[(\d+),\d+\]/],[$1,18446744073709551615]/ }, 'no histograms' => sub { s/"lat":null/"lat":{}/ },
              'no number' => sub { s/"host_ns_per_op":null/"host_ns_per_op":x/ });
for my $name (sort keys %broken) {
    local $_ = slurp("$folder/w0.json");
    my $whole = $_;
    $broken{$name}->();
    ok($_ ne $whole, "broken: $name");
    spew('broken.json', $_);
    refused(2, qr{broken\.json: row 1 of it has histograms that --out json does not write$}, 'merge', "$folder/broken.json", map { "$folder/w$_.json" } 1 .. 3);
}
stress('capacity', '-w', 'uniform:n=100,uniform:n=200', '-p', 'raw,segments', '-q', '--shard', "$_/2", '--out', "csv=$folder/c$_.csv") for 0, 1;
is(stress('merge', map { "$folder/c$_.csv" } 0, 1)->{out}, stress('capacity', '-w', 'uniform:n=100,uniform:n=200', '-p', 'raw,segments', '-q', '--out', 'csv=-')->{out},
   'of capacity too');
my $table = stress('run', '-w', 'uniform:n=100,uniform:n=200', '-p', 'segments,paged', '--no-timing', '--shard', '2/4');
ok($table->{out} =~ /^uniform:n=200 +segments /m && $table->{out} !~ /^uniform:n=100|paged/m, 'the table has the rows of the shard');

# ---- what is refused
my @three = map { "$folder/3-$_-of-3.csv" } 0 .. 2;
sub edited { my ($from, $pattern, $to) = @_; my $text = slurp($from); $text =~ s/$pattern/$to/; return spew('edited', $text) }
refused(4, qr/1 of 3 shards missing: 1$/m, 'merge', @three[0, 2]);
refused(4, qr/18 of 20 shards missing: 0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 and 2 more$/m, 'merge', map { "$folder/20-$_-of-20.csv" } '03', '07');
refused(2, qr{shard 1/3 is there twice: \S+3-1-of-3\.csv and \S+3-1-of-3\.csv}, 'merge', @three, $three[1]);
refused(2, qr/mixed seeds: \S+ has 1, \S+ has 2/, 'merge', @three[0, 1], edited($three[2], 'seed 1', 'seed 2'));
refused(2, qr/mixed versions: \S+ has \S+, \S+ has 9\.9\.9/, 'merge', @three[0, 1], edited($three[2], 'version \S+', 'version 9.9.9'));
refused(2, qr/mixed sweeps/, 'merge', @three[0, 1], edited($three[2], 'sweep \d+', 'sweep 17'));
refused(2, qr/mixed numbers of shards: \S+ has 3, \S+ has 4/, 'merge', @three[0, 1], edited($three[2], '2/3', '2/4'));
refused(2, qr/differ in what stands before the rows/, 'merge', @three[0, 1], edited($three[2], 'workload,policy', 'policy,workload'));
refused(2, qr/differ in what stands before the rows/, 'merge', @three[0, 1], "$folder/3-2-of-3.json");
refused(4, qr{shard 2/3 has 4 rows, expected 5: it must run again}, 'merge', @three[0, 1], edited($three[2], '[^\n]*\n\z', ''));
refused(4, qr{ends before its time: shard 2/3 must run again}, 'merge', @three[0, 1], edited($three[2], '\n\z', ''));
refused(4, qr{ends before its time}, 'merge', edited("$folder/3-0-of-3.json", '\]\}\n\z', ''));
refused(2, qr/not a shard's/, 'merge', "$folder/whole.csv");
refused(2, qr/not a shard's/, 'merge', spew('none', ''));
refused(2, qr/not a shard's/, 'merge', edited($three[0], 'shard 0/3', "shard $_")) for '0/0', '3/3', '1/99999999', '-1/3', '0/3/3', 'x', '';
refused(2, qr/cannot be read/, 'merge', "$folder/missing");
refused(2, qr/expected the files of all shards/, 'merge');
refused(2, qr/--out json: the shards are csv/, 'merge', @three, '--out', "json=$folder/merged");
my $first_shard = slurp($three[0]);
refused(2, qr/is what merge \S+3-0-of-3\.csv reads/, 'merge', @three, '--out', "csv=$three[0]");
is(slurp($three[0]), $first_shard, 'and it is as it was');
for my $other (['--seed', 2], ['--verify', 'off'], ['--device', 'sim:40G'], ['--filter', '*']) {
    stress('run', @sweep, @$other, '--shard', '2/3', '--out', "csv=$folder/other.csv");
    my $merged = stress('merge', @three[0, 1], "$folder/other.csv");
    ok($merged->{code} eq 2 && $merged->{err} =~ /mixed (?:seeds|sweeps)/, "@$other is another run");
}
# ---- rules on what is merged say what they say of a run that has all rows
my @rules = ('--fail-if', 'footprint > 1.2', '--fail-if', '*/paged: driver_calls > raw*2', '--fail-if', 'ops < base', '--base', "$folder/whole.csv");
my $at_once = stress('run', grep({ $_ ne '-q' } @sweep), @rules, '--out', "csv=$folder/at_once.csv");
my $junit = "$folder/merged.xml";
$ENV{GITHUB_STEP_SUMMARY} = spew('step.md', '');
my $judged = stress('merge', @three, @rules, '--out', "csv=$folder/judged.csv", '--out', "junit=$junit");
delete $ENV{GITHUB_STEP_SUMMARY};
is("$at_once->{code} $judged->{code}", '1 1', 'merge --fail-if: exit 1');
my ($verdicts) = $at_once->{out} =~ /^(fail if .*)\z/ms;
ok($judged->{out} =~ /FAILED/ && $judged->{out} =~ /pass/ && $judged->{out} =~ /base/, 'rules of every kind');
is($judged->{out}, "\n$verdicts", 'with the verdicts of a run without shards');
is(slurp("$folder/judged.csv"), slurp("$folder/whole.csv"), '.. and the file that it would be without rules');
ok(slurp($junit) =~ /<testsuite [^>]*tests="52" failures="[1-9]/ && slurp("$folder/step.md") =~ /footprint/, 'JUnit and the step summary have them');
is(stress('merge', @three, '--fail-if', 'footprint > 900')->{out}, slurp("$folder/whole.csv"), 'without --out rows are on stdout, verdicts not');
my $quiet = stress('merge', @three, '-q', '--fail-if', 'footprint > 1.2', '--out', "csv=$folder/judged.csv");
ok($quiet->{code} eq 1 && $quiet->{out} eq '' && $quiet->{err} =~ /^stress: gate: FAILED: /m, '-q: what fails, on stderr');
refused(2, qr/--out junit: of verdicts on rules: give --fail-if too/, 'merge', @three, '--out', "junit=$junit");
refused(2, qr/'ops < base': base is what --base FILE has/, 'merge', @three, '--fail-if', 'ops < base');
refused(2, qr/--strict: judges nothing without a rule/, 'merge', @three, '--strict');
refused(2, qr/'nonsense > 1'/, 'merge', @three, '--fail-if', 'nonsense > 1');
my $nobody = stress('merge', @three, '--fail-if', 'nobody/*: footprint > 1');
ok($nobody->{code} eq 2 && $nobody->{out} eq '' && $nobody->{err} =~ /is about none of the rows/, 'where a rule is about no row nothing is merged');
refused(2, qr/--fail-if: the shards are json, expected csv/, 'merge', '--fail-if', 'ops > 1', map { s/csv$/json/r } @three);
refused(4, qr/1 of 3 shards missing: 2/, 'merge', @three[0, 1], '--fail-if', 'ops > 1');

my $grown = spew("odd \"name\"\nof two lines.trace", "gpuarena-trace 1\na 1 100 0\na 2 100 0\nf 1\n");
stress('run', @sweep, '--shard', '2/3', '--out', "csv=$folder/other.csv");
ok(stress('merge', @three[0, 1], "$folder/other.csv")->{err} =~ /mixed sweeps/, 'so is one of another recording by the same name');
for ('3/3', '1', '1/0', '/3', '1/', 'x/3', '-1/3', '1/3/4', 'auto', 'auto/0', '1/99999999', '01/3') { refused(2, qr/shard/i, 'run', @sweep, '--shard', $_) }
refused(2, qr/no Slurm array or tasks, MPI or Kubernetes job is here/, 'run', @sweep, '--shard', 'auto/3');
my $gated = stress('run', @sweep, '--shard', '1/3', '--fail-if', 'footprint > 9');
ok($gated->{code} eq 2 && $gated->{err} =~ /--fail-if: not on one shard/, 'rules are for all rows');

# ---- detected
sub detected {
    my ($set, @words) = @_;
    local @ENV{keys %$set} = values %$set;
    my $run = stress('run', @sweep, @words);
    return "$run->{code} " . ($run->{err} =~ /^stress: (.*)$/m ? $1 : 'whole');
}
my %array = (SLURM_ARRAY_TASK_ID => 12, SLURM_ARRAY_TASK_MIN => 10, SLURM_ARRAY_TASK_MAX => 14, SLURM_ARRAY_TASK_COUNT => 5);
is(detected(\%array), '0 shard 2/5, 3 of 16 rows, from SLURM_ARRAY_TASK_ID', 'a Slurm array, wherever it begins');
ok(detected({ %array, SLURM_ARRAY_TASK_COUNT => 3 }) =~ /^2 SLURM_ARRAY_TASK_ID: the array is from 10 to 14 and has 3 tasks: expected one without gaps/, 'an array with gaps');
my %stepped = (%array, SLURM_ARRAY_TASK_ID => 18, SLURM_ARRAY_TASK_MAX => 26, SLURM_ARRAY_TASK_STEP => 4);
is(detected(\%stepped), '0 shard 2/5, 3 of 16 rows, from SLURM_ARRAY_TASK_ID', 'an array with a step');
ok(detected({ %stepped, @$_ }) =~ /^2 SLURM_ARRAY_TASK_ID: the array is from/, "not where @$_")
    for [SLURM_ARRAY_TASK_ID => 19], [SLURM_ARRAY_TASK_MAX => 27], [SLURM_ARRAY_TASK_STEP => 2], [SLURM_ARRAY_TASK_STEP => 0], [SLURM_ARRAY_TASK_COUNT => 4];
ok(detected({ %array, SLURM_ARRAY_TASK_MAX => '' }) =~ /^2 SLURM_ARRAY_TASK_MAX: expected a number, found nothing/, 'half of it');
ok(detected({ %array, SLURM_ARRAY_TASK_ID => '0x1' }) =~ /^2 SLURM_ARRAY_TASK_ID: expected a number, found "0x1"/, 'not a number');
is(detected(\%array, '--shard', 'none'), '0 whole', '--shard none: all rows');
is(detected(\%array, '--shard', '0/4'), '0 shard 0/4, 4 of 16 rows, from --shard', '--shard i/n goes first');
is(detected({ %array, SLURM_PROCID => 0, SLURM_NTASKS => 1 }), '0 shard 2/5, 3 of 16 rows, from SLURM_ARRAY_TASK_ID', 'an array before its tasks');
is(detected({ SLURM_PROCID => 3, SLURM_NTASKS => 4 }), '0 shard 3/4, 4 of 16 rows, from SLURM_PROCID', 'Slurm tasks');
is(detected({ SLURM_PROCID => 0, SLURM_NTASKS => 1 }), '0 whole', 'one task has all rows');
is(detected({ OMPI_COMM_WORLD_RANK => 1, OMPI_COMM_WORLD_SIZE => 8 }), '0 shard 1/8, 2 of 16 rows, from OMPI_COMM_WORLD_RANK', 'Open MPI');
is(detected({ PMI_RANK => 0, PMI_SIZE => 3 }), '0 shard 0/3, 6 of 16 rows, from PMI_RANK', 'MPI');
ok(detected({ PMI_RANK => 3, PMI_SIZE => 3 }) =~ /^2 PMI_RANK: shard 3 of 3/, 'a rank that is too high');
ok(detected({ JOB_COMPLETION_INDEX => 4 }) =~ /^2 JOB_COMPLETION_INDEX says which shard this is, and not of how many: give --shard auto\/N/, 'Kubernetes does not say of how many');
is(detected({ JOB_COMPLETION_INDEX => 4 }, '--shard', 'auto/5'), '0 shard 4/5, 3 of 16 rows, from JOB_COMPLETION_INDEX', 'with auto/N');
done();

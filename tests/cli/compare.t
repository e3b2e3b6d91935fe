#!/usr/bin/perl
# stress compare: a verdict for every row, exact metrics exactly, times by intervals, exit codes, rules.
# It must not test how rows come about: they are edited.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $made = stress('run', '-w', 'uniform:n=300,train:steps=1,layers=1,hidden=256,batch=1', '-p', 'raw,segments', '--no-timing', '-q', '--out', 'csv=-');
my ($header, @lines) = split /\n/, $made->{out};
my @names = split /,/, $header;
my %column = map { ($names[$_] => $_) } 0 .. $#names;
is(scalar @lines, 4, 'four rows');

# The file with cells of the first row changed: column => text.
sub with {
    my (%changes) = @_;
    my @cells = cells($lines[0]);
    $cells[$column{$_}] = $changes{$_} for keys %changes;
    return join "\n", $header, join(',', @cells), @lines[1 .. 3], '';
}

sub compare {
    my ($one, $other, @words) = @_;
    return stress('compare', spew('a.csv', $one), spew('b.csv', $other), @words);
}

my $as_is = with();
my $same = compare($as_is, $as_is);
ok($same->{code} eq 0 && $same->{out} =~ /^4 rows: 4 same, 0 better, 0 worse, 0 changed, 0 ambiguous, 0 only in A, 0 only in B$/m, 'the same');
is(scalar(() = $same->{out} =~ /^same     time -          \S+\/(?:raw|segments)$/mg), 4, 'a verdict for each row');
is(compare($as_is, $as_is, '-q')->{out} =~ tr/\n//, 1, '-q leaves the same out');

for (['footprint', 1.5, 1.25, 'BETTER', '-16.67%', 0], ['footprint', 1.25, 1.5, 'WORSE', '+20.00%', 1],
     ['driver_calls', 100, 101, 'WORSE', '+1.00%', 1], ['reserved_peak_bytes', '18446744073709551614', '18446744073709551615', 'WORSE', '+0.00%', 1],
     ['ops', 600, 601, 'BETTER', '+0.17%', 0], ['allocs', 10, 11, 'CHANGED', '+10.00%', 1]) {
    my ($name, $from, $to, $verdict, $share, $code) = @$_;
    my $found = compare(with($name => $from), with($name => $to));
    ok($found->{code} eq $code && $found->{out} =~ /^$verdict +time - +\S+\/raw\n    $name: \Q$from -> $to ($share)\E$/m, "$name $from -> $to: $verdict, exit $code")
        or print "#   $found->{code} $_\n" for split /\n/, $found->{out};
}
my $mixed = compare(with(footprint => 1.5, driver_calls => 10), with(footprint => 1.4, driver_calls => 11));
ok($mixed->{code} eq 1 && $mixed->{out} =~ /^WORSE /m, 'better and worse: worse');
ok(compare($as_is, with(status => 'oom'))->{out} =~ /^WORSE .*\n    status: ok -> oom$/m, 'a status that was ok');
ok(compare(with(digest => '1' x 16), with(status => 'oom', footprint => 0.5))->{out} =~ /^WORSE /m, '.. is worse, though it is other work then, and took less');
ok(compare(with(digest => '1' x 16, status => 'oom'), $as_is)->{out} =~ /^BETTER /m, '.. and the other way round');
my $found = "workload,policy,largest,requested_peak_bytes,probes,device,seed,status\nx,paged,%d,%d,9,sim:80G,1,ok\n";
my @batch = map { sprintf $found, @$_ } [46, 460], [42, 420];
ok(compare(@batch)->{out} =~ /^WORSE .*\n    largest: 46 -> 42 /m && compare(reverse @batch)->{out} =~ /^BETTER .*\n    largest: 42 -> 46 /m, 'the largest batch decides');
my $digest = compare($as_is, with(digest => '0' x 16));
ok($digest->{code} eq 1 && $digest->{out} =~ /^CHANGED .*\n    digest: [0-9a-f]{16} -> 0{16}$/m, 'another digest');
ok(compare($as_is, with(fragmentation => '0.5000'))->{out} =~ /fragmentation: \(empty\) -> 0\.5000$/m, 'a cell that was empty');
my $other_seed = compare($as_is, with(seed => 2));
ok($other_seed->{code} eq 1 && $other_seed->{out} =~ /^ONLY IN A  \S+\/raw, device sim:80G, seed 1$/m && $other_seed->{out} =~ /^ONLY IN B  \S+\/raw, device sim:80G, seed 2$/m
       && $other_seed->{out} =~ /^5 rows: 3 same, .* 1 only in A, 1 only in B$/m, 'another seed is another row');

# ---- times: repeats of one row
sub repeats { my ($name, @values) = @_; return join "\n", $header, map { (split /\n/, with($name => $_))[1] } @values }
for (['FASTER', 0, [100 .. 106], [80 .. 86]], ['SLOWER', 1, [100 .. 106], [120 .. 126]], ['AMBIGUOUS', 0, [100 .. 106], [105 .. 111]],
     ['same', 0, [1000 .. 1006], [1001 .. 1007]], ['AMBIGUOUS', 0, [100], [900]], ['AMBIGUOUS', 0, [100 .. 104], [200 .. 204]]) {
    my ($verdict, $code, $from, $to) = @$_;
    my $found = compare(repeats('alloc_p50_ns', @$from), repeats('alloc_p50_ns', @$to));
    ok($found->{code} eq $code && $found->{out} =~ /^same     time $verdict +\S+\/raw$/m, "times @$from[0, -1] and @$to[0, -1]: $verdict, exit $code")
        or print "#   $found->{code} $_\n" for split /\n/, $found->{out};
}
is(compare(repeats('alloc_p50_ns', 100), repeats('alloc_p50_ns', 900), '--strict')->{code}, 1, '--strict: ambiguous is exit 1');
ok(compare(repeats('alloc_p50_ns', 100), repeats('alloc_p50_ns', 900))->{out} =~ /100\.0 -> 900\.0 \(1 and 1 times; an interval takes 6\)/, 'and why');
my $joined = repeats('alloc_p50_ns', 100 .. 103) . "\n" . repeats('alloc_p50_ns', 104 .. 106) . "\n";
ok(compare($joined, repeats('alloc_p50_ns', 120 .. 126))->{out} =~ /^same     time SLOWER/m, 'files joined by cat count together');
my $holes = "policy,holes,ns_per_pair,instructions_per_pair,ratio,ratio_low,ratio_high,device,seed,status,driver_calls,rounds,target,met\n";
my $slower = compare("${holes}paged,1000,50.0,,1.1000,1.0500,1.1500,sim:80G,1,ok,0,25,,\n", "${holes}paged,1000,50.0,,2.1000,2.0500,2.1500,sim:80G,1,ok,0,25,,\n");
ok($slower->{code} eq 1 && $slower->{out} =~ /time (?:SLOWER|AMBIGUOUS) +paged holes 1000$/m && $slower->{out} =~ /ratio: .* \(x 1\.783 to 2\.048\)/, 'holes brings its own interval');

my @both = map { my ($p50, $max) = @$_; join "\n", $header, map { (split /\n/, with(alloc_p50_ns => $p50 + $_, alloc_max_ns => $max + $_))[1] } 0 .. 6 } [100, 100], [80, 105];
ok(compare(@both)->{out} =~ m{^same     time FASTER .*\n(?:    .*\n)*    alloc_p50_ns: 103\.0 -> 83\.0 \(x 0\.\d+ to 0\.\d+\) FASTER\n    alloc_max_ns: .* AMBIGUOUS$}m,
   'each time has its verdict, and what is ambiguous takes none from the others');

# ---- rules decide alone
my ($worse, $rule) = (with(footprint => 1.5), 'footprint > base*1.30');
is(compare(with(footprint => 1.25), $worse, '--fail-if', $rule)->{code}, 0, 'worse, and within the rule: exit 0');
my $past = compare(with(footprint => 1.0), $worse, '--fail-if', $rule);
ok($past->{code} eq 1 && $past->{out} =~ /^  FAILED     \S+\/cudaMalloc: 1\.5000, limit 1\.3000$/m, 'past it: exit 1, with value and limit');

my $part = compare($as_is, "$as_is# partial: 4 of 9 rows, then SIGTERM\n");
ok($part->{code} eq 0 && $part->{out} =~ /^IN PART  \S+\/b\.csv: 4 of 9 rows, then SIGTERM\n4 rows: 4 same/m, 'a file that lacks rows is named');
is(compare("$as_is# partial: 4 of 9 rows, then SIGTERM\n", $as_is, '--strict')->{code}, 1, '--strict: exit 1');

# ---- what cannot be compared is said
ok($other_seed->{out} =~ /seed 1\n    B has it with seed 2\n/ && $other_seed->{out} =~ /seed 2\n    A has it with seed 1\n/, 'another seed is named');
refused(2, qr/A and B have no rows: nothing was compared/, 'compare', spew('none.csv', "$header\n"), "$folder/none.csv");
refused(2, qr/empty: expected CSV/, 'compare', spew('zero.csv', ''), "$folder/a.csv");
my $gone = compare($as_is, "$header\n");
ok($gone->{code} eq 1 && 4 == (() = $gone->{out} =~ /^ONLY IN A /mg), 'B has no rows: each is named, exit 1');
my $unjudged = compare($as_is, "$header\n", '--fail-if', $rule);
ok($unjudged->{code} eq 2 && $unjudged->{err} =~ /b\.csv has no rows$/m, 'nor do rules pass for that: exit 2');
my $narrow = $as_is =~ s/(?:,[^,\n]*){4}$//mgr;
my $lost = compare($as_is, $narrow);
ok($lost->{code} eq 1 && $lost->{out} =~ /^COLUMNS ONLY IN A  @{[join ', ', @names[-4 .. -1]]}$/m && $lost->{out} =~ /^4 rows: 4 same/m, 'columns that B has not are named: exit 1');
my $more = compare($narrow, $as_is);
ok($more->{code} eq 0 && $more->{out} =~ /^COLUMNS ONLY IN B  $names[-4], /m, 'those that A has not, too: exit 0');
refused(2, qr/is what compare \S+a\.csv reads; give another file/, 'compare', "$folder/a.csv", "$folder/b.csv", '--fail-if', $rule, '--out', "junit=$folder/a.csv");
my $unsteady = compare($as_is, repeats('driver_calls', 5, 6));
ok($unsteady->{code} eq 1 && $unsteady->{out} =~ /^CHANGED .*\n    driver_calls: \d+ -> 5\.\.6 \(not the same in all repeats\)$/m, 'an exact metric that its own repeats do not agree on');

# ---- mistakes
refused(2, qr/expected two files, A\.csv and B\.csv, found 0/, 'compare');
refused(2, qr/found 3/, qw(compare a b c));
my $wrong = compare($as_is, $as_is, '--fail-if', 'foo > base');
ok($wrong->{code} eq 2 && $wrong->{out} eq '' && $wrong->{err} =~ /no metric 'foo'/, 'a wrong rule: told before anything is compared');
refused(2, qr/cannot be read/, 'compare', "$folder/none", "$folder/none");
my $headed = spew('headed.csv', "workload,policy,footprint\n");
my $rowless = stress('compare', $headed, $headed, '--fail-if', 'footprint > 1');
ok($rowless->{code} == 2 && $rowless->{err} =~ /\Astress: --fail-if 'footprint > 1': \S+headed\.csv has no rows\n\z/, 'rules need rows');
refused(2, qr/line 2: expected 3 cells, as the header has, found 2/, 'compare', spew('short.csv', "policy,a,b\n1,2\n"), "$folder/a.csv");
refused(2, qr/--seed means nothing to compare/, 'compare', 'a', 'b', '--seed', 3);
if (-e '/dev/full') {
    my $full = qx{'$stress' compare '$folder/a.csv' '$folder/b.csv' 2>&1 >/dev/full};
    ok($? >> 8 == 4 && $full =~ /stdout: not all was written/, 'a full disk: exit 4');
}
done();

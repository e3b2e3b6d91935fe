#!/usr/bin/perl
# Needs from end to end: verdicts by policy, how rows, table and list tell them, exit codes, what is refused.
# It must not know how a scenario measures.
# Run: prove tests/scenario/needs.t (BUILD=folder of stress)
use strict;
use warnings;
no warnings 'qw';
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

delete @ENV{qw(COLUMNS NO_COLOR FORCE_COLOR CI GPUARENA_CONF GITHUB_STEP_SUMMARY)};

# ---- the verdicts: need, then raw, bfc, segments, paged; P pass, F fail, - not its need
my @policies = qw(raw bfc segments paged);
my %golden = map { my ($need, @of) = split; $need => "@of" } grep { /\S/ } split /\n/, <<'END';
sums         F - P P
other        F - P P
predict      F - P P
report       F - P P
events       F - P P
peaks        F - P P
addresses    - - - P
limit        F P P P
threads      F - P P
reasons      F - P P
late-change  F - P P
wrong-values F - P P
environment  F - P P
marks        F - P P
headroom     F - P P
shares       F P P P
grabbed      F P P P
manners      F - P P
first-touch  F - P P
overshoot    P F P P
steps        F - P P
modes        F - P P
walls        P F P P
shapes       P P P P
jump         P F P P
trim         P P P P
again        F P P P
repeat       P P P P
retention    F - P P
lifetimes    P P P P
bound        P F P P
overlap      F P P P
captured     F - P P
pressure     F - P P
late-free    P P P P
tags         F - P P
scope        F - P P
leaks        F - P P
tenants      F - P P
devices      F - P P
pinned       F - P P
async        F - P P
tiny         F P P P
sizes        P P P P
resize       F - P P
batches      P P P P
scratch      F - P P
ring         F P P P
END
my %letter = (pass => 'P', fail => 'F', none => '-');
my $policies = join ',', @policies;

sub needs { return stress('run', '-w', 'needs', @_) }

my $file = "$folder/needs.csv";
my $json = "$folder/needs.json";
local $ENV{GITHUB_STEP_SUMMARY} = "$folder/needs.md";
my $run = needs('-p', $policies, '--out', "csv=$file", '--out', "json=$json");
delete $ENV{GITHUB_STEP_SUMMARY};
is("$run->{code} $run->{err}", '0 ', 'needs that fail are results');
my @rows = rows(slurp($file));
my %found;
push @{$found{$_->{workload}}}, $letter{$_->{verdict}} // '?' for @rows;
is(join("\n", map { "$_ @{$found{$_}}" } sort keys %found), join("\n", map { "needs:$_ $golden{$_}" } sort keys %golden),
   'the verdicts, by need and policy');
is(join(' ', map { $_->{policy} } @rows), join(' ', (@policies) x keys %golden), 'needs by policies, in that order');
is(scalar(grep { $_->{status} ne 'ok' } @rows), 0, 'whatever the verdict, the status is ok');
is(scalar(grep { length $_->{said} < 20 || $_->{said} !~ /\d/ && $_->{verdict} eq 'pass' } @rows), 0,
   'what was measured is said, with numbers');
my ($head) = slurp($file) =~ /\A(.*)\n/;
ok($head =~ /^workload,policy,device,seed,ops,status,.*,allocs,threads,claims,verdict,said$/, 'the columns of run, then three');
my $cases = JSON::PP->new->decode(slurp($json))->{cases};
is(join("\n", map { "$_->{workload} $_->{policy} $_->{verdict} $_->{claims} $_->{said}" } @$cases),
   join("\n", map { "$_->{workload} $_->{policy} $_->{verdict} $_->{claims} $_->{said}" } @rows), 'JSON says the same');
my $markdown = slurp("$folder/needs.md");
is(scalar(() = $markdown =~ /^\| needs.*\| (?:pass|fail|none) \|/mg), scalar @rows, 'so does the step summary');

# ---- the table
ok($run->{out} =~ /^need +cudaMalloc +bfc +segments +paged$/m, 'a column a policy');
for my $need (sort keys %golden) {
    my $line = join ' ', map { { P => 'pass', F => 'FAIL', '-' => '-' }->{$_} } split / /, $golden{$need};
    ok($run->{out} =~ /^$need +\Q$line\E$/m || ($run->{out} =~ s/ +/ /gr) =~ /^$need \Q$line\E$/m, "a line: $need");
}
my $failures = grep { $_->{verdict} eq 'fail' } @rows;
is(scalar(() = $run->{out} =~ m{^[a-z-]+/\S+: }mg), $failures, 'below it a sentence for each that fails');
my ($failed) = $run->{out} =~ /^failed +(.*)$/m;
is(join(' ', split / +/, $failed // ''),
   join(' ', map { my $policy = $_; scalar grep { $_->{policy} eq $policy && $_->{verdict} eq 'fail' } @rows } @policies), 'and how many');
my $one = stress('run', '-w', 'needs:limit', '-p', 'raw,paged');
is(scalar(() = $one->{out} =~ m{^limit/(?:cudaMalloc|paged): }mg), 2, 'of one need the sentences of all');

# ---- the table of stress/README.md: how many of a group pass, of those that apply
my (%grouped, @wrong);
for (grep { /^\| .* \| `.*` \| \d/ } split /\n/, slurp('stress/README.md')) {
    my (undef, $question, $names, @counts) = split / *\| */;
    my @names = $names =~ /`([^`]+)`/g;
    @grouped{@names} = (1) x @names;
    for my $at (0 .. $#policies) {
        my @of = grep { $_ ne '-' } map { (split / /, $golden{$_} // '? ? ? ?')[$at] } @names;
        my $count = (grep { $_ eq 'P' } @of) . ' of ' . @of;
        push @wrong, "$question, $policies[$at]: $counts[$at], not $count" if $counts[$at] ne $count;
    }
}
is(join(' ', sort keys %grouped), join(' ', sort keys %golden), 'the README has every need');
is(join("\n", @wrong), '', '.. and counts them right');

# ---- the same bytes, whatever else ran
my @again = rows(needs('-p', $policies, '-q', '--out', 'csv=-')->{out});
is(join("\n", map { join ',', map { $_ // '' } @{$_}{sort keys %$_} } @again),
   join("\n", map { join ',', map { $_ // '' } @{$_}{sort keys %$_} } @rows), 'a second run: the same');
my ($apart) = rows(stress(qw(run -w needs:trim -p paged -q --out csv=-))->{out});
my ($among) = grep { $_->{workload} eq 'needs:trim' && $_->{policy} eq 'paged' } @rows;
is(join(',', map { $_ // '' } @{$apart}{sort keys %$apart}), join(',', map { $_ // '' } @{$among}{sort keys %$among}), 'alone: the same');
my @thrice = rows(stress(qw(run -w needs:again -p segments --repeat 3 -q --out csv=-))->{out});
is(join(' ', map { $_->{verdict} } @thrice), 'pass pass pass', '--repeat: as many rows');

# ---- other seeds, and virtual memory that is not there
for my $seed (2 .. 6) {
    my $other = needs('-p', 'paged,segments', '--seed', $seed, '-q', '--fail-if', 'verdict == fail');
    is("$other->{code} $other->{err}", '0 ', "seed $seed: paged and segments pass");
}
is(needs('-p', 'segments', '--device', 'sim:80G,vm=off', '-q', '--fail-if', 'verdict == fail')->{code}, 0, 'and without virtual memory');

# ---- shards, and what has changed between two runs
stress('run', '-w', 'needs', '-p', 'raw,paged', '-q', '--shard', "$_/3", '--out', "csv=$folder/shard$_.csv") for 0 .. 2;
my $whole = needs('-p', 'raw,paged', '-q', '--out', "csv=$folder/whole.csv");
my $merged = stress('merge', (map { "$folder/shard$_.csv" } 2, 0, 1), '--out', "csv=$folder/merged.csv");
is("$merged->{code} " . slurp("$folder/merged.csv"), '0 ' . slurp("$folder/whole.csv"), 'shards, merged');
is(stress('compare', "$folder/whole.csv", "$folder/merged.csv")->{code}, 0, 'compare: the same');
my $turned = spew('turned.csv', slurp("$folder/whole.csv") =~ s/^(needs:limit,paged,.*,)pass,/$1fail,/mr);
my $compared = stress('compare', "$folder/whole.csv", $turned);
ok($compared->{code} eq 1 && $compared->{out} =~ /needs:limit.*paged/ && $compared->{out} =~ /verdict/, 'a verdict that turned: told, exit 1');

# ---- gates
is(needs('-p', 'paged,segments', '-q', '--fail-if', 'verdict == fail')->{code}, 0, 'a gate that holds');
my $gated = needs('-p', 'raw,paged', '-q', '--fail-if', 'verdict == fail');
is($gated->{code}, 1, 'a gate that does not');
is(scalar(() = $gated->{err} =~ m{^stress: gate: FAILED: needs:\S+/cudaMalloc: verdict is fail}mg), scalar(grep { /^F/ } values %golden), 'with a verdict each');
is(needs('-p', 'raw,paged', '-q', '--fail-if', '"needs:limit"/paged: verdict == fail')->{code}, 0, 'of one need and policy');

# ---- the list
my $list = stress('list', 'needs')->{out};
my ($scenarios, $claims) = split /^claims:.*\n/m, $list;
my %listed = map { $_ => 1 } $scenarios =~ /^  ([a-z-]+) {1,12}\S/mg;
is(join(' ', sort keys %listed), join(' ', sort keys %golden), 'every scenario is listed');
my @elsewhere = $claims =~ /^ {15}(?!needs:)(\S.*)$/mg;
ok(@elsewhere && !grep({ !/: / } @elsewhere), 'a claim that no scenario answers says where it is, and why');
ok(-e $_, "there is $_") for map { m{(tests/\w+/\w+\.t)}g } @elsewhere;
my %answered = map { $_ => 1 } $claims =~ /^ +needs:([a-z-]+)$/mg;
is(join(' ', sort keys %answered), join(' ', sort keys %golden), 'and answers a claim; every claim names one that there is');
is(scalar(grep { $_->{claims} !~ /^(?:[SU]\d[\w.]*(?: |$))+$/ } @rows), 0, 'rows say which');
ok(stress('list')->{out} !~ /^claims:/m && stress('list')->{out} =~ /^  needs .*stress list needs$/m, 'a list of its own');

# ---- what is refused
refused(2, qr/no need 'limits'.*'limit'.*stress list needs/, qw(run -w needs:limits -p paged));
refused(2, qr/a run of its own/, qw(run -w needs,uniform -p paged));
refused(2, qr/--limit means nothing to -w needs/, qw(run -w needs -p paged --limit 1G));
refused(2, qr/--context means nothing to -w needs/, qw(run -w needs -p paged --context 1G));
refused(2, qr/sets limits of its own, and policy 'paged:limit=4G' has one/, qw(run -w needs -p paged:limit=4G));
refused(2, qr/nothing to capacity/, qw(capacity -w needs -p paged));
refused(2, qr/--out $_: is made of a workload's operations/, qw(run -w needs:limit -p paged --out), "$_=$folder/none") for qw(trace html);
done();

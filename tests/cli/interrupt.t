#!/usr/bin/perl
# Ends before the end: files that do not have all rows say so, whatever they are for, of a run that was ended and of
# one shard; finished rows are in them, and the exit code is honest. It must not test the contents of rows. Full disks
# and closed pipes: cases/cli.case.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
require './tests/support/pictures.pl';
our ($folder, $stress);

my $has_python = !system('python3 -c "import json, pickle" >/dev/null 2>&1');
my @kinds = qw(csv json md junit html svg map series latency perfetto memviz);
sub outs { my ($name) = @_; return map { ('--out', "$_=$folder/$name.$_") } @kinds }

# raw fails at its fifth call, and that is told at once; paged does not make it, and is at train for seconds
my @rows = ('-w', 'uniform:n=60,train:steps=900', '--faults', 'obtain:5=999', '--no-timing', '-p');

# Sends the signal when raw has failed at train: paged is under way.
sub interrupted {
    my ($signal, @words) = @_;
    return stress_until(qr/^repro: .*train/, $signal, 'run', @rows, @words);
}

# Each kind's mark, where its readers look; the note is as it stands in the text.
sub says {
    my ($name, $note, %lacks) = @_;
    my %made = map { $_ => slurp("$folder/$name.$_") } @kinds;
    my @missing = grep { !$lacks{$_} && index($made{$_}, $note =~ s{/}{\\/}r) < 0 && index($made{$_}, $note) < 0 } @kinds;
    is("@missing", '', "$name: every file says '$note'");
    for my $kind (qw(svg map)) {
        my @all = eval { xml_elements($made{$kind}) };
        my ($drawn, $text) = @all ? @all : {};
        my ($desc) = grep { $_->{name} eq 'desc' && $_->{depth} == 1 } @all;
        ok($desc && $desc->{text} =~ /\Q$note/ && $drawn->{'aria-labelledby'} =~ /\b$desc->{id}\b/, "$name: $kind: described");
        ok((grep { $_->{name} eq 'text' && $_->{depth} == 1 && $_->{text} =~ /\Q$note/ && $_->{y} > 8 } @all), "$name: $kind: and to be seen");
        my @figures = grep { $_->{name} eq 'svg' && $_->{depth} == 1 } @all;
        my ($height) = $drawn->{viewBox} =~ / (\d+)$/;
        ok(@figures && !(grep { $_->{y} < 28 || $_->{y} + $_->{height} > $height } @figures), "$name: $kind: above the figures, all in the picture");
    }
    my $trace = JSON::PP->new->utf8->decode($made{perfetto});
    ok($trace->{otherData}{not_all_rows} =~ /\Q$note/, "$name: perfetto: as other data");
    is(join(' ', map { "$_->{ph} $_->{pid}" } grep { ($_->{args}{name} // $_->{name}) =~ /\Q$note/ } @{$trace->{traceEvents}}),
       join(' ', map { "$_ " . (1 + rows($made{csv} =~ s/\A#.*\n//r)) } qw(M i)), "$name: .. and as a process of that name");
    if (!$has_python) { skip("$name: python3 is not installed"); return }
    my $snapshot = qx(python3 -c 'import pickle, sys; print(pickle.load(open(sys.argv[1], "rb"))["not_all_rows"])' '$folder/$name.memviz' 2>&1);
    ok($snapshot =~ /\Q$note/, "$name: memviz: beside segments and traces") or print "#   $snapshot";
    for my $check ("perfetto $folder/$name.perfetto $folder/$name.series", "memviz $folder/$name.memviz") {
        my @lines = split /\n/, qx(python3 tests/support/formats_check.py $check 2>&1);
        ok(@lines >= 2 && !(grep { !/^row \d+: / } @lines), "$name: Python reads " . ($check =~ /^(\w+)/)[0]) or print "#   $_\n" for "@lines";
    }
}

my $whole = stress('run', '-w', 'uniform:n=60', '-p', 'raw,paged', '--no-timing', '-q', outs('whole'));
is($whole->{code}, 0, 'all rows');
is(join(' ', grep { slurp("$folder/whole.$_") =~ /partial|shard|not_all_rows/ } @kinds), '', '.. and no word of any that are not there');

# ---- ended in the fourth of four rows
my $run = interrupted('TERM', 'raw,paged', outs('ended'), '--fail-if', 'train*/paged: footprint > 9');
is($run->{code}, 143, 'SIGTERM: exit 143, and a rule about the row that is missing stands in the way of nothing');
ok($run->{err} =~ /^stress: SIGTERM: the row under way is left out, the finished rows are written$/m, 'which is told');
ok($run->{out} =~ /^partial: 3 of 4 rows, then SIGTERM$/m, 'the table says so, too');
says('ended', '3 of 4 rows, then SIGTERM');
for my $kind (qw(csv series latency)) {
    my @lines = split /\n/, slurp("$folder/ended.$kind");
    is($lines[-1], '# partial: 3 of 4 rows, then SIGTERM', "$kind: the last line");
    is(join(' ', grep { /^#/ } @lines[0 .. $#lines - 1]), '', "$kind: .. and no other is a comment");
}
ok(rows(slurp("$folder/ended.series")) > 100, 'series: readers of the CSV read it');
my @lines = split /\n/, slurp("$folder/ended.csv");
my @all = split /\n/, stress('run', '-q', @rows, 'raw,paged', '--filter', 'uniform*|*/raw', '--out', 'csv=-')->{out};
is(join("\n", @lines[0 .. $#lines - 1]), join("\n", @all[0 .. 3]), 'the three are what they are without a signal');
my $json = JSON::PP->new->decode(slurp("$folder/ended.json"));
is(scalar(@{$json->{cases}}) . ' ' . $json->{partial}{text}, '3 3 of 4 rows, then SIGTERM', 'JSON: whole, and marked');
ok(slurp("$folder/ended.junit") =~ /tests="4" failures="0" errors="3".*<error type="partial" message="3 of 4 rows, then SIGTERM"/s,
   'JUnit: an error, so that no job is green for it');
is(stress('compare', ("$folder/ended.csv") x 2)->{code}, 0, 'the file can be read: compare');

# ---- one shard of two
stress('run', '-w', 'uniform:n=60,uniform:n=70,uniform:n=80', '-p', 'raw,paged', '--no-timing', '-q', '--shard', '1/2', outs('shard'));
says('shard', 'shard 1/2: 3 of 6 rows', csv => 1, json => 1, series => 1, latency => 1);
my $suite = slurp("$folder/shard.junit");
ok($suite =~ /<testsuite name="gpuarena stress, shard 1\/2" / && $suite =~ /<property name="shard" value="shard 1\/2: 3 of 6 rows"\/>/,
   'JUnit: suites of shards have names of their own');
ok(slurp("$folder/shard.md") =~ /^\*\*shard 1\\\/2: 3 of 6 rows\*\*$/m, 'Markdown: above the table');
stress('capacity', '-w', 'uniform:n=60', '-p', 'segments,paged', '-q', '--shard', '0/2', map { ('--out', "$_=$folder/capacity.$_") } qw(md html svg junit));
is(join(' ', grep { slurp("$folder/capacity.$_") !~ m{shard 0\\?/2: 1 of 2 rows} } qw(md html svg junit)), '', 'of capacity, too');


# ---- and one that was ended
is(interrupted('INT', 'raw,segments,paged', '--shard', '1/2', '-q', outs('both'))->{code}, 130, 'SIGINT: exit 130');
says('both', 'shard 1/2: 3 of 6 rows', csv => 1, json => 1, series => 1, latency => 1);
says('both', 'partial: 2 of 3 rows, then SIGINT', json => 1, md => 1, junit => 1, html => 1);
my @parts = map { "$folder/$_.csv" } 0, 1;
stress('run', qw(-w uniform:n=60,uniform:n=70 -p raw,paged --no-timing -q --shard), "$_/2", '--out', "csv=$parts[$_]") for 0, 1;
spew('1.csv', slurp($parts[1]) =~ s/[^\n]*\n\z/# partial: 1 of 2 rows, then SIGINT\n/r);
my $merged = stress('merge', @parts);
is($merged->{code}, 4, 'it is not merged: exit 4');
ok($merged->{err} =~ m{1\.csv: shard 1/2 has 1 rows, expected 2: it must run again}, 'and what must run again is named');

# ---- killed: the file at the path is the one that was there before
my ($old, $new) = (spew('old.csv', "as before\n"), "$folder/new.csv");
is(interrupted('KILL', 'raw,paged', '-q', '--out', "csv=$old", '--out', "json=$new")->{code}, 'signal 9', 'SIGKILL');
is(slurp($old), "as before\n", 'leaves what was there');
ok(!-e $new, 'and no file where there was none');
done();

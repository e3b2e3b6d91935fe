#!/usr/bin/perl
# Files that do not have all rows say so, whatever they are for: of a run that was ended, and of one shard.
# It must not test how a run ends: interrupt.t does.
use strict;
use warnings;
require './tests/support/stress_run.pl';
require './tests/support/pictures.pl';
our ($folder, $stress);

my $has_python = !system('python3 -c "import json, pickle" >/dev/null 2>&1');
my @kinds = qw(csv json md junit html svg map series latency perfetto memviz);

sub outs {
    my ($name) = @_;
    return map { ('--out', "$_=$folder/$name.$_") } @kinds;
}

# Ended where raw has failed at train, which is told, and paged, which does not call what fails, is at it for seconds.
sub ended {
    my ($signal, $name, $policies, @words) = @_;
    return stress_until(qr/^repro: .*train/, $signal, 'run', '-w', 'uniform:n=60,train:steps=900', '-p', $policies, '--faults', 'obtain:5=999',
                        '--no-timing', '-q', outs($name), @words)->{code};
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
        my @lines = split /\n/, qx(python3 tests/support/timelines_check.py $check 2>&1);
        ok(@lines >= 2 && !(grep { !/^row \d+: / } @lines), "$name: Python reads " . ($check =~ /^(\w+)/)[0]) or print "#   $_\n" for "@lines";
    }
}

my $whole = stress('run', '-w', 'uniform:n=60', '-p', 'raw,paged', '--no-timing', '-q', outs('whole'));
is($whole->{code}, 0, 'all rows');
is(join(' ', grep { slurp("$folder/whole.$_") =~ /partial|shard|not_all_rows/ } @kinds), '', '.. and no word of any that are not there');

# ---- ended in the fourth of four rows
is(ended('TERM', 'ended', 'raw,paged'), 143, 'SIGTERM: exit 143');
says('ended', '3 of 4 rows, then SIGTERM');
for my $kind (qw(csv series latency)) {
    my @lines = split /\n/, slurp("$folder/ended.$kind");
    is($lines[-1], '# partial: 3 of 4 rows, then SIGTERM', "$kind: the last line");
    is(join(' ', grep { /^#/ } @lines[0 .. $#lines - 1]), '', "$kind: .. and no other is a comment");
}
ok(rows(slurp("$folder/ended.series")) > 100, 'series: readers of the CSV read it');

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
is(ended('INT', 'both', 'raw,segments,paged', '--shard', '1/2'), 130, 'SIGINT: exit 130');
says('both', 'shard 1/2: 3 of 6 rows', csv => 1, json => 1, series => 1, latency => 1);
says('both', 'partial: 2 of 3 rows, then SIGINT', json => 1, md => 1, junit => 1, html => 1);
done();

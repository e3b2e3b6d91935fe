#!/usr/bin/perl
# Ends before the end: a signal, a full disk, a closed pipe. What is finished is in the files, which say that
# they are partial; the exit code is honest.
# It must not test what rows say.
use strict;
use warnings;
use JSON::PP;
use POSIX ();
require './tests/support/stress_run.pl';
our ($folder, $stress);

# raw fails for a lie of the driver, and that is told at once; paged does not meet it, and is at it for seconds
my @rows = ('-w', 'uniform:n=60,train:steps=900', '-p', 'raw,paged', '--faults', 'overlap:5', '--no-timing');

# Sends the signal when the third row has failed: the fourth is under way.
sub interrupted {
    my ($signal, @words) = @_;
    return stress_until(qr/^repro: .*train/, $signal, 'run', @words);
}

my %files = map { $_ => "$folder/partial.$_" } qw(csv json junit);
my $run = interrupted('TERM', @rows, '--fail-if', 'train*/paged: footprint > 9', map { ('--out', "$_=$files{$_}") } sort keys %files);
is($run->{code}, 143, 'SIGTERM: exit 143, and a rule about the row that is missing stands in the way of nothing');
ok($run->{err} =~ /^stress: SIGTERM: the row under way is left out, what is finished is written$/m, 'which is told');
my @lines = split /\n/, slurp($files{csv});
is(scalar @lines, 5, 'CSV: a header, three rows and a mark');
is($lines[4], '# partial: 3 of 4 rows, then SIGTERM', 'the mark says how many there are');
my @whole = split /\n/, stress('run', '-q', @rows, '-w', 'uniform:n=60', '--filter', 'uniform*|*/raw', '--out', 'csv=-')->{out};
is(join("\n", @lines[0 .. 3]), join("\n", @whole[0 .. 3]), 'the three are what they are without a signal');
my $json = eval { JSON::PP->new->decode(slurp($files{json})) } // {};
is(scalar(@{$json->{cases} // []}) . ' ' . ($json->{partial}{text} // ''), '3 3 of 4 rows, then SIGTERM', 'JSON: whole, and marked');
my $junit = slurp($files{junit});
ok($junit =~ /tests="4" failures="0" errors="3"/ && $junit =~ /<error type="partial" message="3 of 4 rows, then SIGTERM"/,
   'JUnit: an error, so that no job is green for it');
ok($run->{out} =~ /^partial: 3 of 4 rows, then SIGTERM$/m, 'the table says so, too');
is(stress('compare', $files{csv}, $files{csv})->{code}, 0, 'the file can be read: compare');

# ---- a shard that was interrupted is not merged
my @parts = map { "$folder/$_.csv" } 0, 1;
is(interrupted('INT', @rows, '-q', '--shard', '0/1', '--out', "csv=$parts[0]")->{code}, 130, 'SIGINT: exit 130');
for my $part (0, 1) {
    my @of = ('--shard', "$part/2", '-q', '--out', "csv=$parts[$part]", '--no-timing', '-p', 'raw,paged', '-w', 'uniform:n=60,uniform:n=70');
    stress('run', @of);
}
my $text = slurp($parts[1]);
$text =~ s/[^\n]*\n\z/# partial: 1 of 2 rows, then SIGINT\n/;
spew('1.csv', $text);
my $merged = stress('merge', @parts);
is($merged->{code}, 4, 'merge: exit 4');
ok($merged->{err} =~ m{1\.csv: shard 1/2 has 1 rows, expected 2: it must run again}, 'and names the shard that must run again');

# ---- a file that cannot grow, as on a full disk
my $full = "$folder/full.csv";
my $many = join ',', map { "uniform:n=$_" } 20 .. 60;
my $limited = qx{sh -c 'ulimit -f 4; exec "$stress" run -q -w $many -p raw --no-timing --out csv=$full --out csv=$folder/not/there' 2>&1};
is($? >> 8, 4, 'a path that is not there: exit 4, before anything runs');
$limited = qx{sh -c 'ulimit -f 4; exec "$stress" run -q -w $many -p raw --no-timing --out csv=$full' 2>&1};
is($? >> 8, 4, 'a file that may not grow: exit 4');
ok($limited =~ /full\.csv: not all was written: /, 'which is told');
ok(!-e $full, 'and there is no part of it');
ok($limited =~ /^stress: \S+full\.csv: .* \(--out csv\)$/m, 'by path and kind');
my $before = spew('before.csv', "as before\n");
qx{sh -c 'ulimit -f 4; exec "$stress" run -q -w $many -p raw --no-timing --out csv=$before' 2>&1};
is(($? >> 8) . ' ' . slurp($before), "4 as before\n", 'what stood there before stays, where not all can take its place');
ok(!glob("$folder/*.part"), '.. and nothing else does');
$ENV{GITHUB_STEP_SUMMARY} = spew('step.md', "what others did\n" x 20);
qx{sh -c 'ulimit -f 1; exec "$stress" run -w $many -p raw --no-timing' 2>&1};
is($? >> 8, 4, 'a step summary that may not grow: exit 4');
ok(slurp($ENV{GITHUB_STEP_SUMMARY}) =~ /\A(?:what others did\n){20}/, '.. and what others wrote there stays');
delete $ENV{GITHUB_STEP_SUMMARY};
if (-e '/dev/full') {
    my @kinds = qw(csv json md junit html svg map series latency perfetto memviz trace);
    my @wrong = grep { stress('run', '-q', '-w', 'uniform:n=900', '-p', 'raw', '--no-timing', '--out', "$_=/dev/full")->{err}
                       ne "stress: /dev/full: not all was written: No space left on device (--out $_)\n" } @kinds;
    is("@wrong", '', 'a full disk is told with kind, path and cause, whatever is written');
}

# ---- killed: what stands at the path is what stood there before; a whole file takes its place at once
my ($old, $new) = (spew('old.csv', "as before\n"), "$folder/new.csv");
is(interrupted('KILL', @rows, '-q', '--out', "csv=$old", '--out', "json=$new")->{code}, 'signal 9', 'SIGKILL');
is(slurp($old), "as before\n", 'leaves what was there');
ok(!-e $new, 'and no file where there was none');
chmod 0640, $old;
my ($number, $link) = ((stat $old)[1], "$folder/link.csv");
symlink 'old.csv', $link;
stress('run', '-q', '-w', 'uniform:n=60', '-p', 'raw', '--no-timing', '--out', "csv=$link");
ok(-l $link && slurp($old) =~ /^uniform:n=60,raw/m, 'a link stays one, what it leads to is written');
is(sprintf('%o', (stat $old)[2] & 07777), '640', 'its mode is kept');
ok((stat $old)[1] != $number && !glob("$folder/*.part"), 'it was made beside it, and nothing of that is left');

# ---- a named pipe has one end: its reader gets all
my $pipe = "$folder/pipe.csv";
POSIX::mkfifo($pipe, 0600) or die "mkfifo: $!";
my $piped = qx{timeout -k 1 60 cat '$pipe' & exec timeout -k 1 60 "$stress" run -q -w uniform:n=100000 -p raw --no-timing --out 'csv=$pipe'};
is($?, 0, 'a named pipe: exit 0');
is($piped, stress('run', '-q', '-w', 'uniform:n=100000', '-p', 'raw', '--no-timing', '--out', 'csv=-')->{out}, '.. and its reader has the file');
ok(-p $pipe, '.. which it stays');

# ---- a closed pipe: the files are whole, exit 4
my $code = qx{{ "$stress" run -w uniform:n=60 -p raw --no-timing --out csv=$folder/whole.csv 2>/dev/null; echo \$? >$folder/code; } | true; cat $folder/code};
ok($code =~ /^[04]$/, 'the table to a closed pipe: no signal');
is(slurp("$folder/whole.csv") =~ tr/\n//, 2, 'the file is whole all the same');

done();

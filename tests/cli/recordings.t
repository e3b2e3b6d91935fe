#!/usr/bin/perl
# The recordings that come along, stress/recordings: found by name, small, their sources named, and the same rows as from
# the originals; snapshots that replay: converts by itself.
# It must not test what a recording's text means, nor what the importer makes of a snapshot.
use strict;
use warnings;
no warnings 'qw';             # policies are listed with commas
use Cwd qw(abs_path getcwd);
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

$stress = abs_path($stress);
my $project = getcwd();
my $home = "$project/stress/recordings";
my @names = map { s{.*/}{}r } grep { !/README/ } glob "$home/*";
my @plain = qw(-q --no-timing --verify off --out csv=-);

# One call from within a folder.
sub stress_in {
    my ($where, @words) = @_;
    chdir $where or die "$where: $!";
    my $run = stress(@words);
    chdir $project or die "$project: $!";
    return $run;
}

# ---- what there is
my $sources = slurp("$home/README.md");
my $bytes = 0;
$bytes += -s "$home/$_" for @names;
ok(@names >= 4, scalar(@names) . ' recordings');
ok($bytes < 1.5e6, "$bytes bytes in all");
for my $name (@names) {
    my $size = -s "$home/$name";
    ok($sources =~ /^\| `\Q$name\E` \| $size \|.*\| MIT/m, "$name: README.md has its $size bytes, source and licence");
    ok(slurp("$home/$name") !~ m{/|[A-Z]\w+\(|[^\n -~]}, '.. and it holds numbers, no paths');
}

# ---- found by name
mkdir "$folder/elsewhere";
my ($first) = @names;
for my $name (@names) {
    my $run = stress_in("$folder/elsewhere", qw(run -p raw --ops 50), @plain, '-w', "replay:$name");
    is($run->{code}, 0, "replay:$name from another folder") or print "#   $run->{err}";
}
my $help = stress(qw(help workloads))->{out};
is(join(' ', grep { $help !~ /\b\Q$_\E\b/ } @names), '', 'help workloads names all');
ok($help !~ /README/, '.. and nothing else');
my $own = spew("elsewhere/$first", "gpuarena-trace 1\na 1 5000 0\nf 1\n");
my ($row) = rows(stress_in("$folder/elsewhere", qw(run -p raw), @plain, '-w', "replay:$first")->{out});
is($row->{ops}, 2, 'a file of that name in the current folder comes first');
($row) = rows(stress_in("$folder/elsewhere", qw(run -p raw --ops 50), @plain, '-w', "replay:./$first")->{out});
is($row->{ops}, 2, '.. as does one with a path');
unlink $own;
my $refused = stress_in("$folder/elsewhere", qw(run -p raw), @plain, '-w', "replay:./$first");
is("$refused->{code} $refused->{err}", "2 stress: ./$first: No such file or directory, expected a trace to read\n",
   'a path is that file or none');
refused(2, qr{^stress: no_such\.trace: No such file or directory}, qw(run -p raw -w replay:no_such.trace));

# ---- the same rows as the originals
for my $name (@names) {
    my ($original) = glob "$traces/*/$name";
    if (!defined $original) { skip("$name: no original in $traces: set GPUARENA_TRACES"); next }
    my @words = (qw(run -p raw,segments,paged,bfc), @plain, '-w', "replay:$name");
    my ($ours, $theirs) = map { stress_in($_, @words)->{out} } "$folder/elsewhere", $original =~ s{/[^/]*$}{}r;
    ok($ours eq $theirs && $ours =~ tr/\n// == 5, "$name: rows are those of the original, byte for byte");
}

# ---- snapshots
my $python = !system('python3 -c "import pickle, resource" >/dev/null 2>&1');
my $made = "$folder/elsewhere/made.pickle";
stress(qw(run -q -w uniform:n=300 -p paged --no-timing --out), "memviz=$made");
my $to = "$folder/elsewhere/made.pickle.trace";
my $importer = "$project/stress/import/torch_snapshot.py";
my $command = qr{python3 (\S+/stress/import/torch_snapshot\.py made\.pickle --out made\.pickle\.trace)$};
my $without = do {
    local $ENV{PATH} = "$folder/empty";
    stress_in("$folder/elsewhere", qw(run -p raw -w replay:made.pickle));
};
ok($without->{code} == 2 && $without->{err} =~ /\Astress: made\.pickle: .*there is no python3.*\n\z/ && $without->{err} =~ $command,
   'without python3 it says the command') or print "#   $without->{err}";
my ($words) = $without->{err} =~ $command;
rename $made, "$folder/elsewhere/made.bin";
my $bare = stress_in("$folder/elsewhere", qw(run -p raw -w replay:made.bin));
ok($bare->{code} == 2 && $bare->{err} =~ /\Astress: made\.bin: a pickle, .* made\.bin\.trace\n\z/,
   'a pickle of another name: it says the command, too') or print "#   $bare->{err}";
rename "$folder/elsewhere/made.bin", $made;

if (!$python) {
    skip('python3 is not installed');
    done();
}
is(system("cd '$folder/elsewhere' && python3 " . ($words // 'none') . ' 2>/dev/null'), 0, 'that command works');
sub digests { return join ' ', map { "$_->{policy}=$_->{ops}/$_->{digest}/$_->{footprint}" } rows($_[0]{out}) }
my $expected = digests(stress_in("$folder/elsewhere", qw(run -p raw,paged), @plain, '-w', 'replay:made.pickle.trace'));
like_digests($_) for 'made.pickle', './made.pickle', "$made";
for my $name ("a b.pickle", "it's.pickle", '$(touch x).pkl', '-o.pickle', "--device=7.pickle", '"q".pkl', "\xc3\xa4.pickle") {
    link $made, "$folder/elsewhere/$name" or die "$name: $!";
    like_digests($name);
}
ok(!-e "$folder/elsewhere/x", 'no shell reads names');

sub like_digests {
    my ($name) = @_;
    my $run = stress_in("$folder/elsewhere", qw(run -p raw,paged), @plain, '-w', "replay:$name");
    is(digests($run), $expected, "$name is converted") or print "#   $run->{err}";
}

for (['text', "hello\n"], ['cut', substr(slurp($made), 0, 100)], ['empty', ''], ['list', "\x80\x02]q\x00."]) {
    my ($name, $content) = @$_;
    spew("elsewhere/$name.pickle", $content);
    my $run = stress_in("$folder/elsewhere", qw(run -p raw -w), "replay:$name.pickle");
    ok($run->{code} == 2 && $run->{err} =~ /\Astress: torch_snapshot\.py: $name\.pickle: [^\n]+\n\z/ && $run->{out} eq '',
       "$name is refused in one line") or print "#   $run->{code} $run->{err}";
}
refused(2, qr{^stress: no_such\.pickle: No such file or directory}, qw(run -p raw -w replay:no_such.pickle));
mkdir "$folder/bin";
spew('bin/python3', "#!/bin/sh\nkill -9 \$\$\n");
chmod 0755, "$folder/bin/python3";
my $killed = do {
    local $ENV{PATH} = "$folder/bin:$ENV{PATH}";
    stress_in("$folder/elsewhere", qw(run -p raw -w replay:made.pickle));
};
ok($killed->{code} == 2 && $killed->{err} =~ /\Astress: made\.pickle: python3 was ended by signal 9/, 'a python3 that is killed')
    or print "#   $killed->{code} $killed->{err}";

for my $name (qw(medium_128_training medium_512_training)) {
    my $original = "$traces/pytorch/$name.pickle";
    if (!-e $original) { skip("no $original: set GPUARENA_TRACES"); next }
    my ($ours, $theirs) = map { digests(stress(qw(run -p raw,paged), @plain, '-w', "replay:$_")) } $original, "$name.trace";
    ok($ours && $ours eq $theirs, "$name: the snapshot gives the recording's rows");
}
done();

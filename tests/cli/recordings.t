#!/usr/bin/perl
# The recordings that come along, stress/recordings: small, their sources named, and the same rows as from the originals,
# as from snapshots that replay: converts by itself.
# How both are found: cases/recordings_and_specs.case. It must not test what the importer makes of a snapshot.
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

# ---- the same rows as the originals
mkdir "$folder/elsewhere";
for my $name (@names) {
    my ($original) = glob "$traces/*/$name";
    if (!defined $original) { skip("$name: no original in $traces: set GPUARENA_TRACES"); next }
    my @words = (qw(run -p raw,segments,paged,bfc), @plain, '-w', "replay:$name");
    my ($ours, $theirs) = map { stress_in($_, @words)->{out} } "$folder/elsewhere", $original =~ s{/[^/]*$}{}r;
    ok($ours eq $theirs && $ours =~ tr/\n// == 5, "$name: rows are those of the original, byte for byte");
}

# ---- snapshots
if (system('python3 -c "import pickle, resource" >/dev/null 2>&1')) {
    skip('python3 is not installed');
    done();
}
sub digests { return join ' ', map { "$_->{policy}=$_->{ops}/$_->{digest}/$_->{footprint}" } rows($_[0]{out}) }
for my $name (qw(medium_128_training medium_512_training)) {
    my $original = "$traces/pytorch/$name.pickle";
    if (!-e $original) { skip("no $original: set GPUARENA_TRACES"); next }
    my ($ours, $theirs) = map { digests(stress(qw(run -p raw,paged), @plain, '-w', "replay:$_")) } $original, "$name.trace";
    ok($ours && $ours eq $theirs, "$name: the snapshot gives the recording's rows");
}
done();

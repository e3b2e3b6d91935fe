#!/usr/bin/perl
# stress/import/torch_snapshot.py: recorded snapshots become the traces that lie beside them, small ones of every kind what
# they mean, the same from every pickler; what is broken or hostile is refused by one line, and nothing of it runs.
# It must not test what replays of traces show.
# Runs once: it is about Python.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our ($folder, $traces);

my $script = 'stress/import/torch_snapshot.py';
if (system('python3 -c "import pickle, resource" >/dev/null 2>&1')) {
    skip('python3 is not installed');
    done();
}

sub import_of {
    my @words = @_;
    my $child = fork // die "fork: $!";
    if (!$child) {
        open STDOUT, '>', "$folder/.out";
        open STDERR, '>', "$folder/.err";
        exec 'python3', $script, @words or exit 126;
    }
    waitpid $child, 0;
    return { code => $? & 127 ? 'signal' : $? >> 8, out => slurp("$folder/.out"), err => slurp("$folder/.err") };
}

for my $name (qw(medium_128_training medium_512_training)) {
    my $source = "$traces/pytorch/$name.pickle";
    if (!-e $source) { skip("no $source: set GPUARENA_TRACES"); next }
    my $done = import_of($source, '--out', "$folder/$name.trace");
    is($done->{code}, 0, "$name is converted") or print "#   $done->{err}\n";
    ok(slurp("$folder/$name.trace") eq slurp("$traces/pytorch/$name.trace"), '.. to the trace beside it, byte for byte');
    my $same = import_of($source, qw(--tags --steps -q));
    $same->{out} =~ s/^(a \d+ \d+ \d+) \S+$/$1/mg;
    ok($same->{out} =~ s/^s Optimizer\.step#AdamW\.step\n//m, '.. its annotation is a step');
    ok($same->{out} eq slurp("$traces/pytorch/$name.trace"), '.. and tags and steps add to it and change nothing');
}

is(system('python3', 'tests/support/import_pickles.py', 'make', $folder), 0, 'pickles are made');

# Lists of words -> what the importer answers to each, all from one process.
sub imports_of {
    my $words = spew('words', join('', map { join("\t", @$_) . "\n" } @_));
    my @answers = map { JSON::PP->new->decode($_) } split /\n/, qx(python3 tests/support/import_pickles.py convert $script < '$words');
    return map { { code => $_->[0], out => $_->[1], err => $_->[2] } } @answers;
}

my $older = "# blocks older than the recording come first, in address order\n";
my %expected = (
    'expandable' => "${older}a 3 700 0\ns recording\na 0 3000000 0\na 1 5000000 0\nf 0\na 2 1000 0\n",
    'streams --device 0' => "${older}a 3 1 1\ns recording\na 0 512 0\na 1 600 1\na 2 700 2\nf 0\nf 1\n",
    'streams --device 0 --frees requested' => "s recording\na 0 512 0\na 1 600 1\na 2 700 2\nf 1\nf 0\nf 2\n",
    'streams --device 1' => "${older}a 1 5 0\ns recording\na 0 1099511627776 1\nf 0\n",
    'older' => "${older}a 3 80 0\na 4 900 0\na 2 100 1\na 0 300 0\ns recording\nf 0\na 1 200 0\n" .
               "# out of memory: 1073741824 bytes were asked for, 4096 were free on the device\nf 2\n",
    'named' => "s recording\na 0 1 0\na 1 2 0\na 2 3 0\na 3 4 0\n",
    'named --tags --steps' => "s recording\na 0 1 0 my_model.py:42\ns step_1_\na 1 2 0 module.py:7\n" .
                              "a 2 3 0 at::empty<int,_2>(long)\na 3 4 0\ns late\n",
    'odd --tags' => "s recording\na 0 1 0\na 1 1 0\na 2 1 0 _\na 3 1 0 a.py:list\na 4 1 0 b.py:int\n",
    'doubtful' => "s recording\na 0 1 0\nf 0\na 1 2 0\nf 1\n",
);
$expected{tiles} = $expected{older};
for my $asked (sort keys %expected) {
    my ($name, @words) = split / /, $asked;
    my ($first, @others) = imports_of(map { [$_, @words] } glob "$folder/$name.*.pickle");
    is($first->{out}, "gpuarena-trace 1\n$expected{$asked}", $asked);
    is(scalar(grep({ $_->{out} eq $first->{out} } @others)), $name =~ /^named|^odd/ ? 3 : 4, '.. from every pickler');
    my $read = stress(qw(run -p segments --no-timing -q -w), 'replay:' . spew("$name.trace", $first->{out}));
    ok($read->{code} == 0, '.. and replay reads it') or print "#   $read->{err}\n";
}
my ($doubtful, $several, $absent) = imports_of(["$folder/doubtful.2.pickle"], ["$folder/streams.2.pickle"],
                                               ["$folder/streams.2.pickle", '--device', 2]);
ok($doubtful->{err} =~ /; doubtful: 1 allocations where .*, 1 frees of what .*, 1 events of unknown kinds/, 'doubts are told');
ok($several->{err} =~ /: it has a history of devices 0, 1, expected --device/, 'of several devices one is to be named');
ok($absent->{err} =~ /no history of device 2, only of 0, 1$/, '.. one that is there');

my %why = (
    list => 'a list of segments without a history', no_history => 'it has no history', no_devices => 'it has no history',
    number => 'it is 7, expected a dictionary', no_segments => "it has no 'segments'",
    no_traces => "it has no 'device_traces'", itself => "it has no 'device_traces'",
    history_dict => 'device_traces\[0\] is dict, expected a list', empty => 'no whole pickle', cut_off => 'no whole pickle',
    entry_number => 'device_traces\[0\]\[0\] is 3, expected a dictionary', zip => 'an archive', gzip => 'an archive',
    no_address => "device_traces\\[0\\]\\[0\\] has no 'addr'", size_text => "'size' is '12', expected a number",
    size_negative => "'size' is -1, expected a number from 0", size_true => "'size' is True",
    size_huge => "'size' is 18446744073709551616", size_enormous => "'size' is int",
    action_none => "'action' is NoneType, expected text", stream_text => "'stream' is 'main'",
    blocks_none => "segments\\[0\\]: 'blocks' is NoneType, expected a list", block_text => "segments\\[0\\], block 0 is 'x'",
    blocks_shared => 'segments\[1\], block 0: its address 4096 is another block.s too',
    notes_number => "'external_annotations' is 7, expected a list", state_number => "'state' is 4, expected text", system => 'it names os.system', old_class => 'it names os.system',
    global_4 => 'it names builtins.eval', ordered => 'it names collections.OrderedDict', extension => 'broken pickle',
    persistent => 'an object outside itself', huge_text => 'expected a snapshot of PyTorch',
    memory => 'more memory than a pickle of its size can need',
);
my @broken = glob "$folder/broken.*.pickle";
my @refusals = imports_of(map { [$_, qw(--tags --steps --out), "$folder/never.trace"] } @broken);
for my $path (@broken) {
    my ($name) = $path =~ /broken\.(\w+)/;
    my ($refusal, $pattern) = (shift @refusals, delete $why{$name} // 'expected');
    ok($refusal->{code} eq 2 && $refusal->{out} eq '' &&
       $refusal->{err} =~ /\Atorch_snapshot\.py: \Q$path\E: [^\n]*$pattern[^\n]*\n\z/, "refused by one line: $name")
        or print "#   exit $refusal->{code}: $refusal->{err}\n";
}
is(join(' ', keys %why), '', 'each was there');
ok(!-e 'HOSTILE' && !-e "$folder/never.trace", 'nothing of them ran, and nothing was written');

my @cases = (["$folder/absent", 'No such file'], [$folder, 'Is a directory'], ['/dev/null', 'no regular file']);
my @answers = imports_of(map { [$_->[0]] } @cases);
for my $case (@cases) {
    my $said = (shift @answers)->{err};
    ok($said =~ /\Atorch_snapshot\.py: \Q$case->[0]\E: .*$case->[1].*\n\z/, "refused: $case->[1]") or print "#   $said\n";
}
my $nowhere = import_of("$folder/older.2.pickle", '--out', "$folder/absent/x.trace");
ok($nowhere->{code} eq 2 && $nowhere->{err} =~ /\Atorch_snapshot\.py: \S+: No such file or directory\n\z/, 'no such folder')
    or print "#   $nowhere->{err}\n";
is(join(' ', grep { /torch_snapshot/ } glob "$folder/.*"), '', 'no partial file is left');
my $onto = import_of("$folder/older.2.pickle", '--out', $folder);
ok($onto->{code} eq 2 && $onto->{err} =~ /\Atorch_snapshot\.py: \Q$folder\E: Is a directory\n\z/, 'onto a folder, which is named')
    or print "#   $onto->{err}\n";
qx(mkfifo '$folder/pipe'; timeout 60 cat '$folder/pipe' > '$folder/read' & python3 $script -q '$folder/older.2.pickle' --out '$folder/pipe'; wait);
my $straight = import_of("$folder/older.2.pickle");
ok(-p "$folder/pipe" && slurp("$folder/read") eq $straight->{out} && length $straight->{out}, 'a pipe or a device is written to, not replaced');
symlink 'target.trace', "$folder/link.trace";
import_of("$folder/older.2.pickle", '--out', "$folder/link.trace");
ok(-l "$folder/link.trace" && -f "$folder/target.trace", 'a link stays one');
my $help = import_of('--help');
ok($help->{code} eq 0 && $help->{out} =~ /--frees/ && $help->{out} =~ /exit status/, '--help');
is(import_of()->{code}, 2, 'no file named');
is(qx(python3 $script -q "$folder/named.4.pickle" 2>&1 | head -c 1), 'g', 'who reads a part of it only');
is(import_of("$folder/broken.system.pickle")->{code}, 2, 'a hostile one, in a process of its own');
ok(!-e 'HOSTILE', '.. does not run either');
my $nest = import_of("$folder/nest.pickle");
ok($nest->{code} eq 2 && $nest->{err} =~ /\Atorch_snapshot\.py: \S+: (reading it was ended by SIG|it )[^\n]*expected [^\n]*\n\z/,
   'one that ends CPython: the importer outlives it') or print "#   exit $nest->{code}: $nest->{err}\n";
is(qx(python3 tests/support/import_pickles.py mutate $script '$folder' 600 2>&1), "converted\n", '600 mutations are converted or refused');
done();

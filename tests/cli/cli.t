#!/usr/bin/perl
# The command line of build/stress: commands, every option's success and error, lists, exit codes, help.
# It must not test what rows hold: run.t does.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my @run = ('run', '-w', 'uniform:n=200', '-p', 'segments');
my @csv = qw(-q --no-timing --out csv=-);
my @quiet = (@run, @csv);

sub passes {
    my ($name, @words) = @_;
    my $run = stress(@words);
    ok($run->{code} eq 0, "exit 0: $name") or print "#   $run->{code}: $run->{err}\n";
    return $run;
}

# ---- commands
refused(2, qr/no command.*run, capacity, batch, shrink, holes, costs, compare, merge, list, help, version/);
refused(2, qr/'rnu'.*did you mean 'run'/, 'rnu');
refused(2, qr/'bench'.*did you mean 'batch'.*run, capacity, batch/, 'bench');
refused(2, qr/unknown command 'nosuch'/, 'nosuch', $_) for '--help', '-h', '--version', 'run';
refused(2, qr/'list' of|no list of 'bogus'/, 'list', 'bogus');
refused(2, qr/no help on 'bogus'/, 'help', 'bogus');
refused(2, qr/no help on 'gate', did you mean 'gates'\?; there is lists, workloads, /, 'help', 'gate');
refused(2, qr/no list of 'device', did you mean 'devices'\?; there is workloads, /, 'list', 'device');
refused(2, qr/unexpected argument 'extra'/, 'version', 'extra');
refused(2, qr/unexpected argument 'extra'/, 'run', 'extra');
refused(2, qr/unexpected argument 'c'/, 'list', 'workloads', 'c');
ok(stress('version')->{out} =~ /^gpuarena stress \d+\.\d+\.\d+ /, 'version names itself');
is(stress('--version')->{out}, stress('version')->{out}, '--version is version');
my $list = stress('list')->{out};
is(join('', map { stress('list', $_)->{out} } qw(workloads policies devices)), $list, 'list is all lists');
ok($list =~ /^devices\n  sim:SIZE .*\n  sim:SIZE,vm=off .*\n  sim:SIZE,mappings=N .*\n  cuda:/m, 'list has devices, and says where there is none');
ok(stress('version')->{out} =~ /\(simulated device; (?:CUDA \d+\.\d|no CUDA)\)$/, 'version says what CUDA it was built with');
ok($list =~ /^  $_(?:, \w+)? /m, "list has $_") for qw(uniform train producer larson phases replay cudaMalloc cudaMallocAsync paged segments best-fit first-fit config);
{
    my @things = grep { !/:/ } $list =~ /^  ([\w:-]+)/mg;
    for my $width (60, 100, 118) {
        local $ENV{COLUMNS} = $width;
        my $narrow = stress('list')->{out};
        is(join(' ', (scalar(grep { length > $width } split /\n/, $narrow)), $narrow =~ tr/\n//), '0 ' . ($list =~ tr/\n//), "COLUMNS=$width: one line a thing, none longer");
    }
    my @named = (@things, $list =~ /^  [\w-]+, (\w+) /mg, map({ s/\\|^--//gr } stress('help')->{out} =~ /^  (?:-\w, |    )(--[a-z-]+)/mg),
                 stress('help', 'outputs')->{out} =~ /^  ([a-z]+)  /mg, do { (stress('help', 'columns')->{out} =~ /^What they are:\n(.*)/ms)[0] =~ /^  (\w+) /mg });
    ok(@named > 130, scalar(@named) . ' things have names');
    is(join(' ', grep { my $page = stress('help', $_); $page->{code} || $page->{out} !~ /\S/ || $page->{out} =~ /\(null\)/ } grep { !/^all$/ } @named), '', 'help knows each');
    refused(2, qr/no help on 'trian', did you mean 'train'\?/, 'help', 'trian');
    refused(2, qr/no help on 'footprnt', did you mean 'footprint'\?/, 'help', 'footprnt');
    is(stress('help', 'cudaMalloc')->{out}, stress('help', 'raw')->{out}, 'a policy has two names');
}
my ($keys) = stress(qw(run -w train -p config:nokey=1))->{err} =~ /nokey=1: no such key, expected (.+)$/m;
is(join(' ', grep { /^(?:streams|wait_ms)$/ } split / /, $keys // ''), 'streams wait_ms', "the library tells its keys");
for my $text (stress('help', 'lists')->{out}, join '', map { stress('help', $_)->{out} } qw(config segments paged best first)) {
    my %listed = map { s/\s+/ /gr } $text =~ /^  ([\w-]+).*\n +keys: (.+(?:\n {19}.+)*)$/mg;
    is($listed{config}, $keys, 'config lists them all, in their order');
    my %not_of = (segments => 'backing|share|page|idle|large|oversubscribe',
                  paged => 'backing|share|growth|step|step_max|oversubscribe');
    for my $name (sort keys %not_of) {
        is($listed{$name}, join(' ', grep { !/^(?:$not_of{$name})$/ } split / /, $keys // ''), "$name all that are its");
    }
    is("$listed{'best-fit'} $listed{'first-fit'}", 'limit limit', 'plain ranges a limit');
}

# ---- an option that a command has nothing of is refused by its name, each of the table
{
    my $value = { NUMBER => 2, SIZE => '1G', SHARE => '3%', COUNT_OR_AUTO => 2, REPEAT => 'csv=x', LIST => 'raw', TEXT => 'x' };
    my @options = slurp('stress/base/cli.c') =~ /\[CLI_\w+\] = \{ (?:"[^"]*"|NULL), ("[a-z-]+", .*?), CLI_(?:NO|SHAPES)/gs;
    my %kinds = map { /^"([a-z-]+)", (?:'.'|0), CLI_(\w+), (?:"([^"]*)"|NULL)/ ? ($1 => [ $2, $3 ]) : () } @options;
    my @words = map { my ($kind, $choices) = @{$kinds{$_}};
        [ $_, $kind eq 'FLAG' ? () : $kind eq 'CHOICE' ? $choices =~ s/.*\|//r : $value->{$kind} ] }
        grep { !/^(?:help|version)$/ } sort keys %kinds;
    ok(@words > 30, 'the options were found: ' . @words);
    my %has = (list => '', help => '', version => '', costs => 'device faults costs context out quiet verbose',
               merge => 'out quiet fail-if base strict', compare => 'out quiet fail-if strict',
               shrink => 'workload policy device seed steps ops threads limit quick faults costs context op-ns rate verify out quiet progress',
               holes => 'policy device seed limit quick context no-timing instructions precision budget fail-if base strict out quiet color');
    for my $command (sort keys %has) {
        my @wrong = grep { my $run = stress($command, '--' . $_->[0], @{$_}[1 .. $#$_]);
                           $run->{code} ne 2 || $run->{err} !~ /^stress: --$_->[0] means nothing to $command\b/ }
            grep { my $name = $_->[0]; !grep { $_ eq $name } split / /, $has{$command} } @words;
        is(join(' ', map { $_->[0] } @wrong), '', "$command: all others");
    }
}
is(scalar(`{ $stress list; $stress help; } 2>"$folder/pipe" | true; cat "$folder/pipe"`), q(), "who reads no page to its end is told nothing");
refused(2, qr/--warmup: not with --no-timing, which measures no time/, @run, qw(--no-timing --warmup 2));
refused(2, qr/--$_->[0] says when rounds end: not with --$_->[2]/, qw(holes -p raw), "--$_->[0]", $_->[1], "--$_->[2]")
    for [ 'precision', '1%', 'quick' ], [ 'budget', 9, 'no-timing' ];

# ---- help has every option of the source's table, every exit code, every default
my $help = stress('help')->{out};
is(stress('run', '-h')->{out}, $help, '-h is help');
is(stress('--help')->{out}, $help, '--help is help');
is(stress($_, '--help')->{out}, stress('help', $_)->{out}, "$_ --help is help $_") for qw(capacity batch holes merge costs);
is(stress('list', '--help')->{out}, $help, 'of a command without a page of its own it is the first');
my @options = $help =~ /^  (?:-\w, |    )--([a-z-]+)/mg;
my $source = slurp('stress/base/cli.c');
my @table = $source =~ /\[CLI_\w+\] = \{ (?:"[^"]*"|NULL), "([a-z-]+)"/g;
is("@options", "@table", 'help lists the options of the table, in order');
ok(@table >= 20, 'the table was found');
ok($help =~ /^  $_ /m, "help explains exit code $_") for 0, 1, 2, 3, 4, 77;
ok($help =~ /--$_->[0] .*\Q[$_->[1]]\E$/m, "help shows the default of --$_->[0]")
    for ['device', 'sim:80G'], ['seed', 1], ['op-ns', 2000], ['verify', 'full'], ['on-oom', 'stop'];
ok(!grep({ length > 118 } split /\n/, $help), 'help is at most 118 columns wide');
ok(length stress('help', $_)->{out}, "help $_") for qw(lists threads faults costs columns capacity holes merge run);
my $columns = stress('help', 'columns')->{out} =~ s/\s+/ /gr;
ok($columns =~ /driver_calls calls [^;]*from the first op to the last driver_vns [^;]*; empty on CUDA/, 'on CUDA driver_vns alone is empty');
ok($columns =~ /On CUDA reserved_peak_bytes and footprint of cudaMalloc and cub-library are at least/, 'and whose reserved is a lower bound');
ok($help =~ /^  77  the device asked for is not there, or a policy's library is not in this build$/m, 'both meanings of 77');
my $costs = spew('costs', stress('help', 'costs')->{out} =~ s/\A.*\n//r);
passes('the costs that help prints are read back', @quiet, '--costs', $costs);

# ---- sizes, wherever one is read
{
    my @of = qw(run -w uniform:n=200 --no-timing -q --out csv=-);
    my ($text) = map { stress(@of, '-p', 'segments', '--limit', $_)->{out} } '4294967296';
    is(stress(@of, '-p', 'segments', '--limit', $_)->{out}, $text, "--limit $_") for qw(4G 4g 4GB 4GiB 4gib 4096MiB 4294967296B);
    is(stress(@of, '-p', "segments:limit=$_")->{code}, 0, "limit=$_") for qw(4G 4GB 4GiB 4g);
    my @bytes = map { stress(@of, '-p', "segments:limit=$_")->{out} =~ s/limit=\w+//r } qw(100M 100MB 100MiB 100m);
    is("@bytes", join(' ', ($bytes[0]) x 4), 'keys of policies');
    is(stress(@of, '-p', 'raw', '--device', 'sim:1GiB', '--faults', 'obtain>4MB;rival@20=8MiB', '--context', '64MB', '--fail-if', 'reserved_peak_bytes > 4GB')->{code}, 0, 'device, faults, context, rules');
    refused(2, qr/--limit: expected a size such as 512M or 4G, at least \d+, found '4GX'/, 'run', '-w', 'uniform', '-p', 'raw', '--limit', '4GX');
}

# ---- two names of a policy, and what was meant by one that there is not
{
    my ($old, $new) = map { stress(qw(run -w uniform:n=100 --no-timing -q --out csv=- -p), $_)->{out} } 'raw,async,best:limit=1G,first', 'cudaMalloc,cudaMallocAsync,best-fit:limit=1G,first-fit';
    is($new, $old, 'the same rows, by the same names');
    my @two = qw(run -w uniform:n=100 -p best-fit,cudaMalloc --no-timing);
    is(stress(@two, '--filter', "*/$_", '-q', '--out', 'csv=-')->{out} =~ tr/\n//, 2, "--filter $_") for qw(raw cudaMalloc best best-fit);
    is(stress(@two, '--fail-if', "*/$_: ops > 1")->{code}, 1, "a rule of $_") for qw(raw cudaMalloc best best-fit);
    is(stress(@two, '--fail-if', "driver_calls > $_*100")->{code}, 0, "a rule against $_") for qw(raw cudaMalloc best best-fit);
    refused(2, qr/unknown policy 'best-fot', did you mean 'best-fit'/, qw(run -w uniform -p best-fot));
    refused(2, qr/policy 'paged:limti=3G': limti=3G: no such key, .*, did you mean 'limit'\?/, qw(run -w uniform -p paged:limti=3G));
}

# ---- files whose kind is told by how they end
for my $file (qw(a.html b.csv c.json d.md e.xml f.svg g.pickle h.trace)) {
    ok(stress(qw(run -w uniform:n=20 -p raw --no-timing -q --out), "$folder/$file")->{code} eq 0 && -s "$folder/$file", "--out $file");
}
ok(slurp("$folder/a.html") =~ /^<!doctype html>/ && slurp("$folder/e.xml") =~ /<testsuite/ && slurp("$folder/b.csv") =~ /^workload,/, 'and they are that');
refused(2, qr/--out: expected KIND=PATH with csv, json, .* or trace, found 'x\.txt', whose ending is that of none$/, qw(run -w uniform -p raw --out x.txt));
refused(2, qr/--out: expected KIND=PATH with csv, .*, found '-'/, qw(run -w uniform -p raw --out -));
refused(2, qr/--out: expected KIND=PATH with csv, .*, found 'x\.trace'/, qw(capacity -w uniform -p raw --out x.trace));

# ---- option syntax
refused(2, qr/--op-ns: expected a number from 0 to 1000000000/, @run, '--op-ns', '18446744073709551615');
refused(2, qr/unknown option '--sed', did you mean '--seed'/, @run, '--sed', '1');
refused(2, qr/unknown option '--zzzzzz'/, @run, '--zzzzzz=1');
refused(2, qr/unknown option '-x'/, @run, '-x');
refused(2, qr/--seed: expected N after it/, @run, '--seed');
refused(2, qr/--policy: expected NAME/, 'run', '-w', 'uniform', '-p');
refused(2, qr/--quiet takes no value/, @run, '--quiet=yes');
refused(2, qr/--seed: expected N, found nothing/, @run, '--seed=');
my $expected = stress(@quiet, '--seed', 5)->{out};
is(stress(@quiet, '--seed=5')->{out}, $expected, '--name=value is --name value');
is(stress(@quiet, '--seed=4', '--seed=5')->{out}, $expected, 'the last of two counts');
is(stress('run', '-wuniform:n=200', '-psegments', '-q', '--no-timing', '--out=csv=-', '--seed', 5)->{out}, $expected,
   'values of letters may be attached');

# ---- lists
refused(2, qr/no workload/, 'run', '-p', 'raw');
refused(2, qr/no policy/, 'run', '-w', 'train');
refused(2, qr/trian.*did you mean 'train'/, 'run', '-w', 'trian', '-p', 'raw');
refused(2, qr/'rwa', did you mean 'raw'/, 'run', '-w', 'train', '-p', 'rwa');
refused(2, qr/'step=4M,idle=0' has no name before it: write NAME:step=4M,idle=0, or config:step=4M,idle=0$/,
        qw(run -w train -p), 'step=4M,idle=0');
refused(2, qr/'steps=4' has no name before it: write NAME:steps=4$/, qw(run -w steps=4 -p raw));
refused(2, qr/: write raw:growth=exact,step=4M, or config:growth=exact,step=4M$/, qw(run -w train -p), 'raw,growth=exact,step=4M');
refused(2, qr/: write train:steps=4$/, qw(run -p raw -w), 'train,steps=4');
refused(2, qr/no workload "\Q$_\E"; a recording is replay:FILE$/, 'run', '-w', $_, qw(-p raw)) for 'step.trace', 'a/step';
refused(2, qr/--$_: 'all:n=3': 'all' has no keys, expected all, or NAME:n=3$/, qw(run -w train -p raw), "--$_", 'all:n=3')
    for qw(workload policy);
refused(2, qr/after a ':', not a ','/, 'run', '-w', 'train', '-p', 'raw,step=4M');
refused(2, qr/item is empty/, 'run', '-w', 'train', '-p', 'raw,,segments');
refused(2, qr/item is empty/, 'run', '-w', 'train,', '-p', 'raw');
refused(2, qr/'raw' has no keys, expected raw, or config:step=4M$/, 'run', '-w', 'train', '-p', 'raw:step=4M');
refused(2, qr/nothing follows the ':', expected segments, or segments:key=value$/, 'run', '-w', 'train', '-p', 'segments:');
refused(2, qr/nokey/, 'run', '-w', 'train', '-p', 'config:nokey=1');
refused(2, qr/step/, 'run', '-w', 'train', '-p', 'config:step=zzz');
refused(2, qr/step.*only with/, 'run', '-w', 'train', '-p', 'config:growth=exact,step=4M');
refused(2, qr/comma/, 'run', '-w', 'replay:a=b,c=d.csv', '-p', 'raw');
my @rows = rows(passes('two lists, repeated', 'run', '-w', 'uniform:n=50,max=1,uniform:n=60', '-w', 'uniform:n=70',
                       '-p', 'segments:growth=step,step=4M,raw', '-p', 'config:limit=1G', @csv)->{out});
is(join(' ', map { "$_->{workload}/$_->{policy}" } @rows), join(' ', map { my $w = $_; map { "$w/$_" }
   'segments:growth=step,step=4M', 'raw', 'config:limit=1G' } 'uniform:n=50,max=1', 'uniform:n=60', 'uniform:n=70'),
   'rows are workloads x policies in the order asked for');

# ---- a mistake is told before a device that is not there: CI jobs skip on 77
my @absent = ('--device', 'cuda:99');
refused(2, $_->[0], @{$_->[1]}, @absent) for
    [ qr/nope/, [ qw(run -w uniform,nope -p raw) ] ], [ qr/nope/, [ qw(run -w uniform -p raw,nope) ] ],
    [ qr/step.*only with/, [ qw(run -w uniform -p), 'config:growth=exact,step=4M' ] ],
    [ qr/--fail-if 'nonsense > 1'/, [ @run, '--fail-if', 'nonsense > 1' ] ],
    [ qr/'nope\/raw: ops > 1'/, [ @run, '--fail-if', 'nope/raw: ops > 1' ] ],
    [ qr/nofile/, [ @run, '--fail-if', 'ops > base', '--base', "$folder/nofile" ] ],
    [ qr/--out/, [ @run, '--out', 'bogus=-' ] ], [ qr/--filter/, [ @run, '--filter', 'nosuch' ] ],
    [ qr/written twice/, [ @run, '--out', "csv=$folder/twice", '--out', "json=$folder/twice" ] ],
    [ qr/--shard/, [ @run, '--shard', '3/2' ] ],
    [ qr/expected --device sim/, [ qw(run -w rival -p raw) ] ],
    [ qr/nope/, [ qw(capacity -w nope -p paged) ] ], [ qr/limit key/, [ qw(capacity -w uniform:n=9 -p paged:limit=1G) ] ],
    [ qr/no option "x"/, [ qw(batch -w uniform -p raw --vary x) ] ],
    [ qr/several are asked for/, [ qw(shrink -w uniform:n=9 -p raw,paged --out), "trace=$folder/shrunk" ] ],
    [ qr/nope/, [ qw(shrink -w nope -p raw --out), "trace=$folder/shrunk" ] ],
    [ qr/nope/, [ qw(holes -p nope) ] ], [ qr/'x > 1'/, [ qw(holes -p raw --fail-if), 'x > 1' ] ],
    [ qr/none of the rows/, [ qw(holes -p raw --fail-if), '*/paged: ratio > 1' ] ];
refused(77, qr/--device cuda:99: /, @$_, @absent) for [ qw(capacity -w uniform:n=9 -p paged:page=4M) ],
    [ qw(batch -w uniform:n=9 -p async) ], [ qw(shrink -w uniform:n=9 -p raw --out), "trace=$folder/shrunk" ],
    [ @run, '-q', '--out', "csv=$folder/none.csv" ];
ok(!-e "$folder/$_", "and no file is left: $_") for qw(shrunk none.csv twice);

# ---- what an option cannot change is told
my $tiny = spew('tiny.trace', "gpuarena-trace 1\na 0 5 0\nf 0\n");
for my $case ([ [ '-w', "replay:$tiny", qw(-p raw --seed 3) ], qr/^stress: workload "replay:\S+": has no seed, --seed changes nothing$/m ],
              [ [ qw(-w uniform:n=9 -p raw,async --limit 1G) ], qr/^stress: --limit changes nothing: none of these policies has one$/m ]) {
    my ($words, $said) = @$case;
    ok(stress('run', @$words)->{err} =~ $said, "told: run @$words");
    is(stress('run', @$words, '-q')->{err}, '', 'and with -q not');
}
ok(stress(qw(run -w uniform:n=9 -p raw,paged --limit 1G --seed 3))->{err} !~ /changes nothing/, 'not where it changes one of them');
ok(stress('run', '-w', "replay:$tiny", qw(-p raw --threads 2 --seed 3))->{err} !~ /changes nothing/, 'nor where it draws whose turn it is');

# ---- options, one by one
refused(77, qr/--device cuda:99: .*(?:no CUDA device 99|driver|without CUDA)/, @run, '--device', 'cuda:99');
refused(2, qr/--device.*found 'gpu'/, @run, '--device', 'gpu');
refused(2, qr/--device.*found '$_'/, @run, '--device', $_) for qw(cuda:x cuda: cuda:-1 cuda:4294967296 cuda:0x);
refused(2, qr/$_->[0] shapes simulated devices alone/, @run, '--device', 'cuda:0', @$_)
    for ['--faults', 'obtain:1'], ['--costs', $costs], ['--context', '1G'], ['--op-ns', 5];
refused(2, qr/--device.*sim:SIZE/, @run, '--device', "sim:$_") for '', '1', '0', '80X', '99999999999999999999';
is(stress(@quiet, '--device', 'sim')->{out}, stress(@quiet)->{out}, 'sim is sim:80G');
is(stress(@quiet, '--device', 'auto', '--op-ns', 2000)->{out}, stress(@quiet)->{out},
   'auto is simulated where an option wants that');
ok(stress(@run, '--device', 'auto', '--op-ns', 2000)->{err}
       =~ /^stress: --device auto: running on sim:80G, simulated: --op-ns shapes/, 'and says so');
ok(stress(@run, '--device', 'auto')->{err} =~ /^stress: --device auto: running on (?:sim:80G, simulated: |cuda:0, )/m,
   'auto says what it took');
refused(2, qr/--device.*sim:SIZE\[,vm=off\].*found 'sim:80G,\Q$_\E'/, @run, '--device', "sim:80G,$_")
    for '', 'vm', 'vm=', 'vm=no', 'vm=off,', 'mappings=0', 'mappings=x', 'mappings=4294967296', 'vm=off,,vm=off', 'x=1';
is((rows(stress(@quiet, '--device', 'sim:1G,vm=off,mappings=7')->{out}))[0]{device}, 'sim:1G,vm=off,mappings=7',
   'what a simulated device lacks is in the row');
is((rows(stress(@quiet, '--device', 'sim:1G')->{out}))[0]{device}, 'sim:1G', 'the device is in the row');
refused(2, qr/--seed: expected a number/, @run, '--seed', $_) for 'x', '-1', '1K', '18446744073709551616';
refused(2, qr/--ops: expected a number from 1/, @run, '--ops', 0);
refused(2, qr/--steps: expected a number from 1/, @run, '--steps', 0);
refused(2, qr/steps/, 'run', '-w', 'train:steps=2', '-p', 'raw', '--steps', 3);
refused(2, qr/seed/, 'run', '-w', 'uniform:seed=3', '-p', 'raw', '--seed', 3);
is((rows(stress(@quiet, '--ops', 7)->{out}))[0]{ops}, 7, '--ops cuts');
is((rows(stress('run', '-w', 'uniform:n=30000', '-p', 'raw', '--quick', @csv)->{out}))[0]{ops}, 20000,
   '--quick cuts at 20000');
is((rows(stress('run', '-w', 'uniform:n=40,seed=9', '-p', 'raw', @csv)->{out}))[0]{seed}, 9,
   "a workload's own seed is in the row");
refused(2, qr/--limit: expected a size/, @run, '--limit', $_) for 'x', '0', '80%';
refused(2, qr/limit key.*--limit/, 'run', '-w', 'train', '-p', 'segments:limit=1G', '--limit', '1G');
refused(2, qr/limit key.*--limit/, 'run', '-w', 'train', '-p', 'segments:limit=80%', '--limit', '1G');
passes('--limit', @quiet, '--limit', '1G');
refused(2, qr/fits none/, @run, '--filter', $_) for 'zebra', 'uniform', '[';
passes("--filter $_", @quiet, '--filter', $_) for '*', 'uni*', 'zebra|*/*', 'un?form*', '*' x 40;
@rows = rows(stress('run', '-w', 'uniform:n=50', '-p', 'raw,segments', '--filter', '*/seg*', @csv)->{out});
is(join(' ', map { $_->{policy} } @rows), 'segments', '--filter keeps what matches');
refused(2, qr/--on-oom: expected stop\|skip, found 'go'/, @run, '--on-oom', 'go');
passes("--on-oom $_", @quiet, '--on-oom', $_) for qw(stop skip);
refused(2, qr/bogus/, @run, '--faults', 'bogus');
refused(2, qr/nonexistent/, @run, '--costs', '/nonexistent');
refused(2, qr{/dev/zero: a NUL byte}, 'compare', '/dev/zero', '/dev/zero');
refused(2, qr/broken.*:1/, @run, '--costs', spew('broken', "nonsense 1 2\n"));
refused(2, qr/--context: expected a size/, @run, '--context', '-1');
refused(2, qr/context/, @run, '--context', '100G');
passes('--context', @quiet, '--context', '500M');
refused(2, qr/--op-ns: expected a number/, @run, '--op-ns', '2us');
passes('--op-ns', @quiet, '--op-ns', '0');
refused(2, qr/--verify: expected off\|sample\|full/, @run, '--verify', 'maybe');
is(stress(@quiet, '--verify', $_)->{out}, stress(@quiet)->{out}, "--verify $_ changes no result")
    for qw(off sample full);
refused(2, qr/--out: expected KIND=PATH.*'cvs', did you mean 'csv'/, @run, '--out', 'cvs=x');
refused(2, qr/--out: expected csv=PATH/, @run, '--out', $_) for 'csv', 'csv=';
refused(2, qr/two outputs to stdout/, @run, '--out', 'csv=-', '--out', 'json=-');
refused(2, qr/trace.*one workload/, 'run', '-w', 'uniform,train', '-p', 'raw', '--out', 'trace=-');
refused(4, qr/cannot be written/, @run, '--out', "csv=$folder/no/such/folder");
refused(2, qr/--color/, @run, '--color', 'blue');
refused(2, qr/--progress/, @run, '--progress', 'often');
is(stress(@run, '-q')->{out} . stress(@run, '-q')->{err}, '', '-q prints nothing');
ok(stress(@run, '-v', '-p', 'config:growth=exact')->{err}
       =~ /device sim:80G.*\n.*policy segments: backing=segments\n.*growth=exact/, '-v tells what is in force');

# ---- table, colours, width
my @poor = ('run', '-w', 'uniform:n=200', '-p', 'segments', '--no-timing', '--limit', '100M');
my $table = stress(@poor)->{out};
ok($table =~ /^workload +policy.*\nuniform:n=200 +cudaMalloc +ok .*\nuniform:n=200 +segments +oom/,
   'the table adds raw');
ok(stress(@poor)->{out} !~ /\033/, 'no colour where it is no terminal');
ok(stress(@poor, '--color', 'always')->{out} =~ /\033\[33m/, '--color always');
{
    local $ENV{FORCE_COLOR} = 1;
    ok(stress(@poor)->{out} =~ /\033/, 'FORCE_COLOR');
    ok(stress(@poor, '--color', 'never')->{out} !~ /\033/, '--color never goes before FORCE_COLOR');
    local $ENV{NO_COLOR} = 1;
    ok(stress(@poor)->{out} !~ /\033/, 'NO_COLOR goes before FORCE_COLOR');
    $ENV{NO_COLOR} = '';
    ok(stress(@poor)->{out} =~ /\033/, 'an empty NO_COLOR is none');
}
for my $width (60, 100) {
    local $ENV{COLUMNS} = $width;
    ok(!grep({ length > $width } split /\n/, stress(@poor)->{out}), "COLUMNS=$width is kept");
}
ok(stress(@quiet, '--progress', 'always')->{err} eq '', '-q silences progress');
{
    local $ENV{GPUARENA_CONF} = 'limit=2M';
    my $under = stress(@quiet)->{out};
    delete $ENV{GPUARENA_CONF};
    is($under, stress(@quiet)->{out}, 'the environment does not configure arenas');
}
done();

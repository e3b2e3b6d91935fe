#!/usr/bin/perl
# The commands of README.md and of the texts in stress/ and tests/, run in a folder of their own as a reader
# would, and the names in these texts: options, files, columns, policies, workloads, keys, make targets. Tables below
# a command are its output. It must not judge other output of commands.
#
# Commands are README's, but shorter:
#   run, capacity     end after 1,500 operations, and measure no time; a run without a workload has uniform
#   batch             of a training with two small layers
#   holes             --quick, as few as fit into 512 MiB, without times and without valgrind
#   make TARGET       the target and its variables must be in the Makefile
#   nvcc              --dryrun
#   LD_PRELOAD=..     on the substitute
#   --device cuda:N   may answer that there is none (77)
#   srun              is left out, and the array has two tasks
# A rule's verdict, compare's and cmp's may be 1: README's figures are of longer runs.
# Runs once: it is about documents.
use strict;
use warnings;
use Cwd qw(abs_path getcwd);
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

delete @ENV{qw(MAKEFLAGS)};
my @documents = qw(README.md stress/README.md stress/RESULTS.md stress/CHOICES.md tests/README.md);
my $readme = join "\n", map { slurp($_) } @documents;
my $makefile = slurp('Makefile');
my $header = slurp('gpuarena.h');
my $build = abs_path($stress =~ s{/[^/]*$}{}r);
my $has_cuda = built_with_cuda() && qx{nm -D '$build/libcudart-sim.so' 2>&1} !~ /__asan_/;    # a sanitizer's runtime must come first
my $cuda_home = $ENV{CUDA_HOME} // '/usr/local/cuda';
my %has = map { $_ => !system("command -v $_ >/dev/null 2>&1") } qw(python3 gcc g++ nvcc);

# ---- the commands: lines of sh blocks, steps of the workflow, and commands within the text
my @blocks = $readme =~ /^```sh\n(.*?)^```$/msg;
push @blocks, map { s/^    //mgr } $readme =~ /^\n((?:    (?:make|build\/stress) .*\n)+)$/mg;
my @commands = map { grep { /\S/ && !/^#/ } split /\n/, s/\\\n\s*/ /gr } @blocks;
push @commands, $readme =~ /^      - run: (.*)$/mg;
my $text = $readme =~ s/^```.*?^```$//msgr;
my @spans = map { s/\s*\n\s*/ /gr } $text =~ /(?<!`)`([^`]+)`(?!`)/g;
push @commands, map { s/^(?=run |holes |stress )/build\/stress /r =~ s/stress stress/stress/r } grep { m{^(?:COLUMNS=\d+ )?(?:build/)?stress |^make |^run -w|^holes } } @spans;
ok(@blocks >= 9 && @commands >= 80, scalar(@commands) . ' commands were found');

# ---- the files they need: a program, recordings, rules
my $project = getcwd();
mkdir "$folder/readme";
chdir "$folder/readme" or die "$folder/readme: $!";
sub link_to { symlink $_[0], $_[1] or die "$_[1]: $!" }
link_to($build, 'build');
link_to("$project/$_", $_) for qw(stress tests examples Makefile gpuarena.h);
link_to($_, s{.*/}{}r) for glob("$traces/*/*.trace $traces/*/*.csv" =~ s{(?<!\S)(?!/)}{$project/}gr);
sub written {
    my ($name, $what) = @_;
    open my $file, '>', $name or die "$name: $!";
    print $file $what;
    close $file or die "$name: $!";
}
my $program = <<'END';
#include <cuda_runtime_api.h>
int main(void)
{
    void *block;
    return cudaMalloc(&block, 4096) || cudaFree(block);
}
END
written("program.$_", $program) for qw(c cc cu);
my ($rules) = $readme =~ /^`--fail-if \@gates\.txt` reads [^\n]*:\n\n```\n(.*?)^```$/ms;
ok($rules && $rules =~ tr/\n// >= 3, 'README has rules');
written('gates.txt', $rules // '');
mkdir 'out';

# A command of README -> the command that is run; '' and a reason: it cannot run here.
sub shortened {
    my ($line) = @_;
    return ('', 'no python3') if $line =~ /torch_snapshot/ && !$has{python3};
    return ('', 'no substitute for the CUDA runtime') if $line =~ /libcudart|build\/sim|nvcc|-lcudart/ && !$has_cuda;
    for my $compiler (qw(gcc g++ nvcc)) { return ('', "no $compiler") if $line =~ /^\Q$compiler\E / && !$has{$compiler} }
    return ('', "$1 is not built") if $line =~ /^LD_PRELOAD=(\S+)/ && !($has_cuda && -e $1);
    return ('', 'no recordings') if $line =~ /replay:(?:somas|medium)/ && !-e 'somas_pangu_2.6B.csv';
    $line =~ s/\s+#\s.*//;
    $line =~ s{/usr/local/cuda}{$cuda_home}g;
    $line =~ s/^nvcc /nvcc --dryrun /;
    $line =~ s/^LD_PRELOAD=/LD_LIBRARY_PATH=build\/sim $&/;
    $line =~ s{^srun }{for SLURM_ARRAY_TASK_ID in 0 1; do export SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=1; }
        and $line .= ' || exit; done';
    return ('', '') if $line =~ /^build\/stress (?:capacity|batch|shrink|merge|holes)$/;
    $line =~ s{stress run (?!.*--no-timing)}{stress run --no-timing };
    $line =~ s{stress run (?!.*-w)}{stress run -w uniform };
    $line =~ s{stress (run|capacity) (?!.*--ops)}{stress $1 --ops 1500 };
    $line =~ s{(stress batch .*?train:)}{$1layers=2,hidden=512,steps=1,};
    $line =~ s{stress holes (.*?)(?: --instructions)?$}{stress holes --device sim:512M --quick --no-timing $1};
    return ($line, '');
}

sub is_there {
    my ($target) = @_;
    my $file = $target =~ s{^build(?=/)}{\$(BUILD)}r;
    return $makefile =~ /^\Q$target\E:/m || ($file ne $target && $makefile =~ /^[A-Z]+ +:= .*\Q$file\E(?:[\s)]|$)/m);
}

my %seen;
sub run_command {
    my ($line) = @_;
    if ($line =~ /^make (.*?)(?:\s+#.*)?$/) {
        my @words = grep { !/^-j/ } split ' ', $1;
        my @wrong = grep { /^(\w+)=/ ? $makefile !~ /\b$1\b/ : !is_there($_) } @words;
        return is("@wrong", '', $line);
    }
    my ($short, $why_not) = shortened($line);
    return skip("$why_not: $line") if $why_not;
    return if $seen{$short}++ || !$short;        # the command is but named
    if ($short =~ /compare before\.csv after\.csv/) { link_to('results.csv', $_) for 'before.csv', 'after.csv' }
    if ($short =~ /^cmp (\S+) (\S+)$/) { link_to($1, $2) }
    my $found = qx{($short) 2>&1 </dev/null};
    my $code = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
    my @expected = (0, $line =~ /--fail-if|stress compare/ ? 1 : (), $line =~ /--device cuda/ ? 77 : ());
    my $passed = ok(scalar(grep { $code eq $_ } @expected), "exit $code: $short");
    print "#   $_\n" for $passed ? () : (split /\n/, $found)[-1];
}

# pickles are stress's own; a device's costs are the simulated one's; the program is built before it is run
written($_, "gpuarena-trace 1\na 1 5000000 0\nf 1\n") for 'mine.trace', 'step.trace';
system 'build/stress run -q -w uniform:n=300 -p paged --no-timing --out memviz=snapshot.pickle && cp snapshot.pickle step.pickle';
system 'build/stress costs -q --out costs=mine.costs';
if ($has_cuda && $has{gcc}) { system "gcc -isystem $cuda_home/include program.c -Lbuild/sim -lcudart -lpthread -o program" }
run_command($_) for @commands;
if (-e 'out/01-of-02.csv') {
    run_command($_) for $readme =~ m{^# when all have ended.*: (build/stress merge .*)$}m, $readme =~ m{^# and then the verdict: (build/stress compare .*xml) }m;
    ok(-s 'all.csv', 'the merged file is there');
}
ok(-s $_, "$_ was written") for qw(report.html capacity.html holes.html results.csv results.json base.csv gates.xml), $has{python3} ? 'step.trace' : ();

# ---- the first lines of C: a whole program, free of warnings, on the substitute or, without it, refused in words
if ($has{gcc}) {
    my ($ten) = $readme =~ /^## Ten lines\n\n```c\n(.*?)^```$/ms;
    my ($flags) = join ' ', $makefile =~ /^(?:DIALECT|WARNINGS) +:= ([^\$\n]*)/mg;
    my $cuda = $has_cuda ? "-isystem $cuda_home/include -Lbuild/sim" : '-DGPUARENA_NO_CUDA';
    written('ten.c', $ten // '');
    is(scalar qx{gcc $flags -Werror $cuda ten.c @{[$has_cuda ? '-lcudart' : '']} -lpthread -o ten 2>&1}, '', 'the ten lines compile as they stand');
    my $ran = sub { my $said = qx{LD_LIBRARY_PATH=build/sim $_[0] ./ten 2>&1}; return ($? >> 8) . " $said" };
    if ($has_cuda) {
        is($ran->(''), '0 ', '.. and run');
        ok($ran->('GPUARENA_SIM=device=1G') =~ /^1 .*limit.*\d/, '.. and say why they do not');
    } else {
        skip('the ten lines on a device: no substitute for the CUDA runtime');
        ok($ran->('') =~ /^1 .*GPUARENA_NO_CUDA/, '.. and say why they do not run');
    }
} else {
    skip('no gcc');
}

# ---- findings of the substitute, to the letter
if ($has_cuda && $has{gcc}) {
    my ($shown) = $readme =~ /^(gpuarena sim: 2 findings:\n(?:  .*\n)+)/m;
    written('twice.c', $program =~ s/return.*/unsigned char bytes[16]; cudaMalloc(&block, 4096); cudaFree(block);\n    cudaMemcpy(bytes, block, 16, cudaMemcpyDeviceToHost); cudaFree(block); return 0;/r);
    is(scalar qx{gcc -isystem $cuda_home/include twice.c -Lbuild/sim -lcudart -lpthread && LD_LIBRARY_PATH=build/sim ./a.out 2>&1}, $shown, "the substitute's findings");
    is($? >> 8, 3, '.. and exit 3');
} else {
    skip('no substitute for the CUDA runtime');
}

# ---- the output of shrink
my ($shrunk, $left) = $readme =~ /^\$ build\/(stress shrink .*)\n((?:.+\n)+?)```/m;
my $again = qx{build/$shrunk 2>&1};
is(join("\n", grep { /^(?:before|after|repro)/ } split /\n/, $again), join("\n", grep { /^(?:before|after|repro)/ } split /\n/, $left // ''), 'what shrink says');
my ($sentence) = ($left // '') =~ /^(uniform.*)\.\.$/m;
ok($sentence && index($again, $sentence) == 0, '.. and of what');
chdir $project or die "$project: $!";

# ---- tables below their commands: cells that depend on no clock. A best cell is starred, and there is a blank line
# between workloads.
sub table_rows {
    my ($names, @lines) = grep { length } split /\n/, $_[0];
    my @names = split / {2,}/, $names // '';
    my @rows = map { [split / {2,}/, tr/*/ /r =~ s/ +$//r] } @lines;
    return map { my %row; @row{@names} = @$_; \%row } grep { @$_ == @names } @rows;
}

my @tables = $readme =~ /^    build\/stress ([^\n]*)\n\n```\n(workload  .*?)^```$/msg;
push @tables, 'run -w train,uniform -p raw,segments,paged --no-timing', $readme =~ /^set-up\. `make run` prints\n\n```\n(.*?)^```$/ms;
is(scalar @tables, 8, 'four tables');
$ENV{COLUMNS} = 200;
while (my ($command, $table) = splice @tables, 0, 2) {
    my @rows = table_rows($table);
    my $out = stress(split ' ', $command)->{out};
    my @printed = table_rows($out);
    my ($verdict, $printed) = map { join "\n", /^(\S+: least memory .*)$/mg } $table, $out;
    is($printed, $verdict, "$command: the verdict") if $verdict;
    my @columns = grep { exists $printed[0]{$_} && !/host/ } sort keys %{$rows[0]};
    my ($expected, $found) = map { join "\n", map { my $row = $_; join ' ', map { "$_=$row->{$_}" } @columns } @$_ } \@rows, \@printed;
    is($found, $expected, "$command: the table");
    ok(@columns >= 7 && @rows >= 3, 'most columns were compared');
}

# ---- the driver calls of the policies, in a sentence
my ($paged, $raw, $pytorch, $segments) = map { s/,//gr } $readme =~ /on the PanGu step ([\d,]+), where cudaMalloc makes ([\d,]+)\s+and PyTorch (\d+)\. Segments make (\d+)\./;
if (-e "$traces/intervals/somas_pangu_2.6B.csv") {
    my $step = stress(split / /, 'run -w replay:somas_pangu_2.6B.csv -p raw,segments,paged,pytorch --no-timing -q --out csv=-')->{out};
    my %calls = map { my @cells = split /,/; $cells[1] => $cells[11] } split /\n/, $step;
    is(join(' ', map { $_ // '' } @calls{qw(paged raw pytorch segments)}), "$paged $raw $pytorch $segments", 'driver calls of the PanGu step');
} else {
    skip('no recordings');
}

# ---- names: files
my (@broken, @links);
my %anchors;
sub anchors_of {
    my ($path) = @_;
    return $anchors{$path} //= { map { (lc =~ s/[^\w -]//gr =~ s/ /-/gr) => 1 } slurp($path) =~ /^#+ (.*)$/mg };
}
for my $document (@documents) {
    my $folder_of = $document =~ m{^(.*/)} ? $1 : '';
    for my $link (slurp($document) =~ /\]\(([^)]+)\)/g) {
        my ($path, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
        $path = length $path ? "$folder_of$path" =~ s{^[^/]+/\.\./}{}r : $document;
        push @broken, "$document: $link" if !-e $path || (length $anchor && !anchors_of($path)->{$anchor});
        push @links, $path;
    }
}
is("@broken", '', scalar(@links) . ' links lead somewhere');
my ($five) = $readme =~ /^## On your own workload\n[^`]*```sh\n(.*?)^```$/ms;
is(($five // '') =~ tr/\n//, 4, 'four commands from question to verdict');
my @files = (map { m{^(?:\./)?((?:tests|stress|examples|\.ci)/[\w./-]+)} ? $1 : m{^(test_\w+\.c|\w+\.t)$} ? "tests/{*,*/*}/$1" : m{^build/tests/(\w+)$} ? "tests/{*,*/*}/$1.c" : () } @spans);
push @files, $text =~ m{(?<![\w/])(tests/[\w.*/]+\.(?:c|t|pl))}g;
push @files, map { "tests/{*,*/*}/$_" } slurp('tests/README.md') =~ m{`((?:test_|schedule)[\w*]+\.[ch]|[\w*]+\.t)`}g;
my @missing = grep { my $path = $_; !-e $path && !(() = glob "$path*") } @files;
is("@missing", '', scalar(@files) . ' files exist');

# ---- names: options
my $help = stress('help')->{out};
my @topics = $help =~ /stress help \[((?:[\w|]|\n\s*)+)\]/ ? split /\|\s*/, $1 : ();
my %help = map { $_ => stress('help', $_)->{out} } @topics;
my %options = map { $_ => 1 } $help =~ /--([a-z-]+)/g;
$options{$_} = 1 for slurp('stress/import/torch_snapshot.py') =~ /["']--([a-z-]+)["']/g;
$options{$_} = 1 for slurp('stress/command/bench.c') =~ /--([a-z-]+)/g;
$options{$_} = 1 for slurp('stress/install/gpuarena-sim') =~ /^ +--([a-z-]+)/mg;
$options{$_} = 1 for qw(array dependency cudart);    # of Slurm and nvcc
my %asked = map { $_ => 1 } map { /(?<![\w-])--([a-z][a-z-]*)/g } @spans, @blocks, $text;
is(join(' ', grep { !$options{$_} } sort keys %asked), '', scalar(keys %asked) . ' options exist');
my %mentioned = map { $_ => 1 } map { /stress help ([a-z]+)/g } @spans, @commands;
is(join(' ', grep { !exists $help{$_} } sort keys %mentioned), '', scalar(keys %mentioned) . ' topics of help exist');

# ---- names: workloads, policies, keys, columns and the rest
my $list = stress('list')->{out};
my ($workloads, $policies) = $list =~ /^workloads\n(.*?)^policies\n(.*?)^devices/ms;
my @families = grep { !/^all$/ } $workloads =~ /^  ([a-z]+) /mg;
my @told = map { s/:FILE//r } $readme =~ /^\| `([a-z]+(?::FILE)?)` \| .* \| .* \|$/mg;
my @table = grep { my $name = $_; grep { $_ eq $name } @families } @told;
is(join(' ', sort @table), join(' ', sort @families), 'the table of workloads has each');
my ($version) = $header =~ /^#define GPUARENA_VERSION_TEXT\s+"(\d+\.\d+)/m;
is(join(' ', slurp('README.md') =~ /(?:Version |find_package\(gpuarena )(\d+\.\d+)/g), "$version $version", 'README names the version of the header');
my @numbers = qw(Ten Eleven Twelve Thirteen Fourteen Fifteen Sixteen Seventeen);
ok($readme =~ /\b$numbers[$#families - 10] workloads\b/i, @families - 1 . ' workloads that need no recording, as the beginning says');
my @models = $help{lists} =~ /^  ([\w-]+)(?:, \w+)?: model: /mg;
my ($of_models) = $readme =~ /^\| model \| .*\n\|.*\n((?:\|.*\n)+)/m;
is(join(' ', ($of_models // '') =~ /^\| `([\w-]+)`/mg), join(' ', @models), 'the table of models has each');
my ($keys) = stress(qw(run -w train -p config:nokey=1))->{err} =~ /nokey=1: no such key, expected (.+)$/m;
my ($told) = $header =~ /each key at most once; "" changes nothing\. Keys: (.*?)\./s;
is(join(' ', split ' ', $told // ''), $keys, 'the contract of gpuarena_config_parse has each key, in the order of the text');
my ($table_of_keys) = $readme =~ /^\| key \| values, default first \|\n\|.*\n((?:\|.*\n)+)/m;
my @told_keys = map { /^\| (.*?) \|/ ? $1 =~ /`(\w+)`/g : () } split /\n/, $table_of_keys // '';
is(join(' ', grep { my $key = $_; !grep { $_ eq $key } split ' ', $keys } @told_keys), '', "the table of keys has the library's alone");
ok(@told_keys >= 10, scalar(@told_keys) . ' keys are told of');
my @values = map { /^\| `(\w+)` \| (.*) \|$/ ? do { my $key = $1; map { "$key=$_" } $2 =~ /`([^`]+)`/g } : () } split /\n/, $table_of_keys // '';
s/^growth=.*\K/,limit=1G/ for @values;              # fixed takes the whole limit
is(join(' ', grep { stress('run', '-w', 'uniform:n=1', '-p', "config:$_", '--no-timing', '-q')->{code} } @values), '', scalar(@values) . ' of their values');
my $known = join "\n", $help, values %help, $list, $header, $makefile, slurp('stress/report/schema.json');
my @words = grep { /^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$/ } @spans;
is(join(' ', grep { $known !~ /(?<![a-z])\Q$_\E\b/ && !/^random_allocations$|^pool_memory_resource$/ } @words), '', scalar(@words) . ' columns and other names exist');
my @variables = grep { /^(?:GPUARENA|GITHUB)_[A-Z_]+$/ } @spans;
is(join(' ', grep { my $name = $_; !grep { /\b$name\b/ } $header, $help, $makefile, slurp('stress/cudart/options.c') } @variables), '', 'macros and variables exist');
done();

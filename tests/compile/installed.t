#!/usr/bin/perl
# The files that `make install` brings: their places, that they work there, under their own names, and that nothing is
# left by uninstall. CMake, pkg-config, the manual page and bash's completion as their users have them; a tool
# that is not installed here is skipped, and said. It must not test the effects of commands.
use strict;
use warnings;
use Cwd qw(abs_path getcwd);
require './tests/support/stress_run.pl';
our ($folder, $stress);

delete @ENV{qw(MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS DESTDIR PREFIX)};
my $build = $ENV{BUILD} || 'build';
my $cuda_home = built_with_cuda() ? $ENV{CUDA_HOME} : '/nonexistent';
my %has = map { $_ => !system("command -v $_ >/dev/null 2>&1") } qw(cc cmake pkg-config groff mandoc man bash python3);
$folder = abs_path($folder);

# The build is taken as it is, whatever flags made it; so make cannot see that the page is older.
unlink "$build/gpuarena-stress.1";
sub make {
    my @built = map { "-o$_" } glob("$build/{stress,sim/libcudart.so,stamp.*,gpuarena-sim,libcub-*.so,libcudart-sim.so,libgpuarena*.so}");
    my @words = ('make', @built, "BUILD=$build", defined $cuda_home ? "CUDA_HOME=$cuda_home" : (), @_);
    my $said = qx{@{[map { "'$_'" } @words]} 2>&1};
    is($?, 0, "make @_") or print "#   $_\n" for (split /\n/, $said)[-1];
    return $said;
}

# A command of the shell -> its output on stdout and stderr; $? is its status.
sub shell { return scalar qx{($_[0]) 2>&1 </dev/null} }

sub files_below { return sort grep { -f || -l } split /\n/, qx{find '$_[0]'} }

# ---- targets that cannot be built are named
ok(make('-s', 'toolkit', 'CUDA_HOME=/nonexistent') =~ m{ left out are .* examples/04_drop_in .* examples/14_cxx },
   'without a toolkit the examples that need one are named');

# ---- words for the linker are for all programs but nvcc's; words for the compiler also for nvcc, which would part
# them at commas
my @commands = split /\n/, qx{make -nB V=1 CFLAGS='-DTOLD -DPAIR=1,2' LDFLAGS=-Wl,-O7 'BUILD=$folder/none' @{[defined $cuda_home ? "CUDA_HOME='$cuda_home'" : '']} everything 2>&1} =~ s/\\\n//gr;
my @links = grep { / -o / && !/ -c |nvcc / } @commands;
is(join("\n", grep { /nvcc -/ && !/ -Xcompiler -DTOLD -Xcompiler -DPAIR=1\\\\,2 / } @commands), '', "CFLAGS are nvcc's, too");
is(join("\n", grep { !/ -Wl,-O7 / } @links), '', 'LDFLAGS are for every program and library');
ok(@links > 20, scalar(@links) . ' are linked');

# ---- in place, below DESTDIR; and gone again
my $root = "$folder/root";
make('install', "DESTDIR=$root", 'PREFIX=/usr');
my %there = map { s{^\Q$root\E}{}r => 1 } files_below($root);
my @expected = map { "/usr/$_" } qw(bin/gpuarena-stress include/gpuarena.h share/man/man1/gpuarena-stress.1
    share/pkgconfig/gpuarena.pc share/bash-completion/completions/gpuarena-stress share/gpuarena/recorder.h
    share/cmake/gpuarena/gpuarena-config.cmake share/cmake/gpuarena/gpuarena-config-version.cmake
    share/gpuarena/import/torch_snapshot.py share/gpuarena/report/schema.json
    share/gpuarena/python/gpuarena.py include/gpuarena.hpp),
    map { s{^stress/}{share/gpuarena/}r } glob 'stress/recordings/*';
is(join(' ', grep { !$there{$_} } @expected), '', scalar(@expected) . ' files are installed');
is(join(' ', grep { my $path = $_; !m{^/usr/lib/gpuarena/|/gpuarena-cuda\.pc$|/bin/gpuarena-sim$} && !grep { $_ eq $path } @expected } sort keys %there), '', '.. and no others');
make('uninstall', "DESTDIR=$root", 'PREFIX=/usr');
is(join(' ', files_below($root)), '', 'nothing is left by uninstall');

# ---- the program, under its own name
my $prefix = "$folder/usr";
make('install', "PREFIX=$prefix");
my $program = "$prefix/bin/gpuarena-stress";
my $built = abs_path($stress);
local $ENV{LD_LIBRARY_PATH} = join ':', "$prefix/lib/gpuarena/sim", $ENV{LD_LIBRARY_PATH} // ();
sub installed { local $stress = $program; return stress(@_) }
sub named { return $_[0] =~ s/(?<![\w\/.-])(?<!gpuarena )stress(?=[ :\n])/gpuarena-stress/gr }

my ($topics) = stress('help')->{out} =~ /stress help \[((?:[\w|]|\n\s*)+)\]/;
my @pages = ((map { ['help', $_] } split /\|\s*/, $topics // ''), ['help'], ['list'], ['batch', '--help']);
ok(@pages > 12, scalar(@pages) . ' pages');
for my $page (@pages) {
    my ($ours, $theirs) = (stress(@$page), installed(@$page));
    is($theirs->{out}, named($ours->{out}), "@$page: the installed program says its own name");
    ok($theirs->{out} !~ m{(?<![\w/.-])(?<!gpuarena )stress[ :]}, '.. alone');
}
for my $words (['run'], ['nonsense'], ['--nonsense'], ['-Z'], [qw(run -w train)], [qw(run -w train -p nonsense)],
               [qw(run -w uniform:n=9 -p raw --fail-if nonsense>1)], [qw(run -w uniform:n=9 -p raw --fail-if workload>1)],
               [qw(run -q -w uniform:n=9 -p raw --fail-if ops>1)], [qw(run -v --no-timing -w uniform:n=9 -p raw --steps 2)]) {
    my ($ours, $theirs) = (stress(@$words), installed(@$words));
    is("$theirs->{code} $theirs->{err}", "$ours->{code} " . named($ours->{err}), "@$words: so do its messages");
    ok($theirs->{err} =~ /^gpuarena-stress: /, '.. which begin with it');
}
my $failed = do { local $ENV{PATH} = "$prefix/bin:$ENV{PATH}"; shell('gpuarena-stress run -q -w uniform:n=9 -p raw --faults misaligned:2') };
ok($failed =~ /^repro: gpuarena-stress run -w uniform:n=9 -p raw /m, 'a line that shows a failure again begins with it') or print "#   $failed";
ok(installed(qw(run -w uniform:n=9 -p raw --no-timing))->{out} =~ /\(gpuarena-stress help costs\)/, '.. and what stands below a table does');
is(installed(qw(version))->{out}, stress(qw(version))->{out}, 'version');
ok(stress('nonsense')->{err} =~ /^stress: unknown command/, 'build/stress is called stress');

# ---- files that come along: those installed, not the checkout's
my $name = 'somas_resnet50.csv';
my @short = (qw(run -q -p raw --ops 20 --no-timing --out csv=-), '-w', "replay:$name");
sub elsewhere { my $home = getcwd(); chdir $folder or die; my $run = installed(@_); chdir $home or die; return $run }
is(elsewhere(@short)->{code}, 0, 'a recording is found by name');
rename "$prefix/share/gpuarena/recordings/$name", "$prefix/share/gpuarena/recordings/mine.csv";
is(elsewhere(@short[0 .. $#short - 1], 'replay:mine.csv')->{code}, 0, '.. in the installed folder');
rename "$prefix/share/gpuarena/recordings/mine.csv", "$prefix/share/gpuarena/recordings/$name";
if ($has{python3} && !system('python3 -c "import pickle, resource" 2>/dev/null')) {
    stress(qw(run -q -w uniform:n=30 -p paged --no-timing --out), "memviz=$folder/made.pickle");
    is(elsewhere(qw(run -q -p raw --no-timing -w replay:made.pickle))->{code}, 0, 'a snapshot is converted');
} else {
    skip('python3 is not installed');
}

# ---- users: a program that needs the header and threads, and one with CUDA
my $user = "#define GPUARENA_IMPLEMENTATION\n#include <gpuarena.h>\n#include <stdio.h>\nint main(void) { return puts(gpuarena_result_name(GPUARENA_OK)) < 0; }\n";
spew('user.c', $user);
my ($version) = slurp('gpuarena.h') =~ /^#define GPUARENA_VERSION_TEXT\s+"(.*)"/m;
my ($major, $minor, $patch) = split /\./, $version;

if ($has{'pkg-config'} && $has{cc}) {
    local $ENV{PKG_CONFIG_PATH} = "$prefix/share/pkgconfig";
    is(shell('pkg-config --modversion gpuarena'), "$version\n", 'pkg-config: the version is the header\'s');
    my $said = shell("cd '$folder' && cc -DGPUARENA_NO_CUDA user.c -o user_pc \$(pkg-config --cflags --libs gpuarena) && ./user_pc");
    is($said, "ok\n", '.. and a program is built with it');
} else {
    skip('pkg-config is not installed');
}

my $projects = 0;

# The text of a project -> the output of configuring, building and running it.
sub cmake {
    my ($find, $links) = @_;
    my $at = "$folder/cmake" . ++$projects;
    mkdir $at;
    my $cuda = $links =~ /cuda/ ? '' : "target_compile_definitions(user PRIVATE GPUARENA_NO_CUDA)\n";
    open my $file, '>', "$at/CMakeLists.txt" or die "$at: $!";
    print $file "cmake_minimum_required(VERSION 3.17)\nproject(user C)\n$find\nadd_executable(user ../user.c)\ntarget_link_libraries(user PRIVATE $links)\n$cuda";
    close $file or die;
    return shell("cd '$at' && cmake -S . -B out -DCMAKE_PREFIX_PATH='$prefix'" . (defined $cuda_home ? " -DCUDAToolkit_ROOT='$cuda_home'" : '') .
                 " && cmake --build out && echo run: && out/user");
}
if ($has{cmake} && $has{cc}) {
    my $found = cmake("find_package(gpuarena $major.$minor REQUIRED)\nmessage(STATUS \"version \${gpuarena_VERSION}\")", 'gpuarena::gpuarena');
    ok($found =~ /^run:\nok$/m, "CMake: find_package(gpuarena $major.$minor), and a program is built") or print map { "#   $_\n" } split /\n/, $found;
    ok($found =~ /-- version \Q$version\E$/m, '.. of the header\'s version');
    my @refused = ($major + 1, $major . '.' . ($minor + 1), "$major.$minor." . ($patch + 1), $major ? () : $minor ? "$major." . ($minor - 1) : ());
    my @asked = map { "find_package(gpuarena $_ QUIET)\nmessage(STATUS \"$_: found \${gpuarena_FOUND}\")" } @refused, "$version EXACT", $major;
    my $told = cmake(join("\n", @asked, 'find_package(gpuarena REQUIRED)'), 'gpuarena::gpuarena');
    is(join(' ', $told =~ /^-- ([\d.]+): found 0$/mg), "@refused", 'other versions are refused: what they promise is another');
    is(join(' ', $told =~ /^-- ([\d.]+(?: EXACT)?): found 1$/mg), "$version EXACT $major", '.. and the own is found');
    ok(cmake('find_package(gpuarena REQUIRED COMPONENTS nonsense)', 'gpuarena::gpuarena') =~ /there is no component nonsense, only\s+cuda/, 'an unknown component is refused');
    if (built_with_cuda() && cmake('find_package(CUDAToolkit)', '') =~ /Found CUDAToolkit/) {
        my ($find, $links) = slurp('README.md') =~ /^```cmake\n(find_package\(.*?\)).*\ntarget_link_libraries\(program PRIVATE (\S+)\)/m;
        $found = cmake($find, $links);
        ok($found =~ /^run:\nok$/m, 'gpuarena::cuda by the lines of README: a program that speaks to CUDA is built') or print map { "#   $_\n" } split /\n/, $found;
    } else {
        skip('CMake finds no CUDA Toolkit');
    }
} else {
    skip('cmake is not installed');
}

# ---- the manual page
my $page = "$prefix/share/man/man1/gpuarena-stress.1";
my $help = installed('help')->{out};
my $manual = slurp($page) =~ s/\\-/-/gr;
is(join(' ', grep { $manual !~ /^\.B (?:-\w, )?\Q$_\E(?: |$)/m } $help =~ /^  (?:-\w, |    )(--[a-z-]+)/mg), '', 'the manual has every option');
ok($manual =~ /^\.SH "(?:NAME|SYNOPSIS|OPTIONS|EXAMPLES|ENVIRONMENT)"$/m && $manual =~ /\Qgpuarena $version\E/, '.. and the version');
if ($has{groff}) { is(shell("groff -man -Tutf8 -ww -z '$page'"), '', 'groff has nothing to say of it') } else { skip('groff is not installed') }
if ($has{mandoc}) { ok(shell("mandoc -Tlint -Werror '$page'") !~ /ERROR/, 'nor mandoc') } else { skip('mandoc is not installed') }
if ($has{man}) { ok(shell("MANWIDTH=100 man -l '$page'") =~ /gpuarena-stress run -w/, 'man shows it') } else { skip('man is not installed') }

# ---- completion
sub completed {
    my ($line) = @_;
    my $script = spew('complete.sh', <<'END');
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
read -r -a COMP_WORDS <<<"$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_gpuarena_stress gpuarena-stress
printf '%s\n' "${COMPREPLY[@]}"
END
    local $ENV{PATH} = "$prefix/bin:$ENV{PATH}";
    chomp(my @all = qx{cd '$folder' && bash --norc '$script' '$prefix/share/bash-completion/completions/gpuarena-stress' '$line' 2>&1});
    return join ' ', @all;
}
if ($has{bash}) {
    my ($families) = installed('list', 'workloads')->{out} =~ /^workloads\n(.*)/ms;
    my @families = $families =~ /^  ([a-z]+) /mg;
    my @policies = installed('list', 'policies')->{out} =~ /^  ([A-Za-z][\w-]+) /mg;
    is(completed('gpuarena-stress '), join(' ', sort qw(run capacity batch shrink holes costs compare merge list help version)), 'completion: commands');
    is(completed('gpuarena-stress c'), 'capacity compare costs', '.. that begin so');
    is(completed('gpuarena-stress run -w '), join(' ', @families), '.. workloads');
    is(completed('gpuarena-stress run -w train,uni'), 'train,uniform', '.. of a list');
    is(completed('gpuarena-stress run -p '), join(' ', @policies), '.. policies');
    is(completed('gpuarena-stress run -p raw,pytorch'), 'raw,pytorch raw,pytorch-expandable', '.. of a list');
    is(completed('gpuarena-stress run --verify '), 'off sample full', '.. what an option may be');
    is(completed('gpuarena-stress run --no-'), '--no-timing', '.. options');
    is(completed('gpuarena-stress run --out h'), 'html=', '.. kinds of output');
    is(completed('gpuarena-stress run -w replay:somas_r'), 'somas_resnet50.csv', '.. recordings');
    is(completed('gpuarena-stress run -w replay:user.'), 'user.c', '.. and files');
    is(completed('gpuarena-stress help mea'), 'measuring', '.. topics of help');
    is(completed('gpuarena-stress list '), 'workloads policies devices', '.. and of list');
    is(completed('gpuarena-stress compare user.'), 'user.c', '.. else files');
} else {
    skip('bash is not installed');
}
make('uninstall', "PREFIX=$prefix");
is(join(' ', files_below($prefix)), '', 'nothing is left');
done();

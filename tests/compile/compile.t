#!/usr/bin/perl
# Compiles gpuarena.h in every language, mode and compiler at hand, then looks at names and macros that it shows, and
# at lines of sources. It must not know the effects of functions; the programs are in tests/compile. A missing
# compiler is skipped aloud.
# Run: make test TESTS=tests/compile/compile.t (CUDA_FLAGS: how to find the CUDA Toolkit; GPUARENA_JOBS=N compilers at
# a time)
use strict;
use warnings;
use File::Find qw(find);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use Time::HiRes qw(time);

my $root   = "$FindBin::Bin/../..";
my $header = "$root/gpuarena.h";
my $dir    = tempdir(CLEANUP => 1);
my @strict = qw(-Wall -Wextra -pedantic -Wconversion -Wshadow -Wcast-qual -Wundef -Werror);
my @posix  = '-D_POSIX_C_SOURCE=200809L';
my $define = '-DGPUARENA_IMPLEMENTATION';
my @cuda   = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';
my $none   = '-DGPUARENA_NO_CUDA';
my $toolkit = !grep { $_ eq $none } @cuda;
my $others  = $ENV{GPUARENA_CUDA_TOOLKITS} // ($ENV{BUILD} // "$root/build") . '/cuda_toolkits';
my $jobs   = $ENV{GPUARENA_JOBS} || `getconf _NPROCESSORS_ONLN 2>/dev/null` || 1;
my ($log_count, $object_count) = (0, 0);

# ---- running compilers, several at a time

sub slurp { my ($path) = @_; local (@ARGV, $/) = ($path); return scalar <> // '' }

sub spawn {
    my ($output, @command) = @_;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    open STDIN, '<', '/dev/null';
    open STDOUT, '>', $output;
    open STDERR, '>&', \*STDOUT;
    exec { $command[0] } @command or print("$command[0]: $!\n"), exit 127;
}

# Runs the commands of all jobs that have not run, $jobs at a time; each gets {status}, {output} and {seconds}.
sub run_all {
    my @waiting = grep { !defined $_->{status} } @_;
    my %running;
    while (@waiting || %running) {
        while (@waiting && keys %running < $jobs) {
            my $job = shift @waiting;
            next if $job->{log};                                     # it is there twice
            $job->{log} = sprintf '%s/log.%d', $dir, ++$log_count;
            $job->{start} = time;
            $running{ spawn($job->{log}, @{ $job->{command} }) } = $job;
        }
        my $job = %running ? delete $running{ wait() } : undef or next;
        $job->{status} = $?;
        $job->{seconds} = time - $job->{start};
        $job->{output} = slurp($job->{log});
        unlink $job->{log};
    }
}

sub run { my $job = { command => [@_] }; run_all($job); return ($job->{status}, $job->{output}) }

# One line of TAP for all compilations of one mode by one compiler; errors follow.
sub report {
    my ($name, @of_mode) = @_;
    my @bad = grep { $_->{status} } @of_mode;
    ok(!@bad && @of_mode, sprintf '%s (%d compilations)', $name, scalar @of_mode);
    diag(join(' ', @{ $_->{command} }), "\n", substr $_->{output}, 0, 1500) for @bad;
}

# ---- which compilers

sub probe {
    my (@command) = @_;
    open my $source, '>', "$dir/probe.c" or die;
    print {$source} "#include <stdlib.h>\nint main(void) { return 0; }\n";
    close $source;
    my ($status) = run(@command, "$dir/probe.c", '-o', "$dir/probe");
    return $status == 0;
}

my @compilers;
for (['gcc', 'C'], ['clang', 'C'], ['g++', 'C++'], ['clang++', 'C++']) {
    my ($program, $language) = @$_;
    my @command = ($program, '-x', lc $language);
    if (probe(@command)) { push @compilers, { name => $program, language => $language, command => \@command } }
    else                 { SKIP: { skip "$language with $program: not found", 1 } }
}
my $has_clang = grep { $_->{name} eq 'clang' } @compilers;
my %standards = (
    'C'   => [map { ["-std=$_"] } qw(c99 c17)],
    'C++' => [['-std=c++98', '-Wno-long-long'], map { ["-std=$_"] } qw(c++17 c++20)],      # C++11: cuda_life.t
);

# ---- the matrix: every mode by every compiler. A mode is a file and the macros that are added for it.
# All is only parsed, to save time: by every standard of gcc and g++ where nothing is added; else by the first, for
# the header asks for no standard. gcc sees unused functions only as it makes an object; clang sees them when it
# parses, and to C++ they are the same functions. So gcc makes objects of the first standard where there is no clang,
# and clang++ parses only modes without a macro.

my @modes = (
    ['plain user',                   'user.c'],
    ['plain user, own stream type',  'user.c',           '-DGPUARENA_STREAM=void *'],
    ['implementation',               'implementation.c'],
    ['implementation, no threads',   'implementation.c', '-DGPUARENA_NO_THREADS'],
    ['implementation, NDEBUG',       'implementation.c', '-DNDEBUG'],
    ['implementation, own stream',   'implementation.c', '-DGPUARENA_STREAM=void *'],
    ['implementation, no CUDA',      'implementation.c', $none],
    ['static, no CUDA, no threads',  'static.c',         $none, '-DGPUARENA_NO_THREADS'],
    ['included before and after',    'twice.c'],
    ['static',                       'static.c'],
    ['static, said twice',           'static.c',         $define],
    ['static, no threads',           'static.c',         '-DGPUARENA_NO_THREADS'],
    ['own malloc, free and assert',  'hooks.c'],
    ['own malloc, free, NDEBUG',     'hooks.c',          '-DNDEBUG'],
);
my @modes_of_c = (
    ['over the locks of a test',         'locks.c'],
    ['an example, whole',                '../../examples/04_drop_in.c'],
);
my @modes_of_cxx = (
    ['user inside extern "C"',           'inside_extern_c.cc'],
    ['implementation inside extern "C"', 'inside_extern_c.cc', $define],
);

sub middle_standard { my ($compiler) = @_; return $compiler->{language} eq 'C' ? ['-std=c99'] : ['-std=c++17'] }

# A compilation, which runs once however many ask for it, and whose object stays.
my %job_of;

sub job_of {
    my ($compiler, $standard, $file, @flags) = @_;
    @flags = grep { $_ ne '-O0' } @flags;                            # as it is without
    my @command = (@{ $compiler->{command} }, @$standard, @strict, @posix, "-I$root", @cuda, @flags);
    return $job_of{"@command $file"} //= do {
        my $object = sprintf '%s/object.%d.o', $dir, ++$object_count;
        { object => $object, command => [@command, '-c', "$FindBin::Bin/$file", '-o', $object] };
    };
}

# Sources of which other checks make objects, by the middle standard: none of these is parsed besides.
my @made = ('user.c', 'implementation.c', "implementation.c $none", 'hooks.c');

sub look_at {
    my ($compiler, $standard, @how) = @_;
    my $is_made = "@$standard" eq "@{ middle_standard($compiler) }" && grep { $_ eq "@how" } @made;
    return job_of($compiler, $standard, @how, $is_made ? () : '-fsyntax-only');
}

sub test_matrix {
    my ($compiler) = @_;
    my (%of_mode, @all);
    my @mine = (@modes, $compiler->{language} eq 'C++' ? @modes_of_cxx : @modes_of_c);
    @mine = grep { @$_ == 2 } @mine if $compiler->{name} eq 'clang++';
    for my $mode (@mine) {
        my ($name, @how) = @$mode;
        my ($first, @further) = @{ $standards{ $compiler->{language} } };
        @further = () if @how > 1 || $compiler->{name} =~ /clang/;
        my $in_full = $compiler->{name} eq 'gcc' && !$has_clang;
        $of_mode{$name} = [$in_full ? job_of($compiler, $first, @how) : look_at($compiler, $first, @how),
                           map { look_at($compiler, $_, @how) } @further];
        push @all, @{ $of_mode{$name} };
    }
    run_all(@all);
    report("$compiler->{name}: $_->[0]", @{ $of_mode{ $_->[0] } }) for @mine;
}

# Optimised, where compilers see more: by the first of them, for that takes long, and gcc is the one that warns there.
# The stress program is optimised too, by whatever compiler builds it; the substitute, whose calls fill the memory
# they are given, at -O3.
sub test_optimised {
    my ($compiler) = @_;
    my @all = map { job_of($compiler, middle_standard($compiler), $_, '-O2') } qw(user.c implementation.c);
    my @substitute = map { s{^\Q$root\E/}{../../}r } $toolkit ? glob "$root/stress/cudart/*.c" : ();
    push @all, map { job_of($compiler, middle_standard($compiler), $_, '-O3') } @substitute;
    run_all(@all);
    report("$compiler->{name}: optimised", @all);
    note(sprintf '%s: the implementation compiles at -O2 in %.2f s', $compiler->{name}, $all[1]{seconds});
}

# Without the POSIX macro, as many programs are compiled.
sub test_no_posix {
    my ($compiler) = @_;
    my @flags = ('-U_POSIX_C_SOURCE', '-fsyntax-only');
    my $bare = job_of($compiler, middle_standard($compiler), 'implementation.c', @flags);
    my $default = job_of($compiler, [], 'implementation.c', @flags);
    run_all($bare, $default);
    report("$compiler->{name}: no POSIX macro, default standard", $bare, $default);
}

sub test_32_bit {
    my ($compiler) = @_;
    SKIP: {
        skip "$compiler->{name}: 32 bits: no libc for it", 1 unless probe(@{ $compiler->{command} }, '-m32');
        my @all = map { job_of($compiler, middle_standard($compiler), $_, '-m32', $none) } qw(user.c implementation.c);
        run_all(@all);
        report("$compiler->{name}: 32 bits", @all);
    }
}

# ---- linking: the implementation in one file, the user in another, of the same language or not

# One object for each [compiler, file, flags], several at a time.
sub objects_of {
    my @wanted = map { my ($compiler, @how) = @$_; job_of($compiler, middle_standard($compiler), @how) } @_;
    run_all(@wanted);
    diag($_->{output}) for grep { $_->{status} } @wanted;
    return map { $_->{object} } @wanted;
}

sub test_program {
    my ($name, $linker, @objects) = @_;
    my ($status, $output) = run($linker, @objects, '-o', "$dir/program", '-lpthread');
    ($status, $output) = run("$dir/program") if $status == 0;
    is($status, 0, $name) or diag($output);
}

sub test_links {
    my @made = objects_of(map { ([$_, 'user.c'], [$_, 'implementation.c', $none], [$_, 'static.c', $none]) }
                           @compilers);
    my @objects;
    for my $compiler (@compilers) {
        my ($user, $implementation, $static) = splice @made, 0, 3;
        push @objects, { compiler => $compiler, user => $user, implementation => $implementation, static => $static };
    }
    for my $first (@objects) {
        my ($user, $linker) = ($first->{compiler}{language}, $first->{compiler}{name});
        test_program("$linker: a static copy runs", $linker, $first->{static});
        test_program("$linker: two files linked, and it runs", $linker, @$first{qw(user implementation)});
        for my $other (grep { $_->{compiler}{language} ne $user } @objects) {
            next if ($first->{compiler}{name} =~ /clang/) != ($other->{compiler}{name} =~ /clang/);
            test_program("user by $linker, implementation by $other->{compiler}{name}, and it runs",
                         $user eq 'C' ? $other->{compiler}{name} : $linker, $first->{user}, $other->{implementation});
        }
    }
}

# ---- names that the objects show, and names that they need

# Every function of the header's own declarations; a misspelt guard would leave them undefined.
sub api_names {
    my %seen;
    return grep { !$seen{$_}++ } slurp($header) =~ /^GPUARENA_API\s[^;{(]*?\b(gpuarena_\w+)\s*\(/mg;
}

# name => nm's letter, of external names: those defined, or those asked for.
sub symbols {
    my ($object, $which) = @_;
    my ($status, $output) = run('nm', '-g', $which, $object);
    return $status ? ('nm failed' => $output) : map { /(\S)\s+(\S+)$/ ? ($2, $1) : () } split /\n/, $output;
}

sub test_names {
    my ($compiler) = @_;
    my $name = $compiler->{name};
    my @api = api_names();
    my @optimise = ('-O0', $compiler == $compilers[0] ? '-O2' : ());
    my @extern = objects_of(map { [$compiler, 'implementation.c', $_] } @optimise);
    my ($last, $hooks) = ($extern[-1], objects_of([$compiler, 'hooks.c', '-O0']));
    for my $optimise (@optimise) {
        my $extern = shift @extern;
        my %defined = symbols($extern, '--defined-only');
        is_deeply([grep { ($defined{$_} // '') ne 'T' } @api], [], "$name $optimise: all of the API is there, as T");
        is_deeply([grep { !/^gpuarena_[a-z]/ } sort keys %defined], [],
                  "$name $optimise: every external name has the prefix");
        is_deeply([grep { my $n = $_; !grep { $n eq $_ } @api } sort keys %defined], [],
                  "$name $optimise: no external name beyond the API");
    }
    my %static = symbols(objects_of([$compiler, 'static.c', $none]), '--defined-only');
    is_deeply([sort keys %static], ['main'], "$name: a static copy shows nothing");
    my %asked = symbols($last, '--undefined-only');
    my $loud = qr/^_*(v?f?printf|puts|putchar|fputs|fputc|fwrite|write|perror|abort|exit|assert_fail)(_chk)?$/;
    is_deeply([grep { /$loud/ } sort keys %asked], [], "$name: nothing that prints, aborts or exits is called");
    ok($asked{malloc} && $asked{free}, "$name: malloc and free by default");
    my %hooked = symbols($hooks, '--undefined-only');
    ok($hooked{own_allocate} && $hooked{own_release}, "$name: GPUARENA_MALLOC and GPUARENA_FREE are called");
    is_deeply([grep { /^(malloc|calloc|realloc|free|aligned_alloc|posix_memalign)$/ } sort keys %hooked], [],
              "$name: and nothing else allocates on the host");
}

# ---- macros and contradictions

sub macros {
    my ($compiler, $source) = @_;
    open my $file, '>', "$dir/macros.c" or die;
    print {$file} $source;
    close $file;
    my ($status, $output) = run(@{ $compiler->{command} }, @posix, "-I$root", @cuda, '-dM', '-E', "$dir/macros.c");
    return $status ? ("compiler failed: $output") : $output =~ /^#define (\w+)/mg;
}

sub test_macros {
    my ($compiler) = @_;
    my @includes = grep { $toolkit || !/cuda/ } slurp($header) =~ /^\s*#\s*include\s*(<\w[\w\/.]*>)/mg;
    my %theirs = map { $_ => 1 } macros($compiler, join '', map { "#include $_\n" } @includes);
    my @ours = grep { !$theirs{$_} } macros($compiler, "#define GPUARENA_IMPLEMENTATION\n#include \"gpuarena.h\"\n");
    cmp_ok(scalar @ours, '>', 10, "$compiler->{name}: macros of the header are seen");
    is_deeply([grep { !/^GPUARENA_[A-Z]/ } @ours], [], "$compiler->{name}: no private or unprefixed macro is left");
}

# Programs that must not compile, and the words that say why.
sub test_refusals {
    my ($compiler) = @_;
    my $hooks = qr/error.*GPUARENA_MALLOC.*GPUARENA_FREE/;
    for (['-DGPUARENA_MALLOC=malloc', $hooks], ['-DGPUARENA_FREE=free', $hooks],
         ['-fshort-enums', qr/error.*gpuarena_enums_are_32_bits/]) {
        my ($flag, $says) = @$_;
        my $job = job_of($compiler, $standards{ $compiler->{language} }[0], 'implementation.c', $flag, qw(-w -fsyntax-only -Wfatal-errors));
        run_all($job);
        ok($job->{status} != 0, "$compiler->{name} $flag alone is refused");
        like($job->{output}, $says, "$compiler->{name} $flag alone: it says why");
    }
}

# CUDA is asked for, and its header is not found: a copy asks for one that is nowhere, as some machines find the real one.
sub test_no_toolkit {
    my ($compiler) = @_;
    (my $copy = slurp($header)) =~ s/cuda_runtime_api/no_such_runtime_api/g;
    open my $file, '>', "$dir/no_toolkit.c" or die;
    print {$file} "$copy\n";
    close $file;
    my ($status, $output) = run(@{ $compiler->{command} }, @posix, $define, qw(-fsyntax-only -Wfatal-errors),
                                "$dir/no_toolkit.c");
    ok($status != 0, "$compiler->{name}: without the CUDA Toolkit it does not compile by itself");
    like($output, qr/error.*GPUARENA_NO_CUDA/, "$compiler->{name}: and says what to do");
}

# Parsed with the headers of other toolkits than the one installed: the names that an object needs are equal with
# each. That programs run on a substitute which was built with them is asked in rounds of .ci/run; .ci/cuda_toolkits
# fetches them.
sub test_other_toolkits {
    my ($compiler) = @_;
    my $standard = $compiler->{language} eq 'C' ? ['-std=c99'] : ['-std=c++11'];
    for my $version (qw(11.8 12.9)) {
        SKIP: {
            skip "$compiler->{name}: no headers of CUDA $version in $others", 1 unless -e "$others/$version/include/cuda_runtime_api.h";
            my @installed = @cuda;
            @cuda = ('-isystem', "$others/$version/include");
            my @all = map { job_of($compiler, $standard, 'implementation.c', '-fsyntax-only', $_ . 'CUDA_API_PER_THREAD_DEFAULT_STREAM') } '-U', '-D';
            @cuda = @installed;
            run_all(@all);
            report("$compiler->{name}: CUDA $version", @all);
        }
    }
}

# With the toolkit its calls are made, and by no other name than the runtime's; without, none is.
sub test_runtime_calls {
    my ($compiler) = @_;
    my ($without, $with) = objects_of([$compiler, 'implementation.c', $none], [$compiler, 'implementation.c']);
    my %asked = symbols($without, '--undefined-only');
    is_deeply([grep { /^cu/ } sort keys %asked], [], "$compiler->{name}: without CUDA nothing of CUDA is called");
    SKIP: {
        skip "$compiler->{name}: no CUDA Toolkit", 1 unless $toolkit;
        %asked = symbols($with, '--undefined-only');
        is_deeply([map { s/EntryPointByVersion$/EntryPoint/r } grep { /^cu/ } sort keys %asked],     # by toolkit
                  [qw(cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess cudaDeviceSynchronize
                      cudaEventCreateWithFlags cudaEventDestroy cudaEventQuery cudaEventRecord cudaEventSynchronize
                      cudaFree cudaFreeAsync cudaFreeHost cudaGetDevice cudaGetDeviceCount cudaGetDriverEntryPoint
                      cudaGetErrorName cudaGetLastError cudaHostAlloc cudaIpcCloseMemHandle cudaIpcGetMemHandle
                      cudaIpcOpenMemHandle cudaMalloc cudaMallocFromPoolAsync cudaMallocManaged cudaMemGetInfo
                      cudaMemPoolCreate cudaMemPoolDestroy cudaMemsetAsync cudaPeekAtLastError cudaSetDevice
                      cudaStreamIsCapturing cudaStreamWaitEvent cudaThreadExchangeStreamCaptureMode)],
                  "$compiler->{name}: with it, these calls of the runtime alone");
    }
}

# ---- the text of the header

sub test_text {
    my $text = slurp($header);
    my ($contents) = $text =~ />>toc\b(.*?)>>manual =/s;
    my @tags = ($contents // '') =~ />>([a-z]+)/g;
    cmp_ok(scalar @tags, '>=', 15, 'the table of contents lists sections');
    my %times;
    $times{$_}++ for $text =~ />>([a-z]+)/g;
    my @odd = map { "$_: $times{$_}" } grep { $times{$_} != 2 } sort keys %times;
    is_deeply(\@odd, [], 'every tag occurs exactly twice');
    my @lines = split /\n/, $text;
    is_deeply([grep { length $lines[$_ - 1] > 110 } 1 .. @lines], [], 'no line is longer than 110 columns');
    is_deeply([grep { $lines[$_ - 1] =~ /\s$|\t/ } 1 .. @lines], [], 'no tab, no space at the end of a line');
    is_deeply([grep { $lines[$_ - 1] =~ /^\s*(?:import|module)\s*(?:->|=)/ } 1 .. @lines], [],
              'no line begins as a directive of C++20, of which nvcc warns');
    my ($version) = $text =~ /GPUARENA_VERSION_TEXT\s+"([^"]+)"/;
    my @numbers = map { $text =~ /GPUARENA_VERSION_$_\s+(\d+)/ } qw(MAJOR MINOR PATCH);
    is($version, join('.', @numbers), 'the version is the same as text and as numbers');
    like($lines[0], qr/gpuarena\.h \Q$version\E:/, 'and in the first line');
}

# ---- the text of all else in C

sub test_sources {
    my @files = sort map { glob "$_/*.[ch]" } qw(stress stress/* tests/* tests/*/* examples examples/*);
    my @there;
    find({ no_chdir => 1, wanted => sub { push @there, $_ if /\.[ch]\z/ } }, qw(stress tests examples));
    ok(scalar @there, 'there are sources');
    is_deeply(\@files, [sort @there], 'all of them are looked at, in whatever folder they are');
    my @wide;
    for my $path (@files) {
        my @lines = split /\n/, slurp($path);
        push @wide, map { "$path:$_" } grep { length $lines[$_ - 1] > 118 || $lines[$_ - 1] =~ /\s$|\t/ } 1 .. @lines;
    }
    is_deeply(\@wide, [], 'no line is longer than 118 columns, or has a tab, or a space at its end');
}

test_text();
test_sources();
cmp_ok(scalar(my @names = api_names()), '>=', 20, 'functions are found in the declarations');
for my $compiler (@compilers) {
    test_matrix($compiler);
    test_optimised($compiler) if $compiler == $compilers[0];
    test_no_posix($compiler);
    test_32_bit($compiler);
    test_names($compiler);
    test_macros($compiler);
    test_refusals($compiler);
    test_no_toolkit($compiler);
    test_runtime_calls($compiler);
    test_other_toolkits($compiler);
}
test_links();
done_testing();

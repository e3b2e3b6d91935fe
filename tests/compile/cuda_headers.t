#!/usr/bin/perl
# Compiles gpuarena.h and the libcudart substitute against the headers of other CUDA Toolkits than the one installed, in
# C and C++, and links the substitute under that toolkit's name. .ci/cuda_toolkits fetches them; without, skipped.
# Run: .ci/cuda_toolkits build/cuda_toolkits && make test TESTS=tests/compile/cuda_headers.t
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $root   = "$FindBin::Bin/../..";
my $folder = $ENV{GPUARENA_CUDA_TOOLKITS} // ($ENV{BUILD} // 'build') . '/cuda_toolkits';
my $dir    = tempdir(CLEANUP => 1);
my @strict = qw(-Wall -Wextra -pedantic -Wconversion -Wshadow -Wcast-qual -Wundef -Werror -D_POSIX_C_SOURCE=200809L);
my @found  = grep { -e "$_/cuda_runtime_api.h" } map { "$folder/$_/include" } qw(11.8 12.9);

plan skip_all => "no headers of other CUDA Toolkits in $folder: .ci/cuda_toolkits gets them" unless @found;

sub compile {
    my ($include, $source, $object, @command) = @_;
    my $log = "$dir/log";
    my $line = join ' ', map { "'$_'" } @command, @strict, '-isystem', $include, "-I$root", '-c', $source, '-o', $object;
    my $status = system("$line >$log 2>&1");
    return 1 if $status == 0;
    open my $file, '<', $log or die "$log: $!";
    diag($line, "\n", grep { defined } (<$file>)[0 .. 9]);
    return 0;
}

sub has { my ($program) = @_; return system("command -v $program >/dev/null 2>&1") == 0 }

# Parsed: what an object needs beyond is the same with every toolkit, and tests/compile/compile.t makes it.
sub test_header {
    my ($version, $include) = @_;
    for (['gcc', '-std=c99'], ['clang', '-std=c99'], ['g++', '-x', 'c++', '-std=c++11'], ['clang++', '-x', 'c++', '-std=c++20']) {
        SKIP: {
            skip "CUDA $version: no $_->[0]", 2 unless has($_->[0]);
            for my $mode ('-UCUDA_API_PER_THREAD_DEFAULT_STREAM', '-DCUDA_API_PER_THREAD_DEFAULT_STREAM') {
                ok(compile($include, "$FindBin::Bin/implementation.c", "$dir/header.o", @$_, '-fsyntax-only', $mode),
                   "CUDA $version: the header by @$_ $mode");
            }
        }
    }
}

# All of the substitute, and a program linked with it: what one toolkit renames must be there under that name.
sub test_substitute {
    my ($version, $include) = @_;
    my @sources = (glob("$root/stress/{sim,cudart}/*.c $root/stress/base/{array,problem,slice,splitmix64,treap}.c"));
    my @objects = map { "$dir/substitute.$_.o" } 0 .. $#sources;     # two folders have files of one name
    my @bad = grep { !compile($include, $sources[$_], $objects[$_], 'gcc', '-std=c99', '-fPIC', '-fvisibility=hidden') }
              0 .. $#sources;
    is_deeply([map { $sources[$_] } @bad], [], "CUDA $version: the substitute compiles") or return;
    is(system('gcc', '-shared', @objects, '-o', "$dir/libcudart.so", '-lpthread', '-lm', '-Wl,-z,defs'), 0,
       "CUDA $version: the substitute links");
    ok(compile($include, "$FindBin::Bin/implementation.c", "$dir/header.o", 'gcc', '-std=c99'),
       "CUDA $version: the header once more");
    open my $main, '>', "$dir/main.c" or die;
    print {$main} "#include \"gpuarena.h\"\nint main(void)\n{\n    gpuarena *arena; void *ptr;\n",
        "    return gpuarena_create(NULL, &arena) || gpuarena_alloc(arena, &ptr, 1000, NULL)\n",
        "        || gpuarena_free(arena, ptr, NULL) || gpuarena_destroy(arena);\n}\n";
    close $main;
    is(system('gcc', "-I$root", "$dir/main.c", "$dir/header.o", '-o', "$dir/main", "-L$dir", '-lcudart', '-lpthread',
              "-Wl,-rpath,$dir"), 0, "CUDA $version: a program links with it");
    is(system("$dir/main"), 0, "CUDA $version: and runs");
}

for my $include (@found) {
    my ($version) = $include =~ m{([0-9.]+)/include$};
    test_header($version, $include);
    test_substitute($version, $include);
}
done_testing();

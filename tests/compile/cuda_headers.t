#!/usr/bin/perl
# Compiles gpuarena.h against the headers of other CUDA Toolkits than the one installed, in C and C++. The libcudart
# substitute is built with them, and programs run on it, in rounds of .ci/run. .ci/cuda_toolkits fetches them; without, skipped.
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

for my $include (@found) {
    my ($version) = $include =~ m{([0-9.]+)/include$};
    test_header($version, $include);
}
done_testing();

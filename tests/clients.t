#!/usr/bin/perl
# Compiles programs of users against gpuarena.h, by the script that lies with them, and runs the one that captures a
# graph on the libcudart substitute. It must not know how the header does what they ask for.
# Run: make test TESTS=tests/clients.t (GPUARENA_CLIENTS: their folder, default ../shared/clients)
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $build   = $ENV{BUILD} // 'build';
my $root    = "$FindBin::Bin/..";
my $clients = $ENV{GPUARENA_CLIENTS} // "$root/../shared/clients";
my $dir     = tempdir(CLEANUP => 1);
my @cuda    = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';
my $toolkit = !grep { $_ eq '-DGPUARENA_NO_CUDA' } @cuda;

# what each needs beside a compiler
my %needs = (
    '01_quickstart.c' => '',    '01_quickstart.cu' => 'nvcc', '03_adapters.cu' => 'nvcc', '04_cupy.c'    => '',
    '06_capture.c'    => 'cuda', '09_error.c'      => '',     '11_threads.c'   => '',     '16_cxx98.cc' => '',
    '17_lambda.cc'    => '',
);

plan skip_all => "no client programs in $clients: set GPUARENA_CLIENTS" unless -e "$clients/build.sh";

sub missing_for {
    my ($client) = @_;
    return 'the CUDA Toolkit' if $needs{$client} && !$toolkit;
    return 'nvcc' if $needs{$client} eq 'nvcc' && system('nvcc --version >/dev/null 2>&1');
    return -e "$clients/$client" ? '' : 'the file';
}

sub compiles {
    my ($client) = @_;
    my $output = qx(bash '$clients/build.sh' '$root' '$client' 2>&1);
    my $status = $?;
    SKIP: {
        skip("$client: no compiler for it", 1) if $output =~ /^0 passed, 0 failed/m;
        is($status, 0, "$client compiles") or diag($output);
    }
}

sub captures {
    my @sanitize = qx(nm -D "$build/libcudart-sim.so" 2>/dev/null | grep -c __asan_init) > 0
        ? '-fsanitize=address,undefined' : ();
    my @strict = qw(-std=c99 -Wall -Wextra -pedantic -D_POSIX_C_SOURCE=200809L);
    my @command = (split(' ', $ENV{CC} // 'gcc'), @strict, @sanitize, @cuda, "-I$root", "$clients/06_capture.c",
                   "$FindBin::Bin/clients/capture_main.c", '-o', "$dir/capture", "-L$build/sim", '-lcudart',
                   '-lpthread');
    is(system(@command), 0, 'the capturing client is linked') or return diag("@command");
    local $ENV{LD_LIBRARY_PATH} = "$build/sim";
    for my $work (0, 1_000_000) {
        local $ENV{GPUARENA_SIM} = "work=$work";
        my $output = qx("$dir/capture" 2>&1);
        is($?, 0, "and runs, work=$work") or diag($output);
        is($output, "live 0, failures 0\n", "and leaves nothing, with no finding, work=$work");
    }
}

for my $client (sort keys %needs) {
    SKIP: {
        my $missing = missing_for($client);
        skip("$client: not there: $missing", 1) if $missing;
        compiles($client);
    }
}
SKIP: {
    skip('the substitute is not there: built without the CUDA Toolkit', 1) unless -e "$build/libcudart-sim.so";
    skip('the capturing client is not there', 1) unless -e "$clients/06_capture.c";
    captures();
}
done_testing();

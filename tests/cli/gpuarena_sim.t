#!/usr/bin/perl
# The command gpuarena-sim: its options, what GPUARENA_SIM says beside them, exit statuses, reports. It must not know how the
# simulated device works.
# Run: make test TESTS=tests/cli/gpuarena_sim.t
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $build = $ENV{BUILD} // 'build';
my $cc    = $ENV{CC} // 'cc';
my $dir   = tempdir(CLEANUP => 1);
my @cuda  = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';
delete @ENV{qw(GPUARENA_SIM LD_PRELOAD LD_LIBRARY_PATH)};

plan skip_all => 'built without the CUDA Toolkit' if grep { $_ eq '-DGPUARENA_NO_CUDA' } @cuda;
plan skip_all => 'a sanitizer must be loaded first' if qx(nm -D "$build/libcudart-sim.so" 2>/dev/null) =~ /__[at]san_init/;

sub slurp { open my $file, '<', $_[0] or return ''; return join '', <$file> }

# Says how much memory and how many devices there are, launches nothing; with an argument, frees a block twice.
open my $source, '>', "$dir/program.c" or die;
print $source <<'END';
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(int count, char **words)
{
    static char kernel;
    size_t now, total;
    int devices;
    void *block;
    dim3 one = { 1, 1, 1 };
    (void)words;
    if (cudaMemGetInfo(&now, &total) || cudaGetDeviceCount(&devices) || cudaMalloc(&block, 100)) return 1;
    printf("%zu MiB, %d, launch %d\n", total >> 20, devices, (int)cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL));
    fflush(stdout);
    cudaFree(block);
    return count > 1 ? cudaFree(block) == cudaSuccess : 0;
}
END
close $source;
is(system($cc, @cuda, "$dir/program.c", '-o', "$dir/program", "-L$build/sim", '-lcudart'), 0, 'a program is built');

sub sim {
    my $out = qx($build/gpuarena-sim @_ 2>"$dir/err");
    return ($? >> 8, $out, slurp("$dir/err"));
}

my ($status, $out, $err) = sim("$dir/program");
is("$status $out", "0 81920 MiB, 1, launch 0\n", 'a program runs on 80 GiB, and launches are skipped');
like($err, qr/^gpuarena sim: 1 kernels were skipped/, 'which is told');
($status, $out) = sim("--device 4G*2 --kernels refuse $dir/program");
is("$status $out", "0 4096 MiB, 2, launch 801\n", 'devices and kernels are chosen');
{
    local $ENV{GPUARENA_SIM} = 'device=2G,kernels=refuse';
    ($status, $out) = sim("--device 4G $dir/program");
    is("$status $out", "0 2048 MiB, 1, launch 801\n", 'what GPUARENA_SIM says already stays');
}
($status, undef, $err) = sim("$dir/program twice");
ok($status == 0 && $err =~ /1 finding:/, 'a block that is freed twice is told, and the status is the program\'s');
($status) = sim("--judge $dir/program twice");
is($status, 3, 'with --judge it is 3');
sim("--report $dir/report $dir/program");
like(slurp("$dir/report"), qr/^device 0 peak 2097152\n(?:call .*\n)*call cudaMalloc 1 \d+\n(?:call .*\n)*clock \d+\nskipped 1\n$/m,
     'the report has peak, calls, clock and kernels');
($status, $out) = sim('--help');
ok($status == 0 && $out =~ /^usage: gpuarena-sim /, '--help');
for (['', 'usage: '], ['--device', '--device: expected a value'], ['--nothing x', '--nothing: no such option']) {
    ($status, undef, $err) = sim($_->[0]);
    ok($status == 2 && index($err, $_->[1]) >= 0, "status 2: gpuarena-sim $_->[0]") or diag "$status $err";
}
($status, undef, $err) = sim("--device 24x $dir/program");
ok($status == 2 && $err =~ /device: expected device=SIZE/, 'as for a size that is none');
done_testing();

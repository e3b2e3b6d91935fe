#!/usr/bin/perl
# The memory that policies need for the programs of torch_programs.py and for the training loop of tests/real/torch,
# by recordings of these on the simulated device, kernels skipped. The table of stress/RESULTS.md, in Markdown.
# Run: make torch, then perl tests/measure/torch_programs.pl [FOLDER for the recordings]; TORCH_PYTHON as for make
use strict;
use warnings;
use File::Temp qw(tempdir);
require './tests/support/stress_run.pl';

my $build    = $ENV{BUILD} // 'build';
my $python   = $ENV{TORCH_PYTHON} // 'python3';
my @cuda     = grep { !/NO_CUDA/ } split ' ', $ENV{CUDA_FLAGS} // '-isystem /usr/local/cuda/include';
my $dir      = tempdir(CLEANUP => 1);
my $folder   = $ARGV[0] // $dir;
my @policies = qw(pytorch pytorch-expandable segments paged);
my %programs = ('train.py' => 'tests/real/torch/train.py - 12',
                map { $_ => "tests/measure/torch_programs.py $_" } qw(wide recompute generate fixed parts single deep recommend));

system('cc', qw(-O1 -shared -fPIC), @cuda, 'tests/real/torch/blas.c', '-o', "$dir/blas.so") == 0
    or die "no stand-in for cuBLAS\n";

print '| program | allocations | peak | ', join(' | ', @policies), " |\n|---|--:|--:|", '--:|' x @policies, "\n";
for my $name (qw(train.py wide recompute generate fixed parts single deep recommend)) {
    my $trace = "$folder/$name.trace";
    {
        local @ENV{qw(LD_PRELOAD DISABLE_ADDMM_CUDA_LT PYTORCH_NO_CUDA_MEMORY_CACHING GPUARENA_TRACE)}
            = ("$build/libgpuarena-record.so $dir/blas.so", 1, 1, $trace);
        system("$build/gpuarena-sim --device 160G $python $programs{$name} >$dir/out 2>&1") == 0
            or die "$name: ", qx(tail -3 $dir/out);
    }
    my $run = stress('run', '-w', "replay:$trace", '-p', join(',', @policies), '--device', 'sim:160G', '-q', '--no-timing',
                     '--verify', 'off', '--out', 'csv=-');
    die "$name: $run->{err}" if $run->{code};
    my @rows = rows($run->{out});
    printf "| %s | %d | %.1f GB | %s |\n", $name, $rows[0]{allocs}, $rows[0]{requested_peak_bytes} / 1e9,
        join ' | ', map { sprintf '%.1f %%, %.1f ms', 100 * ($_->{footprint} - 1), $_->{driver_vns} / 1e6 } @rows;
}

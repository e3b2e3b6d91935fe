#!/usr/bin/perl
# A training loop of PyTorch's on the simulated device, kernels skipped, with PyTorch's own allocators and with gpuarena's:
# what each reserves, how often it calls the driver for memory, and what that takes in modelled time. A table in Markdown.
# Run: make torch, then perl tests/measure/torch.pl [STEPS]; TORCH_PYTHON is the Python that has PyTorch, for both
use strict;
use warnings;
use File::Temp qw(tempdir);

my $build  = $ENV{BUILD} // 'build';
my $python = $ENV{TORCH_PYTHON} // 'python3';
my $cuda   = $ENV{CUDA_HOME} // '/usr/local/cuda';
my $steps  = $ARGV[0] // 12;
my $dir    = tempdir(CLEANUP => 1);
my $tests  = 'tests/real/torch';
my @ways   = (['PyTorch', '-', {}], ['PyTorch, expandable segments', '-', { PYTORCH_CUDA_ALLOC_CONF => 'expandable_segments:True' }],
              map { ["gpuarena, $_", "$build/libtorch_gpuarena.so", { GPUARENA_CONF => "backing=$_" }] } qw(segments paged));

system('cc', qw(-O1 -shared -fPIC -isystem), "$cuda/include", "$tests/blas.c", '-o', "$dir/blas.so") == 0 or die "no stand-in for cuBLAS\n";

# What train.py printed, and the lines of the device's report.
sub train {
    my ($way, $device) = @_;
    my (undef, $library, $environment) = @$way;
    local @ENV{qw(LD_PRELOAD DISABLE_ADDMM_CUDA_LT), keys %$environment} = ("$dir/blas.so", 1, values %$environment);
    my $out = qx($build/gpuarena-sim --device $device --report $dir/report $python $tests/train.py $library $steps 2>/dev/null);
    open my $file, '<', "$dir/report" or die "$way->[0]: no report\n";
    return ($out =~ /^(\d+) \d+ (\d+)$/m ? ($1, $2) : (), grep { /^call (cudaMalloc|cudaFree|cuMem)/ } <$file>);
}

sub row {
    my ($way, $device) = @_;
    my ($calls, $ns) = (0, 0);
    my @lines = train($way, $device);
    my @bytes = map { /^call/ ? () : $_ } @lines;
    for (grep { /^call/ } @lines) {
        my (undef, undef, $count, $time) = split;
        ($calls, $ns) = ($calls + $count, $ns + $time);
    }
    printf "| %s | %s | %s | %s | %d | %.1f ms |\n", $device, $way->[0], @bytes ? sprintf('%.2f GB', $bytes[1] / 1e9) : 'does not fit',
        @bytes ? sprintf('%.3f', $bytes[1] / $bytes[0]) : '', $calls, $ns / 1e6;
}

print "| device | allocator | reserved | overhead | driver calls | modelled time |\n|---|---|---|---|---|---|\n";
for my $device (qw(80G 8960M)) {
    row($_, $device) for @ways;
}

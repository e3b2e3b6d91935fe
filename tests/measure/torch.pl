#!/usr/bin/perl
# A training loop of PyTorch's on the simulated device, kernels skipped, with PyTorch's own allocators and with
# gpuarena's: the bytes that each reserves, its driver calls for memory, and their modelled time. The table of
# stress/RESULTS.md, in Markdown.
# Run: make torch, then perl tests/measure/torch.pl [STEPS]; TORCH_PYTHON is the Python that has PyTorch, for both
use strict;
use warnings;
use File::Temp qw(tempdir);

my $build  = $ENV{BUILD} // 'build';
my $python = $ENV{TORCH_PYTHON} // 'python3';
my @cuda   = grep { !/NO_CUDA/ } split ' ', $ENV{CUDA_FLAGS} // '-isystem /usr/local/cuda/include';
my $steps  = $ARGV[0] // 12;
my $dir    = tempdir(CLEANUP => 1);
my $tests  = 'tests/real/torch';
my @ways   = (['PyTorch', '-', {}], ['PyTorch, expandable segments', '-', { PYTORCH_CUDA_ALLOC_CONF => 'expandable_segments:True' }],
              map { ["gpuarena, $_", "$build/libtorch_gpuarena.so", { GPUARENA_CONF => "backing=$_" }] } qw(segments paged));

system('cc', qw(-O1 -shared -fPIC), @cuda, "$tests/blas.c", '-o', "$dir/blas.so") == 0 or die "no stand-in for cuBLAS\n";

# The output of train.py, and the lines of the device's report.
sub train {
    my ($way, $device) = @_;
    my (undef, $library, $environment) = @$way;
    local @ENV{qw(LD_PRELOAD DISABLE_ADDMM_CUDA_LT), keys %$environment} = ("$dir/blas.so", 1, values %$environment);
    my $out = qx($build/gpuarena-sim --device $device --report $dir/report $python $tests/train.py $library $steps 2>$dir/err);
    open my $file, '<', "$dir/report" or die "$way->[0]: no report: ", qx(tail -3 $dir/err);
    return ($out =~ /^(\d+) \d+ (\d+)$/m ? ($1, $2) : (), grep { /^call (cudaMalloc|cudaFree|cuMem)/ } <$file>);
}

sub with_commas {
    my ($number) = @_;
    1 while $number =~ s/^(\d+)(\d{3})/$1,$2/;
    return $number;
}

sub row {
    my ($way, $mib) = @_;
    my ($calls, $ns) = (0, 0);
    my @lines = train($way, "${mib}M");
    my ($requested, $reserved) = grep { !/^call/ } @lines;
    for (grep { /^call/ } @lines) {
        my (undef, undef, $count, $time) = split;
        ($calls, $ns) = ($calls + $count, $ns + $time);
    }
    printf "| %s | %s | %s | %s | %s | %.1f ms |\n", $mib % 1024 ? with_commas($mib) . ' MiB' : $mib / 1024 . ' GiB', $way->[0],
        $reserved ? sprintf('%.2f GB', $reserved / 1e9) : 'does not fit', $reserved ? sprintf('%.1f %%', 100 * ($reserved / $requested - 1)) : '',
        with_commas($calls), $ns / 1e6;
}

print "| device | allocator | reserved | overhead | driver calls | modelled time |\n|---|---|--:|--:|--:|--:|\n";
for my $mib (80 * 1024, 8960) {
    row($_, $mib) for @ways;
}

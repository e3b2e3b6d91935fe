#!/usr/bin/perl
# ONNX Runtime on the simulated device, with gpuarena for its CUDA provider's allocator: see onnxruntime/session.py.
# It must not know the session's operations.
# Run: make test TESTS=tests/real/onnxruntime.t (GPUARENA_PYTHON: a Python with onnxruntime-gpu and numpy, default
# python3)
# Runs once: it is about a wheel.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $dir     = tempdir(CLEANUP => 1);
my $build   = $ENV{BUILD} // 'build';
my $python  = $ENV{GPUARENA_PYTHON} // 'python3';
my $library = "$build/libgpuarena_ort.so";

plan skip_all => 'built without the CUDA Toolkit' if !-e "$build/gpuarena-sim";
plan skip_all => 'a sanitizer must be loaded first' if qx(nm -D "$build/libcudart-sim.so" 2>/dev/null) =~ /__[at]san_init/;
plan skip_all => "$library is not built" if !-e $library;

my @names = map { (split)[-1] } qx(nm -D --defined-only $library);
is(scalar @names, 5, 'the adapter has its functions');
is(join(' ', grep { !/^gpuarena_ort_/ } @names), '', 'and exports nothing else');

# The math libraries that the provider loads have a libcudart linked in, which asks libcuda for undocumented tables. Stand-ins
# have the functions that it names, in the versions that it wants, and answer success.
sub stand_in {
    my ($soname, $has_version, @functions) = @_;
    open my $map, '>', "$dir/map" or die $!;
    print $map "$soname { global: *; };\n";
    close $map;
    open my $cc, '|-', "${\($ENV{CC} // 'cc')} -w -shared -fPIC -x c - -Wl,-soname,$soname "
                       . ($has_version ? "-Wl,--version-script,$dir/map " : '') . "-o $dir/$soname" or die $!;
    print $cc "int $_(void) { return 0; }\n" for @functions;
    return close $cc;
}

sub stand_ins {
    my ($provider) = @_;
    my @asked = map { /^ +U (\w+)@+(\S+)/ ? [$1, $2] : () } qx(nm -D --undefined-only '$provider');
    my $built = 1;
    for my $soname (map { /\(NEEDED\).*\[(lib(?:cublas|cublasLt|curand|cufft|cudnn)\.so\.\d+)\]/ } qx(readelf -d '$provider')) {
        $built &&= stand_in($soname, 1, map { $_->[1] eq $soname ? $_->[0] : () } @asked);
    }
    my %names = map { $_ => 1 } qx(strings '$provider') =~ /\b(cudnn[A-Z]\w+)\b/g;       # looked up by name
    return $built && stand_in('libcudnn.so.9', 0, sort keys %names) && symlink('libcudnn.so.9', "$dir/libcudnn.so");
}

my $found = qx($python -c 'import onnxruntime as o; print(o.__file__, "CUDAExecutionProvider" in o.get_available_providers())' 2>&1);
SKIP: {
    skip("$python has no onnxruntime-gpu (pip install onnxruntime-gpu numpy: 0.3 GB)", 1)
        if $found !~ m{^(/.*)/__init__\.py True$}m;
    my $provider = "$1/capi/libonnxruntime_providers_cuda.so";
    my ($runtime) = qx(readelf -d '$provider') =~ /\[(libcudart\.so\.[\d.]+)\]/;
    skip("it wants $runtime, and the toolkit here has another", 1) if !-e "$build/sim/$runtime";
    ok(stand_ins($provider), 'stand-ins for the math libraries are built');
    open my $header, '<', 'gpuarena.h' or die $!;
    my ($list) = do { local $/; <$header> } =~ /#define GPUARENA_STATS\(X\) \\\n((?:.*\\\n)*.*)/;
    my $statistics = join ' ', $list =~ /\bX\((\w+)\)/g;
    my $said = qx(env GPUARENA_CONF=limit=128M LD_LIBRARY_PATH=$dir $build/gpuarena-sim --device 4G --judge \\
                  $python $FindBin::Bin/onnxruntime/session.py $library '$statistics' 2>&1);
    is($?, 0, 'the session runs, and the judge finds nothing') or diag $said;
    /^(not )?ok \d+ - (.*)/ && ok(!$1, $2) for split /\n/, $said;
    like($said, qr/^1\.\.\d+$/m, 'to its end') or diag $said;
}
done_testing();

#!/usr/bin/perl
# The Python module on the simulated device: see python/arena.py. CuPy and RMM are not run: their packages have a libcudart
# linked in, which the simulated device cannot serve. It must not know what the module does.
# Run: make test TESTS=tests/real/python.t (GPUARENA_PYTHON: a Python with cuda.core, default python3)
use strict;
use warnings;
use FindBin;

my $build  = $ENV{BUILD} // 'build';
my $python = $ENV{GPUARENA_PYTHON} // 'python3';

sub leave { print "1..0 # SKIP $_[0]\n"; exit 0 }
leave('built without the CUDA Toolkit') if !-e "$build/gpuarena-sim";
leave("no $python") if system("$python -c '' 2>/dev/null");
leave('a sanitizer must be loaded first') if qx(nm -D "$build/libcudart-sim.so" 2>/dev/null) =~ /__[at]san_init/;
leave('build/libgpuarena.so is not built') if !-e "$build/libgpuarena.so";
$ENV{GPUARENA_LIBRARY} = "$build/libgpuarena.so";
delete $ENV{GPUARENA_CONF};
exec "$build/gpuarena-sim", '--device', '4G', '--judge', $python, "$FindBin::Bin/python/arena.py";

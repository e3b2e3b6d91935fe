#!/usr/bin/perl
# The Python module on the simulated device: see python/arena.py. CuPy and RMM are not run: their packages have a
# libcudart linked in, which the simulated device cannot serve. It must not know the module's inside.
# Run: make test TESTS=tests/real/python.t (GPUARENA_PYTHON: a Python with cuda.core, default python3)
use strict;
use warnings;
use FindBin;
use Test::More;

my $build   = $ENV{BUILD} // 'build';
my $python  = $ENV{GPUARENA_PYTHON} // 'python3';
my $library = "$build/libgpuarena.so";

plan skip_all => 'built without the CUDA Toolkit' if !-e "$build/gpuarena-sim";
plan skip_all => "no $python" if system("$python -c '' 2>/dev/null");
plan skip_all => 'a sanitizer must be loaded first' if qx(nm -D "$build/libcudart-sim.so" 2>/dev/null) =~ /__[at]san_init/;
plan skip_all => "$library is not built" if !-e $library;
$ENV{GPUARENA_LIBRARY} = $library;
delete $ENV{GPUARENA_CONF};

my @names = map { (split)[-1] } qx(nm -D --defined-only $library);
cmp_ok(scalar @names, '>', 40, 'the library has the functions of the header');
is(join(' ', grep { !/^gpuarena_[a-z]/ } @names), '', 'and exports nothing else');
my $said = qx($build/gpuarena-sim --device 4G --judge $python $FindBin::Bin/python/arena.py 2>&1);
is($?, 0, 'the module runs, and the judge finds nothing') or diag $said;
for (split /\n/, $said) {
    /^ok \d+ - (.*?) # SKIP (.*)/ ? do { SKIP: { skip "$1: $2", 1 } } : /^(not )?ok \d+ - (.*)/ ? ok(!$1, $2) : ();
}
like($said, qr/^1\.\.\d+$/m, 'to its end');
done_testing();

#!/usr/bin/perl
# Ends of programs that use the CUDA driver table: an arena ended by atexit handlers and by C++ static destructors, before
# and after the runtime has shut down. It must not know how the header does it. On the libcudart substitute.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $build = $ENV{BUILD} // 'build';
my $root  = "$FindBin::Bin/../..";
my $dir   = tempdir(CLEANUP => 1);
my @cuda  = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';

plan skip_all => 'built without the CUDA Toolkit' if grep { $_ eq '-DGPUARENA_NO_CUDA' } @cuda;
plan skip_all => "no substitute in $build" unless -e "$build/libcudart-sim.so";
my ($cc, $cxx) = ($ENV{CC} // 'cc', $ENV{CXX} // 'g++');
plan skip_all => "no C++ compiler: $cxx was not found" if system("$cxx --version >/dev/null 2>&1");

# A sanitizer's runtime must come first in a program that loads the substitute: LDFLAGS has it.
my @flags = split ' ', $ENV{LDFLAGS} // '';
my @command = ($cxx, '-std=c++11', '-Wall', '-Wextra', '-Werror', @flags, @cuda, "$FindBin::Bin/life/exit_order.cc",
               '-o', "$dir/exit_order", "-L$build/sim", '-lcudart', '-lpthread');
is(system(@command), 0, 'the program is built') or BAIL_OUT("@command");

sub run_program {
    my ($when, $environment) = @_;
    local $ENV{LD_LIBRARY_PATH} = "$build/sim";
    local $ENV{GPUARENA_SIM} = $environment // '';
    local $ENV{ASAN_OPTIONS} = 'detect_leaks=0';    # leaving an arena to the end of the process is one of the cases
    my $output = qx("$dir/exit_order" $when 2>&1);
    return ($? >> 8, $? & 127, $output);
}

# when => its output; the block is freed and the arena ended in every case, and nothing is left for the judge to find
my %printed = (
    'main'          => "alloc ok, free ok, destroy ok\n",
    'atexit-after'  => "alloc ok, free ok, destroy ok\n",
    'static-late'   => "alloc ok, free ok, destroy ok\n",
    'atexit-before' => "alloc driver_error, free ok, destroy ok\n",
    'static-early'  => "alloc driver_error, free ok, destroy ok\n",
    'never'         => '',
);
for my $when (sort keys %printed) {
    my ($status, $signal, $output) = run_program($when);
    is($status, 0, "$when: exit status 0");
    is($signal, 0, "$when: no signal");
    is($output, $printed{$when}, "$when: what the calls answered, and no finding");
}

# the device is lost first, or its frees fail: the end is still in order
for my $faults ('fail=cudaFree:1=700', 'fail=any:31+=719', 'fail=cudaFree:1+=4') {
    for my $when (sort keys %printed) {
        my ($status, $signal, $output) = run_program($when, $faults);
        is("$status $signal", '0 0', "$faults, $when: exit status 0") or diag($output);
        unlike($output, qr/finding/, "$faults, $when: no finding");
    }
}
# the default stream that the build means, as CUDA's own calls in the same file do: test_cuda_table.c has the other
open my $source, '>', "$dir/stream.c" or die;
print {$source} "#define GPUARENA_IMPLEMENTATION\n#include \"$root/gpuarena.h\"\nint main(void)\n{\n",
    "    gpuarena_driver driver = GPUARENA_INIT;\n",
    "    return gpuarena_driver_cuda(0, &driver) ? 2 : driver.null_is_per_thread;\n}\n";
close $source;
is(system($cc, qw(-D_POSIX_C_SOURCE=200809L -DCUDA_API_PER_THREAD_DEFAULT_STREAM), @flags, @cuda, "$dir/stream.c", '-o', "$dir/stream",
          "-L$build/sim", '-lcudart', '-lpthread'), 0, 'a program with a default stream for each thread is built');
local $ENV{LD_LIBRARY_PATH} = "$build/sim";
is(system("$dir/stream") >> 8, 1, 'its null stream is the thread\'s');
done_testing();

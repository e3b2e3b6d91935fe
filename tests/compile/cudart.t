#!/usr/bin/perl
# The libcudart substitute among linkers and loaders: programs are linked with either libcudart and run on either; a
# call that the substitute lacks is named when a program is linked, loaded, or comes to the call.
# It must not know the effects of calls.
# Run: make test TESTS=tests/compile/cudart.t (CUDA_FLAGS: how to find the CUDA Toolkit)
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my @flags = split ' ', $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';
plan skip_all => 'no CUDA Toolkit' if grep { $_ eq '-DGPUARENA_NO_CUDA' } @flags;
my $build = $ENV{BUILD} // "$FindBin::Bin/../../build";
plan skip_all => "no substitute in $build" if !-e "$build/libcudart-sim.so";
plan skip_all => 'built with sanitizers, as a program must be then' if `nm -D $build/libcudart-sim.so` =~ /__asan_/;

my $dir     = tempdir(CLEANUP => 1);
my $cc      = $ENV{CC} // 'cc';
my ($home)  = map { m{^(/.*)/include$} } @flags;
my ($real)  = grep { -e "$_/libcudart.so" } map { ("$home/lib64", "$home/lib") } grep { defined } $home;
my @symbols = map { / [TW] (\w+)/ ? $1 : () } `nm -D --defined-only $build/libcudart-sim.so`;

sub program {
    my ($name, $body) = @_;
    open my $out, '>', "$dir/$name.c" or die "$name: $!";
    print $out "#include <cuda_profiler_api.h>\n#include <cuda_runtime_api.h>\n#include <stdio.h>\nint main(void)\n{\n$body}\n";
    close $out or die "$name: $!";
    return "$dir/$name.c";
}

sub run {
    my ($environment, @command) = @_;
    local %ENV = (%ENV, %$environment);
    my $said = qx(@command 2>&1);
    return ($? >> 8 || ($? & 127 ? 128 : 0), $said);
}

my $served = program('served', "    void *p;\n    int c = (int)cudaMalloc(&p, 1u << 20);\n"
    . "    printf(\"%d %d\\n\", c, (int)cudaFree(p));\n    return c;\n");
my $lacking = program('lacking', "    const void *table;\n    static cudaUUID_t of;\n    printf(\"first line\\n\");\n"
    . "    fflush(stdout);\n    return (int)cudaGetExportTable(&table, &of);\n");

subtest 'names' => sub {
    my %has = map { $_ => 1 } @symbols;
    ok($has{$_}, $_) for qw(cudaMalloc cudaMemcpy_ptds cudaEventRecord_ptsz __cudaRegisterFatBinary cudart_attach);
    is_deeply([grep { !/^(__)?cuda|^cu[A-Z]|^nvml[A-Z]/ } @symbols], [], 'nothing but names of the CUDA runtime, its driver, NVML and cudart_*');
    ok(-e "$build/sim/$_", "found as $_") for qw(libcuda.so.1 libnvidia-ml.so.1);
    my ($soname) = `readelf -d $build/libcudart-sim.so` =~ /soname: \[(.*?)\]/;
    like($soname, qr/^libcudart\.so\.\d/, "SONAME $soname");
    like(scalar(`nm -D $build/libcudart-sim.so`), qr/cudaMalloc\@\@\Q$soname\E$/m, 'symbol versions, named as it is');
    ok(-e "$build/sim/$soname", 'found by its name in a folder of its own');
};

# Compiled for a default stream a thread, programs have other names for some calls: each that the toolkit has.
subtest 'names for a default stream a thread' => sub {
    my %has = map { $_ => 1 } @symbols;
    my $declared = qx($cc @flags -E $served);    # not those of graphics, nor those that CUDA has otherwise now
    my %calls = map { s/_v\d+$//r => 1 } grep { /^cuda(?!rt_)/ && !/_pt/ } @symbols;
    my @calls = grep { $declared =~ /\b$_(_v\d+)?\(/ } sort keys %calls;
    cmp_ok(scalar @calls, '>', 250, scalar(@calls) . ' calls are declared');
    my $calls = program('calls', join '', map { "    printf(\"%p\\n\", (void *)$_);\n" } @calls);
    my ($status, $said) = run({}, $cc, @flags, '-w', '-DCUDA_API_PER_THREAD_DEFAULT_STREAM', $calls, "-L$build/sim",
        '-lcudart', '-o', "$dir/a_thread");
    is($status, 0, 'every call links under the name that it has then') or diag $said;
    like(scalar(`nm -u $dir/a_thread`), qr/cudaMemcpyAsync_ptsz/, 'which is another one');
    return if !$real;
    my %toolkit = map { / [TW] (\w+)/ ? ($1 => 1) : () } `nm -D --defined-only $real/libcudart.so`;
    my @two = map { my $name = $_; grep { $toolkit{$_} } "${name}_ptds", "${name}_ptsz" } @symbols;
    is_deeply([grep { !$has{$_} } @two], [], 'and so has every call that the toolkit has under two');
    cmp_ok(scalar @two, '>', 10, 'as there are');
};

# Programs look functions of libcuda up without the _v2 and the like that cuda.h appends.
subtest 'functions of libcuda are found by their names' => sub {
    my %names = map { s/(_v\d+)?(_pt[ds][sz])?$//r => 1 } grep { /^cu[A-Z]/ } @symbols;
    my $finds = program('finds', "    static const char *const names[] = { " . join(', ', map { "\"$_\"" } sort keys %names)
        . " };\n    void *found;\n    enum cudaDriverEntryPointQueryResult how = 0;\n    cudaFree(NULL);\n"
        . "    for (size_t at = 0; at < sizeof names / sizeof *names; at++)\n"
        . "        if (cudaGetDriverEntryPoint(names[at], &found, 0"
        . "\n#if CUDART_VERSION >= 12000\n            , &how\n#endif\n            ) || how || !found) puts(names[at]);\n"
        . "    printf(\"%zu names\\n\", sizeof names / sizeof *names);\n    return 0;\n");
    my ($status, $said) = run({}, $cc, @flags, '-w', $finds, "-L$build/sim", '-lcudart', '-o', "$dir/finds");
    is($status, 0, 'links') or diag $said;
    is_deeply([run({ LD_LIBRARY_PATH => "$build/sim" }, "$dir/finds")], [0, keys(%names) . " names\n"], 'each of them is');
    cmp_ok(scalar keys %names, '>', 90, scalar(keys %names) . ' names');
};

subtest 'linked with the substitute' => sub {
    my ($status, $said) = run({}, $cc, @flags, $served, "-L$build/sim", '-lcudart', '-o', "$dir/on_sim");
    is($status, 0, 'links') or diag $said;
    is_deeply([run({ LD_LIBRARY_PATH => "$build/sim" }, "$dir/on_sim")], [0, "0 0\n"], 'runs');
    ($status, $said) = run({}, $cc, @flags, $lacking, "-L$build/sim", '-lcudart', '-o', "$dir/no");
    isnt($status, 0, 'a call that it lacks does not link');
    like($said, qr/undefined reference to .cudaGetExportTable/, 'and is named');
};

subtest 'linked with the toolkit' => sub {
    plan skip_all => 'no libcudart.so to link with beside the headers' if !$real;
    is((run({}, $cc, @flags, $_->[0], "-L$real", '-lcudart', '-o', "$dir/$_->[1]"))[0], 0, "$_->[1] links")
        for [$served, 'served'], [$lacking, 'lacking'];
    my %there = (LD_LIBRARY_PATH => "$build/sim"), my %before = (LD_LIBRARY_PATH => $real,
        LD_PRELOAD => "$build/libcudart-sim.so");
    is_deeply([run(\%there, "$dir/served")], [0, "0 0\n"], 'runs on the substitute in its place');
    is_deeply([run(\%before, "$dir/served")], [0, "0 0\n"], 'and preloaded');
    my ($status, $said) = run({ %there, LD_BIND_NOW => 1 }, "$dir/lacking");
    ok($status != 0 && $said =~ /undefined symbol: cudaGetExportTable/ && $said !~ /first line/, 'not loaded, and named')
        or diag $said;
    ($status, $said) = run(\%there, "$dir/lacking");
    ok($status != 0 && $said =~ /undefined symbol: cudaGetExportTable/, 'or dies at the call, which is named')
        or diag $said;
    is((run({ %there, GPUARENA_SIM => 'device=1G,fail=cudaFree:1' }, "$dir/served"))[1], "0 999\n", 'GPUARENA_SIM');
};

done_testing();

#!/usr/bin/perl
# PyTorch's own wheel on the simulated device: gpuarena as its allocator, whole; recordings through PyTorch's
# allocators and through gpuarena, against the figures of stress; a training loop, and its figures in the documents.
# It must not know how PyTorch is built.
# Run: make test TESTS=tests/real/torch.t TORCH_PYTHON=python3, a Python with a PyTorch of the toolkit's CUDA version
# Runs once: it is about a wheel.
# Takes long: two minutes, with a PyTorch.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $build  = $ENV{BUILD} // 'build';
my $python = $ENV{TORCH_PYTHON} // 'python3';
my $folder = "$FindBin::Bin/torch";
my $dir    = tempdir(CLEANUP => 1);
my $sim    = "$build/gpuarena-sim";
my $cc     = $ENV{CC} // 'cc';

plan skip_all => 'built without the CUDA Toolkit' unless -e $sim;
my $torch = qx($python -c 'from importlib.metadata import version as v; print(v("torch"))' 2>/dev/null);
plan skip_all => "no PyTorch for $python (TORCH_PYTHON)" if $? || !$torch;
chomp $torch;
my $seen = qx($sim $python -c 'import torch; print(torch.cuda.is_available())' 2>&1);
plan skip_all => "PyTorch $torch does not run on this substitute: another CUDA version, or none" if $seen !~ /^True$/m;

sub slurp { open my $file, '<', $_[0] or return ''; return join '', <$file> }

# The output of a program of ours on the simulated device.
sub on_sim {
    my ($environment, $options, $script, @words) = @_;
    local @ENV{keys %$environment} = values %$environment;
    my $out = qx($sim $options $python $folder/$script @words 2>"$dir/err");
    return ($? >> 8, $out);
}

is(system("make -s torch BUILD='$build' TORCH_PYTHON='$python' >'$dir/make' 2>&1"), 0, "the adapter is built for PyTorch $torch")
    or BAIL_OUT(slurp("$dir/make"));
my $library = "$build/libtorch_gpuarena.so";
is(join(' ', map { (split)[-1] } qx(nm -D --defined-only $library)), 'gpuarena_torch_install gpuarena_torch_stats',
   'it exports its own names alone');

# ---- features of torch.cuda
for my $backing (qw(segments paged)) {
    my ($status, $out) = on_sim({ GPUARENA_CONF => "backing=$backing" }, '--device 24G --judge', 'features.py', $library);
    my @failed = grep { /^not ok/ } split /\n/, $out;
    ok($status == 0 && $out =~ /^1\.\.34$/m && !@failed, "every feature is served, $backing")
        or diag "status $status\n", @failed, slurp("$dir/err");
}

# ---- pools whose segments alone are an arena's
my ($pools_status, $pools) = on_sim({ GPUARENA_CONF => 'limit=100M' }, '--device 24G --judge', 'mempool.py', "$build/libgpuarena_mempool.so");
is(join(' ', sort map { (split)[-1] } qx(nm -D --defined-only $build/libgpuarena_mempool.so)),
   'gpuarena_mempool_alloc gpuarena_mempool_bytes gpuarena_mempool_free gpuarena_mempool_why', 'and its library exports its own names alone');
ok($pools_status == 0 && $pools =~ /^1\.\.11$/m && $pools !~ /^not ok/m, 'a pool of PyTorch has its segments from an arena')
    or diag "status $pools_status\n", $pools, slurp("$dir/err");

# ---- recordings: memory that PyTorch holds, in its own words, and in those of stress
my @recordings = map { "medium_${_}_training" } 128, 512;
for (@recordings) {
    system("$build/stress run -w replay:$_.trace -p raw --device sim:80G --no-timing -q --out trace=$dir/$_.trace >/dev/null");
}
my %expected;
system("$build/stress run -w " . join(',', map { "replay:$_.trace" } @recordings) . ' -p pytorch,pytorch-expandable,segments,paged '
       . "--device sim:80G --no-timing -q --out csv=$dir/rows.csv >/dev/null");
my ($head, @rows) = split /\n/, slurp("$dir/rows.csv");
my %column = do { my $i = 0; map { $_ => $i++ } split /,/, $head };
for (map { [split /,/] } @rows) {
    push @{ $expected{ $_->[$column{policy}] } }, "$_->[$column{requested_peak_bytes}] $_->[$column{reserved_peak_bytes}] 0";
}
for (['pytorch', '-', {}], ['pytorch-expandable', '-', { PYTORCH_CUDA_ALLOC_CONF => 'expandable_segments:True' }],
     ['segments', $library, { GPUARENA_CONF => 'backing=segments' }], ['paged', $library, { GPUARENA_CONF => 'backing=paged' }]) {
    my ($policy, $with, $environment) = @$_;
    my (undef, $out) = on_sim($environment, '', 'replay.py', $with, map { "$dir/$_.trace" } @recordings);
    is($out, join('', map { "$_\n" } @{ $expected{$policy} }), "both recordings through PyTorch hold what stress says of $policy")
        or diag slurp("$dir/err");
}

# ---- a model in training
my $with_cuda = join ' ', grep { !/NO_CUDA/ } split ' ', $ENV{CUDA_FLAGS} // '-isystem /usr/local/cuda/include';
is(system("$cc -O1 -shared -fPIC $with_cuda $folder/blas.c -o $dir/blas.so"), 0, 'a stand-in for cuBLAS is built');
my %blas = (LD_PRELOAD => "$dir/blas.so", DISABLE_ADDMM_CUDA_LT => 1);
my %reserved;
for (['native', '-', {}], ['segments', $library, { GPUARENA_CONF => 'backing=segments' }],
     ['paged', $library, { GPUARENA_CONF => 'backing=paged' }]) {
    my ($name, $with, $environment) = @$_;
    my ($status, $out) = on_sim({ %blas, %$environment }, '--judge', 'train.py', $with, 6);
    ok($status == 0 && $out =~ /^\d+ \d+ \d+$/m && slurp("$dir/err") !~ /^gpuarena sim: \d+ findings?:/m,
       "a GPT trains with $name, and the judge finds nothing") or diag "status $status\n", slurp("$dir/err");
    ($reserved{"$name peak"}, undef, $reserved{$name}) = split ' ', $out;
}
is($reserved{'paged peak'}, $reserved{'native peak'}, 'it asks for the same');
cmp_ok($reserved{paged}, '<', $reserved{native}, 'and paged memory holds less for it');

# ---- the documents' words on that training

# Its rows, as words of memory, and numbers of driver calls and of their milliseconds.
sub rows_of {
    my %rows = (memory => '', calls => []);
    for (grep { /^\|/ } split /\n/, $_[0]) {
        my ($memory, $calls, $ms) = /^(.*\|) *([^|]*?) *\| *([^|]*?) *\|$/;
        $rows{memory} .= "$memory\n";
        push @{ $rows{calls} }, map { s/,//gr } $calls, $ms =~ s/ ms$//r if $calls =~ /^[\d,]+$/;
    }
    return \%rows;
}

SKIP: {
    my ($told) = slurp('stress/RESULTS.md') =~ /^PyTorch ([\d.]+)'s wheel trains a GPT/m;
    skip "the documents speak of PyTorch $told, this is $torch", 3 if $torch ne $told;
    local @ENV{qw(BUILD TORCH_PYTHON)} = ($build, $python);
    my $table = qx(perl tests/measure/torch.pl 2>"$dir/err");
    # Memory is the same each time, to the letter. Two driver calls more or less depend on PyTorch's threads.
    my ($measured, $told_of) = map { rows_of($_) } $table, slurp('stress/RESULTS.md') =~ /^(\| device \| allocator \| reserved.*?)\n\n/ms;
    is($measured->{memory}, $told_of->{memory}, 'memory in its table is that of stress/RESULTS.md') or diag slurp("$dir/err");
    my ($calls, $told_calls) = ($measured->{calls}, $told_of->{calls});
    is(scalar(grep { abs($calls->[$_] - $told_calls->[$_]) > $told_calls->[$_] / 100 } 0 .. $#$told_calls), 0,
       'driver calls and their time are within 1 % of it') or diag "@$calls\n@$told_calls";
    my ($rows) = slurp('README.md') =~ /^\| allocator \| reserved .*\n\|.*\n((?:\|.*\n)+)/m;
    my @rows = split /^/, $rows // '';
    is(scalar(grep { index(slurp('stress/RESULTS.md'), "| 80 GiB $_") >= 0 } @rows), 3, 'and README has three of its rows') or diag @rows;
}

done_testing();

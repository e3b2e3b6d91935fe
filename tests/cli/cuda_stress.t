#!/usr/bin/perl
# Measurements of build/stress on CUDA devices, served by the libcudart substitute. Exact answers: cases/cuda.case.
# It must not need a GPU: gpu.t does.
# Takes long: every byte of the simulated devices is memory of the host.
use strict;
use warnings;
no warnings 'qw';
use Cwd qw(abs_path);
use JSON::PP;
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $build = $ENV{BUILD} || 'build';
if (!built_with_cuda()) {
    print "1..0 # SKIP built without the CUDA Toolkit\n";
    exit 0;
}
$ENV{LD_LIBRARY_PATH} = abs_path("$build/sim");
my $path = $ENV{PATH};
mkdir "$folder/none";
$ENV{PATH} = "$folder/none:/usr/bin:/bin" if -x '/usr/bin/nvidia-smi' || grep { -x "$_/nvidia-smi" } split /:/, $path;

# A program called nvidia-smi, first in PATH.
sub smi {
    my ($text) = @_;
    mkdir "$folder/bin";
    spew('bin/nvidia-smi', "#!/bin/sh\n$text\n");
    chmod 0755, "$folder/bin/nvidia-smi";
    $ENV{PATH} = "$folder/bin:$path";
}

# ---- how long is measured: warm-up, and repeats until times are known
{
    my @hundred = qw(-w uniform:n=100,max=1 -p raw --device cuda:0 --verify off);
    my $latencies = JSON::PP->new->utf8->decode(stress('run', @hundred, '-q', '--out', 'json=-')->{out});
    is($latencies->{cases}[0]{lat}{alloc}{n}, 100, 'a pass that warms up leaves no sample');
    my @two = (qw(-w uniform:n=100,max=1,uniform:n=50,max=1 -p raw,segments --device cuda:0 --verify off --repeat auto));
    my ($precise, @enough) = csv(@two, '--precision', '100%');
    my %times;
    push @{$times{"$_->{workload} $_->{ended}"}}, $_->{policy} for @enough;
    is(join(' ', map { (split / /)[0] } sort keys %times), 'uniform:n=100,max=1 uniform:n=50,max=1', 'each workload until its own times are known');
    for my $name (sort keys %times) {                # on a busy machine six times may not be enough even for this
        my $each = @{$times{$name}} / 2;
        is(join(' ', @{$times{$name}}), join(' ', ('raw segments') x $each), '.. all policies as often');
        ok($name =~ / precise$/ ? (grep { $each == $_ } 6, 9, 14, 21, 32, 48, 60) : $name =~ / rounds$/ ? $each == 60 : $name =~ / time$/, ".. $each times: $name");
    }
    my $until = stress('run', @two, qw(--precision 0% --budget 1 --filter *n=50* --fail-if), 'ended != precise', '--out', "csv=$folder/until.csv");
    my @until = rows(slurp("$folder/until.csv"));
    is(join(' ', map { $_->{ended} } @until), join(' ', (@until == 120 ? 'rounds' : 'time') x @until), 'or until the time is over, or 60 times: each row says which');
    is($until->{code}, 1, '.. and a gate can ask');
}

# ---- the record does not wait for a program that does not end
smi('exec sleep 60');
my $start = time;
my $record = JSON::PP->new->utf8->decode(stress(qw(run -w uniform:n=100 -p segments --no-timing -q --device cuda:0 --out json=-))->{out})->{environment};
ok(exists $record->{other_processes} && !defined $record->{other_processes} && time - $start < 30, 'an nvidia-smi that hangs is not waited for');
$ENV{PATH} = $path;

done();

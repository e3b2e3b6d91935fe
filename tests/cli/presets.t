#!/usr/bin/perl
# Models of known allocators in the list, and models against what the allocators held on recorded
# steps. It must not test rules case by case: test_like.c does, and tests/unit/stress/test_golden_peaks.c has more figures.
# Runs once: its figures do not depend on the build.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

my @csv = qw(--no-timing -q --out csv=-);
my @models = qw(best first bfc pytorch pytorch-expandable rmm rmm-arena cub ort);

sub figures {
    return rows(stress('run', @_, @csv)->{out});
}

# ---- the list: what each is, what it lacks, its one key
my $list = stress(qw(help lists))->{out};
for my $model (@models) {
    my ($not) = $list =~ /^  (?:[\w-]+, )?\Q$model\E: model: \S.*\n(?: +not: (\S.*(?:\n {19}\S.*)*)\n)? +keys: limit$/m;
    ok($model =~ /^(?:best|first)$/ || length($not // '') > 20, "$model: what it does not reproduce");
    ok(index($list, stress('help', $model)->{out} =~ s/^.*\n//r) >= 0, "stress help $model has the same");
}
is((grep { length > 118 && !/^  cub-library: / } split /\n/, $list) + 0, 0, 'the lines of models are not too long');

my @threaded = figures(qw(-w producer,larson,dataset -p), join(',', @models));
is(join(' ', map { $_->{status} } @threaded), join(' ', ('ok') x (3 * @models)), 'several streams: verified');

# ---- PyTorch's streams share nothing but what must be given back first
my $silos = spew('silos.trace', "gpuarena-trace 1\na 1 20971520 0\nf 1\na 2 20971520 1\nf 2\na 3 20971520 0\n");
for my $model (qw(pytorch pytorch-expandable)) {
    my ($apart) = figures('-w', "replay:$silos", '-p', $model);
    is("$apart->{status} $apart->{reserved_peak_bytes}", 'ok 41943040', "$model: 20 MiB for each of two streams");
    my ($within) = figures('-w', "replay:$silos", '-p', "$model:limit=20M");
    is("$within->{status} $within->{reserved_peak_bytes}", 'ok 20971520', "$model: the same 20 MiB, under that limit");
}

# ---- recorded steps: what PyTorch's allocator held at its peak in two, and what a model of it needs for others
my $recorded = "$traces/pytorch/medium_128_training.trace";
if (!-e $recorded) {
    skip("no recordings: $recorded is not there (GPUARENA_TRACES)");
    done();
}
for (['medium_128', 7235174400], ['medium_512', 12660506624]) {
    my ($name, $held) = @$_;
    my ($row) = figures('-w', "replay:$traces/pytorch/${name}_training.trace", '-p', 'pytorch');
    my $share = ($row->{reserved_peak_bytes} || 0) / $held;
    ok($row->{status} eq 'ok' && $share > 0.99 && $share < 1.01,
       sprintf '%s: %d bytes reserved, %.4f of the %d that PyTorch held', $name, $row->{reserved_peak_bytes}, $share, $held);
}
# footprints of models of the same rules, as the recordings' notes tell them
for (['pytorch/medium_128_training.trace', 1.029, 1.021], ['intervals/somas_pangu_2.6B.csv', 1.466, 1.192],
     ['intervals/somas_resnet50.csv', 1.114, 1.021]) {
    my ($file, @expected) = @$_;
    my @found = figures('-w', "replay:$traces/$file", '-p', 'pytorch,pytorch-expandable');
    for my $at (0, 1) {
        my $footprint = $found[$at]{footprint} || 0;
        ok(abs($footprint - $expected[$at]) <= 0.005 * $expected[$at],
           "$file: $found[$at]{policy} $footprint, expected $expected[$at] within 0.5 %");
    }
}
done();

#!/usr/bin/perl
# Models of known allocators and `-p all` from the command line, and models against what the allocators held on recorded
# steps. It must not test rules case by case: test_like_*.c do, and tests/unit/stress/test_golden_peaks.c has more figures.
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

# A row without its policy's name.
sub nameless {
    my %row = %{$_[0]};
    delete $row{policy};
    return join ',', map { "$_=$row{$_}" } sort keys %row;
}

# ---- the list: what each is, what it lacks, its one key
my $list = stress(qw(help lists))->{out};
for my $model (@models) {
    my ($not) = $list =~ /^  (?:[\w-]+, )?\Q$model\E: model: \S.*\n(?: +not: (\S.*(?:\n {19}\S.*)*)\n)? +keys: limit$/m;
    ok($model =~ /^(?:best|first)$/ || length($not // '') > 20, "$model: what it does not reproduce");
    ok(index($list, stress('help', $model)->{out} =~ s/^.*\n//r) >= 0, "stress help $model has the same");
}
is((grep { length > 118 && !/^  cub-library: / } split /\n/, $list) + 0, 0, 'the lines of models are not too long');

# ---- --limit binds models, and nothing else is a key; older names are known
my @words = qw(-w uniform:n=2000 -p);
my ($short) = figures(@words, 'bfc:limit=512M');
is("$short->{policy} $short->{status}", 'bfc:limit=512M oom', 'bfc:limit=512M');
ok($short->{reserved_peak_bytes} <= 512 << 20, 'within its limit');
my ($bound) = figures(@words, 'bfc', qw(--limit 512M));
is($bound->{oom_op}, $short->{oom_op}, '--limit is the same');
my ($share) = figures(@words, 'bfc:limit=50%', qw(--device sim:1G));
is($share->{oom_op}, $short->{oom_op}, 'so is a share of the device');
is(join('', @$short{qw(gpu_waits stranded_peak_bytes remapped_pages)}), '', 'what a model cannot tell is left empty');
ok(length $short->{fragmentation} && length $short->{oom_largest_bytes}, 'its free memory it can');
is(nameless((figures(@words, 'best'))[0]), nameless((figures(@words, 'best-fit'))[0]), 'best is best-fit');
refused(2, qr/policy 'ort:growth=exact': growth: 'ort' is a model of another allocator, whose only key is limit/, 'run', @words,
        'ort:growth=exact');
refused(2, qr/unknown policy 'pytorh', did you mean 'pytorch'/, 'run', @words, 'pytorh');
refused(2, qr/policy 'paged:bfc': bfc is a policy of its own/, 'run', @words, 'paged:bfc');
refused(2, qr/policy 'config:ort,limit=8G': ort is a policy of its own/, 'run', @words, 'config:ort,limit=8G');

# ---- all of them
my @all = (qw(raw async paged segments), @models);
my $run = stress('run', @words, 'all', @csv);
is("$run->{code} $run->{err}", '0 ', '-p all');
is(join(' ', map { $_->{policy} } rows($run->{out})), "@all", 'raw first, the driver\'s pool, the arena, then every model');
is(join(' ', map { $_->{status} } rows($run->{out})), join(' ', ('ok') x @all), 'all complete');
is(stress('run', @words, 'all', @csv)->{out}, $run->{out}, 'the same bytes again');
is(join(' ', map { $_->{policy} } figures(@words, 'bfc,all,config:step=4M')), "bfc @all config:step=4M", 'beside others');
my $plain = stress('run', @words, 'all', qw(--no-timing --device sim:80G,vm=off --out csv=-));
is($plain->{code}, 0, 'on a device without virtual memory');
is(join(' ', map { $_->{policy} } rows($plain->{out})), join(' ', grep { !/^(?:paged|best|first)$|expandable/ } @all),
   'what it cannot have is left out');
is(join(' ', $plain->{err} =~ /^stress: -p all: left out: policy '([\w-]+)'/mg),
   'paged best first pytorch-expandable', 'and told');
my @limits = rows(stress(qw(capacity -w uniform:n=300 -p all), '-q', '--out', 'csv=-')->{out});
is(join(' ', map { $_->{policy} } @limits), "@all", 'stress capacity -p all');
ok(!(grep { !length $_->{ratio} || $_->{ratio} < 1 } @limits), 'each has its smallest limit');
my $beyond = spew('beyond.trace', "gpuarena-trace 1\na 1 23068672 0\na 2 17825792 0\n");
my ($passed) = rows(stress('capacity', '-w', "replay:$beyond", qw(-p pytorch-expandable -q --out csv=-))->{out});
is("$passed->{status} $passed->{min_limit_bytes}", 'ok 23068672', 'expandable segments map whole pages, beyond their limit, too');
refused(2, qr/'all' has no keys/, 'run', @words, 'all:limit=1G');
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

#!/usr/bin/perl
# Presets and `-p all` from the command line, and presets against what the allocators themselves held on recorded steps.
# It must not test rules case by case: tests/test_like_*.c do.
# Run: prove tests/presets.t (STRESS=path of the program, GPUARENA_TRACES=folder of recorded traces)
use strict;
use warnings;
no warnings 'qw';
require './tests/stress_run.pl';
our ($folder, $stress, $traces);

delete @ENV{qw(COLUMNS NO_COLOR FORCE_COLOR CI GPUARENA_CONF)};
my @csv = qw(--no-timing -q --out csv=-);
my @presets = qw(bfc pytorch pytorch-expandable rmm cub ort);

sub figures {
    return rows(stress('run', @_, @csv)->{out});
}

# A row without its policy's name.
sub nameless {
    my %row = %{$_[0]};
    delete $row{policy};
    return join ',', map { "$_=$row{$_}" } sort keys %row;
}

# ---- the list prints each in full
my $list = stress(qw(list policies))->{out};
my (%text, %lacks);
for my $preset (@presets) {
    my ($is, $not) = $list =~ /^  \Q$preset\E +\S.*\n +is:  (\S.*(?:\n {19}\S.*)*)\n +not: (\S.*(?:\n {19}\S.*)*)\n/m;
    s/\n +//g for grep { defined } $is;
    ($text{$preset}, $lacks{$preset}) = ($is // '', $not // '');
    ok($text{$preset} =~ /^backing=\w+(?:,\w+=[\w%]+)+$/, "$preset: its configuration");
    ok(length $lacks{$preset} > 20, "$preset: what it does not reproduce");
}
is(stress(qw(help lists))->{out} =~ /\Q$list\E/ ? 1 : 0, 1, 'stress help lists has the same');
is((grep { length > 118 && !/ keys: |^  cub-library / } split /\n/, $list) + 0, 0, 'the lines of presets are not too long');

# ---- the text is the preset, keys go before its own, and --limit binds it
my @words = qw(-w uniform:n=2000 -p);
for my $preset (@presets) {
    my ($by_name, $by_text) = map { $_ // {} } figures(@words, "$preset,config:$text{$preset}");
    is(nameless($by_text), nameless($by_name), "$preset and its text do the same");
    is($by_name->{status}, 'ok', "$preset: verified");
}
my ($short) = figures(@words, 'bfc:limit=512M');
is("$short->{policy} $short->{status}", 'bfc:limit=512M oom', 'bfc:limit=512M');
ok($short->{reserved_peak_bytes} <= 512 << 20, 'within its limit');
my ($bound) = figures(@words, 'bfc', qw(--limit 512M));
is($bound->{oom_op}, $short->{oom_op}, '--limit is the same');
my ($exact, $doubled) = figures(@words, 'ort:growth=exact,step_max=0,ort');
ok($exact->{driver_calls} > 2 * $doubled->{driver_calls}, 'a key goes before the preset\'s own');
refused(2, qr/unknown policy 'pytorh', did you mean 'pytorch'/, 'run', @words, 'pytorh');
refused(2, qr/policy 'paged:bfc': bfc is a policy of its own/, 'run', @words, 'paged:bfc');
is(nameless((figures(@words, 'config:ort,limit=8G'))[0]), nameless((figures(@words, 'ort:limit=8G'))[0]),
   'config: takes the library\'s whole text');

# ---- all of them
my @all = (qw(raw async paged segments best first), @presets);
my $run = stress('run', @words, 'all', @csv);
is("$run->{code} $run->{err}", '0 ', '-p all');
is(join(' ', map { $_->{policy} } rows($run->{out})), "@all", 'raw first, the driver\'s pool, then every policy of the arena');
is(join(' ', map { $_->{status} } rows($run->{out})), join(' ', ('ok') x @all), 'all complete');
is(stress('run', @words, 'all', @csv)->{out}, $run->{out}, 'the same bytes again');
is(join(' ', map { $_->{policy} } figures(@words, 'bfc,all,config:step=4M')), "bfc @all config:step=4M", 'beside others');
my $plain = stress('run', @words, 'all', qw(--no-timing --device sim:80G,vm=off --out csv=-));
is($plain->{code}, 0, 'on a device without virtual memory');
is(join(' ', map { $_->{policy} } rows($plain->{out})), join(' ', grep { !/^(?:paged|best|first)$|expandable/ } @all),
   'what it cannot have is left out');
is(join(' ', $plain->{err} =~ /^stress: -p all: left out: policy '([\w-]+)'/mg), 'paged best first pytorch-expandable',
   'and told');
my @limits = rows(stress(qw(capacity -w uniform:n=300 -p all), '-q', '--out', 'csv=-')->{out});
is(join(' ', map { $_->{policy} } @limits), "@all", 'stress capacity -p all');
ok(!(grep { !length $_->{ratio} || $_->{ratio} < 1 } @limits), 'each has its smallest limit');
refused(2, qr/'all' has no keys/, 'run', @words, 'all:limit=1G');

# ---- PyTorch's streams share nothing but what must be given back first
my $silos = spew('silos.trace', "gpuarena-trace 1\na 1 20971520 0\nf 1\na 2 20971520 1\nf 2\na 3 20971520 0\n");
for my $preset (qw(pytorch pytorch-expandable)) {
    my ($apart) = figures('-w', "replay:$silos", '-p', $preset);
    is("$apart->{status} $apart->{reserved_peak_bytes}", 'ok 41943040', "$preset: 20 MiB for each of two streams");
    my ($within) = figures('-w', "replay:$silos", '-p', "$preset:limit=20M");
    is("$within->{status} $within->{reserved_peak_bytes}", 'ok 20971520', "$preset: the same 20 MiB, under that limit");
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
    for my $at (0, 1) {                          # small requests lie in pages of their own there
        my ($footprint, $apart) = ($found[$at]{footprint} || 0, $at ? 0.02 : 0.01);
        ok(abs($footprint - $expected[$at]) <= $apart * $expected[$at],
           "$file: $found[$at]{policy} $footprint, expected $expected[$at] within " . 100 * $apart . ' %');
    }
}
done();

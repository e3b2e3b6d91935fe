#!/usr/bin/perl
# Needs of people who use GPU memory, and the table of stress/README.md, which says how many of a group's needs pass,
# of those that apply. Needs that any policy can meet are asked here, of runs of four policies, whose verdicts are
# letters: P, passed; F, failed; -, not its need. A need that only an arena can meet counts as failed for raw and for
# the model. For arenas it is asked by the cases of needs.script whose titles begin with the need, or by the tests
# that %answered names. It must not know how a policy works, but for which keys it has.
# Runs once: verdicts do not depend on the build.
use strict;
use warnings;
use List::Util qw(all max);
require './tests/support/stress_run.pl';

use constant { MIB => 1 << 20, GIB => 1 << 30 };
my @policies = qw(raw bfc segments paged);
my %found;

# ---- traces: operations in order, as words: a NUMBER BYTES [STREAM], f NUMBER [STREAM], ..

sub trace {
    my ($name, @lines) = @_;
    return 'replay:' . spew("$name.trace", join "\n", 'gpuarena-trace 1', @lines, '');
}

sub allocs { my ($first, @sizes) = @_; return map { 'a ' . ($first + $_) . " $sizes[$_] 0" } 0 .. $#sizes }
sub frees { return map { "f $_ 0" } @_ }

# Tensors of 1 to 32 MiB, by chance, to 4 GiB: the first of them, in several numbers, from 512 MiB on.
sub rising {
    my (@sizes, @cuts);
    srand 1;
    for (my $live = 0; $live < 4 * GIB; $live += $sizes[-1]) {
        push @sizes, MIB + 512 * int rand 31 * MIB / 512;
        push @cuts, scalar @sizes if $live > 512 * MIB && @sizes % 2;
    }
    return map { trace("rising$_", allocs(0, @sizes[0 .. $_ - 1])) } @cuts;
}

# Steps of twelve tensors each, whose length is another one at each step.
sub shapes {
    my ($steps) = @_;
    srand 1;
    return trace("shapes$steps", map {
        my ($step, $length) = ($_, 512 + int rand 3584);
        (allocs(12 * $step, map { 4096 * $length * (1 + $_ % 4) } 0 .. 11), frees(map { 12 * $step + $_ } 0 .. 11));
    } 0 .. $steps - 1);
}

# Forward and backward through 48 layers, with scratch memory at each; eager: nothing is freed before the end.
sub lifetimes {
    my ($is_eager) = @_;
    return trace("lifetimes$is_eager", map {
        my $layer = $_ < 48 ? $_ : 95 - $_;
        ("a @{[100 + $_]} @{[40 * MIB]} 0", $_ < 48 ? "a $layer @{[24 * MIB]} 0" : (),
         $is_eager ? () : frees(100 + $_, $_ < 48 ? () : $layer));
    } 0 .. 95);
}

# 1,000 rows of 100 numbers, two dense layers, and batches of 32 rows with activations, gradients and loss.
sub tiny {
    my ($epochs) = @_;
    my @sizes = map { 8 * $_ } 32 * 100, 32 * 64, 32 * 64, 32, 100 * 64, 64, 64;
    return trace("tiny$epochs", allocs(0, 800_000, 51_200, 512),
                 map { my $first = 3 + 7 * $_; (allocs($first, @sizes), frees(reverse $first .. $first + 6)) } 0 .. 31 * $epochs - 1);
}

# Blocks of one size: so many as lie in one granule with 512 bytes between them.
sub beside { my ($bytes) = @_; return trace("beside$bytes", allocs(0, ($bytes) x (2 * MIB / ($bytes + 512)))) }

# A ring of four batches.
sub ring {
    my ($batches) = @_;
    return trace("ring$batches", map { ($_ < 4 ? () : frees($_ - 4), allocs($_, 128 * MIB)) } 0 .. $batches - 1);
}

# Batches that are copied on one stream and used on another, which takes five times as long; two at a time.
sub overlap {
    return trace('overlap', map {
        ($_ < 2 ? () : 'f ' . ($_ - 2) . ' 2', "a $_ @{[64 * MIB]} 1", "k 1 1000000 $_", 'w 2 1', "k 2 5000000 $_");
    } 0 .. 49);
}

# Weights, and tries of 24 layers each, of so many samples, which are freed before the next try.
sub batches {
    my $first = 0;
    return trace('batches', "a 0 @{[128 * MIB]} 0", map {
        my $bytes = $_ * 640 * 1024;
        $first += 24;
        (allocs($first, ($bytes) x 24), frees($first .. $first + 23));
    } 1, 2, 4, 8, 16, 32, 64, 90, 93, 96);
}

# ---- runs

# A workload's row on one policy, on a device of 16 GiB unless said otherwise.
sub on {
    my ($policy, $workload, @words) = @_;
    my $run = stress('run', '-w', $workload, '-p', $policy, '--device', 'sim:16G', @words, qw(-q --no-timing --out csv=-));
    return (rows($run->{out}))[0];
}

# The highest footprint of these workloads on one policy; where one is not served, more than any.
sub highest {
    my ($policy, @workloads) = @_;
    my @rows = rows(stress('run', map({ ('-w', $_) } @workloads), '-p', $policy, '-q', '--no-timing', '--out', 'csv=-')->{out});
    return all_ok(@rows) && @rows == @workloads ? max(map { $_->{footprint} } @rows) : 9;
}

sub all_ok { return all { $_->{status} eq 'ok' } @_ }

sub is_arena { return $_[0] =~ /^(?:segments|paged)$/ }

# A policy's name with keys, those of its kind: raw has none, a model none but a limit.
sub with {
    my ($policy, $limit, $keys) = @_;
    return $policy eq 'raw' ? 'raw' : join ',', "$policy:limit=$limit", is_arena($policy) && $keys ? $keys : ();
}

my $train = 'train:steps=2,layers=8,hidden=2048';

# A need: its name; the verdicts on raw, bfc, segments and paged, and on one more policy, if its name follows; the
# question; and a function that tells whether a policy passes.
my @needs = (
    [limit => 'FPPP', '', '5000 MiB are never passed, and all of them are to be had', sub {
        my ($bytes, $policy) = (5000 * MIB, with($_[0], '5000M'));
        my $whole = on($policy, trace('whole', "a 0 $bytes 0", 'f 0 0', "a 1 @{[$bytes + 1]} 0"));
        my $pressed = on($policy, 'uniform:max=512,cap=8000,n=2000', '--on-oom', 'skip');
        return $whole->{oom_op} eq 2 && $whole->{reserved_peak_bytes} == $bytes
            && $pressed->{status} eq 'oom' && $pressed->{reserved_peak_bytes} <= $bytes;
    }],
    [shares => 'FPPP', '', 'four programs have the same parts of a device in whatever order they start', sub {
        my ($policy) = @_;
        my @parts = (12.5, 25, 12.5, 37.5);
        my $asked = trace('shares', allocs(0, (512 * MIB) x (is_arena($policy) ? 1 : 32)));      # an arena takes its part at once
        for my $order ([0 .. 3], [reverse 0 .. 3]) {
            my $before = 0;
            for my $part (@parts[@$order]) {
                my $row = on(with($policy, "$part%", 'growth=fixed'), $asked, '--faults', "rival\@0=${before}M");
                return 0 if $row->{reserved_peak_bytes} != $part / 100 * 16 * GIB;
                $before += $part / 100 * 16384;
            }
        }
        return 1;
    }],
    [grabbed => 'FPPP', '', 'a library took 12 of 16 GiB first: the rest is to be used, or a share of it', sub {
        my @left = map { trace("left$_", allocs(0, 2 * GIB / $_, 6 * GIB / $_)) } 1, 2;
        my $rest = on($_[0], $left[0], '--context', '12G');
        my $share = on(with($_[0], '50%free'), $left[1], '--context', '12G');
        return all { $_->{oom_op} eq 1 } $rest, $share;
    }],
    [overshoot => 'PFPP', '', 'while 4 GiB of tensors come, from 512 MiB on at most twice what is live is held; growth=exact: 1.2 times', sub {
        return highest($_[0], rising()) <= 2 && highest(is_arena($_[0]) ? "$_[0]:growth=exact" : $_[0], rising()) <= 1.2;
    }],
    [modes => 'F-PP', '', 'training fits under 1.15 times its peak, both with memory taken beforehand and with growth', sub {
        my @of = ($train, '--device', 'sim:64G');
        return $_[0] eq 'bfc' ? undef : 0 if !is_arena($_[0]);
        my $limit = int(1.15 * on('raw', @of)->{requested_peak_bytes} / (2 * MIB)) * 2 . 'M';
        return all_ok(map { on(with($_[0], $limit, $_), @of) } '', 'growth=fixed');
    }],
    [walls => 'PFPP', '', 'half of what is free, in pieces, is served in one, or refused as fragmented', sub {
        my $pieces = trace('walls', allocs(0, (32 * MIB) x 32), frees(map { 2 * $_ } 0 .. 15), "a 32 @{[256 * MIB]} 0");
        my $row = on(with($_[0], '1G'), $pieces, '--device', 'sim:2G');
        return 1 if $row->{status} eq 'ok';
        return is_arena($_[0]) && $row->{oom_op} == 48 && $row->{oom_reason} eq 'fragmented' && $row->{oom_largest_bytes} < 256 * MIB;
    }],
    [shapes => 'PPPP', '', 'with other shapes at each of 300 steps what is held comes to rest: 1.1 times that of the first 100', sub {
        my @rows = map { on($_[0], shapes($_)) } 100, 300;
        return all_ok(@rows) && $rows[1]{reserved_peak_bytes} <= 1.1 * $rows[0]{reserved_peak_bytes};
    }],
    [jump => 'PFPP', '', "an embedding's first step, four times its table: at most 1.05 times what is live is held", sub {
        my $row = on($_[0], trace('jump', allocs(0, (1000003 * 300 * 4) x 4)));
        return $row->{status} eq 'ok' && $row->{footprint} <= 1.05;
    }],
    [trim => 'PPPP', '', '4 GiB that were freed go back to the device by one call, which ends every run that is verified', sub {
        return all_ok(on($_[0], trace('trim', allocs(0, MIB, 4 * GIB), frees(1))));
    }],
    [again => 'FPPP', 'pytorch', "the same step again: a hundredth of the first time's driver calls, from the third on none; 1 % more in use", sub {
        my @rows = map { on($_[0], 'train:steps=1,layers=4,hidden=1024,seq=2048', '--rounds', $_) } 1, 2, 5;
        my @calls = map { $_->{driver_calls} } @rows;
        return all_ok(@rows) && $calls[1] <= 1.01 * $calls[0] && $calls[2] == $calls[1]
            && $rows[2]{reserved_peak_bytes} <= 1.01 * $rows[0]{reserved_peak_bytes};
    }],
    [repeat => 'PPPP', 'pytorch', 'the same step five times within what it took the first time', sub {
        my @step = ('train:steps=1,layers=6,hidden=1024,seq=2048', '--device', 'sim:64G');
        my $most = on($_[0], @step)->{reserved_peak_bytes};
        $step[2] = "sim:$most" if $_[0] eq 'raw';
        return all_ok(on(with($_[0], $most), @step, '--rounds', 5));
    }],
    [lifetimes => 'PPPP', 'ort', 'what is freed after its last use lowers what is held as much as what is live, to a tenth', sub {
        my ($eager, $planned) = map { on($_[0], lifetimes($_)) } 1, 0;
        return all_ok($eager, $planned)
            && $planned->{reserved_peak_bytes} / $eager->{reserved_peak_bytes}
            <= $planned->{requested_peak_bytes} / $eager->{requested_peak_bytes} + 0.1;
    }],
    [bound => 'PFPP', '', 'training holds at most 1.25 times the lower bound, the peak of what is live', sub {
        my $row = on($_[0], $train, '--device', 'sim:64G');
        return $row->{status} eq 'ok' && $row->{footprint} <= 1.25;
    }],
    [overlap => 'FPPP', '', "batches copied and used on two streams: the driver keeps the host a tenth of the GPU's work", sub {
        my $row = on($_[0], overlap());
        return $row->{status} eq 'ok' && $row->{driver_vns} <= 50 * 5e6 / 10;
    }],
    ['late-free' => 'PPPP', '', 'what another stream freed and still works on serves the next request, behind that work', sub {
        my @lines = ("a 0 @{[256 * MIB]} 1", 'k 1 20000000 0', 'f 0 1', "a 1 @{[256 * MIB]} 2");
        return all_ok(on($_[0], trace('late', @lines), '--device', 'sim:256M'));
    }],
    [tiny => 'FPPP', '', 'a tiny model trains in one granule of 2 MiB, without a driver call after the first epoch', sub {
        my @rows = map { on($_[0], tiny($_)) } 1, 5;
        return all_ok(@rows) && $rows[1]{driver_calls} == $rows[0]{driver_calls} && $rows[1]{reserved_peak_bytes} <= 2 * MIB;
    }],
    [sizes => 'PPPP', 'cub', '20,000, 40,000 and 80,000 bytes take at most 512 more each', sub {
        my @rows = map { on($_[0], beside($_)) } 20_000, 40_000, 80_000;
        return all_ok(@rows) && all { $_->{reserved_peak_bytes} <= 2 * MIB } @rows;
    }],
    [batches => 'PPPP', 'async', 'batches of up to 75 % of what there are bytes for can be tried, one after the other', sub {
        return all_ok(on($_[0], batches(), '--device', 'sim:2G'));
    }],
    [ring => 'FPPP', '', "ten times the device's size passes through a ring, without a driver call after the first lap", sub {
        my @rows = map { on($_[0], ring($_), '--device', 'sim:2G') } 5, 160;
        return all_ok(@rows) && $rows[1]{driver_calls} == $rows[0]{driver_calls} && $rows[1]{reserved_peak_bytes} <= 6 * 128 * MIB;
    }],
);

sub letter {
    my ($need, $policy) = @_;
    my $passes = $need->[4]->($policy);
    return !defined $passes ? '-' : $passes ? 'P' : 'F';
}

my @verdicts = in_parallel(\@needs, sub {
    my ($need) = @_;
    return join '', map { letter($need, $_) } @policies, $need->[2] || ();
});
for my $at (0 .. $#needs) {
    my ($name, $verdicts, $fails, $sentence) = @{ $needs[$at] };
    is($verdicts[$at], $verdicts . ($fails ? 'F' : ''), "$name on @policies $fails: $sentence");
    $found{$name} = [split //, $verdicts];
}

# ---- needs that others' tests answer, and the README

# A need, a file, and a text in it: the title of a case, or the first words about a test.
my %answered = (
    report        => ['unit/arena/sentences.golden', 'report text device 1G plain'],
    events        => ['unit/arena/observe.script', 'case Actions of segments'],
    threads       => ['support/thread_world.h', 'in each its limit holds'],
    'late-change' => ['unit/arena/sentences.golden', 'create ; zero_begin=1'],
    environment   => ['unit/arena/growth.script', 'case The environment fills fields'],
    steps         => ['unit/arena/growth.script', 'case Steps of 64M, of 6M, and exact'],
    pressure      => ['unit/arena/streams_pressure.script', 'case Served with what is freed'],
    tenants       => ['unit/arena/tenants.script', 'case Two tenants share a device'],
    devices       => ['unit/arena/test_calls.c', 'static void test_owner('],
    pinned        => ['unit/arena/backings.script', 'case One arena of each kind'],
    async         => ['unit/arena/backings.script', 'case The limit holds at every instant'],
);
for my $need (sort keys %answered) {
    my ($file, $text) = @{ $answered{$need} };
    ok(index(slurp("tests/$file"), $text) >= 0, "$need: tests/$file has it");
    $found{$need} = [qw(F - P P)];
}
$found{$_} = $_ eq 'addresses' ? [qw(- - - P)] : [qw(F - P P)] for slurp('tests/scenario/needs.script') =~ /^case ([a-z-]+): /mg;

my (%grouped, @wrong);
for (grep { /^\| .* \| `.*` \| \d/ } split /\n/, slurp('stress/README.md')) {
    my (undef, $question, $names, @counts) = split / *\| */;
    my @names = $names =~ /`([^`]+)`/g;
    @grouped{@names} = (1) x @names;
    for my $at (0 .. $#policies) {
        my @of = grep { $_ ne '-' } map { ($found{$_} || [qw(? ? ? ?)])->[$at] } @names;
        my $count = (grep { $_ eq 'P' } @of) . ' of ' . @of;
        push @wrong, "$question, $policies[$at]: $counts[$at], not $count" if $counts[$at] ne $count;
    }
}
is(join(' ', sort keys %grouped), join(' ', sort keys %found), 'the README has every need');
is(join("\n", @wrong), '', '.. and counts them right');
done();

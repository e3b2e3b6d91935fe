#!/usr/bin/perl
# Properties of the operations of every family: blocks are live where they are used and freed, streams are ordered,
# counts and peaks are those of a walk, --ops cuts to a prefix, options and the command line have equal effects, and
# every option at its edges makes a stream or is refused in words. It knows families by name alone; their operations:
# cases/workloads.case.
# Takes long: some 450 runs.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our $folder;

# A workload, and how many waits it has, all of which it takes to be ordered; '': they are not tried one by one.
my @specs = map { [split] } grep { /\S/ } split /\n/, <<'END';
uniform:n=3000,max=64,cap=1000                                                                     0
train:layers=3,steps=2,recompute=1,lora=16                                                         0
train:layers=2,seq=100-900,steps=2,zero3=8,streams=2
producer:n=60,steps=1,depth=1,consumers=3                                                          60
producer:n=4,steps=1,depth=1,images=2                                                              4
producer:n=2000,steps=2,depth=64,consumers=64,seed=3
larson:threads=2,blocks=30,rounds=3                                                                4
larson:threads=3,blocks=20,rounds=30,seed=9
phases:layers=1,hidden=8,ff=8,heads=1,vocab=8,batch=2,seq=9,steps=2,generate=2,streams=2           30
phases:layers=3,steps=2,seed=2                                                                     0
pareto:n=20000,places=15625                                                                        0
cnn:batch=2,steps=3,streams=2                                                                      3
dataset:items=1000,batch=10,side=70-200,prefetch=8
embedding:gradient=sparse,batch=64-2048                                                            0
tape:layers=3,hidden=64,heads=4,vocab=100,seq=5-90,keep=2                                          0
growing:layers=4,prompt=1-99,tokens=50                                                             0
serve:weights=0,rate=100,budget=1024                                                               0
serve:requests=20,layout=contiguous,sharing=90,prefix=48                                           0
rival:layers=2,steps=2,zero3=4,from=9,until=30                                                     0
END

# A workload and words of `stress run` -> its operations as text, and its row; or the answer that came instead.
sub made {
    my ($spec, @words) = @_;
    my $run = stress('run', '-w', $spec, qw(-p raw --device sim:4T --verify off --no-timing -q --out csv=-),
                     '--out', "trace=$folder/made.trace", @words);
    my ($row) = rows($run->{out});
    return ($run->{code} ? '' : slurp("$folder/made.trace"), $row // {}, $run);
}

# ---- order: vector clocks over the streams of a program

# Operations as text -> how many touches nothing puts after their block's allocation, and after the kernel that
# touched it first; frees that nothing puts after a use of the block; touches and frees of a block that is not live;
# waits; and, as the row has them, allocations, these and frees, and the highest sum of live bytes.
sub order_of {
    my (%clock, %block, %count);
    my ($live, $peak) = (0, 0);
    my $sees = sub { my ($on, $of) = @_; return $clock{$on}{$of} // 0 };
    for (split /\n/, $_[0]) {
        my ($kind, @words) = split;
        if ($kind eq 'a') {
            my ($id, $bytes, $on) = @words;
            my $now = ++$clock{$on}{$on};
            $block{$id} = { home => $on, made => $now, used => { $on => $now }, bytes => $bytes };
            $live += $bytes;
            $peak = $live if $live > $peak;
        } elsif ($kind eq 'k') {
            my ($on, undef, @touched) = @words;
            my $now = ++$clock{$on}{$on};
            for my $block (map { $block{$_} // ($count{dead}++, {home => 0, made => 0})[1] } @touched) {
                $count{alloc} += $sees->($on, $block->{home}) < $block->{made};
                @$block{qw(filler filled)} = ($on, $now) if !$block->{filled};
                $count{fill} += $sees->($on, $block->{filler}) < $block->{filled};
                $block->{used}{$on} = $now;
            }
        } elsif ($kind eq 'f') {
            my $block = delete $block{$words[0]} // ($count{dead}++, { bytes => 0 })[1];
            $live -= $block->{bytes};
            my $on = $words[1] // $block->{home};
            $count{use} += grep({ $sees->($on, $_) < $block->{used}{$_} } keys %{$block->{used}}) > 0;
        } elsif ($kind eq 'w') {
            my ($on, $of) = @words;
            $count{waits}++;
            for (keys %{$clock{$of}}) { $clock{$on}{$_} = $clock{$of}{$_} if $sees->($on, $_) < $clock{$of}{$_} }
        }
    }
    my ($allocs, $frees) = map { scalar(() = $_[0] =~ /^$_ /mg) } qw(a f);
    return (map({ $count{$_} // 0 } qw(alloc fill use dead waits)), $allocs, $allocs + $frees, $peak);
}

# Waits without which the program would still be ordered.
sub idle_waits {
    my @lines = split /\n/, $_[0];
    my $idle = 0;
    for my $at (grep { $lines[$_] =~ /^w/ } 0 .. $#lines) {
        my @order = order_of(join "\n", @lines[0 .. $at - 1, $at + 1 .. $#lines]);
        $idle++ if "@order[0 .. 3]" eq '0 0 0 0';
    }
    return $idle;
}

# Mistakes of order that the check must see, and order that it must accept.
is(join(' ', (order_of($_->[0]))[0 .. 3]), "$_->[1] 0", "order: $_->[0]") for (
    ["a 0 8 1\nk 1 5 0\nw 2 1\nk 2 5 0\nf 0 2", '0 0 0'],
    ["a 0 8 1\nk 1 5 0\nk 2 5 0\nf 0 2", '1 1 1'],
    ["a 0 8 1\nk 1 5 0\nw 1 2\nk 2 5 0\nf 0 2", '1 1 1'],
    ["a 0 8 1\nw 2 1\nk 1 5 0\nk 2 5 0\nw 2 1\nf 0 2", '0 1 0'],
    ["a 0 8 1\nk 1 5 0\nw 2 1\nk 2 5 0\nf 0 1", '0 0 1'],
    ["a 0 8 1\nk 1 5 0\nw 2 1\nw 3 2\nk 3 5 0\nw 1 3\nf 0 1", '0 0 0'],
    ["a 0 8 1\nf 0 2", '0 0 1'],
    ["w 2 1\na 0 8 1\nk 2 5 0\nw 1 2\nf 0", '1 0 0'],
);

# ---- soundness, and cuts

sub operations { return scalar(() = $_[0] =~ /^[af] /mg) }

for (@specs) {
    my ($spec, $waits) = @$_;
    my ($text, $row) = made($spec);
    my @order = order_of($text);
    is("@order[5 .. 7]", "@$row{qw(allocs ops requested_peak_bytes)}", "$spec: counts and the peak are those of a walk") if $row->{status} ne 'oom';
    is("@order[0 .. 3]", '0 0 0 0', '.. and it orders its own work, on blocks that are live');
    is($order[4] . ' ' . idle_waits($text), "$waits 0", ".. by $waits waits, each of which it takes") if defined $waits;
    my $wrong = '';
    for my $ops (1, 2, 5, 13, 57, 168) {
        my ($cut) = made($spec, '--ops', $ops);
        my $count = operations($text) < $ops ? operations($text) : $ops;
        $wrong .= "$ops " if substr($text, 0, length $cut) ne $cut || operations($cut) != $count;
    }
    is($wrong, '', '.. and cut by --ops a prefix');
}

# ---- options

my @families = grep { $_ ne 'replay' && $_ ne 'all' } stress(qw(list workloads))->{out} =~ /^  (\S+) /mg;
my %options = map { $_ => [stress('help', $_)->{out} =~ /^  (\w+)=(\S+) +(.*)/mg] } @families;

# Key, default, range; ..
sub each_option {
    my ($family, $of) = @_;
    my @words = @{$options{$family}};
    return map { $of->(@words[3 * $_ .. 3 * $_ + 2]) } 0 .. @words / 3 - 1;
}

ok(@families > 10, 'families are found');
is((made($_->[0]))[0], (made(@$_[1 .. $#$_]))[0], "$_->[0] is @$_[1 .. $#$_]") for (
    map({ my $family = $_; [$family, "$family:" . join ',', each_option($family, sub { "$_[0]=$_[1]" })] } @families),
    map({ [split] } 'train:layers=2,seed=7 train:layers=2 --seed 7', 'train:layers=2,steps=2 train:layers=2 --steps 2',
        'producer:n=50,steps=2 producer:n=50 --steps 2', 'phases:layers=1,steps=2 phases:layers=1 --steps 2',
        'uniform:n=50 uniform:n=50 --steps 2', 'larson:blocks=9,threads=3 larson:blocks=9 --threads 3'),
);

# '' where it is made, of blocks that are live, or refused with a line that names the family.
sub neither {
    my ($family, $spec) = @_;
    my ($text, undef, $run) = made($spec, '--ops', 400);
    return $run->{code} == 2 && $run->{err} =~ /\Q$family\E.*expected/ || $run->{code} == 0 && (order_of($text))[3] == 0 ? '' : "$spec ";
}

for my $family (@families) {
    my @edges = each_option($family, sub { $_[2] =~ /^(\d+) to (\d+)/ ? ["$_[0]=$1", "$_[0]=$2"] : () });
    my @all = map { my $at = $_; join ',', map { $_->[$at] } @edges } 0, 1;
    is(join('', map { neither($family, "$family:$_") } @all, map { @$_ } @edges), '', "$family: each option at its edges, and all together");
}
done();

#!/usr/bin/perl
# Programs of two or three threads at random, in each of which everything fits: nobody may be refused, in any order of
# the threads. An arena alone or a tree; pages, blocks of one size in pages or segments; a limit or the device in the
# way; idle memory where it is not needed; trims, reserves, resizes, steps that come again; marks, streams that go,
# whose handles come again, arenas that come and go. test_schedules runs them, and judges all else. A program that
# fails is made small by hand, and becomes a case of fits.script.
# Runs once: test_schedules has its own copy of the header. GPUARENA_FITS=N programs from GPUARENA_FITS_SEED=N, each
# in GPUARENA_FITS_ORDERS=N orders.
use strict;
use warnings;
require './tests/support/stress_run.pl';

my $orders = $ENV{GPUARENA_FITS_ORDERS} // 24;
my $cases = $ENV{GPUARENA_FITS} // 1500;
my $build = $ENV{BUILD} // 'build';
srand($ENV{GPUARENA_FITS_SEED} // 1);

use constant DEVICE_MIB => 64;
my (%is, @arenas, $unit, $names);                # of this program: traits, names of arenas, MiB of a small block, names given

sub pick { return $_[int rand @_] }
sub chance { return rand() < $_[0] }
sub size_text { return $_[0] * 1024 . 'K' }
sub stream { return $is{same} ? 's1' : pick(qw(s1 s2 s3)) }

sub size {
    return $unit if $is{small};
    return $is{paged} ? pick(@_) : 2;
}

# Draws the traits of a program: its kind of memory, its arenas, the sizes of its blocks.
sub draw_traits {
    my $kind = pick(qw(pages pages pages segments small));
    %is = (paged => $kind eq 'pages' || ($kind eq 'small' && chance(.7)), small => $kind eq 'small',
           tree => $kind ne 'small' && chance(.5), same => chance(.25), device => chance(.25));
    $is{tower} = $is{tree} && chance(.3);
    $unit = pick(.0625, .25, .5, 1);
    @arenas = $is{tree} ? (qw(one two three))[0 .. pick(1, 2)] : ('full');
    $names = 0;
}

sub draw_keys {
    my @keys = ($is{paged} ? 'backing=paged' : 'backing=segments,growth=exact',
                'streams=' . ($is{same} ? 'same' : pick(qw(steal events))));
    push @keys, pick('release=idle,release_at=1', 'release=idle,release_at=6M,release_keep=50%', 'release=pressure')
        if chance(.3);
    push @keys, 'idle=' . pick(qw(0 7% 50%)) if $is{paged} && chance(.5);
    push @keys, 'scrub=' . pick(qw(alloc free)) if chance(.15);
    return join ',', @keys;
}

# ---- a thread's commands; $self: { commands, arena, blocks, live, peak }, in MiB

sub enter {
    my ($self, $arena) = @_;
    push @{ $self->{commands} }, "in $arena" if $is{tree} && $self->{arena} ne $arena;
    $self->{arena} = $arena;
}

sub count_live {
    my ($self, $by) = @_;
    $self->{live} += $by;
    $self->{peak} = $self->{live} if $self->{peak} < $self->{live};
}

sub do_alloc {
    my ($self) = @_;
    my %block = (name => ++$names, mib => size(2, 2, 4, 6), arena => $self->{arena});
    my $on = $is{same} ? 's1' : pick(qw(s1 s2 s3 s1 s2 any null));
    my $rest = '';
    $rest = ' for 1ms' if $on =~ /^s/ && chance(.3);
    $rest = ' untouched' if $block{any} = $on eq 'any';
    $rest .= ' room 8M' if !$block{any} && $is{paged} && !$is{small} && ($block{room} = chance(.15));
    push @{ $self->{commands} }, "a $block{name} " . size_text($block{mib}) . " on $on$rest";
    push @{ $self->{blocks} }, \%block;
    count_live($self, $block{mib});
}

sub do_free {
    my ($self) = @_;
    my $block = splice @{ $self->{blocks} }, rand @{ $self->{blocks} }, 1;
    enter($self, $block->{arena});
    push @{ $self->{commands} }, "f $block->{name}" . ($block->{any} ? ' on any' : pick('', ' on own'));
    count_live($self, -$block->{mib});
}

# A block with room grows; a block that shrinks loses the room for that.
sub do_resize {
    my ($self) = @_;
    my $block = pick(@{ $self->{blocks} });
    return if $block->{any} || $is{small};
    my $to = $block->{room} && $block->{mib} < 6 && chance(.6) ? $block->{mib} + 2 : 2;
    return if !$is{paged} || $to == $block->{mib};
    enter($self, $block->{arena});
    push @{ $self->{commands} }, "resize $block->{name} " . size_text($to) . ' on own';
    count_live($self, $to - $block->{mib});
    $block->{room} = 0 if $to < $block->{mib};
    $block->{mib} = $to;
}

sub do_use {
    my ($self) = @_;
    my $block = pick(@{ $self->{blocks} });
    return if $block->{any};
    enter($self, $block->{arena});
    push @{ $self->{commands} }, "use $block->{name} on " . stream();
}

# Blocks that come and go as one: `sizes` MiB, on a stream, for each of which a command is made; then the commands
# that free them all.
sub do_passing {
    my ($self, $sizes, $rest, @last) = @_;
    for my $mib (@$sizes) {
        push @{ $self->{commands} }, 'a ' . ++$names . ' ' . size_text($mib) . " $rest";
        count_live($self, $mib);
    }
    push @{ $self->{commands} }, map { s/NAME/$names/r } @last;
    count_live($self, -$_) for @$sizes;
}

sub do_since {
    my ($self) = @_;
    my ($on, $tag) = (stream(), "tag own$self->{number}");
    push @{ $self->{commands} }, "mark m$self->{number}";
    do_passing($self, [map { size(2, 2, 4) } 1 .. pick(1, 2)], "on $on $tag", "since m$self->{number} $tag on own");
}

sub do_gone {
    my ($self) = @_;
    my $on = 's' . (10 + $names);
    do_passing($self, [size(2, 4)], "on $on for 1ms", 'f NAME', "forget $on", "gone $on") if !$is{same};
}

sub do_guest {
    my ($self) = @_;
    my ($guest, $home) = ('e' . ++$names, $self->{arena});
    return if !$is{tree} || ++$self->{guests} > 2;
    push @{ $self->{commands} }, "arena $guest under " . pick(@arenas) . ' ' . draw_keys() . ', limit=64M, oversubscribe=1';
    do_passing($self, [size(2, 4)], 'on ' . stream() . pick('', ' for 1ms'), 'f NAME', "destroy $guest", "in $home");
}

# Commands that change no block.
sub do_other {
    my ($self) = @_;
    my @what = ('trim', 'trim 2M', 'trim 4M', 'look', 'look', 'walk', 'report json', 'peaks');
    push @what, 'may reserve ' . pick(2, 4, 6) . 'M: OUT_OF_MEMORY', 'step ' . pick(0, 1, 1, 2) if $is{paged} && !$is{small};
    push @what, 'LIMIT' if !$is{tree} && !$is{device};
    push @{ $self->{commands} }, pick(@what);
}

sub draw_thread {
    my ($given, $number) = @_;
    my $self = { commands => [], arena => '', blocks => [], live => 0, peak => 0, number => $number, guests => 0 };
    enter($self, pick(@arenas));
    while (@$given && chance($is{small} ? .7 : .5)) {
        push @{ $self->{blocks} }, pop @$given;
        count_live($self, $self->{blocks}[-1]{mib});
    }
    my $length = $is{small} ? pick(4, 6, 8) : pick(2, 3, 4, 6);
    for (1 .. $length) {
        enter($self, pick(@arenas)) if chance(.25);
        my $what = rand;
        if ($what < .40) { do_alloc($self) }
        elsif ($what < .45) { pick(\&do_since, \&do_gone, \&do_guest)->($self) }
        elsif (!@{ $self->{blocks} } || $what > .9) { do_other($self) }
        elsif ($what < .8) { do_free($self) }
        elsif ($what < .86) { do_resize($self) }
        else { do_use($self) }
    }
    do_other($self) if @{ $self->{commands} } < 2;
    return $self;
}

# ---- a program

# Blocks that live when the threads begin.
sub draw_given {
    my $number = $is{small} ? pick(2, 4, 6) : pick(0 .. 3);
    my @given = map { { name => ++$names, mib => size(2, 2, 4), arena => pick(@arenas) } } 1 .. $number;
    return \@given, map { "$_->{arena}: a $_->{name} " . size_text($_->{mib}) . ' on ' . stream() . pick('', ' for 1ms') } @given;
}

# Memory that is idle when the threads begin, wherever it was needed.
sub draw_idle {
    my ($spare) = @_;
    my @lines;
    while ($spare >= ($is{small} ? $unit : 2) && chance(.7)) {
        my $mib = $spare < 4 ? size(2) : size(2, 4);
        push @lines, pick(@arenas) . ': a ' . ++$names . ' ' . size_text($mib) . ' on ' . stream() . pick('', ' for 1ms') . "; f $names";
        $spare -= $mib if chance(.5);
    }
    if ($is{paged} && !$is{small} && $spare >= 6 && chance(.35)) {
        my $on = 'on ' . stream();
        push @lines, pick(@arenas) . ': repeat ' . pick(3, 6) . ": step 1; a 901 2M $on; a 902 2M $on; f 901; a 903 4M $on; f 902; f 903";
    }
    return @lines;
}

sub draw_arenas {
    my ($limit) = @_;
    my $keys = draw_keys();
    my $wide = $is{device} ? DEVICE_MIB - 8 : $limit;
    return "arena full $keys, limit=${wide}M" if !$is{tree};
    my @lines = 'arena whole ' . ($is{paged} ? 'backing=paged' : 'backing=segments,growth=exact') . ", limit=${wide}M";
    for my $arena (@arenas) {
        my $above = $is{tower} && $arena ne 'one' ? 'one' : 'whole';
        my $most = pick($wide, $wide + 8);
        $most = DEVICE_MIB if $most > DEVICE_MIB;
        push @lines, "arena $arena under $above $keys, limit=${most}M, oversubscribe=1";
    }
    return @lines;
}

# Draws a program in whole MiB of pages, in which all threads' peaks fit at once.
sub draw_program {
    my ($number) = @_;
    draw_traits();
    my ($given, @before) = draw_given();
    my ($need, $live) = (0, 0);
    $live += $_->{mib} for @$given;
    my @threads = map { draw_thread($given, $_) } 1 .. pick(2, 2, 3);
    $need += $_->{peak} for @threads;
    $need += $_->{mib} for @$given;
    my $limit = 2 * int(($need + 1.999) / 2) || 2;
    return if $limit > DEVICE_MIB - 8;
    my @lines = ("case Program $number", chance(.1) ? 'observe look' : (), $is{device} ? 'rival ' . (DEVICE_MIB - $limit) . 'M' : (), draw_arenas($limit));
    for (@before, draw_idle($limit - $live)) {
        my ($arena, $rest) = /^(\w+): (.*)/;
        push @lines, ($is{tree} ? "in $arena;  " : '') . $rest;
    }
    my $raised = $limit + pick(0, 1, 2, 7);
    for (@threads) {
        my $line = join '; ', @{ $_->{commands} };
        $line =~ s/LIMIT/limit ${raised}M/g;
        push @lines, "| $line";
    }
    return join "\n", @lines, 'expect fail_count >= 0', '', '';
}

my @programs = map { draw_program($_) } 1 .. $cases;
my $path = "$build/fits.script";
open my $file, '>', $path or die "$path: $!";
print $file "device ", DEVICE_MIB, "M reuse\norders $orders\n\n", @programs;
close $file or die "$path: $!";
my $said = `'$build/tests/test_schedules' '$path'`;
my @failed = $said =~ /^(not ok .*\n(?:#   [^s].*\n)*)/mg;
my $good = () = $said =~ /^ok .* Program /mg;
ok($good == @programs && !@failed, "$good of " . @programs . " programs in which everything fits are served ($path)");
print "#   $_" for @failed;
done();

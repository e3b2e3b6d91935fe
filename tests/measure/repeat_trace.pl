#!/usr/bin/perl
# Repeats a recording as steps, the same each time or not quite: a trace for `-w replay:`. What a program that repeats a
# step does to an allocator that expects it to (gpuarena_step).
# Run: repeat_trace.pl FILE STEPS [same|shuffled|growing|perturbed|mixed|skipped] >OUT
#   FILE       gpuarena-trace 1, or intervals (id,lower,upper,size)
#   shuffled   from the fourth step on each operation in ten changes places with the next
#   growing    from the fourth step on sizes are 1 % larger than those of the step before
#   perturbed  from the fourth step on one allocation in a hundred is left out, comes twice, or has another size
#   mixed      all of these, from the first step on
#   skipped    from the fourth step on two or three runs of 3 to 14 allocations are left out
# It must not know of policies. The same words give the same bytes.
use strict;
use warnings;

my ($name, $steps, $change) = @ARGV;
$change //= 'same';
die "usage: $0 FILE STEPS [same|shuffled|growing|perturbed|mixed|skipped]\n"
    if !defined $steps || $steps !~ /^[1-9]\d*$/ || $change !~ /^(?:same|shuffled|growing|perturbed|mixed|skipped)$/;
my $state = 1;
sub draw { my ($bound) = @_; $state = ($state * 1103515245 + 12345) % 2147483648; return int($state / 65536) % $bound }

sub refuse { my ($why) = @_; print STDERR "repeat_trace.pl: $name: $why\n"; exit 2 }

# The operations of one step: [block, bytes], or [block] where it is freed; what is live at the end is freed there.
sub read_trace {
    my ($file) = @_;
    my (@ops, %live, $count);
    while (<$file>) {
        if (/^a (\d+) (\d+)/) { $live{$1} = ++$count; push @ops, [$count, $2] }
        elsif (/^f (\d+)/) { push @ops, [delete $live{$1} // refuse("line $.: $1 is not live")] }
    }
    return (@ops, map { [$_] } sort { $a <=> $b } values %live);
}

sub read_intervals {
    my ($file) = @_;
    my (@events, $count);
    while (<$file>) {
        my ($lower, $upper, $bytes) = /^[^,]+,(\d+),(\d+),(\d+)/ or refuse("line $.: expected id,lower,upper,size");
        refuse("line $.: lower is $lower and upper $upper, expected lower < upper") if $lower >= $upper;
        $count++;
        push @events, [$lower, 1, $count, $bytes], [$upper, 0, $count];
    }
    return map { [@$_[2 .. $#$_]] } sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] || $a->[2] <=> $b->[2] } @events;
}

open my $file, '<', $name or refuse($!);
my $first = <$file> // '';
my @step = $first =~ /^gpuarena-trace 1\s*$/ ? read_trace($file)
         : $first =~ /^id,lower,upper,size/   ? read_intervals($file)
         : refuse('expected gpuarena-trace 1, or intervals: id,lower,upper,size');
my $id = 0;
print "gpuarena-trace 1\n";
for my $number (0 .. $steps - 1) {
    my (%ids, @ops);
    my %does = map { $_ => $change eq $_ && $number >= 3 || $change eq 'mixed' } qw(shuffled growing perturbed);
    my $skips = $change eq 'skipped' && $number >= 3;
    my $left_out = 0;
    @ops = @step;
    if ($does{shuffled}) {
        for my $at (1 .. $#ops) {
            @ops[$at - 1, $at] = @ops[$at, $at - 1] if $ops[$at][0] != $ops[$at - 1][0] && !draw(10);
        }
    }
    print "s step$number\n";
    for my $op (@ops) {
        my ($block, $bytes) = @$op;
        if (!defined $bytes) {
            print "f $_\n" for @{ delete $ids{$block} // [] };
            next;
        }
        $left_out = 3 + draw(12) if $skips && !$left_out && !draw(1 + int(@ops / 5));
        next if $left_out && $left_out--;
        $bytes = int($bytes * 1.01**($change eq 'mixed' ? $number : $number - 2)) if $does{growing};
        my $odd = $does{perturbed} && !draw(100) ? 1 + draw(3) : 0;
        next if $odd == 1;
        $bytes = 1 + int($bytes * (80 + draw(40)) / 100) if $odd == 2;
        for (0 .. ($odd == 3)) {
            push @{ $ids{$block} }, ++$id;
            print "a $id $bytes 0\n";
        }
    }
}

#!/usr/bin/perl
# Plants one mistake about plans after the other in a copy of gpuarena.h, and demands that tests/property/test_plans.c
# finds each within 4,000 programs: by a finding of the simulated device's judge, by a property that it names, or it
# crashes.
# It must not know the test. Run: prove tests/mutation/planted_plans.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin/../..: $!";
my $programs = 4_000;
my $jobs = $ENV{PLANTED_JOBS} // 2;
my $cc = $ENV{CC} // 'cc';
my $flags = '-std=c99 -D_POSIX_C_SOURCE=200809L -DGPUARENA_NO_CUDA';
my $scratch = tempdir(CLEANUP => 1);

# What is planted: a name, and pairs of a text, which must be there exactly once, and what stands there instead.
my @planted = (
    ['a planned address is given twice',
     q@node->size == (bytes | GPUARENA__ASIDE)@, q@gpuarena__node_bytes(node) == bytes@],
    ['what is live where a plan looks is no obstacle',
     q@if (!at.index || !(gpuarena__is_aside(at.node) || gpuarena__is_free(at.node))@, q@if (!at.index@],
    ['a sequence that is shifted gets blocks of other sizes',
     q@if (one->units == units && one->set == set && one->served != plans->step) return one;@,
     q@if (one->set == set && one->served != plans->step) return one;@,
     q@node->size == (bytes | GPUARENA__ASIDE)@, q@gpuarena__is_aside(node)@],
    ['the region moves for another kind, and its live blocks stay planned',
     q@if (at.node->size & GPUARENA__LIVE) at.node->size &= ~GPUARENA__PLANNED;@, q@@],
    ['what another stream freed is set aside, and taken without a wait',
     q@if (planned && open && (!node->set || node->set == from))@, q@if (planned && open)@,
     q@&& node->set == set)) {
        index = gpuarena__aside_carve@, q@)) {
        index = gpuarena__aside_carve@],
    ['what several streams used is set aside',
     q@if (planned && open && (!node->set || node->set == from))@, q@if (planned)@],
    ['a plan takes what another stream freed',
     q@
            || (at.node->set && at.node->set != set)) return 0;@, q@) return 0;@],
    ['memory that a plan yields is quiet',
     q@at.node->ticket <= arena->streams.list[at.node->set].quiet) {
            arena->stats.pending_bytes@, q@1) {
            arena->stats.pending_bytes@],
    ['a forgotten stream\'s record is another\'s while memory is set aside for it',
     q@(void)gpuarena__plans_yield(arena);          /* nobody else@, q@/* nobody else@,
     q@region->bytes = bytes;
    arena->streams.list[region->set].ref_count++;@, q@region->bytes = bytes;@,
     q@    arena->streams.list[region->set].ref_count--;
@, q@@,
     q@    refs += arena->plans.region_count;
@, q@@],
    ['a tag leaves its block where a plan has it',
     q@if (node->size & GPUARENA__TAGGED) gpuarena__tag_leave(arena, node);
    if (arena->plans.now)@, q@if (node->size & GPUARENA__TAGGED && !(node->size & GPUARENA__PLANNED)) gpuarena__tag_leave(arena, node);
    if (arena->plans.now)@],
);

sub slurp { my ($name) = @_; open my $file, '<', $name or die "$name: $!"; local $/; return scalar <$file> }

# The simulated device is built once: a mutant is one file.
sub build_device {
    my @sources = ('stress/base/problem.c', qw(stress/base/slice.c stress/base/splitmix64.c), glob 'stress/sim/*.c');
    my $root = `pwd`;
    chomp $root;
    return system("cd $scratch && $cc $flags -O2 -w -c " . join ' ', map { "$root/$_" } @sources) == 0;
}

# A mutated copy; undef and why: what it replaces is not there exactly once.
sub mutate {
    my ($number, $header) = @_;
    my ($name, @pairs) = @{ $planted[$number] };
    while (my ($text, $instead) = splice @pairs, 0, 2) {
        my $count = () = $header =~ /\Q$text\E/g;
        return "is there $count times: $text" if $count != 1;
        $header =~ s/\Q$text\E/$instead/;
    }
    open my $file, '>', "$scratch/planted$number.h" or die $!;
    print $file $header;
    close $file or die $!;
    return '';
}

# Builds and runs the test on it; what it printed. A mutant that loops is ended.
sub build_and_run {
    my ($number) = @_;
    my ($header, $program) = ("$scratch/planted$number.h", "$scratch/planted$number");
    return "does not compile\n" . slurp("$program.err")
        if system "$cc $flags -O0 -w -iquote . -iquote tests/support -DGPUARENA_STATIC -include $header tests/property/test_plans.c $scratch/*.o "
                  . "-o $program -lpthread -lm 2>$program.err";
    my $out = `GPUARENA_PLAN_PROGRAMS=$programs perl -e 'alarm 60; exec \@ARGV' $program 2>&1`;
    return "status $?\n$out";
}

# All of them, so many at once: each process leaves what it found in a file.
sub run_all {
    my ($header, @numbers) = @_;
    my %running;
    while (@numbers || %running) {
        while (@numbers && keys %running < $jobs) {
            my $number = shift @numbers;
            my $process = fork // die "fork: $!";
            if ($process == 0) {
                my $text = mutate($number, $header) || build_and_run($number);
                open my $file, '>', "$scratch/result$number" or die $!;
                print $file $text;
                close $file;
                require POSIX;
                POSIX::_exit(0);
            }
            $running{$process} = 1;
        }
        delete $running{ wait() };
    }
}

my $header = slurp('gpuarena.h');
my $wanted = $ENV{PLANTED} // '.';
my @numbers = grep { $planted[$_][0] =~ /$wanted/ } 0 .. $#planted;
BAIL_OUT('the simulated device does not build') unless build_device();
run_all($header, @numbers);
for my $number (@numbers) {
    my $result = slurp("$scratch/result$number");
    my ($found) = $result =~ /^not ok \d+ - (program .*(?:finding|property): .*)$/m;
    $found //= 'it crashes' if $result =~ /^Segmentation fault/m;            # what a list leads to that is broken
    ok($result !~ /^status 0$/m && $found, $planted[$number][0]) ? note($found) : diag($result);
}
done_testing();

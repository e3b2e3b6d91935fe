#!/usr/bin/perl
# Plants one defect after the other in a copy of gpuarena.h, and demands that tests/property/test_space.c finds each, and prints a
# program that is short, compiles as it stands, fails with the defect, and passes without.
# It must not know the test. Run: prove tests/mutation/planted_space.t (PLANTED=REGEX: only those)
use strict;
use warnings;
use Test::More;
require './tests/mutation/planted.pl';
our ($library, $scratch);
my ($operations, $most_ops) = (200_000, 12);

my @planted = (
    ['growth passes the limit by a granule',
     q@            - (int64_t)(at->family.reserved + at->family.growing);@,
     q@            - (int64_t)(at->family.reserved + at->family.growing);
        if (left > 0 && at->limit < GPUARENA__MAX_TOTAL) left += GPUARENA__GRANULE;@],
    ['the rung that gives idle segments back is skipped',
     q@return gpuarena__release_for(arena, req, 1, &miss->error);@, q@return 0;@,
     q@if (!index) index = gpuarena__release_for(arena, req, 0, error);@, q@@],
    ['a refused wish is not asked for again by less',
     q@if (error->reason != GPUARENA_REASON_DRIVER_REFUSED || wish == need) return 0;@,
     q@if (error->result || wish == need) return 0;@],
    ['idle memory is measured without what waits for streams',
     q@idle = gpuarena__idle_segments(arena, 0) + gpuarena__idle_known@,
     q@idle = gpuarena__idle_segments(arena, 1) + gpuarena__idle_known@],
    ['what is missing of the limit is told a granule too high',
     q@failure->missing_bytes = gpuarena__above(kept + need, arena->limit);@,
     q@failure->missing_bytes = gpuarena__above(kept + need, arena->limit) + GPUARENA__GRANULE;@],
    ['a pointer into a block is taken for one that was freed',
     q@? GPUARENA_INTERIOR_POINTER : GPUARENA_DOUBLE_FREE@, q@? GPUARENA_DOUBLE_FREE : GPUARENA_DOUBLE_FREE@],
    ['host memory that fails is told as a failure of the driver',
     q@        || !gpuarena__tags_reserve(arena, req->place) || !gpuarena__request_stream(arena, req))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);@,
     q@        || !gpuarena__tags_reserve(arena, req->place) || !gpuarena__request_stream(arena, req))
        return gpuarena__set_error(error, GPUARENA_DRIVER_ERROR);@],
    ['a guarded block has no unmapped page behind it',
     q@memory, bytes + page, gpuarena__max(page, arena->unit))@, q@memory, bytes, gpuarena__max(page, arena->unit))@],
    ['addresses of guarded blocks are used again soon', q@enum { GPUARENA__RETIRED = 256 };@,
     q@enum { GPUARENA__RETIRED = 2 };@],
    ['a guarded block does not end where its pages end',
     q@begin = gpuarena__round_down(node->address + gpuarena__node_bytes(node) - req->bytes, req->alignment);@,
     q@begin = gpuarena__round_down(node->address + gpuarena__node_bytes(node) - req->bytes, 4096);@],
    ['a guarded block goes back before its work is done',
     q@    if (range->guarded == GPUARENA__GUARDED
        && !GPUARENA__ASK(arena, error, events, device_wait, (&arena->driver))) return 0;
@, q@@],
    ['a lowered limit is not in force before memory went back',
     q@gpuarena__limit_to(arena, bytes);
    gpuarena__tell@, q@if (bytes > arena->limit) gpuarena__limit_to(arena, bytes);
    gpuarena__tell@],
);

sub spew { my ($name, $text) = @_; open my $file, '>', $name or die "$name: $!"; print $file $text; close $file or die $! }

# Runs a program: its status, and what it prints on both.
sub run_program {
    my ($program, @words) = @_;
    my $out = `ulimit -t 120; GPUARENA_SPACE_OPS=$operations perl -e 'alarm 900; exec \@ARGV' $program @words 2>&1`;
    return ($?, $out);
}

# Builds a test with the header of a folder, and runs it.
sub run_with {
    my ($folder, $test) = @_;
    return (-1, slurp("$scratch/program.err")) if compile($folder, $test, "$scratch/program");
    return run_program("$scratch/program");
}

# One program of all that were printed, on the header without defects: it runs the one whose number it is given.
sub compile_all {
    my @numbers = @_;
    spew("$scratch/all.c", join '', "#include <stdlib.h>\n",
         (map { "#define main shrunk_$_\n#include \"shrunk$_.c\"\n#undef main\n" } @numbers),
         "int main(int count, char **words)\n{\n    switch (count > 1 ? atoi(words[1]) : -1) {\n",
         (map { "    case $_: return shrunk_$_();\n" } @numbers), "    default: return 2;\n    }\n}\n");
    return compile('.', "-Itests $scratch/all.c", "$scratch/all");
}

BAIL_OUT("there is no $library: make builds it") unless -e $library;
copy_sources();
link_sources("$scratch/planted");
my $wanted = $ENV{PLANTED} // '.';
my @shrunk;
for my $number (grep { $planted[$_][0] =~ /$wanted/ } 0 .. $#planted) {
    my ($name, @pairs) = @{ $planted[$number] };
    my $why = mutate("$scratch/planted/gpuarena.h", slurp('gpuarena.h'), $name, @pairs);
    ok(!$why, "$name: can be planted") or diag($why), next;
    my ($status, $out) = run_with("$scratch/planted", 'tests/property/test_space.c');
    my ($found) = $out =~ /^not ok \d+ - (seed \d+: .*)$/m;
    my ($program) = $out =~ m{^(/\* Shrunk from seed.*^\})$}ms;
    ok($status == 256 && $found && $program, "$name: is found") or diag($out), next;
    note($found);
    spew("$scratch/shrunk$number.c", "$program\n");
    push @shrunk, $number;
    my $ops = () = $program =~ /^ +\{ SPACE_/mg;
    ok($ops >= 1 && $ops <= $most_ops, "$name: is shrunk to $ops operations") or diag($program);
    is((run_with("$scratch/planted", "-Itests $scratch/shrunk$number.c"))[0], 256, "$name: what is printed fails with the defect");
}
is(compile_all(@shrunk), 0, 'what is printed compiles without defects') or diag(slurp("$scratch/all.err"));
for my $number (@shrunk) {
    my ($status, $out) = run_program("$scratch/all", $number);
    is($status, 0, "$planted[$number][0]: .. and passes") or diag($out);
}
done_testing();

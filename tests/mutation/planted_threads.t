#!/usr/bin/perl
# Plants mistakes that only several threads show in copies of gpuarena.h, and demands that a test of tests/threads finds
# each: by a check that fails, or it crashes.
# It must not know the tests. Run: prove tests/mutation/planted_threads.t (PLANTED=REGEX: only those)
use strict;
use warnings;
use FindBin;

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin/../..: $!";
require './tests/mutation/planted.pl';

# What is planted: a name, and pairs of a text, which must be there exactly once, and what stands there instead.
my @about_plans = (
    ['what is recorded late is taken for later than what was recorded before',
     q@    if (number >= fresh->count) {                /* else another@, q@    {                                            /* else another@],
    ['an allocation from another thread is not recorded',
     q@return arena->plans.now ? 0 : gpuarena__hit_max_bytes(arena);@, q@return gpuarena__hit_max_bytes(arena);@],
    ['a free from another thread is not recorded',
     q@(recorded ? GPUARENA__LIVE : GPUARENA__PLANNED);@, q@(recorded ? 0 : GPUARENA__PLANNED);@],
);
my @about_hits = (
    ['pages that were not mapped are unmapped, since a hit has taken those that were to move',
     q@    if (done) gpuarena__commit_enter(arena, commit);
@, q@    if (done) gpuarena__commit_enter(arena, commit);
    else gpuarena__commit_unmap(arena, commit, reached);
@, q@while (reached > commit->begin && gpuarena__hole_next(arena, &hole)) {@, q@while (gpuarena__hole_next(arena, &hole)) {@],
    ['pages that are to move are not chosen anew',
     q@gpuarena__pick(arena, commit->move, commit->begin, commit->end, 1, error) < commit->move) {@, q@0) {@],
);

sub found
{
    my ($result) = @_;
    my ($found) = $result =~ /^not ok \d+ - (.*)$/m;
    $found //= 'it crashes' if $result =~ /^Segmentation fault/m;
    return $result !~ /^status 0$/m && $found;
}

planted(test => 'tests/threads/test_plans_threads.c', environment => '', mistakes => \@about_plans, found => \&found,
        goes_on => 1);
planted(test => 'tests/threads/test_threads_taken.c', environment => '', mistakes => \@about_hits, found => \&found);

#!/usr/bin/perl
# Plants mistakes about plans that only several threads show in copies of gpuarena.h, and demands that
# tests/threads/test_plans_threads.c finds each: by a check that fails, or it crashes.
# It must not know the test. Run: prove tests/mutation/planted_plan_threads.t (PLANTED=REGEX: only those)
use strict;
use warnings;
use FindBin;

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin/../..: $!";
require './tests/mutation/planted.pl';

# What is planted: a name, and pairs of a text, which must be there exactly once, and what stands there instead.
my @planted = (
    ['what is recorded late is taken for later than what was recorded before',
     q@    if (number >= fresh->count) {                /* else another@, q@    {                                            /* else another@],
    ['an allocation from another thread is not recorded',
     q@return arena->plans.now ? 0 : gpuarena__hit_max_bytes(arena);@, q@return gpuarena__hit_max_bytes(arena);@],
    ['a free from another thread is not recorded',
     q@(recorded ? GPUARENA__LIVE : GPUARENA__PLANNED);@, q@(recorded ? 0 : GPUARENA__PLANNED);@],
);

planted(test => 'tests/threads/test_plans_threads.c', environment => '', mistakes => \@planted,
        found => sub {
            my ($result) = @_;
            my ($found) = $result =~ /^not ok \d+ - (.*)$/m;
            $found //= 'it crashes' if $result =~ /^Segmentation fault/m;          # what it clears is not its own
            return $result !~ /^status 0$/m && $found;
        });

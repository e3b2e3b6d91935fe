#!/usr/bin/perl
# Plants mistakes that only several threads show in copies of gpuarena.h, and demands that a test of threads, or of what
# is called beside each other, finds each: by a check that fails, or it crashes, or (about locks) it takes eight times the
# processor time of a sound header.
# It must not know the tests. Run: prove tests/mutation/planted_threads.t (PLANTED=REGEX: only those)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @about_plans = (
    ['an allocation from another thread is not recorded',
     q@arena->plans.now || config->observe ? 0@, q@config->observe ? 0@],
    ['a free from another thread is not recorded',
     q@!arena->streams.ordered || is_recorded)@, q@!arena->streams.ordered)@],
);
my @about_hits = (
    ['what is recorded late is taken for later than what was recorded before',
     q@    if (number >= fresh->count) {                /* else another@, q@    {                                            /* else another@],
    ['pages that were not mapped are unmapped, since a hit has taken those that were to move',
     q@while (reached > commit->begin && gpuarena__hole_next(arena, &hole)) {@, q@while (gpuarena__hole_next(arena, &hole)) {@],
    ['pages that are to move are too few by now, and that is not seen',
     q@            == commit->move
@, q@            <= commit->move
@],
);
my @about_locks = (
    ['an unlock wakes nobody', q@    (void)pthread_cond_broadcast(&spin->unlocked);@, q@@],
    ['an unlock wakes one of those who wait', q@pthread_cond_broadcast(&spin->unlocked);@, q@pthread_cond_signal(&spin->unlocked);@],
    ['an unlock does not see that others sleep', q@__ATOMIC_RELEASE) & GPUARENA__PARKED))@, q@__ATOMIC_RELEASE) && 0))@],
    ['who waits long asks again and again', q@asked / 32 < GPUARENA__YIELDS) gpuarena__pause@, q@1) gpuarena__pause@],
    ['who waits for an observer waits as for a hit', q@    gpuarena__spin_stay(&arena->lock);@, q@@],
    ['who waits for a hit never sleeps', q@    if (times < GPUARENA__YIELDS) (void)sched_yield();@,
     q@    if (times < UINT32_MAX) (void)sched_yield();@],
);
my @about_visits = (
    ['a visitor runs with the lock that hits need',
     q@    gpuarena__unlock(arena);
}

static void gpuarena__copy_end(@, q@}

static void gpuarena__copy_end(@,
     q@    if (copy->blocks) gpuarena__lock(arena);@, q@@],
);
my @about_trees = (
    ['what a sibling frees while others are looked at is not looked at again',
     q@moved = !released && gpuarena__family_look(arena, reclaim, root, 1).frees != frees;@, q@moved = 0;@],
    ['what a sibling frees of a block is not looked at again', q@    arena->stats.free_count--;
    arena->other_free_count++;@, q@    arena->stats.free_count--;@],
    ['a second look that finds too little is the last one',
     q@else if (!(changed || moved) || ++reclaim->races > 8)@, q@else@],
);

planted(test => 'tests/threads/test_plans_threads.c', mistakes => \@about_plans);
planted(test => 'tests/unit/arena/test_scripts.c', arguments => 'beside', mistakes => \@about_hits);
planted(test => 'tests/schedule/test_schedules.c', arguments => 'callbacks', mistakes => \@about_visits,
        found => sub { finding($_[0]) // ($_[0] =~ /^# GPUARENA_SCHEDULE=\d+: (.*)$/m && $1) });        # threads hang: it ends there
planted(test => 'tests/schedule/test_schedules.c', arguments => 'trees', mistakes => \@about_trees);
planted(test => 'tests/threads/test_spin.c', seconds => 5, mistakes => \@about_locks,
        found => sub { finding($_[0]) // ($_[0] =~ /^does not end$/m && 'it takes long') });

/* Faults that show only in programs that run for long, from inside: counters that have passed 2^32, tables at their
   largest, and records of streams and threads that are gone. */
#define GPUARENA_STATIC
#include "scripted.h"

enum { THREADS = 1000, RECORDS = 8 };

static int has_plan_of(const gpuarena *arena, uint32_t kind)
{
    for (uint32_t at = 0; at < GPUARENA__PLANS; at++)
        if (arena->plans.list[at].kind == kind) return 1;
    return 0;
}

/* Kinds that were current before the 2^32nd step are replaced by kinds that come after it, which keep their plans. */
static void test_steps_beyond_32_bits(void)
{
    gpuarena *arena;
    script("device 1G; arena");
    arena = arena_now();
    arena->plans.step = UINT32_MAX - GPUARENA__PLANS;
    for (uint32_t kind = 1; kind <= GPUARENA__PLANS; kind++) CHECK_INT(gpuarena_step(arena, kind), ==, GPUARENA_OK);
    for (uint32_t round = 0; round < 4; round++)
        for (uint32_t kind = 101; kind <= 103; kind++) CHECK_INT(gpuarena_step(arena, kind), ==, GPUARENA_OK);
    for (uint32_t kind = 101; kind <= 103; kind++) CHECK_MSG(has_plan_of(arena, kind), "kind %u is known", kind);
    CHECK(!has_plan_of(arena, 1) && has_plan_of(arena, GPUARENA__PLANS));
    script_end();
}

/* Room for more than 2^31 known streams is refused. */
static void test_most_known_streams(void)
{
    gpuarena__streams *full, before;
    script("device 1G; arena");
    full = &arena_now()->streams;
    before = *full;
    full->known_room = (uint32_t)1 << 31;
    full->known_count = full->known_room / 2;
    CHECK(!gpuarena__known_reserve(arena_now()) && full->known == before.known);
    *full = before;
    script_end();
}

static int hint_count(const gpuarena *arena, gpuarena_stream stream)
{
    int count = 0;
    for (uint32_t at = 0; at < GPUARENA__HINTS; at++)
        count += arena->heaps.hints[at].heap && arena->heaps.hints[at].stream == stream;
    return count;
}

/* A stream that is forgotten leaves its place among the hints to others. */
static void test_hints_of_forgotten_streams(void)
{
    script("device 1G; arena initial=64M; a 1 64K on s1; elsewhere a 2 64K on s2");
    script("a 3 4K on s1; a 4 4K on s1; f 3 on s1; f 4 on s1; a 5 4K on s1");
    CHECK_INT(hint_count(arena_now(), stream_handle(1)), ==, 1);
    script("forget s1");
    CHECK_INT(hint_count(arena_now(), stream_handle(1)), ==, 0);
    script_end();
}

/* The records of threads that have ended serve others, though the threads have not named their default streams to
   gpuarena_forget. To the arena, each new number is a thread. */
static void test_threads_that_end(void)
{
    void *ptr;
    script("device 1G own; arena");
    for (int at = 0; at < THREADS; at++) {
        gpuarena__thread_number_ = 0;
        CHECK_INT(gpuarena_alloc(arena_now(), &ptr, 1000, NULL), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_free(arena_now(), ptr, NULL), ==, GPUARENA_OK);
    }
    CHECK_INT(arena_now()->streams.count, <=, RECORDS);
    CHECK_INT(arena_now()->events.count, <=, RECORDS);
    script_end();
}

int main(void)
{
    test_steps_beyond_32_bits();
    test_most_known_streams();
    test_hints_of_forgotten_streams();
    test_threads_that_end();
    return tap_done();
}

/* Steps with plans, and threads: what one thread allocates another frees. What comes in between: beside.script. */
#include <sched.h>
#include "thread_world.h"

enum { THREADS = 3, BLOCKS = 60, ROUNDS = 48, ORDERED = 6 };

static thread_arena *const self = &thread_arenas[0];

static gpuarena_stats figures(void)
{
    gpuarena_stats stats;
    char message[256];
    CHECK_MSG(gpuarena_check(self->arena, message, sizeof message) == GPUARENA_OK, "invariants: %s", message);
    gpuarena_get_stats(self->arena, &stats);
    return stats;
}

/* Threads take turns in a step that comes again: each allocates what another frees. Later they free while others
   allocate. */

typedef struct planned { void *ptr; uint64_t bytes; int stream, until; } planned;
typedef struct worker { pthread_t thread; int block, frees, is_busy, is_over; } worker;

static planned blocks[BLOCKS];
static worker workers[THREADS];

static void run(const worker *order)
{
    planned *block = &blocks[order->block];
    uint32_t number = 1 + (uint32_t)order->block;
    if (order->frees) {
        void *ptr = block->ptr;
        block->ptr = NULL;
        thread_disclaim(self, ptr, block->bytes, number, block->stream, -1);
        WANT(gpuarena_free(self->arena, ptr, slot_stream(block->stream)) == GPUARENA_OK);
        return;
    }
    WANT(gpuarena_alloc(self->arena, &block->ptr, block->bytes, slot_stream(block->stream)) == GPUARENA_OK);
    if (block->ptr) thread_claim(self, block->ptr, block->bytes, number, block->stream);
}

static void *work(void *user)
{
    worker *order = user;
    while (!__atomic_load_n(&order->is_over, __ATOMIC_ACQUIRE))
        if (__atomic_load_n(&order->is_busy, __ATOMIC_ACQUIRE)) {
            run(order);
            __atomic_store_n(&order->is_busy, 0, __ATOMIC_RELEASE);
        } else (void)sched_yield();
    return NULL;
}

static void wait_for(const worker *order)
{
    while (__atomic_load_n(&order->is_busy, __ATOMIC_ACQUIRE)) (void)sched_yield();
}

static void give(int thread, int block, int frees, int waits)
{
    worker *order = &workers[thread % THREADS];
    wait_for(order);
    order->block = block;
    order->frees = frees;
    __atomic_store_n(&order->is_busy, 1, __ATOMIC_RELEASE);
    if (waits) wait_for(order);
}

static void give_frees(int at, int waits)
{
    for (int block = 0; block < BLOCKS; block++)
        if (blocks[block].until == at) give(block + 1, block, 1, waits);
}

/* waits: each call ends before the next begins; otherwise only allocations wait, for each other. */
static void step(int waits)
{
    CHECK_INT(gpuarena_step(self->arena, 1), ==, GPUARENA_OK);
    for (int at = 0; at < BLOCKS; at++) {
        give_frees(at, waits);
        give(at, at, 0, 1);
    }
    give_frees(BLOCKS, waits);
    for (int thread = 0; thread < THREADS; thread++) wait_for(&workers[thread]);
}

static void test_turns(uint64_t seed)
{
    uint64_t random = seed;
    int quiet_rounds = 0;
    gpuarena_config config = thread_open(self, GPUARENA_BACKING_PAGED, MIB(96));
    gpuarena_stats before, after = GPUARENA_INIT;
    memset(blocks, 0, sizeof blocks);
    memset(workers, 0, sizeof workers);
    config.page_bytes = MIB(2);
    config.idle_fraction = -1;
    config.large_bytes = MIB(1);
    CHECK_INT(gpuarena_create(&config, &self->arena), ==, GPUARENA_OK);
    for (int at = 0; at < BLOCKS; at++) {
        blocks[at].bytes = KIB(64) * (1 + splitmix64_next(&random) % 100);
        blocks[at].stream = 1 + (int)(splitmix64_next(&random) % 8 == 0);
        blocks[at].until = at + 1 + (int)(splitmix64_next(&random) % 16);
        if (blocks[at].until > BLOCKS) blocks[at].until = BLOCKS;
    }
    for (int at = 0; at < THREADS; at++)
        CHECK_INT(pthread_create(&workers[at].thread, NULL, work, &workers[at]), ==, 0);
    for (int round = 0; round < ROUNDS; round++) {
        before = figures();
        step(round < ORDERED || round % ORDERED == 0);
        after = figures();
        quiet_rounds += round < ORDERED && after.planned_count == before.planned_count + BLOCKS
            && after.driver_call_count == before.driver_call_count;
    }
    CHECK_INT(gpuarena_step(self->arena, 0), ==, GPUARENA_OK);
    for (int at = 0; at < THREADS; at++) {
        __atomic_store_n(&workers[at].is_over, 1, __ATOMIC_RELEASE);
        CHECK_INT(pthread_join(workers[at].thread, NULL), ==, 0);
    }
    CHECK_MSG(quiet_rounds, "seed %d: in %d of the first %d rounds a plan served all, without a driver call",
              (int)seed, quiet_rounds, ORDERED);
    CHECK_INT(gpuarena_reset(self->arena, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_U64(figures().live_count, ==, 0);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
}

int main(void)
{
    static const uint64_t seeds[] = { 2, 4, 8 };             /* of which a plan is made at once */
    for (size_t at = 0; at < sizeof seeds / sizeof *seeds; at++) test_turns(seeds[at]);
    CHECK_MSG(!thread_trouble, "no trouble: %s", thread_trouble ? thread_trouble : "none");
    return tap_done();
}

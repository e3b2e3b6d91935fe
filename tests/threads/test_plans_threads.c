/* Steps with plans, and threads: one thread frees blocks that another allocates. Calls that come in between:
   beside.script. */
#include "thread_workers.h"

enum { THREADS = 3, BLOCKS = 60, CALLS = 2 * BLOCKS, ROUNDS = 48, ORDERED = 8 };

/* A call of a step that comes again: thread n makes those with numbers n, n + THREADS .. */
typedef struct planned_call { int block, is_free, round; } planned_call;     /* round: the latest that made it */
typedef struct planned { void *ptr; uint64_t bytes; int stream, until, alloc; } planned;     /* alloc: its call */

static thread_arena *const self = &thread_arenas[0];
static planned blocks[BLOCKS];
static planned_call calls[CALLS];
static int round_now, is_ordered;                /* from 1; ordered: each call ends before the next begins */

/* Each block is freed before another is allocated, or as the step ends. */
static void draw_calls(uint64_t random)
{
    int count = 0;
    memset(blocks, 0, sizeof blocks);
    memset(calls, 0, sizeof calls);
    for (int at = 0; at < BLOCKS; at++) {
        blocks[at].bytes = KIB(64) * (1 + splitmix64_next(&random) % 100);
        blocks[at].stream = 1 + (int)(splitmix64_next(&random) % 8 == 0);
        blocks[at].until = at + 1 + (int)(splitmix64_next(&random) % 16);
        if (blocks[at].until > BLOCKS) blocks[at].until = BLOCKS;
    }
    for (int at = 0; at <= BLOCKS; at++) {
        for (int block = 0; block < at; block++)
            if (blocks[block].until == at) calls[count++] = (planned_call){ block, 1, 0 };
        if (at == BLOCKS) break;
        blocks[at].alloc = count;
        calls[count++] = (planned_call){ at, 0, 0 };
    }
}

static void await_call(int number)
{
    while (__atomic_load_n(&calls[number].round, __ATOMIC_ACQUIRE) < round_now) (void)sched_yield();
}

/* Waits for the call before. If calls need no order, threads keep close together, allocations follow each other, and
   frees follow their own. */
static void await_turn(int number)
{
    int block = calls[number].block, behind = is_ordered ? 1 : THREADS;
    if (number >= behind) await_call(number - behind);
    if (calls[number].is_free) await_call(blocks[block].alloc);
    else if (block) await_call(blocks[block - 1].alloc);
}

static void make_call(worker *thread)
{
    int at = (int)(thread->index + THREADS * thread->numbers++);
    planned *block = &blocks[calls[at].block];
    uint32_t number = 1 + (uint32_t)calls[at].block;
    gpuarena_stream stream = slot_stream(block->stream);
    await_turn(at);
    if (calls[at].is_free) {
        void *ptr = block->ptr;
        thread_disclaim(self, ptr, block->bytes, number, block->stream, -1);
        WANT(gpuarena_free(self->arena, ptr, stream) == GPUARENA_OK);
    } else {
        WANT(gpuarena_alloc(self->arena, &block->ptr, block->bytes, stream) == GPUARENA_OK);
        if (block->ptr) thread_claim(self, block->ptr, block->bytes, number, block->stream);
    }
    __atomic_store_n(&calls[at].round, round_now, __ATOMIC_RELEASE);
}

static gpuarena_stats figures(void)
{
    gpuarena_stats stats;
    char message[256];
    CHECK_MSG(gpuarena_check(self->arena, message, sizeof message) == GPUARENA_OK, "invariants: %s", message);
    gpuarena_get_stats(self->arena, &stats);
    return stats;
}

static void test_turns(uint64_t seed)
{
    int quiet_rounds = 0;
    gpuarena_config config = thread_open(self, GPUARENA_BACKING_PAGED, MIB(96));
    config.page_bytes = MIB(2);
    config.idle_fraction = -1;
    config.large_bytes = MIB(1);
    CHECK_INT(gpuarena_create(&config, &self->arena), ==, GPUARENA_OK);
    draw_calls(seed);
    for (round_now = 1; round_now <= ROUNDS; round_now++) {
        gpuarena_stats before = figures();
        is_ordered = round_now <= ORDERED || round_now % ORDERED == 1;
        CHECK_INT(gpuarena_step(self->arena, 1), ==, GPUARENA_OK);
        workers_open(THREADS);
        workers_live(0, CALLS / THREADS, make_call);
        gpuarena_stats after = figures();
        quiet_rounds += round_now <= ORDERED && after.planned_count == before.planned_count + BLOCKS
            && after.driver_call_count == before.driver_call_count;
    }
    CHECK_INT(gpuarena_step(self->arena, 0), ==, GPUARENA_OK);
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

/* Threads: four on one arena and on two, frees across threads, the same pointer freed by two, sums
   exact at the end. */
#include <pthread.h>
#include "stress/base/splitmix64.h"
#include "arena_state.h"

enum { THREADS = 4, THREAD_OPS = 25000, EXCHANGE = 64, RACES = 2000 };

typedef struct exchange {                        /* blocks handed from thread to thread; its own lock,
                          none of the arena's */
    pthread_mutex_t lock;
    void *blocks[EXCHANGE];
    gpuarena *owners[EXCHANGE];
} exchange;

typedef struct worker {
    pthread_t thread;
    gpuarena *arenas[2];
    int       arena_count;
    uint64_t  random_state, alloc_count, free_count, fail_count, wrong;
} worker;

static fake_device devices[2];
static exchange shared = { PTHREAD_MUTEX_INITIALIZER, { NULL }, { NULL } };

static uint64_t random_next(worker *self) { return splitmix64_next(&self->random_state); }

/* Puts the block in a slot of the exchange, and returns what was there, whose owner replaces *owner. */
static void *swap(size_t slot, void *block, gpuarena **owner)
{
    pthread_mutex_lock(&shared.lock);
    void *found = shared.blocks[slot];
    gpuarena *whose = shared.owners[slot];
    shared.blocks[slot] = block;
    shared.owners[slot] = *owner;
    pthread_mutex_unlock(&shared.lock);
    *owner = whose;
    return found;
}

static void look_around(worker *self, gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_failure failure;
    uint64_t released;
    switch (random_next(self) % 8) {
    case 0: self->wrong += gpuarena_trim(arena, MIB(4), &released) != GPUARENA_OK; break;
    case 1: self->wrong += gpuarena_reserve(arena, MIB(8)) != GPUARENA_OK; break;
    case 2: self->wrong += gpuarena_owner(&stats) != NULL; break;
    case 3: self->wrong += gpuarena_check(arena, NULL, 0) != GPUARENA_OK; break;
    case 4: gpuarena_last_failure(arena, &failure); break;
    default:
        gpuarena_get_stats(arena, &stats);
        self->wrong += stats.requested_bytes + stats.slack_bytes != stats.live_bytes
            || stats.live_bytes + stats.cached_bytes != stats.reserved_bytes;
    }
}

static void *work(void *argument)
{
    worker *self = argument;
    for (int op = 0; op < THREAD_OPS; op++) {
        gpuarena *arena = self->arenas[random_next(self) % (uint64_t)self->arena_count];
        void *block = NULL;
        uint64_t bytes = 1 + random_next(self) % (UINT64_C(256) << random_next(self) % 12);
        if (random_next(self) % 64 == 0) look_around(self, arena);
        if (random_next(self) % 512 == 0) {
            self->fail_count++;
            self->wrong += gpuarena_alloc(arena, &block, GIB(8), NULL) != GPUARENA_OUT_OF_MEMORY;
            gpuarena_failure failure;
            gpuarena_last_failure(NULL, &failure);
            self->wrong += failure.result != GPUARENA_OUT_OF_MEMORY || failure.requested_bytes != GIB(8);
        }
        if (gpuarena_alloc(arena, &block, bytes, NULL) != GPUARENA_OK) {
            self->wrong++;
            continue;
        }
        self->alloc_count++;
        block = swap(random_next(self) % EXCHANGE, block, &arena);
        if (!block) continue;
        self->wrong += gpuarena_free(arena, block, NULL) != GPUARENA_OK;
        self->free_count++;
    }
    return NULL;
}

static void test_workers(int arena_count, const char *name)
{
    gpuarena *arenas[2] = { NULL, NULL };
    worker workers[THREADS];
    uint64_t alloc_count = 0, free_count = 0, fail_count = 0, wrong = 0;
    gpuarena_stats sum = GPUARENA_INIT;
    memset(workers, 0, sizeof workers);
    for (int index = 0; index < arena_count; index++) {
        fake_open(&devices[index], GIB(4));
        gpuarena_config config = fake_config(&devices[index]);
        arenas[index] = state_arena(&config);
    }
    for (int index = 0; index < THREADS; index++) {
        workers[index].arenas[0] = arenas[0];
        workers[index].arenas[1] = arenas[1];
        workers[index].arena_count = arena_count;
        workers[index].random_state = (uint64_t)index * 1000;
        pthread_create(&workers[index].thread, NULL, work, &workers[index]);
    }
    for (int index = 0; index < THREADS; index++) {
        pthread_join(workers[index].thread, NULL);
        alloc_count += workers[index].alloc_count;
        free_count += workers[index].free_count;
        fail_count += workers[index].fail_count;
        wrong += workers[index].wrong;
    }
    CHECK_U64(wrong, ==, 0);
    for (size_t slot = 0; slot < EXCHANGE; slot++) {
        gpuarena *owner = NULL;
        void *block = swap(slot, NULL, &owner);
        if (block && gpuarena_free(owner, block, NULL) == GPUARENA_OK) free_count++;
    }
    for (int index = 0; index < arena_count; index++) {
        gpuarena_stats stats;
        gpuarena_get_stats(arenas[index], &stats);
        sum.alloc_count += stats.alloc_count;
        sum.free_count += stats.free_count;
        sum.fail_count += stats.fail_count;
        sum.live_count += stats.live_count;
        state_end(arenas[index], &devices[index], name);
    }
    CHECK_U64(sum.alloc_count, ==, alloc_count);
    CHECK_U64(sum.free_count, ==, free_count);
    CHECK_U64(sum.fail_count, ==, fail_count);
    CHECK_MSG(alloc_count == free_count && sum.live_count == 0, "%s: %" PRIu64 " allocations, all freed", name,
              alloc_count);
}

typedef struct racer {
    pthread_t thread;
    pthread_barrier_t *barrier;
    gpuarena *arena;
    void *const *blocks;
    gpuarena_result results[RACES];
} racer;

static void *race(void *argument)
{
    racer *self = argument;
    for (int round = 0; round < RACES; round++) {
        if (round % 50 == 0) pthread_barrier_wait(self->barrier);
        self->results[round] = gpuarena_free(self->arena, self->blocks[round], NULL);
    }
    return NULL;
}

/* Two threads free the same blocks: exactly one of each pair is OK, the other sees the double free. */
static void test_same_pointer(void)
{
    static racer racers[2];
    static void *blocks[RACES];
    pthread_barrier_t barrier;
    int exact = 1;
    fake_open(&devices[0], GIB(1));
    gpuarena_config config = fake_config(&devices[0]);
    gpuarena *arena = state_arena(&config);
    for (int round = 0; round < RACES; round++) blocks[round] = state_alloc(arena, 1000);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int index = 0; index < 2; index++) {
        racers[index].barrier = &barrier;
        racers[index].arena = arena;
        racers[index].blocks = blocks;
        pthread_create(&racers[index].thread, NULL, race, &racers[index]);
    }
    for (int index = 0; index < 2; index++) pthread_join(racers[index].thread, NULL);
    for (int round = 0; round < RACES; round++) {
        gpuarena_result left = racers[0].results[round], right = racers[1].results[round];
        exact &= (left == GPUARENA_OK && right == GPUARENA_DOUBLE_FREE) || (right == GPUARENA_OK
                                                                            && left == GPUARENA_DOUBLE_FREE);
    }
    CHECK_MSG(exact, "%d pointers freed by two threads: each time one OK, one DOUBLE_FREE", RACES);
    pthread_barrier_destroy(&barrier);
    state_end(arena, &devices[0], "same pointer");
}

typedef struct lifer { pthread_t thread; fake_device *device; uint64_t wrong; } lifer;

static void *live_and_die(void *argument)
{
    lifer *self = argument;
    for (int round = 0; round < 200; round++) {
        gpuarena_config config = fake_config(self->device);
        gpuarena *arena = NULL;
        gpuarena_failure failure;
        void *block = NULL;
        self->wrong += gpuarena_create(&config, &arena) != GPUARENA_OK;
        self->wrong += gpuarena_alloc(arena, &block, 1000, NULL) != GPUARENA_OK || gpuarena_owner(block) != arena;
        self->wrong += gpuarena_free(arena, &config, NULL) != GPUARENA_FOREIGN_POINTER;
        gpuarena_last_failure(NULL, &failure);
        self->wrong += failure.result != GPUARENA_FOREIGN_POINTER || failure.serial != 1;
        self->wrong += gpuarena_free(arena, block, NULL) != GPUARENA_OK || gpuarena_destroy(arena) != GPUARENA_OK;
    }
    return NULL;
}

/* Arenas come and go in two threads while each asks who owns what. */
static void test_lives(void)
{
    lifer lifers[2];
    memset(lifers, 0, sizeof lifers);
    for (int index = 0; index < 2; index++) {
        fake_open(&devices[index], GIB(1));
        lifers[index].device = &devices[index];
    }
    for (int index = 0; index < 2; index++) pthread_create(&lifers[index].thread, NULL, live_and_die, &lifers[index]);
    for (int index = 0; index < 2; index++) {
        pthread_join(lifers[index].thread, NULL);
        CHECK_U64(lifers[index].wrong, ==, 0);
        CHECK_MSG(fake_close(&devices[index]), "thread %d: nothing left", index);
    }
}

int main(void)
{
    test_workers(1, "one arena");
    test_workers(2, "two arenas");
    test_same_pointer();
    test_lives();
    return tap_done();
}

/* The last rung: the pressure callback. It is called without the lock, after every wait that could help; it may free
   and trim, and its answer decides whether all is tried again. */
#include <pthread.h>

#include "stream_stage.h"

typedef struct cache {                           /* what the program could do without */
    stage   *self;
    tenancy  blocks[16];
    int      count, per_call, answer;
    uint64_t calls;
    gpuarena_result alloc_result;                /* of an allocation in the callback */
    gpuarena_failure failure;                    /* of the last call */
    void *(*thread)(void *);                     /* NULL, or what another thread does meanwhile */
} cache;

static int evict(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    cache *held = user;
    void *ptr = NULL;
    pthread_t thread;
    held->calls++;
    held->failure = *failure;
    held->alloc_result = gpuarena_alloc(arena, &ptr, 256, NULL);
    for (int i = 0; i < held->per_call && held->count; i++)
        if (stage_free(held->self, &held->blocks[--held->count], 1)) CHECK_MSG(0, "a free in the callback");
    if (held->thread && (pthread_create(&thread, NULL, held->thread, held) || pthread_join(thread, NULL)))
        CHECK_MSG(0, "a thread beside the callback");
    return held->answer;
}

/* An arena of 32 MiB, of which the cache holds `count` blocks of 2 MiB, and others the rest. */
static stage open_full(cache *held, int count, int per_call, int answer)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    memset(held, 0, sizeof *held);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(32);
    config.pressure = evict;
    config.pressure_user = held;
    stage_arena(&self, &config);
    for (int i = 0; i < 16; i++) {
        tenancy block = stage_take(&self, MIB(2), 1);
        if (i < count) held->blocks[held->count++] = block;
    }
    held->per_call = per_call;
    held->answer = answer;
    CHECK_U64(held->calls, ==, 0);
    return self;
}

static void test_served(void)
{
    cache held;
    stage self = open_full(&held, 4, 4, 1);
    held.self = &self;
    tenancy block = stage_take(&self, MIB(8), 1);
    CHECK(block.ptr != NULL);
    CHECK_U64(held.calls, ==, 1);
    CHECK_U64(stage_stats(&self).pressure_count, ==, 1);
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    CHECK_INT(held.alloc_result, ==, GPUARENA_REENTRANT);
    CHECK_INT(held.failure.result, ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(held.failure.requested_bytes, ==, MIB(8));
    CHECK_U64(held.failure.live_bytes, ==, MIB(32));
    stage_close(&self, "served");
}

/* 0: it is not tried again, though it would be served now. */
static void test_zero_fails(void)
{
    cache held;
    stage self = open_full(&held, 4, 4, 0);
    held.self = &self;
    CHECK(stage_take(&self, MIB(8), 1).ptr == NULL);
    CHECK_U64(held.calls, ==, 1);
    CHECK_U64(stage_stats(&self).fail_count, ==, 1);
    CHECK_MSG(stage_take(&self, MIB(8), 1).ptr != NULL, "and the next one has it");
    CHECK_U64(held.calls, ==, 1);
    stage_close(&self, "zero");
}

/* One block a call: asked as often as it helps. */
static void test_bit_by_bit(void)
{
    cache held;
    stage self = open_full(&held, 8, 1, 1);
    held.self = &self;
    CHECK(stage_take(&self, MIB(16), 1).ptr != NULL);
    CHECK_U64(held.calls, ==, 8);
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    stage_close(&self, "bit by bit");
}

/* It promises for ever, and frees nothing: that ends. */
static void test_no_endless_loop(void)
{
    cache held;
    stage self = open_full(&held, 0, 0, 1);
    held.self = &self;
    CHECK(stage_take(&self, MIB(8), 1).ptr == NULL);
    CHECK_MSG(held.calls >= 1 && held.calls <= 100, "called %" PRIu64 " times", held.calls);
    CHECK_U64(stage_stats(&self).fail_count, ==, 1);
    stage_close(&self, "no endless loop");
}

/* What waiting serves is not asked of the program. */
static void test_after_the_waits(void)
{
    cache held;
    stage self = open_full(&held, 8, 8, 1);
    held.self = &self;
    for (int i = 0; i < 4; i++) {
        CHECK(stage_work(&self, 1, &held.blocks[i], STAGE_SECOND));
        CHECK_INT(stage_free(&self, &held.blocks[i], 1), ==, GPUARENA_OK);
    }
    memmove(held.blocks, held.blocks + 4, 4 * sizeof held.blocks[0]);
    held.count = 4;
    CHECK(stage_take(&self, MIB(8), 2).ptr != NULL);
    CHECK_U64(held.calls, ==, 0);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    stage_close(&self, "after the waits");
}

/* The freed memory is another stream's: the request waits for it, as without a callback. */
static void test_freed_on_another_stream(void)
{
    cache held;
    stage self = open_full(&held, 4, 4, 1);
    held.self = &self;
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    CHECK(stage_work(&self, 1, &held.blocks[0], STAGE_SECOND));
    CHECK(stage_take(&self, MIB(8), 2).ptr != NULL);
    CHECK_U64(held.calls, ==, 1);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "freed on another stream");
}

/* Requests that nothing could serve, and tries, are not the program's trouble. */
static void test_not_asked(void)
{
    cache held;
    stage self = open_full(&held, 4, 4, 1);
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    held.self = &self;
    request.bytes = MIB(8);
    request.stream = self.streams[1];
    request.flags = GPUARENA_ALLOC_TRY;
    CHECK_INT(gpuarena_alloc_ex(self.arena, &ptr, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, UINT64_MAX, self.streams[1]), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_can_alloc(self.arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(held.calls, ==, 0);
    stage_close(&self, "not asked");
}

static void *free_and_look(void *user)
{
    cache *held = user;
    gpuarena_stats stats = stage_stats(held->self);
    CHECK_U64(stats.live_bytes, <=, MIB(32));
    while (held->count) CHECK_INT(stage_free(held->self, &held->blocks[--held->count], 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(held->self->arena, 0, NULL), ==, GPUARENA_OK);
    return NULL;
}

/* No lock is held: other threads free and trim while it runs. */
static void test_other_threads_go_on(void)
{
    cache held;
    stage self = open_full(&held, 4, 0, 1);
    held.self = &self;
    held.thread = free_and_look;
    CHECK(stage_take(&self, MIB(8), 1).ptr != NULL);
    CHECK_U64(held.calls, ==, 1);
    stage_close(&self, "other threads");
}

static void *allocate_beside(void *user)
{
    cache *held = user;
    void *ptr = NULL;
    if (held->calls > 1) return NULL;
    CHECK_INT(stage_free(held->self, &held->blocks[--held->count], 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(held->self->arena, &ptr, MIB(2), held->self->streams[1]), ==, GPUARENA_OK);
    return NULL;
}

/* Another thread may allocate, too, and have what was freed; then the callback is asked again. */
static void test_another_thread_takes_it(void)
{
    cache held;
    stage self = open_full(&held, 8, 0, 1);
    held.self = &self;
    held.thread = allocate_beside;
    held.per_call = 4;
    CHECK(stage_take(&self, MIB(8), 1).ptr != NULL);
    CHECK_U64(held.calls, <=, 2);
    stage_close(&self, "another thread takes it");
}

/* A mistake in the callback is recorded, and the allocation's failure after it. */
static int free_wrong(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    (void)failure;
    CHECK_INT(gpuarena_free(arena, user, NULL), ==, GPUARENA_FOREIGN_POINTER);
    return 0;
}

static void test_misuse_in_the_callback(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    gpuarena_failure failure;
    int nowhere[1];
    config.limit_bytes = MIB(2);
    config.pressure = free_wrong;
    config.pressure_user = nowhere;
    stage_arena(&self, &config);
    CHECK(stage_take(&self, MIB(4), 1).ptr == NULL);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(failure.serial, ==, 2);
    CHECK(stage_stats(&self).misuse_count == 1 && stage_stats(&self).fail_count == 1);
    stage_close(&self, "misuse in the callback");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_served();
        test_zero_fails();
        test_bit_by_bit();
        test_no_endless_loop();
        test_after_the_waits();
        test_freed_on_another_stream();
        test_not_asked();
        test_other_threads_go_on();
        test_another_thread_takes_it();
        test_misuse_in_the_callback();
    }
    return tap_done();
}

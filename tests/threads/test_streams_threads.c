/* Streams and threads: each thread's own default stream, blocks handed from thread to thread, and two bugs of CUB's
   allocator: a block put back before its event is recorded, and one freed twice. */
#include <pthread.h>
#include <sched.h>

#include "stream_stage.h"

/* Threads tell their stories whole, one at a time. */
static void tell(void *(*story)(void *), void *self)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, story, self) || pthread_join(thread, NULL)) CHECK_MSG(0, "a thread");
}

/* Stream 1 is each thread's own here: the first one's memory is not the second's. */
static void *take_on_own_stream(void *user)
{
    stage *self = user;
    tenancy made = stage_take(self, MIB(16), 1);
    CHECK(made.ptr != NULL);
    stage_end_ns(self, 1);
    CHECK_INT(stage_free(self, &made, 1), ==, GPUARENA_OK);
    return NULL;
}

static void *free_own(void *user)
{
    stage *self = user;
    tenancy made = { NULL, MIB(16), self->owner };
    gpuarena_block block;
    CHECK_INT(gpuarena_lookup(self->arena, (char *)self->pin + MIB(2), &block), ==, GPUARENA_OK);
    made.ptr = block.ptr;
    CHECK_INT(gpuarena_free(self->arena, made.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    return take_on_own_stream(user);
}

static void test_per_thread_streams(int freed_by_other)
{
    stage self = stage_open(MIB(16));
    self.streams[1] = STAGE_PER_THREAD;
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    if (!freed_by_other) CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    tell(freed_by_other ? free_own : take_on_own_stream, &self);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    stage_close(&self, freed_by_other ? "own free by another thread" : "per-thread streams");
}

static void *try_on_null(void *user)
{
    stage *self = user;
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    request.bytes = MIB(16);
    request.flags = GPUARENA_ALLOC_TRY;
    gpuarena_result result = gpuarena_alloc_ex(self->arena, &ptr, &request);
    CHECK_INT(result, ==, self->driver.null_is_per_thread ? GPUARENA_OUT_OF_MEMORY : GPUARENA_OK);
    return NULL;
}

/* Stream NULL is each thread's own where the build says so, else everyone's. */
static void test_null_is_per_thread(int is_per_thread)
{
    stage self = stage_device();
    self.driver.null_is_per_thread = (uint32_t)is_per_thread;
    gpuarena_config config = stage_config(&self);
    void *ptr = NULL, *again = NULL;
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(16);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(16), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &again, MIB(16), STAGE_PER_THREAD), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).resolve_count, ==, is_per_thread ? 0 : 1);
    CHECK_INT(gpuarena_free(self.arena, again, NULL), ==, GPUARENA_OK);
    tell(try_on_null, &self);
    stage_close(&self, "NULL is per thread");
}

/* A thread captures on its own stream: another thread's own stream has nothing of the set. */
static void test_capture_on_a_per_thread_stream(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    void *graph = NULL;
    self.streams[1] = STAGE_PER_THREAD;
    CHECK_INT(gpuarena_capture_begin(self.arena, STAGE_PER_THREAD, &set), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_begin(self.machine, 0, STAGE_PER_THREAD, 1), ==, 0);
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    tell(take_on_own_stream, &self);
    tenancy again = stage_take(&self, MIB(16), 1);
    CHECK(block.ptr && again.ptr == block.ptr);
    CHECK_INT(stage_free(&self, &again, 1), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_end(self.machine, 0, STAGE_PER_THREAD, &graph), ==, 0);
    CHECK_INT(gpuarena_capture_end(self.arena, STAGE_PER_THREAD), ==, GPUARENA_OK);
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[2], ++self.op), ==, 0);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[2]), ==, GPUARENA_OK);
    stage_close(&self, "capture on a per-thread stream");
}

/* The same thread has it back at once. */
static void test_per_thread_stream_at_once(void)
{
    stage self = stage_open(MIB(16));
    self.streams[1] = STAGE_PER_THREAD;
    tenancy block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy again = stage_take(&self, MIB(16), 1);
    CHECK(again.ptr == block.ptr && stage_is_busy(&self, 1));
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "per-thread stream at once");
}

typedef struct handover { stage *self; tenancy block; uint64_t work_ns; int wrong; } handover;

static void *consume(void *user)
{
    handover *given = user;
    stage *self = given->self;
    given->wrong |= sim_stream_follow(self->machine, 0, self->streams[2], self->streams[1]) != 0;
    given->wrong |= !stage_work(self, 2, &given->block, given->work_ns);
    given->wrong |= stage_free(self, &given->block, 2) != GPUARENA_OK;
    return NULL;
}

/* RMM: allocated on a stream by one thread, freed on another, ordered behind it, by a second thread. */
static void test_producer_and_consumer(int producer_is_default, int consumer_is_per_thread)
{
    stage self = stage_open(MIB(4));
    uint64_t state = 42;
    int wrong = 0;
    if (producer_is_default) self.streams[1] = NULL;
    if (consumer_is_per_thread) self.streams[2] = STAGE_PER_THREAD;
    for (int i = 0; i < 100; i++) {
        handover given = { &self, { NULL, 0, 0 }, 0, 0 };
        given.block = stage_take(&self, 1 + splitmix64_next(&state) % MIB(1), 1);
        given.work_ns = splitmix64_next(&state) % 40000;
        if (!given.block.ptr || !stage_work(&self, 1, &given.block, splitmix64_next(&state) % 20000)) given.wrong = 1;
        else tell(consume, &given);
        wrong |= given.wrong;
    }
    CHECK_MSG(!wrong, "100 blocks handed over");
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    stage_close(&self, "producer and consumer");
}

/* ---- CUB's two bugs */

static void test_double_free(void)
{
    stage self = stage_open(MIB(16));
    tenancy first = stage_pending(&self, KIB(64), 1, STAGE_SECOND);
    CHECK_INT(stage_free(&self, &first, 1), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(stage_free(&self, &first, 2), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_free(self.arena, first.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_free(self.arena, first.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_DOUBLE_FREE);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, KIB(64));
    tenancy one = stage_take(&self, KIB(64), 1), two = stage_take(&self, KIB(64), 1);
    CHECK(one.ptr && two.ptr && one.ptr != two.ptr);
    stage_close(&self, "double free");
}

typedef struct racer {                           /* a thread that wants the block while its event is being recorded */
    int (*record)(const gpuarena_driver *self, void *event, gpuarena_stream stream);
    stage *self;
    pthread_t thread;
    pthread_mutex_t lock;
    int is_running, is_trying;
    void *got;
} racer;

static racer race = { NULL, NULL, 0, PTHREAD_MUTEX_INITIALIZER, 0, 0, NULL };

static int race_is_trying(int now)
{
    pthread_mutex_lock(&race.lock);
    race.is_trying |= now;
    now = race.is_trying;
    pthread_mutex_unlock(&race.lock);
    return now;
}

static void *race_for_the_block(void *user)
{
    gpuarena_request request = GPUARENA_INIT;
    (void)user;
    request.bytes = MIB(16);
    request.stream = race.self->streams[2];
    request.flags = GPUARENA_ALLOC_TRY;
    race_is_trying(1);
    (void)gpuarena_alloc_ex(race.self->arena, &race.got, &request);
    return NULL;
}

/* The record is under way for as long as another thread needs to get at the block, if it can. */
static int race_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    if (!race.is_running && !pthread_create(&race.thread, NULL, race_for_the_block, NULL)) {
        race.is_running = 1;
        while (!race_is_trying(0)) sched_yield();
        for (int i = 0; i < 1000; i++) sched_yield();
    }
    return race.record(self, event, stream);
}

/* A block is not to be had on another stream before its event is recorded. */
static void test_put_before_record(void)
{
    stage self = stage_device();
    race.record = self.driver.events.record;
    race.self = &self;
    race.got = NULL;
    race.is_running = race.is_trying = 0;
    self.driver.events.record = race_record;
    gpuarena_config config = stage_config(&self);
    config.limit_bytes = MIB(16);
    stage_arena(&self, &config);
    self.streams[1] = STAGE_PER_THREAD;
    tenancy other = stage_take(&self, KIB(4), 2);
    CHECK_INT(stage_free(&self, &other, 2), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(self.arena, 0, NULL), ==, GPUARENA_OK);
    tenancy block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy next = stage_take(&self, MIB(16), 3);
    CHECK_MSG(race.is_running && !pthread_join(race.thread, NULL), "another thread came in between");
    CHECK(race.got == NULL && block.ptr && next.ptr);
    stage_close(&self, "put before record");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_per_thread_stream_at_once();
        test_per_thread_streams(0);
        test_per_thread_streams(1);
        test_capture_on_a_per_thread_stream();
        test_null_is_per_thread(0);
        test_null_is_per_thread(1);
        test_producer_and_consumer(0, 0);
        test_producer_and_consumer(1, 0);
        test_producer_and_consumer(0, 1);
        test_double_free();
        test_put_before_record();
    }
    return tap_done();
}

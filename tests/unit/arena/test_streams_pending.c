/* Nothing stays pending without a reason: once the work is done that a freed block waits for, whoever asks has it, at
   the first try, and no wait for the whole device is spent on what an event can tell. */
#include <pthread.h>

#include "stream_capture.h"

enum { MANY = 40 };                              /* blocks: more than a small table has room for */

/* One segment as of stage_open, or room to grow by just what is needed; streams never wait for each other. */
static stage open_events(uint64_t bytes, int may_grow)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    config.streams = GPUARENA_STREAMS_EVENTS;
    config.growth = may_grow ? GPUARENA_GROWTH_EXACT : GPUARENA_GROWTH_FIXED;
    if (!may_grow) config.limit_bytes = bytes + MIB(2);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    return self;
}

/* A graph's blocks, freed one by one after its last launch: the set's next capture has all of them. */
static void test_freed_after_the_capture(void)
{
    stage self = stage_open(MANY * MIB(1));
    tenancy blocks[MANY];
    uint64_t set = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    for (int i = 0; i < MANY; i++) blocks[i] = stage_take(&self, MIB(1), 1);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]), ==, SIM_SUCCESS);
    for (int i = 0; i < MANY; i++) CHECK_INT(stage_free(&self, &blocks[i], i % 2 ? 1 : 2), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).sync_wait_count, ==, 0);
    CHECK_STR(stage_wrong(&self), "");
    CHECK_INT(sim_device_wait(self.machine, 0), ==, SIM_SUCCESS);
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy whole = stage_take(&self, MANY * MIB(1), 1);
    CHECK_MSG(whole.ptr && whole.ptr == blocks[0].ptr, "the set has it all again");
    void *next = capture_end(&self, 1);
    CHECK(next && capture_launch(&self, next, 1));
    capture_release(&self, set, 1);
    stage_close(&self, "freed after the capture");
}

/* Used in the capture on a stream that was forked and has been joined: freed in the same capture, or after it. */
static void test_used_on_a_joined_stream(int is_freed_inside)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(16), 1);
    capture_fork_to(&self, 1, 2, &set);
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK(stage_work(&self, 2, &block, STAGE_SECOND));
    capture_join_from(&self, 2, 1);
    CHECK_INT(gpuarena_capture_end(self.arena, self.streams[2]), ==, GPUARENA_OK);
    if (is_freed_inside) CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    if (!is_freed_inside) CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).sync_wait_count, ==, 0);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    capture_begin(&self, 1, GLOBAL, &set);
    CHECK_MSG(stage_take(&self, MIB(16), 1).ptr == block.ptr, "freed in the capture: %d", is_freed_inside);
    void *next = capture_end(&self, 1);
    CHECK(next && capture_launch(&self, next, 1));
    capture_release(&self, set, 1);
    stage_close(&self, "used on a joined stream");
}

/* Captures come and go, into one set or into sets of their own; what they leave behind is not more and more. */
static void test_host_memory_of_captures(int is_one_set)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0, after_ten = 0;
    for (int round = 0; round < 50; round++) {
        tenancy blocks[4];
        capture_begin(&self, 1, GLOBAL, &set);
        for (int i = 0; i < 4; i++) blocks[i] = stage_take(&self, MIB(4), 1);
        CHECK_INT(sim_graph_destroy(self.machine, capture_end(&self, 1)), ==, SIM_SUCCESS);
        if (!is_one_set) capture_release(&self, set, 1);
        if (!is_one_set) set = 0;
        for (int i = 0; i < 4; i++) CHECK_INT(stage_free(&self, &blocks[i], 1), ==, GPUARENA_OK);
        CHECK_INT(sim_device_wait(self.machine, 0), ==, SIM_SUCCESS);
        if (round == 10) after_ten = stage_stats(&self).host_bytes;
    }
    CHECK_U64(stage_stats(&self).host_bytes, ==, after_ten);
    CHECK_U64(stage_stats(&self).sync_wait_count, ==, 0);
    if (is_one_set) capture_release(&self, set, 1);
    stage_close(&self, is_one_set ? "captures into one set" : "captures into sets of their own");
}

/* Its stream is forgotten and known to be done; freed on it now, the block waits for nothing: a stream may have it,
   or a capture, which cannot ask any more. */
static void test_freed_on_a_stream_known_to_be_done(int in_a_capture)
{
    stage self = open_events(MIB(32), 0);
    uint64_t set = 0;
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND), asked = stage_take(&self, MIB(16), 1);
    CHECK_INT(stage_free(&self, &asked, 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    CHECK_MSG(stage_take(&self, MIB(16), 2).ptr == asked.ptr, "asked, the event says that all is done");
    CHECK_INT(gpuarena_free(self.arena, block.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, 0);
    if (in_a_capture) capture_begin(&self, 3, GLOBAL, &set);
    CHECK_MSG(stage_take(&self, MIB(16), 3).ptr == block.ptr, "had%s", in_a_capture ? " by a capture" : "");
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    if (in_a_capture) {
        CHECK(capture_launch(&self, capture_end(&self, 3), 3));
        capture_release(&self, set, 3);
    }
    stage_close(&self, "a stream known to be done");
}

/* A user of the block could not be recorded, so that only a wait for the device ends its wait. Its set is released
   behind a stream on top: one wait serves all the same. */
static void test_parked_and_released(void)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0, until = sim_now_ns(self.machine) + STAGE_SECOND;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(16), 1);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]), ==, SIM_SUCCESS);
    CHECK(stage_work(&self, 2, &block, STAGE_SECOND));
    sim_fail_call(self.machine, SIM_CALL_EVENT_RECORD, 1, 0, SIM_UNKNOWN);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[2]), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).sync_wait_count, ==, 1);
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, SIM_SUCCESS);
    capture_release(&self, set, 1);
    CHECK_STR(stage_wrong(&self), "");
    CHECK_MSG(stage_take(&self, MIB(16), 3).ptr == block.ptr, "had at the first try");
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    stage_close(&self, "parked and released");
}

/* Freed on one stream, used on another, and both are done: asking once is enough for a third to have it. */
static void test_used_and_freed_and_done(int may_grow)
{
    stage self = open_events(MIB(16), may_grow);
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    uint64_t grown = stage_stats(&self).grow_count;
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]), ==, SIM_SUCCESS);
    CHECK(stage_work(&self, 2, &block, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    sim_advance(self.machine, 3 * STAGE_SECOND);
    CHECK_MSG(stage_take(&self, MIB(16), 3).ptr == block.ptr, "had, with room to grow: %d", may_grow);
    CHECK_U64(stage_stats(&self).resolve_count, ==, 1);
    CHECK_U64(stage_stats(&self).grow_count, ==, grown);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "used, freed and done");
}

static void *take_on_another_stream(void *user)
{
    stage *self = user;
    tenancy made = stage_take(self, MIB(16), 2);
    CHECK(made.ptr != NULL);
    return NULL;
}

/* Ordinary memory, freed on a thread's own stream while that is captured: another thread, which cannot record there,
   has it when the work from before the capture is done. */
static void test_freed_in_an_own_capture(void)
{
    stage self = open_events(MIB(16), 0);
    uint64_t set = 0;
    pthread_t thread;
    self.streams[1] = STAGE_PER_THREAD;
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    capture_begin(&self, 1, THREAD_LOCAL, &set);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    CHECK(capture_end(&self, 1) != NULL);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    if (pthread_create(&thread, NULL, take_on_another_stream, &self) || pthread_join(thread, NULL))
        CHECK_MSG(0, "another thread");
    CHECK_U64(stage_stats(&self).resolve_count, ==, 1);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    capture_release(&self, set, 1);
    stage_close(&self, "a thread's own capture");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_freed_after_the_capture();
        test_used_on_a_joined_stream(1);
        test_used_on_a_joined_stream(0);
        test_host_memory_of_captures(1);
        test_host_memory_of_captures(0);
        test_freed_on_a_stream_known_to_be_done(0);
        test_freed_on_a_stream_known_to_be_done(1);
        test_parked_and_released();
        test_used_and_freed_and_done(0);
        test_used_and_freed_and_done(1);
        test_freed_in_an_own_capture();
    }
    return tap_done();
}

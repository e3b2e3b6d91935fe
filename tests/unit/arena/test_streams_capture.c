/* Graph captures: nothing that CUDA forbids is called, memory that a graph was given stays its own until its set is
   released, and graphs run as often as one likes while the arena serves others; judged by the device at
   each launch. */
#include "stream_capture.h"

/* Of what no call may be made while anything is captured. */
static uint64_t forbidden_calls(const stage *self)
{
    return stage_calls(self, SIM_CALL_EVENT_QUERY) + stage_calls(self, SIM_CALL_EVENT_SYNCHRONIZE)
        + stage_calls(self, SIM_CALL_DEVICE_SYNCHRONIZE) + stage_calls(self, SIM_CALL_GIVE_BACK);
}

/* Growth, misses, frees, trims and failures while a stream captures, in every mode, and by whichever thread. */
static void test_nothing_forbidden(int mode, int is_known, uint64_t thread)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    uint64_t set = 0, released = 0, before;
    void *graph = NULL;
    int host_mode = GLOBAL;
    config.limit_bytes = MIB(256);
    config.growth = GPUARENA_GROWTH_EXACT;
    stage_arena(&self, &config);
    tenancy kept = stage_take(&self, KIB(4), 2);
    stage_pending(&self, MIB(32), 2, STAGE_SECOND);
    stage_pending(&self, MIB(32), 3, STAGE_SECOND);
    sim_thread(self.machine, 1);
    if (is_known) capture_begin(&self, 1, mode, &set);
    else CHECK_INT(sim_capture_begin(self.machine, 0, self.streams[1], mode), ==, 0);
    sim_thread(self.machine, thread);
    before = forbidden_calls(&self);
    tenancy fresh = stage_take(&self, MIB(32), 4);
    CHECK_MSG(fresh.ptr && kept.ptr, "growth beside a capture of mode %d", mode);
    if (is_known) {
        tenancy own = stage_take(&self, MIB(64), 1);
        CHECK_MSG(own.ptr != NULL, "growth in a capture of mode %d", mode);
        CHECK_INT(stage_free(&self, &own, 1), ==, GPUARENA_OK);
        CHECK(stage_take(&self, MIB(200), 5).ptr == NULL);
        CHECK_INT(gpuarena_trim(self.arena, 0, &released), <=, GPUARENA_OK);
        CHECK_U64(released, ==, 0);
        CHECK_U64(forbidden_calls(&self), ==, before);
    }
    CHECK_INT(stage_free(&self, &fresh, 4), ==, GPUARENA_OK);
    sim_thread(self.machine, 1);
    if (is_known) graph = capture_end(&self, 1);
    else CHECK_INT(sim_capture_end(self.machine, 0, self.streams[1], &graph), ==, 0);
    CHECK_MSG(graph != NULL, "the capture is valid");
    sim_thread(self.machine, thread);
    CHECK_INT(self.driver.capture.exchange_mode(&self.driver, &host_mode), ==, 0);
    CHECK_MSG(host_mode == GLOBAL, "the thread's own mode is what it was");
    if (is_known) capture_release(&self, set, 1);
    sim_thread(self.machine, 0);
    stage_close(&self, "nothing forbidden");
}

/* What a graph was given, freed in the capture or not, nobody else gets before the set is released. */
static void test_memory_is_private(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    capture_begin(&self, 1, RELAXED, &set);
    tenancy kept = stage_take(&self, MIB(8), 1), freed = stage_take(&self, MIB(8), 1);
    CHECK_INT(stage_free(&self, &freed, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    CHECK(graph && set != 0);
    tenancy others[2];
    for (int i = 0; i < 2; i++) {
        others[i] = stage_take(&self, MIB(8), 1 + i);
        CHECK_MSG(others[i].ptr && others[i].ptr != freed.ptr && others[i].ptr != kept.ptr, "elsewhere");
    }
    CHECK_MSG(stage_take(&self, MIB(8), 1).ptr == NULL, "not even at the limit");
    for (int i = 0; i < 3; i++) CHECK_MSG(capture_launch(&self, graph, 1), "launch %d", i);
    CHECK_INT(stage_free(&self, &kept, 1), ==, GPUARENA_OK);
    CHECK_MSG(stage_take(&self, MIB(8), 1).ptr == NULL, "freed outside the capture it goes back to the set");
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    capture_release(&self, set, 1);
    CHECK_MSG(stage_take(&self, MIB(16), 1).ptr != NULL, "released");
    stage_close(&self, "private memory");
}

/* A wait for the whole device, outside of captures, makes nothing of a set anybody's. */
static void test_private_after_a_device_wait(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    void *ptr = NULL;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy kept = stage_take(&self, MIB(8), 1), freed = stage_take(&self, MIB(8), 1);
    CHECK_INT(stage_free(&self, &freed, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    CHECK_INT(stage_free(&self, &kept, 1), ==, GPUARENA_OK);
    stage_pending(&self, MIB(16), 2, STAGE_SECOND);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(16), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_U64(stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE), ==, 1);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(8), GPUARENA_ANY_STREAM), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(stage_take(&self, MIB(8), 1).ptr == NULL && stage_take(&self, MIB(8), 3).ptr == NULL);
    CHECK(capture_launch(&self, graph, 1));
    capture_release(&self, set, 1);
    CHECK(stage_take(&self, MIB(16), 3).ptr != NULL);
    stage_close(&self, "private after a device wait");
}

static void test_reuse_in_a_capture(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0, grown = stage_stats(&self).grow_count;
    capture_begin(&self, 1, THREAD_LOCAL, &set);
    capture_fork_to(&self, 1, 2, &set);
    tenancy first = stage_take(&self, MIB(8), 1);
    CHECK_INT(stage_free(&self, &first, 1), ==, GPUARENA_OK);
    tenancy other = stage_take(&self, MIB(8), 2);
    CHECK_MSG(other.ptr && other.ptr != first.ptr, "not by another stream of the set");
    tenancy second = stage_take(&self, MIB(8), 1);
    CHECK_MSG(second.ptr == first.ptr, "at once by the same stream");
    CHECK_INT(stage_free(&self, &second, 1), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &other, 2), ==, GPUARENA_OK);
    capture_join_from(&self, 2, 1);
    void *graph = capture_end(&self, 1);
    CHECK_INT(gpuarena_capture_end(self.arena, self.streams[2]), ==, GPUARENA_OK);
    for (int i = 0; i < 3; i++) CHECK_MSG(capture_launch(&self, graph, 1), "launch %d", i);
    CHECK_U64(stage_stats(&self).grow_count, ==, grown);
    capture_release(&self, set, 1);
    stage_close(&self, "reuse in a capture");
}

/* A capture gets no memory that another stream may still use, and none whose order is a wait outside the graph. */
static void test_capture_takes_quiet_memory_alone(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    tenancy left = stage_take(&self, MIB(16), 1), right = stage_take(&self, MIB(16), 2);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, left.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK(stage_work(&self, 2, &right, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &right, 2), ==, GPUARENA_OK);
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK(block.ptr == left.ptr);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    for (int stream = 3; stream < STAGE_STREAMS; stream++)
        CHECK(capture_launch(&self, graph, stream) && sim_stream_wait(self.machine, 0, self.streams[stream]) == 0);
    capture_release(&self, set, 5);
    stage_close(&self, "quiet memory alone");
}

/* What is done by the time a capture begins serves it: the last moment at which anything may be asked. */
static void test_begin_asks_what_is_done(int stream)
{
    stage self = stage_open(MIB(16));
    for (int round = 0; round < 3; round++) {
        uint64_t set = 0;
        tenancy before = stage_pending(&self, MIB(16), stream, STAGE_SECOND);
        sim_advance(self.machine, 2 * STAGE_SECOND);
        capture_begin(&self, 1, GLOBAL, &set);
        tenancy block = stage_take(&self, MIB(16), 1);
        CHECK_MSG(block.ptr && block.ptr == before.ptr, "freed on stream %d, and done: round %d", stream, round);
        if (block.ptr) CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
        void *graph = capture_end(&self, 1);
        CHECK(capture_launch(&self, graph, 1));
        capture_release(&self, set, 1);
    }
    stage_close(&self, "begin asks");
}

/* The thread's mode cannot be relaxed: asking for memory would end the capture, so that it is not asked for. */
static void test_mode_cannot_be_relaxed(int lasting)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    uint64_t set = 0;
    stage_arena(&self, &config);
    capture_begin(&self, 1, GLOBAL, &set);
    uint64_t asked = stage_calls(&self, SIM_CALL_OBTAIN);
    sim_fail_call(self.machine, SIM_CALL_EXCHANGE_CAPTURE_MODE, 1, lasting, SIM_UNKNOWN);
    CHECK(stage_take(&self, MIB(4), 1).ptr == NULL);
    CHECK_U64(stage_calls(&self, SIM_CALL_OBTAIN), ==, asked);
    sim_fail_call(self.machine, SIM_CALL_EXCHANGE_CAPTURE_MODE, 0, 0, 0);
    tenancy block = stage_take(&self, MIB(4), 1);
    CHECK(block.ptr != NULL);
    void *graph = capture_end(&self, 1);
    CHECK_MSG(graph && capture_launch(&self, graph, 1), "the capture is valid");
    capture_release(&self, set, 1);
    stage_close(&self, "mode cannot be relaxed");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        for (int mode = GLOBAL; mode <= RELAXED; mode++)
            for (int is_known = 0; is_known < 2; is_known++)
                for (uint64_t thread = 1; thread <= 2; thread++) test_nothing_forbidden(mode, is_known, thread);
        test_memory_is_private();
        test_reuse_in_a_capture();
        test_capture_takes_quiet_memory_alone();
        test_begin_asks_what_is_done(1);
        test_begin_asks_what_is_done(2);
        test_mode_cannot_be_relaxed(0);
        test_mode_cannot_be_relaxed(1);
    }
    test_private_after_a_device_wait();          /* segments alone */
    return tap_done();
}

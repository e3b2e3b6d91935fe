/* Graph captures under bad conditions: misuse, calls on the whole arena while something is captured, memory that is
   short, drivers that do not know captures. */
#include "stream_capture.h"

static gpuarena_reason last_reason(const stage *self)
{
    gpuarena_failure failure;
    gpuarena_last_failure(self->arena, &failure);
    return failure.reason;
}

/* Refused as the caller's mistake, and nothing has changed. */
static void check_misuse(stage *self, gpuarena_result result, uint64_t misuse_before, const char *name)
{
    CHECK_MSG(result == GPUARENA_INVALID_ARGUMENT, "%s: %s", name, gpuarena_result_name(result));
    CHECK_MSG(stage_stats(self).misuse_count == misuse_before + 1, "%s: counted", name);
    CHECK_STR(stage_wrong(self), "");
}

static void test_misuse(void)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0, other = 0, unknown = 12345, count = stage_stats(&self).misuse_count;
    gpuarena *arena = self.arena;
    gpuarena_stream stream = self.streams[1];
    check_misuse(&self, gpuarena_capture_begin(arena, stream, NULL), count++, "begin without a set");
    check_misuse(&self, gpuarena_capture_begin(arena, GPUARENA_ANY_STREAM, &set), count++, "begin on any stream");
    check_misuse(&self, gpuarena_capture_begin(arena, GPUARENA_OWN_STREAM, &set), count++, "begin on the own stream");
    check_misuse(&self, gpuarena_capture_begin(arena, stream, &unknown), count++, "begin with an unknown set");
    CHECK(set == 0 && unknown == 12345);
    check_misuse(&self, gpuarena_capture_end(arena, stream), count++, "end without begin");
    check_misuse(&self, gpuarena_capture_end(arena, GPUARENA_ANY_STREAM), count++, "end on any stream");
    check_misuse(&self, gpuarena_capture_release(arena, 0, stream), count++, "release of no set");
    check_misuse(&self, gpuarena_capture_release(arena, unknown, stream), count++, "release of an unknown set");
    capture_begin(&self, 1, GLOBAL, &set);
    check_misuse(&self, gpuarena_capture_begin(arena, stream, &other), count++, "begin twice");
    check_misuse(&self, gpuarena_capture_begin(arena, stream, &set), count++, "begin twice, the same set");
    CHECK(other == 0);
    CHECK_INT(gpuarena_capture_release(arena, set, stream), ==, GPUARENA_CAPTURE);
    void *graph = capture_end(&self, 1);
    check_misuse(&self, gpuarena_capture_end(arena, stream), count++, "end twice");
    check_misuse(&self, gpuarena_capture_release(arena, set, GPUARENA_OWN_STREAM), count++, "release on OWN");
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK_INT(gpuarena_capture_release(arena, set, stream), ==, GPUARENA_OK);
    check_misuse(&self, gpuarena_capture_release(arena, set, stream), count++, "release twice");
    other = set;
    check_misuse(&self, gpuarena_capture_begin(arena, stream, &other), count++, "join of a released set");
    stage_close(&self, "misuse");
}

/* Calls on the whole arena while a stream captures: none reaches the driver, and the capture stays valid. */
static void test_whole_arena_calls(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    uint64_t set = 0, released = 7;
    stage_arena(&self, &config);
    stage_pending(&self, MIB(32), 2, STAGE_SECOND);
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(8), 1);
    uint64_t before = stage_calls(&self, SIM_CALL_GIVE_BACK) + stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE);
    CHECK_INT(gpuarena_trim(self.arena, 0, &released), <=, GPUARENA_OK);
    CHECK_U64(released, ==, 0);
    CHECK_INT(gpuarena_set_limit(self.arena, MIB(2)), <=, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).limit_bytes, ==, MIB(2));
    CHECK_INT(gpuarena_set_limit(self.arena, GPUARENA_NO_LIMIT), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[3]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self.arena), <, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self.arena), <, GPUARENA_OK);
    CHECK_U64(stage_calls(&self, SIM_CALL_GIVE_BACK) + stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE), ==, before);
    void *graph = capture_end(&self, 1);
    CHECK_MSG(graph && capture_launch(&self, graph, 1), "the capture was valid");
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    stage_close(&self, "calls on the whole arena");
}

/* The reason is the capture where what it forbids would have helped, and only there. */
static void test_out_of_memory(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    stage_pending(&self, MIB(32), 2, STAGE_SECOND);
    capture_begin(&self, 1, GLOBAL, &set);
    CHECK(stage_take(&self, MIB(32), 1).ptr == NULL);
    CHECK_STR(gpuarena_reason_name(last_reason(&self)), "capture");
    CHECK(stage_take(&self, MIB(64), 1).ptr == NULL);
    CHECK_STR(gpuarena_reason_name(last_reason(&self)), "over_limit");
    CHECK(stage_take(&self, GIB(1) << 20, 1).ptr == NULL);
    CHECK_STR(gpuarena_reason_name(last_reason(&self)), "too_large");
    void *graph = capture_end(&self, 1);
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(32), 1);
    CHECK_MSG(block.ptr == NULL || stage_free(&self, &block, 1) == GPUARENA_OK, "nothing is asked");
    graph = capture_end(&self, 1);
    CHECK(graph != NULL);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(32), 1).ptr != NULL);
    stage_close(&self, "out of memory");
}

/* The driver is out of memory, and idle segments may not be given back now. */
static void test_idle_segments_would_help(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    uint64_t set = 0;
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = MIB(32);
    stage_arena(&self, &config);
    tenancy one = stage_take(&self, MIB(16), 1), two = stage_take(&self, MIB(16), 1);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, one.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, two.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    capture_begin(&self, 1, GLOBAL, &set);
    CHECK(stage_take(&self, MIB(24), 1).ptr == NULL);
    CHECK_STR(gpuarena_reason_name(last_reason(&self)), "capture");
    CHECK(capture_end(&self, 1) != NULL);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(24), 1).ptr != NULL);
    stage_close(&self, "idle segments");
}

/* Without events nothing can be kept apart; without the capture group alone, sets work all the same. */
static void test_drivers_without_captures(int has_events)
{
    stage self = stage_device();
    memset(&self.driver.capture, 0, sizeof self.driver.capture);
    if (!has_events) memset(&self.driver.events, 0, sizeof self.driver.events);
    gpuarena_config config = stage_config(&self);
    uint64_t set = 0;
    config.growth = GPUARENA_GROWTH_EXACT;
    config.initial_bytes = MIB(16);
    stage_arena(&self, &config);
    gpuarena_result result = gpuarena_capture_begin(self.arena, self.streams[1], &set);
    CHECK_INT(result, ==, has_events ? GPUARENA_OK : GPUARENA_NOT_SUPPORTED);
    CHECK((set != 0) == has_events);
    tenancy block = stage_take(&self, MIB(32), 1);           /* the first 16 MiB are an idle segment by themselves */
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    if (has_events) {
        uint64_t released = 7;
        CHECK_INT(gpuarena_trim(self.arena, 0, &released), <=, GPUARENA_OK);
        CHECK_U64(released, ==, 0);
        CHECK_INT(gpuarena_capture_end(self.arena, self.streams[1]), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    }
    stage_close(&self, "driver without captures");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_misuse();
        test_whole_arena_calls();
        test_out_of_memory();
    }
    /* segments alone */
    test_idle_segments_would_help();
    test_drivers_without_captures(0);
    test_drivers_without_captures(1);
    return tap_done();
}

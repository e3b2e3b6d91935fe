/* Calls that must not be made, and answers that must be given: nothing breaks another thread's capture or the own
   one, the program is asked for memory on any arena, and may not reserve meanwhile; forget says what failed. */
#include "stream_capture.h"

/* ---- captures that the arena was not told of */

/* Another thread captures, in the strictest mode, when a new stream's first allocation asks after a forgotten one. */
static void test_new_stream_beside_a_capture(void)
{
    stage self = stage_open(MIB(32));
    void *graph = NULL;
    int mode = GLOBAL;
    tenancy block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    sim_thread(self.machine, 7);
    CHECK_INT(sim_capture_begin(self.machine, 0, self.streams[5], GLOBAL), ==, SIM_SUCCESS);
    sim_thread(self.machine, 8);
    uint64_t asked = stage_calls(&self, SIM_CALL_EVENT_QUERY);
    tenancy other = stage_take(&self, MIB(16), 3);
    CHECK(other.ptr && other.ptr != block.ptr);
    CHECK_MSG(stage_calls(&self, SIM_CALL_EVENT_QUERY) > asked, "the forgotten stream's event is asked");
    CHECK_INT(self.driver.capture.exchange_mode(&self.driver, &mode), ==, SIM_SUCCESS);
    CHECK_MSG(mode == GLOBAL, "the thread's own mode is what it was");
    sim_thread(self.machine, 7);
    CHECK_INT(sim_capture_end(self.machine, 0, self.streams[5], &graph), ==, SIM_SUCCESS);
    CHECK_MSG(graph != NULL, "the capture is valid");
    sim_thread(self.machine, 0);
    stage_close(&self, "a new stream beside a capture");
}

/* This thread captures on its own default stream: an idle segment, given back, would end that. */
static void test_own_stream_captures(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    gpuarena_failure failure;
    void *graph = NULL;
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = MIB(8);
    stage_arena(&self, &config);
    self.streams[1] = STAGE_PER_THREAD;
    stage_pending(&self, MIB(6), 1, STAGE_SECOND);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    CHECK_INT(sim_capture_begin(self.machine, 0, STAGE_PER_THREAD, GLOBAL), ==, SIM_SUCCESS);
    CHECK_MSG(stage_take(&self, MIB(8), 1).ptr == NULL, "refused");
    gpuarena_last_failure(self.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "capture");
    CHECK_U64(stage_calls(&self, SIM_CALL_GIVE_BACK), ==, 0);
    CHECK_INT(sim_capture_end(self.machine, 0, STAGE_PER_THREAD, &graph), ==, SIM_SUCCESS);
    CHECK_MSG(graph != NULL, "the capture is valid");
    CHECK_MSG(stage_take(&self, MIB(8), 1).ptr != NULL, "had when the capture has ended");
    stage_close(&self, "the own stream captures");
}

/* ---- the pressure callback */

typedef struct eviction {
    stage *self;
    tenancy block;                               /* ptr NULL: there is nothing to do without */
    uint64_t calls, reserved_before, reserved_after;
    gpuarena_result reserve_result;
} eviction;

static int evict(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    eviction *held = user;
    (void)failure;
    held->calls++;
    held->reserved_before = stage_stats(held->self).reserved_bytes;
    held->reserve_result = gpuarena_reserve(arena, held->reserved_before + MIB(2));
    held->reserved_after = stage_stats(held->self).reserved_bytes;
    return held->block.ptr && stage_free(held->self, &held->block, 1) == GPUARENA_OK;
}

/* No limit, and nothing was ever freed: the driver refuses, and the program is asked. It may not reserve then. */
static void test_pressure_on_a_default_arena(int has_block)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    eviction held = { NULL, { NULL, 0, 0 }, 0, 0, 0, GPUARENA_OK };
    config.pressure = evict;
    config.pressure_user = &held;
    stage_arena(&self, &config);
    held.self = &self;
    tenancy first = stage_take(&self, GIB(20), 1);
    CHECK_U64(stage_stats(&self).limit_bytes, ==, GPUARENA_NO_LIMIT);
    if (has_block) held.block = first;
    tenancy second = stage_take(&self, GIB(20), 1);
    CHECK_MSG(first.ptr && second.ptr == (has_block ? first.ptr : NULL), "%s", has_block ? "served" : "refused");
    CHECK_U64(held.calls, ==, 1);
    CHECK_U64(stage_stats(&self).pressure_count, ==, 1);
    CHECK_INT(held.reserve_result, ==, GPUARENA_REENTRANT);
    CHECK_U64(held.reserved_after, ==, held.reserved_before);
    stage_close(&self, "pressure on a default arena");
}

/* ---- what forget answers */

static int host_is_out;

static void *host_alloc(size_t bytes, void *user)
{
    (void)user;
    return host_is_out ? NULL : malloc(bytes);
}

static void host_free(void *memory, size_t bytes, void *user)
{
    (void)bytes;
    (void)user;
    free(memory);
}

/* No event is to be had: forget says so, and the memory waits for the device. code 0: host memory is out. */
static void test_forget_without_an_event(int code, gpuarena_result wanted)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    gpuarena_failure failure;
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(18);
    config.host_alloc = host_alloc;
    config.host_free = host_free;
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    tenancy block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    if (code) sim_fail_call(self.machine, SIM_CALL_EVENT_WITH_FLAGS, 1, 0, code);
    else host_is_out = 1;
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, wanted);
    host_is_out = 0;
    gpuarena_last_failure(self.arena, &failure);
    CHECK_INT(failure.result, ==, wanted);
    CHECK_INT(failure.driver_code, ==, code);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, SIM_SUCCESS);
    CHECK_MSG(stage_take(&self, MIB(16), 2).ptr == block.ptr, "had after a wait for the device");
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    stage_close(&self, "forget without an event");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_new_stream_beside_a_capture();
        test_pressure_on_a_default_arena(0);
        test_pressure_on_a_default_arena(1);
        test_forget_without_an_event(SIM_UNKNOWN, GPUARENA_DRIVER_ERROR);
        test_forget_without_an_event(SIM_CAPTURE_UNSUPPORTED, GPUARENA_CAPTURE);
        test_forget_without_an_event(0, GPUARENA_HOST_MEMORY);
    }
    test_own_stream_captures();                  /* segments alone */
    return tap_done();
}

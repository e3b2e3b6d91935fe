/* Streams on a driver whose event calls fail, each once and for good, with every kind of code, or that has no events
   at all. Nothing is lost, nothing is taken for ready, and the device-wide wait serves in the end. */
#include "stream_stage.h"

typedef struct fault_case { sim_call call; const char *name; } fault_case;

static const fault_case event_cases[] = {
    { SIM_CALL_EVENT_WITH_FLAGS, "create" }, { SIM_CALL_EVENT_RECORD, "record" }, { SIM_CALL_EVENT_QUERY, "query" },
    { SIM_CALL_STREAM_WAIT_EVENT, "stream_wait" }, { SIM_CALL_EVENT_SYNCHRONIZE, "host_wait" },
};

static uint64_t until;                           /* when the work of the pending blocks is done, at the earliest */

/* 48 MiB: freed by stream 1, by stream 2, and by stream 3 with stream 2 still using it. */
static stage open_pending(void)
{
    stage self = stage_open(MIB(48));
    until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    stage_pending(&self, MIB(16), 2, STAGE_SECOND);
    tenancy used = stage_take(&self, MIB(16), 3);
    CHECK_INT(gpuarena_use(self.arena, used.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[2], self.streams[3]), ==, 0);
    CHECK(stage_work(&self, 2, &used, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &used, 3), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, MIB(48));
    return self;
}

/* Whatever one kind of call answers, the memory is had, at the first try and in order. */
static void test_one_call_fails(const fault_case *fault, int lasting, int code)
{
    stage self = open_pending();
    sim_fail_call(self.machine, fault->call, 1, lasting, code);
    tenancy whole = stage_take(&self, MIB(48), 4);
    CHECK_MSG(whole.ptr != NULL, "%s %s %d: had", fault->name, lasting ? "always" : "once", code);
    CHECK_U64(stage_end_ns(&self, 4), >=, until);
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    CHECK_U64(stage_stats(&self).live_bytes, ==, MIB(50));
    int is_answer = fault->call == SIM_CALL_EVENT_QUERY && code == SIM_NOT_READY;
    CHECK_INT(stage_stats(&self).event_error_count > 0, ==, sim_fail_fired(self.machine) && !is_answer);
    if (!lasting) CHECK_U64(stage_stats(&self).event_error_count, <=, 1);
    if (fault->call == SIM_CALL_EVENT_QUERY)     /* streams can be made to wait all the same */
        CHECK_U64(stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE), ==, 0);
    sim_fail_call(self.machine, fault->call, 0, 0, 0);
    stage_close(&self, fault->name);
}

/* The same where there is room to grow: what failed is not taken for ready. */
static void test_not_taken_for_ready(const fault_case *fault, int lasting, int code)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    stage_arena(&self, &config);
    tenancy kept = stage_take(&self, KIB(4), 1), block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    sim_fail_call(self.machine, fault->call, 1, lasting, code);
    tenancy one = stage_take(&self, MIB(16), 2), two = stage_take(&self, MIB(16), 2);
    CHECK(one.ptr && two.ptr && kept.ptr && one.ptr != block.ptr && two.ptr != block.ptr);
    CHECK_MSG(!stage_is_busy(&self, 2), "%s: no wait", fault->name);
    sim_fail_call(self.machine, fault->call, 0, 0, 0);
    stage_close(&self, fault->name);
}

static void test_event_calls_fail(void)
{
    static const int codes[] = { SIM_UNKNOWN, SIM_NOT_READY, SIM_OUT_OF_MEMORY, SIM_INVALID_HANDLE };
    for (size_t kind = 0; kind < COUNT(event_cases); kind++)
        for (size_t code = 0; code < COUNT(codes); code++)
            for (int lasting = 0; lasting < 2; lasting++) {
                test_one_call_fails(&event_cases[kind], lasting, codes[code]);
                if (stage_backing == GPUARENA_BACKING_SEGMENTS)  /* paged: the host waits, though there is room */
                    test_not_taken_for_ready(&event_cases[kind], lasting, codes[code]);
            }
}

/* Frees wait for a stream that the program captures, unknown to the arena: it is neither recorded on, which would end
   up in the graph, nor is the device waited for. */
static void test_program_captures_a_stream(void)
{
    stage self = open_pending();
    gpuarena_failure failure;
    void *graph = NULL;
    CHECK_INT(sim_capture_begin(self.machine, 0, self.streams[2], 0), ==, 0);
    CHECK(stage_take(&self, MIB(48), 4).ptr == NULL);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "capture");
    CHECK_U64(failure.pending_bytes, ==, MIB(48));
    CHECK_U64(stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE) + stage_calls(&self, SIM_CALL_GIVE_BACK), ==, 0);
    CHECK_INT(sim_capture_end(self.machine, 0, self.streams[2], &graph), ==, 0);
    CHECK_MSG(graph && sim_graph_destroy(self.machine, graph) == 0, "the capture was valid");
    CHECK(stage_take(&self, MIB(48), 4).ptr != NULL);
    CHECK_U64(stage_end_ns(&self, 4), >=, until);
    stage_close(&self, "the program captures a stream");
}

/* As above; the stream that allocates and frees is the one captured: its own memory is had, and others' is not. */
static void test_program_captures_the_own_stream(void)
{
    stage self = stage_open(MIB(32));
    void *graph = NULL;
    tenancy own = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy other = stage_pending(&self, MIB(16), 2, STAGE_SECOND);
    CHECK_INT(sim_capture_begin(self.machine, 0, self.streams[1], 0), ==, 0);
    void *first = NULL, *second = NULL;
    CHECK_INT(gpuarena_alloc(self.arena, &first, MIB(16), self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &second, MIB(16), self.streams[1]), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(first == (void *)own.ptr && other.ptr);
    CHECK_INT(gpuarena_free(self.arena, first, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_end(self.machine, 0, self.streams[1], &graph), ==, 0);
    CHECK_MSG(graph && sim_graph_destroy(self.machine, graph) == 0, "the capture was valid");
    stage_close(&self, "the program captures the own stream");
}

/* All calls fail for a while: the request is refused and says so, nothing else changes; afterwards it is served. */
static void test_all_calls_fail(int code)
{
    stage self = open_pending();
    gpuarena_failure failure;
    sim_fail_call(self.machine, SIM_CALL_KINDS, 1, 1, code);
    CHECK(stage_take(&self, MIB(48), 4).ptr == NULL);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_U64(failure.pending_bytes, ==, MIB(48));
    CHECK_U64(failure.largest_free_bytes, ==, MIB(48));
    CHECK_U64(stage_stats(&self).pending_bytes, ==, MIB(48));
    CHECK_STR(stage_wrong(&self), "");
    sim_fail_call(self.machine, SIM_CALL_KINDS, 0, 0, 0);
    uint64_t waits = stage_stats(&self).gpu_wait_count;
    tenancy whole = stage_take(&self, MIB(48), 4);
    CHECK_MSG(whole.ptr != NULL, "all calls failed with %d: had afterwards", code);
    CHECK_U64(stage_stats(&self).gpu_wait_count, >, waits);
    CHECK_U64(stage_end_ns(&self, 4), >=, until);
    CHECK_U64(stage_stats(&self).fail_count, ==, 1);
    stage_close(&self, "all calls fail");
}

/* Without events to be had, one wait for the device serves, and is counted once. */
static void test_device_wait_is_counted(const fault_case *fault)
{
    stage self = open_pending();
    sim_fail_call(self.machine, fault->call, 1, 1, SIM_UNKNOWN);
    CHECK(stage_take(&self, MIB(48), 4).ptr != NULL);
    CHECK_U64(stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE), ==, 1);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    sim_fail_call(self.machine, fault->call, 0, 0, 0);
    stage_close(&self, "device wait");
}

static int fail_to_create(const gpuarena_driver *self, void **event)
{
    (void)self;
    (void)event;
    return SIM_OUT_OF_MEMORY;
}

/* No events, and the wait for the device fails, too: that is not taken for done. */
static void test_device_wait_fails(void)
{
    stage self = stage_device();
    self.driver.events.create = fail_to_create;
    gpuarena_config config = stage_config(&self);
    gpuarena_failure failure;
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(18);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    sim_fail_call(self.machine, SIM_CALL_DEVICE_SYNCHRONIZE, 1, 0, SIM_UNKNOWN);
    CHECK(stage_take(&self, MIB(16), 2).ptr == NULL);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "pending");
    CHECK_U64(stage_stats(&self).pending_bytes, ==, MIB(16));
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    CHECK_MSG(stage_take(&self, MIB(16), 2).ptr && sim_now_ns(self.machine) >= until, "had at the next try");
    stage_close(&self, "device wait fails");
}

/* The device is lost in the call: everything says so at once, and frees and destroy keep the books. */
static void test_lost(const fault_case *fault)
{
    stage self = open_pending();
    void *ptr = &self;
    tenancy small = { self.pin, MIB(2), 0 };
    sim_fail_call(self.machine, fault->call, 1, 0, SIM_ILLEGAL_ADDRESS);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(48), self.streams[4]), ==, GPUARENA_DEVICE_LOST);
    CHECK_MSG(sim_fail_fired(self.machine) && ptr == (void *)&self, "%s: lost", fault->name);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, 1, self.streams[1]), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_use(self.arena, small.ptr, self.streams[1]), <=, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &small, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), <=, GPUARENA_OK);
    CHECK_STR(stage_wrong(&self), "");
    CHECK_U64(stage_stats(&self).live_bytes, ==, 0);
    CHECK_INT(gpuarena_destroy(self.arena), ==, GPUARENA_OK);
    sim_destroy(self.machine);
}

/* forget cannot record: what was freed there waits for the device, and nobody touches the handle again. */
static void test_forget_fails(int code, gpuarena_result wanted)
{
    stage self = stage_open(MIB(16));
    until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    sim_fail_call(self.machine, SIM_CALL_EVENT_RECORD, 1, 0, code);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, wanted);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, 0);
    CHECK(stage_take(&self, MIB(16), 2).ptr != NULL);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    stage_close(&self, "forget fails");
}

/* A stream that was destroyed and never forgotten: its record fails, and the memory waits for the device. */
static void test_destroyed_without_forget(void)
{
    stage self = stage_open(MIB(16));
    until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, 0);
    tenancy next = stage_take(&self, MIB(16), 2);
    CHECK_MSG(next.ptr && sim_now_ns(self.machine) >= until, "had after a wait for the device");
    stage_close(&self, "destroyed without forget");
}

/* Streams may be destroyed before the arena: it makes no call on what may be another's handle by then. */
static void test_streams_gone_before_destroy(void)
{
    stage self = stage_open(MIB(16));
    sim_counters before, after;
    for (int stream = 1; stream < 4; stream++) {
        tenancy block = stage_take(&self, MIB(2), stream);
        CHECK_INT(stage_free(&self, &block, stream), ==, GPUARENA_OK);
    }
    CHECK_INT(gpuarena_reset(self.arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    for (int stream = 1; stream < 4; stream++)
        CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[stream]), ==, 0);
    sim_get_counters(self.machine, 0, &before);
    CHECK_INT(gpuarena_destroy(self.arena), ==, GPUARENA_OK);
    sim_get_counters(self.machine, 0, &after);
    CHECK_U64(after.calls[SIM_CALL_STREAM_IS_CAPTURING], ==, before.calls[SIM_CALL_STREAM_IS_CAPTURING]);
    CHECK_U64(after.calls[SIM_CALL_EVENT_RECORD], ==, before.calls[SIM_CALL_EVENT_RECORD]);
    CHECK_U64(after.calls[SIM_CALL_GIVE_BACK], >, before.calls[SIM_CALL_GIVE_BACK]);
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    sim_destroy(self.machine);
}

/* ---- drivers without events */

static void test_no_events(void)
{
    stage self = stage_device();
    void *first = NULL, *second = NULL, *other = NULL;
    memset(&self.driver.events, 0, sizeof self.driver.events);
    memset(&self.driver.capture, 0, sizeof self.driver.capture);
    gpuarena_config config = stage_config(&self);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &first, MIB(2), self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(self.arena, first, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(self.arena, first, GPUARENA_ANY_STREAM), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_free(self.arena, first, self.streams[1]), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, 0);
    CHECK_INT(gpuarena_alloc(self.arena, &second, MIB(2), self.streams[3]), ==, GPUARENA_OK);
    CHECK_MSG(second == first, "all streams are one queue");
    CHECK_INT(gpuarena_forget(self.arena, self.streams[3]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, second, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &other, MIB(2), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK(other == first);
    stage_close(&self, "no events");
}

/* A table that has some of a group alone is refused, and the group is named. */
static void test_half_a_group(void)
{
    for (int missing = 0; missing < 9; missing++) {
        stage self = stage_device();
        gpuarena_config config = stage_config(&self);
        gpuarena_failure failure;
        switch (missing) {
        case 0: self.driver.events.create = NULL; break;
        case 1: self.driver.events.destroy = NULL; break;
        case 2: self.driver.events.record = NULL; break;
        case 3: self.driver.events.query = NULL; break;
        case 4: self.driver.events.host_wait = NULL; break;
        case 5: self.driver.events.stream_wait = NULL; break;
        case 6: self.driver.events.device_wait = NULL; break;
        case 7: self.driver.capture.active = NULL; break;
        default: self.driver.capture.exchange_mode = NULL; break;
        }
        CHECK_INT(gpuarena_create(&config, &self.arena), ==, GPUARENA_INVALID_CONFIG);
        gpuarena_last_failure(NULL, &failure);
        CHECK_MSG(strstr(failure.detail, missing < 7 ? "driver.events" : "driver.capture") != NULL, "%s",
                  failure.detail);
        sim_destroy(self.machine);
    }
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_event_calls_fail();
        test_program_captures_a_stream();
        test_program_captures_the_own_stream();
        test_all_calls_fail(SIM_UNKNOWN);
        test_all_calls_fail(SIM_NOT_READY);
        test_all_calls_fail(SIM_OUT_OF_MEMORY);
        test_device_wait_is_counted(&event_cases[0]);
        test_device_wait_is_counted(&event_cases[1]);
        test_device_wait_fails();
        test_lost(&event_cases[0]);
        test_lost(&event_cases[1]);
        test_lost(&event_cases[2]);
        test_lost(&event_cases[3]);
        test_forget_fails(SIM_UNKNOWN, GPUARENA_DRIVER_ERROR);
        test_forget_fails(SIM_CAPTURE_UNSUPPORTED, GPUARENA_CAPTURE);
        test_destroyed_without_forget();
    }
    test_streams_gone_before_destroy();          /* segments alone */
    test_no_events();
    test_half_a_group();
    return tap_done();
}

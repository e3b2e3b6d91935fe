/* The configuration's keys for streams: streams=same, events or steal, and wait_ms; in text, in force, and what each
   makes of another stream's memory, with room to grow and without. */
#include "stream_stage.h"

static const struct { gpuarena_streams streams; const char *text; } axes[] = {
    { GPUARENA_STREAMS_SAME, "streams=same" }, { GPUARENA_STREAMS_EVENTS, "streams=events" },
    { GPUARENA_STREAMS_STEAL, "streams=steal" },
};

static void test_text(void)
{
    char message[160], text[256];
    for (size_t i = 0; i < COUNT(axes); i++) {
        gpuarena_config config = GPUARENA_INIT;
        CHECK_INT(gpuarena_config_parse(axes[i].text, &config, message, sizeof message), ==, GPUARENA_OK);
        CHECK_INT(config.streams, ==, axes[i].streams);
        gpuarena_config_text(&config, text, sizeof text);
        CHECK_STR(text, axes[i].text);
    }
    gpuarena_config config = GPUARENA_INIT;
    CHECK_INT(gpuarena_config_parse("wait_ms=250,streams=events", &config, message, sizeof message), ==, GPUARENA_OK);
    CHECK_U64(config.wait_ms, ==, 250);
    CHECK_INT(gpuarena_config_parse("streams=all", &config, message, sizeof message), ==, GPUARENA_INVALID_CONFIG);
    CHECK_MSG(strstr(message, "streams") && strstr(message, "same"), "%s", message);
    CHECK_INT(gpuarena_config_parse("wait_ms=soon", &config, message, sizeof message), ==, GPUARENA_INVALID_CONFIG);
    CHECK_MSG(strstr(message, "wait_ms") != NULL, "%s", message);
    CHECK_INT(gpuarena_config_parse("wait_ms=4294967296", &config, message, sizeof message), ==,
              GPUARENA_INVALID_CONFIG);
    CHECK_INT(gpuarena_config_parse("wait_ms=-1", &config, message, sizeof message), ==, GPUARENA_INVALID_CONFIG);
    CHECK_U64(config.wait_ms, ==, 250);
}

static stage open_axis(gpuarena_streams streams, uint32_t wait_ms, gpuarena_growth growth, uint64_t limit_bytes)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self), in_force;
    config.streams = streams;
    config.wait_ms = wait_ms;
    config.growth = growth;
    config.limit_bytes = limit_bytes;
    stage_arena(&self, &config);
    gpuarena_get_config(self.arena, &in_force);
    CHECK_INT(in_force.streams, ==, streams ? streams : GPUARENA_STREAMS_STEAL);
    CHECK_U64(in_force.wait_ms, ==, wait_ms);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    return self;
}

/* Work that is done, and room to grow: with `same` the other stream's memory stays with it. */
static void test_done_and_room(gpuarena_streams streams)
{
    stage self = open_axis(streams, 0, GPUARENA_GROWTH_EXACT, 0);
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK_INT(second.ptr == first.ptr, ==, streams != GPUARENA_STREAMS_SAME);
    CHECK_U64(stage_stats(&self).grow_count, ==, streams == GPUARENA_STREAMS_SAME ? 3 : 2);
    CHECK_U64(stage_stats(&self).resolve_count, ==, streams != GPUARENA_STREAMS_SAME);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "done, and room");
}

/* Work under way, and no room: only `steal` has the stream wait on the GPU; for the others the host waits: for the
   device, or, since pages can be waited for event by event, for an event. */
static void test_busy_and_no_room(gpuarena_streams streams)
{
    stage self = open_axis(streams, 0, GPUARENA_GROWTH_FIXED, MIB(18));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    int steals = streams == GPUARENA_STREAMS_STEAL || streams == GPUARENA_STREAMS_AUTO;
    int by_event = stage_backing == GPUARENA_BACKING_PAGED && streams == GPUARENA_STREAMS_EVENTS;
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK(second.ptr == first.ptr);
    CHECK_INT(sim_now_ns(self.machine) < until, ==, steals);
    CHECK_U64(stage_calls(&self, SIM_CALL_STREAM_WAIT_EVENT), ==, steals ? 1 : 0);
    CHECK_U64(stage_calls(&self, SIM_CALL_DEVICE_SYNCHRONIZE), ==, steals || by_event ? 0 : 1);
    CHECK_U64(stage_stats(&self).stream_wait_count, ==, steals ? 1 : 0);
    CHECK_U64(stage_stats(&self).wait_count, ==, steals ? 0 : 1);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "busy, and no room");
}

/* The own stream's memory, whatever the key. */
static void test_own_memory(gpuarena_streams streams)
{
    stage self = open_axis(streams, streams == GPUARENA_STREAMS_SAME ? 0 : 5, GPUARENA_GROWTH_FIXED, MIB(18));
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND), second = stage_take(&self, MIB(16), 1);
    CHECK_MSG(second.ptr == first.ptr && stage_is_busy(&self, 1), "at once");
    CHECK_U64(stage_stats(&self).wait_count + stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "own memory");
}

/* The host asks for as long as it was allowed to, and has what is done by then without any stream waiting. */
static void test_wait_is_long_enough(void)
{
    stage self = open_axis(GPUARENA_STREAMS_STEAL, 10, GPUARENA_GROWTH_FIXED, MIB(18));
    uint64_t before = sim_now_ns(self.machine);
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND / 200);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK(second.ptr == first.ptr && !stage_is_busy(&self, 1));
    CHECK_U64(sim_now_ns(self.machine), <, before + STAGE_SECOND / 100);
    CHECK_U64(stage_stats(&self).wait_count, ==, 1);
    CHECK_U64(stage_stats(&self).stream_wait_count + stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "long enough");
}

static void test_wait_is_too_short(void)
{
    stage self = open_axis(GPUARENA_STREAMS_STEAL, 10, GPUARENA_GROWTH_FIXED, MIB(18));
    uint64_t before = sim_now_ns(self.machine);
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK(second.ptr == first.ptr && stage_is_busy(&self, 1));
    CHECK_U64(sim_now_ns(self.machine), >=, before + STAGE_SECOND / 100);
    CHECK_U64(sim_now_ns(self.machine), <, before + STAGE_SECOND / 50);
    CHECK_U64(stage_stats(&self).stream_wait_count, ==, 1);
    stage_close(&self, "too short");
}

/* Nothing that waiting could serve: no time is spent on it. */
static void test_wait_for_nothing(void)
{
    stage self = open_axis(GPUARENA_STREAMS_STEAL, 1000, GPUARENA_GROWTH_FIXED, MIB(18));
    tenancy live = stage_take(&self, MIB(8), 1);
    stage_pending(&self, MIB(8), 2, STAGE_SECOND);
    uint64_t before = sim_now_ns(self.machine);
    CHECK(live.ptr && stage_take(&self, MIB(16), 3).ptr == NULL);
    CHECK_U64(sim_now_ns(self.machine), <, before + STAGE_SECOND / 1000);
    stage_close(&self, "wait for nothing");
}

/* The wait has an end where the clock stands. */
static uint64_t standing_clock(const gpuarena_driver *self)
{
    (void)self;
    return 5;
}

static void test_clock_that_stands(void)
{
    stage self = stage_device();
    self.driver.now_ns = standing_clock;
    gpuarena_config config = stage_config(&self);
    config.wait_ms = UINT32_MAX;
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(18);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK(stage_take(&self, MIB(16), 2).ptr != NULL);
    CHECK_U64(stage_calls(&self, SIM_CALL_EVENT_QUERY), <=, 10000);
    stage_close(&self, "a clock that stands");
}

/* A wait by no clock, and for events that are never asked. */
static void test_contradictions(int has_clock)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    gpuarena_failure failure;
    config.wait_ms = 10;
    if (has_clock) config.streams = GPUARENA_STREAMS_SAME;
    else self.driver.now_ns = NULL;
    CHECK_INT(gpuarena_create(&config, &self.arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(strstr(failure.detail, "wait_ms") != NULL, "%s", failure.detail);
    sim_destroy(self.machine);
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        for (int streams = GPUARENA_STREAMS_AUTO; streams <= GPUARENA_STREAMS_STEAL; streams++) {
            test_done_and_room((gpuarena_streams)streams);
            test_busy_and_no_room((gpuarena_streams)streams);
            test_own_memory((gpuarena_streams)streams);
        }
        test_wait_is_long_enough();
        test_wait_is_too_short();
        test_wait_for_nothing();
        test_clock_that_stands();
        test_contradictions(1);
        test_contradictions(0);
    }
    test_text();
    return tap_done();
}

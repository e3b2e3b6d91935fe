/* Streams, captures, async memory, scrub and a lost device: programs that were found to fail, each with what was
   wrong, on a device of which each test says what is captured, what fails, and what has to be waited for. */
#include "fake_driver.h"
#include "tap.h"

enum { MOST = 256 };

/* The device: streams are numbers; whoever is captured must not be waited for. */
static fake_device device;
static gpuarena *arena;
static struct {
    gpuarena_stream captured;                    /* the owner captures it; NULL: none */
    int implicit;                                /* a stream that nobody names: the default one says CAPTURING */
    int broken;                                  /* calls that would have ended the capture */
    int busy;                                    /* events are not ready */
    uint64_t active_count, wait_count;
    int fail_wait;                               /* this wait for the device is refused, as by a capture; 0: none */
    int clearing;                                /* the default stream may be clearing still */
    int lose_at, calls;                          /* this call finds the device lost; 0: none */
    int lost, late_calls;                        /* late: after it was lost */
} world;

/* Counts a driver call. Not 0: what it answers. */
static int call_begins(int breaks)
{
    world.late_calls += world.lost;
    world.broken += breaks && (world.captured || world.implicit);
    if (++world.calls == world.lose_at) world.lost = 1;
    return world.lost ? GPUARENA_STATUS_LOST * device.code_step : 0;
}

static int count_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    int code = call_begins(0);
    (void)kind;
    return code ? code : fake_info(self, GPUARENA_MEMORY_DEVICE, free_bytes, total_bytes);
}

static int count_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    int code = call_begins(0);
    (void)kind;
    return code ? code : fake_obtain(self, GPUARENA_MEMORY_DEVICE, ptr, bytes, stream);
}

static int count_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    int code = call_begins(1);
    return code ? code : fake_give_back(self, kind, ptr, bytes, stream);
}

static int event_create(const gpuarena_driver *self, void **event)
{
    static char some;
    (void)self;
    *event = &some;
    return call_begins(0);
}

static int event_destroy(const gpuarena_driver *self, void *event) { return (void)self, (void)event, 0; }
static int event_host_wait(const gpuarena_driver *self, void *event)
{
    return (void)self, (void)event, call_begins(1);
}

static int event_query(const gpuarena_driver *self, void *event)
{
    int code = call_begins(0);
    (void)self, (void)event;
    return code ? code : world.busy ? GPUARENA_STATUS_NOT_READY * device.code_step : 0;
}

static int event_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    return (void)self, (void)event, (void)stream, call_begins(0);
}

static int stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    world.clearing = 0;
    return (void)self, (void)event, (void)stream, call_begins(0);
}

static int device_wait(const gpuarena_driver *self)
{
    int code = call_begins(1);
    (void)self;
    world.wait_count++;
    if (world.fail_wait && !--world.fail_wait) return GPUARENA_STATUS_CAPTURING * device.code_step;
    if (!code) world.clearing = 0;
    return code;
}

static int stream_active(const gpuarena_driver *self, gpuarena_stream stream, int *active)
{
    int code = call_begins(0);
    (void)self;
    world.active_count++;
    *active = world.captured && stream == world.captured;
    return code ? code : world.implicit && !stream ? GPUARENA_STATUS_CAPTURING * device.code_step : 0;
}

static int exchange_mode(const gpuarena_driver *self, int *mode) { return (void)self, *mode = 0, 0; }

static int clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    int code = call_begins(0);
    (void)self, (void)ptr, (void)bytes;
    if (!stream && !code) world.clearing = 1;
    return code;
}

static gpuarena_result try_open(const char *text)
{
    gpuarena_config config;
    memset(&world, 0, sizeof world);
    fake_open(&device, GIB(1));
    device.base_address += FAKE_GRANULE;         /* no segment starts at more than 2 MiB */
    device.table.memory.info = count_info;
    device.table.memory.obtain = count_obtain;
    device.table.memory.give_back = count_give_back;
    device.table.events.create = event_create;
    device.table.events.destroy = event_destroy;
    device.table.events.record = event_record;
    device.table.events.query = event_query;
    device.table.events.host_wait = event_host_wait;
    device.table.events.stream_wait = stream_wait;
    device.table.events.device_wait = device_wait;
    device.table.capture.active = stream_active;
    device.table.capture.exchange_mode = exchange_mode;
    device.table.clear = clear;
    config = fake_config(&device);
    if (!CHECK_MSG(gpuarena_config_parse(text, &config, NULL, 0) == GPUARENA_OK, "%s", text)) return GPUARENA_STOPPED;
    return gpuarena_create(&config, &arena);
}

static void begin(const char *text)
{
    gpuarena_result result = try_open(text);
    if (result == GPUARENA_OK) return;
    printf("Bail out! %s: %s\n", text, gpuarena_result_name(result));
    exit(1);
}

static void end(const char *name)
{
    world.captured = NULL;
    world.implicit = 0;
    CHECK_MSG(gpuarena_check(arena, NULL, 0) == GPUARENA_OK, "%s: the books are right", name);
    CHECK_MSG(world.broken == 0, "%s: %d calls that break a capture", name, world.broken);
    CHECK_MSG(gpuarena_reset(arena, GPUARENA_ANY_STREAM) == GPUARENA_OK && gpuarena_destroy(arena) == GPUARENA_OK,
              "%s: destroyed", name);
    CHECK_MSG(fake_close(&device), "%s: nothing is left", name);
}

static gpuarena_stats stats(void)
{
    gpuarena_stats now;
    gpuarena_get_stats(arena, &now);
    return now;
}

static void *take(uint64_t bytes, gpuarena_stream stream)
{
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, bytes, stream), ==, GPUARENA_OK);
    return ptr;
}

static void use_once(uint64_t bytes, gpuarena_stream stream)
{
    CHECK_INT(gpuarena_free(arena, take(bytes, stream), stream), ==, GPUARENA_OK);
}

/* ---- streams that nothing waits for, and that their owner captures */

/* Their records are other streams' by then; still they are asked about. */
static void test_capture_of_an_idle_stream(void)
{
    begin("backing=segments,growth=exact");
    for (int at = 1; at <= 40; at++) use_once(MIB(2), fake_stream(at));
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    for (int at = 1; at <= 40; at++) {
        CHECK_INT(gpuarena_reserve(arena, MIB(8)), ==, GPUARENA_OK);
        use_once(MIB(1), fake_stream(100 + at)); /* a stream never seen before */
        world.captured = fake_stream(at);
        CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_CAPTURE);
        CHECK_U64(stats().reserved_bytes, ==, MIB(8));
        world.captured = NULL;
        CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    }
    end("a capture of a stream that nothing waits for");
}

/* A stream that is forgotten is not asked about: its handle may be another's, or nobody's. */
static void test_forgotten(int with_a_record)
{
    begin("backing=segments,growth=exact");
    use_once(MIB(2), fake_stream(1));
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    for (int at = 2; at <= 40 && !with_a_record; at++) use_once(MIB(2), fake_stream(at));
    for (int at = 1; at <= 40; at++) CHECK_INT(gpuarena_forget(arena, fake_stream(at)), ==, GPUARENA_OK);
    world.active_count = 0;
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(stats().reserved_bytes, ==, 0);
    CHECK_U64(world.active_count, ==, 0);
    end("forgotten streams");
}

/* Streams that come and go without a word: little is kept of each. */
static void test_host_memory_of_streams(void)
{
    enum { STREAMS = 10000 };
    uint64_t before;
    begin("backing=segments");
    for (int at = 1; at <= 8; at++) {
        void *ptr = NULL;
        (void)gpuarena_alloc(arena, &ptr, KIB(1), fake_stream(at));
        (void)gpuarena_free(arena, ptr, GPUARENA_ANY_STREAM);
    }
    before = stats().host_bytes;
    for (int at = 9; at <= STREAMS; at++) {
        void *ptr = NULL;
        if (gpuarena_alloc(arena, &ptr, KIB(1), fake_stream(at))) break;
        if (gpuarena_free(arena, ptr, GPUARENA_ANY_STREAM)) break;
    }
    CHECK_U64(stats().host_bytes - before, <=, 96 * STREAMS);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    before = stats().host_bytes;
    for (int at = 1; at <= STREAMS; at += 2) (void)gpuarena_forget(arena, fake_stream(at));
    for (int at = 1; at <= STREAMS / 2; at++) {
        void *ptr = NULL;
        if (gpuarena_alloc(arena, &ptr, KIB(1), fake_stream(STREAMS + at))) break;
        if (gpuarena_free(arena, ptr, GPUARENA_ANY_STREAM)) break;
    }
    CHECK_U64(stats().host_bytes, ==, before);
    end("streams that come and go");
}

/* ---- what cannot be undone while a stream is captured */

/* A segment that may start anywhere could not go back. */
static void test_refused_in_a_capture(const char *text, uint32_t flags)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_failure failure;
    uint64_t set = 0;
    void *ptr = NULL;
    begin(text);
    CHECK_INT(gpuarena_capture_begin(arena, fake_stream(1), &set), ==, GPUARENA_OK);
    request.bytes = MIB(2);
    request.alignment_bytes = flags & GPUARENA_ALLOC_DEDICATED ? MIB(2) : MIB(256);
    request.flags = flags;
    device.base_address += KIB(4);
    for (int at = 1; at <= 2; at++) {
        request.stream = fake_stream(at);
        CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OUT_OF_MEMORY);
        gpuarena_last_failure(arena, &failure);
        CHECK_STR(gpuarena_reason_name(failure.reason), "capture");
        CHECK_U64(stats().reserved_bytes, ==, 0);
    }
    request.alignment_bytes = 0;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_end(arena, fake_stream(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_release(arena, set, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    end(text);
}

/* The driver says of the default stream that a capture goes on, which no stream that the arena knows is part of: then
   the call that was told so does not wait for the device. */
static void test_capture_that_the_driver_tells(const char *text)
{
    void *ptr = NULL;
    begin(text);
    use_once(MIB(2), fake_stream(1));
    world.implicit = world.busy = 1;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), GPUARENA_ANY_STREAM), ==, GPUARENA_CAPTURE);
    CHECK_U64(world.wait_count, ==, 0);
    world.implicit = 0;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    end(text);
}

/* ---- calls are counted */

/* Streams are asked once before segments go, and not before each. */
static void test_asked_once(void)
{
    enum { SEGMENTS = 200, STREAMS = 32 };
    void *blocks[SEGMENTS];
    begin("backing=segments,growth=exact");
    for (int at = 0; at < SEGMENTS; at++) blocks[at] = take(MIB(2), fake_stream(1 + at % STREAMS));
    for (int at = 0; at < SEGMENTS; at++)
        CHECK_INT(gpuarena_free(arena, blocks[at], fake_stream(1 + at % STREAMS)), ==, GPUARENA_OK);
    world.active_count = 0;
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(stats().reserved_bytes, ==, 0);
    CHECK_U64(world.active_count, <=, 2 * STREAMS);
    end("asked once");
}

static void test_aged_asked_once(void)
{
    enum { SEGMENTS = 100, STREAMS = 16 };
    void *blocks[SEGMENTS];
    begin("backing=segments,growth=exact,release=age,release_age=300");
    for (int at = 0; at < SEGMENTS; at++) blocks[at] = take(MIB(2), fake_stream(1 + at % STREAMS));
    for (int at = 0; at < SEGMENTS; at++)
        CHECK_INT(gpuarena_free(arena, blocks[at], fake_stream(1 + at % STREAMS)), ==, GPUARENA_OK);
    world.active_count = 0;
    for (int at = 0; at < 400; at++) use_once(KIB(1), fake_stream(1));
    CHECK_U64(stats().reserved_bytes, <=, MIB(4));
    CHECK_U64(world.active_count, <=, (SEGMENTS / 2 + 1) * STREAMS);         /* two grow old with each round */
    end("asked once, by age");
}

/* ---- scrub */

/* A clear on the default stream was given, and the wait for it refused: the block's next free waits for it. */
static void test_late_clear(int how)
{
    void *block, *next = NULL;
    begin(how == 3 ? "backing=segments,step=8M,scrub=both" : "backing=segments,scrub=free");
    block = take(MIB(1), GPUARENA_ANY_STREAM);
    world.fail_wait = 2;
    if (how == 2) CHECK_INT(gpuarena_resize(arena, block, KIB(4), GPUARENA_OWN_STREAM), ==, GPUARENA_CAPTURE);
    else CHECK_INT(gpuarena_free(arena, block, GPUARENA_OWN_STREAM), ==, GPUARENA_CAPTURE);
    CHECK_MSG(world.clearing, "it is cleared still");
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    if (how == 1) {                              /* once more in vain: before anything is cleared again */
        world.fail_wait = 1;
        CHECK_INT(gpuarena_free(arena, block, fake_stream(1)), ==, GPUARENA_CAPTURE);
    }
    if (how == 3) {                              /* as it grows, what is new cannot be cleared */
        world.fail_wait = 1;
        CHECK_INT(gpuarena_resize(arena, block, MIB(4), GPUARENA_ANY_STREAM), ==, GPUARENA_CAPTURE);
        CHECK_MSG(world.clearing, "it is cleared still");
    }
    CHECK_INT(gpuarena_free(arena, block, fake_stream(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &next, MIB(1), fake_stream(1)), ==, GPUARENA_OK);
    CHECK_MSG(next == block && !world.clearing, "had again, and nothing clears it");
    end("a clear that nothing waited for");
}

/* A free that was refused before anything was cleared is as free to be made on a stream as before. */
static void test_refused_before_the_clear(void)
{
    void *block;
    begin("backing=segments,scrub=free");
    block = take(MIB(1), GPUARENA_ANY_STREAM);
    world.fail_wait = 1;
    CHECK_INT(gpuarena_free(arena, block, GPUARENA_OWN_STREAM), ==, GPUARENA_CAPTURE);
    world.wait_count = 0;
    CHECK_INT(gpuarena_free(arena, block, fake_stream(1)), ==, GPUARENA_OK);
    CHECK_U64(world.wait_count, ==, 0);
    end("refused before the clear");
}

/* ---- a lost device: whichever call finds it so, none is made after it */

static void live_a_life(void)
{
    void *blocks[8] = { NULL }, *any = NULL, *other = NULL;
    uint64_t set = 0;
    gpuarena_device figures;
    gpuarena_request request = GPUARENA_INIT;
    for (int at = 0; at < 8; at++) (void)gpuarena_alloc(arena, &blocks[at], MIB(1), fake_stream(at % 4));
    (void)gpuarena_alloc(arena, &any, KIB(4), GPUARENA_ANY_STREAM);
    if (blocks[1]) (void)gpuarena_use(arena, blocks[1], fake_stream(3));
    if (any) (void)gpuarena_free(arena, any, GPUARENA_OWN_STREAM);
    if (blocks[4]) (void)gpuarena_free(arena, blocks[4], NULL);
    for (int at = 0; at < 4; at++) if (blocks[at]) (void)gpuarena_free(arena, blocks[at], GPUARENA_OWN_STREAM);
    (void)gpuarena_alloc(arena, &other, MIB(4), fake_stream(2));
    if (other) (void)gpuarena_resize(arena, other, MIB(1), fake_stream(1));
    request.bytes = MIB(2);
    request.flags = GPUARENA_ALLOC_DEDICATED;
    request.stream = fake_stream(3);
    (void)gpuarena_can_alloc(arena, &request);
    if (!gpuarena_alloc_ex(arena, &any, &request)) (void)gpuarena_free(arena, any, fake_stream(3));
    (void)gpuarena_get_device(arena, &figures);
    if (!gpuarena_capture_begin(arena, fake_stream(1), &set)) {
        (void)gpuarena_alloc(arena, &any, KIB(4), fake_stream(1));
        (void)gpuarena_capture_end(arena, fake_stream(1));
        (void)gpuarena_capture_release(arena, set, fake_stream(1));
    }
    (void)gpuarena_forget(arena, fake_stream(2));
    (void)gpuarena_reserve(arena, MIB(64));
    (void)gpuarena_trim(arena, 0, NULL);
    (void)gpuarena_set_limit(arena, MIB(8));
    (void)gpuarena_reset(arena, GPUARENA_OWN_STREAM);
}

static void test_lost_at_any_call(const char *text)
{
    int at = 0, wrong = 0, late = 0, lost;
    do {
        gpuarena_result result = try_open(text);
        wrong += result != GPUARENA_OK;
        if (result) break;
        world.calls = 0;
        world.lose_at = ++at;
        live_a_life();
        lost = world.lost;
        wrong += gpuarena_check(arena, NULL, 0) != GPUARENA_OK;
        wrong += gpuarena_reset(arena, GPUARENA_OWN_STREAM) != GPUARENA_OK;
        wrong += gpuarena_destroy(arena) != GPUARENA_OK;
        wrong += device.host_bytes != 0;
        late += world.late_calls;
    } while (lost);
    CHECK_MSG(at > 20, "%s: %d calls", text, at - 1);
    CHECK_MSG(wrong == 0, "%s: %d of them leave something wrong", text, wrong);
    CHECK_MSG(late == 0, "%s: %d calls after the device was lost", text, late);
}

int main(void)
{
    test_capture_of_an_idle_stream();
    test_forgotten(0);
    test_forgotten(1);
    test_host_memory_of_streams();
    test_refused_in_a_capture("backing=segments,growth=exact,limit=64M", 0);
    test_refused_in_a_capture("backing=segments,growth=exact,limit=64M", GPUARENA_ALLOC_DEDICATED);
    test_capture_that_the_driver_tells("backing=async,growth=exact,limit=8M");
    test_capture_that_the_driver_tells("backing=async,growth=exact,limit=8M,streams=same");
    test_asked_once();
    test_aged_asked_once();
    for (int how = 0; how < 4; how++) test_late_clear(how);
    test_refused_before_the_clear();
    test_lost_at_any_call("backing=segments");
    test_lost_at_any_call("backing=segments,scrub=free");
    test_lost_at_any_call("backing=segments,scrub=both");
    test_lost_at_any_call("backing=async");
    test_lost_at_any_call("backing=pinned,streams=events");
    test_lost_at_any_call("backing=segments,headroom=4M,release=pressure,release_at=16M");
    return tap_done();
}

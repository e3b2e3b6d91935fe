/* Arenas of pinned, managed and asynchronous memory on the simulated device: limits at any instant, sums, order of
   uses, every call failing, mixtures. It must not know how the simulator keeps such memory. */
#include "sim_device.h"

enum { STREAMS = 3, BLOCKS = 60 };

typedef struct kind {
    const char *text;
    gpuarena_backing backing;
    gpuarena_memory memory;
} kind;

static const kind kinds[] = {
    { "pinned", GPUARENA_BACKING_PINNED, GPUARENA_MEMORY_PINNED },
    { "managed", GPUARENA_BACKING_MANAGED, GPUARENA_MEMORY_MANAGED },
    { "async", GPUARENA_BACKING_ASYNC, GPUARENA_MEMORY_ASYNC },
};

typedef struct program {                         /* random allocations, uses and frees on several streams */
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[STREAMS];
    struct { void *ptr; uint64_t bytes, owner; int stream; } blocks[BLOCKS];
    uint64_t random, owner, served, refused;
} program;

static uint64_t held_of(const sim_bench *bench, gpuarena_memory memory, int peak)
{
    sim_counters counters = bench_counters(bench);
    switch (memory) {
    case GPUARENA_MEMORY_PINNED:  return peak ? counters.host_peak_bytes : counters.host_bytes;
    case GPUARENA_MEMORY_MANAGED: return peak ? counters.managed_peak_bytes : counters.managed_bytes;
    case GPUARENA_MEMORY_ASYNC:   return peak ? counters.pool_reserved_peak_bytes : counters.pool_reserved_bytes;
    case GPUARENA_MEMORY_DEVICE:  break;
    }
    return peak ? counters.held_peak_bytes : counters.held_bytes;
}

static gpuarena_result program_open(program *self, const kind *of, const char *text, uint64_t chunk_bytes)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(self, 0, sizeof *self);
    self->bench = bench_open_sized(GIB(1), NULL);
    if (sim_pool_chunk(self->bench.machine, 0, chunk_bytes)) return GPUARENA_INVALID_ARGUMENT;
    for (int i = 0; i < STREAMS; i++) sim_stream_create(self->bench.machine, 0, 0, &self->streams[i]);
    gpuarena_config_parse(text, &config, NULL, 0);
    config.backing = of->backing;
    config.environment = "";
    config.driver = &self->bench.driver;
    return gpuarena_create(&config, &self->arena);
}

static void program_use(program *self, int at)
{
    gpuarena_stream stream = self->streams[self->blocks[at].stream];
    sim_work(self->bench.machine, 0, stream, 50000);
    sim_access(self->bench.machine, 0, stream, self->blocks[at].ptr, self->blocks[at].bytes, self->blocks[at].owner,
               self->owner);
}

static void program_step(program *self)
{
    int at = (int)(splitmix64_next(&self->random) % BLOCKS);
    if (self->blocks[at].ptr) {
        program_use(self, at);
        if (gpuarena_free(self->arena, self->blocks[at].ptr, self->streams[self->blocks[at].stream])) return;
        self->blocks[at].ptr = NULL;
        return;
    }
    self->blocks[at].bytes = (splitmix64_next(&self->random) % 9 ? KIB(200) : MIB(9)) * (uint64_t)(1 + at % 3);
    self->blocks[at].stream = (int)(splitmix64_next(&self->random) % STREAMS);
    self->blocks[at].owner = ++self->owner;
    if (gpuarena_alloc(self->arena, &self->blocks[at].ptr, self->blocks[at].bytes,
                       self->streams[self->blocks[at].stream])) {
        self->blocks[at].ptr = NULL;
        self->refused++;
        return;
    }
    self->served++;
    program_use(self, at);
}

/* All that is left, in whole granules. */
static void program_fill(program *self)
{
    void *ptr;
    while (gpuarena_alloc(self->arena, &ptr, SIM_GRANULE, self->streams[0]) == GPUARENA_OK) self->served++;
}

static int sums_hold(const gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    return stats.requested_bytes + stats.slack_bytes == stats.live_bytes
        && stats.live_bytes + stats.pending_bytes + stats.cached_bytes == stats.reserved_bytes;
}

static uint64_t reserved_of(const gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    return stats.reserved_bytes;
}

/* What is handed out of it; of asynchronous memory: without what the driver's pool rounds up by. */
static uint64_t used_of(const sim_bench *bench, gpuarena_memory memory, int peak)
{
    sim_counters counters = bench_counters(bench);
    if (memory != GPUARENA_MEMORY_ASYNC) return held_of(bench, memory, peak);
    return peak ? counters.pool_used_peak_bytes : counters.pool_used_bytes;
}

/* The limit holds at every instant, and is reached, to the byte; books and device agree: where a chunk of the
   driver's pool is one granule, on all that the pool keeps; in other chunks, on what is handed out. */
static void test_random(const kind *of, const char *text, uint64_t chunk_bytes)
{
    program made;
    unsigned wrong = 0;
    char message[200] = "";
    gpuarena_config config;
    uint64_t (*have)(const sim_bench *, gpuarena_memory, int) = chunk_bytes == SIM_GRANULE ? held_of : used_of;
    CHECK_INT(program_open(&made, of, text, chunk_bytes), ==, 0);
    for (int i = 0; i < 4000; i++) {
        program_step(&made);
        wrong += !sums_hold(made.arena) || reserved_of(made.arena) != have(&made.bench, of->memory, 0);
        if (i % 1000 == 999) wrong += gpuarena_trim(made.arena, MIB(20), NULL) != 0;
        if (i % 100 == 0) wrong += gpuarena_check(made.arena, message, sizeof message) != 0;
    }
    program_fill(&made);
    wrong += !sums_hold(made.arena) || reserved_of(made.arena) != have(&made.bench, of->memory, 0);
    CHECK_MSG(wrong == 0, "%s: sums and the device's figures agree at every step %s", of->text, message);
    CHECK_MSG(made.served > 1000 && made.refused > 0, "%s: %" PRIu64 " served, %" PRIu64 " refused", of->text,
              made.served, made.refused);
    gpuarena_get_config(made.arena, &config);
    CHECK_U64(have(&made.bench, of->memory, 1), ==, config.limit_bytes);
    gpuarena_reset(made.arena, made.streams[0]);
    CHECK_INT(gpuarena_destroy(made.arena), ==, 0);
    CHECK_U64(held_of(&made.bench, of->memory, 0), ==, 0);
    CHECK_U64(bench_counters(&made.bench).held_bytes, ==, 0);
    CHECK_MSG(sim_finding_count(made.bench.machine) == 0, "%s: %s", of->text,
              sim_finding_count(made.bench.machine) ? sim_finding(made.bench.machine, 0) : "no finding");
    bench_close(&made.bench);
}

/* Each call of the driver fails in turn: the program goes on, and nothing is lost. */
static void test_faults(const kind *of)
{
    uint64_t nth = 1;
    unsigned wrong = 0;
    for (int fired = 1; fired && nth < 400; nth++) {
        program made;
        if (program_open(&made, of, "limit=64M,wait_ms=1", SIM_GRANULE)) wrong++;
        sim_fail_call(made.bench.machine, SIM_CALL_KINDS, nth, 0, 999);
        for (int i = 0; i < 150; i++) {
            program_step(&made);
            wrong += !sums_hold(made.arena);
        }
        fired = sim_fail_fired(made.bench.machine);
        sim_fail_call(made.bench.machine, SIM_CALL_KINDS, 0, 0, 0);
        wrong += gpuarena_check(made.arena, NULL, 0) != 0;
        gpuarena_reset(made.arena, made.streams[0]);
        wrong += gpuarena_destroy(made.arena) != 0 || sim_finding_count(made.bench.machine);
        sim_device_wait(made.bench.machine, 0);
        wrong += held_of(&made.bench, of->memory, 0) != 0;
        bench_close(&made.bench);
    }
    CHECK_MSG(wrong == 0 && nth > 20, "%s: %" PRIu64 " calls failed in turn, %u things wrong", of->text, nth - 1,
              wrong);
}

/* A wait for what was given back fails: the pool may have it still, and the limit counts it until a wait succeeds. */
static void test_owed(void)
{
    program made;
    void *ptr = NULL, *next = NULL;
    gpuarena_stats stats;
    CHECK_INT(program_open(&made, &kinds[2], "limit=64M,growth=exact", SIM_POOL_CHUNK), ==, 0);
    CHECK_INT(gpuarena_alloc(made.arena, &ptr, MIB(64), made.streams[0]), ==, 0);
    sim_work(made.bench.machine, 0, made.streams[0], 1000000);
    CHECK_INT(gpuarena_free(made.arena, ptr, made.streams[0]), ==, 0);
    sim_fail_call(made.bench.machine, SIM_CALL_EVENT_SYNCHRONIZE, 1, 1, 999);
    CHECK_INT(gpuarena_trim(made.arena, 0, NULL), ==, 0);
    gpuarena_get_stats(made.arena, &stats);
    CHECK(stats.reserved_bytes == 0 && stats.event_error_count == 1);
    CHECK_U64(held_of(&made.bench, GPUARENA_MEMORY_ASYNC, 0), ==, MIB(64));
    CHECK_INT(gpuarena_check(made.arena, NULL, 0), ==, 0);
    CHECK_INT(gpuarena_alloc(made.arena, &next, MIB(32), made.streams[1]), ==, 0);
    CHECK_U64(held_of(&made.bench, GPUARENA_MEMORY_ASYNC, 1), ==, MIB(64));
    CHECK_U64(held_of(&made.bench, GPUARENA_MEMORY_ASYNC, 0), ==, MIB(32));
    sim_fail_call(made.bench.machine, SIM_CALL_KINDS, 0, 0, 0);
    CHECK_INT(gpuarena_free(made.arena, next, made.streams[1]), ==, 0);
    CHECK_INT(gpuarena_destroy(made.arena), ==, 0);
    CHECK_U64(sim_finding_count(made.bench.machine), ==, 0);
    bench_close(&made.bench);
}

/* What an arena owes, its kin have once a wait succeeds, though it makes no call itself. */
static void test_owed_by_kin(void)
{
    program made;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *kin = NULL;
    void *ptr = NULL;
    CHECK_INT(program_open(&made, &kinds[2], "limit=64M,growth=exact", SIM_POOL_CHUNK), ==, 0);
    config.parent = made.arena;
    config.backing = GPUARENA_BACKING_ASYNC;
    config.growth = GPUARENA_GROWTH_EXACT;
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &kin), ==, 0);
    CHECK_INT(gpuarena_alloc(made.arena, &ptr, MIB(64), made.streams[0]), ==, 0);
    sim_work(made.bench.machine, 0, made.streams[0], 1000000);
    CHECK_INT(gpuarena_free(made.arena, ptr, made.streams[0]), ==, 0);
    sim_fail_call(made.bench.machine, SIM_CALL_EVENT_SYNCHRONIZE, 1, 1, 999);
    CHECK_INT(gpuarena_trim(made.arena, 0, NULL), ==, 0);
    sim_fail_call(made.bench.machine, SIM_CALL_KINDS, 0, 0, 0);
    CHECK_INT(gpuarena_alloc(kin, &ptr, MIB(32), made.streams[1]), ==, 0);
    CHECK_U64(held_of(&made.bench, GPUARENA_MEMORY_ASYNC, 1), ==, MIB(64));
    CHECK(gpuarena_check(made.arena, NULL, 0) == 0 && gpuarena_check(kin, NULL, 0) == 0);
    gpuarena_reset(kin, made.streams[1]);
    CHECK_INT(gpuarena_destroy(kin), ==, 0);
    CHECK_INT(gpuarena_destroy(made.arena), ==, 0);
    bench_close(&made.bench);
}

/* Memory in no stream's order is for nobody until the device was waited for; none is a capture's. */
static void test_async_without_order(void)
{
    program made;
    void *ptr = NULL, *next = NULL;
    uint64_t set = 0;
    CHECK_INT(program_open(&made, &kinds[2], "limit=64M,growth=exact", SIM_GRANULE), ==, 0);
    sim_fail_call(made.bench.machine, SIM_CALL_DEVICE_SYNCHRONIZE, 1, 1, 999);
    CHECK_INT(gpuarena_alloc(made.arena, &ptr, MIB(8), GPUARENA_ANY_STREAM), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_check(made.arena, NULL, 0), ==, 0);
    sim_fail_call(made.bench.machine, SIM_CALL_KINDS, 0, 0, 0);
    CHECK_INT(gpuarena_alloc(made.arena, &ptr, MIB(8), GPUARENA_ANY_STREAM), ==, 0);
    CHECK_INT(gpuarena_capture_begin(made.arena, made.streams[1], &set), ==, 0);
    for (int any = 0; any < 2; any++) {
        gpuarena_request request = GPUARENA_INIT;
        request.bytes = MIB(16);
        request.stream = any ? GPUARENA_ANY_STREAM : made.streams[1];
        CHECK_INT(gpuarena_can_alloc(made.arena, &request), ==, GPUARENA_CAPTURE);
        CHECK_INT(gpuarena_alloc_ex(made.arena, &next, &request), ==, GPUARENA_CAPTURE);
    }
    CHECK_INT(gpuarena_alloc(made.arena, &next, MIB(16), made.streams[0]), ==, 0);
    CHECK_INT(gpuarena_check(made.arena, NULL, 0), ==, 0);
    CHECK_INT(gpuarena_capture_end(made.arena, made.streams[1]), ==, 0);
    CHECK_INT(gpuarena_capture_release(made.arena, set, made.streams[1]), ==, 0);
    gpuarena_reset(made.arena, GPUARENA_OWN_STREAM);
    CHECK_INT(gpuarena_destroy(made.arena), ==, 0);
    CHECK_U64(sim_finding_count(made.bench.machine), ==, 0);
    bench_close(&made.bench);
}

static void test_named(const kind *of, uint64_t chunk_bytes)
{
    program made;
    gpuarena_device device;
    gpuarena_block block;
    gpuarena_config config;
    void *ptr = NULL;
    char text[400];
    CHECK_INT(program_open(&made, of, "limit=50%,initial=4M", chunk_bytes), ==, 0);
    CHECK_INT(gpuarena_alloc(made.arena, &ptr, 1000, made.streams[0]), ==, 0);
    CHECK_INT(gpuarena_lookup(made.arena, ptr, &block), ==, 0);
    CHECK_INT(gpuarena_get_device(made.arena, &device), ==, 0);
    gpuarena_get_config(made.arena, &config);
    CHECK(block.memory == of->memory && device.memory == of->memory && config.backing == of->backing);
    CHECK_U64(config.limit_bytes, ==, (of->memory == GPUARENA_MEMORY_PINNED ? SIM_HOST_BYTES : GIB(1)) / 2);
    /* what the driver's pool rounds up by */
    int rounds_up = of->memory == GPUARENA_MEMORY_ASYNC && chunk_bytes > MIB(4);
    CHECK_INT(device.other_bytes, ==, rounds_up ? chunk_bytes - MIB(4) : 0);
    gpuarena_config_text(&config, text, sizeof text);
    CHECK_MSG(strstr(text, of->text) != NULL, "%s", text);
    gpuarena_free(made.arena, ptr, made.streams[0]);
    CHECK_INT(gpuarena_destroy(made.arena), ==, 0);
    bench_close(&made.bench);
}

/* One arena of each kind on a device: the device's own figures know nothing of pinned and managed memory. */
static void test_mixture(void)
{
    program made;
    const kind segments = { "segments", GPUARENA_BACKING_SEGMENTS, GPUARENA_MEMORY_DEVICE };
    gpuarena *others[COUNT(kinds)];
    gpuarena_device device;
    CHECK_INT(program_open(&made, &segments, "initial=8M", SIM_POOL_CHUNK), ==, 0);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        gpuarena_config config = GPUARENA_INIT;
        config.backing = kinds[i].backing;
        config.initial_bytes = MIB(16) << i;
        config.driver = &made.bench.driver;
        config.environment = "";
        CHECK_INT(gpuarena_create(&config, &others[i]), ==, 0);
    }
    sim_counters counters = bench_counters(&made.bench);
    CHECK_U64(counters.held_bytes, ==, MIB(8 + 64));
    CHECK_U64(counters.host_bytes, ==, MIB(16));
    CHECK_U64(counters.managed_bytes, ==, MIB(32));
    CHECK_U64(counters.pool_used_bytes, ==, MIB(64));
    CHECK_INT(gpuarena_get_device(made.arena, &device), ==, 0);
    CHECK_INT(device.other_bytes, ==, MIB(64));
    CHECK_INT(gpuarena_get_device(others[0], &device), ==, 0);
    CHECK_INT(device.other_bytes, ==, 0);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        gpuarena_config config = GPUARENA_INIT;
        gpuarena *child = NULL;
        config.backing = kinds[i].backing;
        config.parent = made.arena;
        config.environment = "";
        CHECK_INT(gpuarena_create(&config, &child), ==, i < 2 ? GPUARENA_INVALID_CONFIG : GPUARENA_OK);
        if (child) CHECK_INT(gpuarena_destroy(child), ==, 0);
    }
    for (size_t i = 0; i < COUNT(kinds); i++) CHECK_INT(gpuarena_destroy(others[i]), ==, 0);
    CHECK_INT(gpuarena_destroy(made.arena), ==, 0);
    CHECK_U64(bench_counters(&made.bench).held_bytes, ==, 0);
    bench_close(&made.bench);
}

static gpuarena_status no_kind_classify(const gpuarena_driver *self, int code)
{
    (void)self;
    return code == 0 ? GPUARENA_STATUS_DONE : code == 801 ? GPUARENA_STATUS_NOT_SUPPORTED : GPUARENA_STATUS_FAILED;
}

static int no_kind_info(const gpuarena_driver *self, gpuarena_memory memory, uint64_t *free_bytes,
                        uint64_t *total_bytes)
{
    (void)self;
    *free_bytes = *total_bytes = GIB(1);
    return memory == GPUARENA_MEMORY_DEVICE ? 0 : 801;
}

static void test_refused(void)
{
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    gpuarena_failure failure;
    gpuarena *arena;
    bench.driver.classify = no_kind_classify;
    bench.driver.memory.info = no_kind_info;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        gpuarena_config config = GPUARENA_INIT;
        config.backing = kinds[i].backing;
        config.driver = &bench.driver;
        config.environment = "";
        CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_NOT_SUPPORTED);
        gpuarena_last_failure(NULL, &failure);
        CHECK_MSG(strstr(failure.detail, "backing: this driver") && strstr(failure.detail, kinds[i].text), "%s",
                  failure.detail);
        config.share = GPUARENA_SHARE_WHOLE;
        bench.driver.memory.info = no_kind_info;
        CHECK_INT(gpuarena_create(&config, &arena), !=, 0);
    }
    bench_close(&bench);
}

int main(void)
{
    static const char *const texts[] = {
        "limit=128M",
        "limit=48M,growth=exact,streams=events",
        "limit=48M,growth=exact,streams=same,release=idle,release_at=4M",
    };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        test_named(&kinds[i], SIM_GRANULE);
        test_named(&kinds[i], SIM_POOL_CHUNK);
        for (size_t at = 0; at < COUNT(texts); at++) {
            test_random(&kinds[i], texts[at], SIM_GRANULE);
            if (kinds[i].memory == GPUARENA_MEMORY_ASYNC) test_random(&kinds[i], texts[at], SIM_POOL_CHUNK);
        }
        test_faults(&kinds[i]);
    }
    test_owed();
    test_owed_by_kin();
    test_async_without_order();
    test_mixture();
    test_refused();
    return tap_done();
}

/* Scrub: what is refused at creation; that a clear which fails publishes nothing and loses nothing; streams that are
   captured, forgotten, another thread's; resizes, scopes, a lost device.
   It must not know how blocks are cleared. */
#include "sim_device.h"

#define CUDA_UNKNOWN 999
#define CUDA_ILLEGAL_ADDRESS 700

typedef struct house { sim_bench bench; gpuarena *arena; gpuarena_stream streams[2]; } house;
static house self;

static int host_is_full;

static void *host_alloc(size_t bytes, void *user) { return (void)user, host_is_full ? NULL : malloc(bytes); }
static void host_free(void *memory, size_t bytes, void *user) { (void)bytes, (void)user, free(memory); }

static gpuarena_result create(const char *keys)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &self.bench.driver;
    config.host_alloc = host_alloc;
    config.host_free = host_free;
    config.environment = "";
    CHECK_INT(gpuarena_config_parse(keys, &config, NULL, 0), ==, GPUARENA_OK);
    return gpuarena_create(&config, &self.arena);
}

static void begin(const char *keys)
{
    memset(&self, 0, sizeof self);
    self.bench = bench_open_sized(GIB(1), NULL);
    for (int at = 0; at < 2; at++) CHECK_INT(sim_stream_create(self.bench.machine, 0, 0, &self.streams[at]), ==, 0);
    CHECK_INT(create(keys), ==, GPUARENA_OK);
}

static void end(const char *name)
{
    gpuarena_failure failure;
    CHECK_MSG(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK, "%s: check", name);
    CHECK_MSG(gpuarena_reset(self.arena, self.streams[0]) == GPUARENA_OK, "%s: reset", name);
    if (gpuarena_destroy(self.arena)) {
        gpuarena_last_failure(self.arena, &failure);
        CHECK_MSG(0, "%s: destroy: %s", name, failure.detail);
    }
    CHECK_MSG(sim_finding_count(self.bench.machine) == 0, "%s: %s", name,
              sim_finding_count(self.bench.machine) ? sim_finding(self.bench.machine, 0) : "no finding");
    bench_close(&self.bench);
}

static int is_filled(const void *ptr, uint64_t bytes, uint64_t pattern)
{
    uint64_t bad_offset;
    return sim_verify(self.bench.machine, 0, ptr, bytes, pattern, &bad_offset);
}

static void *painted(uint64_t bytes, gpuarena_stream stream)
{
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, bytes, stream), ==, GPUARENA_OK);
    sim_fill(self.bench.machine, 0, ptr, bytes, 7);
    return ptr;
}

static gpuarena_state state_of(const void *ptr)
{
    gpuarena_block block = GPUARENA_INIT;
    CHECK_INT(gpuarena_lookup(self.arena, ptr, &block), ==, GPUARENA_OK);
    return block.state;
}

static void fail_clears(int lasting, int code)
{
    sim_fail_call(self.bench.machine, SIM_CALL_MEMSET_ASYNC, 1, lasting, code);
}

static void heal(void) { sim_fail_call(self.bench.machine, SIM_CALL_MEMSET_ASYNC, 0, 0, 0); }

static void test_refused(void)
{
    gpuarena_failure failure;
    char text[100];
    uint64_t set = 0;
    begin("scrub=both,backing=segments");
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_get_config(self.arena, &config);
    CHECK_INT(config.scrub, ==, GPUARENA_SCRUB_BOTH);
    CHECK_INT(gpuarena_capture_begin(self.arena, self.streams[0], &set), ==, GPUARENA_NOT_SUPPORTED);
    end("captures are refused");
    memset(&config, 0, sizeof config);
    CHECK_INT(gpuarena_config_parse("scrub=alloc", &config, NULL, 0), ==, GPUARENA_OK);
    gpuarena_config_text(&config, text, sizeof text);
    CHECK_STR(text, "scrub=alloc");
    memset(&self, 0, sizeof self);
    self.bench = bench_open_sized(GIB(1), NULL);
    memset(&config, 0, sizeof config);
    config.driver = &self.bench.driver;
    config.scrub = (gpuarena_scrub)4;
    CHECK_INT(gpuarena_create(&config, &self.arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_STR(failure.detail, "scrub: expected off, free, alloc, both");
    self.bench.driver.clear = NULL;
    CHECK_INT(create("scrub=free"), ==, GPUARENA_NOT_SUPPORTED);
    gpuarena_last_failure(NULL, &failure);
    CHECK_STR(failure.detail, "scrub: the driver has no entry `clear`");
    bench_close(&self.bench);
}

static void test_free_that_fails(const char *keys)
{
    gpuarena_failure failure;
    gpuarena_stats before, after;
    begin(keys);
    char *ptr = painted(KIB(64), self.streams[0]), *other = painted(KIB(64), self.streams[0]);
    gpuarena_get_stats(self.arena, &before);
    fail_clears(1, CUDA_UNKNOWN);
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[0]), ==, GPUARENA_DRIVER_ERROR);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_MSG(failure.block.ptr == ptr && failure.driver_code == CUDA_UNKNOWN, "the failure names block and code");
    CHECK_INT(state_of(ptr), ==, GPUARENA_STATE_LIVE);
    CHECK_INT(gpuarena_free(self.arena, ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_free_since(self.arena, 0, 0, GPUARENA_OWN_STREAM), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_resize(self.arena, ptr, KIB(4), self.streams[0]), ==, GPUARENA_DRIVER_ERROR);
    gpuarena_get_stats(self.arena, &after);
    CHECK_MSG(after.live_bytes == before.live_bytes && after.live_count == 2 && after.free_count == before.free_count,
              "nothing is freed, nothing lost");
    fail_clears(0, CUDA_UNKNOWN);
    CHECK_INT(gpuarena_reset(self.arena, self.streams[0]), ==, GPUARENA_DRIVER_ERROR);
    CHECK_MSG((state_of(ptr) == GPUARENA_STATE_LIVE) != (state_of(other) == GPUARENA_STATE_LIVE),
              "a reset frees all but what could not be cleared");
    heal();
    CHECK_INT(gpuarena_reset(self.arena, self.streams[0]), ==, GPUARENA_OK);
    CHECK_MSG(is_filled(ptr, KIB(64), 0) && is_filled(other, KIB(64), 0), "then it is cleared, and free");
    end(keys);
}

static void test_alloc_that_fails(const char *keys)
{
    void *ptr = &self, *kept;
    gpuarena_stats stats;
    begin(keys);
    kept = painted(KIB(64), self.streams[0]);
    fail_clears(1, CUDA_UNKNOWN);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, KIB(64), self.streams[0]), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, KIB(64), GPUARENA_ANY_STREAM), ==, GPUARENA_DRIVER_ERROR);
    CHECK_MSG(ptr == &self, "a failed allocation writes nothing");
    gpuarena_get_stats(self.arena, &stats);
    CHECK_MSG(stats.live_count == 1 && stats.alloc_count == 3 && stats.free_count == 2,
              "it counts as one, and its free");
    heal();
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, KIB(64), self.streams[1]), ==, GPUARENA_OK);
    CHECK_MSG(is_filled(ptr, KIB(64), 0) && is_filled(kept, KIB(64), 7), "cleared, and nothing else");
    sim_fill(self.bench.machine, 0, ptr, KIB(64), 7);
    fail_clears(1, CUDA_UNKNOWN);
    CHECK_INT(gpuarena_resize(self.arena, ptr, KIB(96), self.streams[1]), ==, GPUARENA_DRIVER_ERROR);
    heal();
    gpuarena_get_stats(self.arena, &stats);
    CHECK_U64(stats.live_bytes, ==, KIB(128));
    CHECK_INT(gpuarena_resize(self.arena, ptr, KIB(96), self.streams[1]), ==, GPUARENA_OK);
    CHECK_MSG(is_filled(ptr, KIB(64), 7) && is_filled(bench_at(ptr, KIB(64)), KIB(32), 0),
              "what a resize takes is cleared");
    end(keys);
}

/* Whatever tables are full: to take back what a block has grown by needs no host memory. */
static void test_growth_that_fails(const char *keys)
{
    gpuarena_block before, after;
    void *ptr = NULL;
    int bad = 0;
    begin(keys);
    for (int count = 1; count <= 600; count++) {
        bad += !(gpuarena_alloc(self.arena, &ptr, KIB(1), self.streams[count % 2]) == GPUARENA_OK);
        bad += !(gpuarena_lookup(self.arena, ptr, &before) == GPUARENA_OK);
        fail_clears(1, CUDA_UNKNOWN);
        host_is_full = 1;
        for (int stream = 0; stream < 2; stream++)           /* its own, and another: then the device is waited for */
            bad += !(gpuarena_resize(self.arena, ptr, KIB(2), self.streams[stream]) != GPUARENA_OK);
        host_is_full = 0;
        heal();
        bad += !(gpuarena_lookup(self.arena, ptr, &after) == GPUARENA_OK
                      && before.bytes == after.bytes && before.requested_bytes == after.requested_bytes);
        bad += !(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK);
    }
    CHECK_MSG(!bad, "%s: a block that could not be cleared is no longer than it was", keys);
    end(keys);
}

static void test_shrink(void)
{
    begin("scrub=free");
    void *ptr = painted(MIB(4), self.streams[0]);
    CHECK_INT(gpuarena_resize(self.arena, ptr, MIB(1), self.streams[0]), ==, GPUARENA_OK);
    CHECK_MSG(is_filled(ptr, MIB(1), 7) && is_filled(bench_at(ptr, MIB(1)), MIB(3), 0),
              "what a resize frees is cleared");
    end("shrink");
}

/* A resize for another stream clears there; who is served next, behind the block's own stream, must not meet it. */
static void test_grown_elsewhere(const char *keys)
{
    void *ptr = NULL, *next = NULL;
    begin(keys);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, KIB(64), self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(sim_work(self.bench.machine, 0, self.streams[1], 10000000), ==, 0);
    CHECK_INT(gpuarena_resize(self.arena, ptr, KIB(128), self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &next, KIB(128), self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(sim_access(self.bench.machine, 0, self.streams[0], next, KIB(128), 1, 0), ==, 0);
    CHECK_MSG(next == ptr && is_filled(next, KIB(128), 0), "%s: what it took is cleared", keys);
    end(keys);
}

/* Whatever the memory is of. */
static void test_kind(const char *keys)
{
    begin(keys);
    void *ptr = painted(KIB(64), self.streams[0]), *again;
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &again, KIB(64), self.streams[0]), ==, GPUARENA_OK);
    CHECK_MSG(again == ptr && is_filled(again, KIB(64), 0), "%s: the same memory, cleared", keys);
    end(keys);
}

/* Memory that a graph would clear again with each launch is not freed there. */
static void test_captured(void)
{
    void *graph = NULL, *fresh = NULL;
    begin("scrub=both,backing=segments");
    void *ptr = painted(KIB(64), self.streams[0]), *other = painted(KIB(64), self.streams[1]);
    CHECK_INT(sim_capture_begin(self.bench.machine, 0, self.streams[0], 2), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[0]), ==, GPUARENA_CAPTURE);
    CHECK_INT(gpuarena_alloc(self.arena, &fresh, KIB(64), self.streams[0]), ==, GPUARENA_CAPTURE);
    CHECK_INT(gpuarena_alloc(self.arena, &fresh, KIB(64), GPUARENA_ANY_STREAM), ==, GPUARENA_CAPTURE);
    CHECK_INT(gpuarena_free(self.arena, other, NULL), ==, GPUARENA_CAPTURE);
    CHECK_INT(gpuarena_free(self.arena, other, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_end(self.bench.machine, 0, self.streams[0], &graph), ==, 0);
    CHECK_MSG(is_filled(other, KIB(64), 0) && is_filled(ptr, KIB(64), 7), "the capture goes on, others' frees too");
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[0]), ==, GPUARENA_OK);
    CHECK_MSG(is_filled(ptr, KIB(64), 0), "afterwards it is cleared");
    CHECK_INT(sim_graph_destroy(self.bench.machine, graph), ==, 0);
    end("captured");
}

/* The stream is gone: the host waits, before and after. */
static void test_forgotten(void)
{
    gpuarena_stats before, after;
    begin("scrub=free");
    void *ptr = painted(KIB(64), self.streams[1]), *used = painted(KIB(64), self.streams[0]);
    CHECK_INT(sim_access(self.bench.machine, 0, self.streams[1], ptr, KIB(64), 1, 0), ==, 0);
    CHECK_INT(gpuarena_use(self.arena, used, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_work(self.bench.machine, 0, self.streams[1], 1000000), ==, 0);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_destroy(self.bench.machine, 0, self.streams[1]), ==, 0);
    gpuarena_get_stats(self.arena, &before);
    CHECK_INT(gpuarena_free(self.arena, ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    gpuarena_get_stats(self.arena, &after);
    CHECK_U64(after.gpu_wait_count - before.gpu_wait_count, ==, 2);
    CHECK_INT(state_of(ptr), ==, GPUARENA_STATE_FREE);
    CHECK_INT(gpuarena_free(self.arena, used, self.streams[0]), ==, GPUARENA_OK);
    CHECK_MSG(is_filled(ptr, KIB(64), 0) && is_filled(used, KIB(64), 0), "cleared all the same");
    end("forgotten");
}

static void test_lost(void)
{
    begin("scrub=free,backing=segments");
    void *ptr = painted(KIB(64), self.streams[0]), *other = painted(KIB(64), self.streams[0]);
    fail_clears(0, CUDA_ILLEGAL_ADDRESS);
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, other, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, KIB(64), self.streams[0]), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_destroy(self.arena), ==, GPUARENA_OK);
    bench_close(&self.bench);
}

int main(void)
{
    test_refused();
    test_free_that_fails("scrub=free,backing=segments");
    test_free_that_fails("scrub=free,backing=paged");
    test_alloc_that_fails("scrub=alloc,backing=segments");
    test_alloc_that_fails("scrub=alloc,backing=paged");
    test_growth_that_fails("scrub=alloc,backing=segments");
    test_growth_that_fails("scrub=alloc,backing=paged");
    test_shrink();
    test_grown_elsewhere("scrub=alloc,backing=segments");
    test_grown_elsewhere("scrub=both,backing=paged");
    test_kind("scrub=free,backing=async");
    test_kind("scrub=both,backing=segments");
    test_captured();
    test_forgotten();
    test_lost();
    return tap_done();
}

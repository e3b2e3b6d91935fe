/* What a refused call leaves behind, what it says, and that gpuarena_can_alloc foresees it: reserve beside pending
   memory, scrub under capture, headroom, a limit above, alignments that a segment does not have, GPUARENA_ALLOC_TRY.
   It must not know the implementation: the contracts, and what the devices count. */
#include "sim_device.h"
#include "arena_state.h"

static sim_bench bench;
static fake_device device;

static gpuarena *open_with(const gpuarena_driver *driver, const char *text, gpuarena *parent, const char *name)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    config.environment = "";
    if (!parent) config.driver = driver;
    config.parent = parent;
    config.oversubscribe = parent != NULL;
    snprintf(config.name, sizeof config.name, "%s", name);
    CHECK_MSG(gpuarena_config_parse(text, &config, NULL, 0) == GPUARENA_OK
              && gpuarena_create(&config, &arena) == GPUARENA_OK, "%s", text);
    return arena;
}

static gpuarena *open_sim(uint64_t capacity_bytes, const char *text)
{
    bench = bench_open_sized(capacity_bytes, NULL);
    return open_with(&bench.driver, text, NULL, "arena");
}

/* The fake device's segments start at the next granule, or at `past` bytes behind it. */
static gpuarena *open_fake(const char *text, uint64_t past)
{
    fake_open(&device, GIB(1));
    device.base_address += past;
    gpuarena_config config = fake_config(&device);
    return open_with(config.driver, text, NULL, "arena");
}

static gpuarena_stats stats_of(const gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    return stats;
}

static gpuarena_failure last(const gpuarena *arena)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    return failure;
}

static void close_all(gpuarena *arena)
{
    char message[128];
    CHECK_MSG(gpuarena_check(arena, message, sizeof message) == GPUARENA_OK, "the books: %s", message);
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

static void close_sim(gpuarena *arena)
{
    close_all(arena);
    bench_close(&bench);
}

static gpuarena_request wanted(uint64_t bytes, uint64_t alignment, uint32_t flags, gpuarena_stream stream)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.alignment_bytes = alignment;
    request.flags = flags;
    request.stream = stream;
    return request;
}

/* What can_alloc says, and that alloc_ex says the same. */
static gpuarena_result foreseen(gpuarena *arena, const gpuarena_request *request)
{
    void *ptr = NULL;
    gpuarena_result can = gpuarena_can_alloc(arena, request), result = gpuarena_alloc_ex(arena, &ptr, request);
    CHECK_STR(gpuarena_result_name(can), gpuarena_result_name(result));
    return result;
}

/* ---- what stays */

/* The new pages become one with what a stream freed: they go back all the same. */
static void test_reserve(void)
{
    gpuarena *arena = open_sim(MIB(20), "backing=paged");
    gpuarena_stream stream;
    void *ptr = NULL;
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &stream), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 300000, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 12800, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(arena, ptr, 6304256, stream), ==, GPUARENA_OK);
    uint64_t before = stats_of(arena).reserved_bytes;
    CHECK_INT(gpuarena_reserve(arena, MIB(22)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(stats_of(arena).reserved_bytes, ==, before);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, before);
    close_sim(arena);
}

/* What is for a captured stream cannot be cleared: that is known before anything grows for it. */
static void test_scrub_captured(const char *text, int any)
{
    gpuarena *arena = open_sim(GIB(1), text);
    gpuarena_stream stream;
    void *ptr = NULL, *graph = NULL;
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &stream), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), stream), ==, GPUARENA_OK);
    gpuarena_stats before = stats_of(arena);
    CHECK_INT(sim_capture_begin(bench.machine, 0, stream, 2), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(8), any ? GPUARENA_ANY_STREAM : stream), ==, GPUARENA_CAPTURE);
    gpuarena_stats after = stats_of(arena);
    CHECK_U64(after.reserved_bytes, ==, before.reserved_bytes);
    CHECK_U64(after.alloc_count, ==, before.alloc_count);
    CHECK_INT(sim_capture_end(bench.machine, 0, stream, &graph), ==, SIM_SUCCESS);
    CHECK_INT(sim_graph_destroy(bench.machine, graph), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(8), any ? GPUARENA_ANY_STREAM : stream), ==, GPUARENA_OK);
    close_sim(arena);
}

/* An idle segment waits for a stream: it is waited for, and not given back for a page that it does not make. */
static void test_idle_segment(void)
{
    gpuarena *arena = open_sim(GIB(1), "backing=paged,page=4M,streams=same");
    gpuarena_stream one, other;
    gpuarena_request request = wanted(MIB(2), 0, GPUARENA_ALLOC_DEDICATED, NULL);
    void *own = NULL, *ptr = NULL;
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &one), ==, SIM_SUCCESS);
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &other), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(4), other), ==, GPUARENA_OK);
    request.stream = one;
    CHECK_INT(gpuarena_alloc_ex(arena, &own, &request), ==, GPUARENA_OK);
    sim_rival(bench.machine, 0, bench_free_bytes(&bench.driver), 0);
    CHECK_INT(sim_work(bench.machine, 0, one, 1000000), ==, SIM_SUCCESS);
    sim_fail_call(bench.machine, SIM_CALL_GIVE_BACK, 1, 0, SIM_UNKNOWN);
    CHECK_INT(gpuarena_free(arena, own, one), ==, GPUARENA_OK);
    CHECK_U64(stats_of(arena).driver_error_count, ==, 1);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), other), ==, GPUARENA_OK);
    CHECK_MSG(ptr == own, "in the segment that was idle");
    close_sim(arena);
}

/* The place that lacks fewest pages has the only idle one inside, which cannot move to it: another place has it. */
static void test_idle_inside(void)
{
    gpuarena *arena = open_sim(MIB(154), "backing=paged,limit=139M");
    gpuarena_request request = wanted(MIB(6), KIB(8), 0, NULL);
    void *at[9];
    CHECK_INT(gpuarena_alloc(arena, &at[1], 458, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &at[2], MIB(5), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &at[3], KIB(4), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &at[4], 1043968, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, at[3], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, at[1], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &at[5], 45042, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(6)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, at[2], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &at[6], 751591, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(10)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc_ex(arena, &at[7], &request), ==, GPUARENA_OK);
    request = wanted(45420, KIB(256), 0, NULL);
    CHECK_INT(gpuarena_alloc_ex(arena, &at[8], &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(6)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, at[5], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, at[7], NULL), ==, GPUARENA_OK);
    CHECK_U64(stats_of(arena).reserved_bytes, ==, MIB(6));
    request = wanted(3238486, 0, 0, NULL);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OK);
    CHECK_U64(stats_of(arena).remapped_page_count, >, 0);
    close_sim(arena);
}

/* ---- what is said */

/* The headroom is in the way, and nothing waits for a stream. */
static void test_headroom(void)
{
    gpuarena *arena = open_sim(MIB(10), "backing=paged,headroom=8M");
    void *blocks[4], *ptr = NULL;
    for (int at = 0; at < 4; at++)
        CHECK_INT(gpuarena_alloc(arena, &blocks[at], KIB(512), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, blocks[1], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, blocks[3], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, KIB(768), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_STR(gpuarena_reason_name(last(arena).reason), "fragmented");
    CHECK_U64(last(arena).missing_bytes, ==, KIB(256));
    close_sim(arena);
}

/* An aligned request that the limit above leaves no room to be sure of: that limit is told, by how much it is too
   low, and that much more of it serves. */
static void test_over_parent(void)
{
    gpuarena *top = open_fake("backing=segments,limit=106M", MIB(2)),
             *arena = open_with(NULL, "backing=segments,growth=exact", top, "under");
    gpuarena_request request = wanted(MIB(42), MIB(64), 0, NULL);
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(top, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_STR(gpuarena_reason_name(last(arena).reason), "over_parent");
    CHECK_STR(last(arena).detail, "arena");
    CHECK_U64(last(arena).missing_bytes, ==, MIB(2));
    CHECK_INT(gpuarena_set_limit(top, MIB(108)), ==, GPUARENA_OK);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OK);
    close_all(arena);
    close_all(top);
    CHECK_U64(device.held_bytes, ==, 0);
}

/* Above a lowered limit, a request that no free block serves: the limit must have room for its segment, too. */
static void test_missing_own(void)
{
    gpuarena *arena = open_fake("backing=segments,growth=step,step=8M", 0);
    gpuarena_request request = wanted(MIB(4), 0, GPUARENA_ALLOC_DEDICATED, NULL);
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);   /* 7 MiB of it stay free */
    CHECK_INT(gpuarena_set_limit(arena, 0), ==, GPUARENA_OK);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_STR(gpuarena_reason_name(last(arena).reason), "over_limit");
    CHECK_U64(last(arena).missing_bytes, ==, MIB(12));
    CHECK_INT(gpuarena_set_limit(arena, MIB(12) - 1), ==, GPUARENA_OK);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_STR(gpuarena_reason_name(last(arena).reason), "over_limit");       /* and not fragmented */
    CHECK_U64(last(arena).missing_bytes, ==, 1);
    CHECK_INT(gpuarena_set_limit(arena, MIB(12)), ==, GPUARENA_OK);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OK);
    close_all(arena);
}

/* A block that begins its segment is as aligned as that: no limit and no driver stands in the way, and can_alloc
   promises nothing. At the arena's own alignment it does. */
static void test_alignment(const char *text, uint32_t flags)
{
    gpuarena *arena = open_fake(text, 256);
    gpuarena_request request = wanted(MIB(6), KIB(4), flags, NULL);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_STR(gpuarena_reason_name(last(arena).reason), "alignment");
    CHECK_U64(last(arena).missing_bytes, ==, 0);
    CHECK_U64(device.held_bytes, ==, 0);
    request.alignment_bytes = 256;
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OK);
    close_all(arena);
}

/* What is no block is not live, in a struct that was cleared, and in what an observer is told of a limit. */
static gpuarena_block limit_block;

static void limit_told(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena, (void)user;
    if (action->kind == GPUARENA_ACTION_LIMIT) limit_block = action->block;
}

static void test_no_block(void)
{
    gpuarena *arena = open_fake("backing=segments", 0);
    gpuarena_block cleared = GPUARENA_INIT;
    CHECK_INT(cleared.state, ==, GPUARENA_STATE_NONE);
    CHECK_INT(gpuarena_observe(arena, limit_told, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(64)), ==, GPUARENA_OK);
    CHECK_U64(limit_block.bytes, ==, MIB(64));
    CHECK_INT(limit_block.state, ==, GPUARENA_STATE_NONE);
    CHECK_INT(gpuarena_free(arena, &device, NULL), ==, GPUARENA_FOREIGN_POINTER);
    CHECK_INT(last(arena).block.state, ==, GPUARENA_STATE_NONE);
    close_all(arena);
}

/* ---- what is foreseen */

/* What a forgotten stream freed may be done, but TRY asks no event, though the stream is new. */
static void test_try(void)
{
    gpuarena *arena = open_sim(GIB(1), "backing=paged,limit=2M");
    gpuarena_stream stream;
    void *ptr = NULL;
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &stream), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_forget(arena, stream), ==, GPUARENA_OK);
    CHECK_INT(sim_device_wait(bench.machine, 0), ==, SIM_SUCCESS);
    uint64_t calls = bench_counters(&bench).calls[SIM_CALL_EVENT_QUERY];
    gpuarena_request request = wanted(31823, 0, GPUARENA_ALLOC_TRY, stream);
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_STR(gpuarena_reason_name(last(arena).reason), "try_only");
    CHECK_U64(bench_counters(&bench).calls[SIM_CALL_EVENT_QUERY], ==, calls);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 31823, stream), ==, GPUARENA_OK);  /* without TRY it is asked */
    CHECK_INT(foreseen(arena, &request), ==, GPUARENA_OK);                   /* its own */
    close_sim(arena);
}

int main(void)
{
    test_reserve();
    for (int any = 0; any < 2; any++) {
        test_scrub_captured("backing=paged,scrub=alloc", any);
        test_scrub_captured("backing=segments,scrub=both", any);
    }
    test_idle_segment();
    test_idle_inside();
    test_headroom();
    test_over_parent();
    test_missing_own();
    test_alignment("backing=segments,growth=exact", GPUARENA_ALLOC_DEDICATED);
    test_no_block();
    test_try();
    return tap_done();
}

/* Streams, captures, segments of a block's own and resets beside other threads, in many orders: memory that another
   stream's work uses is not handed out, waiting for it leaves others alone, sums hold.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

static void *pool[4];

static void tight(gpuarena_config *config)
{
    config->limit_bytes = MIB(4);
}

static void tight_events(gpuarena_config *config)
{
    config->limit_bytes = MIB(4);
    config->streams = GPUARENA_STREAMS_EVENTS;
}

static void per_thread(gpuarena_config *config)
{
    config->limit_bytes = MIB(4);
    device.table.per_thread = slot_stream(3);
}

/* All memory is freed, and stream 1 still works on it. */
static void have_pending(void)
{
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(MIB(1), 1);
    slot_work(&device, 1, 10 * SLOT_MS);
    for (int at = 0; at < 4; at++) WANT(world_free(pool[at], 1) == GPUARENA_OK);
}

/* What this stream gets is done with, or waited for. */
static void take_from(int stream, uint64_t bytes)
{
    uint64_t busy = device.busy_until_ns[1];
    void *ptr;
    if (world_try(&ptr, bytes, stream)) return;
    if (stream != 1) WANT(device.clock_ns >= busy || device.busy_until_ns[stream] >= busy);
    WANT(world_free(ptr, stream) == GPUARENA_OK);
}

static void take_on_second(void)
{
    take_from(2, MIB(2));
    take_from(2, MIB(1));
}

static void take_on_third(void) { take_from(3, MIB(1)); }
static void take_on_first(void) { take_from(1, MIB(1)); }

static void forget_first(void)
{
    WANT(gpuarena_forget(world.arena, slot_stream(1)) == GPUARENA_OK);
}

/* Each thread's own default stream: what it frees there is its own, until its event is done. */
static void use_own_stream(void)
{
    for (int round = 0; round < 2; round++) {
        void *ptr;
        if (world_try(&ptr, MIB(1), 3)) continue;
        WANT(gpuarena_use(world.arena, ptr, slot_stream(1)) == GPUARENA_OK);
        WANT(world_free(ptr, 3) == GPUARENA_OK);
    }
}

static void capture(void)
{
    uint64_t set = 0;
    void *one = NULL, *two = NULL;
    WANT(gpuarena_capture_begin(world.arena, slot_stream(2), &set) == GPUARENA_OK);
    (void)world_try(&one, KIB(512), 2);
    (void)world_try(&two, KIB(256), 2);
    if (one) WANT(world_free(one, 2) == GPUARENA_OK);
    WANT(gpuarena_capture_end(world.arena, slot_stream(2)) == GPUARENA_OK);
    WANT(gpuarena_capture_release(world.arena, set, slot_stream(2)) == GPUARENA_OK);
    if (two) WANT(world_free(two, 2) == GPUARENA_OK);
}

static void trim(void)
{
    gpuarena_result result = gpuarena_trim(world.arena, 0, NULL);
    WANT(result == GPUARENA_OK || result == GPUARENA_CAPTURE);
}

static void take_own(void)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    request.bytes = MIB(2);
    request.stream = slot_stream(2);
    request.flags = GPUARENA_ALLOC_DEDICATED;
    if (gpuarena_alloc_ex(world.arena, &ptr, &request)) return;
    world.alloc_count++;
    world_claim(ptr, MIB(2));
    WANT(world_free(ptr, 2) == GPUARENA_OK);
}

static void warm(void)
{
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(KIB(256), 1);
}

/* Frees whatever is live then. */
static void reset(void)
{
    for (int at = 0; at < 4; at++) (void)world_disclaim(pool[at]);
    WANT(gpuarena_reset(world.arena, slot_stream(1)) == GPUARENA_OK);
}

static void keep_one(void)
{
    (void)world_alloc(KIB(512), 2);
}

static void judge_reset(void)
{
    gpuarena_stats stats;
    gpuarena_block block;
    gpuarena_get_stats(world.arena, &stats);
    WANT(stats.live_count <= 1 && stats.free_count >= 4);
    world.free_count = stats.free_count;
    for (int at = 0; at < WORLD_BLOCKS; at++)
        if (world.blocks[at].ptr && (gpuarena_lookup(world.arena, world.blocks[at].ptr, &block) != GPUARENA_OK
                                     || block.state != GPUARENA_STATE_LIVE)) world.blocks[at].ptr = NULL;
}

static void resize_both_ways(void)
{
    uint64_t has_bytes = KIB(256);
    for (uint64_t bytes = KIB(1024); bytes >= KIB(64); bytes /= 2) {
        gpuarena_result result;
        (void)world_disclaim(pool[3]);           /* another may have its tail before this call is back */
        result = gpuarena_resize(world.arena, pool[3], bytes, slot_stream(1));
        WANT(result == GPUARENA_OK || result == GPUARENA_OUT_OF_MEMORY);
        if (result == GPUARENA_OK) has_bytes = bytes;
        world_claim(pool[3], has_bytes);
    }
}

static const scenario scenarios[] = {
    { "what another stream uses", tight, have_pending, { take_on_second, take_on_first, take_on_third }, NULL, 0 },
    { "the same by events", tight_events, have_pending, { take_on_second, take_on_first, take_on_third }, NULL, 0 },
    { "a stream that is forgotten", tight, have_pending, { take_on_second, forget_first, take_on_third }, NULL, 0 },
    { "streams of threads that end", per_thread, NULL, { use_own_stream, use_own_stream, take_on_first }, NULL, 0 },
    { "a capture", NULL, warm, { capture, trim, take_on_first }, NULL, 0 },
    { "segments of their own", tight, NULL, { take_own, take_own, take_on_second }, NULL, 0 },
    { "resize", NULL, warm, { resize_both_ways, take_on_second, take_on_first }, NULL, 0 },
    { "reset", NULL, warm, { reset, keep_one, trim }, judge_reset, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}

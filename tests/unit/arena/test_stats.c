/* Statistics: the sums after every call, peaks, counters against the device's own, largest free exact, get_device. */
#include "stress/base/splitmix64.h"
#include "arena_state.h"

static fake_device device;

static uint64_t random_state = 1;

static uint64_t random_next(void) { return splitmix64_next(&random_state); }

static void test_fresh(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena_stats stats;
    gpuarena *arena = state_arena(&config);
    gpuarena_walk_stats(arena, &stats);
    uint64_t sum = 0;
#define X(field) sum |= stats.field;
    GPUARENA_STATS(X)
#undef X
    CHECK_U64(stats.limit_bytes, ==, GPUARENA_NO_LIMIT);
    CHECK_MSG(stats.host_bytes > 0 && stats.host_bytes < KIB(128), "a new arena: %" PRIu64 " host bytes",
              stats.host_bytes);
    stats.limit_bytes = stats.host_bytes = sum = 0;
#define X(field) sum |= stats.field;
    GPUARENA_STATS(X)
#undef X
    CHECK_U64(sum, ==, 0);
    state_end(arena, &device, "fresh");
}

static void test_peaks(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    void *first = state_alloc(arena, MIB(100)), *second = state_alloc(arena, MIB(50) - 1);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.requested_peak_bytes, ==, MIB(150) - 1);
    CHECK_U64(stats.live_peak_bytes, ==, MIB(150));
    CHECK_U64(stats.reserved_peak_bytes, ==, MIB(150));
    CHECK_U64(stats.slack_bytes, ==, 1);
    CHECK_U64(stats.live_bytes, ==, MIB(50));
    gpuarena_reset_peaks(arena);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.requested_peak_bytes, ==, MIB(50) - 1);
    CHECK_U64(stats.live_peak_bytes, ==, MIB(50));
    CHECK_U64(stats.reserved_peak_bytes, ==, MIB(50));
    CHECK_INT(gpuarena_free(arena, second, NULL), ==, GPUARENA_OK);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.live_peak_bytes, ==, MIB(50));
    CHECK_MSG(stats.live_bytes == 0 && stats.requested_bytes == 0 && stats.slack_bytes == 0
              && stats.cached_bytes == MIB(50) && stats.largest_free_bytes == MIB(50), "all freed: all cached");
    state_end(arena, &device, "peaks");
}

static void test_counters(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, 0, NULL), ==, GPUARENA_OK);
    void *first = state_alloc(arena, MIB(2)), *second = state_alloc(arena, MIB(4));
    CHECK_INT(gpuarena_free(arena, NULL, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_alloc(arena, &ptr, GIB(2), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_alloc(arena, NULL, 1, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.alloc_count, ==, 2);
    CHECK_U64(stats.free_count, ==, 1);
    CHECK_U64(stats.live_count, ==, 1);
    CHECK_U64(stats.fail_count, ==, 1);
    CHECK_U64(stats.misuse_count, ==, 2);
    CHECK_U64(stats.grow_count - stats.release_count, ==, device.range_count);
    CHECK_U64(stats.driver_call_count, ==, device.calls[FAKE_OBTAIN] + device.calls[FAKE_GIVE_BACK]);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, second, NULL), ==, GPUARENA_OK);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.grow_count - stats.release_count, ==, device.range_count);
    CHECK_U64(stats.driver_call_count, ==, device.calls[FAKE_OBTAIN] + device.calls[FAKE_GIVE_BACK]);
    CHECK_U64(stats.driver_error_count, ==, 0);
    state_end(arena, &device, "counters");
}

/* look_count: an aligned request that only the exhaustive look can serve (small blocks that start unaligned crowd its
   bins). */
static void test_look(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(64);
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    gpuarena_request request = GPUARENA_INIT;
    static void *blocks[64];
    void *ptr = NULL;
    for (int block = 0; block < 64; block++) blocks[block] = state_alloc(arena, MIB(1));
    for (int block = 1; block < 64; block += 2)
        if (gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK) CHECK_MSG(0, "free");
    request.bytes = MIB(1);
    request.alignment_bytes = MIB(1);
    int served = 0;
    for (int round = 0; round < 32; round++) served += gpuarena_alloc_ex(arena, &ptr, &request) == GPUARENA_OK;
    CHECK_INT(served, ==, 32);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.cached_bytes, ==, 0);
    CHECK_U64(stats.look_count, ==, 32);
    state_end(arena, &device, "look");
}

/* Over random states: largest_free_bytes can be had without growth, and one granule of alignment more cannot. */
static void test_largest(void)
{
    fake_open(&device, GIB(4));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    static void *blocks[256];
    const char *wrong = "";
    int failed = 0;
    memset(blocks, 0, sizeof blocks);
    for (int round = 0; round < 4000 && !wrong[0] && !failed; round++) {
        size_t slot = random_next() % 256;
        if (blocks[slot]) {
            failed += gpuarena_free(arena, blocks[slot], NULL) != GPUARENA_OK;
            blocks[slot] = NULL;
        } else {
            failed += gpuarena_alloc(arena, &blocks[slot], 1 + random_next() % (256u << random_next() % 14),
                                     NULL) != GPUARENA_OK;
        }
        wrong = state_audit(arena, &device);
        gpuarena_walk_stats(arena, &stats);
        gpuarena_request request = GPUARENA_INIT;
        void *ptr = NULL;
        request.flags = GPUARENA_ALLOC_TRY;
        request.bytes = stats.largest_free_bytes + 1;
        failed += gpuarena_can_alloc(arena, &request) != GPUARENA_OUT_OF_MEMORY;
        failed += gpuarena_alloc_ex(arena, &ptr, &request) != GPUARENA_OUT_OF_MEMORY;
        request.bytes = stats.largest_free_bytes;
        failed += gpuarena_can_alloc(arena, &request) != GPUARENA_OK;
        failed += gpuarena_alloc_ex(arena, &ptr, &request) != GPUARENA_OK || gpuarena_free(arena, ptr,
                                                                                           NULL) != GPUARENA_OK;
    }
    CHECK_STR(wrong, "");
    CHECK_MSG(failed == 0, "largest_free_bytes is exact after each of 4,000 random calls, and can_alloc agrees");
    state_end(arena, &device, "largest");
}

static void test_device(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    gpuarena_device figures, untouched;
    arena_state before;
    device.rival_bytes = MIB(100);
    state_alloc(arena, MIB(10));
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_OK);
    CHECK_U64(figures.total_bytes, ==, GIB(1));
    CHECK_U64(figures.free_bytes, ==, GIB(1) - MIB(100) - device.held_bytes);
    CHECK_INT(figures.other_bytes, ==, (int64_t)MIB(100));
    CHECK_MSG(figures.page_bytes == MIB(2) && figures.device == 3 && figures.paged == 0, "page, device, paged");
    static const struct { gpuarena_status status; gpuarena_result result; } faults[] = {
        { GPUARENA_STATUS_FAILED, GPUARENA_DRIVER_ERROR }, { GPUARENA_STATUS_LOST, GPUARENA_DEVICE_LOST } };
    for (size_t index = 0; index < 2; index++) {
        memset(&figures, 0x5A, sizeof figures);
        untouched = figures;
        state_take(arena, &device, &before);
        fake_fail(&device, FAKE_ON_INFO, 1, 1, faults[index].status);
        state_refused(arena, &device, &before, gpuarena_get_device(arena, &figures), faults[index].result,
                      "get_device");
        CHECK_MSG(memcmp(&figures, &untouched, sizeof figures) == 0, "get_device: the output is untouched");
    }
    device.lost = 0;
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_MSG(device.after_lost_count == 0 && device.host_bytes == 0, "lost: no call after it, host memory all back");
}

/* Nine free blocks of one size class, the only one that fits the last to come: beyond the eight that a hit
   looks at. */
static void test_look_in_own_bin(void)
{
    void *blocks[9];
    gpuarena_stats stats;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(2);
    gpuarena *arena = state_arena(&config);
    for (int block = 0; block < 9; block++) {
        blocks[block] = state_alloc(arena, block < 8 ? 65536 : 72704);
        state_alloc(arena, 256);
    }
    gpuarena_walk_stats(arena, &stats);
    state_alloc(arena, stats.largest_free_bytes);
    for (int block = 0; block < 9; block++) CHECK(gpuarena_free(arena, blocks[block], NULL) == GPUARENA_OK);
    gpuarena_walk_stats(arena, &stats);
    uint64_t before = stats.look_count;
    CHECK(state_alloc(arena, 71680) == blocks[8]);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.look_count, ==, before + 1);
    CHECK_U64(stats.grow_count, ==, 1);
    state_end(arena, &device, "look");
}

int main(void)
{
    test_fresh();
    test_peaks();
    test_counters();
    test_look();
    test_largest();
    test_device();
    test_look_in_own_bin();
    return tap_done();
}

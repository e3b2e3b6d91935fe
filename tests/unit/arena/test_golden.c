/* Golden numbers that other allocators publish: 1,023 sizes, 4,097 allocations in one region, the region wall. */
#include "arena_state.h"

static fake_device device;

/* TensorFlow's NoDups: sizes 1..1023 are distinct, do not overlap, and round to 654,336 bytes in all. */
static void test_no_dups(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    static void *blocks[1024];
    int apart = 1;
    for (uint64_t size = 1; size < 1024; size++) blocks[size] = state_alloc(arena, size);
    for (uint64_t left = 1; left < 1024; left++)
        for (uint64_t right = 1; right < left; right++) {
            uint64_t low = fake_address(blocks[left]), high = fake_address(blocks[right]);
            apart &= low < high ? low + left <= high : high + right <= low;
        }
    CHECK_MSG(apart, "1,023 blocks are distinct and do not overlap");
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.live_bytes, ==, 654336);
    CHECK_U64(stats.requested_bytes, ==, 1023 * 512);
    for (uint64_t size = 1; size < 1024; size++)
        if (gpuarena_free(arena, blocks[size], NULL) != GPUARENA_OK) CHECK_MSG(0, "free");
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.alloc_count, ==, 1023);
    CHECK_U64(stats.live_bytes, ==, 0);
    CHECK_U64(stats.live_peak_bytes, ==, 654336);
    CHECK_U64(stats.reserved_bytes, ==, MIB(2));
    CHECK_U64(stats.largest_free_bytes, ==, MIB(2));
    state_end(arena, &device, "NoDups");
}

/* TensorFlow's coalescing test: everything merges again each round. */
static void test_coalescing(void)
{
    static const uint64_t sizes[] = { KIB(4), MIB(8), KIB(16), MIB(40) };
    fake_open(&device, GIB(2));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = device.watch_bytes = GIB(1);
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    void *first = state_alloc(arena, KIB(4)), *blocks[4];
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    int failed = 0;
    for (int round = 0; round < 1024; round++) {
        for (int block = 0; block < 4; block++) failed += gpuarena_alloc(arena, &blocks[block], sizes[block],
                                                                         NULL) != 0;
        for (int block = 0; block < 4; block++) failed += gpuarena_free(arena, blocks[block], NULL) != 0;
    }
    CHECK_INT(failed, ==, 0);
    gpuarena_walk_stats(arena, &stats);
    CHECK_U64(stats.alloc_count, ==, 4097);
    CHECK_U64(stats.live_bytes, ==, 0);
    CHECK_U64(stats.live_peak_bytes, ==, 50352128);
    CHECK_U64(stats.largest_free_bytes, ==, GIB(1));
    CHECK_U64(stats.grow_count, ==, 1);
    CHECK_MSG(state_alloc(arena, KIB(4)) == first, "the next 4 KiB are at the very first address");
    state_end(arena, &device, "coalescing");
}

/* Regions double to the limit; with all but the last block free, no single region has what all of them have. */
static void test_region_wall(void)
{
    static const uint64_t regions_mib[] = { 4, 4, 8, 16, 32, 64, 128, 256 };
    fake_open(&device, GIB(2));
    gpuarena_config config = fake_config(&device);
    config.limit_bytes = device.watch_bytes = MIB(512);
    gpuarena *arena = state_arena(&config);
    gpuarena_failure failure;
    void *blocks[128], *ptr = NULL;
    for (int block = 0; block < 128; block++) blocks[block] = state_alloc(arena, MIB(4));
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 8);
    for (size_t region = 0; region < 8; region++) CHECK_U64(device.asked[region], ==, MIB(regions_mib[region]));
    for (int block = 0; block < 127; block++)
        if (gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK) CHECK_MSG(0, "free");
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(508), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "fragmented");
    CHECK_U64(failure.largest_free_bytes, ==, MIB(252));
    CHECK_U64(failure.cached_bytes, ==, MIB(508));
    CHECK_U64(failure.missing_bytes, ==, MIB(256));
    CHECK_MSG(state_alloc(arena, MIB(256)) != NULL, "256 MiB: idle regions are given back, and one is obtained");
    CHECK_U64(device.held_bytes, <=, MIB(512));
    state_end(arena, &device, "region wall");
}

int main(void)
{
    test_no_dups();
    test_coalescing();
    test_region_wall();
    return tap_done();
}

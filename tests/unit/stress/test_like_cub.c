/* The model cub against CUB's CachingDeviceAllocator: its rules in numbers.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   The library itself: test_like_cub_library.c */
#include "like.h"

static like_bench bench;

/* C1, CUB: bins of 512 B, 4 KiB, 32 KiB, 256 KiB and 2 MiB. */
static uint64_t cub_bin(uint64_t bytes)
{
    uint64_t bin = 512;
    while (bin < bytes) bin *= 8;
    return bin;
}

static void test_bins(void)
{
    static const uint64_t sizes[] = { 1, 512, 513, 4096, 4097, 32768, 32769, 262144, 262145, 2097151, 2097152 };
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        like_open(&bench, "cub", GIB(4));
        CHECK_INT(like_take(&bench, sizes[at]), ==, GPUARENA_OK);
        CHECK_MSG(like_use(&bench).live_bytes == cub_bin(sizes[at]), "%" PRIu64 " bytes take %" PRIu64, sizes[at],
                  cub_bin(sizes[at]));
        like_close(&bench, "a bin");
    }
    like_open(&bench, "cub", GIB(4));
    CHECK_INT(like_take(&bench, KIB(32) + 1), ==, GPUARENA_OK);
    CHECK_U64(like_use(&bench).live_bytes, ==, KIB(256));
    like_close(&bench, "32 KiB + 1");
}

/* C1, CUB: above the largest bin every call is one of the driver's. */
static void test_not_cached(void)
{
    like_open(&bench, "cub", GIB(4));
    for (int round = 0; round < 10; round++) {
        CHECK(like_take(&bench, MIB(2) + 1) == GPUARENA_OK && like_drop_from(&bench, 0));
        CHECK_U64(like_reserved(&bench), ==, 0);
    }
    CHECK_U64(bench.device.obtained, ==, 10);
    CHECK_U64(bench.device.given_back, ==, 10);
    for (int round = 0; round < 10; round++)
        CHECK(like_take(&bench, MIB(2)) == GPUARENA_OK && like_drop_from(&bench, 0));
    CHECK_U64(bench.device.obtained, ==, 11);
    like_close(&bench, "above the largest bin");
}

/* C1, CUB: 6 MiB - 1 stay cached, so of blocks of 2 MiB two. */
static void test_cap(void)
{
    like_open(&bench, "cub", GIB(4));
    CHECK(like_take_many(&bench, 8, MIB(2)));
    for (uint64_t freed = 1; freed <= 8; freed++) {
        CHECK(like_drop(&bench, bench.count - 1));
        CHECK_U64(like_use(&bench).free_bytes, ==, freed < 2 ? MIB(2) * freed : MIB(4));
    }
    like_close(&bench, "what stays cached");
}

/* C1, CUB: out of memory frees what is cached, and tries once more. */
static void test_retry(void)
{
    like_open(&bench, "cub", MIB(8));
    CHECK(like_take_many(&bench, 4, MIB(2)) && like_drop_from(&bench, 0));
    CHECK_U64(like_use(&bench).free_bytes, ==, MIB(4));
    CHECK_INT(like_take(&bench, MIB(8)), ==, GPUARENA_OK);
    CHECK_INT(like_take(&bench, MIB(8)), ==, GPUARENA_OUT_OF_MEMORY);
    like_close(&bench, "out of memory");
}

int main(void)
{
    test_bins();
    test_not_cached();
    test_cap();
    test_retry();
    return tap_done();
}

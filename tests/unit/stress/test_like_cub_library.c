/* The model cub and CUB's own CachingDeviceAllocator (cub-library), call by call: as much live, as much held.
   It must not know the rules of either: tests/cli/cases/models.case has them in numbers.
   Skipped where the library is not in this build */
#include "stress/base/splitmix64.h"
#include "stress/policy/policy.h"
#include "tap.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)

enum { CUB_OPS = 20000, CUB_LIVE = 300 };

typedef struct cub_pool {
    device  *on;
    pool     opened;
    void    *blocks[CUB_LIVE];
    uint64_t bytes[CUB_LIVE];                    /* 0: no block */
} cub_pool;

static policy chosen[2];
static cub_pool pools[2];                        /* the model, the library */
static problem why;

static int cub_open(const char *const *names)
{
    device_config config = { 0, 0, { 0, 0, 0, NULL, NULL, 0, 0 }, 2000, 1, 0 };
    config.sim.capacity_bytes = MIB(16384);
    for (int at = 0; at < 2; at++) {
        pools[at].on = NULL;
        if (policy_parse(names[at], 0, &chosen[at], &why)) return 0;
        pools[at].on = device_open(&config, &why);
        if (!pools[at].on || pool_open(&pools[at].opened, &chosen[at], pools[at].on, &why)) return 0;
    }
    return 1;
}

static void cub_close(void)
{
    for (int at = 0; at < 2; at++) {
        device_counters counters;
        pool_close(&pools[at].opened);
        device_count(pools[at].on, &counters);
        CHECK_MSG(counters.held_bytes == 0, "closing gives back live blocks, too");
        (void)device_close(pools[at].on, NULL);
    }
}

/* The same on both; 1: both did it. */
static int cub_do(size_t slot, uint64_t bytes)
{
    int done = 1;
    for (int at = 0; at < 2; at++) {
        cub_pool *self = &pools[at];
        gpuarena_result result;
        if (bytes) result = pool_alloc(&self->opened, &self->blocks[slot], bytes, NULL);
        else result = pool_free(&self->opened, self->blocks[slot], self->bytes[slot], NULL);
        self->bytes[slot] = bytes;
        done = done && result == GPUARENA_OK;
    }
    return done;
}

/* 1: as many bytes are live in bins on both, and held from the driver. */
static int cub_agree(void)
{
    memory_use use[2];
    gpuarena_stats ignored;
    for (int at = 0; at < 2; at++) pool_measure(&pools[at].opened, &use[at], &ignored);
    if (use[0].live_bytes == use[1].live_bytes && use[0].free_bytes == use[1].free_bytes
        && use[0].reserved_bytes == use[1].reserved_bytes) return 1;
    printf("#   live %" PRIu64 " and %" PRIu64 ", cached %" PRIu64 " and %" PRIu64 ", held %" PRIu64 " and %" PRIu64
           "\n", use[0].live_bytes, use[1].live_bytes, use[0].free_bytes, use[1].free_bytes, use[0].reserved_bytes,
           use[1].reserved_bytes);
    return 0;
}

/* Random operations of sizes from least to most. */
static int cub_follow(uint64_t least, uint64_t most)
{
    uint64_t state = 3;
    for (int op = 0; op < CUB_OPS; op++) {
        size_t slot = splitmix64_next(&state) % CUB_LIVE;
        uint64_t bytes = pools[0].bytes[slot], drawn = least + splitmix64_next(&state) % (most - least + 1);
        if (!cub_do(slot, bytes ? 0 : drawn) || !cub_agree()) {
            printf("#   operation %d, %s %" PRIu64 " bytes\n", op, bytes ? "free of" : "alloc",
                   bytes ? bytes : drawn);
            return 0;
        }
    }
    return 1;
}

static void test_library(void)
{
    static const char *const names[2] = { "cub", "cub-library" };
    static const struct { uint64_t least, most; } mixes[] = {
        { 1, 4096 }, { 1, KIB(256) }, { 1, MIB(4) }, { KIB(256) + 1, MIB(8) } };
    if (!rival_present()) {
        SKIP("cub-library is not in this build: it needs a C++17 compiler and the CUDA Toolkit");
        return;
    }
    for (size_t at = 0; at < sizeof mixes / sizeof mixes[0]; at++) {
        memset(pools, 0, sizeof pools);
        int opened = cub_open(names);
        CHECK_MSG(opened, "the model and the library, on a device each %s", opened ? "" : why.text);
        if (!opened) continue;
        CHECK_MSG(cub_follow(mixes[at].least, mixes[at].most), "%d operations from %" PRIu64 " to %" PRIu64
                  " bytes: as much live, cached and held, call by call", (int)CUB_OPS, mixes[at].least,
                  mixes[at].most);
        cub_close();
    }
}

int main(void)
{
    test_library();
    return tap_done();
}

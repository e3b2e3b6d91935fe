/* Limits: exact to the granule, reachable in full, lowered and raised, shares, headroom, sizes near 2^64. */
#include "arena_state.h"

static fake_device device;

static gpuarena *open_limited(uint64_t total_bytes, uint64_t limit_bytes, gpuarena_growth growth)
{
    fake_open(&device, total_bytes);
    gpuarena_config config = fake_config(&device);
    config.limit_bytes = limit_bytes;
    config.growth = growth;
    device.watch_bytes = limit_bytes ? limit_bytes : UINT64_MAX;
    return state_arena(&config);
}

static gpuarena_reason reason_of(gpuarena *arena)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    return failure.reason;
}

/* A limit of n granules and -1, 0, +1 bytes holds exactly as many granules as fit in it. */
static void test_exact(void)
{
    static const gpuarena_growth growths[] = { GPUARENA_GROWTH_AUTO, GPUARENA_GROWTH_EXACT, GPUARENA_GROWTH_STEP,
                                               GPUARENA_GROWTH_DOUBLE, GPUARENA_GROWTH_FIXED };
    int wrong = 0, tried = 0;
    for (size_t growth = 0; growth < 5; growth++)
        for (uint64_t granules = 2; granules < 40; granules += 5)
            for (uint64_t extra = 0; extra < 3; extra++) {
                uint64_t limit = granules * MIB(2) + extra - 1, room = limit / MIB(2) * MIB(2);
                gpuarena *arena = open_limited(GIB(4), limit, growths[growth]);
                void *ptr = NULL;
                wrong += gpuarena_alloc(arena, &ptr, room + 1, NULL) != GPUARENA_OUT_OF_MEMORY;
                wrong += reason_of(arena) != GPUARENA_REASON_OVER_LIMIT || ptr != NULL;
                wrong += gpuarena_alloc(arena, &ptr, room, NULL) != GPUARENA_OK || device.held_bytes != room;
                wrong += gpuarena_free(arena, ptr, NULL) != GPUARENA_OK;
                wrong += gpuarena_alloc(arena, &ptr, room - MIB(2), NULL) != GPUARENA_OK;
                wrong += gpuarena_free(arena, ptr, NULL) != GPUARENA_OK;
                wrong += gpuarena_reserve(arena, room + 1) != GPUARENA_OUT_OF_MEMORY;
                wrong += gpuarena_reserve(arena, room) != GPUARENA_OK || device.held_bytes != room;
                wrong += state_audit(arena, &device)[0] != '\0';
                wrong += gpuarena_destroy(arena) != GPUARENA_OK || !fake_close(&device);
                tried++;
            }
    CHECK_MSG(wrong == 0, "limits of n granules -1, 0, +1 bytes, %d of them: %d wrong", tried, wrong);
}

/* Every byte of the limit can be had, whatever was reserved before. */
static void test_full_limit(void)
{
    for (int granules = 1; granules <= 3; granules += 2) {
        fake_open(&device, GIB(1));
        gpuarena_config config = fake_config(&device);
        config.initial_bytes = MIB(2) * (uint64_t)granules;
        config.limit_bytes = device.watch_bytes = MIB(8);
        gpuarena *arena = state_arena(&config);
        CHECK_U64(device.held_bytes, ==, config.initial_bytes);
        CHECK_MSG(state_alloc(arena, MIB(8)) != NULL, "initial %d x 2 MiB, then the whole limit of 8 MiB", granules);
        CHECK_U64(device.held_bytes, ==, MIB(8));
        state_end(arena, &device, "full limit");
    }
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(6);
    config.limit_bytes = device.watch_bytes = MIB(64);
    gpuarena *arena = state_arena(&config);
    int served = 0;
    for (int block = 0; block < 8; block++) served += state_alloc(arena, MIB(8)) != NULL;
    CHECK_INT(served, ==, 8);
    CHECK_U64(device.held_bytes, ==, MIB(64));
    state_end(arena, &device, "8 x 8 MiB in 64 MiB");
}

/* RMM's growth test, its sizes times 8,192: a failure leaves the pool usable. */
static void test_capped(void)
{
    const uint64_t unit = 8192;
    void *ptr = NULL;
    gpuarena *arena = open_limited(6000 * unit, 0, GPUARENA_GROWTH_AUTO);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 1000 * unit, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 4000 * unit, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 500 * unit, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 2000 * unit, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(reason_of(arena), ==, GPUARENA_REASON_DRIVER_REFUSED);
    state_end(arena, &device, "device of 6,000 units");
    arena = open_limited(6000 * unit, 4096 * unit, GPUARENA_GROWTH_AUTO);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 1000 * unit, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 4000 * unit, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(reason_of(arena), ==, GPUARENA_REASON_OVER_LIMIT);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 500 * unit, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 2000 * unit, NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "limit of 4,096 units");
}

/* No size and alignment near the type's end wraps; each fails TOO_LARGE without touching the driver. */
static void test_huge(void)
{
    gpuarena *arena = open_limited(GIB(1), 0, GPUARENA_GROWTH_AUTO);
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = &device;
    int wrong = 0;
    uint64_t size = UINT64_MAX - 600;
    state_alloc(arena, 100);
    fake_forget_calls(&device);
    do {
        wrong += gpuarena_alloc(arena, &ptr, size, NULL) != GPUARENA_OUT_OF_MEMORY;
        wrong += reason_of(arena) != GPUARENA_REASON_TOO_LARGE || ptr != &device;
        wrong += gpuarena_reserve(arena, size) != GPUARENA_OUT_OF_MEMORY
            || reason_of(arena) != GPUARENA_REASON_TOO_LARGE;
    } while (size++ != UINT64_MAX);
    CHECK_MSG(wrong == 0, "sizes 2^64-601..2^64-1: TOO_LARGE, %d wrong", wrong);
    wrong = 0;
    for (uint64_t above = 1; above < 600; above++)
        wrong += gpuarena_alloc(arena, &ptr, (UINT64_C(1) << 49) + above, NULL) != GPUARENA_OUT_OF_MEMORY
            || reason_of(arena) != GPUARENA_REASON_TOO_LARGE;
    CHECK_MSG(wrong == 0, "sizes above 2^49: TOO_LARGE, %d wrong", wrong);
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 0);
    CHECK_INT(gpuarena_alloc(arena, &ptr, UINT64_C(1) << 49, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(reason_of(arena), ==, GPUARENA_REASON_DRIVER_REFUSED);
    wrong = 0;
    for (int power = 31; power < 64; power++)
        for (uint64_t bytes = 1; bytes != 0; bytes <<= 7) {
            request.bytes = bytes;
            request.alignment_bytes = UINT64_C(1) << power;
            if (gpuarena_alloc_ex(arena, &ptr, &request) == GPUARENA_OK)
                wrong += fake_address(ptr) % request.alignment_bytes != 0;
            else wrong += ptr != &device;
            ptr = &device;
            if (gpuarena_reset(arena, NULL) != GPUARENA_OK) wrong++;
        }
    CHECK_MSG(wrong == 0, "alignments 2^31..2^63: right or refused, %d wrong", wrong);
    state_end(arena, &device, "huge");
}

/* No arena could hold it: refused before the driver is asked. */
static void test_reserve_too_large(void)
{
    gpuarena_failure failure;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    fake_forget_calls(&device);
    CHECK_INT(gpuarena_reserve(arena, ((uint64_t)1 << 49) + 1), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_TOO_LARGE);
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 0);
    state_end(arena, &device, "reserve too large");
}

static void test_set_limit(void)
{
    gpuarena *arena = open_limited(GIB(1), MIB(64), GPUARENA_GROWTH_EXACT);
    void *blocks[8], *ptr = NULL;
    gpuarena_stats stats;
    for (int block = 0; block < 8; block++) blocks[block] = state_alloc(arena, MIB(8));
    CHECK_INT(gpuarena_free(arena, blocks[7], NULL), ==, GPUARENA_OK);
    device.watch_bytes = MIB(20);
    CHECK_INT(gpuarena_set_limit(arena, MIB(20)), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.limit_bytes, ==, MIB(20));
    CHECK_U64(stats.reserved_bytes, ==, MIB(56));
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(reason_of(arena), ==, GPUARENA_REASON_OVER_LIMIT);
    int falling = 1;
    for (int block = 0; block < 5; block++) {
        if (gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK) falling = 0;
        if (device.held_bytes != MIB(48) - MIB(8) * (uint64_t)block) falling = 0;
    }
    CHECK_MSG(falling, "above a lowered limit each segment goes back as it empties");
    CHECK_U64(device.held_bytes, ==, MIB(16));
    CHECK_INT(gpuarena_free(arena, blocks[5], NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(16));
    CHECK_MSG(state_alloc(arena, MIB(8)) != NULL, "at the limit and below, allocation works again");
    CHECK_INT(gpuarena_set_limit(arena, 0), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.limit_bytes, ==, 0);
    device.watch_bytes = UINT64_MAX;
    CHECK_INT(gpuarena_set_limit(arena, GPUARENA_NO_LIMIT), ==, GPUARENA_OK);
    CHECK_MSG(state_alloc(arena, MIB(512)) != NULL, "no limit: growth again");
    state_end(arena, &device, "set_limit");
}

/* A limit below reserved refuses even what would fit in free memory; reserve and TRY too. */
static void test_refused_below(void)
{
    gpuarena *arena = open_limited(GIB(1), MIB(64), GPUARENA_GROWTH_EXACT);
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    CHECK_INT(gpuarena_reserve(arena, MIB(32)), ==, GPUARENA_OK);
    void *small = state_alloc(arena, MIB(1));
    device.watch_bytes = MIB(16);
    CHECK_INT(gpuarena_set_limit(arena, MIB(16)), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(32));
    CHECK_INT(gpuarena_alloc(arena, &ptr, 256, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(reason_of(arena), ==, GPUARENA_REASON_OVER_LIMIT);
    request.bytes = 256;
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_free(arena, small, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, 0);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 256, NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "refused below");
}

/* OVER_LIMIT's missing_bytes is exact: that much more and the same call succeeds, one granule less and it fails. */
static void test_missing(void)
{
    gpuarena *arena = open_limited(GIB(1), MIB(64), GPUARENA_GROWTH_DOUBLE);
    gpuarena_failure failure;
    void *ptr = NULL;
    state_alloc(arena, MIB(30));
    state_alloc(arena, MIB(20));
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(25), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_LIMIT);
    CHECK_MSG(failure.missing_bytes > 0, "something is missing");
    device.watch_bytes = MIB(64) + failure.missing_bytes;
    CHECK_INT(gpuarena_set_limit(arena, MIB(64) + failure.missing_bytes - 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(25), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_set_limit(arena, MIB(64) + failure.missing_bytes), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(25), NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "missing");
}

static void test_headroom(void)
{
    fake_open(&device, MIB(100));
    gpuarena_config config = fake_config(&device);
    gpuarena_failure failure;
    void *ptr = NULL;
    config.headroom_bytes = MIB(36);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    state_alloc(arena, MIB(60));
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(6), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_HEADROOM);
    CHECK_U64(failure.device_free_bytes, ==, device.total_bytes - device.held_bytes);
    CHECK_U64(failure.missing_bytes, ==, MIB(2));
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = MIB(6);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_reserve(arena, MIB(66)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(reason_of(arena), ==, GPUARENA_REASON_HEADROOM);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(4), NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(64));
    state_end(arena, &device, "headroom");
}

static uint64_t limit_in_force(gpuarena_limit_base base, uint64_t bytes, double fraction, uint64_t rival)
{
    fake_open(&device, MIB(1000));
    gpuarena_config config = fake_config(&device), values;
    gpuarena_stats stats;
    device.rival_bytes = rival;
    config.limit_base = base;
    config.limit_bytes = bytes;
    config.limit_fraction = fraction;
    gpuarena *arena = state_arena(&config);
    gpuarena_get_stats(arena, &stats);
    gpuarena_get_config(arena, &values);
    CHECK_MSG(values.limit_bytes == stats.limit_bytes && values.limit_base == GPUARENA_LIMIT_BYTES,
              "get_config: the limit in force, in bytes");
    CHECK_MSG(gpuarena_destroy(arena) == GPUARENA_OK && fake_close(&device), "limit base %d", (int)base);
    return stats.limit_bytes;
}

static void test_bases(void)
{
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_BYTES, 0, 0, 0), ==, GPUARENA_NO_LIMIT);
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_BYTES, MIB(2) + 12345, 0, 0), ==, MIB(2) + 12345);
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_BYTES, MIB(1000), 0, 0), ==, MIB(1000));
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_OF_TOTAL, 0, 0.5, MIB(400)), ==, MIB(500));
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_OF_TOTAL, 0, 1.0, MIB(400)), ==, MIB(1000));
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_OF_FREE, 0, 0.5, MIB(400)), ==, MIB(300));
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_TOTAL_MINUS, MIB(100), 0, MIB(400)), ==, MIB(900));
    CHECK_U64(limit_in_force(GPUARENA_LIMIT_FREE_MINUS, MIB(100), 0, MIB(400)), ==, MIB(500));
}

int main(void)
{
    test_exact();
    test_full_limit();
    test_capped();
    test_huge();
    test_reserve_too_large();
    test_set_limit();
    test_refused_below();
    test_missing();
    test_headroom();
    test_bases();
    return tap_done();
}

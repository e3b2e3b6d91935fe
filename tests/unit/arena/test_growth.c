/* Growth: what is asked of the driver, in which sizes, back-off, reserve and trim. */
#include "arena_state.h"

static fake_device device;

static gpuarena *open_growing(gpuarena_growth growth, uint64_t step_bytes, uint64_t step_max_bytes,
                              uint64_t limit_bytes)
{
    fake_open(&device, GIB(16));
    gpuarena_config config = fake_config(&device);
    config.growth = growth;
    config.step_bytes = step_bytes;
    config.step_max_bytes = step_max_bytes;
    config.limit_bytes = limit_bytes;
    if (limit_bytes) device.watch_bytes = limit_bytes;
    return state_arena(&config);
}

static gpuarena *open_as(const char *text)
{
    char message[300];
    fake_open(&device, GIB(16));
    gpuarena_config config = fake_config(&device);
    if (gpuarena_config_parse(text, &config, message, sizeof message)) printf("Bail out! %s\n", message);
    device.watch_bytes = config.limit_bytes ? config.limit_bytes : UINT64_MAX;
    return state_arena(&config);
}

/* 1: the driver was asked for exactly these sizes, in MiB, 0 ending the list. */
static int asked(const uint64_t *sizes_mib)
{
    size_t index = 0;
    for (; sizes_mib[index]; index++)
        if (device.asked[index] != MIB(sizes_mib[index])) {
            printf("# asked %" PRIu64 " MiB, number %d\n", device.asked[index] >> 20, (int)index);
            return 0;
        }
    if (device.calls[FAKE_OBTAIN] != index)
        printf("# asked %" PRIu64 " times, then %" PRIu64 " MiB\n", device.calls[FAKE_OBTAIN],
               device.asked[index] >> 20);
    return device.calls[FAKE_OBTAIN] == index;
}

static void test_double(void)
{
    static const uint64_t ten[] = { 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0 };
    static const uint64_t capped[] = { 2, 4, 8, 16, 32, 64, 128, 256, 256, 256, 256, 0 };
    static const uint64_t wide[] = { 2, 16, 16, 32, 100, 0 };
    gpuarena_stats stats;
    gpuarena *arena = open_growing(GPUARENA_GROWTH_DOUBLE, 0, GIB(1), 0);
    for (int block = 0; block < 1100; block++) state_alloc(arena, MIB(1));
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.reserved_bytes, ==, MIB(2046));
    CHECK_U64(stats.grow_count, ==, 10);
    CHECK(asked(ten));
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    fake_forget_calls(&device);
    state_alloc(arena, 1);
    CHECK_U64(device.asked[0], ==, MIB(2));
    state_end(arena, &device, "double to 1 GiB");
    arena = open_growing(GPUARENA_GROWTH_AUTO, 0, 0, 0);
    for (int block = 0; block < 1100; block++) state_alloc(arena, MIB(1));
    CHECK(asked(capped));
    state_end(arena, &device, "double, default cap");
    arena = open_growing(GPUARENA_GROWTH_DOUBLE, MIB(2), MIB(32), 0);
    state_alloc(arena, MIB(2));
    state_alloc(arena, MIB(16));
    state_alloc(arena, MIB(16));
    state_alloc(arena, MIB(17));
    state_alloc(arena, MIB(100));
    CHECK(asked(wide));
    state_end(arena, &device, "double covers the request, a larger one gets what it needs");
}

static void test_step_exact(void)
{
    static const uint64_t defaults[] = { 64, 64, 100, 64, 0 }, steps[] = { 6, 6, 8, 0 }, exact[] = { 2, 4, 10, 0 };
    gpuarena *arena = open_growing(GPUARENA_GROWTH_STEP, 0, 0, 0);
    state_alloc(arena, MIB(60));
    state_alloc(arena, MIB(60));
    state_alloc(arena, MIB(99) + 1);
    state_alloc(arena, MIB(60));
    CHECK(asked(defaults));
    state_end(arena, &device, "step 64 MiB");
    arena = open_growing(GPUARENA_GROWTH_STEP, MIB(6), 0, 0);
    state_alloc(arena, MIB(5));
    state_alloc(arena, MIB(6));
    state_alloc(arena, MIB(7));
    CHECK(asked(steps));
    state_end(arena, &device, "step 6 MiB");
    arena = open_growing(GPUARENA_GROWTH_EXACT, 0, 0, 0);
    state_alloc(arena, 1);
    state_alloc(arena, MIB(2) + 1);
    state_alloc(arena, MIB(10));
    CHECK(asked(exact));
    state_end(arena, &device, "exact");
}

static void test_fixed(void)
{
    static const uint64_t whole[] = { 100, 4, 0 };
    void *ptr = NULL;
    gpuarena *arena = open_growing(GPUARENA_GROWTH_FIXED, 0, 0, MIB(100) + 12345);
    CHECK_U64(device.held_bytes, ==, MIB(100));
    CHECK_MSG(state_alloc(arena, MIB(100)) != NULL, "fixed: all of it in one block");
    CHECK_INT(gpuarena_alloc(arena, &ptr, 1, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    device.watch_bytes = MIB(200);
    CHECK_INT(gpuarena_set_limit(arena, MIB(200)), ==, GPUARENA_OK);
    state_alloc(arena, MIB(3));
    CHECK(asked(whole));
    state_end(arena, &device, "fixed");
    fake_open(&device, MIB(101));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    device.rival_bytes = MIB(30);
    arena = state_arena(&config);
    CHECK_U64(device.held_bytes, ==, MIB(70));
    state_end(arena, &device, "fixed without a limit: all free device memory");
    fake_open(&device, MIB(100));
    config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(64);
    device.largest_bytes = MIB(10);
    arena = state_arena(&config);
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    CHECK_MSG(stats.reserved_bytes > 0 && stats.reserved_bytes <= MIB(64) && stats.backoff_count > 0,
              "fixed with back-off: %" PRIu64 " bytes", stats.reserved_bytes);
    state_end(arena, &device, "fixed with back-off");
    fake_open(&device, MIB(1));
    config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_MSG(fake_close(&device), "not one granule: nothing left behind");
}

/* Whatever the driver can still give is had; each refusal is followed by a smaller request, down to what is needed.
   */
static void test_backoff(void)
{
    int wrong = 0, tried = 0;
    for (uint64_t largest = 1; largest <= 40; largest++)
        for (uint64_t need = 1; need <= 8; need++) {
            gpuarena *arena = open_growing(GPUARENA_GROWTH_STEP, MIB(64), 0, 0);
            gpuarena_stats stats;
            void *ptr = NULL;
            device.largest_bytes = largest * MIB(2);
            gpuarena_result result = gpuarena_alloc(arena, &ptr, need * MIB(2), NULL);
            gpuarena_get_stats(arena, &stats);
            wrong += result != (need <= largest ? GPUARENA_OK : GPUARENA_OUT_OF_MEMORY);
            wrong += device.calls[FAKE_OBTAIN] > 12 || device.asked[0] != MIB(64);
            for (uint64_t call = 1; call < device.calls[FAKE_OBTAIN]; call++)
                wrong += device.asked[call] >= device.asked[call - 1] || device.asked[call] < need * MIB(2);
            if (result == GPUARENA_OK) {
                wrong += stats.backoff_count != device.calls[FAKE_OBTAIN] - 1;
                wrong += device.asked[device.calls[FAKE_OBTAIN] - 1] != device.held_bytes;
            }
            wrong += stats.driver_call_count != device.calls[FAKE_OBTAIN] || state_audit(arena, &device)[0] != '\0';
            wrong += gpuarena_reset(arena, NULL) != GPUARENA_OK || gpuarena_destroy(arena) != GPUARENA_OK;
            wrong += !fake_close(&device);
            tried++;
        }
    CHECK_MSG(wrong == 0, "back-off, %d refusing devices: %d wrong", tried, wrong);
    static const uint64_t halved[] = { 64, 34, 18, 10, 6, 0 };
    gpuarena *arena = open_growing(GPUARENA_GROWTH_STEP, MIB(64), 0, 0);
    device.largest_bytes = MIB(6);
    state_alloc(arena, MIB(4));
    CHECK_MSG(asked(halved), "the surplus of 60 MiB is halved: 30, 14, 6, 2 (whole granules)");
    state_end(arena, &device, "back-off sizes");
}

/* A driver that always refuses: few calls an allocation. One that refuses now and then: everything ends, sums hold.
   */
static void test_refusing_driver(void)
{
    gpuarena *arena = open_growing(GPUARENA_GROWTH_DOUBLE, 0, 0, 0);
    void *ptr = NULL;
    fake_fail(&device, FAKE_ON_OBTAIN, 1, FAKE_FOR_EVER, GPUARENA_STATUS_NO_MEMORY);
    for (int round = 0; round < 20; round++)
        CHECK_INT(gpuarena_alloc(arena, &ptr, (uint64_t)1 << 2 * round, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_MSG(device.calls[FAKE_OBTAIN] <= 20 * 20, "20 refused allocations: %" PRIu64 " calls",
              device.calls[FAKE_OBTAIN]);
    state_end(arena, &device, "always refusing");
    arena = open_growing(GPUARENA_GROWTH_DOUBLE, 0, 0, 0);
    int served = 0;
    for (uint64_t round = 0; round < 200; round++) {
        fake_fail(&device, FAKE_ON_OBTAIN, 1 + round % 3, 1 + round % 2, GPUARENA_STATUS_NO_MEMORY);
        served += gpuarena_alloc(arena, &ptr, MIB(1 + round % 7), NULL) == GPUARENA_OK;
    }
    fake_heal(&device);
    CHECK_MSG(served > 100 && device.calls[FAKE_OBTAIN] < 1000, "refusing now and then: %d of 200 served", served);
    state_end(arena, &device, "refusing now and then");
}

static void test_reserve(void)
{
    gpuarena *arena = open_growing(GPUARENA_GROWTH_AUTO, 0, 0, MIB(256));
    arena_state before;
    CHECK_INT(gpuarena_reserve(arena, 0), ==, GPUARENA_OK);
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 0);
    CHECK_INT(gpuarena_reserve(arena, MIB(33)), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(34));
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 1);
    CHECK_INT(gpuarena_reserve(arena, MIB(34)), ==, GPUARENA_OK);
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 1);
    device.largest_bytes = MIB(16);
    CHECK_INT(gpuarena_reserve(arena, MIB(100)), ==, GPUARENA_OK);
    CHECK_MSG(device.held_bytes >= MIB(100) && device.held_bytes <= MIB(256), "several segments");
    device.rival_bytes = device.total_bytes - device.held_bytes - MIB(40);
    state_take(arena, &device, &before);
    gpuarena_failure failure = state_refused(arena, &device, &before, gpuarena_reserve(arena, MIB(200)),
                                             GPUARENA_OUT_OF_MEMORY, "reserve is all or nothing");
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_U64(failure.requested_bytes, ==, MIB(200));
    state_take(arena, &device, &before);
    failure = state_refused(arena, &device, &before, gpuarena_reserve(arena, MIB(256) + 1), GPUARENA_OUT_OF_MEMORY,
                            "reserve above the limit");
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_LIMIT);
    CHECK_U64(failure.missing_bytes, ==, MIB(2));
    state_end(arena, &device, "reserve");
}

static void test_trim(void)
{
    gpuarena *arena = open_growing(GPUARENA_GROWTH_EXACT, 0, 0, 0);
    void *blocks[4];
    uint64_t released = 7;
    for (int block = 0; block < 4; block++) blocks[block] = state_alloc(arena, MIB(4) << block);
    CHECK_INT(gpuarena_trim(arena, 0, &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, 0);
    for (int block = 0; block < 4; block++)
        if (gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK) CHECK_MSG(0, "free");
    CHECK_INT(gpuarena_trim(arena, MIB(60), &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, 0);
    CHECK_INT(gpuarena_trim(arena, MIB(54), &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, MIB(8));
    CHECK_U64(device.held_bytes, ==, MIB(52));
    CHECK_INT(gpuarena_trim(arena, MIB(5), &released), ==, GPUARENA_OK);
    CHECK_MSG(released == MIB(48) && device.held_bytes == MIB(4),
              "the largest first, then the smallest that gets there");
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, 0);
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.release_count, ==, 4);
    state_end(arena, &device, "trim");
}

/* A segment that the driver does not take back does not keep the others; only a goal missed is a failure. */
static void test_refused_release(void)
{
    uint64_t released = 0;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    for (uint64_t size = 2; size <= 32; size *= 2) state_alloc(arena, MIB(size));
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, 1, GPUARENA_STATUS_FAILED);     /* the 32 MiB: the smallest
                                                                                that covers */
    CHECK_INT(gpuarena_trim(arena, MIB(62) - MIB(20), &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, MIB(20));                                        /* 16 and 4 instead */
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, 2, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_trim(arena, 0, &released), ==, GPUARENA_DRIVER_ERROR);
    CHECK_U64(released, ==, MIB(2));                                         /* 32 and 8 were refused */
    CHECK_U64(device.calls[FAKE_GIVE_BACK], ==, 3 + 3);
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, FAKE_FOR_EVER, GPUARENA_STATUS_CAPTURING);
    fake_forget_calls(&device);
    CHECK_INT(gpuarena_trim(arena, 0, &released), ==, GPUARENA_CAPTURE);     /* that would refuse all: one
                                                                                is enough */
    CHECK_U64(device.calls[FAKE_GIVE_BACK], ==, 1);
    fake_heal(&device);
    CHECK_INT(gpuarena_trim(arena, 0, &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, MIB(40));
    state_end(arena, &device, "refused release");
}

/* Above a lowered limit a free asks the driver for what became idle, not again for all that it refused before. */
static void test_refused_drain(void)
{
    void *blocks[20];
    gpuarena_stats stats;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    for (int block = 0; block < 20; block++) blocks[block] = state_alloc(arena, MIB(2));
    for (int block = 0; block < 10; block++) gpuarena_free(arena, blocks[block], NULL);
    fake_forget_calls(&device);
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, FAKE_FOR_EVER, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_set_limit(arena, MIB(2)), ==, GPUARENA_DRIVER_ERROR);
    CHECK_U64(device.calls[FAKE_GIVE_BACK], ==, 10);
    for (int block = 10; block < 20; block++) CHECK_INT(gpuarena_free(arena, blocks[block], NULL), ==, GPUARENA_OK);
    CHECK_U64(device.calls[FAKE_GIVE_BACK], ==, 20);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.driver_error_count, ==, 10);
    fake_heal(&device);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, 0);
    state_end(arena, &device, "refused drain");
}

/* Idle segments that are not in the way stay. */
static void test_release_for_room(void)
{
    gpuarena *arena = open_growing(GPUARENA_GROWTH_EXACT, 0, 0, MIB(64));
    void *blocks[3];
    state_alloc(arena, MIB(30));
    for (int block = 0; block < 3; block++) blocks[block] = state_alloc(arena, MIB(4) << block);
    for (int block = 0; block < 3; block++)
        if (gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK) CHECK_MSG(0, "free");
    CHECK_MSG(state_alloc(arena, MIB(18)) != NULL, "18 MiB where 6 are left: idle segments make room");
    CHECK_U64(device.held_bytes, ==, MIB(60));
    CHECK_U64(device.calls[FAKE_GIVE_BACK], ==, 1);
    state_end(arena, &device, "release for room");
}

static void test_initial(void)
{
    fake_open(&device, MIB(64));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = NULL;
    config.initial_bytes = MIB(5);
    arena = state_arena(&config);
    CHECK_U64(device.held_bytes, ==, MIB(6));
    state_end(arena, &device, "initial");
    fake_open(&device, MIB(64));
    config = fake_config(&device);
    config.initial_bytes = MIB(65);
    arena = NULL;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    config.initial_bytes = MIB(64);
    device.rival_bytes = MIB(2);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_MSG(arena == NULL && fake_close(&device), "initial refused: no arena, nothing left behind");
}

/* Doubled without a cap. */
static void test_uncapped(void)
{
    static const uint64_t doubled[] = { 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 0 };
    static const uint64_t walled[] = { 4, 4, 8, 16, 32, 64, 128, 256, 0 };
    gpuarena *arena = open_as("growth=double,step_max=512T");
    for (int block = 0; block < 4100; block++) state_alloc(arena, MIB(1));
    CHECK(asked(doubled));
    state_end(arena, &device, "double without a cap");
    arena = open_as("growth=double,step_max=512T,limit=512M");
    for (int block = 0; block < 128; block++) state_alloc(arena, MIB(4));
    CHECK(asked(walled));
    CHECK_U64(device.held_bytes, ==, MIB(512));
    state_end(arena, &device, "double to a limit of 512 MiB");
}

/* The first segment is asked for with a step of 64 MiB, and the driver has 9 MiB at a time at most: what is beyond
   the need is halved. */
static void test_backoff_by_halves(void)
{
    static const uint64_t sizes[] = { 64, 34, 18, 10, 6, 0 };
    gpuarena_stats stats;
    void *ptr = NULL;
    gpuarena *arena = open_as("growth=step,step=64M");
    device.largest_bytes = MIB(9);
    CHECK(state_alloc(arena, MIB(3)) != NULL);
    CHECK(asked(sizes));
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.backoff_count, ==, device.calls[FAKE_OBTAIN] - 1);
    device.largest_bytes = MIB(5);               /* down to the need, and it is no more than that */
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(6), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(device.asked[device.calls[FAKE_OBTAIN] - 1], ==, MIB(6));
    state_end(arena, &device, "less at each refusal");
}

/* ORT's: 50 rising shapes, each with half its size, held until both are freed. As requested that is 11,807 MiB, and
   one more for each odd number of MiB: the device's memory comes in pieces of 2 MiB. */
static void test_rising(void)
{
    static const struct { const char *text; uint64_t mib, segments; } rows[] = {
        { "growth=double,step_max=1G", 1024, 5 }, { "growth=exact", 11807 + 25, 51 } };
    for (size_t row = 0; row < 2; row++) {
        gpuarena *arena = open_as(rows[row].text);
        for (uint64_t shape = 0; shape < 50; shape++) {
            void *whole = state_alloc(arena, MIB(64 + 7 * shape));
            void *half = state_alloc(arena, MIB(64 + 7 * shape) / 2);
            (void)gpuarena_free(arena, whole, NULL);
            (void)gpuarena_free(arena, half, NULL);
        }
        CHECK_U64(device.held_bytes, ==, MIB(rows[row].mib));
        CHECK_U64(device.calls[FAKE_OBTAIN], ==, rows[row].segments);
        state_end(arena, &device, rows[row].text);
    }
}

int main(void)
{
    test_double();
    test_step_exact();
    test_fixed();
    test_backoff();
    test_refusing_driver();
    test_reserve();
    test_trim();
    test_refused_release();
    test_refused_drain();
    test_release_for_room();
    test_initial();
    test_uncapped();
    test_backoff_by_halves();
    test_rising();
    return tap_done();
}

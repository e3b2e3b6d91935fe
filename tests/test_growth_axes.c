/* The axes of growth: half, exact, backoff, a step without a cap; and every combination that is refused.
   It must not know the implementation: only the contracts in gpuarena.h.
   Run: make test, or prove build/tests/test_growth_axes. */
#include "arena_state.h"

static fake_device device;

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

/* TensorFlow's: doubled without a cap, and a tenth less at each refusal. */
static void test_uncapped(void)
{
    static const uint64_t doubled[] = { 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 0 };
    static const uint64_t walled[] = { 4, 4, 8, 16, 32, 64, 128, 256, 0 };
    gpuarena *arena = open_as("growth=double,step_max=512T,backoff=tenth");
    for (int block = 0; block < 4100; block++) state_alloc(arena, MIB(1));
    CHECK(asked(doubled));
    state_end(arena, &device, "double without a cap");
    arena = open_as("growth=double,step_max=512T,backoff=tenth,limit=512M");
    for (int block = 0; block < 128; block++) state_alloc(arena, MIB(4));
    CHECK(asked(walled));
    CHECK_U64(device.held_bytes, ==, MIB(512));
    state_end(arena, &device, "double to a limit of 512 MiB");
}

/* The first segment is asked for with a step of 64 MiB, and the driver has 9 MiB at a time at most. */
static void test_backoff(void)
{
    static const struct { const char *name; uint64_t sizes[24]; } rows[] = {
        { "surplus", { 64, 34, 18, 10, 6, 0 } },
        { "tenth", { 64, 56, 50, 44, 38, 34, 30, 26, 22, 18, 16, 14, 12, 10, 8, 0 } },
        { "half", { 64, 32, 16, 8, 0 } } };
    for (size_t row = 0; row < 3; row++) {
        char text[80];
        gpuarena_stats stats;
        void *ptr = NULL;
        snprintf(text, sizeof text, "growth=step,step=64M,backoff=%s", rows[row].name);
        gpuarena *arena = open_as(text);
        device.largest_bytes = MIB(9);
        CHECK_MSG(state_alloc(arena, MIB(3)) != NULL, "%s", text);
        CHECK(asked(rows[row].sizes));
        gpuarena_get_stats(arena, &stats);
        CHECK_U64(stats.backoff_count, ==, device.calls[FAKE_OBTAIN] - 1);
        device.largest_bytes = MIB(5);           /* down to the need, and it is no more than that */
        CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(6), NULL), ==, GPUARENA_OUT_OF_MEMORY);
        CHECK_U64(device.asked[device.calls[FAKE_OBTAIN] - 1], ==, MIB(6));
        state_end(arena, &device, text);
    }
}

/* RMM's: as much again, or half of what remains; the cap is always reached. */
static void test_half(void)
{
    static const uint64_t uncapped[] = { 2, 2, 4, 8, 16, 32, 66, 130, 0 };
    static const uint64_t capped[] = { 8, 28, 14, 8, 4, 2, 0 };
    gpuarena *arena = open_as("growth=half");
    for (int block = 0; block < 64; block++) state_alloc(arena, MIB(1));
    state_alloc(arena, MIB(66));                 /* above as much again */
    state_alloc(arena, MIB(1));
    CHECK(asked(uncapped));
    state_end(arena, &device, "half, without a limit: as much again");
    arena = open_as("growth=half,initial=8M,limit=64M");
    for (int block = 0; block < 64; block++) state_alloc(arena, MIB(1));
    CHECK(asked(capped));
    CHECK_U64(device.held_bytes, ==, MIB(64));
    state_end(arena, &device, "half of what remains: the limit is reached");
    for (uint64_t granules = 1; granules < 70; granules += 3) {
        char text[60];
        void *ptr = NULL;
        snprintf(text, sizeof text, "growth=half,limit=%" PRIu64 "M", granules * 2 + 1);
        arena = open_as(text);
        while (gpuarena_alloc(arena, &ptr, MIB(2), NULL) == GPUARENA_OK) continue;
        CHECK_U64(device.held_bytes, ==, granules * MIB(2));
        state_end(arena, &device, text);
    }
}

/* PyTorch's: 20 MiB for requests below 10 MiB, larger ones rounded up to 2 MiB. */
static void test_exact(void)
{
    static const uint64_t steps[] = { 20, 10, 10, 12, 1000, 20, 0 }, doubled[] = { 2, 50, 4, 0 };
    gpuarena *arena = open_as("growth=step,step=20M,exact=10M");
    state_alloc(arena, MIB(10) - 256);
    state_alloc(arena, MIB(10) - 256);
    state_alloc(arena, MIB(10) - 1);             /* 10 MiB by the alignment */
    state_alloc(arena, MIB(10));
    state_alloc(arena, MIB(10) + 1);
    state_alloc(arena, MIB(1000));
    state_alloc(arena, MIB(9));
    CHECK(asked(steps));
    state_end(arena, &device, "step 20 MiB, exact from 10 MiB");
    arena = open_as("growth=double,exact=50M");
    state_alloc(arena, MIB(2));
    state_alloc(arena, MIB(50));
    state_alloc(arena, MIB(3));
    CHECK(asked(doubled));
    state_end(arena, &device, "double: an exact one leaves the step as it is");
}

/* ORT's: 50 rising shapes, each with half its size, held until both are freed. As requested that is 11,807 MiB, and
   one more for each odd number of MiB: the device's memory comes in pieces of 2 MiB. */
static void test_rising(void)
{
    static const struct { const char *text; uint64_t mib, segments; } rows[] = {
        { "growth=double,step_max=1G,backoff=tenth", 1024, 5 }, { "growth=exact,backoff=tenth", 11807 + 25, 51 } };
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
    test_uncapped();
    test_backoff();
    test_half();
    test_exact();
    test_rising();
    return tap_done();
}

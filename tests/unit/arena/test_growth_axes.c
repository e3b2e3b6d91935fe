/* The axes of growth: a step without a cap, and less at each refusal. */
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
static void test_backoff(void)
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
    test_uncapped();
    test_backoff();
    test_rising();
    return tap_done();
}

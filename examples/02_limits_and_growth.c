/* Limits and growth: the limit is kept to the byte, growth is yours to choose, and memory goes back when you say so.
   Introduces config.limit_bytes, config.growth, gpuarena_set_limit, gpuarena_trim, gpuarena_reset.
   Run: make && build/examples/02_limits_and_growth. No GPU is needed. */
#include "example.h"

static void show(const char *when, const gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    printf("%-34s live %4" PRIu64 ", reserved %4" PRIu64 ", limit %4" PRIu64 " MiB\n", when, stats.live_bytes / MIB,
           stats.reserved_bytes / MIB, stats.limit_bytes / MIB);
}

/* Takes blocks of one size until none is left, or there are most_count; how many. */
static uint64_t fill(gpuarena *arena, uint64_t block_bytes, uint64_t most_count)
{
    uint64_t count = 0;
    void *block;
    while (count < most_count && gpuarena_alloc(arena, &block, block_bytes, NULL) == GPUARENA_OK) count++;
    return count;
}

static int limit_is_exact(const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_stats stats;
    gpuarena *arena;
    config.driver = driver;
    config.limit_bytes = 1024 * MIB;
    if (gpuarena_create(&config, &arena)) return 1;

    printf("%" PRIu64 " blocks of 64 KiB fit into 1024 MiB\n", fill(arena, 64 * KIB, 20000));
    gpuarena_get_stats(arena, &stats);
    printf("of the limit, %" PRIu64 " bytes are not in use\n", stats.limit_bytes - stats.live_bytes);
    example_explain("one more block", arena);

    gpuarena_reset(arena, NULL);                     /* frees every block, keeps the memory for the next */
    show("after reset", arena);
    gpuarena_set_limit(arena, 600 * MIB);            /* what is idle and above it goes back at once */
    show("after set_limit to 600 MiB", arena);
    gpuarena_trim(arena, 0, NULL);                   /* keep nothing that is idle */
    show("after trim", arena);
    return gpuarena_destroy(arena) ? 1 : 0;
}

/* The same 96 blocks of 10 MiB under each way to grow: fewer driver calls, or less memory beyond what is in use. */
static int compare_growth(const gpuarena_driver *driver)
{
    static const char *const growths[] = { "growth=double", "growth=step", "growth=exact", "growth=fixed" };
    printf("\n%-24s %10s %14s %14s\n", "96 blocks of 10 MiB", "segments", "driver calls", "reserved MiB");
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
        gpuarena_config config = GPUARENA_INIT;
        gpuarena_stats stats;
        gpuarena *arena;
        config.driver = driver;
        config.limit_bytes = 2048 * MIB;
        if (gpuarena_config_parse(growths[i], &config, NULL, 0) || gpuarena_create(&config, &arena)) return 1;
        if (fill(arena, 10 * MIB, 96) < 96) return 1;
        gpuarena_get_stats(arena, &stats);
        printf("%-24s %10" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", growths[i], stats.grow_count,
               stats.driver_call_count, stats.reserved_bytes / MIB);
        gpuarena_reset(arena, NULL);
        if (gpuarena_destroy(arena)) return 1;
    }
    return 0;
}

static int run(const gpuarena_driver *driver)
{
    return limit_is_exact(driver) || compare_growth(driver);
}

int main(void)
{
    return example_main(run);
}

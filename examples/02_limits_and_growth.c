/* Limits and growth: the limit is kept to the byte, growth is yours to choose, and memory goes back when you say so.
   Introduces config.limit_bytes, config.growth, gpuarena_set_limit, gpuarena_trim, gpuarena_reset.
   Run: make build/examples/02_limits_and_growth && build/examples/02_limits_and_growth;
   without a GPU: with LD_LIBRARY_PATH=build/sim before it */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

static void show(const char *when, const gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    printf("%-34s live %4" PRIu64 ", reserved %4" PRIu64 ", limit %4" PRIu64 " MiB\n", when, stats.live_bytes / MIB,
           stats.reserved_bytes / MIB, stats.limit_bytes / MIB);
}

/* Takes blocks of one size until one is refused, or there are most_count. Tells their number, and the last one. */
static gpuarena_result fill(gpuarena *arena, uint64_t block_bytes, uint64_t most_count, uint64_t *count, void **last)
{
    gpuarena_result result = GPUARENA_OK;
    for (*count = 0; *count < most_count; ++*count) {
        result = gpuarena_alloc(arena, last, block_bytes, NULL);
        if (result) break;
    }
    return result;
}

static int limit_is_exact(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_stats stats;
    gpuarena *arena;
    uint64_t count;
    void *first, *last = NULL;
    config.driver = example_driver();
    config.limit_bytes = 1024 * MIB;
    if (gpuarena_create(&config, &arena) || gpuarena_alloc(arena, &first, 64 * KIB, NULL)) return example_failed();

    if (fill(arena, 64 * KIB, 20000, &count, &last) != GPUARENA_OUT_OF_MEMORY) return example_failed();
    printf("%" PRIu64 " blocks of 64 KiB fit into 1024 MiB\n", 1 + count);
    gpuarena_get_stats(arena, &stats);
    printf("of the limit, %" PRIu64 " bytes are not in use\n", stats.limit_bytes - stats.live_bytes);
    example_explain(stdout, "one more block");
    if (example_write(first, 64 * KIB, 1) || example_write(last, 64 * KIB, 2)) return 1;
    if (example_compare(first, 64 * KIB, 1) || example_compare(last, 64 * KIB, 2)) return 1;
    printf("the first and the last hold the bytes written to them\n");

    gpuarena_reset(arena, NULL);                     /* frees every block, keeps the memory for later blocks */
    show("after reset", arena);
    if (gpuarena_set_limit(arena, 600 * MIB)) return example_failed();   /* idle memory above it goes back at once */
    show("after set_limit to 600 MiB", arena);
    if (gpuarena_trim(arena, 0, NULL)) return example_failed();          /* keep no idle memory */
    show("after trim", arena);
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

/* Allocates 96 blocks of 10 MiB under each growth of segments: some make fewer driver calls, others hold less memory
   beyond the blocks. */
static int compare_growth(void)
{
    static const char *const growths[] = { "growth=double", "growth=step", "growth=exact", "growth=fixed" };
    printf("\n%-24s %10s %14s %14s\n", "96 blocks of 10 MiB", "segments", "driver calls", "reserved MiB");
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
        gpuarena_config config = GPUARENA_INIT;
        gpuarena_stats stats;
        gpuarena *arena;
        uint64_t count;
        void *last;
        config.driver = example_driver();
        config.backing = GPUARENA_BACKING_SEGMENTS;  /* paged ranges grow by pages, as many as are needed */
        config.limit_bytes = 2048 * MIB;
        if (gpuarena_config_parse(growths[i], &config, NULL, 0)) return example_failed();
        if (gpuarena_create(&config, &arena)) return example_failed();
        if (fill(arena, 10 * MIB, 96, &count, &last)) return example_failed();
        gpuarena_get_stats(arena, &stats);
        printf("%-24s %10" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", growths[i], stats.grow_count,
               stats.driver_call_count, stats.reserved_bytes / MIB);
        gpuarena_reset(arena, NULL);
        if (gpuarena_destroy(arena)) return example_failed();
    }
    return 0;
}

int main(void)
{
    return limit_is_exact() || compare_growth();
}

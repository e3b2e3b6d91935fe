/* Statistics and failure: every byte is in one sum, a failure says why, misuse is caught in every build.
   Introduces gpuarena_get_stats, gpuarena_report, gpuarena_last_failure, gpuarena_failure_text.
   Run: make build/examples/03_statistics_and_failure && build/examples/03_statistics_and_failure;
   without a GPU: with LD_LIBRARY_PATH=build/sim before it */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"
#include <string.h>

enum { BLOCK_COUNT = 64 };

/* Gets a report piece by piece. The lines of segments follow the sums, and hold addresses: the report stops there. */
static gpuarena_result print_sums(const char *text, size_t bytes, void *user)
{
    static const char segment[] = "  segment";
    (void)user;
    if (bytes >= sizeof segment && memcmp(text, segment, sizeof segment - 1) == 0) return GPUARENA_STOPPED;
    return fwrite(text, 1, bytes, stdout) == bytes ? GPUARENA_OK : GPUARENA_STOPPED;
}

static void show_sum(const gpuarena *arena)
{
    gpuarena_stats stats;
    uint64_t sum;
    gpuarena_get_stats(arena, &stats);
    sum = stats.requested_bytes + stats.slack_bytes + stats.cached_bytes;
    printf("  requested %12" PRIu64 "\n+ slack     %12" PRIu64 "\n", stats.requested_bytes, stats.slack_bytes);
    printf("+ cached    %12" PRIu64 "\n= reserved  %12" PRIu64, stats.cached_bytes, stats.reserved_bytes);
    printf(" (%s)\n", sum == stats.reserved_bytes ? "it sums" : "IT DOES NOT SUM");
}

/* 64 blocks of 32 MiB fill 2 GiB. Every second one is freed: half is free, but no more than 32 MiB in one piece. */
static int fragment(gpuarena *arena)
{
    void *blocks[BLOCK_COUNT], *large;
    for (int i = 0; i < BLOCK_COUNT; i++)
        if (gpuarena_alloc(arena, &blocks[i], 32 * MIB, NULL)) return example_failed();
    for (int i = 0; i < BLOCK_COUNT; i += 2) gpuarena_free(arena, blocks[i], NULL);

    if (gpuarena_alloc(arena, &large, 48 * MIB, NULL) == GPUARENA_OK) return 1;
    example_explain(stdout, "48 MiB of 1 GiB free");
    gpuarena_reset(arena, NULL);
    return 0;
}

/* Both mistakes are refused by name, and the live block keeps its contents. */
static int misuse(gpuarena *arena)
{
    void *block, *freed;
    if (gpuarena_alloc(arena, &block, 1000, NULL)) return example_failed();
    if (gpuarena_alloc(arena, &freed, 1000, NULL)) return example_failed();
    if (example_write(block, 1000, 7)) return 1;
    gpuarena_free(arena, freed, NULL);
    if (gpuarena_free(arena, freed, NULL) == GPUARENA_OK) return 1;
    example_explain(stdout, "a second free");
    if (gpuarena_free(arena, (char *)block + 100, NULL) == GPUARENA_OK) return 1;
    example_explain(stdout, "free of base + 100");
    if (example_compare(block, 1000, 7)) return 1;
    return gpuarena_free(arena, block, NULL) ? example_failed() : 0;
}

int main(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    void *block;
    config.driver = example_driver();
    config.backing = GPUARENA_BACKING_SEGMENTS;      /* segments fragment; paged ranges move pages instead */
    config.growth = GPUARENA_GROWTH_FIXED;           /* all of the limit at creation, in one piece */
    config.limit_bytes = 2048 * MIB;
    snprintf(config.name, sizeof config.name, "example");
    if (gpuarena_create(&config, &arena)) return example_failed();

    if (gpuarena_alloc(arena, &block, 1000 * 1000, NULL)) return example_failed();
    show_sum(arena);
    gpuarena_report(arena, GPUARENA_FORMAT_TEXT, print_sums, NULL);
    gpuarena_free(arena, block, NULL);

    if (fragment(arena) || misuse(arena)) return 1;
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

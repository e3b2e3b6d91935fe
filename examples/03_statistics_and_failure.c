/* Statistics and failure: every byte is in one sum, a failure says why, misuse is caught in every build.
   Introduces gpuarena_get_stats, gpuarena_report, gpuarena_last_failure, gpuarena_failure_text.
   Run: make && build/examples/03_statistics_and_failure. No GPU is needed. */
#include "example.h"

enum { BLOCK_COUNT = 64 };

static gpuarena_result print_text(const char *text, size_t bytes, void *user)
{
    (void)user;
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

/* 64 blocks of 32 MiB fill 2 GiB; every second one goes: half is free, and nowhere more than 32 MiB in a row. */
static int fragment(gpuarena *arena)
{
    void *blocks[BLOCK_COUNT], *large;
    for (int i = 0; i < BLOCK_COUNT; i++)
        if (gpuarena_alloc(arena, &blocks[i], 32 * MIB, NULL)) return 1;
    for (int i = 0; i < BLOCK_COUNT; i += 2) gpuarena_free(arena, blocks[i], NULL);

    if (gpuarena_alloc(arena, &large, 48 * MIB, NULL) == GPUARENA_OK) return 1;
    example_explain("48 MiB of 1 GiB free", arena);
    return 0;
}

static int misuse(gpuarena *arena)
{
    void *block, *freed;
    if (gpuarena_alloc(arena, &block, 1000, NULL) || gpuarena_alloc(arena, &freed, 1000, NULL)) return 1;
    gpuarena_free(arena, freed, NULL);
    if (gpuarena_free(arena, freed, NULL) == GPUARENA_OK) return 1;
    example_explain("a second free", arena);
    if (gpuarena_free(arena, (char *)block + 100, NULL) == GPUARENA_OK) return 1;
    example_explain("free of base + 100", arena);
    return 0;
}

static int run(const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    void *block;
    int status;
    config.driver = driver;
    config.growth = GPUARENA_GROWTH_FIXED;           /* all of the limit at creation, in one piece */
    config.limit_bytes = 2048 * MIB;
    snprintf(config.name, sizeof config.name, "example");
    if (gpuarena_create(&config, &arena)) return 1;

    if (gpuarena_alloc(arena, &block, 1000 * 1000, NULL)) return 1;
    show_sum(arena);
    gpuarena_report(arena, GPUARENA_FORMAT_TEXT, print_text, NULL);
    gpuarena_reset(arena, NULL);

    status = fragment(arena);
    gpuarena_reset(arena, NULL);
    if (!status) status = misuse(arena);
    gpuarena_reset(arena, NULL);
    return gpuarena_destroy(arena) || status;
}

int main(void)
{
    return example_main(run);
}

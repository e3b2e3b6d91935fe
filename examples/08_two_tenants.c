/* Two tenants of one device: each held to its limit, neither disturbed by the other; idle memory passes between them.
   Introduces config.parent, GPUARENA_REASON_OVER_PARENT, stats.children_bytes, gpuarena_next.
   Run: make build/examples/08_two_tenants && build/examples/08_two_tenants;
   without a GPU: LD_LIBRARY_PATH=build/sim .. */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

enum { MOST_BLOCKS = 128 };
#define BLOCK_BYTES (8 * MIB)

typedef struct tenant { gpuarena *arena; void *blocks[MOST_BLOCKS]; int count; } tenant;

/* Opens an arena. Under a parent its memory counts there, too. */
static int open_arena(const char *name, gpuarena *parent, uint64_t limit_bytes, gpuarena **arena)
{
    gpuarena_config config = GPUARENA_INIT;
    snprintf(config.name, sizeof config.name, "%s", name);
    config.parent = parent;
    config.driver = parent ? NULL : example_driver();        /* sub-arenas have their parent's */
    config.limit_bytes = limit_bytes;
    return gpuarena_create(&config, arena) ? example_failed() : 0;
}

/* Takes blocks until one is refused, or there are MOST_BLOCKS. */
static int fill(tenant *self)
{
    gpuarena_result result = GPUARENA_OK;
    while (self->count < MOST_BLOCKS && result == GPUARENA_OK) {
        result = gpuarena_alloc(self->arena, &self->blocks[self->count], BLOCK_BYTES, NULL);
        self->count += result == GPUARENA_OK;
    }
    return result == GPUARENA_OK || result == GPUARENA_OUT_OF_MEMORY ? 0 : example_failed();
}

static void drop(tenant *self, int keep)
{
    while (self->count > keep) gpuarena_free(self->arena, self->blocks[--self->count], NULL);
}

/* Shows all arenas of the process, the oldest first. */
static void show(const char *when)
{
    const gpuarena *arena = NULL;
    printf("%s\n", when);
    while ((arena = gpuarena_next(arena)) != NULL) {
        gpuarena_config config;
        gpuarena_stats stats;
        gpuarena_get_config(arena, &config);
        gpuarena_get_stats(arena, &stats);
        printf("  %-6s live %4" PRIu64 ", cached %4" PRIu64 ", children %4" PRIu64 " = reserved %4" PRIu64
               " of %4" PRIu64 " MiB, refused %" PRIu64 "\n", config.name, stats.live_bytes / MIB,
               stats.cached_bytes / MIB, stats.children_bytes / MIB, stats.reserved_bytes / MIB,
               stats.limit_bytes / MIB, stats.fail_count);
    }
}

int main(void)
{
    gpuarena *whole;
    tenant first = { NULL, { NULL }, 0 }, second = { NULL, { NULL }, 0 };
    if (open_arena("whole", NULL, 1024 * MIB, &whole) || open_arena("first", whole, 312 * MIB, &first.arena)
        || open_arena("second", whole, 712 * MIB, &second.arena)) return 1;
    if (fill(&first)) return 1;
    example_explain(stdout, "first takes all it may have, and one block more");
    if (fill(&second)) return 1;
    show("second has all that it was promised:");
    drop(&first, 0);
    if (gpuarena_set_limit(second.arena, 1024 * MIB)) return example_failed();
    if (fill(&second)) return 1;
    show("first has freed all, and second may have more: first's idle memory goes there");
    if (fill(&first)) return 1;
    example_explain(stdout, "then first asks again");
    if (gpuarena_destroy(whole) != GPUARENA_STILL_IN_USE) return example_failed();
    example_explain(stdout, "the parent cannot go first");
    drop(&second, 0);
    if (gpuarena_destroy(second.arena) || gpuarena_destroy(first.arena) || gpuarena_destroy(whole))
        return example_failed();
    return 0;
}

/* A monitor: an arena's statistics, as JSON for people and tools, and as text for Prometheus, with live bytes by tag.
   Introduces gpuarena_report in JSON, GPUARENA_STATS as a loop, gpuarena_tag, gpuarena_get_tag, gpuarena_get_device.
   Run: make build/examples/10_monitor && build/examples/10_monitor [json];
   without a GPU: with LD_LIBRARY_PATH=build/sim before it */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"
#include <string.h>

static gpuarena_result print_piece(const char *text, size_t bytes, void *user)
{
    (void)user;
    return fwrite(text, 1, bytes, stdout) == bytes ? GPUARENA_OK : GPUARENA_STOPPED;
}

/* Prints a label. Backslashes and quotes in its value are escaped; names hold no other special characters. */
static void put_label(const char *label, const char *value)
{
    printf("%s=\"", label);
    for (; *value; value++) printf("%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    printf("\"");
}

static int ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Counts that only rise are counters, whose names end in _total; all else is a gauge. */
static void put_head(const char *name, int is_counter)
{
    printf("# HELP gpuarena_%s%s %s of gpuarena_stats.\n", name, is_counter ? "_total" : "", name);
    printf("# TYPE gpuarena_%s%s %s\n", name, is_counter ? "_total" : "", is_counter ? "counter" : "gauge");
}

static void put_stat(const char *arena, const char *name, uint64_t value)
{
    int is_counter = ends_in(name, "_count") && strcmp(name, "live_count") != 0;
    if (value == GPUARENA_NO_LIMIT) return;          /* without a limit the metric is absent */
    put_head(name, is_counter);
    printf("gpuarena_%s%s{", name, is_counter ? "_total" : "");
    put_label("arena", arena);
    printf("} %" PRIu64 "\n", value);
}

/* Prints one metric for all tags; tag 0 stands for blocks without a tag. */
static void put_tags(const gpuarena *arena, const char *name, const uint32_t *tags, int count, int peak)
{
    gpuarena_config config;
    gpuarena_get_config(arena, &config);
    printf("# HELP gpuarena_%s Bytes of live blocks by tag%s.\n", name, peak ? ", at their peak" : "");
    printf("# TYPE gpuarena_%s gauge\n", name);
    for (int i = 0; i < count; i++) {
        gpuarena_tag_stats stats;
        if (gpuarena_get_tag(arena, tags[i], &stats)) continue;
        printf("gpuarena_%s{", name);
        put_label("arena", config.name);
        printf(",");
        put_label("tag", gpuarena_tag_name(tags[i]));
        printf("} %" PRIu64 "\n", peak ? stats.live_peak_bytes : stats.live_bytes);
    }
}

static void put_prometheus(gpuarena *arena, const uint32_t *tags, int tag_count)
{
    gpuarena_stats stats;
    gpuarena_config config;
    gpuarena_device device;
    gpuarena_get_config(arena, &config);
    gpuarena_walk_stats(arena, &stats);         /* gpuarena_get_stats is faster, but lacks the longest free block */
#define X(field) put_stat(config.name, #field, stats.field);
    GPUARENA_STATS(X)
#undef X
    if (gpuarena_get_device(arena, &device) == GPUARENA_OK) {
        printf("# HELP gpuarena_other_bytes Device memory that others hold.\n# TYPE gpuarena_other_bytes gauge\n");
        printf("gpuarena_other_bytes{");
        put_label("arena", config.name);
        printf("} %" PRId64 "\n", device.other_bytes);
    }
    put_tags(arena, "tag_live_bytes", tags, tag_count, 0);
    put_tags(arena, "tag_live_peak_bytes", tags, tag_count, 1);
}

/* Allocates the blocks of a server: weights that stay, a cache that comes and goes, and blocks without a tag. */
static int fill(gpuarena *arena, uint32_t weights, uint32_t cache)
{
    gpuarena_request request = GPUARENA_INIT;
    void *block;
    uint64_t mark;
    request.bytes = 512 * MIB;
    request.tag = weights;
    if (gpuarena_alloc_ex(arena, &block, &request)) return example_failed();
    if (gpuarena_alloc(arena, &block, 3 * MIB, NULL)) return example_failed();
    mark = gpuarena_mark(arena);
    gpuarena_tag_scope(cache);                       /* tags all allocations of this thread from here on */
    for (int i = 0; i < 64; i++)
        if (gpuarena_alloc(arena, &block, 2 * MIB, NULL)) return example_failed();
    gpuarena_free_since(arena, mark, cache, NULL);
    for (int i = 0; i < 16; i++)
        if (gpuarena_alloc(arena, &block, 2 * MIB, NULL)) return example_failed();
    gpuarena_tag_scope(0);
    return 0;
}

int main(int argc, char **argv)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    uint32_t tags[3] = { 0, gpuarena_tag("weights"), gpuarena_tag("cache \"kv\"") };
    config.driver = example_driver();
    config.limit_bytes = 1024 * MIB;
    snprintf(config.name, sizeof config.name, "serve\\1");
    if (gpuarena_create(&config, &arena)) return example_failed();
    if (fill(arena, tags[1], tags[2])) return 1;
    if (argc < 2 || strcmp(argv[1], "json") != 0) put_prometheus(arena, tags, 3);
    else if (gpuarena_report(arena, GPUARENA_FORMAT_JSON, print_piece, NULL)) return example_failed();
    gpuarena_reset(arena, NULL);
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

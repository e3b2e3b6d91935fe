/* What tests of paged ranges share: an arena on a simulated device of its own, blocks whose contents are watched.
   It must not know what is tested. Included by test_section_pages.c. */
#ifndef TESTS_PAGED_H
#define TESTS_PAGED_H

#include "host_memory.h"
#include "sim_device.h"

enum { PAGED_BLOCKS = 512 };

typedef struct paged_block { char *ptr; uint64_t bytes, pattern; } paged_block;

typedef struct paged_bench {
    sim *machine;
    gpuarena_driver driver;
    gpuarena *arena;
    uint64_t page_bytes, pattern;
    host_memory host;
    paged_block blocks[PAGED_BLOCKS];
    int block_count;
} paged_bench;

/* An arena by the text of its configuration, on a machine that is there. */
static inline gpuarena_result paged_create(paged_bench *bench, const char *text)
{
    char message[200];
    gpuarena_config config = GPUARENA_INIT;
    if (gpuarena_config_parse(text, &config, message, sizeof message)) {
        printf("Bail out! %s: %s\n", text, message);
        exit(1);
    }
    config.backing = GPUARENA_BACKING_PAGED;
    config.environment = "";
    config.driver = &bench->driver;
    host_serve(&bench->host, &config);
    bench->page_bytes = config.page_bytes ? config.page_bytes : SIM_GRANULE;
    return gpuarena_create(&config, &bench->arena);
}

static inline void paged_open_on(paged_bench *bench, const sim_config *machine, const char *text)
{
    sim_bench device = bench_open(machine);
    memset(bench, 0, sizeof *bench);
    bench->machine = device.machine;
    bench->driver = device.driver;
    if (paged_create(bench, text)) {
        printf("Bail out! no arena: %s\n", text);
        exit(1);
    }
}

static inline void paged_open(paged_bench *bench, uint64_t capacity_bytes, const char *text)
{
    sim_config config = { 0, 0, 0, NULL, NULL, 0, 0 };
    config.capacity_bytes = capacity_bytes;
    paged_open_on(bench, &config, text);
}

static inline sim_counters paged_counters(const paged_bench *bench)
{
    sim_counters counters;
    sim_get_counters(bench->machine, 0, &counters);
    return counters;
}

/* ---- blocks, from one stream, each with a pattern of its own */

static inline gpuarena_result paged_ask(paged_bench *bench, const gpuarena_request *request)
{
    void *ptr = NULL;
    gpuarena_result result = gpuarena_alloc_ex(bench->arena, &ptr, request);
    if (result || !request->bytes || bench->block_count == PAGED_BLOCKS) return result;
    paged_block made = { ptr, request->bytes, ++bench->pattern };
    sim_fill(bench->machine, 0, ptr, made.bytes, made.pattern);
    bench->blocks[bench->block_count++] = made;
    return result;
}

static inline gpuarena_result paged_alloc(paged_bench *bench, uint64_t bytes)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    return paged_ask(bench, &request);
}

/* By its number; later ones move up. The GPU is done with it. */
static inline gpuarena_result paged_free(paged_bench *bench, int number)
{
    gpuarena_result result = gpuarena_free(bench->arena, bench->blocks[number].ptr, GPUARENA_ANY_STREAM);
    bench->block_count--;
    for (int at = number; at < bench->block_count; at++) bench->blocks[at] = bench->blocks[at + 1];
    return result;
}

/* Frees all, destroys, and says what is left on the device or the host; "": nothing. */
static inline const char *paged_close(paged_bench *bench)
{
    const char *trouble = "";
    while (bench->block_count && !trouble[0]) if (paged_free(bench, 0)) trouble = "a free at the end";
    if (!trouble[0] && gpuarena_destroy(bench->arena)) trouble = "destroy";
    sim_counters counters = paged_counters(bench);
    if (!trouble[0] && counters.handle_count) trouble = "handles are left";
    if (!trouble[0] && counters.mapping_count) trouble = "mappings are left";
    if (!trouble[0] && counters.reserved_address_bytes) trouble = "addresses are left";
    if (!trouble[0] && counters.held_bytes) trouble = "memory is left";
    if (!trouble[0] && host_close(&bench->host)) trouble = host_close(&bench->host);
    if (!trouble[0] && sim_finding_count(bench->machine)) trouble = "the judge has findings";
    if (strcmp(trouble, "the judge has findings") == 0) printf("# %s\n", sim_finding(bench->machine, 0));
    sim_destroy(bench->machine);
    return trouble;
}

#endif

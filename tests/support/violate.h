/* For tests of gpuarena_check: an arena of pages on a simulated device, of which one field is put wrong, which the
   check must name, and right again. It must not know any field. */
#ifndef TESTS_VIOLATE_H
#define TESTS_VIOLATE_H

#include "gpuarena.h"
#include "sim_device.h"

static sim_bench bench;
static gpuarena *arena;                          /* what is checked */

static void open_paged(uint64_t device_bytes, const char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    bench = bench_open_sized(device_bytes, NULL);
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    config.environment = "";
    config.driver = &bench.driver;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
}

static void close_paged(void)
{
    CHECK_INT(gpuarena_reset(arena, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(bench_counters(&bench).held_bytes + sim_finding_count(bench.machine), ==, 0);
    bench_close(&bench);
}

static gpuarena__node *node_of(const void *block)
{
    return gpuarena__node_at(arena, gpuarena__node_around(arena, gpuarena__address(block)));
}

/* Puts a value into a field of 4 or 8 bytes, expects the complaint, and puts the old value back. */
static void violate(void *field, size_t size, uint64_t value, const char *complaint)
{
    unsigned char old[8];
    uint32_t narrow = (uint32_t)value;
    char message[200] = "";
    memcpy(old, field, size);
    memcpy(field, size == 4 ? (const void *)&narrow : (const void *)&value, size);
    gpuarena_result result = gpuarena_check(arena, message, sizeof message);
    memcpy(field, old, size);
    CHECK_MSG(result == GPUARENA_CORRUPT && strncmp(message, complaint, strlen(complaint)) == 0, "%s", complaint);
    if (strncmp(message, complaint, strlen(complaint))) printf("# said: %s\n", message);
    if (gpuarena_check(arena, message, sizeof message)) CHECK_MSG(0, "mended, but: %s", message);
}

#define VIOLATE(field, value, complaint) violate(&(field), sizeof(field), (uint64_t)(value), complaint)

#endif

/* gpuarena as a shared library, for languages that load one: all functions of the header, and a few more that keep
   structs on this side. make build/libgpuarena.so; gpuarena.py uses it. */
#define _POSIX_C_SOURCE 200809L
#define GPUARENA_IMPLEMENTATION
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "gpuarena.h"

/* Creates an arena on a CUDA device (-1: the current one; with a parent: the parent's), configured by a text such as
   "limit=4G". GPUARENA_CONF applies to keys that the text leaves out. */
gpuarena_result gpuarena_create_from(int device, const char *text, const char *name, gpuarena *parent,
                                     gpuarena **arena);
/* gpuarena_stats_names returns the names of all statistics with a space between them. gpuarena_stats_values writes
   the values in that order, and returns their number; values NULL: it only returns the number. */
const char *gpuarena_stats_names(void);
size_t gpuarena_stats_values(const gpuarena *arena, uint64_t *values);
/* Writes the sentence of the last failure, of the arena or (NULL) of this thread. Returns the name of its reason,
   which may be "none". */
const char *gpuarena_failure_of(const gpuarena *arena, char *text, size_t bytes);

gpuarena_result gpuarena_create_from(int device, const char *text, const char *name, gpuarena *parent,
                                     gpuarena **arena)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_driver driver;
    gpuarena_result result = gpuarena_config_parse(text, &config, NULL, 0);
    if (result == GPUARENA_OK && !parent) {
        result = gpuarena_driver_cuda(device, &driver);
        config.driver = &driver;
    }
    config.parent = parent;
    snprintf(config.name, sizeof config.name, "%s", name);
    return result == GPUARENA_OK ? gpuarena_create(&config, arena) : result;
}

const char *gpuarena_stats_names(void)
{
#define NAME(field) #field " "
    return GPUARENA_STATS(NAME);
#undef NAME
}

size_t gpuarena_stats_values(const gpuarena *arena, uint64_t *values)
{
    gpuarena_stats stats;
    size_t count = 0;
    if (!values) {
        return sizeof stats / sizeof(uint64_t);
    }
    gpuarena_get_stats(arena, &stats);
#define VALUE(field) values[count++] = stats.field;
    GPUARENA_STATS(VALUE)
#undef VALUE
    return count;
}

const char *gpuarena_failure_of(const gpuarena *arena, char *text, size_t bytes)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    gpuarena_failure_text(&failure, text, bytes);
    return gpuarena_reason_name(failure.reason);
}

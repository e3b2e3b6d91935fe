/* A policy at work on the simulated device: the arena's calls, or the driver's own for `raw`.
   It must not know of workloads; it times nothing and checks nothing (see oracle.h).
   Tested by tests/test_policy.c. */
#include <inttypes.h>
#include <string.h>

#include "policy.h"

enum { POOL_RAW_ALIGNMENT = 256 };               /* cudaMalloc's */

static uint64_t pool_round_up(uint64_t bytes, uint64_t alignment)
{
    return bytes > UINT64_MAX - alignment ? bytes : (bytes + alignment - 1) / alignment * alignment;
}

/* What a driver code means for a raw call, in the library's terms. */
static gpuarena_result pool_raw_result(const pool *self, int code)
{
    gpuarena_status status =
        self->driver.classify ? self->driver.classify(&self->driver, code) : (gpuarena_status)code;
    switch (status) {
    case GPUARENA_STATUS_DONE:          return GPUARENA_OK;
    case GPUARENA_STATUS_NO_MEMORY:     return GPUARENA_OUT_OF_MEMORY;
    case GPUARENA_STATUS_CAPTURING:     return GPUARENA_CAPTURE;
    case GPUARENA_STATUS_NOT_SUPPORTED: return GPUARENA_NOT_SUPPORTED;
    case GPUARENA_STATUS_LOST:          return GPUARENA_DEVICE_LOST;
    case GPUARENA_STATUS_NOT_READY:
    case GPUARENA_STATUS_UNLOADING:
    case GPUARENA_STATUS_FAILED:        break;
    }
    return GPUARENA_DRIVER_ERROR;
}

int pool_open(pool *self, const policy *chosen, sim *device, problem *why)
{
    memset(self, 0, sizeof *self);
    self->sim = device;
    sim_driver(device, 0, &self->driver);
    self->alignment_bytes = POOL_RAW_ALIGNMENT;
    self->limit_bytes = GPUARENA_NO_LIMIT;
    if (chosen->raw) return 0;
    gpuarena_config config = chosen->config;
    config.driver = &self->driver;
    gpuarena_result result = gpuarena_create(&config, &self->arena);
    if (result) {
        gpuarena_failure failure;
        char text[400];
        gpuarena_last_failure(NULL, &failure);
        gpuarena_failure_text(&failure, text, sizeof text);
        return problem_set(why, result == GPUARENA_INVALID_CONFIG ? EXIT_USAGE : EXIT_HARNESS,
                           "policy '%s': no arena: %s", chosen->text, text);
    }
    gpuarena_get_config(self->arena, &config);
    self->alignment_bytes = config.alignment;
    self->limit_bytes = config.limit_bytes;
    return 0;
}

void pool_close(pool *self)
{
    if (!self->arena) return;
    if (gpuarena_destroy(self->arena)) {
        gpuarena_reset(self->arena, NULL);
        gpuarena_destroy(self->arena);
    }
    self->arena = NULL;
}

/* cudaMalloc and cudaFree know no streams. */
static gpuarena_result pool_raw_alloc(pool *self, void **ptr, uint64_t bytes)
{
    void *memory = NULL;
    int code = bytes ? self->driver.memory.obtain(&self->driver, GPUARENA_MEMORY_DEVICE, &memory, bytes, NULL) : 0;
    gpuarena_result result = bytes ? pool_raw_result(self, code) : GPUARENA_OK;
    if (result) {
        self->refused_bytes = bytes;
        self->refused_code = code;
        return result;
    }
    *ptr = memory;
    self->requested_bytes += bytes;
    self->live_bytes += pool_round_up(bytes, POOL_RAW_ALIGNMENT);
    return GPUARENA_OK;
}

static gpuarena_result pool_raw_free(pool *self, void *ptr, uint64_t bytes)
{
    if (!ptr) return GPUARENA_OK;
    int code = self->driver.memory.give_back(&self->driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
    gpuarena_result result = pool_raw_result(self, code);
    if (result) {
        self->refused_bytes = bytes;
        self->refused_code = code;
        return result;
    }
    self->requested_bytes -= bytes;
    self->live_bytes -= pool_round_up(bytes, POOL_RAW_ALIGNMENT);
    return GPUARENA_OK;
}

gpuarena_result pool_alloc(pool *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_alloc(self->arena, ptr, bytes, stream);
    return pool_raw_alloc(self, ptr, bytes);
}

gpuarena_result pool_free(pool *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_free(self->arena, ptr, stream);
    return pool_raw_free(self, ptr, bytes);
}

void pool_measure(const pool *self, memory_use *use, gpuarena_stats *stats)
{
    memset(use, 0, sizeof *use);
    memset(stats, 0, sizeof *stats);
    if (!self->arena) {
        sim_counters counters;
        sim_get_counters(self->sim, 0, &counters);
        use->requested_bytes = self->requested_bytes;
        use->live_bytes = self->live_bytes;
        use->reserved_bytes = counters.held_bytes;
        return;
    }
    gpuarena_get_stats(self->arena, stats);
    use->requested_bytes = stats->requested_bytes;
    use->live_bytes = stats->live_bytes;
    use->reserved_bytes = stats->reserved_bytes;
    use->free_bytes = stats->cached_bytes + stats->pending_bytes;
    use->largest_bytes = stats->largest_free_bytes;
    use->stranded_bytes = stats->stranded_bytes;
}

static void pool_raw_refusal(pool *self, pool_refusal *refusal)
{
    uint64_t free_bytes = 0, total_bytes = 0;
    self->driver.memory.info(&self->driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes);
    const char *name =
        self->driver.code_name ? self->driver.code_name(&self->driver, self->refused_code) : "driver code";
    refusal->requested_bytes = self->refused_bytes;
    refusal->free_bytes = free_bytes;
    refusal->reason = gpuarena_reason_name(GPUARENA_REASON_DRIVER_REFUSED);
    snprintf(refusal->text, sizeof refusal->text,
             "%s (%d) for a block of %" PRIu64 " bytes; the device has %" PRIu64 " of %" PRIu64 " bytes free",
             name ? name : "?", self->refused_code, self->refused_bytes, free_bytes, total_bytes);
}

void pool_last_refusal(pool *self, pool_refusal *refusal)
{
    memset(refusal, 0, sizeof *refusal);
    if (!self->arena) {
        pool_raw_refusal(self, refusal);
        return;
    }
    gpuarena_failure failure;
    gpuarena_last_failure(self->arena, &failure);
    refusal->requested_bytes = failure.requested_bytes;
    refusal->free_bytes = failure.cached_bytes + failure.pending_bytes;
    refusal->largest_bytes = failure.largest_free_bytes;
    refusal->largest_known = 1;
    refusal->reason = gpuarena_reason_name(failure.reason);
    gpuarena_failure_text(&failure, refusal->text, sizeof refusal->text);
}

/* A policy at work on a device: the arena's calls, a model's, a rival's, or the driver's own for `raw`.
   It must not know of workloads; it times nothing and checks nothing (see oracle.h). */
#include "policy.h"

enum { POOL_DRIVER_ALIGNMENT = 256 };            /* cudaMalloc's */

/* A request for something that no device, or not this one, can do is the user's mistake. */
static int pool_open_arena(pool *self, const policy *chosen, problem *why)
{
    gpuarena_config config = chosen->config;
    config.driver = device_driver(self->device);
    gpuarena_result result = gpuarena_create(&config, &self->arena);
    if (result) {
        gpuarena_failure failure;
        const char *own = "arena: ";             /* some begin with the name */
        char text[400];
        gpuarena_last_failure(NULL, &failure);
        gpuarena_failure_text(&failure, text, sizeof text);
        int is_usage = result == GPUARENA_INVALID_CONFIG || result == GPUARENA_NOT_SUPPORTED;
        return problem_set(why, is_usage ? EXIT_USAGE : EXIT_HARNESS, "policy '%s': no arena: %s", chosen->text,
                           text + (strncmp(text, own, strlen(own)) ? 0 : strlen(own)));
    }
    gpuarena_get_config(self->arena, &config);
    self->alignment_bytes = config.alignment;
    self->rounds_up = config.debug != GPUARENA_DEBUG_OFF
                      || (config.backing == GPUARENA_BACKING_ASYNC && !device_simulated(self->device));
    self->in_order = config.backing == GPUARENA_BACKING_ASYNC || config.scrub & GPUARENA_SCRUB_ALLOC;
    self->limit_bytes = config.limit_bytes;
    return 0;
}

/* The limit in bytes, of the device as it is now. */
static uint64_t pool_limit(const pool *self, const gpuarena_config *config)
{
    const gpuarena_driver *driver = device_driver(self->device);
    uint64_t free_bytes = 0, total_bytes = 0, bytes = config->limit_bytes;
    if (config->limit_base == GPUARENA_LIMIT_BYTES) return bytes ? bytes : GPUARENA_NO_LIMIT;
    if (driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes)) return GPUARENA_NO_LIMIT;
    switch (config->limit_base) {
    case GPUARENA_LIMIT_OF_TOTAL:    return (uint64_t)((double)total_bytes * config->limit_fraction);
    case GPUARENA_LIMIT_OF_FREE:     return (uint64_t)((double)free_bytes * config->limit_fraction);
    case GPUARENA_LIMIT_TOTAL_MINUS: return total_bytes > bytes ? total_bytes - bytes : 0;
    case GPUARENA_LIMIT_FREE_MINUS:  return free_bytes > bytes ? free_bytes - bytes : 0;
    default:                         return GPUARENA_NO_LIMIT;
    }
}

/* Without virtual memory it is the user's mistake to ask for a model that lives on it. */
static int pool_open_model(pool *self, const policy *chosen, problem *why)
{
    gpuarena_result result;
    const model_kind *kind = chosen->model;
    self->limit_bytes = pool_limit(self, &chosen->config);
    self->model = model_open(kind, device_driver(self->device), self->limit_bytes, &result);
    if (!self->model) {
        int is_usage = result == GPUARENA_NOT_SUPPORTED;
        return problem_set(why, is_usage ? EXIT_USAGE : EXIT_HARNESS, "policy '%s': %s%s", chosen->text,
                           is_usage ? "the device has no virtual memory" : "its first memory: ",
                           is_usage ? "" : gpuarena_result_name(result));
    }
    if (kind->alignment_bytes > POOL_DRIVER_ALIGNMENT) self->alignment_bytes = kind->alignment_bytes;
    self->in_order = kind->in_order;
    self->goes_home = kind->use != NULL;
    return 0;
}

static int pool_open_rival(pool *self, const policy *chosen, problem *why)
{
    problem trouble = { 0, "" };
    self->rival = rival_open(self->device, &trouble);
    if (self->rival) return 0;
    return problem_set(why, trouble.exit_code, "policy '%s': %s", chosen->text, trouble.text);
}

int pool_open(pool *self, const policy *chosen, device *on, problem *why)
{
    const pool made = { .device = on, .alignment_bytes = POOL_DRIVER_ALIGNMENT, .limit_bytes = GPUARENA_NO_LIMIT };
    *self = made;
    switch (chosen->family) {
    case POLICY_ARENA: return pool_open_arena(self, chosen, why);
    case POLICY_MODEL: return pool_open_model(self, chosen, why);
    case POLICY_RIVAL: return pool_open_rival(self, chosen, why);
    case POLICY_ASYNC:
        self->memory = GPUARENA_MEMORY_ASYNC;
        self->in_order = 1;
        break;
    case POLICY_RAW:   break;
    }
    return 0;
}

void pool_close(pool *self)
{
    rival_close(self->rival);
    self->rival = NULL;
    model_close(self->model);
    self->model = NULL;
    if (!self->arena) return;
    if (gpuarena_destroy(self->arena)) {
        gpuarena_reset(self->arena, NULL);
        gpuarena_destroy(self->arena);
    }
    self->arena = NULL;
}

static gpuarena_result pool_refused(pool *self, const char *call, uint64_t bytes, int code)
{
    const model_refusal refused = { .reason = GPUARENA_REASON_DRIVER_REFUSED, .call = call, .code = code,
                                    .requested_bytes = bytes };
    self->refused = refused;
    return model_code_result(device_driver(self->device), code);
}

/* 0 bytes are no request to cudaMalloc, and a rival would hand out a block: nobody is asked. cudaMalloc and cudaFree
   ignore the stream. */
gpuarena_result pool_alloc(pool *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    void *memory = NULL;
    int code = 0;
    if (self->arena) return gpuarena_alloc(self->arena, ptr, bytes, stream);
    if (self->model) {
        gpuarena_result result = model_alloc(self->model, ptr, bytes, stream, &self->refused);
        if (!result) self->requested_bytes += bytes;
        return result;
    }
    const gpuarena_driver *driver = device_driver(self->device);
    if (bytes && self->rival) code = self->rival->calls->alloc(self->rival->library, &memory, bytes, stream);
    else if (bytes) code = driver->memory.obtain(driver, self->memory, &memory, bytes, stream);
    if (code) return pool_refused(self, NULL, bytes, code);
    *ptr = memory;
    self->requested_bytes += bytes;
    self->live_bytes += memory_round_up(bytes, POOL_DRIVER_ALIGNMENT);
    return GPUARENA_OK;
}

gpuarena_result pool_free(pool *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_free(self->arena, ptr, stream);
    if (self->model) {
        gpuarena_result result = model_free(self->model, ptr, stream, &self->refused);
        if (!result && ptr) self->requested_bytes -= bytes;
        return result;
    }
    if (!ptr) return GPUARENA_OK;
    const gpuarena_driver *driver = device_driver(self->device);
    int is_async = self->memory == GPUARENA_MEMORY_ASYNC;
    const char *name = self->rival ? "DeviceFree" : is_async ? "cudaFreeAsync" : "cudaFree";
    int code = self->rival ? self->rival->calls->free(self->rival->library, ptr)
                           : driver->memory.give_back(driver, self->memory, ptr, bytes, stream);
    if (code) return pool_refused(self, name, bytes, code);
    self->requested_bytes -= bytes;
    self->live_bytes -= memory_round_up(bytes, POOL_DRIVER_ALIGNMENT);
    return GPUARENA_OK;
}

gpuarena_result pool_use(pool *self, const void *ptr, gpuarena_stream stream)
{
    if (self->model) return model_use(self->model, ptr, stream, &self->refused);
    return self->arena ? gpuarena_use(self->arena, ptr, stream) : GPUARENA_OK;
}

int pool_follows(const pool *self)
{
    return self->rival || self->memory == GPUARENA_MEMORY_ASYNC || (self->model && !self->goes_home);
}

gpuarena_result pool_forget(pool *self, gpuarena_stream stream)
{
    if (self->model) return model_end_stream(self->model, stream, &self->refused);
    return self->arena ? gpuarena_forget(self->arena, stream) : GPUARENA_OK;
}

/* The driver's pool keeps nothing beyond a wait: its threshold is 0. */
gpuarena_result pool_trim(pool *self)
{
    const gpuarena_driver *driver = device_driver(self->device);
    if (self->arena) return gpuarena_trim(self->arena, 0, NULL);
    if (self->model) return model_trim(self->model, &self->refused);
    int waits = self->memory == GPUARENA_MEMORY_ASYNC;
    int code = waits ? driver->events.device_wait(driver)
             : self->rival ? self->rival->calls->trim(self->rival->library) : 0;
    return code ? pool_refused(self, waits ? "cudaDeviceSynchronize" : "FreeAllCached", 0, code) : GPUARENA_OK;
}

uint64_t pool_block_bytes(const pool *self, const void *ptr, uint64_t requested_bytes)
{
    gpuarena_block block;
    if (self->rival) return requested_bytes;
    if (self->model) return model_block_bytes(self->model, ptr);
    if (!self->arena) return memory_round_up(requested_bytes, POOL_DRIVER_ALIGNMENT);
    return gpuarena_lookup(self->arena, ptr, &block) ? requested_bytes : block.bytes;
}

void pool_measure(const pool *self, memory_use *use, gpuarena_stats *stats)
{
    memset(use, 0, sizeof *use);
    if (!self->arena) {
        device_counters counters;
        cub_library_use rival_now;
        memset(stats, 0, sizeof *stats);
        device_count(self->device, &counters);
        use->requested_bytes = self->requested_bytes;
        use->live_bytes = self->live_bytes;
        use->reserved_bytes = counters.held_bytes;
        if (self->model) model_measure(self->model, use);
        if (!self->rival) return;
        self->rival->calls->measure(self->rival->library, &rival_now);
        use->live_bytes = rival_now.live_bytes;
        use->free_bytes = rival_now.cached_bytes;
        return;
    }
    gpuarena_get_stats(self->arena, stats);
    use->requested_bytes = stats->requested_bytes;
    use->live_bytes = stats->live_bytes;
    use->reserved_bytes = stats->reserved_bytes;
    use->free_bytes = stats->cached_bytes + stats->pending_bytes;
    use->stranded_bytes = stats->stranded_bytes;
    use->pending_bytes = stats->pending_bytes;
}

uint64_t pool_largest(const pool *self)
{
    gpuarena_stats stats;
    if (self->model) return model_largest(self->model);
    if (!self->arena) return 0;
    gpuarena_walk_stats(self->arena, &stats);
    return stats.largest_free_bytes;
}

/* Free bytes are told of a request that found no memory; a device that is lost cannot say. */
static void pool_driver_refusal(const pool *self, const model_refusal *said, pool_refusal *refusal)
{
    const gpuarena_driver *driver = device_driver(self->device);
    const char *name = driver->code_name(driver, said->code);
    uint64_t total_bytes = 0;
    char clause[96] = "";
    if (said->call) {
        if (said->requested_bytes) snprintf(clause, sizeof clause, " of %" PRIu64 " bytes", said->requested_bytes);
        snprintf(refusal->text, sizeof refusal->text, "%s%s: %s (%d)", said->call, clause, name, said->code);
        return;
    }
    refusal->free_known = !driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &refusal->free_bytes, &total_bytes);
    if (refusal->free_known) {
        snprintf(clause, sizeof clause, "; the device has %" PRIu64 " of %" PRIu64 " bytes free", refusal->free_bytes,
                 total_bytes);
    } else refusal->free_bytes = 0;
    snprintf(refusal->text, sizeof refusal->text, "%s (%d) for a block of %" PRIu64 " bytes%s", name, said->code,
             said->requested_bytes, clause);
}

/* A model's refusal, in its own numbers. */
static void pool_model_refusal(const pool *self, const model_refusal *said, pool_refusal *refusal)
{
    const gpuarena_driver *driver = device_driver(self->device);
    int is_fragmented = said->reason == GPUARENA_REASON_FRAGMENTED;
    char cause[120] = "", limit[64] = "";
    refusal->free_known = refusal->largest_known = 1;
    refusal->free_bytes = said->free_bytes;
    refusal->largest_bytes = said->largest_bytes;
    if (said->code) {
        snprintf(cause, sizeof cause, "%s%s%s (%d)", said->call ? said->call : "", said->call ? ": " : "",
                 driver->code_name(driver, said->code), said->code);
    } else snprintf(cause, sizeof cause, "%s", refusal->reason);
    if (self->limit_bytes != GPUARENA_NO_LIMIT)
        snprintf(limit, sizeof limit, " of the limit's %" PRIu64, self->limit_bytes);
    snprintf(refusal->text, sizeof refusal->text, "%s for a block of %" PRIu64 " bytes; reserved are %" PRIu64
             "%s; %" PRIu64 " bytes of them are free%s; the largest free block has %" PRIu64, cause,
             said->requested_bytes, said->reserved_bytes, limit, said->free_bytes,
             is_fragmented ? ", but fit in no single free block" : "", said->largest_bytes);
}

static void pool_arena_refusal(const pool *self, pool_refusal *refusal)
{
    gpuarena_failure failure;
    gpuarena_last_failure(self->arena, &failure);
    refusal->requested_bytes = failure.requested_bytes;
    refusal->free_bytes = failure.cached_bytes + failure.pending_bytes;
    refusal->largest_bytes = failure.largest_free_bytes;
    refusal->free_known = refusal->largest_known = 1;
    refusal->reason = gpuarena_reason_name(failure.reason);
    gpuarena_failure_text(&failure, refusal->text, sizeof refusal->text);
}

void pool_last_refusal(pool *self, pool_refusal *refusal)
{
    const model_refusal *said = &self->refused;
    memset(refusal, 0, sizeof *refusal);
    if (self->arena) {
        pool_arena_refusal(self, refusal);
        return;
    }
    refusal->requested_bytes = said->requested_bytes;
    refusal->reason = gpuarena_reason_name(said->reason);
    if (self->model) pool_model_refusal(self, said, refusal);
    else pool_driver_refusal(self, said, refusal);
}

/* What a scenario has in hand: a verdict to give, and one policy on fresh simulated devices: opened, asked for memory
   and figures, and looked over when it is closed. Nothing here is timed.
   It must not know what any scenario is about. Included by test_needs.c. */
#ifndef TESTS_SCENARIO_SCENE_H
#define TESTS_SCENARIO_SCENE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stress/base/splitmix64.h"
#include "stress/policy/policy.h"
#include "stress/workload/workload.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

enum { GROUND_WORK_NS = 2000 };                  /* of the GPU, on each block */

typedef enum need_verdict {
    NEED_UNSAID,                                 /* a scenario that ends so is a defect of the harness */
    NEED_PASS, NEED_FAIL,
    NEED_NONE                                    /* it is not this policy's need */
} need_verdict;

typedef struct scene {                           /* one scenario, on one policy */
    const policy *chosen;
    device_config device;                        /* costs, virtual memory: as asked for; the size is the scenario's */
    uint64_t      seed;
    need_verdict  verdict;
    char          said[240];                     /* the figures that were measured */
    problem       trouble;                       /* of the harness; exit code 0: none */
} scene;

typedef struct ground_shape {                    /* zero: default */
    uint64_t    capacity_bytes;                  /* 16 GiB */
    const char *faults;
    uint64_t    limit_bytes;                     /* arenas and models alone: 0: none */
    const char *keys;                            /* laid over an arena's configuration */
    void      (*adapt)(gpuarena_config *config, void *user);     /* likewise, and after them */
    void       *user;
} ground_shape;

typedef struct ground {                          /* the policy at work, on a fresh device */
    scene   *of;
    policy   chosen;
    device  *on;
    pool     pool;
    uint64_t op, owner;                          /* of the device: operations, and blocks that were handed out */
    gpuarena_result result;                      /* of the latest ground_alloc */
} ground;

typedef struct ground_played {
    uint64_t ops, refused;                       /* it ends at the first refusal */
    uint64_t live_peak_bytes, reserved_peak_bytes;       /* requested; ground_reported */
} ground_played;

/* The verdict, and what was measured: the first FAIL stays, and goes before what is said after it. */
static void PROBLEM_FORMAT(3, 4) scene_say(scene *self, int passed, const char *format, ...)
{
    va_list values;
    if (self->verdict == NEED_FAIL) return;
    self->verdict = passed ? NEED_PASS : NEED_FAIL;
    va_start(values, format);
    vsnprintf(self->said, sizeof self->said, format, values);
    va_end(values);
}

/* 1: the policy is no arena, and so has no `what` ("a limit"): FAIL; of a model it is not asked. */
static int scene_lacks(scene *self, const char *what)
{
    if (self->chosen->family == POLICY_ARENA) return 0;
    scene_say(self, 0, "%s has no %s", self->chosen->text, what);
    if (self->chosen->family == POLICY_MODEL) self->verdict = NEED_NONE;
    return 1;
}

/* It has failed, or the harness has. */
static int scene_is_over(const scene *self)
{
    return self->verdict == NEED_FAIL || self->trouble.exit_code;
}

/* A workload by its specification; -1: trouble. */
static int scene_workload(scene *self, const char *spec, op_stream *stream)
{
    workload_options options;
    memset(&options, 0, sizeof options);
    options.seed_given = 1;
    options.seed = self->seed;
    return workload_make(spec, &options, stream, &self->trouble);
}

static int ground_adapt(ground *self, const ground_shape *shape)
{
    char message[400];
    gpuarena_config *config = &self->chosen.config;
    if (!policy_takes_limit(&self->chosen)) return 0;
    if (shape->limit_bytes) config->limit_bytes = shape->limit_bytes;
    if (shape->keys && gpuarena_config_parse(shape->keys, config, message, sizeof message)) {
        return problem_set(&self->of->trouble, EXIT_HARNESS, "keys '%s': %s", shape->keys, message);
    }
    if (self->chosen.family == POLICY_ARENA && shape->adapt) shape->adapt(config, shape->user);
    return 0;
}

static int ground_device(ground *self, const ground_shape *shape)
{
    device_config config = self->of->device;
    config.sim.capacity_bytes = shape->capacity_bytes ? shape->capacity_bytes : 16 * GIB;
    config.sim.faults = shape->faults;
    self->on = device_open(&config, &self->of->trouble);
    return self->on ? 0 : -1;
}

/* Operation 0 is the opening. -1: it could not be opened: the scene's verdict is FAIL, or it has its trouble.
   ground_close in both cases. */
static int ground_open(ground *self, scene *of, const ground_shape *shape)
{
    problem refused = { 0, "" };
    memset(self, 0, sizeof *self);
    self->of = of;
    self->chosen = *of->chosen;
    if (ground_adapt(self, shape) || ground_device(self, shape)) return -1;
    device_begin_op(self->on, self->op++);
    if (!pool_open(&self->pool, &self->chosen, self->on, &refused)) return 0;
    memset(&self->pool, 0, sizeof self->pool);
    if (refused.exit_code == EXIT_NO_DEVICE) of->trouble = refused;
    else scene_say(of, 0, "%s", refused.text);
    return -1;
}

static void ground_look_over(ground *self)
{
    char message[256];
    device_counters counters;
    device_count(self->on, &counters);
    if (counters.findings) scene_say(self->of, 0, "the device's judge: %s", device_finding(self->on, 0));
    if (self->pool.arena && gpuarena_check(self->pool.arena, message, sizeof message)) {
        scene_say(self->of, 0, "gpuarena_check: %s", message);
    }
}

/* FAIL, where the device's judge or gpuarena_check has something to say. */
static void ground_close(ground *self)
{
    if (!self->on) return;
    ground_look_over(self);
    pool_close(&self->pool);
    (void)device_close(self->on, NULL);          /* simulated: nothing can stay */
    self->on = NULL;
}

/* Operations of their own. A block is used on its stream as soon as it is there; NULL: self->result says why. */
static void *ground_alloc(ground *self, uint64_t bytes, gpuarena_stream stream)
{
    void *ptr = NULL;
    device_begin_op(self->on, self->op++);
    self->result = pool_alloc(&self->pool, &ptr, bytes, stream);
    if (self->result || !ptr) return NULL;
    (void)device_work(self->on, stream, GROUND_WORK_NS, &self->of->trouble);
    (void)device_access(self->on, stream, ptr, bytes, ++self->owner, &self->of->trouble);
    return ptr;
}

static void ground_free(ground *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    device_begin_op(self->on, self->op++);
    gpuarena_result result = pool_free(&self->pool, ptr, bytes, stream);
    if (result) scene_say(self->of, 0, "a free of %" PRIu64 " bytes: %s", bytes, gpuarena_result_name(result));
}

/* A new one; NULL: trouble. */
static gpuarena_stream ground_stream(ground *self)
{
    gpuarena_stream made = NULL;
    (void)device_stream_create(self->on, &made, &self->of->trouble);
    return made;
}

static void ground_work(ground *self, gpuarena_stream stream, uint64_t work_ns)
{
    (void)device_work(self->on, stream, work_ns, &self->of->trouble);
}

/* What the device has in use, as cudaMemGetInfo tells. */
static uint64_t ground_used(ground *self)
{
    uint64_t free_bytes = 0, total_bytes = 0;
    const gpuarena_driver *driver = device_driver(self->on);
    int code = driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes);
    if (code) problem_set(&self->of->trouble, EXIT_HARNESS, "cudaMemGetInfo: code %d", code);
    return total_bytes - free_bytes;
}

/* What the policy itself says that it holds: reserved; live and cached; raw can only ask the device. */
static uint64_t ground_reported(ground *self)
{
    memory_use use;
    gpuarena_stats stats;
    if (!self->pool.arena && !self->pool.rival && !self->pool.model) return ground_used(self);
    pool_measure(&self->pool, &use, &stats);
    return self->pool.arena ? stats.reserved_bytes : use.live_bytes + use.free_bytes;
}

static device_counters ground_count(const ground *self)
{
    device_counters counters;
    device_count(self->on, &counters);
    return counters;
}

/* Of the driver, on memory, so far. */
static uint64_t ground_calls(const ground *self)
{
    return ground_count(self).calls;
}

/* Physical bytes, as the simulated device knows; and the highest, at any call. */
static uint64_t ground_held(const ground *self)
{
    return ground_count(self).held_bytes;
}

static uint64_t ground_held_peak(const ground *self)
{
    return ground_count(self).held_peak_bytes;
}

/* The growth whole at creation, whatever the policy's own is: for ground_shape.adapt. */
static void ground_fixed(gpuarena_config *config, void *user)
{
    (void)user;
    config->growth = GPUARENA_GROWTH_FIXED;
    config->initial_bytes = config->step_bytes = config->step_max_bytes = 0;
    config->release = GPUARENA_RELEASE_ON_DEMAND;
    config->release_bytes = 0;
    config->release_keep = 0.0;
    config->release_age = 0;
}

typedef struct ground_block { void *ptr; uint64_t bytes; } ground_block;

/* 1: refused. */
static int ground_play_op(ground *self, const op *done, ground_block *blocks, uint64_t *live_bytes)
{
    ground_block *block = &blocks[done->first];
    if (done->kind == OP_ALLOC) {
        block->bytes = done->value;
        block->ptr = ground_alloc(self, block->bytes, NULL);
        if (self->result) return 1;
        *live_bytes += block->bytes;
    } else {
        ground_free(self, block->ptr, block->bytes, NULL);
        *live_bytes -= block->bytes;
        block->ptr = NULL;
    }
    return 0;
}

/* Allocations and frees of an op stream, all on the default stream, for as many as fit; then all is freed. -1:
   trouble. */
static int ground_play(ground *self, const op_stream *stream, ground_played *played)
{
    uint64_t live_bytes = 0;
    ground_block *blocks = calloc(stream->block_count + 1, sizeof *blocks);
    memset(played, 0, sizeof *played);
    if (!blocks) return problem_set(&self->of->trouble, EXIT_HARNESS, "no host memory for the blocks");
    for (size_t index = 0; index < stream->op_count && !played->refused; index++) {
        const op *done = &stream->ops[index];
        if (done->kind != OP_ALLOC && done->kind != OP_FREE) continue;
        played->refused = (uint64_t)ground_play_op(self, done, blocks, &live_bytes);
        played->ops++;
        uint64_t reported = ground_reported(self);
        if (live_bytes > played->live_peak_bytes) played->live_peak_bytes = live_bytes;
        if (reported > played->reserved_peak_bytes) played->reserved_peak_bytes = reported;
    }
    for (size_t block = 0; block < stream->block_count; block++) {
        if (blocks[block].ptr) ground_free(self, blocks[block].ptr, blocks[block].bytes, NULL);
    }
    free(blocks);
    return self->of->trouble.exit_code ? -1 : 0;
}

#endif

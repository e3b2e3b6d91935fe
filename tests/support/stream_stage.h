/* What tests of streams share: an arena on the simulated device, streams, work that takes time, and blocks whose
   every tenancy the device's judge knows. It must not know how the arena works inside, nor what is tested.
   Included by test_streams_*.c. */
#ifndef TESTS_STREAM_STAGE_H
#define TESTS_STREAM_STAGE_H

#include "sim_device.h"

enum { STAGE_STREAMS = 6 };
#define STAGE_SECOND UINT64_C(1000000000)        /* of work: far more than any call of the host costs */

static gpuarena_backing stage_backing = GPUARENA_BACKING_SEGMENTS;   /* of arenas to come */

#define STAGE_PER_THREAD ((gpuarena_stream)(intptr_t)2)  /* the calling thread's own stream, as the device has it */

typedef struct stage {
    sim            *machine;
    gpuarena_driver driver;                      /* may be changed before stage_arena */
    gpuarena       *arena;
    gpuarena_stream streams[STAGE_STREAMS];      /* none waits for the default stream */
    void           *pin;                         /* a live block, so that its memory is never idle */
    uint64_t        owner, op;
} stage;

typedef struct tenancy { char *ptr; uint64_t bytes, owner; } tenancy;    /* ptr NULL: it was refused */

/* Events that the arena holds, between it and the device of the stage opened last. */
static int (*stage_event_create)(const gpuarena_driver *self, void **event);
static int (*stage_event_destroy)(const gpuarena_driver *self, void *event);
static int64_t stage_events;

static inline int stage_create_event(const gpuarena_driver *self, void **event)
{
    int code = stage_event_create(self, event);
    stage_events += code == SIM_SUCCESS;
    return code;
}

static inline int stage_destroy_event(const gpuarena_driver *self, void *event)
{
    stage_events--;
    return stage_event_destroy(self, event);
}

/* A device with streams, and no arena yet. Ends the test program if it cannot be made. */
static inline stage stage_device(void)
{
    sim_config config = { 0, GIB(32), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    stage made = { NULL, bench.driver, NULL, { NULL }, NULL, 0, 0 };
    made.machine = bench.machine;
    stage_event_create = made.driver.events.create;
    stage_event_destroy = made.driver.events.destroy;
    made.driver.per_thread = STAGE_PER_THREAD;
    made.driver.events.create = stage_create_event;
    made.driver.events.destroy = stage_destroy_event;
    stage_events = 0;
    for (int i = 0; i < STAGE_STREAMS; i++) {
        if (sim_stream_create(made.machine, 0, 0, &made.streams[i])) {
            printf("Bail out! no stream to test with\n");
            exit(1);
        }
    }
    return made;
}

static inline gpuarena_config stage_config(const stage *self)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &self->driver;
    config.backing = stage_backing;
    config.environment = "";
    return config;
}

static inline void stage_arena(stage *self, const gpuarena_config *config)
{
    if (gpuarena_create(config, &self->arena)) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        printf("Bail out! no arena to test with: %s\n", failure.detail);
        exit(1);
    }
}

/* Memory in one piece that cannot grow: what bytes say, and the pin's 2 MiB, which stay live at its start. */
static inline stage stage_open(uint64_t bytes)
{
    stage made = stage_device();
    gpuarena_config config = stage_config(&made);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = bytes + MIB(2);
    stage_arena(&made, &config);
    if (gpuarena_alloc(made.arena, &made.pin, MIB(2), made.streams[0])) CHECK_MSG(0, "the pin");
    return made;
}

static inline gpuarena_stats stage_stats(const stage *self)
{
    gpuarena_stats stats;
    gpuarena_walk_stats(self->arena, &stats);
    return stats;
}

/* Work on a stream that uses the block, and is judged. 1: no finding. */
static inline int stage_work(stage *self, int stream, const tenancy *block, uint64_t work_ns)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, ++self->op);
    int code = sim_work(self->machine, 0, self->streams[stream], work_ns);
    if (code == SIM_SUCCESS)
        code = sim_access(self->machine, 0, self->streams[stream], block->ptr, block->bytes, block->owner, self->op);
    return code == SIM_SUCCESS && sim_finding_count(self->machine) == before;
}

/* Allocates on a stream; the new owner uses all of it there at once. */
static inline tenancy stage_take(stage *self, uint64_t bytes, int stream)
{
    tenancy made = { NULL, bytes, ++self->owner };
    void *ptr = NULL;
    sim_begin_op(self->machine, ++self->op);
    if (gpuarena_alloc(self->arena, &ptr, bytes, self->streams[stream])) return made;
    made.ptr = ptr;
    if (!stage_work(self, stream, &made, 0)) CHECK_MSG(0, "use of a new block on stream %d", stream);
    return made;
}

/* Allocates and works for a while. */
static inline tenancy stage_take_working(stage *self, uint64_t bytes, int stream, uint64_t work_ns)
{
    tenancy made = stage_take(self, bytes, stream);
    if (!made.ptr || !stage_work(self, stream, &made, work_ns)) CHECK_MSG(0, "a block at work on stream %d", stream);
    return made;
}

static inline gpuarena_result stage_free(stage *self, const tenancy *block, int stream)
{
    sim_begin_op(self->machine, ++self->op);
    return gpuarena_free(self->arena, block->ptr, self->streams[stream]);
}

/* Allocated on a stream, worked on so long, and freed there. */
static inline tenancy stage_pending(stage *self, uint64_t bytes, int stream, uint64_t work_ns)
{
    tenancy made = stage_take_working(self, bytes, stream, work_ns);
    CHECK_INT(stage_free(self, &made, stream), ==, GPUARENA_OK);
    return made;
}

static inline int stage_is_busy(const stage *self, int stream)
{
    return sim_stream_query(self->machine, 0, self->streams[stream]) == SIM_NOT_READY;
}

/* When all that the stream has is done, by the virtual clock; the host has waited for it then. */
static inline uint64_t stage_end_ns(stage *self, int stream)
{
    CHECK_INT(sim_stream_wait(self->machine, 0, self->streams[stream]), ==, SIM_SUCCESS);
    return sim_now_ns(self->machine);
}

/* The sums of the manual and every invariant. "": all hold. */
static inline const char *stage_wrong(const stage *self)
{
    static char message[160];
    gpuarena_stats stats = stage_stats(self);
    if (stats.requested_bytes + stats.slack_bytes != stats.live_bytes) return "requested + slack is not live";
    if (stats.live_bytes + stats.pending_bytes + stats.cached_bytes + stats.children_bytes != stats.reserved_bytes)
        return "live + pending + cached + children is not reserved";
    if (stats.alloc_count - stats.free_count != stats.live_count) return "alloc - free is not live";
    return gpuarena_check(self->arena, message, sizeof message) ? message : "";
}

/* The books, then the end of all: nothing is left on the device, and the judge has found nothing. */
static inline void stage_close(stage *self, const char *name)
{
    const char *wrong = stage_wrong(self);
    CHECK_MSG(wrong[0] == '\0', "%s: books %s", name, wrong);
    CHECK_MSG(gpuarena_reset(self->arena, self->streams[0]) == GPUARENA_OK, "%s: reset", name);
    CHECK_MSG(gpuarena_destroy(self->arena) == GPUARENA_OK, "%s: destroy", name);
    sim_counters counters;
    sim_get_counters(self->machine, 0, &counters);
    CHECK_MSG(counters.held_bytes == 0, "%s: no memory left", name);
    CHECK_MSG(stage_events == 0, "%s: every event destroyed", name);
    CHECK_MSG(sim_finding_count(self->machine) == 0, "%s: no finding", name);
    for (uint64_t i = 0; sim_finding(self->machine, i); i++) printf("#   %s\n", sim_finding(self->machine, i));
    sim_destroy(self->machine);
}

#endif

/* Scenarios about time: what the host waits for, what a captured step asks of the driver, who is told of pressure.
   It must not know how a policy orders its frees.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>

#include "scenarios.h"

enum { WAITS_BATCHES = 50, WAITS_DEPTH = 2 };

static uint64_t waits_now(const ground *on)
{
    return sim_now_ns(device_simulated(on->on));
}

/* The compute stream is done with the batch: it is freed, and what the host waits for that is the answer. */
static uint64_t waits_free(ground *on, void *batch, uint64_t bytes, gpuarena_stream copy, gpuarena_stream compute)
{
    if (pool_follows(&on->pool)) (void)device_follow(on->on, copy, compute, &on->of->trouble);
    uint64_t begin_ns = waits_now(on);
    ground_free(on, batch, bytes, pool_follows(&on->pool) ? copy : compute);
    return waits_now(on) - begin_ns;
}

/* Batches are copied on one stream and used on another, which takes five times as long. */
void waits_overlap(scene *self)
{
    const uint64_t bytes = 64 * MIB, copy_ns = 1000000, compute_ns = 5000000;
    const ground_shape shape = { 0 };
    ground on;
    gpuarena_stats stats;
    memory_use use;
    uint64_t waited_ns = 0, pending = 0;
    if (!ground_open(&on, self, &shape)) {
        gpuarena_stream copy = ground_stream(&on), compute = ground_stream(&on);
        void *batches[WAITS_DEPTH] = { NULL };
        for (int batch = 0; batch < WAITS_BATCHES && !scene_is_over(self); batch++) {
            void **place = &batches[batch % WAITS_DEPTH];
            if (*place) waited_ns += waits_free(&on, *place, bytes, copy, compute);
            *place = ground_alloc(&on, bytes, copy);
            if (!*place) break;
            ground_work(&on, copy, copy_ns);
            (void)device_follow(on.on, compute, copy, &self->trouble);
            ground_work(&on, compute, compute_ns);
            (void)device_access(on.on, compute, *place, bytes, on.owner, &self->trouble);
            pool_measure(&on.pool, &use, &stats);
            if (use.pending_bytes > pending) pending = use.pending_bytes;
        }
        uint64_t worked_ns = WAITS_BATCHES * compute_ns;
        scene_say(self, batches[0] && batches[1] && waited_ns <= worked_ns / 10, "%d batches of 64 MiB copied and "
                  "used on two streams: frees took %.1f vms, of %.1f that the GPU worked; at most %s pending",
                  WAITS_BATCHES, (double)waited_ns / 1e6, (double)worked_ns / 1e6, scene_size(self, pending));
    }
    ground_close(&on);
}

enum { WAITS_MATRIX_BYTES = 4000000, WAITS_LAUNCHES = 8 };       /* 1000 x 1000 float32: 15,625 times 256 B */

/* Two operands and a product of such, all freed again: what is captured. 1: served. */
static int waits_step(ground *on, gpuarena_stream stream)
{
    void *matrices[3] = { NULL };
    int served = 0;
    for (int at = 0; at < 3; at++) {
        served += (matrices[at] = ground_alloc(on, WAITS_MATRIX_BYTES, stream)) != NULL;
    }
    for (int at = 0; at < 3; at++) {
        if (matrices[at]) ground_free(on, matrices[at], WAITS_MATRIX_BYTES, stream);
    }
    return served == 3;
}

/* A graph of one step; NULL: none. Of an arena it is captured into the set. */
static void *waits_capture(ground *on, gpuarena_stream stream, uint64_t *set)
{
    void *graph = NULL;
    sim *machine = device_simulated(on->on);
    if (on->pool.arena && gpuarena_capture_begin(on->pool.arena, stream, set)) return NULL;
    int begun = !sim_capture_begin(machine, 0, stream, 0);
    int served = begun && waits_step(on, stream);
    int ended = begun && !sim_capture_end(machine, 0, stream, &graph);
    if (on->pool.arena && gpuarena_capture_end(on->pool.arena, stream)) ended = 0;
    return served && ended ? graph : NULL;
}

static uint64_t waits_launch(ground *on, void *graph, gpuarena_stream stream)
{
    uint64_t failed = 0;
    for (int launch = 0; launch < WAITS_LAUNCHES; launch++) {
        failed += (uint64_t)(sim_graph_launch(device_simulated(on->on), 0, graph, stream, on->op++) != 0);
    }
    return failed;
}

/* What a graph was given must stay its own: another stream wants as much,
and there is no more. The judge looks on. */
static uint64_t waits_press(ground *on, void *graph, gpuarena_stream stream, gpuarena_stream other)
{
    gpuarena_stats stats;
    gpuarena_get_stats(on->pool.arena, &stats);
    gpuarena_set_limit(on->pool.arena, stats.reserved_bytes);
    (void)waits_step(on, other);
    return waits_launch(on, graph, stream);
}

static void waits_replay(ground *on, void *graph, gpuarena_stream stream, gpuarena_stream other, uint64_t *set)
{
    sim *machine = device_simulated(on->on);
    uint64_t before = ground_calls(on), failed = waits_launch(on, graph, stream);
    void *again = waits_capture(on, stream, set);
    uint64_t calls = ground_calls(on) - before;
    failed += waits_press(on, graph, stream, other);
    scene_say(on->of, !failed && !calls && again && !sim_finding_count(machine), "a step of three 1000 x 1000 "
              "float32 captured, launched %d times and captured anew: %" PRIu64 " driver calls, %" PRIu64 " "
              "launches failed; when another stream wants as much, and there is no more, %s", WAITS_LAUNCHES, calls,
              failed,
              sim_finding_count(machine) ? "it gets the graph's memory" : "the graph's stays its own");
    if (again) sim_graph_destroy(machine, again);
    sim_graph_destroy(machine, graph);
}

void waits_captured(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    uint64_t set = 0;
    if (scene_is_model(self)) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena_stream stream = ground_stream(&on), other = ground_stream(&on);
        int warm = waits_step(&on, stream);
        void *graph = waits_capture(&on, stream, &set);
        if (graph) waits_replay(&on, graph, stream, other, &set);
        else scene_say(self, 0, "a step of three 1000 x 1000 float32 is %s, and captured into a graph it is not: %s",
                       warm ? "served" : "refused", gpuarena_result_name(on.result));
        if (set) gpuarena_capture_release(on.pool.arena, set, stream);
    }
    ground_close(&on);
}

/* ---- pressure: caches of 32 MiB, which a program gives up when it is told to */
enum { WAITS_CACHES = 8 };
typedef struct waits_caches { void *caches[WAITS_CACHES]; int calls, freed; } waits_caches;

static int waits_give_up(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    waits_caches *held = user;
    held->calls++;
    for (int at = 0; at < WAITS_CACHES; at++) {
        if (!held->caches[at] || failure->missing_bytes == 0) continue;
        held->freed += gpuarena_free(arena, held->caches[at], NULL) == GPUARENA_OK;
        held->caches[at] = NULL;
    }
    return 1;
}

static void waits_set_pressure(gpuarena_config *config, void *user)
{
    config->pressure = waits_give_up;
    config->pressure_user = user;
}

void waits_pressure(scene *self)
{
    waits_caches held = { { NULL }, 0, 0 };
    const ground_shape shape = { .limit_bytes = 256 * MIB, .adapt = waits_set_pressure, .user = &held };
    ground on;
    if (scene_lacks(self, "word before memory runs out: a cache learns of it by the failure")) return;
    if (!ground_open(&on, self, &shape)) {
        for (int at = 0; at < WAITS_CACHES; at++) held.caches[at] = ground_alloc(&on, 32 * MIB, NULL);
        int early = held.calls;
        void *ptr = ground_alloc(&on, 200 * MIB, NULL);
        gpuarena_stats stats;
        gpuarena_get_stats(on.pool.arena, &stats);
        uint64_t told = stats.pressure_count;
        void *none = ptr ? ground_alloc(&on, 100 * MIB, NULL) : NULL;
        scene_say(self, !early && ptr && told >= 1 && held.freed == WAITS_CACHES && !none && on.result, "8 caches "
                  "of 32 MiB fill 256 MiB; a request of 200 MiB: config.pressure called %" PRIu64 " times, %d "
                  "caches freed, %s; with nothing left to free 100 MiB more are %s", told, held.freed,
                  ptr ? "served" : "refused",
                  none ? "served" : "refused");
        for (int at = 0; at < WAITS_CACHES; at++) gpuarena_free(on.pool.arena, held.caches[at], NULL);
    }
    ground_close(&on);
}

/* All memory was freed on a stream that still works: another one's request waits, and is served. */
void waits_late(scene *self)
{
    const uint64_t limit = 256 * MIB, work_ns = 20000000;
    const ground_shape shape = { .capacity_bytes = 256 * MIB };
    ground on;
    if (!ground_open(&on, self, &shape)) {
        gpuarena_stream busy = ground_stream(&on), other = ground_stream(&on);
        void *first = ground_alloc(&on, limit, busy);
        if (first) {
            ground_work(&on, busy, work_ns);
            (void)device_access(on.on, busy, first, limit, on.owner, &self->trouble);
            ground_free(&on, first, limit, busy);
        }
        void *second = ground_alloc(&on, limit, other);
        int judged = !sim_finding_count(device_simulated(on.on));
        if (second) ground_free(&on, second, limit, other);
        scene_say(self, first && second && judged, "all of %s was freed while the GPU still worked on it for %.0f "
                  "vms: another stream's request is %s%s", scene_size(self, limit), (double)work_ns / 1e6,
                  second ? "served, behind that work" : "refused", judged ? "" : ", and nothing orders the two");
    }
    ground_close(&on);
}

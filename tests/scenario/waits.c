/* Scenarios about time: what the host waits for, and whom another stream's work keeps waiting.
   It must not know how a policy orders its frees.
   Included by test_needs.c. */
#include "scene.h"

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
static void waits_overlap(scene *self)
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
        scene_say(self, batches[0] && batches[1] && waited_ns <= worked_ns / 10, "frees took %" PRIu64 " of %" PRIu64
                  ", %" PRIu64 " bytes pending", waited_ns, worked_ns, pending);
    }
    ground_close(&on);
}

/* All memory was freed on a stream that still works: another one's request waits, and is served. */
static void waits_late(scene *self)
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
        scene_say(self, first && second && judged, "first %d, second %d, in order %d", !!first, !!second, judged);
    }
    ground_close(&on);
}

/* Planned steps: a program that repeats a step tells the arena where a repetition begins.
   Introduces gpuarena_step and config.plan.
   From the second repetition on, a plan decides the places of its blocks: no driver call, no page that moves, and
   soon little more memory than the step's peak.
   Run: make build/examples/13_planned_steps && build/examples/13_planned_steps;
   without a GPU: with LD_LIBRARY_PATH=build/sim before it */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

enum { LAYERS = 24, STEPS = 6, TRAIN = 1 };

/* One training step: activations stay until the backward pass, workspaces of many sizes come and go between them. */
static gpuarena_result train(gpuarena *arena)
{
    void *activations[LAYERS], *workspace, *gradient;
    gpuarena_result result = GPUARENA_OK;
    for (uint64_t layer = 0; layer < LAYERS && !result; layer++) {
        result = gpuarena_alloc(arena, &workspace, (5 + layer * 13 % 61) * MIB, NULL);
        if (!result) result = gpuarena_alloc(arena, &activations[layer], (9 + layer * 7 % 23) * MIB, NULL);
        if (!result) result = gpuarena_free(arena, workspace, NULL);
    }
    for (uint64_t layer = LAYERS; layer-- > 0 && !result;) {
        result = gpuarena_alloc(arena, &gradient, (11 + layer * 17 % 53) * MIB, NULL);
        if (!result) result = gpuarena_free(arena, activations[layer], NULL);
        if (!result) result = gpuarena_free(arena, gradient, NULL);
    }
    return result;
}

/* Runs STEPS steps, with plans or without. */
static int run(gpuarena_planning planning)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_stats stats, before;
    gpuarena *arena;
    config.backing = GPUARENA_BACKING_PAGED;        /* plans place pages; segments have none */
    config.driver = example_driver();
    config.plan = planning;
    if (gpuarena_create(&config, &arena)) return example_failed();
    printf("\n%s\n", planning == GPUARENA_PLAN_OFF ? "without plans" : "with plans");
    for (int step = 0; step < STEPS; step++) {
        if (gpuarena_step(arena, TRAIN)) return example_failed();        /* a repetition begins */
        gpuarena_get_stats(arena, &before);
        if (train(arena)) return example_failed();
        gpuarena_get_stats(arena, &stats);
        printf("step %d: %4" PRIu64 " driver calls, %3" PRIu64 " pages moved, %3" PRIu64
               " of %d blocks planned, reserved %" PRIu64 " MiB\n", step,
               stats.driver_call_count - before.driver_call_count,
               stats.remapped_page_count - before.remapped_page_count, stats.planned_count - before.planned_count,
               3 * LAYERS, stats.reserved_bytes / MIB);
    }
    printf("the peak of live memory: %" PRIu64 " MiB\n", stats.live_peak_bytes / MIB);
    (void)gpuarena_step(arena, 0);                   /* the last repetition ends */
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

int main(void)
{
    return run(GPUARENA_PLAN_OFF) || run(GPUARENA_PLAN_AUTO);
}

/* Quickstart: a pool that can never take more than 4 GiB of the device, and two buffers a step from it.
   Introduces gpuarena_create, gpuarena_alloc, gpuarena_free, gpuarena_destroy; holds the implementation.
   Run: make && build/examples/01_quickstart. It prints how few calls reached the driver. No GPU is needed. */
#define GPUARENA_IMPLEMENTATION              /* in one file of your program; a plain include in all others */
#include "../gpuarena.h"

#include "../stress/sim/sim.h"               /* a simulated GPU of 80 GiB, for machines without one */
#include <inttypes.h>
#include <stdio.h>

#define MIB ((uint64_t)1 << 20)

/* One step of a program: two buffers, used on the default stream, and given back. */
static gpuarena_result step(gpuarena *arena)
{
    void *activations, *gradients;
    gpuarena_result result = gpuarena_alloc(arena, &activations, 300 * MIB, NULL);
    if (result) return result;

    result = gpuarena_alloc(arena, &gradients, 75 * MIB, NULL);
    if (!result) {
        /* ... launch kernels on the default stream; they may use both buffers ... */
        result = gpuarena_free(arena, gradients, NULL);
    }
    gpuarena_free(arena, activations, NULL);
    return result;
}

static int run(const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;  /* zero means default, in every field */
    gpuarena_result result = GPUARENA_OK;
    gpuarena_stats stats;
    gpuarena *arena;
    int count;

    config.driver = driver;
    config.limit_bytes = 4096 * MIB;
    if (gpuarena_create(&config, &arena)) return 1;

    for (count = 0; count < 1000 && !result; count++) result = step(arena);

    gpuarena_get_stats(arena, &stats);
    printf("%d steps: %" PRIu64 " allocations, %" PRIu64 " driver calls\n", count, stats.alloc_count,
           stats.driver_call_count);
    printf("never more than %" PRIu64 " MiB of the device; %" PRIu64 " MiB were allowed\n",
           stats.reserved_peak_bytes / MIB, stats.limit_bytes / MIB);
    printf("last result: %s\n", gpuarena_result_name(result));
    return gpuarena_destroy(arena) || result;
}

int main(void)
{
    problem trouble = {0};
    sim_config machine_config = {0};
    sim *machine = sim_create(&machine_config, &trouble);
    gpuarena_driver driver = GPUARENA_INIT;
    int status;

    if (!machine) return fprintf(stderr, "%s\n", trouble.text), 1;
    sim_driver(machine, 0, &driver);             /* the table through which the pool reaches device 0 */
    status = run(&driver);
    sim_destroy(machine);
    return status;
}

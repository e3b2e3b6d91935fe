/* Quickstart: a pool that can never take more than 4 GiB of the device, and two buffers a step from it.
   Introduces gpuarena_create, gpuarena_alloc, gpuarena_free, gpuarena_destroy; holds the implementation.
   Run: make build/examples/01_quickstart && build/examples/01_quickstart;
   without a GPU: LD_LIBRARY_PATH=build/sim build/examples/01_quickstart */
#define GPUARENA_IMPLEMENTATION              /* in one file of your program; a plain include in all others */
#include "../gpuarena.h"
#include "example.h"                         /* the rest of your program */

/* One step: two buffers, used on the default stream, and given back. */
static int step(gpuarena *arena, unsigned char number)
{
    void *activations, *gradients;
    if (gpuarena_alloc(arena, &activations, 300 * MIB, NULL)) return example_failed();
    if (gpuarena_alloc(arena, &gradients, 75 * MIB, NULL)) return example_failed();

    /* ... your kernels and copies on the default stream ... */
    if (example_write(activations, 4 * KIB, 1) || example_write(gradients, 4 * KIB, number)) return 1;
    if (example_compare(activations, 4 * KIB, 1) || example_compare(gradients, 4 * KIB, number)) return 1;

    gpuarena_free(arena, gradients, NULL);
    gpuarena_free(arena, activations, NULL);
    return 0;
}

int main(void)
{
    gpuarena_config config = GPUARENA_INIT;  /* zero means default, in every field */
    gpuarena_stats stats;
    gpuarena *arena;
    int count;

    config.limit_bytes = 4096 * MIB;
    config.driver = example_driver();        /* NULL, or no such line: CUDA's current device */
    if (gpuarena_create(&config, &arena)) return example_failed();

    for (count = 0; count < 1000; count++)
        if (step(arena, (unsigned char)count)) return 1;

    gpuarena_get_stats(arena, &stats);
    printf("%d steps: %" PRIu64 " allocations, %" PRIu64 " driver calls\n", count, stats.alloc_count,
           stats.driver_call_count);
    printf("never more than %" PRIu64 " MiB of the device; %" PRIu64 " MiB were allowed\n",
           stats.reserved_peak_bytes / MIB, stats.limit_bytes / MIB);
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

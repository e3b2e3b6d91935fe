/* Runs a client program's two, which makes two tenants under one arena, on CUDA: each takes all that it may have.
   It must not know how the client makes them. Linked with it and run by clients.t. */
#define GPUARENA_IMPLEMENTATION
#include "../../../gpuarena.h"
#include <inttypes.h>
#include <stdio.h>

int two(gpuarena **a, gpuarena **b);

/* The MiB that a tenant gets before the first refusal, which must be for its limit; 0: it is for another reason. */
static uint64_t fill(gpuarena *arena)
{
    uint64_t bytes = 0;
    gpuarena_failure failure;
    void *block;
    while (gpuarena_alloc(arena, &block, (uint64_t)8 << 20, NULL) == GPUARENA_OK) bytes += (uint64_t)8 << 20;
    gpuarena_last_failure(arena, &failure);
    return failure.reason == GPUARENA_REASON_OVER_LIMIT ? bytes >> 20 : 0;
}

int main(void)
{
    gpuarena *a, *b;
    gpuarena_config config;
    gpuarena_stats whole;
    if (two(&a, &b)) return 1;
    gpuarena_get_config(a, &config);
    printf("%" PRIu64 " and %" PRIu64 " MiB", fill(a), fill(b));
    gpuarena_get_stats(config.parent, &whole);
    printf(", %" PRIu64 " of %" PRIu64 " in all\n", whole.children_bytes >> 20, whole.reserved_bytes >> 20);
    if (gpuarena_reset(a, NULL) || gpuarena_reset(b, NULL) || gpuarena_destroy(a) || gpuarena_destroy(b)) return 1;
    return gpuarena_destroy(config.parent) != GPUARENA_OK;
}

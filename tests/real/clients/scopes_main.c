/* Runs a client program's grow_cache on CUDA: a block that grows in place, a scope of two, and an arena that ends.
   It must not know the client's calls in between. Linked with it and run by clients.t. */
#define GPUARENA_IMPLEMENTATION
#include "../../../gpuarena.h"
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>

int grow_cache(gpuarena *arena, gpuarena_stream s);

typedef struct watched { uint64_t largest_bytes, last_bytes, freed_count; } watched;

static void watch(gpuarena *arena, const gpuarena_action *action, void *user)
{
    watched *seen = user;
    (void)arena;
    if (action->kind == GPUARENA_ACTION_FREE && action->block.requested_bytes <= 200) seen->freed_count++;
    if (action->kind != GPUARENA_ACTION_RESIZE) return;
    seen->last_bytes = action->block.requested_bytes;
    if (seen->last_bytes > seen->largest_bytes) seen->largest_bytes = seen->last_bytes;
}

int main(void)
{
    gpuarena_config config = GPUARENA_INIT;
    watched seen = { 0, 0, 0 };
    gpuarena *arena;
    cudaStream_t stream;
    config.observe = watch;
    config.observe_user = &seen;
    if (gpuarena_create(&config, &arena) || cudaStreamCreate(&stream)) return 2;
    if (grow_cache(arena, stream)) return 1;
    printf("%" PRIu64 " MiB in place, then %" PRIu64 "; %" PRIu64
           " blocks freed by their scope; the arena has ended\n",
           seen.largest_bytes >> 20, seen.last_bytes >> 20, seen.freed_count);
    return 0;
}

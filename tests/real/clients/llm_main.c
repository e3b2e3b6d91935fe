/* Runs a client program's serve on CUDA: a cache of keys and values that fills its limit.
   It must not know how the client fills it. Linked with it and run by clients.t. */
#define GPUARENA_IMPLEMENTATION
#include "../../../gpuarena.h"
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>

struct kv { void *block[4096]; uint64_t bytes[4096]; unsigned oldest, newest; gpuarena_stream stream; };
int serve(struct kv *kv, FILE *out);

static struct kv cache;

int main(void)
{
    gpuarena_tag_stats stats;
    if (cudaStreamCreate(&cache.stream) || serve(&cache, stdout)) return 1;
    if (gpuarena_get_tag(gpuarena_owner(cache.block[0]), gpuarena_tag("kv"), &stats)) return 1;
    printf("kv: %" PRIu64 " blocks, %" PRIu64 " allocations\n", stats.live_count, stats.alloc_count);
    return stats.live_count == cache.newest - cache.oldest ? 0 : 1;
}

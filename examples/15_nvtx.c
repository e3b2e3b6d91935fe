/* compute-sanitizer, told which parts of the pool are blocks and which are free memory.
   Introduces config.observe, by nvtx.h, which is for you to copy.

     Run: make build/examples/15_nvtx, then (without a GPU with LD_LIBRARY_PATH=build/sim before it)
   build/examples/15_nvtx, or CUDA_LAUNCH_BLOCKING=1 compute-sanitizer --nvtx yes build/examples/15_nvtx

   With the argument `wrong` the program writes to a block that it has freed. The pool still holds that memory, so
   that the device makes the write; only a tool that knows the pool can see the error.
   A program that cannot be built anew shows such errors to the tool with GPUARENA_CONF=debug=passthrough. */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"
#include "nvtx.h"

#define POOL(call) if (call) return example_failed()

/* Blocks of three sizes come and go. */
static int work(gpuarena *arena)
{
    enum { BLOCKS = 24 };
    void *blocks[BLOCKS];
    uint64_t round, at;
    for (round = 0; round < 10; round++) {
        for (at = 0; at < BLOCKS; at++)
            POOL(gpuarena_alloc(arena, &blocks[at], 1000 + at % 3 * round * MIB, NULL));
        POOL(gpuarena_resize(arena, blocks[0], 500, NULL));
        for (at = 0; at < BLOCKS; at++) POOL(gpuarena_free(arena, blocks[(at + 7) % BLOCKS], NULL));
        POOL(gpuarena_trim(arena, round * 20 * MIB, NULL));
    }
    return 0;
}

static int write_freed(gpuarena *arena)
{
    void *block;
    POOL(gpuarena_alloc(arena, &block, 1000, NULL));
    POOL(gpuarena_free(arena, block, NULL));
    return example_write(block, 1000, 1);
}

int main(int count, char **words)
{
    gpuarena_config config = GPUARENA_INIT;
    static nvtx_observer observer;               /* an arena that a failure leaves behind refers to it */
    gpuarena_stats stats;
    gpuarena *arena;
    config.driver = example_driver();
    config.limit_bytes = 1024 * MIB;
    if (!nvtx_begin(&observer, &config)) return fputs("a paged arena has no pools\n", stderr), 1;
    POOL(gpuarena_create(&config, &arena));
    if (work(arena)) return 1;
    if (count > 1 && !strcmp(words[1], "wrong") && write_freed(arena)) return 1;
    gpuarena_get_stats(arena, &stats);
    POOL(gpuarena_destroy(arena));
    printf("%" PRIu64 " segments, %" PRIu64 " blocks\n", stats.grow_count, stats.alloc_count);
    return 0;
}

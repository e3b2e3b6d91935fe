/* Graph capture: a graph keeps the addresses that it was captured with, so its memory must stay its own.
   Introduces gpuarena_capture_begin, gpuarena_capture_end, gpuarena_capture_release.
   Run: make build/examples/07_graph_capture && build/examples/07_graph_capture;
   without a GPU: with LD_LIBRARY_PATH=build/sim before it */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

#define CALL(call) if (example_cuda((call), #call)) return 1
#define POOL(call) if (call) return example_failed()

enum { LIMIT_MIB = 256 };

/* A step, which works without graphs, too: scratch memory comes and goes, a result stays. */
static int step(gpuarena *arena, cudaStream_t stream, void **result)
{
    void *scratch;
    POOL(gpuarena_alloc(arena, &scratch, 64 * MIB, stream));
    CALL(cudaMemsetAsync(scratch, 7, 64 * MIB, stream));
    POOL(gpuarena_alloc(arena, result, 16 * MIB, stream));
    CALL(cudaMemcpyAsync(*result, scratch, 16 * MIB, cudaMemcpyDeviceToDevice, stream));
    POOL(gpuarena_free(arena, scratch, stream));
    return 0;
}

/* Captures a step. Until the end the stream's allocations come from the set, here a new one. The arena may ask the
   driver for memory meanwhile, but waits for nothing and gives nothing back. */
static int capture(gpuarena *arena, cudaStream_t stream, uint64_t *set, void **result, cudaGraphExec_t *exec)
{
    cudaGraph_t graph;
    POOL(gpuarena_capture_begin(arena, stream, set));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    if (step(arena, stream, result)) return 1;
    CALL(cudaStreamEndCapture(stream, &graph));
    POOL(gpuarena_capture_end(arena, stream));
#if CUDART_VERSION >= 12000
    CALL(cudaGraphInstantiate(exec, graph, 0));
#else
    CALL(cudaGraphInstantiate(exec, graph, NULL, NULL, 0));
#endif
    CALL(cudaGraphDestroy(graph));
    return 0;
}

/* Between two runs other code fills all memory that it can get. None of it is the graph's. */
static int disturb(gpuarena *arena, cudaStream_t stream)
{
    void *blocks[LIMIT_MIB / 16 + 1];
    int count = 0, i;
    gpuarena_result result;
    while ((result = gpuarena_alloc(arena, &blocks[count], 16 * MIB, stream)) == GPUARENA_OK) count++;
    if (result != GPUARENA_OUT_OF_MEMORY) return example_failed();
    for (i = 0; i < count; i++) {
        CALL(cudaMemsetAsync(blocks[i], 255, 16 * MIB, stream));
        POOL(gpuarena_free(arena, blocks[i], stream));
    }
    printf("others had %d blocks of 16 MiB\n", count);
    return 0;
}

int main(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    cudaStream_t stream;
    cudaGraphExec_t exec;
    uint64_t set = 0;                                /* 0: a new one */
    void *result = NULL;
    int run;
    config.limit_bytes = LIMIT_MIB * MIB;
    POOL(gpuarena_create(&config, &arena));
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    if (capture(arena, stream, &set, &result, &exec)) return 1;
    for (run = 1; run <= 3; run++) {
        CALL(cudaMemsetAsync(result, 0, 16 * MIB, stream));
        if (disturb(arena, stream)) return 1;
        CALL(cudaGraphLaunch(exec, stream));
        CALL(cudaStreamSynchronize(stream));
        if (example_compare(result, 4 * KIB, 7)) return 1;
        printf("run %d: the result is right\n", run);
    }

    CALL(cudaGraphExecDestroy(exec));                /* only now the arena may reuse the set's memory */
    POOL(gpuarena_free(arena, result, stream));
    POOL(gpuarena_capture_release(arena, set, stream));
    if (disturb(arena, stream)) return 1;
    POOL(gpuarena_forget(arena, stream));
    CALL(cudaStreamDestroy(stream));
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

/* Streams: who may have freed memory, and when: its stream at once, others only behind that stream's work.
   Introduces gpuarena_use, gpuarena_forget, pending_bytes of gpuarena_stats.
   Run: make build/examples/06_streams && build/examples/06_streams;
   without a GPU: LD_LIBRARY_PATH=build/sim build/examples/06_streams */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

#define CALL(call) if (example_cuda((call), #call)) return 1
#define POOL(call) if (call) return example_failed()

static void show(const gpuarena *arena, const char *moment)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    printf("%-44s live %3" PRIu64 ", pending %3" PRIu64 ", cached %3" PRIu64 " MiB\n", moment, stats.live_bytes / MIB,
           stats.pending_bytes / MIB, stats.cached_bytes / MIB);
}

/* Two blocks, one after another on the same stream. The second may get the first one's memory without any wait,
   because the GPU does the stream's work in order. */
static int same_stream(gpuarena *arena, cudaStream_t one)
{
    void *first, *second;
    POOL(gpuarena_alloc(arena, &first, 192 * MIB, one));
    CALL(cudaMemsetAsync(first, 1, 192 * MIB, one));
    show(arena, "stream one works on a block");
    POOL(gpuarena_free(arena, first, one));
    show(arena, "and frees it: pending, and the host goes on");
    POOL(gpuarena_alloc(arena, &second, 192 * MIB, one));
    CALL(cudaMemsetAsync(second, 2, 192 * MIB, one));
    show(arena, second == first ? "stream one has the same memory at once" : "stream one has other memory");
    return gpuarena_free(arena, second, one) ? example_failed() : second != first;
}

/* Another stream needs all memory: the arena makes it wait for stream one's work, on the GPU, not on the host. */
static int other_stream(gpuarena *arena, cudaStream_t two)
{
    void *block;
    POOL(gpuarena_alloc(arena, &block, 192 * MIB, two));
    CALL(cudaMemsetAsync(block, 3, 192 * MIB, two));
    show(arena, "stream two has it, behind stream one's work");
    CALL(cudaStreamSynchronize(two));
    if (example_compare(block, 4 * KIB, 3)) return 1;
    POOL(gpuarena_free(arena, block, two));
    show(arena, "and frees it: pending until the arena asks");
    return 0;
}

/* A block is allocated and freed on stream one, while stream two still reads it. gpuarena_use tells the arena. */
static int used_on_both(gpuarena *arena, cudaStream_t one, cudaStream_t two)
{
    void *shared, *copy, *next;
    cudaEvent_t written;
    CALL(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
    POOL(gpuarena_alloc(arena, &shared, 64 * MIB, one));
    POOL(gpuarena_alloc(arena, &copy, 64 * MIB, two));
    CALL(cudaMemsetAsync(shared, 4, 64 * MIB, one));
    CALL(cudaEventRecord(written, one));
    CALL(cudaStreamWaitEvent(two, written, 0));
    CALL(cudaMemcpyAsync(copy, shared, 64 * MIB, cudaMemcpyDeviceToDevice, two));
    POOL(gpuarena_use(arena, shared, two));
    POOL(gpuarena_free(arena, shared, one));
    POOL(gpuarena_alloc(arena, &next, 64 * MIB, one));           /* is not `shared` while stream two reads it */
    CALL(cudaMemsetAsync(next, 5, 64 * MIB, one));
    CALL(cudaStreamSynchronize(two));
    if (example_compare(copy, 4 * KIB, 4)) return 1;
    printf("stream two has read the bytes that stream one wrote and freed\n");
    POOL(gpuarena_free(arena, next, one));
    POOL(gpuarena_free(arena, copy, two));
    CALL(cudaEventDestroy(written));
    return 0;
}

/* Once a stream is destroyed, its handle may become another stream's. The arena must forget the stream before. */
static int destroy_stream(gpuarena *arena, cudaStream_t stream)
{
    POOL(gpuarena_forget(arena, stream));
    CALL(cudaStreamDestroy(stream));
    return 0;
}

int main(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    cudaStream_t one, two;
    void *weights;
    config.growth = GPUARENA_GROWTH_FIXED;           /* takes all memory at once, so that streams must share it */
    config.limit_bytes = 256 * MIB;
    POOL(gpuarena_create(&config, &arena));
    CALL(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CALL(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    POOL(gpuarena_alloc(arena, &weights, 64 * MIB, GPUARENA_ANY_STREAM));
    show(arena, "weights, for every stream");

    if (same_stream(arena, one) || other_stream(arena, two) || used_on_both(arena, one, two)) return 1;
    if (destroy_stream(arena, one) || destroy_stream(arena, two)) return 1;
    CALL(cudaDeviceSynchronize());
    POOL(gpuarena_free(arena, weights, GPUARENA_ANY_STREAM));
    return gpuarena_destroy(arena) ? example_failed() : 0;
}

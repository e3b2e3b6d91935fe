/* A program that knows nothing of gpuarena: cudaMalloc and cudaFree, two streams with cudaMallocAsync and an event
   between them, and figures of cudaMemGetInfo. Prints its findings. Used by preload.t; on the libcudart
   substitute. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#define MIB ((size_t)1 << 20)
#define CUDA(call)                                                                      \
    do {                                                                                \
        cudaError_t code = (call);                                                      \
        if (code) return printf("%s: %s\n", #call, cudaGetErrorName(code)), 1;          \
    } while (0)

static int on_two_streams(void)
{
    cudaStream_t first, second;
    cudaEvent_t event;
    void *block;
    int round;
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaEventCreate(&event));
    for (round = 0; round < 3; round++) {
        CUDA(cudaMallocAsync(&block, 5 * MIB, first));
        CUDA(cudaMemsetAsync(block, 1, 5 * MIB, first));
        CUDA(round ? cudaEventRecord(event, first) : cudaEventRecordWithFlags(event, first, cudaEventRecordDefault));
        CUDA(cudaStreamWaitEvent(second, event, 0));
        CUDA(cudaMemsetAsync(block, 2, 5 * MIB, second));
        CUDA(cudaFreeAsync(block, second));
    }
    CUDA(cudaMallocAsync(&block, MIB, cudaStreamLegacy));
    CUDA(cudaFreeAsync(block, cudaStreamLegacy));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamDestroy(first));
    CUDA(cudaStreamDestroy(second));
    CUDA(cudaEventDestroy(event));
    return 0;
}

int main(void)
{
    void *weights, *scratch, *huge = NULL;
    size_t free_bytes, total_bytes, before;
    int step;
    CUDA(cudaMemGetInfo(&before, &total_bytes));
    CUDA(cudaMalloc(&weights, 40 * MIB));
    for (step = 0; step < 10; step++) {
        CUDA(cudaMalloc(&scratch, (size_t)(step + 1) * MIB));
        CUDA(cudaMemset(scratch, 0, MIB));
        CUDA(cudaFree(scratch));
    }
    CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    printf("total %zu MiB, free %zu MiB, taken %zu MiB\n", total_bytes / MIB, free_bytes / MIB,
           (before - free_bytes) / MIB);
    printf("too much: %s", cudaGetErrorName(cudaMalloc(&huge, total_bytes)));
    printf(", %s", cudaGetErrorName(cudaPeekAtLastError()));
    printf(", %s", cudaGetErrorName(cudaGetLastError()));
    printf(", %s\n", cudaGetErrorName(cudaGetLastError()));
    (void)cudaSetDevice(99);
    (void)cudaMalloc(&huge, total_bytes);
    printf("the last of two: %s", cudaGetErrorName(cudaPeekAtLastError()));
    (void)cudaSetDevice(99);
    printf(", %s", cudaGetErrorName(cudaGetLastError()));
    printf(", %s\n", cudaGetErrorName(cudaGetLastError()));
    if (on_two_streams()) return 1;
    CUDA(cudaFree(weights));
    CUDA(cudaFree(NULL));
    printf("done\n");
    return 0;
}

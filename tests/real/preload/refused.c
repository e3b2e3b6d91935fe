/* A free that the runtime refuses, and the one that follows it. Used by preload.t; on the libcudart substitute. */
#include <cuda_runtime_api.h>

int main(void)
{
    void *block;
    cudaStream_t stream;
    cudaGraph_t graph;
    if (cudaStreamCreate(&stream) || cudaMallocAsync(&block, 1000, stream)) return 1;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) || !cudaFreeAsync(block, stream)) return 2;
    if (cudaStreamEndCapture(stream, &graph) || cudaFreeAsync(block, stream)) return 3;
    return cudaStreamDestroy(stream) ? 4 : 0;
}

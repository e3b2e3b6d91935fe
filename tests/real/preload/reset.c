/* Memory on two devices, of which one is reset. Used by preload.t; on the libcudart substitute. */
#include <cuda_runtime_api.h>

int main(void)
{
    void *several, *other, *later;
    for (int count = 0; count < 9; count++)
        if (cudaMalloc(&several, 1000)) return 1;
    if (cudaSetDevice(1) || cudaMalloc(&other, 3000) || cudaSetDevice(0)) return 1;
    if (cudaDeviceReset() || cudaMalloc(&later, 4000) || cudaFree(later)) return 1;
    return cudaFree(other) ? 1 : 0;
}

/* Memory on two devices, of which one is reset. Used by preload.t; on the libcudart substitute. */
#include <cuda_runtime_api.h>

int main(void)
{
    void *first, *second, *other, *later;
    if (cudaMalloc(&first, 1000) || cudaMalloc(&second, 2000)) return 1;
    if (cudaSetDevice(1) || cudaMalloc(&other, 3000) || cudaSetDevice(0)) return 1;
    if (cudaDeviceReset() || cudaMalloc(&later, 4000) || cudaFree(later)) return 1;
    return cudaFree(other) ? 1 : 0;
}

/* A program that frees memory of cudaMalloc by the driver's function, which the recorder does not see, and aborts. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
    void *block;
    for (int i = 0; i < 1000; i++) {
        if (cudaMalloc(&block, 5000000) || cuMemFree((CUdeviceptr)(uintptr_t)block)) return 1;
    }
    abort();
}

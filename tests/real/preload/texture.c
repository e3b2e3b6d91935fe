/* Memory of cudaMalloc that textures could be bound to: prints how much of it is not aligned as they need it. Used by
   preload.t; on the libcudart substitute. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>

int main(void)
{
    struct cudaDeviceProp device;
    void *block;
    int at, wrong = 0;
    if (cudaGetDeviceProperties(&device, 0)) return 1;
    for (at = 0; at < 100; at++) {
        if (cudaMalloc(&block, 256)) return 1;
        wrong += (uintptr_t)block % device.textureAlignment != 0;
    }
    printf("%d\n", wrong);
    return 0;
}

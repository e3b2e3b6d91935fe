/* The CUDA runtime as far as CUB's allocator calls it, every call a success in constant time: CUB timed by itself.
   It must not be used where contents, refusals or events matter; what CUB needs and it lacks is a link error. */
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

static uintptr_t null_cudart_address = uintptr_t(1) << 21;
static char      null_cudart_event;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void **ptr, size_t bytes)
{
    const uintptr_t taken = (bytes + 511) / 512 * 512;           /* cudaMalloc's alignment is 256 */
    *ptr = reinterpret_cast<void *>(__atomic_fetch_add(&null_cudart_address, taken, __ATOMIC_RELAXED));
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFree(void *)
{
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaSetDevice(int)
{
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = reinterpret_cast<cudaEvent_t>(&null_cudart_event);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t)
{
    return cudaSuccess;
}

} // extern "C"

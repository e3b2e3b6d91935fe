/* The CUDA runtime as far as CUB's allocator calls it, every call a success in constant time: CUB timed by itself. It
   must not be used where contents, refusals or events matter; a call that CUB needs and it lacks is a link error. */
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

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = reinterpret_cast<cudaEvent_t>(&null_cudart_event);
    return cudaSuccess;
}

#define NULL_CUDART(call) cudaError_t CUDARTAPI call { return cudaSuccess; }
NULL_CUDART(cudaFree(void *))
NULL_CUDART(cudaSetDevice(int))
NULL_CUDART(cudaGetLastError(void))
NULL_CUDART(cudaEventDestroy(cudaEvent_t))
NULL_CUDART(cudaEventRecord(cudaEvent_t, cudaStream_t))
NULL_CUDART(cudaEventQuery(cudaEvent_t))

} // extern "C"

/* Segments of a PyTorch memory pool from gpuarena, in plain C: one arena a device.
 *   make torch TORCH_PYTHON=python3          builds build/libgpuarena_mempool.so as well
 *   memory = torch.cuda.memory.CUDAPluggableAllocator("build/libgpuarena_mempool.so", "gpuarena_mempool_alloc",
 *                                                     "gpuarena_mempool_free")
 *   pool = torch.cuda.MemPool(memory.allocator())
 *   with torch.cuda.use_mem_pool(pool): ..
 *
 * Configuration: GPUARENA_CONF, such as GPUARENA_CONF=limit=8G. All pools of a device share its arena and its limit.
 *
 * PyTorch asks for whole segments here, of 2 MiB and more, and cuts them itself. The arena therefore bounds, counts
 * and reports the memory that pools hold, and passes pages on from a pool that ended to the next one. Limitations:
 *   - It does not see tensors: their fragmentation, and PyTorch's statistics of them, stay PyTorch's.
 *   - PyTorch gives a segment back when its pool ends, or when it empties its cache before an OutOfMemoryError.
 *   - That error has PyTorch's text, without the arena's sentence: an allocation can only answer NULL.
 *     gpuarena_mempool_why() returns the sentence.
 * torch_gpuarena.cpp, which takes PyTorch's whole memory, has none of these limits. */
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
enum { DEVICES = 64 };

static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;
static gpuarena *arenas[DEVICES];

/* The arena of a device, created at its first use. NULL: gpuarena_last_failure(NULL) says why. */
static gpuarena *arena_of(int device)
{
    gpuarena *arena = NULL;
    pthread_mutex_lock(&creating);
    if (device >= 0 && device < DEVICES) {
        gpuarena_driver driver;
        gpuarena_config config = GPUARENA_INIT;
        snprintf(config.name, sizeof config.name, "torch pools:%d", device);
        config.alignment = 512;
        config.driver = &driver;
        if (!arenas[device] && gpuarena_driver_cuda(device, &driver) == GPUARENA_OK)
            (void)gpuarena_create(&config, &arenas[device]);
        arena = arenas[device];
    }
    pthread_mutex_unlock(&creating);
    return arena;
}

/* A segment of at least `bytes`, or NULL. Any thread may call. */
EXPORT void *gpuarena_mempool_alloc(size_t bytes, int device, cudaStream_t stream)
{
    gpuarena *arena = arena_of(device);
    void *ptr = NULL;
    if (arena) (void)gpuarena_alloc(arena, &ptr, bytes, stream);
    return ptr;
}

/* Frees a segment behind the work of the stream that it was allocated on. PyTorch has waited for the other streams
   that were recorded for its blocks. */
EXPORT void gpuarena_mempool_free(void *ptr, size_t bytes, int device, cudaStream_t stream)
{
    (void)bytes, (void)device, (void)stream;
    if (ptr) (void)gpuarena_free(gpuarena_owner(ptr), ptr, GPUARENA_OWN_STREAM);
}

/* Returns the live bytes in pools of a device. *reserved_bytes: the bytes that the arena holds of it; may be NULL. */
EXPORT unsigned long long gpuarena_mempool_bytes(int device, unsigned long long *reserved_bytes)
{
    gpuarena_stats stats = GPUARENA_INIT;
    gpuarena *arena;
    pthread_mutex_lock(&creating);
    arena = device >= 0 && device < DEVICES ? arenas[device] : NULL;
    pthread_mutex_unlock(&creating);
    if (arena) gpuarena_get_stats(arena, &stats);
    if (reserved_bytes) *reserved_bytes = stats.reserved_bytes;
    return stats.live_bytes;
}

/* Says why this thread's latest allocation failed. The text is valid until the thread's next call. */
EXPORT const char *gpuarena_mempool_why(void)
{
    static __thread char text[512];
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    return text;
}

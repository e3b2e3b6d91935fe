/* CUB's CachingDeviceAllocator behind C functions, for rival.c to find in a shared library by name.
   It must not know of devices of this project: it calls the CUDA runtime that it is linked with. */
#ifndef STRESS_POLICY_CUB_LIBRARY_H
#define STRESS_POLICY_CUB_LIBRARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUB_LIBRARY_API __attribute__((visibility("default")))

typedef struct cub_library cub_library;

/* Called where CUB calls cudaMalloc and cudaFree, and answering as they do; give_back gets the size of its obtain. */
typedef struct cub_library_memory {
    void *user;
    void (*enter)(void *user);                   /* before every call of CUB; NULL: nothing is to be done */
    int (*obtain)(void *user, void **ptr, uint64_t bytes);                   /* NULL: the runtime's own are called */
    int (*give_back)(void *user, void *ptr, uint64_t bytes);
} cub_library_memory;

typedef struct cub_library_use { uint64_t live_bytes, cached_bytes; } cub_library_use;       /* in CUB's roundings */

/* Codes of the CUDA runtime: 0 is success. After an exception inside CUB it is 999, then and ever after: CUB may have
   been left locked. The last error of the runtime is never left set by a failed call. One thread at a time. */
typedef struct cub_library_calls {
    int  (*open)(int device, const cub_library_memory *memory, cub_library **opened);
    void (*close)(cub_library *self);            /* frees all live and cached blocks, as far as the device lets it;
                                                    after an exception its own host memory stays */
    /* bytes: not 0. stream: a cudaStream_t of the runtime. It must outlive the blocks that are live on it; once it is
       gone, nothing may follow. A free is on it, too: it must have been made to wait for all other uses. An
       allocation fails with cudaErrorNotReady (600) where a cached block of its bin is another stream's and not
       quiet, and none fits: a bug of CUB's that no caller can go round. */
    int  (*alloc)(cub_library *self, void **ptr, uint64_t bytes, void *stream);
    int  (*free)(cub_library *self, void *ptr);
    int  (*trim)(cub_library *self);             /* FreeAllCached */
    void (*measure)(const cub_library *self, cub_library_use *use);
} cub_library_calls;

extern CUB_LIBRARY_API const cub_library_calls cub_library_exports;

#ifdef __cplusplus
}
#endif

#endif

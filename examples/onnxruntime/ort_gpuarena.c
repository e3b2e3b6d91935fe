/* gpuarena as the CUDA allocator of ONNX Runtime, a shared library: make build/libgpuarena_ort.so. The addresses of
   three of its functions are options of the CUDA provider, as decimal text; with ctypes:

       lib = ctypes.CDLL("build/libgpuarena_ort.so")
       at = lambda name: str(ctypes.cast(getattr(lib, "gpuarena_ort_" + name), ctypes.c_void_p).value)
       options = {"gpu_external_alloc": at("alloc"), "gpu_external_free": at("free"),
                  "gpu_external_empty_cache": at("empty_cache")}
       session = onnxruntime.InferenceSession(model, providers=[("CUDAExecutionProvider", options)])

   ONNX Runtime then has no arena of its own. It names no stream, refuses user_compute_stream beside these options,
   and frees memory whose work has not ended. Freed memory is therefore reused only after the arena has waited for the
   device, which it does when it would exceed its limit: set one.
   The arena is made at the first allocation, on the device that is current, and configured by GPUARENA_CONF. One
   arena serves all sessions of the process; it lives to its end. */
#define _POSIX_C_SOURCE 200809L
#define GPUARENA_IMPLEMENTATION
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>

#include "gpuarena.h"

/* The provider's options. alloc returns NULL if there is no memory; gpuarena_ort_why says why. */
void *gpuarena_ort_alloc(size_t bytes);
void  gpuarena_ort_free(void *ptr);
void  gpuarena_ort_empty_cache(void);

/* The arena's statistics; all 0 before the first allocation. */
void  gpuarena_ort_stats(gpuarena_stats *stats);

/* The sentence of the last failure; "nothing has failed" without one. */
const char *gpuarena_ort_why(void);

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static gpuarena *made;                           /* read under the lock, which makes its contents visible */

/* The arena. make 1: makes it at the first use. NULL: there is none. */
static gpuarena *arena_of_all(int make)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    pthread_mutex_lock(&making);
    snprintf(config.name, sizeof config.name, "onnxruntime");
    if (make && !made && gpuarena_create(&config, &made)) made = NULL;
    arena = made;
    pthread_mutex_unlock(&making);
    return arena;
}

void *gpuarena_ort_alloc(size_t bytes)
{
    gpuarena *arena = arena_of_all(1);
    void *ptr = NULL;
    return arena && gpuarena_alloc(arena, &ptr, bytes, GPUARENA_ANY_STREAM) == GPUARENA_OK ? ptr : NULL;
}

/* A block that was allocated for every stream waits for the device. */
void gpuarena_ort_free(void *ptr) { (void)gpuarena_free(arena_of_all(0), ptr, GPUARENA_OWN_STREAM); }

void gpuarena_ort_empty_cache(void)
{
    gpuarena *arena = arena_of_all(0);
    if (arena) (void)gpuarena_trim(arena, 0, NULL);
}

void gpuarena_ort_stats(gpuarena_stats *stats) { gpuarena_get_stats(arena_of_all(0), stats); }

const char *gpuarena_ort_why(void)
{
    static __thread char text[512];
    gpuarena_failure failure;
    gpuarena_last_failure(arena_of_all(0), &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    return text;
}

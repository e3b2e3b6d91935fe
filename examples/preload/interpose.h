/* The common part of both preload libraries: the CUDA runtime's own functions behind those that the library replaces.
   Include first. */
#ifndef EXAMPLES_PRELOAD_INTERPOSE_H
#define EXAMPLES_PRELOAD_INTERPOSE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler may have renamed these for the per-thread default stream: the library defines both names itself. */
#undef cudaMallocAsync
#undef cudaFreeAsync
#undef cudaStreamWaitEvent
#undef cudaEventRecord
#undef cudaEventRecordWithFlags

#define EXPORTED __attribute__((visibility("default")))

/* The default stream of code compiled for the per-thread default stream. */
static inline cudaStream_t own_stream(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

/* The next definition of a function behind this library is the runtime's own. */
static void interpose_find(void **slot, const char *name)
{
    void *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (found) return;
    found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "gpuarena: no %s behind this library: is the program linked with libcudart.so?\n", name);
        abort();
    }
    __atomic_store_n(slot, found, __ATOMIC_RELEASE);
}

/* INTERPOSED(cudaFree, (void *)); then REAL(cudaFree)(ptr) calls the runtime's own cudaFree. */
#define INTERPOSED(name, parameters) static cudaError_t (*real_##name) parameters
#define REAL(name) \
    (interpose_find((void **)(void *)&real_##name, #name), __atomic_load_n(&real_##name, __ATOMIC_ACQUIRE))

/* CUDA 12.8 and later have it. */
extern cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) __attribute__((weak));

/* The device that memory for a stream is on: the stream's, or the current one if the runtime does not know the
   stream's. -1: there is none. */
static int interpose_device(cudaStream_t stream)
{
    int device;
    if (cudaStreamGetDevice && !cudaStreamGetDevice(stream, &device)) return device;
    return cudaGetDevice(&device) ? -1 : device;
}

#endif

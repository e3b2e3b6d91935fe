/* A CUDA device at work for one pass: a counting table, the pass's streams, and contents, really written and read
   back.
   It must not know of policies or workloads, nor of simulated devices. Without CUDA every opening fails.
   Tested by tests/test_device*.c on the libcudart substitute, by tests/gpu.t on a GPU. */
#ifndef STRESS_DEVICE_CUDA_DEVICE_H
#define STRESS_DEVICE_CUDA_DEVICE_H

#include "device.h"

typedef struct cuda_device cuda_device;

/* As device_open; *driver: the counting table, for as long as the device is open. */
cuda_device *cuda_device_open(int ordinal, gpuarena_driver *driver, problem *why);
/* Gives back what is on the list still. -1 and EXIT_HARNESS: how much could not be; NULL is fine. */
int cuda_device_close(cuda_device *self, problem *why);

/* *counters zeroed before. */
void cuda_device_count(const cuda_device *self, device_counters *counters);
void cuda_device_watch(cuda_device *self, sim_watch_fn *watch, void *user);
int  cuda_device_holds(const cuda_device *self, const void *ptr, uint64_t bytes);

/* As their namesakes of device.h. */
int  cuda_device_stream_create(cuda_device *self, gpuarena_stream *stream, problem *why);
int  cuda_device_stream_destroy(gpuarena_stream stream, problem *why);
int  cuda_device_access(gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t owner, problem *why);
int  cuda_device_follow(cuda_device *self, gpuarena_stream stream, gpuarena_stream other, problem *why);

/* The first 8 bytes are the pattern, so are the last 8; between them every byte is one and the same, made from the
   pattern. Where the ends meet the first goes before. Blocks next to each other are told apart to the byte. */
int  cuda_device_fill(gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t pattern, problem *why);
int  cuda_device_verify(cuda_device *self, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset,
                        problem *why);

#endif

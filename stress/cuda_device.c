/* CUDA's table, counted and listed; contents by synchronous memset and memcpy.
   It must not drive anything: it answers what device.h asks.
   Tested by tests/test_device.c on the libcudart substitute, by tests/gpu.t on a GPU. */
#include "cuda_device.h"

#include "cuda_environment.h"

#ifdef GPUARENA_NO_CUDA

cuda_device *cuda_device_open(int ordinal, gpuarena_driver *driver, problem *why)
{
    (void)ordinal; (void)driver;
    (void)cuda_environment_count(why);
    return NULL;
}

int cuda_device_close(cuda_device *self, problem *why)
{
    (void)self; (void)why;
    return 0;
}

void cuda_device_count(const cuda_device *self, device_counters *counters)
{
    (void)self; (void)counters;
}

int cuda_device_holds(const cuda_device *self, const void *ptr, uint64_t bytes)
{
    (void)self; (void)ptr; (void)bytes;
    return 0;
}

int cuda_device_fill(cuda_device *self, const void *ptr, uint64_t bytes, uint64_t pattern, problem *why)
{
    (void)self; (void)ptr; (void)bytes; (void)pattern;
    return cuda_environment_count(why);
}

int cuda_device_verify(cuda_device *self, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset,
                       problem *why)
{
    (void)bad_offset;
    return cuda_device_fill(self, ptr, bytes, pattern, why);
}

#else

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device_ranges.h"

enum { CUDA_DEVICE_ENDS = 8, CUDA_DEVICE_WINDOW = 4 << 20 };

struct cuda_device {
    gpuarena_driver inner;                       /* gpuarena_driver_cuda's */
    device_ranges   ranges;
    uint64_t        calls, held_peak_bytes;
    unsigned char  *window;                      /* host memory through which contents come back */
};

static int cuda_device_failed(const char *call, cudaError_t code, problem *why)
{
    (void)cudaGetLastError();
    return problem_set(why, EXIT_HARNESS, "%s: %s (%d)", call, cudaGetErrorName(code), (int)code);
}

static gpuarena_status cuda_device_classify(const gpuarena_driver *table, int code)
{
    const cuda_device *self = table->user;
    return self->inner.classify(&self->inner, code);
}

static const char *cuda_device_code_name(const gpuarena_driver *table, int code)
{
    const cuda_device *self = table->user;
    return self->inner.code_name(&self->inner, code);
}

static int cuda_device_info(const gpuarena_driver *table, gpuarena_memory kind, uint64_t *free_bytes,
                            uint64_t *total_bytes)
{
    const cuda_device *self = table->user;
    return self->inner.memory.info(&self->inner, kind, free_bytes, total_bytes);
}

/* What cannot be put on the list would be lost: it is not even asked for. */
static int cuda_device_obtain(const gpuarena_driver *table, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    cuda_device *self = table->user;
    if (device_ranges_reserve(&self->ranges)) return (int)cudaErrorUnknown;
    self->calls++;
    int code = self->inner.memory.obtain(&self->inner, kind, ptr, bytes, stream);
    if (code || !*ptr || !bytes) return code;
    device_ranges_add(&self->ranges, (uint64_t)(uintptr_t)*ptr, bytes);
    uint64_t held_bytes = device_ranges_bytes(&self->ranges);
    if (held_bytes > self->held_peak_bytes) self->held_peak_bytes = held_bytes;
    return code;
}

static int cuda_device_give_back(const gpuarena_driver *table, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    cuda_device *self = table->user;
    self->calls++;
    int code = self->inner.memory.give_back(&self->inner, kind, ptr, bytes, stream);
    if (!code) device_ranges_remove(&self->ranges, (uint64_t)(uintptr_t)ptr);
    return code;
}

static int cuda_device_connect(cuda_device *self, int ordinal, problem *why)
{
    if (cuda_environment_find(ordinal, why)) return -1;
    if (gpuarena_driver_cuda(ordinal, &self->inner)) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        return problem_set(why, EXIT_HARNESS, "CUDA device %d: %s", ordinal, failure.detail);
    }
    cudaError_t code = cudaSetDevice(ordinal);
    return code ? cuda_device_failed("cudaSetDevice", code, why) : 0;
}

cuda_device *cuda_device_open(int ordinal, gpuarena_driver *driver, problem *why)
{
    cuda_device *made = calloc(1, sizeof *made);
    if (made) made->window = malloc(CUDA_DEVICE_WINDOW);
    if (!made || !made->window) problem_set(why, EXIT_HARNESS, "no host memory for a CUDA device");
    if (!made || !made->window || cuda_device_connect(made, ordinal, why)) {
        (void)cuda_device_close(made, why);      /* holds nothing yet */
        return NULL;
    }
    memset(driver, 0, sizeof *driver);
    driver->user = made;
    driver->device = made->inner.device;
    driver->null_is_per_thread = made->inner.null_is_per_thread;
    driver->classify = cuda_device_classify;
    driver->code_name = cuda_device_code_name;
    driver->memory.info = cuda_device_info;
    driver->memory.obtain = cuda_device_obtain;
    driver->memory.give_back = cuda_device_give_back;
    return made;
}

/* What stays has the code of the last call that failed. */
static uint64_t cuda_device_give_back_all(cuda_device *self, int *failed)
{
    uint64_t kept_bytes = 0;
    for (size_t at = 0; at < self->ranges.held.capacity; at++) {
        const device_range *range = &self->ranges.held.slots[at];
        void *ptr = (void *)(uintptr_t)range->address;
        if (!range->bytes) continue;
        int code = self->inner.memory.give_back(&self->inner, GPUARENA_MEMORY_DEVICE, ptr, range->bytes, NULL);
        if (!code) continue;
        *failed = code;
        kept_bytes += range->bytes;
    }
    return kept_bytes;
}

int cuda_device_close(cuda_device *self, problem *why)
{
    int code = 0, ordinal = self ? self->inner.device : 0;
    if (!self) return 0;
    uint64_t kept_bytes = cuda_device_give_back_all(self, &code);
    device_ranges_clear(&self->ranges);
    free(self->window);
    free(self);
    if (!kept_bytes) return 0;
    return problem_set(why, EXIT_HARNESS, "%" PRIu64 " bytes could not be given back to cuda:%d: %s (%d)", kept_bytes,
                       ordinal, cudaGetErrorName((cudaError_t)code), code);
}

void cuda_device_count(const cuda_device *self, device_counters *counters)
{
    counters->calls = self->calls;
    counters->held_bytes = device_ranges_bytes(&self->ranges);
    counters->held_peak_bytes = self->held_peak_bytes;
}

int cuda_device_holds(const cuda_device *self, const void *ptr, uint64_t bytes)
{
    return device_ranges_hold(&self->ranges, (uint64_t)(uintptr_t)ptr, bytes);
}

static unsigned char cuda_device_body(uint64_t pattern)
{
    return (unsigned char)(pattern * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* The bytes of the pattern, the same on every host. */
static void cuda_device_ends(uint64_t pattern, unsigned char *ends)
{
    for (int index = 0; index < CUDA_DEVICE_ENDS; index++) ends[index] = (unsigned char)(pattern >> 8 * index);
}

int cuda_device_fill(cuda_device *self, const void *ptr, uint64_t bytes, uint64_t pattern, problem *why)
{
    unsigned char ends[CUDA_DEVICE_ENDS], *memory = (unsigned char *)(uintptr_t)ptr;
    uint64_t end = bytes < CUDA_DEVICE_ENDS ? bytes : CUDA_DEVICE_ENDS;
    (void)self;
    if (!bytes) return 0;
    cuda_device_ends(pattern, ends);
    cudaError_t code = cudaMemset(memory, cuda_device_body(pattern), (size_t)bytes);
    if (code) return cuda_device_failed("cudaMemset", code, why);
    code = cudaMemcpy(memory + (bytes - end), ends, (size_t)end, cudaMemcpyHostToDevice);
    if (!code) code = cudaMemcpy(memory, ends, (size_t)end, cudaMemcpyHostToDevice);
    return code ? cuda_device_failed("cudaMemcpy to the device", code, why) : 0;
}

/* How many bytes from the start are the body's. */
static uint64_t cuda_device_same(const unsigned char *found, uint64_t count, unsigned char body)
{
    uint64_t same = 0;
    if (found[0] == body && !memcmp(found, found + 1, (size_t)count - 1)) return count;
    while (same < count && found[same] == body) same++;
    return same;
}

/* How many of count bytes are as expected, up to the first that is not. from: where in the block they begin. */
static uint64_t cuda_device_compare(const unsigned char *found, uint64_t count, uint64_t pattern, uint64_t bytes,
                                    uint64_t from)
{
    unsigned char ends[CUDA_DEVICE_ENDS];
    uint64_t index = 0, tail = bytes > CUDA_DEVICE_ENDS ? bytes - CUDA_DEVICE_ENDS : 0;
    cuda_device_ends(pattern, ends);
    for (; index < count && from + index < CUDA_DEVICE_ENDS; index++) {
        if (found[index] != ends[from + index]) return index;
    }
    if (index < count && from + index < tail) {
        uint64_t run = tail - from < count ? tail - from - index : count - index;
        uint64_t same = cuda_device_same(found + index, run, cuda_device_body(pattern));
        index += same;
        if (same < run) return index;
    }
    for (; index < count; index++) {
        if (found[index] != ends[from + index - tail]) return index;
    }
    return count;
}

int cuda_device_verify(cuda_device *self, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset,
                       problem *why)
{
    const unsigned char *memory = ptr;
    for (uint64_t at = 0; at < bytes; at += CUDA_DEVICE_WINDOW) {
        uint64_t count = bytes - at < CUDA_DEVICE_WINDOW ? bytes - at : CUDA_DEVICE_WINDOW;
        cudaError_t code = cudaMemcpy(self->window, memory + at, (size_t)count, cudaMemcpyDeviceToHost);
        if (code) return cuda_device_failed("cudaMemcpy from the device", code, why);
        uint64_t equal = cuda_device_compare(self->window, count, pattern, bytes, at);
        if (equal < count) {
            *bad_offset = at + equal;
            return 0;
        }
    }
    return 1;
}

#endif

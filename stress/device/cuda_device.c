/* Streams, uses of memory that are written in order, contents by synchronous memset and memcpy.
   It must not drive anything: it answers what device.h asks.
   Tested by tests/test_device*.c on the libcudart substitute, by tests/gpu.t on a GPU. */
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

void cuda_device_watch(cuda_device *self, sim_watch_fn *watch, void *user)
{
    (void)self; (void)watch; (void)user;
}

int cuda_device_holds(const cuda_device *self, const void *ptr, uint64_t bytes)
{
    (void)self; (void)ptr; (void)bytes;
    return 0;
}

int cuda_device_stream_create(cuda_device *self, gpuarena_stream *stream, problem *why)
{
    (void)self; (void)stream;
    return cuda_environment_count(why);
}

int cuda_device_stream_destroy(gpuarena_stream stream, problem *why)
{
    (void)stream;
    return cuda_environment_count(why);
}

int cuda_device_access(gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t owner, problem *why)
{
    return cuda_device_fill(stream, ptr, bytes, owner, why);
}

int cuda_device_follow(cuda_device *self, gpuarena_stream stream, gpuarena_stream other, problem *why)
{
    (void)self; (void)stream; (void)other;
    return cuda_environment_count(why);
}

int cuda_device_fill(gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t pattern, problem *why)
{
    (void)stream; (void)ptr; (void)bytes; (void)pattern;
    return cuda_environment_count(why);
}

int cuda_device_verify(cuda_device *self, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset,
                       problem *why)
{
    (void)self; (void)bad_offset;
    return cuda_device_fill(NULL, ptr, bytes, pattern, why);
}

#else

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_table.h"

enum { CUDA_DEVICE_ENDS = 8, CUDA_DEVICE_GRANULE = 2 << 20, CUDA_DEVICE_WINDOW = 4 << 20 };

struct cuda_device {
    cuda_table      table;
    cudaEvent_t     event;                       /* what streams follow each other by; NULL: none was needed yet */
    unsigned char  *window;                      /* host memory through which contents come back */
};

static int cuda_device_failed(const char *call, cudaError_t code, problem *why)
{
    (void)cudaGetLastError();
    return problem_set(why, EXIT_HARNESS, "%s: %s (%d)", call, cudaGetErrorName(code), (int)code);
}

static int cuda_device_connect(cuda_device *self, int ordinal, problem *why)
{
    if (cuda_environment_find(ordinal, why)) return -1;
    if (gpuarena_driver_cuda(ordinal, &self->table.inner)) {
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
    cuda_table_fill(&made->table, driver);
    return made;
}

int cuda_device_close(cuda_device *self, problem *why)
{
    int code = 0, ordinal = self ? self->table.inner.device : 0;
    if (!self) return 0;
    uint64_t kept_bytes = cuda_table_clear(&self->table, &code);
    if (self->event && cudaEventDestroy(self->event)) (void)cudaGetLastError();
    free(self->window);
    free(self);
    if (!kept_bytes) return 0;
    return problem_set(why, EXIT_HARNESS, "%" PRIu64 " bytes could not be given back to cuda:%d: %s (%d)", kept_bytes,
                       ordinal, cudaGetErrorName((cudaError_t)code), code);
}

void cuda_device_count(const cuda_device *self, device_counters *counters)
{
    counters->calls = self->table.calls;
    counters->held_bytes = cuda_table_held_bytes(&self->table);
    counters->held_peak_bytes = self->table.held_peak_bytes;
}

void cuda_device_watch(cuda_device *self, sim_watch_fn *watch, void *user)
{
    self->table.watch = watch;
    self->table.watch_user = user;
}

int cuda_device_holds(const cuda_device *self, const void *ptr, uint64_t bytes)
{
    return cuda_table_holds(&self->table, ptr, bytes);
}

int cuda_device_stream_create(cuda_device *self, gpuarena_stream *stream, problem *why)
{
    (void)self;
    cudaError_t code = cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    return code ? cuda_device_failed("cudaStreamCreateWithFlags", code, why) : 0;
}

int cuda_device_stream_destroy(gpuarena_stream stream, problem *why)
{
    cudaError_t code = cudaStreamDestroy(stream);
    return code ? cuda_device_failed("cudaStreamDestroy", code, why) : 0;
}

/* One event will do: a stream waits for the record that was the latest when it was told to. */
int cuda_device_follow(cuda_device *self, gpuarena_stream stream, gpuarena_stream other, problem *why)
{
    cudaError_t code = self->event ? cudaSuccess : cudaEventCreateWithFlags(&self->event, cudaEventDisableTiming);
    if (code) return cuda_device_failed("cudaEventCreateWithFlags", code, why);
    code = cudaEventRecord(self->event, other);
    if (code) return cuda_device_failed("cudaEventRecord", code, why);
    code = cudaStreamWaitEvent(stream, self->event, 0);
    return code ? cuda_device_failed("cudaStreamWaitEvent", code, why) : 0;
}

static unsigned char cuda_device_body(uint64_t pattern)
{
    return (unsigned char)(pattern * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* Granules that hold one value cost the substitute no host memory: parts of them would, in every large block. */
int cuda_device_access(gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t owner, problem *why)
{
    uint64_t begin = (uint64_t)(uintptr_t)ptr + CUDA_DEVICE_ENDS, end = begin + bytes - 2 * CUDA_DEVICE_ENDS;
    if (bytes >= CUDA_DEVICE_GRANULE) {
        begin = (begin + CUDA_DEVICE_GRANULE - 1) / CUDA_DEVICE_GRANULE * CUDA_DEVICE_GRANULE;
        end = end / CUDA_DEVICE_GRANULE * CUDA_DEVICE_GRANULE;
    }
    if (bytes <= 2 * CUDA_DEVICE_ENDS || begin >= end) return 0;
    cudaError_t code = cudaMemsetAsync((void *)(uintptr_t)begin, cuda_device_body(owner), (size_t)(end - begin),
                                       stream);
    return code ? cuda_device_failed("cudaMemsetAsync", code, why) : 0;
}

/* The bytes of the pattern, the same on every host. */
static void cuda_device_ends(uint64_t pattern, unsigned char *ends)
{
    for (int index = 0; index < CUDA_DEVICE_ENDS; index++) ends[index] = (unsigned char)(pattern >> 8 * index);
}

int cuda_device_fill(gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t pattern, problem *why)
{
    unsigned char ends[CUDA_DEVICE_ENDS], *memory = (unsigned char *)(uintptr_t)ptr;
    uint64_t end = bytes < CUDA_DEVICE_ENDS ? bytes : CUDA_DEVICE_ENDS;
    if (!bytes) return 0;
    cuda_device_ends(pattern, ends);
    cudaError_t code = cudaStreamSynchronize(stream);
    if (code) return cuda_device_failed("cudaStreamSynchronize", code, why);
    code = cudaMemset(memory, cuda_device_body(pattern), (size_t)bytes);
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

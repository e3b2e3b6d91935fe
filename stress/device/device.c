/* One device at work: hands every question to the simulated machine or to CUDA. */
#include "device.h"

#include "cuda_environment.h"

/* ---- CUDA's devices: streams, uses of memory that are written in order, contents by synchronous memset and
        memcpy */

#ifdef GPUARENA_NO_CUDA

/* No device is CUDA's then: the calls for one are left out. */
#define DEVICE_ON_CUDA(self, does)

#else

#define DEVICE_ON_CUDA(self, does) if (!(self)->machine) does

#include <cuda_runtime_api.h>

#include "cuda_table.h"

enum { CUDA_DEVICE_ENDS = 8, CUDA_DEVICE_WINDOW = 4 << 20 };

#endif

struct device {
    sim            *machine;                     /* NULL: CUDA */
    gpuarena_driver driver;
    uint64_t        op_ns, op;                   /* op: under way */
    int             is_unjudged;
#ifndef GPUARENA_NO_CUDA
    cuda_table      table;                       /* behind `driver`, if that is CUDA's */
    cudaEvent_t     event;                       /* streams follow each other by it; NULL: none was needed yet */
    unsigned char  *window;                      /* host memory for contents that are read back, and as much for the
                                                    expected ones; NULL: simulated */
#endif
};

/* Sets a problem if the code is a failure; 0: it is none. */
static int device_failed(const device *self, const char *call, int code, problem *why)
{
    if (!code) return 0;
    DEVICE_ON_CUDA(self, (void)cudaGetLastError());
    return problem_set(why, EXIT_HARNESS, "%s: %s (%d)", call, self->driver.code_name(&self->driver, code), code);
}

#ifdef GPUARENA_NO_CUDA

static int cuda_device_open(device *self, int ordinal, problem *why)
{
    (void)self, (void)ordinal;
    return cuda_environment_count(why);          /* which says why there is none */
}

#else

static int cuda_device_failed(const device *self, const char *call, cudaError_t code, problem *why)
{
    return device_failed(self, call, (int)code, why);
}

static int cuda_device_open(device *self, int ordinal, problem *why)
{
    pthread_mutex_init(&self->table.mutex, NULL);
    self->window = program_need(2, CUDA_DEVICE_WINDOW);
    if (cuda_environment_find(ordinal, why)) return -1;
    if (gpuarena_driver_cuda(ordinal, &self->table.inner)) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        return problem_set(why, EXIT_HARNESS, "CUDA device %d: %s", ordinal, failure.detail);
    }
    cuda_table_fill(&self->table, &self->driver);
    return cuda_device_failed(self, "cudaSetDevice", cudaSetDevice(ordinal), why);
}

/* Gives back all that the books still hold, which may be in use until the device is waited for. The driver's pool
   gives back memory that was freed to it at the second wait: without that, the next program would have less. -1 and
   EXIT_HARNESS: how many bytes could not be given back. */
static int cuda_device_close(device *self, problem *why)
{
    int code = 0;
    if (!self->window) return 0;
    if (cudaDeviceSynchronize()) (void)cudaGetLastError();
    uint64_t kept_bytes = cuda_table_clear(&self->table, &code);
    if (cudaDeviceSynchronize()) (void)cudaGetLastError();
    if (self->event && cudaEventDestroy(self->event)) (void)cudaGetLastError();
    pthread_mutex_destroy(&self->table.mutex);
    free(self->window);
    if (!kept_bytes) return 0;
    return problem_set(why, EXIT_HARNESS, "%" PRIu64 " bytes could not be given back to cuda:%d: %s (%d)", kept_bytes,
                       self->driver.device, cudaGetErrorName((cudaError_t)code), code);
}

/* One event will do: a stream waits for the record that was the latest when it was told to. */
static int cuda_device_follow(device *self, gpuarena_stream stream, gpuarena_stream other, problem *why)
{
    cudaError_t made = self->event ? cudaSuccess : cudaEventCreateWithFlags(&self->event, cudaEventDisableTiming);
    return cuda_device_failed(self, "cudaEventCreateWithFlags", made, why)
        || cuda_device_failed(self, "cudaEventRecord", cudaEventRecord(self->event, other), why)
        || cuda_device_failed(self, "cudaStreamWaitEvent", cudaStreamWaitEvent(stream, self->event, 0), why) ? -1 : 0;
}

static unsigned char cuda_device_body(uint64_t pattern)
{
    return (unsigned char)(pattern * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* Granules that hold one value cost the substitute no host memory: parts of them would, in every large block. */
static int cuda_device_access(const device *self, gpuarena_stream stream, const void *ptr, uint64_t bytes,
                              uint64_t owner, problem *why)
{
    uint64_t begin = (uint64_t)(uintptr_t)ptr + CUDA_DEVICE_ENDS, end = begin + bytes - 2 * CUDA_DEVICE_ENDS;
    if (bytes >= SIM_GRANULE) {
        begin = memory_round_up(begin, SIM_GRANULE);
        end = end / SIM_GRANULE * SIM_GRANULE;
    }
    if (bytes <= 2 * CUDA_DEVICE_ENDS || begin >= end) return 0;
    void *first = (void *)(uintptr_t)begin;
    cudaError_t code = cudaMemsetAsync(first, cuda_device_body(owner), (size_t)(end - begin), stream);
    return cuda_device_failed(self, "cudaMemsetAsync", code, why);
}

/* The bytes of the pattern, the same on every host. */
static void cuda_device_ends(uint64_t pattern, unsigned char *ends)
{
    for (int index = 0; index < CUDA_DEVICE_ENDS; index++) ends[index] = (unsigned char)(pattern >> 8 * index);
}

static int cuda_device_fill(const device *self, gpuarena_stream stream, const void *ptr, uint64_t bytes,
                            uint64_t pattern, problem *why)
{
    unsigned char ends[CUDA_DEVICE_ENDS], *memory = (unsigned char *)(uintptr_t)ptr;
    uint64_t end = bytes < CUDA_DEVICE_ENDS ? bytes : CUDA_DEVICE_ENDS;
    if (!bytes) return 0;
    cuda_device_ends(pattern, ends);
    if (cuda_device_failed(self, "cudaStreamSynchronize", cudaStreamSynchronize(stream), why)
        || cuda_device_failed(self, "cudaMemset", cudaMemset(memory, cuda_device_body(pattern), (size_t)bytes), why))
        return -1;
    cudaError_t code = cudaMemcpy(memory + (bytes - end), ends, (size_t)end, cudaMemcpyDefault);      /* or pinned */
    if (!code) code = cudaMemcpy(memory, ends, (size_t)end, cudaMemcpyDefault);
    return cuda_device_failed(self, "cudaMemcpy to the device", code, why);
}

/* The block's bytes from here on. */
static void cuda_device_expect(unsigned char *expected, uint64_t count, uint64_t pattern, uint64_t bytes,
                               uint64_t from)
{
    unsigned char ends[CUDA_DEVICE_ENDS];
    uint64_t tail = bytes > CUDA_DEVICE_ENDS ? bytes - CUDA_DEVICE_ENDS : 0;
    cuda_device_ends(pattern, ends);
    memset(expected, cuda_device_body(pattern), (size_t)count);
    for (uint64_t at = tail; at < bytes; at++) {
        if (at >= from && at < from + count) expected[at - from] = ends[at - tail];
    }
    for (uint64_t at = from; at < CUDA_DEVICE_ENDS && at < from + count; at++) expected[at - from] = ends[at];
}

static int cuda_device_verify(device *self, const void *ptr, uint64_t bytes, uint64_t pattern,
                              uint64_t *bad_offset, problem *why)
{
    const unsigned char *memory = ptr;
    unsigned char *expected = self->window + CUDA_DEVICE_WINDOW;
    for (uint64_t at = 0; at < bytes; at += CUDA_DEVICE_WINDOW) {
        uint64_t count = bytes - at < CUDA_DEVICE_WINDOW ? bytes - at : CUDA_DEVICE_WINDOW;
        cudaError_t code = cudaMemcpy(self->window, memory + at, (size_t)count, cudaMemcpyDefault);
        if (cuda_device_failed(self, "cudaMemcpy from the device", code, why)) return -1;
        cuda_device_expect(expected, count, pattern, bytes, at);
        if (memcmp(self->window, expected, (size_t)count) == 0) continue;
        for (*bad_offset = at; self->window[*bad_offset - at] == expected[*bad_offset - at];) ++*bad_offset;
        return 0;
    }
    return 1;
}

#endif

/* ---- One device at work: hands every question to the simulated machine or to CUDA */

static int device_connect(device *self, const device_config *config, problem *why)
{
    if (config->is_cuda) return cuda_device_open(self, config->ordinal, why);
    self->op_ns = config->op_ns;
    self->is_unjudged = config->is_unjudged;
    self->machine = sim_create(&config->sim, why);
    if (!self->machine) return -1;
    sim_driver(self->machine, 0, &self->driver);
    return 0;
}

device *device_open(const device_config *config, problem *why)
{
    device *made = program_need(1, sizeof *made);
    if (!device_connect(made, config, why)) return made;
    device_close(made, NULL);
    return NULL;
}

int device_close(device *self, problem *why)
{
    problem unheard = { 0, "" };
    int failed = 0;
    if (!self) return 0;
    if (!why) why = &unheard;
    DEVICE_ON_CUDA(self, failed = cuda_device_close(self, why));
    sim_destroy(self->machine);
    free(self);
    return failed;
}

const gpuarena_driver *device_driver(const device *self)
{
    return &self->driver;
}

sim *device_simulated(const device *self)
{
    return self->machine;
}

uint64_t device_now_vns(const device *self)
{
    return self->machine ? sim_now_ns(self->machine) : 0;
}

void device_begin_op(device *self, uint64_t op)
{
    if (!self->machine) return;
    self->op = op;
    sim_begin_op(self->machine, op);
    sim_advance(self->machine, self->op_ns);
}

void device_thread(device *self, uint64_t thread)
{
    if (self->machine) sim_thread(self->machine, thread);
}

void device_count(const device *self, device_counters *counters)
{
    static const device_counters none;
    sim_counters counted;
    *counters = none;
    DEVICE_ON_CUDA(self, {
        counters->calls = self->table.calls;
        counters->held_bytes = cuda_table_held_bytes(&self->table);
        counters->held_peak_bytes = self->table.held_peak_bytes;
        return;
    })
    sim_get_sums(self->machine, 0, &counted);
    counters->calls = counted.memory_calls;
    counters->call_vns = counted.memory_vns;
    counters->is_virtual = 1;
    counters->held_bytes = counted.held_bytes + counted.host_bytes + counted.managed_bytes;
    counters->held_peak_bytes = counted.held_peak_bytes + counted.host_peak_bytes + counted.managed_peak_bytes;
    counters->pool_kept_bytes = counted.pool_reserved_bytes - counted.pool_used_bytes;
    counters->pool_kept_peak_bytes = counted.pool_reserved_peak_bytes - counted.pool_used_peak_bytes;
}

void device_watch(device *self, sim_watch_fn *watch, void *user)
{
    DEVICE_ON_CUDA(self, { self->table.watch = watch; self->table.watch_user = user; return; })
    sim_watch(self->machine, watch, user);
}

int device_free_bytes(const device *self, uint64_t *free_bytes, problem *why)
{
    uint64_t total_bytes;
    int code = self->driver.memory.info(&self->driver, GPUARENA_MEMORY_DEVICE, free_bytes, &total_bytes);
    return device_failed(self, "cudaMemGetInfo", code, why);
}

int device_stream_create(device *self, gpuarena_stream *stream, problem *why)
{
    DEVICE_ON_CUDA(self, return cuda_device_failed(self, "cudaStreamCreateWithFlags",
                                                   cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), why));
    return device_failed(self, "creating a stream", sim_stream_create(self->machine, 0, 0, stream), why);
}

int device_stream_destroy(device *self, gpuarena_stream stream, problem *why)
{
    DEVICE_ON_CUDA(self, return cuda_device_failed(self, "cudaStreamDestroy", cudaStreamDestroy(stream), why));
    return device_failed(self, "destroying a stream", sim_stream_destroy(self->machine, 0, stream), why);
}

int device_work(device *self, gpuarena_stream stream, uint64_t work_ns, problem *why)
{
    DEVICE_ON_CUDA(self, return 0);
    return device_failed(self, "work on a stream", sim_work(self->machine, 0, stream, work_ns), why);
}

int device_access(device *self, gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t owner, problem *why)
{
    DEVICE_ON_CUDA(self, return cuda_device_access(self, stream, ptr, bytes, owner, why));
    if (self->is_unjudged) return 0;
    return device_failed(self, "use on a stream", sim_access(self->machine, 0, stream, ptr, bytes, owner, self->op),
                         why);
}

int device_follow(device *self, gpuarena_stream stream, gpuarena_stream other, problem *why)
{
    DEVICE_ON_CUDA(self, return cuda_device_follow(self, stream, other, why));
    int code = sim_stream_follow(self->machine, 0, stream, other);
    return device_failed(self, "a stream's wait for another", code, why);
}

int device_rival(device *self, uint64_t bytes, int gives_back, problem *why)
{
    if (!self->machine) {
        return problem_set(why, EXIT_HARNESS, "another process takes memory: expected a simulated device");
    }
    sim_rival(self->machine, 0, bytes, gives_back);
    return 0;
}

int device_holds(const device *self, const void *ptr, uint64_t bytes)
{
    DEVICE_ON_CUDA(self, return cuda_table_holds(&self->table, ptr, bytes));
    return sim_holds(self->machine, 0, ptr, bytes);
}

int device_fill(device *self, gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t pattern, problem *why)
{
    (void)stream, (void)why;
    DEVICE_ON_CUDA(self, return cuda_device_fill(self, stream, ptr, bytes, pattern, why));
    sim_fill(self->machine, 0, ptr, bytes, pattern);
    return 0;
}

int device_verify(device *self, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset,
                  problem *why)
{
    (void)why;
    DEVICE_ON_CUDA(self, return cuda_device_verify(self, ptr, bytes, pattern, bad_offset, why));
    return sim_verify(self->machine, 0, ptr, bytes, pattern, bad_offset);
}

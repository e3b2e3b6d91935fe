/* libgpuarena-preload.so: cudaMalloc, cudaMallocAsync and their frees of a program that exists already come from an
   arena for each device, without a line changed; cudaMemGetInfo tells the memory that the arena may still give.
       LD_PRELOAD=build/libgpuarena-preload.so GPUARENA_CONF=limit=8G ./program
   At exit, and before cudaDeviceReset, a report goes to standard error, or to the file that GPUARENA_REPORT names.
   If no arena can be made, for example with a wrong GPUARENA_CONF, standard error says why, and the runtime serves
   the device.
   The program must use the shared libcudart (nvcc -cudart shared) of the version that this library was built with:
   functions that are linked statically cannot be replaced.
   Memory of paged arenas cannot be exported by cudaIpcGetMemHandle; with backing=segments,share=whole it can. Only
   the other devices that peers=1+2 names can access it, whatever cudaDeviceEnablePeerAccess says; with
   backing=segments that call suffices.
   cudaFree waits for the device, which CUDA forbids while a graph is captured, also in relaxed mode.
   Not replaced: managed, pinned and pitched memory, arrays, the program's own memory pools, and the driver's
   functions: cuMemFree refuses the memory of this cudaMalloc. */
#include "interpose.h"
#include <unistd.h>

#define GPUARENA_STATIC
#define GPUARENA_IMPLEMENTATION
#include "../../gpuarena.h"

/* The arena's own calls of the runtime come back to this library, which passes them on while a thread is inside. */
static __thread int inside;
static __thread cudaError_t last_code;           /* the arena's last error, for cudaGetLastError; an error of the
                                                    runtime is later, and goes first */

/* cudaMalloc promises an alignment of 256 bytes and gives 512. Programs that bind its memory to textures rely on
   that. */
enum { DEVICES = 64, TEXTURE_ALIGNMENT = 512 };
static struct {
    pthread_mutex_t lock;                        /* of creation and of cudaDeviceReset */
    gpuarena *arena[DEVICES];
    int refused[DEVICES];                        /* no arena could be made: the runtime serves that device */
    uint64_t call_count;                         /* allocations and frees served in place of the driver */
    pid_t process;                               /* process that made the arenas: a child of fork cannot use them */
} preload = { PTHREAD_MUTEX_INITIALIZER, { NULL }, { 0 }, 0, 0 };

INTERPOSED(cudaMalloc, (void **, size_t));
INTERPOSED(cudaFree, (void *));
INTERPOSED(cudaMallocAsync, (void **, size_t, cudaStream_t));
INTERPOSED(cudaFreeAsync, (void *, cudaStream_t));
INTERPOSED(cudaMemGetInfo, (size_t *, size_t *));
INTERPOSED(cudaStreamDestroy, (cudaStream_t));
INTERPOSED(cudaDeviceReset, (void));
INTERPOSED(cudaGetLastError, (void));
INTERPOSED(cudaPeekAtLastError, (void));

/* Prints why this thread's latest call failed. */
static void say_failure(void)
{
    gpuarena_failure failure;
    char text[512];
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    fprintf(stderr, "gpuarena: %s\n", text);
}

static gpuarena *make_arena(int device)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_driver driver = GPUARENA_INIT;
    gpuarena *arena = NULL;
    const char *text = getenv("GPUARENA_CONF");
    if (text) (void)gpuarena_config_parse(text, &config, NULL, 0);       /* creation reports a mistake in it */
    if (!config.alignment && config.debug != GPUARENA_DEBUG_PASSTHROUGH) config.alignment = TEXTURE_ALIGNMENT;
    snprintf(config.name, sizeof config.name, "device %d", device);
    config.driver = &driver;
    if (gpuarena_driver_cuda(device, &driver) || gpuarena_create(&config, &arena)) say_failure();
    return arena;
}

/* The arena of the stream's device, or for ANY_STREAM of the current one. NULL: there is none. Call with `inside`
   set. */
static gpuarena *arena_of(gpuarena_stream stream)
{
    gpuarena *arena;
    int device = interpose_device(stream == GPUARENA_ANY_STREAM ? NULL : (cudaStream_t)stream);
    if (device < 0 || device >= DEVICES) return NULL;
    pthread_mutex_lock(&preload.lock);
    if (!preload.arena[device] && !preload.refused[device]) {
        preload.process = getpid();
        __atomic_store_n(&preload.arena[device], make_arena(device), __ATOMIC_RELEASE);
        preload.refused[device] = !preload.arena[device];
    }
    arena = preload.arena[device];
    pthread_mutex_unlock(&preload.lock);
    return arena;
}

static cudaError_t refusal(gpuarena_result result)
{
    gpuarena_failure failure;
    if (result == GPUARENA_OUT_OF_MEMORY || result == GPUARENA_HOST_MEMORY) {
        say_failure();
        return cudaErrorMemoryAllocation;
    }
    if (result == GPUARENA_CAPTURE) return cudaErrorStreamCaptureUnsupported;
    gpuarena_last_failure(NULL, &failure);
    return failure.driver_code > 0 ? (cudaError_t)failure.driver_code : cudaErrorInvalidValue;
}

static cudaError_t set_last(cudaError_t code)
{
    (void)REAL(cudaGetLastError)();              /* an earlier error is not the last one any more */
    return last_code = code;
}

static cudaError_t code_of(gpuarena_result result)
{
    return result == GPUARENA_OK ? cudaSuccess : set_last(refusal(result));
}

/* Allocates from the arena of arena_of. 0: there is none, and the runtime must be called. */
static int allocate(void **ptr, size_t bytes, gpuarena_stream stream, cudaError_t *code)
{
    gpuarena *arena;
    if (inside || !ptr || !bytes) return 0;
    inside++;
    arena = arena_of(stream);
    if (arena) {
        *code = code_of(gpuarena_alloc(arena, ptr, bytes, stream));
        __atomic_fetch_add(&preload.call_count, 1, __ATOMIC_RELAXED);
    }
    inside--;
    return arena != NULL;
}

/* The arena that has this memory; NULL: the runtime's own. */
static gpuarena *owner_of(const void *ptr)
{
    return inside || !ptr ? NULL : gpuarena_owner(ptr);
}

static cudaError_t release(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    cudaError_t code;
    inside++;
    code = code_of(gpuarena_free(arena, ptr, stream));
    __atomic_fetch_add(&preload.call_count, 1, __ATOMIC_RELAXED);
    inside--;
    return code;
}

EXPORTED cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
    cudaError_t code;
    return allocate(ptr, bytes, GPUARENA_ANY_STREAM, &code) ? code : REAL(cudaMalloc)(ptr, bytes);
}

/* Waits for all work on the arena's device, which need not be the current one. */
static cudaError_t wait_for(const gpuarena *arena)
{
    gpuarena_config config;
    int current, elsewhere;
    cudaError_t code = cudaGetDevice(&current);
    if (code) return code;
    gpuarena_get_config(arena, &config);
    elsewhere = config.driver->device != current;
    if (elsewhere) code = cudaSetDevice(config.driver->device);
    if (!code) code = cudaDeviceSynchronize();
    if (elsewhere) (void)cudaSetDevice(current);
    return code;
}

/* Like the runtime's cudaFree, this one waits for all work on the memory. */
EXPORTED cudaError_t cudaFree(void *ptr)
{
    gpuarena *arena = owner_of(ptr);
    cudaError_t code;
    if (!arena) return REAL(cudaFree)(ptr);
    code = wait_for(arena);
    return code ? code : release(arena, ptr, GPUARENA_ANY_STREAM);
}

/* Tells whether the stream is captured. The runtime then makes an allocation a node of the graph. */
static int is_captured(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

EXPORTED cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
    cudaError_t code;
    if (!inside && !is_captured(stream) && allocate(ptr, bytes, stream, &code)) return code;
    return REAL(cudaMallocAsync)(ptr, bytes, stream);
}

/* A captured free is refused: a graph frees only memory that it allocated, which is never the arena's. */
EXPORTED cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    gpuarena *arena = owner_of(ptr);
    if (!arena) return REAL(cudaFreeAsync)(ptr, stream);
    return is_captured(stream) ? set_last(cudaErrorInvalidValue) : release(arena, ptr, stream);
}

/* Code compiled for the per-thread default stream calls these names. */
EXPORTED cudaError_t cudaMallocAsync_ptsz(void **ptr, size_t bytes, cudaStream_t stream)
{
    return cudaMallocAsync(ptr, bytes, own_stream(stream));
}

EXPORTED cudaError_t cudaFreeAsync_ptsz(void *ptr, cudaStream_t stream)
{
    return cudaFreeAsync(ptr, own_stream(stream));
}

/* The free bytes are those that the program can still allocate: the device's free bytes without the headroom, and the
   arena's idle ones, within the limit. They never exceed the device's total, which an arena in host memory could. */
EXPORTED cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t code = REAL(cudaMemGetInfo)(free_bytes, total_bytes);
    gpuarena_config config;
    gpuarena_stats stats;
    gpuarena *arena;
    uint64_t left, below;
    if (code || inside || !free_bytes || !total_bytes) return code;
    inside++;
    arena = arena_of(GPUARENA_ANY_STREAM);
    if (arena) {
        gpuarena_get_stats(arena, &stats);
        gpuarena_get_config(arena, &config);
        left = *free_bytes > config.headroom_bytes ? *free_bytes - config.headroom_bytes : 0;
        left += stats.pending_bytes + stats.cached_bytes;
        below = stats.limit_bytes > stats.live_bytes ? stats.limit_bytes - stats.live_bytes : 0;
        if (stats.limit_bytes < *total_bytes) *total_bytes = (size_t)stats.limit_bytes;
        if (left > *total_bytes) left = *total_bytes;
        *free_bytes = (size_t)(left < below ? left : below);
    }
    inside--;
    return code;
}

/* The runtime does not know the arena's errors; they are added here. The arena's own calls do not see them. */
EXPORTED cudaError_t cudaPeekAtLastError(void)
{
    cudaError_t code = REAL(cudaPeekAtLastError)();
    return code || inside ? code : last_code;
}

EXPORTED cudaError_t cudaGetLastError(void)
{
    cudaError_t code = cudaPeekAtLastError();
    (void)REAL(cudaGetLastError)();
    if (!inside) last_code = cudaSuccess;
    return code;
}

/* Every arena forgets the stream, because its handle may come back as another stream's. */
EXPORTED cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    int device;
    inside++;
    for (device = 0; device < DEVICES; device++) {
        gpuarena *arena = __atomic_load_n(&preload.arena[device], __ATOMIC_ACQUIRE);
        if (arena) (void)gpuarena_forget(arena, stream);
    }
    inside--;
    return REAL(cudaStreamDestroy)(stream);
}

static void report(FILE *out, int device)
{
    gpuarena_stats stats;
    gpuarena_get_stats(preload.arena[device], &stats);
    fprintf(out, "gpuarena: device %d: %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
            " failed; peak requested %" PRIu64 " bytes, live %" PRIu64 ", reserved %" PRIu64 "; %" PRIu64
            " driver calls; %" PRIu64 " blocks (%" PRIu64 " bytes) were never freed\n", device,
            stats.alloc_count, stats.free_count, stats.fail_count, stats.requested_peak_bytes,
            stats.live_peak_bytes, stats.reserved_peak_bytes, stats.driver_call_count, stats.live_count,
            stats.live_bytes);
}

/* Opens the file that GPUARENA_REPORT names, or standard error. NULL: it cannot be opened; the reason is printed. */
static FILE *report_open(void)
{
    const char *path = getenv("GPUARENA_REPORT");
    FILE *out = path && *path ? fopen(path, "a") : stderr;
    if (!out) perror(path);
    return out;
}

static void report_close(FILE *out)
{
    if (out != stderr && fclose(out)) perror(getenv("GPUARENA_REPORT"));
}

/* The device's memory ends with its context. Its arena is therefore reported and ended first. */
EXPORTED cudaError_t cudaDeviceReset(void)
{
    FILE *out;
    int device;
    inside++;
    pthread_mutex_lock(&preload.lock);
    if (!cudaGetDevice(&device) && device >= 0 && device < DEVICES && preload.arena[device]) {
        out = preload.process == getpid() ? report_open() : NULL;
        if (out) report(out, device);
        if (out) report_close(out);
        (void)cudaDeviceSynchronize();
        (void)gpuarena_reset(preload.arena[device], GPUARENA_ANY_STREAM);
        if (!gpuarena_destroy(preload.arena[device])) preload.arena[device] = NULL;
    }
    pthread_mutex_unlock(&preload.lock);
    inside--;
    return REAL(cudaDeviceReset)();
}

/* Reports at the end of the process. Nothing is freed, because the runtime may have shut down by now. */
__attribute__((destructor)) static void preload_end(void)
{
    FILE *out;
    int device;
    if (preload.process != getpid()) return;
    out = report_open();
    if (!out) return;
    for (device = 0; device < DEVICES; device++)
        if (preload.arena[device]) report(out, device);
    if (preload.call_count)
        fprintf(out, "gpuarena: without it the program would have made %" PRIu64 " driver calls for them\n",
                preload.call_count);
    report_close(out);
}

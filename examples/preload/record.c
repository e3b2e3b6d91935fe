/* libgpuarena-record.so: writes an existing program's calls of cudaMalloc, cudaMallocAsync and their frees as a
   trace, without a line changed. `stress run -w replay:FILE` plays it to every policy, and shows the memory that the
   program would need and the savings of a pool.
       LD_PRELOAD=build/libgpuarena-record.so GPUARENA_TRACE=mine.trace ./program
   GPUARENA_TRACE: the file (gpuarena-PID.trace), of one process at a time. Children that it forks after its first
   allocation are not recorded. Waits of streams for other streams' events are recorded. The blocks that kernels use
   are not known. All devices count as one, and so do the default streams of threads (nvcc --default-stream
   per-thread). The program must use the shared libcudart (nvcc -cudart shared). */
#include "interpose.h"
#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A live block, or a recorded event, whose stream is the one it was recorded on. */
typedef struct item { const void *ptr; uint64_t number; unsigned stream; int device; size_t bytes; } item;
/* A hash table by ptr, with linear probing; ptr NULL: empty. */
typedef struct table { item *items; size_t room, count; } table;
enum { STREAMS = 1024 };                         /* the most of replay; further ones count as the default stream */
static struct {
    pthread_mutex_t lock;                        /* of all that follows */
    FILE *out;
    uint64_t next;                               /* number of the next block */
    table blocks, events;
    cudaStream_t streams[STREAMS];               /* by number, from 1 */
    unsigned stream_count;
    int failed;                                  /* no host memory, or no file: nothing more is written */
} trace = { PTHREAD_MUTEX_INITIALIZER, NULL, 0, { NULL, 0, 0 }, { NULL, 0, 0 }, { 0 }, 1, 0 };

INTERPOSED(cudaMalloc, (void **, size_t));
INTERPOSED(cudaFree, (void *));
INTERPOSED(cudaMallocAsync, (void **, size_t, cudaStream_t));
INTERPOSED(cudaFreeAsync, (void *, cudaStream_t));
INTERPOSED(cudaDeviceReset, (void));
INTERPOSED(cudaEventRecord, (cudaEvent_t, cudaStream_t));
INTERPOSED(cudaEventRecordWithFlags, (cudaEvent_t, cudaStream_t, unsigned));
INTERPOSED(cudaStreamWaitEvent, (cudaStream_t, cudaEvent_t, unsigned));

static void fail(const char *why)
{
    if (!trace.failed) fprintf(stderr, "gpuarena: the trace ends here: %s\n", why);
    trace.failed = 1;
}

static void before_fork(void)
{
    pthread_mutex_lock(&trace.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&trace.lock);
}

/* A child of fork must not write to the trace. */
static void in_child(void)
{
    if (trace.out) {                             /* left open, it would stay locked as long as this child lives */
        (void)fclose(trace.out);
        trace.out = NULL;
        trace.failed = 1;
    }
    pthread_mutex_unlock(&trace.lock);
}

/* Opens the file and empties it. If another process writes it, the answer is NULL, and errno is EWOULDBLOCK. A path
   that is no regular file, such as a pipe, is neither locked nor emptied. */
static FILE *open_file(const char *path)
{
    struct stat found;
    int why;
    FILE *out = fopen(path, "ae");
    if (!out || (!fstat(fileno(out), &found) && !S_ISREG(found.st_mode))) return out;
    if (!(flock(fileno(out), LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) && !ftruncate(fileno(out), 0)) return out;
    why = errno;
    (void)fclose(out);
    errno = why;
    return NULL;
}

/* Opens the file at the first call, and writes its first line. 1: the file is open. Each line is written at once,
   because a program that aborts or calls exec has no end at which a buffer would be written. Call with the lock. */
static int is_open(void)
{
    const char *path = getenv("GPUARENA_TRACE");
    char name[64];
    if (trace.out || trace.failed) return !trace.failed;
    snprintf(name, sizeof name, "gpuarena-%ld.trace", (long)getpid());
    if (!path || !*path) path = name;
    trace.out = open_file(path);
    if (!trace.out) fail(errno == EWOULDBLOCK ? "another process writes the file" : path);
    if (!trace.out) return 0;
    (void)setvbuf(trace.out, NULL, _IOLBF, 0);
    (void)pthread_atfork(before_fork, after_fork, in_child);
    fputs("gpuarena-trace 1\n", trace.out);
    return 1;
}

/* The number of a stream; 0: the default stream, by either of its names. */
static unsigned number_of(cudaStream_t stream)
{
    unsigned number;
    if (!stream || stream == cudaStreamLegacy) return 0;
    for (number = 1; number < trace.stream_count; number++)
        if (trace.streams[number] == stream) return number;
    if (trace.stream_count == STREAMS) return 0;
    trace.streams[trace.stream_count] = stream;
    return trace.stream_count++;
}

static item *place_of(const table *self, const void *ptr)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)ptr * 0x9E3779B97F4A7C15u >> 32) & (self->room - 1);
    while (self->items[at].ptr && self->items[at].ptr != ptr) at = (at + 1) & (self->room - 1);
    return &self->items[at];
}

/* Makes room for one more item. 0: there is no memory. */
static int grow(table *self)
{
    table old = *self;
    size_t at;
    if (old.count * 2 < old.room) return 1;
    self->room = old.room ? old.room * 2 : 1024;
    self->items = (item *)calloc(self->room, sizeof *self->items);
    if (!self->items) *self = old;
    if (self->items == old.items) return 0;
    for (at = 0; at < old.room; at++)
        if (old.items[at].ptr) *place_of(self, old.items[at].ptr) = old.items[at];
    free(old.items);
    return 1;
}

/* Adds an item, or replaces the table's item of that address. */
static void put(table *self, const item *made)
{
    if (!grow(self)) {
        fail("no host memory");
        return;
    }
    self->count += !place_of(self, made->ptr)->ptr;
    *place_of(self, made->ptr) = *made;
}

/* Takes a block out of the table; those behind it move up, so that each is still found. */
static void drop(item *gone)
{
    table *self = &trace.blocks;
    size_t at = (size_t)(gone - self->items);
    item moved;
    self->count--;
    gone->ptr = NULL;
    while (at = (at + 1) & (self->room - 1), self->items[at].ptr) {
        moved = self->items[at];
        self->items[at].ptr = NULL;
        *place_of(self, moved.ptr) = moved;
    }
}

/* Records the end of a block on its own stream. */
static void end_block(item *gone)
{
    fprintf(trace.out, "f %" PRIu64 "\n", gone->number);
    drop(gone);
}

/* Records a new block. If its address is known already, the old block has ended unseen, for example by cuMemFree. */
static void begin_block(item made)
{
    item *gone = trace.blocks.room ? place_of(&trace.blocks, made.ptr) : NULL;
    if (gone && gone->ptr) end_block(gone);
    made.number = trace.next++;
    put(&trace.blocks, &made);
    if (!trace.failed) fprintf(trace.out, "a %" PRIu64 " %zu %u\n", made.number, made.bytes, made.stream);
}

static void note_alloc(const void *ptr, size_t bytes, cudaStream_t stream)
{
    item made = { ptr, 0, 0, 0, bytes };
    pthread_mutex_lock(&trace.lock);
    if (is_open()) {
        made.stream = number_of(stream);
        made.device = interpose_device(stream);
        begin_block(made);
    }
    pthread_mutex_unlock(&trace.lock);
}

/* Records a free, and returns the freed block; ptr NULL: there was none. on_own: the free is recorded on the stream
   of the allocation, because cudaFree is on all streams. */
static item note_free(const void *ptr, cudaStream_t stream, int on_own)
{
    item gone = { NULL, 0, 0, 0, 0 }, *found;
    unsigned number;
    pthread_mutex_lock(&trace.lock);
    if (ptr && trace.blocks.room && !trace.failed && (found = place_of(&trace.blocks, ptr))->ptr) {
        gone = *found;
        number = on_own ? found->stream : number_of(stream);
        if (number == found->stream) fprintf(trace.out, "f %" PRIu64 "\n", found->number);
        else fprintf(trace.out, "f %" PRIu64 " %u\n", found->number, number);
        drop(found);
    }
    pthread_mutex_unlock(&trace.lock);
    return gone;
}

/* Corrects a free that the runtime refused: a new block of that size is recorded in its place. At the end of the
   process nothing is corrected, because all memory is freed then. */
static void note_freed(const item *gone, cudaError_t code)
{
    if (!gone->ptr || code == cudaSuccess || code == cudaErrorCudartUnloading) return;
    pthread_mutex_lock(&trace.lock);
    if (!trace.failed) begin_block(*gone);
    pthread_mutex_unlock(&trace.lock);
}

static int by_number(const void *left, const void *right)
{
    const item *first = (const item *)left, *second = (const item *)right;
    return (first->number > second->number) - (first->number < second->number);
}

/* Records that all memory of a device is freed, in the order of allocation, which is equal in every run, unlike
   addresses. */
static void note_reset(int device)
{
    size_t at, count = 0;
    item *gone = (item *)malloc((trace.blocks.count + 1) * sizeof *gone);
    for (at = 0; gone && at < trace.blocks.room; at++) {
        const item *each = &trace.blocks.items[at];
        if (each->ptr && each->device == device) gone[count++] = *each;
    }
    if (!gone) fail("no host memory");
    else qsort(gone, count, sizeof *gone, by_number);
    for (at = 0; at < count && !trace.failed; at++) end_block(place_of(&trace.blocks, gone[at].ptr));
    free(gone);
}

static void note_record(cudaEvent_t handle, cudaStream_t stream)
{
    item made = { handle, 0, 0, 0, 0 };
    pthread_mutex_lock(&trace.lock);
    made.stream = number_of(stream);
    if (!trace.failed) put(&trace.events, &made);
    pthread_mutex_unlock(&trace.lock);
}

static void note_wait(cudaStream_t stream, cudaEvent_t handle)
{
    item *found;
    unsigned number;
    pthread_mutex_lock(&trace.lock);
    number = number_of(stream);
    found = trace.events.room ? place_of(&trace.events, handle) : NULL;
    if (found && found->ptr && found->stream != number && is_open())
        fprintf(trace.out, "w %u %u\n", number, found->stream);
    pthread_mutex_unlock(&trace.lock);
}

EXPORTED cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
    cudaError_t code = REAL(cudaMalloc)(ptr, bytes);
    if (!code && bytes) note_alloc(*ptr, bytes, NULL);
    return code;
}

/* The free is recorded before it is made: once the runtime has the memory, another thread may get its address. */
EXPORTED cudaError_t cudaFree(void *ptr)
{
    item gone = note_free(ptr, NULL, 1);
    cudaError_t code = REAL(cudaFree)(ptr);
    note_freed(&gone, code);
    return code;
}

EXPORTED cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
    cudaError_t code = REAL(cudaMallocAsync)(ptr, bytes, stream);
    if (!code && bytes) note_alloc(*ptr, bytes, stream);
    return code;
}

EXPORTED cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    item gone = note_free(ptr, stream, 0);
    cudaError_t code = REAL(cudaFreeAsync)(ptr, stream);
    note_freed(&gone, code);
    return code;
}

EXPORTED cudaError_t cudaDeviceReset(void)
{
    int device;
    if (!cudaGetDevice(&device)) {
        pthread_mutex_lock(&trace.lock);
        if (!trace.failed) note_reset(device);
        pthread_mutex_unlock(&trace.lock);
    }
    return REAL(cudaDeviceReset)();
}

EXPORTED cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream)
{
    cudaError_t code = REAL(cudaEventRecord)(handle, stream);
    if (!code) note_record(handle, stream);
    return code;
}

EXPORTED cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned flags)
{
    cudaError_t code = REAL(cudaEventRecordWithFlags)(handle, stream, flags);
    if (!code) note_record(handle, stream);
    return code;
}

EXPORTED cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags)
{
    cudaError_t code = REAL(cudaStreamWaitEvent)(stream, handle, flags);
    if (!code) note_wait(stream, handle);
    return code;
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

EXPORTED cudaError_t cudaEventRecord_ptsz(cudaEvent_t handle, cudaStream_t stream)
{
    return cudaEventRecord(handle, own_stream(stream));
}

EXPORTED cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t handle, cudaStream_t stream, unsigned flags)
{
    return cudaEventRecordWithFlags(handle, own_stream(stream), flags);
}

EXPORTED cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t handle, unsigned flags)
{
    return cudaStreamWaitEvent(own_stream(stream), handle, flags);
}

__attribute__((destructor)) static void record_end(void)
{
    if (trace.out && (fflush(trace.out) || ferror(trace.out))) fail("the file cannot be written");
}

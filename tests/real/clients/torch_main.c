/* Plays to a CUDAPluggableAllocator library the calls that PyTorch makes of one: init, memory_fraction, then the
   allocations and frees of recorded steps, one a device, with record_stream, base_alloc and reset; keeps its books.
   It must not know how the library serves them. Compiled and run by clients.t: torch_main LIBRARY TRACE.. */
#include "../../../gpuarena.h"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { DEVICES = 2, MOST_BLOCKS = 65536, SHARED_EVERY = 7, CHECK_EVERY = 500, MARK_EVERY = 128, MARK_BYTES = 512 };

static struct {                                  /* as PyTorch looks them up */
    void  (*init)(int count);
    void *(*alloc)(ssize_t size, int device, cudaStream_t stream);
    void  (*free)(void *ptr, ssize_t size, int device, cudaStream_t stream);
    void  (*reset)(void);
    void  (*memory_fraction)(double fraction, int device);
    void *(*base_alloc)(void *ptr, size_t *size);
    void  (*record_stream)(void *ptr, cudaStream_t stream);
    gpuarena *(*owner)(const void *inside);      /* and of the library underneath, for its own figures */
    void  (*get_stats)(const gpuarena *arena, gpuarena_stats *stats);
    gpuarena_result (*check)(const gpuarena *arena, char *message, size_t size);
} torch;

typedef struct block { void *ptr; uint64_t bytes; int mark; } block;
typedef struct player {
    int          device;
    FILE        *trace;
    cudaStream_t main, side;
    gpuarena    *arena;
    block        blocks[MOST_BLOCKS];            /* by id in the trace */
    uint64_t     ops, requested_bytes, requested_peak_bytes, marks, shared;
    int          is_done;
} player;

static player players[DEVICES];

static int wrong(const char *what, const player *self)
{
    printf("device %d, op %" PRIu64 ": %s\n", self->device, self->ops, what);
    return -1;
}

static int look_up(void *library)
{
    static const char *const names[] = { "my_init", "my_malloc", "my_free", "my_reset", "my_memory_fraction",
                                         "my_base_alloc", "my_record_stream", "gpuarena_owner", "gpuarena_get_stats",
                                         "gpuarena_check" };
    void *found[sizeof names / sizeof names[0]];
    size_t at;
    for (at = 0; at < sizeof names / sizeof names[0]; at++) {
        found[at] = library ? dlsym(library, names[at]) : NULL;
        if (!found[at]) return printf("%s\n", dlerror()), -1;
    }
    memcpy(&torch, found, sizeof torch);         /* as POSIX has it: a function's address fits there */
    return 0;
}

/* The books after every call, and now and then the library's own check of all it has. */
static int check_books(player *self, int whole)
{
    gpuarena_stats stats;
    char message[200] = "";
    if (!self->arena) return 0;
    torch.get_stats(self->arena, &stats);
    if (stats.requested_bytes != self->requested_bytes) return wrong("requested is not what was asked for", self);
    if (stats.requested_bytes + stats.slack_bytes != stats.live_bytes) return wrong("live is not its sum", self);
    if (stats.live_bytes + stats.pending_bytes + stats.cached_bytes != stats.reserved_bytes)
        return wrong("reserved is not its sum", self);
    if (stats.reserved_bytes > stats.limit_bytes) return wrong("more is reserved than the fraction allows", self);
    if (stats.misuse_count || stats.fail_count) return wrong("a call failed", self);
    if (whole && torch.check(self->arena, message, sizeof message)) return wrong(message, self);
    return 0;
}

/* First and last byte lie in this block alone, and so do all in between: no two blocks overlap. */
static int check_base(player *self, const block *made)
{
    char *last = (char *)made->ptr + (made->bytes ? made->bytes - 1 : 0);
    size_t first_size = 0, last_size = 0;
    if (torch.base_alloc(made->ptr, &first_size) != made->ptr || torch.base_alloc(last, &last_size) != made->ptr)
        return wrong("base_alloc names another block", self);
    if (first_size < made->bytes || last_size != first_size)
        return wrong("base_alloc's size is not the block's", self);
    return 0;
}

/* Another stream uses the block, behind the work that made it: the purpose of a tensor's record_stream. */
static int share(player *self, const block *made)
{
    cudaEvent_t ready;
    if (cudaEventCreateWithFlags(&ready, cudaEventDisableTiming) || cudaEventRecord(ready, self->main) ||
        cudaStreamWaitEvent(self->side, ready, 0) || cudaEventDestroy(ready)) return wrong("no event", self);
    if (made->mark && cudaMemsetAsync(made->ptr, made->mark, MARK_BYTES, self->side)) return wrong("no fill", self);
    torch.record_stream((char *)made->ptr + made->bytes / 2, self->side);        /* a view's pointer */
    self->shared++;
    return 0;
}

static int play_alloc(player *self, uint64_t id, uint64_t bytes)
{
    block *made = &self->blocks[id];
    if (made->ptr) return wrong("the trace allocates what is live", self);
    made->bytes = bytes;
    made->ptr = torch.alloc((ssize_t)bytes, self->device, self->main);
    made->mark = self->ops % MARK_EVERY == 0 && bytes >= MARK_BYTES ? (int)(self->ops / MARK_EVERY % 250) + 1 : 0;
    if (!made->ptr) return wrong("no memory", self);
    if (!self->arena) self->arena = torch.owner(made->ptr);
    self->requested_bytes += bytes;
    if (self->requested_bytes > self->requested_peak_bytes) self->requested_peak_bytes = self->requested_bytes;
    if (made->mark && cudaMemsetAsync(made->ptr, made->mark, MARK_BYTES, self->main)) return wrong("no fill", self);
    if (check_base(self, made)) return -1;
    return self->ops % SHARED_EVERY == 0 ? share(self, made) : 0;
}

/* The bytes that were written at a block's birth are there still. */
static int check_mark(player *self, const block *made)
{
    unsigned char bytes[MARK_BYTES];
    size_t at;
    if (cudaMemcpyAsync(bytes, made->ptr, MARK_BYTES, cudaMemcpyDeviceToHost, self->main) ||
        cudaStreamSynchronize(self->main)) return wrong("no copy", self);
    for (at = 0; at < MARK_BYTES; at++)
        if (bytes[at] != made->mark) return wrong("a live block was written over", self);
    self->marks++;
    return 0;
}

static int play_free(player *self, block *made)
{
    if (!made->ptr) return wrong("the trace frees what is not live", self);
    if (made->mark && check_mark(self, made)) return -1;
    torch.free(made->ptr, (ssize_t)made->bytes, self->device, self->main);
    self->requested_bytes -= made->bytes;
    made->ptr = NULL;
    return 0;
}

/* Plays one line of the trace. PyTorch makes the device current before each call. */
static int play_line(player *self)
{
    char line[256];
    uint64_t id, bytes;
    int failed = 0;
    if (!fgets(line, sizeof line, self->trace)) return self->is_done = 1, 0;
    if (cudaSetDevice(self->device)) return wrong("no device", self);
    if (sscanf(line, "a %" SCNu64 " %" SCNu64, &id, &bytes) == 2 && id < MOST_BLOCKS)
        failed = play_alloc(self, id, bytes);
    else if (sscanf(line, "f %" SCNu64, &id) == 1 && id < MOST_BLOCKS) failed = play_free(self, &self->blocks[id]);
    else if (line[0] == 's') torch.reset();      /* empty_cache between steps */
    else if (line[0] == 'a' || line[0] == 'f') return wrong("a line of the trace beyond this program", self);
    self->ops++;
    return failed || check_books(self, self->ops % CHECK_EVERY == 0);
}

static int open_player(player *self, int device, const char *path, double fraction)
{
    self->device = device;
    self->trace = fopen(path, "r");
    if (!self->trace) return wrong("no trace", self);
    if (cudaSetDevice(device) || cudaStreamCreateWithFlags(&self->side, cudaStreamNonBlocking))
        return wrong("no stream", self);
    torch.memory_fraction(fraction, device);
    return 0;
}

/* An allocation beyond the fraction is refused, and nothing is changed by it. */
static int refuse(player *self, double fraction)
{
    gpuarena_stats stats;
    torch.memory_fraction(0.001, self->device);
    if (torch.alloc((ssize_t)1 << 30, self->device, self->main)) return wrong("more than the fraction", self);
    torch.memory_fraction(fraction, self->device);
    torch.get_stats(self->arena, &stats);
    return stats.fail_count != 1 || stats.requested_bytes != self->requested_bytes ? wrong("not refused", self) : 0;
}

static int close_player(player *self)
{
    gpuarena_stats stats;
    uint64_t left = 0, id;
    if (cudaSetDevice(self->device)) return wrong("no device", self);
    for (id = 0; id < MOST_BLOCKS; id++) {
        if (!self->blocks[id].ptr) continue;
        left++;
        if (play_free(self, &self->blocks[id]) || check_books(self, 0)) return -1;
    }
    if (refuse(self, 0.5)) return -1;
    if (cudaDeviceSynchronize()) return wrong("no wait", self);
    torch.reset();
    torch.get_stats(self->arena, &stats);
    printf("device %d: %" PRIu64 " allocations, %" PRIu64 " left, %d shared, %d marks, requested peak %" PRIu64
           ", live %" PRIu64 ", reserved %" PRIu64 ", misuse %" PRIu64 "\n", self->device, stats.alloc_count, left,
           self->shared > 100, self->marks > 10, stats.requested_peak_bytes, stats.live_bytes, stats.reserved_bytes,
           stats.misuse_count);
    fclose(self->trace);
    return stats.requested_peak_bytes != self->requested_peak_bytes ? wrong("the peak is another", self) : 0;
}

int main(int count, char **words)
{
    static const double fractions[DEVICES] = { 0.5, 0.9 };
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int device, playing = count - 2;
    if (playing < 1 || playing > DEVICES || look_up(library)) return 2;
    torch.init(playing);
    for (device = 0; device < playing; device++)
        if (open_player(&players[device], device, words[device + 2], fractions[device])) return 1;
    for (device = 0; playing > 0; device = (device + 1) % (count - 2)) {
        if (players[device].is_done) continue;
        if (play_line(&players[device])) return 1;
        playing -= players[device].is_done;
    }
    for (device = 0; device < count - 2; device++)
        if (close_player(&players[device])) return 1;
    return 0;
}

/* PyTorch's native caching allocator at its defaults: best fit in segments of 2 MiB, 20 MiB or the request's size,
   small and large apart, of each stream apart. Before it fails, all that is idle goes back to the driver.
   Tested by tests/test_like_pytorch.c and tests/test_golden_peaks.c. */
#include "pytorch.h"

#include <stdlib.h>

typedef struct pytorch_use_of pytorch_use_of;
struct pytorch_use_of {                          /* a stream that used a live block, beside its own */
    pytorch_use_of *next;
    gpuarena_stream stream;
};

gpuarena_result pytorch_open(model *base)
{
    pytorch *self = (pytorch *)base;
    self->waiting_end = &self->waiting;
    return GPUARENA_OK;
}

pytorch_pool *pytorch_pool_of(pytorch *self, uint64_t bytes, gpuarena_stream stream)
{
    int is_small = bytes <= PYTORCH_SMALL_BYTES;
    pytorch_pool **end = &self->pools;
    for (; *end; end = &(*end)->next) {
        if ((*end)->stream == stream && (*end)->is_small == is_small) return *end;
    }
    pytorch_pool *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->stream = stream;
    made->is_small = is_small;
    made->holes.by_address = 1;
    return *end = made;
}

uint64_t pytorch_segment(uint64_t bytes)
{
    if (bytes <= PYTORCH_SMALL_BYTES) return PYTORCH_SMALL_SEGMENT;
    return bytes < PYTORCH_LARGE_BYTES ? PYTORCH_LARGE_SEGMENT : model_round(bytes, PYTORCH_LARGE_UNIT);
}

/* ---- streams */

gpuarena_result pytorch_use(model *base, piece *used, gpuarena_stream stream)
{
    if (stream == used->stream) return GPUARENA_OK;
    for (const pytorch_use_of *at = used->uses; at; at = at->next) {
        if (at->stream == stream) return GPUARENA_OK;
    }
    pytorch_use_of *made = calloc(1, sizeof *made);
    if (!made) return model_no_memory(base);
    made->stream = stream;
    made->next = used->uses;
    used->uses = made;
    return GPUARENA_OK;
}

static void pytorch_go_home(pytorch *self, piece *freed)
{
    pytorch_pool *home = freed->owner;
    model_put(&self->base, &home->free, freed);
}

static gpuarena_result pytorch_record(pytorch *self, piece *freed, gpuarena_stream stream)
{
    const gpuarena_driver *driver = &self->base.driver;
    pytorch_event *made = self->spare;
    int code = 0;
    if (made) self->spare = made->next;
    else made = calloc(1, sizeof *made);
    if (!made) return model_no_memory(&self->base);
    if (!made->event) code = driver->events.create(driver, &made->event);
    if (!code) code = driver->events.record(driver, made->event, stream);
    made->next = NULL;
    made->stream = stream;
    made->freed = freed;
    if (code) {
        made->next = self->spare;
        self->spare = made;
        return model_result(&self->base, "cudaEventRecord", code);
    }
    *self->waiting_end = made;
    self->waiting_end = &made->next;
    freed->event_count++;
    return GPUARENA_OK;
}

gpuarena_result pytorch_free(model *base, piece *freed, gpuarena_stream stream)
{
    pytorch *self = (pytorch *)base;
    gpuarena_result result = pytorch_use(base, freed, stream);      /* a free elsewhere is a use there */
    while (freed->uses) {
        pytorch_use_of *use = freed->uses;
        freed->uses = use->next;
        if (!result) result = pytorch_record(self, freed, use->stream);
        free(use);
    }
    if (!freed->event_count) {
        pytorch_go_home(self, freed);
        return result;
    }
    freed->state = PIECE_PENDING;
    base->pending_bytes += freed->bytes;
    return result;
}

/* Whether an event of the same stream waits before this one: then it is not asked. */
static int pytorch_is_behind(const pytorch *self, const pytorch_event *asked)
{
    const pytorch_event *at = self->waiting;
    while (at != asked && at->stream != asked->stream) at = at->next;
    return at != asked;
}

static int pytorch_ask(pytorch *self, const pytorch_event *asked, int must_wait, int *is_done)
{
    const gpuarena_driver *driver = &self->base.driver;
    *is_done = 0;
    if (must_wait) {
        *is_done = 1;
        return driver->events.host_wait(driver, asked->event);
    }
    if (pytorch_is_behind(self, asked)) return 0;
    int code = driver->events.query(driver, asked->event);
    gpuarena_status status = driver->classify ? driver->classify(driver, code) : (gpuarena_status)code;
    if (status == GPUARENA_STATUS_NOT_READY) return 0;
    *is_done = 1;
    return code;
}

gpuarena_result pytorch_events(pytorch *self, int must_wait)
{
    pytorch_event **at = &self->waiting;
    while (*at) {
        pytorch_event *asked = *at;
        int is_done, code = pytorch_ask(self, asked, must_wait, &is_done);
        if (code) return model_result(&self->base, "cudaEventQuery", code);
        if (!is_done) {
            at = &asked->next;
            continue;
        }
        *at = asked->next;
        if (!*at) self->waiting_end = at;
        asked->next = self->spare;
        self->spare = asked;
        if (--asked->freed->event_count) continue;
        self->base.pending_bytes -= asked->freed->bytes;
        pytorch_go_home(self, asked->freed);
    }
    return GPUARENA_OK;
}

/* ---- segments */

/* The limit is asked for the segment, whatever the request. */
static gpuarena_result pytorch_grow(pytorch *self, pytorch_pool *pool, uint64_t bytes)
{
    piece *made = NULL;
    gpuarena_result result = model_obtain(&self->base, pytorch_segment(bytes), &made);
    if (result) return result;
    made->owner = pool;
    made->stream = pool->stream;
    piece_set_add(&pool->free, made);
    return GPUARENA_OK;
}

/* All events are waited for, and whole idle segments of all streams go back, those of large blocks first. */
static gpuarena_result pytorch_release(model *base)
{
    pytorch *self = (pytorch *)base;
    gpuarena_result result = pytorch_events(self, 1);
    for (int is_small = 0; is_small < 2; is_small++) {
        for (pytorch_pool *pool = self->pools; pool && !result; pool = pool->next) {
            if (pool->is_small == is_small) result = model_release(base, &pool->free);
        }
    }
    return result;
}

/* A large block keeps a rest of 1 MiB and less. */
static piece *pytorch_take(pytorch *self, pytorch_pool *pool, piece *found, uint64_t bytes)
{
    uint64_t rest = found->bytes - bytes;
    int splits = pool->is_small ? rest >= PYTORCH_UNIT : rest > PYTORCH_SMALL_BYTES;
    return model_cut(&self->base, &pool->free, found, bytes, splits);
}

static gpuarena_result pytorch_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    pytorch *self = (pytorch *)base;
    gpuarena_result result = pytorch_events(self, 0);
    if (result) return result;
    pytorch_pool *pool = pytorch_pool_of(self, bytes, stream);
    if (!pool) return model_no_memory(&self->base);
    piece *best = piece_set_best(&pool->free, bytes);
    if (!best) {
        result = pytorch_grow(self, pool, bytes);
        if (result == GPUARENA_OUT_OF_MEMORY) {
            result = pytorch_release(base);
            if (!result) result = pytorch_grow(self, pool, bytes);
        }
        if (result) return result;
        best = piece_set_best(&pool->free, bytes);
    }
    *found = pytorch_take(self, pool, best, bytes);
    return GPUARENA_OK;
}

uint64_t pytorch_largest(const model *base)
{
    const pytorch *self = (const pytorch *)base;
    uint64_t largest = 0;
    for (const pytorch_pool *pool = self->pools; pool; pool = pool->next) {
        uint64_t here = piece_set_largest(&pool->free);
        if (here > largest) largest = here;
    }
    return largest;
}

static void pytorch_free_events(pytorch *self, pytorch_event *list)
{
    while (list) {
        pytorch_event *gone = list;
        list = gone->next;
        if (gone->event) (void)self->base.driver.events.destroy(&self->base.driver, gone->event);
        free(gone);
    }
}

static void pytorch_free_uses(const model *base)
{
    for (size_t at = 0; at < base->live.capacity; at++) {
        piece *live = (piece *)(uintptr_t)base->live.slots[at].bytes;
        while (live && live->uses) {
            pytorch_use_of *gone = live->uses;
            live->uses = gone->next;
            free(gone);
        }
    }
}

void pytorch_close(model *base)
{
    pytorch *self = (pytorch *)base;
    pytorch_free_uses(base);
    pytorch_free_events(self, self->waiting);
    pytorch_free_events(self, self->spare);
    while (self->pools) {
        pytorch_pool *gone = self->pools;
        self->pools = gone->next;
        free(gone);
    }
}

const model_kind model_pytorch = {
    .name = "pytorch", .summary = "PyTorch's native caching allocator",
    .lacks = "its options: max_split_size_mb, roundup_power2_divisions, garbage_collection_threshold; private pools "
             "of graphs",
    .size = sizeof(pytorch), .alignment_bytes = PYTORCH_UNIT, .open = pytorch_open, .alloc = pytorch_alloc,
    .free = pytorch_free, .use = pytorch_use, .trim = pytorch_release, .largest = pytorch_largest,
    .close = pytorch_close,
};

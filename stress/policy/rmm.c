/* RMM's pool_memory_resource: best fit, a list of free blocks for each stream, an event at each free. It doubles from
   its first request's exact size, or takes half of what its maximum leaves; then idle blocks go back before it fails.
   Tested by tests/test_like_rmm.c and tests/test_golden_peaks.c. */
#include <stdlib.h>

#include "model_parts.h"

enum { RMM_UNIT = 256 };

typedef struct rmm_list rmm_list;                /* of one stream: free pieces have it as their owner */
struct rmm_list {
    rmm_list       *next;
    gpuarena_stream stream;
    void           *event;
    piece_set       free;
};

typedef struct rmm {
    model     base;
    rmm_list *lists;
} rmm;

static rmm_list *rmm_list_of(rmm *self, gpuarena_stream stream)
{
    const gpuarena_driver *driver = &self->base.driver;
    rmm_list **end = &self->lists;
    for (; *end; end = &(*end)->next) {
        if ((*end)->stream == stream) return *end;
    }
    rmm_list *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->stream = stream;
    if (driver->events.create(driver, &made->event)) {
        free(made);
        return NULL;
    }
    return *end = made;
}

static void rmm_put(rmm *self, rmm_list *list, piece *freed)
{
    freed->owner = list;
    freed->stream = list->stream;
    model_put(&self->base, &list->free, freed);
}

static gpuarena_result rmm_free(model *base, piece *freed, gpuarena_stream stream)
{
    rmm *self = (rmm *)base;
    rmm_list *list = rmm_list_of(self, stream);
    if (!list) return model_no_memory(&self->base);
    int code = base->driver.events.record(&base->driver, list->event, stream);
    rmm_put(self, list, freed);
    return model_result(base, "cudaEventRecord", code);
}

/* ---- other streams */

static gpuarena_result rmm_follow(rmm *self, const rmm_list *mine, const rmm_list *other)
{
    const gpuarena_driver *driver = &self->base.driver;
    return model_result(&self->base, "cudaStreamWaitEvent",
                        driver->events.stream_wait(driver, mine->stream, other->event));
}

/* All of the other's free blocks become mine. */
static void rmm_merge(rmm *self, rmm_list *mine, rmm_list *other)
{
    for (piece *moved; (moved = piece_set_first(&other->free)) != NULL;) {
        piece_set_remove(&other->free, moved);
        rmm_put(self, mine, moved);
    }
}

/* What was merged comes after the others' events on my stream, and so after mine, which is recorded anew. */
static gpuarena_result rmm_merge_all(rmm *self, rmm_list *mine, uint64_t bytes)
{
    const gpuarena_driver *driver = &self->base.driver;
    for (rmm_list *other = self->lists; other && !piece_set_best(&mine->free, bytes); other = other->next) {
        if (other == mine || !other->free.root) continue;
        gpuarena_result result = rmm_follow(self, mine, other);
        if (result) return result;
        rmm_merge(self, mine, other);
        int code = driver->events.record(driver, mine->event, mine->stream);
        if (code) return model_result(&self->base, "cudaEventRecord", code);
    }
    return GPUARENA_OK;
}

/* The list to take from: one that has a block that fits; else mine, into which all others are merged by and by. */
static gpuarena_result rmm_steal(rmm *self, rmm_list *mine, uint64_t bytes, rmm_list **from)
{
    *from = mine;
    for (rmm_list *other = self->lists; other; other = other->next) {
        if (other == mine || !piece_set_best(&other->free, bytes)) continue;
        *from = other;
        return rmm_follow(self, mine, other);
    }
    return rmm_merge_all(self, mine, bytes);
}

/* ---- growth */

static uint64_t rmm_step(const rmm *self, uint64_t bytes)
{
    const model *base = &self->base;
    if (base->limit_bytes == GPUARENA_NO_LIMIT) return bytes > base->reserved_bytes ? bytes : base->reserved_bytes;
    uint64_t rest = base->limit_bytes - base->reserved_bytes;
    return bytes > rest ? 0 : bytes > rest / 2 ? bytes : rest / 2;
}

/* Under a maximum: idle blocks from the driver go back, those of the lowest address first, until the request fits. */
static gpuarena_result rmm_reclaim(rmm *self, uint64_t bytes)
{
    int has_waited = 0;
    if (bytes > self->base.limit_bytes) return GPUARENA_OK;
    while (model_is_over(&self->base, bytes)) {
        rmm_list *owner = NULL;
        piece *lowest = NULL;
        for (rmm_list *list = self->lists; list; list = list->next) {
            for (piece *at = piece_set_first(&list->free); at; at = piece_set_after(&list->free, at)) {
                if (at->previous || at->next || (lowest && lowest->address < at->address)) continue;
                lowest = at;
                owner = list;
            }
        }
        if (!lowest) return GPUARENA_OK;
        gpuarena_result result = has_waited++ ? GPUARENA_OK : model_wait_all(&self->base);
        if (result) return result;
        piece_set_remove(&owner->free, lowest);
        result = model_give_back(&self->base, lowest);
        if (result) return result;
    }
    return GPUARENA_OK;
}

/* While the driver refuses, half as much, down to the request. */
static gpuarena_result rmm_grow(rmm *self, rmm_list *mine, uint64_t bytes)
{
    piece *made = NULL;
    uint64_t step = rmm_step(self, bytes);
    gpuarena_result result = GPUARENA_OK;
    if (!step) {
        result = rmm_reclaim(self, bytes);
        step = rmm_step(self, bytes);
    }
    if (result) return result;
    if (!step) return model_over_limit(&self->base);
    while ((result = model_obtain(&self->base, step, &made)) == GPUARENA_OUT_OF_MEMORY && step > bytes) {
        step = step / 2 > bytes ? step / 2 : bytes;
    }
    if (!result) rmm_put(self, mine, made);
    return result;
}

static gpuarena_result rmm_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    rmm *self = (rmm *)base;
    gpuarena_result result = GPUARENA_OK;
    rmm_list *mine = rmm_list_of(self, stream), *from = mine;
    if (!mine) return model_no_memory(&self->base);
    if (!piece_set_best(&mine->free, bytes)) result = rmm_steal(self, mine, bytes, &from);
    if (!result && !piece_set_best(&from->free, bytes)) result = rmm_grow(self, mine, bytes);
    if (result) return result;
    *found = model_cut(base, &from->free, piece_set_best(&from->free, bytes), bytes, 1);
    return GPUARENA_OK;
}

static gpuarena_result rmm_trim(model *base)
{
    rmm *self = (rmm *)base;
    rmm_list *first = self->lists;
    gpuarena_result result = model_wait_all(base);
    for (rmm_list *other = first ? first->next : NULL; other; other = other->next) rmm_merge(self, first, other);
    return result || !first ? result : model_release(base, &first->free);
}

static uint64_t rmm_largest(const model *base)
{
    const rmm *self = (const rmm *)base;
    uint64_t largest = 0;
    for (const rmm_list *list = self->lists; list; list = list->next) {
        uint64_t here = piece_set_largest(&list->free);
        if (here > largest) largest = here;
    }
    return largest;
}

static void rmm_close(model *base)
{
    rmm *self = (rmm *)base;
    while (self->lists) {
        rmm_list *gone = self->lists;
        self->lists = gone->next;
        (void)base->driver.events.destroy(&base->driver, gone->event);
        free(gone);
    }
}

const model_kind model_rmm = {
    .name = "rmm", .summary = "RMM's pool_memory_resource, without an initial size",
    .lacks = "a list for each thread of the per-thread default stream",
    .size = sizeof(rmm), .alignment_bytes = RMM_UNIT, .in_order = 1, .alloc = rmm_alloc, .free = rmm_free,
    .trim = rmm_trim, .largest = rmm_largest, .close = rmm_close,
};

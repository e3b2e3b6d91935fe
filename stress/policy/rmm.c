/* RMM's pool_memory_resource: best fit, a list of free blocks for each stream, an event at each free. It doubles from
   its first request's exact size, or takes half of what its maximum leaves; then idle blocks go back
   before it fails. */
#include <stdlib.h>

#include "../base/program.h"
#include "model.h"

enum { RMM_UNIT = 256 };

/* Of one stream: free pieces have it as their owner, and its event is recorded at each free. */
static gpuarena_result rmm_list_of(model *self, gpuarena_stream stream, model_heap **found)
{
    const gpuarena_driver *driver = &self->driver;
    model_heap *list = *found = model_heap_of(self, stream, 0, sizeof *list);
    int code = list->event ? 0 : driver->events.create(driver, &list->event);
    return model_result(self, "cudaEventCreate", code);
}

static void rmm_put(model *self, model_heap *list, piece *freed)
{
    freed->owner = list;
    freed->stream = list->stream;
    model_put(self, &list->free, freed);
}

static gpuarena_result rmm_record(model *self, const model_heap *list)
{
    const gpuarena_driver *driver = &self->driver;
    return model_result(self, "cudaEventRecord", driver->events.record(driver, list->event, list->stream));
}

static gpuarena_result rmm_free(model *self, piece *freed, gpuarena_stream stream)
{
    model_heap *list;
    gpuarena_result result = rmm_list_of(self, stream, &list);
    if (result) return result;
    result = rmm_record(self, list);
    rmm_put(self, list, freed);
    return result;
}

/* ---- other streams */

static gpuarena_result rmm_follow(model *self, const model_heap *mine, const model_heap *other)
{
    const gpuarena_driver *driver = &self->driver;
    return model_result(self, "cudaStreamWaitEvent", driver->events.stream_wait(driver, mine->stream, other->event));
}

/* All of the other's free blocks become mine. */
static void rmm_merge(model *self, model_heap *mine, model_heap *other)
{
    for (piece *moved; (moved = piece_set_first(&other->free)) != NULL;) {
        piece_set_remove(&other->free, moved);
        rmm_put(self, mine, moved);
    }
}

/* What was merged comes after the others' events on my stream, and so after mine, which is recorded anew. */
static gpuarena_result rmm_merge_all(model *self, model_heap *mine, uint64_t bytes)
{
    gpuarena_result result = GPUARENA_OK;
    for (model_heap *other = self->heaps; other && !result; other = other->next) {
        if (piece_set_best(&mine->free, bytes)) break;
        if (other == mine || !piece_set_first(&other->free)) continue;
        result = rmm_follow(self, mine, other);
        if (result) break;
        rmm_merge(self, mine, other);
        result = rmm_record(self, mine);
    }
    return result;
}

/* The list to take from: one that has a block that fits; else mine, into which all others are merged by and by. */
static gpuarena_result rmm_steal(model *self, model_heap *mine, uint64_t bytes, model_heap **from)
{
    *from = mine;
    for (model_heap *other = self->heaps; other; other = other->next) {
        if (other == mine || !piece_set_best(&other->free, bytes)) continue;
        *from = other;
        return rmm_follow(self, mine, other);
    }
    return rmm_merge_all(self, mine, bytes);
}

/* ---- growth */

static uint64_t rmm_step(const model *self, uint64_t bytes)
{
    if (self->limit_bytes == GPUARENA_NO_LIMIT) return bytes > self->reserved_bytes ? bytes : self->reserved_bytes;
    uint64_t rest = self->limit_bytes - self->reserved_bytes;
    return bytes > rest ? 0 : bytes > rest / 2 ? bytes : rest / 2;
}

/* Under a maximum: idle blocks from the driver go back, those of the lowest address first, until the request fits. */
static gpuarena_result rmm_reclaim(model *self, uint64_t bytes)
{
    int has_waited = 0;
    if (bytes > self->limit_bytes) return GPUARENA_OK;
    while (model_is_over(self, bytes)) {
        model_heap *owner = NULL;
        piece *lowest = NULL;
        for (model_heap *list = self->heaps; list; list = list->next) {
            for (piece *at = piece_set_first(&list->free); at; at = piece_set_after(&list->free, at)) {
                if (at->previous || at->next || (lowest && lowest->address < at->address)) continue;
                lowest = at;
                owner = list;
            }
        }
        if (!lowest) return GPUARENA_OK;
        gpuarena_result result = has_waited++ ? GPUARENA_OK : model_wait_all(self);
        if (result) return result;
        piece_set_remove(&owner->free, lowest);
        result = model_give_back(self, lowest);
        if (result) return result;
    }
    return GPUARENA_OK;
}

/* While the driver refuses, half as much, down to the request. */
static gpuarena_result rmm_grow(model *self, model_heap *mine, uint64_t bytes)
{
    piece *made = NULL;
    uint64_t step = rmm_step(self, bytes);
    gpuarena_result result = GPUARENA_OK;
    if (!step) {
        result = rmm_reclaim(self, bytes);
        step = rmm_step(self, bytes);
    }
    if (result) return result;
    if (!step) return model_over_limit(self);
    while ((result = model_obtain(self, step, &made)) == GPUARENA_OUT_OF_MEMORY && step > bytes) {
        step = step / 2 > bytes ? step / 2 : bytes;
    }
    if (!result) rmm_put(self, mine, made);
    return result;
}

static gpuarena_result rmm_alloc(model *self, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    model_heap *mine, *from;
    gpuarena_result result = rmm_list_of(self, stream, &mine);
    from = mine;
    if (!result && !piece_set_best(&mine->free, bytes)) result = rmm_steal(self, mine, bytes, &from);
    if (!result && !piece_set_best(&from->free, bytes)) result = rmm_grow(self, mine, bytes);
    if (!result) *found = model_cut(self, &from->free, piece_set_best(&from->free, bytes), bytes, 1);
    return result;
}

static gpuarena_result rmm_trim(model *self)
{
    model_heap *first = self->heaps;
    gpuarena_result result = model_wait_all(self);
    for (model_heap *other = first ? first->next : NULL; other; other = other->next) rmm_merge(self, first, other);
    return result || !first ? result : model_release(self, &first->free);
}

const model_kind model_rmm = {
    .name = "rmm", .summary = "RMM's pool_memory_resource, without an initial size",
    .lacks = "a list for each thread of the per-thread default stream",
    .size = sizeof(model), .alignment_bytes = RMM_UNIT, .in_order = 1, .alloc = rmm_alloc, .free = rmm_free,
    .trim = rmm_trim,
};

/* ---- RMM's arena_memory_resource: half of the free memory, or the limit, taken at once and never more */

enum { RMM_ARENA_UNIT = 256 };
#define RMM_ARENA_LEAST MODEL_MIB                /* of a superblock; requests to this are a stream's */

/* A heap: pieces have it as their owner. All of them lie side by side, in the order of their addresses. */
enum { SUPERBLOCK_OF_STREAM, SUPERBLOCK_GLOBAL };            /* kinds: the latter is in the global arena */
typedef struct superblock {
    model_heap heap;
    uint64_t   bytes;
} superblock;

static superblock *superblock_after(const superblock *of)
{
    return (superblock *)of->heap.next;
}

static int superblock_is_empty(const superblock *of)
{
    return piece_set_largest(&of->heap.free) == of->bytes;
}

static int superblock_is_idle(const superblock *of)
{
    return of && of->heap.kind == SUPERBLOCK_GLOBAL && superblock_is_empty(of);
}

/* A global one of this piece, behind another; before NULL: the first. */
static void superblock_make(model *self, superblock *before, piece *whole)
{
    superblock *made = program_need(1, sizeof *made);
    model_heap **place = before ? &before->heap.next : &self->heaps;
    made->heap.next = *place;
    made->heap.kind = SUPERBLOCK_GLOBAL;
    made->heap.free.by_address = 1;
    made->bytes = whole->bytes;
    *place = &made->heap;
    whole->owner = made;
    piece_set_add(&made->heap.free, whole);
}

/* Idle neighbours become one: the right one's piece ends in the left one's. */
static void superblocks_join(model *self)
{
    for (superblock *left = (superblock *)self->heaps, *right; left; left = right) {
        right = superblock_after(left);
        if (!superblock_is_idle(left) || !superblock_is_idle(right)) continue;
        piece *front = piece_set_first(&left->heap.free), *rest = piece_set_first(&right->heap.free);
        piece_set_remove(&left->heap.free, front);
        piece_set_remove(&right->heap.free, rest);
        front->bytes += rest->bytes;
        pieces_give(&self->pieces, rest);
        piece_set_add(&left->heap.free, front);
        left->bytes = front->bytes;
        left->heap.next = right->heap.next;
        free(right);
        right = left;
    }
}

/* An empty one is parted, if what is left is one, too. */
static void superblock_part(model *self, superblock *of, uint64_t bytes)
{
    uint64_t least = bytes > RMM_ARENA_LEAST ? bytes : RMM_ARENA_LEAST;
    if (!superblock_is_empty(of) || of->bytes < least + RMM_ARENA_LEAST) return;
    piece *front = piece_set_first(&of->heap.free), *behind = pieces_take(&self->pieces);
    piece_set_remove(&of->heap.free, front);
    behind->address = front->address + least;
    behind->bytes = of->bytes - least;
    front->bytes = of->bytes = least;
    piece_set_add(&of->heap.free, front);
    superblock_make(self, of, behind);
}

/* The first that fits, of the global arena or of a stream. */
static superblock *superblock_find(const model *self, int kind, gpuarena_stream stream, uint64_t bytes)
{
    for (model_heap *heap = self->heaps; heap; heap = heap->next) {
        int is_there = heap->kind == kind && (kind == SUPERBLOCK_GLOBAL || heap->stream == stream);
        if (is_there && piece_set_largest(&heap->free) >= bytes) return (superblock *)heap;
    }
    return NULL;
}

/* From the stream's superblocks, or one that it acquires; large requests from the global arena's. NULL: neither has
   as much. */
static piece *rmm_arena_find(model *self, uint64_t bytes, gpuarena_stream stream)
{
    int is_large = bytes > RMM_ARENA_LEAST;
    superblock *from = is_large ? NULL : superblock_find(self, SUPERBLOCK_OF_STREAM, stream, bytes);
    if (!from) {
        from = superblock_find(self, SUPERBLOCK_GLOBAL, NULL, bytes);
        if (!from) return NULL;
        superblock_part(self, from, bytes);
        from->heap.kind = is_large ? SUPERBLOCK_GLOBAL : SUPERBLOCK_OF_STREAM;
        from->heap.stream = stream;
    }
    piece *found = model_cut(self, &from->heap.free, piece_set_lowest(&from->heap.free, bytes), bytes, 1);
    found->stream = stream;
    return found;
}

/* The device is waited for, and the streams' superblocks go back to the global arena, empty or not. */
static gpuarena_result rmm_arena_defragment(model *self)
{
    gpuarena_result result = model_wait_all(self);
    for (model_heap *heap = self->heaps; heap && !result; heap = heap->next) heap->kind = SUPERBLOCK_GLOBAL;
    if (!result) superblocks_join(self);
    return result;
}

static gpuarena_result rmm_arena_alloc(model *self, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    *found = rmm_arena_find(self, bytes, stream);
    if (*found) return GPUARENA_OK;
    gpuarena_result result = rmm_arena_defragment(self);
    if (!result) *found = rmm_arena_find(self, bytes, stream);
    return result || *found ? result : model_over_limit(self);
}

/* What is or was moved to the global arena waits for its stream. */
static gpuarena_result rmm_arena_free(model *self, piece *freed, gpuarena_stream stream)
{
    superblock *of = freed->owner;
    int is_global = of->heap.kind == SUPERBLOCK_GLOBAL;
    gpuarena_result result = is_global ? model_wait(self, stream) : GPUARENA_OK;
    model_put(self, &of->heap.free, freed);
    if (superblock_is_idle(of)) superblocks_join(self);
    return result;
}

static gpuarena_result rmm_arena_open(model *self)
{
    uint64_t free_bytes = 0, total_bytes = 0, bytes = self->limit_bytes;
    piece *whole = NULL;
    gpuarena_result result = model_info(self, &free_bytes, &total_bytes);
    if (result) return result;
    if (bytes == GPUARENA_NO_LIMIT) bytes = free_bytes / 2;
    bytes -= bytes % RMM_ARENA_UNIT;
    if (bytes < RMM_ARENA_LEAST) return model_over_limit(self);
    result = model_obtain(self, bytes, &whole);
    if (!result) superblock_make(self, NULL, whole);
    return result;
}

/* Where nothing is live, all of it goes back, and there is no way back: it serves nothing more. */
static gpuarena_result rmm_arena_trim(model *self)
{
    gpuarena_result result = rmm_arena_defragment(self);
    superblock *all = (superblock *)self->heaps;
    if (result || !superblock_is_idle(all) || superblock_after(all)) return result;
    piece *whole = piece_set_first(&all->heap.free);
    self->heaps = NULL;
    free(all);
    return model_give_back(self, whole);
}

const model_kind model_rmm_arena = {
    .name = "rmm-arena", .summary = "RMM's arena_memory_resource: half of the free memory, or the limit, at once",
    .lacks = "an arena for each thread on the default stream; its memory serves nothing after a trim gave it back",
    .size = sizeof(model), .alignment_bytes = RMM_ARENA_UNIT, .open = rmm_arena_open, .alloc = rmm_arena_alloc,
    .free = rmm_arena_free, .trim = rmm_arena_trim,
};

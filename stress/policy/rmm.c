/* RMM's pool_memory_resource: best fit, a list of free blocks for each stream, an event at each free. It doubles from
   its first request's exact size, or takes half of the bytes that its maximum leaves; then idle blocks go back before
   it fails. */
#include "model.h"

enum { RMM_UNIT = 256 };

/* The list of one stream: free pieces have it as their owner, and its event is recorded at each free. */
static model_heap *rmm_list_of(model *self, gpuarena_stream stream)
{
    model_heap *list = model_heap_of(self, stream, 0, sizeof *list);
    model_event(self, &list->event, "cudaEventCreate");
    return list;
}

static void rmm_put(model *self, model_heap *list, piece *freed)
{
    freed->owner = list;
    freed->stream = list->stream;
    model_put(self, &list->free, freed);
}

static void rmm_free(model *self, piece *freed, gpuarena_stream stream)
{
    model_heap *list = rmm_list_of(self, stream);
    if (self->failed) return;
    model_record(self, list->event, stream);
    rmm_put(self, list, freed);
}

/* ---- other streams */

/* All of the other's free blocks become mine. */
static void rmm_merge(model *self, model_heap *mine, model_heap *other)
{
    for (piece *moved; (moved = piece_set_first(&other->free)) != NULL;) {
        piece_set_remove(&other->free, moved);
        rmm_put(self, mine, moved);
    }
}

/* The list to take from: one that has a block that fits; else mine, into which all others are merged by and by.
   Merged blocks come after the others' events on my stream, and so after mine, which is recorded anew. */
static model_heap *rmm_steal(model *self, model_heap *mine, uint64_t bytes)
{
    for (model_heap *other = self->heaps; other; other = other->next) {
        if (other == mine || !piece_set_best(&other->free, bytes)) continue;
        model_follow(self, mine->stream, other->event);
        return other;
    }
    for (model_heap *other = self->heaps; other && !self->failed; other = other->next) {
        if (piece_set_best(&mine->free, bytes)) break;
        if (other == mine || !piece_set_first(&other->free)) continue;
        model_follow(self, mine->stream, other->event);
        if (!self->failed) rmm_merge(self, mine, other);
        model_record(self, mine->event, mine->stream);
    }
    return mine;
}

/* ---- growth */

static uint64_t rmm_step(const model *self, uint64_t bytes)
{
    if (self->limit_bytes == GPUARENA_NO_LIMIT) return bytes > self->reserved_bytes ? bytes : self->reserved_bytes;
    uint64_t rest = self->limit_bytes - self->reserved_bytes;
    return bytes > rest ? 0 : bytes > rest / 2 ? bytes : rest / 2;
}

/* The lowest idle block from the driver; NULL: there is none. */
static piece *rmm_idle(const model *self)
{
    piece *lowest = NULL;
    for (const model_heap *list = self->heaps; list; list = list->next) {
        for (piece *at = piece_set_first(&list->free); at; at = piece_set_after(&list->free, at)) {
            int is_whole = !at->previous && !at->next;
            if (is_whole && (!lowest || at->address < lowest->address)) lowest = at;
        }
    }
    return lowest;
}

/* Under a maximum: idle blocks go back until the request fits. */
static void rmm_reclaim(model *self, uint64_t bytes)
{
    piece *idle;
    int has_waited = 0;
    while (bytes <= self->limit_bytes && model_is_over(self, bytes) && (idle = rmm_idle(self)) != NULL) {
        model_heap *list = idle->owner;
        if (!has_waited++) model_wait_all(self);
        if (self->failed) return;
        piece_set_remove(&list->free, idle);
        model_give_back(self, idle);
        if (self->failed) return;
    }
}

/* While the driver refuses, half as much, down to the request. */
static void rmm_grow(model *self, model_heap *mine, uint64_t bytes)
{
    piece *made;
    if (!rmm_step(self, bytes)) rmm_reclaim(self, bytes);
    if (self->failed) return;
    uint64_t step = rmm_step(self, bytes);
    if (!step) model_over_limit(self);
    while (!(made = model_obtain(self, step)) && self->failed == GPUARENA_OUT_OF_MEMORY && step > bytes) {
        step = step / 2 > bytes ? step / 2 : bytes;
        self->failed = GPUARENA_OK;
    }
    if (made) rmm_put(self, mine, made);
}

static piece *rmm_alloc(model *self, uint64_t bytes, gpuarena_stream stream)
{
    model_heap *mine = rmm_list_of(self, stream), *from = mine;
    if (!self->failed && !piece_set_best(&mine->free, bytes)) from = rmm_steal(self, mine, bytes);
    if (!self->failed && !piece_set_best(&from->free, bytes)) rmm_grow(self, mine, bytes);
    return self->failed ? NULL : model_cut(self, &from->free, piece_set_best(&from->free, bytes), bytes, 1);
}

static void rmm_trim(model *self)
{
    model_heap *first = self->heaps;
    model_wait_all(self);
    for (model_heap *other = first ? first->next : NULL; other; other = other->next) rmm_merge(self, first, other);
    if (first) model_release(self, &first->free);
}

const model_kind model_rmm = {
    .name = "rmm", .summary = "RMM's pool_memory_resource, without an initial size",
    .lacks = "a list for each thread of the per-thread default stream",
    .size = sizeof(model), .alignment_bytes = RMM_UNIT, .in_order = 1, .alloc = rmm_alloc, .free = rmm_free,
    .trim = rmm_trim,
};

/* ---- RMM's arena_memory_resource: half of the free memory, or the limit, taken at once and never more */

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

/* Parts an empty superblock, if the rest is large enough for one, too. */
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
static void rmm_arena_defragment(model *self)
{
    model_wait_all(self);
    if (self->failed) return;
    for (model_heap *heap = self->heaps; heap; heap = heap->next) heap->kind = SUPERBLOCK_GLOBAL;
    superblocks_join(self);
}

static piece *rmm_arena_alloc(model *self, uint64_t bytes, gpuarena_stream stream)
{
    piece *found = rmm_arena_find(self, bytes, stream);
    if (found) return found;
    rmm_arena_defragment(self);
    if (self->failed) return NULL;
    found = rmm_arena_find(self, bytes, stream);
    if (!found) model_over_limit(self);
    return found;
}

/* A block that lies in no superblock of the stream's own waits for the stream: it is large, or its superblock was
   moved to the global arena, or from there to another stream. */
static void rmm_arena_free(model *self, piece *freed, gpuarena_stream stream)
{
    superblock *of = freed->owner;
    if (of->heap.kind == SUPERBLOCK_GLOBAL || of->heap.stream != stream) model_wait(self, stream);
    model_put(self, &of->heap.free, freed);
    if (superblock_is_idle(of)) superblocks_join(self);
}

static void rmm_arena_open(model *self)
{
    uint64_t free_bytes = 0, total_bytes = 0, bytes = self->limit_bytes;
    model_info(self, &free_bytes, &total_bytes);
    if (bytes == GPUARENA_NO_LIMIT) bytes = free_bytes / 2;
    bytes -= bytes % RMM_UNIT;
    if (!self->failed && bytes < RMM_ARENA_LEAST) model_over_limit(self);
    piece *whole = model_obtain(self, bytes);
    if (whole) superblock_make(self, NULL, whole);
}

/* If nothing is live, all memory goes back to the driver, and the arena serves nothing more. */
static void rmm_arena_trim(model *self)
{
    rmm_arena_defragment(self);
    superblock *all = (superblock *)self->heaps;
    if (self->failed || !superblock_is_idle(all) || superblock_after(all)) return;
    piece *whole = piece_set_first(&all->heap.free);
    self->heaps = NULL;
    free(all);
    model_give_back(self, whole);
}

const model_kind model_rmm_arena = {
    .name = "rmm-arena", .summary = "RMM's arena_memory_resource: half of the free memory, or the limit, at once",
    .lacks = "an arena for each thread on the default stream; its memory serves nothing after a trim gave it back",
    .size = sizeof(model), .alignment_bytes = RMM_UNIT, .open = rmm_arena_open, .alloc = rmm_arena_alloc,
    .free = rmm_arena_free, .trim = rmm_arena_trim,
};

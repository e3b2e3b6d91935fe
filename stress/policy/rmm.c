/* RMM's pool_memory_resource: best fit, a list of free blocks for each stream, an event at each free. It doubles from
   its first request's exact size, or takes half of what its maximum leaves; then idle blocks go back
   before it fails. */
#include <stdlib.h>

#include "model.h"

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
        if (other == mine || !piece_set_first(&other->free)) continue;
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

/* ---- RMM's arena_memory_resource: half of the free memory, or the limit, taken at once and never more */

enum { RMM_ARENA_UNIT = 256 };
#define RMM_ARENA_LEAST MODEL_MIB                /* of a superblock; requests to this are a stream's */

typedef struct arena_list arena_list;
typedef struct superblock superblock;
struct superblock {                              /* pieces have it as their owner */
    superblock *next;                            /* by address */
    arena_list *in;
    uint64_t    address, bytes;
    piece_set   free;                            /* by address */
};

struct arena_list {                              /* the global arena, which is the first, or a stream's */
    arena_list     *next;
    gpuarena_stream stream;
    superblock     *first;
};

typedef struct rmm_arena {
    model       base;
    arena_list  global;
    superblock *spare;
} rmm_arena;

static int superblock_is_empty(const superblock *of)
{
    return piece_set_largest(&of->free) == of->bytes;
}

static superblock *superblock_make(rmm_arena *self, uint64_t address, uint64_t bytes)
{
    superblock *made = self->spare;              /* nothing is free in a spare one */
    if (made) self->spare = made->next;
    else made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->next = NULL;
    made->address = address;
    made->bytes = bytes;
    made->free.by_address = 1;
    return made;
}

static void superblock_unlink(superblock *of)
{
    superblock **at = &of->in->first;
    while (*at != of) at = &(*at)->next;
    *at = of->next;
}

static superblock *superblock_link(arena_list *list, superblock *of)
{
    superblock **at = &list->first, *before = NULL;
    for (; *at && (*at)->address < of->address; at = &(*at)->next) before = *at;
    of->next = *at;
    of->in = list;
    *at = of;
    return before;
}

/* Two empty neighbours become one: the right one's piece ends in the left one's. */
static void superblock_join(rmm_arena *self, superblock *left)
{
    superblock *right = left ? left->next : NULL;
    if (!right || left->address + left->bytes != right->address) return;
    if (!superblock_is_empty(left) || !superblock_is_empty(right)) return;
    piece *front = piece_set_first(&left->free), *rest = piece_set_first(&right->free);
    piece_set_remove(&left->free, front);
    piece_set_remove(&right->free, rest);
    front->bytes += rest->bytes;
    pieces_give(&self->base.pieces, rest);
    piece_set_add(&left->free, front);
    left->bytes += right->bytes;
    left->next = right->next;
    right->next = self->spare;
    self->spare = right;
}

/* Into the global arena, joined with empty neighbours if it is empty. */
static void superblock_release(rmm_arena *self, superblock *of)
{
    superblock *before = superblock_link(&self->global, of);
    superblock_join(self, of);
    superblock_join(self, before);
}

/* An empty one is parted, if what is left is one, too. NULL: no host memory, and nothing has changed. */
static superblock *superblock_part(rmm_arena *self, superblock *of, uint64_t bytes)
{
    uint64_t least = bytes > RMM_ARENA_LEAST ? bytes : RMM_ARENA_LEAST;
    if (!superblock_is_empty(of) || of->bytes < least + RMM_ARENA_LEAST) return of;
    superblock *rest = superblock_make(self, of->address + least, of->bytes - least);
    if (!rest) return NULL;
    piece *front = piece_set_first(&of->free);
    piece_set_remove(&of->free, front);
    piece *behind = pieces_take(&self->base.pieces);
    behind->address = rest->address;
    behind->bytes = rest->bytes;
    behind->owner = rest;
    front->bytes = of->bytes = least;
    piece_set_add(&of->free, front);
    piece_set_add(&rest->free, behind);
    superblock_link(&self->global, rest);
    return of;
}

static superblock *arena_first_fit(const arena_list *list, uint64_t bytes)
{
    superblock *at = list->first;
    while (at && piece_set_largest(&at->free) < bytes) at = at->next;
    return at;
}

static piece *superblock_take(rmm_arena *self, superblock *of, uint64_t bytes)
{
    return model_cut(&self->base, &of->free, piece_set_lowest(&of->free, bytes), bytes, 1);
}

static arena_list *arena_of(rmm_arena *self, gpuarena_stream stream)
{
    arena_list **end = &self->global.next;
    for (; *end; end = &(*end)->next) {
        if ((*end)->stream == stream) return *end;
    }
    arena_list *made = calloc(1, sizeof *made);
    if (made) made->stream = stream;
    return *end = made;
}

/* From the stream's superblocks, or one that it acquires; large requests from the global arena's. found NULL: neither
   has as much. */
static gpuarena_result rmm_arena_find(rmm_arena *self, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    int is_large = bytes > RMM_ARENA_LEAST;
    arena_list *own = is_large ? &self->global : arena_of(self, stream);
    if (!own) return model_no_memory(&self->base);
    superblock *from = is_large ? NULL : arena_first_fit(own, bytes);
    if (!from) {
        from = arena_first_fit(&self->global, bytes);
        if (!from) return GPUARENA_OK;
        from = superblock_part(self, from, bytes);
        if (!from) return model_no_memory(&self->base);
        if (!is_large) {
            superblock_unlink(from);
            superblock_link(own, from);
        }
    }
    *found = superblock_take(self, from, bytes);
    (*found)->stream = stream;
    return GPUARENA_OK;
}

/* The device is waited for, and the streams' superblocks go back to the global arena, empty or not. */
static gpuarena_result rmm_arena_defragment(rmm_arena *self)
{
    gpuarena_result result = model_wait_all(&self->base);
    for (arena_list *list = self->global.next; list && !result; list = list->next) {
        while (list->first) {
            superblock *moved = list->first;
            list->first = moved->next;
            superblock_release(self, moved);
        }
    }
    return result;
}

static gpuarena_result rmm_arena_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    rmm_arena *self = (rmm_arena *)base;
    gpuarena_result result = rmm_arena_find(self, bytes, stream, found);
    if (result || *found) return result;
    result = rmm_arena_defragment(self);
    if (!result) result = rmm_arena_find(self, bytes, stream, found);
    return result || *found ? result : model_over_limit(base);
}

/* What is or was moved to the global arena waits for its stream. */
static gpuarena_result rmm_arena_free(model *base, piece *freed, gpuarena_stream stream)
{
    rmm_arena *self = (rmm_arena *)base;
    superblock *of = freed->owner;
    gpuarena_result result = of->in == &self->global ? model_wait(base, stream) : GPUARENA_OK;
    model_put(base, &of->free, freed);
    if (of->in == &self->global && superblock_is_empty(of)) {
        superblock_unlink(of);
        superblock_release(self, of);
    }
    return result;
}

static gpuarena_result rmm_arena_open(model *base)
{
    rmm_arena *self = (rmm_arena *)base;
    uint64_t free_bytes = 0, total_bytes = 0, bytes = base->limit_bytes;
    piece *whole = NULL;
    gpuarena_result result = model_info(base, &free_bytes, &total_bytes);
    if (result) return result;
    if (bytes == GPUARENA_NO_LIMIT) bytes = free_bytes / 2;
    bytes -= bytes % RMM_ARENA_UNIT;
    if (bytes < RMM_ARENA_LEAST) return model_over_limit(base);
    result = model_obtain(base, bytes, &whole);
    if (result) return result;
    superblock *first = superblock_make(self, whole->address, whole->bytes);
    if (!first) return model_no_memory(base);
    whole->owner = first;
    piece_set_add(&first->free, whole);
    superblock_link(&self->global, first);
    return GPUARENA_OK;
}

/* Where nothing is live, all of it goes back, and there is no way back: it serves nothing more. */
static gpuarena_result rmm_arena_trim(model *base)
{
    rmm_arena *self = (rmm_arena *)base;
    gpuarena_result result = rmm_arena_defragment(self);
    superblock *all = self->global.first;
    if (result || !all || all->next || !superblock_is_empty(all)) return result;
    piece *whole = piece_set_first(&all->free);
    self->global.first = NULL;
    free(all);
    return model_give_back(base, whole);
}

static uint64_t rmm_arena_largest(const model *base)
{
    const rmm_arena *self = (const rmm_arena *)base;
    uint64_t largest = 0;
    for (const arena_list *list = &self->global; list; list = list->next) {
        for (const superblock *at = list->first; at; at = at->next) {
            if (piece_set_largest(&at->free) > largest) largest = piece_set_largest(&at->free);
        }
    }
    return largest;
}

static void superblocks_free(superblock *list)
{
    while (list) {
        superblock *gone = list;
        list = gone->next;
        free(gone);
    }
}

static void rmm_arena_close(model *base)
{
    rmm_arena *self = (rmm_arena *)base;
    superblocks_free(self->spare);
    superblocks_free(self->global.first);
    while (self->global.next) {
        arena_list *gone = self->global.next;
        self->global.next = gone->next;
        superblocks_free(gone->first);
        free(gone);
    }
}

const model_kind model_rmm_arena = {
    .name = "rmm-arena", .summary = "RMM's arena_memory_resource: half of the free memory, or the limit, at once",
    .lacks = "an arena for each thread on the default stream; its memory serves nothing after a trim gave it back",
    .size = sizeof(rmm_arena), .alignment_bytes = RMM_ARENA_UNIT, .open = rmm_arena_open, .alloc = rmm_arena_alloc,
    .free = rmm_arena_free, .trim = rmm_arena_trim, .largest = rmm_arena_largest, .close = rmm_arena_close,
};

/* PyTorch's caching allocator at its defaults: best fit in segments of 2 MiB, 20 MiB or the request's size, small and
   large apart, of each stream apart. Before it fails, all that is idle goes back to the driver. With
   expandable_segments:True segments are ranges of addresses, in which pages are mapped. */
#include "model.h"

enum { PYTORCH_UNIT = 512 };
#define PYTORCH_SMALL_BYTES   MODEL_MIB          /* requests up to it have pools of their own .. */
#define PYTORCH_SMALL_SEGMENT (2 * MODEL_MIB)    /* .. of such segments, or pages */
#define PYTORCH_LARGE_SEGMENT (20 * MODEL_MIB)
#define PYTORCH_LARGE_BYTES   (10 * MODEL_MIB)   /* from here on a segment is as large as its request .. */
#define PYTORCH_LARGE_UNIT    (2 * MODEL_MIB)    /* .. in multiples of this */

typedef struct pytorch_pool {                    /* pieces have it as their owner */
    model_heap      heap;                        /* its kind: 1: of small blocks */
    piece_set       holes;                       /* expandable: by address, in the model's ranges */
} pytorch_pool;

typedef struct pytorch_use pytorch_use;
struct pytorch_use {                             /* of a block, on a stream beside its own */
    pytorch_use    *next;                        /* of a live block; from its free on, of all that wait */
    gpuarena_stream stream;
    void           *event;                       /* recorded there when the block was freed: this one */
    piece          *freed;
};

typedef struct pytorch {
    model        base;
    pytorch_use *waiting, **waiting_end;         /* oldest first */
    void       **spare;                          /* events to be used again, the latest first */
    size_t       spare_count, spare_room;
} pytorch;

/* The bytes that the driver is asked for when nothing fits. */
static uint64_t pytorch_segment(uint64_t bytes)
{
    if (bytes <= PYTORCH_SMALL_BYTES) return PYTORCH_SMALL_SEGMENT;
    return bytes < PYTORCH_LARGE_BYTES ? PYTORCH_LARGE_SEGMENT : memory_round_up(bytes, PYTORCH_LARGE_UNIT);
}

/* ---- streams */

static void pytorch_note(model *base, piece *used, gpuarena_stream stream)
{
    const pytorch_use *at = used->uses;
    (void)base;
    while (at && at->stream != stream) at = at->next;
    if (at || stream == used->stream) return;
    pytorch_use *made = program_need(1, sizeof *made);
    made->stream = stream;
    made->next = used->uses;
    used->uses = made;
}

static void pytorch_go_home(pytorch *self, piece *freed)
{
    pytorch_pool *home = freed->owner;
    model_put(&self->base, &home->heap.free, freed);
}

/* Ends a use; its event is kept. */
static void pytorch_end(pytorch *self, pytorch_use *over)
{
    ARRAY_RESERVE(self->spare, self->spare_room, self->spare_count + 1);
    if (over->event) self->spare[self->spare_count++] = over->event;
    free(over);
}

/* From now on it waits for its event, unless that cannot be recorded. */
static void pytorch_record(pytorch *self, piece *freed, pytorch_use *use)
{
    if (!self->base.failed && self->spare_count) use->event = self->spare[--self->spare_count];
    model_event(&self->base, &use->event, "cudaEventRecord");
    model_record(&self->base, use->event, use->stream);
    if (self->base.failed) {
        pytorch_end(self, use);
        return;
    }
    use->next = NULL;
    use->freed = freed;
    if (!self->waiting) self->waiting_end = &self->waiting;
    *self->waiting_end = use;
    self->waiting_end = &use->next;
    freed->event_count++;
}

static void pytorch_free(model *base, piece *freed, gpuarena_stream stream)
{
    pytorch *self = (pytorch *)base;
    pytorch_note(base, freed, stream);           /* a free elsewhere is a use there */
    for (pytorch_use *use; (use = freed->uses) != NULL;) {
        freed->uses = use->next;
        pytorch_record(self, freed, use);
    }
    if (!freed->event_count) {
        pytorch_go_home(self, freed);
        return;
    }
    freed->state = PIECE_PENDING;
    base->pending_bytes += freed->bytes;
}

/* Tells whether an event of the same stream waits before this one, which is then not asked. */
static int pytorch_is_behind(const pytorch *self, const pytorch_use *asked)
{
    const pytorch_use *at = self->waiting;
    while (at != asked && at->stream != asked->stream) at = at->next;
    return at != asked;
}

static int pytorch_is_done(pytorch *self, const pytorch_use *asked, int must_wait)
{
    const gpuarena_driver *driver = &self->base.driver;
    if (!must_wait && pytorch_is_behind(self, asked)) return 0;
    int code = must_wait ? driver->events.host_wait(driver, asked->event)
                         : driver->events.query(driver, asked->event);
    if (!must_wait && driver->classify(driver, code) == GPUARENA_STATUS_NOT_READY) return 0;
    model_check(&self->base, "cudaEventQuery", code);
    return 1;
}

/* Blocks whose events are complete go home; must_wait: the host waits until all are. */
static void pytorch_events(pytorch *self, int must_wait)
{
    pytorch_use **at = &self->waiting, *asked;
    while ((asked = *at) != NULL) {
        int is_done = pytorch_is_done(self, asked, must_wait);
        piece *freed = asked->freed;
        if (self->base.failed) return;
        if (!is_done) {
            at = &asked->next;
            continue;
        }
        *at = asked->next;
        if (!*at) self->waiting_end = at;
        pytorch_end(self, asked);
        if (--freed->event_count) continue;
        self->base.pending_bytes -= freed->bytes;
        pytorch_go_home(self, freed);
    }
}

/* ---- expandable segments: growth */

/* Addresses for the device's memory and an eighth more: one hole. */
static void range_open(pytorch *self, pytorch_pool *pool)
{
    model *base = &self->base;
    const uint64_t page_bytes = pool->heap.kind ? PYTORCH_SMALL_SEGMENT : PYTORCH_LARGE_SEGMENT;
    uint64_t free_bytes = 0, total_bytes = 0;
    model_info(base, &free_bytes, &total_bytes);
    const uint64_t bytes = memory_round_up(total_bytes + total_bytes / 8, page_bytes);
    const model_range *made = model_range_open(base, bytes, page_bytes);
    if (!made) return;
    pool->holes.by_address = 1;
    piece *hole = pieces_take(&base->pieces);
    hole->address = made->address;
    hole->bytes = made->bytes;
    hole->state = PIECE_HOLE;
    hole->owner = pool;
    hole->stream = pool->heap.stream;
    piece_set_add(&pool->holes, hole);
}

static model_range *range_of(const pytorch *self, uint64_t address)
{
    model_range *at = self->base.ranges;
    while (address - at->address >= at->bytes) at = at->next;
    return at;
}

/* Pages from the front of a hole, to hold as many of so many bytes as it can; they join the free blocks around.
   Returns the block that they are in. */
static piece *hole_map(pytorch *self, pytorch_pool *pool, piece *hole, uint64_t bytes)
{
    model_range *range = range_of(self, hole->address);
    uint64_t begin = (hole->address - range->address) / range->page_bytes;
    uint64_t mapped = memory_round_up(hole->bytes < bytes ? hole->bytes : bytes, range->page_bytes);
    model_range_map(&self->base, range, begin, begin + mapped / range->page_bytes);
    if (self->base.failed) return NULL;
    (void)model_cut(&self->base, &pool->holes, hole, mapped, 1);
    piece *before = hole->previous && hole->previous->state == PIECE_FREE ? hole->previous : hole;
    model_put(&self->base, &pool->heap.free, hole);   /* the left of two that join stays */
    return before;
}

static int is_allocatable(const piece *at)
{
    return at && (at->state == PIECE_FREE || at->state == PIECE_HOLE);
}

static int has_room(const piece *at, uint64_t bytes)
{
    uint64_t room = 0;
    for (; room < bytes && is_allocatable(at); at = at->next) room += at->bytes;
    return room >= bytes;
}

/* The lowest hole, or the free memory before it, from where there is room for so many bytes. NULL: none. */
static piece *find_expandable(const pytorch_pool *pool, uint64_t bytes)
{
    for (piece *hole = piece_set_first(&pool->holes); hole; hole = piece_set_after(&pool->holes, hole)) {
        piece *at = is_allocatable(hole->previous) ? hole->previous : hole;
        if (has_room(at, bytes)) return at;
    }
    return NULL;
}

/* The limit is asked for a native segment's bytes, though whole pages are mapped. */
static piece *expandable_grow(pytorch *self, pytorch_pool *pool, uint64_t bytes)
{
    model *base = &self->base;
    piece *at = NULL;
    if (model_is_over(base, pytorch_segment(bytes))) {
        model_over_limit(base);
        return NULL;
    }
    if (!(at = find_expandable(pool, bytes))) {
        range_open(self, pool);
        if (base->failed) return NULL;
        at = find_expandable(pool, bytes);
        if (!at) model_over_limit(base);         /* more than there are addresses */
    }
    if (at && at->state == PIECE_HOLE) at = hole_map(self, pool, at, bytes);
    while (at && at->bytes < bytes) at = hole_map(self, pool, at->next, bytes - at->bytes);
    return at;
}

static uint64_t expandable_bytes(const piece *at)
{
    return at->bytes + (at->next && at->next->state == PIECE_HOLE ? at->next->bytes : 0);
}

/* The smallest block that fits, and on by size as long as the next could grow less. */
static piece *expandable_best(const pytorch_pool *pool, uint64_t bytes)
{
    piece *best = piece_set_best(&pool->heap.free, bytes);
    piece *next = best ? piece_set_after(&pool->heap.free, best) : NULL;
    while (next && expandable_bytes(next) < expandable_bytes(best)) {
        best = next;
        next = piece_set_after(&pool->heap.free, best);
    }
    return best;
}

/* ---- expandable segments: release */

/* Whole pages inside a free block become a hole. */
static void block_unmap(pytorch *self, pytorch_pool *pool, piece *block)
{
    model_range *range = range_of(self, block->address);
    uint64_t offset = block->address - range->address;
    uint64_t begin = memory_round_up(offset, range->page_bytes) / range->page_bytes;
    uint64_t end = (offset + block->bytes) / range->page_bytes;
    if (begin >= end) return;
    model_wait(&self->base, pool->heap.stream);
    model_range_unmap(&self->base, range, begin, end);
    if (self->base.failed) return;
    if (begin * range->page_bytes > offset) {
        piece *front = model_cut(&self->base, &pool->heap.free, block, begin * range->page_bytes - offset, 1);
        block = front->next;
        front->state = PIECE_FREE;
        piece_set_add(&pool->heap.free, front);
    }
    (void)model_cut(&self->base, &pool->heap.free, block, (end - begin) * range->page_bytes, 1);
    block->state = PIECE_HOLE;
    model_join_into(&self->base, &pool->holes, block);
}

/* The rest of a block is smaller: it does not come again. */
static void pool_unmap(pytorch *self, pytorch_pool *pool)
{
    for (piece *block = piece_set_first(&pool->heap.free), *next; block && !self->base.failed; block = next) {
        next = piece_set_after(&pool->heap.free, block);
        block_unmap(self, pool, block);
    }
}

/* ---- both kinds */

static int pytorch_is_expandable(const pytorch *self)
{
    return self->base.kind == &model_pytorch_expandable;
}

static piece *pytorch_best(const pytorch *self, const pytorch_pool *pool, uint64_t bytes)
{
    return pytorch_is_expandable(self) ? expandable_best(pool, bytes) : piece_set_best(&pool->heap.free, bytes);
}

/* Grows by a native segment: the limit is checked for all of it, however small the request. */
static piece *pytorch_grow(pytorch *self, pytorch_pool *pool, uint64_t bytes)
{
    if (self->base.failed) return NULL;
    if (pytorch_is_expandable(self)) return expandable_grow(self, pool, bytes);
    piece *made = model_obtain(&self->base, pytorch_segment(bytes));
    if (!made) return NULL;
    made->owner = pool;
    made->stream = pool->heap.stream;
    piece_set_add(&pool->heap.free, made);
    return pytorch_best(self, pool, bytes);
}

/* All events are waited for; whole idle segments, or pages, of all streams go back, those of large blocks first. */
static void pytorch_release(model *base)
{
    pytorch *self = (pytorch *)base;
    pytorch_events(self, 1);
    for (int is_small = 0; is_small < 2; is_small++) {
        for (model_heap *pool = base->heaps; pool && !base->failed; pool = pool->next) {
            if (pool->kind != is_small) continue;
            if (pytorch_is_expandable(self)) pool_unmap(self, (pytorch_pool *)pool);
            else model_release(base, &pool->free);
        }
    }
}

/* A large block of a native segment keeps a rest of 1 MiB and less. */
static piece *pytorch_alloc(model *base, uint64_t bytes, gpuarena_stream stream)
{
    pytorch *self = (pytorch *)base;
    pytorch_events(self, 0);
    if (base->failed) return NULL;
    pytorch_pool *pool = model_heap_of(base, stream, bytes <= PYTORCH_SMALL_BYTES, sizeof *pool);
    piece *best = pytorch_best(self, pool, bytes);
    if (!best) best = pytorch_grow(self, pool, bytes);
    if (base->failed == GPUARENA_OUT_OF_MEMORY) {
        base->failed = GPUARENA_OK;
        pytorch_release(base);
        best = pytorch_grow(self, pool, bytes);
    }
    if (!best) return NULL;
    int keeps_rest = !pool->heap.kind && !pytorch_is_expandable(self);
    uint64_t least_rest = keeps_rest ? PYTORCH_SMALL_BYTES + 1 : PYTORCH_UNIT;
    return model_cut(base, &pool->heap.free, best, bytes, best->bytes - bytes >= least_rest);
}

static void pytorch_free_uses(const model *base, pytorch_use *list)
{
    while (list) {
        pytorch_use *gone = list;
        list = gone->next;
        if (gone->event) (void)base->driver.events.destroy(&base->driver, gone->event);
        free(gone);
    }
}

static void pytorch_close(model *base)
{
    pytorch *self = (pytorch *)base;
    for (size_t at = 0; at < base->live.capacity; at++) {
        const piece *live = (const piece *)(uintptr_t)base->live.slots[at].bytes;
        if (live) pytorch_free_uses(base, live->uses);
    }
    pytorch_free_uses(base, self->waiting);
    while (self->spare_count) (void)base->driver.events.destroy(&base->driver, self->spare[--self->spare_count]);
    free(self->spare);
}

const model_kind model_pytorch = {
    .name = "pytorch", .summary = "PyTorch's native caching allocator",
    .lacks = "its options: max_split_size_mb, roundup_power2_divisions, garbage_collection_threshold; private pools "
             "of graphs",
    .size = sizeof(pytorch), .alignment_bytes = PYTORCH_UNIT, .alloc = pytorch_alloc, .free = pytorch_free,
    .use = pytorch_note, .trim = pytorch_release, .close = pytorch_close,
};

const model_kind model_pytorch_expandable = {
    .name = "pytorch-expandable", .summary = "PyTorch's caching allocator with expandable_segments:True",
    .lacks = "its options; private pools of graphs; a whole range of addresses given back when all of it is idle",
    .size = sizeof(pytorch), .alignment_bytes = PYTORCH_UNIT, .needs_pages = 1,
    .beyond_bytes = PYTORCH_LARGE_SEGMENT - PYTORCH_LARGE_UNIT, .alloc = pytorch_alloc, .free = pytorch_free,
    .use = pytorch_note, .trim = pytorch_release, .close = pytorch_close,
};

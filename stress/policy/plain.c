/* One plain range: pages are mapped at its end, and never move or go back while it is used. Free memory is found by
   exact best fit, or by the lowest address: this is a perfect search over memory that stays. */
#include "model.h"

enum { PLAIN_UNIT = 256 };

typedef struct plain {
    model       base;
    piece_set  *free;                            /* of its only heap */
    piece      *last;                            /* touches the end of the mapped pages; NULL: none are */
    model_range *range;
    uint64_t    page_count;                      /* mapped, from the begin on */
} plain;

static void plain_open(model *base)
{
    plain *self = (plain *)base;
    const uint64_t page_bytes = base->driver.page_bytes;
    uint64_t free_bytes = 0, total_bytes = 0;
    model_heap *only = model_heap_of(base, NULL, 0, sizeof *only);
    self->free = &only->free;
    self->free->by_address = base->kind == &model_first_fit;
    model_info(base, &free_bytes, &total_bytes);
    self->range = model_range_open(base, memory_round_up(total_bytes, page_bytes), page_bytes);
}

/* The memory behind the last piece. */
static void plain_extend(plain *self, uint64_t bytes)
{
    model *base = &self->base;
    piece *made = pieces_take(&base->pieces);
    made->bytes = bytes;
    made->address = self->range->address + self->page_count * self->range->page_bytes - bytes;
    made->previous = self->last;
    if (self->last) self->last->next = made;
    model_put(base, self->free, made);
    self->last = self->last && self->last->state == PIECE_FREE ? self->last : made;
}

/* Maps page by page: pages that were mapped before a refusal stay. */
static void plain_grow(plain *self, uint64_t bytes)
{
    const uint64_t page_bytes = self->range->page_bytes, begin = self->page_count;
    uint64_t tail = self->last && self->last->state == PIECE_FREE ? self->last->bytes : 0;
    uint64_t need = memory_round_up(bytes - tail, page_bytes), end = begin + need / page_bytes;
    if (model_is_over(&self->base, need) || end > self->range->bytes / page_bytes) model_over_limit(&self->base);
    while (self->page_count < end && !self->base.failed) {
        model_range_map(&self->base, self->range, self->page_count, self->page_count + 1);
        self->page_count += !self->base.failed;
    }
    if (self->page_count > begin) plain_extend(self, (self->page_count - begin) * page_bytes);
}

static piece *plain_find(const plain *self, uint64_t bytes)
{
    return self->free->by_address ? piece_set_lowest(self->free, bytes) : piece_set_best(self->free, bytes);
}

static piece *plain_alloc(model *base, uint64_t bytes, gpuarena_stream stream)
{
    plain *self = (plain *)base;
    piece *fits = plain_find(self, bytes);
    if (!fits) plain_grow(self, bytes);
    if (base->failed) return NULL;
    if (!fits) fits = plain_find(self, bytes);
    model_cut(base, self->free, fits, bytes, 1);
    if (self->last == fits && fits->next) self->last = fits->next;
    model_join(base, stream);
    return fits;
}

/* The left of two that join stays: the last may be gone into the one before it. */
static void plain_free(model *base, piece *freed, gpuarena_stream stream)
{
    plain *self = (plain *)base;
    piece *left = freed->previous && freed->previous->state == PIECE_FREE ? freed->previous : freed;
    model_put(base, self->free, freed);
    if (!left->next) self->last = left;
    model_freed(base, stream);
}

/* Whole pages at the end, behind the last live block. */
static void plain_trim(model *base)
{
    plain *self = (plain *)base;
    const uint64_t page_bytes = self->range->page_bytes;
    piece *last = self->last;
    if (!last || last->state != PIECE_FREE) return;
    model_wait_all(base);
    if (base->failed) return;
    piece_set_remove(self->free, last);
    while (last->bytes >= page_bytes && !base->failed) {
        const uint64_t end = self->page_count;
        model_range_unmap(base, self->range, end - 1, end);
        if (self->range->pages[end - 1]) break;
        self->page_count--;
        last->bytes -= page_bytes;
    }
    if (last->bytes) {
        piece_set_add(self->free, last);
    } else {
        self->last = last->previous;
        if (self->last) self->last->next = NULL;
        pieces_give(&base->pieces, last);
    }
}

#define PLAIN_KIND(called, shown_as, what) { \
    .name = called, .shown = shown_as, .summary = what, .lacks = "", .size = sizeof(plain), \
    .alignment_bytes = PLAIN_UNIT, .needs_pages = 1, .in_order = 1, .open = plain_open, .alloc = plain_alloc, \
    .free = plain_free, .trim = plain_trim }

const model_kind model_best_fit = PLAIN_KIND(
    "best", "best-fit", "one plain range, exact best fit: a perfect search over memory that never moves");
const model_kind model_first_fit = PLAIN_KIND("first", "first-fit", "one plain range, the lowest address that fits");

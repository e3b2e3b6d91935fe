/* One plain range: pages are mapped at its end, and never move or go back while it is used. What is free is found by
   exact best fit, or by the lowest address: what a perfect search makes of memory that stays. */
#include <stdlib.h>

#include "model.h"

enum { PLAIN_UNIT = 256 };

typedef struct plain {
    model     base;
    piece_set free;
    piece    *last;                              /* touches the end of what is mapped; NULL: nothing is */
    uint64_t  address, bytes, page_bytes;
    uint64_t *pages;
    uint64_t  page_count;                        /* mapped */
} plain;

static gpuarena_result plain_open(model *base, int by_address)
{
    plain *self = (plain *)base;
    const gpuarena_driver *driver = &base->driver;
    uint64_t free_bytes = 0, total_bytes = 0;
    void *address = NULL;
    int code = driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes);
    if (code) return model_result(base, "cudaMemGetInfo", code);
    self->free.by_address = by_address;
    self->page_bytes = driver->page_bytes;
    self->bytes = model_round(total_bytes, self->page_bytes);
    self->pages = calloc((size_t)(self->bytes / self->page_bytes) + 1, sizeof *self->pages);
    if (!self->pages) return model_no_memory(base);
    code = driver->vm.reserve(driver, &address, self->bytes, self->page_bytes);
    self->address = (uint64_t)(uintptr_t)address;
    return model_result(base, "cuMemAddressReserve", code);
}

static gpuarena_result best_open(model *base)
{
    return plain_open(base, 0);
}

static gpuarena_result first_open(model *base)
{
    return plain_open(base, 1);
}

/* One more page at the end. */
static int plain_page(plain *self)
{
    const gpuarena_driver *driver = &self->base.driver;
    void *end = (void *)(uintptr_t)(self->address + self->page_count * self->page_bytes);
    uint64_t page = 0;
    int code = driver->vm.create(driver, &page, self->page_bytes, 0);
    if (code) return code;
    code = driver->vm.map(driver, end, self->page_bytes, page);
    if (!code) code = driver->vm.access(driver, end, self->page_bytes, 1);
    if (code) {
        (void)driver->vm.unmap(driver, end, self->page_bytes);
        (void)driver->vm.destroy(driver, page, self->page_bytes);
        return code;
    }
    self->pages[self->page_count++] = page;
    self->base.reserved_bytes += self->page_bytes;
    return 0;
}

/* The memory behind the last piece; what was mapped before a refusal stays. */
static void plain_extend(plain *self, uint64_t bytes)
{
    model *base = &self->base;
    piece *made = pieces_take(&base->pieces);
    made->bytes = bytes;
    made->address = self->address + self->page_count * self->page_bytes - bytes;
    made->previous = self->last;
    if (self->last) self->last->next = made;
    model_put(base, &self->free, made);
    self->last = self->last && self->last->state == PIECE_FREE ? self->last : made;
}

static gpuarena_result plain_grow(plain *self, uint64_t bytes)
{
    uint64_t tail = self->last && self->last->state == PIECE_FREE ? self->last->bytes : 0;
    uint64_t need = model_round(bytes - tail, self->page_bytes), begin = self->page_count;
    int code = 0;
    if (model_is_over(&self->base, need) || begin * self->page_bytes + need > self->bytes)
        return model_over_limit(&self->base);
    for (uint64_t at = 0; at < need / self->page_bytes && !code; at++) code = plain_page(self);
    if (self->page_count > begin) plain_extend(self, (self->page_count - begin) * self->page_bytes);
    return model_result(&self->base, NULL, code);
}

static piece *plain_find(const plain *self, uint64_t bytes)
{
    return self->free.by_address ? piece_set_lowest(&self->free, bytes) : piece_set_best(&self->free, bytes);
}

static gpuarena_result plain_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    plain *self = (plain *)base;
    piece *fits = plain_find(self, bytes);
    if (!fits) {
        gpuarena_result result = plain_grow(self, bytes);
        if (result) return result;
        fits = plain_find(self, bytes);
    }
    *found = model_cut(base, &self->free, fits, bytes, 1);
    if (self->last == fits && fits->next) self->last = fits->next;
    return model_join(base, stream);
}

/* The left of two that join stays: the last may be gone into the one before it. */
static gpuarena_result plain_free(model *base, piece *freed, gpuarena_stream stream)
{
    plain *self = (plain *)base;
    piece *left = freed->previous && freed->previous->state == PIECE_FREE ? freed->previous : freed;
    model_put(base, &self->free, freed);
    if (!left->next) self->last = left;
    return model_freed(base, stream);
}

/* Whole pages at the end, behind the last live block. */
static gpuarena_result plain_trim(model *base)
{
    plain *self = (plain *)base;
    const gpuarena_driver *driver = &base->driver;
    piece *last = self->last;
    int code = 0;
    if (!last || last->state != PIECE_FREE) return GPUARENA_OK;
    gpuarena_result result = model_wait_all(base);
    if (result) return result;
    piece_set_remove(&self->free, last);
    while (last->bytes >= self->page_bytes && !code) {
        void *end = (void *)(uintptr_t)(self->address + (self->page_count - 1) * self->page_bytes);
        code = driver->vm.unmap(driver, end, self->page_bytes);
        if (code) break;
        code = driver->vm.destroy(driver, self->pages[--self->page_count], self->page_bytes);
        last->bytes -= self->page_bytes;
        base->reserved_bytes -= self->page_bytes;
    }
    if (last->bytes) {
        piece_set_add(&self->free, last);
    } else {
        self->last = last->previous;
        if (self->last) self->last->next = NULL;
        pieces_give(&base->pieces, last);
    }
    return model_result(base, "cuMemUnmap", code);
}

static uint64_t plain_largest(const model *base)
{
    const plain *self = (const plain *)base;
    return piece_set_largest(&self->free);
}

static void plain_close(model *base)
{
    plain *self = (plain *)base;
    const gpuarena_driver *driver = &base->driver;
    (void)model_wait_all(base);
    for (uint64_t at = 0; at < self->page_count; at++) {
        void *address = (void *)(uintptr_t)(self->address + at * self->page_bytes);
        (void)driver->vm.unmap(driver, address, self->page_bytes);
        (void)driver->vm.destroy(driver, self->pages[at], self->page_bytes);
    }
    if (self->address) (void)driver->vm.release(driver, (void *)(uintptr_t)self->address, self->bytes);
    free(self->pages);
}

#define PLAIN_KIND(called, what, opens) { \
    .name = called, .summary = what, .lacks = "", .size = sizeof(plain), \
    .alignment_bytes = PLAIN_UNIT, .needs_pages = 1, .in_order = 1, .open = opens, .alloc = plain_alloc, \
    .free = plain_free, .trim = plain_trim, .largest = plain_largest, .close = plain_close }

const model_kind model_best_fit = PLAIN_KIND(
    "best", "one plain range, exact best fit: what a perfect search makes of memory that stays",
    best_open);
const model_kind model_first_fit = PLAIN_KIND(
    "first", "one plain range, the lowest address that fits", first_open);

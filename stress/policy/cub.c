/* CUB's CachingDeviceAllocator with its default bins: powers of 8 from 512 bytes to 2 MiB, one cudaMalloc a block, at
   most 6 MiB - 1 cached; larger blocks are not cached. Another stream's block is taken once its event is complete. */
#include "model.h"

enum { CUB_BINS = 5 };
static const uint64_t cub_sizes[CUB_BINS] = { 512, 4096, 32768, 262144, 2097152 };
#define CUB_CACHED_BYTES (6 * MODEL_MIB - 1)

typedef struct cub {
    model    base;
    piece   *cached[CUB_BINS], **ends[CUB_BINS]; /* by piece.next: the one freed first comes first */
    uint64_t cached_bytes;
} cub;

static int cub_bin(uint64_t bytes)               /* CUB_BINS: none */
{
    int bin = 0;
    while (bin < CUB_BINS && cub_sizes[bin] < bytes) bin++;
    return bin;
}

static piece *cub_remove(cub *self, int bin, piece **from)
{
    piece *removed = *from;
    *from = removed->next;
    if (!removed->next) self->ends[bin] = from;
    removed->next = NULL;
    self->cached_bytes -= removed->bytes;
    return removed;
}

/* The stream's own, or one whose work is done, whichever was freed first. NULL: none. */
static piece *cub_search(cub *self, int bin, gpuarena_stream stream)
{
    const gpuarena_driver *driver = &self->base.driver;
    for (piece **at = &self->cached[bin]; *at && !self->base.failed; at = &(*at)->next) {
        int code = (*at)->stream == stream ? 0 : driver->events.query(driver, (*at)->owner);
        if (!code) return cub_remove(self, bin, at);
        if (driver->classify(driver, code) == GPUARENA_STATUS_NOT_READY) continue;
        model_check(&self->base, "cudaEventQuery", code);
    }
    return NULL;
}

static void cub_give_back(cub *self, piece *freed)
{
    const gpuarena_driver *driver = &self->base.driver;
    void *event = freed->owner;
    model_give_back(&self->base, freed);
    if (event) (void)driver->events.destroy(driver, event);
}

static void cub_trim(model *base)
{
    cub *self = (cub *)base;
    for (int bin = 0; bin < CUB_BINS; bin++) {
        while (self->cached[bin] && !base->failed) cub_give_back(self, cub_remove(self, bin, &self->cached[bin]));
    }
}

static piece *cub_obtain(model *base, uint64_t bytes)
{
    piece *made = model_obtain(base, bytes);
    if (base->failed == GPUARENA_OUT_OF_MEMORY) {
        base->failed = GPUARENA_OK;
        cub_trim(base);
        made = model_obtain(base, bytes);
    }
    if (!made) return NULL;
    int code = base->driver.events.create(&base->driver, &made->owner);
    if (code) {
        model_give_back(base, made);
        model_check(base, "cudaEventCreate", code);
    }
    return code ? NULL : made;
}

static piece *cub_alloc(model *base, uint64_t bytes, gpuarena_stream stream)
{
    int bin = cub_bin(bytes);
    piece *found = bin < CUB_BINS ? cub_search((cub *)base, bin, stream) : NULL;
    if (!found && !base->failed) found = cub_obtain(base, bin < CUB_BINS ? cub_sizes[bin] : bytes);
    if (found) found->stream = stream;
    return found;
}

static void cub_free(model *base, piece *freed, gpuarena_stream stream)
{
    cub *self = (cub *)base;
    int bin = cub_bin(freed->bytes);
    (void)stream;                                /* its own: that of the allocation */
    if (bin == CUB_BINS || self->cached_bytes + freed->bytes > CUB_CACHED_BYTES) {
        cub_give_back(self, freed);
        return;
    }
    freed->state = PIECE_FREE;
    if (!self->cached[bin]) self->ends[bin] = &self->cached[bin];
    *self->ends[bin] = freed;
    self->ends[bin] = &freed->next;
    self->cached_bytes += freed->bytes;
    model_record(base, freed->owner, freed->stream);
}

static uint64_t cub_largest(const model *base)
{
    const cub *self = (const cub *)base;
    int bin = CUB_BINS;
    while (bin-- > 0) {
        if (self->cached[bin]) return cub_sizes[bin];
    }
    return 0;
}

/* Destroys the events of live blocks; cached blocks have gone back before. */
static void cub_close(model *base)
{
    cub_trim(base);
    for (size_t at = 0; at < base->live.capacity; at++) {
        const piece *live = (const piece *)(uintptr_t)base->live.slots[at].bytes;
        if (live && live->owner) (void)base->driver.events.destroy(&base->driver, live->owner);
    }
}

const model_kind model_cub = {
    .name = "cub", .summary = "CUB's CachingDeviceAllocator, default bins",
    .lacks = "its bug of an allocation refused because another stream's block is not ready (cub-library has it)",
    .size = sizeof(cub), .alignment_bytes = 1, .alloc = cub_alloc, .free = cub_free, .trim = cub_trim,
    .largest = cub_largest, .close = cub_close,
};

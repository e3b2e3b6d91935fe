/* CUB's CachingDeviceAllocator with its default bins: powers of 8 from 512 bytes to 2 MiB, one cudaMalloc a block, at
   most 6 MiB - 1 cached; larger blocks are not cached. Another stream's block is taken once its event is complete. */
#include "model.h"

enum { CUB_BINS = 5 };
static const uint64_t cub_sizes[CUB_BINS] = { 512, 4096, 32768, 262144, 2097152 };
#define CUB_CACHED_BYTES (6 * MODEL_MIB - 1)

typedef struct cub {
    model    base;
    piece   *cached[CUB_BINS], **ends[CUB_BINS]; /* by piece.next: what was freed first comes first */
    uint64_t cached_bytes;
} cub;

static gpuarena_result cub_open(model *base)
{
    cub *self = (cub *)base;
    for (int bin = 0; bin < CUB_BINS; bin++) self->ends[bin] = &self->cached[bin];
    return GPUARENA_OK;
}

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

/* The stream's own, or one whose work is done, whichever was freed first. */
static gpuarena_result cub_search(cub *self, int bin, gpuarena_stream stream, piece **found)
{
    const gpuarena_driver *driver = &self->base.driver;
    for (piece **at = &self->cached[bin]; *at; at = &(*at)->next) {
        if ((*at)->stream != stream) {
            int code = driver->events.query(driver, (*at)->owner);
            if (model_status(&self->base.driver, code) == GPUARENA_STATUS_NOT_READY) continue;
            if (code) return model_result(&self->base, "cudaEventQuery", code);
        }
        *found = cub_remove(self, bin, at);
        return GPUARENA_OK;
    }
    return GPUARENA_OK;
}

static gpuarena_result cub_give_back(cub *self, piece *freed)
{
    const gpuarena_driver *driver = &self->base.driver;
    void *event = freed->owner;
    gpuarena_result result = model_give_back(&self->base, freed);
    if (event) (void)driver->events.destroy(driver, event);
    return result;
}

static gpuarena_result cub_trim(model *base)
{
    cub *self = (cub *)base;
    gpuarena_result result = GPUARENA_OK;
    for (int bin = 0; bin < CUB_BINS; bin++) {
        while (self->cached[bin] && !result) {
            result = cub_give_back(self, cub_remove(self, bin, &self->cached[bin]));
        }
    }
    return result;
}

static gpuarena_result cub_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    cub *self = (cub *)base;
    int bin = cub_bin(bytes);
    uint64_t taken = bin < CUB_BINS ? cub_sizes[bin] : bytes;
    gpuarena_result result = bin < CUB_BINS ? cub_search(self, bin, stream, found) : GPUARENA_OK;
    if (!result && !*found) {
        result = model_obtain(base, taken, found);
        if (result == GPUARENA_OUT_OF_MEMORY) {
            result = cub_trim(base);
            if (!result) result = model_obtain(base, taken, found);
        }
        if (!result) {
            int code = base->driver.events.create(&base->driver, &(*found)->owner);
            if (code) {
                (void)model_give_back(base, *found);
                *found = NULL;
                return model_result(base, "cudaEventCreate", code);
            }
        }
    }
    if (!result) (*found)->stream = stream;
    return result;
}

static gpuarena_result cub_free(model *base, piece *freed, gpuarena_stream stream)
{
    cub *self = (cub *)base;
    const gpuarena_driver *driver = &base->driver;
    int bin = cub_bin(freed->bytes);
    (void)stream;                                /* its own: that of the allocation */
    if (bin == CUB_BINS || self->cached_bytes + freed->bytes > CUB_CACHED_BYTES) return cub_give_back(self, freed);
    freed->state = PIECE_FREE;
    *self->ends[bin] = freed;
    self->ends[bin] = &freed->next;
    self->cached_bytes += freed->bytes;
    return model_result(base, "cudaEventRecord", driver->events.record(driver, freed->owner, freed->stream));
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

/* The events of live blocks; what is cached has gone back before. */
static void cub_close(model *base)
{
    (void)cub_trim(base);
    for (size_t at = 0; at < base->live.capacity; at++) {
        const piece *live = (const piece *)(uintptr_t)base->live.slots[at].bytes;
        if (live && live->owner) (void)base->driver.events.destroy(&base->driver, live->owner);
    }
}

const model_kind model_cub = {
    .name = "cub", .summary = "CUB's CachingDeviceAllocator, default bins",
    .lacks = "its bug of an allocation refused because another stream's block is not ready (cub-library has it)",
    .size = sizeof(cub), .alignment_bytes = 1, .open = cub_open, .alloc = cub_alloc, .free = cub_free,
    .trim = cub_trim, .largest = cub_largest, .close = cub_close,
};

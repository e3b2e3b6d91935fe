/* TensorFlow's BFC allocator, also XLA's and so JAX's: best fit with coalescing, in regions that double.
   It grows, as with allow_growth; regions in which nothing is live go back before it fails, as on TensorFlow's GPUs.
   Tested by tests/test_like_bfc.c and tests/test_golden_peaks.c. */
#include "bfc.h"

enum { BFC_UNIT = 256 };
#define BFC_FIRST_BYTES (2 * MODEL_MIB)
#define BFC_SLACK_BYTES (128 * MODEL_MIB)        /* a chunk that would keep as much is cut */

piece *bfc_take(bfc *self, uint64_t bytes)
{
    piece *found = piece_set_best(&self->free, bytes);
    if (!found) return NULL;
    int splits = found->bytes >= 2 * bytes || found->bytes - bytes >= BFC_SLACK_BYTES;
    return model_cut(&self->base, &self->free, found, bytes, splits);
}

uint64_t bfc_step(uint64_t step_bytes, uint64_t bytes)
{
    while (step_bytes < bytes) step_bytes *= 2;
    return step_bytes;
}

uint64_t bfc_room(const bfc *self)
{
    const model *base = &self->base;
    if (base->limit_bytes == GPUARENA_NO_LIMIT) return UINT64_C(1) << 62;
    if (base->reserved_bytes >= base->limit_bytes) return 0;
    return (base->limit_bytes - base->reserved_bytes) / BFC_UNIT * BFC_UNIT;
}

gpuarena_result bfc_region(bfc *self, uint64_t bytes, uint64_t least_bytes)
{
    piece *made = NULL;
    gpuarena_result result;
    for (;;) {
        result = model_obtain(&self->base, bytes, &made);
        if (result != GPUARENA_OUT_OF_MEMORY) break;
        uint64_t less = model_round(bytes / 10 * 9, BFC_UNIT);
        bytes = less < bytes ? less : bytes - BFC_UNIT;
        if (bytes < least_bytes) return result;
    }
    if (!result) piece_set_add(&self->free, made);
    return result;
}

/* The step stays doubled where it was doubled for this request; else it is doubled for the next. */
static gpuarena_result bfc_extend(bfc *self, uint64_t bytes)
{
    uint64_t room = bfc_room(self), step = bfc_step(self->step_bytes, bytes);
    if (bytes > room) return model_over_limit(&self->base);
    int is_doubled = step > self->step_bytes;
    self->step_bytes = step;
    gpuarena_result result = bfc_region(self, step < room ? step : room, bytes);
    if (!result && !is_doubled) self->step_bytes *= 2;
    return result;
}

static uint64_t bfc_idle(const bfc *self)
{
    uint64_t idle = 0;
    for (const piece *at = piece_set_first(&self->free); at; at = piece_set_after(&self->free, at)) {
        if (!at->previous && !at->next) idle += at->bytes;
    }
    return idle;
}

/* Regions without a live chunk go back, all of them, if that can help at all. */
static gpuarena_result bfc_collect(bfc *self, uint64_t bytes, gpuarena_result refused)
{
    uint64_t idle = bfc_idle(self);
    if (!idle || bytes > bfc_room(self) + idle) return refused;
    gpuarena_result result = model_release(&self->base, &self->free);
    return result ? result : bfc_extend(self, bytes);
}

static gpuarena_result bfc_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    bfc *self = (bfc *)base;
    *found = bfc_take(self, bytes);
    if (!*found) {
        gpuarena_result result = bfc_extend(self, bytes);
        if (result == GPUARENA_OUT_OF_MEMORY) result = bfc_collect(self, bytes, result);
        if (result) return result;
        *found = bfc_take(self, bytes);
    }
    return model_join(base, stream);
}

gpuarena_result bfc_free(model *base, piece *freed, gpuarena_stream stream)
{
    bfc *self = (bfc *)base;
    model_put(base, &self->free, freed);
    return model_freed(base, stream);
}

gpuarena_result bfc_trim(model *base)
{
    bfc *self = (bfc *)base;
    return model_release(base, &self->free);
}

uint64_t bfc_largest(const model *base)
{
    const bfc *self = (const bfc *)base;
    return piece_set_largest(&self->free);
}

static gpuarena_result bfc_open(model *base)
{
    bfc *self = (bfc *)base;
    self->step_bytes = base->limit_bytes < BFC_FIRST_BYTES ? model_round(base->limit_bytes, BFC_UNIT)
                                                           : BFC_FIRST_BYTES;
    if (!self->step_bytes) self->step_bytes = BFC_UNIT;
    return GPUARENA_OK;
}

const model_kind model_bfc = {
    .name = "bfc", .summary = "TensorFlow's and JAX's BFC allocator, growing",
    .lacks = "the whole limit taken at the first request, which is their default; waits of up to 10 s for others' "
             "frees; time stamps on frees (here streams wait for each other); regions of touching addresses made one",
    .size = sizeof(bfc), .alignment_bytes = BFC_UNIT, .in_order = 1, .open = bfc_open, .alloc = bfc_alloc,
    .free = bfc_free, .trim = bfc_trim, .largest = bfc_largest,
};

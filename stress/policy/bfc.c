/* TensorFlow's BFC allocator, also XLA's and so JAX's, and ONNX Runtime's arena, which was made of it: best fit with
   coalescing, in regions that double. TensorFlow's grows, as with allow_growth; regions in which nothing is live go
   back before it fails, as TensorFlow does on GPUs. ONNX Runtime's has kNextPowerOfTwo, its default. */
#include "model.h"

enum { BFC_UNIT = 256 };
#define BFC_SLACK_BYTES (128 * MODEL_MIB)        /* a chunk that would keep as much is cut */

typedef struct bfc_rules {
    uint64_t first_bytes;                        /* of the first region */
    uint64_t most_bytes;                         /* up to which it doubles: max_power_of_two_extend_bytes */
    uint64_t least_bytes;                        /* less is not asked for once the driver has refused */
    int      collects;                           /* idle regions go back before a request fails */
} bfc_rules;

static const bfc_rules bfc_tensorflow = { 2 * MODEL_MIB, UINT64_C(1) << 62, 0, 1 };
static const bfc_rules bfc_onnx = { MODEL_MIB, 1024 * MODEL_MIB, 8192, 0 };

typedef struct bfc {
    model            base;
    const bfc_rules *rules;
    uint64_t         step_bytes;                 /* the next region has as many at least */
} bfc;

/* The smallest free chunk that fits, cut if the rest is worth it. NULL: none fits. */
static piece *bfc_take(bfc *self, uint64_t bytes)
{
    piece *found = piece_set_best(&self->base.heaps->free, bytes);
    if (!found) return NULL;
    int splits = found->bytes >= 2 * bytes || found->bytes - bytes >= BFC_SLACK_BYTES;
    return model_cut(&self->base, &self->base.heaps->free, found, bytes, splits);
}

/* The bytes that the limit still allows, in whole units of 256. */
static uint64_t bfc_room(const bfc *self)
{
    const model *base = &self->base;
    if (base->limit_bytes == GPUARENA_NO_LIMIT) return UINT64_C(1) << 62;
    if (base->reserved_bytes >= base->limit_bytes) return 0;
    return (base->limit_bytes - base->reserved_bytes) / BFC_UNIT * BFC_UNIT;
}

/* A region of so many bytes, or a tenth less again and again while the driver refuses, down to the least. */
static void bfc_region(bfc *self, uint64_t bytes, uint64_t least_bytes)
{
    piece *made;
    while (!(made = model_obtain(&self->base, bytes)) && self->base.failed == GPUARENA_OUT_OF_MEMORY) {
        uint64_t less = memory_round_up(bytes / 10 * 9, BFC_UNIT);
        bytes = less < bytes ? less : bytes - BFC_UNIT;
        if (bytes < least_bytes) return;
        self->base.failed = GPUARENA_OK;
    }
    if (made) piece_set_add(&self->base.heaps->free, made);
}

/* The step stays doubled where it was doubled for this request; else it is doubled for the next. */
static void bfc_extend(bfc *self, uint64_t bytes)
{
    uint64_t room = bfc_room(self), before = self->step_bytes, least = self->rules->least_bytes;
    if (bytes > room) {
        model_over_limit(&self->base);
        return;
    }
    while (self->step_bytes < bytes) self->step_bytes *= 2;
    bfc_region(self, self->step_bytes < room ? self->step_bytes : room, bytes > least ? bytes : least);
    if (self->base.failed) return;
    if (self->step_bytes == before) self->step_bytes *= 2;
    if (self->step_bytes > self->rules->most_bytes) self->step_bytes = self->rules->most_bytes;
}

static uint64_t bfc_idle(const bfc *self)
{
    uint64_t idle = 0;
    const piece_set *of = &self->base.heaps->free;
    for (const piece *at = piece_set_first(of); at; at = piece_set_after(of, at)) {
        if (!at->previous && !at->next) idle += at->bytes;
    }
    return idle;
}

/* Memory has run out. Regions without a live chunk go back, all of them, if that can help at all. */
static void bfc_collect(bfc *self, uint64_t bytes)
{
    uint64_t idle = bfc_idle(self);
    if (!idle || bytes > bfc_room(self) + idle) return;
    self->base.failed = GPUARENA_OK;
    model_release(&self->base, &self->base.heaps->free);
    if (!self->base.failed) bfc_extend(self, bytes);
}

static piece *bfc_alloc(model *base, uint64_t bytes, gpuarena_stream stream)
{
    bfc *self = (bfc *)base;
    piece *found = bfc_take(self, bytes);
    if (!found) {
        bfc_extend(self, bytes);
        if (base->failed == GPUARENA_OUT_OF_MEMORY && self->rules->collects) bfc_collect(self, bytes);
        if (base->failed) return NULL;
        found = bfc_take(self, bytes);
    }
    model_join(base, stream);
    return found;
}

static void bfc_free(model *base, piece *freed, gpuarena_stream stream)
{
    model_put(base, &base->heaps->free, freed);
    model_freed(base, stream);
}

static void bfc_trim(model *base)
{
    model_release(base, &base->heaps->free);
}

static void bfc_open(model *base)
{
    bfc *self = (bfc *)base;
    (void)model_heap_of(base, NULL, 0, sizeof(model_heap));
    const bfc_rules *rules = self->rules = base->kind == &model_ort ? &bfc_onnx : &bfc_tensorflow;
    self->step_bytes = base->limit_bytes < rules->first_bytes ? memory_round_up(base->limit_bytes, BFC_UNIT)
                                                              : rules->first_bytes;
    if (!self->step_bytes) self->step_bytes = BFC_UNIT;
}

const model_kind model_bfc = {
    .name = "bfc", .summary = "TensorFlow's and JAX's BFC allocator, growing",
    .lacks = "the whole limit taken at the first request, which is their default; waits of up to 10 s for others' "
             "frees; time stamps on frees (here streams wait for each other); regions of touching addresses made one",
    .size = sizeof(bfc), .alignment_bytes = BFC_UNIT, .in_order = 1, .open = bfc_open, .alloc = bfc_alloc,
    .free = bfc_free, .trim = bfc_trim,
};

const model_kind model_ort = {
    .name = "ort", .summary = "ONNX Runtime's BFC arena, kNextPowerOfTwo",
    .lacks = "memory given back at the end of a run; Reserve, which goes past the arena; kSameAsRequested; chunks of "
             "one stream alone until it was waited for (here streams wait for each other)",
    .size = sizeof(bfc), .alignment_bytes = BFC_UNIT, .in_order = 1, .open = bfc_open, .alloc = bfc_alloc,
    .free = bfc_free, .trim = bfc_trim,
};

/* ONNX Runtime's BFC arena with kNextPowerOfTwo, its default: a first region of 1 MiB, then doubled up to 1 GiB.
   Nothing goes back before it fails. Tested by tests/test_like_ort.c and tests/test_golden_peaks.c. */
#include "bfc.h"

enum { ORT_UNIT = 256 };
#define ORT_FIRST_BYTES MODEL_MIB
#define ORT_MOST_BYTES (1024 * MODEL_MIB)        /* max_power_of_two_extend_bytes */
#define ORT_LEAST_BYTES 8192                     /* less is not asked for once the driver has refused */

static gpuarena_result ort_extend(bfc *self, uint64_t bytes)
{
    uint64_t room = bfc_room(self), step = bfc_step(self->step_bytes, bytes);
    if (bytes > room) return model_over_limit(&self->base);
    int is_doubled = step > self->step_bytes;
    self->step_bytes = step;
    gpuarena_result result = bfc_region(self, step < room ? step : room, bytes > ORT_LEAST_BYTES ? bytes
                                                                                               : ORT_LEAST_BYTES);
    if (result) return result;
    if (!is_doubled) self->step_bytes = 2 * step;
    if (self->step_bytes > ORT_MOST_BYTES) self->step_bytes = ORT_MOST_BYTES;
    return GPUARENA_OK;
}

static gpuarena_result ort_alloc(model *base, uint64_t bytes, gpuarena_stream stream, piece **found)
{
    bfc *self = (bfc *)base;
    *found = bfc_take(self, bytes);
    if (!*found) {
        gpuarena_result result = ort_extend(self, bytes);
        if (result) return result;
        *found = bfc_take(self, bytes);
    }
    return model_join(base, stream);
}

static gpuarena_result ort_open(model *base)
{
    bfc *self = (bfc *)base;
    self->step_bytes = base->limit_bytes < ORT_FIRST_BYTES ? model_round(base->limit_bytes, ORT_UNIT)
                                                           : ORT_FIRST_BYTES;
    if (!self->step_bytes) self->step_bytes = ORT_UNIT;
    return GPUARENA_OK;
}

const model_kind model_ort = {
    .name = "ort", .summary = "ONNX Runtime's BFC arena, kNextPowerOfTwo",
    .lacks = "memory given back at the end of a run; Reserve, which goes past the arena; kSameAsRequested; chunks of "
             "one stream alone until it was waited for (here streams wait for each other)",
    .size = sizeof(bfc), .alignment_bytes = ORT_UNIT, .in_order = 1, .open = ort_open, .alloc = ort_alloc,
    .free = bfc_free, .trim = bfc_trim, .largest = bfc_largest,
};

/* `rival`: training on a device of which another process takes memory midway, and gives it back. */
#include "train.h"

/* Before operation `from` (allocations and frees, from 0) another process takes `size` MiB of the device, at most all
   that is free; before operation `until` it gives them back (0: never); repeat=N: N times, as long apart as it lasts.
   The program trains a transformer meanwhile, with weights gathered layer by layer and sequences of varying length:
   its memory at the time of the loss must do for all lengths that follow. Every policy meets the same rival, `raw`
   too. It is a simulated device's: nobody can be told to take a GPU's memory. */
typedef struct rival {
    train        training;
    uint64_t     size_mib, from, until, repeat;
    stream_event *events;
} rival;

static const family_option rival_options[] = {
    TRAIN_SHAPES(rival, training., 1, 8),
    OPTION(rival, training.batch, "batch", 1, UINT32_MAX, 4),
    OPTION_RANGE(rival, training.lengths, "seq", 1, UINT32_MAX, 512, 2048),
    TRAIN_STEPS(rival, training., 8),
    OPTION(rival, training.zero3, "zero3", 1, UINT32_MAX, 8),
    OPTION(rival, size_mib, "size", 1, 1 << 24, 74300),      /* leaves 1.03 x the peak of 80 GiB */
    OPTION(rival, from, "from", 0, UINT32_MAX, 2500),
    OPTION(rival, until, "until", 0, UINT32_MAX, 5000),
    OPTION(rival, repeat, "repeat", 1, 100000, 1),
};

static size_t rival_plan(rival *state)
{
    uint64_t from = state->from, until = state->until, lasts = until > 0 ? until - from : 0;
    size_t count = 0;
    for (uint64_t time = 0; time < state->repeat; time++) {
        const stream_event taken = { from + 2 * lasts * time, state->size_mib << 20, 0 };
        const stream_event given = { taken.op + lasts, taken.bytes, 1 };
        state->events[count++] = taken;
        if (until > 0) state->events[count++] = given;
    }
    return count;
}

static void rival_make(void *self)
{
    rival *state = self;
    stream_builder *builder = state->training.words.builder;
    if (state->until > 0 && state->until <= state->from) {
        MAKER_REFUSE(state, "until is %" PRIu64 " and from %" PRIu64 ", expected a later operation, or 0: never",
                     state->until, state->from);
    } else if (state->until == 0 && state->repeat > 1) {
        MAKER_REFUSE(state, "repeat is given without until, expected until=N beside it");
    }
    state->training.streams = 1;
    train_begin(&state->training);
    state->events = maker_array(state, state->repeat * 2, sizeof *state->events);
    builder->events = state->events;
    builder->event_count = rival_plan(state);
    train_run(&state->training);
    builder->event_count = 0;
    if (maker_is_over(state) || builder->stream->rival_count > 0) return;
    MAKER_REFUSE(state, "from is %" PRIu64 ", expected below %" PRIu64 ", the operations that there are", state->from,
                 builder->stream->alloc_count + builder->stream->free_count);
}

FAMILY(rival, "training, while another process takes size MiB before operation from, and gives it back before until",
       "the training's own, as train's", 7742871556);

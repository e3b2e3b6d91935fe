/* `rival`: training on a device of which another process takes memory midway, and gives it back. */
#include "train.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Before operation `from` (allocations and frees, from 0) another process takes `size` MiB of the device, at most
   what is free; before operation `until` it gives them back (0: never); repeat=N: N times, as long apart as it lasts.
   The program trains a transformer meanwhile, with weights gathered layer by layer and sequences of varying length:
   what it holds when the memory is gone must do for all lengths that follow. Every policy meets the same rival, `raw`
   too. It is a simulated device's: nobody can be told to take a GPU's memory. */
enum { RIVAL_ZERO3 = TRAIN_SHARED, RIVAL_SIZE, RIVAL_FROM, RIVAL_UNTIL, RIVAL_REPEAT, RIVAL_OPTION_COUNT };

static const family_option rival_options[RIVAL_OPTION_COUNT] = {
    { "layers", 1, 1000000,    8,     8,     0, NULL },
    { "hidden", 1, UINT32_MAX, 2048,  2048,  0, NULL },
    { "ff",     1, UINT32_MAX, 5504,  5504,  0, NULL },
    { "heads",  1, UINT32_MAX, 16,    16,    0, NULL },
    { "vocab",  1, UINT32_MAX, 32000, 32000, 0, NULL },
    { "batch",  1, UINT32_MAX, 4,     4,     0, NULL },
    { "seq",    1, UINT32_MAX, 512,   2048,  1, NULL },
    { "steps",  0, 1000000,    8,     8,     0, NULL },
    { "seed",   0, UINT64_MAX, 1,     1,     0, NULL },
    { "zero3",  1, UINT32_MAX, 8,     8,     0, NULL },
    { "size",   1, 1 << 24,    74300, 74300, 0, NULL },      /* MiB; leaves 1.03 x the peak of 80 GiB */
    { "from",   0, UINT32_MAX, 2500,  2500,  0, NULL },
    { "until",  0, UINT32_MAX, 5000,  5000,  0, NULL },
    { "repeat", 1, 100000,     1,     1,     0, NULL }
};

/* 0: it does not give back. */
static size_t rival_events(const family_value *values, stream_event *events)
{
    uint64_t from = values[RIVAL_FROM].from, until = values[RIVAL_UNTIL].from;
    size_t count = 0;
    for (uint64_t time = 0; time < values[RIVAL_REPEAT].from; time++) {
        uint64_t shift = until > from ? 2 * (until - from) * time : 0;
        stream_event taken = { from + shift, values[RIVAL_SIZE].from << 20, 0 };
        events[count++] = taken;
        if (until == 0) break;
        taken.op = until + shift;
        taken.gives_back = 1;
        events[count++] = taken;
    }
    return count;
}

static int rival_train(const family_request *request, stream_builder *builder)
{
    family_request model;
    train state;
    train_request(&model, request->values, request->values[RIVAL_ZERO3].from);
    train_begin(&state, &model, builder);
    train_run(&state);
    return train_end(&state);
}

static int rival_judge(const family_value *values, stream_builder *builder)
{
    uint64_t from = values[RIVAL_FROM].from, until = values[RIVAL_UNTIL].from;
    if (until > 0 && until <= from) {
        return stream_refuse(builder, "until is %" PRIu64 " and from %" PRIu64 ", expected a later operation, or 0: "
                             "never", until, from);
    }
    if (until == 0 && values[RIVAL_REPEAT].from > 1) {
        return stream_refuse(builder, "repeat is given without until, expected until=N beside it");
    }
    return 0;
}

static int rival_make(const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    if (rival_judge(values, builder)) return -1;
    stream_event *events = calloc((size_t)values[RIVAL_REPEAT].from * 2, sizeof *events);
    if (!events) return stream_no_memory(builder);
    stream_events(builder, events, rival_events(values, events));
    int failed = rival_train(request, builder);
    uint64_t ops = builder->stream->alloc_count + builder->stream->free_count;
    if (!failed && !builder->is_cut && builder->stream->rival_count == 0) {
        failed = stream_refuse(builder, "from is %" PRIu64 ", expected below %" PRIu64 ", the operations that there "
                               "are", values[RIVAL_FROM].from, ops);
    }
    stream_events(builder, NULL, 0);
    free(events);
    return failed;
}

const family family_rival = {
    { "rival", "training, while another process takes size MiB before operation from, and gives it back before until",
      "the training's own, as train's", UINT64_C(7742871556) },
    rival_options, RIVAL_OPTION_COUNT, rival_make
};

/* A recorder, for you to copy: an observer that writes a program's calls of its arena as `gpuarena-trace 1`.
   It must not know the program's purpose. Used by 11_record.c; tested by tests/unit/arena/test_recorder.c.
   Include gpuarena.h before. Needs POSIX: -std=c99 needs _POSIX_C_SOURCE=200809L, unless GPUARENA_IMPLEMENTATION is
   defined. Requests of 0 bytes make no blocks, and are not recorded. */
#ifndef EXAMPLES_RECORDER_H
#define EXAMPLES_RECORDER_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RECORDER_STREAMS = 1024 };                /* the most that replay takes */
typedef struct recorder {
    FILE           *out;
    uint64_t        work_ns;                     /* GPU work of an allocation, and of a gpuarena_use; 0: replay's own
                                                    for allocations, and uses on other streams left out */
    gpuarena_stream streams[RECORDER_STREAMS];   /* by number; 0 is the default stream, and GPUARENA_ANY_STREAM */
    unsigned        stream_count;
} recorder;

static unsigned recorder_stream(recorder *self, gpuarena_stream stream)
{
    unsigned number;
    if (!stream || stream == GPUARENA_ANY_STREAM) return 0;
    for (number = 1; number < self->stream_count; number++)
        if (self->streams[number] == stream) return number;
    if (self->stream_count == RECORDER_STREAMS) return 0;
    self->streams[self->stream_count] = stream;
    return self->stream_count++;
}

/* Writes a tag as one word: its name, or its number if it has no name. */
static void recorder_tag(recorder *self, uint32_t tag)
{
    const char *name = gpuarena_tag_name(tag);
    if (!*name) fprintf(self->out, " tag%" PRIu32, tag);
    else fputc(' ', self->out);
    for (; *name; name++) fputc(*name == ' ' ? '_' : *name, self->out);
}

/* A block's number in the trace is its serial, from 0. A serial is given once, and every block knows its own. */
static void recorder_alloc(recorder *self, const gpuarena_block *block)
{
    unsigned stream = recorder_stream(self, block->stream);
    fprintf(self->out, "a %" PRIu64 " %" PRIu64 " %u", block->serial - 1, block->requested_bytes, stream);
    if (block->tag) recorder_tag(self, block->tag);
    fputc('\n', self->out);
    if (self->work_ns) fprintf(self->out, "k %u %" PRIu64 " %" PRIu64 "\n", stream, self->work_ns, block->serial - 1);
}

static void recorder_free(recorder *self, const gpuarena_block *block, gpuarena_stream stream)
{
    unsigned home = recorder_stream(self, block->stream), freed_on = recorder_stream(self, stream);
    if (freed_on == home) fprintf(self->out, "f %" PRIu64 "\n", block->serial - 1);
    else fprintf(self->out, "f %" PRIu64 " %u\n", block->serial - 1, freed_on);
}

static void recorder_use(recorder *self, const gpuarena_block *block, gpuarena_stream stream)
{
    unsigned home = recorder_stream(self, block->stream), user = recorder_stream(self, stream);
    if (!self->work_ns || home == user) return;
    fprintf(self->out, "w %u %u\nk %u %" PRIu64 " %" PRIu64 "\n", user, home, user, self->work_ns, block->serial - 1);
}

/* The arena's lock is held, so that calls from any threads come one after another. The file is locked, too, because
   recorder_step is called without the arena's lock. */
static void recorder_observe(gpuarena *arena, const gpuarena_action *action, void *user)
{
    recorder *self = (recorder *)user;
    (void)arena;
    flockfile(self->out);
    if (action->kind == GPUARENA_ACTION_ALLOC) recorder_alloc(self, &action->block);
    if (action->kind == GPUARENA_ACTION_FREE) recorder_free(self, &action->block, action->stream);
    if (action->kind == GPUARENA_ACTION_USE) recorder_use(self, &action->block, action->stream);
    if (action->kind == GPUARENA_ACTION_RESIZE) {                /* recorded as a free and a new block */
        recorder_free(self, &action->block, action->block.stream);
        recorder_alloc(self, &action->block);
    }
    if (action->kind == GPUARENA_ACTION_FAIL)
        fprintf(self->out, "# %s for %" PRIu64 " bytes\n", gpuarena_result_name(action->result),
                action->failure->requested_bytes);
    funlockfile(self->out);
}

static gpuarena_result recorder_visit(const gpuarena_block *block, void *user)
{
    if (block->state == GPUARENA_STATE_LIVE) recorder_alloc((recorder *)user, block);
    return GPUARENA_OK;
}

/* Begins a trace with the blocks that are live already. No other thread may use the arena meanwhile. */
static gpuarena_result recorder_begin(recorder *self, gpuarena *arena, FILE *out, uint64_t work_ns)
{
    gpuarena_result result;
    memset(self, 0, sizeof *self);
    self->out = out;
    self->work_ns = work_ns;
    self->stream_count = 1;
    fputs("gpuarena-trace 1\n", out);
    result = gpuarena_walk(arena, recorder_visit, self);
    return result ? result : gpuarena_observe(arena, recorder_observe, self);
}

/* Records the begin of a step. label: one word. Any thread may call this. */
static void recorder_step(recorder *self, const char *label)
{
    fprintf(self->out, "s %s\n", label);
}

/* Ends the trace. 0: all of it was written. */
static int recorder_end(recorder *self, gpuarena *arena)
{
    return gpuarena_observe(arena, NULL, NULL) || fflush(self->out) || ferror(self->out);
}

#endif

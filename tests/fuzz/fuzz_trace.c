/* Fuzz target: recordings, gpuarena-trace 1, RMM's CSV and intervals, told apart by content.
   It must not run them.
   Run: make fuzz FUZZ=trace; its corpus: build/tests/fuzz_trace */
#include "stress/workload/workload.h"
#include "fuzz.h"

/* 1 if every operation names blocks that are live, and the figures are those of a walk. */
static int is_sound(const op_stream *stream)
{
    uint64_t live = 0, peak = 0, allocs = 0, frees = 0, *sizes = calloc(stream->block_count + 1, sizeof *sizes);
    char *is_live = calloc(stream->block_count + 1, 1);
    int sound = sizes && is_live;
    for (size_t i = 0; sound && i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_ALLOC) {
            sound = at->first == allocs && !is_live[at->first];
            sizes[at->first] = at->value;
            is_live[at->first] = 1;
            live += at->value;
            allocs++;
        } else if (at->kind == OP_FREE) {
            sound = at->first < allocs && is_live[at->first];
            is_live[at->first] = 0;
            live -= sizes[at->first];
            frees++;
        }
        for (uint32_t touch = 0; at->kind == OP_KERNEL && sound && touch < at->count; touch++) {
            sound = is_live[stream->touches[at->first + touch]];
        }
        peak = live > peak ? live : peak;
    }
    free(sizes);
    free(is_live);
    return sound && allocs == stream->alloc_count && frees == stream->free_count && allocs == stream->block_count &&
           peak == stream->requested_peak_bytes;
}

static int fuzz_read(const char *path, op_stream *stream)
{
    const workload_options plain = { 0 };
    problem why = { 0, "" };
    char spec[96];
    snprintf(spec, sizeof spec, "replay:%s", path);
    int failed = workload_make(spec, &plain, stream, &why);
    size_t length = strlen(path);
    int is_named = failed && why.exit_code == EXIT_USAGE && !strncmp(why.text, path, length) &&
                   (strncmp(why.text + length, ": a pickle", 10) == 0 ||
                    (why.text[length + 1] >= '1' && why.text[length + 1] <= '9' && strstr(why.text, "expected")));
    fuzz_expect(failed ? is_named && !stream->ops : !why.exit_code && is_sound(stream),
                "sound, or refused with file and line");
    return failed;
}

static char *fuzz_written(const op_stream *stream, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    fuzz_expect(out && !op_stream_write(stream, out) && !fclose(out), "host memory");
    return text;
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    op_stream stream, again;
    size_t length = 0, length_again = 0;
    if (fuzz_read(fuzz_file(data, size), &stream)) return;
    char *text = fuzz_written(&stream, &length);
    fuzz_expect(!fuzz_read(fuzz_file((const uint8_t *)text, length), &again), "what is written can be read");
    char *text_again = fuzz_written(&again, &length_again);
    fuzz_expect(length == length_again && !memcmp(text, text_again, length), "and is the same");
    free(text);
    free(text_again);
    op_stream_free(&stream);
    op_stream_free(&again);
}

FUZZ_TARGET(trace)

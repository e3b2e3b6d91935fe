/* Fuzz target: recordings, gpuarena-trace 1, RMM's CSV and intervals, told apart by content.
   It must not run them.
   Run: make fuzz FUZZ=trace; its corpus: build/tests/fuzz_trace */
#include "workload_text.h"
#include "fuzz.h"

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

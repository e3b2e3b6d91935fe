/* For tests of op streams: make one from a specification or from a trace text in a temporary file, write it as text.
   Knows nothing of any one family. Used by tests of workloads, passes, records and the recorder.
   A helper that cannot do its work ends the test program with a message. */
#ifndef TESTS_WORKLOAD_TEXT_H
#define TESTS_WORKLOAD_TEXT_H

#include <stdlib.h>
#include <unistd.h>

#include "stress/base/text.h"
#include "stress/workload/workload.h"
#include "tap.h"

typedef struct buffer { char *bytes; size_t length; } buffer;

static inline void give_up(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(1);
}

/* NUL-terminated; the caller frees bytes. */
static inline buffer stream_text(const op_stream *stream)
{
    buffer whole = { NULL, 0 };
    FILE *file = open_memstream(&whole.bytes, &whole.length);
    if (!file || op_stream_write(stream, file) || fclose(file)) give_up("no memory");
    return whole;
}

/* One file for all traces of a test program, made anew each time, removed at the end. */
static char trace_path[] = "/tmp/gpuarena_test_XXXXXX";

static inline void remove_trace(void)
{
    unlink(trace_path);
}

static inline void write_trace(const char *bytes, size_t length)
{
    static int is_made;
    if (!is_made) {
        int descriptor = mkstemp(trace_path);
        if (descriptor < 0 || close(descriptor) || atexit(remove_trace)) give_up("cannot make a temporary file");
        is_made = 1;
    }
    FILE *file = fopen(trace_path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) give_up("cannot write a temporary file");
}

/* workload_make without anything from the command line. */
static inline int make_plain(const char *spec, op_stream *stream, problem *why)
{
    workload_options none = { 0 };
    why->exit_code = 0;
    why->text[0] = '\0';
    return workload_make(spec, &none, stream, why);
}

static inline int replay_bytes(const char *bytes, size_t length, op_stream *stream, problem *why)
{
    char spec[64];
    write_trace(bytes, length);
    snprintf(spec, sizeof spec, "replay:%s", trace_path);
    return make_plain(spec, stream, why);
}

#endif

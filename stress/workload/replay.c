/* `replay:FILE`: the file, whole and bounded, wherever it is, and the choice of its reader by its first line.
   Must not know what any format says.
   Tested by tests/test_workload_replay.c. */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"

static const replay_format *const replay_formats[] = { &replay_trace, &replay_rmm, &replay_intervals };
enum { REPLAY_FORMAT_COUNT = sizeof replay_formats / sizeof replay_formats[0], REPLAY_FIRST_READ = 1 << 16 };

/* Of a long name the end is what tells. */
static void replay_show_path(const char *path, char *shown, size_t shown_bytes)
{
    size_t length = strlen(path);
    size_t skipped = length > shown_bytes - 4 ? length - (shown_bytes - 4) : 0;
    snprintf(shown, shown_bytes, "%s%s", skipped > 0 ? "..." : "", path + skipped);
}

/* Doubles the room for the text, up to one byte more than is allowed. */
static int replay_room(replay_content *into, size_t *capacity, stream_builder *builder)
{
    const size_t most = (size_t)READER_MAX_FILE_BYTES + 1;
    size_t wanted = *capacity < REPLAY_FIRST_READ ? REPLAY_FIRST_READ : *capacity * 2;
    wanted = wanted > most ? most : wanted;
    char *larger = realloc(into->bytes, wanted);
    if (!larger) {
        return stream_no_memory(builder);
    }
    into->bytes = larger;
    *capacity = wanted;
    return 0;
}

int replay_fill(FILE *file, replay_content *into, stream_builder *builder)
{
    size_t capacity = 0, got = 1;
    while (got > 0 && into->length <= READER_MAX_FILE_BYTES) {
        if (into->length == capacity && replay_room(into, &capacity, builder)) {
            return -1;
        }
        got = fread(into->bytes + into->length, 1, capacity - into->length, file);
        into->length += got;
    }
    if (ferror(file)) {
        return stream_refuse(builder, "%s, expected a trace to read", strerror(errno));
    }
    if (got > 0) {
        return stream_refuse(builder, "more than %d bytes, expected a shorter trace", (int)READER_MAX_FILE_BYTES);
    }
    return 0;
}

/* A name without a folder that is no file here may be that of a recording that comes along. */
static FILE *replay_open(const char *path)
{
    char relative[PROGRAM_PATH_BYTES], found[PROGRAM_PATH_BYTES];
    FILE *file = fopen(path, "rb");
    if (file || errno != ENOENT || strchr(path, '/')) return file;
    int length = snprintf(relative, sizeof relative, "recordings/%s", path);
    if (length < 0 || (size_t)length >= sizeof relative || program_file(relative, found, sizeof found)) {
        errno = ENOENT;
        return NULL;
    }
    return fopen(found, "rb");
}

static int replay_load(const char *path, replay_content *into, stream_builder *builder)
{
    FILE *file = replay_open(path);
    if (!file) {
        return stream_refuse(builder, "%s, expected a trace to read", strerror(errno));
    }
    int failed = replay_is_snapshot(path) ? replay_convert(path, into, builder) : replay_fill(file, into, builder);
    fclose(file);
    return failed;
}

/* What begins a pickle of protocol 2 or later. */
static int replay_is_pickle(slice text)
{
    return text.length > 1 && (unsigned char)text.bytes[0] == 0x80 && text.bytes[1] >= 2 && text.bytes[1] <= 5;
}

static int replay_unknown(stream_builder *builder, slice first_line)
{
    builder->line = 1;
    return stream_refuse(builder, "%s, expected \"%s\", \"%s\" (RMM) or \"%s\" (intervals)",
                         slice_show(first_line).text, replay_trace.first_line, replay_rmm.first_line,
                         replay_intervals.first_line);
}

static int replay_text(stream_builder *builder, slice text)
{
    static const char mark[] = "\xef\xbb\xbf";   /* UTF-8's byte order mark, which editors put there */
    if (slice_begins(text, mark)) {
        text.bytes += sizeof mark - 1;
        text.length -= sizeof mark - 1;
    }
    reader in = { builder, text, { NULL, 0, 0 } };
    slice rest = text, first_line = text;
    if (text.length == 0) {
        builder->line = 1;
        return stream_refuse(builder, "the file is empty, expected a trace");
    }
    slice_take(&rest, '\n', &first_line);
    if (first_line.length > 0 && first_line.bytes[first_line.length - 1] == '\r') {
        first_line.length--;
    }
    for (size_t i = 0; i < REPLAY_FORMAT_COUNT; i++) {
        if (replay_formats[i]->recognises(first_line)) {
            int failed = replay_formats[i]->read(&in);
            id_map_free(&in.ids);
            return failed;
        }
    }
    return replay_unknown(builder, first_line);
}

static int replay_make(const family_request *request, stream_builder *builder)
{
    char shown[200];
    replay_content whole = { NULL, 0 };
    replay_show_path(request->path, shown, sizeof shown);
    builder->source = shown;
    int failed = replay_load(request->path, &whole, builder);
    slice text = { whole.bytes, whole.length };
    if (!failed && replay_is_pickle(text)) {
        failed = replay_refuse_snapshot(request->path, "its name does not end in .pickle", builder);
    } else if (!failed) {
        failed = replay_text(builder, text);
    }
    free(whole.bytes);
    return failed;
}

const family family_replay = {
    { "replay",
      "a recorded trace: gpuarena-trace 1, RMM's CSV log or intervals, by content; a PyTorch snapshot (.pickle)",
      "FILE", NULL, 0 },
    NULL, 0, replay_make
};

/* `replay:FILE`: the file, whole and bounded, and the choice of its reader by its first line.
   Must not know what any format says.
   Tested by tests/test_workload_replay.c. */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
static int replay_room(char **text, size_t *capacity, stream_builder *builder)
{
    const size_t most = (size_t)READER_MAX_FILE_BYTES + 1;
    size_t wanted = *capacity < REPLAY_FIRST_READ ? REPLAY_FIRST_READ : *capacity * 2;
    wanted = wanted > most ? most : wanted;
    char *larger = realloc(*text, wanted);
    if (!larger) {
        return stream_no_memory(builder);
    }
    *text = larger;
    *capacity = wanted;
    return 0;
}

static int replay_fill(FILE *file, char **text, size_t *length, stream_builder *builder)
{
    size_t capacity = 0, got = 1;
    while (got > 0 && *length <= READER_MAX_FILE_BYTES) {
        if (*length == capacity && replay_room(text, &capacity, builder)) {
            return -1;
        }
        got = fread(*text + *length, 1, capacity - *length, file);
        *length += got;
    }
    if (ferror(file)) {
        return stream_refuse(builder, "%s, expected a trace to read", strerror(errno));
    }
    if (got > 0) {
        return stream_refuse(builder, "more than %d bytes, expected a shorter trace", (int)READER_MAX_FILE_BYTES);
    }
    return 0;
}

static int replay_load(const char *path, char **text, size_t *length, stream_builder *builder)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stream_refuse(builder, "%s, expected a trace to read", strerror(errno));
    }
    int failed = replay_fill(file, text, length, builder);
    fclose(file);
    return failed;
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
    char shown[200], *bytes = NULL;
    size_t length = 0;
    replay_show_path(request->path, shown, sizeof shown);
    builder->source = shown;
    int failed = replay_load(request->path, &bytes, &length, builder);
    if (!failed) {
        slice text = { bytes, length };
        failed = replay_text(builder, text);
    }
    free(bytes);
    return failed;
}

const family family_replay = {
    { "replay", "a recorded trace: gpuarena-trace 1, RMM's CSV log or intervals (id,lower,upper,size), by content",
      "FILE", NULL, 0 },
    NULL, 0, replay_make
};

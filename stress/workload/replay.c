/* `replay:FILE`: the file, whole and bounded, wherever it is, and the choice of its reader by its first line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../base/array.h"
#include "../base/cli.h"
#include "../base/program.h"
#include "family.h"

/* ---- What the readers of all trace formats share: lines, fields, numbers and live ids, each with the message for
        what is wrong with it. They get the whole text and know no files */

/* Longer lines and larger files are refused. */
enum { READER_MAX_LINE_BYTES = 1 << 20, READER_MAX_FILE_BYTES = 1 << 29 };

typedef struct reader {
    stream_builder *builder;                     /* its line is the reader's */
    slice  rest;                                 /* unread text */
    id_map ids;
    const char *grammar;                         /* of the line under way, for messages, */
    char   separator;                            /* and what stands between its fields */
} reader;

typedef struct replay_content { char *bytes; size_t length; } replay_content;      /* whoever has it frees bytes */

/* 1: *line is the next one, without its newline and the carriage return that may stand before it. 0: there is none.
   -1: it is too long, or has no newline: whoever wrote it may have been cut off. */
static int reader_line(reader *in, slice *line)
{
    if (in->rest.length == 0) return 0;
    in->builder->line++;
    slice_take(&in->rest, '\n', line);
    if (line->length > READER_MAX_LINE_BYTES) {
        return stream_refuse(in->builder, "a line of %zu bytes, expected at most %d", line->length,
                             (int)READER_MAX_LINE_BYTES);
    }
    if (!in->rest.bytes) {
        return stream_refuse(in->builder, "%s is cut off, expected a newline at its end", slice_show(*line).text);
    }
    if (line->length > 0 && line->bytes[line->length - 1] == '\r') line->length--;
    return 1;
}

/* Takes the next field off *rest. `name` is for the message when there is none. */
static int reader_field(reader *in, slice *rest, const char *name, slice *field)
{
    if (slice_take(rest, in->separator, field)) return 0;
    return stream_refuse(in->builder, "the line ends before %s, expected %s", name, in->grammar);
}

static int reader_number(reader *in, slice *rest, const char *name, uint64_t *number)
{
    slice field;
    if (reader_field(in, rest, name, &field)) return -1;
    if (slice_decimal(field, number)) return 0;
    return stream_refuse(in->builder, "%s is %s, expected a decimal number below 2^64 in %s", name,
                         slice_show(field).text, in->grammar);
}

static int reader_end_of_line(reader *in, slice rest)
{
    if (!rest.bytes) return 0;
    return stream_refuse(in->builder, "%s after the last field, expected %s", slice_show(rest).text, in->grammar);
}

/* Ids as the text names them: an id is allocated while not live, freed and touched while live. `shown` is its text.
   */
static int reader_alloc(reader *in, uint64_t id, slice shown, uint64_t bytes, uint64_t on_stream, slice tag)
{
    id_entry *entry = id_map_add(&in->ids, id);
    if (entry->state == ID_LIVE) {
        return stream_refuse(in->builder, "%s is live since line %" PRIu64 ", expected its free before this",
                             slice_show(shown).text, entry->line);
    }
    entry->state = ID_LIVE;
    entry->line = in->builder->line;
    return stream_alloc(in->builder, id, bytes, on_stream, tag, &entry->value);
}

static int reader_live(reader *in, uint64_t id, slice shown, id_entry **entry)
{
    *entry = id_map_find(&in->ids, id);
    if (!*entry) {
        return stream_refuse(in->builder, "%s was never allocated, expected a live block", slice_show(shown).text);
    }
    if ((*entry)->state == ID_FREED) {
        return stream_refuse(in->builder, "%s is free already, since line %" PRIu64 ", expected a live block",
                             slice_show(shown).text, (*entry)->line);
    }
    return 0;
}

/* on_stream NULL: on that of its allocation. */
static int reader_free(reader *in, id_entry *entry, const uint64_t *on_stream)
{
    entry->state = ID_FREED;
    entry->line = in->builder->line;
    return on_stream ? stream_free_on(in->builder, entry->value, *on_stream) : stream_free(in->builder, entry->value);
}

/* ---- Reads `gpuarena-trace 1`, strictly: what is read and written again is the same text, but for comments and
        carriage returns */

static int trace_word(reader *in, slice text, const char *name)
{
    if (slice_is_word(text)) return 0;
    return stream_refuse(in->builder, "%s is %s, expected one word in %s", name, slice_show(text).text, in->grammar);
}

/* An id, and its text. */
static int trace_id(reader *in, slice *rest, uint64_t *id, slice *shown)
{
    slice after = *rest;
    if (reader_number(in, rest, "ID", id)) return -1;
    slice_take(&after, ' ', shown);
    return 0;
}

/* The entry of the live block that an id names. */
static int trace_live_id(reader *in, slice *rest, id_entry **entry)
{
    uint64_t id;
    slice shown;
    return trace_id(in, rest, &id, &shown) || reader_live(in, id, shown, entry) ? -1 : 0;
}

static int trace_alloc(reader *in, slice rest)
{
    slice shown, tag = { NULL, 0 };
    uint64_t id, bytes, on_stream;
    if (trace_id(in, &rest, &id, &shown) || reader_number(in, &rest, "BYTES", &bytes)
        || reader_number(in, &rest, "STREAM", &on_stream)) {
        return -1;
    }
    if (slice_take(&rest, ' ', &tag) && trace_word(in, tag, "TAG")) return -1;
    return reader_end_of_line(in, rest) ? -1 : reader_alloc(in, id, shown, bytes, on_stream, tag);
}

static int trace_free(reader *in, slice rest)
{
    id_entry *entry;
    uint64_t on_stream = 0;
    if (trace_live_id(in, &rest, &entry)) return -1;
    int names_stream = rest.bytes != NULL;
    if ((names_stream && reader_number(in, &rest, "STREAM", &on_stream)) || reader_end_of_line(in, rest)) return -1;
    return reader_free(in, entry, names_stream ? &on_stream : NULL);
}

static int trace_step(reader *in, slice rest)
{
    slice label;
    return reader_field(in, &rest, "LABEL", &label) || trace_word(in, label, "LABEL")
        || reader_end_of_line(in, rest) || stream_step(in->builder, label) ? -1 : 0;
}

static int trace_kernel(reader *in, slice rest)
{
    uint64_t on_stream, duration_ns;
    id_entry *entry;
    int failed = reader_number(in, &rest, "STREAM", &on_stream)
        || reader_number(in, &rest, "NANOSECONDS", &duration_ns)
        || stream_kernel(in->builder, on_stream, duration_ns);
    while (!failed && rest.bytes) {
        failed = trace_live_id(in, &rest, &entry) || stream_touch(in->builder, entry->value);
    }
    return failed ? -1 : 0;
}

static int trace_wait(reader *in, slice rest)
{
    uint64_t on_stream, for_stream;
    return reader_number(in, &rest, "STREAM", &on_stream) || reader_number(in, &rest, "STREAM2", &for_stream)
        || reader_end_of_line(in, rest) || stream_wait(in->builder, on_stream, for_stream) ? -1 : 0;
}

static int trace_operation(reader *in, slice line)
{
    static const struct { const char *letter, *grammar; int (*read)(reader *in, slice rest); } kinds[] = {
        { "a", "`a ID BYTES STREAM [TAG]`", trace_alloc }, { "f", "`f ID [STREAM]`", trace_free },
        { "s", "`s LABEL`", trace_step }, { "k", "`k STREAM NANOSECONDS [ID..]`", trace_kernel },
        { "w", "`w STREAM STREAM2`", trace_wait },
    };
    slice rest = line, kind;
    slice_take(&rest, ' ', &kind);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!slice_is(kind, kinds[i].letter)) continue;
        in->grammar = kinds[i].grammar;
        return kinds[i].read(in, rest);
    }
    return stream_refuse(in->builder, "%s, expected a line that begins with a, f, s, k, w or #",
                         slice_show(line).text);
}

static int trace_read(reader *in)
{
    slice line;
    int found = reader_line(in, &line);
    in->separator = ' ';
    if (found > 0 && !slice_is(line, "gpuarena-trace 1")) {
        return stream_refuse(in->builder, "%s, expected \"gpuarena-trace 1\"", slice_show(line).text);
    }
    while (found > 0 && (found = reader_line(in, &line)) > 0) {
        if (!slice_begins(line, "#") && trace_operation(in, line)) return -1;
    }
    return found;
}

/* ---- Reads the CSV logs of RMM's logging_resource_adaptor, from 2019 to today */

typedef struct rmm_layout {
    const char *header;
    size_t      columns, action, pointer, size, stream;              /* how many, and where */
} rmm_layout;

/* RMM 0.15 and later; up to 0.14; the CNMeM-based RMM of 2019. */
static const rmm_layout rmm_layouts[] = {
    { "Thread,Time,Action,Pointer,Size,Stream", 6, 2, 3, 4, 5 },
    { "Time,Action,Pointer,Size,Stream", 5, 1, 2, 3, 4 },
    { "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,"
      "Location",
      12, 0, 2, 4, 3 }
};

typedef enum rmm_action { RMM_ALLOCATE, RMM_FREE, RMM_FAILURE } rmm_action;

typedef struct rmm_row {
    rmm_action action;
    slice      pointer_text;
    uint64_t   pointer;                          /* 0: (nil), 0x0 */
    uint64_t   bytes, stream;
} rmm_row;

static const rmm_layout *rmm_find_layout(slice header)
{
    for (size_t i = 0; i < sizeof rmm_layouts / sizeof rmm_layouts[0]; i++) {
        if (slice_is(header, rmm_layouts[i].header)) return &rmm_layouts[i];
    }
    return NULL;
}

static int rmm_read_action(reader *in, slice text, rmm_row *row)
{
    static const struct { const char *word; rmm_action action; } actions[] = {
        { "allocate", RMM_ALLOCATE }, { "free", RMM_FREE }, { "deallocate", RMM_FREE },
        { "allocate failure", RMM_FAILURE }, { "Alloc", RMM_ALLOCATE }, { "Free", RMM_FREE }
    };
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (slice_is(text, actions[i].word)) {
            row->action = actions[i].action;
            return 0;
        }
    }
    return stream_refuse(in->builder, "Action is %s, expected allocate, free, deallocate or allocate failure",
                         slice_show(text).text);
}

static int rmm_read_pointer(reader *in, slice text, rmm_row *row)
{
    row->pointer = 0;
    row->pointer_text = text;
    if (slice_is(text, "(nil)") || slice_hexadecimal(text, &row->pointer)) return 0;
    return stream_refuse(in->builder, "Pointer is %s, expected a 0x hexadecimal number below 2^64, or (nil)",
                         slice_show(text).text);
}

/* 0, 0x0 and 0x1 (cudaStreamLegacy) are one stream. Handles are taken as numbers. */
static int rmm_read_stream(reader *in, slice text, rmm_row *row)
{
    if (!slice_hexadecimal(text, &row->stream) && !slice_decimal(text, &row->stream)) {
        return stream_refuse(in->builder, "Stream is %s, expected a decimal or 0x hexadecimal number below 2^64",
                             slice_show(text).text);
    }
    row->stream = row->stream == 1 ? 0 : row->stream;
    return 0;
}

static int rmm_read_row(reader *in, const rmm_layout *layout, slice line, rmm_row *row)
{
    slice field;
    for (size_t column = 0; column < layout->columns; column++) {
        if (reader_field(in, &line, "its last column", &field)) return -1;
        if (column == layout->size && !slice_decimal(field, &row->bytes)) {
            return stream_refuse(in->builder, "Size is %s, expected a decimal number below 2^64",
                                 slice_show(field).text);
        }
        if ((column == layout->action && rmm_read_action(in, field, row))
            || (column == layout->pointer && rmm_read_pointer(in, field, row))
            || (column == layout->stream && rmm_read_stream(in, field, row))) return -1;
    }
    return reader_end_of_line(in, line);
}

/* Null pointers are allocations of no bytes, and their frees: there is nothing to replay. The size of a free is not
   compared with its allocation's: CNMeM wrote 0, and RMM's pools go by what they know themselves. A request that
   failed when the log was written is asked for again, and given back at once: whether this policy could have served
   it is what the replay is for. Its id is 0, which no live block of a log has. */
static int rmm_apply(reader *in, const rmm_row *row)
{
    slice no_tag = { NULL, 0 };
    id_entry *entry;
    uint32_t block;
    if (row->action == RMM_FAILURE) {
        return stream_alloc(in->builder, 0, row->bytes, row->stream, no_tag, &block)
            || stream_free_on(in->builder, block, row->stream) ? -1 : 0;
    }
    if (row->pointer == 0 && row->action == RMM_ALLOCATE && row->bytes > 0) {
        return stream_refuse(in->builder, "Pointer is %s for %" PRIu64 " bytes, expected an address",
                             slice_show(row->pointer_text).text, row->bytes);
    }
    if (row->pointer == 0) return 0;
    if (row->action == RMM_ALLOCATE) {
        return reader_alloc(in, row->pointer, row->pointer_text, row->bytes, row->stream, no_tag);
    }
    if (reader_live(in, row->pointer, row->pointer_text, &entry)) return -1;
    return reader_free(in, entry, &row->stream);
}

static int rmm_read(reader *in)
{
    slice line;
    rmm_row row;
    int found = reader_line(in, &line);
    const rmm_layout *layout = found > 0 ? rmm_find_layout(line) : NULL;
    if (layout) in->grammar = layout->header;
    while (layout && (found = reader_line(in, &line)) > 0) {
        if (rmm_read_row(in, layout, line, &row) || rmm_apply(in, &row)) return -1;
    }
    return found < 0 ? -1 : 0;
}

/* ---- Reads interval CSVs, `id,lower,upper,size[,offset]`: a block lives from time lower until before time upper */

typedef struct interval {
    uint64_t id, lower, upper, bytes, line;
    slice    id_text;
} interval;

typedef struct interval_event {
    uint64_t time, row;
    int      is_alloc;
} interval_event;

typedef struct intervals {
    interval *rows;
    size_t    count, capacity;
} intervals;

static const char intervals_plain[] = "id,lower,upper,size", intervals_packed[] = "id,lower,upper,size,offset";

static int intervals_add(reader *in, intervals *all, slice line)
{
    uint64_t offset;                             /* a packing's answer: must be a number, and is not used */
    if (all->count >= STREAM_MAX_OPS / 2) {
        return stream_refuse(in->builder, "more than %d intervals, expected fewer", (int)(STREAM_MAX_OPS / 2));
    }
    ARRAY_RESERVE(all->rows, all->capacity, all->count + 1);
    interval *row = &all->rows[all->count];
    row->line = in->builder->line;
    slice_take(&line, ',', &row->id_text);
    if (!slice_is_word(row->id_text)) {
        return stream_refuse(in->builder, "id is %s, expected a number or a word in %s",
                             slice_show(row->id_text).text, in->grammar);
    }
    if (!slice_decimal(row->id_text, &row->id)) {
        row->id = slice_hash(row->id_text);      /* minimalloc's own examples name their buffers b1, b2 */
    }
    if (reader_number(in, &line, "lower", &row->lower) || reader_number(in, &line, "upper", &row->upper)
        || reader_number(in, &line, "size", &row->bytes)
        || (in->grammar == intervals_packed && reader_number(in, &line, "offset", &offset))
        || reader_end_of_line(in, line)) {
        return -1;
    }
    if (row->lower >= row->upper) {
        return stream_refuse(in->builder, "lower is %" PRIu64 " and upper %" PRIu64 ", expected lower < upper",
                             row->lower, row->upper);
    }
    all->count++;
    return 0;
}

/* At equal time frees come before allocations, each in order of the rows. Total, so that qsort need not be stable. */
static int interval_event_order(const void *left, const void *right)
{
    const interval_event *one = left, *other = right;
    if (one->time != other->time) return one->time < other->time ? -1 : 1;
    if (one->is_alloc != other->is_alloc) return one->is_alloc - other->is_alloc;
    return one->row < other->row ? -1 : one->row > other->row;
}

static int intervals_play(reader *in, const intervals *all, const interval_event *events)
{
    slice no_tag = { NULL, 0 };
    for (size_t i = 0; i < 2 * all->count; i++) {
        const interval *row = &all->rows[events[i].row];
        id_entry *entry;
        in->builder->line = row->line;
        if (events[i].is_alloc) {
            if (reader_alloc(in, row->id, row->id_text, row->bytes, 0, no_tag)) return -1;
        } else if (reader_live(in, row->id, row->id_text, &entry) || reader_free(in, entry, NULL)) {
            return -1;
        }
    }
    return 0;
}

static int intervals_order(reader *in, const intervals *all)
{
    interval_event *events = program_need(2 * all->count, sizeof *events);
    for (size_t i = 0; i < all->count; i++) {
        interval_event lower = { all->rows[i].lower, i, 1 }, upper = { all->rows[i].upper, i, 0 };
        events[2 * i] = lower;
        events[2 * i + 1] = upper;
    }
    qsort(events, 2 * all->count, sizeof *events, interval_event_order);
    int failed = intervals_play(in, all, events);
    free(events);
    return failed;
}

static int intervals_read(reader *in)
{
    intervals all = { NULL, 0, 0 };
    slice line;
    int found = reader_line(in, &line), failed = found < 0;
    in->grammar = found > 0 && slice_is(line, intervals_packed) ? intervals_packed : intervals_plain;
    while (!failed && (found = reader_line(in, &line)) > 0) failed = intervals_add(in, &all, line);
    failed = failed || found < 0 || intervals_order(in, &all);
    free(all.rows);
    return failed ? -1 : 0;
}

/* ---- PyTorch's memory snapshots, which are pickles: import/torch_snapshot.py makes traces of them, in a process of
        its own */

enum { SNAPSHOT_ABSENT = 127 };                  /* what a shell answers where there is no such program */

static const char snapshot_importer[] = "import/torch_snapshot.py";

/* A snapshot of PyTorch by its name, .pickle or .pkl: its trace, by python3. */
static int replay_is_snapshot(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".pickle") || !strcmp(dot, ".pkl"));
}

/* The command for a shell; the file's name is cut where it is too long for a message anyway. */
static void snapshot_command(const char *path, char *text, size_t size)
{
    char importer[PROGRAM_PATH_BYTES], traced[PROGRAM_PATH_BYTES];
    if (program_file(snapshot_importer, importer, sizeof importer)) {
        snprintf(importer, sizeof importer, "torch_snapshot.py");
    }
    snprintf(traced, sizeof traced, "%s.trace", path);
    FILE *out = fmemopen(text, size, "w");
    if (!out) return;
    fputs("python3 ", out);
    cli_print_word(out, importer);
    fputs(*path == '-' ? " ./" : " ", out);
    cli_print_word(out, path);
    fputs(*path == '-' ? " --out ./" : " --out ", out);
    cli_print_word(out, traced);
    fclose(out);
}

/* Says the command that makes a trace of it. Returns -1. */
static int replay_refuse_snapshot(const char *path, const char *obstacle, stream_builder *builder)
{
    char command[sizeof builder->why->text] = "";
    snapshot_command(path, command, sizeof command);
    command[sizeof command - 1] = '\0';
    return stream_refuse(builder, "a pickle, and %s; a trace is made of it by: %s", obstacle, command);
}

/* The rest of a file, in place of what was there. All: 0, or -1 with a problem. */
static int replay_fill(FILE *file, replay_content *into, stream_builder *builder)
{
    free(into->bytes);
    into->bytes = program_read(file, READER_MAX_FILE_BYTES, &into->length);
    if (ferror(file)) {
        return stream_refuse(builder, "%s, expected a trace to read", strerror(errno));
    }
    if (into->length <= READER_MAX_FILE_BYTES) return 0;
    return stream_refuse(builder, "more than %d bytes, expected a shorter trace", (int)READER_MAX_FILE_BYTES);
}

/* What python3 said last, without its newline: the end of the text, which is not changed. */
static slice snapshot_last_line(const replay_content *said)
{
    slice line = { said->bytes, said->length };
    while (line.length && strchr("\r\n", line.bytes[line.length - 1])) line.length--;
    size_t begin = line.length;
    while (begin && line.bytes[begin - 1] != '\n') begin--;
    const slice last = { line.bytes + begin, line.length - begin };
    return last;
}

/* status: as of waitpid. */
static int snapshot_judge(const char *path, int status, const replay_content *said, stream_builder *builder)
{
    if (WIFSIGNALED(status)) {
        return stream_refuse(builder, "python3 was ended by signal %d, expected a trace from it", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == 0) return 0;
    if (WEXITSTATUS(status) == SNAPSHOT_ABSENT) {
        return replay_refuse_snapshot(path, "there is no python3 to convert it", builder);
    }
    const slice line = snapshot_last_line(said);
    if (line.length) return problem_set(builder->why, EXIT_USAGE, "%.*s", (int)line.length, line.bytes);
    return stream_refuse(builder, "python3 ended with %d, expected a trace from it", WEXITSTATUS(status));
}

/* What a command writes, with its files redirected. status: as of waitpid. 0, or -1 with a problem. */
static int replay_run(const char *command, const char *redirected, replay_content *into, stream_builder *builder,
                      int *status)
{
    char *whole;
    size_t length;
    FILE *text = program_stream(&whole, &length);
    fprintf(text, "%s %s", command, redirected);
    fclose(text);
    FILE *out = popen(whole, "r");
    free(whole);
    if (!out) return stream_refuse(builder, "python3 cannot be run: %s", strerror(errno));
    int failed = replay_fill(out, into, builder);
    *status = pclose(out);
    return failed;
}

/* The importer writes a trace. If it fails, it is run again for what it says of that. */
static int replay_convert(const char *path, replay_content *into, stream_builder *builder)
{
    char importer[PROGRAM_PATH_BYTES], *command;
    size_t length;
    if (program_file(snapshot_importer, importer, sizeof importer)) {
        return replay_refuse_snapshot(path, "torch_snapshot.py does not lie where this program looks", builder);
    }
    FILE *text = program_stream(&command, &length);
    fputs("exec python3 ", text);
    cli_print_word(text, importer);
    fputs(" --quiet -- ", text);
    cli_print_word(text, path);
    fputs(" </dev/null", text);
    fclose(text);
    int status, failed = replay_run(command, "2>/dev/null", into, builder, &status);
    if (!failed && status) {                     /* once more, for what it says of that */
        failed = replay_run(command, "2>&1 >/dev/null", into, builder, &status);
    }
    free(command);
    return failed ? -1 : snapshot_judge(path, status, into, builder);
}

/* ---- `replay:FILE`: the file, whole and bounded, wherever it is, and the choice of its reader by its first line */

/* From the first line on; 0, or -1 with a problem. NULL: no format begins like that. */
typedef int (*replay_reader)(reader *in);

static replay_reader replay_reader_of(slice first_line)
{
    if (slice_begins(first_line, "gpuarena-trace")) return trace_read;
    if (rmm_find_layout(first_line)) return rmm_read;
    return slice_is(first_line, intervals_plain) || slice_is(first_line, intervals_packed) ? intervals_read : NULL;
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

static int replay_text(stream_builder *builder, slice text)
{
    static const char mark[] = "\xef\xbb\xbf";   /* UTF-8's byte order mark, which editors put there */
    if (slice_begins(text, mark)) {
        text.bytes += sizeof mark - 1;
        text.length -= sizeof mark - 1;
    }
    reader in = { .builder = builder, .rest = text, .separator = ',' };
    slice rest = text, first_line = text;
    slice_take(&rest, '\n', &first_line);
    if (first_line.length > 0 && first_line.bytes[first_line.length - 1] == '\r') first_line.length--;
    replay_reader read = replay_reader_of(first_line);
    if (!read) {
        builder->line = 1;
        if (text.length == 0) return stream_refuse(builder, "the file is empty, expected a trace");
        return stream_refuse(builder, "%s, expected \"gpuarena-trace 1\", \"%s\" (RMM) or \"%s\" (intervals)",
                             slice_show(first_line).text, rmm_layouts[0].header, intervals_plain);
    }
    int failed = read(&in);
    id_map_free(&in.ids);
    return failed;
}

static int replay_read(const char *path, stream_builder *builder)
{
    char shown[200];
    replay_content whole = { NULL, 0 };
    size_t length = strlen(path), room = sizeof shown - 4;
    int is_long = length > room;                 /* then its end is what tells */
    snprintf(shown, sizeof shown, "%s%s", is_long ? "..." : "", path + (is_long ? length - room : 0));
    builder->source = shown;
    FILE *file = replay_open(path);
    int failed = !file ? stream_refuse(builder, "%s, expected a trace to read", strerror(errno))
               : replay_is_snapshot(path) ? replay_convert(path, &whole, builder)
               : replay_fill(file, &whole, builder);
    if (file) fclose(file);
    slice text = { whole.bytes, whole.length };
    const unsigned char *first = (const unsigned char *)whole.bytes;
    int is_pickle = !failed && whole.length > 1 && first[0] == 0x80 && first[1] >= 2 && first[1] <= 5;
    if (is_pickle) {                             /* of a protocol from 2 to 5 */
        failed = replay_refuse_snapshot(path, "its name does not end in .pickle", builder);
    } else if (!failed) {
        failed = replay_text(builder, text);
    }
    free(whole.bytes);
    return failed;
}

const family family_replay = {
    { "replay",
      "a recorded trace: gpuarena-trace 1, RMM's CSV log or intervals, by content; a PyTorch snapshot (.pickle)",
      NULL, 0 },
    NULL, 0, 0, NULL, replay_read
};

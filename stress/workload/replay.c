/* `replay:FILE`: the file, whole and bounded, wherever it is, and the choice of its reader by its first line. */
#include <errno.h>
#include <sys/wait.h>

#include "../base/cli.h"
#include "maker.h"

/* ---- Common to the readers of all trace formats: lines, fields, numbers and live ids, each with the message for its
        error. They get the whole text and know no files; nothing is done once one has failed */

/* Longer lines and larger files are refused. */
enum { READER_MAX_LINE_BYTES = 1 << 20, READER_MAX_FILE_BYTES = 1 << 29 };

/* An id; line: of its last allocation or free. */
typedef struct reader_id { uint64_t line; uint32_t block; int is_live; } reader_id;

typedef struct reader {
    stream_builder *builder;                     /* its line is the reader's */
    slice  text;                                 /* unread lines */
    slice  line, field;                          /* the unread part of the line under way; the field that was read
                                                    last */
    reader_id   *ids;                            /* in the order in which they came */
    size_t       id_count, id_capacity;
    device_table id_places;                      /* by id: its place in ids, from 1 */
    const char *grammar;                         /* of the line under way, for messages */
    char   separator;                            /* between the fields of a line */
} reader;

#define READER_REFUSE(in, ...) stream_refuse((in)->builder, __VA_ARGS__)

static const slice reader_no_tag = { NULL, 0 };

static void reader_drop_return(slice *line)
{
    if (line->length > 0 && line->bytes[line->length - 1] == '\r') line->length--;
}

/* Tells whether there is a next line, which is then under way, without its newline and the carriage return that may
   stand before it. One without a newline is refused: whoever wrote it may have been cut off. */
static int reader_line(reader *in)
{
    if (in->builder->failed || in->text.length == 0) return 0;
    in->builder->line++;
    slice_take(&in->text, '\n', &in->line);
    if (in->line.length > READER_MAX_LINE_BYTES) {
        READER_REFUSE(in, "a line of %zu bytes, expected at most %d", in->line.length, (int)READER_MAX_LINE_BYTES);
    } else if (!in->text.bytes) {
        READER_REFUSE(in, "%s is cut off, expected a newline at its end", slice_show(in->line).text);
    }
    reader_drop_return(&in->line);
    return !in->builder->failed;
}

/* The next field. `name` is for the message when there is none. */
static slice reader_field(reader *in, const char *name)
{
    if (!slice_take(&in->line, in->separator, &in->field)) {
        READER_REFUSE(in, "the line ends before %s, expected %s", name, in->grammar);
    }
    return in->field;
}

static uint64_t reader_number(reader *in, const char *name)
{
    uint64_t number = 0;
    reader_field(in, name);
    if (!in->builder->failed && !slice_decimal(in->field, &number)) {
        READER_REFUSE(in, "%s is %s, expected a decimal number below 2^64 in %s", name, slice_show(in->field).text,
                      in->grammar);
    }
    return number;
}

static void reader_end_of_line(reader *in)
{
    if (!in->line.bytes) return;
    READER_REFUSE(in, "%s after the last field, expected %s", slice_show(in->line).text, in->grammar);
}

/* NULL: never allocated. */
static reader_id *reader_find(reader *in, uint64_t id)
{
    uint64_t place = device_table_find(&in->id_places, id);
    return place ? &in->ids[place - 1] : NULL;
}

/* Ids as the text names them: an id is allocated while not live, freed and touched while live. `shown` is its
   text. */
static void reader_alloc(reader *in, uint64_t id, slice shown, uint64_t bytes, uint64_t on_stream, slice tag)
{
    if (in->builder->failed) return;
    reader_id *entry = reader_find(in, id);
    if (!entry) {
        ARRAY_RESERVE(in->ids, in->id_capacity, in->id_count + 1);
        entry = &in->ids[in->id_count++];
        device_table_add(&in->id_places, id, in->id_count);
    } else if (entry->is_live) {
        READER_REFUSE(in, "%s is live since line %" PRIu64 ", expected its free before this", slice_show(shown).text,
                      entry->line);
    }
    *entry = (reader_id){ in->builder->line, stream_alloc(in->builder, id, bytes, on_stream, tag), 1 };
}

/* NULL: it has failed, now or before. */
static reader_id *reader_live(reader *in, uint64_t id, slice shown)
{
    reader_id *entry = reader_find(in, id);
    if (!entry) {
        READER_REFUSE(in, "%s was never allocated, expected a live block", slice_show(shown).text);
    } else if (!entry->is_live) {
        READER_REFUSE(in, "%s is free already, since line %" PRIu64 ", expected a live block", slice_show(shown).text,
                      entry->line);
    }
    return in->builder->failed ? NULL : entry;
}

/* on_stream NULL: on that of its allocation. */
static void reader_free(reader *in, reader_id *entry, const uint64_t *on_stream)
{
    if (in->builder->failed) return;
    entry->is_live = 0;
    entry->line = in->builder->line;
    stream_free(in->builder, entry->block, on_stream);
}

/* ---- Reads `gpuarena-trace 1`, strictly: a text that is read and written again is the same, but for comments and
        carriage returns */

static void trace_word(reader *in, slice text, const char *name)
{
    if (slice_is_word(text)) return;
    READER_REFUSE(in, "%s is %s, expected one word in %s", name, slice_show(text).text, in->grammar);
}

static reader_id *trace_live(reader *in)
{
    uint64_t id = reader_number(in, "ID");
    return reader_live(in, id, in->field);
}

static void trace_alloc(reader *in)
{
    slice tag = reader_no_tag;
    uint64_t id = reader_number(in, "ID");
    const slice shown = in->field;
    uint64_t bytes = reader_number(in, "BYTES"), on_stream = reader_number(in, "STREAM");
    if (slice_take(&in->line, ' ', &tag)) trace_word(in, tag, "TAG");
    reader_end_of_line(in);
    reader_alloc(in, id, shown, bytes, on_stream, tag);
}

static void trace_free(reader *in)
{
    reader_id *entry = trace_live(in);
    int names_stream = in->line.bytes != NULL;
    uint64_t on_stream = names_stream ? reader_number(in, "STREAM") : 0;
    reader_end_of_line(in);
    reader_free(in, entry, names_stream ? &on_stream : NULL);
}

static void trace_step(reader *in)
{
    slice label = reader_field(in, "LABEL");
    trace_word(in, label, "LABEL");
    reader_end_of_line(in);
    stream_step(in->builder, label);
}

static void trace_kernel(reader *in)
{
    uint64_t on_stream = reader_number(in, "STREAM"), duration_ns = reader_number(in, "NANOSECONDS");
    stream_kernel(in->builder, on_stream, duration_ns);
    while (!in->builder->failed && in->line.bytes) {
        const reader_id *entry = trace_live(in);
        if (entry) stream_touch(in->builder, entry->block);
    }
}

static void trace_wait(reader *in)
{
    uint64_t on_stream = reader_number(in, "STREAM"), for_stream = reader_number(in, "STREAM2");
    reader_end_of_line(in);
    stream_wait(in->builder, on_stream, for_stream);
}

static void trace_operation(reader *in)
{
    static const struct { const char *letter, *grammar; void (*read)(reader *in); } kinds[] = {
        { "a", "`a ID BYTES STREAM [TAG]`", trace_alloc }, { "f", "`f ID [STREAM]`", trace_free },
        { "s", "`s LABEL`", trace_step }, { "k", "`k STREAM NANOSECONDS [ID..]`", trace_kernel },
        { "w", "`w STREAM STREAM2`", trace_wait },
    };
    const slice line = in->line;
    slice_take(&in->line, ' ', &in->field);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!slice_is(in->field, kinds[i].letter)) continue;
        in->grammar = kinds[i].grammar;
        kinds[i].read(in);
        return;
    }
    READER_REFUSE(in, "%s, expected a line that begins with a, f, s, k, w or #", slice_show(line).text);
}

static void trace_read(reader *in)
{
    in->separator = ' ';
    if (reader_line(in) && !slice_is(in->line, "gpuarena-trace 1")) {
        READER_REFUSE(in, "%s, expected \"gpuarena-trace 1\"", slice_show(in->line).text);
    }
    while (reader_line(in)) {
        if (!slice_begins(in->line, "#")) trace_operation(in);
    }
}

/* ---- Reads the CSV logs of RMM's logging_resource_adaptor, from 2019 to today */

/* RMM 0.15 and later; up to 0.14; the CNMeM-based RMM of 2019. A column is read by its name. */
static const char *const rmm_headers[] = {
    "Thread,Time,Action,Pointer,Size,Stream",
    "Time,Action,Pointer,Size,Stream",
    ("Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,"
     "Location"),
};

typedef enum rmm_action { RMM_ALLOCATE, RMM_FREE, RMM_FAILURE } rmm_action;

typedef struct rmm_row {
    rmm_action action;
    slice      pointer_text;
    uint64_t   pointer;                          /* 0: (nil), 0x0 */
    uint64_t   bytes, stream;
} rmm_row;

static const char *rmm_find_header(slice line)
{
    for (size_t i = 0; i < sizeof rmm_headers / sizeof rmm_headers[0]; i++) {
        if (slice_is(line, rmm_headers[i])) return rmm_headers[i];
    }
    return NULL;
}

static void rmm_read_action(reader *in, rmm_row *row)
{
    static const struct { const char *word; rmm_action action; } actions[] = {
        { "allocate", RMM_ALLOCATE }, { "free", RMM_FREE }, { "deallocate", RMM_FREE },
        { "allocate failure", RMM_FAILURE }, { "Alloc", RMM_ALLOCATE }, { "Free", RMM_FREE }
    };
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (!slice_is(in->field, actions[i].word)) continue;
        row->action = actions[i].action;
        return;
    }
    READER_REFUSE(in, "Action is %s, expected allocate, free, deallocate or allocate failure",
                  slice_show(in->field).text);
}

static void rmm_read_column(reader *in, slice name, rmm_row *row)
{
    const slice field = reader_field(in, "its last column");
    if (in->builder->failed) return;
    if (slice_is(name, "Action") || slice_is(name, "Event Type")) {
        rmm_read_action(in, row);
    } else if (slice_is(name, "Pointer") || slice_is(name, "Address")) {
        row->pointer_text = field;
        row->pointer = 0;
        if (slice_is(field, "(nil)") || slice_hexadecimal(field, &row->pointer)) return;
        READER_REFUSE(in, "Pointer is %s, expected a 0x hexadecimal number below 2^64, or (nil)",
                      slice_show(field).text);
    } else if (slice_begins(name, "Size")) {
        if (slice_decimal(field, &row->bytes)) return;
        READER_REFUSE(in, "Size is %s, expected a decimal number below 2^64", slice_show(field).text);
    } else if (slice_is(name, "Stream")) {       /* a handle, as a number */
        if (slice_hexadecimal(field, &row->stream) || slice_decimal(field, &row->stream)) return;
        READER_REFUSE(in, "Stream is %s, expected a decimal or 0x hexadecimal number below 2^64",
                      slice_show(field).text);
    }
}

/* Null pointers are allocations of no bytes, and their frees: there is nothing to replay. The size of a free is not
   compared with its allocation's: CNMeM wrote 0, and RMM's pools go by their own knowledge. A request that failed
   when the log was written is asked for again, and given back at once: the replay is to show whether this policy
   could have served it. Its id is 0, which no live block of a log has.
   0, 0x0 and 0x1 (cudaStreamLegacy) are one stream. */
static void rmm_apply(reader *in, const rmm_row *row)
{
    const uint64_t on_stream = row->stream == 1 ? 0 : row->stream;
    if (row->action == RMM_FAILURE) {
        stream_free(in->builder, stream_alloc(in->builder, 0, row->bytes, on_stream, reader_no_tag), &on_stream);
    } else if (row->pointer == 0 && row->action == RMM_ALLOCATE && row->bytes > 0) {
        READER_REFUSE(in, "Pointer is %s for %" PRIu64 " bytes, expected an address",
                      slice_show(row->pointer_text).text, row->bytes);
    } else if (row->pointer != 0 && row->action == RMM_ALLOCATE) {
        reader_alloc(in, row->pointer, row->pointer_text, row->bytes, on_stream, reader_no_tag);
    } else if (row->pointer != 0) {
        reader_free(in, reader_live(in, row->pointer, row->pointer_text), &on_stream);
    }
}

static void rmm_read(reader *in)
{
    rmm_row row;
    if (reader_line(in)) in->grammar = rmm_find_header(in->line);
    while (reader_line(in)) {
        slice names = slice_of(in->grammar), name;
        while (slice_take(&names, ',', &name)) rmm_read_column(in, name, &row);
        reader_end_of_line(in);
        if (!in->builder->failed) rmm_apply(in, &row);
    }
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

static void intervals_add(reader *in, intervals *all)
{
    if (all->count >= STREAM_MAX_OPS / 2) {
        READER_REFUSE(in, "more than %d intervals, expected fewer", (int)(STREAM_MAX_OPS / 2));
        return;
    }
    ARRAY_RESERVE(all->rows, all->capacity, all->count + 1);
    interval *row = &all->rows[all->count++];
    row->line = in->builder->line;
    row->id_text = reader_field(in, "id");
    if (!slice_is_word(row->id_text)) {
        READER_REFUSE(in, "id is %s, expected a number or a word in %s", slice_show(row->id_text).text, in->grammar);
    }
    if (!slice_decimal(row->id_text, &row->id)) {
        row->id = slice_hash(row->id_text);      /* minimalloc's own examples name their buffers b1, b2 */
    }
    row->lower = reader_number(in, "lower");
    row->upper = reader_number(in, "upper");
    row->bytes = reader_number(in, "size");
    if (in->grammar == intervals_packed) reader_number(in, "offset");        /* a packing's answer, and not used */
    reader_end_of_line(in);
    if (row->lower >= row->upper) {
        READER_REFUSE(in, "lower is %" PRIu64 " and upper %" PRIu64 ", expected lower < upper", row->lower,
                      row->upper);
    }
}

/* At equal time frees come before allocations, each in order of the rows. Total, so that qsort need not be stable. */
static int interval_event_order(const void *left, const void *right)
{
    const interval_event *one = left, *other = right;
    if (one->time != other->time) return one->time < other->time ? -1 : 1;
    if (one->is_alloc != other->is_alloc) return one->is_alloc - other->is_alloc;
    return one->row < other->row ? -1 : one->row > other->row;
}

static void intervals_play(reader *in, const intervals *all)
{
    interval_event *events = program_need(2 * all->count, sizeof *events);
    for (size_t i = 0; i < all->count; i++) {
        const interval_event lower = { all->rows[i].lower, i, 1 }, upper = { all->rows[i].upper, i, 0 };
        events[2 * i] = lower;
        events[2 * i + 1] = upper;
    }
    qsort(events, 2 * all->count, sizeof *events, interval_event_order);
    for (size_t i = 0; i < 2 * all->count && !in->builder->failed; i++) {
        const interval *row = &all->rows[events[i].row];
        in->builder->line = row->line;
        if (events[i].is_alloc) reader_alloc(in, row->id, row->id_text, row->bytes, 0, reader_no_tag);
        else reader_free(in, reader_live(in, row->id, row->id_text), NULL);
    }
    free(events);
}

static void intervals_read(reader *in)
{
    intervals all = { NULL, 0, 0 };
    if (reader_line(in)) in->grammar = slice_is(in->line, intervals_packed) ? intervals_packed : intervals_plain;
    while (reader_line(in)) intervals_add(in, &all);
    if (!in->builder->failed) intervals_play(in, &all);
    free(all.rows);
}

/* ---- PyTorch's memory snapshots, which are pickles: import/torch_snapshot.py makes traces of them, in a process of
        its own */

enum { SNAPSHOT_ABSENT = 127 };                  /* a shell's answer where there is no such program */

static const char snapshot_importer[] = "import/torch_snapshot.py";

typedef struct replay_content { char *bytes; size_t length; } replay_content;      /* whoever has it frees bytes */

/* Says the command that makes a trace of it. Returns -1. */
static int replay_refuse_snapshot(const char *path, const char *obstacle, stream_builder *builder)
{
    char importer[PROGRAM_PATH_BYTES], traced[PROGRAM_PATH_BYTES], *command;
    size_t length;
    int is_absent = program_file(snapshot_importer, importer, sizeof importer);
    const char *here = *path == '-' ? "./" : "";
    FILE *text = program_stream(&command, &length);
    snprintf(traced, sizeof traced, "%s.trace", path);
    fputs("python3 ", text);
    cli_print_word(text, is_absent ? "torch_snapshot.py" : importer);
    fprintf(text, " %s", here);
    cli_print_word(text, path);
    fprintf(text, " --out %s", here);
    cli_print_word(text, traced);
    fclose(text);
    stream_refuse(builder, "a pickle, and %s; a trace is made of it by: %s", obstacle, command);
    free(command);
    return -1;
}

/* Reads the rest of a file, in place of earlier content. 0, or -1 with a problem. */
static int replay_fill(FILE *file, replay_content *into, stream_builder *builder)
{
    free(into->bytes);
    into->bytes = program_read(file, READER_MAX_FILE_BYTES, &into->length);
    if (ferror(file)) return stream_refuse(builder, "%s, expected a trace to read", strerror(errno));
    if (into->length <= READER_MAX_FILE_BYTES) return 0;
    return stream_refuse(builder, "more than %d bytes, expected a shorter trace", (int)READER_MAX_FILE_BYTES);
}

/* The last line of python3's output, without its newline: the end of the text, which is not changed. */
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
    const slice line = snapshot_last_line(said);
    if (WIFSIGNALED(status)) {
        return stream_refuse(builder, "python3 was ended by signal %d, expected a trace from it", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == 0) return 0;
    if (WEXITSTATUS(status) == SNAPSHOT_ABSENT) {
        return replay_refuse_snapshot(path, "there is no python3 to convert it", builder);
    }
    if (line.length) return problem_set(builder->why, EXIT_USAGE, "%.*s", (int)line.length, line.bytes);
    return stream_refuse(builder, "python3 ended with %d, expected a trace from it", WEXITSTATUS(status));
}

/* Reads the importer's output, with its files redirected. status: as of waitpid. 0, or -1 with a problem. */
static int snapshot_run(const char *importer, const char *path, const char *redirected, replay_content *into,
                        stream_builder *builder, int *status)
{
    char *command;
    size_t length;
    FILE *text = program_stream(&command, &length);
    fputs("exec python3 ", text);
    cli_print_word(text, importer);
    fputs(" --quiet -- ", text);
    cli_print_word(text, path);
    fprintf(text, " </dev/null %s", redirected);
    fclose(text);
    FILE *out = popen(command, "r");
    free(command);
    if (!out) return stream_refuse(builder, "python3 cannot be run: %s", strerror(errno));
    int failed = replay_fill(out, into, builder);
    *status = pclose(out);
    return failed;
}

/* The importer writes a trace. If it fails, it is run again for its message. */
static int replay_convert(const char *path, replay_content *into, stream_builder *builder)
{
    char importer[PROGRAM_PATH_BYTES];
    int status;
    if (program_file(snapshot_importer, importer, sizeof importer)) {
        return replay_refuse_snapshot(path, "torch_snapshot.py does not lie where this program looks", builder);
    }
    if (snapshot_run(importer, path, "2>/dev/null", into, builder, &status)
        || (status && snapshot_run(importer, path, "2>&1 >/dev/null", into, builder, &status))) return -1;
    return snapshot_judge(path, status, into, builder);
}

/* ---- `replay:FILE`: the file, whole and bounded, wherever it is, and the choice of its reader by its first line */

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

/* Refuses a file that replay_open could not open; errno says why. */
static int replay_refuse_file(const char *path, stream_builder *builder)
{
    const char *why = strerror(errno);
    if (errno != ENOENT || strchr(path, '/')) return stream_refuse(builder, "%s, expected a trace to read", why);
    return stream_refuse(builder, "%s, expected a trace to read; recordings that come along: %s help replay", why,
                         program_name());
}

static int replay_text(stream_builder *builder, slice text)
{
    static const char mark[] = "\xef\xbb\xbf";   /* UTF-8's byte order mark, which editors put there */
    size_t skipped = slice_begins(text, mark) ? sizeof mark - 1 : 0;
    reader in = { .builder = builder, .text = { text.bytes + skipped, text.length - skipped }, .separator = ',' };
    slice rest = in.text, first = in.text;
    slice_take(&rest, '\n', &first);
    reader_drop_return(&first);
    if (slice_begins(first, "gpuarena-trace")) {
        trace_read(&in);
    } else if (rmm_find_header(first)) {
        rmm_read(&in);
    } else if (slice_is(first, intervals_plain) || slice_is(first, intervals_packed)) {
        intervals_read(&in);
    } else {
        builder->line = 1;
        if (in.text.length == 0) stream_refuse(builder, "the file is empty, expected a trace");
        stream_refuse(builder, "%s, expected \"gpuarena-trace 1\", \"%s\" (RMM) or \"%s\" (intervals)",
                      slice_show(first).text, rmm_headers[0], intervals_plain);
    }
    free(in.ids);
    device_table_clear(&in.id_places);
    return builder->failed ? -1 : 0;
}

static int replay_is_pickle(const replay_content *whole)             /* of a protocol from 2 to 5 */
{
    const unsigned char *first = (const unsigned char *)whole->bytes;
    return whole->length > 1 && first[0] == 0x80 && first[1] >= 2 && first[1] <= 5;
}

static int replay_read(const char *path, stream_builder *builder)
{
    char shown[200];
    replay_content whole = { NULL, 0 };
    size_t length = strlen(path), room = sizeof shown - 4;
    int is_long = length > room;                 /* then its end is shown */
    snprintf(shown, sizeof shown, "%s%s", is_long ? "..." : "", path + (is_long ? length - room : 0));
    builder->source = shown;
    FILE *file = replay_open(path);
    const char *dot = strrchr(path, '.');
    int is_snapshot = dot && (!strcmp(dot, ".pickle") || !strcmp(dot, ".pkl"));
    int failed = !file ? replay_refuse_file(path, builder)
               : is_snapshot ? replay_convert(path, &whole, builder) : replay_fill(file, &whole, builder);
    if (file) fclose(file);
    if (!failed) {
        const slice text = { whole.bytes, whole.length };
        failed = replay_is_pickle(&whole) ? replay_refuse_snapshot(path, "its name does not end in .pickle", builder)
                                          : replay_text(builder, text);
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

/* Every message of the header, pinned once, in sentences.golden: sentences on texts of a configuration, of arenas
   that are not created, of failure records, and of calls that are refused; and reports. `make golden` rewrites the
   file. A line of it that begins with > is an answer. The others are cases, which a person writes:
     parse TEXT             gpuarena_config_parse of TEXT, in which \x09 is a character
     text NAME=..           gpuarena_config_text of fields named below
     create TEXT; NAME=..   an arena of TEXT and of such fields, on a device of 8 GiB
     plain TEXT; NAME=..    the same on a device of 1 GiB without pages and events
     record RESULT REASON NAME=..  gpuarena_failure_text of a record of this
     script COMMANDS        the last failure of commands as in scripts, behind those of two_arenas below
     call CALL              the failure of one of CALLS below, on the same arenas
     report FORMAT COMMANDS the report of the latest arena of a script, text or json; dots stand for the version and
                            host_bytes
   Other tests ask for results, reasons and numbers. */
#include "script_run.h"

#define GOLDEN TESTS_FOLDER "/unit/arena/sentences.golden"

/* ---- texts */

static char answer[1 << 14];                     /* answers of the latest case */
static char whole[1 << 17];                      /* the file as it should be */
static size_t length;

static void put(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int written = vsnprintf(whole + length, sizeof whole - length, format, values);
    va_end(values);
    length += (size_t)written;
    if (length >= sizeof whole) length = sizeof whole - 1;
}

/* Turns \x09 into a character, in place. */
static void unescape(char *text)
{
    char *to = text;
    unsigned code;
    while (*text) {
        if (sscanf(text, "\\x%2x", &code) == 1) {
            *to++ = (char)code;
            text += 4;
        } else *to++ = *text++;
    }
    *to = '\0';
}

/* The next word NAME=VALUE, both ended by a NUL; 0: there is none. A value may stand in quotation marks. */
static int next_pair(char **at, const char **name, const char **value)
{
    *at += strspn(*at, " ");
    if (!**at) return 0;
    *name = *at;
    *at += strcspn(*at, "= ");
    *value = "";
    if (**at == '=') {
        *(*at)++ = '\0';
        int quoted = **at == '"';
        *value = *at += quoted;
        *at += strcspn(*at, quoted ? "\"" : " ");
    }
    if (**at) *(*at)++ = '\0';
    return 1;
}

/* A member of a struct. count: of the values of an enum, and 0 for sizes. */
typedef struct member { const char *name; size_t offset, bytes; uint64_t count; int is_real; } member;

#define IN(type, of) offsetof(type, of), sizeof ((type *)0)->of

/* A number such as 5, 3M or -7, a part of one, or a text. 0: there is no such member. */
static int set_member(void *of, const member *members, size_t count, const char *name, const char *value)
{
    for (size_t at = 0; at < count; at++) {
        if (strcmp(members[at].name, name)) continue;
        char *field = (char *)of + members[at].offset;
        uint64_t wide = *value == '-' ? (uint64_t)strtoll(value, NULL, 10) : 0;
        double real = strtod(value, NULL);
        if (isdigit((unsigned char)*value) && members[at].bytes <= sizeof wide && !members[at].is_real)
            wide = read_sum(&(reader){ value });
        uint32_t narrow = (uint32_t)wide;
        if (members[at].is_real) memcpy(field, &real, sizeof real);
        else if (members[at].bytes == sizeof narrow) memcpy(field, &narrow, sizeof narrow);
        else if (members[at].bytes == sizeof wide) memcpy(field, &wide, sizeof wide);
        else strncpy(field, value, members[at].bytes);
        return 1;
    }
    return 0;
}

/* The text of one of these, whose length is as returned; a smaller buffer gets a prefix that ends with a NUL. */
static size_t text_of(const gpuarena_failure *failure, const gpuarena_config *config, char *text, size_t size)
{
    return failure ? gpuarena_failure_text(failure, text, size) : gpuarena_config_text(config, text, size);
}

static void say(const char *before, const gpuarena_failure *failure, const gpuarena_config *config)
{
    char all[2048], part[sizeof all];
    size_t said = text_of(failure, config, all, sizeof all);
    int wrong = said != strlen(all) || text_of(failure, config, NULL, 0) != said;
    for (size_t size = 0; size <= said; size++) {
        memset(part, 'x', size + 1);
        wrong += text_of(failure, config, part, size) != said || part[size] != 'x';
        wrong += size && (memcmp(part, all, size - 1) || part[size - 1]);
    }
    snprintf(answer, sizeof answer, "%s%s", before, wrong ? "the length is wrong" : all);
}

/* Writes the latest failure that this thread was told of. */
static void last_said(const gpuarena *arena)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    say("", &failure, NULL);
}

/* ---- cases of the file */

/* X(name, field, number of values, 0: a size; 1: a share) */
#define FIELDS(X) \
    X(backing, backing, 6, 0) X(growth, growth, 5, 0) X(streams, streams, 4, 0) X(share, share, 3, 0) \
    X(scrub, scrub, 4, 0) X(release, release, 4, 0) X(plan, plan, 2, 0) X(debug, debug, 3, 0) \
    X(wait_ms, wait_ms, 1000, 0) X(release_age, release_age, 1000, 0) X(oversubscribe, oversubscribe, 2, 0) \
    X(peers, peers, 0, 0) X(page, page_bytes, 0, 0) X(large, large_bytes, 0, 0) X(initial, initial_bytes, 0, 0) \
    X(step, step_bytes, 0, 0) X(step_max, step_max_bytes, 0, 0) X(alignment, alignment, 0, 0) \
    X(headroom, headroom_bytes, 0, 0) X(release_at, release_bytes, 0, 0) X(limit_base, limit_base, 5, 0) \
    X(limit, limit_bytes, 0, 0) X(idle_fraction, idle_fraction, 0, 1) X(limit_fraction, limit_fraction, 0, 1) \
    X(release_keep, release_keep, 0, 1)
static const member fields[] = {
#define X(name, field, count, is_real) { #name, IN(gpuarena_config, field), count, is_real },
    FIELDS(X)
#undef X
    { "name", IN(gpuarena_config, name), 1, 0 }, { "zero_begin", IN(gpuarena_config, zero_begin), 1, 0 },
    { "zero_end", IN(gpuarena_config, zero_end), 1, 0 } };

/* Tells whether fields whose keys a text does not name still have all bytes `fill`. */
static int others_are(const char *text, const gpuarena_config *config, int fill)
{
    for (size_t at = 0; at < COUNT(fields); at++) {
        char key[16];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(fields[at].name, "_"), fields[at].name);
        const unsigned char *field = (const unsigned char *)config + fields[at].offset;
        for (size_t byte = 0; byte < fields[at].bytes; byte++)
            if (!strstr(text, key) && field[byte] != fill) return 0;
    }
    return 1;
}

/* A text changes the fields that it names, a refused one nothing, and a message ends within its bounds. */
static void answer_parse(char *text)
{
    gpuarena_config config, before;
    char small[8];
    memset(&config, 0x11, sizeof config);
    before = config;
    strcpy(answer, "no message");
    gpuarena_result result = gpuarena_config_parse(text, &config, answer, sizeof answer);
    if (result != GPUARENA_OK) {
        (void)gpuarena_config_parse(text, &config, small, sizeof small);
        if (strncmp(small, answer, sizeof small - 1) || small[sizeof small - 1]) strcpy(answer, "another beginning");
        if (result != GPUARENA_INVALID_CONFIG) strcpy(answer, "another result");
        if (memcmp(&config, &before, sizeof config)) strcpy(answer, "refused, and changed");
        return;
    }
    if (answer[0] || !others_are(text, &config, 0x11)) {
        strcpy(answer, answer[0] ? "a message, though all is well" : "a field has changed that it does not name");
        return;
    }
    memset(&config, 0, sizeof config);
    say(gpuarena_config_parse(text, &config, NULL, 0) ? "not always ok: " : "ok: ", NULL, &config);
}

/* Sets fields of the configuration, or the driver's page_bytes. `without` clears an entry of the driver, or a
   function for host memory. 0: there is no such name. */
static int set_fields(char *text, gpuarena_config *config)
{
    const char *name, *value;
    while (next_pair(&text, &name, &value)) {
        if (set_member(config, fields, COUNT(fields), name, value)) continue;
        if (!strcmp(name, "page_bytes")) device.table.page_bytes = read_sum(&(reader){ value });
        else if (strcmp(name, "without")) return 0;
        else if (!strcmp(value, "host_alloc")) config->host_alloc = NULL;
        else if (!strcmp(value, "host_free")) config->host_free = NULL;
        else if (!device_without(value)) return 0;
    }
    return 1;
}

static void answer_text(char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    if (set_fields(text, &config)) say("", NULL, &config);
}

static void answer_create(char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    char *rest = strchr(text, ';');
    device_await_arena(-1);
    if (rest) *rest++ = '\0';
    config.driver = &device.table;
    config.environment = "";
    host_serve(&device.host, &config);
    if (gpuarena_config_parse(text, &config, answer, sizeof answer)) return;
    if (rest && !set_fields(rest, &config)) return;
    if (gpuarena_create(&config, &arena) != GPUARENA_OK) {
        last_said(NULL);
        return;
    }
    gpuarena_get_config(arena, &config);
    say("ok: ", NULL, &config);
    if (gpuarena_destroy(arena) != GPUARENA_OK) strcpy(answer, "not destroyed");
}

#define MEMBER(name, of) { #name, IN(gpuarena_failure, of), 0, 0 }
static const member members[] = {
    MEMBER(requested, requested_bytes), MEMBER(missing, missing_bytes), MEMBER(live, live_bytes),
    MEMBER(pending, pending_bytes), MEMBER(reserved, reserved_bytes), MEMBER(limit, limit_bytes),
    MEMBER(largest, largest_free_bytes), MEMBER(device_free, device_free_bytes), MEMBER(code, driver_code),
    MEMBER(arena, arena), MEMBER(detail, detail), MEMBER(block, block.bytes), MEMBER(state, block.state) };

static void answer_record(char *text)
{
    gpuarena_failure failure = GPUARENA_INIT;
    const char *name, *value;
    if (!next_pair(&text, &name, &value)) return;
#define X(of, code, word) if (!strcmp(name, word)) failure.result = (gpuarena_result)(code);
    GPUARENA_RESULTS(X)
#undef X
    while (next_pair(&text, &name, &value)) {
        int known = set_member(&failure, members, COUNT(members), name, value);
        if (!strcmp(name, "call")) failure.driver_call = value, known = 1;
#define X(of, word) if (!strcmp(name, word)) failure.reason = GPUARENA_REASON_##of, known = 1;
        GPUARENA_REASONS(X)
#undef X
        if (!known) return;
    }
    if (failure.block.bytes) failure.block.ptr = &failure;
    say("", &failure, NULL);
}

/* ---- reports */

typedef struct writer { char *text; size_t size; int calls, stop_at; gpuarena_result result; } writer;

static gpuarena_result write_piece(const char *text, size_t bytes, void *user)
{
    writer *self = user;
    size_t before = strlen(self->text);
    if (++self->calls == self->stop_at) return self->result;
    if (self->calls == 1) before = 0;
    if (before + bytes >= self->size || strlen(text) != bytes) return GPUARENA_CORRUPT;
    memcpy(self->text + before, text, bytes + 1);
    return GPUARENA_OK;
}

/* Puts dots in the place of figures that are this version's alone. */
static void veil(char *text, const char *before)
{
    char *at = strstr(text, before);
    if (!at) return;
    at += strlen(before);
    size_t digits = strspn(at, "0123456789.");
    memmove(at + 2, at + digits, strlen(at + digits) + 1);
    memcpy(at, "..", 2);
}

/* Each piece can be the last, with the writer's answer, which is no failure of the arena. Without host memory the
   report has equal text. */
static void answer_report(char *text)
{
    static char again[sizeof answer];
    gpuarena_failure before, after;
    gpuarena_format format = strncmp(text, "json ", 5) ? GPUARENA_FORMAT_TEXT : GPUARENA_FORMAT_JSON;
    writer first = { answer, sizeof answer, 0, 0, GPUARENA_OK }, second = { again, sizeof again, 0, 0, GPUARENA_OK };
    run_line(text + 5, ';');
    gpuarena_last_failure(arena_now(), &before);
    int wrong = gpuarena_report(arena_now(), format, write_piece, &first) != GPUARENA_OK || first.calls < 2;
    for (int stop_at = 1; stop_at <= first.calls; stop_at++) {
        writer some = { again, sizeof again, 0, stop_at, stop_at % 2 ? GPUARENA_STOPPED : GPUARENA_DRIVER_ERROR };
        wrong += gpuarena_report(arena_now(), format, write_piece, &some) != some.result || some.calls != stop_at;
    }
    run_line("fail every host", ';');
    wrong += gpuarena_report(arena_now(), format, write_piece, &second) != GPUARENA_OK || strcmp(answer, again);
    gpuarena_last_failure(arena_now(), &after);
    if (wrong || before.serial != after.serial) strcpy(answer, "not the same at every call");
    size_t ends = strlen(answer);
    int is_whole = ends > 1 && answer[ends - 1] == '\n' && answer[ends - 2] != '\n';
    if (!is_whole) strcpy(answer, "does not end with its last line");
    veil(answer, "\"version\":\"");
    veil(answer, "\"host_bytes\":");
}

/* ---- calls that are refused, on two arenas of one device: as scripts, or in C where scripts have no word for
        them */

/* Block 1 of `mine` lives and block 2 is freed; block 3 is `other`'s. */
static const char two_arenas[] = "device 8G; arena mine backing=paged; arena other backing=segments, limit=8M;"
                                 "a 3 1000; in mine; a 1 1000; a 2 1000; f 2";

static void answer_script(char *text)
{
    run_line(text, ';');
    last_said(NULL);
}

static gpuarena_result create_under(gpuarena *parent, const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *made = NULL;
    config.parent = parent;
    config.driver = driver;
    config.environment = "";
    return gpuarena_create(&config, &made);
}

static gpuarena_result visit(const gpuarena_block *at, void *user) { return (void)at, (void)user, GPUARENA_OK; }
static gpuarena_result no_page(const char *text, size_t bytes, void *user)
{
    return (void)text, (void)bytes, (void)user, GPUARENA_STOPPED;
}

static gpuarena *mine, *other;
static void *out;
static gpuarena_tag_stats tag_stats;
static gpuarena_block found;
static gpuarena_config some_config;

#define CALLS(X) \
    X(gpuarena_create(NULL, NULL)) \
    X(gpuarena_alloc(NULL, &out, 1, NULL)) \
    X(gpuarena_observe(NULL, NULL, NULL)) \
    X(gpuarena_alloc(mine, NULL, 1, NULL)) \
    X(gpuarena_alloc_ex(mine, &out, NULL)) \
    X(gpuarena_can_alloc(mine, NULL)) \
    X(gpuarena_lookup(mine, find_block("1")->ptr, NULL)) \
    X(gpuarena_lookup(mine, find_block("3")->ptr, &found)) \
    X(gpuarena_walk(mine, NULL, NULL)) \
    X(gpuarena_walk(NULL, visit, NULL)) \
    X(gpuarena_report(mine, GPUARENA_FORMAT_TEXT, NULL, NULL)) \
    X(gpuarena_report(mine, (gpuarena_format)7, no_page, NULL)) \
    X(gpuarena_get_device(mine, NULL)) \
    X(gpuarena_get_tag(mine, 5, &tag_stats)) \
    X(gpuarena_get_tag(mine, 0, NULL)) \
    X((gpuarena_tag(NULL), GPUARENA_INVALID_ARGUMENT)) \
    X((gpuarena_tag("12345678901234567890123456789012"), GPUARENA_INVALID_ARGUMENT)) \
    X(gpuarena_config_parse(NULL, NULL, NULL, 0)) \
    X(gpuarena_config_parse("", NULL, NULL, 0)) \
    X(gpuarena_config_parse(NULL, &some_config, NULL, 0)) \
    X(gpuarena_driver_cuda(0, NULL)) \
    X(create_under((gpuarena *)(void *)&found, NULL)) \
    X(create_under(other, &(gpuarena_driver){ .device = 7 }))

static void answer_call(char *text)
{
    gpuarena_failure failure;
    gpuarena_result result = GPUARENA_OK;
    mine = world.arenas[0].ptr;
    other = world.arenas[1].ptr;
#define X(call) if (!strcmp(text, #call)) result = (gpuarena_result)(call);
    CALLS(X)
#undef X
    gpuarena_last_failure(NULL, &failure);
    if (result == GPUARENA_OK) return;
    last_said(NULL);
    if (result != failure.result) snprintf(answer, sizeof answer, "result %d, recorded %d", result, failure.result);
}

/* ---- the file */

static const struct { const char *word, *world; void (*answers)(char *text); } kinds[] = {   /* world: it begins so */
    { "parse ", "", answer_parse }, { "text ", "", answer_text }, { "record ", "", answer_record },
    { "create ", "device 8G", answer_create }, { "plain ", "device 1G plain", answer_create },
    { "report ", "", answer_report }, { "script ", two_arenas, answer_script },
    { "call ", two_arenas, answer_call } };

/* Runs a case of the file; a script that did not do as it says is reported in the answer. 0: the line is no case. */
static int answer_line(char *line)
{
    size_t kind = 0;
    unescape(line);
    if (!*line || *line == '#') return 0;
    strcpy(answer, "no such case, field or call");
    while (kind < COUNT(kinds) && strncmp(line, kinds[kind].word, strlen(kinds[kind].word))) kind++;
    if (kind == COUNT(kinds)) return 1;
    place.file = "sentences";
    run_line(kinds[kind].world, ';');
    kinds[kind].answers(line + strlen(kinds[kind].word));
    world.expected++;
    end_world();
    if (place.trouble[0]) snprintf(answer, sizeof answer, "%s", place.trouble);
    place.trouble[0] = '\0';
    drop_world();
    return 1;
}

/* An answer of several lines has > before each. */
static void put_answer(void)
{
    for (const char *at = answer, *end; *at || at == answer; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        put("> %.*s\n", (int)(end - at), at);
        if (!*end) return;
    }
}

/* Writes the cases of a file with their answers to `whole`. Returns how many there are. */
static int answer_all(FILE *file)
{
    char line[2048];
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '>') continue;
        put("%s", line);
        line[strcspn(line, "\n")] = '\0';
        if (!answer_line(line)) continue;
        put_answer();
        count++;
    }
    return count;
}

/* Compares the file's lines with the present answers. Returns how many differ. */
static int compare_lines(FILE *file)
{
    char line[2048], before[2048] = "";
    const char *at = whole;
    int wrong = 0;
    while (fgets(line, sizeof line, file)) {
        size_t bytes = strcspn(at, "\n") + (*at != '\0');
        if (strncmp(line, at, bytes) || strlen(line) != bytes) {
            CHECK_MSG(0, "%s", before);
            printf("#   file: %s#   now:  %.*s", line, (int)bytes, at);
            if (++wrong == 10) return wrong;
        }
        if (line[0] != '>') snprintf(before, sizeof before, "%.*s", (int)strcspn(line, "\n"), line);
        at += bytes;
    }
    return wrong + (*at != '\0');
}

/* ---- any configuration: its text is read back as the same, and is the same text again */

static uint64_t random_state = 7;
static uint64_t draw(void) { return splitmix64_next(&random_state); }

static gpuarena_config random_config(void)
{
    gpuarena_config config = GPUARENA_INIT;
    for (size_t at = 0; at < COUNT(fields); at++) {
        uint64_t wide = draw(), down = draw() % 64, up = draw() % 30;
        double real = wide % 4 ? (double)(1 + wide % 1000) / 1e3 : 0;
        wide = wide % 3 == 0 ? 0 : fields[at].count ? wide % fields[at].count : wide >> down << up;
        uint32_t narrow = (uint32_t)wide;
        const void *value = fields[at].is_real ? (const void *)&real : fields[at].bytes == 4 ? (const void *)&narrow
                                                                                             : (const void *)&wide;
        if (fields[at].bytes <= sizeof wide) memcpy((char *)&config + fields[at].offset, value, fields[at].bytes);
    }
    int has_share = config.limit_base == GPUARENA_LIMIT_OF_TOTAL || config.limit_base == GPUARENA_LIMIT_OF_FREE;
    if (!has_share) config.limit_fraction = 0, config.limit_bytes |= config.limit_base != 0;
    else config.limit_bytes = 0, config.limit_fraction += 1e-16;
    return config;
}

static void test_round_trip(void)
{
    int wrong = 0;
    for (int round = 0; round < 20000 && wrong == 0; round++) {
        gpuarena_config config = random_config(), parsed = GPUARENA_INIT;
        char text[512], again[512], message[128] = "";
        gpuarena_config_text(&config, text, sizeof text);
        wrong += gpuarena_config_parse(text, &parsed, message, sizeof message) != GPUARENA_OK;
        gpuarena_config_text(&parsed, again, sizeof again);
        for (size_t at = 0; at < COUNT(fields); at++) {
            double before, after;
            if (!fields[at].is_real) continue;
            memcpy(&before, (char *)&config + fields[at].offset, sizeof before);
            memcpy(&after, (char *)&parsed + fields[at].offset, sizeof after);
            wrong += before - after > 1e-14 || after - before > 1e-14;
            memcpy((char *)&parsed + fields[at].offset, &before, sizeof before);
        }
        wrong += memcmp(&parsed, &config, sizeof config) != 0 || strcmp(text, again) != 0;
        if (wrong) printf("# \"%s\" then \"%s\": %s\n", text, again, message);
    }
    CHECK_MSG(wrong == 0, "20,000 random configurations: text, parsed, text");
}

int main(void)
{
    FILE *file = fopen(GOLDEN, "r");
    int count = file ? answer_all(file) : 0;
    CHECK_MSG(count > 0 && length + 1 < sizeof whole, "%s: %d cases", GOLDEN, count);
    if (file && getenv("GPUARENA_GOLDEN")) {
        fclose(file);
        file = fopen(GOLDEN, "w");
        CHECK_MSG(file && fwrite(whole, 1, length, file) == length, "written");
    } else if (file) {
        rewind(file);
        CHECK_MSG(compare_lines(file) == 0, "what is said is what the file has; `make golden` rewrites it");
    }
    if (file) fclose(file);
    test_round_trip();
    return tap_done();
}

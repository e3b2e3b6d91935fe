/* Every message of the header, pinned once, in sentences.golden: what is said of texts of a configuration, of arenas
   that are not created, of failure records, and of calls that are refused. `make golden` rewrites the file.
   A line of it that begins with > is an answer. The others are cases, which a person writes:
     parse TEXT             gpuarena_config_parse of TEXT, in which \x09 is a character
     create TEXT; NAME=..   an arena of TEXT and of fields named below, on a device of 8 GiB
     plain TEXT; NAME=..    the same on a device of 1 GiB without pages and events
     record RESULT REASON NAME=..  gpuarena_failure_text of a record of this
     script COMMANDS        the last failure of commands as in scripts, on the world of open_world below
   The calls that follow in the file are those of CALLS below. Other tests ask for results, reasons and numbers. */
#include "arena_state.h"
#include "script_run.h"

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests"
#endif
#define GOLDEN TESTS_FOLDER "/unit/arena/sentences.golden"

/* ---- texts */

static char answer[2048];                        /* what the latest case was told */
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

/* In place: \x09 becomes a character. */
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

/* A number such as 5, 3M or -7. */
static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t number = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : (uint64_t)strtoull(text, &end, 10);
    const char *unit = *end ? strchr("KMG", *end) : NULL;
    return unit ? number << 10 * (1 + (unit - "KMG")) : number;
}

typedef struct member { const char *name; size_t offset, bytes; } member;    /* bytes 0: a double */

static int set_member(void *of, const member *members, size_t count, const char *name, const char *value)
{
    for (size_t at = 0; at < count; at++) {
        if (strcmp(members[at].name, name)) continue;
        char *field = (char *)of + members[at].offset;
        uint64_t wide = number_of(value);
        uint32_t narrow = (uint32_t)wide;
        double real = strtod(value, NULL);
        if (members[at].bytes == 0) memcpy(field, &real, sizeof real);
        else if (members[at].bytes == sizeof narrow) memcpy(field, &narrow, sizeof narrow);
        else if (members[at].bytes == sizeof wide) memcpy(field, &wide, sizeof wide);
        else {
            memset(field, 0, members[at].bytes);
            memcpy(field, value, strlen(value) < members[at].bytes ? strlen(value) : members[at].bytes);
        }
        return 1;
    }
    return 0;
}

/* What a record says, which is as long as it says; a smaller text is a prefix that ends with a NUL. */
static void say(const gpuarena_failure *failure)
{
    char part[sizeof answer];
    size_t said = gpuarena_failure_text(failure, answer, sizeof answer);
    int wrong = said != strlen(answer) || gpuarena_failure_text(failure, NULL, 0) != said;
    for (size_t size = 0; size <= said; size++) {
        memset(part, 'x', size + 1);
        wrong += gpuarena_failure_text(failure, part, size) != said || part[size] != 'x';
        wrong += size && (memcmp(part, answer, size - 1) || part[size - 1]);
    }
    if (wrong) strcpy(answer, "the length is wrong");
}

/* What this thread was told last. */
static void last_said(const gpuarena *arena)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    say(&failure);
}

/* ---- cases of the file */

/* A refused text changes nothing. */
static void answer_parse(const char *text)
{
    gpuarena_config config, before;
    memset(&config, 0x11, sizeof config);
    before = config;
    strcpy(answer, "no message");
    gpuarena_result result = gpuarena_config_parse(text, &config, answer, sizeof answer);
    if (result != GPUARENA_OK) {
        if (result != GPUARENA_INVALID_CONFIG) strcpy(answer, "another result");
        if (memcmp(&config, &before, sizeof config)) strcpy(answer, "refused, and changed");
        return;
    }
    if (answer[0]) {
        strcpy(answer, "a message, though all is well");
        return;
    }
    memset(&config, 0, sizeof config);
    strcpy(answer, gpuarena_config_parse(text, &config, NULL, 0) ? "not always ok: " : "ok: ");
    gpuarena_config_text(&config, answer + strlen(answer), sizeof answer - strlen(answer));
}

#define FIELD(name, member) { #name, offsetof(gpuarena_config, member), sizeof ((gpuarena_config *)0)->member }
#define REAL(name) { #name, offsetof(gpuarena_config, name), 0 }
static const member fields[] = {
    FIELD(name, name), FIELD(zero_begin, zero_begin), FIELD(zero_end, zero_end), FIELD(backing, backing),
    FIELD(growth, growth), FIELD(streams, streams), FIELD(share, share), FIELD(scrub, scrub), FIELD(release, release),
    FIELD(plan, plan), FIELD(debug, debug), FIELD(page, page_bytes), FIELD(large, large_bytes),
    FIELD(initial, initial_bytes), FIELD(step, step_bytes), FIELD(step_max, step_max_bytes),
    FIELD(alignment, alignment), FIELD(limit_base, limit_base), FIELD(limit, limit_bytes),
    FIELD(oversubscribe, oversubscribe), REAL(idle_fraction), REAL(limit_fraction), REAL(release_keep) };

#define ENTRY(group, entry) { #group "." #entry, offsetof(gpuarena_driver, group.entry), sizeof(void *) }
static const member entries[] = {
    ENTRY(memory, info), ENTRY(memory, obtain), ENTRY(memory, give_back), ENTRY(vm, unmap), ENTRY(vm, reserve),
    ENTRY(events, create), ENTRY(events, device_wait), ENTRY(capture, exchange_mode),
    { "clear", offsetof(gpuarena_driver, clear), sizeof(void *) },
    { "now_ns", offsetof(gpuarena_driver, now_ns), sizeof(void *) },
    { "page_bytes", offsetof(gpuarena_driver, page_bytes), sizeof(uint64_t) } };

/* Sets fields of the configuration, or the driver's page_bytes. `without` clears an entry of the driver, or a
   function for host memory. 0: there is no such name. */
static int set_fields(char *text, gpuarena_config *config, gpuarena_driver *driver)
{
    const char *name, *value;
    while (next_pair(&text, &name, &value)) {
        if (set_member(config, fields, COUNT(fields), name, value)) continue;
        if (!strcmp(name, "page_bytes") && set_member(driver, entries, COUNT(entries), name, value)) continue;
        if (strcmp(name, "without")) return 0;
        if (!strcmp(value, "host_alloc")) config->host_alloc = NULL;
        else if (!strcmp(value, "host_free")) config->host_free = NULL;
        else if (!set_member(driver, entries, COUNT(entries), value, "0")) return 0;
    }
    return 1;
}

static void answer_create(char *text, const gpuarena_config *from)
{
    gpuarena_driver driver = *from->driver;
    gpuarena_config config = *from;
    gpuarena *arena = NULL;
    char *rest = strchr(text, ';');
    if (rest) *rest++ = '\0';
    config.driver = &driver;
    if (gpuarena_config_parse(text, &config, answer, sizeof answer)) return;
    if (rest && !set_fields(rest, &config, &driver)) {
        strcpy(answer, "no such field");
        return;
    }
    if (gpuarena_create(&config, &arena) != GPUARENA_OK) {
        last_said(NULL);
        return;
    }
    gpuarena_get_config(arena, &config);
    strcpy(answer, "ok: ");
    gpuarena_config_text(&config, answer + 4, sizeof answer - 4);
    if (gpuarena_destroy(arena) != GPUARENA_OK) strcpy(answer, "not destroyed");
}

static void answer_create_paged(char *text)
{
    sim_bench bench = bench_open_sized(GIB(8), NULL);
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &bench.driver;
    config.environment = "";
    answer_create(text, &config);
    if (bench_counters(&bench).held_bytes) strcpy(answer, "memory is left");
    bench_close(&bench);
}

static void answer_create_plain(char *text)
{
    static fake_device plain;
    fake_open(&plain, GIB(1));
    gpuarena_config config = fake_config(&plain);
    answer_create(text, &config);
    if (!fake_close(&plain)) strcpy(answer, "memory is left");
}

#define MEMBER(name, member) { #name, offsetof(gpuarena_failure, member), sizeof ((gpuarena_failure *)0)->member }
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
    strcpy(answer, "no such member");
    while (next_pair(&text, &name, &value)) {
        int known = set_member(&failure, members, COUNT(members), name, value);
        if (!strcmp(name, "call")) failure.driver_call = value, known = 1;
#define X(of, word) if (!strcmp(name, word)) failure.reason = GPUARENA_REASON_##of, known = 1;
        GPUARENA_REASONS(X)
#undef X
        if (!known) return;
    }
    if (failure.block.bytes) failure.block.ptr = &failure;
    say(&failure);
}

/* ---- calls that are refused, on two arenas of one device: as scripts, or what scripts cannot say */

/* Of `mine` block 1 lives and block 2 is freed; block 3 is `other`'s. */
static void open_world(void)
{
    place.file = "sentences";
    run_line("device 8G; arena mine backing=paged; arena other backing=segments, limit=8M; a 3 1000; in mine;"
             "a 1 1000; a 2 1000; f 2", ';');
}

/* A script that did not do as it says answers so. */
static void close_world(void)
{
    world.expected++;
    end_world();
    if (place.trouble[0]) snprintf(answer, sizeof answer, "%s", place.trouble);
    place.trouble[0] = '\0';
    drop_world();
}

static void answer_script(char *text)
{
    open_world();
    run_line(text, ';');
    last_said(NULL);
    close_world();
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
    X(gpuarena_driver_cuda(0, NULL)) \
    X(create_under((gpuarena *)(void *)&found, NULL)) \
    X(create_under(other, &(gpuarena_driver){ .device = 7 }))

static gpuarena_result make_call(int number)
{
    int at = 0;
#define X(call) if (at++ == number) return (gpuarena_result)(call);
    CALLS(X)
#undef X
    return GPUARENA_OK;
}

static void answer_call(int number)
{
    gpuarena_failure failure;
    open_world();
    mine = world.arenas[0].ptr;
    other = world.arenas[1].ptr;
    gpuarena_result result = make_call(number);
    gpuarena_last_failure(NULL, &failure);
    last_said(NULL);
    if (result != failure.result) snprintf(answer, sizeof answer, "result %d, recorded %d", result, failure.result);
    close_world();
}

/* ---- the file */

static const struct { const char *word; void (*answers)(char *text); } kinds[] = {
    { "record ", answer_record }, { "create ", answer_create_paged }, { "plain ", answer_create_plain },
    { "script ", answer_script } };

static int answer_line(char *line)
{
    strcpy(answer, "no such case");
    unescape(line);
    if (!strncmp(line, "parse ", 6)) return answer_parse(line + 6), 1;
    for (size_t at = 0; at < COUNT(kinds); at++)
        if (!strncmp(line, kinds[at].word, strlen(kinds[at].word)))
            return kinds[at].answers(line + strlen(kinds[at].word)), 1;
    return *line && *line != '#';
}

/* Writes the cases of a file with their answers to `whole`, and then those of CALLS. Returns how many there are. */
static int answer_all(FILE *file)
{
    static const char *const calls[] = {
#define X(call) #call,
        CALLS(X)
#undef X
    };
    char line[1024];
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '>' || !strncmp(line, "call ", 5)) continue;
        put("%s", line);
        line[strcspn(line, "\n")] = '\0';
        if (!answer_line(line)) continue;
        put("> %s\n", answer);
        count++;
    }
    for (size_t at = 0; at < COUNT(calls); at++, count++) {
        answer_call((int)at);
        put("call %s\n> %s\n", calls[at], answer);
    }
    return count;
}

/* Compares the file's lines with what is said now. Returns how many differ. */
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
    return tap_done();
}

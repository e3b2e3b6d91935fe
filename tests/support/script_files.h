/* Runs scripts: cases and their variants, turns, threads, files. It must not know single commands.
   Included by test_scripts.c and test_schedules.c. */
#ifndef TESTS_SCRIPT_FILES_H
#define TESTS_SCRIPT_FILES_H

#include <dirent.h>

#include "script_run.h"

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests"
#endif

enum { MOST_LINES = 1000, MOST_VARIANTS = 8, MOST_TURNS = 1000, MOST_FILES = 200 };

typedef struct variant {
    char name[NAME_BYTES], values[WORD_BYTES * 2];
    int is_tied;                                 /* it has its nth value where the one before has its nth */
    int is_whole;                                /* it has one, in which | divides nothing */
} variant;
typedef struct script_case {
    const char *file;
    char title[WORD_BYTES], fails[WORD_BYTES], turn[WORD_BYTES];
    uint64_t orders;                             /* of its threads, in which it is run; 0: it has none */
    variant variants[MOST_VARIANTS];
    int variant_count;
    const char *lines[MOST_LINES];
    int numbers[MOST_LINES], line_count;
} script_case;

/* The text with each $NAME replaced. */
static void put_values(char line[LINE_BYTES], const script_case *self, const char *text, const char *const names[],
                       char values[][WORD_BYTES])
{
    char next[LINE_BYTES];
    snprintf(line, LINE_BYTES, "%s", text);
    for (int which = 0; which < self->variant_count; which++) {
        put_in(next, sizeof next, line, names[which], values[which]);
        memcpy(line, next, sizeof next);
    }
}

static void set_turn(uint64_t nth)
{
    device_fault meant = { turn.entry, 0, nth, turn.length, 0, turn.code };
    if (turn.is_on && device.machine && !device.has_turn++) device.faults[device.fault_count++] = meant;
}

/* Lines | are threads', || those of the one before: they run side by side, and what comes behind waits for all. */
static char thread_texts[4][2 * LINE_BYTES];
static int thread_count;

static void read_thread(const char *line)
{
    int goes_on = line[1] == '|';
    if (goes_on ? !thread_count : thread_count == (int)COUNT(thread_texts)) {
        blame("there is one thread too many, or none that goes on");
        return;
    }
    char *text = thread_texts[goes_on ? thread_count - 1 : thread_count++];
    size_t length = goes_on ? strlen(text) : 0;
    snprintf(text + length, sizeof thread_texts[0] - length, "%s; ", line + 1 + goes_on);
}

static void run_threads(uint64_t nth)
{
    char *texts[COUNT(thread_texts)];
    int count = thread_count;
    thread_count = 0;
    if (!count || place.trouble[0]) return;
    for (int at = 0; at < count; at++) texts[at] = thread_texts[at];
    if (!threads.run) blame("this program runs no threads");
    else {
        set_turn(nth);
        threads.run(texts, count);
    }
    device.fault_count = 0;
    bury_arenas();
    threads.ran = 1;
    for (int at = 0; at < world.arena_count && threads.has_reset; at++) count_freed(at);
    threads.has_reset = 0;
    audit();
    threads.ran = 0;
}

static void run_once(const script_case *self, const char *const names[], char values[][WORD_BYTES], uint64_t nth)
{
    char line[LINE_BYTES];
    for (int at = 0; at < self->line_count && !place.trouble[0]; at++) {
        place.line = self->numbers[at];
        put_values(line, self, self->lines[at], names, values);
        if (line[0] == '|') {
            read_thread(line);
            continue;
        }
        run_threads(nth);
        run_line(line, ';');
        if (turn_struck() && !world.arena_count) break;      /* no arena was made */
        if (!self->orders) set_turn(nth);
    }
    run_threads(nth);
}

/* turn ENTRY CODE [once|twice|ever] [strict] */
static void read_turn(const char *text)
{
    reader in = { text };
    memset(&turn, 0, sizeof turn);
    if (!*text) return;
    turn.is_on = 1;
    turn.entry = read_entry(&in);
    turn.code = at_end(&in) ? 999 : (int)read_sum(&in);
    if (!turn.code) blame("a fault has a code");
    turn.length = take_word(&in, "ever") ? UINT64_MAX : take_word(&in, "twice") ? 2 : 1;
    (void)take_word(&in, "once");
    turn.is_strict = take_word(&in, "strict");
    if (!at_end(&in)) blame("`turn ENTRY CODE [once|twice|ever] [strict]` is expected");
}

/* The case is run once; or until none of its calls is left that could fail; or in so many orders of its threads, in
   which calls fail by their number. GPUARENA_SCHEDULE=N: in this order alone, behind order 0, which says how long
   orders are. */
static void run_turns(const script_case *self, const char *const names[], char values[][WORD_BYTES])
{
    enum { FAIL_AMONG = 14 };                    /* the first so many calls */
    char text[LINE_BYTES];
    uint64_t first = self->orders ? 0 : 1, last = 1, struck_count = 0;
    put_values(text, self, self->turn, names, values);
    read_turn(text);
    if (turn.is_on) last = MOST_TURNS;
    if (self->orders) last = self->orders * tap_number("GPUARENA_SCHEDULES", 2000) / 2000;
    int alone = self->orders && getenv("GPUARENA_SCHEDULE");
    if (alone) last = tap_number("GPUARENA_SCHEDULE", 0);
    for (uint64_t nth = first; nth <= last && !place.trouble[0]; nth = alone && nth < last ? last : nth + 1) {
        threads.seed = nth;
        run_once(self, names, values, self->orders ? 1 + nth / 4 % FAIL_AMONG : nth);
        int struck = turn_struck();
        struck_count += struck != 0;
        end_world();
        if (place.trouble[0] && (turn.is_on || self->orders)) {
            char trouble[TROUBLE_BYTES];
            memcpy(trouble, place.trouble, sizeof trouble);
            snprintf(place.trouble, sizeof place.trouble, "%.400s (%s %" PRIu64 ")", trouble,
                     self->orders ? "GPUARENA_SCHEDULE:" : "call", nth);
        }
        drop_world();
        if (self->orders) continue;
        if (!struck && turn.is_on && !strchr(self->turn, '$') && nth < 4 && !place.trouble[0])
            blame("fewer than 3 calls failed in turn");
        if (!struck) break;
    }
    if (self->orders && !alone && !place.trouble[0]) {
        if (!threads.distinct) blame("orders of no threads");
        if (turn.is_on && !strchr(self->turn, '$') && !struck_count) blame("no call failed in any order");
    }
    memset(&turn, 0, sizeof turn);
}

/* One line of TAP. */
static void report_case(const script_case *self, const char *values)
{
    int as_wanted = self->fails[0] ? strstr(place.trouble, self->fails) != NULL : !place.trouble[0];
    const char *file = strrchr(self->file, '/');
    tap_ok(as_wanted, self->file, self->line_count ? self->numbers[0] : 0, "%s: %s%s", file ? file + 1 : self->file,
           self->title, values);
    if (!as_wanted && self->fails[0]) printf("#   it should fail with: %s\n", self->fails);
    if (!as_wanted && place.trouble[0]) printf("#   %s\n", place.trouble);
    if (!as_wanted && self->orders) threads.told();
}

/* Every combination of what `with` lists. */
static void run_case(const script_case *self)
{
    char values[MOST_VARIANTS][WORD_BYTES], shown[WORD_BYTES * 2];
    const char *names[MOST_VARIANTS];
    int total = 1, counts[MOST_VARIANTS];
    for (int at = 0; at < self->variant_count; at++) {
        counts[at] = 1;
        names[at] = self->variants[at].name;
        for (const char *mark = self->variants[at].values; *mark; mark++)
            counts[at] += *mark == '|' && !self->variants[at].is_whole;
        if (!self->variants[at].is_tied) total *= counts[at];
    }
    for (int number = 0; number < total; number++) {
        int rest = number, nth_value = 0;
        shown[0] = '\0';
        for (int at = 0; at < self->variant_count; at++) {
            const char *value = self->variants[at].values;
            if (!self->variants[at].is_tied) {
                nth_value = rest % counts[at];
                rest /= counts[at];
            }
            for (int skip = nth_value; skip && *value; value++) skip -= *value == '|';
            int value_length = (int)strcspn(value, self->variants[at].is_whole ? "" : "|");
            snprintf(values[at], WORD_BYTES, "%.*s", value_length, value);
            size_t length = strlen(shown);
            if (counts[at] > 1) snprintf(shown + length, sizeof shown - length, ", %s=%.60s", names[at], values[at]);
        }
        place.trouble[0] = '\0';
        place.file = self->file;
        place.line = self->line_count ? self->numbers[0] : 0;
        threads.distinct = 0;
        run_turns(self, names, values);
        size_t length = strlen(shown);
        if (self->orders)
            snprintf(shown + length, sizeof shown - length, ": %" PRIu64 " different orders", threads.distinct);
        report_case(self, shown);
    }
}

/* ---- files */

/* Takes a line that says something of the case. 0: it is one of commands. */
static int read_head(script_case *self, char *line)
{
    int is_tied = !strncmp(line, "and ", 4), is_whole = !strncmp(line, "text ", 5);
    if (is_tied || is_whole || !strncmp(line, "with ", 5)) {
        const char *equals = strchr(line, '='), *name = line + (is_tied ? 4 : 5);
        int at = 0, length = equals ? (int)(equals - name) : 0;
        while (at < self->variant_count && (strncmp(self->variants[at].name, name, (size_t)length)
                                            || self->variants[at].name[length])) at++;
        if (at == MOST_VARIANTS || !equals || length >= NAME_BYTES || at < is_tied) return 0;
        for (const char *value = equals + 1; *value; value += strcspn(value, "|"), value += *value == '|')
            if (strcspn(value, "|") >= WORD_BYTES || strlen(equals) > sizeof self->variants[at].values) return 0;
        variant *made = &self->variants[at];
        self->variant_count += at == self->variant_count;
        made->is_tied = is_tied;
        made->is_whole = is_whole;
        snprintf(made->name, sizeof made->name, "%.*s", length, name);
        snprintf(made->values, sizeof made->values, "%s", equals + 1);
    } else if (!strncmp(line, "fails ", 6)) snprintf(self->fails, sizeof self->fails, "%s", line + 6);
    else if (!strncmp(line, "turn ", 5)) snprintf(self->turn, sizeof self->turn, "%s", line + 5);
    else if (!strncmp(line, "orders ", 7)) self->orders = strtoull(line + 7, NULL, 10);
    else return 0;
    return 1;
}

/* The file's text, to be freed. NULL: it cannot be read. */
static char *read_whole(const char *name)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(name, "r");
    char *text = file ? malloc(MOST) : NULL;
    size_t length = text ? fread(text, 1, MOST - 1, file) : 0;
    if (text) text[length] = '\0';
    if (file) fclose(file);
    return text;
}

/* What stands before the first case is the beginning of every case. */
static void run_file(const char *name)
{
    static script_case made, first;
    char *text = read_whole(name), *line = text;
    int number = 0, begun = 0;
    if (!text) {
        CHECK_MSG(0, "%s cannot be read", name);
        return;
    }
    memset(&made, 0, sizeof made);
    made.file = name;
    for (char *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end) *end = '\0';
        number++;
        char *comment = strchr(line, '#');
        if (comment) *comment = '\0';
        while (*line == ' ' || *line == '\t') line++;
        if (!strncmp(line, "case ", 5)) {
            if (begun) run_case(&made);
            else first = made;
            made = first;
            snprintf(made.title, sizeof made.title, "%s", line + 5);
            begun = 1;
        } else if (*line && !read_head(&made, line)) {
            if (made.line_count == MOST_LINES) {
                CHECK_MSG(0, "%s:%d: a case has %d lines at most", name, number, MOST_LINES);
                break;
            }
            made.lines[made.line_count] = line;
            made.numbers[made.line_count++] = number;
        }
    }
    if (begun) run_case(&made);
    else CHECK_MSG(0, "%s has no case", name);
    free(text);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* A new text of both, with / between. */
static char *joined(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s/%s", folder, name);
    return text;
}

/* All scripts of the folders whose names have this part. */
static void run_folders(const char *const *folders, size_t folder_count, const char *part)
{
    char *names[MOST_FILES];
    int count = 0;
    for (size_t at = 0; at < folder_count; at++) {
        DIR *opened = opendir(folders[at]);
        if (!CHECK_MSG(opened != NULL, "the folder of scripts is read")) return;
        for (struct dirent *entry; (entry = readdir(opened)) != NULL && count < MOST_FILES;)
            if (strstr(entry->d_name, ".script") && strstr(entry->d_name, part))
                names[count++] = joined(folders[at], entry->d_name);
        closedir(opened);
    }
    CHECK_MSG(count > 0, "there are scripts");
    qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int at = 0; at < count; at++) {
        run_file(names[at]);
        free(names[at]);
    }
}

/* The scripts that are named, or those with a part in their names, or all. */
static void run_scripts(const char *const *folders, size_t folder_count, int argc, char **argv)
{
    for (int at = 1; at < argc; at++)
        if (strchr(argv[at], '/')) run_file(argv[at]);
        else run_folders(folders, folder_count, argv[at]);
    if (argc == 1) run_folders(folders, folder_count, "");
}

#endif

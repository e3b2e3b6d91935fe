/* Runs scripts: cases and their variants, turns, threads, files. It must not know single commands.
   Included by test_scripts.c and test_schedules.c. */
#ifndef TESTS_SCRIPT_FILES_H
#define TESTS_SCRIPT_FILES_H

#include <dirent.h>

#include "script_run.h"

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests"
#endif

enum { MOST_LINES = 1000, MOST_VARIANTS = 8, MOST_TURNS = 1000 };

typedef struct variant {
    char name[NAME_BYTES], values[WORD_BYTES * 2], value[WORD_BYTES];        /* value: of this run */
    int is_tied;                                 /* it has its nth value where the one before has its nth */
    int count;                                   /* of values; of a `text` 1, in which | divides nothing */
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
static void put_values(char line[LINE_BYTES], const script_case *self, const char *text)
{
    char next[LINE_BYTES];
    snprintf(line, LINE_BYTES, "%s", text);
    for (int at = 0; at < self->variant_count; at++) {
        put_in(next, line, self->variants[at].name, self->variants[at].value);
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
    set_turn(nth);
    if (threads.run) threads.run(texts, count);
    else blame("this program runs no threads");
    device.fault_count = 0;
    bury_arenas();
    threads.ran = 1;
    for (int at = 0; at < world.arena_count && threads.has_reset; at++) count_freed(at);
    threads.has_reset = 0;
    audit();
    threads.ran = 0;
}

static void run_once(const script_case *self, uint64_t nth)
{
    char line[LINE_BYTES];
    for (int at = 0; at < self->line_count && !place.trouble[0]; at++) {
        place.line = self->numbers[at];
        put_values(line, self, self->lines[at]);
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

/* Run number nth, to its end. 1: a call was struck. */
static int run_turn(const script_case *self, uint64_t nth)
{
    enum { FAIL_AMONG = 14 };                    /* in orders: the first so many calls */
    threads.seed = nth;
    run_once(self, self->orders ? 1 + nth / 4 % FAIL_AMONG : nth);
    int struck = turn_struck();
    end_world();
    size_t length = strlen(place.trouble);
    if (length && (turn.is_on || self->orders))
        snprintf(place.trouble + length, sizeof place.trouble - length, " (%s %" PRIu64 ")",
                 self->orders ? "GPUARENA_SCHEDULE:" : "call", nth);
    drop_world();
    return struck;
}

/* The case is run once; or until none of its calls is left that could fail; or in so many orders of its threads, in
   which calls fail by their number. GPUARENA_SCHEDULE=N: in this order alone, behind order 0, which says how long
   orders are. */
static void run_turns(const script_case *self)
{
    char text[LINE_BYTES];
    uint64_t first = self->orders ? 0 : 1, last = 1, struck_count = 0;
    int is_sure = !strchr(self->turn, '$'), alone = self->orders && getenv("GPUARENA_SCHEDULE");
    put_values(text, self, self->turn);
    read_turn(text);
    if (turn.is_on) last = MOST_TURNS;
    if (self->orders) last = self->orders * tap_number("GPUARENA_SCHEDULES", 2000) / 2000;
    if (alone) last = tap_number("GPUARENA_SCHEDULE", 0);
    for (uint64_t nth = first; nth <= last && !place.trouble[0]; nth = alone && nth < last ? last : nth + 1) {
        int struck = run_turn(self, nth);
        struck_count += (uint64_t)struck;
        if (self->orders || struck) continue;
        if (turn.is_on && is_sure && nth < 4) blame("fewer than 3 calls failed in turn");
        break;
    }
    if (self->orders && !alone && !threads.distinct) blame("orders of no threads");
    if (self->orders && !alone && turn.is_on && is_sure && !struck_count) blame("no call failed in any order");
    memset(&turn, 0, sizeof turn);
}

/* With the values that the variants have now; `shown` tells them. One line of TAP. */
static void run_variant(const script_case *self, const char *shown)
{
    char orders[60] = "";
    place.trouble[0] = '\0';
    place.file = self->file;
    place.line = self->line_count ? self->numbers[0] : 0;
    threads.distinct = 0;
    run_turns(self);
    if (self->orders) snprintf(orders, sizeof orders, ": %" PRIu64 " different orders", threads.distinct);
    int as_wanted = self->fails[0] ? strstr(place.trouble, self->fails) != NULL : !place.trouble[0];
    const char *file = strrchr(self->file, '/');
    tap_ok(as_wanted, self->file, self->line_count ? self->numbers[0] : 0, "%s: %s%s%s",
           file ? file + 1 : self->file, self->title, shown, orders);
    if (as_wanted) return;
    if (self->fails[0]) printf("#   it should fail with: %s\n", self->fails);
    if (place.trouble[0]) printf("#   %s\n", place.trouble);
    if (self->orders) threads.told();
}

/* Every combination of what `with` lists. */
static void run_case(script_case *self)
{
    char shown[WORD_BYTES * 2];
    int total = 1;
    for (int at = 0; at < self->variant_count; at++)
        if (!self->variants[at].is_tied) total *= self->variants[at].count;
    for (int number = 0; number < total; number++) {
        int rest = number, nth = 0;
        size_t length = 0;
        shown[0] = '\0';
        for (variant *of = self->variants; of < self->variants + self->variant_count; of++) {
            const char *value = of->values;
            if (!of->is_tied) {
                nth = rest % of->count;
                rest /= of->count;
            }
            for (int skip = nth; skip && *value; value++) skip -= *value == '|';
            snprintf(of->value, WORD_BYTES, "%.*s", (int)strcspn(value, of->count > 1 ? "|" : ""), value);
            if (of->count > 1)
                length += (size_t)snprintf(shown + length, sizeof shown - length, ", %s=%.60s", of->name, of->value);
        }
        run_variant(self, shown);
    }
}

/* ---- files */

/* Takes a line `with NAME=VALUE|VALUE`, `and ..` or `text ..`; an earlier one of this name is forgotten. 0: bad. */
static int read_variant(script_case *self, const char *line)
{
    const char *name = line + strcspn(line, " ") + 1, *equals = strchr(name, '=');
    int at = 0, length = equals ? (int)(equals - name) : NAME_BYTES, is_tied = line[0] == 'a';
    while (at < self->variant_count && (strncmp(self->variants[at].name, name, (size_t)length)
                                        || self->variants[at].name[length])) at++;
    if (at == MOST_VARIANTS || length >= NAME_BYTES || at < is_tied
        || strlen(equals) > sizeof self->variants[at].values) return 0;
    variant *made = &self->variants[at];
    self->variant_count += at == self->variant_count;
    made->is_tied = is_tied;
    made->count = 1;
    for (const char *mark = equals; *mark && line[0] != 't'; mark++) made->count += *mark == '|';
    snprintf(made->name, sizeof made->name, "%.*s", length, name);
    snprintf(made->values, sizeof made->values, "%s", equals + 1);
    return 1;
}

/* Takes a line that says something of the case. 0: it is one of commands. */
static int read_head(script_case *self, const char *line)
{
    if (!strncmp(line, "with ", 5) || !strncmp(line, "and ", 4) || !strncmp(line, "text ", 5))
        return read_variant(self, line);
    if (!strncmp(line, "fails ", 6)) snprintf(self->fails, sizeof self->fails, "%s", line + 6);
    else if (!strncmp(line, "turn ", 5)) snprintf(self->turn, sizeof self->turn, "%s", line + 5);
    else if (!strncmp(line, "orders ", 7)) self->orders = strtoull(line + 7, NULL, 10);
    else return 0;
    return 1;
}

/* What stands before the first case is the beginning of every case. */
static void run_lines(const char *name, char *text)
{
    static script_case made, first;
    int number = 0, begun = 0;
    memset(&made, 0, sizeof made);
    made.file = name;
    for (char *end, *line = text; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end) *end = '\0';
        number++;
        line[strcspn(line, "#")] = '\0';
        line += strspn(line, " \t");
        if (!strncmp(line, "case ", 5)) {
            if (begun++) run_case(&made);
            else first = made;
            made = first;
            snprintf(made.title, sizeof made.title, "%s", line + 5);
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
}

static void run_file(const char *name)
{
    static char text[1 << 20];
    FILE *file = fopen(name, "r");
    if (!file) {
        CHECK_MSG(0, "%s cannot be read", name);
        return;
    }
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    run_lines(name, text);
}

static const char *wanted_part;                  /* of the names of files */

static int is_wanted(const struct dirent *entry)
{
    return strstr(entry->d_name, ".script") && strstr(entry->d_name, wanted_part);
}

/* The scripts that are named, or those of the folders with a part in their names, or all. */
static void run_scripts(const char *const *folders, size_t folder_count, int argc, char **argv)
{
    for (int at = argc > 1; at < argc; at++) {
        int ran = 0;
        wanted_part = at ? argv[at] : "";
        for (size_t in = 0; in < folder_count && !strchr(wanted_part, '/'); in++) {
            struct dirent **files;
            int count = scandir(folders[in], &files, is_wanted, alphasort);
            if (!CHECK_MSG(count >= 0, "the folder of scripts is read")) return;
            for (int file = 0; file < count; file++) {
                char name[1024];
                snprintf(name, sizeof name, "%s/%s", folders[in], files[file]->d_name);
                free(files[file]);
                run_file(name);
            }
            free(files);
            ran += count;
        }
        if (strchr(wanted_part, '/')) run_file(wanted_part);
        else CHECK_MSG(ran > 0, "there are scripts");
    }
}

#endif

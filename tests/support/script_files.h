/* Runs scripts: each case with its turns and threads, and all files of a folder. It must not know single commands.
   Included by test_scripts.c and test_schedules.c. */
#ifndef TESTS_SCRIPT_FILES_H
#define TESTS_SCRIPT_FILES_H

#include <glob.h>

#include "script_cases.h"
#include "script_run.h"

enum { MOST_TURNS = 1000 };

static char lines_now[MOST_LINES][LINE_BYTES];   /* lines of the case, with the present values of its variants */

static void set_turn(uint64_t nth)
{
    device_fault meant = { turn.entry, 0, nth, turn.length, 0, turn.code };
    if (turn.is_on && device.machine && !device.has_turn++) device.faults[device.fault_count++] = meant;
}

/* Lines with | are threads; lines with || go on with the thread above. Threads run side by side, and the command
   behind them waits for all. */
static char thread_texts[4][8 * LINE_BYTES];
static int thread_count;

static void read_thread(const char *line)
{
    int goes_on = line[1] == '|';
    if (goes_on ? !thread_count : thread_count == (int)COUNT(thread_texts)) {
        blame("there is one thread too many, or none that goes on");
        return;
    }
    char *text = thread_texts[goes_on ? thread_count - 1 : thread_count++];
    size_t length = goes_on ? strlen(text) : 0, most = sizeof thread_texts[0] - length;
    if ((size_t)snprintf(text + length, most, "%s; ", line + 1 + goes_on) >= most) blame("a thread is too long");
}

static void run_threads(uint64_t nth)
{
    char *texts[COUNT(thread_texts)];
    int count = thread_count;
    thread_count = 0;
    if (!count || place.trouble[0]) return;
    for (int at = 0; at < count; at++) texts[at] = thread_texts[at];
    set_turn(nth);
    if (!threads.run) blame("this program runs no threads");
    else if (threads.seed && !threads.is_known) blame("threads run side by side once in a case");
    threads.is_known = 0;
    if (!place.trouble[0]) threads.run(texts, count);
    device.fault_count = 0;
    bury_arenas();
    threads.ran = 1;
    for (int at = 0; at < world.arena_count && threads.has_reset; at++) count_freed(at);
    threads.has_reset = 0;
    if (!threads.is_known) audit();
    threads.ran = 0;
}

static void run_once(const script_case *self, uint64_t nth)
{
    for (int at = 0; at < self->line_count && !place.trouble[0]; at++) {
        const char *line = lines_now[at];
        place.line = self->numbers[at];
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

/* Runs the turn or order of number nth, to its end. 1: a call was struck. */
static int run_turn(const script_case *self, uint64_t nth)
{
    enum { FAIL_AMONG = 14 };                    /* in orders a fault strikes one of the first FAIL_AMONG calls */
    threads.seed = nth;
    threads.is_known = self->orders && nth;
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

/* Runs the case once; or until none of its calls is left that could fail; or in `orders` orders of its threads, in
   which calls fail by their number. An order whose plan equals that of an earlier one is left out.
   GPUARENA_SCHEDULE=N: runs this order alone, behind order 0, which shows the length of orders. */
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
        if (self->orders && nth && !alone && !turn.is_on && threads.repeats(nth)) continue;
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

static int run_values(const script_case *self, char note[NOTE_BYTES])
{
    threads.distinct = 0;
    for (int at = 0; at < self->line_count; at++) put_values(lines_now[at], self, self->lines[at]);
    run_turns(self);
    if (self->orders) snprintf(note, NOTE_BYTES, ": %" PRIu64 " different orders", threads.distinct);
    if (self->orders && place.trouble[0] && !self->fails[0]) threads.told();
    return 1;
}

/* ---- files */

/* Runs the scripts that are named, or those of the folders with a part in their names, or all. */
static void run_scripts(const char *const *folders, size_t folder_count, int argc, char **argv)
{
    for (int at = argc > 1; at < argc; at++) {
        const char *part = at ? argv[at] : "";
        glob_t found;
        for (size_t in = 0; in < folder_count; in++) {
            char pattern[1024];
            snprintf(pattern, sizeof pattern, "%s/*%s*.script", folders[in], part);
            int code = glob(pattern, GLOB_ERR | (in ? GLOB_APPEND : 0), NULL, &found);
            CHECK_MSG(code == 0 || code == GLOB_NOMATCH, "the folder of scripts is read");
        }
        for (size_t file = 0; file < found.gl_pathc; file++) run_file(found.gl_pathv[file]);
        if (strchr(part, '/')) run_file(part);
        else CHECK_MSG(found.gl_pathc > 0, "there are scripts");
        globfree(&found);
    }
}

#endif

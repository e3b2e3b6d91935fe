/* What rows come to in words: the least, ties, one policy, failures, repeats, baselines.
   It must not run anything: rows are made up. */
#include "stress/report/verdict.h"
#include "tap.h"

enum { MOST = 8 };

static row      rows[MOST];
static row_list list;
static char     text[VERDICT_ROOM];

static void begin(void)
{
    memset(rows, 0, sizeof rows);
    memset(&list, 0, sizeof list);
    list.rows = rows;
}

/* requested at its peak: 1000 MiB. */
static row *add(const char *workload, const char *policy, const char *status, unsigned mebibytes, unsigned calls)
{
    row *made = &rows[list.count++];
    row_text(made, COLUMN_WORKLOAD, workload);
    row_text(made, COLUMN_POLICY, policy);
    row_text(made, COLUMN_STATUS, status);
    row_count(made, COLUMN_RESERVED_PEAK, (uint64_t)mebibytes << 20);
    row_count(made, COLUMN_REQUESTED_PEAK, (uint64_t)1000 << 20);
    row_count(made, COLUMN_DRIVER_CALLS, calls);
    return made;
}

static void test_several(void)
{
    begin();
    add("train", "lavish", "ok", 1100, 10);
    add("train", "thrifty", "ok", 1002, 500);
    add("uniform", "lavish", "ok", 1010, 10);
    add("uniform", "thrifty", "ok", 1010, 10);
    CHECK_STR(verdict_line(&list, 0, text),
              "train: least memory thrifty, 1002 MiB, +0.2 %; fewest driver calls lavish, 10, +9.8 % memory");
    CHECK_U64(verdict_next(&list, 0), ==, 2);
    CHECK_STR(verdict_line(&list, 2, text), "uniform: all take the same memory, 1010 MiB, +1.0 %; all make the same "
              "number of driver calls, 10");
    CHECK_U64(verdict_next(&list, 2), ==, 4);
}

static void test_ties(void)
{
    begin();
    add("w", "c", "ok", 1500, 7);
    add("w", "a", "ok", 1010, 7);
    add("w", "b", "ok", 1010, 9);
    CHECK_STR(verdict_line(&list, 0, text),
              "w: least memory a and b, 1010 MiB, +1.0 %; fewest driver calls c and a, 7");
    begin();
    add("w", "a", "ok", 1010, 7);
    add("w", "b", "ok", 1020, 9);
    CHECK_STR(verdict_line(&list, 0, text), "w: least memory and fewest driver calls a, 1010 MiB, +1.0 %, 7 calls");
    begin();
    for (unsigned at = 0; at < 7; at++) add("w", &"a\0b\0c\0d\0e\0f\0g"[2 * at], "ok", at ? 1010 : 1020, at);
    CHECK_STR(verdict_line(&list, 0, text),
              "w: least memory b, c, d and 3 others, 1010 MiB, +1.0 %; fewest driver calls a, 0, +1.0 % memory");
}

static void test_failures(void)
{
    begin();
    row_count(add("w", "a", "oom", 900, 7), COLUMN_OOM_OP, 42);
    CHECK_STR(verdict_line(&list, 0, text), "w: a ran out of memory at operation 42");
    add("w", "b", "oom", 900, 7);
    CHECK_STR(verdict_line(&list, 0, text), "w: no policy completes: a and b ran out of memory");
    add("w", "c", "ok", 1100, 1);
    CHECK_STR(verdict_line(&list, 0, text),
              "w: only c completes, with 1.07 GiB, +10.0 %, and 1 driver call; a and b ran out of memory");
    add("w", "d", "verify_failed", 0, 0);
    add("w", "e", "error", 0, 0);
    add("w", "f", "skipped", 0, 0);
    CHECK_STR(verdict_line(&list, 0, text),
              "w: only c completes, with 1.07 GiB, +10.0 %, and 1 driver call; a and b ran out of memory; "
              "d failed verification; e failed; f did not run");
}

static void test_one_policy(void)
{
    begin();
    add("w", "raw", "ok", 1000, 1)->is_baseline = 1;
    CHECK_STR(verdict_line(&list, 0, text), "");
    add("w", "a", "ok", 1050, 7);
    add("w", "a", "ok", 1050, 7);
    CHECK_STR(verdict_line(&list, 0, text), "w: a takes 1.03 GiB, +5.0 %, and makes 7 driver calls");
}

/* The same policy again and again is one; what it took may vary, on a GPU. */
static void test_repeats(void)
{
    begin();
    add("w", "a", "ok", 1050, 7);
    add("w", "b", "ok", 1010, 9);
    add("w", "a", "ok", 1050, 7);
    add("w", "b", "ok", 1012, 9);
    CHECK_STR(verdict_line(&list, 0, text),
              "w: least memory b, 1010 MiB, +1.0 %; fewest driver calls a, 7, +4.0 % memory");
}

/* Rows that were read from a file may lack anything. */
static void test_little(void)
{
    begin();
    add("w", "a", "ok", 1, 1)->cells[COLUMN_DRIVER_CALLS].kind = CELL_NONE;
    CHECK_STR(verdict_line(&list, 0, text), "");
    rows[0].cells[COLUMN_WORKLOAD].kind = CELL_NONE;
    rows[0].cells[COLUMN_WORKLOAD].text = NULL;
    CHECK_STR(verdict_line(&list, 0, text), "");
    begin();
    add("w", "a", "ok", 1, 1)->cells[COLUMN_REQUESTED_PEAK].kind = CELL_NONE;
    CHECK_STR(verdict_line(&list, 0, text), "w: a takes 1.00 MiB, and makes 1 driver call");
}

int main(void)
{
    test_little();
    test_several();
    test_ties();
    test_failures();
    test_one_policy();
    test_repeats();
    return tap_done();
}

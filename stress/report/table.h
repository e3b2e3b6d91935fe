/* Rows for people: texts of cells, columns, sentences; and the table: one line for each row, as many columns as the
   terminal has room for, and below it a line for each workload; ASCII.
   Knows nothing of files. */
#ifndef STRESS_REPORT_TABLE_H
#define STRESS_REPORT_TABLE_H

#include "../device/cuda_environment.h"
#include "../result/gate.h"

typedef struct table_style {
    size_t width;                                /* columns of the terminal; lines are never longer */
    int    color;
} table_style;

/* choice: "auto", "always" or "never": NO_COLOR and FORCE_COLOR (set and not empty) go before the terminal test.
   Width: COLUMNS, else the terminal's, else 120. */
table_style table_style_for(FILE *out, const char *choice);

/* environment NULL: the device is simulated. Write errors: ferror(out). */
void table_write(FILE *out, const row_list *list, const cuda_environment *environment, const table_style *style);

/* For the first of several rows of a case: ", 6 times: host ns/op 31.2 [30.8,31.9]; ..", with median and interval of
   their times, and percentiles of all their allocations. "" for any other row. Returns text. */
const char *table_repeats(const case_index *in, size_t row_index, char *text, size_t size);

/* ---- Cells and columns: their texts, and their rank */

typedef enum table_show {                        /* the form of a cell's text; an empty cell shows "-" */
    SHOW_CELL, SHOW_NAME, SHOW_POLICY, SHOW_BYTES,
    SHOW_SOME,                                   /* like CELL, but "-" for 0 and for dull values */
    SHOW_NUMBER, SHOW_TIME, SHOW_OVERHEAD,       /* the row's number in this column */
    SHOW_SHARE,                                  /* of memory, if it ran out: otherwise many pieces do no harm */
    SHOW_INTERVAL                                /* [0.2134,0.2210]: from this column to RATIO_HIGH */
} table_show;

enum table_flag {                                /* bits */
    TABLE_TEXT = 1,                              /* left-aligned */
    TABLE_TIME = 2,                              /* measured on this machine */
    TABLE_OPTIONAL = 4,                          /* not shown if no row has anything in it */
    TABLE_LEAST = 8                              /* the least of a workload is best */
};
enum { TABLE_MOST = 20 };                        /* columns of a table */
typedef struct table_column {
    const char *heading;
    table_show  show;
    row_column  column;
    unsigned    flags;
    int         rank;                            /* 0: always shown; the highest is dropped first */
    const char *note;                            /* in the legend, behind the heading; NULL: none */
} table_column;

/* The column's text of this row. Returns text, or another one. */
const char *table_fill(const table_column *of, const row *shown, char *text, size_t size);
int         table_is_used(const row_list *list, const table_column *column);  /* 0: optional, and empty in all rows */
/* The columns of this command's table, in order, at most TABLE_MOST; then one without a heading. */
const table_column *table_columns(row_kind kind);
/* The best cells of one workload at a time: a list is looked through once where its rows are asked for in order. */
enum { TABLE_BEST_ROOM = 64 };
typedef struct table_best {                      /* zeroed but for list */
    const row_list *list;
    size_t first, end;                           /* the rows of the workload that was asked for last */
    char   texts[TABLE_MOST][TABLE_BEST_ROOM];   /* of its best cells, by column; "": none is better than others */
} table_best;
/* 1: no complete row of the workload has a better cell in this column, and one has a worse. column: of the list's
   table_columns. */
int    table_is_best(table_best *self, size_t row_index, const table_column *column);

/* The name of a workload or policy for the table. Paths keep their end, which tells them apart; long names are cut.
   Returns text, of at least 1,024 bytes. */
const char *table_name(const char *name, char *text, size_t size);
/* Cuts a text to so many bytes. The last two are then "..". */
void        table_cut(char *text, size_t room);
int         table_is_ok(const row *shown);
/* Tells whether a value is not shown to people: a single thread, and fragmentation unless memory ran out. */
int         table_is_dull(const row *shown, row_column column);
/* The excess of the reserved peak over the requested one: "+0.2 %". */
const char *table_overhead(const row *shown, char *text, size_t size);
/* The sentence below the table for this row: the reason of its end, or its failure; "": there is none. */
const char *table_why(const row *shown, row_kind kind);

/* ---- The verdict on the rows of `run` in words: one line for each workload, for the terminal and for reports */

enum { VERDICT_ROOM = 4096 };

/* Makes the line of the next workload that has one, from row *at on, which is 0 at first: "train: least memory paged,
   31.2 GiB, +0.2 %; fewest driver calls segments, 128, +10 % memory". Rows added for the table alone do not count. 0:
   there is no further line. */
int verdict_take(const row_list *list, size_t *at, char text[VERDICT_ROOM]);

#endif

/* The figures of a report: which there are of rows, and each as an <svg> element. A number that stands in one is a
   row's cell, which the element names (data-row: from 0, as files number them; data-column; data-value: as the CSV
   has it); points of lines are rows of the `series` and `latency` files.
   Knows nothing of documents. */
#ifndef STRESS_REPORT_FIGURE_H
#define STRESS_REPORT_FIGURE_H

#include <stdio.h>

#include "../result/row.h"
#include "plot.h"

typedef enum figure_kind {
    FIGURE_OVERHEAD,                             /* of a workload: peak memory over what was requested, by policy */
    FIGURE_MAP, FIGURE_MEMORY,                   /* of a row: time x addresses; bytes over time */
    FIGURE_IDLE, FIGURE_FRAGMENTATION,           /* of a workload: shares over time, by policy */
    FIGURE_LATENCY,                              /* of a workload: percentiles, by policy */
    FIGURE_CAPACITY,                             /* of a workload: the smallest limit, by policy */
    FIGURE_BATCH,                                /* of a workload: the largest batch, by policy */
    FIGURE_HOLES_NS, FIGURE_HOLES_INSTRUCTIONS   /* cost of a pair against holes, by policy */
} figure_kind;

typedef struct figure {
    figure_kind  kind;
    size_t       first, count;                   /* rows of the list: the workload's, or the one */
} figure;

/* What figures need beside their rows. */
typedef struct figure_sheet {
    const row_list *list;
    size_t          map_bytes;                   /* about what a map may take in the document */
    unsigned        grain;                       /* of lines over time: units with at most four points */
    size_t          told_blocks;                 /* so many blocks of a map say what they are when pointed at */
} figure_sheet;

/* The figures of rows, in order; those of the first FIGURE_MOST_ROWS or so. *left_out: rows without. Free it. */
enum { FIGURE_MOST_ROWS = 32 };
figure *figure_list(const row_list *list, size_t *count, size_t *left_out);

/* 1: it begins a set, which is laid out together: the figures of a workload, or those of one row. */
int figure_begins(const figure *figures, size_t at);

/* What a document of so many bytes' worth of maps can have; told_blocks: 0. */
figure_sheet figure_sheet_for(const row_list *list, const figure *figures, size_t count, size_t maps_bytes);
void figure_write(FILE *out, const figure_sheet *sheet, const figure *shown, unsigned number, const char *placement);

/* ---- for the figures' files */

/* "train / paged: memory"; without the policy, unless is_row. The words must outlive the frame. */
typedef struct figure_words { char title[1200], heading[128]; } figure_words;
void figure_title(plot_frame *frame, figure_words *words, const row *shown, int is_row, const char *what);
/* The most of these rows, and at least 1: where their axes end. */
typedef struct figure_most { uint64_t ops, axis_bytes, reserved_bytes; } figure_most;
figure_most figure_most_of(const row_list *list, size_t first, size_t count);
/* A text that stands for cells of a row, piece by piece: begin, numbers, end. as: how the number is shown. */
void figure_text_begin(const plot *on, double x, double y, const char *anchor);
void figure_number(const plot *on, const figure_sheet *sheet, size_t row_index, row_column column, const char *before,
                   const char *as, const char *after);
void figure_text_end(const plot *on);
/* Marks and names where steps begin, above the plot area; room: before axes are drawn. */
void figure_steps_room(plot *on, const struct record *drawn);
void figure_steps(const plot *on, const struct record *drawn);

typedef void figure_write_fn(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame);
figure_write_fn figure_map;

#endif

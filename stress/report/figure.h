/* The figures of a report: the list of figures for rows, and each as an <svg> element. A number in a figure is a
   row's cell, which the element names (data-row: the row's number in files, from 0; data-column; data-value: the
   CSV's text). Points of lines are rows of the `series` and `latency` files.
   Knows nothing of documents. */
#ifndef STRESS_REPORT_FIGURE_H
#define STRESS_REPORT_FIGURE_H

#include "../result/row.h"
#include "plot.h"

typedef enum figure_kind {                       /* up to HOLES: of all rows of a workload, by policy */
    FIGURE_OVERHEAD,                             /* peak memory over the requested peak */
    FIGURE_LATENCY,                              /* percentiles */
    FIGURE_FRAGMENTATION, FIGURE_IDLE,           /* shares over time */
    FIGURE_CAPACITY, FIGURE_BATCH,               /* the smallest limit, the largest batch */
    FIGURE_HOLES_NS, FIGURE_HOLES_INSTRUCTIONS,  /* cost of a pair against holes */
    FIGURE_MAP, FIGURE_MEMORY                    /* of one row: time x addresses; bytes over time */
} figure_kind;

typedef struct figure {
    figure_kind  kind;
    size_t       first, count;                   /* rows of the list: the workload's, or one row */
} figure;

/* The figures of rows, and the settings of their drawing. */
enum { FIGURE_MOST_ROWS = 32 };
typedef struct figure_sheet {
    const row_list *list;
    int             is_maps;                     /* 1: maps alone */
    figure         *figures;                     /* in order, those of about the first FIGURE_MOST_ROWS rows */
    size_t          count, map_count;            /* map_count: the maps among the figures */
    size_t          left_out;                    /* rows without figures */
    size_t          map_bytes;                   /* the approximate size that a map may have in the document */
    unsigned        grain;                       /* of lines over time: units with at most four points */
    size_t          told_blocks;                 /* blocks of a map that show words when pointed at; 0 at first */
} figure_sheet;

/* Makes the sheet of a document in which maps may take so many bytes. Free its figures. */
figure_sheet figure_sheet_of(const row_list *list, int is_maps, size_t maps_bytes);
/* Tells whether a figure begins a set that is laid out together: the figures of a workload, or those of one row, or
   all maps. */
int  figure_begins(const figure_sheet *sheet, size_t at);
/* placement: further attributes of its element; "": none. */
void figure_write(FILE *out, const figure_sheet *sheet, size_t at, const char *placement);

/* Makes "train / paged: memory", without the policy unless is_row. heading: the title as far as it fits. */
typedef struct figure_words { char title[1200], heading[128]; } figure_words;
void figure_title(figure_words *words, const row *shown, int is_row, const char *what);

#endif

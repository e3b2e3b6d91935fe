/* The figures of a report: which there are of rows, and each as an <svg> element. A number that stands in one is a
   row's cell, which the element names (data-row: from 0, as files number them; data-column; data-value: as the CSV
   has it); points of lines are rows of the `series` and `latency` files.
   Knows nothing of documents. */
#ifndef STRESS_REPORT_FIGURE_H
#define STRESS_REPORT_FIGURE_H

#include "../result/row.h"
#include "plot.h"

typedef enum figure_kind {                       /* of a workload's rows together, by policy .. */
    FIGURE_OVERHEAD,                             /* peak memory over what was requested */
    FIGURE_LATENCY,                              /* percentiles */
    FIGURE_FRAGMENTATION, FIGURE_IDLE,           /* shares over time */
    FIGURE_CAPACITY, FIGURE_BATCH,               /* the smallest limit, the largest batch */
    FIGURE_HOLES_NS, FIGURE_HOLES_INSTRUCTIONS,  /* cost of a pair against holes */
    FIGURE_MAP, FIGURE_MEMORY                    /* .. and of a row: time x addresses; bytes over time */
} figure_kind;

typedef struct figure {
    figure_kind  kind;
    size_t       first, count;                   /* rows of the list: the workload's, or the one */
} figure;

/* The figures of rows, and what they need beside these. */
enum { FIGURE_MOST_ROWS = 32 };
typedef struct figure_sheet {
    const row_list *list;
    int             is_maps;                     /* of maps alone */
    figure         *figures;                     /* in order, those of the first FIGURE_MOST_ROWS or so */
    size_t          count, map_count;            /* map_count: of them, maps */
    size_t          left_out;                    /* rows without */
    size_t          map_bytes;                   /* about what a map may take in the document */
    unsigned        grain;                       /* of lines over time: units with at most four points */
    size_t          told_blocks;                 /* so many blocks of a map say what they are when pointed at: 0 */
} figure_sheet;

/* For a document of so many bytes' worth of maps. Free its figures. */
figure_sheet figure_sheet_of(const row_list *list, int is_maps, size_t maps_bytes);
/* 1: it begins a set, which is laid out together: the figures of a workload, or those of one row, or all maps. */
int  figure_begins(const figure_sheet *sheet, size_t at);
/* placement: further attributes of its element; "": none. */
void figure_write(FILE *out, const figure_sheet *sheet, size_t at, const char *placement);

/* "train / paged: memory"; without the policy, unless is_row. heading: the title as far as it fits. */
typedef struct figure_words { char title[1200], heading[128]; } figure_words;
void figure_title(figure_words *words, const row *shown, int is_row, const char *what);

#endif

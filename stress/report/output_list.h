/* All that a command writes: its files, and the table for people, on whichever of stdout and stderr is left.
   Knows nothing of how rows are made. Tested by tests/cli.t and tests/run.t. */
#ifndef STRESS_REPORT_OUTPUT_LIST_H
#define STRESS_REPORT_OUTPUT_LIST_H

#include "output.h"

typedef struct output_list {                     /* zeroed: nothing */
    output *items;
    size_t  count;
    int     takes_stdout;                        /* a file does: the table goes to stderr */
} output_list;

/* The texts of --out. -1 and a problem: EXIT_USAGE, also where two are stdout. output_list_free in both cases. */
int  output_list_parse(output_list *self, char *const *texts, size_t count, const char *command, problem *why);
void output_list_free(output_list *self);

/* Before anything runs: each can be written, is a file of its own, and none that the command reads. */
int  output_list_try(const output_list *self, const cli *asked, problem *why);
/* Every file, whatever becomes of another; then, unless quiet, the table. color: as table_style_for. */
int  output_list_write(const output_list *self, const output_material *material, int is_quiet, const char *color,
                       problem *why);

#endif

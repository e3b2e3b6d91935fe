/* Files of a command: --out KIND=PATH. Tried before anything runs, written at the end, every write error noticed.
   Knows nothing of how rows are made. */
#ifndef STRESS_REPORT_OUTPUT_H
#define STRESS_REPORT_OUTPUT_H

#include <stdio.h>

#include "writers.h"

struct plan;

const output_kind *output_kind_at(size_t index); /* NULL past the last */

typedef struct output {
    const output_kind *kind;
    const char        *path;                     /* "-": stdout */
    int                is_new;                   /* nothing was there before it was tried */
} output;

/* Flushes stdout or stderr: -1 and a problem, EXIT_HARNESS, if anything written to it was lost. */
int output_finish(FILE *ours, problem *why);

/* ---- All that a command writes: its files, and the table for people, on whichever of stdout and stderr is left */

typedef struct output_list {                     /* zeroed: nothing */
    output *items;
    size_t  count;
    int     takes_stdout;                        /* a file does: the table goes to stderr */
} output_list;

/* The texts of --out, of the kinds that the command writes. -1 and a problem: EXIT_USAGE, also where two are stdout.
   output_list_free in both cases. */
int  output_list_parse(output_list *self, char *const *texts, size_t count, const char *command, problem *why);
void output_list_free(output_list *self);

/* Before anything runs: each can be written, is a file of its own, and none that the command reads: as options say,
   or a workload of the plan, which may be NULL. What a file holds stays. */
int  output_list_try(const output_list *self, const cli *asked, const struct plan *of, problem *why);
/* Every file, whatever becomes of another; of rows, without baselines, the step summary too, where there is one:
   Markdown for people who look at a job's page, added to the file that GITHUB_STEP_SUMMARY names. EXIT_HARNESS: not
   all of it arrived. */
int  output_list_files(const output_list *self, const output_material *material, problem *why);
/* Those; then, unless quiet, the table. color: as table_style_for. */
int  output_list_write(const output_list *self, const output_material *material, int is_quiet, const char *color,
                       problem *why);

#endif

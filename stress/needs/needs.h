/* Needs: what people ask of GPU memory, each shown by a scenario that is run against one policy and measured.
   `-w needs:NAME`, `-w needs`: all. A new one is a row in needs.c, a function in a file beside it, and a claim.
   Knows nothing of files or the command line. Tested by tests/needs.t. */
#ifndef STRESS_NEEDS_NEEDS_H
#define STRESS_NEEDS_NEEDS_H

#include <stdio.h>

#include "../run/runner.h"
#include "scene.h"

typedef struct need {
    const char *text;                            /* as -w has it: "needs:limit" */
    void      (*act)(scene *self);
    const char *sentence;                        /* when it passes */
} need;
const need *need_at(size_t index);               /* NULL past the last */
const char *need_name(const need *self);         /* "limit" */

int needs_names(const char *item);               /* 1: an item of -w is "needs", or begins with "needs:" */
/* Of such an item: the one that it names, *all 1: it names all (NULL). NULL and a problem, EXIT_USAGE: none has that
   name. */
const need *needs_find(const char *item, int *all, problem *why);

/* The row of this need and policy. A verdict is a result: the status is `ok` then, and `error` where the harness
   failed, with a note that says what. The row must not move after: its cells point into it. */
void needs_row(const need *self, const runner_job *job, const device_config *on, row *made,
               runner_outcome *outcome);

/* `stress list needs`: every claim, the scenario that answers it, and when that passes. */
void needs_list(FILE *out);

#endif

/* Progress of a run on stderr: one redrawn line on a terminal, else a line every 30 s. Signals that ask for an end
   are remembered, so that finished rows can be written. It must not know workloads or policies. */
#ifndef STRESS_BASE_PROGRESS_H
#define STRESS_BASE_PROGRESS_H

#include "program.h"

typedef enum progress_mode { PROGRESS_OFF, PROGRESS_LINES, PROGRESS_REDRAW } progress_mode;

typedef struct progress {
    progress_mode mode;
    const char   *label;                         /* of the row */
    size_t        row, row_count;                /* rows from 1 */
    uint64_t      shown_ns;                      /* when something was last printed */
    int           on_line;                       /* a redrawn line stands on the terminal */
} progress;

/* choice: "auto", "always" or "never". auto: a terminal that is not dumb, and under CI lines; else nothing. */
progress progress_start(const char *choice, int quiet, size_t row_count);
void     progress_row(progress *self, const char *label);                    /* the next row begins */
void     progress_update(progress *self, uint64_t done, uint64_t total);     /* cheap, yet not for every op */
void     progress_clear(progress *self);                                     /* before anything else is printed */

uint64_t progress_clock_ns(void);                                            /* monotonic, real time */

/* ---- Signals */

/* From now on SIGINT, SIGTERM and SIGHUP are remembered, each once: its second arrival ends the process, as if this
   had not been called. A signal that is ignored already (nohup) stays ignored. */
void        interrupt_catch(void);

int         interrupt_signal(void);              /* the one remembered, or 0; cheap */
void        interrupt_clear(void);               /* forgets it; that signal's next arrival still ends the process */
const char *interrupt_name(void);                /* "SIGINT"; "" without one */
int         interrupt_exit(void);                /* 128 + signal, the shells' exit code */

#endif

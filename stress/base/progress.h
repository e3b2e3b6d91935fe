/* How far the run is, on stderr: one line redrawn on a terminal, a line every 30 s where it is not one; and signals
   that ask for an end, remembered, so that what is finished can be written. It must not know what is run. */
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

/* From now on SIGINT, SIGTERM and SIGHUP are remembered, once: the second ends the process, as if this had not been
   called. One that is ignored already (nohup) stays ignored. */
void        interrupt_catch(void);

int         interrupt_signal(void);              /* the one remembered, or 0; cheap */
void        interrupt_clear(void);               /* it is forgotten; the next one ends the process all the same */
const char *interrupt_name(void);                /* "SIGINT"; "" without one */
int         interrupt_exit(void);                /* 128 + signal, as shells have it */

#endif

/* Threads that begin together, and the time from the first one's begin to the last one's end.
   Must not know what they do. */
#ifndef STRESS_BASE_CROWD_H
#define STRESS_BASE_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include "problem.h"

enum { CROWD_MOST = 64 };

typedef struct crowd_job {
    void (*warm)(void *member);                  /* on its thread, before any begins; NULL: nothing */
    void (*work)(void *member);
} crowd_job;

/* Each of the members, an array of so many (at most CROWD_MOST) of so many bytes, does the job on a thread of its
   own; returns when all have ended. *ns: what their work took. -1 and a problem: a thread cannot be started, and no
   work was done. */
int crowd_run(const crowd_job *job, void *members, size_t count, size_t bytes, uint64_t *ns, problem *why);

#endif

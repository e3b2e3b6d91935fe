/* The command line that shows a failure again: options that shape results, and no more.
   Knows nothing of how it was run. Tested by tests/cli.t, tests/shrink.t and tests/interrupt.t. */
#ifndef STRESS_RUN_REPRO_H
#define STRESS_RUN_REPRO_H

#include <stdio.h>

#include "../base/cli.h"

typedef struct repro {
    const char *program, *command;               /* argv[0]; "run", or what searches */
    const cli  *asked;
    const char *device;                          /* the one it was, where `auto` was asked for */
    const char *workload, *policy;
    int         is_recording;                    /* what shaped the generated workload is left out */
    uint64_t    times;                           /* --repeat; 0: none */
    uint64_t    ops;                             /* cut after so many allocations and frees; UINT64_MAX: as asked */
    uint64_t    limit_bytes, capacity_bytes;     /* beside --limit; instead of --device; 0: none */
    const char *faults;                          /* beside --faults; NULL or "": none */
} repro;

void repro_write(FILE *out, const repro *line);  /* "repro: ..", with its newline */

#endif

/* GPUARENA_SIM: the text that describes the machine of a process.
   It must not know of the CUDA runtime. The grammar is in ../README.md. */
#ifndef STRESS_CUDART_OPTIONS_H
#define STRESS_CUDART_OPTIONS_H

#include "../sim/costs.h"

enum { OPTIONS_TEXT = 4096 };                    /* of one value, at most, with its end */

typedef struct options {
    sim_config machine;                          /* device_count 0: none at all; costs and faults are not in it */
    uint64_t   work_ns;
    int        skips_kernels, findings_pass;
    sim_costs  costs;
    char       faults[OPTIONS_TEXT], report[OPTIONS_TEXT];
} options;

/* NULL or "": the defaults. -1 and a problem that names the key and the expected value, EXIT_USAGE. */
int options_read(const char *text, options *read, problem *why);

#endif

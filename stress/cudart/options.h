/* GPUARENA_SIM: the text that describes the machine of a process.
   It must not know of the CUDA runtime. The grammar is in cudart.h. */
#ifndef STRESS_CUDART_OPTIONS_H
#define STRESS_CUDART_OPTIONS_H

#include "../sim/costs.h"

enum { OPTIONS_TEXT = 4096 };                    /* of one value, at most, with its end */

typedef struct options {
    uint64_t  device_bytes, context_bytes, work_ns;
    uint32_t  device_count;                      /* 0: none at all */
    int       without_vm, skips_kernels, findings_pass;
    uint64_t  most_mappings;                     /* 0: as many as there are by default */
    sim_costs costs;
    char      faults[OPTIONS_TEXT], report[OPTIONS_TEXT];
} options;

/* NULL or "": the defaults. -1 and a problem that names the key and what is allowed, EXIT_USAGE. */
int options_read(const char *text, options *read, problem *why);

#endif

/* CUDA's devices before anything runs: their number, their properties, other processes on them. It must not know of
   policies or workloads. Without CUDA there are no devices, and a problem says so. */
#ifndef STRESS_DEVICE_CUDA_ENVIRONMENT_H
#define STRESS_DEVICE_CUDA_ENVIRONMENT_H

#include "../base/program.h"

typedef struct cuda_environment {
    int      ordinal;
    char     name[256], uuid[48];                /* uuid: as nvidia-smi writes it, GPU-.. */
    uint64_t total_bytes;
    uint64_t other_bytes;                        /* in use before the first op: others' and our context's */
    int      driver_version, runtime_version;    /* CUDA's numbers, 12080 is 12.8: newest known, own */
    char     driver[64];                         /* the driver's own version; "": not known */
    int      process_count;                      /* other compute processes on it; below 0: not known */
    char     pci[32];                            /* where it is: "0000:19:00.0" */
    int      capability, multiprocessors;        /* 90 is 9.0 */
    int      corrects;                           /* its memory corrects errors (ECC), as the runtime says */
} cuda_environment;

const char *cuda_environment_build(void);        /* "CUDA 13.0" that this was compiled with, or "no CUDA" */

/* How many devices answer; -1 and EXIT_NO_DEVICE: none, and why. */
int cuda_environment_count(problem *why);
int cuda_environment_find(int ordinal, problem *why);        /* -1 and EXIT_NO_DEVICE: it does not answer */
/* Name, UUID and memory: needs no context on the device, leaves the rest zero. -1 and EXIT_HARNESS. */
int cuda_environment_describe(int ordinal, cuda_environment *made, problem *why);
/* All of it; makes a context. -1 and EXIT_NO_DEVICE, EXIT_HARNESS. */
int cuda_environment_record(int ordinal, cuda_environment *made, problem *why);

/* Name, memory, versions, others. Returns text. */
const char *cuda_environment_line(const cuda_environment *self, char *text, size_t size);

#endif

/* Policies by name, and one at work on a device: a gpuarena configuration, or a raw baseline without an arena.
   Knows nothing of workloads or reports. A new preset is one row of the table in policy.c.
   Tested by tests/test_policy.c. */
#ifndef STRESS_POLICY_H
#define STRESS_POLICY_H

#include "measure/memory.h"
#include "problem.h"
#include "sim/sim.h"

typedef struct policy_kind {                     /* `stress list` */
    const char *name, *summary, *options;
    const char *base;                            /* configuration text below the user's keys; NULL: a raw baseline */
} policy_kind;
const policy_kind *policy_kind_at(size_t index);                             /* NULL past the last */

typedef struct policy {
    const char *text;                            /* as asked for; the caller's, must outlive it */
    int raw;                                     /* no arena: one driver call an allocation */
    gpuarena_config config;                      /* of an arena, still without a driver */
} policy;

/* NAME or NAME:key=value,.. -1 and a problem (EXIT_USAGE): unknown name, bad key, `raw` with keys, or limit_bytes
   (0: not given) beside a `limit` key. limit_bytes does not bind `raw`. */
int policy_parse(const char *text, uint64_t limit_bytes, policy *made, problem *why);

typedef struct pool {                            /* a policy at work */
    sim            *sim;
    gpuarena_driver driver;
    gpuarena       *arena;                       /* NULL: raw */
    uint64_t        alignment_bytes;             /* blocks are multiples of it; raw: what cudaMalloc aligns to */
    uint64_t        limit_bytes;                 /* in force; GPUARENA_NO_LIMIT: none */
    uint64_t        requested_bytes, live_bytes; /* raw: kept here, as there is nobody to ask */
    uint64_t        refused_bytes;               /* raw: of the block whose call failed latest */
    int             refused_code;                /* raw: the driver's code */
} pool;

/* Opens on device 0 of the sim, which must outlive it. -1 and a problem: a bad configuration is EXIT_USAGE, else
   EXIT_HARNESS. */
int  pool_open(pool *self, const policy *chosen, sim *device, problem *why);
/* Frees what is live, ends the arena; what it cannot give back is lost with the simulated device. */
void pool_close(pool *self);

/* The results of gpuarena_alloc and gpuarena_free, for raw as well. `bytes` of a free: as allocated. */
gpuarena_result pool_alloc(pool *self, void **ptr, uint64_t bytes, gpuarena_stream stream);
gpuarena_result pool_free(pool *self, void *ptr, uint64_t bytes, gpuarena_stream stream);

/* Bytes now; *stats: the arena's own, zeroed for raw. raw: reserved is what the device holds, nothing is free. */
void pool_measure(const pool *self, memory_use *use, gpuarena_stats *stats);

typedef struct pool_refusal {                    /* the latest failure, in numbers and as a sentence */
    uint64_t requested_bytes, free_bytes, largest_bytes;
    int      largest_known;                      /* raw: no */
    const char *reason;
    char     text[512];
} pool_refusal;
void pool_last_refusal(pool *self, pool_refusal *refusal);

#endif

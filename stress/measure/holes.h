/* Free blocks that do not touch, and pairs of calls among them. It must not know what a report is. */
#ifndef STRESS_MEASURE_HOLES_H
#define STRESS_MEASURE_HOLES_H

#include <stddef.h>
#include <stdint.h>

#include "../policy/policy.h"

/* ---- A policy on a device, with so many free blocks that do not touch */

enum { HOLES_SIZES = 4096, HOLES_COUNTED_PAIRS = HOLES_SIZES };

typedef struct holes_field {
    device  *device;
    pool     pool;
    uint64_t sizes[HOLES_SIZES];                 /* of free blocks, drawn before anything is timed */
    uint32_t at;                                 /* in sizes, modulo HOLES_SIZES */
    gpuarena_result failed;                      /* of a measured call: the first, or OK */
    pool_refusal    refusal;                     /* after an open that ran out of memory */
} holes_field;

/* Log-uniform blocks by seed, twice as many as holes; every second in order of address is freed. 0; 1: there is no
   memory for them, refusal says why; -1 and a problem. holes_close in all cases. */
int  holes_open(holes_field *self, const device_config *config, const policy *chosen, uint64_t holes, uint64_t seed,
                problem *why);
int  holes_close(holes_field *self, problem *why);           /* -1 and a problem: as device_close */

/* So many times: a block of one of the free sizes, and its free. holes_counted is what callgrind counts by name. */
void holes_pairs(holes_field *self, uint64_t count);
void holes_counted(holes_field *self, uint64_t count);

#endif

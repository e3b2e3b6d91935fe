/* What is measured: free one random live block and allocate another, over and over.
   It must not know who serves it, nor what the times are compared with. Tested by tests/test_bench.c. */
#ifndef STRESS_MEASURE_PAIRS_H
#define STRESS_MEASURE_PAIRS_H

#include "subject.h"

enum { PAIRS_SIZES = 4096, PAIRS_COLD_BYTES = 4 << 20 };

typedef struct pairs {
    subject        *on;
    gpuarena_stream stream;
    void          **blocks;                      /* live */
    uint32_t        live;
    uint64_t        random;                      /* chooses who is freed */
    uint32_t        at;                          /* in sizes, modulo PAIRS_SIZES */
    int             failed;                      /* a call did: 0, or a code */
    uint64_t        sizes[PAIRS_SIZES];          /* few enough to stay in a cache */
} pairs;

/* Allocates so many blocks. bytes: of each; 0: log-uniform sizes by seed: who has the same seed does the same. -1 and
   a problem; pairs_close in both cases. The blocks go with the subject. */
int  pairs_open(pairs *self, subject *on, uint32_t live, uint64_t bytes, gpuarena_stream stream, uint64_t seed,
                problem *why);
void pairs_close(pairs *self);

/* So many pairs. What callgrind counts, by its name, is pairs_counted; all else is the same. */
void pairs_run(pairs *self, uint64_t count);
void pairs_counted(pairs *self, uint64_t count);

/* Nanoseconds of a pair: of so many in one go, after some to warm up, by rounds_clock_ns; or each by itself, after as
   many bytes as a cache may hold were touched, by a clock that costs little: reading it is part of the pair. */
double pairs_warm_ns(pairs *self, uint64_t count);
double pairs_cold_ns(pairs *self, uint64_t count, unsigned char *cold);

#endif

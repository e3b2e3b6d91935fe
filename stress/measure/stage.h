/* One case at work: an arena of each kind and who they are compared with, measured in turn.
   It must not know how results are told. */
#ifndef STRESS_MEASURE_STAGE_H
#define STRESS_MEASURE_STAGE_H

#include <pthread.h>

#include "../../gpuarena.h"
#include "../base/rounds.h"
#include "../policy/policy.h"

/* ---- What `make bench` measures, as a table, and when a target is met */

typedef enum cases_way {
    CASES_WARM,                                  /* many pairs in one go */
    CASES_COLD,                                  /* each after the caches have seen something else */
    CASES_CROWD                                  /* on several threads */
} cases_way;

typedef enum cases_other {                       /* who is measured beside the arena, next to it in every round */
    CASES_CUB, CASES_MUTEX,
    CASES_SMALL,                                 /* the same with blocks of 1 KiB */
    CASES_ONE_THREAD                             /* the same arena, one of the threads: the ratio is of throughputs */
} cases_other;

enum { CASES_MOST_THREADS = 4 };

typedef struct cases_row {
    const char *name;
    cases_way   way;
    uint32_t    live;                            /* blocks, of each thread */
    uint64_t    bytes;                           /* of a block; 0: log-uniform, 256 B to 1 MiB */
    uint32_t    threads, streams;
    cases_other other;
    const char *target;                          /* of the ratio: "<= N" or ">= N"; NULL: none */
    int         is_counted;                      /* its instructions are, too, and have a row of their own .. */
    const char *counted_name, *counted_target;   /* .. with a target in instructions */
} cases_row;

extern const cases_row cases_rows[];             /* then one without a name */
const char      *cases_other_name(cases_other other);

/* "yes" or "no" if that holds for the whole interval, else "unclear". The interval is judged as rows show it, with 4
   decimals, so that a verdict never contradicts the figures beside it. */
const char *cases_met(const char *target, double exact_low, double exact_high);

/* ---- Sizes of blocks, drawn before anything is timed */

/* Log-uniform from 256 B up to 1 MiB, the same for a seed. */
void sizes_draw(uint64_t *sizes, size_t count, uint64_t seed);

/* ---- Who is measured: the arena over a null device, CUB's allocator over a null CUDA runtime, or a bare mutex */

typedef enum subject_kind {
    SUBJECT_SEGMENTS, SUBJECT_PAGED,
    SUBJECT_CUB, SUBJECT_MUTEX
} subject_kind;

typedef struct subject {
    subject_kind    kind;
    gpuarena       *arena;                       /* NULL: CUB or the mutex */
    rival          *rival;                       /* NULL: an arena or the mutex */
    pthread_mutex_t mutex;
} subject;

#define SUBJECT_LIMIT_BYTES ((uint64_t)64 << 30) /* of arenas */

const char *subject_name(subject_kind kind);

/* -1 and a problem. EXIT_NO_DEVICE: CUB is not in this build. subject_close in both cases. */
int  subject_open(subject *self, subject_kind kind, problem *why);
void subject_close(subject *self);

/* Whether an arena's sums are exact, its limit kept, its structures whole and so many blocks live: 0, or -1 and a
   problem (EXIT_VERIFY). Others are not looked into. */
int  subject_verify(const subject *self, uint64_t live_count, problem *why);

/* ---- What is measured: free one random live block and allocate another, over and over */

enum { PAIRS_SIZES = 4096, PAIRS_COLD_BYTES = 4 << 20, PAIRS_WARM = 5000 };

typedef struct pairs {
    subject        *on;
    gpuarena_stream stream;
    void          **blocks;                      /* live */
    uint32_t        live;
    uint64_t        random;                      /* chooses who is freed */
    uint32_t        at;                          /* in sizes, modulo PAIRS_SIZES */
    int             failed;                      /* a call did: 0, or a code */
    uint64_t        lap;                         /* pairs that it does beside others */
    size_t          number, crowd_count;         /* its own among them, from 0; of all */
    uint64_t        sizes[PAIRS_SIZES];          /* few enough to stay in a cache */
} pairs;

/* Allocates so many blocks, and does PAIRS_WARM pairs. bytes: of each; 0: log-uniform sizes by seed: who has the same
   seed does the same. is_apart: on a thread of its own, as a program's threads name their streams themselves: an
   arena has heaps only if they do; a process of one thread starts none, because from then on the C library's own
   locks cost instructions. -1 and a problem; pairs_close in both cases. The blocks go with the subject. */
int  pairs_open(pairs *self, subject *on, uint32_t live, uint64_t bytes, gpuarena_stream stream, uint64_t seed,
                int is_apart, problem *why);
void pairs_close(pairs *self);

/* So many pairs. What callgrind counts, by its name, is pairs_counted; all else is the same. */
void pairs_run(pairs *self, uint64_t count);
void pairs_counted(pairs *self, uint64_t count);

/* ---- Pairs on several threads at once */

/* Each of these does so many pairs on a thread of its own, on a processor of its own if this program may use as many;
   they begin together, warm. The time from the first one's begin to the last one's end, over the pairs of all: what a
   pair takes, as throughput has it. -1 and a problem: a thread cannot be started. */
int pairs_crowd_ns(pairs *crowd, size_t count, uint64_t each, double *ns, problem *why);

enum { STAGE_ARENAS = 2, STAGE_LANES = 2 * STAGE_ARENAS, STAGE_COUNTED_PAIRS = 5000 };

typedef struct stage_lane {
    subject on;
    pairs  *crowd;                               /* NULL: the lane is not there */
    size_t  members;
    int     is_borrowed;                         /* crowd and its subject are another lane's */
    double  ns[ROUNDS_MOST_COUNT];               /* of a pair, by round */
    uint64_t instructions;                       /* of STAGE_COUNTED_PAIRS pairs; 0: they are not counted */
} stage_lane;

typedef struct stage {
    const cases_row *row;
    stage_lane       lanes[STAGE_LANES];         /* the arenas, and the other's, or each one's other */
    size_t           lane_count;
    rounds_loop      rounds;
    uint64_t         pair_count;                 /* of a round */
} stage;

/* Opens and warms all lanes; a CUB that is not in this build is left out. -1 and a problem; stage_close in both
   cases. */
int  stage_open(stage *self, const cases_row *row, uint64_t seed, problem *why);
void stage_close(stage *self);

/* Rounds over all lanes, until every arena's ratio, or its time where it has none, is known to the precision.
   limits: precision and budget are taken from it. is_quick: few and short ones, good for tests alone. */
int  stage_measure(stage *self, int is_quick, const rounds_length *limits, problem *why);
/* STAGE_COUNTED_PAIRS pairs of every lane that is there, in order. */
void stage_count(stage *self);
int  stage_verify(const stage *self, problem *why);          /* as subject_verify, all arenas; and no call failed */

/* The lane that this arena's is compared with. */
const stage_lane *stage_other(const stage *self, size_t arena);
/* Of its times over the other's, of threads the other way round; of its times alone where that is not there. */
rounds_interval stage_ratio(const stage *self, size_t arena);

/* ---- Pairs among free blocks: a policy on a device, with so many of them that do not touch */

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

/* ---- Instructions, counted by running again under valgrind */

/* Runs this command line by a shell, silently, and counts the instructions of each call of one
   external function, all that it calls included. There must be exactly count of them, one after another. 0; 1: there
   is no valgrind here; -1 and a problem: anything else. */
int callgrind_count(const char *line, const char *function, uint64_t *instructions, size_t count, problem *why);

#endif

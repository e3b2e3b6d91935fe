/* One case at work: an arena of each kind and the subjects they are compared with, measured in turn.
   It must not know how results are told. */
#ifndef STRESS_MEASURE_STAGE_H
#define STRESS_MEASURE_STAGE_H

#include <pthread.h>

#include "../../gpuarena.h"
#include "../base/rounds.h"
#include "../policy/policy.h"

/* ---- The cases of `make bench`, as a table, and the judging of targets */

typedef enum cases_way {
    CASES_WARM,                                  /* many pairs in one go */
    CASES_COLD,                                  /* each pair after the caches were filled with other data */
    CASES_CROWD                                  /* pairs on several threads */
} cases_way;

typedef enum cases_other {                       /* the subject measured beside the arena in every round */
    CASES_CUB, CASES_MUTEX,
    CASES_SMALL,                                 /* an arena of the same kind, with blocks of 1 KiB */
    CASES_ONE_THREAD                             /* one thread on the same arena: the ratio is of throughputs */
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
    int         is_counted;                      /* its instructions are counted, too, in a row of their own */
    const char *counted_name, *counted_target;   /* name of that row, and its target in instructions */
} cases_row;

extern const cases_row cases_rows[];             /* the last has no name */
const char      *cases_other_name(cases_other other);

/* "yes" or "no" if the whole interval meets or misses the target, else "unclear". The interval is rounded to the 4
   decimals that rows show, so that a verdict never contradicts the figures beside it. */
const char *cases_met(const char *target, double exact_low, double exact_high);

/* ---- Sizes of blocks, drawn before anything is timed */

/* Draws sizes log-uniformly from 256 B up to 1 MiB. Equal seeds give equal sizes. */
void sizes_draw(uint64_t *sizes, size_t count, uint64_t seed);

/* ---- The subjects measured: an arena over a null device, CUB's allocator over a null CUDA runtime, or a mutex */

typedef enum subject_kind {
    SUBJECT_SEGMENTS, SUBJECT_PAGED,
    SUBJECT_CUB, SUBJECT_MUTEX
} subject_kind;

typedef struct subject {
    subject_kind    kind;
    gpuarena       *arena;                       /* NULL: the subject is CUB or the mutex */
    rival          *rival;                       /* NULL: the subject is an arena or the mutex */
    pthread_mutex_t mutex;
} subject;

#define SUBJECT_LIMIT_BYTES ((uint64_t)64 << 30) /* of arenas */

const char *subject_name(subject_kind kind);

/* -1 and a problem. EXIT_NO_DEVICE: CUB is not in this build. subject_close in both cases. */
int  subject_open(subject *self, subject_kind kind, problem *why);
void subject_close(subject *self);

/* Checks that an arena's sums are exact, its limit kept, its structures whole and so many blocks live. 0, or -1 and a
   problem (EXIT_VERIFY). Other subjects are not checked. */
int  subject_verify(const subject *self, uint64_t live_count, problem *why);

/* ---- The pairs measured: free a random live block and allocate another, over and over */

enum { PAIRS_SIZES = 4096, PAIRS_COLD_BYTES = 4 << 20, PAIRS_WARM = 5000 };

typedef struct pairs {
    subject        *on;
    gpuarena_stream stream;
    void          **blocks;                      /* live */
    uint32_t        live;
    uint64_t        random;                      /* state that chooses the block to free */
    uint32_t        at;                          /* in sizes, modulo PAIRS_SIZES */
    int             failed;                      /* 0, or the codes of failed calls */
    uint64_t        lap;                         /* pairs to do in a crowd */
    size_t          number, crowd_count;         /* its number in the crowd, from 0; members of the crowd */
    uint64_t        sizes[PAIRS_SIZES];          /* few enough to stay in a cache */
} pairs;

/* Allocates `live` blocks, and does PAIRS_WARM pairs. bytes is the size of each; 0: log-uniform sizes by seed. Equal
   seeds do equal operations. is_apart: works on a thread of its own, like a program whose threads name their streams
   themselves; an arena has heaps only if they do. A case of one thread starts no other, because from then on the C
   library's locks cost more instructions. -1 and a problem; pairs_close in both cases. Closing the subject frees the
   blocks. */
int  pairs_open(pairs *self, subject *on, uint32_t live, uint64_t bytes, gpuarena_stream stream, uint64_t seed,
                int is_apart, problem *why);
void pairs_close(pairs *self);

/* Do so many pairs. pairs_counted is pairs_run under another name, whose instructions callgrind counts. */
void pairs_run(pairs *self, uint64_t count);
void pairs_counted(pairs *self, uint64_t count);

/* ---- Pairs on several threads at once */

/* Each member does `each` pairs on a thread of its own, on a processor of its own if this program may use enough. All
   begin together, after warming up. *ns is the time from the first begin to the last end, divided by the pairs of
   all: the inverse of the throughput. -1 and a problem: a thread cannot be started. */
int pairs_crowd_ns(pairs *crowd, size_t count, uint64_t each, double *ns, problem *why);

enum { STAGE_ARENAS = 2, STAGE_LANES = 2 * STAGE_ARENAS, STAGE_COUNTED_PAIRS = 5000 };

typedef struct stage_lane {
    subject on;
    pairs  *crowd;                               /* NULL: the lane is not there */
    size_t  members;
    int     is_borrowed;                         /* crowd and its subject are another lane's */
    double  ns[ROUNDS_MOST_COUNT];               /* of a pair, by round */
    uint64_t instructions;                       /* of STAGE_COUNTED_PAIRS pairs; 0: not counted */
} stage_lane;

typedef struct stage {
    const cases_row *row;
    stage_lane       lanes[STAGE_LANES];         /* the arenas, then one subject for both, or one for each */
    size_t           lane_count;
    rounds_loop      rounds;
    uint64_t         pair_count;                 /* pairs of a round */
} stage;

/* Opens and warms all lanes; a CUB that is not in this build is left out. -1 and a problem; stage_close in both
   cases. */
int  stage_open(stage *self, const cases_row *row, uint64_t seed, problem *why);
void stage_close(stage *self);

/* Runs rounds over all lanes, until every arena's ratio, or its time if it has no ratio, is known to the precision.
   The precision and the budget are those of limits. is_quick: few and short rounds, good for tests alone. */
int  stage_measure(stage *self, int is_quick, const rounds_length *limits, problem *why);
/* Does STAGE_COUNTED_PAIRS pairs of every lane that is there, in order. */
void stage_count(stage *self);
int  stage_verify(const stage *self, problem *why);          /* subject_verify of all lanes; and no call failed */

/* The lane that this arena's lane is compared with. */
const stage_lane *stage_other(const stage *self, size_t arena);
/* The ratio of this arena's times to the other's; the inverse if the other is one thread. Without another, the
   arena's own time. */
rounds_interval stage_ratio(const stage *self, size_t arena);

/* ---- Pairs among free blocks: a policy on a device, with many free blocks that do not touch */

enum { HOLES_SIZES = 4096, HOLES_COUNTED_PAIRS = HOLES_SIZES };

typedef struct holes_field {
    device  *device;
    pool     pool;
    uint64_t sizes[HOLES_SIZES];                 /* sizes of free blocks, drawn before anything is timed */
    uint32_t at;                                 /* in sizes, modulo HOLES_SIZES */
    gpuarena_result failed;                      /* of a measured call: the first, or OK */
    pool_refusal    refusal;                     /* after an open that ran out of memory */
} holes_field;

/* Allocates twice as many blocks as holes, log-uniform by seed, and frees every second in order of address. 0; 1:
   there is no memory for them, refusal says why; -1 and a problem. holes_close in all cases. */
int  holes_open(holes_field *self, const device_config *config, const policy *chosen, uint64_t holes, uint64_t seed,
                problem *why);
int  holes_close(holes_field *self, problem *why);           /* returns like device_close */

/* Allocate and free a block of one of the free sizes, so many times. holes_counted is holes_pairs under another name,
   whose instructions callgrind counts. */
void holes_pairs(holes_field *self, uint64_t count);
void holes_counted(holes_field *self, uint64_t count);

/* ---- Instructions, counted by running again under valgrind */

/* Runs this command line by a shell, silently, and counts the instructions of each call of one external function,
   with the functions that it calls. There must be exactly count calls, one after another. 0; 1: there is no valgrind;
   -1 and a problem: anything else. */
int callgrind_count(const char *line, const char *function, uint64_t *instructions, size_t count, problem *why);

#endif

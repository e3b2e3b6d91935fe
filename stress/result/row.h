/* A result row: one cell a column. The list of columns is here and nowhere else; every report is a walk over it.
   Knows nothing of how a number came about. Tested by tests/test_report.c. */
#ifndef STRESS_RESULT_ROW_H
#define STRESS_RESULT_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "../base/histogram.h"

struct record;

/* X(NAME, name in files): the names and their order are a contract with scripts. More may follow at the end. First
   those of `run`, then those that only other commands have: which a command has, in which order, row_columns says. */
#define ROW_RUN_COLUMNS(X) \
    X(WORKLOAD,        "workload") \
    X(POLICY,          "policy") \
    X(DEVICE,          "device") \
    X(SEED,            "seed") \
    X(OPS,             "ops")                    /* allocations and frees */ \
    X(STATUS,          "status") \
    X(HOST_NS,         "host_ns_per_op") \
    X(ALLOC_P50,       "alloc_p50_ns") \
    X(ALLOC_P99,       "alloc_p99_ns") \
    X(ALLOC_MAX,       "alloc_max_ns") \
    X(FREE_P50,        "free_p50_ns") \
    X(DRIVER_CALLS,    "driver_calls") \
    X(DRIVER_VNS,      "driver_vns") \
    X(GPU_WAITS,       "gpu_waits") \
    X(REQUESTED_PEAK,  "requested_peak_bytes") \
    X(LIVE_PEAK,       "live_peak_bytes") \
    X(RESERVED_PEAK,   "reserved_peak_bytes") \
    X(FOOTPRINT,       "footprint") \
    X(FRAGMENTATION,   "fragmentation") \
    X(STRANDED_PEAK,   "stranded_peak_bytes") \
    X(REMAPPED_PAGES,  "remapped_pages") \
    X(OOM_OP,          "oom_op") \
    X(OOM_REQUESTED,   "oom_requested_bytes") \
    X(OOM_FREE,        "oom_free_bytes") \
    X(OOM_LARGEST,     "oom_largest_bytes") \
    X(OOM_REASON,      "oom_reason") \
    X(DIGEST,          "digest") \
    X(PENDING_PEAK,    "pending_peak_bytes") \
    X(ALLOCS,          "allocs")                 /* of the ops: allocations */ \
    X(THREADS,         "threads")                /* that made them */
/* Of `run`, behind those: kinds of allocations apart; with --rate, how long operations were waited for. */
#define ROW_APART_COLUMNS(X) \
    X(MISSES,          "misses")                 /* allocations that called the driver */ \
    X(HIT_P50,         "hit_p50_ns")             /* of those that did not .. */ \
    X(HIT_P99,         "hit_p99_ns") \
    X(MISS_P50,        "miss_p50_ns")            /* .. and of those that did */ \
    X(WAITED_P50,      "waited_p50_vns")         /* from when an op was due to its end .. */ \
    X(WAITED_P99,      "waited_p99_vns") \
    X(WAITED_MAX,      "waited_max_vns") \
    X(SERVED_P99,      "served_p99_vns")         /* .. and from when it could begin */ \
    X(ENDED,           "ended")                  /* why there are no more rounds or repeats: precise, rounds, time */
/* Of `run`, behind all others: the workload's repetitions (../pass_steady.h), where it has some; whole runs alone. */
#define ROW_STEADY_COLUMNS(X) \
    X(VNS_PER_OP,      "vns_per_op")             /* the host's virtual clock over ops: program and driver */ \
    X(STEADY_STEPS,    "steady_steps")           /* repetitions, behind the warm-up */ \
    X(STEADY_CALLS,    "steady_driver_calls")    /* of driver_calls and driver_vns what was made in them */ \
    X(STEADY_VNS,      "steady_driver_vns")
#define ROW_OTHER_COLUMNS(X) \
    X(OOM_ROUND,       "oom_round")              /* of --rounds: the one in which memory ran out first, from 1 .. */ \
    X(OOM_ROUND_OP,    "oom_round_op")           /* .. and the allocations and frees of it before that */ \
    X(MIN_LIMIT,       "min_limit_bytes") \
    X(RATIO,           "ratio")                  /* min limit / requested peak */ \
    X(PROBES,          "probes")                 /* runs that it took */ \
    X(STOP_OP,         "stop_op")                /* where it ends with one granule less .. */ \
    X(STOP_REASON,     "stop_reason")            /* .. and why; of status oom: without a limit */ \
    X(HOLES,           "holes")                  /* free blocks around the pair */ \
    X(NS_PER_PAIR,     "ns_per_pair")            /* an allocation and a free, measured: the median */ \
    X(PAIR_INSTRUCTIONS, "instructions_per_pair") /* the same, counted */ \
    X(RATIO_LOW,       "ratio_low")              /* the ratio's 95 % confidence interval .. */ \
    X(RATIO_HIGH,      "ratio_high") \
    X(CASE,            "case") \
    X(AGAINST,         "against")                /* what a pair is compared with .. */ \
    X(AGAINST_NS,      "against_ns_per_pair")    /* .. and what that takes */ \
    X(AGAINST_INSTRUCTIONS, "against_instructions_per_pair") \
    X(TARGET,          "target")                 /* of the ratio, or of the instructions */ \
    X(MET,             "met")                    /* yes, no: the whole interval says so; unclear */ \
    X(ROUNDS,          "rounds") \
    X(KEY,             "key")                    /* the workload's option that is varied .. */ \
    X(LARGEST,         "largest")                /* .. and the largest that survives */ \
    X(ALLOWED,         "allowed")                /* whose requested peak is no more than there is */ \
    X(NEXT_PEAK,       "next_peak_bytes")        /* the requested peak of one more than the largest */ \
    X(REPEATS,         "repeats")                /* of the workload, one after the other */ \
    X(STOP_TEXT,       "stop_text")              /* why, as a sentence */ \
    X(GROWTH,          "growth")                 /* with holes, of the time: O(1), O(log n), O(n); unclear */ \
    X(GROWTH_RMS,      "growth_rms")             /* what that curve leaves over: 0 is a perfect fit */ \
    X(INSTRUCTIONS_GROWTH, "instructions_growth") \
    X(INSTRUCTIONS_GROWTH_RMS, "instructions_growth_rms")
#define ROW_COLUMNS(X) ROW_RUN_COLUMNS(X) ROW_APART_COLUMNS(X) ROW_STEADY_COLUMNS(X) ROW_OTHER_COLUMNS(X)
typedef enum row_column {
#define X(name, text) COLUMN_##name,
    ROW_COLUMNS(X)
#undef X
    COLUMN_COUNT
} row_column;

typedef enum cell_kind {
    CELL_NONE,                                   /* not measured, or does not exist: an empty cell, null */
    CELL_COUNT, CELL_TENTHS, CELL_RATIO,         /* integer; number with 1 decimal; with 4 */
    CELL_HEX,                                    /* 16 hexadecimal digits, a text */
    CELL_TEXT
} cell_kind;
typedef struct cell {
    cell_kind   kind;
    uint64_t    count;                           /* COUNT, HEX */
    double      real;                            /* TENTHS, RATIO */
    const char *text;                            /* TEXT: outlives the row */
} cell;

typedef struct row {
    cell cells[COLUMN_COUNT];
    int  is_baseline;                            /* run for the table alone: in no file */
    histogram *allocs, *frees;                   /* NULL: not timed; owned; so are these: */
    histogram *hits, *misses;                    /* allocs apart; NULL: not timed */
    arrivals *arrivals;                          /* NULL: without --rate */
    struct record *recording;                    /* what pictures are drawn from (../record.h); NULL: none; owned */
    char note[512];                              /* out of memory: the reason as a sentence; failure: what happened */
} row;

/* What made a row: the command; ROUNDS: run, with --rounds. */
typedef enum row_kind { ROW_RUN, ROW_CAPACITY, ROW_BATCH, ROW_HOLES, ROW_BENCH, ROW_ROUNDS } row_kind;
typedef struct row_list {
    row        *rows;
    size_t      count;
    row_kind    kind;
    const char *partial;                         /* why there are more rows, not here; NULL: these are all */
    const char *shard;                           /* "shard 1/4: 3 of 12 rows"; NULL: no other has any */
} row_list;

/* The columns that files of this command have, in order; how many. */
size_t      row_columns(row_kind kind, const row_column **columns);
int         row_has(row_kind kind, row_column column);
int         row_is_run(row_kind kind);           /* RUN, ROUNDS */

void        row_free(row *self);
void        row_untime(row *self);               /* lets the latencies go */
const char *row_column_name(row_column column);
void        row_count(row *self, row_column column, uint64_t count);
void        row_tenths(row *self, row_column column, double real);
void        row_ratio(row *self, row_column column, double real);
void        row_hex(row *self, row_column column, uint64_t count);
void        row_text(row *self, row_column column, const char *text);

/* Of the workload that the row belongs to: rows from *first on, *count of them. */
void row_group(const row_list *list, size_t row_index, size_t *first, size_t *count);
/* One of these rows and no other: the policy was not in the group before (--repeat). */
int  row_is_first(const row_list *list, size_t first, size_t row_index);

/* Whether all rows are here: "shard 1/4: 3 of 12 rows; partial: 1 of 3 rows, then SIGTERM"; "": they are. Returns
   text. */
enum { ROW_NOTE_ROOM = 256 };
const char *row_list_note(const row_list *list, char *text, size_t size);

/* As files have it: no quotes, "" for none. Texts longer than size are cut: use cell.text for those. Returns text. */
const char *cell_print(const cell *self, char *text, size_t size);
int         cell_is_text(const cell *self);      /* quoted in JSON */

#endif

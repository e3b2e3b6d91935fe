/* A result row: one cell a column. The list of columns is here and nowhere else; every report is a walk over it.
   Knows nothing of how a number came about. */
#ifndef STRESS_RESULT_ROW_H
#define STRESS_RESULT_ROW_H

#include "../base/histogram.h"
#include "../base/text.h"

struct record;

/* X(NAME, name in files, unit, COUNTED or TIMED, which way is better, description): the one definition of each
   column. Names and their order are a contract with scripts; more may follow at the end. TIMED: measured on this
   machine, another run has another value. The columns of `run` come first, then those that only other commands have.
   row_columns has the columns of a command, in order. */
#define ROW_RUN_COLUMNS(X) \
    X(WORKLOAD, "workload", KEY, COUNTED, NEITHER, "the workload, as asked for") \
    X(POLICY, "policy", KEY, COUNTED, NEITHER, \
      "the policy, by its short name (raw is cudaMalloc): stress list policies") \
    X(DEVICE, "device", KEY, COUNTED, NEITHER, "the device") \
    X(SEED, "seed", KEY, COUNTED, NEITHER, "the seed that the operations were made from") \
    X(OPS, "ops", COUNT, COUNTED, MORE, "allocations, refused ones too, and frees") \
    X(STATUS, "status", TEXT, COUNTED, NEITHER, \
      "ok; oom: memory ran out, which is a result; verify_failed; error") \
    X(HOST_NS, "host_ns_per_op", NS, TIMED, LESS, \
      "measured: an operation's time on this machine; of real threads: stress help threads") \
    X(ALLOC_P50, "alloc_p50_ns", NS, TIMED, LESS, \
      "measured: half of the allocations took no longer; empty: too few samples") \
    X(ALLOC_P99, "alloc_p99_ns", NS, TIMED, LESS, "measured: 99 of 100 allocations took no longer") \
    X(ALLOC_MAX, "alloc_max_ns", NS, TIMED, LESS, "measured: the longest allocation") \
    X(FREE_P50, "free_p50_ns", NS, TIMED, LESS, "measured: half of the frees took no longer") \
    X(DRIVER_CALLS, "driver_calls", COUNT, COUNTED, LESS, \
      "calls of the driver on memory, plain and virtual, from the first op to the last") \
    X(DRIVER_VNS, "driver_vns", NS, COUNTED, LESS, \
      "the time in them, modelled by the simulated device; empty on CUDA") \
    X(GPU_WAITS, "gpu_waits", COUNT, COUNTED, LESS, "times that the arena made a stream wait, or waited itself") \
    X(REQUESTED_PEAK, "requested_peak_bytes", BYTES, COUNTED, NEITHER, \
      "the most that the workload asked for at once; peaks are sampled after every op") \
    X(LIVE_PEAK, "live_peak_bytes", BYTES, COUNTED, LESS, "the most bytes in live blocks, rounding included") \
    X(RESERVED_PEAK, "reserved_peak_bytes", BYTES, COUNTED, LESS, "the most that was held from the driver") \
    X(FOOTPRINT, "footprint", SHARE, COUNTED, LESS, \
      "reserved_peak_bytes over requested_peak_bytes; shown as overhead: 1.05 is +5 %") \
    X(FRAGMENTATION, "fragmentation", SHARE, COUNTED, LESS, \
      "free memory beside its longest piece: at the first failure, else at peak reserved") \
    X(STRANDED_PEAK, "stranded_peak_bytes", BYTES, COUNTED, LESS, \
      "the most that was free in pages that were partly live, so that it could not be moved") \
    X(REMAPPED_PAGES, "remapped_pages", COUNT, COUNTED, LESS, "pages that were moved") \
    X(OOM_OP, "oom_op", COUNT, COUNTED, MORE, "the first allocation that was refused: the operations before it") \
    X(OOM_REQUESTED, "oom_requested_bytes", BYTES, COUNTED, NEITHER, "the bytes that it requested") \
    X(OOM_FREE, "oom_free_bytes", BYTES, COUNTED, NEITHER, "the bytes that were free then") \
    X(OOM_LARGEST, "oom_largest_bytes", BYTES, COUNTED, NEITHER, "the longest free piece then") \
    X(OOM_REASON, "oom_reason", TEXT, COUNTED, NEITHER, \
      "why it was refused; a sentence below the table says it in full") \
    X(DIGEST, "digest", TEXT, COUNTED, NEITHER, \
      "a hash of the operations and their results: if it differs, the work did") \
    X(PENDING_PEAK, "pending_peak_bytes", BYTES, COUNTED, LESS, \
      "the most free bytes that only the stream that had freed them could use") \
    X(ALLOCS, "allocs", COUNT, COUNTED, NEITHER, "of ops the allocations") \
    X(THREADS, "threads", KEY, COUNTED, NEITHER, "threads of the operations (stress help threads); empty: they vary")
/* Further columns of `run`: allocations by kind; with --rate, the time that operations were waited for. */
#define ROW_APART_COLUMNS(X) \
    X(MISSES, "misses", COUNT, COUNTED, LESS, "allocations that called the driver") \
    X(HIT_P50, "hit_p50_ns", NS, TIMED, LESS, "measured: as alloc_p50_ns, of those that did not") \
    X(HIT_P99, "hit_p99_ns", NS, TIMED, LESS, "measured: as alloc_p99_ns, of those that did not") \
    X(MISS_P50, "miss_p50_ns", NS, TIMED, LESS, "measured: as alloc_p50_ns, of those that did") \
    X(WAITED_P50, "waited_p50_vns", NS, COUNTED, LESS, \
      "with --rate, modelled: from when an op was due to its end, half of them") \
    X(WAITED_P99, "waited_p99_vns", NS, COUNTED, LESS, "with --rate, modelled: the same, 99 of 100") \
    X(WAITED_MAX, "waited_max_vns", NS, COUNTED, LESS, "with --rate, modelled: the same, the longest") \
    X(SERVED_P99, "served_p99_vns", NS, COUNTED, LESS, \
      "with --rate, modelled: from when an op could begin to its end, 99 of 100") \
    X(ENDED, "ended", TEXT, TIMED, NEITHER, \
      "why there are no more repeats or rounds: precise, rounds, time (help measuring)")
/* The last columns of `run`: the workload's repetitions (run/pass.c), if it has some; of whole runs alone. */
#define ROW_STEADY_COLUMNS(X) \
    X(VNS_PER_OP, "vns_per_op", NS, COUNTED, LESS, \
      "the virtual clock from the first op to the last, over ops; of rows that are ok") \
    X(STEADY_STEPS, "steady_steps", COUNT, COUNTED, NEITHER, \
      "steps that follow the warm-up; empty: no step comes again") \
    X(STEADY_CALLS, "steady_driver_calls", COUNT, COUNTED, LESS, "of driver_calls those in these steps") \
    X(STEADY_VNS, "steady_driver_vns", NS, COUNTED, LESS, "of driver_vns the time in these steps") \
    X(LAST_CALLS, "last_driver_calls", COUNT, COUNTED, LESS, "of driver_calls those in the last of these steps") \
    X(LAST_REMAPPED, "last_remapped_pages", COUNT, COUNTED, LESS, \
      "of remapped_pages those moved in the last of these steps") \
    X(LAST_FOOTPRINT, "last_footprint", SHARE, COUNTED, LESS, \
      "the most that was reserved in the last of these steps, over the requested peak")
#define ROW_OTHER_COLUMNS(X) \
    X(OOM_ROUND, "oom_round", COUNT, COUNTED, MORE, \
      "with --rounds: the round in which memory ran out first, from 1") \
    X(OOM_ROUND_OP, "oom_round_op", COUNT, COUNTED, NEITHER, \
      "with --rounds: the operations of that round before it") \
    X(MIN_LIMIT, "min_limit_bytes", BYTES, COUNTED, LESS, "the smallest limit under which the workload completes") \
    X(RATIO, "ratio", SHARE, COUNTED, LESS, \
      "of capacity: min_limit_bytes over requested_peak_bytes; of holes: over the fewest") \
    X(PROBES, "probes", COUNT, COUNTED, NEITHER, "runs that the search took") \
    X(STOP_OP, "stop_op", COUNT, COUNTED, NEITHER, \
      "where the workload ends with one step less memory, or one more of the varied option") \
    X(STOP_REASON, "stop_reason", TEXT, COUNTED, NEITHER, "why it ends there") \
    X(HOLES, "holes", KEY, COUNTED, NEITHER, "free blocks around the pair") \
    X(NS_PER_PAIR, "ns_per_pair", NS, TIMED, LESS, "measured: an allocation and a free, the median of all rounds") \
    X(PAIR_INSTRUCTIONS, "instructions_per_pair", COUNT, COUNTED, LESS, \
      "the same, in instructions counted by callgrind") \
    X(RATIO_LOW, "ratio_low", SHARE, TIMED, NEITHER, "of the ratio the lower end of its 95 % confidence interval") \
    X(RATIO_HIGH, "ratio_high", SHARE, TIMED, NEITHER, \
      "of the ratio the upper end of its 95 % confidence interval") \
    X(CASE, "case", KEY, COUNTED, NEITHER, "the measured case") \
    X(AGAINST, "against", KEY, COUNTED, NEITHER, "the other side of the comparison") \
    X(AGAINST_NS, "against_ns_per_pair", NS, TIMED, NEITHER, "measured: the time of the other side") \
    X(AGAINST_INSTRUCTIONS, "against_instructions_per_pair", COUNT, COUNTED, NEITHER, \
      "the instructions of the other side") \
    X(TARGET, "target", KEY, COUNTED, NEITHER, "the bound that the ratio should keep") \
    X(MET, "met", TEXT, TIMED, NEITHER, "yes or no, where the whole interval says so; else unclear") \
    X(ROUNDS, "rounds", COUNT, COUNTED, NEITHER, "rounds that were made, or measured") \
    X(KEY, "key", KEY, COUNTED, NEITHER, "the workload's option that is varied") \
    X(LARGEST, "largest", COUNT, COUNTED, MORE, "the largest that it may be for the workload to complete") \
    X(ALLOWED, "allowed", COUNT, COUNTED, NEITHER, \
      "the largest whose requested peak is no more than the memory there is") \
    X(NEXT_PEAK, "next_peak_bytes", BYTES, COUNTED, NEITHER, "the requested peak of one more than the largest") \
    X(REPEATS, "repeats", KEY, COUNTED, NEITHER, "of the workload, one after the other") \
    X(STOP_TEXT, "stop_text", TEXT, COUNTED, NEITHER, "why it ends there, as a sentence")
#define ROW_COLUMNS(X) ROW_RUN_COLUMNS(X) ROW_APART_COLUMNS(X) ROW_STEADY_COLUMNS(X) ROW_OTHER_COLUMNS(X)
typedef enum row_column {
#define X(name, text, unit, timed, sense, note) COLUMN_##name,
    ROW_COLUMNS(X)
#undef X
    COLUMN_COUNT
} row_column;

typedef enum column_unit {
    UNIT_KEY,                                    /* names the row: not judged */
    UNIT_TEXT,                                   /* a word: the same or another */
    UNIT_COUNT, UNIT_BYTES, UNIT_NS, UNIT_SHARE
} column_unit;
typedef enum column_timing { COLUMN_IS_COUNTED, COLUMN_IS_TIMED } column_timing;
typedef enum column_sense { SENSE_LESS = -1, SENSE_NEITHER, SENSE_MORE } column_sense;

typedef struct column_info {
    const char   *name;
    column_unit   unit;
    column_timing is_timed;
    column_sense  sense;                         /* which way is better */
    const char   *note;
} column_info;
extern const column_info row_table[COLUMN_COUNT];     /* by row_column */
row_column  column_find(const char *name);       /* COLUMN_COUNT: there is no such column */
const char *column_words(row_column which);      /* the words that it may hold: "|ok|oom"; NULL: any */
int         column_decimals(row_column which);

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
    latencies *times;                            /* NULL: not timed; owned */
    arrivals *arrivals;                          /* NULL: without --rate */
    struct record *recording;                    /* the source of pictures (record.h); NULL: none; owned */
    char note[512];                              /* out of memory: the reason in a sentence; failure: its message */
} row;

/* The command that made a row; ROUNDS: run, with --rounds. */
typedef enum row_kind { ROW_RUN, ROW_ROUNDS, ROW_CAPACITY, ROW_BATCH, ROW_HOLES, ROW_BENCH } row_kind;
typedef struct row_list {
    row        *rows;
    size_t      count;
    row_kind    kind;
    const char *partial;                         /* why rows are missing; NULL: none are */
    const char *shard;                           /* "shard 1/4: 3 of 12 rows"; NULL: no other shard has rows */
    char        lacks[COLUMN_COUNT + 1];         /* 1: the file that it was read from has no such column */
    char       *text;                            /* of a file; cells point into it; NULL: the rows were run */
    const char **others;                         /* columns of a file that are in no row: not of this version and
                                                    command, or repeated; owned */
    size_t      other_count;
} row_list;

/* The columns that files of this command have, in order, then COLUMN_COUNT. */
const row_column *row_columns(row_kind kind);
int         row_has(row_kind kind, row_column column);
int         row_list_has(const row_list *list, row_column column);
int         row_is_run(row_kind kind);           /* RUN, ROUNDS */

void        row_free(row *self);
void        row_untime(row *self);               /* frees the latencies */
void        row_count(row *self, row_column column, uint64_t count);
void        row_real(row *self, row_column column, double real);     /* with the column's decimals */
void        row_text(row *self, row_column column, const char *text);

const char *row_workload(const row *self);       /* bench: the case; "": the command has no workloads */
const char *row_policy(const row *self);
const char *row_policy_shown(const row *self, char *text, size_t size);      /* by its long name. Returns text */
const char *row_status(const row *self);         /* "": no status was read */
/* Prints "train/paged", "paged holes 64"; is_shown: for people, policies and free blocks by their long names. */
void        row_name(FILE *out, text_escape *escape, const row *self, int is_shown);
/* Finds the rows of the row's workload: *count rows from *first on. */
void row_group(const row_list *list, size_t row_index, size_t *first, size_t *count);
/* Of so many rows from `first` on the first of each policy, in order (--repeat); how many. found: room for `count`.
   O(rows * policies). */
size_t row_firsts(const row_list *list, size_t first, size_t count, size_t *found);

/* Says which rows are missing: "shard 1/4: 3 of 12 rows; partial: 1 of 3 rows, then SIGTERM"; "": none are. Returns
   text. */
enum { ROW_NOTE_ROOM = 256 };
const char *row_list_note(const row_list *list, char *text, size_t size);

/* The cell as a file has it, without quotes; "" for none. Returns text, or the cell's own. */
enum { CELL_ROOM = 64 };
const char *cell_text(const cell *self, char text[CELL_ROOM]);

#endif

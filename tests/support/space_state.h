/* The state of a program of arena calls: ops as data, the simulated machine, and a driver that watches the limit in
   every call on memory. It must not know the uses of these. Included by space.h. */
#ifndef TESTS_SPACE_STATE_H
#define TESTS_SPACE_STATE_H

#include "space_pages.h"                         /* first: see there */
#include "space_fit.h"
#include "host_memory.h"
#include "stress/sim/entries.h"

enum { SPACE_STREAMS = 4,                           /* that most programs have: the legacy one, and made ones */
       SPACE_ANY = 4, SPACE_OWN = 5,                /* no streams of their own: as the header's */
       SPACE_THREADS_OWN = 8, SPACE_ALL_STREAMS = 10,       /* the last two: the first and the second thread's own */
       SPACE_NOBODY = -1,
       SPACE_SETS = 3, SPACE_GRAPHS = 6, SPACE_FREED = 64,
       SPACE_MARKS = 4, SPACE_TAGS = 4, SPACE_GUARDED = 256,
       SPACE_LATEST = 32, SPACE_LOOK = 256,
       SPACE_OWN_TAG = SPACE_TAGS - 1 };            /* the place of a number that is not gpuarena_tag's */
/* The largest device for each kind of programs: of streams of all kinds, and captures; of paged memory, inspected
   after each call; of segments whose books are known to the byte, without events. */
#define SPACE_BUSY  MIB(48)
#define SPACE_SMALL MIB(100)
#define SPACE_PLAIN MIB(500)
/* Flags: TRY 1, OWN 2, and these. A tag's place is counted in SPACE_TAG; SCOPED: it is the thread's. */
enum { SPACE_ROOM = 4, SPACE_TAG = 8, SPACE_SCOPED = 32, SPACE_UNUSED = 64,
       SPACE_ELSEWHERE = 128,                       /* another thread allocates */
       SPACE_NEXT = 256 };                          /* the next slot that is empty, or taken, from this one on */
/* Flags of a fault: its code is SIM_UNKNOWN, or a capture's; every later call fails too; only the next op meets
   it. */
enum { SPACE_UNKNOWN = 1, SPACE_LASTING = 2, SPACE_BRIEF = 4, SPACE_CAPTURING = 8,
       SPACE_HOST = SIM_CALL_KINDS + 1 };           /* its slot: host memory fails, for as long as it lasts */
/* Flags of streams, captures, graphs and sets. */
enum { SPACE_KEEP = 1,                              /* blocks live on */
       SPACE_STAY = 2,                              /* no other stream takes the place at once */
       SPACE_FORK = 4,                              /* a second stream is captured too */
       SPACE_LAUNCH = 8, SPACE_DROP = 16 };
/* Each kind of op, and the function that runs it: space_do_CALL. X(name, call) */
#define SPACE_ALL_KINDS(X) \
    X(ALLOC, alloc)      /* into an empty slot, bytes, aligned, on a stream */ \
    X(FREE, free)        /* this and the next two: of a slot that is taken, else nothing */ \
    X(USE, use) X(RESIZE, resize) X(TRIM, trim) X(LIMIT, limit) X(RESERVE, reserve) X(RESET, reset) \
    X(MARK, mark)        /* slot: of a mark */ \
    X(SINCE, since)      /* as well; on a stream, of a tag or of all */ \
    X(PEAKS, peaks)      /* peaks begin again */ \
    X(WORK, work)        /* bytes: nanoseconds that the GPU works on the stream */ \
    X(PASS, pass)        /* bytes: nanoseconds that the host does nothing */ \
    X(RIVAL, rival)      /* bytes: memory of another process from now on, at most the free bytes */ \
    X(FAULT, fault)      /* slot: kind of driver call; alignment: which of the next fails */ \
    X(LARGEST, largest)  /* bytes: from now on the device obtains no more at once */ \
    X(MISUSE, misuse)    /* bytes: of a free, where; slot: of whom: space_wrong_address */ \
    X(HEAPS, heaps)      /* streams have heaps: as if another thread had named one */ \
    X(STEP, plan)        /* a step of this number (slot) begins, as if pages had moved */ \
    X(RENEW, renew)      /* a stream, not the first, ends, and another takes its place; or begins where none is */ \
    X(QUIET, quiet)      /* nobody asks for figures any more but after each op of a multiple of bytes; 0: of none */ \
    X(SEE, nothing)      /* everybody does */ \
    X(LONGEST, longest)  /* an allocation of the longest free run, as all work is done */ \
    X(CAPTURE, capture)  /* on a stream one begins, into a set (slot), or ends */ \
    X(GRAPH, graph)      /* it (slot) is launched, dropped, or both */ \
    X(LETGO, let_go)     /* a set (slot) ends */
#define X(name, call) SPACE_##name,
typedef enum space_kind { SPACE_ALL_KINDS(X) SPACE_KINDS } space_kind;
#undef X
typedef struct space_op {
    space_kind kind;
    int slot, stream;
    uint64_t bytes, alignment;
    uint32_t flags;
} space_op;

typedef struct space_stream {
    gpuarena_stream handle;
    uint64_t thread;                             /* whose own it is; 0: nobody's */
    int alive, blocking;
    int capture, set;                            /* the capture that it is in: 1 + the stream where that began; into
                                                    which set; 0: none */
    uint64_t begun_by;                           /* the thread that began the capture */
} space_stream;

/* The set into which captures allocate; its number is the arena's. */
typedef struct space_set {
    uint64_t id;                                 /* 0: there is none */
    uint32_t used, launched;                     /* streams whose work used it; of its graphs' latest launch */
} space_set;

typedef struct space_graph { void *handle; int set; } space_graph;
/* A block that was freed in a capture in progress. stream: on which one, or NOBODY: for none yet. */
typedef struct space_freed { uint64_t address, bytes; int set, stream; } space_freed;

/* Counts of events in a program. */
typedef struct space_tally {
    uint64_t alloc_count, fail_count, foreign_count, small_count, compared_count, fired_count, stuck_count;
    uint64_t launch_count, ended_count, let_go_count, relieved_count;
    uint64_t reasons[GPUARENA_REASON_END];       /* how often each was judged */
    gpuarena_stats last;                         /* at the end */
} space_tally;

typedef struct space_state {
    sim *machine;
    gpuarena_driver driver;                      /* the machine's own */
    gpuarena *arena;
    gpuarena_config config, begun;               /* in force: now; at the beginning */
    space_stream streams[SPACE_ALL_STREAMS];
    uint64_t thread;                             /* that calls; 0: the one that really does */
    space_set sets[SPACE_SETS + 1];
    space_graph graphs[SPACE_GRAPHS];
    space_freed freed[SPACE_FREED];
    int freed_count;
    host_memory host;
    uint64_t owner;
    gpuarena_driver other_driver;                /* of the machine's second device, which has another arena */
    gpuarena *other;
    shadow_range other_range;                    /* its segment */
    uint64_t free_count, misuse_count, requested_peak_bytes, refused_count;     /* refused: calls of obtain */
    uint64_t largest_bytes;                      /* that the device obtains at once */
    uint64_t obtained_address;                   /* by the latest allocation, of the driver; 0: by none */
    int host_fails;
    uint64_t marks[SPACE_MARKS], marked[SPACE_MARKS];        /* answers of gpuarena_mark; the youngest block then */
    uint32_t tags[SPACE_TAGS];                   /* [0]: none */
    gpuarena_tag_stats sums[SPACE_TAGS];
    uint64_t live_bytes, live_peak_bytes;
    uint64_t asked_bytes;                        /* of the driver, and not given back */
    shadow_range mapped;                         /* by the last call of vm.map that succeeded */
    shadow_range guarded[SPACE_GUARDED];         /* memory of the latest freed blocks, with debug=guard */
    uint64_t guarded_count;
    void *rival;
    uint64_t op;
    int struck;                                  /* a driver call has failed: nothing is spurious any more */
    int small, plain, busy;                      /* the device: SPACE_SMALL, SPACE_PLAIN, SPACE_BUSY */
    int has_steps;                               /* gpuarena_step was called */
    int quiet;                                   /* hits and frees hold their heap's lock alone, for long */
    uint64_t look_every;                         /* in a quiet program; 0: never */
    uint64_t places;                             /* a sum over all addresses that were handed out */
    space_op fault;                              /* that the next op alone meets; else its kind is not SPACE_FAULT */
    gpuarena_result result;                      /* of an op that may be refused */
    uint64_t last_mark;                          /* the latest answer of gpuarena_mark: later blocks lie behind it */
    space_tally tally;
    int relieves;                                /* an allocation is in progress, and there is a pressure callback */
    char trouble[400];
} space_state;

static space_state space;
#define space_blame(...) tap_keep(space.trouble, sizeof space.trouble, __VA_ARGS__)

/* The program's own call on streams must be legal. */
static inline void space_must(int code)
{
    if (code) space_blame("the program's own call answers %d", code);
}

/* The bytes that the device holds; with debug, whose blocks are no whole granules, without those of rounding up. */
static inline uint64_t space_held(void)
{
    sim_counters counters;
    if (space.config.debug) return space.asked_bytes;
    sim_get_counters(space.machine, 0, &counters);
    return counters.held_bytes + counters.host_bytes + counters.managed_bytes - shadow.rival_bytes;
}

/* ---- the driver, watched: the limit holds in every call */

static inline void space_watch(uint64_t bytes)
{
    if (space_held() + bytes > shadow.limit)
        space_blame("the device is asked for more than the limit (%" PRIu64 " held, %" PRIu64 " more)", space_held(),
                    bytes);
}

static inline int space_obtain ENTRY_memory_obtain
{
    space_watch(bytes);
    int code = bytes > space.largest_bytes ? SIM_OUT_OF_MEMORY
        : space.driver.memory.obtain(self, kind, ptr, bytes, stream);
    space.refused_count += code == SIM_OUT_OF_MEMORY;
    if (space.fault.kind == SPACE_FAULT && sim_fail_fired(space.machine)) space.struck = 1;
    if (code) return code;
    space.asked_bytes += bytes;
    space.obtained_address = bench_number(*ptr);
    if (!shadow_enter(space.obtained_address, bytes)) space_blame("too many segments");
    return 0;
}

static inline int space_give_back ENTRY_memory_give_back
{
    int code = space.driver.memory.give_back(self, kind, ptr, bytes, stream);
    if (code) return code;
    space.asked_bytes -= bytes;
    if (!shadow_leave(bench_number(ptr))) space_blame("a segment is given back that has a live block");
    return 0;
}

static inline int space_create ENTRY_vm_create
{
    space_watch(bytes);
    int code = space.driver.vm.create(self, page, bytes, traits);
    if (!code) space.asked_bytes += bytes;
    return code;
}

static inline int space_destroy ENTRY_vm_destroy
{
    int code = space.driver.vm.destroy(self, page, bytes);
    if (!code) space.asked_bytes -= bytes;
    return code;
}

static inline int space_map ENTRY_vm_map
{
    int code = space.driver.vm.map(self, address, bytes, page);
    if (!code) space.mapped = (shadow_range){ bench_number(address), bytes };
    return code;
}

/* Time passes with each question: an arena that waits by the clock asks again and again. */
static inline uint64_t space_now_ns(const gpuarena_driver *self)
{
    sim_advance(space.machine, 20000);
    return space.driver.now_ns(self);
}

static inline int space_host_refuses(size_t bytes)
{
    (void)bytes;
    space.struck |= space.host_fails;
    return space.host_fails;
}

/* ---- contents */

static inline void *space_ptr(const shadow_block *block) { return (void *)(uintptr_t)block->address; }

static inline int space_holds(uint64_t address, uint64_t bytes, uint64_t owner)
{
    uint64_t bad;
    return sim_verify(space.machine, 0, (const void *)(uintptr_t)address, bytes, owner, &bad);
}

static inline void space_verify(const shadow_block *block, uint64_t bytes)
{
    if (!space_holds(block->address, bytes, block->owner))
        space_blame("contents are spoilt (slot %d)", (int)(block - shadow.blocks));
}

#endif

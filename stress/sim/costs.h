/* The cost of each driver call to the host: one table, a fixed part and a part per MiB, in virtual nanoseconds.
   It must not know when a call is made or why: the code that serves a call charges it. Text form: `--costs FILE`. */
#ifndef STRESS_SIM_COSTS_H
#define STRESS_SIM_COSTS_H

#include "base.h"

/* X(NAME, name in files, fixed ns, ns per MiB, calls): defaults are published latencies of A100-class devices. */
#define SIM_COSTS(X) \
    X(CONTEXT,      "context",      150000000,   0, "creation of a device's context") \
    X(MALLOC_SLAB,  "malloc_slab",       5000,   0, "cudaMalloc that fits an open 2 MiB slab") \
    X(MALLOC_BLOCK, "malloc_block",    120000, 120, "cudaMalloc otherwise, a new slab included") \
    X(FREE_SLAB,    "free_slab",         4000,   0, "cudaFree that leaves its slab in place") \
    X(FREE_BLOCK,   "free_block",       75000, 370, "cudaFree otherwise, the last piece of a slab included") \
    X(INFO,         "info",             10000,   0, "cudaMemGetInfo") \
    X(VM_RESERVE,   "vm_reserve",       10000,   0, "cuMemAddressReserve") \
    X(VM_RELEASE,   "vm_release",        2000,   0, "cuMemAddressFree") \
    X(VM_CREATE,    "vm_create",        30000,   0, "cuMemCreate") \
    X(VM_DESTROY,   "vm_destroy",       20000, 370, "cuMemRelease; per MiB: whichever call lets the memory go") \
    X(VM_MAP,       "vm_map",            2000,   0, "cuMemMap") \
    X(VM_ACCESS,    "vm_access",        38000,  40, "cuMemSetAccess, for each device that is named") \
    X(VM_UNMAP,     "vm_unmap",         28000,   0, "cuMemUnmap") \
    X(HOST_ALLOC,   "host_alloc",      100000, 400000, "cudaHostAlloc, cudaMallocHost") \
    X(HOST_FREE,    "host_free",        50000, 200000, "cudaFreeHost") \
    X(GET_DEVICE,   "get_device",         100,   0, "cudaGetDevice") \
    X(SET_DEVICE,   "set_device",         300,   0, "cudaSetDevice") \
    X(EVENT_CREATE, "event_create",      1000,   0, "cudaEventCreate") \
    X(EVENT_DESTROY, "event_destroy",     600,   0, "cudaEventDestroy") \
    X(EVENT_RECORD, "event_record",      1500,   0, "cudaEventRecord") \
    X(EVENT_QUERY,  "event_query",       1000,   0, "cudaEventQuery, cudaStreamQuery") \
    X(STREAM_WAIT,  "stream_wait",       1000,   0, "cudaStreamWaitEvent") \
    X(CAPTURE_QUERY, "capture_query",     300,   0, "cudaStreamIsCapturing") \
    X(ISSUE,        "issue",             3000,   0, "copies, fills and launches: the cost to the host") \
    X(SYNC,         "sync",              5000,   0, "waiting for an idle stream, event or device") \
    X(MANAGED,      "managed",          60000,   0, "cudaMallocManaged, without the first touch of pages") \
    X(ASYNC_HIT,    "async_hit",         1700,   0, "cudaMallocAsync that its pool can serve") \
    X(ASYNC_MISS,   "async_miss",      150000, 150, "cudaMallocAsync otherwise") \
    X(ASYNC_FREE,   "async_free",        1200,   0, "cudaFreeAsync")

typedef enum sim_cost_kind {
#define X(name, text, fixed, per_mib, what) SIM_COST_##name,
    SIM_COSTS(X)
#undef X
    SIM_COST_KINDS,
    SIM_COST_NONE = SIM_COST_KINDS               /* a call whose cost is not known: 0 */
} sim_cost_kind;

/* Bounds that keep every product and sum below 2^64: 1,000 s a call, 1 s a MiB. */
#define SIM_COST_MAX_FIXED_NS   ((uint64_t)1000000000000)
#define SIM_COST_MAX_PER_MIB_NS ((uint64_t)1000000000)

typedef struct sim_cost { uint64_t fixed_ns, per_mib_ns; } sim_cost;
struct sim_costs { sim_cost of[SIM_COST_KINDS]; };

const sim_costs *sim_costs_default(void);

/* fixed + per MiB x bytes, the product exact, a fraction of a nanosecond dropped. bytes: below 2^44. */
uint64_t sim_costs_ns(const sim_costs *costs, sim_cost_kind kind, uint64_t bytes);

/* Reads lines `name fixed_ns per_mib_ns`, separated by spaces or tabs; # starts a comment; empty lines are fine. Each
   name occurs at most once; a name that is left out keeps its default. 0, or -1 and a problem that names file, line
   and the expected text: for an unknown or repeated name, a bad or too large number, a wrong number of columns, a
   last line without its newline, a line above 200 bytes, a NUL byte, a file that cannot be read. *costs is then
   unchanged. */
int sim_costs_read(const char *path, sim_costs *costs, problem *why);

/* Writes a text that sim_costs_read accepts. 0, or -1 if a write failed. */
int sim_costs_write(const sim_costs *costs, FILE *out);

/* One kind: its name in files, and its line there. kind: below SIM_COST_KINDS. */
const char *sim_costs_name(sim_cost_kind kind);
void        sim_costs_write_line(sim_cost_kind kind, const sim_cost *cost, FILE *out);

#endif

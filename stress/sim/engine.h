/* The state of the simulated machine, shared by the files that serve calls, and the effects of calls on streams. It
   must not be included outside stress/sim, stress/cudart and tests. The rest of each part is behind that part's
   header. */
#ifndef STRESS_SIM_ENGINE_H
#define STRESS_SIM_ENGINE_H

#include <pthread.h>

#include "costs.h"
#include "devmem.h"
#include "faults.h"
#include "streams.h"

/* ---- Handles of streams, events, graphs and pages: numbers that name an object, and tell whether it is still
        there */

typedef enum handle_kind { HANDLE_NONE, HANDLE_STREAM, HANDLE_EVENT, HANDLE_GRAPH, HANDLE_GRAPH_EXEC,
                           HANDLE_PAGE } handle_kind;

typedef struct handle_record { uint64_t value; void *object; handle_kind kind; } handle_record;

typedef struct handles {                         /* zeroed: none */
    handle_record *records;
    uint32_t *idle;                              /* as long as the records; the latest last */
    uint32_t  count, idle_count;
    size_t    capacity;
    int       reuse;                             /* 1: new ones may be those of what is gone, as CUDA's may */
    uint64_t  serial;                            /* tells machines apart for the CUDA runtime; 0: not used yet */
} handles;

/* A handle for an object: never 0, 1 or 2; but for reuse, never the same twice in 2^24 uses of a record. */
void *handles_create(handles *all, handle_kind kind, void *object);
/* The object; NULL: not of this kind now. each: the index-th record's, and its handle. */
void *handles_find(const handles *all, const void *value, handle_kind kind);
void *handles_each(const handles *all, uint32_t index, handle_kind kind, void **value);
void  handles_drop(handles *all, const void *value);         /* of an object */
void  handles_destroy(handles *all);             /* the objects are the caller's */

/* ---- Graphs: captured commands, in the order in which they were issued, and their time from launch to end */

enum { GRAPH_PAYLOAD = 128 };

/* Answers with a code. launch: below. */
struct launch;
typedef int (*graph_act)(const struct launch *now, const void *payload);

typedef union graph_payload {
    unsigned char bytes[GRAPH_PAYLOAD];
    uint64_t number;                             /* aligns the values that are copied in */
    void    *address;
} graph_payload;

typedef struct graph_node { graph_act act; graph_payload payload; } graph_node;

typedef struct graph {
    graph_node *nodes;
    uint32_t    count;
    size_t      capacity;
    uint32_t    reference_count;                 /* handles of it */
    uint64_t    work_ns;                         /* the longest chain of work */
    stream_mark latest;                          /* its latest launch, which the next one comes after */
} graph;

/* ---- Captures under way: the streams of each, its thread, and the calls that each thread may make meanwhile */

typedef enum capture_mode { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED, CAPTURE_MODES } capture_mode;

typedef struct capture {
    uint64_t        id;                          /* never given again, from 1 */
    uint64_t        thread;
    capture_mode    mode;
    int             is_invalid;
    const stream_queue *origin;
    graph          *graph;
    struct capture *next;
} capture;

typedef struct captures {                        /* zeroed: none; all threads' modes global */
    capture        *list;
    uint64_t        last_id;
    device_table    modes;                       /* by thread: its mode, where that is not CAPTURE_GLOBAL */
} captures;

/* ---- Devices, and the machine */

struct sim_device {
    sim     *sim;
    int      ordinal;
    int      has_context;                        /* 1: its creation has been charged */
    int      lost_code;                          /* not 0: the sticky code that every call answers */
    unsigned runtime_flags, runtime_peers;       /* the CUDA runtime's: cudaSetDeviceFlags; a bit a peer enabled */
    uint64_t runtime_limits[7];                  /* cudaDeviceSetLimit's: how much above its default each is */
    sim_counters counted;                        /* calls and their time alone */
    devmem   memory;
    const char *bank;                            /* no device, but where memory of another kind is: its name */
    uint64_t base_address, space_bytes;          /* where its addresses are */
    uint64_t pool_chunk_bytes;                   /* pools obtain memory in multiples of this */
    treap       opened;                          /* share.c: requests open by cudaIpc */
    struct mempool *pools, *current_pool;        /* memory.h; the first is the device's own. Current: of the runtime,
                                                    NULL: the own */
};

typedef enum sim_bank { SIM_BANK_HOST, SIM_BANK_MANAGED, SIM_BANK_COUNT } sim_bank;

typedef struct sim_lie { const sim_device *device; uint64_t address, bytes; } sim_lie;

struct sim {
    uint64_t    now_ns;
    sim_costs   costs;
    faults      faults;
    judge       judge;
    streams     streams;                         /* of all devices */
    captures    captures;
    handles     handles;                         /* of streams, events, graphs, pages */
    uint64_t    acting_thread;                   /* sim_thread's; 0: the one that calls */
    uint64_t    device_space;                    /* how many addresses each device has */
    uint64_t    clear_serial;                    /* of the latest clear, as an owner of memory */
    uint64_t    mapping_serial;                  /* of the latest mapping of virtual memory, on any device */
    uint32_t    most_mappings;                   /* live ones of each device */
    int         without_vm;
    uint64_t    runtime_work_ns;                 /* how long commands of the CUDA runtime take on the device */
    int         runtime_skips_kernels;           /* kernels of the CUDA runtime are commands that do nothing, */
    uint64_t    runtime_skipped_kernels;         /*   and so many were */
    sim_lie     lies[FAULTS_MOST];               /* answered and not given back; each fault lies once at most */
    int         lie_count;
    int         device_count;
    sim_device *devices, *banks;                 /* banks: of all devices together, behind these */
    sim_watch_fn *watch;                         /* NULL: nobody watches memory */
    void       *watch_user;
    pthread_mutex_t mutex;                       /* of tables: held from a call's begin to its end */
};

/* Addresses: the devices share those from 8 TiB to 128 TiB evenly, and each gives obtains the lower part of its own,
   at most 8 TiB. Banks lie below, from 1 TiB on. engine_offset: 1 and the offset if it is this device's. */
#define ENGINE_FIRST_ADDRESS ((uint64_t)1 << 43)
#define ENGINE_MOST_OBTAIN   ((uint64_t)1 << 43)
#define ENGINE_MOST_CAPACITY ((DEVMEM_SPACE - ENGINE_FIRST_ADDRESS) / 8 * 5)    /* of all devices together */
uint64_t engine_address(const sim_device *device, uint64_t offset);
int      engine_offset(const sim_device *device, uint64_t address, uint64_t *offset);

/* The device, or bank, that has given such an address, held now or not; or the one right above, where lies point.
   NULL: an address of no device, so that the host's own, which may lie in any device's space, are never taken
   for one. *offset: there; offset NULL: nobody asks. */
sim_device *engine_owner(const sim *machine, uint64_t address, uint64_t *offset);

/* devmem_find, by an address. Of one that is not this device's 0, and *place is zeroed. is_base 1: of a request's
   first byte alone. */
int engine_find(const sim_device *device, uint64_t address, int is_base, devmem_place *place);

/* An address for people, relative to its device: "+0x200000", "device 1 +0x200000", "host +0x200000", "an
   address of no device". */
typedef struct engine_text { char text[48]; } engine_text;
engine_text engine_name(const sim_device *device, uint64_t address);

sim_device *engine_device(const sim *machine, int ordinal);   /* NULL: there is none */

/* A finding about an action on a device. */
#define ENGINE_REPORT(device, ...) judge_report(&(device)->sim->judge, (device)->ordinal, __VA_ARGS__)

uint64_t engine_thread(const sim *machine);      /* the one that calls, or that sim_thread says is calling */

/* The first time: creates the device's context and charges the clock for it. */
void engine_open_context(sim_device *device);

uint64_t engine_cost_ns(const sim_device *device, sim_cost_kind kind, uint64_t bytes);

/* A call under way, served by the driver table, the CUDA runtime, or, free of charge, the harness. */
typedef struct engine_call {
    sim         *machine;
    sim_device  *device;                         /* which the call is counted for */
    const char  *action;                         /* its name, for findings */
    struct call_thread *thread;                  /* the CUDA runtime's: cudart/call.h; NULL: the driver table's */
    stream_queue *stream;                        /* of a call that names one */
    sim_call     kind;
    fault_type   lie;                            /* of an obtain; FAULT_CALL: the truth */
    int          code;                           /* the answer; 0 unless said otherwise */
    uint64_t     cost_ns;                        /* the kind's fixed part unless said otherwise */
} engine_call;

/* Ends it: charges the cost to clock and counters, and the stall if it is due. */
void engine_end_call(const engine_call *self);

/* In memory.c: the host has waited, so the device's memory pools may release free chunks. */
void mempools_settle(sim_device *device);

/* Tells who watches that memory came or went. */
void engine_tell(const sim_device *device, sim_call kind, uint64_t address, uint64_t bytes);

/* ---- The judge of use: which memory is used by whom, on which stream, and whether that comes after all that others
        did to it */

typedef struct access_range {
    uint64_t address, bytes;
    uint64_t owner;                              /* whoever the memory was handed to, by a number never used again */
    uint64_t op;                                 /* for findings */
    int      is_launched;                        /* 1: by a graph, */
    uint64_t captured_op;                        /* captured then: it is a finding if others had it since, */
    uint64_t captured_mapping;                   /* or if it was mapped anew: the machine's mapping_serial of then */
} access_range;

#define ACCESS_BY_OBTAIN ((uint64_t)1 << 63)     /* | address of a request: as owner; nobody's number */
#define ACCESS_BY_CLEAR  ((uint64_t)3 << 62)     /* | serial of a clear: the same */

/* The stream's latest command uses the range: not after all that others did to it, or not held, is a finding, one at
   most. The stream's device is lost, if these are reserved addresses that it may not use. */
void access_use(sim_device *device, const stream_queue *by, const access_range *range);
uint64_t access_owner_of(const sim_device *device, uint64_t address);    /* the request or reservation it is in */

/* Addresses, all mapped, are about to go: with their memory and the record of its touches (ACCESS_MEMORY), or alone
   (ACCESS_ADDRESSES). A use of the memory, or in the second case a use through the addresses, that the host does not
   know to be done is a finding. offset: of the device's addresses. */
typedef enum access_gone { ACCESS_MEMORY, ACCESS_ADDRESSES } access_gone;
void access_end(const sim_device *device, access_gone what, uint64_t offset, uint64_t bytes, const char *action);

/* A page that is mapped nowhere is about to go. is_reported: such a use was a finding before. */
void access_end_page(const sim_device *device, devmem_page *page, int is_reported, const char *action);

/* The reason why a device may not use a range of this memory: for findings. */
const char *access_lack(const sim_device *memory, uint64_t offset);

/* ---- Effects of stream calls on the machine, for any caller: driver table, CUDA runtime, or the harness for a
        workload. The code that serves a call begins it here, where it is counted and may be made to fail; nothing
        else here counts calls or knows of faults. An int that is answered is a code of the runtime, unless said
        otherwise */

#define WORK_PER_THREAD ((const void *)(uintptr_t)2)

/* With machine, device and kind in place: counts the call, and sets code, lie and fixed cost by the faults, by a lost
   device, and by calls that the machine's state forbids. A sticky code loses the device. unsafe: the call's name in
   findings about captures; in others it has CUDA's name. */
void work_begin_call(engine_call *self, uint64_t bytes, const char *unsafe);

/* NULL and a code: not a stream now, or one of a lost device. Valid until a stream is destroyed or waited for. */
stream_queue *work_find_stream(sim_device *device, const void *handle, int *code);
/* 1: the stream is the call's from now on. 0: the call has its code. */
int  work_take_stream(engine_call *self, const void *handle);

int  work_create_stream(sim_device *device, int is_blocking, void **handle);
int  work_destroy_stream(const engine_call *self, const void *handle);

/* Captured, where the stream captures. */
int  work_issue(const engine_call *self, stream_queue *by, uint64_t work_ns);

/* Wait for the call's stream, or its device. The wait is part of the call's cost. waits 0: the host asks instead, and
   SIM_NOT_READY tells that work is left. */
int  work_wait_stream(engine_call *self, int waits);
int  work_wait_device(engine_call *self);
void work_drain_device(engine_call *self);       /* waits, even while streams capture: cudaFree */

/* The code of a call that waits for or asks about this stream, or all of the device (by NULL). */
int  capture_check_wait(const engine_call *self, const stream_queue *by);
/* The code of a call that CUDA calls potentially unsafe. */
int  capture_check_unsafe(const engine_call *self);
int  capture_exchange_mode(sim *machine, int *mode);         /* the thread's */

/* Captures of the call's stream. status: 0 none, 1 active, 2 invalid. */
int  work_capture_status(const engine_call *self, int *status);
int  work_begin_capture(const engine_call *self, int mode);
int  work_end_capture(const engine_call *self, graph **made);

/* A handle of a graph, for NULL NULL; and its end: a code. The graph goes with the last one. */
void *work_keep_graph(sim *machine, handle_kind of, graph *made);
void *work_instantiate(sim *machine, const graph *source);     /* one of its own */
int   work_drop_graph(sim *machine, handle_kind of, const void *handle);

void work_reset(sim_device *device);             /* its streams and captures are gone: cudaDeviceReset */
void work_destroy(sim *machine);

/* ---- Events: points in streams, which streams and the host can wait for, and times between them */

/* An event that was never recorded is complete, and nothing comes before it. Destroying one that is not complete
   waits for nothing, and whoever was told to wait for it still does. Those of a lost device answer its code. Waits
   are charged as those for streams are. */
int event_create(sim_device *device, int is_timed, void **made);
int event_destroy(sim *machine, const void *value);
int event_record(const engine_call *self, const void *value);
int event_wait(engine_call *self, const void *value, int waits);
int event_follow(const engine_call *self, const void *value);
int event_elapsed(sim *machine, const void *start, const void *end, int64_t *ns);

/* ---- Commands with an effect: it happens now, or, if they are captured, when the graph is launched */

/* The launch that a graph_act function is part of. */
typedef struct launch {
    sim_device   *device;                        /* the stream's */
    const stream_queue *by;
    int           is_graph;
    uint64_t      op;                            /* of the launch: uses by a graph are the launch's */
} launch;

/* A command of the call's stream that takes work_ns and has the effect act(payload), of up to GRAPH_PAYLOAD bytes;
   NULL: no effect. Answers a code, that of act included; the effect of launch_use does not fail. */
int launch_command(const engine_call *self, uint64_t work_ns, graph_act act, const void *payload, size_t bytes);
int launch_use(const engine_call *self, const void *ptr, uint64_t bytes, uint64_t owner, uint64_t op);
int launch_graph(const engine_call *self, graph *launched, uint64_t op);

#endif

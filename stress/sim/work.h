/* What stream calls do on the machine, whoever makes them: driver table, CUDA runtime, or the harness for a workload.
   Whoever serves a call begins it here, where it is counted and may be made to fail; nothing else here knows of that.
   What each answers is a code of the runtime. */
#ifndef STRESS_SIM_WORK_H
#define STRESS_SIM_WORK_H

#include "engine.h"

#define WORK_PER_THREAD ((const void *)(uintptr_t)2)

/* Counts a call, and says what becomes of it: faults, a lost device, what the machine's state forbids. A sticky code
   loses the device. action: the call's name, for findings. *cost_ns: the fixed part of what the kind costs. */
int work_begin_call(sim_device *device, sim_call kind, uint64_t bytes, const char *action, fault_type *lie,
                    uint64_t *cost_ns);

/* NULL and a code: not a stream now, or one of a lost device. Valid until a stream is destroyed or waited for. */
stream_queue *work_find_stream(sim_device *device, const void *handle, int *code);

int  work_create_stream(sim_device *device, int is_blocking, void **handle);
int  work_destroy_stream(sim_device *device, const void *handle, const char *action);

/* Captured, where the stream captures. */
int  work_issue(sim_device *device, stream_queue *self, uint64_t work_ns);

/* cost_ns NULL: the host does not wait, and SIM_NOT_READY is what it is told. */
int  work_wait_stream(sim_device *device, stream_queue *self, const char *action, uint64_t *cost_ns);
int  work_wait_device(sim_device *device, const char *action, uint64_t *cost_ns);
void work_drain_device(sim_device *device, uint64_t *cost_ns);           /* waits, whatever captures: cudaFree */

/* A call that waits for or asks this stream, or all of the device (self NULL): a code. action: its name. */
int  capture_check_wait(sim_device *device, const stream_queue *self, const char *action);
/* A call that CUDA calls potentially unsafe: likewise. */
int  capture_check_unsafe(sim_device *device, const char *action);
int  capture_exchange_mode(sim *machine, int *mode);         /* the thread's */

int  work_capture_status(const sim_device *device, const stream_queue *self, int *status);   /* 0 none, 1 active,
                                                                                                2 invalid */
int  work_begin_capture(sim_device *device, stream_queue *self, int mode);
int  work_end_capture(sim_device *device, const stream_queue *self, const char *action, graph **made);

/* A handle of a graph, for NULL NULL; and its end: a code. The graph goes with the last one. */
void *work_keep_graph(sim *machine, handle_kind of, graph *made);
void *work_instantiate(sim *machine, const graph *source);     /* one of its own */
int   work_drop_graph(sim *machine, handle_kind of, const void *handle);

void work_reset(sim_device *device);             /* its streams and captures are gone: cudaDeviceReset */
void work_destroy(sim *machine);

/* ---- Events: points in streams, which streams and the host can wait for, and times between them */

/* One that was never recorded is complete, and nothing comes before it. Destroying one that is not complete waits for
   nothing, and whoever was told to wait for it still does. Those of a lost device answer its code. As for the rest:
   work.h. */
int event_create(sim_device *device, int is_timed, void **made);
int event_destroy(sim *machine, const void *value);
int event_record(sim_device *device, const void *value, stream_queue *at);
int event_wait(sim_device *device, const void *value, const char *action, uint64_t *cost_ns);
int event_follow(sim_device *device, stream_queue *from, const void *value, const char *action);
int event_elapsed(sim *machine, const void *start, const void *end, int64_t *ns);

/* ---- What is issued to a stream and has an effect: done now, or captured and done when the graph is launched */

/* What graph_act functions are given. */
typedef struct launch {
    sim_device   *device;                        /* the stream's */
    const stream_queue *by;
    int           is_graph;
    uint64_t      op;                            /* of the launch: uses by a graph are the launch's */
} launch;

/* A command that takes work_ns, and what it does: act with payload, up to GRAPH_PAYLOAD bytes; NULL: nothing. A code,
   act's own too; use has none of its own. */
int launch_command(sim_device *device, stream_queue *by, uint64_t work_ns, graph_act act, const void *payload,
                   size_t bytes);
int launch_use(sim_device *device, stream_queue *by, const void *ptr, uint64_t bytes, uint64_t owner, uint64_t op);
int launch_graph(sim_device *device, stream_queue *by, graph *self, uint64_t op);

#endif

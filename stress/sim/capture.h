/* Captures under way: which streams are in which, whose they are, what each thread may do meanwhile.
   It must not know of handles, memory or what is captured. */
#ifndef STRESS_SIM_CAPTURE_H
#define STRESS_SIM_CAPTURE_H

#include <stddef.h>

#include "base.h"
#include "judge.h"
#include "streams.h"

/* ---- Graphs: what was captured, in the order in which it was issued, and how long it takes from launch to end */

enum { GRAPH_PAYLOAD = 128 };

/* context: whoever launches knows what that is. Answers with a code. */
typedef int (*graph_act)(void *context, const void *payload);

typedef union graph_payload {
    unsigned char bytes[GRAPH_PAYLOAD];
    uint64_t number;                             /* aligned for what is copied in */
    void    *address;
} graph_payload;

typedef struct graph_node { graph_act act; graph_payload payload; } graph_node;

typedef struct graph {
    graph_node *nodes;
    uint32_t    count, capacity;
    int         device;                          /* that its launches are issued from */
    uint64_t    work_ns;                         /* the longest chain of work */
} graph;

graph *graph_copy(const graph *self);
void   graph_destroy(graph *self);               /* NULL is fine */
int    graph_add(graph *self, graph_act act, const void *payload, size_t bytes); /* -1: no host memory, too long */
int    graph_run(const graph *self, void *context);        /* all nodes, in order; the first code that is not 0 */

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

typedef struct capture_thread { uint64_t thread; capture_mode mode; } capture_thread;

typedef struct captures {                        /* zeroed: none; all threads' modes global */
    capture        *list;
    uint64_t        last_id;
    capture_thread *threads;                     /* those that exchanged their mode */
    uint32_t        thread_count, thread_capacity;
} captures;

void captures_destroy(captures *all);
capture *capture_find(const captures *all, uint64_t id);     /* NULL: it has ended */

/* All answer with a code. device: on which the call is made, by engine_thread. action: the call's name, for findings.
   made: NULL, if it failed. */
int  capture_begin(sim_device *device, stream_queue *self, int mode);
int  capture_end(sim_device *device, stream_queue *self, const char *action, graph **made);
void capture_abandon_device(sim_device *device);             /* captures that streams of the device are in */
int  capture_exchange_mode(sim *machine, int *mode);         /* the thread's */

/* A call that is potentially unsafe; one that uses this stream, be it the legacy stream; one that waits for or asks
   this stream, or all of the device (self NULL). */
int capture_check_unsafe(sim_device *device, const char *action);
int capture_check_use(const sim_device *device, const stream_queue *self);
int capture_check_wait(sim_device *device, const stream_queue *self, const char *action);

/* Invalidates a capture, which is a finding, and answers with the code. */
int capture_fail(sim_device *device, capture *met, const char *action, int code);

/* A capturing stream's next piece of work; a point in it; what follows a point of the same capture, or joins it. */
int capture_issue(const sim_device *device, stream_queue *self, uint64_t work_ns);
int capture_record(const sim_device *device, const stream_queue *self, stream_mark *mark);
int capture_follow(sim_device *device, stream_queue *self, uint64_t id, const stream_mark *mark, const char *action);

#endif

/* Captures under way: which streams are in which, whose they are, what each thread may do meanwhile; and graphs. */
#ifndef STRESS_SIM_CAPTURE_H
#define STRESS_SIM_CAPTURE_H

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

#endif

/* Graphs: what was captured, in the order in which it was issued, and how long it takes from launch to end.
   It must not know of streams, nor what its nodes do: each is a function and the bytes it works on.
   Tested by tests/test_sim_capture.c. */
#ifndef STRESS_SIM_GRAPH_H
#define STRESS_SIM_GRAPH_H

#include <stddef.h>

#include "base.h"

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

graph *graph_create(int device);                 /* NULL: no host memory */
graph *graph_copy(const graph *self);
void   graph_destroy(graph *self);               /* NULL is fine */
int    graph_add(graph *self, graph_act act, const void *payload, size_t bytes); /* -1: no host memory, too long */
int    graph_run(const graph *self, void *context);        /* all nodes, in order; the first code that is not 0 */

#endif

/* Graphs: a growing list of nodes.
   Must not know of streams, nor what nodes do.
   Tested by tests/test_sim_capture.c. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

graph *graph_create(int device)
{
    graph *made = calloc(1, sizeof *made);
    if (made) {
        made->device = device;
    }
    return made;
}

void graph_destroy(graph *self)
{
    if (self) {
        free(self->nodes);
        free(self);
    }
}

graph *graph_copy(const graph *self)
{
    graph *made = graph_create(self->device);
    graph_node *nodes = malloc((self->count + 1) * sizeof *nodes);
    if (!made || !nodes) {
        free(nodes);
        graph_destroy(made);
        return NULL;
    }
    if (self->count > 0) {
        memcpy(nodes, self->nodes, self->count * sizeof *nodes);
    }
    made->nodes = nodes;
    made->count = self->count;
    made->capacity = self->count + 1;
    made->work_ns = self->work_ns;
    return made;
}

int graph_add(graph *self, graph_act act, const void *payload, size_t bytes)
{
    if (bytes > GRAPH_PAYLOAD) {
        return -1;
    }
    if (self->count == self->capacity) {
        uint32_t capacity = self->capacity ? self->capacity * 2 : 8;
        graph_node *nodes = realloc(self->nodes, capacity * sizeof *nodes);
        if (!nodes) {
            return -1;
        }
        self->nodes = nodes;
        self->capacity = capacity;
    }
    graph_node *node = &self->nodes[self->count++];
    memset(node, 0, sizeof *node);
    node->act = act;
    memcpy(node->payload.bytes, payload, bytes);
    return 0;
}

int graph_run(const graph *self, void *context)
{
    int code = SIM_SUCCESS;
    for (uint32_t i = 0; i < self->count && code == SIM_SUCCESS; i++) {
        code = self->nodes[i].act(context, &self->nodes[i].payload);
    }
    return code;
}

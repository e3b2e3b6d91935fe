/* What is issued to a stream and has an effect: done now, or captured and done when the graph is launched.
   It must not know of calls or of what effects there are, but for uses of memory.
   Tested by tests/test_sim_capture.c. */
#ifndef STRESS_SIM_LAUNCH_H
#define STRESS_SIM_LAUNCH_H

#include "access.h"

/* What graph_act functions are given. */
typedef struct launch {
    sim_device   *device;
    const stream_queue *by;
    uint64_t      op;                            /* of the launch: uses by a graph are the launch's */
} launch;

/* A command that takes work_ns, and what it does: act with payload, up to GRAPH_PAYLOAD bytes; NULL: nothing. A code,
   act's own too; use has none of its own. */
int launch_command(sim_device *device, const void *handle, uint64_t work_ns, graph_act act, const void *payload,
                   size_t bytes, const char *action);
int launch_use(sim_device *device, const void *handle, const access_range *range, const char *action);
int launch_graph(sim_device *device, const graph *self, const void *handle, uint64_t op, const char *action);

#endif

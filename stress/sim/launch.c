/* Commands with effects, and launches of graphs: all of a graph is one command of the stream that it is launched on.
   Must not know of calls or of what effects there are, but for uses of memory.
   Tested by tests/test_sim_capture.c. */
#include "launch.h"

int launch_command(sim_device *device, const void *handle, uint64_t work_ns, graph_act act, const void *payload,
                   size_t bytes, const char *action)
{
    int code;
    stream_queue *by = work_find_stream(device, handle, &code);
    code = by ? work_issue(device, by, work_ns, action) : code;
    if (code != SIM_SUCCESS || !act) {
        return code;
    }
    if (by->capture) {
        return graph_add(by->capture->graph, act, payload, bytes) ? SIM_OUT_OF_MEMORY : SIM_SUCCESS;
    }
    launch now = { device, by, device->sim->judge.op };
    return act(&now, payload);
}

static int launch_act_use(void *context, const void *payload)
{
    const launch *now = context;
    access_range range = *(const access_range *)payload;
    range.is_launched = 1;
    range.captured_op = range.op;
    range.op = now->op;
    access_use(now->device, now->by, &range);
    return SIM_SUCCESS;
}

int launch_use(sim_device *device, const void *handle, const access_range *range, const char *action)
{
    int code;
    stream_queue *by = work_find_stream(device, handle, &code);
    code = by ? work_issue(device, by, 0, action) : code;
    if (code != SIM_SUCCESS) {
        return code;
    }
    if (by->capture) {
        access_range captured = *range;
        captured.captured_mapping = device->sim->mapping_serial;
        return graph_add(by->capture->graph, launch_act_use, &captured, sizeof captured) ? SIM_OUT_OF_MEMORY
                                                                                         : SIM_SUCCESS;
    }
    access_use(device, by, range);
    return SIM_SUCCESS;
}

/* Into a capture: its nodes are the capture's from then on. */
static int launch_capture(graph *into, const graph *self)
{
    int failed = 0;
    for (uint32_t i = 0; i < self->count && !failed; i++) {
        failed = graph_add(into, self->nodes[i].act, &self->nodes[i].payload, sizeof self->nodes[i].payload);
    }
    return failed ? SIM_OUT_OF_MEMORY : SIM_SUCCESS;
}

int launch_graph(sim_device *device, const graph *self, const void *handle, uint64_t op, const char *action)
{
    int code;
    stream_queue *by = work_find_stream(device, handle, &code);
    code = by ? work_issue(device, by, self->work_ns, action) : code;
    if (code != SIM_SUCCESS) {
        return code;
    }
    if (by->capture) {
        return launch_capture(by->capture->graph, self);
    }
    launch now = { device, by, op };
    return graph_run(self, &now);
}

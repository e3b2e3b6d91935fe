/* Streams of the simulated machine from outside: what a workload does with them, free of charge.
   Must not know what streams or captures are made of.
   Tested by tests/test_sim_order.c and test_sim_capture.c. */
#include "event.h"
#include "launch.h"

static sim_device *streams_device(sim *machine, int device)
{
    return device >= 0 && device < machine->device_count ? &machine->devices[device] : NULL;
}

void sim_thread(sim *machine, uint64_t thread)
{
    machine->acting_thread = thread;
}

void sim_reuse_handles(sim *machine, int reuse)
{
    machine->handles.reuse = reuse != 0;
}

int sim_stream_create(sim *machine, int device, int is_blocking, gpuarena_stream *made)
{
    void *handle;
    sim_device *found = streams_device(machine, device);
    int code = found && made ? work_create_stream(found, is_blocking, &handle) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) {
        *made = handle;
    }
    return code;
}

int sim_stream_destroy(sim *machine, int device, gpuarena_stream handle)
{
    sim_device *found = streams_device(machine, device);
    return found ? work_destroy_stream(found, handle, "destruction of a stream") : SIM_INVALID_VALUE;
}

int sim_stream_query(sim *machine, int device, gpuarena_stream handle)
{
    sim_device *found = streams_device(machine, device);
    return found ? work_query_stream(found, handle, "query of a stream") : SIM_INVALID_VALUE;
}

int sim_stream_wait(sim *machine, int device, gpuarena_stream handle)
{
    uint64_t wait_ns = 0;
    sim_device *found = streams_device(machine, device);
    int code = found ? work_wait_stream(found, handle, "wait for a stream", &wait_ns) : SIM_INVALID_VALUE;
    engine_advance(machine, wait_ns);
    return code;
}

int sim_device_wait(sim *machine, int device)
{
    uint64_t wait_ns = 0;
    sim_device *found = streams_device(machine, device);
    int code = found ? work_wait_device(found, "wait for the device", &wait_ns) : SIM_INVALID_VALUE;
    engine_advance(machine, wait_ns);
    return code;
}

int sim_stream_follow(sim *machine, int device, gpuarena_stream handle, gpuarena_stream other)
{
    const char *action = "wait of a stream";
    void *point;
    sim_device *found = streams_device(machine, device);
    int code = found ? event_create(found, 0, &point) : SIM_INVALID_VALUE;
    if (code != SIM_SUCCESS) {
        return code;
    }
    code = event_record(found, point, other, action);
    code = code == SIM_SUCCESS ? event_follow(found, handle, point, action) : code;
    event_destroy(machine, point);
    return code;
}

int sim_work(sim *machine, int device, gpuarena_stream handle, uint64_t work_ns)
{
    sim_device *found = streams_device(machine, device);
    return found ? launch_command(found, handle, work_ns, NULL, NULL, 0, "work") : SIM_INVALID_VALUE;
}

int sim_access(sim *machine, int device, gpuarena_stream handle, const void *ptr, uint64_t bytes, uint64_t owner,
               uint64_t op)
{
    sim_device *found = streams_device(machine, device);
    access_range range = { (uint64_t)(uintptr_t)ptr, bytes, owner, op, 0, 0, 0 };
    return found ? launch_use(found, handle, &range, "use") : SIM_INVALID_VALUE;
}

int sim_capture_begin(sim *machine, int device, gpuarena_stream handle, int mode)
{
    sim_device *found = streams_device(machine, device);
    return found ? work_begin_capture(found, handle, mode, "begin of a capture") : SIM_INVALID_VALUE;
}

int sim_capture_end(sim *machine, int device, gpuarena_stream handle, void **made)
{
    graph *captured;
    sim_device *found = streams_device(machine, device);
    *made = NULL;
    int code = found ? work_end_capture(found, handle, "end of a capture", &captured) : SIM_INVALID_VALUE;
    if (code != SIM_SUCCESS) {
        return code;
    }
    *made = handles_create(&machine->handles, machine->runtime_serial, HANDLE_GRAPH, captured);
    if (!*made) {
        graph_destroy(captured);
    }
    return *made ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
}

int sim_graph_launch(sim *machine, int device, void *handle, gpuarena_stream stream_handle, uint64_t op)
{
    sim_device *found = streams_device(machine, device);
    const graph *launched = handles_find(&machine->handles, handle, HANDLE_GRAPH);
    return found && launched ? launch_graph(found, launched, stream_handle, op, "launch of a graph")
                             : SIM_INVALID_VALUE;
}

int sim_graph_destroy(sim *machine, void *handle)
{
    graph *found = handles_find(&machine->handles, handle, HANDLE_GRAPH);
    if (!found) {
        return SIM_INVALID_VALUE;
    }
    handles_drop(&machine->handles, handle);
    graph_destroy(found);
    return SIM_SUCCESS;
}

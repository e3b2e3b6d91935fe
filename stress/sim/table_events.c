/* The events group of the driver table, and streams' ids: as cudaEventCreateWithFlags and its kin.
   Must not know of arenas; what the calls do is event.c's and work.c's, faults and clock are the engine's.
   Tested by tests/test_sim_events.c. */
#include "event.h"
#include "table.h"

static int table_event_create(const gpuarena_driver *self, void **event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_WITH_FLAGS, 0).code;
    if (code == SIM_SUCCESS) {
        code = event ? event_create(device, 0, event) : SIM_INVALID_VALUE;
    }
    return engine_end_call(device, SIM_CALL_EVENT_WITH_FLAGS, code,
                           engine_call_ns(device, SIM_CALL_EVENT_WITH_FLAGS));
}

static int table_event_destroy(const gpuarena_driver *self, void *event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_DESTROY, 0).code;
    code = code == SIM_SUCCESS ? event_destroy(device->sim, event) : code;
    return engine_end_call(device, SIM_CALL_EVENT_DESTROY, code, engine_call_ns(device, SIM_CALL_EVENT_DESTROY));
}

static int table_event_record(const gpuarena_driver *self, void *event, gpuarena_stream handle)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_RECORD, 0).code;
    code = code == SIM_SUCCESS ? event_record(device, event, handle, "cudaEventRecord") : code;
    return engine_end_call(device, SIM_CALL_EVENT_RECORD, code, engine_call_ns(device, SIM_CALL_EVENT_RECORD));
}

static int table_event_query(const gpuarena_driver *self, void *event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_QUERY, 0).code;
    code = code == SIM_SUCCESS ? event_query(device, event, "cudaEventQuery") : code;
    return engine_end_call(device, SIM_CALL_EVENT_QUERY, code, engine_call_ns(device, SIM_CALL_EVENT_QUERY));
}

static int table_host_wait(const gpuarena_driver *self, void *event)
{
    sim_device *device = self->user;
    uint64_t cost_ns = engine_call_ns(device, SIM_CALL_EVENT_SYNCHRONIZE);
    int code = engine_begin_call(device, SIM_CALL_EVENT_SYNCHRONIZE, 0).code;
    code = code == SIM_SUCCESS ? event_wait(device, event, "cudaEventSynchronize", &cost_ns) : code;
    return engine_end_call(device, SIM_CALL_EVENT_SYNCHRONIZE, code, cost_ns);
}

static int table_stream_wait(const gpuarena_driver *self, gpuarena_stream handle, void *event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_STREAM_WAIT_EVENT, 0).code;
    code = code == SIM_SUCCESS ? event_follow(device, handle, event, "cudaStreamWaitEvent") : code;
    return engine_end_call(device, SIM_CALL_STREAM_WAIT_EVENT, code,
                           engine_call_ns(device, SIM_CALL_STREAM_WAIT_EVENT));
}

static int table_device_wait(const gpuarena_driver *self)
{
    sim_device *device = self->user;
    uint64_t cost_ns = engine_call_ns(device, SIM_CALL_DEVICE_SYNCHRONIZE);
    int code = engine_begin_call(device, SIM_CALL_DEVICE_SYNCHRONIZE, 0).code;
    code = code == SIM_SUCCESS ? work_wait_device(device, "cudaDeviceSynchronize", &cost_ns) : code;
    return engine_end_call(device, SIM_CALL_DEVICE_SYNCHRONIZE, code, cost_ns);
}

void table_fill_events(gpuarena_driver *driver)
{
    driver->per_thread = (gpuarena_stream)(intptr_t)2;
    driver->events.create = table_event_create;
    driver->events.destroy = table_event_destroy;
    driver->events.record = table_event_record;
    driver->events.query = table_event_query;
    driver->events.host_wait = table_host_wait;
    driver->events.stream_wait = table_stream_wait;
    driver->events.device_wait = table_device_wait;
}

/* Events by their handles: each a copy of what came before when it was recorded.
   Must not count calls or know of faults.
   Tested by tests/test_sim_events.c and test_sim_capture.c. */
#include "event.h"

#include <stdlib.h>

#include "mempool.h"

typedef struct event {
    int         device;
    int         is_timed;
    int         is_recorded;
    uint64_t    capture_id;                      /* recorded last in a capturing stream: of which capture; else 0 */
    stream_mark mark;
} event;

/* NULL and a code: not an event now, or one of a lost device. */
static event *event_find(const sim *machine, const void *value, int *code)
{
    event *found = handles_find(&machine->handles, value, HANDLE_EVENT);
    *code = found ? machine->devices[found->device].lost_code : SIM_INVALID_HANDLE;
    return *code == SIM_SUCCESS ? found : NULL;
}

static void event_free(event *self)
{
    vclock_destroy(&self->mark.seen);
    free(self);
}

int event_create(sim_device *device, int is_timed, void **made)
{
    sim *machine = device->sim;
    if (device->lost_code) {
        return device->lost_code;
    }
    event *self = calloc(1, sizeof *self);
    void *value = self ? handles_create(&machine->handles, machine->runtime_serial, HANDLE_EVENT, self) : NULL;
    if (!value) {
        free(self);
        return SIM_OUT_OF_MEMORY;
    }
    self->device = device->ordinal;
    self->is_timed = is_timed;
    *made = value;
    return SIM_SUCCESS;
}

int event_destroy(sim *machine, const void *value)
{
    int code;
    event *self = event_find(machine, value, &code);
    if (!self) {
        return code;
    }
    handles_drop(&machine->handles, value);
    event_free(self);
    return SIM_SUCCESS;
}

static int event_mark(sim_device *device, event *self, stream_queue *at, const char *action)
{
    sim *machine = device->sim;
    capture_scene scene = work_scene(device, action);
    int code = capture_check_use(&scene, at);
    if (code != SIM_SUCCESS) {
        return code;
    }
    if (at->capture) {
        code = capture_record(&scene, at, &self->mark);
    } else if (streams_record(&machine->streams, at, machine->now_ns, &self->mark)) {
        code = SIM_OUT_OF_MEMORY;
    }
    if (code == SIM_SUCCESS) {
        self->is_recorded = 1;
        self->capture_id = at->capture ? at->capture->id : 0;
    }
    return code;
}

int event_record(sim_device *device, const void *value, const void *handle, const char *action)
{
    int code;
    stream_queue *at = work_find_stream(device, handle, &code);
    event *self = at ? event_find(device->sim, value, &code) : NULL;
    if (!self) {
        return code;
    }
    return self->device == at->device ? event_mark(device, self, at, action) : SIM_INVALID_HANDLE;
}

/* What may be asked or waited for by the host. */
static int event_look(sim_device *device, const void *value, const char *action, event **found)
{
    int code;
    *found = event_find(device->sim, value, &code);
    if (!*found) {
        return code;
    }
    capture_scene scene = work_scene(device, action);
    if ((*found)->capture_id) {
        capture *met = capture_find(&device->sim->captures, (*found)->capture_id);
        return met ? capture_fail(&scene, met, SIM_CAPTURED_EVENT) : SIM_CAPTURED_EVENT;
    }
    return capture_check_unsafe(&scene);
}

int event_query(sim_device *device, const void *value, const char *action)
{
    event *self;
    int code = event_look(device, value, action, &self);
    if (code == SIM_SUCCESS && self->is_recorded) {
        if (self->mark.end_ns > device->sim->now_ns) {
            return SIM_NOT_READY;
        }
        streams_host_follow(&device->sim->streams, &self->mark);
    }
    return code;
}

int event_wait(sim_device *device, const void *value, const char *action, uint64_t *cost_ns)
{
    event *self;
    int code = event_look(device, value, action, &self);
    if (code == SIM_SUCCESS && self->is_recorded) {
        work_wait_until(device->sim, self->mark.end_ns, cost_ns);
        streams_host_follow(&device->sim->streams, &self->mark);
        mempools_settle(device);
    }
    return code;
}

int event_follow(sim_device *device, const void *handle, const void *value, const char *action)
{
    int code;
    sim *machine = device->sim;
    stream_queue *from = work_find_stream(device, handle, &code);
    const event *self = from ? event_find(machine, value, &code) : NULL;
    if (!self) {
        return code;
    }
    capture_scene scene = work_scene(device, action);
    code = capture_check_use(&scene, from);
    if (code != SIM_SUCCESS || !self->is_recorded) {
        return code;
    }
    if (self->capture_id) {
        return capture_follow(&scene, from, self->capture_id, &self->mark);
    }
    if (from->capture) {
        return capture_fail(&scene, from->capture, SIM_CAPTURE_ISOLATION);
    }
    return streams_follow(&machine->streams, from, machine->now_ns, &self->mark) ? SIM_OUT_OF_MEMORY : SIM_SUCCESS;
}

int event_elapsed(sim *machine, const void *start, const void *end, int64_t *ns)
{
    int code;
    const event *from = event_find(machine, start, &code);
    const event *to = from ? event_find(machine, end, &code) : NULL;
    if (!to) {
        return code;
    }
    if (!from->is_recorded || !to->is_recorded || !from->is_timed || !to->is_timed
        || from->capture_id || to->capture_id) {
        return SIM_INVALID_HANDLE;
    }
    if (from->mark.end_ns > machine->now_ns || to->mark.end_ns > machine->now_ns) {
        return SIM_NOT_READY;
    }
    *ns = (int64_t)(to->mark.end_ns - from->mark.end_ns);
    return SIM_SUCCESS;
}

static void event_drop_all(sim *machine, int device, int any)
{
    for (uint32_t i = 0; i < machine->handles.count; i++) {
        void *value;
        event *self = handles_each(&machine->handles, i, HANDLE_EVENT, &value);
        if (self && (any || self->device == device)) {
            handles_drop(&machine->handles, value);
            event_free(self);
        }
    }
}

void event_reset(sim_device *device)
{
    event_drop_all(device->sim, device->ordinal, 0);
}

void event_destroy_all(sim *machine)
{
    event_drop_all(machine, 0, 1);
}

/* Begins and ends calls. */
#include "call.h"

#include <string.h>

static call_thread *call_this_thread(void)
{
    static __thread call_thread state;
    uint64_t epoch = life_epoch();
    if (state.epoch != epoch) {
        memset(&state, 0, sizeof state);
        state.epoch = epoch;
    }
    return &state;
}

int call_enter(call *self)
{
    memset(self, 0, sizeof *self);
    life_lock();
    self->code = life_begin();
    self->thread = call_this_thread();
    if (self->code == SIM_SUCCESS) self->machine = life_machine();
    return self->code;
}

void call_leave(call *self)
{
    (void)self;
    life_unlock();
}

int call_put(int *to, int value)
{
    if (to) *to = value;
    return to ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

sim_device *call_find_device(const call *self, int ordinal)
{
    return ordinal >= 0 && ordinal < self->machine->device_count ? &self->machine->devices[ordinal] : NULL;
}

int call_open(call *self, sim_call kind)
{
    call_enter(self);
    self->kind = kind;
    if (self->code != SIM_SUCCESS) return 0;
    if (!self->machine) {
        self->code = cudaErrorNoDevice;
        return 0;
    }
    self->device = call_find_device(self, self->thread->device);
    if (life_is_own(self->machine)) {
        sim_begin_op(self->machine, self->machine->faults.calls[SIM_CALL_KINDS] + 1);
    }
    return 1;
}

static int call_take_answer(call *self, fault_answer answer)
{
    self->code = answer.code;
    self->lie = answer.lie;
    self->cost_ns = engine_call_ns(self->device, self->kind);
    return self->code == SIM_SUCCESS;
}

int call_serve(call *self, sim_device *device, uint64_t bytes)
{
    self->device = device;
    return call_take_answer(self, engine_begin_call(device, self->kind, bytes));
}

static int call_begin_on(call *self, sim_device *device, uint64_t bytes)
{
    engine_open_context(device);
    self->thread->has_context = 1;
    return call_serve(self, device, bytes);
}

int call_begin(call *self, sim_call kind, uint64_t bytes)
{
    return call_open(self, kind) ? call_begin_on(self, self->device, bytes) : 0;
}

int call_begin_at(call *self, sim_call kind, const void *ptr)
{
    if (!call_open(self, kind)) return 0;
    sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr);
    return call_begin_on(self, owner ? owner : self->device, 0);
}

int call_begin_bare(call *self, sim_call kind)
{
    return call_open(self, kind) ? call_take_answer(self, engine_begin_bare_call(self->device, kind)) : 0;
}

int call_end_driver(call *self)
{
    if (self->device) engine_end_call(self->device, self->kind, self->code, self->cost_ns);
    call_leave(self);
    return self->code;
}

/* The last error of a lost device stays: nothing clears it any more. */
cudaError_t call_end(call *self)
{
    int *last = &self->thread->last_error;
    if (self->code != SIM_SUCCESS && codes_status(*last) != GPUARENA_STATUS_LOST) {
        *last = self->code;
    }
    return (cudaError_t)call_end_driver(self);
}

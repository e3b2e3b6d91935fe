/* Begins and ends calls; last errors, their names, and versions. Must not know which call an error came from. */
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

sim_device *call_device(const call *self, int ordinal)
{
    return engine_device(self->machine, ordinal);
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
    self->device = call_device(self, self->thread->device);
    if (life_is_own(self->machine)) {
        sim_begin_op(self->machine, self->machine->faults.calls[SIM_CALL_KINDS] + 1);
    }
    return 1;
}

int call_serve(call *self, sim_device *device, uint64_t bytes)
{
    if (device) self->device = device;
    if (!engine_call_is(self->kind, SIM_BARE) && !engine_call_is(self->kind, SIM_EXPORT)) {
        engine_open_context(self->device);
        self->thread->has_context = 1;
    }
    fault_answer answer = work_begin_call(self->device, self->kind, bytes, engine_call_name(self->kind));
    self->code = answer.code;
    self->lie = answer.lie;
    self->cost_ns = engine_call_ns(self->device, self->kind);
    return self->code == SIM_SUCCESS;
}

int call_begin(call *self, sim_call kind)
{
    return call_open(self, kind) && call_serve(self, NULL, 0);
}

int call_begin_at(call *self, sim_call kind, const void *ptr)
{
    return call_open(self, kind) && call_serve(self, engine_owner(self->machine, (uint64_t)(uintptr_t)ptr), 0);
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

/* ---- Last errors, their names, and versions */

/* A child of fork and a process that is ending hear of nothing else. */
CUDART_EXPORT cudaError_t cudaGetLastError(void)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS) {
        code = self.thread->last_error;
        if (codes_status(code) != GPUARENA_STATUS_LOST) self.thread->last_error = SIM_SUCCESS;
    }
    call_leave(&self);
    return (cudaError_t)code;
}

CUDART_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS) code = self.thread->last_error;
    call_leave(&self);
    return (cudaError_t)code;
}

CUDART_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    return codes_name((int)error);
}

CUDART_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    return codes_text((int)error);
}

CUDART_EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS && !version) {
        code = self.thread->last_error = SIM_INVALID_VALUE;
    } else if (code == SIM_SUCCESS) {
        *version = CUDART_VERSION;
    }
    call_leave(&self);
    return (cudaError_t)code;
}

/* Without a driver, and with one that only pretends, the version is 0; without a device it is the driver's. */
CUDART_EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
    call self;
    int found = CUDART_VERSION;
    if (!call_begin(&self, SIM_CALL_DRIVER_GET_VERSION)) {
        if (self.code == cudaErrorInsufficientDriver || self.code == cudaErrorStubLibrary) {
            found = 0;
            self.code = SIM_SUCCESS;
        } else if (self.code == cudaErrorNoDevice) {
            self.code = SIM_SUCCESS;
        }
    }
    if (self.code == SIM_SUCCESS && !version) {
        self.code = SIM_INVALID_VALUE;
    } else if (self.code == SIM_SUCCESS) {
        *version = found;
    }
    return call_end(&self);
}

/* Events: complete as soon as they are recorded, because nothing is ever under way; timed by the virtual clock.
   Must not know what streams do.
   Tested by tests/test_cudart_streams.c. */
#include "stream.h"

static handle *event_find(call *self, cudaEvent_t event)
{
    return stream_find(self, event, HANDLE_EVENT);
}

static int event_make(call *self, cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!event || flags & ~known || (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming))) {
        return SIM_INVALID_VALUE;
    }
    void *made = handles_create(HANDLE_EVENT, self->device, flags);
    if (!made) {
        return SIM_OUT_OF_MEMORY;
    }
    *event = made;
    return SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_CREATE, 0)) {
        self.code = event_make(&self, event, cudaEventDefault);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_WITH_FLAGS, 0)) {
        self.code = event_make(&self, event, flags);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_RECORD, 0) && stream_check(&self, stream)) {
        handle *found = event_find(&self, event);
        if (found && found->ordinal != stream_device(&self, stream)) {
            self.code = cudaErrorInvalidResourceHandle;
        } else if (found) {
            found->is_recorded = 1;
            found->recorded_ns = sim_now_ns(self.machine);
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_QUERY, 0)) {
        event_find(&self, event);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_SYNCHRONIZE, 0)) {
        event_find(&self, event);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_WAIT_EVENT, 0) && stream_check(&self, stream) && event_find(&self, event)) {
        self.code = flags & ~(unsigned)cudaEventWaitExternal ? SIM_INVALID_VALUE : SIM_SUCCESS;
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_DESTROY, 0)) {
        handle *found = event_find(&self, event);
        if (found) {
            handles_destroy(found);
        }
    }
    return call_end(&self);
}

static int event_elapsed(const handle *start, const handle *end, float *milliseconds)
{
    if (!milliseconds) {
        return SIM_INVALID_VALUE;
    }
    if (!start->is_recorded || !end->is_recorded || (start->flags | end->flags) & cudaEventDisableTiming) {
        return cudaErrorInvalidResourceHandle;
    }
    uint64_t from_ns = start->recorded_ns, to_ns = end->recorded_ns;
    *milliseconds = to_ns >= from_ns ? (float)(to_ns - from_ns) / 1e6f : -(float)(from_ns - to_ns) / 1e6f;
    return SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    call self;
    if (call_begin(&self, SIM_CALL_EVENT_ELAPSED_TIME, 0)) {
        const handle *from = event_find(&self, start), *to = event_find(&self, end);
        if (from && to) {
            self.code = event_elapsed(from, to, milliseconds);
        }
    }
    return call_end(&self);
}

CUDART_ALSO(cudaEventRecord, cudaEventRecord_ptsz);
CUDART_ALSO(cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz);

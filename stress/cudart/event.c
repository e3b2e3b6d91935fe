/* Events, as the runtime's calls; timed by the virtual clock.
   Must not know what streams do. */
#include "call.h"

static int event_make(call *self, cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    void *made;
    if (!event || flags & ~known || (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming))) {
        return SIM_INVALID_VALUE;
    }
    int code = event_create(self->device, !(flags & cudaEventDisableTiming), &made);
    if (code == SIM_SUCCESS) *event = made;
    return code;
}

CUDART_FUNCTION(cudaEventCreate, (cudaEvent_t *event), call_begin(&self, SIM_CALL_EVENT_CREATE, 0),
                event_make(&self, event, cudaEventDefault))
CUDART_FUNCTION(cudaEventCreateWithFlags, (cudaEvent_t *event, unsigned int flags),
                call_begin(&self, SIM_CALL_EVENT_WITH_FLAGS, 0), event_make(&self, event, flags))
CUDART_STREAM_FUNCTION(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
                       call_begin(&self, SIM_CALL_EVENT_RECORD, 0),
                       event_record(self.device, event, stream, "cudaEventRecord"))

/* An external event node of a capture is not served. */
CUDART_STREAM_FUNCTION(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
                       call_begin(&self, SIM_CALL_EVENT_RECORD_FLAGS, 0),
                       flags == cudaEventRecordDefault ? event_record(self.device, event, stream, "cudaEventRecord")
                       : flags == cudaEventRecordExternal ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE)
CUDART_FUNCTION(cudaEventQuery, (cudaEvent_t event), call_begin(&self, SIM_CALL_EVENT_QUERY, 0),
                event_query(self.device, event, "cudaEventQuery"))
CUDART_FUNCTION(cudaEventSynchronize, (cudaEvent_t event), call_begin(&self, SIM_CALL_EVENT_SYNCHRONIZE, 0),
                event_wait(self.device, event, "cudaEventSynchronize", &self.cost_ns))
CUDART_STREAM_FUNCTION(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
                       call_begin(&self, SIM_CALL_STREAM_WAIT_EVENT, 0) && stream_check(&self, stream),
                       flags & ~(unsigned)cudaEventWaitExternal ? SIM_INVALID_VALUE
                       : event_follow(self.device, stream, event, "cudaStreamWaitEvent"))
CUDART_FUNCTION(cudaEventDestroy, (cudaEvent_t event), call_begin(&self, SIM_CALL_EVENT_DESTROY, 0),
                event_destroy(self.machine, event))

CUDART_EXPORT cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    call self;
    int64_t ns;
    if (call_begin(&self, SIM_CALL_EVENT_ELAPSED_TIME, 0)) {
        self.code = milliseconds ? event_elapsed(self.machine, start, end, &ns) : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) *milliseconds = (float)ns / 1e6f;
    }
    return call_end(&self);
}

/* Streams: made, destroyed, asked, waited for. */
#include "call.h"

enum { STREAM_HIGHEST_PRIORITY = -5 };           /* as the devices of today answer */

int stream_check(call *self, cudaStream_t stream)
{
    return work_find_stream(self->device, stream, &self->code) != NULL;
}

cudaStream_t stream_of_thread(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

int stream_command(call *self, cudaStream_t stream, graph_act act, const void *payload, size_t bytes,
                   const char *action)
{
    return launch_command(self->device, stream, self->machine->runtime_work_ns, act, payload, bytes, action);
}

static int stream_make(call *self, cudaStream_t *stream, unsigned flags)
{
    void *made;
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking) return SIM_INVALID_VALUE;
    int code = work_create_stream(self->device, !(flags & cudaStreamNonBlocking), &made);
    if (code == SIM_SUCCESS) *stream = made;
    return code;
}

CUDART_FUNCTION(cudaStreamCreate, (cudaStream_t *stream), call_begin(&self, SIM_CALL_STREAM_CREATE, 0),
                stream_make(&self, stream, cudaStreamDefault))
CUDART_FUNCTION(cudaStreamCreateWithFlags, (cudaStream_t *stream, unsigned int flags),
                call_begin(&self, SIM_CALL_STREAM_WITH_FLAGS, 0), stream_make(&self, stream, flags))

/* Priorities out of range are clamped, and mean nothing: any priority will do. */
CUDART_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    (void)priority;
    CALL_DOES(call_begin(&self, SIM_CALL_STREAM_WITH_PRIORITY, 0), stream_make(&self, stream, flags));
}

CUDART_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    call self;
    if (call_begin(&self, SIM_CALL_PRIORITY_RANGE, 0)) {
        if (least) *least = 0;
        if (greatest) *greatest = STREAM_HIGHEST_PRIORITY;
    }
    return call_end(&self);
}

CUDART_FUNCTION(cudaStreamDestroy, (cudaStream_t stream), call_begin(&self, SIM_CALL_STREAM_DESTROY, 0),
                work_destroy_stream(self.device, stream, "cudaStreamDestroy"))
CUDART_STREAM_FUNCTION(cudaStreamSynchronize, (cudaStream_t stream),
                       call_begin(&self, SIM_CALL_STREAM_SYNCHRONIZE, 0),
                       work_wait_stream(self.device, stream, "cudaStreamSynchronize", &self.cost_ns))
CUDART_STREAM_FUNCTION(cudaStreamQuery, (cudaStream_t stream), call_begin(&self, SIM_CALL_STREAM_QUERY, 0),
                       work_query_stream(self.device, stream, "cudaStreamQuery"))

static int stream_flags(call *self, cudaStream_t stream, unsigned *flags)
{
    int code;
    const stream_queue *found = work_find_stream(self->device, stream, &code);
    if (!found || !flags) return found ? SIM_INVALID_VALUE : code;
    *flags = found->is_blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    return SIM_SUCCESS;
}

CUDART_STREAM_FUNCTION(cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags),
                       call_begin(&self, SIM_CALL_STREAM_GET_FLAGS, 0), stream_flags(&self, stream, flags))

/* Priorities mean nothing, and none is kept. */
CUDART_STREAM_FUNCTION(cudaStreamGetPriority, (cudaStream_t stream, int *priority),
                       call_begin(&self, SIM_CALL_STREAM_GET_PRIORITY, 0) && stream_check(&self, stream),
                       call_put(priority, 0))

/* The host waits for what the stream has, then calls, and the call returns after that. A capturing stream has no host
   functions here. */
CUDART_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    call self;
    if (call_begin(&self, SIM_CALL_LAUNCH_HOST_FUNC, 0)) {
        const stream_queue *found = work_find_stream(self.device, stream, &self.code);
        self.code = !function ? SIM_INVALID_VALUE : found && found->capture ? SIM_NOT_SUPPORTED : self.code;
        if (self.code == SIM_SUCCESS) {
            self.code = work_wait_stream(self.device, stream, "cudaLaunchHostFunc", &self.cost_ns);
        }
    }
    cudaError_t code = call_end(&self);
    if (code == cudaSuccess) function(user);
    return code;
}

#if CUDART_VERSION >= 12000
CUDART_EXPORT cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    call self;
    uint64_t found;
    if (call_begin(&self, SIM_CALL_STREAM_GET_ID, 0)) {
        self.code = id ? work_stream_id(self.device, stream, &found) : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) *id = found;
    }
    return call_end(&self);
}

CUDART_PER_THREAD(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), (stream_of_thread(stream), id))
#endif

CUDART_PER_THREAD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *user),
                  (stream_of_thread(stream), function, user))

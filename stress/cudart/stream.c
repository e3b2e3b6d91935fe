/* Streams, events, captures and graphs, as the runtime's calls. Must not know the rules of captures, nor the commands
   in them. */
#include "call.h"

enum { STREAM_HIGHEST_PRIORITY = -5 };           /* as the devices of today answer */

int stream_begin(call *self, sim_call kind, cudaStream_t stream)
{
    return call_begin(self, kind) && work_take_stream(self, stream);
}

cudaStream_t stream_of_thread(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

/* ---- Streams: made, destroyed, asked, waited for */

/* A priority is kept and answered, and has no effect. One beyond the range becomes its nearest end. */
static int stream_make(call *self, cudaStream_t *stream, unsigned flags, int priority)
{
    void *made;
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking) return SIM_INVALID_VALUE;
    int code = work_create_stream(self->device, !(flags & cudaStreamNonBlocking), &made);
    if (code == SIM_SUCCESS) {
        *stream = made;
        if (priority > 0) priority = 0;
        if (priority < STREAM_HIGHEST_PRIORITY) priority = STREAM_HIGHEST_PRIORITY;
        work_find_stream(self->device, made, &code)->priority = priority;
    }
    return code;
}

static int stream_priorities(int *least, int *greatest)
{
    if (least) *least = 0;
    if (greatest) *greatest = STREAM_HIGHEST_PRIORITY;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaStreamCreate, (cudaStream_t *stream), stream_make(&self, stream, cudaStreamDefault, 0))
CUDART_FUNCTION(cudaStreamCreateWithFlags, (cudaStream_t *stream, unsigned int flags),
                stream_make(&self, stream, flags, 0))
CUDART_FUNCTION(cudaStreamCreateWithPriority, (cudaStream_t *stream, unsigned int flags, int priority),
                stream_make(&self, stream, flags, priority))
CUDART_FUNCTION(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), stream_priorities(least, greatest))
CUDART_FUNCTION(cudaStreamDestroy, (cudaStream_t stream), work_destroy_stream(&self, stream))
CUDART_STREAM_FUNCTION(cudaStreamSynchronize, (cudaStream_t stream), work_wait_stream(&self, 1))
CUDART_STREAM_FUNCTION(cudaStreamQuery, (cudaStream_t stream), work_wait_stream(&self, 0))
CUDART_STREAM_FUNCTION(cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags),
                       CALL_PUT(flags, self.stream->is_blocking ? cudaStreamDefault : cudaStreamNonBlocking))
CUDART_STREAM_FUNCTION(cudaStreamGetPriority, (cudaStream_t stream, int *priority),
                       CALL_PUT(priority, self.stream->priority))
#if CUDART_VERSION >= 12080
CUDART_STREAM_FUNCTION(cudaStreamGetDevice, (cudaStream_t stream, int *device), CALL_PUT(device, self.stream->device))
#endif

/* The host waits for all commands of the stream, then calls the function, and the call returns after that. A
   capturing stream has no host functions here. */
CUDART_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    call self;
    if (stream_begin(&self, SIM_CALL_LAUNCH_HOST_FUNC, stream)) {
        self.code = !function ? SIM_INVALID_VALUE : self.stream->capture ? SIM_NOT_SUPPORTED
                  : work_wait_stream(&self, 1);
    }
    cudaError_t code = call_end(&self);
    if (code == cudaSuccess) {
        const int last_error = self.thread->last_error, kept_error = self.thread->kept_error;
        self.thread->last_error = SIM_SUCCESS;   /* errors are those of a thread of the driver's */
        self.thread->is_called_back = 1;
        function(user);
        self.thread->is_called_back = 0;
        self.thread->last_error = last_error;
        self.thread->kept_error = kept_error;
    }
    return code;
}

CUDART_THREAD_FORM(cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz)(cudaStream_t stream, cudaHostFn_t function,
                                                                void *user)
{
    return cudaLaunchHostFunc(stream_of_thread(stream), function, user);
}

#if CUDART_VERSION >= 12000
CUDART_STREAM_FUNCTION(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), CALL_PUT(id, self.stream->id))
#endif

/* ---- Events, timed by the virtual clock */

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

CUDART_SERVED(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
              (milliseconds, start, end))
{
    int64_t ns;
    int code = milliseconds ? event_elapsed(self->machine, start, end, &ns) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *milliseconds = (float)ns / 1e6f;
    return code;
}

CUDART_FUNCTION(cudaEventCreate, (cudaEvent_t *event), event_make(&self, event, cudaEventDefault))
CUDART_FUNCTION(cudaEventCreateWithFlags, (cudaEvent_t *event, unsigned int flags), event_make(&self, event, flags))
CUDART_FUNCTION(cudaEventQuery, (cudaEvent_t event), event_wait(&self, event, 0))
CUDART_FUNCTION(cudaEventSynchronize, (cudaEvent_t event), event_wait(&self, event, 1))
CUDART_FUNCTION(cudaEventDestroy, (cudaEvent_t event), event_destroy(self.machine, event))

CUDART_STREAM_FUNCTION(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event_record(&self, event))
CUDART_STREAM_FUNCTION(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
                       flags & ~(unsigned)cudaEventWaitExternal ? SIM_INVALID_VALUE : event_follow(&self, event))

/* An external event node of a capture is not served. */
CUDART_STREAM_FUNCTION(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
                       flags == cudaEventRecordDefault ? event_record(&self, event)
                       : flags == cudaEventRecordExternal ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE)

/* ---- Captures */

static int capture_status(const call *self, enum cudaStreamCaptureStatus *status)
{
    int found, code = status ? work_capture_status(self, &found) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *status = (enum cudaStreamCaptureStatus)found;
    return code;
}

CUDART_STREAM_FUNCTION(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
                       capture_status(&self, status))

/* Describes a capture under way. The graph in the making has no handle: NULL. Its next node would follow one node, of
   which nothing more can be asked, or none at the beginning. */
static int capture_tell(const call *self, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                        cudaGraph_t *made, const cudaGraphNode_t **follows, size_t *count)
{
    static char last_node;
    static const cudaGraphNode_t last = (cudaGraphNode_t)(void *)&last_node;
    int code = capture_status(self, status);
    if (code != SIM_SUCCESS || *status != cudaStreamCaptureStatusActive) return code;
    if (id) *id = self->stream->capture->id;
    if (made) *made = NULL;
    if (follows) *follows = &last;
    if (count) *count = self->stream->capture->graph->count > 0;
    return SIM_SUCCESS;
}

/* In the headers of CUDA 12 the name is a macro, for the symbol cudaStreamGetCaptureInfo_v2. Edges are ordinary. */
#if CUDART_VERSION >= 13000
CUDART_STREAM_FUNCTION(cudaStreamGetCaptureInfo,
                       (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                        cudaGraph_t *made, const cudaGraphNode_t **follows, const cudaGraphEdgeData **edges,
                        size_t *count),
                       (edges ? (void)(*edges = NULL) : (void)0,
                        capture_tell(&self, status, id, made, follows, count)))
#elif CUDART_VERSION >= 12000
CUDART_STREAM_FUNCTION(cudaStreamGetCaptureInfo,
                       (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                        cudaGraph_t *made, const cudaGraphNode_t **follows, size_t *count),
                       capture_tell(&self, status, id, made, follows, count))
#else
CUDART_STREAM_FUNCTION(cudaStreamGetCaptureInfo,
                       (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
                       capture_tell(&self, status, id, NULL, NULL, NULL))
#endif

CUDART_SERVED(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode *mode), (mode))
{
    int wanted = mode ? (int)*mode : -1;
    int code = capture_exchange_mode(self->machine, &wanted);
    if (code == SIM_SUCCESS) *mode = (enum cudaStreamCaptureMode)wanted;
    return code;
}

CUDART_STREAM_FUNCTION(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
                       work_begin_capture(&self, (int)mode))

/* ---- Graphs: made by captures, instantiated, launched, destroyed */

/* A stream's capture ends, whether or not it made a graph; then *made is NULL. */
static int graph_end_capture(const call *self, cudaGraph_t *made)
{
    graph *captured = NULL;
    if (!made) return SIM_INVALID_VALUE;
    int code = work_end_capture(self, &captured);
    *made = work_keep_graph(self->machine, HANDLE_GRAPH, captured);
    return code;
}

CUDART_STREAM_FUNCTION(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *made),
                       graph_end_capture(&self, made))

CUDART_SERVED_BY(cudaGraphInstantiateWithFlags,
                 (cudaGraphExec_t *made, cudaGraph_t source, unsigned long long flags), (made, source, flags),
                 call_begin(&self, SIM_CALL_GRAPH_INSTANTIATE))
{
    const graph *found = handles_find(&self->machine->handles, source, HANDLE_GRAPH);
    if (!made || !found || flags > cudaGraphInstantiateFlagUseNodePriority * 2 - 1) {
        return SIM_INVALID_VALUE;
    }
    *made = work_instantiate(self->machine, found);
    return SIM_SUCCESS;
}

#if CUDART_VERSION >= 12000
CUDART_ALSO(cudaGraphInstantiateWithFlags, cudaGraphInstantiate);
#else
CUDART_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t source, cudaGraphNode_t *failed,
                                               char *text, size_t bytes)
{
    (void)failed;
    if (text && bytes > 0) text[0] = '\0';
    return cudaGraphInstantiateWithFlags(made, source, 0);
}
#endif

/* How many nodes there are. They have no handles. */
CUDART_SERVED(cudaGraphGetNodes, (cudaGraph_t source, cudaGraphNode_t *nodes, size_t *count), (source, nodes, count))
{
    const graph *found = handles_find(&self->machine->handles, source, HANDLE_GRAPH);
    if (!found || !count || nodes) return found && count ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE;
    *count = found->count;
    return SIM_SUCCESS;
}

static int graph_launch(const call *self, cudaGraphExec_t exec)
{
    graph *found = handles_find(&self->machine->handles, exec, HANDLE_GRAPH_EXEC);
    return found ? launch_graph(self, found, self->machine->judge.op) : SIM_INVALID_VALUE;
}

CUDART_STREAM_FUNCTION(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
                       graph_launch(&self, exec))
CUDART_FUNCTION(cudaGraphDestroy, (cudaGraph_t value), work_drop_graph(self.machine, HANDLE_GRAPH, value))
CUDART_FUNCTION(cudaGraphExecDestroy, (cudaGraphExec_t value),
                work_drop_graph(self.machine, HANDLE_GRAPH_EXEC, value))

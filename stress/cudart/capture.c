/* Captures of streams, as the runtime's calls.
   Must not know their rules, nor what is captured. */
#include "call.h"

CUDART_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    call self;
    int found;
    if (call_begin(&self, SIM_CALL_STREAM_IS_CAPTURING, 0) && stream_check(&self, stream)) {
        self.code = status ? work_capture_status(self.device, stream, &found) : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) *status = (enum cudaStreamCaptureStatus)found;
    }
    return call_end(&self);
}

#if CUDART_VERSION >= 12000
/* What is told of a capture under way. The graph in the making has no handle: NULL. What its next node would follow
   is one node, of which nothing more can be asked, or none at the beginning. */
typedef struct capture_answer {
    enum cudaStreamCaptureStatus *status;
    unsigned long long *id;
    cudaGraph_t *made;
    const cudaGraphNode_t **follows;
    size_t *count;
} capture_answer;

static int capture_tell(call *self, cudaStream_t stream, const capture_answer *told)
{
    static char last_node;
    static const cudaGraphNode_t last = (cudaGraphNode_t)(void *)&last_node;
    int state, code = SIM_INVALID_VALUE;
    const stream_queue *found = told->status ? work_find_stream(self->device, stream, &code) : NULL;
    code = found ? work_capture_status(self->device, stream, &state) : code;
    if (code != SIM_SUCCESS) return code;
    *told->status = (enum cudaStreamCaptureStatus)state;
    if (state != cudaStreamCaptureStatusActive) return SIM_SUCCESS;
    if (told->id) *told->id = found->capture->id;
    if (told->made) *told->made = NULL;
    if (told->follows) *told->follows = &last;
    if (told->count) *told->count = found->capture->graph->count > 0;
    return SIM_SUCCESS;
}

static cudaError_t capture_ask(cudaStream_t stream, const capture_answer *told)
{
    CALL_DOES(call_begin(&self, SIM_CALL_STREAM_CAPTURE_INFO, 0), capture_tell(&self, stream, told));
}

#if CUDART_VERSION >= 13000
CUDART_EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                   unsigned long long *id, cudaGraph_t *made,
                                                   const cudaGraphNode_t **follows, const cudaGraphEdgeData **edges,
                                                   size_t *count)
{
    capture_answer told = { status, id, made, follows, count };
    if (edges) {
        *edges = NULL;                           /* all are ordinary */
    }
    return capture_ask(stream, &told);
}

CUDART_PER_THREAD(cudaStreamGetCaptureInfo,
                  (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                   cudaGraph_t *made, const cudaGraphNode_t **follows, const cudaGraphEdgeData **edges,
                   size_t *count),
                  (stream_of_thread(stream), status, id, made, follows, edges, count))
#else
/* In these headers the name is a macro, for the symbol cudaStreamGetCaptureInfo_v2. */
CUDART_EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                   unsigned long long *id, cudaGraph_t *made,
                                                   const cudaGraphNode_t **follows, size_t *count)
{
    capture_answer told = { status, id, made, follows, count };
    return capture_ask(stream, &told);
}

CUDART_THREAD_FORM(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v2_ptsz)(
    cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *made,
    const cudaGraphNode_t **follows, size_t *count)
{
    return cudaStreamGetCaptureInfo(stream_of_thread(stream), status, id, made, follows, count);
}
#endif
#endif

CUDART_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_EXCHANGE_CAPTURE_MODE)) {
        int wanted = mode ? (int)*mode : -1;
        self.code = capture_exchange_mode(&self.machine->captures, work_thread(self.machine), &wanted);
        if (self.code == SIM_SUCCESS) *mode = (enum cudaStreamCaptureMode)wanted;
    }
    return call_end(&self);
}

CUDART_STREAM_FUNCTION(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
                       call_begin(&self, SIM_CALL_BEGIN_CAPTURE, 0),
                       work_begin_capture(self.device, stream, (int)mode, "cudaStreamBeginCapture"))

/* A stream's capture ends, whether or not it made a graph; then *made is NULL. */
CUDART_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *made)
{
    call self;
    graph *captured = NULL;
    if (call_begin(&self, SIM_CALL_END_CAPTURE, 0)) {
        self.code = made ? work_end_capture(self.device, stream, "cudaStreamEndCapture", &captured)
                         : SIM_INVALID_VALUE;
        if (made) {
            *made = captured ? handles_create(&self.machine->handles, self.machine->runtime_serial, HANDLE_GRAPH,
                                              captured) : NULL;
        }
        if (captured && !*made) {
            graph_destroy(captured);
            self.code = SIM_OUT_OF_MEMORY;
        }
    }
    return call_end(&self);
}

CUDART_PER_THREAD(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
                  (stream_of_thread(stream), status))
CUDART_PER_THREAD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *made),
                  (stream_of_thread(stream), made))

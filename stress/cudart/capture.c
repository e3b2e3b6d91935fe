/* Captures of streams, as the runtime's calls.
   Must not know their rules, nor what is captured.
   Tested by tests/test_cudart_capture.c. */
#include "stream.h"

CUDART_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    call self;
    int found;
    if (call_begin(&self, SIM_CALL_STREAM_IS_CAPTURING, 0) && stream_check(&self, stream)) {
        self.code = status ? work_capture_status(self.device, stream, &found) : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) {
            *status = (enum cudaStreamCaptureStatus)found;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_EXCHANGE_CAPTURE_MODE)) {
        int wanted = mode ? (int)*mode : -1;
        self.code = capture_exchange_mode(&self.machine->captures, work_thread(self.machine), &wanted);
        if (self.code == SIM_SUCCESS) {
            *mode = (enum cudaStreamCaptureMode)wanted;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    call self;
    if (call_begin(&self, SIM_CALL_BEGIN_CAPTURE, 0)) {
        self.code = work_begin_capture(self.device, stream, (int)mode, "cudaStreamBeginCapture");
    }
    return call_end(&self);
}

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

CUDART_THREAD_FORM(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz)(cudaStream_t stream,
                                                                      enum cudaStreamCaptureStatus *status)
{
    return cudaStreamIsCapturing(stream_of_thread(stream), status);
}

CUDART_THREAD_FORM(cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz)(cudaStream_t stream,
                                                                        enum cudaStreamCaptureMode mode)
{
    return cudaStreamBeginCapture(stream_of_thread(stream), mode);
}

CUDART_THREAD_FORM(cudaStreamEndCapture, cudaStreamEndCapture_ptsz)(cudaStream_t stream, cudaGraph_t *made)
{
    return cudaStreamEndCapture(stream_of_thread(stream), made);
}

/* Streams: made, destroyed, asked and waited for; always idle.
   Must not know of events' times.
   Tested by tests/test_cudart_streams.c. */
#include "stream.h"

enum { STREAM_HIGHEST_PRIORITY = -5 };           /* as the devices of today answer */

static int stream_is_default(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

handle *stream_find(call *self, const void *value, handle_kind kind)
{
    handle *found = handles_find(value, kind, self->machine);
    int code = found ? self->machine->devices[found->ordinal].lost_code : cudaErrorInvalidResourceHandle;
    if (code != SIM_SUCCESS) {
        self->code = code;
        return NULL;
    }
    return found;
}

int stream_check(call *self, cudaStream_t stream)
{
    return stream_is_default(stream) || stream_find(self, stream, HANDLE_STREAM);
}

int stream_device(const call *self, cudaStream_t stream)
{
    const handle *found = stream_is_default(stream) ? NULL : handles_find(stream, HANDLE_STREAM, self->machine);
    return found ? found->ordinal : self->thread->device;
}

static int stream_make(call *self, cudaStream_t *stream, unsigned flags)
{
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking) {
        return SIM_INVALID_VALUE;
    }
    void *made = handles_create(HANDLE_STREAM, self->device, flags);
    if (!made) {
        return SIM_OUT_OF_MEMORY;
    }
    *stream = made;
    return SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_CREATE, 0)) {
        self.code = stream_make(&self, stream, cudaStreamDefault);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_WITH_FLAGS, 0)) {
        self.code = stream_make(&self, stream, flags);
    }
    return call_end(&self);
}

/* Priorities out of range are clamped, and mean nothing: any priority will do. */
CUDART_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    call self;
    (void)priority;
    if (call_begin(&self, SIM_CALL_STREAM_WITH_PRIORITY, 0)) {
        self.code = stream_make(&self, stream, flags);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    call self;
    if (call_begin(&self, SIM_CALL_PRIORITY_RANGE, 0)) {
        if (least) {
            *least = 0;
        }
        if (greatest) {
            *greatest = STREAM_HIGHEST_PRIORITY;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_DESTROY, 0)) {
        handle *found = stream_find(&self, stream, HANDLE_STREAM);
        if (found) {
            handles_destroy(found);
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_SYNCHRONIZE, 0)) {
        stream_check(&self, stream);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_QUERY, 0)) {
        stream_check(&self, stream);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    call self;
    if (call_begin(&self, SIM_CALL_STREAM_IS_CAPTURING, 0) && stream_check(&self, stream)) {
        self.code = status ? SIM_SUCCESS : SIM_INVALID_VALUE;
        if (status) {
            *status = cudaStreamCaptureStatusNone;
        }
    }
    return call_end(&self);
}

static int stream_exchange_mode(call *self, enum cudaStreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed) {
        return SIM_INVALID_VALUE;
    }
    enum cudaStreamCaptureMode before = self->thread->capture_mode;
    self->thread->capture_mode = *mode;
    *mode = before;
    return SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_EXCHANGE_CAPTURE_MODE)) {
        self.code = stream_exchange_mode(&self, mode);
    }
    return call_end(&self);
}

CUDART_ALSO(cudaStreamSynchronize, cudaStreamSynchronize_ptsz);
CUDART_ALSO(cudaStreamQuery, cudaStreamQuery_ptsz);
CUDART_ALSO(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz);

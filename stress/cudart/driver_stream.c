/* Driver functions that take a stream, or use the default one: each is the runtime's call of the same meaning.
   Must not know what streams do. */
#define DRIVER_HAS_STREAM 1
#include "driver.h"

static void *stream_pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

DRIVER_TAKES(cuMemAllocAsync, 11020, (CUdeviceptr *address, size_t bytes, CUstream stream), address, void *,
             cudaMallocAsync(&made, bytes, stream), *address = (CUdeviceptr)(uintptr_t)made)
DRIVER_TAKES(cuMemAllocFromPoolAsync, 11020,
             (CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream), address, void *,
             cudaMallocFromPoolAsync(&made, bytes, pool, stream), *address = (CUdeviceptr)(uintptr_t)made)

/* Of equal bytes alone: the runtime's fills have no other values. */
DRIVER(cuMemsetD32Async, 3020, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream))
{
    int byte = (int)(value & 0xFF);
    if (value != (unsigned)byte * 0x01010101u || count > SIZE_MAX / sizeof value) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return DRIVER_DOES(cudaMemsetAsync(stream_pointer(to), byte, count * sizeof value, stream));
}

#if CUDA_VERSION >= 12000
DRIVER_FUNCTION(cuStreamGetId, 12000, (CUstream stream, unsigned long long *id), cudaStreamGetId(stream, id))
#endif

DRIVER_CALL(cuStreamGetCtx, 9020, (CUstream stream, CUcontext *context),
            stream_begin(&self, SIM_CALL_STREAM_GET_DEVICE, stream),
            CALL_PUT(context, driver_context(self.stream->device)))

/* The numbers of modes and states are the runtime's. */
DRIVER_TAKES(cuStreamIsCapturing, 10000, (CUstream stream, CUstreamCaptureStatus *status), status,
             enum cudaStreamCaptureStatus, cudaStreamIsCapturing(stream, &made),
             *status = (CUstreamCaptureStatus)made)

DRIVER(cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode *mode))
{
    enum cudaStreamCaptureMode wanted = mode ? (enum cudaStreamCaptureMode)*mode : cudaStreamCaptureModeGlobal;
    CUresult code = mode ? DRIVER_DOES(cudaThreadExchangeStreamCaptureMode(&wanted)) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *mode = (CUstreamCaptureMode)wanted;
    return code;
}

DRIVER_FUNCTION(cuMemcpy, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault))
DRIVER_FUNCTION(cuStreamCreate, 2000, (CUstream *stream, unsigned int flags),
                cudaStreamCreateWithFlags(stream, flags))
DRIVER_FUNCTION(cuEventCreate, 2000, (CUevent *event, unsigned int flags), cudaEventCreateWithFlags(event, flags))
DRIVER_FUNCTION(cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream),
                cudaFreeAsync(stream_pointer(address), stream))
DRIVER_FUNCTION(cuMemcpyHtoD, 3020, (CUdeviceptr to, const void *from, size_t bytes),
                cudaMemcpy(stream_pointer(to), from, bytes, cudaMemcpyHostToDevice))
DRIVER_FUNCTION(cuMemcpyDtoH, 3020, (void *to, CUdeviceptr from, size_t bytes),
                cudaMemcpy(to, stream_pointer(from), bytes, cudaMemcpyDeviceToHost))
DRIVER_FUNCTION(cuMemcpyDtoD, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDeviceToDevice))
DRIVER_FUNCTION(cuMemcpyAsync, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                cudaMemcpyAsync(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault, stream))
DRIVER_FUNCTION(cuMemcpyHtoDAsync, 3020, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
                cudaMemcpyAsync(stream_pointer(to), from, bytes, cudaMemcpyHostToDevice, stream))
DRIVER_FUNCTION(cuMemcpyDtoHAsync, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
                cudaMemcpyAsync(to, stream_pointer(from), bytes, cudaMemcpyDeviceToHost, stream))
DRIVER_FUNCTION(cuMemcpyDtoDAsync, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                cudaMemcpyAsync(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDeviceToDevice, stream))
DRIVER_FUNCTION(cuMemsetD8, 3020, (CUdeviceptr to, unsigned char value, size_t count),
                cudaMemset(stream_pointer(to), value, count))
DRIVER_FUNCTION(cuMemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
                cudaMemsetAsync(stream_pointer(to), value, count, stream))
DRIVER_FUNCTION(cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned int flags, int priority),
                cudaStreamCreateWithPriority(stream, flags, priority))
DRIVER_FUNCTION(cuStreamDestroy, 4000, (CUstream stream), cudaStreamDestroy(stream))
DRIVER_FUNCTION(cuStreamSynchronize, 2000, (CUstream stream), cudaStreamSynchronize(stream))
DRIVER_FUNCTION(cuStreamQuery, 2000, (CUstream stream), cudaStreamQuery(stream))
DRIVER_FUNCTION(cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned int flags),
                cudaStreamWaitEvent(stream, event, flags))
DRIVER_FUNCTION(cuStreamGetFlags, 5050, (CUstream stream, unsigned int *flags), cudaStreamGetFlags(stream, flags))
DRIVER_FUNCTION(cuStreamGetPriority, 5050, (CUstream stream, int *priority), cudaStreamGetPriority(stream, priority))
DRIVER_FUNCTION(cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void *user),
                cudaLaunchHostFunc(stream, function, user))
DRIVER_FUNCTION(cuEventDestroy, 4000, (CUevent event), cudaEventDestroy(event))
DRIVER_FUNCTION(cuEventRecord, 2000, (CUevent event, CUstream stream), cudaEventRecord(event, stream))
DRIVER_FUNCTION(cuEventQuery, 2000, (CUevent event), cudaEventQuery(event))
DRIVER_FUNCTION(cuEventSynchronize, 2000, (CUevent event), cudaEventSynchronize(event))
DRIVER_FUNCTION(cuEventElapsedTime, 2000, (float *milliseconds, CUevent start, CUevent end),
                cudaEventElapsedTime(milliseconds, start, end))
DRIVER_FUNCTION(cuStreamBeginCapture, 10010, (CUstream stream, CUstreamCaptureMode mode),
                cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode))
DRIVER_FUNCTION(cuStreamEndCapture, 10000, (CUstream stream, CUgraph *made), cudaStreamEndCapture(stream, made))
DRIVER_FUNCTION(cuGraphLaunch, 10000, (CUgraphExec exec, CUstream stream), cudaGraphLaunch(exec, stream))
DRIVER_FUNCTION(cuGraphDestroy, 10000, (CUgraph value), cudaGraphDestroy(value))
DRIVER_FUNCTION(cuGraphExecDestroy, 10000, (CUgraphExec exec), cudaGraphExecDestroy(exec))

/* Driver functions that take a stream, or use the default one: each is the runtime's call of the same meaning.
   Must not know what streams do. */
#include "driver.h"

static void *stream_pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

/* ---- memory in a stream's order */

static CUresult stream_take(CUdeviceptr *address, void *made, CUresult code)
{
    if (code == CUDA_SUCCESS) *address = (CUdeviceptr)(uintptr_t)made;
    return code;
}

DRIVER_EXPORT cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    void *made = NULL;
    CUresult code = address ? DRIVER_DOES(cudaMallocAsync(&made, bytes, stream)) : CUDA_ERROR_INVALID_VALUE;
    return stream_take(address, made, code);
}

DRIVER_EXPORT cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    void *made = NULL;
    CUresult code = address ? DRIVER_DOES(cudaMallocFromPoolAsync(&made, bytes, pool, stream))
                            : CUDA_ERROR_INVALID_VALUE;
    return stream_take(address, made, code);
}

DRIVER_EXPORT cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    return DRIVER_DOES(cudaFreeAsync(stream_pointer(address), stream));
}

/* ---- copies and fills */

DRIVER_EXPORT cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return DRIVER_DOES(cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault));
}

DRIVER_EXPORT cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return DRIVER_DOES(cudaMemcpy(stream_pointer(to), from, bytes, cudaMemcpyHostToDevice));
}

DRIVER_EXPORT cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return DRIVER_DOES(cudaMemcpy(to, stream_pointer(from), bytes, cudaMemcpyDeviceToHost));
}

DRIVER_EXPORT cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return DRIVER_DOES(cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDeviceToDevice));
}

DRIVER_EXPORT cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return DRIVER_DOES(cudaMemcpyAsync(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault, stream));
}

DRIVER_EXPORT cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return DRIVER_DOES(cudaMemcpyAsync(stream_pointer(to), from, bytes, cudaMemcpyHostToDevice, stream));
}

DRIVER_EXPORT cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return DRIVER_DOES(cudaMemcpyAsync(to, stream_pointer(from), bytes, cudaMemcpyDeviceToHost, stream));
}

DRIVER_EXPORT cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return DRIVER_DOES(cudaMemcpyAsync(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDeviceToDevice,
                                       stream));
}

DRIVER_EXPORT cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
    return DRIVER_DOES(cudaMemset(stream_pointer(to), value, count));
}

DRIVER_EXPORT cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return DRIVER_DOES(cudaMemsetAsync(stream_pointer(to), value, count, stream));
}

/* Of equal bytes alone: the runtime's fills have no other values. */
DRIVER_EXPORT cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    int byte = (int)(value & 0xFF);
    if (value != (unsigned)byte * 0x01010101u || count > SIZE_MAX / sizeof value) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return DRIVER_DOES(cudaMemsetAsync(stream_pointer(to), byte, count * sizeof value, stream));
}

/* ---- streams */

DRIVER_EXPORT cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return DRIVER_DOES(cudaStreamCreateWithFlags(stream, flags));
}

DRIVER_EXPORT cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    return DRIVER_DOES(cudaStreamCreateWithPriority(stream, flags, priority));
}

DRIVER_EXPORT cuStreamDestroy(CUstream stream)
{
    return DRIVER_DOES(cudaStreamDestroy(stream));
}

DRIVER_EXPORT cuStreamSynchronize(CUstream stream)
{
    return DRIVER_DOES(cudaStreamSynchronize(stream));
}

DRIVER_EXPORT cuStreamQuery(CUstream stream)
{
    return DRIVER_DOES(cudaStreamQuery(stream));
}

DRIVER_EXPORT cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    return DRIVER_DOES(cudaStreamWaitEvent(stream, event, flags));
}

DRIVER_EXPORT cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
    return DRIVER_DOES(cudaStreamGetFlags(stream, flags));
}

DRIVER_EXPORT cuStreamGetPriority(CUstream stream, int *priority)
{
    return DRIVER_DOES(cudaStreamGetPriority(stream, priority));
}

#if CUDA_VERSION >= 12000
DRIVER_EXPORT cuStreamGetId(CUstream stream, unsigned long long *id)
{
    return DRIVER_DOES(cudaStreamGetId(stream, id));
}
#endif

/* The current one: a stream of another device's is not told apart. */
DRIVER_EXPORT cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    unsigned flags;
    CUresult code = DRIVER_DOES(cudaStreamGetFlags(stream, &flags));
    return code == CUDA_SUCCESS ? cuCtxGetCurrent(context) : code;
}

DRIVER_EXPORT cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
    return DRIVER_DOES(cudaLaunchHostFunc(stream, function, user));
}

/* ---- events */

DRIVER_EXPORT cuEventCreate(CUevent *event, unsigned int flags)
{
    return DRIVER_DOES(cudaEventCreateWithFlags(event, flags));
}

DRIVER_EXPORT cuEventDestroy(CUevent event)
{
    return DRIVER_DOES(cudaEventDestroy(event));
}

DRIVER_EXPORT cuEventRecord(CUevent event, CUstream stream)
{
    return DRIVER_DOES(cudaEventRecord(event, stream));
}

DRIVER_EXPORT cuEventQuery(CUevent event)
{
    return DRIVER_DOES(cudaEventQuery(event));
}

DRIVER_EXPORT cuEventSynchronize(CUevent event)
{
    return DRIVER_DOES(cudaEventSynchronize(event));
}

DRIVER_EXPORT cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return DRIVER_DOES(cudaEventElapsedTime(milliseconds, start, end));
}

/* ---- captures and graphs */

/* The numbers of modes and states are the runtime's. */
DRIVER_EXPORT cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    enum cudaStreamCaptureStatus found;
    CUresult code = status ? DRIVER_DOES(cudaStreamIsCapturing(stream, &found)) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *status = (CUstreamCaptureStatus)found;
    return code;
}

DRIVER_EXPORT cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode wanted = mode ? (enum cudaStreamCaptureMode)*mode : cudaStreamCaptureModeGlobal;
    CUresult code = mode ? DRIVER_DOES(cudaThreadExchangeStreamCaptureMode(&wanted)) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *mode = (CUstreamCaptureMode)wanted;
    return code;
}

DRIVER_EXPORT cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    return DRIVER_DOES(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
}

DRIVER_EXPORT cuStreamEndCapture(CUstream stream, CUgraph *made)
{
    return DRIVER_DOES(cudaStreamEndCapture(stream, made));
}

DRIVER_EXPORT cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    return DRIVER_DOES(cudaGraphLaunch(exec, stream));
}

DRIVER_EXPORT cuGraphDestroy(CUgraph value)
{
    return DRIVER_DOES(cudaGraphDestroy(value));
}

DRIVER_EXPORT cuGraphExecDestroy(CUgraphExec exec)
{
    return DRIVER_DOES(cudaGraphExecDestroy(exec));
}

const driver_row driver_stream_rows[] = {
    DRIVER_ROW(cuMemAllocAsync, 11020),
    DRIVER_ROW(cuMemAllocFromPoolAsync, 11020),
    DRIVER_ROW(cuMemFreeAsync, 11020),
    DRIVER_ROW(cuMemcpy, 4000),
    DRIVER_ROW(cuMemcpyHtoD, 3020),
    DRIVER_ROW(cuMemcpyDtoH, 3020),
    DRIVER_ROW(cuMemcpyDtoD, 3020),
    DRIVER_ROW(cuMemcpyAsync, 4000),
    DRIVER_ROW(cuMemcpyHtoDAsync, 3020),
    DRIVER_ROW(cuMemcpyDtoHAsync, 3020),
    DRIVER_ROW(cuMemcpyDtoDAsync, 3020),
    DRIVER_ROW(cuMemsetD8, 3020),
    DRIVER_ROW(cuMemsetD8Async, 3020),
    DRIVER_ROW(cuMemsetD32Async, 3020),
    DRIVER_ROW(cuStreamCreate, 2000),
    DRIVER_ROW(cuStreamCreateWithPriority, 5050),
    DRIVER_ROW(cuStreamDestroy, 4000),
    DRIVER_ROW(cuStreamSynchronize, 2000),
    DRIVER_ROW(cuStreamQuery, 2000),
    DRIVER_ROW(cuStreamWaitEvent, 3020),
    DRIVER_ROW(cuStreamGetFlags, 5050),
    DRIVER_ROW(cuStreamGetPriority, 5050),
#if CUDA_VERSION >= 12000
    DRIVER_ROW(cuStreamGetId, 12000),
#endif
    DRIVER_ROW(cuStreamGetCtx, 9020),
    DRIVER_ROW(cuLaunchHostFunc, 10000),
    DRIVER_ROW(cuEventCreate, 2000),
    DRIVER_ROW(cuEventDestroy, 4000),
    DRIVER_ROW(cuEventRecord, 2000),
    DRIVER_ROW(cuEventQuery, 2000),
    DRIVER_ROW(cuEventSynchronize, 2000),
    DRIVER_ROW(cuEventElapsedTime, 2000),
    DRIVER_ROW(cuStreamIsCapturing, 10000),
    DRIVER_ROW(cuThreadExchangeStreamCaptureMode, 10010),
    DRIVER_ROW(cuStreamBeginCapture, 10010),
    DRIVER_ROW(cuStreamEndCapture, 10000),
    DRIVER_ROW(cuGraphLaunch, 10000),
    DRIVER_ROW(cuGraphDestroy, 10000),
    DRIVER_ROW(cuGraphExecDestroy, 10000),
    { NULL, 0, NULL },
};

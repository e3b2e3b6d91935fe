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

/* ---- copies and fills */

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

/* Those that are one call of the runtime. */
#define DRIVER_STREAM_CALLS(X) \
    X(cuMemcpy, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes), \
      cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault)) \
    X(cuStreamCreate, 2000, (CUstream *stream, unsigned int flags), cudaStreamCreateWithFlags(stream, flags)) \
    X(cuEventCreate, 2000, (CUevent *event, unsigned int flags), cudaEventCreateWithFlags(event, flags)) \
    X(cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream), \
      cudaFreeAsync(stream_pointer(address), stream)) \
    X(cuMemcpyHtoD, 3020, (CUdeviceptr to, const void *from, size_t bytes), \
      cudaMemcpy(stream_pointer(to), from, bytes, cudaMemcpyHostToDevice)) \
    X(cuMemcpyDtoH, 3020, (void *to, CUdeviceptr from, size_t bytes), \
      cudaMemcpy(to, stream_pointer(from), bytes, cudaMemcpyDeviceToHost)) \
    X(cuMemcpyDtoD, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes), \
      cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDeviceToDevice)) \
    X(cuMemcpyAsync, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), \
      cudaMemcpyAsync(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault, stream)) \
    X(cuMemcpyHtoDAsync, 3020, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream), \
      cudaMemcpyAsync(stream_pointer(to), from, bytes, cudaMemcpyHostToDevice, stream)) \
    X(cuMemcpyDtoHAsync, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), \
      cudaMemcpyAsync(to, stream_pointer(from), bytes, cudaMemcpyDeviceToHost, stream)) \
    X(cuMemcpyDtoDAsync, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), \
      cudaMemcpyAsync(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDeviceToDevice, stream)) \
    X(cuMemsetD8, 3020, (CUdeviceptr to, unsigned char value, size_t count), \
      cudaMemset(stream_pointer(to), value, count)) \
    X(cuMemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), \
      cudaMemsetAsync(stream_pointer(to), value, count, stream)) \
    X(cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned int flags, int priority), \
      cudaStreamCreateWithPriority(stream, flags, priority)) \
    X(cuStreamDestroy, 4000, (CUstream stream), cudaStreamDestroy(stream)) \
    X(cuStreamSynchronize, 2000, (CUstream stream), cudaStreamSynchronize(stream)) \
    X(cuStreamQuery, 2000, (CUstream stream), cudaStreamQuery(stream)) \
    X(cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned int flags), \
      cudaStreamWaitEvent(stream, event, flags)) \
    X(cuStreamGetFlags, 5050, (CUstream stream, unsigned int *flags), cudaStreamGetFlags(stream, flags)) \
    X(cuStreamGetPriority, 5050, (CUstream stream, int *priority), cudaStreamGetPriority(stream, priority)) \
    X(cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void *user), \
      cudaLaunchHostFunc(stream, function, user)) \
    X(cuEventDestroy, 4000, (CUevent event), cudaEventDestroy(event)) \
    X(cuEventRecord, 2000, (CUevent event, CUstream stream), cudaEventRecord(event, stream)) \
    X(cuEventQuery, 2000, (CUevent event), cudaEventQuery(event)) \
    X(cuEventSynchronize, 2000, (CUevent event), cudaEventSynchronize(event)) \
    X(cuEventElapsedTime, 2000, (float *milliseconds, CUevent start, CUevent end), \
      cudaEventElapsedTime(milliseconds, start, end)) \
    X(cuStreamBeginCapture, 10010, (CUstream stream, CUstreamCaptureMode mode), \
      cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode)) \
    X(cuStreamEndCapture, 10000, (CUstream stream, CUgraph *made), cudaStreamEndCapture(stream, made)) \
    X(cuGraphLaunch, 10000, (CUgraphExec exec, CUstream stream), cudaGraphLaunch(exec, stream)) \
    X(cuGraphDestroy, 10000, (CUgraph value), cudaGraphDestroy(value)) \
    X(cuGraphExecDestroy, 10000, (CUgraphExec exec), cudaGraphExecDestroy(exec))
DRIVER_STREAM_CALLS(DRIVER_FUNCTION)

const driver_row driver_stream_rows[] = {
    DRIVER_STREAM_CALLS(DRIVER_FUNCTION_ROW)
    DRIVER_ROW(cuMemAllocAsync, 11020),
    DRIVER_ROW(cuMemAllocFromPoolAsync, 11020),
    DRIVER_ROW(cuMemsetD32Async, 3020),
#if CUDA_VERSION >= 12000
    DRIVER_ROW(cuStreamGetId, 12000),
#endif
    DRIVER_ROW(cuStreamGetCtx, 9020),
    DRIVER_ROW(cuStreamIsCapturing, 10000),
    DRIVER_ROW(cuThreadExchangeStreamCaptureMode, 10010),
    { NULL, 0, NULL },
};

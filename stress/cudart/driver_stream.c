/* Driver functions that take a stream, or use the default one: each is the runtime's call of the same meaning.
   driver_threads.c compiles them once more. Must not know the effects of streams. */
#ifndef DRIVER_FORM
#define DRIVER_FORM 1
#define DRIVER_STREAM(stream) (stream)
#endif
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

/* Fills with equal bytes alone: the runtime's fills have no other values. */
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
            stream_begin(&self, SIM_CALL_STREAM_GET_DEVICE, DRIVER_STREAM(stream)),
            CALL_PUT(context, driver_context(self.stream->device)))

/* The numbers of states are the runtime's. */
DRIVER_TAKES(cuStreamIsCapturing, 10000, (CUstream stream, CUstreamCaptureStatus *status), status,
             enum cudaStreamCaptureStatus, cudaStreamIsCapturing(stream, &made),
             *status = (CUstreamCaptureStatus)made)

DRIVER_FUNCTION(cuMemcpy, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                cudaMemcpy(stream_pointer(to), stream_pointer(from), bytes, cudaMemcpyDefault))
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
DRIVER_FUNCTION(cuStreamSynchronize, 2000, (CUstream stream), cudaStreamSynchronize(stream))
DRIVER_FUNCTION(cuStreamQuery, 2000, (CUstream stream), cudaStreamQuery(stream))
DRIVER_FUNCTION(cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned int flags),
                cudaStreamWaitEvent(stream, event, flags))
DRIVER_FUNCTION(cuStreamGetFlags, 5050, (CUstream stream, unsigned int *flags), cudaStreamGetFlags(stream, flags))
DRIVER_FUNCTION(cuStreamGetPriority, 5050, (CUstream stream, int *priority), cudaStreamGetPriority(stream, priority))
DRIVER_FUNCTION(cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void *user),
                cudaLaunchHostFunc(stream, function, user))
DRIVER_FUNCTION(cuEventRecord, 2000, (CUevent event, CUstream stream), cudaEventRecord(event, stream))
DRIVER_FUNCTION(cuStreamBeginCapture, 10010, (CUstream stream, CUstreamCaptureMode mode),
                cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode))
DRIVER_FUNCTION(cuStreamEndCapture, 10000, (CUstream stream, CUgraph *made), cudaStreamEndCapture(stream, made))
DRIVER_FUNCTION(cuGraphLaunch, 10000, (CUgraphExec exec, CUstream stream), cudaGraphLaunch(exec, stream))

DRIVER(cuLaunchKernel, 4000, (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                              unsigned int block_x, unsigned int block_y, unsigned int block_z,
                              unsigned int shared_bytes, CUstream stream, void **arguments, void **extra))
{
    dim3 grid = { grid_x, grid_y, grid_z }, block = { block_x, block_y, block_z };
    (void)extra;
    return DRIVER_DOES(cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream));
}

#if CUDA_VERSION >= 12000
DRIVER(cuLaunchKernelEx, 11060, (const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra))
{
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, arguments,
                          extra);
}
#endif

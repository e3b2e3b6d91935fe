/* cudaMemcpy, cudaMemset and their kin: commands of a stream, and which of them the host waits for.
   Must not know how bytes are kept. */
#include "copy.h"
#include "stream.h"

static copy_area transfer_area(const void *ptr, size_t pitch)
{
    copy_area area = { (void *)(uintptr_t)ptr, pitch };
    return area;
}

static int transfer_issue(call *self, const copy_request *asked, graph_act act, cudaStream_t stream)
{
    return stream_command(self, stream, act, asked, sizeof *asked, asked->name);
}

/* The host waits for what meets its memory, but as little as for other calls while something captures. */
static int transfer_wait(call *self, const copy_request *asked, cudaStream_t stream)
{
    int code;
    stream_queue *found = work_find_stream(self->device, stream, &code);
    capture_scene scene = work_scene(self->device, asked->name);
    code = found ? capture_check_wait(&scene, found) : code;
    code = code == SIM_SUCCESS ? transfer_issue(self, asked, copy_bytes, stream) : code;
    if (code == SIM_SUCCESS && copy_meets_host(self->machine, asked)) {
        code = work_wait_stream(self->device, stream, asked->name, &self->cost_ns);
    }
    return code;
}

static cudaError_t transfer_copy(sim_call kind, const copy_request *asked, cudaStream_t stream, int is_async)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream),
              is_async ? transfer_issue(&self, asked, copy_bytes, stream) : transfer_wait(&self, asked, stream));
}

static cudaError_t transfer_fill(sim_call kind, const copy_request *asked, cudaStream_t stream)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream),
              transfer_issue(&self, asked, copy_fill, stream));
}

/* 1: the memory is the device's, held or not. */
static int transfer_is_on(const call *self, const char *name, const void *ptr, int device)
{
    const sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr);
    if (owner && owner->ordinal == device) return 1;
    judge_report(&self->machine->judge, self->device->ordinal, "%s with device %d for %s", name, device,
                 engine_name(self->device, (uint64_t)(uintptr_t)ptr).text);
    return 0;
}

static int transfer_check_peers(const call *self, const copy_request *asked, int to_device, int from_device)
{
    if (!call_find_device(self, to_device) || !call_find_device(self, from_device)) {
        return cudaErrorInvalidDevice;
    }
    if (asked->width > 0 && (!transfer_is_on(self, asked->name, asked->to.ptr, to_device)
                             || !transfer_is_on(self, asked->name, asked->from.ptr, from_device))) {
        return SIM_INVALID_VALUE;
    }
    return SIM_SUCCESS;
}

static cudaError_t transfer_peers(sim_call kind, const copy_request *asked, int to_device, int from_device,
                                  cudaStream_t stream)
{
    call self;
    if (call_begin(&self, kind, 0) && stream_check(&self, stream)) {
        int code = transfer_check_peers(&self, asked, to_device, from_device);
        self.code = code == SIM_SUCCESS ? transfer_issue(&self, asked, copy_bytes, stream) : code;
    }
    return call_end(&self);
}

static cudaError_t transfer_line(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    copy_request asked = { "cudaMemcpy", transfer_area(to, bytes), transfer_area(from, bytes), bytes, 1, kind, 0 };
    return transfer_copy(SIM_CALL_MEMCPY, &asked, stream, 0);
}

static cudaError_t transfer_rows(copy_area to, copy_area from, size_t width, size_t height, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    copy_request asked = { "cudaMemcpy2D", to, from, width, height, kind, 0 };
    return transfer_copy(SIM_CALL_MEMCPY_2D, &asked, stream, 0);
}

static cudaError_t transfer_fill_rows(copy_area to, int value, size_t width, size_t height, cudaStream_t stream)
{
    copy_request asked = { "cudaMemset2D", to, to, width, height, cudaMemcpyDefault, value };
    return transfer_fill(SIM_CALL_MEMSET_2D, &asked, stream);
}

static cudaError_t transfer_fill_line(void *to, int value, size_t bytes, cudaStream_t stream)
{
    copy_request asked = { "cudaMemset", transfer_area(to, bytes), transfer_area(to, bytes), bytes, 1,
                           cudaMemcpyDefault, value };
    return transfer_fill(SIM_CALL_MEMSET, &asked, stream);
}

CUDART_EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return transfer_line(to, from, bytes, kind, NULL);
}

CUDART_EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                          cudaStream_t stream)
{
    copy_request asked = { "cudaMemcpyAsync", transfer_area(to, bytes), transfer_area(from, bytes), bytes, 1, kind,
                           0 };
    return transfer_copy(SIM_CALL_MEMCPY_ASYNC, &asked, stream, 1);
}

CUDART_EXPORT cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                       size_t height, enum cudaMemcpyKind kind)
{
    return transfer_rows(transfer_area(to, to_pitch), transfer_area(from, from_pitch), width, height, kind, NULL);
}

CUDART_EXPORT cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                            size_t width, size_t height, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
    copy_request asked = { "cudaMemcpy2DAsync", transfer_area(to, to_pitch), transfer_area(from, from_pitch), width,
                           height, kind, 0 };
    return transfer_copy(SIM_CALL_MEMCPY_2D_ASYNC, &asked, stream, 1);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    copy_request asked = { "cudaMemcpyPeer", transfer_area(to, bytes), transfer_area(from, bytes), bytes, 1,
                           cudaMemcpyDefault, 0 };
    return transfer_peers(SIM_CALL_MEMCPY_PEER, &asked, to_device, from_device, NULL);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                              size_t bytes, cudaStream_t stream)
{
    copy_request asked = { "cudaMemcpyPeerAsync", transfer_area(to, bytes), transfer_area(from, bytes), bytes, 1,
                           cudaMemcpyDefault, 0 };
    return transfer_peers(SIM_CALL_MEMCPY_PEER_ASYNC, &asked, to_device, from_device, stream);
}

CUDART_EXPORT cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return transfer_fill_line(to, value, bytes, NULL);
}

CUDART_EXPORT cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    copy_request asked = { "cudaMemsetAsync", transfer_area(to, bytes), transfer_area(to, bytes), bytes, 1,
                           cudaMemcpyDefault, value };
    return transfer_fill(SIM_CALL_MEMSET_ASYNC, &asked, stream);
}

CUDART_EXPORT cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return transfer_fill_rows(transfer_area(to, pitch), value, width, height, NULL);
}

CUDART_EXPORT cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                            cudaStream_t stream)
{
    copy_request asked = { "cudaMemset2DAsync", transfer_area(to, pitch), transfer_area(to, pitch), width, height,
                           cudaMemcpyDefault, value };
    return transfer_fill(SIM_CALL_MEMSET_2D_ASYNC, &asked, stream);
}

CUDART_THREAD_FORM(cudaMemcpy, cudaMemcpy_ptds)(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return transfer_line(to, from, bytes, kind, cudaStreamPerThread);
}

CUDART_PER_THREAD(cudaMemcpyAsync,
                  (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
                  (to, from, bytes, kind, stream_of_thread(stream)))

CUDART_THREAD_FORM(cudaMemcpy2D, cudaMemcpy2D_ptds)(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                                    size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return transfer_rows(transfer_area(to, to_pitch), transfer_area(from, from_pitch), width, height, kind,
                         cudaStreamPerThread);
}

CUDART_PER_THREAD(cudaMemcpy2DAsync,
                  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                   enum cudaMemcpyKind kind, cudaStream_t stream),
                  (to, to_pitch, from, from_pitch, width, height, kind, stream_of_thread(stream)))

CUDART_THREAD_FORM(cudaMemset, cudaMemset_ptds)(void *to, int value, size_t bytes)
{
    return transfer_fill_line(to, value, bytes, cudaStreamPerThread);
}

CUDART_PER_THREAD(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
                  (to, value, bytes, stream_of_thread(stream)))

CUDART_THREAD_FORM(cudaMemset2D, cudaMemset2D_ptds)(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return transfer_fill_rows(transfer_area(to, pitch), value, width, height, cudaStreamPerThread);
}

CUDART_PER_THREAD(cudaMemset2DAsync,
                  (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
                  (to, pitch, value, width, height, stream_of_thread(stream)))

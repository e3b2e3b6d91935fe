/* cudaMemcpy, cudaMemset and their kin: commands of a stream, and which of them the host waits for.
   Must not know how bytes are kept. */
#include "copy.h"
#include "stream.h"

static copy_area transfer_area(const void *ptr, size_t pitch)
{
    copy_area area = { (void *)(uintptr_t)ptr, pitch };
    return area;
}

static copy_request transfer_rows(const char *name, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind)
{
    copy_request asked = { name, transfer_area(to, to_pitch), transfer_area(from, from_pitch), width, height, kind,
                           0 };
    return asked;
}

static copy_request transfer_line(const char *name, void *to, const void *from, size_t bytes,
                                  enum cudaMemcpyKind kind)
{
    return transfer_rows(name, to, bytes, from, bytes, bytes, 1, kind);
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

static cudaError_t transfer_copy(sim_call kind, copy_request asked, cudaStream_t stream)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream), transfer_wait(&self, &asked, stream));
}

static cudaError_t transfer_copy_async(sim_call kind, copy_request asked, cudaStream_t stream)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream),
              transfer_issue(&self, &asked, copy_bytes, stream));
}

static cudaError_t transfer_fill(sim_call kind, const char *name, copy_area to, int value, size_t width,
                                 size_t height, cudaStream_t stream)
{
    copy_request asked = { name, to, to, width, height, cudaMemcpyDefault, value };
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream),
              transfer_issue(&self, &asked, copy_fill, stream));
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

static cudaError_t transfer_peers(sim_call kind, copy_request asked, int to_device, int from_device,
                                  cudaStream_t stream)
{
    call self;
    if (call_begin(&self, kind, 0) && stream_check(&self, stream)) {
        int code = transfer_check_peers(&self, &asked, to_device, from_device);
        self.code = code == SIM_SUCCESS ? transfer_issue(&self, &asked, copy_bytes, stream) : code;
    }
    return call_end(&self);
}

/* A copy or fill that names no stream. Its form for programs with per-thread default streams has the thread's. */
#define TRANSFER_FUNCTION(name, form, parameters, answer) \
    CUDART_EXPORT cudaError_t name parameters { const cudaStream_t stream = NULL; return answer; } \
    CUDART_THREAD_FORM(name, form) parameters { const cudaStream_t stream = cudaStreamPerThread; return answer; }
TRANSFER_FUNCTION(cudaMemcpy, cudaMemcpy_ptds, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
                  transfer_copy(SIM_CALL_MEMCPY, transfer_line("cudaMemcpy", to, from, bytes, kind), stream))
TRANSFER_FUNCTION(cudaMemcpy2D, cudaMemcpy2D_ptds,
                  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                   enum cudaMemcpyKind kind),
                  transfer_copy(SIM_CALL_MEMCPY_2D,
                                transfer_rows("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind),
                                stream))
TRANSFER_FUNCTION(cudaMemset, cudaMemset_ptds, (void *to, int value, size_t bytes),
                  transfer_fill(SIM_CALL_MEMSET, "cudaMemset", transfer_area(to, bytes), value, bytes, 1, stream))
TRANSFER_FUNCTION(cudaMemset2D, cudaMemset2D_ptds, (void *to, size_t pitch, int value, size_t width, size_t height),
                  transfer_fill(SIM_CALL_MEMSET_2D, "cudaMemset2D", transfer_area(to, pitch), value, width, height,
                                stream))

/* Likewise of a stream that is named. */
#define TRANSFER_ASYNC_FUNCTION(name, parameters, arguments, answer) \
    CUDART_EXPORT cudaError_t name parameters { return answer; } \
    CUDART_PER_THREAD(name, parameters, arguments)
TRANSFER_ASYNC_FUNCTION(cudaMemcpyAsync,
                        (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
                        (to, from, bytes, kind, stream_of_thread(stream)),
                        transfer_copy_async(SIM_CALL_MEMCPY_ASYNC,
                                            transfer_line("cudaMemcpyAsync", to, from, bytes, kind), stream))
TRANSFER_ASYNC_FUNCTION(cudaMemcpy2DAsync,
                        (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind, cudaStream_t stream),
                        (to, to_pitch, from, from_pitch, width, height, kind, stream_of_thread(stream)),
                        transfer_copy_async(SIM_CALL_MEMCPY_2D_ASYNC,
                                            transfer_rows("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width,
                                                          height, kind), stream))
TRANSFER_ASYNC_FUNCTION(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
                        (to, value, bytes, stream_of_thread(stream)),
                        transfer_fill(SIM_CALL_MEMSET_ASYNC, "cudaMemsetAsync", transfer_area(to, bytes), value,
                                      bytes, 1, stream))
TRANSFER_ASYNC_FUNCTION(cudaMemset2DAsync,
                        (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
                        (to, pitch, value, width, height, stream_of_thread(stream)),
                        transfer_fill(SIM_CALL_MEMSET_2D_ASYNC, "cudaMemset2DAsync", transfer_area(to, pitch), value,
                                      width, height, stream))

CUDART_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return transfer_peers(SIM_CALL_MEMCPY_PEER, transfer_line("cudaMemcpyPeer", to, from, bytes, cudaMemcpyDefault),
                          to_device, from_device, NULL);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                              size_t bytes, cudaStream_t stream)
{
    return transfer_peers(SIM_CALL_MEMCPY_PEER_ASYNC,
                          transfer_line("cudaMemcpyPeerAsync", to, from, bytes, cudaMemcpyDefault), to_device,
                          from_device, stream);
}

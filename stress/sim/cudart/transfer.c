/* cudaMemcpy, cudaMemset and their kin. Work is done when it is issued: those with a stream do it at once, too.
   Must not know how bytes are kept.
   Tested by tests/test_cudart_contents.c. */
#include "copy.h"
#include "stream.h"

static copy_area transfer_area(const void *ptr, size_t pitch)
{
    copy_area area = { (void *)(uintptr_t)ptr, pitch };
    return area;
}

CUDART_EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMCPY, 0)) {
        self.code = copy_bytes(&self, "cudaMemcpy", transfer_area(to, bytes), transfer_area(from, bytes), bytes, 1,
                               kind);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                          cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMCPY_ASYNC, 0) && stream_check(&self, stream)) {
        self.code = copy_bytes(&self, "cudaMemcpyAsync", transfer_area(to, bytes), transfer_area(from, bytes), bytes,
                               1, kind);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                       size_t height, enum cudaMemcpyKind kind)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMCPY_2D, 0)) {
        self.code = copy_bytes(&self, "cudaMemcpy2D", transfer_area(to, to_pitch), transfer_area(from, from_pitch),
                               width, height, kind);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                            size_t width, size_t height, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMCPY_2D_ASYNC, 0) && stream_check(&self, stream)) {
        self.code = copy_bytes(&self, "cudaMemcpy2DAsync", transfer_area(to, to_pitch),
                               transfer_area(from, from_pitch), width, height, kind);
    }
    return call_end(&self);
}

/* 1: the memory is the device's, held or not. */
static int transfer_is_on(call *self, const char *name, const void *ptr, int device)
{
    const sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr);
    if (owner && owner->ordinal == device) {
        return 1;
    }
    judge_report(&self->machine->judge, self->device->ordinal, "%s with device %d for %s", name, device,
                 engine_name(self->device, (uint64_t)(uintptr_t)ptr).text);
    return 0;
}

static int transfer_peers(call *self, const char *name, void *to, int to_device, const void *from, int from_device,
                          size_t bytes)
{
    if (!call_find_device(self, to_device) || !call_find_device(self, from_device)) {
        return cudaErrorInvalidDevice;
    }
    if (bytes > 0 && (!transfer_is_on(self, name, to, to_device) || !transfer_is_on(self, name, from, from_device))) {
        return SIM_INVALID_VALUE;
    }
    return copy_bytes(self, name, transfer_area(to, bytes), transfer_area(from, bytes), bytes, 1, cudaMemcpyDefault);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMCPY_PEER, 0)) {
        self.code = transfer_peers(&self, "cudaMemcpyPeer", to, to_device, from, from_device, bytes);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                              size_t bytes, cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMCPY_PEER_ASYNC, 0) && stream_check(&self, stream)) {
        self.code = transfer_peers(&self, "cudaMemcpyPeerAsync", to, to_device, from, from_device, bytes);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMSET, 0)) {
        self.code = copy_fill(&self, "cudaMemset", transfer_area(to, bytes), value, bytes, 1);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMSET_ASYNC, 0) && stream_check(&self, stream)) {
        self.code = copy_fill(&self, "cudaMemsetAsync", transfer_area(to, bytes), value, bytes, 1);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMSET_2D, 0)) {
        self.code = copy_fill(&self, "cudaMemset2D", transfer_area(to, pitch), value, width, height);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                            cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_MEMSET_2D_ASYNC, 0) && stream_check(&self, stream)) {
        self.code = copy_fill(&self, "cudaMemset2DAsync", transfer_area(to, pitch), value, width, height);
    }
    return call_end(&self);
}

CUDART_ALSO(cudaMemcpy, cudaMemcpy_ptds);
CUDART_ALSO(cudaMemcpyAsync, cudaMemcpyAsync_ptsz);
CUDART_ALSO(cudaMemcpy2D, cudaMemcpy2D_ptds);
CUDART_ALSO(cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz);
CUDART_ALSO(cudaMemset, cudaMemset_ptds);
CUDART_ALSO(cudaMemsetAsync, cudaMemsetAsync_ptsz);
CUDART_ALSO(cudaMemset2D, cudaMemset2D_ptds);
CUDART_ALSO(cudaMemset2DAsync, cudaMemset2DAsync_ptsz);

/* cudaMalloc, cudaFree and their kin: device memory, pinned host memory, and what a pointer is.
   Must not know of contents, nor how device memory is laid out. */
#include <string.h>

#include "../sim/memory.h"
#include "../sim/sim.h"
#include "call.h"

/* 1: the call may be made while whatever captures does; else 0 and the code. */
static int malloc_may(call *self, const char *name)
{
    self->code = work_check_unsafe(self->device, name);
    return self->code == SIM_SUCCESS;
}

CUDART_FUNCTION(cudaMalloc, (void **ptr, size_t bytes),
                call_begin(&self, SIM_CALL_OBTAIN, bytes) && malloc_may(&self, "cudaMalloc"),
                ptr ? memory_obtain(self.device, self.lie, ptr, bytes, &self.cost_ns) : SIM_INVALID_VALUE)

/* Rows of 512 bytes, as textures want them. */
static int malloc_pitch(call *self, void **ptr, size_t *pitch, size_t width, size_t height)
{
    const uint64_t row = 512;
    uint64_t whole = width / row * row + (width % row ? row : 0);
    if (!ptr || !pitch || whole < width || (height > 0 && whole > UINT64_MAX / height)) {
        return SIM_INVALID_VALUE;
    }
    int code = memory_obtain(self->device, FAULT_CALL, ptr, whole * height, &self->cost_ns);
    if (code == SIM_SUCCESS) *pitch = whole;
    return code;
}

CUDART_FUNCTION(cudaMallocPitch, (void **ptr, size_t *pitch, size_t width, size_t height),
                call_begin(&self, SIM_CALL_MALLOC_PITCH, 0) && malloc_may(&self, "cudaMallocPitch"),
                malloc_pitch(&self, ptr, pitch, width, height))

/* Any device's memory, whichever is current: addresses are the same to all. */
CUDART_EXPORT cudaError_t cudaFree(void *ptr)
{
    call self;
    uint64_t bytes;
    if (!call_begin_at(&self, SIM_CALL_GIVE_BACK, ptr) || !malloc_may(&self, "cudaFree")) {
        return call_end(&self);
    }
    if (host_give_back(ptr, 1, &bytes)) {
        work_drain_device(self.device, &self.cost_ns);
    } else {
        self.code = memory_give_back(self.device, (uint64_t)(uintptr_t)ptr, MEMORY_ANY_BYTES, &self.cost_ns);
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    call self;
    uint64_t free_now, total;
    if (call_begin(&self, SIM_CALL_INFO, 0)) {
        self.code = free_bytes && total_bytes ? memory_info(self.device, &free_now, &total) : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) {
            *free_bytes = free_now;
            *total_bytes = total;
        }
    }
    return call_end(&self);
}

static int malloc_host(call *self, void **ptr, uint64_t bytes)
{
    if (!ptr) return SIM_INVALID_VALUE;
    void *made = bytes > 0 ? host_obtain(self->device, bytes, 0) : NULL;
    if (bytes > 0 && !made) return SIM_OUT_OF_MEMORY;
    self->cost_ns = sim_costs_ns(&self->machine->costs, SIM_COST_HOST_ALLOC, bytes);
    *ptr = made;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaMallocHost, (void **ptr, size_t bytes),
                call_begin(&self, SIM_CALL_MALLOC_HOST, 0) && malloc_may(&self, "cudaMallocHost"),
                malloc_host(&self, ptr, bytes))

static int malloc_host_flags(call *self, void **ptr, uint64_t bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return flags & ~known ? SIM_INVALID_VALUE : malloc_host(self, ptr, bytes);
}

CUDART_FUNCTION(cudaHostAlloc, (void **ptr, size_t bytes, unsigned int flags),
                call_begin(&self, SIM_CALL_HOST_ALLOC, 0) && malloc_may(&self, "cudaHostAlloc"),
                malloc_host_flags(&self, ptr, bytes, flags))

static int malloc_free_host(call *self, void *ptr)
{
    uint64_t bytes = 0;
    if (ptr && !host_give_back(ptr, 0, &bytes)) {
        judge_report(&self->machine->judge, self->device->ordinal, "cudaFreeHost of an address that is not held as "
                     "pinned memory now");
        return SIM_INVALID_VALUE;
    }
    self->cost_ns = sim_costs_ns(&self->machine->costs, SIM_COST_HOST_FREE, bytes);
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaFreeHost, (void *ptr),
                call_begin(&self, SIM_CALL_FREE_HOST, 0) && malloc_may(&self, "cudaFreeHost"),
                malloc_free_host(&self, ptr))

/* An address that nothing holds is an ordinary one of the host's. */
static void malloc_describe(const call *self, void *ptr, struct cudaPointerAttributes *described)
{
    const sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr);
    const host_block *pinned = host_find(ptr);
    memset(described, 0, sizeof *described);
    described->type = cudaMemoryTypeUnregistered;
    described->device = cudaInvalidDeviceId;
    if (owner && sim_holds(self->machine, owner->ordinal, ptr, 1)) {
        described->type = cudaMemoryTypeDevice;
        described->device = owner->ordinal;
        described->devicePointer = ptr;
    } else if (pinned) {
        described->type = pinned->is_managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
        described->device = pinned->ordinal;
        described->devicePointer = ptr;
        described->hostPointer = ptr;
    }
}

CUDART_EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    call self;
    if (call_begin(&self, SIM_CALL_POINTER_GET_ATTRIBUTES, 0)) {
        self.code = attributes ? SIM_SUCCESS : SIM_INVALID_VALUE;
        if (attributes) malloc_describe(&self, (void *)(uintptr_t)ptr, attributes);
    }
    return call_end(&self);
}

/* CUB's CachingDeviceAllocator, with the parameters that CUB itself gives it, one instance a handle.
   It must not know of stress, its devices or policies; no exception may leave it. */
#include "cub_library.h"

#include <cuda_runtime.h>

#include <map>
#include <vector>

namespace {

struct memory_route {                            /* where an instance gets its memory */
    cub_library_memory         memory;
    std::map<void *, uint64_t> sizes;            /* of memory from memory.obtain; CUB frees by address alone */
};

memory_route *route_now;                         /* of the instance that is at work */

cudaError_t route_malloc(void **ptr, size_t bytes)
{
    const cub_library_memory &memory = route_now->memory;
    if (!memory.obtain) return cudaMalloc(ptr, bytes);
    const int code = memory.obtain(memory.user, ptr, bytes);
    if (!code) route_now->sizes[*ptr] = bytes;
    return static_cast<cudaError_t>(code);
}

cudaError_t route_free(void *ptr)
{
    const cub_library_memory &memory = route_now->memory;
    if (!memory.obtain) return cudaFree(ptr);
    const auto found = route_now->sizes.find(ptr);
    if (found == route_now->sizes.end()) return cudaErrorInvalidValue;
    const int code = memory.give_back(memory.user, ptr, found->second);
    if (!code) route_now->sizes.erase(found);
    return static_cast<cudaError_t>(code);
}

} // namespace

/* CUB is a header: its two calls that make and end memory are led through here by name. */
#define cudaMalloc route_malloc
#define cudaFree route_free
#include <cub/util_allocator.cuh>
#undef cudaMalloc
#undef cudaFree

struct cub_library {
    memory_route route;                          /* goes after the allocator, which frees through it */
    int          device;
    bool         broken;                         /* an exception passed through CUB, which unlocks by hand */
    cub::CachingDeviceAllocator allocator;
};

/* CUB rounds up in a loop that has no end for some sizes near the type's end; no device has as much as this. */
static const uint64_t cub_library_max_bytes = UINT64_C(1) << 62;

/* One call of CUB: its code; exceptions end here, and no last error is left behind. */
template <typename Call> static int cub_library_call(cub_library *self, Call call) noexcept
{
    cudaError_t code = cudaErrorUnknown;
    if (self->broken) return code;
    route_now = &self->route;
    if (self->route.memory.enter) self->route.memory.enter(self->route.memory.user);
    try {
        code = call(self->allocator);
    } catch (...) {
        self->broken = true;
    }
    if (code != cudaSuccess) (void)cudaGetLastError();
    return code;
}

static int cub_library_open(int device, const cub_library_memory *memory, cub_library **opened)
{
    try {
        *opened = new cub_library{ { *memory, {} }, device, false, {} };
        return cudaSuccess;
    } catch (...) {
        return cudaErrorUnknown;
    }
}

static int cub_library_alloc(cub_library *self, void **ptr, uint64_t bytes, void *stream)
{
    if (bytes > cub_library_max_bytes) return cudaErrorMemoryAllocation;
    return cub_library_call(self, [=](cub::CachingDeviceAllocator &cub) {
        return cub.DeviceAllocate(self->device, ptr, static_cast<size_t>(bytes), static_cast<cudaStream_t>(stream));
    });
}

static int cub_library_free(cub_library *self, void *ptr)
{
    return cub_library_call(self, [=](cub::CachingDeviceAllocator &cub) {
        return cub.DeviceFree(self->device, ptr);
    });
}

static int cub_library_trim(cub_library *self)
{
    return cub_library_call(self, [](cub::CachingDeviceAllocator &cub) { return cub.FreeAllCached(); });
}

static void cub_library_measure(const cub_library *self, cub_library_use *use)
{
    const auto &bytes_of = self->allocator.cached_bytes;
    const auto found = bytes_of.find(self->device);
    use->live_bytes = found == bytes_of.end() ? 0 : found->second.live;
    use->cached_bytes = found == bytes_of.end() ? 0 : found->second.free;
}

/* CUB frees cached blocks, never live ones. Its own list of live ones is read, so that no call above pays for another
   one. */
static cudaError_t cub_library_free_live(cub::CachingDeviceAllocator &cub, int device)
{
    std::vector<void *> live;
    cudaError_t first = cudaSuccess;
    for (const auto &block : cub.live_blocks) live.push_back(block.d_ptr);
    for (void *ptr : live) {
        const cudaError_t code = cub.DeviceFree(device, ptr);
        if (first == cudaSuccess) first = code;
    }
    return first;
}

static void cub_library_close(cub_library *self)
{
    if (!self) return;
    (void)cub_library_call(self, [=](cub::CachingDeviceAllocator &cub) {
        return cub_library_free_live(cub, self->device);
    });
    (void)cub_library_trim(self);
    if (!self->broken) delete self;              /* else its destructor might wait for CUB's own lock */
}

const cub_library_calls cub_library_exports = {
    cub_library_open, cub_library_close, cub_library_alloc, cub_library_free, cub_library_trim, cub_library_measure
};

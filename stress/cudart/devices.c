/* Devices: their number, the current one, their properties, their peers, and their end. Must not know how memory is
   held. */
#include "../sim/memory.h"
#include "call.h"

#include <cuda_profiler_api.h>                   /* last: an older toolkit lacks it, and another's brings its types */

/* ---- Attributes: the limits of a device of compute capability 9.0, and its place on the bus */

/* The driver's alone, all of virtual memory: CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
   CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, and
   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED. */
static const int attributes_of_vm[] = { 102, 103, 110 };

/* A row: the attribute's name, its value, and the property that has it, too, an int or a size_t. All others are 0. */
#define PROPERTY(name, value, field) \
    { cudaDevAttr##name, value, offsetof(struct cudaDeviceProp, field), sizeof ((struct cudaDeviceProp *)0)->field }
static const struct { enum cudaDeviceAttr attribute; int value; size_t at, bytes; } attributes_table[] = {
    PROPERTY(MaxThreadsPerBlock, 1024, maxThreadsPerBlock),
    PROPERTY(MaxBlockDimX, 1024, maxThreadsDim[0]),
    PROPERTY(MaxBlockDimY, 1024, maxThreadsDim[1]),
    PROPERTY(MaxBlockDimZ, 64, maxThreadsDim[2]),
    PROPERTY(MaxGridDimX, 2147483647, maxGridSize[0]),
    PROPERTY(MaxGridDimY, 65535, maxGridSize[1]),
    PROPERTY(MaxGridDimZ, 65535, maxGridSize[2]),
    PROPERTY(MaxSharedMemoryPerBlock, 48 << 10, sharedMemPerBlock),
    PROPERTY(MaxSharedMemoryPerBlockOptin, 227 << 10, sharedMemPerBlockOptin),
    PROPERTY(MaxSharedMemoryPerMultiprocessor, 228 << 10, sharedMemPerMultiprocessor),
    PROPERTY(ReservedSharedMemoryPerBlock, 1 << 10, reservedSharedMemPerBlock),
    PROPERTY(TotalConstantMemory, 64 << 10, totalConstMem),
    PROPERTY(WarpSize, 32, warpSize),
    PROPERTY(MaxPitch, 2147483647, memPitch),
    PROPERTY(MaxRegistersPerBlock, 65536, regsPerBlock),
    PROPERTY(MaxRegistersPerMultiprocessor, 65536, regsPerMultiprocessor),
    PROPERTY(MaxThreadsPerMultiProcessor, 2048, maxThreadsPerMultiProcessor),
    PROPERTY(MaxBlocksPerMultiprocessor, 32, maxBlocksPerMultiProcessor),
    PROPERTY(MultiProcessorCount, 132, multiProcessorCount),
    PROPERTY(L2CacheSize, 50 << 20, l2CacheSize),
    PROPERTY(TextureAlignment, 512, textureAlignment),
    PROPERTY(TexturePitchAlignment, 32, texturePitchAlignment),
    PROPERTY(SurfaceAlignment, 512, surfaceAlignment),
    PROPERTY(CanMapHostMemory, 1, canMapHostMemory),
    PROPERTY(ManagedMemory, 1, managedMemory),
    PROPERTY(ConcurrentManagedAccess, 1, concurrentManagedAccess),
#if CUDART_VERSION >= 12000
    PROPERTY(MemoryPoolsSupported, 1, memoryPoolsSupported),
#else
    { cudaDevAttrMemoryPoolsSupported, 1, 0, 0 },            /* of which nothing is a property yet */
#endif
    PROPERTY(UnifiedAddressing, 1, unifiedAddressing),
    PROPERTY(ConcurrentKernels, 1, concurrentKernels),
    PROPERTY(StreamPrioritiesSupported, 1, streamPrioritiesSupported),
    PROPERTY(ComputeCapabilityMajor, 9, major),
    PROPERTY(ComputeCapabilityMinor, 0, minor),
};

/* Reads an attribute. 1: the toolkit knows it. Features that are not served are 0. */
static int attributes_read(const sim_device *device, int attribute, int *value)
{
    if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax) return 0;
    *value = attribute == cudaDevAttrPciBusId ? device->ordinal + 1 : 0;
    for (size_t i = 0; i < sizeof attributes_of_vm / sizeof attributes_of_vm[0]; i++) {
        if (attributes_of_vm[i] == attribute) *value = !device->sim->without_vm;
    }
    for (size_t i = 0; i < sizeof attributes_table / sizeof attributes_table[0]; i++) {
        if ((int)attributes_table[i].attribute == attribute) *value = attributes_table[i].value;
    }
    return 1;
}

int attributes_of(const sim_device *device, enum cudaDeviceAttr attribute)
{
    int value = 0;
    attributes_read(device, (int)attribute, &value);
    return value;
}

/* ---- Properties: made of attributes, in the struct of the toolkit that this is built with */

/* In the headers of CUDA 12 the name is a macro, for the symbol cudaGetDeviceProperties_v2. */
CUDART_SERVED(cudaGetDeviceProperties, (struct cudaDeviceProp *properties, int device), (properties, device))
{
    const sim_device *found = engine_device(self->machine, device);
    if (!found || !properties) return found ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "gpuarena simulated device");
    snprintf(properties->uuid.bytes, sizeof properties->uuid.bytes, "gpuarena sim %02d", device);
    properties->totalGlobalMem = found->memory.capacity_bytes;
    properties->pciBusID = attributes_of(found, cudaDevAttrPciBusId);
    for (size_t i = 0; i < sizeof attributes_table / sizeof attributes_table[0]; i++) {
        const int value = attributes_table[i].value;
        const size_t whole = (size_t)value;
        const void *from = attributes_table[i].bytes == sizeof value ? (const void *)&value : &whole;
        memcpy((char *)properties + attributes_table[i].at, from, attributes_table[i].bytes);
    }
    return SIM_SUCCESS;
}

/* ---- Devices */

CUDART_FUNCTION(cudaGetDeviceCount, (int *count), CALL_PUT(count, self.machine->device_count))
CUDART_FUNCTION(cudaGetDevice, (int *device), CALL_PUT(device, self.thread->device))

/* From CUDA 12 on this is where a context is created, and where a lost device shows. */
CUDART_SERVED(cudaSetDevice, (int device), (device))
{
    sim_device *found = engine_device(self->machine, device);
    if (!found) return cudaErrorInvalidDevice;
    if (CUDART_VERSION >= 12000) {
        if (found->lost_code) return found->lost_code;
        engine_open_context(found);
        self->thread->has_context = 1;
    }
    self->thread->device = device;
    return SIM_SUCCESS;
}

/* One way to wait at most, and nothing that is unknown. */
static int devices_flags_fit(unsigned flags)
{
    unsigned schedule = flags & cudaDeviceScheduleMask;
    return (flags & ~(unsigned)cudaDeviceMask) == 0 && (schedule & (schedule - 1)) == 0;
}

#if CUDART_VERSION >= 12000
CUDART_SERVED(cudaInitDevice, (int device, unsigned int device_flags, unsigned int flags),
              (device, device_flags, flags))
{
    sim_device *found = engine_device(self->machine, device);
    if (!found) return cudaErrorInvalidDevice;
    if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid || !devices_flags_fit(device_flags)) {
        return SIM_INVALID_VALUE;
    }
    if (flags & cudaInitDeviceFlagsAreValid) found->runtime_flags = device_flags;
    engine_open_context(found);
    return found->lost_code;
}
#endif

CUDART_SERVED(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
              (value, attribute, device))
{
    const sim_device *found = engine_device(self->machine, device);
    if (!found) return cudaErrorInvalidDevice;
    return value && attributes_read(found, (int)attribute, value) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

static unsigned devices_bus(int device)
{
    return ((unsigned)device + 1) & 0xFF;
}

CUDART_SERVED(cudaDeviceGetPCIBusId, (char *text, int bytes, int device), (text, bytes, device))
{
    char address[16];
    int length = snprintf(address, sizeof address, "0000:%02X:00.0", devices_bus(device));
    if (!engine_device(self->machine, device)) return cudaErrorInvalidDevice;
    if (!text || bytes <= length) return SIM_INVALID_VALUE;
    memcpy(text, address, (size_t)length + 1);
    return SIM_SUCCESS;
}

/* Reads domain:bus:device.function, domain:bus:device or bus:device.function. */
CUDART_SERVED(cudaDeviceGetByPCIBusId, (int *device, const char *text), (device, text))
{
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    if (!device || !text) return SIM_INVALID_VALUE;
    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(text, "%x:%x.%x", &bus, &slot, &function) != 3) return SIM_INVALID_VALUE;
    }
    for (int i = 0; i < self->machine->device_count; i++) {
        if (devices_bus(i) == bus && !domain && !slot && !function) return CALL_PUT(device, i);
    }
    return cudaErrorInvalidDevice;
}

CUDART_FUNCTION(cudaDeviceSynchronize, (void), work_wait_device(&self))

static int devices_reset(sim_device *device)
{
    work_reset(device);
    memory_reset(device);
    host_reset(device);
    device->has_context = 0;
    device->runtime_flags = 0;
    device->runtime_peers = 0;
    memset(device->runtime_limits, 0, sizeof device->runtime_limits);
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaDeviceReset, (void), devices_reset(self.device))

/* There is no profiler. */
CUDART_EXPORT cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

CUDART_FUNCTION(cudaSetDeviceFlags, (unsigned int flags),
                devices_flags_fit(flags) ? CALL_PUT(&self.device->runtime_flags, flags) : SIM_INVALID_VALUE)
CUDART_FUNCTION(cudaGetDeviceFlags, (unsigned int *flags), CALL_PUT(flags, self.device->runtime_flags))

/* Makes the description of a texture's channel. There are no textures, but programs make it before they know. */
CUDART_EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                 enum cudaChannelFormatKind kind)
{
    const struct cudaChannelFormatDesc made = { x, y, z, w, kind };
    return made;
}

/* ---- Limits, and how a multiprocessor divides its memory: kept and answered, without effect, as there are no
        kernels */

static const size_t limits_default[] = {
    [cudaLimitStackSize] = 1 << 10, [cudaLimitPrintfFifoSize] = 1 << 20, [cudaLimitMallocHeapSize] = 8 << 20,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048, [cudaLimitMaxL2FetchGranularity] = 64,
    [cudaLimitPersistingL2CacheSize] = 0
};

static int limits_fit(enum cudaLimit limit)
{
    return (unsigned)limit < sizeof limits_default / sizeof limits_default[0]
        && limit != cudaLimitDevRuntimeSyncDepth;                /* none from compute capability 9.0 on */
}

CUDART_FUNCTION(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value),
                limits_fit(limit) ? (self.device->runtime_limits[limit] = value - limits_default[limit], SIM_SUCCESS)
                                  : cudaErrorUnsupportedLimit)
CUDART_FUNCTION(cudaDeviceGetLimit, (size_t *value, enum cudaLimit limit),
                limits_fit(limit) ? CALL_PUT(value, self.device->runtime_limits[limit] + limits_default[limit])
                                  : cudaErrorUnsupportedLimit)
CUDART_FUNCTION(cudaDeviceGetCacheConfig, (enum cudaFuncCache *config), CALL_PUT(config, cudaFuncCachePreferNone))
cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
CUDART_FUNCTION(cudaDeviceGetSharedMemConfig, (enum cudaSharedMemConfig *config),
                CALL_PUT(config, cudaSharedMemBankSizeFourByte))

#if CUDART_VERSION < 13000                       /* names of the first runtimes */
CUDART_ALSO(cudaDeviceSetLimit, cudaThreadSetLimit);
CUDART_ALSO(cudaDeviceGetLimit, cudaThreadGetLimit);
CUDART_ALSO(cudaDeviceGetCacheConfig, cudaThreadGetCacheConfig);
CUDART_ALSO(cudaDeviceSynchronize, cudaThreadSynchronize);
CUDART_ALSO(cudaDeviceReset, cudaThreadExit);
#endif

/* ---- Peers: every device can be the peer of every other once that is enabled, one way at a time. Copies need none
        of it */

CUDART_SERVED(cudaDeviceCanAccessPeer, (int *can, int device, int peer), (can, device, peer))
{
    if (!engine_device(self->machine, device) || !engine_device(self->machine, peer)) return cudaErrorInvalidDevice;
    return CALL_PUT(can, device != peer);
}

/* Access there is; its rank is the best; no atomics, no arrays. */
CUDART_SERVED(cudaDeviceGetP2PAttribute, (int *value, enum cudaDeviceP2PAttr attribute, int device, int peer),
              (value, attribute, device, peer))
{
    if (!engine_device(self->machine, device) || !engine_device(self->machine, peer)) return cudaErrorInvalidDevice;
    if (device == peer || (int)attribute < 1 || (int)attribute > 5) return SIM_INVALID_VALUE;
    return CALL_PUT(value, attribute == cudaDevP2PAttrAccessSupported);
}

/* The peer's bit, or 0: not a peer of the current device. */
static unsigned peers_bit(const call *self, int peer)
{
    return engine_device(self->machine, peer) && peer != self->device->ordinal ? 1u << peer : 0;
}

CUDART_SERVED(cudaDeviceEnablePeerAccess, (int peer, unsigned int flags), (peer, flags))
{
    unsigned bit = peers_bit(self, peer);
    if (!bit || flags != 0) return bit ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
    if (self->device->runtime_peers & bit) return cudaErrorPeerAccessAlreadyEnabled;
    self->device->runtime_peers |= bit;
    return SIM_SUCCESS;
}

CUDART_SERVED(cudaDeviceDisablePeerAccess, (int peer), (peer))
{
    unsigned bit = peers_bit(self, peer), was = self->device->runtime_peers;
    self->device->runtime_peers &= ~bit;
    return !bit ? cudaErrorInvalidDevice : was & bit ? SIM_SUCCESS : cudaErrorPeerAccessNotEnabled;
}

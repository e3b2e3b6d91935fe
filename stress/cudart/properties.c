/* cudaGetDeviceProperties: the struct of the toolkit that this is built with, from the device's attributes.
   Must not know of memory but its size. */
#include <stdio.h>
#include <string.h>

#include "call.h"

static void properties_limits(const sim_device *device, struct cudaDeviceProp *filled)
{
    filled->sharedMemPerBlock = (size_t)attributes_of(device, cudaDevAttrMaxSharedMemoryPerBlock);
    filled->sharedMemPerBlockOptin = (size_t)attributes_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    filled->sharedMemPerMultiprocessor = (size_t)attributes_of(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    filled->reservedSharedMemPerBlock = (size_t)attributes_of(device, cudaDevAttrReservedSharedMemoryPerBlock);
    filled->regsPerBlock = attributes_of(device, cudaDevAttrMaxRegistersPerBlock);
    filled->regsPerMultiprocessor = attributes_of(device, cudaDevAttrMaxRegistersPerMultiprocessor);
    filled->warpSize = attributes_of(device, cudaDevAttrWarpSize);
    filled->memPitch = (size_t)attributes_of(device, cudaDevAttrMaxPitch);
    filled->maxThreadsPerBlock = attributes_of(device, cudaDevAttrMaxThreadsPerBlock);
    filled->maxThreadsPerMultiProcessor = attributes_of(device, cudaDevAttrMaxThreadsPerMultiProcessor);
    filled->maxBlocksPerMultiProcessor = attributes_of(device, cudaDevAttrMaxBlocksPerMultiprocessor);
    for (int i = 0; i < 3; i++) {
        filled->maxThreadsDim[i] = attributes_of(device, (enum cudaDeviceAttr)(cudaDevAttrMaxBlockDimX + i));
        filled->maxGridSize[i] = attributes_of(device, (enum cudaDeviceAttr)(cudaDevAttrMaxGridDimX + i));
    }
    filled->totalConstMem = (size_t)attributes_of(device, cudaDevAttrTotalConstantMemory);
    filled->textureAlignment = (size_t)attributes_of(device, cudaDevAttrTextureAlignment);
    filled->texturePitchAlignment = (size_t)attributes_of(device, cudaDevAttrTexturePitchAlignment);
    filled->surfaceAlignment = (size_t)attributes_of(device, cudaDevAttrSurfaceAlignment);
}

static void properties_fill(const sim_device *device, struct cudaDeviceProp *filled)
{
    memset(filled, 0, sizeof *filled);
    snprintf(filled->name, sizeof filled->name, "gpuarena simulated device");
    snprintf(filled->uuid.bytes, sizeof filled->uuid.bytes, "gpuarena sim %02d", device->ordinal);
    filled->totalGlobalMem = device->memory.capacity_bytes;
    filled->major = attributes_of(device, cudaDevAttrComputeCapabilityMajor);
    filled->minor = attributes_of(device, cudaDevAttrComputeCapabilityMinor);
    filled->multiProcessorCount = attributes_of(device, cudaDevAttrMultiProcessorCount);
    filled->l2CacheSize = attributes_of(device, cudaDevAttrL2CacheSize);
    filled->canMapHostMemory = attributes_of(device, cudaDevAttrCanMapHostMemory);
    filled->unifiedAddressing = attributes_of(device, cudaDevAttrUnifiedAddressing);
    filled->concurrentKernels = attributes_of(device, cudaDevAttrConcurrentKernels);
    filled->streamPrioritiesSupported = attributes_of(device, cudaDevAttrStreamPrioritiesSupported);
    filled->pciBusID = attributes_of(device, cudaDevAttrPciBusId);
    properties_limits(device, filled);
}

/* In the headers of CUDA 12 the name is a macro, for the symbol cudaGetDeviceProperties_v2. */
CUDART_EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_GET_DEVICE_PROPERTIES)) {
        const sim_device *found = call_find_device(&self, device);
        if (!found || !properties) {
            self.code = found ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
        } else {
            properties_fill(found, properties);
        }
    }
    return call_end(&self);
}

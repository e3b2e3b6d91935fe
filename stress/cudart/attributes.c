/* Attributes: the limits of a device of compute capability 9.0, and its place on the bus; and the properties made of
   these, in the struct of the toolkit that this is built with. */
#include <stdio.h>
#include <string.h>

#include "call.h"

/* The driver's alone: CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, and
   CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED. */
enum { ATTRIBUTES_VIRTUAL_MEMORY = 102, ATTRIBUTES_FILE_DESCRIPTORS = 103 };

/* All others are 0. */
static const struct { enum cudaDeviceAttr attribute; int value; } attributes_table[] = {
    { cudaDevAttrMaxThreadsPerBlock,             1024 },
    { cudaDevAttrMaxBlockDimX,                   1024 },
    { cudaDevAttrMaxBlockDimY,                   1024 },
    { cudaDevAttrMaxBlockDimZ,                   64 },
    { cudaDevAttrMaxGridDimX,                    2147483647 },
    { cudaDevAttrMaxGridDimY,                    65535 },
    { cudaDevAttrMaxGridDimZ,                    65535 },
    { cudaDevAttrMaxSharedMemoryPerBlock,        48 << 10 },
    { cudaDevAttrMaxSharedMemoryPerBlockOptin,   227 << 10 },
    { cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 << 10 },
    { cudaDevAttrReservedSharedMemoryPerBlock,   1 << 10 },
    { cudaDevAttrTotalConstantMemory,            64 << 10 },
    { cudaDevAttrWarpSize,                       32 },
    { cudaDevAttrMaxPitch,                       2147483647 },
    { cudaDevAttrMaxRegistersPerBlock,           65536 },
    { cudaDevAttrMaxRegistersPerMultiprocessor,  65536 },
    { cudaDevAttrMaxThreadsPerMultiProcessor,    2048 },
    { cudaDevAttrMaxBlocksPerMultiprocessor,     32 },
    { cudaDevAttrMultiProcessorCount,            132 },
    { cudaDevAttrL2CacheSize,                    50 << 20 },
    { cudaDevAttrTextureAlignment,               512 },
    { cudaDevAttrTexturePitchAlignment,          32 },
    { cudaDevAttrSurfaceAlignment,               512 },
    { cudaDevAttrCanMapHostMemory,               1 },
    { cudaDevAttrManagedMemory,                  1 },
    { cudaDevAttrConcurrentManagedAccess,        1 },
    { cudaDevAttrMemoryPoolsSupported,           1 },
    { cudaDevAttrUnifiedAddressing,              1 },
    { cudaDevAttrConcurrentKernels,              1 },
    { cudaDevAttrStreamPrioritiesSupported,      1 },
    { cudaDevAttrComputeCapabilityMajor,         9 },
    { cudaDevAttrComputeCapabilityMinor,         0 },
};

int attributes_read(const sim_device *device, int attribute, int *value)
{
    if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax) return 0;
    *value = attribute == cudaDevAttrPciBusId ? device->ordinal + 1
           : attribute == ATTRIBUTES_VIRTUAL_MEMORY || attribute == ATTRIBUTES_FILE_DESCRIPTORS
                 ? !device->sim->without_vm : 0;
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

/* ---- Properties */

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

static int properties_of(const call *self, struct cudaDeviceProp *properties, int device)
{
    const sim_device *found = call_find_device(self, device);
    if (!found || !properties) return found ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
    properties_fill(found, properties);
    return SIM_SUCCESS;
}

/* In the headers of CUDA 12 the name is a macro, for the symbol cudaGetDeviceProperties_v2. */
CUDART_FUNCTION(cudaGetDeviceProperties, (struct cudaDeviceProp *properties, int device),
                call_begin_bare(&self, SIM_CALL_GET_DEVICE_PROPERTIES), properties_of(&self, properties, device))

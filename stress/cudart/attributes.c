/* Attributes: the limits of a device of compute capability 9.0, and its place on the bus. */
#include "call.h"

/* The driver's alone: CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED. */
enum { ATTRIBUTES_VIRTUAL_MEMORY = 102 };

/* All others are 0: among them sharing between processes. */
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
           : attribute == ATTRIBUTES_VIRTUAL_MEMORY ? !device->sim->without_vm
                                                    : 0;
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

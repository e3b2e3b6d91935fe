/* libnvidia-ml.so.1: as much of it as programs ask before they use a device: how many there are, their names and
   memory. Devices are on no fabric and have no links, and no process is known. Codes are NVML's.
   Must not know of calls: each is the runtime's of the same meaning. nvml.h is no part of a toolkit's runtime, so
   that the few types that it takes are spelled out. */
#include "driver.h"

enum { NVML_SUCCESS = 0, NVML_INVALID_ARGUMENT = 2, NVML_NOT_SUPPORTED = 3, NVML_UNKNOWN = 999 };

typedef struct nvml_device { int ordinal; } nvml_device;
typedef struct nvml_memory { unsigned long long total, free, used; } nvml_memory;

static nvml_device nvml_devices[SIM_MAX_DEVICES];

static int nvml_answer(CUresult code)
{
    return code == CUDA_SUCCESS ? NVML_SUCCESS : NVML_UNKNOWN;
}

/* A function that is an expression. */
#define NVML(name, parameters, answer) CUDART_EXPORT int name parameters { return (answer); }

NVML(nvmlInit_v2, (void), nvml_answer(cuDeviceGetCount(&(int){ 0 })))
NVML(nvmlShutdown, (void), NVML_SUCCESS)
NVML(nvmlSystemGetDriverVersion, (char *text, unsigned bytes),
     !text || bytes == 0 ? NVML_INVALID_ARGUMENT : (snprintf(text, bytes, "simulated"), NVML_SUCCESS))
NVML(nvmlSystemGetCudaDriverVersion_v2, (int *version),
     version ? nvml_answer(cuDriverGetVersion(version)) : NVML_INVALID_ARGUMENT)

CUDART_EXPORT const char *nvmlErrorString(int code)
{
    return code == NVML_SUCCESS          ? "Success"
         : code == NVML_INVALID_ARGUMENT ? "Invalid Argument"
         : code == NVML_NOT_SUPPORTED    ? "Not Supported"
                                         : "Unknown Error";
}

CUDART_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    int found = 0;
    int code = count ? nvml_answer(cuDeviceGetCount(&found)) : NVML_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS) *count = (unsigned)found;
    return code;
}

CUDART_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device **device)
{
    unsigned count;
    int code = nvmlDeviceGetCount_v2(&count);
    if (code == NVML_SUCCESS) code = device && index < count ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS) {
        nvml_devices[index].ordinal = (int)index;
        *device = &nvml_devices[index];
    }
    return code;
}

/* Devices' buses are numbered from 1: cudaDeviceGetPCIBusId. */
CUDART_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvml_device **device)
{
    unsigned domain, bus;
    if (!text || sscanf(text, "%x:%x", &domain, &bus) != 2 || bus == 0) {
        return NVML_INVALID_ARGUMENT;
    }
    return nvmlDeviceGetHandleByIndex_v2(bus - 1, device);
}

NVML(nvmlDeviceGetIndex, (const nvml_device *device, unsigned *index),
     !device || !index ? NVML_INVALID_ARGUMENT : (*index = (unsigned)device->ordinal, NVML_SUCCESS))
NVML(nvmlDeviceGetName, (const nvml_device *device, char *text, unsigned bytes),
     device ? nvml_answer(cuDeviceGetName(text, (int)bytes, device->ordinal)) : NVML_INVALID_ARGUMENT)

CUDART_EXPORT int nvmlDeviceGetMemoryInfo(const nvml_device *device, nvml_memory *memory)
{
    int was, code = NVML_INVALID_ARGUMENT;
    size_t free_bytes = 0, total = 0;
    if (device && memory && cudaGetDevice(&was) == cudaSuccess && cudaSetDevice(device->ordinal) == cudaSuccess) {
        code = nvml_answer(cuMemGetInfo(&free_bytes, &total));
        cudaSetDevice(was);
    }
    if (code == NVML_SUCCESS) {
        memory->total = total;
        memory->free = free_bytes;
        memory->used = total - free_bytes;
    }
    return code;
}

NVML(nvmlDeviceGetComputeRunningProcesses, (const nvml_device *device, unsigned *count, void *found),
     ((void)found, !device || !count ? NVML_INVALID_ARGUMENT : (*count = 0, NVML_SUCCESS)))

/* Declared without arguments: only the symbol matters. */
NVML(nvmlDeviceGetNvLinkRemoteDeviceType, (void), NVML_NOT_SUPPORTED)
NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2, (void), NVML_NOT_SUPPORTED)
NVML(nvmlDeviceGetGpuFabricInfoV, (void), NVML_NOT_SUPPORTED)

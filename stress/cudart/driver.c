/* Driver functions that every program asks for: versions, names of codes, devices, information. */
#include "driver.h"

#include <string.h>

DRIVER_EXPORT cuInit(unsigned int flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT cuDriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = CUDART_VERSION;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT cuGetErrorName(CUresult error, const char **name)
{
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = codes_driver_name((int)error);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The runtime's numbers and texts are the driver's, where both have them. */
DRIVER_EXPORT cuGetErrorString(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = codes_driver_name((int)error) ? codes_text((int)error) : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT cuDeviceGet(CUdevice *device, int ordinal)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_GET_DEVICE)) {
        if (!device || !call_find_device(&self, ordinal)) {
            self.code = device ? cudaErrorInvalidDevice : SIM_INVALID_VALUE;
        } else {
            *device = ordinal;
        }
    }
    return (CUresult)call_end_driver(&self);
}

void driver_keep_error(void)
{
    call self;
    call_enter(&self);
    self.thread->kept_error = self.thread->last_error;
    call_leave(&self);
}

/* The runtime's numbers are the driver's, where the driver has them. A lost device stays the last error. */
CUresult driver_answer(cudaError_t code)
{
    call self;
    call_enter(&self);
    if (codes_status(self.thread->last_error) != GPUARENA_STATUS_LOST) {
        self.thread->last_error = self.thread->kept_error;
    }
    call_leave(&self);
    return codes_is_of_driver((int)code) ? (CUresult)code : CUDA_ERROR_INVALID_VALUE;
}

/* Those that are one call of the runtime. Attributes have its numbers, and a few more that it does not know. */
#define DRIVER_COMMON_CALLS(X) \
    X(cuDeviceGetCount, 2000, (int *count), cudaGetDeviceCount(count)) \
    X(cuDeviceGetAttribute, 2000, (int *value, CUdevice_attribute attribute, CUdevice device), \
      cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device)) \
    X(cuMemGetInfo, 3020, (size_t *free_bytes, size_t *total_bytes), cudaMemGetInfo(free_bytes, total_bytes))
DRIVER_COMMON_CALLS(DRIVER_FUNCTION)

static const driver_row driver_rows[] = {
    DRIVER_COMMON_CALLS(DRIVER_FUNCTION_ROW)
    DRIVER_ROW(cuInit, 2000),
    DRIVER_ROW(cuDriverGetVersion, 2020),
    DRIVER_ROW(cuGetErrorName, 6000),
    DRIVER_ROW(cuGetErrorString, 6000),
    DRIVER_ROW(cuDeviceGet, 2000),
    { NULL, 0, NULL },
};

/* The first is the one of functions that take a stream. */
static const driver_row *const driver_groups[] = {
    driver_stream_rows, driver_rows, driver_vm_rows, driver_context_rows, driver_memory_rows,
    driver_share_rows,
    driver_kernel_rows, driver_refused_rows,
};

const driver_row *driver_find(const char *name, unsigned version, int per_thread, int *known)
{
    const driver_row *found = NULL;
    *known = 0;
    for (size_t group = per_thread ? 1 : 0; group < sizeof driver_groups / sizeof driver_groups[0]; group++) {
        for (const driver_row *row = driver_groups[group]; row->name; row++) {
            if (strcmp(row->name, name) == 0) {
                *known = 1;
                if (row->since <= version && (!found || row->since > found->since)) found = row;
            }
        }
    }
    return found;
}

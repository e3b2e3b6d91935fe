/* Driver functions beside memory: versions, names of codes, devices, information.
   Must not know how they are looked up.
   Tested by tests/test_cudart_launch.c. */
#include "driver.h"

#include <string.h>

#include "../sim/codes.h"
#include "../sim/memory.h"
#include "attributes.h"

static CUresult CUDAAPI driver_init(unsigned int flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult CUDAAPI driver_get_version(int *version)
{
    if (!version) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = CUDART_VERSION;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI driver_get_error_name(CUresult error, const char **name)
{
    if (!name) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *name = driver_code_name((int)error);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The runtime's numbers and texts are the driver's, where both have them. */
static CUresult CUDAAPI driver_get_error_string(CUresult error, const char **text)
{
    if (!text) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *text = driver_code_name((int)error) ? codes_text((int)error) : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult CUDAAPI driver_get_device_count(int *count)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_GET_DEVICE_COUNT)) {
        self.code = count ? SIM_SUCCESS : SIM_INVALID_VALUE;
        if (count) {
            *count = self.machine->device_count;
        }
    }
    return (CUresult)call_end_driver(&self);
}

static CUresult CUDAAPI driver_get_device(CUdevice *device, int ordinal)
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

/* Attributes have the runtime's numbers, and a few more that it does not know. */
static CUresult CUDAAPI driver_get_device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_DEVICE_GET_ATTRIBUTE)) {
        const sim_device *found = call_find_device(&self, device);
        if (!found) {
            self.code = cudaErrorInvalidDevice;
        } else if (!value || !attributes_read(found, (int)attribute, value)) {
            self.code = SIM_INVALID_VALUE;
        }
    }
    return (CUresult)call_end_driver(&self);
}

static CUresult CUDAAPI driver_get_info(size_t *free_bytes, size_t *total_bytes)
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
    return (CUresult)call_end_driver(&self);
}

static const driver_row driver_rows[] = {
    { "cuInit",               2000, (driver_function)driver_init },
    { "cuDriverGetVersion",   2020, (driver_function)driver_get_version },
    { "cuGetErrorName",       6000, (driver_function)driver_get_error_name },
    { "cuGetErrorString",     6000, (driver_function)driver_get_error_string },
    { "cuDeviceGetCount",     2000, (driver_function)driver_get_device_count },
    { "cuDeviceGet",          2000, (driver_function)driver_get_device },
    { "cuDeviceGetAttribute", 2000, (driver_function)driver_get_device_attribute },
    { "cuMemGetInfo",         3020, (driver_function)driver_get_info },
    { NULL, 0, NULL },
};

static const driver_row *const driver_groups[] = { driver_rows, driver_vm_rows, driver_pointer_rows };

const driver_row *driver_find(const char *name, unsigned version, int *known)
{
    const driver_row *found = NULL;
    *known = 0;
    for (size_t group = 0; group < sizeof driver_groups / sizeof driver_groups[0]; group++) {
        for (const driver_row *row = driver_groups[group]; row->name; row++) {
            if (strcmp(row->name, name) == 0) {
                *known = 1;
                if (row->since <= version && (!found || row->since > found->since)) {
                    found = row;
                }
            }
        }
    }
    return found;
}

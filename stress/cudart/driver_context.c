/* Driver functions of devices and contexts. Each device has one context, its primary one.
   Must not know of streams or memory. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

struct CUctx_st { char unused; };                /* its place in the table is its device */
static struct CUctx_st context_table[SIM_MAX_DEVICES];

/* -1: no context. */
static int context_device(CUcontext context)
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        if (context == &context_table[i]) return i;
    }
    return -1;
}

/* ---- devices */

static int context_properties(int device, struct cudaDeviceProp *filled)
{
    return (int)DRIVER_DOES(cudaGetDeviceProperties(filled, device));
}

DRIVER_EXPORT cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    struct cudaDeviceProp found;
    int code = name && bytes > 0 ? context_properties(device, &found) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) snprintf(name, (size_t)bytes, "%s", found.name);
    return (CUresult)code;
}

DRIVER_EXPORT cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    struct cudaDeviceProp found;
    int code = uuid ? context_properties(device, &found) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) memcpy(uuid, &found.uuid, sizeof *uuid);
    return (CUresult)code;
}

DRIVER_EXPORT cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    struct cudaDeviceProp found;
    int code = bytes ? context_properties(device, &found) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *bytes = found.totalGlobalMem;
    return (CUresult)code;
}

DRIVER_EXPORT cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    struct cudaDeviceProp found;
    int code = major && minor ? context_properties(device, &found) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) {
        *major = found.major;
        *minor = found.minor;
    }
    return (CUresult)code;
}

/* ---- a device's context */

static int context_open(int ordinal, CUcontext *context, int opens, int *is_open)
{
    call self;
    if (call_open(&self, SIM_CALL_SET_DEVICE)) {
        sim_device *found = call_find_device(&self, ordinal);
        self.code = found ? found->lost_code : CUDA_ERROR_INVALID_DEVICE;
        if (found && opens) engine_open_context(found);
        if (self.code == SIM_SUCCESS) {
            *context = &context_table[ordinal];
            *is_open = found->has_context;
        }
    }
    return call_end_driver(&self);
}

DRIVER_EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    int is_open;
    return context ? (CUresult)context_open(device, context, 1, &is_open) : CUDA_ERROR_INVALID_VALUE;
}

/* It stays until the device is reset. */
DRIVER_EXPORT cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUcontext context;
    int is_open;
    return (CUresult)context_open(device, &context, 0, &is_open);
}

DRIVER_EXPORT cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    CUcontext context;
    int is_open, code = flags && active ? context_open(device, &context, 0, &is_open) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) {
        *flags = 0;
        *active = is_open;
    }
    return (CUresult)code;
}

/* ---- the thread's current context */

/* The device of the thread's current context; -1: it has none. *code: why there is no answer at all. */
static int context_current(int *code)
{
    call self;
    *code = call_enter(&self);
    int ordinal = *code == SIM_SUCCESS && self.thread->has_context ? self.thread->device : -1;
    call_leave(&self);
    return ordinal;
}

static int context_make_current(int ordinal)
{
    call self;
    int code = ordinal >= 0 ? (int)DRIVER_DOES(cudaSetDevice(ordinal)) : SIM_SUCCESS;
    if (code != SIM_SUCCESS) return code;
    code = call_enter(&self);
    self.thread->has_context = ordinal >= 0;     /* whatever the runtime's version makes of its call */
    call_leave(&self);
    return code;
}

DRIVER_EXPORT cuCtxGetCurrent(CUcontext *context)
{
    int code, ordinal = context_current(&code);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = ordinal < 0 ? NULL : &context_table[ordinal];
    return (CUresult)code;
}

DRIVER_EXPORT cuCtxSetCurrent(CUcontext context)
{
    int ordinal = context_device(context);
    return context && ordinal < 0 ? CUDA_ERROR_INVALID_CONTEXT : (CUresult)context_make_current(ordinal);
}

static int context_push(call *self, int ordinal)
{
    if (self->code == SIM_SUCCESS && self->thread->stack_count == CALL_CONTEXTS) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (self->code == SIM_SUCCESS) self->thread->stack[self->thread->stack_count++] = ordinal;
    return self->code;
}

DRIVER_EXPORT cuCtxPushCurrent(CUcontext context)
{
    call self;
    int code, was = context_current(&code);
    if (context_device(context) < 0) {
        return context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    call_enter(&self);
    code = context_push(&self, was);
    call_leave(&self);
    return code == SIM_SUCCESS ? cuCtxSetCurrent(context) : (CUresult)code;
}

/* What was current before the push is so again; without a push, nothing is. */
DRIVER_EXPORT cuCtxPopCurrent(CUcontext *context)
{
    call self;
    int code, top = context_current(&code), below = -1;
    if (top < 0) return code == SIM_SUCCESS ? CUDA_ERROR_INVALID_CONTEXT : (CUresult)code;
    call_enter(&self);
    if (self.thread->stack_count > 0) below = self.thread->stack[--self.thread->stack_count];
    call_leave(&self);
    if (context) *context = &context_table[top];
    return (CUresult)context_make_current(below);
}

DRIVER_EXPORT cuCtxGetDevice(CUdevice *device)
{
    int code, ordinal = context_current(&code);
    if (!device || ordinal < 0) {
        return device ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
    if (!version || (context && context_device(context) < 0)) {
        return version ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    *version = 3020;                             /* of contexts since CUDA 3.2 */
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
DRIVER_EXPORT cuCtxGetId(CUcontext context, unsigned long long *id)
{
    int code = SIM_SUCCESS, ordinal = context ? context_device(context) : context_current(&code);
    if (!id || ordinal < 0) return id ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    *id = (unsigned long long)ordinal + 1;
    return (CUresult)code;
}
#endif

/* Those that are one call of the runtime. */
#define DRIVER_CONTEXT_CALLS(X) \
    X(cuDeviceGetPCIBusId, 4010, (char *text, int bytes, CUdevice device), \
      cudaDeviceGetPCIBusId(text, bytes, device)) \
    X(cuDeviceCanAccessPeer, 4000, (int *can, CUdevice device, CUdevice peer), \
      cudaDeviceCanAccessPeer(can, device, peer)) \
    X(cuCtxGetFlags, 7000, (unsigned int *flags), cudaGetDeviceFlags(flags)) \
    X(cuCtxSynchronize, 2000, (void), cudaDeviceSynchronize()) \
    X(cuCtxGetStreamPriorityRange, 5050, (int *least, int *greatest), \
      cudaDeviceGetStreamPriorityRange(least, greatest))
DRIVER_CONTEXT_CALLS(DRIVER_FUNCTION)

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"   /* cuDeviceComputeCapability; programs still call it */
#endif
const driver_row driver_context_rows[] = {
    DRIVER_CONTEXT_CALLS(DRIVER_FUNCTION_ROW)
    DRIVER_ROW(cuDeviceGetName, 2000),
    DRIVER_ROW(cuDeviceGetUuid, 9020),
    DRIVER_ROW(cuDeviceTotalMem, 3020),
    DRIVER_ROW(cuDeviceComputeCapability, 2000),
    DRIVER_ROW(cuDevicePrimaryCtxRetain, 7000),
    DRIVER_ROW(cuDevicePrimaryCtxRelease, 7000),
    DRIVER_ROW(cuDevicePrimaryCtxGetState, 7000),
    DRIVER_ROW(cuCtxGetCurrent, 4000),
    DRIVER_ROW(cuCtxSetCurrent, 4000),
    DRIVER_ROW(cuCtxPushCurrent, 4000),
    DRIVER_ROW(cuCtxPopCurrent, 4000),
    DRIVER_ROW(cuCtxGetDevice, 2000),
    DRIVER_ROW(cuCtxGetApiVersion, 3020),
#if CUDA_VERSION >= 12000
    DRIVER_ROW(cuCtxGetId, 12000),
#endif
    { NULL, 0, NULL },
};

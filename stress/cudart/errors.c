/* Last errors, their names, and versions.
   Must not know which call an error came from. */
#include "call.h"

/* A child of fork and a process that is ending hear of nothing else. */
CUDART_EXPORT cudaError_t cudaGetLastError(void)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS) {
        code = self.thread->last_error;
        if (codes_status(code) != GPUARENA_STATUS_LOST) self.thread->last_error = SIM_SUCCESS;
    }
    call_leave(&self);
    return (cudaError_t)code;
}

CUDART_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS) code = self.thread->last_error;
    call_leave(&self);
    return (cudaError_t)code;
}

CUDART_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    return codes_name((int)error);
}

CUDART_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    return codes_text((int)error);
}

CUDART_EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS && !version) {
        code = self.thread->last_error = SIM_INVALID_VALUE;
    } else if (code == SIM_SUCCESS) {
        *version = CUDART_VERSION;
    }
    call_leave(&self);
    return (cudaError_t)code;
}

/* Without a driver, and with one that only pretends, the version is 0; without a device it is the driver's. */
CUDART_EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
    call self;
    int found = CUDART_VERSION;
    if (!call_begin_bare(&self, SIM_CALL_DRIVER_GET_VERSION)) {
        if (self.code == cudaErrorInsufficientDriver || self.code == cudaErrorStubLibrary) {
            found = 0;
            self.code = SIM_SUCCESS;
        } else if (self.code == cudaErrorNoDevice) {
            self.code = SIM_SUCCESS;
        }
    }
    if (self.code == SIM_SUCCESS && !version) {
        self.code = SIM_INVALID_VALUE;
    } else if (self.code == SIM_SUCCESS) {
        *version = found;
    }
    return call_end(&self);
}

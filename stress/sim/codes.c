/* The codes of the CUDA runtime that the simulated device may answer with, injected ones included.
   Must not know which call answered with a code.
   Tested by tests/test_sim_driver.c. */
#include "codes.h"

typedef struct code_row { int code; gpuarena_status status; const char *name; } code_row;

static const code_row codes_rows[] = {
    { SIM_SUCCESS,         GPUARENA_STATUS_DONE,          "cudaSuccess" },
    { SIM_INVALID_VALUE,   GPUARENA_STATUS_FAILED,        "cudaErrorInvalidValue" },
    { SIM_OUT_OF_MEMORY,   GPUARENA_STATUS_NO_MEMORY,     "cudaErrorMemoryAllocation" },
    { SIM_UNLOADING,       GPUARENA_STATUS_UNLOADING,     "cudaErrorCudartUnloading" },
    { 214,                 GPUARENA_STATUS_LOST,          "cudaErrorECCUncorrectable" },
    { 600,                 GPUARENA_STATUS_NOT_READY,     "cudaErrorNotReady" },
    { SIM_ILLEGAL_ADDRESS, GPUARENA_STATUS_LOST,          "cudaErrorIllegalAddress" },
    { 710,                 GPUARENA_STATUS_LOST,          "cudaErrorAssert" },
    { 714,                 GPUARENA_STATUS_LOST,          "cudaErrorHardwareStackError" },
    { 715,                 GPUARENA_STATUS_LOST,          "cudaErrorIllegalInstruction" },
    { 716,                 GPUARENA_STATUS_LOST,          "cudaErrorMisalignedAddress" },
    { 717,                 GPUARENA_STATUS_LOST,          "cudaErrorInvalidAddressSpace" },
    { 718,                 GPUARENA_STATUS_LOST,          "cudaErrorInvalidPc" },
    { 719,                 GPUARENA_STATUS_LOST,          "cudaErrorLaunchFailure" },
    { SIM_NOT_SUPPORTED,   GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorNotSupported" },
    { 900,                 GPUARENA_STATUS_CAPTURING,     "cudaErrorStreamCaptureUnsupported" },
    { SIM_UNKNOWN,         GPUARENA_STATUS_FAILED,        "cudaErrorUnknown" },
};

static const code_row *codes_find(int code)
{
    static const code_row other = { 0, GPUARENA_STATUS_FAILED, "unrecognized error code" };
    for (size_t i = 0; i < sizeof codes_rows / sizeof codes_rows[0]; i++) {
        if (codes_rows[i].code == code) {
            return &codes_rows[i];
        }
    }
    return &other;
}

gpuarena_status codes_status(int code)
{
    return codes_find(code)->status;
}

const char *codes_name(int code)
{
    return codes_find(code)->name;
}

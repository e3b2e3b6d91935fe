/* The codes of the CUDA runtime and its driver that the simulated machine answers with, and those whose meaning
   matters to an arena. Names and texts are those of 11.8 to 13.0. Must not know which call answered with a code. */
#include "base.h"

typedef struct code_row { int code; gpuarena_status status; const char *name, *driver_name, *text; } code_row;

static const code_row codes_rows[] = {
    { 0, GPUARENA_STATUS_DONE, "cudaSuccess", "CUDA_SUCCESS",
      "no error" },
    { 1, GPUARENA_STATUS_FAILED, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE",
      "invalid argument" },
    { 2, GPUARENA_STATUS_NO_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY",
      "out of memory" },
    { 3, GPUARENA_STATUS_FAILED, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED",
      "initialization error" },
    { 4, GPUARENA_STATUS_UNLOADING, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED",
      "driver shutting down" },
    { 9, GPUARENA_STATUS_FAILED, "cudaErrorInvalidConfiguration", NULL,
      "invalid configuration argument" },
    { 12, GPUARENA_STATUS_FAILED, "cudaErrorInvalidPitchValue", NULL,
      "invalid pitch argument" },
    { 21, GPUARENA_STATUS_FAILED, "cudaErrorInvalidMemcpyDirection", NULL,
      "invalid copy direction for memcpy" },
    { 34, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY",
      "CUDA driver is a stub library" },
    { 35, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorInsufficientDriver", NULL,
      "CUDA driver version is insufficient for CUDA runtime version" },
    { 36, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorCallRequiresNewerDriver", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
      "API call is not supported in the installed CUDA driver" },
    { 46, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE",
      "CUDA-capable device(s) is/are busy or unavailable" },
    { 52, GPUARENA_STATUS_FAILED, "cudaErrorMissingConfiguration", NULL,
      "__global__ function call is not configured" },
    { 100, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE",
      "no CUDA-capable device is detected" },
    { 101, GPUARENA_STATUS_FAILED, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
      "invalid device ordinal" },
    { 201, GPUARENA_STATUS_FAILED, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
      "invalid device context" },
    { 214, GPUARENA_STATUS_LOST, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE",
      "uncorrectable ECC error encountered" },
    { 220, GPUARENA_STATUS_LOST, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE",
      "uncorrectable NVLink error detected during the execution" },
    { 226, GPUARENA_STATUS_LOST, "cudaErrorContained", "CUDA_ERROR_CONTAINED",
      "Invalid access of peer GPU memory over nvlink or a hardware error" },
    { 400, GPUARENA_STATUS_FAILED, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
      "invalid resource handle" },
    { 401, GPUARENA_STATUS_FAILED, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE",
      "the operation cannot be performed in the present state" },
    { 500, GPUARENA_STATUS_FAILED, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND",
      "named symbol not found" },
    { 600, GPUARENA_STATUS_NOT_READY, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY",
      "device not ready" },
    { 700, GPUARENA_STATUS_LOST, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
      "an illegal memory access was encountered" },
    { 702, GPUARENA_STATUS_LOST, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT",
      "the launch timed out and was terminated" },
    { 704, GPUARENA_STATUS_FAILED, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
      "peer access is already enabled" },
    { 705, GPUARENA_STATUS_FAILED, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
      "peer access has not been enabled" },
    { 709, GPUARENA_STATUS_LOST, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED",
      "context is destroyed" },
    { 710, GPUARENA_STATUS_LOST, "cudaErrorAssert", "CUDA_ERROR_ASSERT",
      "device-side assert triggered" },
    { 714, GPUARENA_STATUS_LOST, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR",
      "hardware stack error" },
    { 715, GPUARENA_STATUS_LOST, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION",
      "an illegal instruction was encountered" },
    { 716, GPUARENA_STATUS_LOST, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS",
      "misaligned address" },
    { 717, GPUARENA_STATUS_LOST, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE",
      "operation not supported on global/shared address space" },
    { 718, GPUARENA_STATUS_LOST, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC",
      "invalid program counter" },
    { 719, GPUARENA_STATUS_LOST, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED",
      "unspecified launch failure" },
    { 721, GPUARENA_STATUS_LOST, "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK",
      "tensor memory not completely freed" },
    { 801, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED",
      "operation not supported" },
    { 810, GPUARENA_STATUS_LOST, "cudaErrorMpsClientTerminated", "CUDA_ERROR_MPS_CLIENT_TERMINATED",
      "the MPS client has been terminated by the server" },
    { 900, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
      "operation not permitted when stream is capturing" },
    { 901, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
      "operation failed due to a previous error during capture" },
    { 902, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE",
      "operation would result in a merge of separate capture sequences" },
    { 903, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
      "capture was not ended in the same stream as it began" },
    { 904, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
      "capturing stream has unjoined work" },
    { 905, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
      "dependency created on uncaptured work in another stream" },
    { 906, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
      "operation would make the legacy stream depend on a capturing blocking stream" },
    { 907, GPUARENA_STATUS_CAPTURING, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT",
      "operation not permitted on an event last recorded in a capturing stream" },
    { 908, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
      "attempt to terminate a thread-local capture sequence from another thread" },
    { 911, GPUARENA_STATUS_LOST, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE",
      "an async error has occured in external entity outside of CUDA" },
    { 999, GPUARENA_STATUS_FAILED, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN",
      "unknown error" },
};

static const code_row *codes_find(int code)
{
    static const char unknown[] = "unrecognized error code";
    static const code_row other = { 0, GPUARENA_STATUS_FAILED, unknown, NULL, unknown };
    for (size_t i = 0; i < sizeof codes_rows / sizeof codes_rows[0]; i++) {
        if (codes_rows[i].code == code) return &codes_rows[i];
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

const char *codes_text(int code)
{
    return codes_find(code)->text;
}

const char *codes_driver_name(int code)
{
    return codes_find(code)->driver_name;
}

int codes_is_of_driver(int code)
{
    const code_row *found = codes_find(code);
    return found->code != code || found->driver_name;
}

/* The codes of the CUDA runtime and its driver that the simulated machine answers with, and those whose meaning
   matters to an arena. Names and texts are those of 11.8 to 13.0. Must not know which call answered with a code. */
#include "base.h"

/* The prefix of each name is left out. RUNTIME: the driver has no such code. */
#define CODE(code, status, name, driver_name, text) \
    { code, GPUARENA_STATUS_##status, "cudaError" #name, "CUDA_ERROR_" #driver_name, text },
#define RUNTIME(code, status, name, text) { code, GPUARENA_STATUS_##status, "cudaError" #name, NULL, text },

static const code_row codes_rows[] = {
    { 0, GPUARENA_STATUS_DONE, "cudaSuccess", "CUDA_SUCCESS", "no error" },
    CODE(1, FAILED, InvalidValue, INVALID_VALUE, "invalid argument")
    CODE(2, NO_MEMORY, MemoryAllocation, OUT_OF_MEMORY, "out of memory")
    CODE(3, FAILED, InitializationError, NOT_INITIALIZED, "initialization error")
    CODE(4, UNLOADING, CudartUnloading, DEINITIALIZED, "driver shutting down")
    RUNTIME(9, FAILED, InvalidConfiguration, "invalid configuration argument")
    RUNTIME(12, FAILED, InvalidPitchValue, "invalid pitch argument")
    RUNTIME(21, FAILED, InvalidMemcpyDirection, "invalid copy direction for memcpy")
    CODE(34, NOT_SUPPORTED, StubLibrary, STUB_LIBRARY, "CUDA driver is a stub library")
    RUNTIME(35, NOT_SUPPORTED, InsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")
    CODE(36, NOT_SUPPORTED, CallRequiresNewerDriver, CALL_REQUIRES_NEWER_DRIVER,
         "API call is not supported in the installed CUDA driver")
    CODE(46, NOT_SUPPORTED, DevicesUnavailable, DEVICE_UNAVAILABLE,
         "CUDA-capable device(s) is/are busy or unavailable")
    RUNTIME(52, FAILED, MissingConfiguration, "__global__ function call is not configured")
    CODE(100, NOT_SUPPORTED, NoDevice, NO_DEVICE, "no CUDA-capable device is detected")
    CODE(101, FAILED, InvalidDevice, INVALID_DEVICE, "invalid device ordinal")
    CODE(201, FAILED, DeviceUninitialized, INVALID_CONTEXT, "invalid device context")
    CODE(214, LOST, ECCUncorrectable, ECC_UNCORRECTABLE, "uncorrectable ECC error encountered")
    CODE(215, FAILED, UnsupportedLimit, UNSUPPORTED_LIMIT, "limit is not supported on this architecture")
    CODE(220, LOST, NvlinkUncorrectable, NVLINK_UNCORRECTABLE,
         "uncorrectable NVLink error detected during the execution")
    CODE(226, LOST, Contained, CONTAINED, "Invalid access of peer GPU memory over nvlink or a hardware error")
    CODE(400, FAILED, InvalidResourceHandle, INVALID_HANDLE, "invalid resource handle")
    CODE(401, FAILED, IllegalState, ILLEGAL_STATE, "the operation cannot be performed in the present state")
    CODE(500, FAILED, SymbolNotFound, NOT_FOUND, "named symbol not found")
    CODE(600, NOT_READY, NotReady, NOT_READY, "device not ready")
    CODE(700, LOST, IllegalAddress, ILLEGAL_ADDRESS, "an illegal memory access was encountered")
    CODE(702, LOST, LaunchTimeout, LAUNCH_TIMEOUT, "the launch timed out and was terminated")
    CODE(704, FAILED, PeerAccessAlreadyEnabled, PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")
    CODE(705, FAILED, PeerAccessNotEnabled, PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")
    CODE(709, LOST, ContextIsDestroyed, CONTEXT_IS_DESTROYED, "context is destroyed")
    CODE(710, LOST, Assert, ASSERT, "device-side assert triggered")
    CODE(712, FAILED, HostMemoryAlreadyRegistered, HOST_MEMORY_ALREADY_REGISTERED,
         "part or all of the requested memory range is already mapped")
    CODE(713, FAILED, HostMemoryNotRegistered, HOST_MEMORY_NOT_REGISTERED,
         "pointer does not correspond to a registered memory region")
    CODE(714, LOST, HardwareStackError, HARDWARE_STACK_ERROR, "hardware stack error")
    CODE(715, LOST, IllegalInstruction, ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")
    CODE(716, LOST, MisalignedAddress, MISALIGNED_ADDRESS, "misaligned address")
    CODE(717, LOST, InvalidAddressSpace, INVALID_ADDRESS_SPACE,
         "operation not supported on global/shared address space")
    CODE(718, LOST, InvalidPc, INVALID_PC, "invalid program counter")
    CODE(719, LOST, LaunchFailure, LAUNCH_FAILED, "unspecified launch failure")
    CODE(721, LOST, TensorMemoryLeak, TENSOR_MEMORY_LEAK, "tensor memory not completely freed")
    CODE(800, FAILED, NotPermitted, NOT_PERMITTED, "operation not permitted")
    CODE(801, NOT_SUPPORTED, NotSupported, NOT_SUPPORTED, "operation not supported")
    CODE(810, LOST, MpsClientTerminated, MPS_CLIENT_TERMINATED, "the MPS client has been terminated by the server")
    CODE(900, CAPTURING, StreamCaptureUnsupported, STREAM_CAPTURE_UNSUPPORTED,
         "operation not permitted when stream is capturing")
    CODE(901, CAPTURING, StreamCaptureInvalidated, STREAM_CAPTURE_INVALIDATED,
         "operation failed due to a previous error during capture")
    CODE(902, CAPTURING, StreamCaptureMerge, STREAM_CAPTURE_MERGE,
         "operation would result in a merge of separate capture sequences")
    CODE(903, CAPTURING, StreamCaptureUnmatched, STREAM_CAPTURE_UNMATCHED,
         "capture was not ended in the same stream as it began")
    CODE(904, CAPTURING, StreamCaptureUnjoined, STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")
    CODE(905, CAPTURING, StreamCaptureIsolation, STREAM_CAPTURE_ISOLATION,
         "dependency created on uncaptured work in another stream")
    CODE(906, CAPTURING, StreamCaptureImplicit, STREAM_CAPTURE_IMPLICIT,
         "operation would make the legacy stream depend on a capturing blocking stream")
    CODE(907, CAPTURING, CapturedEvent, CAPTURED_EVENT,
         "operation not permitted on an event last recorded in a capturing stream")
    CODE(908, CAPTURING, StreamCaptureWrongThread, STREAM_CAPTURE_WRONG_THREAD,
         "attempt to terminate a thread-local capture sequence from another thread")
    CODE(911, LOST, ExternalDevice, EXTERNAL_DEVICE, "an async error has occured in external entity outside of CUDA")
    CODE(999, FAILED, Unknown, UNKNOWN, "unknown error")
};

const code_row *codes_of(int code)
{
    static const char unknown[] = "unrecognized error code";
    static const code_row other = { -1, GPUARENA_STATUS_FAILED, unknown, NULL, unknown };
    for (size_t i = 0; i < sizeof codes_rows / sizeof codes_rows[0]; i++) {
        if (codes_rows[i].code == code) return &codes_rows[i];
    }
    return &other;
}

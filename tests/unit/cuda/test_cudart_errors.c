/* The libcudart substitute: the last error of each thread, names and texts of errors, versions.
   Must not know which call can fail how. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include <pthread.h>

#include "stress/sim/codes.h"
#include "test_cudart.h"

static void test_last_error(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    void *ptr;
    CHECK_DONE(cudaGetLastError());
    CHECK_CODE(cudaMalloc(&ptr, GIB(2)), cudaErrorMemoryAllocation);
    CHECK_CODE(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    CHECK_DONE(cudaMalloc(&ptr, 1));
    CHECK_MSG(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "success leaves it alone");
    CHECK_CODE(cudaSetDevice(7), cudaErrorInvalidDevice);
    CHECK_MSG(cudaGetLastError() == cudaErrorInvalidDevice, "the last one counts");
    CHECK_DONE(cudaGetLastError());
    CHECK_DONE(cudaPeekAtLastError());
    CHECK_CODE(cudaRuntimeGetVersion(NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaDriverGetVersion(NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidValue);
    cudart_close(machine);
}

static void test_not_ready_is_kept_too(void)
{
    sim *machine = cudart_open(1, GIB(1), "cudaEventQuery:1=600");
    cudaEvent_t event;
    CHECK_DONE(cudaEventCreate(&event));
    CHECK_CODE(cudaEventQuery(event), cudaErrorNotReady);
    CHECK_CODE(cudaGetLastError(), cudaErrorNotReady);
    CHECK_DONE(cudaEventQuery(event));
    cudart_close(machine);
}

static void *fail_in_a_thread(void *unused)
{
    static int codes[3];
    void *ptr;
    (void)unused;
    codes[0] = (int)cudaGetLastError();
    codes[1] = (int)cudaMalloc(&ptr, GIB(2));
    codes[2] = (int)cudaPeekAtLastError();
    return codes;
}

static void test_each_thread_has_its_own(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    pthread_t thread;
    void *told = NULL;
    CHECK_CODE(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_INT(pthread_create(&thread, NULL, fail_in_a_thread, NULL), ==, 0);
    pthread_join(thread, &told);
    const int *codes = told;
    CHECK(codes[0] == cudaSuccess && codes[1] == cudaErrorMemoryAllocation && codes[2] == cudaErrorMemoryAllocation);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    cudart_close(machine);
}

/* A new machine: no thread has an error or a current device left from the last one. */
static void test_another_machine_starts_afresh(void)
{
    sim *first = cudart_open(2, GIB(1), NULL), *second;
    int device = -1;
    CHECK_DONE(cudaSetDevice(1));
    CHECK_CODE(cudaSetDevice(2), cudaErrorInvalidDevice);
    second = cudart_open(1, GIB(2), NULL);
    CHECK(cudart_machine() == second);
    CHECK_DONE(cudaGetLastError());
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_INT(device, ==, 0);
    cudart_attach(first);
    cudart_attach(first);
    CHECK_DONE(cudaSetDevice(1));
    cudart_attach(first);
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_MSG(device == 1, "attaching the same machine again changes nothing");
    cudart_close(first);
    sim_destroy(second);
}

static void test_names_and_texts(void)
{
    static const struct { int code; const char *name; } rows[] = {
#define ROW(name) { (int)name, #name }
        ROW(cudaSuccess), ROW(cudaErrorInvalidValue), ROW(cudaErrorMemoryAllocation),
        ROW(cudaErrorInitializationError),
        ROW(cudaErrorCudartUnloading), ROW(cudaErrorInvalidPitchValue), ROW(cudaErrorInvalidMemcpyDirection),
        ROW(cudaErrorStubLibrary), ROW(cudaErrorInsufficientDriver), ROW(cudaErrorCallRequiresNewerDriver),
        ROW(cudaErrorDevicesUnavailable), ROW(cudaErrorNoDevice), ROW(cudaErrorInvalidDevice),
        ROW(cudaErrorECCUncorrectable), ROW(cudaErrorNvlinkUncorrectable), ROW(cudaErrorInvalidResourceHandle),
        ROW(cudaErrorSymbolNotFound), ROW(cudaErrorNotReady), ROW(cudaErrorIllegalAddress),
        ROW(cudaErrorLaunchTimeout),
        ROW(cudaErrorPeerAccessAlreadyEnabled), ROW(cudaErrorPeerAccessNotEnabled), ROW(cudaErrorContextIsDestroyed),
        ROW(cudaErrorAssert), ROW(cudaErrorHardwareStackError), ROW(cudaErrorIllegalInstruction),
        ROW(cudaErrorMisalignedAddress), ROW(cudaErrorInvalidAddressSpace), ROW(cudaErrorInvalidPc),
        ROW(cudaErrorLaunchFailure), ROW(cudaErrorNotPermitted), ROW(cudaErrorNotSupported),
        ROW(cudaErrorMpsClientTerminated), ROW(cudaErrorStreamCaptureUnsupported),
        ROW(cudaErrorStreamCaptureWrongThread), ROW(cudaErrorTimeout), ROW(cudaErrorExternalDevice),
        ROW(cudaErrorUnknown), ROW(cudaErrorApiFailureBase),
#undef ROW
    };
    int wrong = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        cudaError_t error = (cudaError_t)rows[i].code;
        const char *name = cudaGetErrorName(error), *text = cudaGetErrorString(error);
        if (strcmp(name, rows[i].name) || !text || !text[0] || strcmp(text, codes_text(rows[i].code))) {
            printf("# %d is %s, named %s: %s\n", rows[i].code, rows[i].name, name, text);
            wrong++;
        }
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_STR(cudaGetErrorName((cudaError_t)998), "unrecognized error code");
    CHECK_STR(cudaGetErrorString((cudaError_t)-5), "unrecognized error code");
    CHECK_STR(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

/* The engine's table names codes once, and says of each what gpuarena makes of it. */
static void test_meanings(void)
{
    static const int lost[] = { 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };
    static const int unsupported[] = { 34, 35, 36, 46, 100, 801 };
    int counts[8] = { 0 }, named = 0;
    for (int code = 0; code <= 10000; code++) {
        if (strcmp(codes_name(code), "unrecognized error code") == 0) continue;
        named++;
        counts[codes_status(code)]++;
    }
    CHECK_INT(named, ==, 134);
    for (size_t i = 0; i < COUNT(lost); i++)
        counts[GPUARENA_STATUS_LOST] -= codes_status(lost[i]) == GPUARENA_STATUS_LOST;
    for (size_t i = 0; i < COUNT(unsupported); i++)
        counts[GPUARENA_STATUS_NOT_SUPPORTED] -= codes_status(unsupported[i]) == GPUARENA_STATUS_NOT_SUPPORTED;
    for (int code = 900; code <= 908; code++)
        counts[GPUARENA_STATUS_CAPTURING] -= codes_status(code) == GPUARENA_STATUS_CAPTURING;
    CHECK_INT(counts[GPUARENA_STATUS_LOST], ==, 0);
    CHECK_INT(counts[GPUARENA_STATUS_NOT_SUPPORTED], ==, 0);
    CHECK_INT(counts[GPUARENA_STATUS_CAPTURING], ==, 0);
    CHECK(counts[GPUARENA_STATUS_NO_MEMORY] == 1 && counts[GPUARENA_STATUS_NOT_READY] == 1);
    CHECK(counts[GPUARENA_STATUS_UNLOADING] == 1 && counts[GPUARENA_STATUS_DONE] == 1);
}

int main(void)
{
    test_last_error();
    test_not_ready_is_kept_too();
    test_each_thread_has_its_own();
    test_another_machine_starts_afresh();
    test_names_and_texts();
    test_meanings();
    return tap_done();
}
#endif

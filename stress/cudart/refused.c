/* Functions that programs name and that are not served: they are there, so that a program that may never call them
   can be loaded, and answer NotSupported, which is the last error where it is the runtime that is asked. What was
   called is counted for the report. */
#include "driver.h"

/* Programs link these. */
#define REFUSED_LINKED(X) \
    X(cudaDeviceGetGraphMemAttribute) X(cudaDeviceSetGraphMemAttribute) X(cudaGetSymbolAddress) \
    X(cudaGetSymbolSize) X(cudaGraphAddEmptyNode) X(cudaGraphAddNode) X(cudaGraphConditionalHandleCreate) \
    X(cudaGraphDebugDotPrint) X(cudaGraphNodeGetDependencies) X(cudaGraphNodeGetType) X(cudaGraphRetainUserObject) \
    X(cudaHostRegister) X(cudaHostUnregister) \
    X(cudaIpcGetEventHandle) X(cudaIpcOpenEventHandle) \
    X(cudaKernelSetAttributeForDevice) X(cudaLibraryGetGlobal) X(cudaLibraryGetKernel) X(cudaLibraryGetKernelCount) \
    X(cudaLibraryGetManaged) X(cudaLibraryGetUnifiedFunction) X(cudaLibraryLoadData) X(cudaLibraryLoadFromFile) \
    X(cudaLibraryUnload) X(cudaMemcpyFromSymbol) X(cudaMemcpyToSymbol) X(cudaStreamAddCallback) \
    X(cudaStreamBeginCaptureToGraph) X(cudaStreamUpdateCaptureDependencies) X(cudaUserObjectCreate) \
    X(cudaUserObjectRelease) \
    X(cudaMemcpyFromSymbol_ptds) X(cudaMemcpyToSymbol_ptds) X(cudaStreamAddCallback_ptsz) \
    X(cudaStreamBeginCaptureToGraph_ptsz) X(cudaStreamUpdateCaptureDependencies_ptsz)
#define REFUSED_LINKED_OF_DRIVER(X) X(cuTensorMapEncodeTiled)

/* Had by name alone. PyTorch looks up all of these before its first virtual memory, and ends where one is missing. */
#define REFUSED_FOUND(X) \
    X(cuMemRetainAllocationHandle, 11000) X(cuMemGetAllocationPropertiesFromHandle, 10020) \
    X(cuMulticastCreate, 12010) X(cuMulticastAddDevice, 12010) X(cuMulticastBindMem, 12010) \
    X(cuMulticastUnbind, 12010) X(cuStreamWriteValue32, 11070) X(cuGreenCtxCreate, 12040) \
    X(cuGreenCtxDestroy, 12040) X(cuGreenCtxStreamCreate, 12050) X(cuCtxFromGreenCtx, 12040) \
    X(cuDeviceGetDevResource, 12040) X(cuDevSmResourceSplitByCount, 12040) X(cuDevResourceGenerateDesc, 12040) \
    X(cuLogsRegisterCallback, 12090) X(cuLogsUnregisterCallback, 12090)

static int refused_answer(uint64_t *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    return SIM_NOT_SUPPORTED;
}

static int refused_by_runtime(uint64_t *count)
{
    call self;
    (void)call_initialized(1);
    if (call_enter(&self) == SIM_SUCCESS) self.code = refused_answer(count);
    return (int)call_end(&self);
}

/* Declared without arguments, under a name of its own: only the symbol is CUDA's. */
#define REFUSED_LINKED_AS(name, answer) \
    static uint64_t refused_count_##name; \
    CUDART_EXPORT int refused_##name(void) __asm__(#name); \
    int refused_##name(void) { return answer(&refused_count_##name); }
#define REFUSED_LINKED_FUNCTION(name) REFUSED_LINKED_AS(name, refused_by_runtime)
#define REFUSED_DRIVER_FUNCTION(name) REFUSED_LINKED_AS(name, refused_answer)
#define REFUSED_FOUND_FUNCTION(name, since) \
    static uint64_t refused_count_##name; \
    static int refused_##name(void) { return refused_answer(&refused_count_##name); } \
    DRIVER_LIST(#name, refused_##name, since)
REFUSED_LINKED(REFUSED_LINKED_FUNCTION)
REFUSED_LINKED_OF_DRIVER(REFUSED_DRIVER_FUNCTION)
REFUSED_FOUND(REFUSED_FOUND_FUNCTION)

typedef struct refused_tally { const char *name; const uint64_t *count; } refused_tally;

#define REFUSED_TALLY(name) { #name, &refused_count_##name },
#define REFUSED_FOUND_TALLY(name, since) { #name, &refused_count_##name },
static const refused_tally refused_tallies[] = {
    REFUSED_LINKED(REFUSED_TALLY) REFUSED_LINKED_OF_DRIVER(REFUSED_TALLY) REFUSED_FOUND(REFUSED_FOUND_TALLY)
};

void refused_print(FILE *out)
{
    for (size_t i = 0; i < sizeof refused_tallies / sizeof refused_tallies[0]; i++) {
        uint64_t count = __atomic_load_n(refused_tallies[i].count, __ATOMIC_RELAXED);
        if (count > 0) fprintf(out, "refused %s %" PRIu64 "\n", refused_tallies[i].name, count);
    }
}

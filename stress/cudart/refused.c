/* Functions that programs name and that are not served: all other documented ones of the runtime of CUDA 12 and 13,
   and some of the driver. They are there, so that a program that may never call them can be loaded, and answer
   NotSupported, which is the last error where it is the runtime that is asked. Their calls are counted for the
   report. Names are without "cuda" where all have it. A function that another file serves is that file's, listed or
   not. */
#include "driver.h"

/* Hints, and functions about kernels alone: they succeed, and there is nothing to do. */
#define GRANTED(X) \
    X(CtxResetPersistingL2Cache) X(DeviceGraphMemTrim) X(DeviceSetCacheConfig) X(DeviceSetSharedMemConfig) \
    X(FuncSetCacheConfig) X(FuncSetSharedMemConfig) X(GraphUpload) X(GraphUpload_ptsz) X(MemAdvise) \
    X(MemPrefetchAsync) X(MemPrefetchAsync_ptsz) X(StreamAttachMemAsync) X(StreamAttachMemAsync_ptsz) \
    X(StreamCopyAttributes) X(StreamCopyAttributes_ptsz) X(StreamSetAttribute) X(StreamSetAttribute_ptsz)

/* All other documented ones of the runtime. */
#define REFUSED_LINKED(X) \
    X(ArrayGetInfo) X(ArrayGetMemoryRequirements) X(ArrayGetPlane) X(ArrayGetSparseProperties) X(ChooseDevice) \
    X(CreateSurfaceObject) X(CreateTextureObject) X(DestroyExternalMemory) X(DestroyExternalSemaphore) \
    X(DestroySurfaceObject) X(DestroyTextureObject) X(DeviceFlushGPUDirectRDMAWrites) X(DeviceGetGraphMemAttribute) \
    X(DeviceGetHostAtomicCapabilities) X(DeviceGetNvSciSyncAttributes) X(DeviceGetP2PAtomicCapabilities) \
    X(DeviceGetTexture1DLinearMaxWidth) X(DeviceRegisterAsyncNotification) X(DeviceSetGraphMemAttribute) \
    X(DeviceUnregisterAsyncNotification) X(EGLStreamConsumerAcquireFrame) X(EGLStreamConsumerConnect) \
    X(EGLStreamConsumerConnectWithFlags) X(EGLStreamConsumerDisconnect) X(EGLStreamConsumerReleaseFrame) \
    X(EGLStreamProducerConnect) X(EGLStreamProducerDisconnect) X(EGLStreamProducerPresentFrame) \
    X(EGLStreamProducerReturnFrame) X(EventCreateFromEGLSync) X(ExternalMemoryGetMappedBuffer) \
    X(ExternalMemoryGetMappedMipmappedArray) X(FreeArray) X(FreeMipmappedArray) X(FuncGetName) X(FuncGetParamInfo) \
    X(GLGetDevices) X(GLMapBufferObject) X(GLMapBufferObjectAsync) X(GLRegisterBufferObject) \
    X(GLSetBufferObjectMapFlags) X(GLSetGLDevice) X(GLUnmapBufferObject) X(GLUnmapBufferObjectAsync) \
    X(GLUnregisterBufferObject) X(GetChannelDesc) X(GetFuncBySymbol) X(GetKernel) X(GetMipmappedArrayLevel) \
    X(GetSurfaceObjectResourceDesc) X(GetSymbolAddress) X(GetSymbolSize) X(GetTextureObjectResourceDesc) \
    X(GetTextureObjectResourceViewDesc) X(GetTextureObjectTextureDesc) X(GraphAddChildGraphNode) \
    X(GraphAddDependencies) X(GraphAddEmptyNode) X(GraphAddEventRecordNode) X(GraphAddEventWaitNode) \
    X(GraphAddExternalSemaphoresSignalNode) X(GraphAddExternalSemaphoresWaitNode) X(GraphAddHostNode) \
    X(GraphAddKernelNode) X(GraphAddMemAllocNode) X(GraphAddMemFreeNode) X(GraphAddMemcpyNode) \
    X(GraphAddMemcpyNode1D) X(GraphAddMemcpyNodeFromSymbol) X(GraphAddMemcpyNodeToSymbol) X(GraphAddMemsetNode) \
    X(GraphAddNode) X(GraphChildGraphNodeGetGraph) X(GraphClone) X(GraphConditionalHandleCreate) X(GraphCreate) \
    X(GraphDebugDotPrint) X(GraphDestroyNode) X(GraphEventRecordNodeGetEvent) X(GraphEventRecordNodeSetEvent) \
    X(GraphEventWaitNodeGetEvent) X(GraphEventWaitNodeSetEvent) X(GraphExecChildGraphNodeSetParams) \
    X(GraphExecEventRecordNodeSetEvent) X(GraphExecEventWaitNodeSetEvent) \
    X(GraphExecExternalSemaphoresSignalNodeSetParams) X(GraphExecExternalSemaphoresWaitNodeSetParams) \
    X(GraphExecGetFlags) X(GraphExecHostNodeSetParams) X(GraphExecKernelNodeSetParams) \
    X(GraphExecMemcpyNodeSetParams) X(GraphExecMemcpyNodeSetParams1D) X(GraphExecMemcpyNodeSetParamsFromSymbol) \
    X(GraphExecMemcpyNodeSetParamsToSymbol) X(GraphExecMemsetNodeSetParams) X(GraphExecNodeSetParams) \
    X(GraphExecUpdate) X(GraphExternalSemaphoresSignalNodeGetParams) X(GraphExternalSemaphoresSignalNodeSetParams) \
    X(GraphExternalSemaphoresWaitNodeGetParams) X(GraphExternalSemaphoresWaitNodeSetParams) X(GraphGetEdges) \
    X(GraphGetRootNodes) X(GraphHostNodeGetParams) X(GraphHostNodeSetParams) X(GraphInstantiateWithParams) \
    X(GraphInstantiateWithParams_ptsz) X(GraphKernelNodeCopyAttributes) X(GraphKernelNodeGetAttribute) \
    X(GraphKernelNodeGetParams) X(GraphKernelNodeSetAttribute) X(GraphKernelNodeSetParams) \
    X(GraphMemAllocNodeGetParams) X(GraphMemFreeNodeGetParams) X(GraphMemcpyNodeGetParams) \
    X(GraphMemcpyNodeSetParams) X(GraphMemcpyNodeSetParams1D) X(GraphMemcpyNodeSetParamsFromSymbol) \
    X(GraphMemcpyNodeSetParamsToSymbol) X(GraphMemsetNodeGetParams) X(GraphMemsetNodeSetParams) \
    X(GraphNodeFindInClone) X(GraphNodeGetDependencies) X(GraphNodeGetDependentNodes) X(GraphNodeGetEnabled) \
    X(GraphNodeGetType) X(GraphNodeSetEnabled) X(GraphNodeSetParams) X(GraphReleaseUserObject) \
    X(GraphRemoveDependencies) X(GraphRetainUserObject) X(GraphicsEGLRegisterImage) X(GraphicsGLRegisterBuffer) \
    X(GraphicsGLRegisterImage) X(GraphicsMapResources) X(GraphicsResourceGetMappedEglFrame) \
    X(GraphicsResourceGetMappedMipmappedArray) X(GraphicsResourceGetMappedPointer) X(GraphicsResourceSetMapFlags) \
    X(GraphicsSubResourceGetMappedArray) X(GraphicsUnmapResources) X(GraphicsUnregisterResource) \
    X(GraphicsVDPAURegisterOutputSurface) X(GraphicsVDPAURegisterVideoSurface) X(HostGetFlags) \
    X(ImportExternalMemory) X(ImportExternalSemaphore) X(IpcGetEventHandle) X(IpcOpenEventHandle) \
    X(KernelSetAttributeForDevice) X(LibraryEnumerateKernels) X(LibraryGetGlobal) X(LibraryGetKernel) \
    X(LibraryGetKernelCount) X(LibraryGetManaged) X(LibraryGetUnifiedFunction) X(LibraryLoadData) \
    X(LibraryLoadFromFile) X(LibraryUnload) X(LogsCurrent) X(LogsDumpToFile) X(LogsDumpToMemory) \
    X(LogsRegisterCallback) X(LogsUnregisterCallback) X(Malloc3D) X(Malloc3DArray) X(MallocArray) \
    X(MallocMipmappedArray) X(MemDiscardAndPrefetchBatchAsync) X(MemDiscardAndPrefetchBatchAsync_ptsz) \
    X(MemDiscardBatchAsync) X(MemDiscardBatchAsync_ptsz) X(MemGetDefaultMemPool) X(MemGetMemPool) \
    X(MemPoolExportPointer) X(MemPoolExportToShareableHandle) X(MemPoolGetAccess) \
    X(MemPoolImportFromShareableHandle) X(MemPoolImportPointer) X(MemPrefetchBatchAsync) \
    X(MemPrefetchBatchAsync_ptsz) X(MemRangeGetAttribute) X(MemRangeGetAttributes) X(MemSetMemPool) \
    X(Memcpy2DArrayToArray) X(Memcpy2DArrayToArray_ptds) X(Memcpy2DFromArray) X(Memcpy2DFromArray_ptds) \
    X(Memcpy2DFromArrayAsync) X(Memcpy2DFromArrayAsync_ptsz) X(Memcpy2DToArray) X(Memcpy2DToArray_ptds) \
    X(Memcpy2DToArrayAsync) X(Memcpy2DToArrayAsync_ptsz) X(Memcpy3D) X(Memcpy3D_ptds) X(Memcpy3DAsync) \
    X(Memcpy3DAsync_ptsz) X(Memcpy3DBatchAsync) X(Memcpy3DBatchAsync_ptsz) X(Memcpy3DPeer) X(Memcpy3DPeer_ptds) \
    X(Memcpy3DPeerAsync) X(Memcpy3DPeerAsync_ptsz) X(MemcpyArrayToArray) X(MemcpyArrayToArray_ptds) \
    X(MemcpyBatchAsync) X(MemcpyBatchAsync_ptsz) X(MemcpyFromArray) X(MemcpyFromArray_ptds) X(MemcpyFromArrayAsync) \
    X(MemcpyFromArrayAsync_ptsz) X(MemcpyFromSymbol) X(MemcpyFromSymbol_ptds) X(MemcpyFromSymbolAsync) \
    X(MemcpyFromSymbolAsync_ptsz) X(MemcpyToArray) X(MemcpyToArray_ptds) X(MemcpyToArrayAsync) \
    X(MemcpyToArrayAsync_ptsz) X(MemcpyToSymbol) X(MemcpyToSymbol_ptds) X(MemcpyToSymbolAsync) \
    X(MemcpyToSymbolAsync_ptsz) X(Memset3D) X(Memset3D_ptds) X(Memset3DAsync) X(Memset3DAsync_ptsz) \
    X(MipmappedArrayGetMemoryRequirements) X(MipmappedArrayGetSparseProperties) \
    X(OccupancyAvailableDynamicSMemPerBlock) X(OccupancyMaxActiveClusters) X(OccupancyMaxPotentialClusterSize) \
    X(SetValidDevices) X(SignalExternalSemaphoresAsync) X(SignalExternalSemaphoresAsync_ptsz) X(StreamAddCallback) \
    X(StreamAddCallback_ptsz) X(StreamBeginCaptureToGraph) X(StreamBeginCaptureToGraph_ptsz) X(StreamGetAttribute) \
    X(StreamGetAttribute_ptsz) X(StreamUpdateCaptureDependencies) X(StreamUpdateCaptureDependencies_ptsz) \
    X(UserObjectCreate) X(UserObjectRelease) X(UserObjectRetain) X(VDPAUGetDevice) X(VDPAUSetVDPAUDevice) \
    X(WaitExternalSemaphoresAsync) X(WaitExternalSemaphoresAsync_ptsz)

/* Functions that CUDA 13 has no longer, or under their first names. */
#if CUDART_VERSION < 13000
#define GRANTED_BEFORE_13(X) \
    X(MemAdvise_v2) X(MemPrefetchAsync_v2) X(MemPrefetchAsync_v2_ptsz) X(ThreadSetCacheConfig)
#define REFUSED_BEFORE_13(X) \
    X(EventElapsedTime_v2) X(GetDeviceProperties_v2) X(GraphAddDependencies_v2) X(GraphAddNode_v2) \
    X(GraphGetEdges_v2) X(GraphNodeGetDependencies_v2) X(GraphNodeGetDependentNodes_v2) \
    X(GraphRemoveDependencies_v2) X(LaunchCooperativeKernelMultiDevice) X(SetDoubleForDevice) X(SetDoubleForHost) \
    X(SignalExternalSemaphoresAsync_v2) X(SignalExternalSemaphoresAsync_v2_ptsz) X(StreamGetCaptureInfo_v2) \
    X(StreamGetCaptureInfo_v2_ptsz) X(StreamGetCaptureInfo_v3) X(StreamGetCaptureInfo_v3_ptsz) \
    X(StreamUpdateCaptureDependencies_v2) X(StreamUpdateCaptureDependencies_v2_ptsz) \
    X(WaitExternalSemaphoresAsync_v2) X(WaitExternalSemaphoresAsync_v2_ptsz)
#else
#define GRANTED_BEFORE_13(X)
#define REFUSED_BEFORE_13(X)
#endif

/* Functions of the driver, linked or found by name. */
#if CUDART_VERSION >= 12000
#define REFUSED_LINKED_OF_DRIVER(X) X(cuTensorMapEncodeTiled, 12000)
#else
#define REFUSED_LINKED_OF_DRIVER(X)
#endif

/* Functions of the driver, found by name alone. PyTorch looks up all of these before its first virtual memory, and
   ends where one is missing. */
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

/* The code of the current device: none, or lost. */
static int refused_nothing(void)
{
    call self;
    (void)call_initialized(1);
    if (call_enter(&self) == SIM_SUCCESS) {
        self.code = self.machine ? engine_device(self.machine, self.thread->device)->lost_code : cudaErrorNoDevice;
    }
    return (int)call_end(&self);
}

/* Declared without arguments, under a name of its own: only the symbol is CUDA's. */
#define REFUSED_LINKED_AS(name, symbol, answer) \
    static uint64_t refused_count_##name; \
    CUDART_EXPORT int refused_##name(void) __asm__(symbol) __attribute__((weak)); \
    int refused_##name(void) { return answer; }
#define GRANTED_FUNCTION(name) \
    CUDART_EXPORT int granted_##name(void) __asm__("cuda" #name) __attribute__((weak)); \
    int granted_##name(void) { return refused_nothing(); }
#define REFUSED_LINKED_FUNCTION(name) \
    REFUSED_LINKED_AS(name, "cuda" #name, refused_by_runtime(&refused_count_##name))
#define REFUSED_DRIVER_FUNCTION(name, since) \
    REFUSED_LINKED_AS(name, #name, refused_answer(&refused_count_##name)) \
    DRIVER_LIST(#name, refused_##name, since)
#define REFUSED_FOUND_FUNCTION(name, since) \
    static uint64_t refused_count_##name; \
    static int refused_##name(void) { return refused_answer(&refused_count_##name); } \
    DRIVER_LIST(#name, refused_##name, since)
GRANTED(GRANTED_FUNCTION)
GRANTED_BEFORE_13(GRANTED_FUNCTION)
REFUSED_LINKED(REFUSED_LINKED_FUNCTION)
REFUSED_BEFORE_13(REFUSED_LINKED_FUNCTION)
REFUSED_LINKED_OF_DRIVER(REFUSED_DRIVER_FUNCTION)
REFUSED_FOUND(REFUSED_FOUND_FUNCTION)

typedef struct refused_tally { const char *name; const uint64_t *count; } refused_tally;

#define REFUSED_TALLY(name) { "cuda" #name, &refused_count_##name },
#define REFUSED_DRIVER_TALLY(name, since) { #name, &refused_count_##name },
static const refused_tally refused_tallies[] = {
    REFUSED_LINKED(REFUSED_TALLY) REFUSED_BEFORE_13(REFUSED_TALLY)
    REFUSED_LINKED_OF_DRIVER(REFUSED_DRIVER_TALLY) REFUSED_FOUND(REFUSED_DRIVER_TALLY)
};

void refused_print(FILE *out)
{
    for (size_t i = 0; i < sizeof refused_tallies / sizeof refused_tallies[0]; i++) {
        uint64_t count = __atomic_load_n(refused_tallies[i].count, __ATOMIC_RELAXED);
        if (count > 0) fprintf(out, "refused %s %" PRIu64 "\n", refused_tallies[i].name, count);
    }
}

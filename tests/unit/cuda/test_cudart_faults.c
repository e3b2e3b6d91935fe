/* The libcudart substitute: every call succeeds, can be made to fail by its name, and fails as it should then.
   Must not know what calls do beyond their success. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "test_cudart.h"

/* The toolkit says from 13.0 on that one of them is old; programs that have it must go on running. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

static struct {                                  /* what calls work on, made anew for each */
    char *block, *second;
    char host[64];
    void *ptr;
    size_t size, other_size;
    int number;
    unsigned flags;
    char text[32];
    float time;
    cudaStream_t stream;
    cudaEvent_t event, later;
    struct cudaDeviceProp properties;
    struct cudaPointerAttributes pointer;
    enum cudaStreamCaptureStatus status;
    enum cudaStreamCaptureMode mode;
    unsigned long long id;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props;
    uint64_t figure;
    void *async;
} at;

static cudaError_t free_host(void)
{
    cudaError_t code = cudaFreeHost(at.ptr);
    at.ptr = NULL;
    return code;
}

#if CUDART_VERSION >= 12000
static cudaError_t capture_info(void)
{
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(at.stream, &at.status, &at.id, NULL, NULL, NULL, NULL);
#else
    return cudaStreamGetCaptureInfo(at.stream, &at.status, &at.id, NULL, NULL, NULL);
#endif
}
#endif

static cudaError_t entry_point(void)
{
#if CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult told;
    return cudaGetDriverEntryPoint("cuInit", &at.ptr, cudaEnableDefault, &told);
#else
    return cudaGetDriverEntryPoint("cuInit", &at.ptr, cudaEnableDefault);
#endif
}

static void CUDART_CB host_function(void *nothing)
{
    (void)nothing;
}

/* X(kind, call): each call as it is right; B and S are device memory. */
#define B at.block
#define S at.second
#define CALLS(X) \
    X(OBTAIN,                 cudaMalloc(&at.ptr, 100)) \
    X(GIVE_BACK,              cudaFree(NULL)) \
    X(INFO,                   cudaMemGetInfo(&at.size, &at.other_size)) \
    X(MALLOC_PITCH,           cudaMallocPitch(&at.ptr, &at.size, 10, 10)) \
    X(MALLOC_HOST,            cudaMallocHost(&at.ptr, 100)) \
    X(HOST_ALLOC,             cudaHostAlloc(&at.ptr, 100, cudaHostAllocDefault)) \
    X(FREE_HOST,              free_host()) \
    X(MALLOC_MANAGED,         cudaMallocManaged(&at.ptr, 100, cudaMemAttachGlobal)) \
    X(MALLOC_ASYNC,           cudaMallocAsync(&at.ptr, 100, at.stream)) \
    X(MALLOC_FROM_POOL_ASYNC, cudaMallocFromPoolAsync(&at.ptr, 100, at.pool, at.stream)) \
    X(FREE_ASYNC,             cudaFreeAsync(at.async, at.stream)) \
    X(POOL_CREATE,            cudaMemPoolCreate(&at.pool, &at.props)) \
    X(POOL_DESTROY,           cudaMemPoolDestroy(at.pool)) \
    X(POOL_GET,               cudaDeviceGetMemPool(&at.pool, 0)) \
    X(POOL_GET_DEFAULT,       cudaDeviceGetDefaultMemPool(&at.pool, 0)) \
    X(POOL_SET,               cudaDeviceSetMemPool(0, at.pool)) \
    X(POOL_SET_ATTRIBUTE,     cudaMemPoolSetAttribute(at.pool, cudaMemPoolAttrReleaseThreshold, &at.figure)) \
    X(POOL_GET_ATTRIBUTE,     cudaMemPoolGetAttribute(at.pool, cudaMemPoolAttrUsedMemCurrent, &at.figure)) \
    X(POOL_SET_ACCESS,        cudaMemPoolSetAccess(at.pool, NULL, 0)) \
    X(POOL_TRIM,              cudaMemPoolTrimTo(at.pool, 0)) \
    X(POINTER_GET_ATTRIBUTES, cudaPointerGetAttributes(&at.pointer, B)) \
    X(MEMSET,                 cudaMemset(B, 1, 64)) \
    X(MEMSET_ASYNC,           cudaMemsetAsync(B, 1, 64, at.stream)) \
    X(MEMSET_2D,              cudaMemset2D(B, 8, 1, 4, 4)) \
    X(MEMSET_2D_ASYNC,        cudaMemset2DAsync(B, 8, 1, 4, 4, at.stream)) \
    X(MEMCPY,                 cudaMemcpy(B, at.host, 64, cudaMemcpyHostToDevice)) \
    X(MEMCPY_ASYNC,           cudaMemcpyAsync(B, at.host, 64, cudaMemcpyHostToDevice, at.stream)) \
    X(MEMCPY_2D,              cudaMemcpy2D(B, 8, at.host, 8, 4, 4, cudaMemcpyHostToDevice)) \
    X(MEMCPY_2D_ASYNC,        cudaMemcpy2DAsync(B, 8, at.host, 8, 4, 4, cudaMemcpyHostToDevice, at.stream)) \
    X(MEMCPY_PEER,            cudaMemcpyPeer(S, 1, B, 0, 64)) \
    X(MEMCPY_PEER_ASYNC,      cudaMemcpyPeerAsync(S, 1, B, 0, 64, at.stream)) \
    X(GET_DEVICE_COUNT,       cudaGetDeviceCount(&at.number)) \
    X(GET_DEVICE,             cudaGetDevice(&at.number)) \
    X(SET_DEVICE,             cudaSetDevice(0)) \
    X(DEVICE_GET_ATTRIBUTE,   cudaDeviceGetAttribute(&at.number, cudaDevAttrWarpSize, 0)) \
    X(GET_DEVICE_PROPERTIES,  cudaGetDeviceProperties(&at.properties, 0)) \
    X(DEVICE_GET_PCI_BUS_ID,  cudaDeviceGetPCIBusId(at.text, 32, 0)) \
    X(DEVICE_SYNCHRONIZE,     cudaDeviceSynchronize()) \
    X(DEVICE_RESET,           cudaDeviceReset()) \
    X(CAN_ACCESS_PEER,        cudaDeviceCanAccessPeer(&at.number, 0, 1)) \
    X(ENABLE_PEER_ACCESS,     cudaDeviceEnablePeerAccess(1, 0)) \
    X(SET_DEVICE_FLAGS,       cudaSetDeviceFlags(cudaDeviceScheduleAuto)) \
    X(GET_DEVICE_FLAGS,       cudaGetDeviceFlags(&at.flags)) \
    X(PRIORITY_RANGE,         cudaDeviceGetStreamPriorityRange(&at.number, &at.number)) \
    X(DRIVER_GET_VERSION,     cudaDriverGetVersion(&at.number)) \
    X(ENTRY_POINT,            entry_point()) \
    X(STREAM_CREATE,          cudaStreamCreate(&at.stream)) \
    X(STREAM_WITH_FLAGS,      cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking)) \
    X(STREAM_WITH_PRIORITY,   cudaStreamCreateWithPriority(&at.stream, cudaStreamDefault, -1)) \
    X(STREAM_DESTROY,         cudaStreamDestroy(at.stream)) \
    X(STREAM_SYNCHRONIZE,     cudaStreamSynchronize(at.stream)) \
    X(STREAM_QUERY,           cudaStreamQuery(at.stream)) \
    X(STREAM_WAIT_EVENT,      cudaStreamWaitEvent(at.stream, at.event, 0)) \
    X(STREAM_GET_FLAGS,       cudaStreamGetFlags(at.stream, &at.flags)) \
    X(STREAM_GET_PRIORITY,    cudaStreamGetPriority(at.stream, &at.number)) \
    X(LAUNCH_HOST_FUNC,       cudaLaunchHostFunc(at.stream, host_function, NULL)) \
    X(BEGIN_CAPTURE,          cudaStreamBeginCapture(at.stream, cudaStreamCaptureModeRelaxed)) \
    X(GRAPH_INSTANTIATE,      cudaGraphInstantiateWithFlags(&at.exec, at.graph, 0)) \
    X(GRAPH_GET_NODES,        cudaGraphGetNodes(at.graph, NULL, &at.size)) \
    X(GRAPH_LAUNCH,           cudaGraphLaunch(at.exec, at.stream)) \
    X(GRAPH_DESTROY,          cudaGraphDestroy(at.graph)) \
    X(GRAPH_EXEC_DESTROY,     cudaGraphExecDestroy(at.exec)) \
    X(STREAM_IS_CAPTURING,    cudaStreamIsCapturing(at.stream, &at.status)) \
    X(EXCHANGE_CAPTURE_MODE,  cudaThreadExchangeStreamCaptureMode(&at.mode)) \
    X(EVENT_CREATE,           cudaEventCreate(&at.event)) \
    X(EVENT_WITH_FLAGS,       cudaEventCreateWithFlags(&at.event, cudaEventDisableTiming)) \
    X(EVENT_RECORD,           cudaEventRecord(at.event, at.stream)) \
    X(EVENT_RECORD_FLAGS,     cudaEventRecordWithFlags(at.event, at.stream, 0)) \
    X(EVENT_QUERY,            cudaEventQuery(at.event)) \
    X(EVENT_SYNCHRONIZE,      cudaEventSynchronize(at.event)) \
    X(EVENT_DESTROY,          cudaEventDestroy(at.event)) \
    X(EVENT_ELAPSED_TIME,     cudaEventElapsedTime(&at.time, at.event, at.later))
#if CUDART_VERSION >= 12000
#define CALLS_12(X) X(INIT_DEVICE, cudaInitDevice(0, 0, 0)) X(STREAM_GET_ID, cudaStreamGetId(at.stream, &at.id)) \
    X(STREAM_CAPTURE_INFO, capture_info())
#else
#define CALLS_12(X)
#endif
#if CUDART_VERSION >= 12050
#define CALLS_12_5(X) \
    X(ENTRY_POINT_BY_VERSION, cudaGetDriverEntryPointByVersion("cuInit", &at.ptr, 12000, cudaEnableDefault, NULL))
#else
#define CALLS_12_5(X)
#endif
#define ALL_CALLS(X) CALLS(X) CALLS_12(X) CALLS_12_5(X)

#define X(kind, call) static cudaError_t make_##kind(void) { return call; }
ALL_CALLS(X)
#undef X

/* Not among them: what fails without any fault, because kernels cannot run; what another call must precede; and
   virtual memory, test_cudart_vm.c's. */
static const sim_call elsewhere[] = {
    SIM_CALL_LAUNCH_KERNEL, SIM_CALL_LAUNCH_KERNEL_EXC, SIM_CALL_FUNC_GET_ATTRIBUTES, SIM_CALL_OCCUPANCY,
    SIM_CALL_LAUNCH_COOPERATIVE, SIM_CALL_FUNC_SET_ATTRIBUTE,
    SIM_CALL_DISABLE_PEER_ACCESS, SIM_CALL_END_CAPTURE, SIM_CALL_VM_RESERVE, SIM_CALL_VM_RELEASE, SIM_CALL_VM_CREATE,
    SIM_CALL_VM_DESTROY, SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP,
    SIM_CALL_VM_GRANULARITY, SIM_CALL_VM_GET_ACCESS
};

static const struct { sim_call kind; const char *name; cudaError_t (*make)(void); } calls[] = {
#define X(kind, call) { SIM_CALL_##kind, #kind, make_##kind },
    ALL_CALLS(X)
#undef X
};

static const struct { const char *name; int code; } kinds[SIM_CALL_KINDS] = {
#define X(kind, text, runtime_name, code, cost) { runtime_name, code },
    SIM_CALLS(X)
#undef X
};

static sim *prepare(const char *faults)
{
    sim *machine = cudart_open(2, (uint64_t)1 << 30, faults);
    memset(&at, 0, sizeof at);
    int wrong = cudaMalloc((void **)&at.block, 4096) != cudaSuccess;
    wrong += cudaSetDevice(1) != cudaSuccess || cudaMalloc((void **)&at.second, 4096) != cudaSuccess;
    wrong += cudaSetDevice(0) != cudaSuccess || cudaStreamCreate(&at.stream) != cudaSuccess;
    wrong += cudaEventCreate(&at.event) != cudaSuccess || cudaEventCreate(&at.later) != cudaSuccess;
    wrong += cudaEventRecord(at.event, at.stream) != cudaSuccess || cudaEventRecord(at.later, NULL) != cudaSuccess;
    wrong += cudaMallocHost(&at.ptr, 100) != cudaSuccess;
    at.props.allocType = cudaMemAllocationTypePinned;
    at.props.location.type = cudaMemLocationTypeDevice;
    wrong += cudaMallocAsync(&at.async, 100, at.stream) || cudaMemPoolCreate(&at.pool, &at.props) != cudaSuccess;
    wrong += cudaStreamBeginCapture(at.stream, cudaStreamCaptureModeGlobal) != cudaSuccess;
    wrong += cudaMemsetAsync(at.block, 1, 64, at.stream) || cudaStreamEndCapture(at.stream, &at.graph) != cudaSuccess;
    wrong += cudaGraphInstantiateWithFlags(&at.exec, at.graph, 0) != cudaSuccess;
    if (wrong) CHECK_MSG(0, "what calls work on could not be made");
    return machine;
}

static void test_every_call_succeeds_and_fails(void)
{
    unsigned seen[SIM_CALL_KINDS] = { 0 }, wrong = 0;
    for (size_t i = 0; i < COUNT(calls); i++) {
        sim *machine = prepare(NULL);
        sim_fail_call(machine, calls[i].kind, 1, 0, SIM_UNKNOWN);
        cudaError_t failed = calls[i].make(), last = cudaPeekAtLastError();
        int fired = sim_fail_fired(machine);
        cudaError_t done = calls[i].make(), after = cudaGetLastError();
        CHECK_MSG(fired && failed == cudaErrorUnknown && last == failed && done == cudaSuccess && after == failed
                  && cudaGetLastError() == cudaSuccess && sim_finding_count(machine) == 0,
                  "%s fails once, keeps its error, then succeeds and leaves it alone", kinds[calls[i].kind].name);
        seen[calls[i].kind]++;
        cudart_close(machine);
    }
    for (size_t i = 0; i < COUNT(elsewhere); i++) seen[elsewhere[i]]++;
#if CUDART_VERSION < 12000
    seen[SIM_CALL_INIT_DEVICE]++;
    seen[SIM_CALL_STREAM_GET_ID]++;
    seen[SIM_CALL_STREAM_CAPTURE_INFO]++;
#endif
#if CUDART_VERSION < 12050
    seen[SIM_CALL_ENTRY_POINT_BY_VERSION]++;
#endif
    for (int i = 0; i < SIM_CALL_KINDS; i++) wrong += seen[i] != 1;
    CHECK_MSG(wrong == 0, "every kind of call is tested once");
}

/* `fail=NAME:N` fails the Nth of that name, with the code that such calls have by default. */
static void test_faults_by_name(void)
{
    for (size_t i = 0; i < COUNT(calls); i++) {
        char text[96];
        sim *machine = prepare(NULL);
        sim_counters counters;
        sim_get_counters(machine, 0, &counters);
        uint64_t before = counters.calls[calls[i].kind];
        sim_get_counters(machine, 1, &counters);
        before += counters.calls[calls[i].kind];
        cudart_close(machine);
        snprintf(text, sizeof text, "%s:%d", kinds[calls[i].kind].name, (int)before + 1);
        machine = prepare(text);
        int code = (int)calls[i].make();
        CHECK_MSG(code == kinds[calls[i].kind].code, "%s answers %d", text, code);
        cudart_close(machine);
    }
}

/* A lost device: what reaches it fails, what does not goes on, and so does the other device. */
static void test_a_lost_device(void)
{
    sim *machine = prepare("cudaDeviceSynchronize:1=719");
    int count = 0;
    void *ptr;
    CHECK_CODE(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    CHECK_CODE(cudaMalloc(&ptr, 1), cudaErrorLaunchFailure);
    CHECK_CODE(cudaFree(at.block), cudaErrorLaunchFailure);
    CHECK_CODE(cudaEventQuery(at.event), cudaErrorLaunchFailure);
    CHECK_CODE(cudaDeviceReset(), cudaErrorLaunchFailure);
    CHECK_DONE(cudaGetDeviceCount(&count));
    CHECK_CODE(cudaGetLastError(), cudaErrorLaunchFailure);
    CHECK_CODE(cudaGetLastError(), cudaErrorLaunchFailure);
    CHECK_CODE(cudaSetDevice(9), cudaErrorInvalidDevice);
    CHECK_MSG(cudaGetLastError() == cudaErrorLaunchFailure, "no other error takes its place");
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc(&ptr, 1));
    CHECK_DONE(cudaFree(at.second));
    CHECK_MSG(cudaFree(at.block) == cudaErrorLaunchFailure, "the address is the lost device's, whichever is current");
    CHECK_CODE(cudaMemcpy(ptr, at.block, 1, cudaMemcpyDefault), cudaErrorLaunchFailure);
    CHECK_CODE(cudaEventQuery(at.event), cudaErrorLaunchFailure);
    CHECK_CODE(cudaEventSynchronize(at.event), cudaErrorLaunchFailure);
    CHECK_CODE(cudaEventElapsedTime(&at.time, at.event, at.later), cudaErrorLaunchFailure);
    CHECK_CODE(cudaEventDestroy(at.event), cudaErrorLaunchFailure);
    CHECK_CODE(cudaStreamQuery(at.stream), cudaErrorLaunchFailure);
    CHECK_CODE(cudaStreamDestroy(at.stream), cudaErrorLaunchFailure);
    CHECK_MSG(cudaMemsetAsync(ptr, 0, 1, at.stream) == cudaErrorLaunchFailure, "nor can work go to its streams");
    CHECK_CODE(cudaStreamSynchronize(at.stream), cudaErrorLaunchFailure);
    CHECK_CODE(cudaEventRecord(at.event, NULL), cudaErrorLaunchFailure);
    CHECK_CODE(cudaStreamWaitEvent(NULL, at.event, 0), cudaErrorLaunchFailure);
    CHECK_CODE(cudaStreamBeginCapture(at.stream, cudaStreamCaptureModeRelaxed), cudaErrorLaunchFailure);
    CHECK_DONE(cudaStreamSynchronize(NULL));
#if CUDART_VERSION >= 12000
    CHECK_CODE(cudaSetDevice(0), cudaErrorLaunchFailure);
#endif
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

/* A driver that is missing, or only pretends: any call fails, but its version is 0 and no error. Without a device the
   driver is there. */
static void test_no_driver(void)
{
    static const struct { const char *faults; int code, version; } rows[] = {
        { "any:1+=35", cudaErrorInsufficientDriver, 0 }, { "any:1+=34", cudaErrorStubLibrary, 0 },
        { "any:1+=100", cudaErrorNoDevice, CUDART_VERSION },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        sim *machine = cudart_open(1, 0, rows[i].faults);
        int version = -1, count = -1;
        CHECK_CODE(cudaGetDeviceCount(&count), (cudaError_t)rows[i].code);
        CHECK_INT(count, ==, -1);
        CHECK_DONE(cudaDriverGetVersion(&version));
        CHECK_INT(version, ==, rows[i].version);
        CHECK_DONE(cudaRuntimeGetVersion(&version));
        CHECK_INT(version, ==, CUDART_VERSION);
        cudart_close(machine);
    }
}

int main(void)
{
    test_every_call_succeeds_and_fails();
    test_faults_by_name();
    test_a_lost_device();
    test_no_driver();
    return tap_done();
}
#endif

/* Definitions that all parts of the simulated machine share: its limits, the codes that calls answer, the kinds of
   call, its configuration and its counters. It must not know the effects of calls. */
#ifndef STRESS_SIM_BASE_H
#define STRESS_SIM_BASE_H

#include "../../gpuarena.h"
#include "../base/program.h"

enum { SIM_MAX_DEVICES = 32 };
#define SIM_GRANULE          ((uint64_t)2 << 20) /* physical memory comes in granules of 2 MiB */
#define SIM_DEFAULT_CAPACITY ((uint64_t)80 << 30)
#define SIM_MAX_CAPACITY     ((uint64_t)4 << 40)
#define SIM_HOST_BYTES       ((uint64_t)512 << 30)   /* the host's memory that can be pinned */
/* Pools obtain device memory in multiples of this: RMM's issue 1245 reports a pool that held 2,518 times as much. */
#define SIM_POOL_CHUNK       ((uint64_t)32 << 20)
#define SIM_DEFAULT_MAPPINGS ((uint32_t)523000)

/* Codes that driver entries return: the CUDA runtime's own numbers. */
enum {
    SIM_SUCCESS = 0, SIM_INVALID_VALUE = 1, SIM_OUT_OF_MEMORY = 2, SIM_UNLOADING = 4, SIM_ILLEGAL_ADDRESS = 700,
    SIM_INVALID_HANDLE = 400, SIM_ILLEGAL_STATE = 401, SIM_NOT_READY = 600, SIM_NOT_SUPPORTED = 801,
    SIM_CAPTURE_UNSUPPORTED = 900, SIM_CAPTURE_INVALIDATED = 901, SIM_CAPTURE_MERGE = 902,
    SIM_CAPTURE_UNMATCHED = 903, SIM_CAPTURE_UNJOINED = 904, SIM_CAPTURE_ISOLATION = 905,
    SIM_CAPTURE_IMPLICIT = 906, SIM_CAPTURED_EVENT = 907, SIM_CAPTURE_WRONG_THREAD = 908, SIM_UNKNOWN = 999
};

/* Codes: their meaning, and their names in the CUDA runtime (cudaGetErrorName, cudaGetErrorString) and its driver.
   One table, in codes.c. */
typedef struct code_row {
    int             code;                        /* below 0: of any code that is not listed */
    gpuarena_status status;
    const char     *name, *driver_name, *text;   /* driver_name NULL: the driver has no such code */
} code_row;
const code_row *codes_of(int code);

/* ---- Kinds of call: each can be counted, made to fail and charged. One list serves engine, faults and substitute
        alike. The driver table has some kinds, the libcudart substitute has all. */

typedef enum sim_trait {                         /* of kinds of call: bits, and which of them occur together */
    SIM_PLAIN = 0,
    SIM_COUNTED = 1,                             /* the driver table has it, and it gets or gives memory */
    SIM_UNSAFE = 2,                              /* captures forbid it, as they forbid cudaMalloc */
    SIM_EXPORT = 4,                              /* devices without virtual memory refuse it; it needs no context */
    SIM_BARE = 8,                                /* it reaches no device: a lost one does not stop it */
    SIM_MEMORY = SIM_COUNTED | SIM_UNSAFE, SIM_IMPORT = SIM_UNSAFE | SIM_EXPORT, SIM_VIRTUAL = SIM_MEMORY | SIM_EXPORT
} sim_trait;

/* X(NAME, in faults, CUDA's name (the runtime's; the driver's: cuMem..), code of a fault that names none, cost,
   trait): in faults both names mean the kind. By CUDA's name SIM_CALL_OBTAIN is SIM_CALL_OF_cudaMalloc. cost: a row
   of costs.h, or NONE. A call that fails costs the row's fixed part alone; how much there was to do counts where
   memory is obtained or given back, and then chooses the row, and in calls of virtual memory: memory.h. */
#define SIM_CALLS(X) \
    X(OBTAIN,                 "obtain",    cudaMalloc,                              2, MALLOC_BLOCK,   MEMORY) \
    X(GIVE_BACK,              "give_back", cudaFree,                              999, FREE_SLAB,      MEMORY) \
    X(INFO,                   "info",      cudaMemGetInfo,                        999, INFO,           PLAIN) \
    X(VM_RESERVE,             "reserve",   cuMemAddressReserve,                     2, VM_RESERVE,     VIRTUAL) \
    X(VM_RELEASE,             "release",   cuMemAddressFree,                      999, VM_RELEASE,     VIRTUAL) \
    X(VM_CREATE,              "create",    cuMemCreate,                             2, VM_CREATE,      VIRTUAL) \
    X(VM_DESTROY,             "destroy",   cuMemRelease,                          999, VM_DESTROY,     VIRTUAL) \
    X(VM_MAP,                 "map",       cuMemMap,                                2, VM_MAP,         VIRTUAL) \
    X(VM_ACCESS,              "access",    cuMemSetAccess,                          2, VM_ACCESS,      VIRTUAL) \
    X(VM_UNMAP,               "unmap",     cuMemUnmap,                            999, VM_UNMAP,       VIRTUAL) \
    X(IPC_GET,                NULL,        cudaIpcGetMemHandle,                   999, NONE,           PLAIN) \
    X(IPC_OPEN,               NULL,        cudaIpcOpenMemHandle,                  999, NONE,           UNSAFE) \
    X(IPC_CLOSE,              NULL,        cudaIpcCloseMemHandle,                 999, NONE,           UNSAFE) \
    X(VM_EXPORT,              NULL,        cuMemExportToShareableHandle,          999, NONE,           EXPORT) \
    X(VM_IMPORT,              NULL,        cuMemImportFromShareableHandle,        999, NONE,           IMPORT) \
    X(MALLOC_PITCH,           NULL,        cudaMallocPitch,                         2, MALLOC_BLOCK,   UNSAFE) \
    X(MALLOC_HOST,            NULL,        cudaMallocHost,                          2, HOST_ALLOC,     UNSAFE) \
    X(HOST_ALLOC,             NULL,        cudaHostAlloc,                           2, HOST_ALLOC,     MEMORY) \
    X(FREE_HOST,              NULL,        cudaFreeHost,                          999, HOST_FREE,      MEMORY) \
    X(HOST_REGISTER,          NULL,        cudaHostRegister,                      999, NONE,           PLAIN) \
    X(HOST_UNREGISTER,        NULL,        cudaHostUnregister,                    999, NONE,           PLAIN) \
    X(MALLOC_MANAGED,         NULL,        cudaMallocManaged,                       2, MANAGED,        MEMORY) \
    X(MALLOC_ASYNC,           NULL,        cudaMallocAsync,                         2, ASYNC_HIT,      COUNTED) \
    X(MALLOC_FROM_POOL_ASYNC, NULL,        cudaMallocFromPoolAsync,                 2, ASYNC_HIT,      PLAIN) \
    X(FREE_ASYNC,             NULL,        cudaFreeAsync,                         999, ASYNC_FREE,     COUNTED) \
    X(POOL_CREATE,            NULL,        cudaMemPoolCreate,                     999, NONE,           PLAIN) \
    X(POOL_DESTROY,           NULL,        cudaMemPoolDestroy,                    999, NONE,           PLAIN) \
    X(POOL_GET,               NULL,        cudaDeviceGetMemPool,                  999, NONE,           PLAIN) \
    X(POOL_GET_DEFAULT,       NULL,        cudaDeviceGetDefaultMemPool,           999, NONE,           PLAIN) \
    X(POOL_SET,               NULL,        cudaDeviceSetMemPool,                  999, NONE,           PLAIN) \
    X(POOL_SET_ATTRIBUTE,     NULL,        cudaMemPoolSetAttribute,               999, NONE,           PLAIN) \
    X(POOL_GET_ATTRIBUTE,     NULL,        cudaMemPoolGetAttribute,               999, NONE,           PLAIN) \
    X(POOL_TRIM,              NULL,        cudaMemPoolTrimTo,                     999, NONE,           PLAIN) \
    X(POOL_SET_ACCESS,        NULL,        cudaMemPoolSetAccess,                  999, NONE,           PLAIN) \
    X(POINTER_GET_ATTRIBUTES, NULL,        cudaPointerGetAttributes,              999, NONE,           PLAIN) \
    X(MEMSET,                 NULL,        cudaMemset,                            999, ISSUE,          PLAIN) \
    X(MEMSET_ASYNC,           NULL,        cudaMemsetAsync,                       999, ISSUE,          PLAIN) \
    X(MEMSET_2D,              NULL,        cudaMemset2D,                          999, ISSUE,          PLAIN) \
    X(MEMSET_2D_ASYNC,        NULL,        cudaMemset2DAsync,                     999, ISSUE,          PLAIN) \
    X(MEMCPY,                 NULL,        cudaMemcpy,                            999, ISSUE,          PLAIN) \
    X(MEMCPY_ASYNC,           NULL,        cudaMemcpyAsync,                       999, ISSUE,          PLAIN) \
    X(MEMCPY_2D,              NULL,        cudaMemcpy2D,                          999, ISSUE,          PLAIN) \
    X(MEMCPY_2D_ASYNC,        NULL,        cudaMemcpy2DAsync,                     999, ISSUE,          PLAIN) \
    X(MEMCPY_PEER,            NULL,        cudaMemcpyPeer,                        999, ISSUE,          PLAIN) \
    X(MEMCPY_PEER_ASYNC,      NULL,        cudaMemcpyPeerAsync,                   999, ISSUE,          PLAIN) \
    X(GET_DEVICE_COUNT,       NULL,        cudaGetDeviceCount,                    999, NONE,           BARE) \
    X(GET_DEVICE,             NULL,        cudaGetDevice,                         999, GET_DEVICE,     BARE) \
    X(SET_DEVICE,             NULL,        cudaSetDevice,                         999, SET_DEVICE,     BARE) \
    X(INIT_DEVICE,            NULL,        cudaInitDevice,                        999, SET_DEVICE,     BARE) \
    X(DEVICE_GET_ATTRIBUTE,   NULL,        cudaDeviceGetAttribute,                999, NONE,           BARE) \
    X(GET_DEVICE_PROPERTIES,  NULL,        cudaGetDeviceProperties,               999, NONE,           BARE) \
    X(DEVICE_GET_PCI_BUS_ID,  NULL,        cudaDeviceGetPCIBusId,                 999, NONE,           BARE) \
    X(DEVICE_SYNCHRONIZE,     NULL,        cudaDeviceSynchronize,                 999, SYNC,           PLAIN) \
    X(DEVICE_RESET,           NULL,        cudaDeviceReset,                       999, NONE,           PLAIN) \
    X(CAN_ACCESS_PEER,        NULL,        cudaDeviceCanAccessPeer,               999, NONE,           BARE) \
    X(ENABLE_PEER_ACCESS,     NULL,        cudaDeviceEnablePeerAccess,            999, NONE,           PLAIN) \
    X(DISABLE_PEER_ACCESS,    NULL,        cudaDeviceDisablePeerAccess,           999, NONE,           PLAIN) \
    X(SET_DEVICE_FLAGS,       NULL,        cudaSetDeviceFlags,                    999, NONE,           PLAIN) \
    X(GET_DEVICE_FLAGS,       NULL,        cudaGetDeviceFlags,                    999, NONE,           PLAIN) \
    X(SET_LIMIT,              NULL,        cudaDeviceSetLimit,                    999, NONE,           PLAIN) \
    X(GET_LIMIT,              NULL,        cudaDeviceGetLimit,                    999, NONE,           PLAIN) \
    X(GET_CACHE_CONFIG,       NULL,        cudaDeviceGetCacheConfig,              999, NONE,           PLAIN) \
    X(GET_BANK_CONFIG,        NULL,        cudaDeviceGetSharedMemConfig,          999, NONE,           PLAIN) \
    X(P2P_ATTRIBUTE,          NULL,        cudaDeviceGetP2PAttribute,             999, NONE,           BARE) \
    X(GET_BY_PCI_BUS_ID,      NULL,        cudaDeviceGetByPCIBusId,               999, NONE,           BARE) \
    X(PRIORITY_RANGE,         NULL,        cudaDeviceGetStreamPriorityRange,      999, NONE,           PLAIN) \
    X(DRIVER_GET_VERSION,     NULL,        cudaDriverGetVersion,                  999, NONE,           BARE) \
    X(VM_GRANULARITY,         NULL,        cuMemGetAllocationGranularity,         999, NONE,           BARE) \
    X(VM_GET_ACCESS,          NULL,        cuMemGetAccess,                        999, NONE,           BARE) \
    X(ENTRY_POINT,            NULL,        cudaGetDriverEntryPoint,               999, NONE,           BARE) \
    X(ENTRY_POINT_BY_VERSION, NULL,        cudaGetDriverEntryPointByVersion,      999, NONE,           BARE) \
    X(STREAM_CREATE,          NULL,        cudaStreamCreate,                      999, NONE,           PLAIN) \
    X(STREAM_WITH_FLAGS,      NULL,        cudaStreamCreateWithFlags,             999, NONE,           PLAIN) \
    X(STREAM_WITH_PRIORITY,   NULL,        cudaStreamCreateWithPriority,          999, NONE,           PLAIN) \
    X(STREAM_DESTROY,         NULL,        cudaStreamDestroy,                     999, NONE,           PLAIN) \
    X(STREAM_SYNCHRONIZE,     NULL,        cudaStreamSynchronize,                 999, SYNC,           PLAIN) \
    X(STREAM_QUERY,           NULL,        cudaStreamQuery,                       999, EVENT_QUERY,    PLAIN) \
    X(STREAM_WAIT_EVENT,      NULL,        cudaStreamWaitEvent,                   999, STREAM_WAIT,    PLAIN) \
    X(STREAM_GET_ID,          NULL,        cudaStreamGetId,                       999, NONE,           PLAIN) \
    X(STREAM_GET_FLAGS,       NULL,        cudaStreamGetFlags,                    999, NONE,           PLAIN) \
    X(STREAM_GET_PRIORITY,    NULL,        cudaStreamGetPriority,                 999, NONE,           PLAIN) \
    X(STREAM_GET_DEVICE,      NULL,        cudaStreamGetDevice,                   999, NONE,           PLAIN) \
    X(LAUNCH_HOST_FUNC,       NULL,        cudaLaunchHostFunc,                    999, ISSUE,          PLAIN) \
    X(STREAM_IS_CAPTURING,    NULL,        cudaStreamIsCapturing,                 999, CAPTURE_QUERY,  PLAIN) \
    X(STREAM_CAPTURE_INFO,    NULL,        cudaStreamGetCaptureInfo,              999, CAPTURE_QUERY,  PLAIN) \
    X(EXCHANGE_CAPTURE_MODE,  NULL,        cudaThreadExchangeStreamCaptureMode,   999, NONE,           BARE) \
    X(BEGIN_CAPTURE,          NULL,        cudaStreamBeginCapture,                999, NONE,           PLAIN) \
    X(END_CAPTURE,            NULL,        cudaStreamEndCapture,                  999, NONE,           PLAIN) \
    X(GRAPH_INSTANTIATE,      NULL,        cudaGraphInstantiate,                  999, NONE,           PLAIN) \
    X(GRAPH_GET_NODES,        NULL,        cudaGraphGetNodes,                     999, NONE,           PLAIN) \
    X(GRAPH_LAUNCH,           NULL,        cudaGraphLaunch,                       999, ISSUE,          PLAIN) \
    X(GRAPH_DESTROY,          NULL,        cudaGraphDestroy,                      999, NONE,           PLAIN) \
    X(GRAPH_EXEC_DESTROY,     NULL,        cudaGraphExecDestroy,                  999, NONE,           PLAIN) \
    X(EVENT_CREATE,           NULL,        cudaEventCreate,                       999, EVENT_CREATE,   PLAIN) \
    X(EVENT_WITH_FLAGS,       NULL,        cudaEventCreateWithFlags,              999, EVENT_CREATE,   PLAIN) \
    X(EVENT_RECORD,           NULL,        cudaEventRecord,                       999, EVENT_RECORD,   PLAIN) \
    X(EVENT_RECORD_FLAGS,     NULL,        cudaEventRecordWithFlags,              999, EVENT_RECORD,   PLAIN) \
    X(EVENT_QUERY,            NULL,        cudaEventQuery,                        999, EVENT_QUERY,    PLAIN) \
    X(EVENT_SYNCHRONIZE,      NULL,        cudaEventSynchronize,                  999, SYNC,           PLAIN) \
    X(EVENT_DESTROY,          NULL,        cudaEventDestroy,                      999, EVENT_DESTROY,  PLAIN) \
    X(EVENT_ELAPSED_TIME,     NULL,        cudaEventElapsedTime,                  999, NONE,           PLAIN) \
    X(LAUNCH_KERNEL,          NULL,        cudaLaunchKernel,                      999, ISSUE,          PLAIN) \
    X(LAUNCH_KERNEL_EXC,      NULL,        cudaLaunchKernelExC,                   999, ISSUE,          PLAIN) \
    X(LAUNCH_COOPERATIVE,     NULL,        cudaLaunchCooperativeKernel,           999, ISSUE,          PLAIN) \
    X(FUNC_GET_ATTRIBUTES,    NULL,        cudaFuncGetAttributes,                 999, NONE,           PLAIN) \
    X(FUNC_SET_ATTRIBUTE,     NULL,        cudaFuncSetAttribute,                  999, NONE,           PLAIN) \
    X(OCCUPANCY,              NULL,        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 999, NONE, PLAIN)

typedef enum sim_call {
#define X(name, text, cuda_name, code, cost, trait) SIM_CALL_##name,
    SIM_CALLS(X)
#undef X
    SIM_CALL_KINDS,
#define X(name, text, cuda_name, code, cost, trait) SIM_CALL_OF_##cuda_name = SIM_CALL_##name,
    SIM_CALLS(X)
#undef X
} sim_call;

typedef struct sim_call_row { const char *fault_name, *name; int fault_code, cost; unsigned traits; } sim_call_row;
extern const sim_call_row sim_call_rows[SIM_CALL_KINDS + 1];     /* by kind; the last is of any, for faults */

/* Calls on memory that this thread has made, to all tables: each thread has its own, so that counting keeps nobody
   waiting. */
extern __thread uint64_t sim_thread_called;

/* Memory came (OBTAIN, VM_MAP) or went (GIVE_BACK, VM_UNMAP), by a call that succeeded. It must not call
   the device. */
typedef void sim_watch_fn(void *user, sim_call kind, uint64_t address, uint64_t bytes);

typedef struct sim sim;
typedef struct sim_device sim_device;            /* engine.h */
typedef struct sim_costs sim_costs;              /* costs.h: one table, a + b x MiB a call, from reference figures */

typedef struct sim_config {                      /* zero: default */
    uint32_t device_count;                       /* 0: 1 */
    uint64_t capacity_bytes;                     /* of each device, to 4 TiB, 75 in all; 0: 80 GiB */
    uint64_t context_bytes;                      /* held by the context from the start, outside all arenas; 0: none */
    const sim_costs *costs;                      /* NULL: the default table */
    const char *faults;                          /* NULL: none; grammar: faults.h */
    uint32_t without_vm;                         /* 1: devices without virtual memory: no group vm, page_bytes 0 */
    uint32_t most_mappings;                      /* live ones of each device; 0: SIM_DEFAULT_MAPPINGS */
} sim_config;

typedef struct sim_counters {                    /* of one device, since creation or sim_reset_counters */
    uint64_t calls[SIM_CALL_KINDS];              /* refused and failed ones included */
    uint64_t vns[SIM_CALL_KINDS];                /* host time spent in them */
    uint64_t memory_calls, memory_vns;           /* of the driver table's, those that get or give memory */
    uint64_t held_bytes, held_peak_bytes;        /* physical memory: whole granules, slabs, handles of vm */
    uint64_t handle_count, mapping_count;        /* of vm, live now: created and still somewhere, or mapped */
    uint64_t reserved_address_bytes;             /* by vm */
    uint64_t rival_bytes;                        /* taken by the other process */
    uint64_t host_bytes, host_peak_bytes;        /* of all devices together: pinned memory of the host, */
    uint64_t managed_bytes, managed_peak_bytes;  /*   and managed memory, wherever it lies */
    uint64_t pool_reserved_bytes, pool_reserved_peak_bytes;  /* of held: memory of all pools, */
    uint64_t pool_used_bytes, pool_used_peak_bytes;          /*   and the part that is handed out */
    uint64_t findings;                           /* of the judge: sim_finding */
    uint64_t lies_held;                          /* ranges of lying answers (faults.h) that were not given back yet */
} sim_counters;

#endif

/* The driver table of the simulated device. It must not do what the entries do: it checks, counts, charges
   and calls the part of the machine that does it. */
#include "entries.h"
#include "memory.h"
#include "mempool.h"
#include "share.h"
#include "vmem.h"
#include "work.h"

/* ---- What all entries do: the call is counted and may be made to fail, serves, and is charged */

typedef struct table_call {
    sim_device *device;
    sim_call    kind;
    int         code;
    fault_type  lie;
    uint64_t    cost_ns;
} table_call;

static table_call table_begin(const gpuarena_driver *self, sim_call kind, uint64_t bytes)
{
    fault_answer answer = engine_begin_call(self->user, kind, bytes);
    table_call call = { self->user, kind, answer.code, answer.lie, engine_call_ns(self->user, kind) };
    return call;
}

static int table_end(const table_call *call)
{
    return engine_end_call(call->device, call->kind, call->code, call->cost_ns);
}

/* An entry: `answer`, in words of `call`, where nothing makes it fail. */
#define TABLE_ENTRY(name, parameters, kind, bytes, answer) \
    static int table_##name parameters \
    { \
        table_call call = table_begin(self, kind, bytes); \
        if (call.code == SIM_SUCCESS) call.code = (answer); \
        return table_end(&call); \
    }

/* The same of calls on memory, which captures forbid as they forbid cudaMalloc. */
#define TABLE_VM_ENTRY(name, parameters, kind, bytes, action, answer) \
    static int table_##name parameters \
    { \
        table_call call = table_begin(self, kind, bytes); \
        if (call.code == SIM_SUCCESS) call.code = work_check_unsafe(call.device, action); \
        if (call.code == SIM_SUCCESS) call.code = (answer); \
        return table_end(&call); \
    }

/* ---- Clearing memory, as cudaMemsetAsync with 0: pattern 0, from the call on */

typedef struct table_cleared { uint64_t address, bytes, owner; } table_cleared;

static int table_act_clear(void *context, const void *payload)
{
    const launch *now = context;
    const table_cleared *asked = payload;
    access_range range = { asked->address, asked->bytes, asked->owner, now->op, 0, 0, 0 };
    uint64_t offset;
    sim_device *memory = engine_owner(now->device->sim, asked->address);     /* a bank, of other kinds */
    access_use(now->device, now->by, &range);
    if (!memory || !engine_offset(memory, asked->address, &offset)
        || !devmem_reaches(&memory->memory, offset, asked->bytes, now->device->ordinal)) {
        return SIM_INVALID_VALUE;
    }
    return devmem_fill(&memory->memory, offset, asked->bytes, 0) ? SIM_OUT_OF_MEMORY : SIM_SUCCESS;
}

static int table_issue_clear(sim_device *device, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    table_cleared asked = { (uint64_t)(uintptr_t)ptr, bytes, ACCESS_BY_CLEAR | ++device->sim->clear_serial };
    if (bytes == 0) return SIM_SUCCESS;
    return launch_command(device, stream, device->sim->runtime_work_ns, table_act_clear, &asked, sizeof asked,
                          "cudaMemsetAsync");
}

TABLE_ENTRY(clear, (const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream),
            SIM_CALL_MEMSET_ASYNC, bytes, table_issue_clear(call.device, ptr, bytes, stream))

/* ---- Events, as cudaEventCreateWithFlags and its kin */

TABLE_ENTRY(events_create, (const gpuarena_driver *self, void **event), SIM_CALL_EVENT_WITH_FLAGS, 0,
            event ? event_create(call.device, 0, event) : SIM_INVALID_VALUE)
TABLE_ENTRY(events_destroy, (const gpuarena_driver *self, void *event), SIM_CALL_EVENT_DESTROY, 0,
            event_destroy(call.device->sim, event))
TABLE_ENTRY(events_record, (const gpuarena_driver *self, void *event, gpuarena_stream handle), SIM_CALL_EVENT_RECORD,
            0, event_record(call.device, event, handle, "cudaEventRecord"))
TABLE_ENTRY(events_query, (const gpuarena_driver *self, void *event), SIM_CALL_EVENT_QUERY, 0,
            event_query(call.device, event, "cudaEventQuery"))
TABLE_ENTRY(events_host_wait, (const gpuarena_driver *self, void *event), SIM_CALL_EVENT_SYNCHRONIZE, 0,
            event_wait(call.device, event, "cudaEventSynchronize", &call.cost_ns))
TABLE_ENTRY(events_stream_wait, (const gpuarena_driver *self, gpuarena_stream handle, void *event),
            SIM_CALL_STREAM_WAIT_EVENT, 0, event_follow(call.device, handle, event, "cudaStreamWaitEvent"))
TABLE_ENTRY(events_device_wait, (const gpuarena_driver *self), SIM_CALL_DEVICE_SYNCHRONIZE, 0,
            work_wait_device(call.device, "cudaDeviceSynchronize", &call.cost_ns))

/* ---- Captures, as cudaStreamIsCapturing and cudaThreadExchangeStreamCaptureMode */

static int table_ask_capture(sim_device *device, gpuarena_stream handle, int *active)
{
    int status, code = active ? work_capture_status(device, handle, &status) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *active = status != 0;
    return code;
}

TABLE_ENTRY(capture_active, (const gpuarena_driver *self, gpuarena_stream handle, int *active),
            SIM_CALL_STREAM_IS_CAPTURING, 0, table_ask_capture(call.device, handle, active))

static int table_capture_exchange_mode(const gpuarena_driver *self, int *mode)
{
    sim_device *device = self->user;
    int code = engine_begin_bare_call(device, SIM_CALL_EXCHANGE_CAPTURE_MODE).code;
    if (code == SIM_SUCCESS) {
        code = capture_exchange_mode(&device->sim->captures, work_thread(device->sim), mode);
    }
    return engine_end_call(device, SIM_CALL_EXCHANGE_CAPTURE_MODE, code,
                           engine_call_ns(device, SIM_CALL_EXCHANGE_CAPTURE_MODE));
}

/* ---- Memory, as cudaMalloc, cudaFree, cudaMemGetInfo and the other kinds' calls */

/* What the kinds' calls are counted as, and may be made to fail as. */
static sim_call table_obtain_call(gpuarena_memory kind)
{
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return SIM_CALL_HOST_ALLOC;
    case GPUARENA_MEMORY_MANAGED: return SIM_CALL_MALLOC_MANAGED;
    case GPUARENA_MEMORY_ASYNC:   return SIM_CALL_MALLOC_ASYNC;
    case GPUARENA_MEMORY_DEVICE:  break;
    }
    return SIM_CALL_OBTAIN;
}

static sim_call table_give_back_call(gpuarena_memory kind)
{
    return kind == GPUARENA_MEMORY_PINNED ? SIM_CALL_FREE_HOST
         : kind == GPUARENA_MEMORY_ASYNC  ? SIM_CALL_FREE_ASYNC
                                          : SIM_CALL_GIVE_BACK;
}

static int table_obtain_async(sim_device *device, void **ptr, uint64_t bytes, const void *stream, uint64_t *cost_ns)
{
    mempool *pool = mempool_of(device);
    return pool ? mempool_hand_out(device, pool, stream, ptr, bytes, "obtain", cost_ns) : SIM_OUT_OF_MEMORY;
}

static int table_obtain_kind(sim_device *device, gpuarena_memory kind, fault_type lie, void **ptr, uint64_t bytes,
                             const void *stream, uint64_t *cost_ns)
{
    int code = kind == GPUARENA_MEMORY_ASYNC ? SIM_SUCCESS : work_check_unsafe(device, "obtain");
    if (code != SIM_SUCCESS) return code;
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_obtain(device, SIM_BANK_HOST, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_MANAGED: return bank_obtain(device, SIM_BANK_MANAGED, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_ASYNC:   return table_obtain_async(device, ptr, bytes, stream, cost_ns);
    case GPUARENA_MEMORY_DEVICE:  return memory_obtain(device, lie, ptr, bytes, cost_ns);
    }
    return SIM_NOT_SUPPORTED;
}

static int table_memory_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                               gpuarena_stream stream)
{
    table_call call = table_begin(self, table_obtain_call(kind), bytes);
    if (call.code == SIM_SUCCESS) {
        call.code = ptr ? table_obtain_kind(call.device, kind, call.lie, ptr, bytes, stream, &call.cost_ns)
                        : SIM_INVALID_VALUE;
    }
    if (call.code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        engine_tell(call.device, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);   /* of DEVICE, memory.c does */
    }
    return table_end(&call);
}

static int table_give_back_kind(sim_device *device, gpuarena_memory kind, uint64_t address, uint64_t bytes,
                                const void *stream, uint64_t *cost_ns)
{
    int code = kind == GPUARENA_MEMORY_ASYNC ? SIM_SUCCESS : work_check_unsafe(device, "give_back");
    if (code != SIM_SUCCESS) return code;
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_give_back(device, SIM_BANK_HOST, address, bytes, cost_ns);
    case GPUARENA_MEMORY_MANAGED: return bank_give_back(device, SIM_BANK_MANAGED, address, bytes, cost_ns);
    case GPUARENA_MEMORY_ASYNC:   return mempool_take_back(device, stream, address, bytes, "give_back", cost_ns);
    case GPUARENA_MEMORY_DEVICE:  return memory_give_back(device, address, bytes, cost_ns);
    }
    return SIM_NOT_SUPPORTED;
}

static int table_memory_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                  gpuarena_stream stream)
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    table_call call = table_begin(self, table_give_back_call(kind), 0);
    if (call.code == SIM_SUCCESS) {
        call.code = table_give_back_kind(call.device, kind, address, bytes, stream, &call.cost_ns);
    }
    if (call.code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        engine_tell(call.device, SIM_CALL_GIVE_BACK, address, bytes);
    }
    return table_end(&call);
}

static int table_info_kind(sim_device *device, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    if ((uint32_t)kind > GPUARENA_MEMORY_ASYNC) return SIM_NOT_SUPPORTED;
    if (!free_bytes || !total_bytes) return SIM_INVALID_VALUE;
    return kind == GPUARENA_MEMORY_PINNED ? bank_info(device, free_bytes, total_bytes)
                                          : memory_info(device, free_bytes, total_bytes);
}

TABLE_ENTRY(memory_info,
            (const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes),
            SIM_CALL_INFO, 0, table_info_kind(call.device, kind, free_bytes, total_bytes))

/* ---- Virtual memory, as cuMemAddressReserve to cuMemUnmap */

static int table_reserve(table_call *call, void **address, uint64_t bytes, uint64_t alignment)
{
    uint64_t reserved;
    int code = address ? vmem_reserve(call->device, bytes, alignment, &reserved, &call->cost_ns) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *address = (void *)(uintptr_t)reserved;
    return code;
}

TABLE_VM_ENTRY(vm_reserve, (const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment),
               SIM_CALL_VM_RESERVE, bytes, "reserve", table_reserve(&call, address, bytes, alignment))
TABLE_VM_ENTRY(vm_release, (const gpuarena_driver *self, void *address, uint64_t bytes), SIM_CALL_VM_RELEASE, 0,
               "release", vmem_release(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns))

TABLE_VM_ENTRY(vm_create, (const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits),
               SIM_CALL_VM_CREATE, bytes, "create",
               page ? vmem_create(call.device, bytes, (traits & GPUARENA_PAGE_SHARED) != 0, page, &call.cost_ns)
                    : SIM_INVALID_VALUE)
TABLE_VM_ENTRY(vm_destroy, (const gpuarena_driver *self, uint64_t page, uint64_t bytes), SIM_CALL_VM_DESTROY, 0,
               "destroy", vmem_destroy(call.device, page, bytes, &call.cost_ns))
TABLE_VM_ENTRY(vm_map, (const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page), SIM_CALL_VM_MAP,
               bytes, "map", vmem_map(call.device, (uint64_t)(uintptr_t)address, bytes, page, &call.cost_ns))
TABLE_VM_ENTRY(vm_access, (const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode),
               SIM_CALL_VM_ACCESS, bytes, "access",
               vmem_access(call.device, (uint64_t)(uintptr_t)address, bytes,
                           self->peers | (uint64_t)1 << call.device->ordinal, mode, &call.cost_ns))
TABLE_VM_ENTRY(vm_unmap, (const gpuarena_driver *self, void *address, uint64_t bytes), SIM_CALL_VM_UNMAP, 0, "unmap",
               vmem_unmap(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns))

/* ---- Between processes and devices, as cudaIpcGetMemHandle and its kin, cuMemExportToShareableHandle and its,
        and cudaDeviceEnablePeerAccess, called by the peer */

TABLE_ENTRY(ipc_get_handle, (const gpuarena_driver *self, void *ptr, unsigned char *handle), SIM_CALL_IPC_GET, 0,
            share_get(call.device, SHARE_OWN, (uint64_t)(uintptr_t)ptr, handle))
TABLE_VM_ENTRY(ipc_open_handle, (const gpuarena_driver *self, const unsigned char *handle, void **ptr),
               SIM_CALL_IPC_OPEN, 0, "open_handle", share_open_memory(call.device, SHARE_OWN, handle, ptr))
TABLE_VM_ENTRY(ipc_close_handle, (const gpuarena_driver *self, void *ptr), SIM_CALL_IPC_CLOSE, 0, "close_handle",
               share_close(call.device, (uint64_t)(uintptr_t)ptr, &call.cost_ns))
TABLE_ENTRY(fd_from_page, (const gpuarena_driver *self, uint64_t page, int *fd), SIM_CALL_VM_EXPORT, 0,
            share_export(call.device, SHARE_OWN, page, fd))
TABLE_VM_ENTRY(fd_to_page, (const gpuarena_driver *self, int fd, uint64_t *page), SIM_CALL_VM_IMPORT, 0, "to_page",
               share_import(call.device, SHARE_OWN, fd, page))

/* Every device reaches every other. */
TABLE_ENTRY(peer, (const gpuarena_driver *self, int32_t device), SIM_CALL_ENABLE_PEER_ACCESS, 0,
            device >= 0 && device < call.device->sim->device_count && device != call.device->ordinal
                ? SIM_SUCCESS : SIM_NOT_SUPPORTED)

void driver_fill(gpuarena_driver *driver, int with_vm)
{
#define X(group, name, parameters, names) driver->group.name = table_##group##_##name;
    ENTRIES_MEMORY(X)
    ENTRIES_EVENTS(X)
    ENTRIES_CAPTURE(X)
    ENTRIES_IPC(X)
    if (with_vm) {
        driver->page_bytes = SIM_GRANULE;
        ENTRIES_VM(X)
        ENTRIES_FD(X)
    }
#undef X
    driver->per_thread = (gpuarena_stream)(intptr_t)2;
    driver->clear = table_clear;
    driver->peer = table_peer;
}

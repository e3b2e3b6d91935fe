/* The driver table of the simulated device. It must not do what the entries do: it checks, counts, charges
   and calls the part of the machine that does it. */
#include "entries.h"
#include "memory.h"
#include "sim.h"

/* ---- What all entries do: the call is counted and may be made to fail, serves, and is charged */

typedef struct table_call {
    sim_device *device;
    stream_queue *by;                            /* of a stream's entry */
    sim_call    kind;
    int         code;
    fault_type  lie;
    uint64_t    cost_ns;
} table_call;

__thread uint64_t sim_thread_called;

static table_call table_begin(const gpuarena_driver *self, sim_call kind, uint64_t bytes, const char *action)
{
    const sim_device *device = self->user;
    pthread_mutex_lock(&device->sim->mutex);
    if (sim_call_rows[kind].traits & SIM_COUNTED) sim_thread_called++;
    table_call call = { self->user, NULL, kind, SIM_SUCCESS, FAULT_CALL, 0 };
    call.code = work_begin_call(call.device, kind, bytes, action, &call.lie, &call.cost_ns);
    return call;
}

static int table_end(const table_call *call)
{
    int code = engine_end_call(call->device, call->kind, call->code, call->cost_ns);
    pthread_mutex_unlock(&call->device->sim->mutex);
    return code;
}

/* The entry of a group: `answer`, in words of `call` and its parameters (entries.h), where nothing makes it fail. */
#define TABLE_ENTRY(group, name, kind, bytes, answer) \
    static int table_##group##_##name ENTRY_##group##_##name \
    { \
        table_call call = table_begin(self, SIM_CALL_##kind, bytes, #name); \
        if (call.code == SIM_SUCCESS) call.code = (answer); \
        return table_end(&call); \
    }

/* The same of a stream, which is found first: call.by. */
#define TABLE_STREAM_ENTRY(group, name, kind, bytes, answer) \
    TABLE_ENTRY(group, name, kind, bytes, \
                (call.by = work_find_stream(call.device, stream, &call.code)) != NULL ? (answer) : call.code)

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
    devmem_fill(&memory->memory, offset, asked->bytes, 0);
    return SIM_SUCCESS;
}

static int table_issue_clear(sim_device *device, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    int code = SIM_SUCCESS;
    table_cleared asked = { (uint64_t)(uintptr_t)ptr, bytes, ACCESS_BY_CLEAR | ++device->sim->clear_serial };
    stream_queue *by = bytes > 0 ? work_find_stream(device, stream, &code) : NULL;
    if (!by) return code;
    return launch_command(device, by, device->sim->runtime_work_ns, table_act_clear, &asked, sizeof asked);
}

TABLE_ENTRY(device, clear, MEMSET_ASYNC, bytes, table_issue_clear(call.device, ptr, bytes, stream))

/* ---- Events, as cudaEventCreateWithFlags and its kin */

TABLE_ENTRY(events, create, EVENT_WITH_FLAGS, 0, event ? event_create(call.device, 0, event) : SIM_INVALID_VALUE)
TABLE_ENTRY(events, destroy, EVENT_DESTROY, 0, event_destroy(call.device->sim, event))
TABLE_STREAM_ENTRY(events, record, EVENT_RECORD, 0, event_record(call.device, event, call.by))
TABLE_ENTRY(events, query, EVENT_QUERY, 0, event_wait(call.device, event, "cudaEventQuery", NULL))
TABLE_ENTRY(events, host_wait, EVENT_SYNCHRONIZE, 0,
            event_wait(call.device, event, "cudaEventSynchronize", &call.cost_ns))
TABLE_STREAM_ENTRY(events, stream_wait, STREAM_WAIT_EVENT, 0,
                   event_follow(call.device, call.by, event, "cudaStreamWaitEvent"))
TABLE_ENTRY(events, device_wait, DEVICE_SYNCHRONIZE, 0,
            work_wait_device(call.device, "cudaDeviceSynchronize", &call.cost_ns))

/* ---- Captures, as cudaStreamIsCapturing and cudaThreadExchangeStreamCaptureMode */

static int table_ask_capture(const sim_device *device, const stream_queue *by, int *active)
{
    int status, code = active ? work_capture_status(device, by, &status) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *active = status != 0;
    return code;
}

TABLE_STREAM_ENTRY(capture, active, STREAM_IS_CAPTURING, 0, table_ask_capture(call.device, call.by, active))
TABLE_ENTRY(capture, exchange_mode, EXCHANGE_CAPTURE_MODE, 0, capture_exchange_mode(call.device->sim, mode))

/* ---- Memory, as cudaMalloc, cudaFree, cudaMemGetInfo and the other kinds' calls */

/* What the kinds' calls are counted as, and may be made to fail as; of a kind that there is not, as DEVICE's. */
static sim_call table_call_of(gpuarena_memory kind, int gives_back)
{
    static const sim_call calls[][2] = {
        [GPUARENA_MEMORY_DEVICE] = { SIM_CALL_OBTAIN, SIM_CALL_GIVE_BACK },
        [GPUARENA_MEMORY_PINNED] = { SIM_CALL_HOST_ALLOC, SIM_CALL_FREE_HOST },
        [GPUARENA_MEMORY_MANAGED] = { SIM_CALL_MALLOC_MANAGED, SIM_CALL_GIVE_BACK },
        [GPUARENA_MEMORY_ASYNC] = { SIM_CALL_MALLOC_ASYNC, SIM_CALL_FREE_ASYNC },
    };
    return calls[(uint32_t)kind <= GPUARENA_MEMORY_ASYNC ? kind : GPUARENA_MEMORY_DEVICE][gives_back];
}

/* From the device's own pool, and back to it. */
static int table_draw(sim_device *device, const void *stream, void **ptr, uint64_t bytes, uint64_t *cost_ns)
{
    int code;
    stream_queue *to = work_find_stream(device, stream, &code);
    return to ? mempool_hand_out(device, mempool_of(device), to, ptr, bytes, cost_ns) : code;
}

static int table_return(sim_device *device, const void *stream, uint64_t address, uint64_t bytes)
{
    int code;
    stream_queue *by = work_find_stream(device, stream, &code);
    return by ? mempool_take_back(device, by, address, bytes, "give_back") : code;
}

static int table_obtain(table_call *call, gpuarena_memory kind, void **ptr, uint64_t bytes, const void *stream)
{
    sim_device *device = call->device;
    uint64_t *cost_ns = &call->cost_ns;
    if (!ptr) return SIM_INVALID_VALUE;
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_obtain(device, SIM_BANK_HOST, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_MANAGED: return bank_obtain(device, SIM_BANK_MANAGED, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_DEVICE:  return memory_obtain(device, call->lie, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_ASYNC:   return table_draw(device, stream, ptr, bytes, cost_ns);
    }
    return SIM_NOT_SUPPORTED;
}

static int table_give_back(table_call *call, gpuarena_memory kind, uint64_t address, uint64_t bytes,
                           const void *stream)
{
    sim_device *device = call->device;
    uint64_t *cost_ns = &call->cost_ns;
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_give_back(device, SIM_BANK_HOST, address, bytes, cost_ns);
    case GPUARENA_MEMORY_MANAGED: return bank_give_back(device, SIM_BANK_MANAGED, address, bytes, cost_ns);
    case GPUARENA_MEMORY_ASYNC:   return table_return(device, stream, address, bytes);
    case GPUARENA_MEMORY_DEVICE:  return memory_give_back(device, address, bytes, cost_ns);
    }
    return SIM_NOT_SUPPORTED;
}

/* Tells who watches, but for DEVICE, of which memory.c does. */
static int table_end_memory(const table_call *call, gpuarena_memory kind, sim_call done, uint64_t address,
                            uint64_t bytes)
{
    if (call->code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) engine_tell(call->device, done, address, bytes);
    return table_end(call);
}

static int table_memory_obtain ENTRY_memory_obtain
{
    table_call call = table_begin(self, table_call_of(kind, 0), bytes, "obtain");
    if (call.code == SIM_SUCCESS) call.code = table_obtain(&call, kind, ptr, bytes, stream);
    return table_end_memory(&call, kind, SIM_CALL_OBTAIN, call.code ? 0 : (uint64_t)(uintptr_t)*ptr, bytes);
}

static int table_memory_give_back ENTRY_memory_give_back
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    table_call call = table_begin(self, table_call_of(kind, 1), 0, "give_back");
    if (call.code == SIM_SUCCESS) call.code = table_give_back(&call, kind, address, bytes, stream);
    return table_end_memory(&call, kind, SIM_CALL_GIVE_BACK, address, bytes);
}

static int table_info(sim_device *device, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    if (kind == GPUARENA_MEMORY_PINNED) device = &device->sim->banks[SIM_BANK_HOST];
    if ((uint32_t)kind > GPUARENA_MEMORY_ASYNC) return SIM_NOT_SUPPORTED;
    if (!free_bytes || !total_bytes) return SIM_INVALID_VALUE;
    *free_bytes = devmem_free_bytes(&device->memory);
    *total_bytes = device->memory.capacity_bytes;
    return SIM_SUCCESS;
}

TABLE_ENTRY(memory, info, INFO, 0, table_info(call.device, kind, free_bytes, total_bytes))

/* ---- Virtual memory, as cuMemAddressReserve to cuMemUnmap */

static int table_reserve(table_call *call, void **address, uint64_t bytes, uint64_t alignment)
{
    uint64_t reserved;
    int code = address ? vmem_reserve(call->device, bytes, alignment, &reserved, &call->cost_ns) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *address = (void *)(uintptr_t)reserved;
    return code;
}

TABLE_ENTRY(vm, reserve, VM_RESERVE, bytes, table_reserve(&call, address, bytes, alignment))
TABLE_ENTRY(vm, release, VM_RELEASE, 0, vmem_release(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns))
TABLE_ENTRY(vm, create, VM_CREATE, bytes,
            page ? vmem_create(call.device, bytes, (traits & GPUARENA_PAGE_SHARED) != 0, page, &call.cost_ns)
                 : SIM_INVALID_VALUE)
TABLE_ENTRY(vm, destroy, VM_DESTROY, 0, vmem_destroy(call.device, page, bytes, &call.cost_ns))
TABLE_ENTRY(vm, map, VM_MAP, bytes, vmem_map(call.device, (uint64_t)(uintptr_t)address, bytes, page, &call.cost_ns))
TABLE_ENTRY(vm, access, VM_ACCESS, bytes,
            vmem_access(call.device, (uint64_t)(uintptr_t)address, bytes,
                        self->peers | (uint64_t)1 << call.device->ordinal, mode, &call.cost_ns))
TABLE_ENTRY(vm, unmap, VM_UNMAP, 0, vmem_unmap(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns))

/* ---- Between processes and devices, as cudaIpcGetMemHandle and its kin, cuMemExportToShareableHandle and its,
        and cudaDeviceEnablePeerAccess, called by the peer */

TABLE_ENTRY(ipc, get_handle, IPC_GET, 0, share_get(call.device, SHARE_OWN, (uint64_t)(uintptr_t)ptr, handle))
TABLE_ENTRY(ipc, open_handle, IPC_OPEN, 0, share_open_memory(call.device, SHARE_OWN, handle, ptr))
TABLE_ENTRY(ipc, close_handle, IPC_CLOSE, 0, share_close(call.device, (uint64_t)(uintptr_t)ptr))
TABLE_ENTRY(fd, from_page, VM_EXPORT, 0, share_export(call.device, SHARE_OWN, page, fd))
TABLE_ENTRY(fd, to_page, VM_IMPORT, 0, share_import(call.device, SHARE_OWN, fd, page))

/* Every device reaches every other. */
TABLE_ENTRY(device, peer, ENABLE_PEER_ACCESS, 0,
            engine_device(call.device->sim, number) && number != call.device->ordinal ? SIM_SUCCESS
                                                                                      : SIM_NOT_SUPPORTED)

/* ---- The table */

static gpuarena_status table_classify(const gpuarena_driver *self, int code)
{
    (void)self;
    return codes_of(code)->status;
}

static const char *table_code_name(const gpuarena_driver *self, int code)
{
    (void)self;
    return codes_of(code)->name;
}

static uint64_t table_now_ns(const gpuarena_driver *self)
{
    const sim_device *device = self->user;
    pthread_mutex_lock(&device->sim->mutex);
    uint64_t now_ns = device->sim->now_ns;
    pthread_mutex_unlock(&device->sim->mutex);
    return now_ns;
}

void sim_driver(sim *machine, int device, gpuarena_driver *driver)
{
    sim_device *found = engine_device(machine, device);
    memset(driver, 0, sizeof *driver);
    if (!found) return;
    engine_open_context(found);
    driver->user = found;
    driver->device = device;
    driver->classify = table_classify;
    driver->code_name = table_code_name;
    driver->now_ns = table_now_ns;
    driver->per_thread = (gpuarena_stream)(intptr_t)2;
    driver->clear = table_device_clear;
    driver->peer = table_device_peer;
#define X(group, name, names) driver->group.name = table_##group##_##name;
    ENTRIES_MEMORY(X)
    ENTRIES_EVENTS(X)
    ENTRIES_CAPTURE(X)
    ENTRIES_IPC(X)
    if (!machine->without_vm) {                  /* without it there is no fd, either */
        driver->page_bytes = SIM_GRANULE;
        ENTRIES_VM(X)
        ENTRIES_FD(X)
    }
#undef X
}

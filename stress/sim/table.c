/* The driver table of the simulated device. It must not do the work of its entries: it checks, counts, charges and
   calls the part of the machine that does it. */
#include "entries.h"
#include "memory.h"
#include "sim.h"

/* ---- The common part of all entries: the call is counted and may be made to fail, is served, and is charged */

__thread uint64_t sim_thread_called;

static engine_call table_begin(const gpuarena_driver *self, sim_call kind, uint64_t bytes, const char *unsafe)
{
    engine_call call = { .device = self->user, .kind = kind };
    call.machine = call.device->sim;
    pthread_mutex_lock(&call.machine->mutex);
    if (sim_call_rows[kind].traits & SIM_COUNTED) sim_thread_called++;
    work_begin_call(&call, bytes, unsafe);
    return call;
}

static int table_end(const engine_call *call)
{
    engine_end_call(call);
    pthread_mutex_unlock(&call->machine->mutex);
    return call->code;
}

/* The entry of a group: `answer`, in words of `call` and its parameters (entries.h), where nothing makes it fail. */
#define TABLE_ENTRY(group, name, kind, bytes, answer) \
    static int table_##group##_##name ENTRY_##group##_##name \
    { \
        engine_call call = table_begin(self, SIM_CALL_##kind, bytes, #name); \
        if (call.code == SIM_SUCCESS) call.code = (answer); \
        return table_end(&call); \
    }

/* The entry of a group about a stream, which is found first: call.stream. */
#define TABLE_STREAM_ENTRY(group, name, kind, bytes, answer) \
    TABLE_ENTRY(group, name, kind, bytes, work_take_stream(&call, stream) ? (answer) : call.code)

/* ---- Clearing memory, as cudaMemsetAsync with 0: pattern 0, from the call on */

typedef struct table_cleared { uint64_t address, bytes, owner; } table_cleared;

static int table_act_clear(const launch *now, const void *payload)
{
    const table_cleared *asked = payload;
    access_range range = { asked->address, asked->bytes, asked->owner, now->op, 0, 0, 0 };
    uint64_t offset;
    sim_device *memory = engine_owner(now->device->sim, asked->address, &offset);        /* a bank, of other kinds */
    access_use(now->device, now->by, &range);
    if (!memory || !devmem_reaches(&memory->memory, offset, asked->bytes, now->device->ordinal)) {
        return SIM_INVALID_VALUE;
    }
    devmem_fill(&memory->memory, offset, asked->bytes, 0);
    return SIM_SUCCESS;
}

static int table_issue_clear(engine_call *call, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    sim *machine = call->machine;
    table_cleared asked = { (uint64_t)(uintptr_t)ptr, bytes, ACCESS_BY_CLEAR | ++machine->clear_serial };
    if (bytes == 0 || !work_take_stream(call, stream)) return call->code;
    return launch_command(call, machine->runtime_work_ns, table_act_clear, &asked, sizeof asked);
}

TABLE_ENTRY(device, clear, MEMSET_ASYNC, bytes, table_issue_clear(&call, ptr, bytes, stream))

/* ---- Events, as cudaEventCreateWithFlags and its kin */

TABLE_ENTRY(events, create, EVENT_WITH_FLAGS, 0, event ? event_create(call.device, 0, event) : SIM_INVALID_VALUE)
TABLE_ENTRY(events, destroy, EVENT_DESTROY, 0, event_destroy(call.machine, event))
TABLE_STREAM_ENTRY(events, record, EVENT_RECORD, 0, event_record(&call, event))
TABLE_ENTRY(events, query, EVENT_QUERY, 0, event_wait(&call, event, 0))
TABLE_ENTRY(events, host_wait, EVENT_SYNCHRONIZE, 0, event_wait(&call, event, 1))
TABLE_STREAM_ENTRY(events, stream_wait, STREAM_WAIT_EVENT, 0, event_follow(&call, event))
TABLE_ENTRY(events, device_wait, DEVICE_SYNCHRONIZE, 0, work_wait_device(&call))

/* ---- Captures, as cudaStreamIsCapturing and cudaThreadExchangeStreamCaptureMode */

static int table_ask_capture(const engine_call *call, int *active)
{
    int status, code = active ? work_capture_status(call, &status) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *active = status != 0;
    return code;
}

TABLE_STREAM_ENTRY(capture, active, STREAM_IS_CAPTURING, 0, table_ask_capture(&call, active))
TABLE_ENTRY(capture, exchange_mode, EXCHANGE_CAPTURE_MODE, 0, capture_exchange_mode(call.machine, mode))

/* ---- Memory, as cudaMalloc, cudaFree, cudaMemGetInfo and the other kinds' calls */

/* The kind of call that counts, and can be made to fail, for memory of this kind; an unknown kind counts as
   DEVICE. */
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

static int table_obtain(engine_call *call, gpuarena_memory kind, void **ptr, uint64_t bytes, const void *stream)
{
    if (!ptr) return SIM_INVALID_VALUE;
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_obtain(call, SIM_BANK_HOST, ptr, bytes);
    case GPUARENA_MEMORY_MANAGED: return bank_obtain(call, SIM_BANK_MANAGED, ptr, bytes);
    case GPUARENA_MEMORY_DEVICE:  return memory_obtain(call, ptr, bytes);
    case GPUARENA_MEMORY_ASYNC:                  /* from the device's own pool */
        if (!work_take_stream(call, stream)) return call->code;
        return mempool_hand_out(mempool_of(call->device), call, ptr, bytes);
    }
    return SIM_NOT_SUPPORTED;
}

static int table_give_back(engine_call *call, gpuarena_memory kind, uint64_t address, uint64_t bytes,
                           const void *stream)
{
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_give_back(call, SIM_BANK_HOST, address, bytes);
    case GPUARENA_MEMORY_MANAGED: return bank_give_back(call, SIM_BANK_MANAGED, address, bytes);
    case GPUARENA_MEMORY_DEVICE:  return memory_give_back(call, address, bytes, stream == GPUARENA_ANY_STREAM);
    case GPUARENA_MEMORY_ASYNC:
        return work_take_stream(call, stream) ? mempool_take_back(call, address, bytes, "give_back") : call->code;
    }
    return SIM_NOT_SUPPORTED;
}

static int table_memory_obtain ENTRY_memory_obtain
{
    engine_call call = table_begin(self, table_call_of(kind, 0), bytes, "obtain");
    if (call.code == SIM_SUCCESS) call.code = table_obtain(&call, kind, ptr, bytes, stream);
    return table_end(&call);
}

static int table_memory_give_back ENTRY_memory_give_back
{
    engine_call call = table_begin(self, table_call_of(kind, 1), 0, "give_back");
    if (call.code == SIM_SUCCESS) {
        call.code = table_give_back(&call, kind, (uint64_t)(uintptr_t)ptr, bytes, stream);
    }
    return table_end(&call);
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

TABLE_ENTRY(vm, reserve, VM_RESERVE, bytes,
            address ? vmem_reserve(&call, bytes, alignment, address) : SIM_INVALID_VALUE)
TABLE_ENTRY(vm, release, VM_RELEASE, 0, vmem_release(&call, (uint64_t)(uintptr_t)address, bytes))
TABLE_ENTRY(vm, create, VM_CREATE, bytes,
            page ? vmem_create(&call, bytes, (traits & GPUARENA_PAGE_SHARED) != 0, 0, page) : SIM_INVALID_VALUE)
TABLE_ENTRY(vm, destroy, VM_DESTROY, 0, vmem_destroy(&call, page, bytes))
TABLE_ENTRY(vm, map, VM_MAP, bytes, vmem_map(&call, (uint64_t)(uintptr_t)address, bytes, page))
TABLE_ENTRY(vm, access, VM_ACCESS, bytes,
            vmem_access(&call, (uint64_t)(uintptr_t)address, bytes,
                        self->peers | (uint64_t)1 << call.device->ordinal, mode))
TABLE_ENTRY(vm, unmap, VM_UNMAP, 0, vmem_unmap(&call, (uint64_t)(uintptr_t)address, bytes))

/* ---- Between processes and devices, as cudaIpcGetMemHandle and its kin, cuMemExportToShareableHandle and its,
        and cudaDeviceEnablePeerAccess, called by the peer */

TABLE_ENTRY(ipc, get_handle, IPC_GET, 0, share_get(call.device, SHARE_OWN, (uint64_t)(uintptr_t)ptr, handle))
TABLE_ENTRY(ipc, open_handle, IPC_OPEN, 0, share_open_memory(call.device, SHARE_OWN, handle, ptr))
TABLE_ENTRY(ipc, close_handle, IPC_CLOSE, 0, share_close(call.device, (uint64_t)(uintptr_t)ptr))
TABLE_ENTRY(fd, from_page, VM_EXPORT, 0, share_export(call.device, SHARE_OWN, page, fd))
TABLE_ENTRY(fd, to_page, VM_IMPORT, 0, share_import(call.device, SHARE_OWN, fd, page))

/* Every device is a peer of every other. */
TABLE_ENTRY(device, peer, ENABLE_PEER_ACCESS, 0,
            engine_device(call.machine, number) && number != call.device->ordinal ? SIM_SUCCESS
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

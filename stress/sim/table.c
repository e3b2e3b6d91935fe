/* The driver table of the simulated device. It must not do what the entries do: it checks, counts, charges
   and calls the part of the machine that does it. */
#include "memory.h"
#include "work.h"
#include "mempool.h"
#include "vmem.h"

/* ---- The entry of the driver table that clears memory, as cudaMemsetAsync with 0: pattern 0, from the
        call on */

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

static int table_clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_MEMSET_ASYNC, bytes).code;
    table_cleared asked = { (uint64_t)(uintptr_t)ptr, bytes, ACCESS_BY_CLEAR | ++device->sim->clear_serial };
    if (code == SIM_SUCCESS && bytes > 0) {
        code = launch_command(device, stream, device->sim->runtime_work_ns, table_act_clear, &asked, sizeof asked,
                              "cudaMemsetAsync");
    }
    return engine_end_call(device, SIM_CALL_MEMSET_ASYNC, code, engine_call_ns(device, SIM_CALL_MEMSET_ASYNC));
}

void table_fill_clear(gpuarena_driver *driver)
{
    driver->clear = table_clear;
}

/* ---- The events group of the driver table, and streams' ids: as cudaEventCreateWithFlags and its kin
        */

static int table_event_create(const gpuarena_driver *self, void **event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_WITH_FLAGS, 0).code;
    if (code == SIM_SUCCESS) {
        code = event ? event_create(device, 0, event) : SIM_INVALID_VALUE;
    }
    return engine_end_call(device, SIM_CALL_EVENT_WITH_FLAGS, code,
                           engine_call_ns(device, SIM_CALL_EVENT_WITH_FLAGS));
}

static int table_event_destroy(const gpuarena_driver *self, void *event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_DESTROY, 0).code;
    code = code == SIM_SUCCESS ? event_destroy(device->sim, event) : code;
    return engine_end_call(device, SIM_CALL_EVENT_DESTROY, code, engine_call_ns(device, SIM_CALL_EVENT_DESTROY));
}

static int table_event_record(const gpuarena_driver *self, void *event, gpuarena_stream handle)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_RECORD, 0).code;
    code = code == SIM_SUCCESS ? event_record(device, event, handle, "cudaEventRecord") : code;
    return engine_end_call(device, SIM_CALL_EVENT_RECORD, code, engine_call_ns(device, SIM_CALL_EVENT_RECORD));
}

static int table_event_query(const gpuarena_driver *self, void *event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_EVENT_QUERY, 0).code;
    code = code == SIM_SUCCESS ? event_query(device, event, "cudaEventQuery") : code;
    return engine_end_call(device, SIM_CALL_EVENT_QUERY, code, engine_call_ns(device, SIM_CALL_EVENT_QUERY));
}

static int table_host_wait(const gpuarena_driver *self, void *event)
{
    sim_device *device = self->user;
    uint64_t cost_ns = engine_call_ns(device, SIM_CALL_EVENT_SYNCHRONIZE);
    int code = engine_begin_call(device, SIM_CALL_EVENT_SYNCHRONIZE, 0).code;
    code = code == SIM_SUCCESS ? event_wait(device, event, "cudaEventSynchronize", &cost_ns) : code;
    return engine_end_call(device, SIM_CALL_EVENT_SYNCHRONIZE, code, cost_ns);
}

static int table_stream_wait(const gpuarena_driver *self, gpuarena_stream handle, void *event)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_STREAM_WAIT_EVENT, 0).code;
    code = code == SIM_SUCCESS ? event_follow(device, handle, event, "cudaStreamWaitEvent") : code;
    return engine_end_call(device, SIM_CALL_STREAM_WAIT_EVENT, code,
                           engine_call_ns(device, SIM_CALL_STREAM_WAIT_EVENT));
}

static int table_device_wait(const gpuarena_driver *self)
{
    sim_device *device = self->user;
    uint64_t cost_ns = engine_call_ns(device, SIM_CALL_DEVICE_SYNCHRONIZE);
    int code = engine_begin_call(device, SIM_CALL_DEVICE_SYNCHRONIZE, 0).code;
    code = code == SIM_SUCCESS ? work_wait_device(device, "cudaDeviceSynchronize", &cost_ns) : code;
    return engine_end_call(device, SIM_CALL_DEVICE_SYNCHRONIZE, code, cost_ns);
}

void table_fill_events(gpuarena_driver *driver)
{
    driver->per_thread = (gpuarena_stream)(intptr_t)2;
    driver->events.create = table_event_create;
    driver->events.destroy = table_event_destroy;
    driver->events.record = table_event_record;
    driver->events.query = table_event_query;
    driver->events.host_wait = table_host_wait;
    driver->events.stream_wait = table_stream_wait;
    driver->events.device_wait = table_device_wait;
}

/* ---- The capture group of the driver table: cudaStreamIsCapturing and
        cudaThreadExchangeStreamCaptureMode */

static int table_active(const gpuarena_driver *self, gpuarena_stream handle, int *active)
{
    sim_device *device = self->user;
    int status, code = engine_begin_call(device, SIM_CALL_STREAM_IS_CAPTURING, 0).code;
    if (code == SIM_SUCCESS) {
        code = active ? work_capture_status(device, handle, &status) : SIM_INVALID_VALUE;
    }
    if (code == SIM_SUCCESS) {
        *active = status != 0;
    }
    return engine_end_call(device, SIM_CALL_STREAM_IS_CAPTURING, code,
                           engine_call_ns(device, SIM_CALL_STREAM_IS_CAPTURING));
}

static int table_exchange_mode(const gpuarena_driver *self, int *mode)
{
    sim_device *device = self->user;
    int code = engine_begin_bare_call(device, SIM_CALL_EXCHANGE_CAPTURE_MODE).code;
    if (code == SIM_SUCCESS) {
        code = capture_exchange_mode(&device->sim->captures, work_thread(device->sim), mode);
    }
    return engine_end_call(device, SIM_CALL_EXCHANGE_CAPTURE_MODE, code,
                           engine_call_ns(device, SIM_CALL_EXCHANGE_CAPTURE_MODE));
}

void table_fill_capture(gpuarena_driver *driver)
{
    driver->capture.active = table_active;
    driver->capture.exchange_mode = table_exchange_mode;
}

/* ---- The memory group of the driver table: obtain, give_back and info, as cudaMalloc and the other
        kinds' calls */

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

static int table_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    sim_device *device = self->user;
    sim_call call = table_obtain_call(kind);
    fault_answer answer = engine_begin_call(device, call, bytes);
    uint64_t cost_ns = engine_call_ns(device, call);
    int code = answer.code;
    if (code == SIM_SUCCESS) {
        code = ptr ? table_obtain_kind(device, kind, answer.lie, ptr, bytes, stream, &cost_ns) : SIM_INVALID_VALUE;
    }
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        engine_tell(device, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);    /* of DEVICE, memory.c does */
    }
    return engine_end_call(device, call, code, cost_ns);
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

static int table_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    sim_device *device = self->user;
    sim_call call = table_give_back_call(kind);
    uint64_t cost_ns = engine_call_ns(device, call);
    int code = engine_begin_call(device, call, 0).code;
    if (code == SIM_SUCCESS) {
        code = table_give_back_kind(device, kind, (uint64_t)(uintptr_t)ptr, bytes, stream, &cost_ns);
    }
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        engine_tell(device, SIM_CALL_GIVE_BACK, (uint64_t)(uintptr_t)ptr, bytes);
    }
    return engine_end_call(device, call, code, cost_ns);
}

static int table_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_INFO, 0).code;
    if (code == SIM_SUCCESS && (uint32_t)kind > GPUARENA_MEMORY_ASYNC) {
        code = SIM_NOT_SUPPORTED;
    } else if (code == SIM_SUCCESS && (!free_bytes || !total_bytes)) {
        code = SIM_INVALID_VALUE;
    } else if (code == SIM_SUCCESS) {
        code = kind == GPUARENA_MEMORY_PINNED ? bank_info(device, free_bytes, total_bytes)
                                              : memory_info(device, free_bytes, total_bytes);
    }
    return engine_end_call(device, SIM_CALL_INFO, code, engine_call_ns(device, SIM_CALL_INFO));
}

void table_fill_memory(gpuarena_driver *driver)
{
    driver->memory.info = table_info;
    driver->memory.obtain = table_obtain;
    driver->memory.give_back = table_give_back;
}

/* ---- The vm group of the driver table: reserve to unmap, as cuMemAddressReserve to cuMemUnmap */

typedef struct table_vm_call { sim_device *device; sim_call kind; int code; uint64_t cost_ns; } table_vm_call;

/* Memory calls, so that what captures forbids of cudaMalloc is forbidden of these. */
static table_vm_call table_vm_begin(const gpuarena_driver *self, sim_call kind, uint64_t bytes, const char *action)
{
    table_vm_call call = { self->user, kind, 0, 0 };
    call.code = engine_begin_call(call.device, kind, bytes).code;
    call.cost_ns = engine_call_ns(call.device, kind);
    if (call.code == SIM_SUCCESS) {
        call.code = work_check_unsafe(call.device, action);
    }
    return call;
}

static int table_vm_end(const table_vm_call *call)
{
    return engine_end_call(call->device, call->kind, call->code, call->cost_ns);
}

static int table_vm_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    uint64_t reserved;
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_RESERVE, bytes, "reserve");
    if (call.code == SIM_SUCCESS) {
        call.code = address ? vmem_reserve(call.device, bytes, alignment, &reserved, &call.cost_ns)
                            : SIM_INVALID_VALUE;
        if (call.code == SIM_SUCCESS) {
            *address = (void *)(uintptr_t)reserved;
        }
    }
    return table_vm_end(&call);
}

static int table_vm_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_RELEASE, 0, "release");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_release(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns);
    }
    return table_vm_end(&call);
}

/* Of traits, none changes what a simulated handle is. */
static int table_vm_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_CREATE, bytes, "create");
    (void)traits;
    if (call.code == SIM_SUCCESS) {
        call.code = page ? vmem_create(call.device, bytes, page, &call.cost_ns) : SIM_INVALID_VALUE;
    }
    return table_vm_end(&call);
}

static int table_vm_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_DESTROY, 0, "destroy");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_destroy(call.device, page, bytes, &call.cost_ns);
    }
    return table_vm_end(&call);
}

static int table_vm_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_MAP, bytes, "map");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_map(call.device, (uint64_t)(uintptr_t)address, bytes, page, &call.cost_ns);
    }
    return table_vm_end(&call);
}

static int table_vm_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_ACCESS, bytes, "access");
    if (call.code == SIM_SUCCESS) {
        uint64_t accessors = self->peers | (uint64_t)1 << call.device->ordinal;
        call.code = vmem_access(call.device, (uint64_t)(uintptr_t)address, bytes, accessors, mode, &call.cost_ns);
    }
    return table_vm_end(&call);
}

static int table_vm_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_UNMAP, 0, "unmap");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_unmap(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns);
    }
    return table_vm_end(&call);
}

void table_fill_vm(gpuarena_driver *driver)
{
    driver->page_bytes = SIM_GRANULE;
    driver->vm.reserve = table_vm_reserve;
    driver->vm.release = table_vm_release;
    driver->vm.create = table_vm_create;
    driver->vm.destroy = table_vm_destroy;
    driver->vm.map = table_vm_map;
    driver->vm.access = table_vm_access;
    driver->vm.unmap = table_vm_unmap;
}

/* The simulated machine: the common parts of its calls; and its calls from outside: life, clock, operations,
   counters, contents, streams. */
#include "sim.h"

#include "memory.h"

/* ---- The version and the sizes of a machine's structures */

const char *sim_build(void)
{
    static char text[96];
    snprintf(text, sizeof text, GPUARENA_VERSION_TEXT " %zu %zu %zu %zu", sizeof(sim), sizeof(sim_device),
             sizeof(sim_config), sizeof(sim_counters));
    return text;
}

/* ---- Handles: one growing table a machine, records reused, the latest first */

enum { HANDLES_FIRST = 16, HANDLES_INDEX_BITS = 24 };        /* so that no value is that of a default stream */
#define HANDLES_MOST  (((uint32_t)1 << HANDLES_INDEX_BITS) - HANDLES_FIRST)
#define HANDLES_LOW   ((uint64_t)0xFFFFFF)

void *handles_create(handles *all, handle_kind kind, void *object)
{
    uint32_t index;
    uint64_t generation = 1;
    if (all->idle_count > 0) {
        index = all->idle[--all->idle_count];
        generation = (all->records[index].value >> HANDLES_INDEX_BITS & HANDLES_LOW) + !all->reuse;
    } else {
        if (all->count == HANDLES_MOST) program_no_memory();
        ARRAY_RESERVE_BOTH(all->records, all->idle, all->capacity, all->count + 1);
        index = all->count++;
    }
    /* from low bits to high: record, generation, machine */
    uint64_t value = (all->serial & 0x7FFF) << 48 | (generation & HANDLES_LOW) << HANDLES_INDEX_BITS
                   | (index + HANDLES_FIRST);
    handle_record made = { value, object, kind };
    all->records[index] = made;
    return (void *)(uintptr_t)made.value;
}

static handle_record *handles_record(const handles *all, const void *value)
{
    uint64_t number = (uint64_t)(uintptr_t)value, index = (number & HANDLES_LOW) - HANDLES_FIRST;
    return index < all->count && all->records[index].value == number ? &all->records[index] : NULL;
}

void *handles_find(const handles *all, const void *value, handle_kind kind)
{
    const handle_record *found = handles_record(all, value);
    return found && found->kind == kind ? found->object : NULL;
}

void handles_drop(handles *all, const void *value)
{
    handle_record *record = handles_record(all, value);
    record->kind = HANDLE_NONE;
    record->object = NULL;
    all->idle[all->idle_count++] = (uint32_t)(record - all->records);
}

void *handles_each(const handles *all, uint32_t index, handle_kind kind, void **value)
{
    const handle_record *record = &all->records[index];
    *value = (void *)(uintptr_t)record->value;
    return record->kind == kind ? record->object : NULL;
}

void handles_destroy(handles *all)
{
    free(all->records);
    free(all->idle);
    memset(all, 0, sizeof *all);
}

/* ---- The common parts of every call of the machine: addresses, counting, faults, the clock */

uint64_t engine_address(const sim_device *device, uint64_t offset)
{
    return device->base_address + offset;
}

int engine_offset(const sim_device *device, uint64_t address, uint64_t *offset)
{
    *offset = address - device->base_address;
    return address >= device->base_address && *offset < device->space_bytes;
}

sim_device *engine_device(const sim *machine, int ordinal)
{
    return ordinal >= 0 && ordinal < machine->device_count ? &machine->devices[ordinal] : NULL;
}

sim_device *engine_owner(const sim *machine, uint64_t address, uint64_t *offset)
{
    uint64_t owner = (address - ENGINE_FIRST_ADDRESS) / machine->device_space, inside;
    sim_device *found = NULL;
    if (address >= ENGINE_FIRST_ADDRESS) {
        if (owner < (uint64_t)machine->device_count) found = &machine->devices[owner];
    } else {
        for (int i = 0; i < SIM_BANK_COUNT && !found; i++) {
            if (engine_offset(&machine->banks[i], address, &inside)) found = &machine->banks[i];
        }
    }
    if (!found || !engine_offset(found, address, &inside) || !devmem_has_given(&found->memory, inside)) return NULL;
    if (offset) *offset = inside;
    return found;
}

int engine_find(const sim_device *device, uint64_t address, int is_base, devmem_place *place)
{
    uint64_t offset;
    memset(place, 0, sizeof *place);
    return engine_offset(device, address, &offset) && devmem_find(&device->memory, offset, place)
        && (!is_base || place->offset == offset);
}

engine_text engine_name(const sim_device *device, uint64_t address)
{
    uint64_t offset;
    engine_text name = { "an address of no device" };
    const sim_device *owner = engine_owner(device->sim, address, &offset);
    if (!owner) return name;
    if (owner->bank) {
        snprintf(name.text, sizeof name.text, "%s +0x%" PRIx64, owner->bank, offset);
    } else if (owner == device) {
        snprintf(name.text, sizeof name.text, "+0x%" PRIx64, offset);
    } else {
        snprintf(name.text, sizeof name.text, "device %d +0x%" PRIx64, owner->ordinal, offset);
    }
    return name;
}

uint64_t engine_thread(const sim *machine)
{
    return machine->acting_thread ? machine->acting_thread : (uint64_t)(uintptr_t)pthread_self();
}

void engine_open_context(sim_device *device)
{
    if (!device->has_context) {
        device->has_context = 1;
        sim_advance(device->sim, engine_cost_ns(device, SIM_COST_CONTEXT, 0));
    }
}

const sim_call_row sim_call_rows[SIM_CALL_KINDS + 1] = {
#define X(name, text, cuda_name, code, cost, trait) { text, #cuda_name, code, SIM_COST_##cost, SIM_##trait },
    SIM_CALLS(X)
#undef X
    { "any", "any", SIM_UNKNOWN, SIM_COST_NONE, SIM_PLAIN }
};

uint64_t engine_cost_ns(const sim_device *device, sim_cost_kind kind, uint64_t bytes)
{
    return sim_costs_ns(&device->sim->costs, kind, bytes);
}

void engine_end_call(const engine_call *self)
{
    sim_device *device = self->device;
    uint64_t cost_ns = self->cost_ns + faults_stall_ns(&device->sim->faults, self->kind);
    device->counted.vns[self->kind] += cost_ns;
    if (sim_call_rows[self->kind].traits & SIM_COUNTED) device->counted.memory_vns += cost_ns;
    sim_advance(device->sim, cost_ns);
}

void engine_tell(const sim_device *device, sim_call kind, uint64_t address, uint64_t bytes)
{
    if (device->sim->watch) {
        device->sim->watch(device->sim->watch_user, kind, address, bytes);
    }
}

/* ---- The simulated machine from outside: life, clock, operations, counters, contents */

typedef char sim_pointers_hold_device_addresses[sizeof(void *) >= sizeof(uint64_t) ? 1 : -1];

static int sim_check_config(const sim_config *config, problem *why)
{
    if (config->device_count > SIM_MAX_DEVICES) {
        return problem_set(why, EXIT_USAGE, "simulated devices: %" PRIu32 ", expected 1 to %d", config->device_count,
                           SIM_MAX_DEVICES);
    }
    if (config->capacity_bytes > SIM_MAX_CAPACITY) {
        return problem_set(why, EXIT_USAGE, "simulated device of %" PRIu64 " bytes, expected at most %" PRIu64,
                           config->capacity_bytes, SIM_MAX_CAPACITY);
    }
    if (config->capacity_bytes > ENGINE_MOST_CAPACITY / config->device_count) {
        return problem_set(why, EXIT_USAGE, "%" PRIu32 " simulated devices of %" PRIu64 " bytes, expected at most %"
                           PRIu64 " in all", config->device_count, config->capacity_bytes, ENGINE_MOST_CAPACITY);
    }
    if (config->context_bytes > config->capacity_bytes) {
        return problem_set(why, EXIT_USAGE, "context of %" PRIu64 " bytes, expected at most the device's %" PRIu64,
                           config->context_bytes, config->capacity_bytes);
    }
    return 0;
}

static void sim_create_devices(sim *machine, const sim_config *config)
{
    int device_count = (int)config->device_count;
    machine->devices = program_need((size_t)device_count + SIM_BANK_COUNT, sizeof *machine->devices);
    machine->banks = machine->devices + device_count;
    machine->device_count = device_count;
    uint64_t share = (DEVMEM_SPACE - ENGINE_FIRST_ADDRESS) / (uint64_t)device_count / SIM_GRANULE;
    uint64_t obtain_space = share * 5 / 8 * SIM_GRANULE;
    machine->device_space = share * SIM_GRANULE;
    if (obtain_space > ENGINE_MOST_OBTAIN) obtain_space = ENGINE_MOST_OBTAIN;
    for (int i = 0; i < device_count; i++) {
        machine->devices[i].sim = machine;
        machine->devices[i].ordinal = i;
        machine->devices[i].pool_chunk_bytes = SIM_POOL_CHUNK;
        machine->devices[i].base_address = ENGINE_FIRST_ADDRESS + (uint64_t)i * machine->device_space;
        machine->devices[i].space_bytes = machine->device_space;
        devmem_init(&machine->devices[i].memory, i, config->capacity_bytes, config->context_bytes, obtain_space,
                    machine->device_space);
    }
}

int sim_config_read(sim_config *config, slice key, slice value)
{
    uint64_t number;
    if (slice_is(key, "vm") && (slice_is(value, "off") || slice_is(value, "on"))) {
        config->without_vm = slice_is(value, "off") ? 1 : 0;
        return 1;
    }
    if (!slice_is(key, "mappings") || !slice_decimal(value, &number) || number == 0 || number > UINT32_MAX) return 0;
    config->most_mappings = (uint32_t)number;
    return 1;
}

sim *sim_create(const sim_config *config, problem *why)
{
    sim_config full = *config;
    if (!full.device_count) full.device_count = 1;
    if (!full.capacity_bytes) full.capacity_bytes = SIM_DEFAULT_CAPACITY;
    if (sim_check_config(&full, why)) return NULL;
    sim *made = program_need(1, sizeof *made);
    made->costs = full.costs ? *full.costs : *sim_costs_default();
    made->most_mappings = full.most_mappings ? full.most_mappings : SIM_DEFAULT_MAPPINGS;
    made->without_vm = full.without_vm != 0;
    pthread_mutex_init(&made->mutex, NULL);
    sim_create_devices(made, &full);
    banks_create(made, full.capacity_bytes);
    if (!faults_parse(full.faults, made->device_count, &made->faults, why)) return made;
    sim_destroy(made);
    return NULL;
}

void sim_destroy(sim *machine)
{
    if (!machine) return;
    work_destroy(machine);
    for (int i = 0; i < machine->device_count + SIM_BANK_COUNT; i++) {
        mempools_destroy(&machine->devices[i]);
        devmem_destroy(&machine->devices[i].memory);
    }
    pthread_mutex_destroy(&machine->mutex);
    free(machine->devices);
    free(machine);
}

uint64_t sim_now_ns(const sim *machine)
{
    return machine->now_ns;
}

void sim_advance(sim *machine, uint64_t ns)
{
    machine->now_ns = ns > UINT64_MAX - machine->now_ns ? UINT64_MAX : machine->now_ns + ns;
}

void sim_rival(sim *machine, int device, uint64_t bytes, int gives_back)
{
    sim_device *found = engine_device(machine, device);
    if (!found) return;
    devmem *memory = &found->memory;
    uint64_t most = gives_back ? memory->rival_bytes : devmem_free_bytes(memory);
    uint64_t moved = bytes < most ? bytes : most;
    memory->rival_bytes = gives_back ? memory->rival_bytes - moved : memory->rival_bytes + moved;
}

void sim_begin_op(sim *machine, uint64_t op)
{
    const fault *rival;
    machine->judge.op = op;
    machine->judge.op_begun = 1;
    while ((rival = faults_next_rival(&machine->faults, op)) != NULL) {
        sim_rival(machine, rival->device, rival->bytes, rival->gives_back);
    }
}

void sim_fail_call(sim *machine, sim_call kind, uint64_t nth, int lasting, int code)
{
    fault campaign = { FAULT_CALL, kind, 0, lasting, code, 0, 0, 0, 0 };
    if (nth > 0 && kind <= SIM_CALL_KINDS) {
        campaign.nth = machine->faults.calls[kind] + nth;
    }
    machine->faults.campaign = campaign;
}

int sim_fail_fired(const sim *machine)
{
    return machine->faults.campaign.fired;
}

int sim_pool_chunk(sim *machine, int device, uint64_t bytes)
{
    sim_device *found = engine_device(machine, device);
    if (!found || bytes > SIM_MAX_CAPACITY) return -1;
    found->pool_chunk_bytes = bytes ? memory_round_up(bytes, SIM_GRANULE) : SIM_POOL_CHUNK;
    return 0;
}

void sim_get_counters(const sim *machine, int device, sim_counters *counters)
{
    const sim_device *found = engine_device(machine, device);
    memset(counters, 0, sizeof *counters);
    if (!found) return;
    *counters = found->counted;
    sim_get_sums(machine, device, counters);
}

void sim_get_sums(const sim *machine, int device, sim_counters *counters)
{
    const sim_device *found = engine_device(machine, device);
    if (!found) return;
    counters->memory_calls = found->counted.memory_calls;
    counters->memory_vns = found->counted.memory_vns;
    counters->held_bytes = found->memory.held_bytes;
    counters->held_peak_bytes = found->memory.held_peak_bytes;
    counters->handle_count = found->memory.page_count - found->memory.obtained.count;        /* one each */
    counters->mapping_count = devmem_mapping_count(&found->memory);
    counters->reserved_address_bytes = found->memory.reserved.bytes;
    counters->rival_bytes = found->memory.rival_bytes;
    counters->host_bytes = machine->banks[SIM_BANK_HOST].memory.held_bytes;
    counters->host_peak_bytes = machine->banks[SIM_BANK_HOST].memory.held_peak_bytes;
    counters->managed_bytes = machine->banks[SIM_BANK_MANAGED].memory.held_bytes;
    counters->managed_peak_bytes = machine->banks[SIM_BANK_MANAGED].memory.held_peak_bytes;
    mempools_count(found, counters);
    counters->findings = machine->judge.by_device[device];
    counters->lies_held = 0;
    for (int i = 0; i < machine->lie_count; i++) {
        counters->lies_held += machine->lies[i].device == found;
    }
}

void sim_reset_counters(sim *machine, int device)
{
    sim_device *found = engine_device(machine, device);
    if (!found) return;
    memset(&found->counted, 0, sizeof found->counted);
    found->memory.held_peak_bytes = found->memory.held_bytes;
    machine->judge.by_device[device] = 0;
}

void sim_watch(sim *machine, sim_watch_fn *watch, void *user)
{
    machine->watch = watch;
    machine->watch_user = user;
}

const char *sim_finding(const sim *machine, uint64_t index)
{
    const judge *book = &machine->judge;
    return index < book->count && index < JUDGE_KEPT ? book->texts[index] : NULL;
}

int sim_finding_is_of_order(const sim *machine, uint64_t index)
{
    return sim_finding(machine, index) && machine->judge.are_of_order[index];
}

uint64_t sim_finding_count(const sim *machine)
{
    return machine->judge.count;
}

/* The device or bank that an address of this device lies in, and the offset there. NULL: there is no such device. */
static sim_device *sim_find_memory(const sim *machine, int device, const void *ptr, uint64_t *offset)
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    sim_device *found = engine_device(machine, device);
    sim_device *bank = found && address < ENGINE_FIRST_ADDRESS ? engine_owner(machine, address, NULL) : NULL;
    if (bank) found = bank;
    if (found) engine_offset(found, address, offset);
    return found;
}

int sim_holds(const sim *machine, int device, const void *ptr, uint64_t bytes)
{
    uint64_t offset;
    const sim_device *found = sim_find_memory(machine, device, ptr, &offset);
    return bytes == 0 || (found && devmem_reaches(&found->memory, offset, bytes, found->memory.device));
}

/* The device, and the offset of a range that it holds; else NULL and a finding. */
static sim_device *sim_touch(sim *machine, int device, const char *action, const void *ptr, uint64_t bytes,
                             uint64_t *offset)
{
    sim_device *found = sim_find_memory(machine, device, ptr, offset);
    if (!found) {
        judge_report(&machine->judge, device, "%s on a device that does not exist", action);
    } else if (!devmem_reaches(&found->memory, *offset, bytes, found->memory.device)) {
        judge_report(&machine->judge, device, "%s of %" PRIu64 " bytes at %s, which are %s", action, bytes,
                     engine_name(found, (uint64_t)(uintptr_t)ptr).text, access_lack(found, *offset));
        return NULL;
    }
    return found;
}

void sim_fill(sim *machine, int device, const void *ptr, uint64_t bytes, uint64_t pattern)
{
    uint64_t offset;
    sim_device *found = sim_touch(machine, device, "fill", ptr, bytes, &offset);
    if (found) devmem_fill(&found->memory, offset, bytes, pattern);
}

int sim_verify(sim *machine, int device, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset)
{
    uint64_t offset;
    *bad_offset = 0;
    sim_device *found = sim_touch(machine, device, "verify", ptr, bytes, &offset);
    return found ? devmem_verify(&found->memory, offset, bytes, pattern, bad_offset) : 0;
}

/* ---- Streams of the simulated machine from outside: a workload's own calls, free of charge */

void sim_thread(sim *machine, uint64_t thread)
{
    machine->acting_thread = thread;
}

void sim_reuse_handles(sim *machine, int reuse)
{
    machine->handles.reuse = reuse != 0;
}

int sim_stream_create(sim *machine, int device, int is_blocking, gpuarena_stream *made)
{
    void *handle;
    sim_device *found = engine_device(machine, device);
    int code = found && made ? work_create_stream(found, is_blocking, &handle) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *made = handle;
    return code;
}

/* A call about a device that there may not be. action NULL: there are no findings of it. */
static engine_call sim_call_on(sim *machine, int device, const char *action)
{
    const engine_call call = { .machine = machine, .device = engine_device(machine, device), .action = action,
                               .code = SIM_INVALID_VALUE };
    return call;
}

int sim_stream_destroy(sim *machine, int device, gpuarena_stream stream)
{
    const engine_call call = sim_call_on(machine, device, "destruction of a stream");
    return call.device ? work_destroy_stream(&call, stream) : call.code;
}

int sim_device_wait(sim *machine, int device)
{
    engine_call call = sim_call_on(machine, device, "wait for the device");
    if (call.device) call.code = work_wait_device(&call);
    sim_advance(machine, call.cost_ns);
    return call.code;
}

/* The follower waits for all commands so far of the call's stream. */
static int sim_follow(engine_call *call, gpuarena_stream follower)
{
    void *point;
    int code = event_create(call->device, 0, &point);
    if (code != SIM_SUCCESS) return code;
    call->code = event_record(call, point);
    if (call->code == SIM_SUCCESS && work_take_stream(call, follower)) call->code = event_follow(call, point);
    event_destroy(call->machine, point);
    return call->code;
}

/* Defines a call about a stream. answer: its code if there is the stream, an expression in `call`. A wait takes its
   time. */
#define SIM_STREAM_FUNCTION(name, action, parameters, answer) \
    int name parameters \
    { \
        engine_call call = sim_call_on(machine, device, action); \
        if (call.device && work_take_stream(&call, stream)) call.code = (answer); \
        sim_advance(machine, call.cost_ns); \
        return call.code; \
    }

SIM_STREAM_FUNCTION(sim_stream_query, "query of a stream", (sim *machine, int device, gpuarena_stream stream),
                    work_wait_stream(&call, 0))
SIM_STREAM_FUNCTION(sim_stream_wait, "wait for a stream", (sim *machine, int device, gpuarena_stream stream),
                    work_wait_stream(&call, 1))
SIM_STREAM_FUNCTION(sim_stream_follow, "wait of a stream",
                    (sim *machine, int device, gpuarena_stream follower, gpuarena_stream stream),
                    sim_follow(&call, follower))
SIM_STREAM_FUNCTION(sim_work, "work", (sim *machine, int device, gpuarena_stream stream, uint64_t work_ns),
                    launch_command(&call, work_ns, NULL, NULL, 0))
SIM_STREAM_FUNCTION(sim_access, "use of memory",
                    (sim *machine, int device, gpuarena_stream stream, const void *ptr, uint64_t bytes,
                     uint64_t owner, uint64_t op),
                    launch_use(&call, ptr, bytes, owner, op))
SIM_STREAM_FUNCTION(sim_capture_begin, NULL, (sim *machine, int device, gpuarena_stream stream, int mode),
                    work_begin_capture(&call, mode))

int sim_capture_end(sim *machine, int device, gpuarena_stream stream, void **made)
{
    graph *captured = NULL;
    engine_call call = sim_call_on(machine, device, "end of a capture");
    if (call.device && work_take_stream(&call, stream)) call.code = work_end_capture(&call, &captured);
    *made = work_keep_graph(machine, HANDLE_GRAPH, captured);
    return call.code;
}

int sim_graph_launch(sim *machine, int device, void *handle, gpuarena_stream stream, uint64_t op)
{
    engine_call call = sim_call_on(machine, device, "launch of a graph");
    graph *launched = handles_find(&machine->handles, handle, HANDLE_GRAPH);
    return call.device && launched && work_take_stream(&call, stream) ? launch_graph(&call, launched, op) : call.code;
}

int sim_graph_destroy(sim *machine, void *handle)
{
    return work_drop_graph(machine, HANDLE_GRAPH, handle);
}

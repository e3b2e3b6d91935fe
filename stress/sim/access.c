/* Uses, checked granule by granule, and their findings. */
#include "access.h"

#include <inttypes.h>

typedef struct access_name { char text[40]; } access_name;

static access_name access_stream_name(uint64_t id)
{
    access_name name = { "the legacy stream" };
    if (id < STREAMS_LEGACY_ID) {
        snprintf(name.text, sizeof name.text, "stream %" PRIu64, id);
    }
    return name;
}

static void access_report_unordered(const sim_device *device, const stream_queue *by, const access_range *range,
                                    const touch *other)
{
    judge_report(&device->sim->judge, device->ordinal, "op %" PRIu64 " on %s uses %" PRIu64 " bytes at %s: not "
                 "ordered after op %" PRIu64 " on %s", range->op, access_stream_name(by->id).text, range->bytes,
                 engine_name(device, range->address).text, other->op, access_stream_name(other->stream).text);
    judge_is_of_order(&device->sim->judge);
}

static void access_report_taken(const sim_device *device, const stream_queue *by, const access_range *range,
                                const touch *other)
{
    judge_report(&device->sim->judge, device->ordinal, "op %" PRIu64 " on %s launches a graph, captured at op %"
                 PRIu64 ", that uses %" PRIu64 " bytes at %s: handed to another since, who used them at op %" PRIu64
                 " on %s",
                 range->op, access_stream_name(by->id).text, range->captured_op, range->bytes,
                 engine_name(device, range->address).text, other->op, access_stream_name(other->stream).text);
}

static void access_report_host_memory(const sim_device *device)
{
    judge_report(&device->sim->judge, device->ordinal, "no host memory left to judge the order of uses");
}

typedef touch_verdict (*access_change)(touches *all, uint32_t granule, uint32_t from, uint32_t to,
                                       const touch_by *by, touch *other);

/* The first verdict that is not in order, and the other touch. */
static touch_verdict access_walk(sim_device *memory, uint64_t offset, uint64_t bytes, access_change change,
                                 const touch_by *by, touch *other)
{
    touch_verdict result = TOUCH_IN_ORDER;
    uint64_t end = offset + bytes;
    while (offset < end) {
        touch found;
        devmem_part part = devmem_first_part(&memory->memory, offset, end);
        touch_by here = *by;
        here.latest.place = part.place;
        touch_verdict verdict = change(&memory->touches, part.granule, part.from, part.to, &here, &found);
        if (verdict == TOUCH_NO_HOST_MEMORY) return verdict;
        if (verdict != TOUCH_IN_ORDER && result == TOUCH_IN_ORDER) {
            *other = found;
            result = verdict;
        }
        offset += part.to - part.from;
    }
    return result;
}

const char *access_lack(const sim_device *memory, uint64_t offset)
{
    return memory && vspace_reservation(&memory->memory.virtual, offset)
               ? "not all mapped, within one reservation, with access for the device" : "not held by one obtain";
}

/* The memory and the offset of what the stream may use; else NULL, and a finding. */
static sim_device *access_find(sim_device *device, const stream_queue *by, const access_range *range,
                               uint64_t *offset)
{
    sim *machine = device->sim;
    sim_device *memory = engine_owner(machine, range->address);
    *offset = 0;
    if (memory && engine_offset(memory, range->address, offset)
        && devmem_serves(&memory->memory, *offset, range->bytes, device->ordinal)) {
        return memory;
    }
    judge_report(&machine->judge, device->ordinal, "op %" PRIu64 " on %s uses %" PRIu64 " bytes at %s, which are %s",
                 range->op, access_stream_name(by->id).text, range->bytes, engine_name(device, range->address).text,
                 access_lack(memory, *offset));
    if (memory && vspace_reservation(&memory->memory.virtual, *offset) && !device->lost_code) {
        device->lost_code = SIM_ILLEGAL_ADDRESS;
    }
    return NULL;
}

static void access_report_remapped(const sim_device *device, const stream_queue *by, const access_range *range)
{
    judge_report(&device->sim->judge, device->ordinal, "op %" PRIu64 " on %s launches a graph, captured at op %"
                 PRIu64 ", that uses %" PRIu64 " bytes at %s: unmapped since, and mapped anew", range->op,
                 access_stream_name(by->id).text, range->captured_op, range->bytes,
                 engine_name(device, range->address).text);
}

/* 1: a graph was captured with these addresses, and they were mapped anew since. */
static int access_was_remapped(const sim_device *memory, uint64_t offset, const access_range *range)
{
    const vspace_mapping *mapped;
    uint64_t end = range->is_launched ? offset + range->bytes : 0;
    for (uint64_t at = offset; at < end && (mapped = vspace_at(&memory->memory.virtual, at)) != NULL;
         at = mapped->offset + mapped->page->bytes) {
        if (mapped->serial > range->captured_mapping) return 1;
    }
    return 0;
}

void access_use(sim_device *device, const stream_queue *by, const access_range *range)
{
    sim *machine = device->sim;
    uint64_t offset;
    if (range->bytes == 0) return;
    sim_device *memory = access_find(device, by, range, &offset);
    if (!memory) return;
    if (access_was_remapped(memory, offset, range)) {
        access_report_remapped(device, by, range);
        return;
    }
    touch other;
    touch_by use = { { vclock_get(&by->seen, by->line), range->op, by->id, by->line, (uint32_t)range->is_launched,
                       0 }, range->owner, range->captured_op, &by->seen, &machine->streams.host };
    touch_verdict verdict = access_walk(memory, offset, range->bytes, touches_add, &use, &other);
    if (verdict == TOUCH_UNORDERED) {
        access_report_unordered(device, by, range, &other);
    } else if (verdict == TOUCH_TAKEN) {
        access_report_taken(device, by, range, &other);
    } else if (verdict == TOUCH_NO_HOST_MEMORY) {
        access_report_host_memory(device);
    }
}

uint64_t access_owner_of(const sim_device *device, uint64_t address)
{
    uint64_t offset, base;
    const sim_device *memory = engine_owner(device->sim, address);
    if (!memory || !engine_offset(memory, address, &offset) || !devmem_base(&memory->memory, offset, &base)) {
        return ACCESS_BY_OBTAIN;
    }
    return ACCESS_BY_OBTAIN | engine_address(memory, base);
}

static void access_report_not_after(const sim_device *device, const char *action, uint64_t bytes, const char *where,
                                    const touch *other)
{
    judge_report(&device->sim->judge, device->ordinal, "%s of %" PRIu64 " bytes%s: not known to be after op %" PRIu64
                 " on %s", action, bytes, where, other->op, access_stream_name(other->stream).text);
}

/* " at +0x200000": for the sentence above. */
static engine_text access_where(const sim_device *device, uint64_t offset)
{
    engine_text where;
    snprintf(where.text, sizeof where.text, " at %.40s", engine_name(device, engine_address(device, offset)).text);
    return where;
}

void access_end(sim_device *device, uint64_t offset, uint64_t bytes, const char *action)
{
    touch other;
    sim *machine = device->sim;
    const touch_by host = { { 0, 0, 0, 0, 0, 0 }, 0, 0, &machine->streams.host, &machine->streams.host };
    touch_verdict verdict = access_walk(device, offset, bytes, touches_end, &host, &other);
    if (verdict == TOUCH_UNORDERED) {
        access_report_not_after(device, action, bytes, access_where(device, offset).text, &other);
    } else if (verdict == TOUCH_NO_HOST_MEMORY) {
        access_report_host_memory(device);
    }
}

void access_leave(sim_device *device, uint64_t offset, uint64_t bytes, const char *action)
{
    for (uint64_t at = offset; at < offset + bytes; at += SIM_GRANULE) {
        touch other;
        devmem_part part = devmem_first_part(&device->memory, at, offset + bytes);
        if (touches_pending(&device->touches, part.granule, part.place, &device->sim->streams.host, &other)) {
            access_report_not_after(device, action, bytes, access_where(device, offset).text, &other);
            return;
        }
    }
}

void access_end_page(sim_device *device, const vspace_page *page, int is_reported, const char *action)
{
    sim *machine = device->sim;
    const touch_by host = { { 0, 0, 0, 0, 0, 0 }, 0, 0, &machine->streams.host, &machine->streams.host };
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) {
        touch other;
        touch_verdict verdict = touches_end(&device->touches, page->granules[i], 0, (uint32_t)SIM_GRANULE, &host,
                                            &other);
        if (verdict == TOUCH_UNORDERED && !is_reported) {
            access_report_not_after(device, action, page->bytes, " in a handle", &other);
            is_reported = 1;
        } else if (verdict == TOUCH_NO_HOST_MEMORY) {
            access_report_host_memory(device);
        }
    }
}

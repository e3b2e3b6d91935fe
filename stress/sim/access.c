/* Uses, checked granule by granule, and their findings.
   Must not know of calls.
   Tested by tests/test_sim_order.c and tests/test_sim_races.c. */
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
        touch_verdict verdict = change(&memory->touches, part.granule, part.from, part.to, by, &found);
        if (verdict == TOUCH_NO_HOST_MEMORY) {
            return verdict;
        }
        if (verdict != TOUCH_IN_ORDER && result == TOUCH_IN_ORDER) {
            *other = found;
            result = verdict;
        }
        offset += part.to - part.from;
    }
    return result;
}

void access_use(sim_device *device, const stream_queue *by, const access_range *range)
{
    sim *machine = device->sim;
    uint64_t offset;
    sim_device *memory = engine_owner(machine, range->address);
    if (range->bytes == 0) {
        return;
    }
    if (!memory || !engine_offset(memory, range->address, &offset)
        || !devmem_holds(&memory->memory, offset, range->bytes)) {
        judge_report(&machine->judge, device->ordinal, "op %" PRIu64 " on %s uses %" PRIu64 " bytes at %s, which are "
                     "not held by one obtain", range->op, access_stream_name(by->id).text, range->bytes,
                     engine_name(device, range->address).text);
        return;
    }
    touch other;
    touch_by use = { { vclock_get(&by->seen, by->line), range->op, by->id, by->line, (uint32_t)range->is_launched },
                     range->owner, range->captured_op, &by->seen, &machine->streams.host };
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
    uint64_t offset;
    devmem_place place;
    const sim_device *memory = engine_owner(device->sim, address);
    if (!memory || !engine_offset(memory, address, &offset) || !devmem_find(&memory->memory, offset, &place)) {
        return ACCESS_BY_OBTAIN;
    }
    return ACCESS_BY_OBTAIN | engine_address(memory, place.offset);
}

void access_end(sim_device *device, uint64_t offset, uint64_t bytes, const char *action)
{
    touch other;
    sim *machine = device->sim;
    const touch_by host = { { 0, 0, 0, 0, 0 }, 0, 0, &machine->streams.host, &machine->streams.host };
    touch_verdict verdict = access_walk(device, offset, bytes, touches_end, &host, &other);
    if (verdict == TOUCH_UNORDERED) {
        judge_report(&machine->judge, device->ordinal, "%s of %" PRIu64 " bytes at %s: not known to be after op %"
                     PRIu64 " on %s", action, bytes, engine_name(device, engine_address(device, offset)).text,
                     other.op, access_stream_name(other.stream).text);
    } else if (verdict == TOUCH_NO_HOST_MEMORY) {
        access_report_host_memory(device);
    }
}

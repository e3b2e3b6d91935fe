/* Uses, checked granule by granule, and their findings. */
#include "engine.h"

typedef struct access_text { char text[224]; } access_text;

static engine_text access_stream(uint64_t id)
{
    engine_text name = { "the legacy stream" };
    if (id < STREAMS_LEGACY_ID) snprintf(name.text, sizeof name.text, "stream %" PRIu64, id);
    return name;
}

/* "op 3 on stream 1 uses 512 bytes at +0x200000"; of a graph: " launches a graph, captured at op 2, that uses". */
static access_text access_uses(const sim_device *device, const stream_queue *by, const access_range *range,
                               int of_graph)
{
    access_text said;
    char captured[64] = "";
    if (of_graph) snprintf(captured, sizeof captured, " launches a graph, captured at op %" PRIu64 ", that",
                           range->captured_op);
    snprintf(said.text, sizeof said.text, "op %" PRIu64 " on %s%s uses %" PRIu64 " bytes at %s", range->op,
             access_stream(by->id).text, captured, range->bytes, engine_name(device, range->address).text);
    return said;
}

const char *access_lack(const sim_device *memory, uint64_t offset)
{
    return memory && devmem_reservation(&memory->memory, offset)
               ? "not all mapped, within one reservation, with access for the device" : "not held by one obtain";
}

/* The memory and the offset of a range that the stream may use; else NULL, and a finding. */
static sim_device *access_find(sim_device *device, const stream_queue *by, const access_range *range,
                               uint64_t *offset)
{
    sim_device *memory = engine_owner(device->sim, range->address, offset);
    if (memory && devmem_reaches(&memory->memory, *offset, range->bytes, device->ordinal)) return memory;
    ENGINE_REPORT(device, "%s, which are %s", access_uses(device, by, range, 0).text, access_lack(memory, *offset));
    if (memory && devmem_reservation(&memory->memory, *offset) && !device->lost_code) {
        device->lost_code = SIM_ILLEGAL_ADDRESS;
    }
    return NULL;
}

/* Tells whether a graph was captured with these addresses, and they were mapped anew since. */
static int access_was_remapped(const sim_device *memory, uint64_t offset, const access_range *range)
{
    const devmem_mapping *mapped;
    uint64_t end = range->is_launched ? offset + range->bytes : 0;
    for (uint64_t at = offset; at < end && (mapped = devmem_mapped(&memory->memory, at)) != NULL;
         at = mapped->end) {
        if (mapped->serial > range->captured_mapping) return 1;
    }
    return 0;
}

void access_use(sim_device *device, const stream_queue *by, const access_range *range)
{
    judge *book = &device->sim->judge;
    uint64_t offset = 0;
    if (range->bytes == 0) return;
    sim_device *memory = access_find(device, by, range, &offset);
    if (!memory) return;
    if (access_was_remapped(memory, offset, range)) {
        ENGINE_REPORT(device, "%s: unmapped since, and mapped anew", access_uses(device, by, range, 1).text);
        return;
    }
    touch other = { 0, 0, 0, 0, 0, 0, 0 }, found;
    touch_verdict verdict = TOUCH_IN_ORDER;
    const vclock *seen = &by->done.seen;
    touch latest = { vclock_get(seen, by->line), range->op, by->id, by->line, range->is_launched != 0, 1, 0 };
    touch_by use = { latest, range->owner, range->captured_op, seen, &device->sim->streams.host, 0 };
    for (DEVMEM_EACH(part, &memory->memory, offset, range->bytes)) {
        use.latest.place = part.place;
        touch_verdict here = touches_add(part.unit, part.from, part.to, &use, &found);
        if (here == TOUCH_IN_ORDER || verdict != TOUCH_IN_ORDER) continue;
        verdict = here;
        other = found;
    }
    if (verdict == TOUCH_UNORDERED) {
        ENGINE_REPORT(device, "%s: not ordered after op %" PRIu64 " on %s", access_uses(device, by, range, 0).text,
                      other.op, access_stream(other.stream).text);
        if (book->count <= JUDGE_KEPT) book->are_of_order[book->count - 1] = 1;
    } else if (verdict == TOUCH_TAKEN) {
        ENGINE_REPORT(device, "%s: handed to another since, who used them at op %" PRIu64 " on %s",
                      access_uses(device, by, range, 1).text, other.op, access_stream(other.stream).text);
    }
}

uint64_t access_owner_of(const sim_device *device, uint64_t address)
{
    uint64_t offset, base;
    const sim_device *memory = engine_owner(device->sim, address, &offset);
    if (!memory || !devmem_base(&memory->memory, offset, &base)) return ACCESS_BY_OBTAIN;
    return ACCESS_BY_OBTAIN | engine_address(memory, base);
}

/* ---- The host takes memory away, or addresses */

static void access_report(const sim_device *device, const char *action, uint64_t bytes, const char *where,
                          const touch *other)
{
    ENGINE_REPORT(device, "%s of %" PRIu64 " bytes %s: not known to be after op %" PRIu64 " on %s", action, bytes,
                  where, other->op, access_stream(other->stream).text);
}

static touch_by access_host(const sim_device *device)
{
    const vclock *host = &device->sim->streams.host;
    const touch_by by = { .seen = host, .host = host, .is_end = 1 };
    return by;
}

/* Only the first use that is not known to be done is reported. */
void access_end(const sim_device *device, access_gone what, uint64_t offset, uint64_t bytes, const char *action)
{
    const touch_by host = access_host(device);
    int is_reported = 0;
    for (DEVMEM_EACH(part, &device->memory, offset, bytes)) {
        touch other;
        int is_pending = what == ACCESS_ADDRESSES
                             ? touches_pending(part.unit, part.place, host.host, &other)
                             : touches_add(part.unit, part.from, part.to, &host, &other) == TOUCH_UNORDERED;
        if (!is_pending || is_reported++) continue;
        char where[64];
        snprintf(where, sizeof where, "at %s", engine_name(device, engine_address(device, offset)).text);
        access_report(device, action, bytes, where, &other);
    }
}

void access_end_page(const sim_device *device, devmem_page *page, int is_reported, const char *action)
{
    const touch_by host = access_host(device);
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) {
        touch other;
        touch_verdict verdict = touches_add(&page->granules[i], 0, (uint32_t)SIM_GRANULE, &host, &other);
        if (verdict != TOUCH_UNORDERED || is_reported++) continue;
        access_report(device, action, page->bytes, "in a handle", &other);
    }
}

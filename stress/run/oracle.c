/* The checks of the shadow model, each with a name; the first violation stays. */
#include "oracle.h"

/* ---- Live blocks in order of address */

void oracle_map_init(oracle_map *map, uint32_t block_count)
{
    map->spans = program_need(block_count, sizeof *map->spans);
    map->by_address = (treap){ NULL, 0 };
}

void oracle_map_clear(oracle_map *map)
{
    free(map->spans);
    memset(map, 0, sizeof *map);
}

/* Live blocks are apart: if any overlaps, then the last that begins before the end does. */
int oracle_map_insert(oracle_map *map, uint32_t block, uint64_t address, uint64_t bytes, uint32_t *other)
{
    oracle_span *made = &map->spans[block], *last = treap_until(&map->by_address, address + bytes - 1);
    if (last && (last->place.key > address || address - last->place.key < last->bytes)) {
        *other = (uint32_t)(last - map->spans);
        return 0;
    }
    treap_add(&map->by_address, &made->place, made, address, 0, 0);
    made->bytes = bytes;
    return 1;
}

void oracle_map_remove(oracle_map *map, uint32_t block)
{
    treap_remove(&map->by_address, &map->spans[block].place);
    map->spans[block].bytes = 0;
}

/* ---- The checks of the shadow model, each with a name */

struct oracle {
    verify_mode     verify;
    const pool     *watched;
    problem         why;                         /* of a device that fails */
    oracle_map      map;                         /* live blocks, with the bytes they occupy */
    oracle_sums     known;                       /* of blocks of more than 0 bytes */
    uint64_t        due_check_op;                /* op at which gpuarena_check is called next */
    char            violation[400];
    oracle_fault    whose;
};

oracle *oracle_create(verify_mode verify, const pool *watched, uint32_t block_count)
{
    oracle *made = program_need(1, sizeof *made);
    made->verify = verify;
    made->watched = watched;
    oracle_map_init(&made->map, block_count);
    made->due_check_op = ORACLE_CHECK_OPS;
    return made;
}

void oracle_destroy(oracle *self)
{
    if (!self) return;
    oracle_map_clear(&self->map);
    free(self);
}

const char *oracle_violation(const oracle *self)
{
    return self->violation[0] ? self->violation : NULL;
}

oracle_fault oracle_whose(const oracle *self)
{
    return self->whose;
}

PROBLEM_FORMAT(5, 6)
static int oracle_report(oracle *self, uint64_t op, uint32_t block, const char *name, const char *format, ...)
{
    if (self->violation[0]) return -1;
    char what[256], where[32] = "";
    PROBLEM_PRINT(what, sizeof what, format);
    if (block != ORACLE_NO_BLOCK) snprintf(where, sizeof where, "block %" PRIu32 ": ", block);
    snprintf(self->violation, sizeof self->violation, "op %" PRIu64 ": %s: %s%s", op, name, where, what);
    return -1;
}

static int oracle_stick(oracle *self, uint64_t op, uint32_t block)
{
    self->whose = ORACLE_STUCK;
    return oracle_report(self, op, block, "unverified", "%s", self->why.text);
}

/* Each block has its own number, so that bytes of one block in another are detected. */
uint64_t oracle_owner(uint32_t block)
{
    return (uint64_t)block + 1;
}

static int oracle_minds_content(const oracle *self, uint32_t block)
{
    return self->verify == VERIFY_FULL || block % ORACLE_SAMPLE == 0;
}

int oracle_alloc(oracle *self, uint64_t op, uint32_t block, const void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    const uint64_t address = (uint64_t)(uintptr_t)ptr, alignment = self->watched->alignment_bytes;
    const uint64_t occupied = memory_round_up(bytes, alignment);
    uint32_t other = ORACLE_MAP_NONE;
    if (self->violation[0]) return -1;
    if (self->verify == VERIFY_OFF || (!bytes && !ptr)) return 0;
    if (!bytes) return oracle_report(self, op, block, "null_block", "expected NULL for 0 bytes, found memory");
    if (!ptr) return oracle_report(self, op, block, "null_block", "expected memory, found NULL with success");
    if (address % alignment) {
        return oracle_report(self, op, block, "misaligned", "expected a multiple of %" PRIu64 ", found %" PRIu64
                             " bytes past one", alignment, address % alignment);
    }
    if (!device_holds(self->watched->device, ptr, bytes)) {
        return oracle_report(self, op, block, "not_held", "expected %" PRIu64 " bytes of device memory held by the "
                             "policy, found some that are not", bytes);
    }
    if (!oracle_map_insert(&self->map, block, address, occupied, &other)) {
        return oracle_report(self, op, block, "overlap", "expected %" PRIu64 " bytes of its own, found live block %"
                             PRIu32 " in them", occupied, other);
    }
    self->map.spans[block].requested_bytes = bytes;
    self->known.requested_bytes += bytes;
    self->known.live_bytes += occupied;
    self->known.live_count++;
    self->known.alloc_count++;
    if (!oracle_minds_content(self, block)) return 0;
    if (!device_fill(self->watched->device, stream, ptr, bytes, oracle_owner(block), &self->why)) return 0;
    return oracle_stick(self, op, block);
}

int oracle_touch(oracle *self, uint64_t op, uint32_t block)
{
    uint64_t bad_offset = 0;
    if (self->violation[0]) return -1;
    if (self->verify == VERIFY_OFF || !oracle_minds_content(self, block)) return 0;
    const oracle_span *span = &self->map.spans[block];
    if (!span->bytes) return 0;
    const void *ptr = (const void *)(uintptr_t)span->place.key;
    uint64_t bytes = span->requested_bytes;
    int same = device_verify(self->watched->device, ptr, bytes, oracle_owner(block), &bad_offset, &self->why);
    if (same < 0) return oracle_stick(self, op, block);
    if (same) return 0;
    return oracle_report(self, op, block, "content", "expected the bytes written, found others at offset %" PRIu64
                         " of %" PRIu64, bad_offset, bytes);
}

int oracle_free(oracle *self, uint64_t op, uint32_t block)
{
    if (oracle_touch(self, op, block)) return -1;
    const oracle_span *span = &self->map.spans[block];
    if (!span->bytes) return 0;
    self->known.requested_bytes -= span->requested_bytes;
    self->known.live_bytes -= span->bytes;
    self->known.live_count--;
    self->known.free_count++;
    oracle_map_remove(&self->map, block);
    return 0;
}

int oracle_refusal(oracle *self, uint64_t op, uint32_t block, uint64_t bytes, uint64_t largest_free_bytes)
{
    if (self->violation[0]) return -1;
    if (self->verify == VERIFY_OFF) return 0;
    const uint64_t alignment = self->watched->alignment_bytes;
    if (bytes > UINT64_MAX - alignment || memory_round_up(bytes, alignment) > largest_free_bytes) return 0;
    return oracle_report(self, op, block, "spurious",
                         "expected %" PRIu64 " bytes to be served, found a refusal with %" PRIu64
                         " contiguous bytes free",
                         bytes, largest_free_bytes);
}

int oracle_result(oracle *self, uint64_t op, uint32_t block, const char *call, const char *result)
{
    return oracle_report(self, op, block, "result", "expected ok of %s, found %s", call, result);
}

typedef struct oracle_fact {
    const char *name;
    uint64_t    expected, found;
    const char *most;                            /* expected is a bound, in bytes of this kind; NULL: it is exact */
} oracle_fact;

/* Tells whether a fact is false, and describes the first that is. */
static int oracle_is_false(const oracle_fact *facts, size_t count, char *text, size_t size)
{
    for (const oracle_fact *at = facts; at < facts + count; at++) {
        if (at->expected == at->found || (at->most && at->found < at->expected)) continue;
        snprintf(text, size, "%s: expected %s%" PRIu64 "%s%s, found %" PRIu64, at->name, at->most ? "at most " : "",
                 at->expected, at->most ? " bytes " : "", at->most ? at->most : "", at->found);
        return 1;
    }
    return 0;
}

int oracle_differ(const oracle_sums *known, const pool *of, const gpuarena_stats *stats, char *text, size_t size)
{
    uint64_t reserved = stats->reserved_bytes, limit = of->limit_bytes;
    device_counters counted = { .held_bytes = reserved };
    if (!of->rounds_up) device_count(of->device, &counted);
    const oracle_fact facts[] = {
        { "requested_bytes", known->requested_bytes, stats->requested_bytes, NULL },
        { "live_bytes", known->live_bytes, stats->live_bytes, NULL },
        { "live_count", known->live_count, stats->live_count, NULL },
        { "alloc_count", known->alloc_count, stats->alloc_count, NULL },
        { "free_count", known->free_count, stats->free_count, NULL },
        { "misuse_count", 0, stats->misuse_count, NULL },
        { "sum_live", stats->requested_bytes + stats->slack_bytes, stats->live_bytes, NULL },
        { "sum_reserved", stats->live_bytes + stats->pending_bytes + stats->cached_bytes + stats->children_bytes,
          reserved, NULL },
        { "over_limit", limit, reserved, "reserved" },
        { "over_limit", limit, counted.held_peak_bytes - counted.pool_kept_peak_bytes, "held from the device" },
        { "device_held", reserved, counted.held_bytes - counted.pool_kept_bytes, NULL },
    };
    return oracle_is_false(facts, sizeof facts / sizeof facts[0], text, size);
}

/* Reports the judge's finding, without the operation that the report names anyway. */
static int oracle_judge(oracle *self, uint64_t op)
{
    const sim *machine = device_simulated(self->watched->device);
    const char *finding = machine ? sim_finding(machine, 0) : NULL;
    char known[48];
    if (!finding) return 0;
    self->whose = sim_finding_is_of_order(machine, 0) ? ORACLE_ORDER : ORACLE_POLICY;
    size_t length = (size_t)snprintf(known, sizeof known, "op %" PRIu64 ": device 0: ", op);
    if (!strncmp(finding, known, length)) {
        finding += length;
        length = (size_t)snprintf(known, sizeof known, "op %" PRIu64 " on ", op);
        if (!strncmp(finding, known, length)) finding += length;
    }
    return oracle_report(self, op, ORACLE_NO_BLOCK, "device", "%s", finding);
}

int oracle_check(oracle *self, uint64_t op)
{
    char message[200] = "";
    if (self->violation[0]) return -1;
    if (self->verify == VERIFY_OFF || !self->watched->arena) return 0;
    gpuarena_result result = gpuarena_check(self->watched->arena, message, sizeof message);
    if (!result) return 0;
    return oracle_report(self, op, ORACLE_NO_BLOCK, "check", "expected every invariant to hold, found %s: %s",
                         gpuarena_result_name(result), message);
}

/* Reports a violation of no single block, whose text has its name already. */
static int oracle_found(oracle *self, uint64_t op, const char *text)
{
    snprintf(self->violation, sizeof self->violation, "op %" PRIu64 ": %s", op, text);
    return -1;
}

int oracle_settle(oracle *self, uint64_t op, const gpuarena_stats *stats)
{
    char text[256];
    if (self->violation[0]) return -1;
    if (self->verify == VERIFY_OFF) return 0;
    if (self->verify == VERIFY_SAMPLE && op % ORACLE_SAMPLE) return 0;
    if (self->watched->arena && stats && oracle_differ(&self->known, self->watched, stats, text, sizeof text)) {
        return oracle_found(self, op, text);
    }
    if (oracle_judge(self, op)) return -1;
    if (op < self->due_check_op) return 0;
    self->due_check_op = op + ORACLE_CHECK_OPS;
    memory_raise(&self->due_check_op, op + self->known.live_count);
    return oracle_check(self, op);
}

int oracle_end(oracle *self, uint64_t op, uint64_t reserved_bytes)
{
    device_counters counted;
    char text[256];
    if (self->violation[0]) return -1;
    if (self->verify == VERIFY_OFF) return 0;
    device_count(self->watched->device, &counted);
    const oracle_fact facts[] = {
        { "live_at_end", 0, self->known.live_count, NULL }, { "reserved_at_end", 0, reserved_bytes, NULL },
        { "held_at_end", 0, counted.held_bytes, NULL },
    };
    if (oracle_is_false(facts, sizeof facts / sizeof facts[0], text, sizeof text)) {
        return oracle_found(self, op, text);
    }
    return oracle_judge(self, op);
}

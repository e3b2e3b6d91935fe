/* What a script's commands work on: arenas, streams, blocks, capture sets, and the figures that names stand for; and
   what must be true after every command. It must not know how commands are written: script_calls.h does.
   Included by script_calls.h. */
#ifndef TESTS_SCRIPT_WORLD_H
#define TESTS_SCRIPT_WORLD_H

#include "script_device.h"
#include "script_text.h"

enum { MOST_BLOCKS = 4096, MOST_STREAMS = 10240, MOST_SETS = 16, MOST_VALUES = 64, MOST_ACTIONS = 64 };
enum { NAME_BYTES = 32 };
enum { STREAM_NULL = -1, STREAM_ANY = -2, STREAM_OWN = -3, STREAM_THREAD = -4 };    /* else its number */

typedef struct arena_entry {
    char name[NAME_BYTES];
    gpuarena *ptr;
    int is_over, has_pressure;
    uint64_t alloc_count, free_count;            /* what commands of threads got and freed */
    int is_uncounted;                            /* others may have been freed or refused by one call */
} arena_entry;
typedef struct block_entry {
    char name[NAME_BYTES];
    char *ptr;                                   /* kept after the free, for comparisons; NULL: it was refused */
    uint64_t bytes, owner;
    int arena, stream, live, is_unwatched;       /* unwatched: it may have been cleared */
} block_entry;
typedef struct set_entry { char name[NAME_BYTES]; uint64_t number; void *graph; } set_entry;
/* An export, and one import of it. */
typedef struct share_entry {
    char name[NAME_BYTES];
    gpuarena_shared shared;
    void *ptr;                                   /* of the import; NULL: there is none */
    int block, arena;                            /* the number of what is exported, and who imports */
} share_entry;
typedef struct value_entry { char name[NAME_BYTES]; uint64_t value; } value_entry;

typedef struct walked {                          /* what a walk has seen */
    uint64_t live_count, live, requested, pending, free, free_count, holes, largest, digest, live_digest, end;
    const char *wrong;
} walked;

/* An action that an observer was told of, and what its arena had reserved then. */
typedef struct told_action { gpuarena_action action; uint64_t reserved; } told_action;

static struct {
    arena_entry arenas[DEVICE_ARENAS];
    int arena_count, arena;                      /* arena: that of commands which name none */
    block_entry blocks[MOST_BLOCKS];
    int block_count;
    gpuarena_stream streams[MOST_STREAMS];
    char stream_made[MOST_STREAMS], stream_captured[MOST_STREAMS];
    int stream_count;                            /* past the highest that was made */
    share_entry shares[MOST_SETS];
    int share_count;
    set_entry sets[MOST_SETS];
    int set_count;
    value_entry values[MOST_VALUES];
    int value_count;
    told_action told[MOST_ACTIONS];
    int is_observed;                             /* new arenas are */
    int told_count, acted_from, acted_to;        /* from, to: those of the latest `acted` */
    uint64_t owner, op, expected, released;      /* expected: how often the script said what it expects */
} world;

/* ---- names */

static int arena_of(const char *name)
{
    for (int at = 0; at < world.arena_count; at++) if (!strcmp(world.arenas[at].name, name)) return at;
    return -1;
}

static block_entry *find_block(const char *name)
{
    for (int at = world.block_count - 1; at >= 0; at--)
        if (!strcmp(world.blocks[at].name, name)) return &world.blocks[at];
    return NULL;
}

static set_entry *find_set(const char *name)
{
    for (int at = 0; at < world.set_count; at++) if (!strcmp(world.sets[at].name, name)) return &world.sets[at];
    return NULL;
}

static share_entry *find_share(const char *name)
{
    for (int at = 0; at < world.share_count; at++)
        if (!strcmp(world.shares[at].name, name)) return &world.shares[at];
    return NULL;
}

/* The value of this name, which is 0 if it is new. */
static value_entry *value_of(const char *name)
{
    for (int at = 0; at < world.value_count; at++)
        if (!strcmp(world.values[at].name, name)) return &world.values[at];
    if (world.value_count == MOST_VALUES) {
        blame("too many values");
        return &world.values[0];
    }
    snprintf(world.values[world.value_count].name, NAME_BYTES, "%.31s", name);
    return &world.values[world.value_count++];
}

static void set_value(const char *name, uint64_t value) { value_of(name)->value = value; }

static gpuarena *arena_now(void) { return world.arena_count ? world.arenas[world.arena].ptr : NULL; }

/* s1, s2 ..: made when they are first named, none of them waits for the default stream. */
static int stream_number(const char *word)
{
    char *end;
    if (!strcmp(word, "null")) return STREAM_NULL;
    if (!strcmp(word, "any")) return STREAM_ANY;
    if (!strcmp(word, "own")) return STREAM_OWN;
    if (!strcmp(word, "thread")) return STREAM_THREAD;
    long number = word[0] == 's' ? strtol(word + 1, &end, 10) : 0;
    if (word[0] != 's' || *end || number < 1 || number >= MOST_STREAMS) {
        blame("no stream: \"%s\"", word);
        return STREAM_NULL;
    }
    if (!world.stream_made[number]
        && sim_stream_create(device.machine, 0, 0, &world.streams[number])) blame("no more streams");
    world.stream_made[number] = 1;
    if (number >= world.stream_count) world.stream_count = (int)number + 1;
    return (int)number;
}

static gpuarena_stream stream_handle(int number)
{
    switch (number) {
    case STREAM_NULL:   return NULL;
    case STREAM_ANY:    return GPUARENA_ANY_STREAM;
    case STREAM_OWN:    return GPUARENA_OWN_STREAM;
    case STREAM_THREAD: return device.real.per_thread;
    default:            return world.streams[number];
    }
}

/* ---- figures of structs by the names of their fields; `_bytes` may be left out */

static int is_field(const char *name, const char *field)
{
    size_t length = strlen(name);
    return !strncmp(name, field, length) && (!field[length] || !strcmp(field + length, "_bytes"));
}

static int stats_value(const gpuarena *arena, const char *name, uint64_t *value)
{
    gpuarena_stats stats;
    gpuarena_walk_stats(arena, &stats);
#define X(field) if (is_field(name, #field)) return *value = stats.field, 1;
    GPUARENA_STATS(X)
#undef X
    return 0;
}

#define FAILURE_FIELDS(X) \
    X(serial) X(result) X(reason) X(driver_code) X(requested_bytes) X(missing_bytes) X(live_bytes) X(pending_bytes) \
    X(cached_bytes) X(reserved_bytes) X(limit_bytes) X(largest_free_bytes) X(device_free_bytes) X(live_count)

static int failure_value(const gpuarena *arena, const char *name, uint64_t *value)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
#define X(field) if (is_field(name, #field)) return *value = (uint64_t)failure.field, 1;
    FAILURE_FIELDS(X)
#undef X
    if (!strcmp(name, "code")) return *value = (uint64_t)failure.driver_code, 1;
    if (!strcmp(name, "at")) return *value = bench_number(failure.block.ptr), 1;
    return 0;
}

#define BLOCK_FIELDS(X) X(serial) X(requested_bytes) X(bytes) X(resident_bytes) X(state) X(tag) X(memory)

/* A bit for each device that may use it. */
static uint64_t devices_of(const block_entry *block)
{
    uint64_t devices = 0;
    for (int at = 0; at < device.machine->device_count; at++)
        if (vmem_has_access(&device.machine->devices[0], bench_number(block->ptr), at)) devices |= (uint64_t)1 << at;
    return devices;
}

static int found_value(const gpuarena_block *found, const char *name, uint64_t *value)
{
    if (!strcmp(name, "base")) return *value = bench_number(found->ptr), 1;
    if (!strcmp(name, "stream")) return *value = bench_number(found->stream), 1;
#define X(field) if (is_field(name, #field)) return *value = (uint64_t)found->field, 1;
    BLOCK_FIELDS(X)
#undef X
    return 0;
}

/* `action1.FIELD`: of the first of the latest `acted`; `by` is the stream of the call. */
static int action_value(const char *number, const char *name, uint64_t *value)
{
    int at = world.acted_from + atoi(number) - 1;
    if (at < world.acted_from || at >= world.acted_to) return 0;
    const told_action *told = &world.told[at];
    if (!strcmp(name, "number")) return *value = told->action.serial, 1;
    if (!strcmp(name, "by")) return *value = bench_number(told->action.stream), 1;
    if (!strcmp(name, "reserved")) return *value = told->reserved, 1;
    return found_value(&told->action.block, name, value);
}

static int block_value(const char *block_name, const char *name, uint64_t *value)
{
    const block_entry *block = find_block(block_name);
    gpuarena_block found;
    if (!block) return 0;
    if (!strcmp(name, "at")) return *value = bench_number(block->ptr), 1;
    if (!strcmp(name, "devices")) return *value = devices_of(block), 1;
    if (!strcmp(name, "owned")) return *value = gpuarena_owner(block->ptr) == world.arenas[block->arena].ptr, 1;
    return !gpuarena_lookup(world.arenas[block->arena].ptr, block->ptr, &found) && found_value(&found, name, value);
}

static int device_value(const char *name, uint64_t *value)
{
    sim_counters counters = device_counters();
    gpuarena_device figures;
    if (!strcmp(name, "held")) return *value = counters.held_bytes, 1;
    if (!strcmp(name, "held_peak")) return *value = counters.held_peak_bytes, 1;
    if (!strcmp(name, "pinned")) return *value = counters.host_bytes, 1;
    if (!strcmp(name, "managed")) return *value = counters.managed_bytes, 1;
    if (!strcmp(name, "pool")) return *value = counters.pool_reserved_bytes, 1;
    if (!strcmp(name, "pool_peak")) return *value = counters.pool_reserved_peak_bytes, 1;
    if (!strcmp(name, "pool_used")) return *value = counters.pool_used_bytes, 1;
    if (!strcmp(name, "addresses")) return *value = counters.reserved_address_bytes, 1;
    if (!strcmp(name, "handles")) return *value = counters.handle_count, 1;
    if (!strcmp(name, "mappings")) return *value = counters.mapping_count, 1;
    if (!strcmp(name, "events")) return *value = device.event_count, 1;
    if (!strcmp(name, "free")) return *value = bench_free_bytes(&device.real), 1;
    if (gpuarena_get_device(arena_now(), &figures)) return 0;
    if (!strcmp(name, "other")) return *value = (uint64_t)figures.other_bytes, 1;
    if (!strcmp(name, "total")) return *value = figures.total_bytes, 1;
    if (!strcmp(name, "page")) return *value = figures.page_bytes, 1;
    if (!strcmp(name, "memory")) return *value = (uint64_t)figures.memory, 1;
    if (!strcmp(name, "paged")) return *value = (uint64_t)figures.paged, 1;
    if (!strcmp(name, "number")) return *value = (uint64_t)figures.device, 1;
    return 0;
}

static int tag_value(const char *tag, const char *name, uint64_t *value)
{
    gpuarena_tag_stats stats;
    if (gpuarena_get_tag(arena_now(), strcmp(tag, "none") ? gpuarena_tag(tag) : 0, &stats)) return 0;
    if (is_field(name, "live_bytes")) return *value = stats.live_bytes, 1;
    if (is_field(name, "live_peak_bytes")) return *value = stats.live_peak_bytes, 1;
    if (!strcmp(name, "live_count")) return *value = stats.live_count, 1;
    if (!strcmp(name, "alloc_count")) return *value = stats.alloc_count, 1;
    return 0;
}

static int share_value(const char *share_name, const char *name, uint64_t *value)
{
    const share_entry *share = find_share(share_name);
    if (!share) return 0;
    if (!strcmp(name, "at")) return *value = bench_number(share->ptr), 1;
    if (!strcmp(name, "offset")) return *value = share->shared.offset_bytes, 1;
    if (!strcmp(name, "paged")) return *value = share->shared.paged_bytes, 1;
    return 0;
}

/* ---- a walk: blocks follow each other in the order of their addresses */

static uint64_t mixed(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 29;
}

static void walk_one(walked *seen, const gpuarena_block *block)
{
    switch (block->state) {
    case GPUARENA_STATE_LIVE:
        seen->live_count++;
        seen->live += block->bytes;
        seen->requested += block->requested_bytes;
        if (!block->serial || !block->requested_bytes || block->requested_bytes > block->bytes)
            seen->wrong = "a live block's serial or requested bytes";
        break;
    case GPUARENA_STATE_HOLE:
        seen->holes += block->bytes;
        break;
    case GPUARENA_STATE_PENDING:
        seen->pending += block->bytes;
        break;
    default:
        seen->free += block->bytes;
        seen->free_count++;
        if (block->bytes > seen->largest) seen->largest = block->bytes;
    }
    if (block->state != GPUARENA_STATE_LIVE && (block->serial || block->requested_bytes || block->tag))
        seen->wrong = "the fields of a block that is not live";
    if (block->resident_bytes != (block->state == GPUARENA_STATE_HOLE ? 0 : block->bytes))
        seen->wrong = "a block's resident bytes";
}

static gpuarena_result walk_visit(const gpuarena_block *block, void *user)
{
    walked *seen = user;
    uint64_t address = bench_number(block->ptr), digest;
    if (address < seen->end) seen->wrong = "blocks that are not in the order of addresses";
    if (!block->bytes || block->bytes % 256 || address % 256) seen->wrong = "a block that is not aligned";
    walk_one(seen, block);
    digest = mixed(mixed(address, block->bytes), (uint64_t)block->state);
    digest = mixed(mixed(digest, block->serial), block->requested_bytes ^ (uint64_t)block->tag << 32);
    digest = mixed(digest, bench_number(block->stream));
    if (block->state != GPUARENA_STATE_HOLE) seen->digest = mixed(seen->digest, digest);
    if (block->state == GPUARENA_STATE_LIVE) seen->live_digest = mixed(seen->live_digest, digest);
    seen->end = address + block->bytes;
    return GPUARENA_OK;
}

static walked walk_arena(const gpuarena *arena)
{
    walked seen;
    memset(&seen, 0, sizeof seen);
    device.is_walked = 1;
    if (gpuarena_walk(arena, walk_visit, &seen)) seen.wrong = "a walk that fails";
    device.is_walked = 0;
    return seen;
}

static int walk_value(const char *name, uint64_t *value)
{
    walked seen = walk_arena(arena_now());
#define X(field) if (!strcmp(name, #field)) return *value = seen.field, 1;
    X(live_count) X(live) X(requested) X(pending) X(free) X(free_count) X(holes) X(largest)
#undef X
    return 0;
}

/* ---- what names stand for */

static int constant_value(const char *name, uint64_t *value)
{
    static const char *const constants[] = { "no_block", "live_block", "pending_block", "free_block", "hole" };
    static const char *const memories[] = { "of_device", "of_pinned", "of_managed", "of_async" };
    for (uint64_t at = 0; at < COUNT(constants); at++) if (!strcmp(name, constants[at])) return *value = at, 1;
    for (uint64_t at = 0; at < COUNT(memories); at++) if (!strcmp(name, memories[at])) return *value = at, 1;
    if (!strcmp(name, "no_limit")) return *value = GPUARENA_NO_LIMIT, 1;
    if (!strcmp(name, "any")) return *value = bench_number(GPUARENA_ANY_STREAM), 1;
    return 0;
}

/* By entry: calls, or how many of them a fault answered. */
static int calls_value(const uint64_t counts[ENTRY_COUNT + 1], const char *name, uint64_t *value)
{
    for (int at = 0; at <= ENTRY_COUNT; at++) if (!strcmp(name, device_entries[at])) return *value = counts[at], 1;
    return 0;
}

static int dotted_value(const char *first, const char *second, uint64_t *value)
{
    char *end = NULL;
    int arena = arena_of(first);
    if (arena >= 0 && !strncmp(second, "failure.", 8))
        return failure_value(world.arenas[arena].ptr, second + 8, value);
    if (arena >= 0) return stats_value(world.arenas[arena].ptr, second, value);
    if (!strcmp(first, "calls")) return calls_value(device.calls, second, value);
    if (!strcmp(first, "struck")) return calls_value(device.struck, second, value);
    if (!strcmp(first, "failure")) return failure_value(arena_now(), second, value);
    if (!strcmp(first, "thread")) return failure_value(NULL, second, value);
    if (!strcmp(first, "walk")) return walk_value(second, value);
    if (!strcmp(first, "device")) return device_value(second, value);
    if (!strncmp(first, "action", 6)) return action_value(first + 6, second, value);
    if (!strncmp(first, "tag_", 4)) return tag_value(first + 4, second, value);
    if (first[0] == 's' && !strcmp(second, "busy") && strtol(first + 1, &end, 10) > 0 && !*end) {
        int code = sim_stream_query(device.machine, 0, stream_handle(stream_number(first)));
        return *value = code == SIM_NOT_READY, 1;
    }
    return block_value(first, second, value) || share_value(first, second, value);
}

static int name_value(const char *name, uint64_t *value)
{
    const char *dot = strchr(name, '.');
    char first[NAME_BYTES];
    const set_entry *set = find_set(name);
    if (dot) {
        snprintf(first, sizeof first, "%.*s", (int)(dot - name), name);
        return dotted_value(first, dot + 1, value);
    }
    for (int at = 0; at < world.value_count; at++)
        if (!strcmp(world.values[at].name, name)) return *value = world.values[at].value, 1;
    if (set) return *value = set->number, 1;
    if (name[0] == 's' && isdigit((unsigned char)name[1]))
        return *value = bench_number(stream_handle(stream_number(name))), 1;
    if (!strcmp(name, "now")) return *value = sim_now_ns(device.machine), 1;
    if (!strcmp(name, "released")) return *value = world.released, 1;
    return stats_value(arena_now(), name, value) || constant_value(name, value);
}

/* ---- what must be true after every command */

static const char *wrong_sums(const gpuarena_stats *stats)
{
    uint64_t within = stats->reserved_bytes < stats->limit_bytes ? stats->reserved_bytes : stats->limit_bytes;
    if (stats->requested_bytes + stats->slack_bytes != stats->live_bytes) return "requested + slack is not live";
    if (stats->live_bytes + stats->pending_bytes + stats->cached_bytes + stats->children_bytes
        != stats->reserved_bytes) return "live + pending + cached + children is not reserved";
    if (stats->alloc_count - stats->free_count != stats->live_count) return "alloc - free is not live_count";
    if (stats->excess_bytes != stats->reserved_bytes - within) return "excess is not what is above the limit";
    if (stats->reserved_bytes % SIM_GRANULE && !device.small_sizes) return "reserved is no multiple of 2 MiB";
    if (stats->requested_peak_bytes < stats->requested_bytes || stats->live_peak_bytes < stats->live_bytes
        || stats->reserved_peak_bytes < stats->reserved_bytes) return "a peak below its value";
    return NULL;
}

static const char *wrong_walk(const gpuarena *arena, const gpuarena_stats *stats, const walked *seen)
{
    gpuarena_config config;
    gpuarena_get_config(arena, &config);
    int has_spare = config.backing == GPUARENA_BACKING_PAGED;    /* pages that back nothing */
    if (seen->wrong) return seen->wrong;
    if (seen->live_count != stats->live_count || seen->live != stats->live_bytes
        || seen->requested != stats->requested_bytes) return "walk and statistics differ in live blocks";
    if (seen->free > stats->cached_bytes
        || (seen->free < stats->cached_bytes && !(has_spare && device.struck[ENTRY_COUNT])))
        return "walk and cached differ";         /* after a fault there may be pages that back nothing */
    if (seen->pending != stats->pending_bytes) return "walk and pending differ";
    if (!device.table.events.create && !device.table.vm.map
        && (config.debug ? 0 : seen->largest) != stats->largest_free_bytes)
        return "walk and largest free differ";
    return NULL;
}

static void audit_arena(int at)
{
    const arena_entry *arena = &world.arenas[at];
    char message[200];
    gpuarena_stats stats;
    uint64_t count = 0, requested = 0;
    gpuarena_walk_stats(arena->ptr, &stats);
    walked seen = walk_arena(arena->ptr);
    const char *wrong = wrong_sums(&stats);
    if (!wrong) wrong = wrong_walk(arena->ptr, &stats, &seen);
    if (wrong) blame("%s: %s", arena->name, wrong);
    if (gpuarena_check(arena->ptr, message, sizeof message)) blame("%s: check: %s", arena->name, message);
    for (int block = 0; block < world.block_count; block++) {
        if (!world.blocks[block].live || world.blocks[block].arena != at) continue;
        count++;
        requested += world.blocks[block].bytes;
    }
    if (threads.ran && !arena->is_uncounted
        && (stats.alloc_count != arena->alloc_count || stats.free_count != arena->free_count))
        blame("%s: %" PRIu64 " allocations and %" PRIu64 " frees are counted, of %" PRIu64 " and %" PRIu64,
              arena->name, stats.alloc_count, stats.free_count, arena->alloc_count, arena->free_count);
    if (count != stats.live_count || requested != stats.requested_bytes)
        blame("%s: %" PRIu64 " blocks live by the statistics, %" PRIu64 " by the script", arena->name,
              stats.live_count, count);
    if (stats.reserved_bytes != device.holders[at].held && !device.lost)
        blame("%s: %" PRIu64 " bytes are reserved, and the device gave %" PRIu64, arena->name, stats.reserved_bytes,
              device.holders[at].held);
}

/* A live block has the contents that it was given. */
static void judge_contents(const block_entry *block)
{
    uint64_t bad;
    if (block->live && !block->is_unwatched
        && !sim_verify(device.machine, 0, block->ptr, block->bytes, block->owner, &bad))
        blame("the contents of block %s are spoilt", block->name);
}


static void audit(void)
{
    if (device.wrong) blame("%s", device.wrong);
    for (int at = 0; at < world.arena_count && !place.trouble[0]; at++) if (world.arenas[at].ptr) audit_arena(at);
    for (int at = 0; at < world.block_count && world.block_count < 200; at++) judge_contents(&world.blocks[at]);
    if (sim_finding_count(device.machine)) blame("the judge: %s", sim_finding(device.machine, 0));
}

#endif

/* The objects of a script's commands: arenas, streams, blocks, capture sets, and the figures that names stand for;
   and the conditions that must hold after every command. It must not know how commands are written: script_calls.h
   does. Included by script_calls.h. */
#ifndef TESTS_SCRIPT_WORLD_H
#define TESTS_SCRIPT_WORLD_H

#include "arena_walk.h"
#include "script_device.h"
#include "script_text.h"

enum { MOST_STREAMS = 10240, MOST_ACTIONS = 64 };
enum { STREAM_NULL = -1, STREAM_ANY = -2, STREAM_OWN = -3, STREAM_THREAD = -4 };    /* else its number */

/* Entries begin with their names. */
typedef struct arena_entry {
    char name[NAME_BYTES];
    gpuarena *ptr;
    int is_over, has_pressure;
    uint64_t alloc_count, free_count;            /* allocations and frees by commands of threads */
    int is_uncounted;                            /* other blocks may have been freed or refused by one call */
} arena_entry;
typedef struct block_entry {
    char name[NAME_BYTES];
    char *ptr;                                   /* kept after the free, for comparisons; NULL: it was refused */
    uint64_t bytes, owner;
    int arena, stream, live, is_unwatched;       /* unwatched: it may have been cleared */
} block_entry;
typedef struct set_entry { char name[NAME_BYTES]; uint64_t number; void *graph; } set_entry;
typedef struct share_entry {                     /* an export, and one import of it */
    char name[NAME_BYTES];
    gpuarena_shared shared;
    void *ptr;                                   /* of the import; NULL: there is none */
    int block, arena;                            /* the number of the exported block, and of the importing arena */
} share_entry;
typedef struct value_entry { char name[NAME_BYTES]; uint64_t value; } value_entry;

/* An action that an observer was told of, and the reserved bytes of its arena at that moment. */
typedef struct told_action { gpuarena_action action; uint64_t reserved; } told_action;

typedef struct stream_entry { gpuarena_stream handle; int is_made, is_captured; } stream_entry;

static struct {
    block_entry blocks[4096];
    stream_entry streams[MOST_STREAMS];          /* 0 is none */
    arena_entry arenas[DEVICE_ARENAS];           /* the members above are cleared as far as they were used:
                                                    clear_world */
    int arena_count, arena;                      /* arena: that of commands which name none */
    share_entry shares[16];
    set_entry sets[16];
    value_entry values[64];
    int block_count, share_count, set_count, value_count;
    int stream_count;                            /* past the highest that was made */
    told_action told[MOST_ACTIONS];
    int is_observed;                             /* new arenas are */
    int told_count, acted_from, acted_to;        /* from, to: those of the latest `acted` */
    uint64_t owner, op, expected, released;      /* expected: how often the script stated an expectation */
} world;

static void clear_world(void)
{
    memset(world.blocks, 0, (size_t)world.block_count * sizeof *world.blocks);
    memset(world.streams, 0, (size_t)world.stream_count * sizeof *world.streams);
    memset(world.arenas, 0, (size_t)((char *)(&world + 1) - (char *)world.arenas));
}

/* ---- names */

/* Finds an entry by its name. NULL: there is none. */
static void *find_entry(void *entries, size_t size, int count, const char *name)
{
    char *at = (char *)entries + size * (size_t)count;
    while (count--) if (!strcmp(at -= size, name)) return at;
    return NULL;
}

/* Finds the entry of this name, or makes a new one. */
static void *take_entry(void *entries, size_t size, int *count, size_t most, const char *name)
{
    char *entry = find_entry(entries, size, *count, name);
    if (entry) return entry;
    if (*count == (int)most) blame("too many names");
    else entry = (char *)entries + size * (size_t)(*count)++;
    if (entry) snprintf(entry, NAME_BYTES, "%.31s", name);
    return entry ? entry : entries;
}

#define FIND(kind, name) find_entry(world.kind##s, sizeof *world.kind##s, world.kind##_count, name)
#define TAKE(kind, name) \
    take_entry(world.kind##s, sizeof *world.kind##s, &world.kind##_count, COUNT(world.kind##s), name)

static block_entry *find_block(const char *name) { return FIND(block, name); }
static set_entry *find_set(const char *name) { return FIND(set, name); }
static share_entry *find_share(const char *name) { return FIND(share, name); }
static value_entry *value_of(const char *name) { return TAKE(value, name); }     /* 0 if it is new */
static void set_value(const char *name, uint64_t value) { value_of(name)->value = value; }

/* The number of the arena of this name; -1: there is none. */
static int arena_of(const char *name)
{
    const arena_entry *found = FIND(arena, name);
    return found ? (int)(found - world.arenas) : -1;
}

static gpuarena *arena_now(void) { return world.arena_count ? world.arenas[world.arena].ptr : NULL; }

/* s1, s2 ..: made when they are first named, none of them waits for the default stream. */
static int stream_number(const char *word)
{
    static const char *const others[] = { "null", "any", "own", "thread" };
    char *end;
    for (int at = 0; at < (int)COUNT(others); at++) if (!strcmp(word, others[at])) return STREAM_NULL - at;
    long number = word[0] == 's' ? strtol(word + 1, &end, 10) : 0;
    if (word[0] != 's' || *end || number < 1 || number >= MOST_STREAMS) {
        blame("no stream: \"%s\"", word);
        return STREAM_NULL;
    }
    stream_entry *stream = &world.streams[number];
    if (!stream->is_made && sim_stream_create(device.machine, 0, 0, &stream->handle)) blame("no more streams");
    stream->is_made = 1;
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
    default:            return world.streams[number].handle;
    }
}

/* ---- figures by name. 0: there is none of this name */

/* A field's name may leave `_bytes` out. */
static int is_field(const char *name, const char *field)
{
    size_t length = strlen(name);
    return !strncmp(name, field, length) && (!field[length] || !strcmp(field + length, "_bytes"));
}

#define FIGURE(text, figure) if (!strcmp(name, text)) return *value = (uint64_t)(figure), 1;
#define FIGURE_OF(of, field) if (is_field(name, #field)) return *value = (uint64_t)(of).field, 1;

static int stats_value(const gpuarena *arena, const char *name, uint64_t *value)
{
    gpuarena_stats stats;
    gpuarena_walk_stats(arena, &stats);
#define X(field) FIGURE_OF(stats, field)
    GPUARENA_STATS(X)
#undef X
    return 0;
}

static int failure_value(const gpuarena *arena, const char *name, uint64_t *value)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
#define X(field) FIGURE_OF(failure, field)
    X(serial) X(result) X(reason) X(driver_code) X(requested_bytes) X(missing_bytes) X(live_bytes) X(pending_bytes)
    X(cached_bytes) X(reserved_bytes) X(limit_bytes) X(largest_free_bytes) X(device_free_bytes) X(live_count)
#undef X
    FIGURE("code", failure.driver_code)
    FIGURE("at", bench_number(failure.block.ptr))
    return 0;
}

static int found_value(const gpuarena_block *found, const char *name, uint64_t *value)
{
    FIGURE("base", bench_number(found->ptr))
    FIGURE("stream", bench_number(found->stream))
#define X(field) FIGURE_OF(*found, field)
    X(serial) X(requested_bytes) X(bytes) X(resident_bytes) X(state) X(tag) X(memory)
#undef X
    return 0;
}

/* `action1.FIELD`: of the first of the latest `acted`; `by` is the stream of the call. */
static int action_value(const char *number, const char *name, uint64_t *value)
{
    int at = world.acted_from + atoi(number) - 1;
    if (at < world.acted_from || at >= world.acted_to) return 0;
    const told_action *told = &world.told[at];
    FIGURE("number", told->action.serial)
    FIGURE("by", bench_number(told->action.stream))
    FIGURE("reserved", told->reserved)
    return found_value(&told->action.block, name, value);
}

/* A bit for each device that may use the block. */
static uint64_t devices_of(const block_entry *block)
{
    uint64_t devices = 0;
    for (int at = 0; at < device.machine->device_count; at++)
        if (vmem_has_access(&device.machine->devices[0], bench_number(block->ptr), at)) devices |= (uint64_t)1 << at;
    return devices;
}

static int block_value(const char *block_name, const char *name, uint64_t *value)
{
    const block_entry *block = find_block(block_name);
    gpuarena_block found;
    if (!block) return 0;
    const gpuarena *arena = world.arenas[block->arena].ptr;
    FIGURE("at", bench_number(block->ptr))
    FIGURE("devices", devices_of(block))
    FIGURE("owned", gpuarena_owner(block->ptr) == arena)
    return !gpuarena_lookup(arena, block->ptr, &found) && found_value(&found, name, value);
}

static int device_value(const char *name, uint64_t *value)
{
    sim_counters counters = device_counters();
    gpuarena_device figures;
    FIGURE("held", counters.held_bytes) FIGURE("held_peak", counters.held_peak_bytes)
    FIGURE("pinned", counters.host_bytes) FIGURE("managed", counters.managed_bytes)
    FIGURE("pool", counters.pool_reserved_bytes) FIGURE("pool_peak", counters.pool_reserved_peak_bytes)
    FIGURE("pool_used", counters.pool_used_bytes) FIGURE("addresses", counters.reserved_address_bytes)
    FIGURE("handles", counters.handle_count) FIGURE("mappings", counters.mapping_count)
    FIGURE("events", device.event_count) FIGURE("free", bench_free_bytes(&device.real))
    if (gpuarena_get_device(arena_now(), &figures)) return 0;
    FIGURE("number", figures.device)
#define X(field) FIGURE_OF(figures, field)
    X(other_bytes) X(total_bytes) X(page_bytes) X(memory) X(paged)
#undef X
    return 0;
}

static int tag_value(const char *tag, const char *name, uint64_t *value)
{
    gpuarena_tag_stats stats;
    if (gpuarena_get_tag(arena_now(), strcmp(tag, "none") ? gpuarena_tag(tag) : 0, &stats)) return 0;
#define X(field) FIGURE_OF(stats, field)
    X(live_bytes) X(live_peak_bytes) X(live_count) X(alloc_count)
#undef X
    return 0;
}

static int share_value(const char *share_name, const char *name, uint64_t *value)
{
    const share_entry *share = find_share(share_name);
    if (!share) return 0;
    FIGURE("at", bench_number(share->ptr))
    FIGURE("offset", share->shared.offset_bytes)
    FIGURE("paged", share->shared.paged_bytes)
    return 0;
}

/* Walks without faults of host memory, since the walk is the interpreter's own. */
static arena_walk walk_now(const gpuarena *arena)
{
    device.is_walked = 1;
    arena_walk seen = walk_arena(arena);
    device.is_walked = 0;
    return seen;
}

static int walk_value(const char *name, uint64_t *value)
{
    arena_walk seen = walk_now(arena_now());
#define X(field) FIGURE(#field, seen.field)
    X(live_count) X(live) X(requested) X(pending) X(free) X(free_count) X(holes) X(largest)
#undef X
    return 0;
}

static int constant_value(const char *name, uint64_t *value)
{
    static const char *const constants[] = { "no_block", "live_block", "pending_block", "free_block", "hole" };
    static const char *const memories[] = { "of_device", "of_pinned", "of_managed", "of_async" };
    for (size_t at = 0; at < COUNT(constants); at++) FIGURE(constants[at], at)
    for (size_t at = 0; at < COUNT(memories); at++) FIGURE(memories[at], at)
    FIGURE("no_limit", GPUARENA_NO_LIMIT)
    FIGURE("any", bench_number(GPUARENA_ANY_STREAM))
    return 0;
}

/* The calls of one entry, or how many of them a fault answered. */
static int calls_value(const uint64_t counts[ENTRY_COUNT + 1], const char *name, uint64_t *value)
{
    for (int at = 0; at <= ENTRY_COUNT; at++) FIGURE(device_entries[at], counts[at])
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
        gpuarena_stream stream = stream_handle(stream_number(first));
        return *value = sim_stream_query(device.machine, 0, stream) == SIM_NOT_READY, 1;
    }
    return block_value(first, second, value) || share_value(first, second, value);
}

static int name_value(const char *name, uint64_t *value)
{
    const char *dot = strchr(name, '.');
    char first[NAME_BYTES];
    const value_entry *named = FIND(value, name);
    const set_entry *set = find_set(name);
    if (dot) {
        snprintf(first, sizeof first, "%.*s", (int)(dot - name), name);
        return dotted_value(first, dot + 1, value);
    }
    if (named) return *value = named->value, 1;
    if (set) return *value = set->number, 1;
    if (name[0] == 's' && isdigit((unsigned char)name[1]))
        return *value = bench_number(stream_handle(stream_number(name))), 1;
    FIGURE("now", sim_now_ns(device.machine))
    FIGURE("released", world.released)
    return stats_value(arena_now(), name, value) || constant_value(name, value);
}

/* ---- conditions that must hold after every command */

static const char *wrong_walk(const gpuarena *arena, const gpuarena_stats *stats, const arena_walk *seen)
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
    arena_walk seen = walk_now(arena->ptr);
    const char *wrong = wrong_sums(&stats);
    if (stats.reserved_bytes % SIM_GRANULE && !device.small_sizes) wrong = "reserved is no multiple of 2 MiB";
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

static int holds(const void *ptr, uint64_t bytes, uint64_t owner)
{
    uint64_t bad;
    return sim_verify(device.machine, 0, ptr, bytes, owner, &bad);
}

/* Judges that a live block has the contents that it was given. */
static void judge_contents(const block_entry *block)
{
    if (block->live && !block->is_unwatched && !holds(block->ptr, block->bytes, block->owner))
        blame("the contents of block %s are spoilt", block->name);
}

/* The process's arenas are those of the script that live, in the order in which they were made; before them there may
   be others, of a case that failed. */
static int are_listed(void)
{
    gpuarena *at = gpuarena_next(NULL);
    int is_first = 1;
    for (int number = 0; number < world.arena_count; number++) {
        const gpuarena *one = world.arenas[number].ptr;
        if (!one) continue;                      /* it has ended */
        while (is_first && at && at != one) at = gpuarena_next(at);
        if (at != one) return 0;
        at = gpuarena_next(at);
        is_first = 0;
    }
    return at == NULL || is_first;
}

static void audit(void)
{
    if (device.wrong) blame("%s", device.wrong);
    if (!are_listed()) blame("other arenas are listed");
    for (int at = 0; at < world.arena_count && !place.trouble[0]; at++) if (world.arenas[at].ptr) audit_arena(at);
    for (int at = 0; at < world.block_count && world.block_count < 200; at++) judge_contents(&world.blocks[at]);
    if (sim_finding_count(device.machine)) blame("the judge: %s", sim_finding(device.machine, 0));
}

#endif

/* The commands of scripts: a row each. tests/README.md tells how they are written.
   It must not know files and cases. Included by script_run.h. */
#ifndef TESTS_SCRIPT_CALLS_H
#define TESTS_SCRIPT_CALLS_H

#include <pthread.h>
#include <unistd.h>

#include "script_world.h"

enum { CALLBACK_BYTES = 1000 };

typedef struct snapshot {
    gpuarena_stats stats;
    walked seen;
    uint64_t serial;
    uint64_t effects;                            /* driver calls that may change what is free, and for whom */
} snapshot;

static struct call_state {                       /* the call that is made */
    int arena;                                   /* -1: none, and what fails is recorded for the thread alone */
    int is_refused;                              /* the script says so: the state before is kept */
    int is_inside;                               /* a callback's, in which no state can be looked at */
    int is_beside;                               /* something was done in the driver meanwhile: `within` */
    snapshot before;
} call;

static struct {                                  /* every driver call fails in turn */
    int is_on, code, is_strict;                  /* strict: the command that is struck says so */
    uint64_t length;
    device_entry entry;
} turn;

/* Nothing is exact while threads run, or inside a callback. */
static int is_exact(void) { return !threads.are_on && !call.is_inside; }

static int turn_struck(void) { return turn.is_on && (device.struck[ENTRY_COUNT] || device.struck[ENTRY_host]); }

static snapshot look_at(int arena)
{
    snapshot now;
    gpuarena_failure failure;
    memset(&now, 0, sizeof now);
    gpuarena_last_failure(arena < 0 ? NULL : world.arenas[arena].ptr, &failure);
    now.serial = failure.serial;
    now.effects = device.calls[ENTRY_COUNT] - device.calls[ENTRY_info] - device.calls[ENTRY_obtain]
        - device.calls[ENTRY_active] - device.calls[ENTRY_exchange_mode];
    if (arena < 0) return now;
    now.seen = walk_arena(world.arenas[arena].ptr);
    gpuarena_walk_stats(world.arenas[arena].ptr, &now.stats);
    return now;
}

/* Every command that calls an arena says so first. */
static gpuarena *calling(int arena)
{
    call.arena = arena;
    if (call.is_refused && is_exact()) call.before = look_at(arena);
    return arena < 0 ? NULL : world.arenas[arena].ptr;
}

/* ---- operands */

static int read_stream(reader *in)
{
    char word[WORD_BYTES], single[WORD_BYTES];
    uint64_t index = 0;
    next_word(in, word);
    char *dots = strstr(word, "..");
    if (!dots) return stream_number(word);
    uint64_t first = strtoull(word + 1, NULL, 10), last = strtoull(dots + 3, NULL, 10);
    (void)name_value("index", &index);
    snprintf(single, sizeof single, "s%" PRIu64, first + index % (last - first + 1));
    return stream_number(single);
}

/* `on STREAM`, or what it is otherwise. */
static int read_on(reader *in, int otherwise) { return take_word(in, "on") ? read_stream(in) : otherwise; }

/* A block's name, `nothing` or `nowhere`, and perhaps an offset. *block: NULL if it is none. */
static char *read_pointer(reader *in, block_entry **block)
{
    char name[WORD_BYTES];
    size_t length = 0;
    skip_spaces(in);
    while ((isalnum((unsigned char)*in->at) || *in->at == '_') && length + 1 < NAME_BYTES) name[length++] = *in->at++;
    name[length] = '\0';
    *block = find_block(name);
    if (!strcmp(name, "nothing")) return NULL;
    if (!*block && strcmp(name, "nowhere")) blame("no block: \"%s\"", name);
    char *ptr = *block ? (*block)->ptr : (char *)&call;
    uint64_t offset = *in->at == '+' ? (in->at++, read_sum(in)) : 0;
    return (char *)(uintptr_t)(bench_number(ptr) + offset);
}

static uint32_t read_tag(reader *in)
{
    char name[WORD_BYTES];
    next_word(in, name);
    if (!strcmp(name, "none")) return 0;
    return isdigit((unsigned char)name[0]) ? (uint32_t)strtoul(name, NULL, 10) : gpuarena_tag(name);
}

/* What stands behind the size of an allocation. */
typedef struct wish {
    gpuarena_request request;
    int stream, is_unused, is_untouched, is_plain;
    uint64_t work_ns;
} wish;

static wish read_wish(reader *in)
{
    wish made = { GPUARENA_INIT, STREAM_NULL, 0, 0, 1, 0 };
    made.request.bytes = read_sum(in);
    while (!at_end(in) && !place.trouble[0]) {
        if (take_word(in, "on")) made.stream = read_stream(in);
        else if (take_word(in, "for")) made.work_ns = read_sum(in);
        else if (take_word(in, "unused")) made.is_unused = 1;
        else if (take_word(in, "untouched")) made.is_untouched = 1;
        else if (take_word(in, "align")) made.request.alignment_bytes = read_sum(in), made.is_plain = 0;
        else if (take_word(in, "room")) made.request.room_bytes = read_sum(in), made.is_plain = 0;
        else if (take_word(in, "tag")) made.request.tag = read_tag(in), made.is_plain = 0;
        else if (take_word(in, "try")) made.request.flags |= GPUARENA_ALLOC_TRY, made.is_plain = 0;
        else if (take_word(in, "dedicated")) made.request.flags |= GPUARENA_ALLOC_DEDICATED, made.is_plain = 0;
        else if (take_word(in, "flags")) made.request.flags |= (uint32_t)read_sum(in), made.is_plain = 0;
        else blame("not understood: \"%.40s\"", in->at);
    }
    made.request.stream = stream_handle(made.stream);
    return made;
}

/* ---- the GPU's work */

static void access_on(const block_entry *block, int stream)
{
    gpuarena_stream handle = stream_handle(stream);
    if (sim_access(device.machine, 0, handle, block->ptr, block->bytes, block->owner, world.op))
        blame("block %s cannot be used", block->name);
}

static int has_scrub(int arena)
{
    gpuarena_config config;
    gpuarena_get_config(world.arenas[arena].ptr, &config);
    return (int)config.scrub;
}

/* Its owner has it: on its stream, or on all. */
static void use_new(block_entry *block, int is_unused)
{
    uint64_t bad;
    int is_cleared = has_scrub(block->arena) & GPUARENA_SCRUB_ALLOC;
    if (is_cleared && !sim_verify(device.machine, 0, block->ptr, block->bytes, 0, &bad))
        blame("block %s is not cleared", block->name);
    sim_fill(device.machine, 0, block->ptr, block->bytes, block->owner);
    if (is_unused) return;
    if (block->stream != STREAM_ANY) access_on(block, block->stream);
    for (int stream = 1; stream < world.stream_count && block->stream == STREAM_ANY; stream++)
        if (world.stream_made[stream] && !world.stream_captured[stream]) access_on(block, stream);
}

static gpuarena_result do_work(reader *in)       /* work NAME TIME on STREAM [bytes SIZE] */
{
    block_entry *block;
    (void)read_pointer(in, &block);
    uint64_t work_ns = read_sum(in);
    int stream = read_on(in, STREAM_NULL);
    if (!block || !block->ptr || place.trouble[0]) return GPUARENA_OK;
    block_entry used = *block;
    if (take_word(in, "bytes")) used.bytes = read_sum(in);
    if (sim_work(device.machine, 0, stream_handle(stream), work_ns)) blame("the stream does not work");
    access_on(&used, stream);
    return GPUARENA_OK;
}

static gpuarena_result do_order(reader *in)      /* order STREAM after STREAM */
{
    int later = read_stream(in);
    if (!take_word(in, "after")) blame("`order s2 after s1` is expected");
    int other = read_stream(in);
    /* a capture that was to be joined has not begun */
    if (turn_struck() && later > 0 && other > 0 && world.stream_captured[later] != world.stream_captured[other])
        return GPUARENA_OK;
    if (sim_stream_follow(device.machine, 0, stream_handle(later), stream_handle(other)))
        blame("a stream cannot follow");
    return GPUARENA_OK;
}

static gpuarena_result do_done(reader *in)       /* done STREAM, done all: the host has waited for it */
{
    int code = take_word(in, "all") ? sim_device_wait(device.machine, 0)
        : sim_stream_wait(device.machine, 0, stream_handle(read_stream(in)));
    if (code) blame("the host cannot wait: %d", code);
    return GPUARENA_OK;
}

static gpuarena_result do_later(reader *in)      /* later TIME */
{
    sim_advance(device.machine, read_sum(in));
    return GPUARENA_OK;
}

static gpuarena_result do_gone(reader *in)       /* gone STREAM: the program destroys it */
{
    int number = read_stream(in);
    if (sim_stream_destroy(device.machine, 0, stream_handle(number))) blame("the stream is not destroyed");
    world.stream_made[number] = 0;
    return GPUARENA_OK;
}

static gpuarena_result do_thread(reader *in)     /* thread NUMBER: who calls from now on; 0: the one that does */
{
    sim_thread(device.machine, read_sum(in));
    return GPUARENA_OK;
}

/* ---- device, arenas */

static gpuarena_result do_device(reader *in)     /* device SIZE [without GROUP] [chunk SIZE] [plain] .. */
{
    char word[WORD_BYTES];
    if (world.arena_count) {
        blame("the device comes before arenas");
        return GPUARENA_OK;
    }
    sim_destroy(device.machine);
    memset(world.stream_made, 0, sizeof world.stream_made);
    device_open(read_sum(in));
    while (!at_end(in) && !place.trouble[0]) {
        if (take_word(in, "without")) {
            if (!device_without(next_word(in, word))) blame("without what? \"%s\"", word);
        } else if (take_word(in, "plain")) {
            static const char *const groups[] = { "vm", "events", "capture", "clear", "clock" };
            for (size_t at = 0; at < COUNT(groups); at++) (void)device_without(groups[at]);
        } else if (take_word(in, "chunk")) {
            if (sim_pool_chunk(device.machine, 0, read_sum(in))) blame("no such chunk");
        } else if (take_word(in, "rival")) sim_rival(device.machine, 0, read_sum(in), 0);
        else if (take_word(in, "shift")) device.shift = read_sum(in);
        else if (take_word(in, "reuse")) sim_reuse_handles(device.machine, 1);
        else if (take_word(in, "own")) device.table.null_is_per_thread = 1;
        else if (take_word(in, "standing")) device.table.now_ns = device_standing_clock;
        else blame("not understood: \"%.40s\"", in->at);
    }
    return GPUARENA_OK;
}

/* `pressure TEXT`, kept until the arena calls for memory. A text that begins with `always` is kept then, too. */
static char pressures[16][WORD_BYTES];
static int pressure_count;

/* Runs commands; script_run.h has it. */
static void run_line(const char *text, char separator);

/* Runs a callback's commands, with | between them, about this arena. */
static void run_inside(const char *text, const gpuarena *arena, int is_inside)
{
    struct call_state was = call;
    int arena_was = world.arena;
    call.is_inside |= is_inside;
    for (int at = 0; at < world.arena_count; at++) if (world.arenas[at].ptr == arena) world.arena = at;
    run_line(text, '|');
    call = was;
    world.arena = arena_was;
}

/* The arena wants memory: the next `pressure` says what is done, and ends with `retry`, if the allocation is to be
   tried again. */
static int call_pressure(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    char text[WORD_BYTES];
    (void)user;
    if (threads.at) threads.at(NULL, ENTRY_COUNT, 0);
    if (failure->result != GPUARENA_OUT_OF_MEMORY) blame("config.pressure is called for another failure");
    if (!pressure_count || !pressures[0][0]) return 0;
    snprintf(text, sizeof text, "%s", pressures[0]);
    int is_kept = !strncmp(text, "always", 6);
    if (!is_kept) memmove(pressures[0], pressures[1], sizeof pressures - sizeof pressures[0]);
    if (!is_kept) pressures[15][0] = '\0';
    char *retry = strstr(text, "retry");
    if (retry) *retry = '\0';
    run_inside(is_kept ? text + 6 : text, arena, 0);
    return retry != NULL;
}

/* The rest of the command, which is a callback's. */
static void read_rest(reader *in, char text[CALLBACK_BYTES])
{
    skip_spaces(in);
    snprintf(text, CALLBACK_BYTES, "%s", in->at);
    in->at += strlen(in->at);
}

static char observer_text[CALLBACK_BYTES], within_text[CALLBACK_BYTES];
static device_entry within_entry;                /* ENTRY_COUNT: any that changes memory */
static int within_always;                        /* else in the next one alone */

static void call_observer(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)action, (void)user;
    if (!call.is_inside) run_inside(observer_text, arena, 1);
}

static gpuarena_result do_observe(reader *in)    /* observe COMMAND | ..: in each action */
{
    read_rest(in, observer_text);
    return gpuarena_observe(calling(world.arena), call_observer, NULL);
}

static void call_within(device_entry entry)
{
    int is_meant = within_entry == ENTRY_COUNT ? entry > ENTRY_info && entry <= ENTRY_unmap : entry == within_entry;
    if (!is_meant || call.is_inside) return;
    if (!within_always) device.within = NULL;
    run_inside(within_text, NULL, 1);
    call.is_beside = 1;
}

static gpuarena_result call_visitor(const gpuarena_block *block, void *user)
{
    if (!block->bytes) blame("a block without bytes is visited");
    if (!call.is_inside) run_inside(user, NULL, 1);
    return GPUARENA_OK;
}

static gpuarena_result do_walk(reader *in)       /* walk COMMAND | ..: in each visit */
{
    char text[CALLBACK_BYTES];
    read_rest(in, text);
    return gpuarena_walk(calling(world.arena), call_visitor, text);
}

static gpuarena_result call_writer(const char *text, size_t bytes, void *user)
{
    (void)text;
    if (bytes && !call.is_inside) run_inside(user, NULL, 1);
    return GPUARENA_OK;
}

static gpuarena_result do_report(reader *in)     /* report json|text COMMAND | ..: in each write */
{
    char text[CALLBACK_BYTES];
    gpuarena_format format = take_word(in, "json") ? GPUARENA_FORMAT_JSON : GPUARENA_FORMAT_TEXT;
    if (format == GPUARENA_FORMAT_TEXT) (void)take_word(in, "text");
    read_rest(in, text);
    return gpuarena_report(calling(world.arena), format, call_writer, text);
}

static gpuarena_result do_pressure(reader *in)
{
    skip_spaces(in);
    if (pressure_count < 16) snprintf(pressures[pressure_count++], WORD_BYTES, "%s", in->at);
    else blame("too many lines of `pressure`");
    in->at += strlen(in->at);
    return GPUARENA_OK;
}

static gpuarena_config config_of(const char *text, int parent)
{
    gpuarena_config config = GPUARENA_INIT;
    char message[200], plain[WORD_BYTES * 2];
    size_t length = 0;
    for (; *text && length + 1 < sizeof plain; text++) if (*text != ' ') plain[length++] = *text;
    plain[length] = '\0';
    if (gpuarena_config_parse(plain, &config, message, sizeof message)) blame("%s", message);
    config.environment = getenv("GPUARENA_SCRIPT") ? "GPUARENA_SCRIPT" : "";
    if (parent < 0) config.driver = &device.table;
    else config.parent = world.arenas[parent].ptr;
    host_serve(&device.host, &config);
    config.pressure = pressure_count ? call_pressure : NULL;
    device.small_sizes |= config.debug != 0;
    return config;
}

static gpuarena_result do_arena(reader *in)      /* arena [NAME] [under NAME] CONFIGURATION */
{
    char word[WORD_BYTES], name[WORD_BYTES] = "arena";
    int parent = -1, number = world.arena_count;
    reader ahead = *in;
    gpuarena *made = NULL;
    while (*next_word(&ahead, word) && !strchr(word, '=')) {
        if (!strcmp(word, "under")) parent = arena_of(next_word(&ahead, word));
        else snprintf(name, sizeof name, "%s", word);
        *in = ahead;
    }
    skip_spaces(in);
    gpuarena_config config = config_of(in->at, parent);
    in->at += strlen(in->at);
    if (place.trouble[0] || number == DEVICE_ARENAS) return GPUARENA_OK;
    snprintf(config.name, sizeof config.name, "%.31s", name);
    device_holder fresh = { NULL, parent, 0, 0, 0, UINT64_MAX };
    device.holders[device.holder_count++] = fresh;
    snprintf(world.arenas[world.arena_count++].name, NAME_BYTES, "%.31s", name);
    (void)calling(-1);
    gpuarena_result result = gpuarena_create(&config, &made);
    if (result) {
        if (made) blame("a failed creation wrote its output");
        device.holders[number].table = &device.table;        /* no arena's */
        if (!threads.are_on) device.holder_count = world.arena_count = number;   /* else others may have come */
        return result;
    }
    gpuarena_get_config(made, &config);
    device.holders[number].table = config.driver;
    world.arenas[number].ptr = made;
    world.arena = number;
    if (threads.made) threads.made(made);
    gpuarena_stats stats;
    gpuarena_get_stats(made, &stats);
    device.holders[number].ceiling = stats.limit_bytes;
    if (device.holders[number].held_peak > stats.limit_bytes) blame("creation held more than the limit");
    return GPUARENA_OK;
}

static int read_arena(reader *in)
{
    char name[WORD_BYTES];
    if (at_end(in)) return world.arena;
    int at = arena_of(next_word(in, name));
    if (at < 0) blame("no arena: \"%s\"", name);
    return at < 0 ? 0 : at;
}

static gpuarena_result do_in(reader *in)         /* in NAME: of the commands from here on */
{
    world.arena = read_arena(in);
    return GPUARENA_OK;
}

/* Those that have ended have names no more. */
static void bury_arenas(void)
{
    for (int at = 0; at < world.arena_count; at++)
        if (world.arenas[at].is_over) memset(&world.arenas[at], 0, sizeof world.arenas[at]);
}

static gpuarena_result destroy_arena(int at)
{
    gpuarena_result result = gpuarena_destroy(calling(at));
    if (result) return result;
    world.arenas[at].is_over = 1;                /* threads may call it still, and are told */
    if (!threads.are_on) bury_arenas();
    device.holders[at].table = &device.table;
    for (int block = 0; block < world.block_count; block++)
        if (world.blocks[block].arena == at) world.blocks[block].live = 0;
    return result;
}

static gpuarena_result do_destroy(reader *in) { return destroy_arena(read_arena(in)); }

/* ---- memory */

static block_entry *name_block(const char *name)
{
    block_entry *block = find_block(name);
    if (block && block->live) blame("block %s is live", name);
    if (!block && world.block_count == MOST_BLOCKS) blame("too many blocks");
    if (place.trouble[0]) return NULL;
    if (!block) block = &world.blocks[world.block_count++];
    snprintf(block->name, sizeof block->name, "%.31s", name);
    return block;
}

static gpuarena_result do_alloc(reader *in)      /* a NAME SIZE [on STREAM] [for TIME] [align SIZE] .. */
{
    char name[WORD_BYTES];
    void *ptr = &call;
    next_word(in, name);
    wish wanted = read_wish(in);
    block_entry *block = name_block(name);
    if (!block || place.trouble[0]) return GPUARENA_OK;
    gpuarena *arena = calling(world.arena);
    gpuarena_result result = wanted.is_plain
        ? gpuarena_alloc(arena, &ptr, wanted.request.bytes, wanted.request.stream)
        : gpuarena_alloc_ex(arena, &ptr, &wanted.request);
    if (result && ptr != &call) blame("a failed allocation wrote its output");
    block->ptr = result ? NULL : ptr;
    block->bytes = wanted.request.bytes;
    block->owner = ++world.owner;
    block->arena = world.arena;
    block->stream = wanted.stream;
    block->live = !result && block->bytes;
    block->is_unwatched = wanted.is_untouched;
    if (!block->live) return result;
    if (wanted.request.alignment_bytes && bench_number(ptr) % wanted.request.alignment_bytes)
        blame("block %s is not aligned", name);
    if (!wanted.is_untouched) use_new(block, wanted.is_unused);
    if (wanted.work_ns && sim_work(device.machine, 0, stream_handle(block->stream), wanted.work_ns))
        blame("the stream does not work");
    if (wanted.work_ns) access_on(block, block->stream);
    return result;
}

static gpuarena_result do_can(reader *in)        /* can SIZE ..: what can_alloc answers */
{
    wish wanted = read_wish(in);
    return gpuarena_can_alloc(calling(world.arena), &wanted.request);
}

static gpuarena_result do_free(reader *in)       /* f NAME [on STREAM] [to ARENA]; on its own stream by name */
{
    block_entry *block;
    char *ptr = read_pointer(in, &block);
    int stream = read_on(in, block ? block->stream : STREAM_NULL);
    int arena = take_word(in, "to") ? read_arena(in) : block ? block->arena : world.arena;
    if (place.trouble[0] || (turn_struck() && block && !block->live)) return GPUARENA_OK;
    if (block) judge_contents(block);
    gpuarena_result result = gpuarena_free(calling(arena), ptr, stream_handle(stream));
    if (!result && block) block->live = 0;
    if (result && block) block->is_unwatched |= has_scrub(arena);
    return result;
}

static gpuarena_result do_resize(reader *in)     /* resize NAME SIZE [on STREAM] */
{
    block_entry *block;
    char *ptr = read_pointer(in, &block);
    uint64_t bytes = read_sum(in);
    int stream = read_on(in, block ? block->stream : STREAM_NULL);
    if (place.trouble[0] || (turn_struck() && block && !block->live)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_resize(calling(block ? block->arena : world.arena), ptr, bytes,
                                             stream_handle(stream));
    if (result && block) block->is_unwatched |= has_scrub(block->arena);
    if (result || !block) return result;
    uint64_t bad, was = block->bytes;
    if (bytes > was && has_scrub(block->arena) & GPUARENA_SCRUB_ALLOC
        && !sim_verify(device.machine, 0, block->ptr + was, bytes - was, 0, &bad))
        blame("what block %s took is not cleared", block->name);
    block->bytes = bytes;
    sim_fill(device.machine, 0, block->ptr, bytes, block->owner);
    return result;
}

static gpuarena_result do_use(reader *in)        /* use NAME on STREAM */
{
    block_entry *block;
    char *ptr = read_pointer(in, &block);
    int stream = read_on(in, STREAM_NULL);
    if (place.trouble[0] || (turn_struck() && block && !block->live)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_use(calling(block ? block->arena : world.arena), ptr, stream_handle(stream));
    if (result && block && turn_struck())        /* then the program has to order them itself */
        (void)sim_stream_follow(device.machine, 0, stream_handle(block->stream), stream_handle(stream));
    return result;
}

/* ---- between processes, both of them this one */

static gpuarena_result do_export(reader *in)     /* export NAME [as SHARE] [to ARENA] */
{
    block_entry *block;
    char name[WORD_BYTES] = "";
    char *ptr = read_pointer(in, &block);
    if (take_word(in, "as")) next_word(in, name);
    int arena = take_word(in, "to") ? read_arena(in) : block ? block->arena : world.arena;
    share_entry *share = find_share(name);
    if (!share && world.share_count == MOST_SETS) blame("too many shares");
    if (place.trouble[0] || (turn_struck() && block && !block->live)) return GPUARENA_OK;
    if (!share) share = &world.shares[world.share_count++];
    snprintf(share->name, sizeof share->name, "%.31s", name);
    share->block = block ? (int)(block - world.blocks) : -1;
    return gpuarena_export(calling(arena), ptr, &share->shared);
}

static gpuarena_result do_descriptor(reader *in) /* descriptor NAME AT: of the handle that begins there */
{
    block_entry *block;
    char *ptr = read_pointer(in, &block);
    uint64_t at = read_sum(in), bytes = 0;
    int fd = -1;
    gpuarena_result result = gpuarena_export_fd(calling(block ? block->arena : world.arena), ptr, at, &fd, &bytes);
    if (result ? fd != -1 || bytes : fd < 0 || !bytes || close(fd)) blame("no descriptor, or one too much");
    return result;
}

static gpuarena_result do_unexport(reader *in)   /* unexport NAME: all its exports end */
{
    block_entry *block;
    char *ptr = read_pointer(in, &block);
    if (place.trouble[0] || (turn_struck() && block && !block->live)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_export_end(calling(block ? block->arena : world.arena), ptr);
    return turn_struck() && result == GPUARENA_INVALID_ARGUMENT ? GPUARENA_OK : result;
}

/* Hands all pages of a share over. */
static gpuarena_result import_pages(share_entry *share)
{
    const block_entry *block = &world.blocks[share->block];
    gpuarena_result result = GPUARENA_OK;
    uint64_t bytes = 0;
    for (uint64_t at = 0; at < share->shared.paged_bytes && !result; at += bytes) {
        int fd = -1;
        result = gpuarena_export_fd(calling(block->arena), block->ptr, at, &fd, &bytes);
        if (!result) result = gpuarena_import_fd(calling(world.arena), share->ptr, fd, bytes);
        if (fd >= 0 && close(fd)) blame("no descriptor");
    }
    return result;
}

/* import SHARE: into the arena of the commands. What it maps has the contents of the block. */
static gpuarena_result do_import(reader *in)
{
    char name[WORD_BYTES];
    uint64_t bad;
    share_entry *share = find_share(next_word(in, name));
    if (!share && !turn_struck()) blame("no share: \"%s\"", name);
    if (place.trouble[0] || !share || !share->shared.bytes) return GPUARENA_OK;
    const block_entry *block = &world.blocks[share->block];
    share->ptr = NULL;
    share->arena = world.arena;
    gpuarena_result result = gpuarena_import(calling(world.arena), &share->shared, &share->ptr);
    if (!result) result = import_pages(share);
    if (result && share->ptr && !gpuarena_import_end(world.arenas[world.arena].ptr, share->ptr)) share->ptr = NULL;
    if (!result && !sim_verify(device.machine, 0, share->ptr, block->bytes, block->owner, &bad))
        blame("the import of %s has other contents at %" PRIu64, name, bad);
    return result;
}

static gpuarena_result do_unimport(reader *in)   /* unimport SHARE */
{
    char name[WORD_BYTES];
    share_entry *share = find_share(next_word(in, name));
    if (!share || (turn_struck() && !share->ptr)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_import_end(calling(share->arena), share->ptr);
    if (!result) share->ptr = NULL;
    return result;
}

static gpuarena_result do_touch(reader *in)      /* touch SHARE TIME on STREAM: work on an import */
{
    char name[WORD_BYTES];
    const share_entry *share = find_share(next_word(in, name));
    uint64_t work_ns = read_sum(in);
    int stream = read_on(in, STREAM_NULL);
    if (!share || !share->ptr) return GPUARENA_OK;
    const block_entry *block = &world.blocks[share->block];
    if (sim_work(device.machine, 0, stream_handle(stream), work_ns)
        || sim_access(device.machine, 0, stream_handle(stream), share->ptr, block->bytes, block->owner, world.op))
        blame("the stream does not work");
    return GPUARENA_OK;
}

static gpuarena_result do_forget(reader *in)
{
    gpuarena_stream stream = stream_handle(read_stream(in));
    return gpuarena_forget(calling(world.arena), stream);
}

static gpuarena_result do_reserve(reader *in) { return gpuarena_reserve(calling(world.arena), read_sum(in)); }

static gpuarena_result do_trim(reader *in)       /* trim [SIZE to keep] */
{
    uint64_t keep = at_end(in) ? 0 : read_sum(in);
    return gpuarena_trim(calling(world.arena), keep, &world.released);
}

static gpuarena_result do_limit(reader *in)      /* limit SIZE */
{
    device_holder *holder = &device.holders[world.arena];
    uint64_t bytes = take_word(in, "none") ? GPUARENA_NO_LIMIT : read_sum(in);
    if (bytes > holder->ceiling) holder->ceiling = bytes;
    gpuarena_result result = gpuarena_set_limit(calling(world.arena), bytes);
    holder->ceiling = bytes;                     /* in force, whatever the release answers */
    return result;
}

static void count_freed(int arena)
{
    gpuarena_block found;
    for (int at = 0; at < world.block_count; at++) {
        block_entry *block = &world.blocks[at];
        if (block->live && block->arena == arena && (gpuarena_lookup(world.arenas[arena].ptr, block->ptr, &found)
            || found.state != GPUARENA_STATE_LIVE || found.ptr != block->ptr)) block->live = 0;
    }
}

static gpuarena_result do_reset(reader *in)      /* reset [on STREAM] */
{
    int stream = read_on(in, STREAM_NULL);
    threads.has_reset |= threads.are_on;
    for (int at = 0; at < world.block_count && threads.are_on; at++)
        if (world.blocks[at].arena == world.arena) world.blocks[at].live = 0;
    gpuarena_result result = gpuarena_reset(calling(world.arena), stream_handle(stream));
    count_freed(world.arena);
    return result;
}

static gpuarena_result do_mark(reader *in)       /* mark NAME: a value of this name */
{
    char name[WORD_BYTES];
    set_value(next_word(in, name), gpuarena_mark(arena_now()));
    return GPUARENA_OK;
}

static gpuarena_result do_since(reader *in)      /* since MARK [tag NAME] [on STREAM]: frees what came after it */
{
    uint64_t mark = read_sum(in);
    uint32_t tag = take_word(in, "tag") ? read_tag(in) : 0;
    int stream = read_on(in, STREAM_NULL);
    gpuarena_result result = gpuarena_free_since(calling(world.arena), mark, tag, stream_handle(stream));
    count_freed(world.arena);
    return result;
}

static gpuarena_result do_step(reader *in) { return gpuarena_step(calling(world.arena), (uint32_t)read_sum(in)); }

static gpuarena_result do_peaks(reader *in) { (void)in; gpuarena_reset_peaks(arena_now()); return GPUARENA_OK; }

static gpuarena_result do_scope(reader *in) { (void)gpuarena_tag_scope(read_tag(in)); return GPUARENA_OK; }

/* figures: asks the driver for the device's figures */
static gpuarena_result do_figures(reader *in)
{
    gpuarena_device figures;
    (void)in;
    return gpuarena_get_device(calling(world.arena), &figures);
}

/* ---- captures: of the arena, on the device, or both */

typedef struct capture_words { set_entry *set; int stream, mode, on_arena, on_device, after; } capture_words;

static set_entry *name_set(const char *name)
{
    set_entry *set = find_set(name);
    if (set) return set;
    if (world.set_count == MOST_SETS) {
        blame("too many sets");
        return &world.sets[0];
    }
    set = &world.sets[world.set_count++];
    snprintf(set->name, sizeof set->name, "%.31s", name);
    set->number = isdigit((unsigned char)name[0]) ? strtoull(name, NULL, 10) : 0;
    return set;
}

static capture_words read_capture(reader *in)
{
    char name[WORD_BYTES];
    capture_words words = { NULL, STREAM_NULL, 0, 1, 1, STREAM_NULL };
    words.set = name_set(next_word(in, name));
    words.stream = read_on(in, STREAM_NULL);
    while (!at_end(in) && !place.trouble[0]) {
        if (take_word(in, "arena")) words.on_device = 0;
        else if (take_word(in, "device")) words.on_arena = 0;
        else if (take_word(in, "global")) words.mode = 0;
        else if (take_word(in, "local")) words.mode = 1;
        else if (take_word(in, "relaxed")) words.mode = 2;
        else if (take_word(in, "after")) words.after = read_stream(in);
        else if (take_word(in, "as")) {
            uint64_t number = words.set->number;
            words.set = name_set(next_word(in, name));
            words.set->number = number;
        } else blame("not understood: \"%.40s\"", in->at);
    }
    return words;
}

/* begin SET on STREAM [global|local|relaxed] [arena|device] [after STREAM: a fork of a stream that is captured] */
static gpuarena_result do_begin(reader *in)
{
    capture_words words = read_capture(in);
    int code = 0;
    if (place.trouble[0]) return GPUARENA_OK;
    if (words.on_arena) {
        uint64_t before = words.set->number;
        gpuarena_result result = gpuarena_capture_begin(calling(world.arena), stream_handle(words.stream),
                                                        strcmp(words.set->name, "none") ? &words.set->number : NULL);
        if (result && words.set->number != before) blame("a failed begin wrote its output");
        if (result) return result;
        if (!words.set->number) blame("a capture set has the number 0");
    }
    if (words.stream > 0) world.stream_captured[words.stream] = 1;
    if (words.after != STREAM_NULL)
        code = sim_stream_follow(device.machine, 0, stream_handle(words.stream), stream_handle(words.after));
    else if (words.on_device) code = sim_capture_begin(device.machine, 0, stream_handle(words.stream), words.mode);
    if (code) blame("the device does not capture: %d", code);
    return GPUARENA_OK;
}

/* end SET on STREAM [arena|device] [as GRAPH]: the graph has the name of the set, or another */
static gpuarena_result do_end(reader *in)
{
    capture_words words = read_capture(in);
    int code = 0;
    if (place.trouble[0]) return GPUARENA_OK;
    if (turn_struck() && words.stream > 0 && !world.stream_captured[words.stream]) return GPUARENA_OK;
    if (words.stream > 0) world.stream_captured[words.stream] = 0;
    if (words.on_device) code = sim_capture_end(device.machine, 0, stream_handle(words.stream), &words.set->graph);
    if (code || (words.on_device && !words.set->graph)) blame("the capture is not valid: %d", code);
    return words.on_arena ? gpuarena_capture_end(calling(world.arena), stream_handle(words.stream)) : GPUARENA_OK;
}

static gpuarena_result do_launch(reader *in)     /* launch GRAPH on STREAM */
{
    capture_words words = read_capture(in);
    if (place.trouble[0]) return GPUARENA_OK;
    if (sim_graph_launch(device.machine, 0, words.set->graph, stream_handle(words.stream), world.op))
        blame("the graph is not launched");
    return GPUARENA_OK;
}

static gpuarena_result do_discard(reader *in)    /* discard GRAPH: the program destroys it */
{
    char name[WORD_BYTES];
    set_entry *set = find_set(next_word(in, name));
    if (!set || !set->graph || sim_graph_destroy(device.machine, set->graph)) blame("no graph: \"%s\"", name);
    else set->graph = NULL;
    return GPUARENA_OK;
}

static gpuarena_result do_release(reader *in)    /* release SET on STREAM */
{
    capture_words words = read_capture(in);
    if (place.trouble[0] || (turn_struck() && !words.set->number)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_capture_release(calling(world.arena), words.set->number,
                                                      stream_handle(words.stream));
    if (!result) set_value("released_set", words.set->number);
    if (!result) words.set->number = 0;
    return result;
}

static gpuarena_result do_mode(reader *in)       /* mode global|local|relaxed: the thread's, for captures */
{
    static const char *const modes[] = { "global", "local", "relaxed" };
    int mode = 0, was = 0;
    char word[WORD_BYTES];
    world.expected++;
    next_word(in, word);
    device.real.capture.exchange_mode(&device.real, &was);
    mode = was;
    device.real.capture.exchange_mode(&device.real, &mode);
    if (was < 0 || was > 2 || strcmp(word, modes[was])) blame("the thread's mode is %d", was);
    return GPUARENA_OK;
}

/* ---- threads: lines that begin with | */

static gpuarena_result do_tell(reader *in)       /* tell NAME: what waits for it goes on */
{
    char name[WORD_BYTES];
    value_entry *told = value_of(next_word(in, name));
    if (!told->value) told->value = 1;
    if (threads.wake) threads.wake(told);
    return GPUARENA_OK;
}

static gpuarena_result do_await(reader *in)      /* await NAME: until it is told */
{
    char name[WORD_BYTES];
    value_entry *told = value_of(next_word(in, name));
    if (!threads.are_on) blame("there are no threads");
    while (!told->value && !place.trouble[0]) threads.wait(told, told->name);
    return GPUARENA_OK;
}

/* look [NAME]: sums hold, whatever other threads do, and the block is live; without one, the books are in order */
static gpuarena_result do_look(reader *in)
{
    gpuarena *arena = world.arenas[world.arena].ptr;
    gpuarena_stats stats;
    gpuarena_block found;
    block_entry *block;
    char message[200];
    world.expected++;
    gpuarena_get_stats(arena, &stats);
    if (wrong_sums(&stats)) blame("%s", wrong_sums(&stats));
    if (at_end(in)) {
        if (gpuarena_check(arena, message, sizeof message)) blame("check: %s", message);
        return GPUARENA_OK;
    }
    char *ptr = read_pointer(in, &block);
    if (gpuarena_owner(ptr) != arena || gpuarena_lookup(arena, ptr, &found) || found.state != GPUARENA_STATE_LIVE)
        blame("a live block is not found");
    return GPUARENA_OK;
}

/* ---- faults of the driver */

static device_entry read_entry(reader *in)
{
    char word[WORD_BYTES];
    next_word(in, word);
    for (int at = 0; at <= ENTRY_COUNT; at++) if (!strcmp(word, device_entries[at])) return (device_entry)at;
    blame("no driver call: \"%s\"", word);
    return ENTRY_COUNT;
}

/* fail next|every|N|N+ ENTRY [above SIZE] [CODE]: the call of this number from now on, and with + all later ones */
static gpuarena_result do_fail(reader *in)
{
    char word[WORD_BYTES];
    device_fault fault = { ENTRY_COUNT, 0, 1, 1, 0, 999 };
    next_word(in, word);
    if (!strcmp(word, "every")) fault.length = UINT64_MAX;
    else if (strcmp(word, "next")) {
        char *end;
        fault.at = strtoull(word, &end, 10);
        fault.length = *end == '+' ? UINT64_MAX : 1;
        if (*end == 'x') fault.length = fault.at, fault.at = 1;
        if (end == word) blame("`fail next|every|3|3+|3x ENTRY [CODE]` is expected");
    }
    fault.entry = read_entry(in);
    if (take_word(in, "above")) fault.above = read_sum(in);
    if (!at_end(in)) fault.code = (int)read_sum(in);
    if (device.fault_count < DEVICE_FAULTS) device.faults[device.fault_count++] = fault;
    else blame("too many faults");
    return GPUARENA_OK;
}

/* hold ENTRY ..: the first thread's next call of one of them tells `hung`, which is 2 then, and awaits `done` */
static gpuarena_result do_hold(reader *in)
{
    while (!at_end(in) && !place.trouble[0]) threads.held |= (uint32_t)1 << read_entry(in);
    return GPUARENA_OK;
}

static gpuarena_result do_heal(reader *in) { (void)in; device.fault_count = 0; return GPUARENA_OK; }

/* lie null|misaligned|overlap|wrap: of the next obtain. lie destroyed: the next destroy. lie free SIZE: info. */
static gpuarena_result do_lie(reader *in)
{
    if (take_word(in, "destroyed")) device.is_destroyed_wrongly = 1;
    else if (take_word(in, "reserve")) device.is_reserved_wrongly = 1;
    else if (take_word(in, "free")) {
        device.is_said = 1;
        device.said_free = read_sum(in);
    } else {
        device.lie = take_word(in, "null") ? LIE_NULL : take_word(in, "misaligned") ? LIE_MISALIGNED
            : take_word(in, "overlap") ? LIE_OVERLAP : take_word(in, "wrap") ? LIE_WRAP : LIE_NONE;
        if (!device.lie) blame("what kind of lie?");
    }
    return GPUARENA_OK;
}

static gpuarena_result do_rival(reader *in)      /* rival SIZE, rival -SIZE: another process takes, or gives back */
{
    int gives_back = take_mark(in, "-");
    sim_rival(device.machine, 0, read_sum(in), gives_back);
    return GPUARENA_OK;
}

static gpuarena_result do_environment(reader *in)    /* environment "TEXT": of arenas to come */
{
    char text[WORD_BYTES];
    if (setenv("GPUARENA_SCRIPT", next_word(in, text), 1)) blame("no environment");
    return GPUARENA_OK;
}

static void *run_elsewhere(void *user)
{
    run_line(user, ';');
    return NULL;
}

static gpuarena_result do_elsewhere(reader *in)  /* elsewhere COMMAND: another thread calls */
{
    char text[CALLBACK_BYTES];
    pthread_t thread;
    struct call_state was = call;
    read_rest(in, text);
    if (pthread_create(&thread, NULL, run_elsewhere, text) || pthread_join(thread, NULL)) blame("no other thread");
    call.arena = was.arena;
    return GPUARENA_OK;
}

/* within [always] ENTRY COMMAND | ..: in the next call of this entry, or in each; `any`: that changes memory */
static gpuarena_result do_within(reader *in)
{
    within_always = take_word(in, "always");
    within_entry = read_entry(in);
    read_rest(in, within_text);
    device.within = call_within;
    return GPUARENA_OK;
}

/* ---- what the script expects */

static gpuarena_result do_expect(reader *in)     /* expect A = B, C <= D .. */
{
    world.expected++;
    do {
        uint64_t left = 0, right = 0;
        const char *begin = in->at;
        int holds = read_comparison(in, &left, &right);
        if (!holds && !turn_struck())
            blame("%.*s: left is %" PRIu64 ", right is %" PRIu64, (int)(in->at - begin), begin, left, right);
    } while (take_mark(in, ",") && !place.trouble[0]);
    return GPUARENA_OK;
}

/* asked SIZE SIZE ..: what obtain and create were asked for since the last `asked` */
static gpuarena_result do_asked(reader *in)
{
    int at = 0;
    world.expected++;
    for (; !at_end(in) && !place.trouble[0]; at++) {
        uint64_t bytes = read_factor(in);
        if (at >= device.asked_count || device.asked[at] != bytes)
            blame("the driver was asked for %" PRIu64 " bytes as number %d",
                  at < device.asked_count ? device.asked[at] : 0, at + 1);
    }
    if (at != device.asked_count) blame("the driver was asked %d times, at last for %" PRIu64, device.asked_count,
                                        device.asked_count ? device.asked[device.asked_count - 1] : 0);
    device.asked_count = 0;
    return GPUARENA_OK;
}

static gpuarena_result do_count(reader *in)      /* count: calls are counted anew */
{
    (void)in;
    memset(device.calls, 0, sizeof device.calls);
    device.asked_count = 0;
    return GPUARENA_OK;
}

/* says "PART": the latest failure's sentence, or its detail, has this part. Of the thread, if no arena has failed. */
static gpuarena_result do_says(reader *in)
{
    char part[WORD_BYTES], text[600];
    gpuarena_failure failure;
    world.expected++;
    gpuarena_last_failure(call.arena < 0 ? NULL : world.arenas[call.arena].ptr, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    next_word(in, part);
    if (!strstr(text, part) && !strstr(failure.detail, part) && !turn_struck())
        blame("\"%s\" is not said, but: %s (%s)", part, text, failure.detail);
    return GPUARENA_OK;
}

/* force KEY=VALUE, ..: the configuration in force has these */
static gpuarena_result do_force(reader *in)
{
    char word[WORD_BYTES], text[600] = ",", wanted[WORD_BYTES + 2];
    gpuarena_config config;
    world.expected++;
    gpuarena_get_config(arena_now(), &config);
    size_t length = gpuarena_config_text(&config, text + 1, sizeof text - 2);
    snprintf(text + 1 + length, sizeof text - 1 - length, ",");
    do {
        snprintf(wanted, sizeof wanted, ",%s,", next_word(in, word));
        if (!strstr(text, wanted)) blame("%s is not in force, but: %s", word, text);
    } while (take_mark(in, ",") && !place.trouble[0]);
    return GPUARENA_OK;
}

/* config "TEXT" [is "TEXT"]: it is valid, and this is its canonical text */
static gpuarena_result do_config(reader *in)
{
    char text[WORD_BYTES], wanted[WORD_BYTES], canonical[600];
    gpuarena_config config = GPUARENA_INIT;
    next_word(in, text);
    (void)calling(-1);
    gpuarena_result result = gpuarena_config_parse(text, &config, NULL, 0);
    if (result) return result;
    world.expected++;
    gpuarena_config_text(&config, canonical, sizeof canonical);
    if (take_word(in, "is")) next_word(in, wanted);
    else snprintf(wanted, sizeof wanted, "%s", text);
    if (strcmp(canonical, wanted)) blame("\"%s\" is \"%s\"", text, canonical);
    return result;
}

static gpuarena_result do_cleared(reader *in)    /* cleared NAME[+OFFSET] SIZE: there are zeros */
{
    block_entry *block;
    uint64_t bad;
    const char *ptr = read_pointer(in, &block);
    world.expected++;
    if (!sim_verify(device.machine, 0, ptr, read_sum(in), 0, &bad)) blame("it is not cleared at %" PRIu64, bad);
    return GPUARENA_OK;
}

static gpuarena_result do_spoil(reader *in)      /* spoil NAME: its contents are others, for tests of scripts */
{
    block_entry *block;
    char *ptr = read_pointer(in, &block);
    sim_fill(device.machine, 0, ptr, 256, ++world.owner);
    return GPUARENA_OK;
}

static gpuarena_result do_let(reader *in)        /* let NAME = SUM */
{
    char name[WORD_BYTES];
    next_word(in, name);
    if (!take_mark(in, "=")) blame("`let x = ..` is expected");
    set_value(name, read_sum(in));
    return GPUARENA_OK;
}

enum { ASKS_MEMORY = 1, MAY_CHANGE = 2, PREDICTS = 4 };  /* MAY_CHANGE: refused, it has done a part */

static const struct { const char *verb; gpuarena_result (*run)(reader *in); int traits; } commands[] = {
    { "device", do_device, 0 }, { "arena", do_arena, ASKS_MEMORY }, { "in", do_in, 0 },
    { "destroy", do_destroy, 0 }, { "a", do_alloc, ASKS_MEMORY }, { "f", do_free, 0 },
    { "can", do_can, PREDICTS }, { "resize", do_resize, ASKS_MEMORY }, { "use", do_use, ASKS_MEMORY },
    { "forget", do_forget, ASKS_MEMORY | MAY_CHANGE }, { "reserve", do_reserve, ASKS_MEMORY },
    { "trim", do_trim, ASKS_MEMORY | MAY_CHANGE }, { "limit", do_limit, ASKS_MEMORY | MAY_CHANGE },
    { "reset", do_reset, MAY_CHANGE }, { "mark", do_mark, 0 }, { "since", do_since, MAY_CHANGE },
    { "step", do_step, 0 }, { "peaks", do_peaks, 0 }, { "scope", do_scope, 0 }, { "figures", do_figures, 0 },
    { "work", do_work, 0 }, { "order", do_order, 0 }, { "done", do_done, 0 }, { "later", do_later, 0 },
    { "gone", do_gone, 0 }, { "thread", do_thread, 0 }, { "begin", do_begin, ASKS_MEMORY },
    { "end", do_end, 0 }, { "launch", do_launch, 0 }, { "discard", do_discard, 0 },
    { "release", do_release, ASKS_MEMORY }, { "fail", do_fail, 0 }, { "heal", do_heal, 0 },
    { "lie", do_lie, 0 }, { "rival", do_rival, 0 }, { "environment", do_environment, 0 },
    { "pressure", do_pressure, 0 }, { "elsewhere", do_elsewhere, 0 },
    { "expect", do_expect, 0 }, { "asked", do_asked, 0 },
    { "count", do_count, 0 }, { "says", do_says, 0 }, { "force", do_force, 0 }, { "config", do_config, 0 },
    { "export", do_export, 0 }, { "descriptor", do_descriptor, 0 }, { "unexport", do_unexport, 0 },
    { "import", do_import, ASKS_MEMORY },
    { "unimport", do_unimport, MAY_CHANGE }, { "touch", do_touch, 0 },
    { "observe", do_observe, 0 }, { "walk", do_walk, 0 }, { "report", do_report, 0 }, { "within", do_within, 0 },
    { "tell", do_tell, 0 }, { "await", do_await, 0 }, { "look", do_look, 0 }, { "hold", do_hold, 0 },
    { "cleared", do_cleared, 0 }, { "let", do_let, 0 }, { "spoil", do_spoil, 0 }, { "mode", do_mode, 0 },
};

#endif

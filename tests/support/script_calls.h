/* The commands of scripts: a row each. tests/README.md tells how they are written.
   It must not know files and cases. Included by script_run.h. */
#ifndef TESTS_SCRIPT_CALLS_H
#define TESTS_SCRIPT_CALLS_H

#include <pthread.h>
#include <unistd.h>

#include "all_calls.h"
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
    int is_pressed;                              /* config.pressure was called for it */
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

static int read_arena(reader *in)
{
    char name[WORD_BYTES];
    if (at_end(in)) return world.arena;
    int at = arena_of(next_word(in, name));
    if (at < 0) blame("no arena: \"%s\"", name);
    return at < 0 ? 0 : at;
}

/* ---- words: what a command is given, read by its form; what is special in it, it reads itself */

typedef struct words {
    reader in;
    block_entry *block;                          /* NULL: none */
    char *ptr, name[WORD_BYTES];
    uint64_t bytes;
    int stream, arena;                           /* of the block, or the null stream, and the arena of the commands */
    share_entry *share;                          /* NULL: none */
} words;

/* Each letter of a form is a word: p a block NAME[+OFFSET], n a name, z a number, Z one that may be missing, s a
   stream, d an arena that may be missing, h a share; and what may stand there: o `on STREAM`, O the same,
   else the null stream; a `to ARENA`. */
static void read_form(words *w, const char *form)
{
    w->stream = STREAM_NULL;
    w->arena = world.arena;
    for (; *form && !place.trouble[0]; form++) {
        switch (*form) {
        case 'p':
            w->ptr = read_pointer(&w->in, &w->block);
            if (w->block) w->stream = w->block->stream;
            if (w->block) w->arena = w->block->arena;
            break;
        case 'n': next_word(&w->in, w->name); break;
        case 'z': w->bytes = read_sum(&w->in); break;
        case 'Z': if (!at_end(&w->in)) w->bytes = read_sum(&w->in); break;
        case 's': w->stream = read_stream(&w->in); break;
        case 'd': w->arena = read_arena(&w->in); break;
        case 'h': w->share = find_share(next_word(&w->in, w->name)); break;
        case 'o': w->stream = read_on(&w->in, w->stream); break;
        case 'O': w->stream = read_on(&w->in, STREAM_NULL); break;
        default: if (take_word(&w->in, "to")) w->arena = read_arena(&w->in);
        }
    }
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

static gpuarena_result do_work(words *w)         /* work NAME TIME on STREAM [bytes SIZE] */
{
    if (!w->block || !w->ptr) return GPUARENA_OK;
    block_entry used = *w->block;
    if (take_word(&w->in, "bytes")) used.bytes = read_sum(&w->in);
    if (sim_work(device.machine, 0, stream_handle(w->stream), w->bytes)) blame("the stream does not work");
    access_on(&used, w->stream);
    return GPUARENA_OK;
}

static gpuarena_result do_order(words *w)        /* order STREAM after STREAM */
{
    if (!take_word(&w->in, "after")) blame("`order s2 after s1` is expected");
    int other = read_stream(&w->in);
    /* a capture that was to be joined has not begun */
    if (turn_struck() && w->stream > 0 && other > 0
        && world.stream_captured[w->stream] != world.stream_captured[other]) return GPUARENA_OK;
    if (sim_stream_follow(device.machine, 0, stream_handle(w->stream), stream_handle(other)))
        blame("a stream cannot follow");
    return GPUARENA_OK;
}

static gpuarena_result do_done(words *w)       /* done STREAM, done all: the host has waited for it */
{
    int code = take_word(&w->in, "all") ? sim_device_wait(device.machine, 0)
        : sim_stream_wait(device.machine, 0, stream_handle(read_stream(&w->in)));
    if (code) blame("the host cannot wait: %d", code);
    return GPUARENA_OK;
}

static gpuarena_result do_later(words *w)        /* later TIME */
{
    sim_advance(device.machine, w->bytes);
    return GPUARENA_OK;
}

static gpuarena_result do_gone(words *w)         /* gone STREAM: the program destroys it */
{
    if (sim_stream_destroy(device.machine, 0, stream_handle(w->stream))) blame("the stream is not destroyed");
    world.stream_made[w->stream] = 0;
    return GPUARENA_OK;
}

static gpuarena_result do_thread(words *w)       /* thread NUMBER: who calls from now on; 0: the one that does */
{
    sim_thread(device.machine, w->bytes);
    return GPUARENA_OK;
}

/* ---- device, arenas */

/* device SIZE [of COUNT] [without GROUP] [chunk SIZE] [plain] .. */
static gpuarena_result do_device(words *w)
{
    char word[WORD_BYTES];
    uint64_t bytes;
    if (world.arena_count) {
        blame("the device comes before arenas");
        return GPUARENA_OK;
    }
    sim_destroy(device.machine);
    memset(world.stream_made, 0, sizeof world.stream_made);
    bytes = read_sum(&w->in);
    device_open(bytes, take_word(&w->in, "of") ? read_sum(&w->in) : 1);
    while (!at_end(&w->in) && !place.trouble[0]) {
        if (take_word(&w->in, "without")) {
            if (!device_without(next_word(&w->in, word))) blame("without what? \"%s\"", word);
        } else if (take_word(&w->in, "plain")) {
            static const char *const groups[] = { "vm", "events", "capture", "clear", "clock" };
            for (size_t at = 0; at < COUNT(groups); at++) (void)device_without(groups[at]);
        } else if (take_word(&w->in, "chunk")) {
            if (sim_pool_chunk(device.machine, 0, read_sum(&w->in))) blame("no such chunk");
        } else if (take_word(&w->in, "rival")) sim_rival(device.machine, 0, read_sum(&w->in), 0);
        else if (take_word(&w->in, "shift")) device.shift = read_sum(&w->in);
        else if (take_word(&w->in, "reuse")) sim_reuse_handles(device.machine, 1);
        else if (take_word(&w->in, "peers")) device.table.peers = read_sum(&w->in);
        else if (take_word(&w->in, "own")) device.table.null_is_per_thread = 1;
        else if (take_word(&w->in, "standing")) device.table.now_ns = device_standing_clock;
        else blame("not understood: \"%.40s\"", w->in.at);
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
    call.is_pressed = 1;
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

/* Actions are kept for `acted`. Calls inside leave a failure's record as it is. */
static void call_observer(gpuarena *arena, const gpuarena_action *action, void *user)
{
    gpuarena_stats stats;
    (void)user;
    gpuarena_get_stats(arena, &stats);
    if (world.told_count < MOST_ACTIONS)
        world.told[world.told_count++] = (told_action){ *action, stats.reserved_bytes };
    if (!call.is_inside) run_inside(observer_text, arena, 1);
    int has_failed = action->kind == GPUARENA_ACTION_FAIL || action->kind == GPUARENA_ACTION_MISUSE;
    if (has_failed ? !action->failure || !action->result || action->failure->result != action->result
                   : action->failure || action->result) blame("an action's result, and whose failure it is");
}

/* observe COMMAND | ..: in each action; before the first arena: of each, its creation included */
static gpuarena_result do_observe(words *w)
{
    read_rest(&w->in, observer_text);
    world.told_count = world.acted_from = world.acted_to = 0;
    world.is_observed = !world.arena_count;
    return world.is_observed ? GPUARENA_OK : gpuarena_observe(calling(world.arena), call_observer, NULL);
}

/* acted KIND KIND ..: the actions since the last `acted`, which are numbered one behind the other */
static gpuarena_result do_acted(words *w)
{
    static const char *const kinds[] = { "alloc", "free", "free_done", "use", "resize", "grow", "release", "remap",
                                         "limit", "fail", "misuse" };
    char word[WORD_BYTES];
    int at = world.acted_to;
    world.expected++;
    for (; !at_end(&w->in) && !place.trouble[0]; at++) {
        const char *kind = at < world.told_count ? kinds[world.told[at].action.kind] : "nothing";
        if (strcmp(next_word(&w->in, word), kind)) blame("instead of `%s`: %s", word, kind);
    }
    if (at != world.told_count) blame("%d more actions, the first of them: %s", world.told_count - at,
                                      kinds[world.told[at].action.kind]);
    world.acted_from = world.acted_to;
    world.acted_to = at;
    return GPUARENA_OK;
}

/* reentrant NAME: all calls of the arena, those with this block too, answer so */
static gpuarena_result do_reentrant(words *w)
{
    int number = all_calls_answer(arena_now(), w->ptr, GPUARENA_REENTRANT);
    if (number) blame("number %d of all calls does not answer so", number);
    return GPUARENA_OK;
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

static gpuarena_result do_walk(words *w)       /* walk COMMAND | ..: in each visit */
{
    char text[CALLBACK_BYTES];
    read_rest(&w->in, text);
    return gpuarena_walk(calling(world.arena), call_visitor, text);
}

static gpuarena_result call_writer(const char *text, size_t bytes, void *user)
{
    (void)text;
    if (bytes && !call.is_inside) run_inside(user, NULL, 1);
    return GPUARENA_OK;
}

static gpuarena_result do_report(words *w)     /* report json|text COMMAND | ..: in each write */
{
    char text[CALLBACK_BYTES];
    gpuarena_format format = take_word(&w->in, "json") ? GPUARENA_FORMAT_JSON : GPUARENA_FORMAT_TEXT;
    if (format == GPUARENA_FORMAT_TEXT) (void)take_word(&w->in, "text");
    read_rest(&w->in, text);
    return gpuarena_report(calling(world.arena), format, call_writer, text);
}

static gpuarena_result do_pressure(words *w)
{
    skip_spaces(&w->in);
    if (pressure_count < 16) snprintf(pressures[pressure_count++], WORD_BYTES, "%s", w->in.at);
    else blame("too many lines of `pressure`");
    w->in.at += strlen(w->in.at);
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
    config.observe = world.is_observed ? call_observer : NULL;
    device.small_sizes |= config.debug != 0;
    return config;
}

static gpuarena_result do_arena(words *w)      /* arena [NAME] [under NAME] CONFIGURATION */
{
    char word[WORD_BYTES], name[WORD_BYTES] = "arena";
    int parent = -1, number = world.arena_count;
    reader ahead = w->in;
    gpuarena *made = NULL;
    while (*next_word(&ahead, word) && !strchr(word, '=')) {
        if (!strcmp(word, "under")) parent = arena_of(next_word(&ahead, word));
        else snprintf(name, sizeof name, "%s", word);
        w->in = ahead;
    }
    skip_spaces(&w->in);
    gpuarena_config config = config_of(w->in.at, parent);
    w->in.at += strlen(w->in.at);
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
    world.arenas[number].has_pressure = config.pressure != NULL;
    world.arena = number;
    if (threads.made) threads.made(made);
    gpuarena_stats stats;
    gpuarena_get_stats(made, &stats);
    device.holders[number].ceiling = stats.limit_bytes;
    if (device.holders[number].held_peak > stats.limit_bytes) blame("creation held more than the limit");
    return GPUARENA_OK;
}

static gpuarena_result do_in(words *w)           /* in NAME: of the commands from here on */
{
    world.arena = w->arena;
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

static gpuarena_result do_destroy(words *w) { return destroy_arena(w->arena); }

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

static gpuarena_result do_alloc(words *w)      /* a NAME SIZE [on STREAM] [for TIME] [align SIZE] .. */
{
    void *ptr = &call;
    wish wanted = read_wish(&w->in);
    block_entry *block = name_block(w->name);
    if (!block || place.trouble[0]) return GPUARENA_OK;
    gpuarena *arena = calling(world.arena);
    call.is_pressed = 0;
    gpuarena_result result = wanted.is_plain
        ? gpuarena_alloc(arena, &ptr, wanted.request.bytes, wanted.request.stream)
        : gpuarena_alloc_ex(arena, &ptr, &wanted.request);
    if (result && ptr != &call) blame("a failed allocation wrote its output");
    if (threads.are_on && result == GPUARENA_OUT_OF_MEMORY && world.arenas[world.arena].has_pressure
        && !call.is_pressed) blame("an allocation is refused without a call of config.pressure");
    block->ptr = result ? NULL : ptr;
    block->bytes = wanted.request.bytes;
    block->owner = ++world.owner;
    block->arena = world.arena;
    block->stream = wanted.stream;
    block->live = !result && block->bytes;
    block->is_unwatched = wanted.is_untouched;
    world.arenas[world.arena].alloc_count += !result;
    if (!block->live) return result;
    if (wanted.request.alignment_bytes && bench_number(ptr) % wanted.request.alignment_bytes)
        blame("block %s is not aligned", w->name);
    if (!wanted.is_untouched) use_new(block, wanted.is_unused);
    if (wanted.work_ns && sim_work(device.machine, 0, stream_handle(block->stream), wanted.work_ns))
        blame("the stream does not work");
    if (wanted.work_ns) access_on(block, block->stream);
    return result;
}

static gpuarena_result do_can(words *w)        /* can SIZE ..: what can_alloc answers */
{
    wish wanted = read_wish(&w->in);
    return gpuarena_can_alloc(calling(world.arena), &wanted.request);
}

static gpuarena_result do_free(words *w)         /* f NAME [on STREAM] [to ARENA]; on its own stream by name */
{
    block_entry *block = w->block;
    if (block) judge_contents(block);
    gpuarena_result result = gpuarena_free(calling(w->arena), w->ptr, stream_handle(w->stream));
    if (!result && block) world.arenas[block->arena].free_count += block->live != 0;
    if (!result && block) block->live = 0;
    if (result && block) block->is_unwatched |= has_scrub(w->arena);
    return result;
}

static gpuarena_result do_resize(words *w)       /* resize NAME SIZE [on STREAM] */
{
    block_entry *block = w->block;
    uint64_t bad, was = block ? block->bytes : 0;
    gpuarena_result result = gpuarena_resize(calling(w->arena), w->ptr, w->bytes, stream_handle(w->stream));
    if (result && block) block->is_unwatched |= has_scrub(block->arena);
    if (result || !block) return result;
    if (w->bytes > was && has_scrub(block->arena) & GPUARENA_SCRUB_ALLOC
        && !sim_verify(device.machine, 0, block->ptr + was, w->bytes - was, 0, &bad))
        blame("what block %s took is not cleared", block->name);
    block->bytes = w->bytes;
    sim_fill(device.machine, 0, block->ptr, w->bytes, block->owner);
    return result;
}

static gpuarena_result do_use(words *w)          /* use NAME on STREAM */
{
    gpuarena_stream stream = stream_handle(w->stream);
    gpuarena_result result = gpuarena_use(calling(w->arena), w->ptr, stream);
    if (result && w->block && turn_struck())     /* then the program has to order them itself */
        (void)sim_stream_follow(device.machine, 0, stream_handle(w->block->stream), stream);
    return result;
}

/* ---- between processes, both of them this one */

/* The share of this name, a new one if there is none. */
static share_entry *share_of(const char *name)
{
    share_entry *share = find_share(name);
    if (share) return share;
    if (world.share_count == MOST_SETS) {
        blame("too many shares");
        return &world.shares[0];
    }
    share = &world.shares[world.share_count++];
    snprintf(share->name, sizeof share->name, "%.31s", name);
    return share;
}

static gpuarena_result do_export(words *w)       /* export NAME [as SHARE] [to ARENA] */
{
    if (take_word(&w->in, "as")) next_word(&w->in, w->name);
    if (take_word(&w->in, "to")) w->arena = read_arena(&w->in);
    share_entry *share = share_of(w->name);
    share->block = w->block ? (int)(w->block - world.blocks) : -1;
    return gpuarena_export(calling(w->arena), w->ptr, &share->shared);
}

static gpuarena_result do_descriptor(words *w)   /* descriptor NAME AT: of the handle that begins there */
{
    uint64_t bytes = 0;
    int fd = -1;
    gpuarena_result result = gpuarena_export_fd(calling(w->arena), w->ptr, w->bytes, &fd, &bytes);
    if (result ? fd != -1 || bytes : fd < 0 || !bytes || close(fd)) blame("no descriptor, or one too much");
    return result;
}

static gpuarena_result do_unexport(words *w)     /* unexport NAME: all its exports end */
{
    gpuarena_result result = gpuarena_export_end(calling(w->arena), w->ptr);
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
static gpuarena_result do_import(words *w)
{
    uint64_t bad;
    share_entry *share = w->share;
    if (!share && !turn_struck()) blame("no share: \"%s\"", w->name);
    if (place.trouble[0] || !share || !share->shared.bytes) return GPUARENA_OK;
    const block_entry *block = &world.blocks[share->block];
    share->ptr = NULL;
    share->arena = world.arena;
    gpuarena_result result = gpuarena_import(calling(world.arena), &share->shared, &share->ptr);
    if (!result) result = import_pages(share);
    if (result && share->ptr && !gpuarena_import_end(world.arenas[world.arena].ptr, share->ptr)) share->ptr = NULL;
    if (!result && !sim_verify(device.machine, 0, share->ptr, block->bytes, block->owner, &bad))
        blame("the import of %s has other contents at %" PRIu64, w->name, bad);
    return result;
}

static gpuarena_result do_unimport(words *w)     /* unimport SHARE */
{
    if (!w->share || (turn_struck() && !w->share->ptr)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_import_end(calling(w->share->arena), w->share->ptr);
    if (!result) w->share->ptr = NULL;
    return result;
}

static gpuarena_result do_touch(words *w)        /* touch SHARE TIME on STREAM: work on an import */
{
    gpuarena_stream stream = stream_handle(w->stream);
    if (!w->share || !w->share->ptr) return GPUARENA_OK;
    const block_entry *block = &world.blocks[w->share->block];
    if (sim_work(device.machine, 0, stream, w->bytes)
        || sim_access(device.machine, 0, stream, w->share->ptr, block->bytes, block->owner, world.op))
        blame("the stream does not work");
    return GPUARENA_OK;
}

static gpuarena_result do_forget(words *w) { return gpuarena_forget(calling(w->arena), stream_handle(w->stream)); }

static gpuarena_result do_reserve(words *w) { return gpuarena_reserve(calling(w->arena), w->bytes); }

static gpuarena_result do_trim(words *w)         /* trim [SIZE to keep] */
{
    return gpuarena_trim(calling(w->arena), w->bytes, &world.released);
}

static gpuarena_result do_limit(words *w)      /* limit SIZE */
{
    device_holder *holder = &device.holders[world.arena];
    uint64_t bytes = take_word(&w->in, "none") ? GPUARENA_NO_LIMIT : read_sum(&w->in);
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

static gpuarena_result do_reset(words *w)      /* reset [on STREAM] */
{
    threads.has_reset |= threads.are_on;
    for (int at = 0; at < world.block_count && threads.are_on; at++)
        if (world.blocks[at].arena == world.arena) world.blocks[at].live = 0;
    world.arenas[w->arena].is_uncounted = 1;
    gpuarena_result result = gpuarena_reset(calling(w->arena), stream_handle(w->stream));
    count_freed(world.arena);
    return result;
}

static gpuarena_result do_mark(words *w)         /* mark NAME: a value of this name */
{
    set_value(w->name, gpuarena_mark(arena_now()));
    return GPUARENA_OK;
}

static gpuarena_result do_since(words *w)        /* since MARK [tag NAME] [on STREAM]: frees what came after it */
{
    uint32_t tag = take_word(&w->in, "tag") ? read_tag(&w->in) : 0;
    gpuarena_stream stream = stream_handle(read_on(&w->in, STREAM_NULL));
    world.arenas[w->arena].is_uncounted = 1;
    gpuarena_result result = gpuarena_free_since(calling(w->arena), w->bytes, tag, stream);
    count_freed(world.arena);
    return result;
}

static gpuarena_result do_step(words *w) { return gpuarena_step(calling(w->arena), (uint32_t)w->bytes); }

static gpuarena_result do_peaks(words *w) { (void)w; gpuarena_reset_peaks(arena_now()); return GPUARENA_OK; }

static gpuarena_result do_scope(words *w) { (void)gpuarena_tag_scope(read_tag(&w->in)); return GPUARENA_OK; }

/* figures: asks the driver for the device's figures */
static gpuarena_result do_figures(words *w)
{
    gpuarena_device figures;
    (void)w;
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
    capture_words given = { NULL, STREAM_NULL, 0, 1, 1, STREAM_NULL };
    given.set = name_set(next_word(in, name));
    given.stream = read_on(in, STREAM_NULL);
    while (!at_end(in) && !place.trouble[0]) {
        if (take_word(in, "arena")) given.on_device = 0;
        else if (take_word(in, "device")) given.on_arena = 0;
        else if (take_word(in, "global")) given.mode = 0;
        else if (take_word(in, "local")) given.mode = 1;
        else if (take_word(in, "relaxed")) given.mode = 2;
        else if (take_word(in, "after")) given.after = read_stream(in);
        else if (take_word(in, "as")) {
            uint64_t number = given.set->number;
            given.set = name_set(next_word(in, name));
            given.set->number = number;
        } else blame("not understood: \"%.40s\"", in->at);
    }
    return given;
}

/* begin SET on STREAM [global|local|relaxed] [arena|device] [after STREAM: a fork of a stream that is captured] */
static gpuarena_result do_begin(words *w)
{
    capture_words given = read_capture(&w->in);
    int code = 0;
    if (place.trouble[0]) return GPUARENA_OK;
    if (given.on_arena) {
        uint64_t before = given.set->number;
        gpuarena_result result = gpuarena_capture_begin(calling(world.arena), stream_handle(given.stream),
                                                        strcmp(given.set->name, "none") ? &given.set->number : NULL);
        if (result && given.set->number != before) blame("a failed begin wrote its output");
        if (result) return result;
        if (!given.set->number) blame("a capture set has the number 0");
    }
    if (given.stream > 0) world.stream_captured[given.stream] = 1;
    if (given.after != STREAM_NULL)
        code = sim_stream_follow(device.machine, 0, stream_handle(given.stream), stream_handle(given.after));
    else if (given.on_device) code = sim_capture_begin(device.machine, 0, stream_handle(given.stream), given.mode);
    if (code) blame("the device does not capture: %d", code);
    return GPUARENA_OK;
}

/* end SET on STREAM [arena|device] [as GRAPH]: the graph has the name of the set, or another */
static gpuarena_result do_end(words *w)
{
    capture_words given = read_capture(&w->in);
    int code = 0;
    if (place.trouble[0]) return GPUARENA_OK;
    if (turn_struck() && given.stream > 0 && !world.stream_captured[given.stream]) return GPUARENA_OK;
    if (given.stream > 0) world.stream_captured[given.stream] = 0;
    if (given.on_device) code = sim_capture_end(device.machine, 0, stream_handle(given.stream), &given.set->graph);
    if (code || (given.on_device && !given.set->graph)) blame("the capture is not valid: %d", code);
    return given.on_arena ? gpuarena_capture_end(calling(world.arena), stream_handle(given.stream)) : GPUARENA_OK;
}

static gpuarena_result do_launch(words *w)     /* launch GRAPH on STREAM */
{
    capture_words given = read_capture(&w->in);
    if (place.trouble[0]) return GPUARENA_OK;
    if (sim_graph_launch(device.machine, 0, given.set->graph, stream_handle(given.stream), world.op))
        blame("the graph is not launched");
    return GPUARENA_OK;
}

static gpuarena_result do_discard(words *w)      /* discard GRAPH: the program destroys it */
{
    set_entry *set = find_set(w->name);
    if (!set || !set->graph || sim_graph_destroy(device.machine, set->graph)) blame("no graph: \"%s\"", w->name);
    else set->graph = NULL;
    return GPUARENA_OK;
}

static gpuarena_result do_release(words *w)    /* release SET on STREAM */
{
    capture_words given = read_capture(&w->in);
    if (place.trouble[0] || (turn_struck() && !given.set->number)) return GPUARENA_OK;
    gpuarena_result result = gpuarena_capture_release(calling(world.arena), given.set->number,
                                                      stream_handle(given.stream));
    if (!result) set_value("released_set", given.set->number);
    if (!result) given.set->number = 0;
    return result;
}

static gpuarena_result do_mode(words *w)       /* mode global|local|relaxed: the thread's, for captures */
{
    static const char *const modes[] = { "global", "local", "relaxed" };
    int mode = 0, was = 0;
    char word[WORD_BYTES];
    world.expected++;
    next_word(&w->in, word);
    device.real.capture.exchange_mode(&device.real, &was);
    mode = was;
    device.real.capture.exchange_mode(&device.real, &mode);
    if (was < 0 || was > 2 || strcmp(word, modes[was])) blame("the thread's mode is %d", was);
    return GPUARENA_OK;
}

/* ---- threads: lines that begin with | */

static gpuarena_result do_tell(words *w)         /* tell NAME: what waits for it goes on */
{
    value_entry *told = value_of(w->name);
    if (!told->value) told->value = 1;
    if (threads.wake) threads.wake(told);
    return GPUARENA_OK;
}

static gpuarena_result do_await(words *w)        /* await NAME: until it is told */
{
    value_entry *told = value_of(w->name);
    if (!threads.are_on) blame("there are no threads");
    while (!told->value && !place.trouble[0]) threads.wait(told, told->name);
    return GPUARENA_OK;
}

/* look [NAME]: sums hold, whatever other threads do, and the block is live; without one, the books are in order */
static gpuarena_result do_look(words *w)
{
    gpuarena *arena = world.arenas[world.arena].ptr;
    gpuarena_stats stats;
    gpuarena_block found;
    char message[200];
    world.expected++;
    gpuarena_get_stats(arena, &stats);
    if (wrong_sums(&stats)) blame("%s", wrong_sums(&stats));
    if (at_end(&w->in)) {
        if (gpuarena_check(arena, message, sizeof message)) blame("check: %s", message);
        return GPUARENA_OK;
    }
    read_form(w, "p");
    if (gpuarena_owner(w->ptr) != arena || gpuarena_lookup(arena, w->ptr, &found)
        || found.state != GPUARENA_STATE_LIVE) blame("a live block is not found");
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
static gpuarena_result do_fail(words *w)
{
    char word[WORD_BYTES];
    device_fault meant = { ENTRY_COUNT, 0, 1, 1, 0, 999 };
    next_word(&w->in, word);
    if (!strcmp(word, "every")) meant.length = UINT64_MAX;
    else if (strcmp(word, "next")) {
        char *end;
        meant.at = strtoull(word, &end, 10);
        meant.length = *end == '+' ? UINT64_MAX : 1;
        if (*end == 'x') meant.length = meant.at, meant.at = 1;
        if (end == word) blame("`fail next|every|3|3+|3x ENTRY [CODE]` is expected");
    }
    meant.entry = read_entry(&w->in);
    if (take_word(&w->in, "above")) meant.above = read_sum(&w->in);
    if (!at_end(&w->in)) meant.code = (int)read_sum(&w->in);
    if (device.fault_count < DEVICE_FAULTS) device.faults[device.fault_count++] = meant;
    else blame("too many faults");
    return GPUARENA_OK;
}

/* hold ENTRY ..: the first thread's next call of one of them tells `hung`, which is 2 then, and awaits `done` */
static gpuarena_result do_hold(words *w)
{
    while (!at_end(&w->in) && !place.trouble[0]) threads.held |= (uint32_t)1 << read_entry(&w->in);
    return GPUARENA_OK;
}

static gpuarena_result do_heal(words *w) { (void)w; device.fault_count = 0; return GPUARENA_OK; }

/* lie null|misaligned|overlap|wrap: of the next obtain. lie destroyed: the next destroy. lie free SIZE: info. */
static gpuarena_result do_lie(words *w)
{
    if (take_word(&w->in, "destroyed")) device.is_destroyed_wrongly = 1;
    else if (take_word(&w->in, "reserve")) device.is_reserved_wrongly = 1;
    else if (take_word(&w->in, "free")) {
        device.is_said = 1;
        device.said_free = read_sum(&w->in);
    } else {
        device.lie = take_word(&w->in, "null") ? LIE_NULL : take_word(&w->in, "misaligned") ? LIE_MISALIGNED
            : take_word(&w->in, "overlap") ? LIE_OVERLAP : take_word(&w->in, "wrap") ? LIE_WRAP : LIE_NONE;
        if (!device.lie) blame("what kind of lie?");
    }
    return GPUARENA_OK;
}

static gpuarena_result do_rival(words *w)      /* rival SIZE, rival -SIZE: another process takes, or gives back */
{
    int gives_back = take_mark(&w->in, "-");
    sim_rival(device.machine, 0, read_sum(&w->in), gives_back);
    return GPUARENA_OK;
}

static gpuarena_result do_environment(words *w)    /* environment "TEXT": of arenas to come */
{
    char text[WORD_BYTES];
    if (setenv("GPUARENA_SCRIPT", next_word(&w->in, text), 1)) blame("no environment");
    return GPUARENA_OK;
}

static void *run_elsewhere(void *user)
{
    run_line(user, ';');
    return NULL;
}

static gpuarena_result do_elsewhere(words *w)  /* elsewhere COMMAND: another thread calls */
{
    char text[CALLBACK_BYTES];
    pthread_t thread;
    struct call_state was = call;
    read_rest(&w->in, text);
    if (pthread_create(&thread, NULL, run_elsewhere, text) || pthread_join(thread, NULL)) blame("no other thread");
    call.arena = was.arena;
    return GPUARENA_OK;
}

/* within [always] ENTRY COMMAND | ..: in the next call of this entry, or in each; `any`: that changes memory */
static gpuarena_result do_within(words *w)
{
    within_always = take_word(&w->in, "always");
    within_entry = read_entry(&w->in);
    read_rest(&w->in, within_text);
    device.within = call_within;
    return GPUARENA_OK;
}

/* ---- what the script expects */

static gpuarena_result do_expect(words *w)     /* expect A = B, C <= D .. */
{
    world.expected++;
    do {
        uint64_t left = 0, right = 0;
        const char *begin = w->in.at;
        int holds = read_comparison(&w->in, &left, &right);
        if (!holds && !turn_struck())
            blame("%.*s: left is %" PRIu64 ", right is %" PRIu64, (int)(w->in.at - begin), begin, left, right);
    } while (take_mark(&w->in, ",") && !place.trouble[0]);
    return GPUARENA_OK;
}

/* asked SIZE SIZE ..: what obtain and create were asked for since the last `asked` */
static gpuarena_result do_asked(words *w)
{
    int at = 0;
    world.expected++;
    for (; !at_end(&w->in) && !place.trouble[0]; at++) {
        uint64_t bytes = read_factor(&w->in);
        if (at >= device.asked_count || device.asked[at] != bytes)
            blame("the driver was asked for %" PRIu64 " bytes as number %d",
                  at < device.asked_count ? device.asked[at] : 0, at + 1);
    }
    if (at != device.asked_count) blame("the driver was asked %d times, at last for %" PRIu64, device.asked_count,
                                        device.asked_count ? device.asked[device.asked_count - 1] : 0);
    device.asked_count = 0;
    return GPUARENA_OK;
}

static gpuarena_result do_count(words *w)      /* count: calls are counted anew */
{
    (void)w;
    memset(device.calls, 0, sizeof device.calls);
    device.asked_count = 0;
    return GPUARENA_OK;
}

/* says "PART": the latest failure's sentence, or its detail, has this part. Of the thread, if no arena has failed. */
static gpuarena_result do_says(words *w)
{
    char part[WORD_BYTES], text[600];
    gpuarena_failure failure;
    world.expected++;
    gpuarena_last_failure(call.arena < 0 ? NULL : world.arenas[call.arena].ptr, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    next_word(&w->in, part);
    if (!strstr(text, part) && !strstr(failure.detail, part) && !turn_struck())
        blame("\"%s\" is not said, but: %s (%s)", part, text, failure.detail);
    return GPUARENA_OK;
}

/* force KEY=VALUE, ..: the configuration in force has these */
static gpuarena_result do_force(words *w)
{
    char word[WORD_BYTES], text[600] = ",", wanted[WORD_BYTES + 2];
    gpuarena_config config;
    world.expected++;
    gpuarena_get_config(arena_now(), &config);
    size_t length = gpuarena_config_text(&config, text + 1, sizeof text - 2);
    snprintf(text + 1 + length, sizeof text - 1 - length, ",");
    do {
        snprintf(wanted, sizeof wanted, ",%s,", next_word(&w->in, word));
        if (!strstr(text, wanted)) blame("%s is not in force, but: %s", word, text);
    } while (take_mark(&w->in, ",") && !place.trouble[0]);
    return GPUARENA_OK;
}

/* config "TEXT" [is "TEXT"]: it is valid, and this is its canonical text */
static gpuarena_result do_config(words *w)
{
    char text[WORD_BYTES], wanted[WORD_BYTES], canonical[600];
    gpuarena_config config = GPUARENA_INIT;
    next_word(&w->in, text);
    (void)calling(-1);
    gpuarena_result result = gpuarena_config_parse(text, &config, NULL, 0);
    if (result) return result;
    world.expected++;
    gpuarena_config_text(&config, canonical, sizeof canonical);
    if (take_word(&w->in, "is")) next_word(&w->in, wanted);
    else snprintf(wanted, sizeof wanted, "%s", text);
    if (strcmp(canonical, wanted)) blame("\"%s\" is \"%s\"", text, canonical);
    return result;
}

static gpuarena_result do_cleared(words *w)      /* cleared NAME[+OFFSET] SIZE: there are zeros */
{
    uint64_t bad;
    world.expected++;
    if (!sim_verify(device.machine, 0, w->ptr, w->bytes, 0, &bad)) blame("it is not cleared at %" PRIu64, bad);
    return GPUARENA_OK;
}

static gpuarena_result do_spoil(words *w)        /* spoil NAME: its contents are others, for tests of scripts */
{
    sim_fill(device.machine, 0, w->ptr, 256, ++world.owner);
    return GPUARENA_OK;
}

static gpuarena_result do_let(words *w)          /* let NAME = SUM */
{
    if (!take_mark(&w->in, "=")) blame("`let x = ..` is expected");
    set_value(w->name, read_sum(&w->in));
    return GPUARENA_OK;
}

/* NEEDS_LIVE: without the block it does nothing, once a fault has struck its allocation. MAY_CHANGE: refused, it has
   done a part. */
enum { ASKS_MEMORY = 1, MAY_CHANGE = 2, PREDICTS = 4, NEEDS_LIVE = 8 };

static const struct command {
    const char *verb, *form;
    gpuarena_result (*run)(words *w);
    int traits;
} commands[] = {
    { "device", "", do_device, 0 }, { "arena", "", do_arena, ASKS_MEMORY }, { "in", "d", do_in, 0 },
    { "destroy", "d", do_destroy, 0 }, { "a", "n", do_alloc, ASKS_MEMORY }, { "f", "poa", do_free, NEEDS_LIVE },
    { "can", "", do_can, PREDICTS }, { "resize", "pzo", do_resize, ASKS_MEMORY | NEEDS_LIVE },
    { "use", "pO", do_use, ASKS_MEMORY | NEEDS_LIVE }, { "forget", "s", do_forget, ASKS_MEMORY | MAY_CHANGE },
    { "reserve", "z", do_reserve, ASKS_MEMORY }, { "trim", "Z", do_trim, ASKS_MEMORY | MAY_CHANGE },
    { "limit", "", do_limit, ASKS_MEMORY | MAY_CHANGE }, { "reset", "o", do_reset, MAY_CHANGE },
    { "mark", "n", do_mark, 0 }, { "since", "z", do_since, MAY_CHANGE }, { "step", "z", do_step, 0 },
    { "peaks", "", do_peaks, 0 }, { "scope", "", do_scope, 0 }, { "figures", "", do_figures, 0 },
    { "work", "pzO", do_work, 0 }, { "order", "s", do_order, 0 }, { "done", "", do_done, 0 },
    { "later", "z", do_later, 0 }, { "gone", "s", do_gone, 0 }, { "thread", "z", do_thread, 0 },
    { "begin", "", do_begin, ASKS_MEMORY }, { "end", "", do_end, 0 }, { "launch", "", do_launch, 0 },
    { "discard", "n", do_discard, 0 }, { "release", "", do_release, ASKS_MEMORY },
    { "fail", "", do_fail, 0 }, { "heal", "", do_heal, 0 }, { "lie", "", do_lie, 0 }, { "rival", "", do_rival, 0 },
    { "environment", "", do_environment, 0 }, { "pressure", "", do_pressure, 0 },
    { "elsewhere", "", do_elsewhere, 0 }, { "observe", "", do_observe, 0 },
    { "acted", "", do_acted, 0 }, { "reentrant", "p", do_reentrant, 0 }, { "walk", "", do_walk, 0 },
    { "report", "", do_report, 0 }, { "within", "", do_within, 0 },
    { "tell", "n", do_tell, 0 }, { "await", "n", do_await, 0 }, { "look", "", do_look, 0 },
    { "hold", "", do_hold, 0 },
    { "expect", "", do_expect, 0 }, { "asked", "", do_asked, 0 }, { "count", "", do_count, 0 },
    { "says", "", do_says, 0 }, { "force", "", do_force, 0 }, { "config", "", do_config, 0 },
    { "mode", "", do_mode, 0 },
    { "export", "p", do_export, NEEDS_LIVE }, { "descriptor", "pz", do_descriptor, 0 },
    { "unexport", "p", do_unexport, NEEDS_LIVE }, { "import", "h", do_import, ASKS_MEMORY },
    { "unimport", "h", do_unimport, MAY_CHANGE }, { "touch", "hzO", do_touch, 0 },
    { "cleared", "pz", do_cleared, 0 }, { "let", "n", do_let, 0 }, { "spoil", "p", do_spoil, 0 },
};

#endif

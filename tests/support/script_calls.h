/* The commands of scripts: a row each. tests/README.md tells how they are written.
   It must not know files and cases. Included by script_run.h. */
#ifndef TESTS_SCRIPT_CALLS_H
#define TESTS_SCRIPT_CALLS_H

#include <pthread.h>
#include <unistd.h>

#include "all_calls.h"
#include "script_world.h"

enum { CALLBACK_BYTES = 1000, MOST_PRESSURES = 16 };

typedef struct snapshot {
    gpuarena_stats stats;
    arena_walk seen;
    uint64_t serial;
    uint64_t effects;                            /* driver calls that may change which memory is free, and for whom */
} snapshot;

static struct call_state {                       /* the call that is made */
    int arena;                                   /* -1: none, and a failure is recorded for the thread alone */
    int is_refused;                              /* the script expects a refusal: the state before the call is kept */
    int is_inside;                               /* a callback's, in which no state can be looked at */
    int is_beside;                               /* something was done in the driver meanwhile: `within` */
    int is_pressed;                              /* config.pressure was called for it */
    snapshot before;
} call;

static struct {                                  /* every driver call fails in turn */
    int is_on, code, is_strict;                  /* strict: the command that is struck reports it */
    uint64_t length;
    device_entry entry;
} turn;

/* Nothing is exact while threads run, or inside a callback. */
static int is_exact(void) { return !threads.are_on && !call.is_inside; }

static int turn_struck(void) { return turn.is_on && (device.struck[ENTRY_COUNT] || device.struck[ENTRY_host]); }

static gpuarena *arena_at(int arena) { return arena < 0 ? NULL : world.arenas[arena].ptr; }

static snapshot look_at(int arena)
{
    snapshot now;
    gpuarena_failure failure;
    memset(&now, 0, sizeof now);
    gpuarena_last_failure(arena_at(arena), &failure);
    now.serial = failure.serial;
    now.effects = device.calls[ENTRY_COUNT] - device.calls[ENTRY_info] - device.calls[ENTRY_obtain]
        - device.calls[ENTRY_active] - device.calls[ENTRY_exchange_mode];
    if (arena < 0) return now;
    now.seen = walk_now(arena_at(arena));
    gpuarena_walk_stats(arena_at(arena), &now.stats);
    return now;
}

/* Every command that calls an arena says so first. */
static gpuarena *calling(int arena)
{
    call.arena = arena;
    if (call.is_refused && is_exact()) call.before = look_at(arena);
    return arena_at(arena);
}

/* ---- words: the operands of a command, read by its form; a command reads special ones itself */

typedef struct words {
    reader in;
    gpuarena_result result;                      /* of the call that it makes */
    block_entry *block;                          /* NULL: none */
    char *ptr, name[WORD_BYTES];
    uint64_t bytes;
    int stream, arena;                           /* of the block, or the null stream, and the arena of the commands */
    share_entry *share;                          /* NULL: none */
    const char *rest;                            /* of the line */
    gpuarena_request request;
    int is_unused, is_untouched;                 /* its block: by the GPU; by the program, as others may free it */
    uint64_t work_ns;
    set_entry *set;
    int mode, on_arena, on_device, after;        /* of a capture. after: a stream, or the null stream */
} words;

static void not_understood(const reader *in) { blame("not understood: \"%.40s\"", in->at); }

/* s1, or s1..s4, in turn. */
static int read_stream(reader *in)
{
    char word[WORD_BYTES], single[WORD_BYTES];
    uint64_t index = 0;
    next_word(in, word);
    const char *dots = strstr(word, "..");
    if (!dots) return stream_number(word);
    uint64_t first = strtoull(word + 1, NULL, 10), last = strtoull(dots + 3, NULL, 10);
    (void)name_value("index", &index);
    snprintf(single, sizeof single, "s%" PRIu64, first + index % (last - first + 1));
    return stream_number(single);
}

/* The name of a block or an import, `nothing` or `nowhere`, and perhaps an offset. */
static void read_pointer(words *w)
{
    char name[NAME_BYTES];
    size_t length = 0;
    const char **at = &w->in.at;
    skip_spaces(&w->in);
    while ((isalnum((unsigned char)**at) || **at == '_') && length + 1 < sizeof name) name[length++] = *(*at)++;
    name[length] = '\0';
    w->block = find_block(name);
    w->ptr = NULL;
    if (!strcmp(name, "nothing")) return;
    w->share = w->block ? NULL : find_share(name);
    if (!w->block && !w->share && strcmp(name, "nowhere")) blame("no block: \"%s\"", name);
    w->ptr = w->block ? w->block->ptr : w->share ? w->share->ptr : (char *)&call;
    if (take_mark(&w->in, "+")) w->ptr = bench_at(w->ptr, read_sum(&w->in));
    if (!w->block) return;
    w->stream = w->block->stream;
    w->arena = w->block->arena;
}

static uint32_t read_tag(reader *in)
{
    char name[WORD_BYTES];
    next_word(in, name);
    if (!strcmp(name, "none")) return 0;
    return isdigit((unsigned char)name[0]) ? (uint32_t)strtoul(name, NULL, 10) : gpuarena_tag(name);
}

static int read_arena(reader *in)
{
    char name[WORD_BYTES];
    if (at_end(in)) return world.arena;
    int at = arena_of(next_word(in, name));
    if (at < 0) blame("no arena: \"%s\"", name);
    return at < 0 ? 0 : at;
}

static device_entry read_entry(reader *in)
{
    char word[WORD_BYTES];
    next_word(in, word);
    for (int at = 0; at <= ENTRY_COUNT; at++) if (!strcmp(word, device_entries[at])) return (device_entry)at;
    blame("no driver call: \"%s\"", word);
    return ENTRY_COUNT;
}

/* Reads the size of an allocation, and the words behind it. */
static void read_request(words *w)
{
    reader *in = &w->in;
    gpuarena_request *made = &w->request;
    made->bytes = read_sum(in);
    while (!at_end(in) && !place.trouble[0]) {
        if (take_word(in, "on")) w->stream = read_stream(in);
        else if (take_word(in, "for")) w->work_ns = read_sum(in);
        else if (take_word(in, "unused")) w->is_unused = 1;
        else if (take_word(in, "untouched")) w->is_untouched = 1;
        else if (take_word(in, "align")) made->alignment_bytes = read_sum(in);
        else if (take_word(in, "room")) made->room_bytes = read_sum(in);
        else if (take_word(in, "tag")) made->tag = read_tag(in);
        else if (take_word(in, "try")) made->flags |= GPUARENA_ALLOC_TRY;
        else if (take_word(in, "dedicated")) made->flags |= GPUARENA_ALLOC_DEDICATED;
        else if (take_word(in, "flags")) made->flags |= (uint32_t)read_sum(in);
        else not_understood(in);
    }
    made->stream = stream_handle(w->stream);
}

static set_entry *read_set(reader *in)
{
    char name[WORD_BYTES];
    set_entry *set = find_set(next_word(in, name));
    if (set) return set;
    set = TAKE(set, name);
    set->number = isdigit((unsigned char)name[0]) ? strtoull(name, NULL, 10) : 0;
    return set;
}

static const char *const capture_modes[] = { "global", "local", "relaxed" };

/* SET [on STREAM] [global|local|relaxed] [arena|device] [after STREAM] [as GRAPH: it has the set's number] */
static void read_capture(words *w)
{
    reader *in = &w->in;
    w->set = read_set(in);
    w->on_arena = w->on_device = 1;
    w->after = STREAM_NULL;
    while (!at_end(in) && !place.trouble[0]) {
        int at = 0;
        while (at < (int)COUNT(capture_modes) && !take_word(in, capture_modes[at])) at++;
        if (at < (int)COUNT(capture_modes)) w->mode = at;
        else if (take_word(in, "on")) w->stream = read_stream(in);
        else if (take_word(in, "arena")) w->on_device = 0;
        else if (take_word(in, "device")) w->on_arena = 0;
        else if (take_word(in, "after")) w->after = read_stream(in);
        else if (take_word(in, "as")) {
            uint64_t number = w->set->number;
            w->set = read_set(in);
            w->set->number = number;
        } else not_understood(in);
    }
}

static const char *read_rest(reader *in)
{
    skip_spaces(in);
    const char *rest = in->at;
    in->at += strlen(in->at);
    return rest;
}

/* Each letter of a form is a word: p a block NAME[+OFFSET], n a name, z a number, Z one that may be missing, s a
   stream, d an arena that may be missing, h a share; r a request, c a capture, t the rest of the line. Optional
   words: o `on STREAM`, O `on STREAM` or else the null stream, a `to ARENA`. */
static void read_form(words *w, const char *form)
{
    reader *in = &w->in;
    w->stream = STREAM_NULL;
    w->arena = world.arena;
    for (; *form && !place.trouble[0]; form++) {
        switch (*form) {
        case 'p': read_pointer(w); break;
        case 'n': next_word(in, w->name); break;
        case 'z': w->bytes = read_sum(in); break;
        case 'Z': if (!at_end(in)) w->bytes = read_sum(in); break;
        case 's': w->stream = read_stream(in); break;
        case 'd': w->arena = read_arena(in); break;
        case 'h': w->share = find_share(next_word(in, w->name)); break;
        case 'r': read_request(w); break;
        case 'c': read_capture(w); break;
        case 't': w->rest = read_rest(in); break;
        case 'o': if (take_word(in, "on")) w->stream = read_stream(in); break;
        case 'O': w->stream = take_word(in, "on") ? read_stream(in) : STREAM_NULL; break;
        default: if (take_word(in, "to")) w->arena = read_arena(in);
        }
    }
}

/* ---- the GPU's work */

static void work_on(int stream, uint64_t ns)
{
    if (sim_work(device.machine, 0, stream_handle(stream), ns)) blame("the stream does not work");
}

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

/* The owner of a new block fills it, and uses it on its stream, or on all; with scrub=alloc it must be clear
   before. */
static void use_new(block_entry *block, int is_unused)
{
    if (has_scrub(block->arena) & GPUARENA_SCRUB_ALLOC && !holds(block->ptr, block->bytes, 0))
        blame("block %s is not cleared", block->name);
    sim_fill(device.machine, 0, block->ptr, block->bytes, block->owner);
    if (is_unused) return;
    if (block->stream != STREAM_ANY) access_on(block, block->stream);
    for (int stream = 1; stream < world.stream_count && block->stream == STREAM_ANY; stream++)
        if (world.streams[stream].is_made && !world.streams[stream].is_captured) access_on(block, stream);
}

static void do_work(words *w)                    /* work NAME TIME on STREAM [bytes SIZE] */
{
    const block_entry *block = w->share ? &world.blocks[w->share->block] : w->block;
    if (!block || !w->ptr) return;
    block_entry used = *block;
    used.ptr = w->ptr;
    if (take_word(&w->in, "bytes")) used.bytes = read_sum(&w->in);
    work_on(w->stream, w->bytes);
    access_on(&used, w->stream);
}

static void do_order(words *w)                   /* order STREAM after STREAM */
{
    if (!take_word(&w->in, "after")) blame("`order s2 after s1` is expected");
    int other = read_stream(&w->in);
    /* a capture that was to be joined has not begun */
    if (turn_struck() && w->stream > 0 && other > 0
        && world.streams[w->stream].is_captured != world.streams[other].is_captured) return;
    if (sim_stream_follow(device.machine, 0, stream_handle(w->stream), stream_handle(other)))
        blame("a stream cannot follow");
}

static void do_done(words *w)                    /* done STREAM, done all: the host has waited for it */
{
    int code = take_word(&w->in, "all") ? sim_device_wait(device.machine, 0)
        : sim_stream_wait(device.machine, 0, stream_handle(read_stream(&w->in)));
    if (code) blame("the host cannot wait: %d", code);
}

/* ---- device, arenas */

/* device SIZE [of COUNT] [without GROUP] [chunk SIZE] [plain] .. */
static void do_device(words *w)
{
    static const char *const plain[] = { "vm", "events", "capture", "clear", "clock" };
    reader *in = &w->in;
    char word[WORD_BYTES];
    if (world.arena_count) {
        blame("the device comes before arenas");
        return;
    }
    sim_destroy(device.machine);
    memset(world.streams, 0, (size_t)world.stream_count * sizeof *world.streams);
    world.stream_count = 0;
    uint64_t bytes = read_sum(in);
    device_open(bytes, take_word(in, "of") ? read_sum(in) : 1);
    while (!at_end(in) && !place.trouble[0]) {
        if (take_word(in, "without")) {
            if (!device_without(next_word(in, word))) blame("without what? \"%s\"", word);
        } else if (take_word(in, "plain")) {
            for (size_t at = 0; at < COUNT(plain); at++) (void)device_without(plain[at]);
        } else if (take_word(in, "chunk")) {
            if (sim_pool_chunk(device.machine, 0, read_sum(in))) blame("no such chunk");
        } else if (take_word(in, "shift")) device.shift = read_sum(in);
        else if (take_word(in, "reuse")) sim_reuse_handles(device.machine, 1);
        else if (take_word(in, "peers")) device.table.peers = read_sum(in);
        else if (take_word(in, "own")) device.table.null_is_per_thread = 1;
        else if (take_word(in, "standing")) device.table.now_ns = device_standing_clock;
        else not_understood(in);
    }
}

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

static struct {                                  /* actions of callbacks; "": nothing */
    char pressures[MOST_PRESSURES][WORD_BYTES];
    int pressure_count, pressure_at;             /* at: the next */
    char observer[CALLBACK_BYTES], within[CALLBACK_BYTES];
    device_entry within_entry;                   /* ENTRY_COUNT: any that changes memory */
    int within_always;                           /* else in the next one alone */
} callbacks;

/* Called when the arena wants memory: runs the commands of the next `pressure`. These end with `retry`, if the
   allocation is to be tried again. */
static int call_pressure(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    char text[WORD_BYTES];
    (void)user;
    if (threads.at) threads.at(NULL, ENTRY_COUNT, 0);
    if (failure->result != GPUARENA_OUT_OF_MEMORY) blame("config.pressure is called for another failure");
    call.is_pressed = 1;
    if (callbacks.pressure_at == callbacks.pressure_count) return 0;
    snprintf(text, sizeof text, "%s", callbacks.pressures[callbacks.pressure_at]);
    int is_kept = !strncmp(text, "always", 6);
    if (!is_kept) callbacks.pressure_at++;
    char *retry = strstr(text, "retry");
    if (retry) *retry = '\0';
    run_inside(is_kept ? text + 6 : text, arena, 0);
    return retry != NULL;
}

/* Actions are kept for `acted`. Calls inside leave a failure's record as it is. */
static void call_observer(gpuarena *arena, const gpuarena_action *action, void *user)
{
    gpuarena_stats stats;
    (void)user;
    gpuarena_get_stats(arena, &stats);
    if (world.told_count < MOST_ACTIONS)
        world.told[world.told_count++] = (told_action){ *action, stats.reserved_bytes };
    if (!call.is_inside) run_inside(callbacks.observer, arena, 1);
    int has_failed = action->kind == GPUARENA_ACTION_FAIL || action->kind == GPUARENA_ACTION_MISUSE;
    if (has_failed ? !action->failure || !action->result || action->failure->result != action->result
                   : action->failure || action->result) blame("an action's result, and whose failure it is");
}

/* observe COMMAND | ..: in each action; before the first arena: of each, its creation included */
static void do_observe(words *w)
{
    snprintf(callbacks.observer, CALLBACK_BYTES, "%s", w->rest);
    world.told_count = world.acted_from = world.acted_to = 0;
    world.is_observed = !world.arena_count;
    if (!world.is_observed) w->result = gpuarena_observe(calling(world.arena), call_observer, NULL);
}

/* acted KIND KIND ..: the actions since the last `acted`, which are numbered one behind the other */
static void do_acted(words *w)
{
    static const char *const kinds[] = { "alloc", "free", "free_done", "use", "resize", "grow", "release", "remap",
                                         "limit", "fail", "misuse" };
    char word[WORD_BYTES];
    int at = world.acted_to;
    for (; !at_end(&w->in) && !place.trouble[0]; at++) {
        const char *kind = at < world.told_count ? kinds[world.told[at].action.kind] : "nothing";
        if (strcmp(next_word(&w->in, word), kind)) blame("instead of `%s`: %s", word, kind);
    }
    if (at != world.told_count) blame("%d more actions, the first of them: %s", world.told_count - at,
                                      kinds[world.told[at].action.kind]);
    world.acted_from = world.acted_to;
    world.acted_to = at;
}

static void call_within(device_entry entry)
{
    device_entry meant = callbacks.within_entry;
    int is_meant = meant == ENTRY_COUNT ? entry != ENTRY_info && entry <= ENTRY_unmap : entry == meant;
    if (!is_meant || call.is_inside) return;
    if (!callbacks.within_always) device.within = NULL;
    run_inside(callbacks.within, NULL, 1);
    call.is_beside = 1;
}

/* within [always] ENTRY COMMAND | ..: in the next call of this entry, or in each; `any`: that changes memory */
static void do_within(words *w)
{
    callbacks.within_always = take_word(&w->in, "always");
    callbacks.within_entry = read_entry(&w->in);
    snprintf(callbacks.within, CALLBACK_BYTES, "%s", read_rest(&w->in));
    device.within = call_within;
}

static gpuarena_result call_visitor(const gpuarena_block *block, void *user)
{
    const words *w = user;
    if (!block->bytes) blame("a block without bytes is visited");
    if (!call.is_inside) run_inside(w->rest, NULL, 1);
    return GPUARENA_OK;
}

static gpuarena_result call_writer(const char *text, size_t bytes, void *user)
{
    const words *w = user;
    (void)text;
    if (bytes && !call.is_inside) run_inside(w->rest, NULL, 1);
    return GPUARENA_OK;
}

static void do_report(words *w)                  /* report json|text COMMAND | ..: in each write */
{
    gpuarena_format format = take_word(&w->in, "json") ? GPUARENA_FORMAT_JSON : GPUARENA_FORMAT_TEXT;
    if (format == GPUARENA_FORMAT_TEXT) (void)take_word(&w->in, "text");
    w->rest = read_rest(&w->in);
    w->result = gpuarena_report(calling(world.arena), format, call_writer, w);
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
    config.pressure = callbacks.pressure_count ? call_pressure : NULL;
    config.observe = world.is_observed ? call_observer : NULL;
    device.small_sizes |= config.debug != 0;
    return config;
}

static void do_arena(words *w)                   /* arena [NAME] [under NAME] CONFIGURATION */
{
    char word[WORD_BYTES], name[WORD_BYTES] = "arena";
    int parent = -1, number = world.arena_count;
    gpuarena *made = NULL;
    for (reader ahead = w->in; *next_word(&ahead, word) && !strchr(word, '='); w->in = ahead) {
        if (!strcmp(word, "under")) parent = arena_of(next_word(&ahead, word));
        else snprintf(name, sizeof name, "%s", word);
    }
    gpuarena_config config = config_of(read_rest(&w->in), parent);
    if (place.trouble[0] || number == DEVICE_ARENAS) return;
    snprintf(config.name, sizeof config.name, "%.31s", name);
    device_await_arena(parent);
    device_holder *holder = &device.holders[device.holder_count - 1];
    arena_entry *entry = &world.arenas[world.arena_count++];
    snprintf(entry->name, NAME_BYTES, "%.31s", name);
    (void)calling(-1);
    w->result = gpuarena_create(&config, &made);
    if (w->result) {
        if (made) blame("a failed creation wrote its output");
        holder->table = &device.table;           /* no arena's */
        if (!threads.are_on) device.holder_count = world.arena_count = number;   /* other arenas may have been made
                                                                                    since */
        return;
    }
    gpuarena_get_config(made, &config);
    holder->table = config.driver;
    entry->ptr = made;
    entry->has_pressure = config.pressure != NULL;
    world.arena = number;
    if (threads.made) threads.made(made);
    holder->ceiling = config.limit_bytes;
    if (holder->held_peak > holder->ceiling) blame("creation held more than the limit");
}

/* Ended arenas lose their names. */
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

/* ---- memory */

static void do_alloc(words *w)                   /* a NAME SIZE [on STREAM] [for TIME] [align SIZE] .. */
{
    void *ptr = &call;
    const gpuarena_request *wanted = &w->request;
    block_entry *block = TAKE(block, w->name);
    if (block->live) blame("block %s is live", w->name);
    if (place.trouble[0]) return;
    arena_entry *entry = &world.arenas[world.arena];
    gpuarena *arena = calling(world.arena);
    call.is_pressed = 0;
    int is_plain = !wanted->alignment_bytes && !wanted->room_bytes && !wanted->tag && !wanted->flags;
    gpuarena_result result = is_plain ? gpuarena_alloc(arena, &ptr, wanted->bytes, wanted->stream)
                                      : gpuarena_alloc_ex(arena, &ptr, wanted);
    if (result && ptr != &call) blame("a failed allocation wrote its output");
    if (threads.are_on && result == GPUARENA_OUT_OF_MEMORY && entry->has_pressure && !call.is_pressed)
        blame("an allocation is refused without a call of config.pressure");
    w->result = result;
    block->ptr = result ? NULL : ptr;
    block->bytes = wanted->bytes;
    block->owner = ++world.owner;
    block->arena = world.arena;
    block->stream = w->stream;
    block->live = !result && block->bytes;
    block->is_unwatched = w->is_untouched;
    entry->alloc_count += !result;
    if (!block->live) return;
    if (wanted->alignment_bytes && bench_number(ptr) % wanted->alignment_bytes)
        blame("block %s is not aligned", w->name);
    if (!w->is_untouched) use_new(block, w->is_unused);
    if (!w->work_ns) return;
    work_on(block->stream, w->work_ns);
    access_on(block, block->stream);
}

static void do_free(words *w)                    /* f NAME [on STREAM] [to ARENA]; on its own stream by name */
{
    block_entry *block = w->block;
    if (block) judge_contents(block);
    w->result = gpuarena_free(calling(w->arena), w->ptr, stream_handle(w->stream));
    if (!block) return;
    if (w->result) block->is_unwatched |= has_scrub(w->arena);
    else {
        world.arenas[block->arena].free_count += block->live != 0;
        block->live = 0;
    }
}

static void do_resize(words *w)                  /* resize NAME SIZE [on STREAM] */
{
    block_entry *block = w->block;
    w->result = gpuarena_resize(calling(w->arena), w->ptr, w->bytes, stream_handle(w->stream));
    if (!block) return;
    if (w->result) {
        block->is_unwatched |= has_scrub(block->arena);
        return;
    }
    if (w->bytes > block->bytes && has_scrub(block->arena) & GPUARENA_SCRUB_ALLOC
        && !holds(block->ptr + block->bytes, w->bytes - block->bytes, 0))
        blame("what block %s took is not cleared", block->name);
    block->bytes = w->bytes;
    sim_fill(device.machine, 0, block->ptr, w->bytes, block->owner);
}

static void do_use(words *w)                     /* use NAME on STREAM */
{
    gpuarena_stream stream = stream_handle(w->stream);
    w->result = gpuarena_use(calling(w->arena), w->ptr, stream);
    if (w->result && w->block && turn_struck())  /* then the program has to order them itself */
        (void)sim_stream_follow(device.machine, 0, stream_handle(w->block->stream), stream);
}

static void do_limit(words *w)                   /* limit SIZE */
{
    device_holder *holder = &device.holders[world.arena];
    uint64_t bytes = take_word(&w->in, "none") ? GPUARENA_NO_LIMIT : read_sum(&w->in);
    if (bytes > holder->ceiling) holder->ceiling = bytes;
    w->result = gpuarena_set_limit(calling(world.arena), bytes);
    holder->ceiling = bytes;                     /* in force, whatever the release answers */
}

/* Blocks that a call may have freed. */
static void count_freed(int arena)
{
    gpuarena_block found;
    for (int at = 0; at < world.block_count; at++) {
        block_entry *block = &world.blocks[at];
        if (block->live && block->arena == arena && (gpuarena_lookup(world.arenas[arena].ptr, block->ptr, &found)
            || found.state != GPUARENA_STATE_LIVE || found.ptr != block->ptr
            || found.requested_bytes != block->bytes)) block->live = 0;
    }
}

static void do_reset(words *w)                   /* reset [on STREAM] */
{
    threads.has_reset |= threads.are_on;
    for (int at = 0; at < world.block_count && threads.are_on; at++)
        if (world.blocks[at].arena == world.arena) world.blocks[at].live = 0;
    world.arenas[w->arena].is_uncounted = 1;
    w->result = gpuarena_reset(calling(w->arena), stream_handle(w->stream));
    count_freed(world.arena);
}

/* Takes the blocks that gpuarena_free_since is to free off the books, before other blocks have their addresses. */
static void count_since(int arena, uint64_t mark, uint32_t tag)
{
    gpuarena_block found;
    for (int at = 0; at < world.block_count; at++) {
        block_entry *block = &world.blocks[at];
        if (block->live && block->arena == arena && !gpuarena_lookup(world.arenas[arena].ptr, block->ptr, &found)
            && found.ptr == block->ptr && found.serial > mark && (!tag || found.tag == tag)) block->live = 0;
    }
}

static void do_since(words *w)                   /* since MARK [tag NAME] [on STREAM]: frees the blocks allocated
                                                    after it */
{
    uint32_t tag = take_word(&w->in, "tag") ? read_tag(&w->in) : 0;
    read_form(w, "O");
    world.arenas[w->arena].is_uncounted = 1;
    threads.has_reset |= threads.are_on && !tag;
    if (threads.are_on && tag) count_since(w->arena, w->bytes, tag);
    w->result = gpuarena_free_since(calling(w->arena), w->bytes, tag, stream_handle(w->stream));
    if (!threads.are_on) count_freed(world.arena);
}

/* ---- between processes, both of them this one */

static void do_export(words *w)                  /* export NAME [as SHARE] [to ARENA] */
{
    if (take_word(&w->in, "as")) next_word(&w->in, w->name);
    read_form(w, "a");
    share_entry *share = TAKE(share, w->name);
    share->block = w->block ? (int)(w->block - world.blocks) : -1;
    w->result = gpuarena_export(calling(w->arena), w->ptr, &share->shared);
}

static void do_descriptor(words *w)              /* descriptor NAME AT: of the handle that begins there */
{
    uint64_t bytes = 0;
    int fd = -1;
    w->result = gpuarena_export_fd(calling(w->arena), w->ptr, w->bytes, &fd, &bytes);
    if (w->result ? fd != -1 || bytes : fd < 0 || !bytes || close(fd)) blame("no descriptor, or one too much");
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

/* import SHARE: into the arena of the commands. The mapped memory has the contents of the block. */
static void do_import(words *w)
{
    share_entry *share = w->share;
    if (!share && !turn_struck()) blame("no share: \"%s\"", w->name);
    if (place.trouble[0] || !share || !share->shared.bytes) return;
    const block_entry *block = &world.blocks[share->block];
    share->ptr = NULL;
    share->arena = world.arena;
    w->result = gpuarena_import(calling(world.arena), &share->shared, &share->ptr);
    if (!w->result) w->result = import_pages(share);
    if (w->result && share->ptr && !gpuarena_import_end(arena_now(), share->ptr)) share->ptr = NULL;
    if (!w->result && !holds(share->ptr, block->bytes, block->owner))
        blame("the import of %s has other contents", w->name);
}

static void do_unimport(words *w)                /* unimport SHARE */
{
    if (!w->share || (turn_struck() && !w->share->ptr)) return;
    w->result = gpuarena_import_end(calling(w->share->arena), w->share->ptr);
    if (!w->result) w->share->ptr = NULL;
}

/* ---- captures: of the arena, on the device, or both */

/* begin SET on STREAM [global|local|relaxed] [arena|device] [after STREAM: a fork of a stream that is captured] */
static void do_begin(words *w)
{
    gpuarena_stream stream = stream_handle(w->stream);
    uint64_t before = w->set->number;
    int code = 0;
    if (w->on_arena) {
        w->result = gpuarena_capture_begin(calling(world.arena), stream,
                                           strcmp(w->set->name, "none") ? &w->set->number : NULL);
        if (w->result && w->set->number != before) blame("a failed begin wrote its output");
        if (w->result) return;
        if (!w->set->number) blame("a capture set has the number 0");
    }
    if (w->stream > 0) world.streams[w->stream].is_captured = 1;
    if (w->after != STREAM_NULL) code = sim_stream_follow(device.machine, 0, stream, stream_handle(w->after));
    else if (w->on_device) code = sim_capture_begin(device.machine, 0, stream, w->mode);
    if (code) blame("the device does not capture: %d", code);
}

/* end SET on STREAM [arena|device] [as GRAPH]: the graph has the name of the set, or another */
static void do_end(words *w)
{
    gpuarena_stream stream = stream_handle(w->stream);
    int code = 0;
    if (turn_struck() && w->stream > 0 && !world.streams[w->stream].is_captured) return;
    if (w->stream > 0) world.streams[w->stream].is_captured = 0;
    if (w->on_device) code = sim_capture_end(device.machine, 0, stream, &w->set->graph);
    if (code || (w->on_device && !w->set->graph)) blame("the capture is not valid: %d", code);
    if (w->on_arena) w->result = gpuarena_capture_end(calling(world.arena), stream);
}

static void do_discard(words *w)                 /* discard GRAPH: the program destroys it */
{
    set_entry *set = find_set(w->name);
    if (!set || !set->graph || sim_graph_destroy(device.machine, set->graph)) blame("no graph: \"%s\"", w->name);
    else set->graph = NULL;
}

static void do_release(words *w)                 /* release SET on STREAM */
{
    if (turn_struck() && !w->set->number) return;
    w->result = gpuarena_capture_release(calling(world.arena), w->set->number, stream_handle(w->stream));
    if (w->result) return;
    set_value("released_set", w->set->number);
    w->set->number = 0;
}

static void do_mode(words *w)                    /* mode global|local|relaxed: the thread's, for captures */
{
    int mode, was = 0;
    device.real.capture.exchange_mode(&device.real, &was);
    mode = was;
    device.real.capture.exchange_mode(&device.real, &mode);
    if (was < 0 || was > 2 || strcmp(w->name, capture_modes[was])) blame("the thread's mode is %d", was);
}

/* ---- threads: lines that begin with | */

static void do_tell(words *w)                    /* tell NAME: threads that wait for it go on */
{
    value_entry *told = value_of(w->name);
    if (!told->value) told->value = 1;
    if (threads.wake) threads.wake(told);
}

static void do_await(words *w)                   /* await NAME: until it is told */
{
    value_entry *told = value_of(w->name);
    if (!threads.are_on) blame("there are no threads");
    while (!told->value && !place.trouble[0]) threads.wait(told, told->name);
}

/* look [NAME]: sums hold, whatever other threads do, and the block is live; without one, the books are in order, but
   callbacks cannot ask that */
static void do_look(words *w)
{
    gpuarena *arena = arena_now();
    gpuarena_stats stats;
    gpuarena_block found;
    char message[200];
    gpuarena_get_stats(arena, &stats);
    if (wrong_sums(&stats)) blame("%s", wrong_sums(&stats));
    if (at_end(&w->in)) {
        if (!call.is_inside && gpuarena_check(arena, message, sizeof message)) blame("check: %s", message);
        return;
    }
    read_form(w, "p");
    if (gpuarena_owner(w->ptr) != arena || gpuarena_lookup(arena, w->ptr, &found)
        || found.state != GPUARENA_STATE_LIVE) blame("a live block is not found");
}

static void *run_elsewhere(void *user)
{
    const words *w = user;
    run_line(w->rest, ';');
    return NULL;
}

static void do_elsewhere(words *w)               /* elsewhere COMMAND: another thread calls, whose stack is small */
{
    pthread_attr_t small;
    pthread_t thread;
    int arena = call.arena, fails = pthread_attr_init(&small) || pthread_attr_setstacksize(&small, KIB(512));
    if (fails || pthread_create(&thread, &small, run_elsewhere, w) || pthread_join(thread, NULL))
        blame("no other thread");
    (void)pthread_attr_destroy(&small);
    call.arena = arena;
}

/* ---- faults of the driver */

/* fail next|every|N|N+ ENTRY [above SIZE] [CODE]: the call of this number from now on, and with + all later ones */
static void do_fail(words *w)
{
    device_fault meant = { ENTRY_COUNT, 0, 1, 1, 0, 999 };
    if (!strcmp(w->name, "every")) meant.length = UINT64_MAX;
    else if (strcmp(w->name, "next")) {
        char *end;
        meant.at = strtoull(w->name, &end, 10);
        meant.length = *end == '+' ? UINT64_MAX : 1;
        if (*end == 'x') meant.length = meant.at, meant.at = 1;
        if (end == w->name) blame("`fail next|every|3|3+|3x ENTRY [CODE]` is expected");
    }
    meant.entry = read_entry(&w->in);
    if (take_word(&w->in, "above")) meant.above = read_sum(&w->in);
    if (!at_end(&w->in)) meant.code = (int)read_sum(&w->in);
    if (device.fault_count < DEVICE_FAULTS) device.faults[device.fault_count++] = meant;
    else blame("too many faults");
}

/* lie KIND: see device_lie. lie free SIZE: the free bytes that info answers. */
static void do_lie(words *w)
{
    device.is_said |= !strcmp(w->name, "free");
    if (!strcmp(w->name, "free")) device.said_free = read_sum(&w->in);
    else if (!device_will_lie(w->name)) blame("what kind of lie?");
}

/* ---- expectations of the script */

static void do_expect(words *w)                  /* expect A = B, C <= D .. */
{
    do {
        const char *begin = w->in.at;
        uint64_t left = read_sum(&w->in), right = 0;
        int holds_so = read_relation(&w->in, left, &right);
        if (!holds_so && !turn_struck())
            blame("%.*s: left is %" PRIu64 ", right is %" PRIu64, (int)(w->in.at - begin), begin, left, right);
    } while (take_mark(&w->in, ",") && !place.trouble[0]);
}

/* asked SIZE SIZE ..: the sizes requested of obtain and create since the last `asked` */
static void do_asked(words *w)
{
    int at = 0;
    for (; !at_end(&w->in) && !place.trouble[0]; at++) {
        uint64_t bytes = read_factor(&w->in);
        if (at >= device.asked_count || device.asked[at] != bytes)
            blame("the driver was asked for %" PRIu64 " bytes as number %d",
                  at < device.asked_count ? device.asked[at] : 0, at + 1);
    }
    if (at != device.asked_count) blame("the driver was asked %d times, at last for %" PRIu64, device.asked_count,
                                        device.asked_count ? device.asked[device.asked_count - 1] : 0);
    device.asked_count = 0;
}

/* says "PART": the latest failure's sentence, or its detail, has this part. Of the thread, if no arena has failed. */
static void do_says(words *w)
{
    char text[600];
    gpuarena_failure failure;
    gpuarena_last_failure(arena_at(call.arena), &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    if (!strstr(text, w->name) && !strstr(failure.detail, w->name) && !turn_struck())
        blame("\"%s\" is not said, but: %s (%s)", w->name, text, failure.detail);
}

/* force KEY=VALUE, ..: the configuration in force has these */
static void do_force(words *w)
{
    char word[WORD_BYTES], text[600] = ",", wanted[WORD_BYTES + 2];
    gpuarena_config config;
    gpuarena_get_config(arena_now(), &config);
    size_t length = gpuarena_config_text(&config, text + 1, sizeof text - 2);
    snprintf(text + 1 + length, sizeof text - 1 - length, ",");
    do {
        snprintf(wanted, sizeof wanted, ",%s,", next_word(&w->in, word));
        if (!strstr(text, wanted)) blame("%s is not in force, but: %s", word, text);
    } while (take_mark(&w->in, ",") && !place.trouble[0]);
}

/* config "TEXT" [is "TEXT"]: it is valid, and this is its canonical text */
static void do_config(words *w)
{
    char wanted[WORD_BYTES], canonical[600];
    gpuarena_config config = GPUARENA_INIT;
    (void)calling(-1);
    w->result = gpuarena_config_parse(w->name, &config, NULL, 0);
    if (w->result) return;
    gpuarena_config_text(&config, canonical, sizeof canonical);
    if (take_word(&w->in, "is")) next_word(&w->in, wanted);
    else snprintf(wanted, sizeof wanted, "%s", w->name);
    if (strcmp(canonical, wanted)) blame("\"%s\" is \"%s\"", w->name, canonical);
}

/* ---- all commands. MAY_CHANGE: refused, it has done a part. NEEDS_LIVE: without the block it does nothing, once a
   fault has struck its allocation. EXPECTS: it states an expectation of the script. ALONE: without a device. */

enum { ASKS_MEMORY = 1, MAY_CHANGE = 2, PREDICTS = 4, NEEDS_LIVE = 8, ASKS_FIGURES = 16, EXPECTS = 32, ALONE = 64 };

/* X(verb, form, traits, statement): those of one or two statements. `thread N`: the calls from now on are thread N's;
   0 is the script's own thread. `gone STREAM`: the program destroys it. `rival SIZE`: another process takes so much,
   or gives it back, if it is less than 0. `hold ENTRY ..`: the first thread's next call of one of them tells `hung`,
   which is 2 then, and awaits `done`. `reentrant NAME`: all calls of the arena, those with this block too, answer so.
   `pressure`: kept until the arena calls for memory, and with `always` then, too; with `retry` at its end the
   allocation is tried again. `unexport NAME`: all its exports end.
   `spoil NAME` changes a block's contents, for tests of scripts. */
#define COMMANDS(X) \
    X(in, "d", 0, world.arena = w->arena) \
    X(destroy, "d", 0, w->result = destroy_arena(w->arena)) \
    X(can, "r", PREDICTS, w->result = gpuarena_can_alloc(calling(world.arena), &w->request)) \
    X(forget, "s", ASKS_MEMORY | MAY_CHANGE, \
      w->result = gpuarena_forget(calling(w->arena), stream_handle(w->stream))) \
    X(reserve, "z", ASKS_MEMORY, w->result = gpuarena_reserve(calling(w->arena), w->bytes)) \
    X(trim, "Z", ASKS_MEMORY | MAY_CHANGE, w->result = gpuarena_trim(calling(w->arena), w->bytes, &world.released)) \
    X(mark, "n", 0, set_value(w->name, gpuarena_mark(arena_now()))) \
    X(step, "z", 0, w->result = gpuarena_step(calling(w->arena), (uint32_t)w->bytes)) \
    X(peaks, "", 0, gpuarena_reset_peaks(arena_now())) \
    X(scope, "", 0, (void)gpuarena_tag_scope(read_tag(&w->in))) \
    X(figures, "", ASKS_FIGURES, \
      w->result = gpuarena_get_device(calling(world.arena), &(gpuarena_device){ .device = 0 })) \
    X(walk, "t", 0, w->result = gpuarena_walk(calling(world.arena), call_visitor, w)) \
    X(launch, "c", 0, \
      if (sim_graph_launch(device.machine, 0, w->set->graph, stream_handle(w->stream), world.op)) \
          blame("the graph is not launched")) \
    X(later, "z", 0, sim_advance(device.machine, w->bytes)) \
    X(thread, "z", 0, sim_thread(device.machine, w->bytes)) \
    X(heal, "", 0, device.fault_count = 0) \
    X(gone, "s", 0, world.streams[w->stream].is_made = 0; \
      if (sim_stream_destroy(device.machine, 0, stream_handle(w->stream))) blame("the stream is not destroyed")) \
    X(rival, "z", 0, int gives_back = (int64_t)w->bytes < 0; \
      sim_rival(device.machine, 0, gives_back ? 0 - w->bytes : w->bytes, gives_back)) \
    X(hold, "", 0, \
      while (!at_end(&w->in) && !place.trouble[0]) threads.held |= (uint32_t)1 << read_entry(&w->in)) \
    X(reentrant, "p", 0, int number = all_calls_answer(arena_now(), w->ptr, GPUARENA_REENTRANT); \
      if (number) blame("number %d of all calls does not answer so", number)) \
    X(unexport, "p", NEEDS_LIVE, w->result = gpuarena_export_end(calling(w->arena), w->ptr); \
      if (turn_struck() && w->result == GPUARENA_INVALID_ARGUMENT) w->result = GPUARENA_OK) \
    X(pressure, "t", 0, \
      if (callbacks.pressure_count == MOST_PRESSURES) blame("too many lines of `pressure`"); \
      else snprintf(callbacks.pressures[callbacks.pressure_count++], WORD_BYTES, "%s", w->rest)) \
    X(let, "n", 0, if (!take_mark(&w->in, "=")) blame("`let x = ..` is expected"); \
      set_value(w->name, read_sum(&w->in))) \
    X(environment, "n", 0, if (setenv("GPUARENA_SCRIPT", w->name, 1)) blame("no environment")) \
    X(count, "", 0, memset(device.calls, 0, sizeof device.calls); device.asked_count = 0) \
    X(cleared, "pz", EXPECTS, if (!holds(w->ptr, w->bytes, 0)) blame("it is not cleared")) \
    X(spoil, "p", 0, sim_fill(device.machine, 0, w->ptr, 256, ++world.owner))
#define X(verb, form, traits, statement) static void do_##verb(words *w) { (void)w; statement; }
COMMANDS(X)
#undef X

typedef struct command { const char *verb, *form; void (*run)(words *w); int traits; } command;
static const command commands[] = {
    { "device", "", do_device, ALONE }, { "arena", "", do_arena, ASKS_MEMORY }, { "a", "nr", do_alloc, ASKS_MEMORY },
    { "f", "poa", do_free, NEEDS_LIVE }, { "resize", "pzo", do_resize, ASKS_MEMORY | NEEDS_LIVE },
    { "use", "pO", do_use, ASKS_MEMORY | NEEDS_LIVE }, { "limit", "", do_limit, ASKS_MEMORY | MAY_CHANGE },
    { "reset", "o", do_reset, MAY_CHANGE }, { "since", "z", do_since, MAY_CHANGE },
    { "work", "pzO", do_work, 0 }, { "order", "s", do_order, 0 }, { "done", "", do_done, 0 },
    { "begin", "c", do_begin, ASKS_MEMORY }, { "end", "c", do_end, 0 }, { "discard", "n", do_discard, 0 },
    { "release", "c", do_release, ASKS_MEMORY }, { "mode", "n", do_mode, EXPECTS },
    { "export", "p", do_export, NEEDS_LIVE }, { "descriptor", "pz", do_descriptor, 0 },
    { "import", "h", do_import, ASKS_MEMORY }, { "unimport", "h", do_unimport, MAY_CHANGE },
    { "fail", "n", do_fail, 0 }, { "lie", "n", do_lie, 0 },
    { "elsewhere", "t", do_elsewhere, 0 }, { "observe", "t", do_observe, 0 },
    { "acted", "", do_acted, EXPECTS }, { "report", "", do_report, 0 }, { "within", "", do_within, 0 },
    { "tell", "n", do_tell, 0 }, { "await", "n", do_await, 0 }, { "look", "", do_look, EXPECTS },
    { "expect", "", do_expect, EXPECTS }, { "asked", "", do_asked, EXPECTS }, { "says", "n", do_says, EXPECTS },
    { "force", "", do_force, EXPECTS }, { "config", "n", do_config, EXPECTS | ALONE },
#define X(verb, form, traits, statement) { #verb, form, do_##verb, traits },
    COMMANDS(X)
#undef X
};

#endif

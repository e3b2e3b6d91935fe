/* Runs commands of scripts: with their results, ranges and repetitions; and how their world ends.
   It must not know single commands, nor files of them. Included by script_files.h and test_sentences.c. */
#ifndef TESTS_SCRIPT_RUN_H
#define TESTS_SCRIPT_RUN_H

#include "script_calls.h"

static int is_long;                              /* a long repetition: one command in 16 is followed by an audit */

/* ---- one command, and its result */

typedef struct outcome {
    gpuarena_result result;
    int traits;                                  /* of the command */
    uint64_t struck[ENTRY_COUNT + 1];            /* meanwhile */
} outcome;

static outcome run_plain(const char *text, int is_refused)
{
    outcome made = { GPUARENA_OK, 0, { 0 } };
    uint64_t before[ENTRY_COUNT + 1];
    char verb[WORD_BYTES];
    words w;
    memset(&w, 0, sizeof w);
    memcpy(before, device.struck, sizeof before);
    w.in.at = text;
    next_word(&w.in, verb);
    size_t at = 0;
    while (at < COUNT(commands) && strcmp(commands[at].verb, verb)) at++;
    const command *found = at < COUNT(commands) ? &commands[at] : NULL;
    if (!found) blame("no command: \"%s\"", verb);
    else if (!device.machine && !(found->traits & ALONE)) blame("a `device` comes first");
    if (place.trouble[0]) return made;
    made.traits = found->traits;
    call.is_refused = is_refused;
    read_form(&w, found->form);
    int is_off = found->traits & NEEDS_LIVE && turn_struck() && w.block && !w.block->live;
    if (!place.trouble[0] && !is_off) {
        world.expected += (found->traits & EXPECTS) != 0;
        found->run(&w);
        if (!at_end(&w.in)) not_understood(&w.in);
    }
    call.is_refused = 0;
    made.result = w.result;
    for (at = 0; at <= ENTRY_COUNT; at++) made.struck[at] = device.struck[at] - before[at];
    return made;
}

static gpuarena_result result_of_code(int code)
{
    switch (device.real.classify(&device.real, code)) {
    case GPUARENA_STATUS_LOST:          return GPUARENA_DEVICE_LOST;
    case GPUARENA_STATUS_CAPTURING:     return GPUARENA_CAPTURE;
    case GPUARENA_STATUS_NOT_SUPPORTED: return GPUARENA_NOT_SUPPORTED;
    case GPUARENA_STATUS_NO_MEMORY:     return GPUARENA_OUT_OF_MEMORY;
    default:                            return GPUARENA_DRIVER_ERROR;
    }
}

/* `strict`: a command that is struck reports it. Exceptions are frees, and commands for which the driver may be asked
   again, or the host has granted a second request. */
static int must_fail(const outcome *made)
{
    int is_memory = turn.code == SIM_OUT_OF_MEMORY, by_host = made->struck[ENTRY_host] && device.host_refused;
    int by_obtain = made->struck[ENTRY_obtain] && !is_memory;
    int by_give_back = made->struck[ENTRY_give_back] && !is_memory && turn.code != SIM_UNLOADING;
    return (made->traits & ASKS_MEMORY && (by_host || by_obtain || by_give_back))
        || (made->traits & ASKS_FIGURES && made->struck[ENTRY_info]);
}

/* While driver calls fail in turn: tells whether a call may have this result, after the fault or with it. A thread's
   call that requests nothing meets no faults of other threads, and other threads may have the memory that a request
   needs. */
static int is_allowed_in_turn(const outcome *made)
{
    gpuarena_result result = made->result;
    int asks = made->traits & ASKS_MEMORY;
    if (result == GPUARENA_OK) return !turn.is_strict || !must_fail(made);
    if (threads.are_on && !made->traits) return 0;
    if (threads.are_on && asks && result == GPUARENA_OUT_OF_MEMORY) return 1;
    if (!turn_struck() || (!device.fault_count && !device.lost)) return 0;
    if (device.lost) return result == GPUARENA_DEVICE_LOST || result == GPUARENA_INVALID_ARGUMENT;
    if (made->struck[ENTRY_host]) return asks && result == GPUARENA_HOST_MEMORY;
    if (result == GPUARENA_OUT_OF_MEMORY) return asks || made->traits & PREDICTS;
    return made->struck[ENTRY_COUNT] && (result == result_of_code(turn.code)
                                         || (turn.code == SIM_OUT_OF_MEMORY && result == GPUARENA_DRIVER_ERROR));
}

/* A refusal may have released idle memory, and waited; without such driver calls nothing has changed. */
static void judge_unchanged(const snapshot *before, const snapshot *after)
{
    const gpuarena_stats *was = &before->stats, *is = &after->stats;
    if (was->pressure_count != is->pressure_count || call.is_beside) return;     /* a callback may have changed
                                                                                    anything */
    if (before->seen.live_digest != after->seen.live_digest || was->alloc_count - was->free_count
        != is->alloc_count - is->free_count) blame("a refused call changed a live block");
    if (before->effects != after->effects) return;
    if (before->seen.digest != after->seen.digest || was->reserved_bytes != is->reserved_bytes
        || was->limit_bytes != is->limit_bytes || was->cached_bytes != is->cached_bytes)
        blame("a refused call changed something");
}

/* A call that failed has undone its changes, unless the driver refused that, too. */
static void judge_undone(const outcome *made)
{
    static const device_entry undoing[] = { ENTRY_destroy, ENTRY_unmap, ENTRY_release, ENTRY_give_back };
    if (device.lost || !(made->traits & ASKS_MEMORY) || call.arena < 0) return;
    for (size_t at = 0; at < COUNT(undoing); at++) if (made->struck[undoing[at]]) return;
    snapshot after = look_at(call.arena);
    judge_unchanged(&call.before, &after);
}

static void run_served(const char *text)
{
    gpuarena_failure failure;
    char sentence[400];
    outcome made = run_plain(text, turn.is_on);
    if (turn.is_on && !threads.are_on && made.result && !place.trouble[0]) judge_undone(&made);
    if (place.trouble[0] || (turn.is_on ? is_allowed_in_turn(&made) : made.result == GPUARENA_OK)) return;
    gpuarena_last_failure(arena_at(call.arena), &failure);
    gpuarena_failure_text(&failure, sentence, sizeof sentence);
    blame("%s: %s: %s", text, gpuarena_result_name(made.result), sentence);
}

/* ---- refuse COMMAND: RESULT, and figures of the failure */

static int is_misuse(gpuarena_result result)
{
    return result != GPUARENA_OUT_OF_MEMORY && result != GPUARENA_HOST_MEMORY && result != GPUARENA_DRIVER_ERROR
        && result != GPUARENA_DEVICE_LOST && result != GPUARENA_CAPTURE && result != GPUARENA_NOT_SUPPORTED;
}

static void judge_refusal(const outcome *made)
{
    gpuarena_failure failure, of_thread;
    int misuse = is_misuse(made->result);
    if (callbacks.observer[0] && !call.is_inside) return;    /* refusals of the observer's own calls were recorded
                                                                later */
    gpuarena_last_failure(NULL, &of_thread);
    if (made->traits & PREDICTS && !misuse && !is_exact()) return;       /* it is not recorded */
    if (call.arena < 0 || !is_exact()) {
        if (of_thread.result != made->result) blame("the thread's record is another");
        return;
    }
    const snapshot *before = &call.before, after = look_at(call.arena);
    if (!(made->traits & MAY_CHANGE)) judge_unchanged(before, &after);
    if (made->traits & PREDICTS && !misuse) {
        if (after.serial != before->serial) blame("a prediction is recorded");
        return;
    }
    gpuarena_last_failure(arena_at(call.arena), &failure);
    if (failure.serial <= before->serial || failure.result != made->result) blame("the failure is not recorded");
    if (of_thread.serial != failure.serial || of_thread.result != failure.result || of_thread.reason != failure.reason
        || strcmp(of_thread.detail, failure.detail)) blame("the thread's record is another");
    if (after.stats.misuse_count < before->stats.misuse_count + (misuse ? 1 : 0)
        || after.stats.fail_count < before->stats.fail_count + (misuse ? 0 : 1)) blame("it is not counted");
}

/* reason=NAME, call=ENTRY, detail="PART", or a figure of the failure: missing=4M. */
static void judge_figures(reader *in)
{
    char name[WORD_BYTES], word[WORD_BYTES];
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    while (!at_end(in) && !place.trouble[0]) {
        uint64_t left = 0, right;
        size_t length = strcspn(in->at, "=<>! ");
        snprintf(name, sizeof name, "%.*s", (int)(length < 100 ? length : 100), in->at);
        in->at += length;
        const char *text = !strcmp(name, "reason") ? gpuarena_reason_name(failure.reason)
            : !strcmp(name, "detail") ? failure.detail : !strcmp(name, "call") ? failure.driver_call : NULL;
        if (text && take_mark(in, "=")) {
            next_word(in, word);
            if (text == failure.detail ? !strstr(text, word) : strcmp(text, word) != 0)
                blame("the %s is %s", name, text);
        } else if (!failure_value(NULL, name, &left)) blame("there is no \"%s\"", name);
        else if (!read_relation(in, left, &right)) blame("%s is %" PRIu64, name, left);
        take_mark(in, ",");
    }
}

/* is_sure: it must be refused; else it may, and `refused` counts how often commands were. */
static void run_refused(const char *text, int is_sure)
{
    char command_text[LINE_BYTES], word[WORD_BYTES];
    value_entry *refused = is_sure ? NULL : value_of("refused");
    const char *colon = NULL;
    int quoted = 0, is_as_told = 0;
    for (const char *at = text; *at; at++) {
        quoted ^= *at == '"';
        if (*at == ':' && !quoted) colon = at;
    }
    world.expected++;
    if (!colon) {
        blame("`%s COMMAND: RESULT` is expected", is_sure ? "refuse" : "may");
        return;
    }
    snprintf(command_text, sizeof command_text, "%.*s", (int)(colon - text), text);
    outcome made = run_plain(command_text, 1);
    reader in = { colon + 1 };
    do {
        next_word(&in, word);
        for (char *at = word; *at; at++) *at = (char)tolower((unsigned char)*at);
        is_as_told |= !strcmp(word, gpuarena_result_name(made.result));
    } while (take_word(&in, "or"));
    if (place.trouble[0] || (is_sure ? turn_struck() : made.result == GPUARENA_OK)) return;
    if (!is_as_told) {
        blame("%s: %s", command_text, gpuarena_result_name(made.result));
        return;
    }
    if (refused) refused->value++;
    judge_refusal(&made);
    judge_figures(&in);
}

/* ---- ranges, repetitions, lines */

static void run_one(const char *text)
{
    world.op++;
    call.is_beside = 0;
    if (device.machine) sim_begin_op(device.machine, world.op);
    if (!strncmp(text, "refuse ", 7)) run_refused(text + 7, 1);
    else if (!strncmp(text, "may ", 4)) run_refused(text + 4, 0);
    else run_served(text);
}

/* The text for this number of a range or repetition, for which `i` and $i stand; index: how many went before. */
static void put_number(char to[LINE_BYTES], const char *text, uint64_t i, uint64_t index)
{
    char number[24];
    set_value("i", i);
    set_value("index", index);
    snprintf(number, sizeof number, "%" PRIu64, i);
    put_in(to, text, "i", number);
}

/* `a 1..8 ..`: once for each number. 0: there is no range. */
static int run_range(const char *text)
{
    char verb[WORD_BYTES], range[WORD_BYTES], line[LINE_BYTES], whole[LINE_BYTES], *end;
    reader in = { text };
    next_word(&in, verb);
    if (!strcmp(verb, "refuse") || !strcmp(verb, "may")) next_word(&in, range);
    skip_spaces(&in);
    const char *begin = in.at;
    if (!isdigit((unsigned char)*begin) || !strcmp(verb, "asked")) return 0;
    next_word(&in, range);
    uint64_t from = strtoull(range, &end, 10), to, step = 1;
    if (strncmp(end, "..", 2)) return 0;
    to = strtoull(end + 2, &end, 10);
    if (*end == '/') step = strtoull(end + 1, NULL, 10);
    for (uint64_t at = from; at <= to && step && !place.trouble[0]; at += step) {
        snprintf(line, sizeof line, "%.*s%" PRIu64 "%s", (int)(begin - text), text, at, in.at);
        put_number(whole, line, at, (at - from) / step);
        run_one(whole);
    }
    return 1;
}

/* repeat N: the rest of the line, with $i from 1 to N */
static void run_repeat(const char *text)
{
    char line[LINE_BYTES];
    reader in = { text };
    uint64_t count = read_sum(&in);
    int was_long = is_long;
    if (!take_mark(&in, ":")) blame("`repeat N: ..` is expected");
    is_long |= count >= 40;
    for (uint64_t at = 1; at <= count && !place.trouble[0]; at++) {
        put_number(line, in.at, at, at - 1);
        run_line(line, ';');
    }
    is_long = was_long;
    if (device.machine && is_exact()) audit();
}

/* when WORD = WORD [or WORD ..]: the rest of the line, if the words are the same */
static void run_when(const char *text)
{
    char left[WORD_BYTES], right[WORD_BYTES];
    reader in = { text };
    int holds_so = 0, negated;
    next_word(&in, left);
    negated = take_mark(&in, "!");
    int is_whole = take_mark(&in, "=");
    do holds_so |= !strcmp(left, next_word(&in, right)); while (take_word(&in, "or"));
    if (!is_whole || !take_mark(&in, ":")) blame("`when $x = word: ..` is expected");
    if (holds_so != negated) run_line(in.at, ';');
}

static void run_command(const char *text)
{
    text += strspn(text, " \t");
    if (!*text || place.trouble[0]) return;
    if (!run_range(text)) run_one(text);
    int is_known = (turn.is_on && !turn_struck()) || threads.is_known;       /* nothing differs from an earlier
                                                                                turn */
    if (device.machine && !is_known && is_exact() && (!is_long || world.op % 16 == 0)) audit();
}

/* Runs commands, one after the other. */
static void run_line(const char *text, char separator)
{
    char command_text[LINE_BYTES];
    reader in = { text };
    while (!place.trouble[0] && !at_end(&in)) {
        if (!strncmp(in.at, "repeat ", 7)) { run_repeat(in.at + 7); return; }
        if (!strncmp(in.at, "when ", 5)) { run_when(in.at + 5); return; }
        if (next_command(&in, separator, command_text)) run_command(command_text);
    }
}

/* ---- the end */

/* Frees live blocks, and ends arenas. */
static void end_arenas(int is_judged)
{
    for (int stage = 0; stage < 2; stage++)
        for (int at = world.arena_count - 1; at >= 0; at--) {
            gpuarena *arena = world.arenas[at].ptr;
            if (!arena || (is_judged && place.trouble[0])) continue;
            gpuarena_result result = !stage ? gpuarena_reset(arena, GPUARENA_OWN_STREAM)
                : is_judged ? destroy_arena(at) : gpuarena_destroy(arena);
            if (result && is_judged) blame("at the end: %s of %s: %s", stage ? "destroy" : "reset",
                                           world.arenas[at].name, gpuarena_result_name(result));
        }
}

/* Ends a case: nothing may be left. */
static void end_world(void)
{
    device.fault_count = 0;
    device.within = NULL;
    memset(&callbacks, 0, sizeof callbacks);
    end_arenas(1);
    if (!device.machine || place.trouble[0]) return;
    if (device.wrong) blame("%s", device.wrong);
    uint64_t refused = device.struck[ENTRY_give_back] + device.struck[ENTRY_destroy] + device.struck[ENTRY_unmap];
    int may_leave = !world.arena_count && refused;           /* creation failed, and could not undo its changes */
    if (device_left() && !(may_leave && !host_close(&device.host))) blame("at the end: %s", device_left());
    if (sim_finding_count(device.machine)) blame("the judge: %s", sim_finding(device.machine, 0));
    if (!world.expected && !turn_struck()) blame("the case expects nothing");
}

/* Ends the world of a case, after a failure, too: no arena outlives its device. */
static void drop_world(void)
{
    end_arenas(0);
    (void)gpuarena_tag_scope(0);
    unsetenv("GPUARENA_SCRIPT");
    sim_destroy(device.machine);
    (void)host_close(&device.host);
    memset(&device, 0, sizeof device);
    memset(&call, 0, sizeof call);
    clear_world();
    threads.held = 0;
}

#endif

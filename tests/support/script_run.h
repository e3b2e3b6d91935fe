/* Runs commands of scripts: with their results, ranges and repetitions; and how their world ends.
   It must not know single commands, nor files of them. Included by script_files.h and test_sentences.c. */
#ifndef TESTS_SCRIPT_RUN_H
#define TESTS_SCRIPT_RUN_H

#include <pthread.h>

#include "script_calls.h"

enum { LINE_BYTES = 1000 };

static int is_long;                              /* a long repetition: one command in 16 is followed by an audit */

/* ---- one command, and what it answers */

static const struct command *command_of(reader *in)
{
    char verb[WORD_BYTES];
    next_word(in, verb);
    for (size_t at = 0; at < COUNT(commands); at++) if (!strcmp(commands[at].verb, verb)) return &commands[at];
    return NULL;
}

static int traits_of(const char *text)
{
    const struct command *command = command_of(&(reader){ text });
    return command ? command->traits : 0;
}

static void run_plain(const char *text, gpuarena_result *result)
{
    words w;
    memset(&w, 0, sizeof w);
    w.in.at = text;
    const struct command *command = command_of(&w.in);
    *result = GPUARENA_OK;
    if (!command) blame("no command: \"%.*s\"", (int)strcspn(text, " "), text);
    else if (!device.machine && command->run != do_device && command->run != do_config)
        blame("a `device` comes first");
    if (place.trouble[0]) return;
    read_form(&w, command->form);
    int is_off = command->traits & NEEDS_LIVE && turn_struck() && w.block && !w.block->live;
    if (place.trouble[0] || is_off) return;
    *result = command->run(&w);
    if (!at_end(&w.in)) blame("not understood: \"%.40s\"", w.in.at);
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

/* `strict`: what is struck says so, but for what frees, and where the driver may be asked again, or the host has
   given what it was asked for again. */
static int must_fail(const char *text, const uint64_t before[ENTRY_COUNT + 1])
{
    int by_host = device.struck[ENTRY_host] > before[ENTRY_host] && device.host_refused;
    int by_obtain = device.struck[ENTRY_obtain] > before[ENTRY_obtain] && turn.code != SIM_OUT_OF_MEMORY;
    int by_give_back = device.struck[ENTRY_give_back] > before[ENTRY_give_back] && turn.code != SIM_UNLOADING
        && turn.code != SIM_OUT_OF_MEMORY;
    return (traits_of(text) & ASKS_MEMORY && (by_host || by_obtain || by_give_back))
        || (!strncmp(text, "figures", 7) && device.struck[ENTRY_info] > before[ENTRY_info]);
}

/* While driver calls fail in turn: whether a call may answer this, after the fault or with it. */
static int is_allowed_in_turn(const char *text, const uint64_t before[ENTRY_COUNT + 1], gpuarena_result result)
{
    int by_host = device.struck[ENTRY_host] > before[ENTRY_host];
    if (result == GPUARENA_OK) return !turn.is_strict || !must_fail(text, before);
    if (threads.are_on && !traits_of(text)) return 0;        /* what asks for nothing does not meet others' faults, */
    if (threads.are_on && traits_of(text) & ASKS_MEMORY && result == GPUARENA_OUT_OF_MEMORY) return 1;   /* and others
                                                                may have what is asked for */
    if (!turn_struck() || (!device.fault_count && !device.lost)) return 0;
    if (device.lost) return result == GPUARENA_DEVICE_LOST || result == GPUARENA_INVALID_ARGUMENT;
    if (by_host) return traits_of(text) & ASKS_MEMORY && result == GPUARENA_HOST_MEMORY;
    if (result == GPUARENA_OUT_OF_MEMORY) return traits_of(text) & (ASKS_MEMORY | PREDICTS);
    return device.struck[ENTRY_COUNT] > before[ENTRY_COUNT]
        && (result == result_of_code(turn.code)
            || (turn.code == SIM_OUT_OF_MEMORY && result == GPUARENA_DRIVER_ERROR));
}

static void judge_unchanged(const snapshot *before, const snapshot *after);

/* A call that failed has undone what it did, unless the driver refused that, too. */
static void judge_undone(const char *text, const uint64_t before[ENTRY_COUNT + 1])
{
    static const device_entry undoing[] = { ENTRY_destroy, ENTRY_unmap, ENTRY_release, ENTRY_give_back };
    if (device.lost || !(traits_of(text) & ASKS_MEMORY) || call.arena < 0) return;
    for (size_t at = 0; at < COUNT(undoing); at++)
        if (device.struck[undoing[at]] > before[undoing[at]]) return;
    snapshot after = look_at(call.arena);
    judge_unchanged(&call.before, &after);
}

static void run_served(const char *text)
{
    uint64_t struck[ENTRY_COUNT + 1];
    gpuarena_result result;
    gpuarena_failure failure;
    memcpy(struck, device.struck, sizeof struck);
    call.is_refused = turn.is_on;
    run_plain(text, &result);
    call.is_refused = 0;
    if (turn.is_on && !threads.are_on && result != GPUARENA_OK && !place.trouble[0]) judge_undone(text, struck);
    if (place.trouble[0] || (turn.is_on ? is_allowed_in_turn(text, struck, result) : result == GPUARENA_OK)) return;
    char sentence[400];
    gpuarena_last_failure(call.arena < 0 ? NULL : world.arenas[call.arena].ptr, &failure);
    gpuarena_failure_text(&failure, sentence, sizeof sentence);
    blame("%s: %s: %s", text, gpuarena_result_name(result), sentence);
}

/* ---- refuse COMMAND: RESULT, and figures of the failure */

static int is_misuse(gpuarena_result result)
{
    return result != GPUARENA_OUT_OF_MEMORY && result != GPUARENA_HOST_MEMORY && result != GPUARENA_DRIVER_ERROR
        && result != GPUARENA_DEVICE_LOST && result != GPUARENA_CAPTURE && result != GPUARENA_NOT_SUPPORTED;
}

/* A refusal may have released idle memory, and waited; without such driver calls nothing has changed. */
static void judge_unchanged(const snapshot *before, const snapshot *after)
{
    const gpuarena_stats *was = &before->stats, *is = &after->stats;
    if (was->pressure_count != is->pressure_count || call.is_beside) return;     /* a callback did what it likes */
    if (before->seen.live_digest != after->seen.live_digest || was->alloc_count - was->free_count
        != is->alloc_count - is->free_count) blame("a refused call changed a live block");
    if (before->effects != after->effects) return;
    if (before->seen.digest != after->seen.digest || was->reserved_bytes != is->reserved_bytes
        || was->limit_bytes != is->limit_bytes || was->cached_bytes != is->cached_bytes)
        blame("a refused call changed something");
}

static void judge_refusal(const char *text, gpuarena_result wanted)
{
    gpuarena_failure failure, of_thread;
    int misuse = is_misuse(wanted), unrecorded = traits_of(text) & PREDICTS && !misuse;
    if (observer_text[0] && !call.is_inside) return;         /* what its calls were refused was recorded later */
    if (call.arena < 0 || !is_exact()) {
        gpuarena_last_failure(NULL, &failure);
        if (failure.result != wanted) blame("the thread's record is another");
        return;
    }
    snapshot after = look_at(call.arena);
    if (!(traits_of(text) & MAY_CHANGE)) judge_unchanged(&call.before, &after);
    gpuarena_last_failure(world.arenas[call.arena].ptr, &failure);
    gpuarena_last_failure(NULL, &of_thread);
    if (unrecorded) {
        if (after.serial != call.before.serial) blame("a prediction is recorded");
        return;
    }
    if (failure.serial <= call.before.serial || failure.result != wanted) blame("the failure is not recorded");
    if (of_thread.serial != failure.serial || of_thread.result != failure.result || of_thread.reason != failure.reason
        || strcmp(of_thread.detail, failure.detail)) blame("the thread's record is another");
    if (after.stats.misuse_count < call.before.stats.misuse_count + (misuse ? 1 : 0)
        || after.stats.fail_count < call.before.stats.fail_count + (misuse ? 0 : 1)) blame("it is not counted");
}

/* reason=NAME, call=ENTRY, detail="PART", or a figure of the failure: missing=4M. */
static void judge_figures(reader *in)
{
    char name[WORD_BYTES], word[WORD_BYTES];
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    while (!at_end(in) && !place.trouble[0]) {
        size_t length = strcspn(in->at, "=<>! ");
        snprintf(name, sizeof name, "%.*s", (int)(length < 100 ? length : 100), in->at);
        const char *begin = in->at;
        in->at += length;
        if (!strcmp(name, "reason") && take_mark(in, "=")) {
            if (strcmp(next_word(in, word), gpuarena_reason_name(failure.reason)))
                blame("the reason is %s", gpuarena_reason_name(failure.reason));
        } else if (!strcmp(name, "detail") && take_mark(in, "=")) {
            if (!strstr(failure.detail, next_word(in, word))) blame("the detail is: %s", failure.detail);
        } else if (!strcmp(name, "call") && take_mark(in, "=")) {
            if (!failure.driver_call || strcmp(next_word(in, word), failure.driver_call))
                blame("the driver call is %s", failure.driver_call ? failure.driver_call : "none");
        } else {
            uint64_t left = 0, right;
            char expression[WORD_BYTES];
            static const char record[] = "thread.";
            snprintf(expression, sizeof expression, "%s%.150s", record, begin);
            reader figure = { expression };
            if (!read_comparison(&figure, &left, &right)) blame("%s is %" PRIu64, name, left);
            in->at = begin + (figure.at - expression) - strlen(record);
        }
        take_mark(in, ",");
    }
}

/* is_sure: it must be refused; else it may, and `refused` counts how often commands were. */
static void run_refused(const char *text, int is_sure)
{
    char command[LINE_BYTES], word[WORD_BYTES];
    gpuarena_result result;
    value_entry *refused = is_sure ? NULL : value_of("refused");
    const char *colon = NULL;
    int quoted = 0;
    for (const char *at = text; *at; at++) {
        quoted ^= *at == '"';
        if (*at == ':' && !quoted) colon = at;
    }
    world.expected++;
    if (!colon) {
        blame("`%s COMMAND: RESULT` is expected", is_sure ? "refuse" : "may");
        return;
    }
    snprintf(command, sizeof command, "%.*s", (int)(colon - text), text);
    call.is_refused = 1;
    run_plain(command, &result);
    call.is_refused = 0;
    reader in = { colon + 1 };
    int is_as_told = 0;
    do {
        next_word(&in, word);
        for (char *at = word; *at; at++) *at = (char)tolower((unsigned char)*at);
        is_as_told |= !strcmp(word, gpuarena_result_name(result));
    } while (take_word(&in, "or"));
    if (place.trouble[0] || (is_sure ? turn_struck() : result == GPUARENA_OK)) return;
    if (!is_as_told) {
        blame("%s: %s", command, gpuarena_result_name(result));
        return;
    }
    if (refused) refused->value++;
    judge_refusal(command, result);
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

/* The text with NUMBER in each place of $NAME. */
static void put_in(char *to, size_t size, const char *text, const char *name, const char *value)
{
    size_t length = 0, name_length = strlen(name);
    while (*text && length + 1 < size) {
        if (*text == '$' && !strncmp(text + 1, name, name_length) && !isalnum((unsigned char)text[1 + name_length])) {
            length += (size_t)snprintf(to + length, size - length, "%s", value);
            text += 1 + name_length;
        } else to[length++] = *text++;
    }
    if (length >= size) blame("a line is too long");
    to[length < size ? length : size - 1] = '\0';
}

/* `a 1..8 ..`: once for each number, which `i` and $i stand for. 0: there is no range. */
static int run_range(const char *text)
{
    char verb[WORD_BYTES], range[WORD_BYTES], line[LINE_BYTES], number[24], *end;
    reader in = { text };
    next_word(&in, verb);
    if (!strcmp(verb, "refuse") || !strcmp(verb, "may")) next_word(&in, range);
    skip_spaces(&in);
    const char *begin = in.at;
    if (!isdigit((unsigned char)*begin) || !strcmp(verb, "asked")) return 0;
    next_word(&in, range);
    uint64_t from = strtoull(range, &end, 10), to, step = 1, index = 0;
    if (strncmp(end, "..", 2)) return 0;
    to = strtoull(end + 2, &end, 10);
    if (*end == '/') step = strtoull(end + 1, NULL, 10);
    for (uint64_t at = from; at <= to && step && !place.trouble[0]; at += step) {
        set_value("i", at);
        set_value("index", index++);
        snprintf(line, sizeof line, "%.*s%" PRIu64 "%s", (int)(begin - text), text, at, in.at);
        char whole[LINE_BYTES];
        snprintf(number, sizeof number, "%" PRIu64, at);
        put_in(whole, sizeof whole, line, "i", number);
        run_one(whole);
    }
    return 1;
}

/* repeat N: the rest of the line, with $i from 1 to N */
static void run_repeat(const char *text)
{
    char line[LINE_BYTES], number[24];
    reader in = { text };
    uint64_t count = read_sum(&in);
    int was_long = is_long;
    if (!take_mark(&in, ":")) blame("`repeat N: ..` is expected");
    is_long |= count >= 40;
    for (uint64_t at = 1; at <= count && !place.trouble[0]; at++) {
        snprintf(number, sizeof number, "%" PRIu64, at);
        set_value("i", at);
        set_value("index", at - 1);
        put_in(line, sizeof line, in.at, "i", number);
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
    int holds = 0, negated;
    next_word(&in, left);
    negated = take_mark(&in, "!");
    if (!take_mark(&in, "=")) blame("`when $x = word: ..` is expected");
    do holds |= !strcmp(left, next_word(&in, right)); while (take_word(&in, "or"));
    if (!take_mark(&in, ":")) blame("`when $x = word: ..` is expected");
    if (holds != negated) run_line(in.at, ';');
}

static void run_command(const char *text)
{
    while (*text == ' ' || *text == '\t') text++;
    if (!*text || place.trouble[0]) return;
    if (!run_range(text)) run_one(text);
    int is_known = turn.is_on && !turn_struck();             /* the same as in the turn before */
    if (device.machine && !is_known && is_exact() && (!is_long || world.op % 16 == 0)) audit();
}

/* Commands, one behind the other. */
static void run_line(const char *text, char separator)
{
    char command[LINE_BYTES];
    while (*text && !place.trouble[0]) {
        size_t length = 0;
        int quoted = 0;
        while (*text == ' ') text++;
        if (!strncmp(text, "repeat ", 7)) { run_repeat(text + 7); return; }
        if (!strncmp(text, "when ", 5)) { run_when(text + 5); return; }
        for (; *text && (quoted || *text != separator) && length + 1 < sizeof command; text++) {
            quoted ^= *text == '"';
            command[length++] = *text;
        }
        while (length && command[length - 1] == ' ') length--;
        command[length] = '\0';
        if (*text) text++;
        run_command(command);
    }
}

/* ---- the end */

/* The end of every case: what lives is freed, arenas end, and nothing is left. */
static void end_world(void)
{
    device.fault_count = 0;
    device.within = NULL;
    observer_text[0] = '\0';
    pressure_count = 0;
    memset(pressures, 0, sizeof pressures);
    for (int stage = 0; stage < 2; stage++)
        for (int at = world.arena_count - 1; at >= 0 && !place.trouble[0]; at--) {
            gpuarena *arena = world.arenas[at].ptr;
            if (!arena) continue;
            gpuarena_result result = stage ? destroy_arena(at) : gpuarena_reset(arena, GPUARENA_OWN_STREAM);
            if (result) blame("at the end: %s of %s: %s", stage ? "destroy" : "reset", world.arenas[at].name,
                              gpuarena_result_name(result));
        }
    if (device.machine && !place.trouble[0]) {
        if (device.wrong) blame("%s", device.wrong);
        uint64_t refused = device.struck[ENTRY_give_back] + device.struck[ENTRY_destroy] + device.struck[ENTRY_unmap];
        int may_leave = !world.arena_count && refused;       /* creation failed, and could not undo what it did */
        if (device_left()[0] && !(may_leave && !host_close(&device.host))) blame("at the end: %s", device_left());
        if (sim_finding_count(device.machine)) blame("the judge: %s", sim_finding(device.machine, 0));
        if (!world.expected && !turn_struck()) blame("the case expects nothing");
    }
}

/* After a failure, too: no arena outlives its device. */
static void drop_world(void)
{
    device.fault_count = 0;
    pressure_count = 0;
    for (int at = world.arena_count - 1; at >= 0; at--) {
        if (!world.arenas[at].ptr) continue;
        (void)gpuarena_reset(world.arenas[at].ptr, GPUARENA_OWN_STREAM);
        (void)gpuarena_destroy(world.arenas[at].ptr);
    }
    (void)gpuarena_tag_scope(0);
    unsetenv("GPUARENA_SCRIPT");
    sim_destroy(device.machine);
    memset(&device, 0, sizeof device);
    memset(&call, 0, sizeof call);
    threads.held = 0;
    memset(&world, 0, sizeof world);
    memset(pressures, 0, sizeof pressures);
}

#endif

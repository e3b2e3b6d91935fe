/* The observer: the exact sequence of actions of a scripted life, and what may be called from inside callbacks. */
#include "all_calls.h"
#include "arena_state.h"

enum { LOG_CAPACITY = 256 };

typedef struct action_log {
    size_t count;
    gpuarena_action actions[LOG_CAPACITY];
    gpuarena_failure failures[LOG_CAPACITY];     /* copies: the pointers hold during the call alone */
    gpuarena *arena;
} action_log;

static fake_device device, second_device;
static action_log log_of;

static void observe(gpuarena *arena, const gpuarena_action *action, void *user)
{
    action_log *actions = user;
    actions->arena = arena;
    if (actions->count == LOG_CAPACITY) return;
    actions->actions[actions->count] = *action;
    if (action->failure) actions->failures[actions->count] = *action->failure;
    actions->count++;
}

static gpuarena *open_observed(fake_device *on, gpuarena_observe_fn *observer, void *user)
{
    fake_open(on, GIB(1));
    gpuarena_config config = fake_config(on);
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = MIB(64);
    config.observe = observer;
    config.observe_user = user;
    memset(&log_of, 0, sizeof log_of);
    return state_arena(&config);
}

/* The next action: its kind, serial, result, whose failure. */
static const gpuarena_action *next(size_t *at, gpuarena_action_kind kind, gpuarena_result result, const char *name)
{
    static const gpuarena_action none;
    if (*at == log_of.count) {
        CHECK_MSG(0, "%s: no action", name);
        return &none;
    }
    const gpuarena_action *action = &log_of.actions[*at];
    CHECK_MSG(action->kind == kind && action->result == result && action->serial == *at + 1
              && (action->failure != NULL) == (result != GPUARENA_OK)
              && (result == GPUARENA_OK || log_of.failures[*at].result == result),
                  "%s: kind %d, result %s, serial %" PRIu64,
              name, (int)action->kind, gpuarena_result_name(action->result), action->serial);
    ++*at;
    return action;
}

static void test_blocks(void)
{
    gpuarena *arena = open_observed(&device, observe, &log_of);
    gpuarena_request request = GPUARENA_INIT;
    const gpuarena_action *action;
    size_t at = 0;
    void *ptr = NULL;
    request.bytes = 1000;
    request.tag = 9;
    request.stream = slot_stream(1);
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    action = next(&at, GPUARENA_ACTION_GROW, GPUARENA_OK, "grow");
    CHECK_MSG(action->block.ptr == ptr && action->block.bytes == MIB(2) && action->block.state == GPUARENA_STATE_FREE
              && action->stream == slot_stream(1), "grow: the segment, whole and free; the stream of the call");
    action = next(&at, GPUARENA_ACTION_ALLOC, GPUARENA_OK, "alloc");
    CHECK_MSG(action->block.ptr == ptr && action->block.serial == 1 && action->block.requested_bytes == 1000
              && action->block.bytes == 1024 && action->block.resident_bytes == 1024 && action->block.tag == 9
              && action->block.state == GPUARENA_STATE_LIVE && action->block.stream == slot_stream(1)
              && action->stream == slot_stream(1), "alloc: every field of the live block");
    CHECK_INT(gpuarena_free(arena, (char *)ptr + 8, NULL), ==, GPUARENA_INTERIOR_POINTER);
    action = next(&at, GPUARENA_ACTION_MISUSE, GPUARENA_INTERIOR_POINTER, "misuse");
    CHECK_MSG(log_of.failures[at - 1].block.ptr == ptr, "misuse: the record has the block");
    CHECK_INT(gpuarena_free(arena, ptr, slot_stream(2)), ==, GPUARENA_OK);
    action = next(&at, GPUARENA_ACTION_FREE, GPUARENA_OK, "free");
    CHECK_MSG(action->block.ptr == ptr && action->block.serial == 1 && action->block.requested_bytes == 1000
              && action->block.bytes == 1024 && action->block.tag == 9 && action->block.state == GPUARENA_STATE_FREE
              && action->stream == slot_stream(2), "free: the block as it was, state FREE; the stream of the call");
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_DOUBLE_FREE);
    next(&at, GPUARENA_ACTION_MISUSE, GPUARENA_DOUBLE_FREE, "double free");
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(65), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    next(&at, GPUARENA_ACTION_FAIL, GPUARENA_OUT_OF_MEMORY, "fail");
    CHECK_U64(log_of.failures[at - 1].requested_bytes, ==, MIB(65));
    CHECK_U64(log_of.count, ==, at);
    CHECK_MSG(log_of.arena == arena, "the observer gets the arena");
    state_end(arena, &device, "blocks");
}

static void test_segments(void)
{
    gpuarena *arena = open_observed(&device, observe, &log_of);
    const gpuarena_action *action;
    gpuarena_request request = GPUARENA_INIT;
    size_t at = 0;
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, NULL, NULL), ==, GPUARENA_OK);
    request.bytes = 1;
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OK);
    CHECK_U64(log_of.count, ==, 0);
    CHECK_INT(gpuarena_reserve(arena, MIB(8)), ==, GPUARENA_OK);
    action = next(&at, GPUARENA_ACTION_GROW, GPUARENA_OK, "reserve");
    CHECK_MSG(action->block.bytes == MIB(8) && action->stream == NULL, "reserve: 8 MiB, no stream");
    CHECK_INT(gpuarena_set_limit(arena, MIB(32)), ==, GPUARENA_OK);
    action = next(&at, GPUARENA_ACTION_LIMIT, GPUARENA_OK, "set_limit");
    CHECK_MSG(action->block.bytes == MIB(32) && action->block.state == GPUARENA_STATE_NONE, "set_limit: no block");
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    action = next(&at, GPUARENA_ACTION_RELEASE, GPUARENA_OK, "trim");
    CHECK_MSG(action->block.bytes == MIB(8) && slot_address(action->block.ptr) == device.slots.base
              && action->block.state == GPUARENA_STATE_FREE, "trim: the segment, whole and free");
    state_alloc(arena, MIB(2));
    state_alloc(arena, MIB(4));
    next(&at, GPUARENA_ACTION_GROW, GPUARENA_OK, "grow for the first");
    next(&at, GPUARENA_ACTION_ALLOC, GPUARENA_OK, "the first");
    next(&at, GPUARENA_ACTION_GROW, GPUARENA_OK, "grow for the second");
    next(&at, GPUARENA_ACTION_ALLOC, GPUARENA_OK, "the second");
    CHECK_INT(gpuarena_reset(arena, slot_stream(7)), ==, GPUARENA_OK);
    CHECK_MSG(next(&at, GPUARENA_ACTION_FREE, GPUARENA_OK, "reset")->stream == slot_stream(7), "reset: its stream");
    next(&at, GPUARENA_ACTION_FREE, GPUARENA_OK, "reset, the other");
    CHECK_U64(log_of.count, ==, at);
    CHECK_INT(gpuarena_observe(arena, NULL, NULL), ==, GPUARENA_OK);
    state_alloc(arena, 1);
    CHECK_U64(log_of.count, ==, at);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_observe(arena, observe, &log_of), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    next(&at, GPUARENA_ACTION_RELEASE, GPUARENA_OK, "destroy");
    next(&at, GPUARENA_ACTION_RELEASE, GPUARENA_OK, "destroy, the other");
    CHECK_U64(log_of.count, ==, at);
    CHECK_MSG(fake_close(&device), "nothing left");
}

typedef struct inside { int called, wrong; gpuarena *arena, *other; void *ptr; } inside;

/* Inside a callback of the arena: everything that changes it answers REENTRANT, reading works. */
static void call_everything(inside *in)
{
    gpuarena_stats stats;
    gpuarena_config values;
    gpuarena_failure failure;
    gpuarena *arena = in->arena;
    void *out = NULL;
    in->called++;
    in->wrong += all_calls_answer(arena, in->ptr, GPUARENA_REENTRANT);
    gpuarena_last_failure(arena, &failure);
    in->wrong += failure.result != GPUARENA_REENTRANT || failure.serial == 0;
    in->wrong += in->ptr && !gpuarena_mark(arena);           /* which reads */
    gpuarena_get_stats(arena, &stats);
    gpuarena_get_config(arena, &values);
    in->wrong += stats.reserved_bytes != device.slots.held_bytes || values.limit_bytes != MIB(64);
    in->wrong += in->ptr && gpuarena_owner(in->ptr) != arena;
    if (in->other) {
        in->wrong += gpuarena_alloc(in->other, &out, 100, NULL) != GPUARENA_OK;
        in->wrong += gpuarena_free(in->other, out, NULL) != GPUARENA_OK;
    }
}

static void observe_and_call(gpuarena *arena, const gpuarena_action *action, void *user)
{
    inside *in = user;
    in->wrong += arena != in->arena && in->arena;
    if (in->called > 50) return;
    if (in->arena) call_everything(in);
    in->wrong += action->failure && action->failure->result != action->result;   /* calls inside leave it alone */
}

static gpuarena_result visit_and_call(const gpuarena_block *block, void *user)
{
    (void)block;
    call_everything(user);
    return GPUARENA_OK;
}

static gpuarena_result write_and_call(const char *text, size_t bytes, void *user)
{
    (void)text;
    if (bytes) call_everything(user);
    return GPUARENA_OK;
}

static void test_reentrant(void)
{
    inside in = { 0, 0, NULL, NULL, NULL };
    arena_state before, after;
    gpuarena *other = open_observed(&second_device, NULL, NULL);
    gpuarena *arena = open_observed(&device, NULL, NULL);
    in.arena = arena;
    in.other = other;
    in.ptr = state_alloc(arena, 1000);
    state_take(arena, &before);
    CHECK_INT(gpuarena_walk(arena, visit_and_call, &in), ==, GPUARENA_OK);
    CHECK_MSG(in.called > 0 && in.wrong == 0, "calls from a visitor: %d wrong", in.wrong);
    in.called = 0;
    CHECK_INT(gpuarena_report(arena, GPUARENA_FORMAT_JSON, write_and_call, &in), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_report(arena, GPUARENA_FORMAT_TEXT, write_and_call, &in), ==, GPUARENA_OK);
    CHECK_MSG(in.called > 0 && in.wrong == 0, "calls from a writer: %d wrong", in.wrong);
    state_take(arena, &after);
    CHECK_MSG(state_same(&before, &after), "nothing changed");
    in.called = 0;
    CHECK_INT(gpuarena_observe(arena, observe_and_call, &in), ==, GPUARENA_OK);
    void *more = NULL;
    CHECK_INT(gpuarena_alloc(arena, &more, MIB(3), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, more, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, more, NULL), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_alloc(arena, &more, MIB(65), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_MSG(in.called > 5 && in.wrong == 0, "calls from an observer (%d of them): %d wrong", in.called, in.wrong);
    CHECK_INT(gpuarena_observe(arena, NULL, NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "reentrant");
    state_end(other, &second_device, "reentrant, the other arena");
}

/* The record that a failing call leaves is its own, not that of a refused call made by its observer. */
static void test_stale_record(void)
{
    inside in = { 0, 0, NULL, NULL, NULL };
    gpuarena *arena = open_observed(&device, NULL, NULL);
    gpuarena_failure failure;
    void *ptr = NULL;
    in.arena = arena;
    CHECK_INT(gpuarena_observe(arena, observe_and_call, &in), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, &device, NULL), ==, GPUARENA_FOREIGN_POINTER);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 1, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_observe(arena, NULL, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, &device, NULL), ==, GPUARENA_FOREIGN_POINTER);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_FOREIGN_POINTER);
    CHECK_INT(failure.block.state, ==, GPUARENA_STATE_NONE);
    CHECK_MSG(in.called > 2 && in.wrong == 0, "calls from the observer (%d): %d wrong", in.called, in.wrong);
    CHECK_STR(state_audit(arena, &device), "");
    state_end(arena, &device, "record");
}

/* From the first growth on, in creation, an observer may look at its arena. */
static void look(gpuarena *arena, const gpuarena_action *action, void *user)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    if (action->kind == GPUARENA_ACTION_GROW) *(uint64_t *)user = stats.reserved_bytes;
}

static void test_creation(void)
{
    uint64_t seen = 0;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(4);
    config.observe = look;
    config.observe_user = &seen;
    gpuarena *arena = state_arena(&config);
    CHECK_U64(seen, ==, MIB(4));
    state_end(arena, &device, "creation");
}

int main(void)
{
    test_blocks();
    test_segments();
    test_reentrant();
    test_stale_record();
    test_creation();
    return tap_done();
}

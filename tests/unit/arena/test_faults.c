/* Faults: every host and driver call of a scripted life fails in turn, in every way; and drivers lie. */
#include "arena_state.h"

enum { SLOT_COUNT = 400, PLAN_LIMIT = 2000 };

typedef enum step_kind { STEP_ALLOC, STEP_FREE, STEP_RESERVE, STEP_TRIM, STEP_LIMIT, STEP_RESET, STEP_DEVICE,
                         STEP_MANY } step_kind;

typedef struct step {
    step_kind kind;
    uint64_t  bytes;                             /* of the call; FREE: none */
    uint64_t  alignment;
    size_t    slot;
} step;

static const step steps[] = {
    { STEP_ALLOC, 1000, 0, 0 }, { STEP_ALLOC, MIB(1), 0, 1 }, { STEP_ALLOC, MIB(3), 0, 2 }, { STEP_ALLOC, KIB(64),
                                                                                              MIB(4), 3 },
    { STEP_MANY, 256, 0, 100 }, { STEP_FREE, 0, 0, 1 }, { STEP_DEVICE, 0, 0, 0 }, { STEP_RESERVE, MIB(40), 0, 0 },
    { STEP_ALLOC, MIB(9), 0, 4 }, { STEP_ALLOC, MIB(11), 0, 5 }, { STEP_FREE, 0, 0, 4 }, { STEP_FREE, 0, 0, 2 },
    { STEP_ALLOC, MIB(30), 0, 6 }, { STEP_TRIM, MIB(20), 0, 0 }, { STEP_ALLOC, MIB(12), 0, 7 }, { STEP_FREE, 0, 0,
                                                                                                  6 },
    { STEP_LIMIT, MIB(16), 0, 0 }, { STEP_FREE, 0, 0, 5 }, { STEP_FREE, 0, 0, 7 }, { STEP_LIMIT, MIB(100), 0, 0 },
    { STEP_RESERVE, MIB(60), 0, 0 }, { STEP_ALLOC, MIB(70), 0, 8 }, { STEP_FREE, 0, 0, 0 }, { STEP_ALLOC, MIB(90), 0,
                                                                                              9 },
    { STEP_TRIM, 0, 0, 0 }, { STEP_RESET, 0, 0, 0 }, { STEP_ALLOC, MIB(5), 0, 10 }, { STEP_TRIM, 0, 0, 0 }
};
enum { STEP_COUNT = sizeof steps / sizeof steps[0] };

typedef struct plan { unsigned kinds; uint64_t at, length; gpuarena_status status; } plan;

static fake_device device;
static void *slots[SLOT_COUNT];
static gpuarena_result expected[STEP_COUNT];     /* without faults */
static const char *wrong;                        /* the first thing that went wrong in a life */
static int wrong_step;

static void blame(int at, const char *text)
{
    if (wrong) return;
    wrong = text;
    wrong_step = at;
}

static gpuarena_result take_step(gpuarena *arena, const step *now, int at)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_device figures;
    uint64_t released = 12345;
    gpuarena_result result = GPUARENA_OK;
    request.bytes = now->bytes;
    request.alignment_bytes = now->alignment;
    switch (now->kind) {
    case STEP_MANY:
        for (size_t slot = now->slot; slot < SLOT_COUNT && result == GPUARENA_OK; slot++)
            result = gpuarena_alloc_ex(arena, &slots[slot], &request);
        return result;
    case STEP_ALLOC:
        slots[now->slot] = &device;
        result = gpuarena_alloc_ex(arena, &slots[now->slot], &request);
        if (result != GPUARENA_OK && slots[now->slot] != &device) blame(at, "a failed alloc wrote its output");
        if (result != GPUARENA_OK) slots[now->slot] = NULL;
        return result;
    case STEP_FREE:
        result = gpuarena_free(arena, slots[now->slot], NULL);
        slots[now->slot] = NULL;
        return result;
    case STEP_RESERVE: return gpuarena_reserve(arena, now->bytes);
    case STEP_TRIM:    return gpuarena_trim(arena, now->bytes, &released);
    case STEP_LIMIT:   return gpuarena_set_limit(arena, now->bytes);
    case STEP_DEVICE:  return gpuarena_get_device(arena, &figures);
    case STEP_RESET:
        memset(slots, 0, sizeof slots);
        return gpuarena_reset(arena, NULL);
    }
    return GPUARENA_OK;
}

/* What the status of a failed driver call makes of the call that needed it. */
static gpuarena_result result_of(const plan *fault)
{
    switch (fault->status) {
    case GPUARENA_STATUS_LOST:          return GPUARENA_DEVICE_LOST;
    case GPUARENA_STATUS_CAPTURING:     return GPUARENA_CAPTURE;
    case GPUARENA_STATUS_NOT_SUPPORTED: return GPUARENA_NOT_SUPPORTED;
    default:                            return GPUARENA_DRIVER_ERROR;
    }
}

/* 1: the contract allows this result of a call during which the fault struck, by the kinds of call it struck. */
static int allowed(const plan *fault, const uint64_t struck[FAKE_CALL_KINDS], const step *now, gpuarena_result result,
                   gpuarena_result without)
{
    int memory = now->kind == STEP_ALLOC || now->kind == STEP_RESERVE || now->kind == STEP_MANY;
    if (struck[FAKE_HOST]) return memory && result == GPUARENA_HOST_MEMORY;
    if (now->kind == STEP_FREE || now->kind == STEP_RESET) return result == GPUARENA_OK;
    if (struck[FAKE_OBTAIN] && fault->status == GPUARENA_STATUS_NO_MEMORY && memory)
        return result == GPUARENA_OUT_OF_MEMORY || (fault->length != FAKE_FOR_EVER && result == without)
            || (struck[FAKE_GIVE_BACK] && result == GPUARENA_DRIVER_ERROR);
    if (struck[FAKE_OBTAIN]) return memory && result == result_of(fault);
    if (struck[FAKE_GIVE_BACK] && fault->status == GPUARENA_STATUS_UNLOADING) return result == without;
    if (struck[FAKE_GIVE_BACK]) return result == result_of(fault);
    if (now->kind == STEP_DEVICE) return result == result_of(fault);
    return result == without || result == result_of(fault);                  /* memory info,
        asked only for a record */
}

/* One step under the fault, and everything that must hold after it, struck or not. */
static void judge_step(gpuarena *arena, const plan *fault, int at, int *diverged)
{
    const step *now = &steps[at];
    arena_state before, after;
    uint64_t calls[FAKE_CALL_KINDS], struck[FAKE_CALL_KINDS];
    gpuarena_failure failure;
    int lost = device.lost;
    state_take(arena, &device, &before);
    memcpy(calls, device.struck, sizeof calls);
    gpuarena_result result = take_step(arena, now, at);
    uint64_t strikes = 0;
    for (int kind = 0; kind < FAKE_CALL_KINDS; kind++) strikes += struck[kind] = device.struck[kind] - calls[kind];
    state_take(arena, &device, &after);
    const char *audit = state_audit(arena, &device);
    if (audit[0]) blame(at, audit);
    if (strikes && !allowed(fault, struck, now, result, expected[at])) blame(at, gpuarena_result_name(result));
    if (!strikes && !*diverged && !lost && result != expected[at]) blame(at, "another result before the fault");
    if (lost && (now->kind == STEP_FREE || now->kind == STEP_RESET) && result != GPUARENA_OK)
        blame(at, "lost: a free failed");
    if (lost && (now->kind == STEP_RESERVE || now->kind == STEP_DEVICE || now->kind == STEP_ALLOC)
        && result == GPUARENA_OK && after.stats.reserved_bytes != before.stats.reserved_bytes)
        blame(at, "lost: memory came from somewhere");
    if (strikes) *diverged = 1;
    if (result == GPUARENA_OK) return;
    gpuarena_last_failure(arena, &failure);
    if (failure.result != result || failure.serial != before.failure_serial + 1) blame(at, "the record");
    if (now->kind != STEP_MANY && after.live_digest != before.live_digest)
        blame(at, "a failure changed a live block");
    if (after.stats.reserved_bytes > before.stats.reserved_bytes && !struck[FAKE_GIVE_BACK] && now->kind != STEP_MANY)
        blame(at, "a failure left more memory reserved");
}

/* After the script: all frees still work, destroy leaves nothing. */
static void end_life(gpuarena *arena, const plan *fault)
{
    int gone = device.lost || (fault->status == GPUARENA_STATUS_UNLOADING && device.struck[FAKE_GIVE_BACK] != 0);
    for (size_t slot = 0; slot < SLOT_COUNT; slot++)
        if (slots[slot] && gpuarena_free(arena, slots[slot], NULL) != GPUARENA_OK)
            blame(STEP_COUNT, "a free at the end");
    gpuarena_result result = gpuarena_destroy(arena);
    if (result != GPUARENA_OK && !device.struck[FAKE_GIVE_BACK]) blame(STEP_COUNT, "destroy, without a reason");
    if (result != GPUARENA_OK) {
        const char *audit = state_audit(arena, &device);
        if (audit[0]) blame(STEP_COUNT, audit);
        fake_heal(&device);
        if (gpuarena_destroy(arena) != GPUARENA_OK) blame(STEP_COUNT, "destroy again, all healed");
    }
    if (device.host_bytes) blame(STEP_COUNT, "host memory left");
    if (device.held_bytes && !gone && !device.lost) blame(STEP_COUNT, "device memory left");
    if (device.wrong_count) blame(STEP_COUNT, "an illegal driver or host call");
    if (device.after_lost_count) blame(STEP_COUNT, "a driver call after LOST");
    if (device.passed_count) blame(STEP_COUNT, "more than the limit was held");
}

/* One life under one fault. Returns how often it struck. */
static uint64_t live(const plan *fault)
{
    int diverged = 0;
    gpuarena *arena = (gpuarena *)(void *)&device, *none = arena;
    fake_open(&device, MIB(128));
    memset(slots, 0, sizeof slots);
    wrong = NULL;
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(4);
    config.headroom_bytes = MIB(6);
    config.limit_bytes = device.watch_bytes = MIB(100);
    fake_fail(&device, fault->kinds, fault->at, fault->length, fault->status);
    gpuarena_result result = gpuarena_create(&config, &arena);
    if (result != GPUARENA_OK) {
        /* a device without room for its own context answers its very first call so */
        int full = device.struck[FAKE_INFO] && device.calls[FAKE_INFO] == 1;
        int memory = fault->status == GPUARENA_STATUS_NO_MEMORY && (device.struck[FAKE_OBTAIN] || full);
        gpuarena_result wanted = device.struck[FAKE_HOST] ? GPUARENA_HOST_MEMORY : memory ? GPUARENA_OUT_OF_MEMORY
            : result_of(fault);
        if (result != wanted || arena != none) blame(-1, gpuarena_result_name(result));
        if (device.host_bytes || device.wrong_count) blame(-1, "a failed create left something behind");
        if (device.held_bytes && !device.struck[FAKE_GIVE_BACK]) blame(-1, "a failed create left device memory");
        return device.fail_fired;
    }
    if (device.fail_fired) diverged = 1;
    for (int at = 0; at < (int)STEP_COUNT && !wrong; at++) judge_step(arena, fault, at, &diverged);
    if (!wrong) end_life(arena, fault);
    return device.fail_fired;
}

static void learn(void)
{
    static const plan none = { 0, 0, 0, GPUARENA_STATUS_DONE };
    gpuarena *arena = NULL;
    gpuarena_config config = fake_config(&device);
    fake_open(&device, MIB(128));
    config.initial_bytes = MIB(4);
    config.headroom_bytes = MIB(6);
    config.limit_bytes = MIB(100);
    if (gpuarena_create(&config, &arena) != GPUARENA_OK) return;
    for (int at = 0; at < (int)STEP_COUNT; at++) expected[at] = take_step(arena, &steps[at], at);
    CHECK_INT(expected[7], ==, GPUARENA_OK);
    CHECK_INT(expected[23], ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_MSG(live(&none) == 0 && !wrong, "the script without faults: step %d: %s", wrong_step, wrong ? wrong : "");
}

/* All lives in which calls of these kinds answer the status, `length` times from the first, the second .. until none
   is struck. */
static void test_kind(unsigned kinds, const char *name, uint64_t length, gpuarena_status status)
{
    plan fault = { kinds, 1, length, status };
    uint64_t lives = 0;
    for (; fault.at < PLAN_LIMIT; fault.at++, lives++) {
        uint64_t struck = live(&fault);
        if (wrong) {
            CHECK_MSG(0, "%s, call %" PRIu64 ", %s, status %d: step %d: %s", name, fault.at,
                      length == 1 ? "once" : length == 2 ? "twice" : "for ever", (int)status, wrong_step, wrong);
            return;
        }
        if (!struck) break;
    }
    CHECK_MSG(lives > 2 && fault.at < PLAN_LIMIT, "%s, status %d, %s: %" PRIu64 " calls failed in turn", name,
              (int)status,
              length == 1 ? "once" : length == 2 ? "twice" : "for ever", lives);
}

static void test_every_call(void)
{
    static const gpuarena_status statuses[] = { GPUARENA_STATUS_NO_MEMORY, GPUARENA_STATUS_FAILED,
                                                GPUARENA_STATUS_LOST,
                                                GPUARENA_STATUS_CAPTURING, GPUARENA_STATUS_NOT_SUPPORTED,
                                                GPUARENA_STATUS_UNLOADING };
    static const uint64_t lengths[] = { 1, 2, FAKE_FOR_EVER };
    for (size_t length = 0; length < 3; length++) {
        test_kind(FAKE_ON_HOST, "host", lengths[length], GPUARENA_STATUS_NO_MEMORY);
        for (size_t status = 0; status < 6; status++) {
            test_kind(FAKE_ON_OBTAIN, "obtain", lengths[length], statuses[status]);
            test_kind(FAKE_ON_GIVE_BACK, "give_back", lengths[length], statuses[status]);
            test_kind(FAKE_ON_INFO, "info", lengths[length], statuses[status]);
        }
        test_kind(FAKE_ON_OBTAIN | FAKE_ON_GIVE_BACK | FAKE_ON_HOST, "any", lengths[length],
                  GPUARENA_STATUS_NO_MEMORY);
    }
}

/* A driver that lies: DRIVER_ERROR, the range is given back, nothing changed, and the next call works. */
static void test_lies(void)
{
    static const fake_lie lies[] = { FAKE_LIE_NULL, FAKE_LIE_MISALIGNED, FAKE_LIE_OVERLAP, FAKE_LIE_WRAP };
    for (size_t lie = 0; lie < 4; lie++) {
        fake_open(&device, GIB(1));
        gpuarena_config config = fake_config(&device);
        arena_state before;
        void *ptr = &device;
        gpuarena *arena = state_arena(&config);
        state_alloc(arena, MIB(8));
        state_take(arena, &device, &before);
        device.lie = lies[lie];
        state_refused(arena, &device, &before, gpuarena_alloc(arena, &ptr, MIB(4), NULL), GPUARENA_DRIVER_ERROR,
                      "a lie to alloc");
        CHECK_MSG(ptr == &device && device.lied.bytes == 0 && device.wrong_count == 0, "lie %d: given back",
                  (int)lies[lie]);
        state_take(arena, &device, &before);
        device.lie = lies[lie];
        state_refused(arena, &device, &before, gpuarena_reserve(arena, MIB(40)), GPUARENA_DRIVER_ERROR,
                      "a lie to reserve");
        CHECK_MSG(device.lied.bytes == 0 && state_alloc(arena, MIB(4)) != NULL, "lie %d: the next call works",
                  (int)lies[lie]);
        state_end(arena, &device, "lies");
        if (lies[lie] == FAKE_LIE_OVERLAP) continue;
        fake_open(&device, GIB(1));
        config = fake_config(&device);
        config.initial_bytes = MIB(4);
        device.lie = lies[lie];
        CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_DRIVER_ERROR);
        CHECK_MSG(fake_close(&device), "a lie to create: nothing left behind");
    }
}

/* A segment that the driver does not take back: who is told, what is counted, and that it goes back later. */
static void test_not_taken_back(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    uint64_t released = 5;
    void *first = state_alloc(arena, MIB(4)), *second = state_alloc(arena, MIB(8));
    CHECK_INT(gpuarena_set_limit(arena, MIB(2)), ==, GPUARENA_OK);
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, 1, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.driver_error_count, ==, 1);
    CHECK_U64(stats.fail_count, ==, 0);
    CHECK_U64(stats.reserved_bytes, ==, MIB(12));
    CHECK_INT(gpuarena_free(arena, second, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(4));                /* a free does not ask again for what was refused, */
    CHECK_INT(gpuarena_set_limit(arena, MIB(2)), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, 0);                     /* the next call that releases does */
    CHECK_INT(gpuarena_set_limit(arena, GPUARENA_NO_LIMIT), ==, GPUARENA_OK);
    first = state_alloc(arena, MIB(4));
    second = state_alloc(arena, MIB(8));
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    fake_fail(&device, FAKE_ON_GIVE_BACK, 2, 1, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_trim(arena, 0, &released), ==, GPUARENA_DRIVER_ERROR);
    CHECK_MSG(released == MIB(12) - device.held_bytes && released > 0,
              "trim: what went back before is in released_bytes");
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, 1, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_set_limit(arena, 0), ==, GPUARENA_DRIVER_ERROR);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.limit_bytes, ==, 0);
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, 1, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_DRIVER_ERROR);
    CHECK_STR(state_audit(arena, &device), "");
    CHECK_MSG(gpuarena_owner(fake_pointer(device.ranges[0].address)) == arena, "destroy failed: the arena lives on");
    state_end(arena, &device, "not taken back");
    (void)first;
    (void)second;
}

int main(void)
{
    learn();
    test_every_call();
    test_not_taken_back();
    test_lies();
    return tap_done();
}

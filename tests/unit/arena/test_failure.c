/* Failure records: every reason with its numbers, serials, names, and that their advice is true. */
#include "arena_state.h"

static fake_device device;
static arena_state before;

static gpuarena *open_arena(uint64_t total_bytes, uint64_t limit_bytes)
{
    fake_open(&device, total_bytes);
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = limit_bytes;
    strcpy(config.name, "weights");
    return state_arena(&config);
}

/* Asks, checks the refusal and its numbers, keeps the sentence. */
static gpuarena_failure ask(gpuarena *arena, uint64_t bytes, uint32_t flags, gpuarena_result result,
                            gpuarena_reason reason)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = &device;
    request.bytes = bytes;
    request.flags = flags;
    state_take(arena, &device, &before);
    gpuarena_failure failure = state_refused(arena, &device, &before, gpuarena_alloc_ex(arena, &ptr, &request),
                                             result,
                                             gpuarena_reason_name(reason));
    CHECK_STR(gpuarena_reason_name(failure.reason), gpuarena_reason_name(reason));
    CHECK_MSG(ptr == &device, "the output is untouched");
    CHECK_MSG(failure.requested_bytes == bytes && failure.live_bytes == before.stats.live_bytes
              && failure.pending_bytes == 0 && failure.cached_bytes == before.stats.cached_bytes
              && failure.reserved_bytes == before.stats.reserved_bytes
                  && failure.limit_bytes == before.stats.limit_bytes
              && failure.largest_free_bytes == before.stats.largest_free_bytes, "numbers as before the call");
    CHECK_STR(failure.arena, "weights");
    return failure;
}

static void test_reasons(void)
{
    gpuarena *arena = open_arena(GIB(1), MIB(64));
    void *blocks[16];
    for (int block = 0; block < 16; block++) blocks[block] = state_alloc(arena, MIB(4));
    ask(arena, MIB(4), GPUARENA_ALLOC_TRY, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_TRY_ONLY);
    gpuarena_failure failure = ask(arena, MIB(4), 0, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_OVER_LIMIT);
    CHECK_U64(failure.missing_bytes, ==, MIB(4));
    CHECK_U64(failure.device_free_bytes, ==, 0);
    CHECK_INT(failure.driver_code, ==, 0);
    ask(arena, UINT64_MAX, 0, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_TOO_LARGE);
    state_end(arena, &device, "over limit");
    arena = open_arena(MIB(32), 0);
    state_alloc(arena, MIB(10));
    device.rival_bytes = MIB(16);
    failure = ask(arena, MIB(8), 0, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_U64(failure.device_free_bytes, ==, MIB(6));
    CHECK_U64(failure.missing_bytes, ==, MIB(2));
    CHECK_INT(failure.driver_code, ==, GPUARENA_STATUS_NO_MEMORY * device.code_step);
    (void)blocks;
    state_end(arena, &device, "driver refused");
}

/* Free bytes suffice, no block does: the block's missing length is exact. */
static void test_fragmented(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(64);
    strcpy(config.name, "weights");
    gpuarena *arena = state_arena(&config);
    void *blocks[64];
    for (int block = 0; block < 64; block++) blocks[block] = state_alloc(arena, MIB(1));
    for (int block = 0; block < 64; block += 2)
        if (gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK) CHECK_MSG(0, "free");
    gpuarena_failure failure = ask(arena, MIB(3), 0, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_FRAGMENTED);
    CHECK_U64(failure.missing_bytes, ==, MIB(2));
    failure = ask(arena, MIB(33), 0, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_OVER_LIMIT);
    state_end(arena, &device, "fragmented");
}

static void test_driver_errors(void)
{
    gpuarena *arena = open_arena(GIB(1), 0);
    state_alloc(arena, MIB(2));
    fake_fail(&device, FAKE_ON_OBTAIN, 1, 1, GPUARENA_STATUS_FAILED);
    gpuarena_failure failure = ask(arena, MIB(4), 0, GPUARENA_DRIVER_ERROR, GPUARENA_REASON_NONE);
    CHECK_INT(failure.driver_code, ==, GPUARENA_STATUS_FAILED * device.code_step);
    CHECK_STR(failure.detail, "fakeFailed");
    fake_fail(&device, FAKE_ON_OBTAIN, 1, 1, GPUARENA_STATUS_CAPTURING);
    ask(arena, MIB(4), 0, GPUARENA_CAPTURE, GPUARENA_REASON_NONE);
    fake_fail(&device, FAKE_ON_OBTAIN, 1, 1, GPUARENA_STATUS_NOT_SUPPORTED);
    ask(arena, MIB(4), 0, GPUARENA_NOT_SUPPORTED, GPUARENA_REASON_NONE);
    fake_fail(&device, FAKE_ON_HOST, 1, FAKE_FOR_EVER, GPUARENA_STATUS_FAILED);
    void *ptr = NULL;
    for (int block = 0; block < 100000; block++)
        if (gpuarena_alloc(arena, &ptr, 256, NULL) != GPUARENA_OK) break;
    ask(arena, 256, 0, GPUARENA_HOST_MEMORY, GPUARENA_REASON_HOST_MEMORY);
    fake_fail(&device, FAKE_ON_OBTAIN, 1, 1, GPUARENA_STATUS_LOST);
    ask(arena, MIB(4), 0, GPUARENA_DEVICE_LOST, GPUARENA_REASON_NONE);
    ask(arena, MIB(4), 0, GPUARENA_DEVICE_LOST, GPUARENA_REASON_NONE);
    CHECK_U64(device.after_lost_count, ==, 0);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(device.host_bytes, ==, 0);
}

/* A table without classify: codes are gpuarena_status. */
static void test_plain_codes(void)
{
    fake_open(&device, MIB(8));
    device.table.classify = NULL;
    device.table.code_name = NULL;
    device.code_step = 1;
    gpuarena_config config = fake_config(&device);
    strcpy(config.name, "weights");
    gpuarena *arena = state_arena(&config);
    gpuarena_failure failure = ask(arena, MIB(10), 0, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_INT(failure.driver_code, ==, GPUARENA_STATUS_NO_MEMORY);
    fake_fail(&device, FAKE_ON_OBTAIN, 1, 1, GPUARENA_STATUS_FAILED);
    ask(arena, MIB(2), 0, GPUARENA_DRIVER_ERROR, GPUARENA_REASON_NONE);
    state_end(arena, &device, "plain codes");
}

/* Every prefix length: at most size bytes, a NUL, the whole length returned. */
static void test_text(void)
{
    gpuarena_failure failure = GPUARENA_INIT;
    char whole[1024], part[1024];
    int wrong = 0;
    gpuarena *arena = open_arena(MIB(8), 0);
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(10), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    size_t length = gpuarena_failure_text(&failure, whole, sizeof whole);
    for (size_t size = 0; size <= length + 2; size++) {
        memset(part, 'x', sizeof part);
        wrong += gpuarena_failure_text(&failure, part, size) != length;
        size_t kept = size == 0 ? 0 : size <= length ? size - 1 : length;
        wrong += memcmp(part, whole, kept) != 0 || (size != 0 && part[kept] != '\0');
        wrong += part[size] != 'x';
    }
    CHECK_MSG(wrong == 0, "text of every size is a prefix that ends with a NUL");
    CHECK_U64(gpuarena_failure_text(&failure, NULL, 0), ==, length);
    state_end(arena, &device, "text");
}

static void test_serials(void)
{
    gpuarena *arena = open_arena(MIB(8), 0);
    gpuarena_failure failure;
    void *ptr = NULL;
    gpuarena_last_failure(arena, &failure);
    CHECK_U64(failure.serial, ==, 0);
    for (uint64_t serial = 1; serial < 5; serial++) {
        (void)gpuarena_alloc(arena, &ptr, MIB(10), NULL);
        (void)gpuarena_alloc(arena, &ptr, 1, NULL);
        gpuarena_last_failure(arena, &failure);
        CHECK_U64(failure.serial, ==, serial);
    }
    state_end(arena, &device, "serials");
}

static void test_names(void)
{
#define X(name, value, text) \
    CHECK_MSG((int)GPUARENA_##name == value && strcmp(gpuarena_result_name(GPUARENA_##name), text) == 0, "%s", text);
    GPUARENA_RESULTS(X)
#undef X
#define X(name, text) CHECK_STR(gpuarena_reason_name(GPUARENA_REASON_##name), text);
    GPUARENA_REASONS(X)
#undef X
    CHECK_STR(gpuarena_result_name(GPUARENA_RESULT_END), "unknown");
    CHECK_STR(gpuarena_result_name((gpuarena_result)-19), "unknown");
    CHECK_STR(gpuarena_result_name((gpuarena_result)1000), "unknown");
    CHECK_STR(gpuarena_reason_name(GPUARENA_REASON_END), "unknown");
    CHECK_STR(gpuarena_reason_name((gpuarena_reason)1000), "unknown");
}

/* The advice is true: a limit raised by what is missing serves the same request. */
static void test_advice(void)
{
    gpuarena_failure failure;
    void *ptr = NULL;
    fake_open(&device, GIB(4));
    gpuarena_config config = fake_config(&device);
    config.limit_bytes = MIB(64);
    gpuarena *arena = state_arena(&config);
    state_alloc(arena, MIB(50));
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(33), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_LIMIT);
    CHECK_INT(gpuarena_set_limit(arena, failure.limit_bytes + failure.missing_bytes - 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(33), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_set_limit(arena, failure.limit_bytes + failure.missing_bytes), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(33), NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "advice");
}

/* The same where the limit was lowered below what is reserved. */
static void test_advice_lowered(void)
{
    gpuarena_failure failure;
    void *ptr = NULL;
    fake_open(&device, GIB(4));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    void *block = state_alloc(arena, MIB(40));
    state_alloc(arena, MIB(20));
    CHECK_INT(gpuarena_set_limit(arena, MIB(30)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_LIMIT);
    CHECK_U64(failure.missing_bytes, ==, MIB(32));
    CHECK_INT(gpuarena_set_limit(arena, MIB(62)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(61)), ==, GPUARENA_OK);          /* the idle 2 MiB went back: it fits */
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "advice, lowered");
}

/* An aligned request takes a whole limit where the driver's segment starts right; where it does not,
   nothing stays. */
static void test_aligned_at_limit(void)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    fake_open(&device, GIB(4));
    gpuarena_config config = fake_config(&device);
    config.limit_bytes = MIB(2);
    gpuarena *arena = state_arena(&config);
    request.bytes = MIB(2);
    request.alignment_bytes = 512;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    device.base_address += 256;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(device.held_bytes, ==, 0);
    state_end(arena, &device, "aligned at the limit");
}

/* From the first growth on an observer may look at its arena, and its record stays what it was told. */
static uint64_t observed_bytes;
static int record_kept;

static void looking(gpuarena *arena, const gpuarena_action *action, void *user)
{
    gpuarena_stats stats;
    void *ptr = NULL;
    (void)user;
    gpuarena_get_stats(arena, &stats);
    if (action->kind == GPUARENA_ACTION_GROW) observed_bytes = stats.reserved_bytes;
    if (action->kind == GPUARENA_ACTION_MISUSE)
        record_kept = gpuarena_alloc(arena, &ptr, 1, NULL) == GPUARENA_REENTRANT
            && action->failure->result == GPUARENA_FOREIGN_POINTER;
}

static void test_observed(void)
{
    fake_open(&device, GIB(4));
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(4);
    config.observe = looking;
    gpuarena *arena = state_arena(&config);
    CHECK_U64(observed_bytes, ==, MIB(4));
    CHECK_INT(gpuarena_free(arena, &device, NULL), ==, GPUARENA_FOREIGN_POINTER);
    CHECK(record_kept);
    state_end(arena, &device, "observed");
}

int main(void)
{
    test_names();
    test_reasons();
    test_fragmented();
    test_driver_errors();
    test_plain_codes();
    test_text();
    test_serials();
    test_advice();
    test_advice_lowered();
    test_aligned_at_limit();
    test_observed();
    return tap_done();
}

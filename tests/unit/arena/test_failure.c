/* Failure records: names of results and reasons, sentences that do not fit, what an observer sees of them. Their
   numbers are asked in refusals.script, and their sentences in sentences.golden. */
#include "arena_state.h"

static fake_device device;

static gpuarena *open_arena(uint64_t total_bytes, uint64_t limit_bytes)
{
    fake_open(&device, total_bytes);
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = limit_bytes;
    strcpy(config.name, "weights");
    return state_arena(&config);
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

/* An observer is told of a limit, which is no block; nor is a pointer of nobody. */
static gpuarena_block limit_block;

static void limit_told(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena, (void)user;
    if (action->kind == GPUARENA_ACTION_LIMIT) limit_block = action->block;
}

static void test_no_block(void)
{
    gpuarena *arena = open_arena(GIB(1), 0);
    gpuarena_failure failure;
    CHECK_INT(gpuarena_observe(arena, limit_told, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(64)), ==, GPUARENA_OK);
    CHECK_U64(limit_block.bytes, ==, MIB(64));
    CHECK_INT(limit_block.state, ==, GPUARENA_STATE_NONE);
    CHECK_INT(gpuarena_free(arena, &device, NULL), ==, GPUARENA_FOREIGN_POINTER);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.block.state, ==, GPUARENA_STATE_NONE);
    state_end(arena, &device, "no block");
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
    test_text();
    test_no_block();
    test_observed();
    return tap_done();
}

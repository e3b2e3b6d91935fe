/* gpuarena_failure_text, to the letter: what was asked, what stood in the way, what would have helped.
   It must not know how a failure comes about, but for the few that are provoked: records are filled by hand. */
#include "arena_state.h"

static fake_device device;

static const char *sentence(const gpuarena_failure *failure)
{
    static char text[512];
    size_t length = gpuarena_failure_text(failure, text, sizeof text);
    if (length != strlen(text)) snprintf(text, sizeof text, "length %zu of %zu", length, strlen(text));
    return text;
}

static gpuarena_failure refused(gpuarena_reason reason)
{
    gpuarena_failure failure = GPUARENA_INIT;
    failure.result = GPUARENA_OUT_OF_MEMORY;
    failure.reason = reason;
    failure.requested_bytes = 3 << 20;
    failure.missing_bytes = 2 << 20;
    failure.limit_bytes = GIB(1);
    failure.largest_free_bytes = 1 << 20;
    failure.device_free_bytes = 1536;
    failure.driver_code = 2;
    strcpy(failure.arena, "weights");
    return failure;
}

static void test_memory(void)
{
    gpuarena_failure failure = refused(GPUARENA_REASON_OVER_LIMIT);
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) would pass the limit of 1073741824 bytes "
              "(1.00 GiB); raise it by 2097152 bytes (2.00 MiB), or free as much");
    failure = refused(GPUARENA_REASON_FRAGMENTED);
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) fit in no single free block, though enough "
              "is free: the longest is 1048576 bytes (1.00 MiB), short by 2097152 bytes (2.00 MiB); the driver "
              "refused more (code 2); free device memory elsewhere, or allocate large blocks first");
    failure.driver_code = 0;
    CHECK_MSG(strstr(sentence(&failure), "; the headroom forbids growth; lower it, or") != NULL,
              "fragmented by headroom");
    failure.device_free_bytes = 0;
    CHECK_MSG(strstr(sentence(&failure), "; the limit of 1073741824 bytes (1.00 GiB) forbids growth; raise it, or")
              != NULL, "fragmented by the limit");
    failure = refused(GPUARENA_REASON_HEADROOM);
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) would leave less than the headroom to "
              "others: the device has 1536 bytes (1.50 KiB) free; 2097152 bytes (2.00 MiB) more, or a smaller "
              "headroom, would do");
    failure = refused(GPUARENA_REASON_DRIVER_REFUSED);
    strcpy(failure.detail, "cudaErrorMemoryAllocation");
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) were refused by the driver (code 2, "
              "cudaErrorMemoryAllocation), which reports 1536 bytes (1.50 KiB) free on the device; another "
              "2097152 bytes (2.00 MiB) of device memory would do");
    failure = refused(GPUARENA_REASON_TOO_LARGE);
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) are more than any arena can hold; check "
              "the size");
    failure = refused(GPUARENA_REASON_TRY_ONLY);
    CHECK_STR(sentence(&failure),
              "weights: 3145728 bytes (3.00 MiB) are not free in one piece, and GPUARENA_ALLOC_TRY forbids growth; "
              "ask without it");
    failure = refused(GPUARENA_REASON_PENDING);
    failure.pending_bytes = 8192;
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) are free, but the GPU may use them still: "
              "8192 bytes (8.00 KiB) wait for streams, and cannot be waited for; synchronise, or allow "
              "streams=steal");
    failure = refused(GPUARENA_REASON_CAPTURE);
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) are free or could be made so, but not while "
              "a stream is captured into a graph; allocate before the capture");
    failure = refused(GPUARENA_REASON_ADDRESSES);
    CHECK_STR(sentence(&failure), "weights: 3145728 bytes (3.00 MiB) have no addresses: the driver "
              "reserves no more (code 2); free what is not needed, or set a limit");
}

static void test_pointers(void)
{
    gpuarena_failure failure = GPUARENA_INIT;
    failure.result = GPUARENA_INTERIOR_POINTER;
    failure.block.ptr = &failure;
    failure.block.bytes = 4096;
    failure.block.state = GPUARENA_STATE_LIVE;
    strcpy(failure.detail, "offset 5");
    CHECK_STR(sentence(&failure), "the pointer is inside a block, not its base; free the base (offset 5); it lies "
              "in a live block of 4096 bytes (4.00 KiB)");
    failure.result = GPUARENA_DOUBLE_FREE;
    failure.block.state = GPUARENA_STATE_FREE;
    CHECK_STR(sentence(&failure), "the pointer's memory is free already (offset 5); it lies in a free block of "
              "4096 bytes (4.00 KiB)");
    failure.block.ptr = NULL;
    failure.result = GPUARENA_WRONG_ARENA;
    strcpy(failure.detail, "arena left");
    CHECK_STR(sentence(&failure), "the pointer is another arena's; free it there (arena left)");
    failure.result = GPUARENA_FOREIGN_POINTER;
    failure.detail[0] = '\0';
    CHECK_STR(sentence(&failure), "the pointer is in no arena");
}

static void test_others(void)
{
    gpuarena_failure failure = GPUARENA_INIT;
    CHECK_STR(sentence(&failure), "nothing has failed");
    CHECK_INT(gpuarena_failure_text(NULL, NULL, 0), ==, 0);
    failure.result = GPUARENA_HOST_MEMORY;
    CHECK_STR(sentence(&failure), "no host memory for the arena's bookkeeping; nothing on the device has changed");
    failure.result = GPUARENA_STILL_IN_USE;
    failure.live_bytes = 2048;
    CHECK_STR(sentence(&failure), "2048 bytes (2.00 KiB) are still live; free them, or call gpuarena_reset, before "
              "gpuarena_destroy");
    failure.result = GPUARENA_REENTRANT;
    CHECK_STR(sentence(&failure), "called from a callback of the same arena, which holds its lock; call after it "
              "returns");
    failure.result = GPUARENA_DEVICE_LOST;
    failure.driver_code = 700;
    CHECK_STR(sentence(&failure), "the device is lost (driver code 700); end the process and start again");
    failure.result = GPUARENA_DRIVER_ERROR;
    strcpy(failure.detail, "cudaErrorUnknown");
    CHECK_STR(sentence(&failure), "the driver failed or gave nonsense (code 700, cudaErrorUnknown); the arena is as "
              "it was, and the call may be tried again");
    failure.result = GPUARENA_INVALID_CONFIG;
    strcpy(failure.detail, "limit: give bytes or a fraction, not both");
    CHECK_STR(sentence(&failure), "invalid_config: limit: give bytes or a fraction, not both");
    failure.result = GPUARENA_CORRUPT;
    failure.detail[0] = '\0';
    CHECK_STR(sentence(&failure), "corrupt");
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
    test_memory();
    test_pointers();
    test_others();
    test_advice();
    test_advice_lowered();
    test_aligned_at_limit();
    test_observed();
    return tap_done();
}

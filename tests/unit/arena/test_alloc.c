/* Allocation and free: sizes, alignments, reuse, tags and streams, ALLOC_TRY, can_alloc, reset, destroy. */
#include "arena_state.h"

static fake_device device;

static void test_small_sizes(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    void *ptr = &device;
    gpuarena_stats stats;
    CHECK_INT(gpuarena_alloc(arena, &ptr, 0, NULL), ==, GPUARENA_OK);
    CHECK_MSG(ptr == NULL, "0 bytes: OK and NULL");
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 0);
    CHECK_INT(gpuarena_free(arena, NULL, NULL), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.alloc_count + stats.free_count + stats.reserved_bytes, ==, 0);
    ptr = state_alloc(arena, 4);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.requested_bytes, ==, 4);
    CHECK_U64(stats.live_bytes, ==, 256);
    CHECK_U64(stats.reserved_bytes, ==, MIB(2));
    void *second = state_alloc(arena, 8), *third = state_alloc(arena, 8);
    CHECK_MSG(second != third && second != ptr && third != ptr, "live blocks of 8 bytes differ");
    CHECK_INT(gpuarena_free(arena, second, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, third, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(2));
    state_end(arena, &device, "small sizes");
}

/* Every power of two up to 1 GiB, with unaligning fillers between, then a filler that must fit before an aligned
   block. */
static void test_alignments(void)
{
    fake_open(&device, GIB(64));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    void *blocks[64];
    size_t count = 0;
    int aligned = 1;
    state_alloc(arena, 100);
    for (uint64_t alignment = 1; alignment <= GIB(1); alignment *= 2) {
        gpuarena_request request = GPUARENA_INIT;
        request.bytes = 3 * alignment / 2 + 1;
        request.alignment_bytes = alignment;
        if (gpuarena_alloc_ex(arena, &blocks[count], &request) != GPUARENA_OK
            || fake_address(blocks[count]) % (alignment > 256 ? alignment : 256) != 0) {
            aligned = 0;
            printf("# alignment %" PRIu64 "\n", alignment);
        }
        count++;
        state_alloc(arena, 256);
        if (state_audit(arena, &device)[0]) aligned = 0;
    }
    CHECK_MSG(aligned, "alignments 1..1 GiB: all succeed, are right, and audit clean");
    CHECK_U64(count, ==, 31);
    for (size_t index = 0; index < count; index++)
        if (gpuarena_free(arena, blocks[index], NULL) != GPUARENA_OK) CHECK_MSG(0, "free of an aligned block");
    state_end(arena, &device, "alignments");
}

static void test_prefix_reused(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(2);
    gpuarena *arena = state_arena(&config);
    gpuarena_request request = GPUARENA_INIT;
    char *first = state_alloc(arena, 256);
    void *aligned = NULL;
    request.bytes = MIB(1);
    request.alignment_bytes = MIB(1);
    CHECK_INT(gpuarena_alloc_ex(arena, &aligned, &request), ==, GPUARENA_OK);
    CHECK_MSG(fake_address(aligned) % MIB(1) == 0, "aligned to 1 MiB");
    CHECK_MSG(state_alloc(arena, MIB(1) - 256) != NULL && first,
              "the memory in front of it serves what fits there exactly");
    CHECK_U64(device.calls[FAKE_OBTAIN], ==, 1);
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.live_bytes, ==, MIB(2));
    CHECK_U64(stats.slack_bytes, ==, 0);
    state_end(arena, &device, "prefix");
}

static void test_config_alignment(void)
{
    for (uint64_t alignment = 256; alignment <= MIB(2); alignment *= 2) {
        fake_open(&device, GIB(1));
        gpuarena_config config = fake_config(&device);
        gpuarena_stats stats;
        config.alignment = alignment;
        gpuarena *arena = state_arena(&config);
        int right = fake_address(state_alloc(arena, 1)) % alignment == 0
            && fake_address(state_alloc(arena, alignment + 1)) % alignment == 0;
        gpuarena_get_stats(arena, &stats);
        CHECK_MSG(right && stats.live_bytes == 3 * alignment, "config.alignment %" PRIu64, alignment);
        state_end(arena, &device, "config.alignment");
    }
}

static void test_tag_stream_lookup(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_block block;
    void *ptr = NULL;
    request.bytes = 1000;
    request.tag = 77;
    request.stream = fake_stream(5);
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_lookup(arena, (char *)ptr + 999, &block), ==, GPUARENA_OK);
    CHECK_MSG(block.ptr == ptr && block.serial == 1 && block.requested_bytes == 1000 && block.bytes == 1024
              && block.resident_bytes == 1024 && block.stream == fake_stream(5)
              && block.state == GPUARENA_STATE_LIVE && block.tag == 77, "lookup: every field of a live block");
    CHECK_INT(gpuarena_free(arena, ptr, fake_stream(6)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_lookup(arena, ptr, &block), ==, GPUARENA_OK);
    CHECK_MSG(block.serial == 0 && block.requested_bytes == 0 && block.bytes == MIB(2) && block.tag == 0
              && block.stream == GPUARENA_ANY_STREAM && block.state == GPUARENA_STATE_FREE, "and of a free one");
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_lookup(arena, ptr, &block), ==, GPUARENA_OK);
    CHECK_U64(block.serial, ==, 2);
    state_end(arena, &device, "tag and stream");
}

/* TRY never calls the driver; what is free is handed out, to the byte. */
static void test_try(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    gpuarena_request request = GPUARENA_INIT;
    arena_state before;
    void *ptr = &device;
    request.bytes = 1;
    request.flags = GPUARENA_ALLOC_TRY;
    state_take(arena, &device, &before);
    gpuarena_failure failure = state_refused(arena, &device, &before, gpuarena_alloc_ex(arena, &ptr, &request),
                                             GPUARENA_OUT_OF_MEMORY, "TRY on an empty arena");
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_TRY_ONLY);
    CHECK_MSG(ptr == &device, "the output is untouched");
    CHECK_INT(gpuarena_reserve(arena, MIB(6)), ==, GPUARENA_OK);
    fake_forget_calls(&device);
    request.bytes = MIB(6);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    request.bytes = 1;
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(device.calls[FAKE_INFO] + device.calls[FAKE_OBTAIN] + device.calls[FAKE_GIVE_BACK], ==, 0);
    request.bytes = 0;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_MSG(ptr == NULL, "0 bytes with TRY: OK and NULL");
    state_end(arena, &device, "TRY");
}

static void test_can_alloc(void)
{
    fake_open(&device, MIB(64));
    gpuarena_config config = fake_config(&device);
    config.limit_bytes = MIB(32);
    gpuarena *arena = state_arena(&config);
    gpuarena_request request = GPUARENA_INIT;
    arena_state before, after;
    request.bytes = MIB(32);
    state_take(arena, &device, &before);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OK);
    CHECK_MSG(device.calls[FAKE_INFO] > 0 && device.calls[FAKE_OBTAIN] == 0,
              "growth: info is asked, nothing obtained");
    request.bytes++;
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    request.bytes = UINT64_MAX;
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    request.bytes = MIB(4);
    device.rival_bytes = MIB(62);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OUT_OF_MEMORY);
    request.bytes = MIB(2);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_OK);
    state_take(arena, &device, &after);
    CHECK_MSG(state_same(&before, &after) && after.failure_serial == before.failure_serial
              && after.stats.fail_count == 0 && after.stats.misuse_count == 0,
                  "an answer of can_alloc changes and records nothing");
    request.alignment_bytes = 3;
    state_take(arena, &device, &before);
    state_refused(arena, &device, &before, gpuarena_can_alloc(arena, &request), GPUARENA_INVALID_ARGUMENT,
                  "can_alloc: alignment no power of two");
    state_take(arena, &device, &before);
    state_refused(arena, &device, &before, gpuarena_can_alloc(arena, NULL), GPUARENA_INVALID_ARGUMENT,
                  "can_alloc: request NULL");
    state_end(arena, &device, "can_alloc");
}

static void test_reset_and_destroy(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    gpuarena_stats stats;
    arena_state before;
    gpuarena_block block;
    void *first = state_alloc(arena, 300);
    for (int round = 0; round < 99; round++) state_alloc(arena, MIB(1));
    uint64_t held = device.held_bytes;
    state_take(arena, &device, &before);
    gpuarena_failure failure = state_refused(arena, &device, &before, gpuarena_destroy(arena), GPUARENA_STILL_IN_USE,
                                             "destroy with live blocks");
    CHECK_U64(failure.live_bytes, ==, 512 + 99 * MIB(1));
    CHECK_MSG(failure.block.ptr && gpuarena_lookup(arena, failure.block.ptr, &block) == GPUARENA_OK
              && block.serial == failure.block.serial && block.state == GPUARENA_STATE_LIVE,
              "the record shows one of the live blocks");
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, fake_stream(2)), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.live_count, ==, 0);
    CHECK_U64(stats.free_count, ==, 100);
    CHECK_U64(stats.reserved_bytes, ==, held);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "reset and destroy");
}

int main(void)
{
    test_small_sizes();
    test_alignments();
    test_prefix_reused();
    test_config_alignment();
    test_tag_stream_lookup();
    test_try();
    test_can_alloc();
    test_reset_and_destroy();
    return tap_done();
}

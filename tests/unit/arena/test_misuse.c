/* Misuse: every call the arena must refuse: exact result, outputs untouched, nothing changed, the record. */
#include <unistd.h>

#include "arena_state.h"

static fake_device device, other_device;
static gpuarena *arena, *other;
static arena_state before;
static char sentinel;                            /* what outputs hold before a call that must not write them */

static gpuarena_failure refused(gpuarena_result got, gpuarena_result wanted, const char *name)
{
    gpuarena_failure failure = state_refused(arena, &device, &before, got, wanted, name);
    state_take(arena, &device, &before);
    return failure;
}

static void open_both(void)
{
    fake_open(&device, GIB(1));
    fake_open(&other_device, GIB(1));
    device.keep_host = 1;
    gpuarena_config config = fake_config(&device);
    strcpy(config.name, "mine");
    arena = state_arena(&config);
    config = fake_config(&other_device);
    strcpy(config.name, "the other");
    other = state_arena(&config);
    state_take(arena, &device, &before);
}

static void close_both(void)
{
    state_end(arena, &device, "misuse");
    state_end(other, &other_device, "misuse, the other arena");
}

static void test_frees(void)
{
    open_both();
    char *ptr = state_alloc(arena, 1000), *freed = state_alloc(arena, 5000), *last = state_alloc(arena, 100);
    char *theirs = state_alloc(other, 1000);
    gpuarena_block block;
    CHECK_INT(gpuarena_lookup(arena, ptr, &block), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, freed, fake_stream(1)), ==, GPUARENA_OK);
    state_take(arena, &device, &before);
    gpuarena_failure failure = refused(gpuarena_free(arena, freed, NULL), GPUARENA_DOUBLE_FREE, "free twice");
    CHECK_MSG(failure.block.ptr != NULL && failure.block.state == GPUARENA_STATE_FREE
              && fake_address(failure.block.ptr) <= fake_address(freed)
              && fake_address(freed) < fake_address(failure.block.ptr) + failure.block.bytes,
              "double free: the record has the free block");
    CHECK_STR(failure.arena, "mine");
    failure = refused(gpuarena_free(arena, freed + 300, NULL), GPUARENA_DOUBLE_FREE, "inside free memory");
    static const uint64_t offsets[] = { 1, 8, 256, 999, 1000, 1023 };
    for (size_t index = 0; index < sizeof offsets / sizeof offsets[0]; index++) {
        failure = refused(gpuarena_free(arena, ptr + offsets[index], NULL), GPUARENA_INTERIOR_POINTER, "interior");
        CHECK_MSG(failure.block.ptr == ptr && failure.block.serial == block.serial
                  && failure.block.requested_bytes == 1000, "interior: the block");
    }
    refused(gpuarena_free(arena, theirs, NULL), GPUARENA_WRONG_ARENA, "block of another arena");
    failure = refused(gpuarena_free(arena, theirs + MIB(1), NULL), GPUARENA_WRONG_ARENA,
                      "free memory of another arena");
    failure = refused(gpuarena_free(arena, &sentinel, NULL), GPUARENA_FOREIGN_POINTER, "host memory");
    CHECK_MSG(failure.block.ptr == NULL, "foreign: no block");
    failure = refused(gpuarena_free(arena, fake_pointer(device.base_address + MIB(2)), NULL),
                      GPUARENA_FOREIGN_POINTER,
                      "one past the segment");
    failure = refused(gpuarena_free(arena, fake_pointer(device.base_address - 1), NULL), GPUARENA_FOREIGN_POINTER,
                      "one before the segment");
    failure = refused(gpuarena_free(arena, fake_pointer(UINT64_MAX), NULL), GPUARENA_FOREIGN_POINTER,
                      "address all ones");
    failure = refused(gpuarena_free(arena, fake_pointer(1), NULL), GPUARENA_FOREIGN_POINTER, "address 1");
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, last, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    state_take(arena, &device, &before);
    refused(gpuarena_free(arena, ptr, NULL), GPUARENA_FOREIGN_POINTER, "memory given back to the driver");
    close_both();
}

static void test_arguments(void)
{
    open_both();
    void *out = &sentinel;
    gpuarena_request request = GPUARENA_INIT;
    state_alloc(arena, 1000);
    state_take(arena, &device, &before);
    refused(gpuarena_alloc(arena, NULL, 1, NULL), GPUARENA_INVALID_ARGUMENT, "alloc: ptr NULL");
    refused(gpuarena_alloc(arena, NULL, 0, NULL), GPUARENA_INVALID_ARGUMENT, "alloc: ptr NULL, 0 bytes");
    refused(gpuarena_alloc_ex(arena, &out, NULL), GPUARENA_INVALID_ARGUMENT, "alloc_ex: request NULL");
    request.bytes = 1;
    refused(gpuarena_alloc_ex(arena, NULL, &request), GPUARENA_INVALID_ARGUMENT, "alloc_ex: ptr NULL");
    static const uint64_t bad[] = { 3, 257, 384, MIB(2) + 1, UINT64_MAX, (UINT64_C(1) << 63) + 1 };
    for (size_t index = 0; index < sizeof bad / sizeof bad[0]; index++) {
        request.alignment_bytes = bad[index];
        refused(gpuarena_alloc_ex(arena, &out, &request), GPUARENA_INVALID_ARGUMENT, "alignment no power of two");
    }
    request.alignment_bytes = 0;
    for (unsigned bit = 2; bit < 32; bit++) {
        request.flags = 1u << bit;
        if (gpuarena_alloc_ex(arena, &out, &request) != GPUARENA_INVALID_ARGUMENT) CHECK_MSG(0, "unknown flag %u",
                                                                                             bit);
    }
    state_take(arena, &device, &before);
    request.flags = 5;
    refused(gpuarena_alloc_ex(arena, &out, &request), GPUARENA_INVALID_ARGUMENT, "unknown flag beside TRY");
    request.bytes = 0;
    refused(gpuarena_alloc_ex(arena, &out, &request), GPUARENA_INVALID_ARGUMENT, "unknown flag, 0 bytes");
    request.bytes = request.room_bytes = 1;
    request.flags = GPUARENA_ALLOC_DEDICATED;
    refused(gpuarena_alloc_ex(arena, &out, &request), GPUARENA_INVALID_ARGUMENT, "room behind a segment of its own");
    CHECK_MSG(out == &sentinel, "the output is untouched");
    close_both();
}

static gpuarena_result visit_nothing(const gpuarena_block *block, void *user)
{
    (void)block;
    ++*(int *)user;
    return GPUARENA_OK;
}

static gpuarena_result write_nothing(const char *text, size_t bytes, void *user)
{
    (void)text;
    (void)bytes;
    ++*(int *)user;
    return GPUARENA_OK;
}

static void test_looking(void)
{
    open_both();
    gpuarena_block block, untouched;
    int called = 0;
    char *ptr = state_alloc(arena, 1000), *theirs = state_alloc(other, 1000);
    memset(&block, 0x5A, sizeof block);
    untouched = block;
    state_take(arena, &device, &before);
    refused(gpuarena_lookup(arena, ptr, NULL), GPUARENA_INVALID_ARGUMENT, "lookup: block NULL");
    refused(gpuarena_lookup(arena, &sentinel, &block), GPUARENA_FOREIGN_POINTER, "lookup: foreign");
    refused(gpuarena_lookup(arena, theirs, &block), GPUARENA_WRONG_ARENA, "lookup: wrong arena");
    CHECK_MSG(memcmp(&block, &untouched, sizeof block) == 0, "lookup: the output is untouched");
    refused(gpuarena_walk(arena, NULL, &called), GPUARENA_INVALID_ARGUMENT, "walk: visit NULL");
    refused(gpuarena_report(arena, GPUARENA_FORMAT_JSON, NULL, &called), GPUARENA_INVALID_ARGUMENT,
            "report: write NULL");
    refused(gpuarena_report(arena, (gpuarena_format)7, write_nothing, &called), GPUARENA_INVALID_ARGUMENT,
            "report: format unknown");
    refused(gpuarena_get_device(arena, NULL), GPUARENA_INVALID_ARGUMENT, "get_device: NULL");
    CHECK_INT(called, ==, 0);
    close_both();
}

/* Calls that answer nothing, with nowhere to write: they do nothing, and the next call finds the arena usable. */
static void test_nowhere_to_write(void)
{
    open_both();
    alarm(60);                                   /* a deadlock ends here */
    gpuarena_get_stats(arena, NULL);
    CHECK_MSG(state_alloc(arena, 1000) != NULL, "after get_stats");
    gpuarena_get_config(arena, NULL);
    CHECK_MSG(state_alloc(arena, 1000) != NULL, "after get_config");
    gpuarena_last_failure(arena, NULL);
    CHECK_MSG(state_alloc(arena, 1000) != NULL, "after last_failure");
    alarm(0);
    close_both();
}

/* Every call on what is no arena: INVALID_ARGUMENT, outputs untouched, on this thread's record. */
static void refuse_all(gpuarena *none, const char *name)
{
    void *out = &sentinel;
    uint64_t released = 5;
    int called = 0;
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_block block = GPUARENA_INIT;
    gpuarena_device figures = GPUARENA_INIT;
    gpuarena_failure failure;
    request.bytes = 1;
    block.tag = 5;
    figures.device = 5;
    gpuarena_result results[14];
    size_t count = 0;
    results[count++] = gpuarena_alloc(none, &out, 1, NULL);
    results[count++] = gpuarena_alloc(none, &out, 0, NULL);
    results[count++] = gpuarena_alloc_ex(none, &out, &request);
    results[count++] = gpuarena_can_alloc(none, &request);
    results[count++] = gpuarena_free(none, &sentinel, NULL);
    results[count++] = gpuarena_reserve(none, 1);
    results[count++] = gpuarena_trim(none, 0, &released);
    results[count++] = gpuarena_set_limit(none, 1);
    results[count++] = gpuarena_reset(none, NULL);
    results[count++] = gpuarena_lookup(none, &sentinel, &block);
    results[count++] = gpuarena_walk(none, visit_nothing, &called);
    results[count++] = gpuarena_report(none, GPUARENA_FORMAT_TEXT, write_nothing, &called);
    results[count++] = gpuarena_observe(none, NULL, NULL);
    results[count++] = gpuarena_get_device(none, &figures);
    for (size_t index = 0; index < count; index++)
        CHECK_MSG(results[index] == GPUARENA_INVALID_ARGUMENT, "%s: call %d: %s", name, (int)index,
                  gpuarena_result_name(results[index]));
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(failure.serial != 0 && failure.result == GPUARENA_INVALID_ARGUMENT, "%s: this thread's record", name);
    CHECK_INT(gpuarena_check(none, NULL, 0), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_MSG(out == &sentinel && released == 5 && called == 0 && block.tag == 5 && figures.device == 5,
              "%s: outputs untouched", name);
}

static int all_zero(const void *memory, size_t bytes)
{
    for (size_t index = 0; index < bytes; index++)
        if (((const unsigned char *)memory)[index]) return 0;
    return 1;
}

static void test_no_arena(void)
{
    gpuarena_stats stats;
    gpuarena_config values;
    refuse_all(NULL, "NULL");
    memset(&stats, 0x5A, sizeof stats);
    memset(&values, 0x5A, sizeof values);
    gpuarena_get_stats(NULL, &stats);
    gpuarena_get_config(NULL, &values);
    CHECK_MSG(all_zero(&stats, sizeof stats) && all_zero(&values, sizeof values),
              "NULL: stats and config are zeroed");
    gpuarena_reset_peaks(NULL);
    open_both();
    gpuarena *ended = arena;
    void *ptr = state_alloc(arena, 100);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    refuse_all(ended, "destroyed");
    gpuarena_get_stats(ended, &stats);
    gpuarena_get_config(ended, &values);
    CHECK_MSG(all_zero(&stats, sizeof stats) && all_zero(&values, sizeof values),
              "destroyed: stats and config are zeroed");
    gpuarena_reset_peaks(ended);
    CHECK_INT(gpuarena_destroy(ended), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_destroy((gpuarena *)(void *)&device), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_MSG(gpuarena_owner(ptr) == NULL, "nobody owns memory of a destroyed arena");
    CHECK_MSG(fake_close(&device), "nothing left, and no call after the end");
    state_end(other, &other_device, "the other arena lives on");
}

static void test_create(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena *made = (gpuarena *)(void *)&sentinel;
    fake_open(&device, GIB(1));
    CHECK_INT(gpuarena_create(NULL, NULL), ==, GPUARENA_INVALID_ARGUMENT);
#ifdef GPUARENA_NO_CUDA                          /* with CUDA no driver is no mistake: test_cuda_table.c */
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &made), ==, GPUARENA_NOT_SUPPORTED);
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_NOT_SUPPORTED);
    CHECK_INT(gpuarena_create(NULL, &made), ==, GPUARENA_NOT_SUPPORTED);
    CHECK_INT(gpuarena_driver_cuda(0, &device.table), ==, GPUARENA_NOT_SUPPORTED);
    CHECK(device.table.memory.obtain != NULL);
#endif
    config = fake_config(&device);
    CHECK_INT(gpuarena_create(&config, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_MSG(made == (gpuarena *)(void *)&sentinel, "the output is untouched");
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

int main(void)
{
    test_frees();
    test_arguments();
    test_looking();
    test_nowhere_to_write();
    test_no_arena();
    test_create();
    return tap_done();
}

/* Calls on what is no arena, and with nowhere to write: results, outputs that stay as they were. Other misuse:
   memory.script, sentences.golden. */
#include <unistd.h>

#include "all_calls.h"
#include "arena_state.h"

static fake_device device, other_device;
static gpuarena *arena, *other;
static char sentinel;                            /* what outputs hold before a call that must not write them */

/* Calls that answer nothing, with nowhere to write: they do nothing, and the next call finds the arena usable. */
static void test_nowhere_to_write(void)
{
    arena = state_open(&device);
    alarm(60);                                   /* a deadlock ends here */
    gpuarena_get_stats(arena, NULL);
    state_alloc(arena, 1000);
    gpuarena_get_config(arena, NULL);
    state_alloc(arena, 1000);
    gpuarena_last_failure(arena, NULL);
    state_alloc(arena, 1000);
    alarm(0);
    state_end(arena, &device, "nowhere to write");
}

/* Every call on what is no arena: INVALID_ARGUMENT, outputs untouched, on this thread's record. */
static void refuse_all(gpuarena *none)
{
    gpuarena_failure failure;
    CHECK_INT(all_calls_answer(none, &sentinel, GPUARENA_INVALID_ARGUMENT), ==, 0);
    gpuarena_last_failure(NULL, &failure);
    CHECK(failure.serial != 0 && failure.result == GPUARENA_INVALID_ARGUMENT);
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
    refuse_all(NULL);
    memset(&stats, 0x5A, sizeof stats);
    memset(&values, 0x5A, sizeof values);
    gpuarena_get_stats(NULL, &stats);
    gpuarena_get_config(NULL, &values);
    CHECK_MSG(all_zero(&stats, sizeof stats) && all_zero(&values, sizeof values),
              "NULL: stats and config are zeroed");
    gpuarena_reset_peaks(NULL);
    CHECK_MSG(gpuarena_mark(NULL) == 0, "NULL: no mark");
    CHECK_MSG(gpuarena_next((gpuarena *)(void *)&device) == NULL, "nothing follows what is no arena");
    arena = state_open(&device);
    device.host.keeps = 1;
    other = state_open(&other_device);
    gpuarena *ended = arena;
    void *ptr = state_alloc(arena, 100);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    refuse_all(ended);
    gpuarena_get_stats(ended, &stats);
    gpuarena_get_config(ended, &values);
    CHECK_MSG(all_zero(&stats, sizeof stats) && all_zero(&values, sizeof values),
              "destroyed: stats and config are zeroed");
    gpuarena_reset_peaks(ended);
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
    CHECK_INT(gpuarena_driver_cuda(0, &device.slots.table), ==, GPUARENA_NOT_SUPPORTED);
    CHECK(device.slots.table.memory.obtain != NULL);
#endif
    config = fake_config(&device);
    CHECK_INT(gpuarena_create(&config, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_MSG(made == (gpuarena *)(void *)&sentinel, "the output is untouched");
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

static void test_no_names(void)
{
    CHECK_STR(gpuarena_result_name(GPUARENA_RESULT_END), "unknown");
    CHECK_STR(gpuarena_result_name((gpuarena_result)-19), "unknown");
    CHECK_STR(gpuarena_result_name((gpuarena_result)1000), "unknown");
    CHECK_STR(gpuarena_reason_name(GPUARENA_REASON_END), "unknown");
    CHECK_STR(gpuarena_reason_name((gpuarena_reason)1000), "unknown");
}

int main(void)
{
    test_no_names();
    test_nowhere_to_write();
    test_no_arena();
    test_create();
    return tap_done();
}

/* A lost device, and drivers that are hard to please: every call fails at once, frees keep the books, no driver call
   is made; codes without classify; creation that must leave nothing behind though the driver takes nothing back. */
#include "arena_state.h"

static fake_device device;

static gpuarena *open_lost(void **cached_block)
{
    void *ptr = NULL;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.limit_bytes = MIB(64);
    config.growth = GPUARENA_GROWTH_STEP;
    config.step_bytes = MIB(8);
    gpuarena *arena = state_arena(&config);
    *cached_block = state_alloc(arena, MIB(1));
    fake_fail(&device, 1u << FAKE_OBTAIN, 1, 1, GPUARENA_STATUS_LOST);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(8), NULL), ==, GPUARENA_DEVICE_LOST);
    return arena;
}

/* There is free memory of its own, and still: at once. */
static void test_calls(void)
{
    void *block = NULL, *ptr = &device;
    gpuarena *arena = open_lost(&block);
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_device figures;
    gpuarena_failure failure;
    uint64_t released = 77;
    request.bytes = 1000;
    fake_forget_calls(&device);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 1000, NULL), ==, GPUARENA_DEVICE_LOST);
    CHECK(ptr == &device);
    gpuarena_last_failure(arena, &failure);
    CHECK_U64(failure.requested_bytes, ==, 1000);
    CHECK_INT(failure.driver_code, ==, GPUARENA_STATUS_LOST * device.code_step);     /* still that one */
    CHECK_INT(gpuarena_alloc(arena, &ptr, 0, NULL), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_can_alloc(arena, &request), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_reserve(arena, MIB(32)), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_trim(arena, 0, &released), ==, GPUARENA_DEVICE_LOST);
    CHECK_U64(released, ==, 0);
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_set_limit(arena, MIB(2)), ==, GPUARENA_DEVICE_LOST);  /* 8 MiB are idle and cannot go back */
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(device.calls[FAKE_OBTAIN] + device.calls[FAKE_GIVE_BACK] + device.calls[FAKE_INFO], ==, 0);
    CHECK_U64(device.host_bytes, ==, 0);
}

static int odd_code;

static int odd_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                      gpuarena_stream stream)
{
    (void)self, (void)kind, (void)ptr, (void)bytes, (void)stream;
    return odd_code;
}

/* Without classify codes are statuses, and any other number a failure. */
static void test_codes(void)
{
    const struct { int code; gpuarena_result result; } rows[] = {
        { GPUARENA_STATUS_NO_MEMORY, GPUARENA_OUT_OF_MEMORY }, { GPUARENA_STATUS_NOT_READY, GPUARENA_DRIVER_ERROR },
        { GPUARENA_STATUS_CAPTURING, GPUARENA_CAPTURE }, { GPUARENA_STATUS_NOT_SUPPORTED, GPUARENA_NOT_SUPPORTED },
        { GPUARENA_STATUS_FAILED, GPUARENA_DRIVER_ERROR }, { GPUARENA_STATUS_UNLOADING, GPUARENA_DRIVER_ERROR },
        { GPUARENA_STATUS_UNLOADING + 1, GPUARENA_DRIVER_ERROR }, { -1, GPUARENA_DRIVER_ERROR },
        { 700, GPUARENA_DRIVER_ERROR }, { GPUARENA_STATUS_LOST, GPUARENA_DEVICE_LOST }
    };
    gpuarena_failure failure;
    void *ptr = NULL;
    fake_open(&device, GIB(1));
    device.code_step = 1;
    device.table.classify = NULL;
    device.table.code_name = NULL;
    device.table.memory.obtain = odd_obtain;
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        odd_code = rows[row].code;
        CHECK_INT(gpuarena_alloc(arena, &ptr, 1000, NULL), ==, rows[row].result);
        gpuarena_last_failure(arena, &failure);
        CHECK_INT(failure.driver_code, ==, rows[row].code);
    }
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* Creation gets a part of its memory, fails, and cannot give the part back: the arena's own memory is freed all the
   same. */
static void test_creation(void)
{
    gpuarena *arena = NULL;
    gpuarena_failure failure;
    fake_open(&device, GIB(1));
    device.largest_bytes = MIB(32);
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(64);
    fake_fail(&device, 1u << FAKE_OBTAIN, 3, 1, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_DRIVER_ERROR);
    gpuarena_last_failure(NULL, &failure);
    CHECK_U64(failure.requested_bytes, ==, MIB(64));
    CHECK_U64(failure.serial, ==, 1);
    CHECK(arena == NULL && device.held_bytes == 0 && device.host_bytes == 0);
    fake_open(&device, GIB(1));
    device.largest_bytes = MIB(32);
    config = fake_config(&device);
    config.initial_bytes = MIB(64);
    fake_fail(&device, 1u << FAKE_OBTAIN | 1u << FAKE_GIVE_BACK, 3, FAKE_FOR_EVER, GPUARENA_STATUS_FAILED);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_DRIVER_ERROR);
    CHECK_U64(device.held_bytes, ==, MIB(32));
    CHECK_U64(device.host_bytes, ==, 0);
}

int main(void)
{
    test_calls();
    test_codes();
    test_creation();
    return tap_done();
}

/* The driver table over the CUDA runtime, on the libcudart substitute: devices, the caller's last error, codes,
   clearing, absence; and arenas over it. What its entries do, and leave of the caller's device: tests/contract. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include "stress/sim/base.h"

static gpuarena_failure last(void)
{
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    return failure;
}

static int current_device(void)
{
    int device = -1;
    cudaGetDevice(&device);
    return device;
}

/* On device 1, by the table that an arena makes itself of the current device; the caller is on device 0 then. */
static gpuarena *arena_of(gpuarena_config config)
{
    gpuarena *arena = NULL;
    gpuarena_device figures;
    config.environment = "";
    CHECK_DONE(cudaSetDevice(1));
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    if (!arena) {
        printf("Bail out! no arena\n");
        exit(1);
    }
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_OK);
    CHECK(figures.device == 1 && figures.total_bytes == GIB(1) && current_device() == 1);
    CHECK_DONE(cudaSetDevice(0));
    return arena;
}

static void test_devices(void)
{
    gpuarena_driver driver = GPUARENA_INIT, untouched = GPUARENA_INIT;
    CHECK_INT(gpuarena_driver_cuda(1, &driver), ==, GPUARENA_OK);
    CHECK_INT(driver.device, ==, 1);
    CHECK_INT(cudaSetDevice(1), ==, cudaSuccess);
    CHECK_INT(gpuarena_driver_cuda(-1, &driver), ==, GPUARENA_OK);
    CHECK_INT(driver.device, ==, 1);
    CHECK_INT(cudaSetDevice(0), ==, cudaSuccess);
    CHECK_INT(gpuarena_driver_cuda(-1, &driver), ==, GPUARENA_OK);
    CHECK_INT(driver.device, ==, 0);
    CHECK(driver.memory.info && driver.memory.obtain && driver.memory.give_back && driver.classify);
    CHECK(driver.null_is_per_thread == 0 && driver.page_bytes == MIB(2) && driver.vm.map && driver.events.create
          && driver.capture.active);
    CHECK_INT(gpuarena_driver_cuda(2, &untouched), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_STR(last().detail, "device: 2; there are 0 to 1, and -1 is the current one");
    CHECK_INT(gpuarena_driver_cuda(-2, &untouched), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_driver_cuda(INT32_MAX, &untouched), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK(untouched.classify == NULL);
    CHECK_INT(gpuarena_driver_cuda(0, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(cudaPeekAtLastError(), ==, cudaSuccess);
}

/* An error of ours leaves no trace; one of the caller's outlives calls of ours that succeed, and is not forgotten by
   one that fails. */
static void test_last_error(void)
{
    const gpuarena_config plain = GPUARENA_INIT;
    gpuarena *arena = arena_of(plain);
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, GIB(4), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(last().driver_code, ==, cudaErrorMemoryAllocation);
    CHECK_STR(last().detail, "cudaErrorMemoryAllocation");
    CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
    CHECK_INT(cudaSetDevice(99), ==, cudaErrorInvalidDevice);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(cudaPeekAtLastError(), ==, cudaErrorInvalidDevice);
    CHECK_INT(gpuarena_alloc(arena, &ptr, GIB(4), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(cudaGetLastError(), !=, cudaSuccess);
    CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* As the simulator's table of codes says, but that a device in use (46) is no lack of support. */
static void test_codes(void)
{
    gpuarena_driver driver = GPUARENA_INIT;
    int wrong_code = -2;
    gpuarena_driver_cuda(0, &driver);
    for (int code = -1; code <= 1100; code++) {
        gpuarena_status expected = code == 46 ? GPUARENA_STATUS_FAILED : codes_of(code)->status;
        if (driver.classify(&driver, code) != expected) wrong_code = code;
    }
    CHECK_INT(wrong_code, ==, -2);
    CHECK_STR(driver.code_name(&driver, 2), "cudaErrorMemoryAllocation");
    CHECK_STR(driver.code_name(&driver, 700), "cudaErrorIllegalAddress");
    CHECK_STR(driver.code_name(&driver, -1), "the caller's device could not be made current again");
}

/* The caller's own error is kept when the driver table cannot be had. */
static void test_error_before_absence(void)
{
    gpuarena_driver driver = GPUARENA_INIT;
    CHECK_INT(gpuarena_driver_cuda(0, &driver), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
    CHECK_INT(cudaSetDevice(99), ==, cudaErrorInvalidDevice);
    CHECK_INT(gpuarena_driver_cuda(0, &driver), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(cudaGetLastError(), !=, cudaSuccess);
    CHECK(driver.classify == NULL);
}

typedef struct absence { const char *faults; int code; gpuarena_result result; const char *says; } absence;

/* Whatever the runtime answers, creation ends with a result, the code and a sentence, and leaves nothing. */
static void test_absence(void)
{
    static const absence rows[] = {
        { "any:1+=35", 35, GPUARENA_NOT_SUPPORTED, "cudaErrorInsufficientDriver (35): no CUDA driver" },
        { "any:1+=34", 34, GPUARENA_NOT_SUPPORTED, "cudaErrorStubLibrary" },
        { "any:1+=100", 100, GPUARENA_NOT_SUPPORTED, "cudaErrorNoDevice (100): the driver sees no CUDA device" },
        { "any:1+=3", 3, GPUARENA_DRIVER_ERROR, "cudaErrorInitializationError (3): or a fork of a process" },
        { "any:1+=4", 4, GPUARENA_DRIVER_ERROR, "cudaErrorCudartUnloading" },
        { "cudaGetDeviceCount:1=719", 719, GPUARENA_DEVICE_LOST, "cudaErrorLaunchFailure" },
        { "cudaGetDevice:1=46", 46, GPUARENA_DRIVER_ERROR, "cudaErrorDevicesUnavailable" },
        { "cudaMemGetInfo:1=2", 2, GPUARENA_OUT_OF_MEMORY, "2.00 MiB) were refused by the driver" },
        { "cudaMemGetInfo:1=46", 46, GPUARENA_DRIVER_ERROR, "cudaErrorDevicesUnavailable" },
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        sim *machine = machine_attach(rows[row].faults);
        gpuarena_config config = GPUARENA_INIT;
        gpuarena *arena = NULL;
        char text[512] = "";
        config.environment = "";
        gpuarena_result result = gpuarena_create(&config, &arena);
        gpuarena_failure failure = last();
        gpuarena_failure_text(&failure, text, sizeof text);
        CHECK_MSG(result == rows[row].result && failure.result == result, "%s: %s", rows[row].faults,
                  gpuarena_result_name(result));
        CHECK_INT(failure.driver_code, ==, rows[row].code);
        CHECK_MSG(strstr(text, rows[row].says) != NULL, "%s: %s", rows[row].faults, text);
        CHECK(arena == NULL);
        CHECK_U64(failure.missing_bytes, ==, result == GPUARENA_OUT_OF_MEMORY ? MIB(2) : 0);
        cudart_close(machine);
    }
}

/* What is wrong with the caller's device is not wrong with the arena's. */
static void test_wrong_caller(void)
{
    const gpuarena_config plain = GPUARENA_INIT;
    gpuarena *arena = arena_of(plain);
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(last().driver_code, ==, -1);
    CHECK_STR(last().detail, "the caller's device could not be made current again");
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* A program's copy, on its memory's device: paged memory is no other's. */
static void copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    CHECK_INT(cudaSetDevice(1), ==, cudaSuccess);
    CHECK_INT(cudaMemcpy(to, from, bytes, kind), ==, cudaSuccess);
    CHECK_INT(cudaSetDevice(0), ==, cudaSuccess);
}

/* What a program reads of memory that was written, freed and handed out again: the bytes that are not 0. */
static uint64_t left_behind(gpuarena_scrub scrub, gpuarena_backing backing)
{
    enum { BYTES = 100000 };
    static unsigned char bytes[BYTES];
    gpuarena_config config = GPUARENA_INIT;
    void *ptr = NULL, *again = NULL;
    uint64_t count = 0;
    config.scrub = scrub;
    config.backing = backing;
    gpuarena *arena = arena_of(config);
    CHECK_INT(gpuarena_alloc(arena, &ptr, BYTES, NULL), ==, GPUARENA_OK);
    memset(bytes, 0xA5, BYTES);
    copy(ptr, bytes, BYTES, cudaMemcpyHostToDevice);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &again, BYTES, NULL), ==, GPUARENA_OK);
    memset(bytes, 0x5A, BYTES);
    copy(bytes, again, BYTES, cudaMemcpyDeviceToHost);
    for (size_t at = 0; at < BYTES; at++) count += bytes[at] != 0;
    CHECK(again == ptr && current_device() == 0);
    CHECK_INT(gpuarena_free(arena, again, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    return count;
}

/* driver.clear is cudaMemsetAsync, on the arena's device. */
static void test_scrub(void)
{
    static const gpuarena_backing backings[] = { GPUARENA_BACKING_SEGMENTS, GPUARENA_BACKING_PAGED };
    for (int at = 0; at < 2; at++) {
        CHECK_U64(left_behind(GPUARENA_SCRUB_OFF, backings[at]), ==, 100000);
        CHECK_U64(left_behind(GPUARENA_SCRUB_FREE, backings[at]), ==, 0);
        CHECK_U64(left_behind(GPUARENA_SCRUB_ALLOC, backings[at]), ==, 0);
    }
    CHECK(sim_finding(cudart_machine(), 0) == NULL);
}

static void run(void)
{
    static const machine_test tests[] = {
        { test_devices, 2, NULL }, { test_last_error, 2, NULL }, { test_codes, 2, NULL },
        { test_wrong_caller, 2, "cudaSetDevice:4=2" }, { test_scrub, 2, NULL },
        { test_error_before_absence, 2, "cudaGetDeviceCount:1=999;cudaGetDeviceCount:2=999" }
    };
    machine_tests(tests, COUNT(tests));
    test_absence();
}
#endif

CUDA_TEST_MAIN(run)

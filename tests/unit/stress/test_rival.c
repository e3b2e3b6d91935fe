/* CUB's allocator as a rival, on simulated devices and over CUDA: refusals, what it loses, several at once. Its bins
   and its cache are the model's, call by call: test_like_cub_library.c.
   It must not know of policies or workloads. Skipped, aloud, where the library is not in this build. */
#include "stress/policy/rival.h"
#include "tap.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda_runtime_api.h>
#endif

#define MIB ((uint64_t)1 << 20)

static problem why;
static int over_cuda;                            /* as tests are built: on the libcudart substitute */

static device *open_device(uint64_t capacity_bytes, const char *faults)
{
    device_config config;
    memset(&config, 0, sizeof config);
    config.is_cuda = over_cuda;
    config.sim.capacity_bytes = capacity_bytes;
    config.sim.faults = faults;
    return device_open(&config, &why);
}

static uint64_t held(const device *on)
{
    device_counters counters;
    device_count(on, &counters);
    return counters.held_bytes;
}

static rival_use use_of(const rival *opened)
{
    rival_use use;
    rival_measure(opened, &use);
    return use;
}

static uint64_t calls(const device *on)
{
    device_counters counters;
    device_count(on, &counters);
    return counters.calls;
}

/* A stream's blocks are another's once its work is done, and there is none here. */
static void test_streams(void)
{
    device *on = open_device(64 * MIB, NULL);
    rival *opened = rival_open(on, &why);
    gpuarena_stream streams[2] = { NULL, NULL };
    void *first = NULL, *second = NULL;
    for (int index = 0; index < 2; index++) CHECK_INT(device_stream_create(on, &streams[index], &why), ==, 0);
    CHECK_INT(rival_alloc(opened, &first, 1000, streams[0]), ==, 0);
    CHECK_INT(rival_free(opened, first), ==, 0);
    CHECK_INT(rival_alloc(opened, &second, 1000, streams[1]), ==, 0);
    CHECK(second == first);
    CHECK_U64(calls(on), ==, 1);
    rival_close(opened);
    for (int index = 0; index < 2; index++) CHECK_INT(device_stream_destroy(on, streams[index], &why), ==, 0);
    device_close(on, NULL);
}

static void test_refusals(void)
{
    static const uint64_t impossible[] = { UINT64_MAX, (UINT64_C(7) << 61) - 1, (UINT64_C(1) << 63) + 1,
                                           UINT64_C(1) << 62, UINT64_C(1) << 40 };
    device *on = open_device(8 * MIB, NULL);
    rival *opened = rival_open(on, &why);
    void *blocks[2], *large = NULL, *none = NULL;
    for (size_t index = 0; index < sizeof impossible / sizeof impossible[0]; index++) {
        CHECK_MSG(rival_alloc(opened, &none, impossible[index], NULL) == 2, "%" PRIu64 " bytes are refused",
                  impossible[index]);
    }
    for (size_t index = 0; index < 2; index++) CHECK_INT(rival_alloc(opened, &blocks[index], 2 * MIB, NULL), ==, 0);
    for (size_t index = 0; index < 2; index++) CHECK_INT(rival_free(opened, blocks[index]), ==, 0);
    uint64_t before = calls(on);
    CHECK_MSG(rival_alloc(opened, &large, 8 * MIB, NULL) == 0, "what is cached makes room");
    CHECK_U64(calls(on), ==, before + 4);
    CHECK_INT(rival_alloc(opened, &none, 1, NULL), ==, 2);
    CHECK(none == NULL);
    CHECK_U64(calls(on), ==, before + 6);
    CHECK_U64(use_of(opened).live_bytes, ==, 8 * MIB);
    CHECK_INT(rival_free(opened, large), ==, 0);
    CHECK_INT(rival_alloc(opened, &none, 1, NULL), ==, 0);
    rival_close(opened);
    CHECK_MSG(held(on) == 0, "closing gives back live blocks too");
    device_close(on, NULL);
}

static void test_lost(void)
{
    device *on = open_device(64 * MIB, "obtain:2=700");
    rival *opened = rival_open(on, &why);
    void *first = NULL, *second = NULL;
    CHECK_INT(rival_alloc(opened, &first, 1000, NULL), ==, 0);
    CHECK_INT(rival_alloc(opened, &second, 1000, NULL), ==, 700);
    CHECK_INT(rival_alloc(opened, &second, 1000, NULL), ==, 700);
    CHECK_INT(rival_free(opened, first), ==, 700);
    rival_close(opened);
    device_close(on, NULL);
}

/* CUB looks for out of memory alone: another code of cudaMalloc is lost, and success comes with NULL. Were it ever
   mended, this is where it shows. */
static void test_lost_code(void)
{
    device *on = open_device(64 * MIB, "obtain:1=999");
    rival *opened = rival_open(on, &why);
    void *ptr = &why;
    CHECK_INT(rival_alloc(opened, &ptr, 1000, NULL), ==, 0);
    CHECK(ptr == NULL);
    rival_close(opened);
    device_close(on, NULL);
}

/* Machines do not mix, and a device outlives rivals that come and go. */
static void test_several(void)
{
    device *left = open_device(64 * MIB, NULL), *right = open_device(64 * MIB, NULL);
    rival *one = rival_open(left, &why), *two = rival_open(right, &why), *three = rival_open(left, &why);
    void *of_one = NULL, *of_two = NULL, *of_three = NULL;
    CHECK_INT(rival_alloc(one, &of_one, 3 * MIB, NULL), ==, 0);
    CHECK_INT(rival_alloc(two, &of_two, 5 * MIB, NULL), ==, 0);
    CHECK_INT(rival_alloc(three, &of_three, 2 * MIB, NULL), ==, 0);
    CHECK_U64(held(left), ==, 6 * MIB);
    CHECK_U64(held(right), ==, 6 * MIB);
    CHECK(device_holds(left, of_one, 3 * MIB) && device_holds(right, of_two, 5 * MIB));
    CHECK_INT(rival_free(three, of_one), !=, 0);
    CHECK_INT(rival_free(two, of_two), ==, 0);
    rival_close(two);
    device_close(right, NULL);
    CHECK_INT(rival_alloc(one, &of_two, 1, NULL), ==, 0);
    rival_close(three);
    rival_close(one);
    CHECK_U64(held(left), ==, 0);
    one = rival_open(left, &why);
    CHECK_INT(rival_alloc(one, &of_one, 1, NULL), ==, 0);
    CHECK_U64(use_of(one).live_bytes, ==, 512);
    rival_close(one);
    device_close(left, NULL);
}

#ifndef GPUARENA_NO_CUDA
/* The runtime's last error is the user's: a refusal leaves none there. */
static void test_last_error(void)
{
    void *none = NULL;
    device *on = open_device(0, NULL);
    rival *opened = rival_open(on, &why);
    CHECK_INT(rival_alloc(opened, &none, UINT64_C(1) << 46, NULL), ==, cudaErrorMemoryAllocation);
    CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
    rival_close(opened);
    device_close(on, NULL);
}
#endif

static void test_anywhere(void)
{
    test_streams();
    test_several();
}

static void test_over_cuda(void)
{
    over_cuda = 1;
    device *on = open_device(0, NULL);
    rival *opened = on ? rival_open(on, &why) : NULL;
    if (!opened) {
        SKIP("over CUDA: %s", why.text);
        device_close(on, NULL);
        return;
    }
    rival_close(opened);
    device_close(on, NULL);
    test_anywhere();
#ifndef GPUARENA_NO_CUDA
    test_last_error();
#endif
    CHECK_INT(why.exit_code, ==, 0);
}

int main(void)
{
    rival_close(NULL);
    if (!rival_present()) {
        SKIP("cub-library: libcub-sim.so is not in this build");
        return tap_done();
    }
    test_anywhere();
    test_refusals();
    test_lost();
    test_lost_code();
    CHECK_INT(why.exit_code, ==, 0);
    test_over_cuda();
    return tap_done();
}

/* Virtual memory of devices, through their seam: simulated ones, CUDA's on the libcudart substitute. What a policy
   does there is counted and known, contents live with the pages, and what is left goes with the device.
   It must not know of policies or workloads. */
#include "device_bench.h"

static const uint64_t page = 2 * MIB;

/* 4 pages of addresses, the first and the second mapped, of one handle each. */
static char *map_two(device *on, uint64_t handles[2])
{
    const gpuarena_driver *driver = device_driver(on);
    void *base = NULL;
    int failed = driver->vm.reserve(driver, &base, 4 * page, 0);
    for (int index = 0; index < 2; index++) {
        failed |= driver->vm.create(driver, &handles[index], page, 0);
        failed |= driver->vm.map(driver, (char *)base + (uint64_t)index * page, page, handles[index]);
    }
    failed |= driver->vm.access(driver, base, 2 * page, 1);
    CHECK_MSG(base && !failed, "two pages are mapped");
    return base;
}

/* The second page goes behind the first hole: what it holds goes with it. */
static void move_second(device *on, char *base, const uint64_t handles[2])
{
    const gpuarena_driver *driver = device_driver(on);
    uint64_t bad_offset = 0;
    CHECK_INT(device_fill(on, NULL, base + page, page, 7, &why), ==, 0);
    CHECK_INT(driver->vm.unmap(driver, base + page, page), ==, 0);
    CHECK(device_holds(on, base, page) && !device_holds(on, base, page + 1));
    CHECK_INT(driver->vm.map(driver, base + 2 * page, page, handles[1]), ==, 0);
    CHECK_INT(driver->vm.access(driver, base + 2 * page, page, 1), ==, 0);
    CHECK_INT(device_verify(on, base + 2 * page, page, 7, &bad_offset, &why), ==, 1);
    CHECK_MSG(!device_holds(on, base + page, 1) && !device_holds(on, base + page, 2 * page), "a hole is not held");
}

static void check_virtual(device *on)
{
    const gpuarena_driver *driver = device_driver(on);
    uint64_t handles[2] = { 0, 0 }, spare = 0;
    CHECK_U64(driver->page_bytes, ==, page);
    char *base = map_two(on, handles);
    CHECK_U64(counted(on).calls, ==, 6);
    CHECK_U64(counted(on).held_bytes, ==, 2 * page);
    CHECK(device_holds(on, base + 5, 2 * page - 5) && !device_holds(on, base, 2 * page + 1));
    move_second(on, base, handles);
    CHECK_U64(counted(on).calls, ==, 9);
    CHECK_INT(driver->vm.create(driver, &spare, 3 * page, 0), ==, 0);
    CHECK_MSG(counted(on).held_bytes == 5 * page && counted(on).held_peak_bytes == 5 * page, "a spare one is held");
    CHECK_INT(driver->vm.destroy(driver, spare, 3 * page), ==, 0);
    CHECK_INT(driver->vm.unmap(driver, base, page), ==, 0);
    CHECK_MSG(counted(on).held_bytes == 2 * page, "what is unmapped is held, too");
    CHECK_INT(driver->vm.destroy(driver, handles[0], page), ==, 0);
    CHECK_U64(counted(on).held_bytes, ==, page);
    CHECK_U64(counted(on).calls, ==, 13);
}

static void test_simulated(void)
{
    device_config config = simulated(64 * MIB);
    forget();
    device *opened = device_open(&config, &why);
    if (!CHECK(opened != NULL)) return;
    check_virtual(opened);
    CHECK_MSG(counted(opened).call_vns > 0 && counted(opened).findings == 0, "with their time, and no finding");
    device_close(opened, NULL);
}

#ifdef GPUARENA_NO_CUDA
static void test_cuda(void)
{
    SKIP("the CUDA side: this build is without CUDA");
}
#else

static void test_cuda(void)
{
    cuda_bench bed;
    if (!cuda_bench_open(&bed)) return;
    if (device_driver(bed.opened)->vm.reserve) {
        check_virtual(bed.opened);
        CHECK_U64(counted(bed.opened).held_bytes, ==, cuda_bench_held(&bed));
    } else {
        SKIP("the CUDA side: its table has no virtual memory");
    }
    cuda_bench_close(&bed);                      /* a mapped page, a handle and addresses are left to it */
}
#endif

int main(void)
{
    test_simulated();
    test_cuda();
    return tap_done();
}

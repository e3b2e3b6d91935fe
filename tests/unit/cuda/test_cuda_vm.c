/* The CUDA driver table's group vm, on the libcudart substitute: remaps with contents, access, peers, the current
   device, devices without it. */
#include "cuda_vm.h"

#ifndef GPUARENA_NO_CUDA

static void test_filling(void)
{
    sim *machine = machine_attach(NULL);
    for (int device = 1; device >= 0; device--) {
        gpuarena_driver driver = driver_of(device);
        CHECK(is_whole(&driver));
        CHECK_U64(driver.peers, ==, 0);
    }
    CHECK_INT(current_device(), ==, 0);
    CHECK_DONE(cudaGetLastError());
    CHECK_MSG(sim_now_ns(machine) < 1000000, "filling a table makes no context");
    cudart_close(machine);
}

static void test_devices_without(void)
{
    sim_config config = { 2, GIB(1), 0, NULL, NULL, 1, 0 };
    problem why = { 0, "" };
    sim *machine = sim_create(&config, &why);
    cudart_attach(machine);
    gpuarena_driver driver = driver_of(1);
    CHECK(is_absent(&driver) && driver.memory.obtain && driver.events.create && driver.capture.active);
    CHECK_DONE(cudaGetLastError());
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    driver = driver_of(1);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    cudart_close(machine);
}

static void fill(char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) bytes[i] = (char)(seed + i * 7 + i / 251);
}

static void expect_contents(const void *at, const char *expected, size_t bytes, const char *what)
{
    char *got = calloc(bytes, 1);
    CHECK_DONE(cudaMemcpy(got, at, bytes, cudaMemcpyDeviceToHost));
    CHECK_MSG(memcmp(got, expected, bytes) == 0, "%s", what);
    free(got);
}

/* Contents belong to pages, not to addresses: a page is filled here, unmapped, and read there. */
static void test_remap(void)
{
    bench self = bench_open(0, 1, 0);
    const gpuarena_driver *driver = &self.driver;
    char *pattern = malloc(MIB(2)), *second_pattern = malloc(MIB(2));
    uint64_t second = 0;
    fill(pattern, MIB(2), 1);
    fill(second_pattern, MIB(2), 101);
    CHECK_DONE(cudaMemcpy(self.range, pattern, MIB(2), cudaMemcpyHostToDevice));
    CHECK_INT(driver->vm.create(driver, &second, MIB(2), 0), ==, 0);
    CHECK_INT(driver->vm.map(driver, self.range + MIB(2), MIB(2), second), ==, 0);
    CHECK_INT(driver->vm.access(driver, self.range, MIB(4), 1), ==, 0);
    CHECK_DONE(cudaMemcpy(self.range + MIB(2), second_pattern, MIB(2), cudaMemcpyHostToDevice));
    expect_contents(self.range, pattern, MIB(2), "each page has its own contents");
    CHECK_DONE(cudaDeviceSynchronize());
    CHECK_INT(driver->vm.unmap(driver, self.range, MIB(4)), ==, 0);
    CHECK_INT(driver->vm.map(driver, self.range, MIB(2), second), ==, 0);
    CHECK_INT(driver->vm.map(driver, self.range + MIB(2), MIB(2), self.page), ==, 0);
    CHECK_INT(driver->vm.access(driver, self.range, MIB(4), 1), ==, 0);
    expect_contents(self.range, second_pattern, MIB(2), "the second page moved down");
    expect_contents(self.range + MIB(2), pattern, MIB(2), "the first page moved up");
    CHECK_DONE(cudaMemset(self.range + MIB(2), 0, MIB(2)));
    CHECK_DONE(cudaDeviceSynchronize());
    expect_contents(self.range, second_pattern, MIB(2), "what is done to one page is not done to the other");
    CHECK_INT(driver->vm.unmap(driver, self.range, MIB(4)), ==, 0);
    CHECK_INT(driver->vm.destroy(driver, second, MIB(2)), ==, 0);
    CHECK_INT(driver->vm.map(driver, self.range, MIB(2), self.page), ==, 0);
    CHECK_DONE(cudaGetLastError());
    CHECK(sim_finding(self.machine, 0) == NULL);
    bench_close(&self);
    free(pattern);
    free(second_pattern);
}

/* A page may lie at two addresses: what is written at one is read at the other, which outlives it. */
static void test_two_mappings(void)
{
    bench self = bench_open(0, 1, 0);
    const gpuarena_driver *driver = &self.driver;
    char pattern[1000];
    fill(pattern, sizeof pattern, 3);
    CHECK_INT(driver->vm.map(driver, self.range + MIB(2), MIB(2), self.page), ==, 0);
    CHECK_INT(driver->vm.access(driver, self.range + MIB(2), MIB(2), 1), ==, 0);
    CHECK_DONE(cudaMemcpy(self.range + MIB(3), pattern, sizeof pattern, cudaMemcpyHostToDevice));
    expect_contents(self.range + MIB(1), pattern, sizeof pattern, "written above, read below");
    CHECK_INT(driver->vm.unmap(driver, self.range + MIB(2), MIB(2)), ==, 0);
    expect_contents(self.range + MIB(1), pattern, sizeof pattern, "and below alone");
    CHECK_U64(machine_held(self.machine, 0), ==, MIB(2));
    CHECK(sim_finding(self.machine, 0) == NULL);
    bench_close(&self);
}

/* Destroyed while mapped, a page lives until it is unmapped. */
static void test_destroy_while_mapped(void)
{
    bench self = bench_open(0, 1, 0);
    const gpuarena_driver *driver = &self.driver;
    char pattern[1000];
    fill(pattern, sizeof pattern, 7);
    CHECK_DONE(cudaMemcpy(self.range, pattern, sizeof pattern, cudaMemcpyHostToDevice));
    CHECK_INT(driver->vm.destroy(driver, self.page, MIB(2)), ==, 0);
    expect_contents(self.range, pattern, sizeof pattern, "destroyed, and still mapped");
    CHECK_U64(machine_held(self.machine, 0), ==, MIB(2));
    CHECK_INT(driver->vm.unmap(driver, self.range, MIB(2)), ==, 0);
    CHECK_INT(driver->vm.release(driver, self.range, MIB(4)), ==, 0);
    CHECK(sim_finding(self.machine, 0) == NULL);
    expect_nothing_left(self.machine, 0);
    cudart_close(self.machine);
}

static void test_access_is_taken_away(void)
{
    bench self = bench_open(0, 1, 0);
    const gpuarena_driver *driver = &self.driver;
    CHECK_INT(driver->vm.access(driver, self.range, MIB(2), 0), ==, 0);
    CHECK_INT(driver->vm.access(driver, self.range, MIB(2), 1), ==, 0);
    CHECK_DONE(cudaMemset(self.range, 1, MIB(2)));
    CHECK_DONE(cudaDeviceSynchronize());
    CHECK_INT(driver->vm.access(driver, self.range, MIB(2), 0), ==, 0);
    CHECK(sim_finding(self.machine, 0) == NULL);
    CHECK_CODE(cudaMemset(self.range, 1, MIB(2)), cudaErrorIllegalAddress);
    CHECK(sim_finding(self.machine, 0) != NULL);
    CHECK_INT(driver->classify(driver, driver->vm.unmap(driver, self.range, MIB(2))), ==, GPUARENA_STATUS_LOST);
    cudart_close(self.machine);
}

static void expect_reach(const bench *self, int device, cudaError_t expected)
{
    CHECK_DONE(cudaSetDevice(device));
    CHECK_MSG(cudaMemset(self->range, device, 100) == expected, "device %d: %s", device, cudaGetErrorName(expected));
    if (expected == cudaSuccess) CHECK_DONE(cudaDeviceSynchronize());
    else CHECK_CODE(cudaGetLastError(), expected);
    CHECK_DONE(cudaSetDevice(0));
}

/* The devices that `peers` names reach the memory, its own bit changes nothing, and the others do not reach it. */
static void test_peers(void)
{
    bench self = bench_open(1, 4, 1u << 3 | 1u << 1);
    expect_reach(&self, 1, cudaSuccess);
    expect_reach(&self, 3, cudaSuccess);
    CHECK(sim_finding(self.machine, 0) == NULL);
    expect_reach(&self, 2, cudaErrorIllegalAddress);
    CHECK(sim_finding(self.machine, 0) != NULL);
    bench_close(&self);
}

static void test_peers_that_are_not_there(void)
{
    bench self = bench_open(0, 2, 0);
    const gpuarena_driver *driver = &self.driver;
    self.driver.peers = (uint64_t)1 << 63;
    CHECK_INT(driver->vm.access(driver, self.range, MIB(2), 1), ==, cudaErrorInvalidDevice);
    CHECK_DONE(cudaGetLastError());
    self.driver.peers = 1u << 1;
    CHECK_INT(driver->vm.access(driver, self.range, MIB(2), 1), ==, 0);
    bench_close(&self);
}

/* Whichever device is current, pages are the table's device's; only reserve makes that current, and so a context. */
static void test_current_device(void)
{
    sim *machine = machine_attach(NULL);
    gpuarena_driver driver = driver_of(1);
    uint64_t page = 0;
    CHECK_INT(driver.vm.create(&driver, &page, MIB(6), 0), ==, 0);
    CHECK_U64(machine_held(machine, 1), ==, MIB(6));
    CHECK_U64(machine_held(machine, 0), ==, 0);
    CHECK_INT(current_device(), ==, 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(6)), ==, 0);
    CHECK_MSG(sim_now_ns(machine) < 1000000, "no context was made");
    expect_nothing_left(machine, 1);
    CHECK(sim_finding(machine, 0) == NULL);
    cudart_close(machine);
}

/* Granted, and of the table's device; whole pages alone. */
static void test_create(void)
{
    sim *machine = machine_attach(NULL);
    gpuarena_driver driver = driver_of(0);
    uint64_t page = 0;
    CHECK_INT(driver.vm.create(&driver, &page, MIB(2), 0), ==, 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(2)), ==, 0);
    CHECK_INT(driver.vm.create(&driver, &(uint64_t){ 0 }, MIB(1), 0), ==, 1);
    expect_nothing_left(machine, 0);
    cudart_close(machine);
}

static void run(void)
{
    test_filling();
    test_devices_without();
    test_remap();
    test_two_mappings();
    test_destroy_while_mapped();
    test_access_is_taken_away();
    test_peers();
    test_peers_that_are_not_there();
    test_current_device();
    test_create();
}
#endif

CUDA_TEST_MAIN(run)

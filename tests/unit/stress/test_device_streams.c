/* Streams of devices through their seam, and uses of memory on them: simulated, and on the libcudart substitute.
   It must not know of policies or workloads. */
#include "device_bench.h"

/* No stream is ordered with another one, the default one included, until it follows it. */
static void test_simulated_streams(void)
{
    for (int is_unjudged = 0; is_unjudged < 2; is_unjudged++) {
        device_config config = simulated(64 * MIB);
        gpuarena_stream streams[3] = { NULL, NULL, NULL };
        config.is_unjudged = is_unjudged;
        forget();
        device *opened = device_open(&config, &why);
        char *block = obtain(opened, 3 * MIB);
        int failed = device_stream_create(opened, &streams[1], &why);
        failed |= device_stream_create(opened, &streams[2], &why);
        for (int stream = 0; stream < 3; stream++) {
            device_begin_op(opened, (uint64_t)stream + 10);
            failed |= device_work(opened, streams[stream], 5000, &why);
            failed |= device_access(opened, streams[stream], block, 3 * MIB, (uint64_t)stream + 1, &why);
        }
        CHECK_U64(counted(opened).findings, ==, is_unjudged ? 0 : 2);
        if (!is_unjudged) {
            CHECK_STR(device_finding(opened, 1), "op 12: device 0: op 12 on stream 2 uses 3145728 bytes at "
                      "+0x200000: not ordered after op 10 on the legacy stream");
        }
        failed |= device_follow(opened, streams[1], streams[0], &why);
        failed |= device_follow(opened, streams[1], streams[2], &why);
        failed |= device_access(opened, streams[1], block, 3 * MIB, 4, &why);
        CHECK_MSG(!failed, "all went well: %s", why.text);
        CHECK_MSG(counted(opened).findings == (is_unjudged ? 0 : 2), "after it follows them it is in order");
        CHECK_U64(counted(opened).calls, ==, 1);
        CHECK_INT(device_stream_destroy(opened, streams[2], &why), ==, 0);
        CHECK_INT(device_work(opened, streams[2], 1, &why), ==, -1);
        CHECK_STR(why.text, "work on a stream: cudaErrorInvalidResourceHandle (400)");
        device_close(opened, NULL);
    }
}

#ifdef GPUARENA_NO_CUDA
static void test_cuda(void)
{
    SKIP("the CUDA side: this build is without CUDA");
}
#else

/* A use writes what a fill has written there already; another's that comes too late is seen. */
static void test_cuda_streams(void)
{
    static const uint64_t sizes[] = { 1, 16, 17, 1000, 2 * MIB - 1, 2 * MIB, 9 * MIB + 3 };
    static const uint64_t seen_at[] = { 1, 16, 8, 8, 8, 2 * MIB, 2 * MIB };     /* from the size on: nowhere */
    cuda_bench bed;
    gpuarena_stream streams[2] = { NULL, NULL };
    if (!cuda_bench_open(&bed)) return;
    int failed = device_stream_create(bed.opened, &streams[0], &why);
    failed |= device_stream_create(bed.opened, &streams[1], &why);
    failed |= device_follow(bed.opened, streams[1], streams[0], &why);
    failed |= device_follow(bed.opened, NULL, streams[1], &why);
    failed |= device_work(bed.opened, streams[0], 1000, &why);
    CHECK_MSG(!failed, "streams on CUDA: %s", why.text);
    CHECK_INT(sim_work(bed.machine, 1, streams[0], UINT64_C(1000000000)), ==, 0);
    CHECK_MSG(cudaStreamQuery(streams[1]) == cudaSuccess, "one stream is at work, the other not");
    CHECK_INT(device_follow(bed.opened, streams[1], streams[0], &why), ==, 0);
    CHECK_MSG(cudaStreamQuery(streams[1]) == cudaErrorNotReady && cudaGetLastError(), "now it waits");
    CHECK_INT(cudaStreamSynchronize(streams[1]), ==, 0);
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; index++) {
        uint64_t bytes = sizes[index], bad_offset = bytes;
        char *block = obtain(bed.opened, bytes);
        CHECK_INT(device_fill(bed.opened, streams[0], block, bytes, 7, &why), ==, 0);
        CHECK_INT(device_access(bed.opened, streams[1], block, bytes, 7, &why), ==, 0);
        CHECK_INT(device_verify(bed.opened, block, bytes, 7, &bad_offset, &why), ==, 1);
        CHECK_INT(device_access(bed.opened, streams[1], block, bytes, 8, &why), ==, 0);
        int same = device_verify(bed.opened, block, bytes, 7, &bad_offset, &why);
        CHECK_MSG(same == (seen_at[index] >= bytes), "%" PRIu64 " bytes", bytes);
        CHECK_U64(bad_offset, ==, seen_at[index] < bytes ? seen_at[index] : bytes);
        give_back(bed.opened, block, bytes);
    }
    CHECK_INT(device_stream_destroy(bed.opened, streams[0], &why), ==, 0);
    CHECK_INT(device_follow(bed.opened, NULL, streams[0], &why), ==, -1);
    CHECK(strstr(why.text, "cudaEventRecord: cudaError") != NULL && cudaPeekAtLastError() == cudaSuccess);
    forget();
    CHECK_INT(device_stream_destroy(bed.opened, streams[0], &why), ==, -1);
    CHECK_INT(device_stream_destroy(bed.opened, streams[1], &why), ==, 0);
    cuda_bench_close(&bed);
}

/* The arena's groups reach the device through the counting table. */
static void test_cuda_groups(void)
{
    cuda_bench bed;
    gpuarena_stream stream = NULL;
    void *event = NULL;
    if (!cuda_bench_open(&bed)) return;
    const gpuarena_driver *driver = device_driver(bed.opened);
    CHECK_INT(device_stream_create(bed.opened, &stream, &why), ==, 0);
    if (CHECK(driver->events.create && !driver->events.create(driver, &event))) {
        CHECK_INT(driver->events.record(driver, event, stream), ==, 0);
        CHECK_INT(driver->events.query(driver, event), ==, 0);
        CHECK_INT(driver->events.stream_wait(driver, NULL, event), ==, 0);
        CHECK_INT(driver->events.host_wait(driver, event), ==, 0);
        CHECK_INT(driver->events.device_wait(driver), ==, 0);
        CHECK_INT(driver->events.destroy(driver, event), ==, 0);
        CHECK(driver->events.destroy(driver, event) != 0);
    }
    CHECK(driver->per_thread == (gpuarena_stream)cudaStreamPerThread && driver->now_ns && driver->now_ns(driver));
    if (CHECK(driver->capture.active != NULL)) {
        int active = 1, mode = 2;
        CHECK(!driver->capture.active(driver, stream, &active) && !active);
        CHECK(!driver->capture.exchange_mode(driver, &mode) && !driver->capture.exchange_mode(driver, &mode));
        CHECK_INT(mode, ==, 2);
    }
    CHECK_INT(device_stream_destroy(bed.opened, stream, &why), ==, 0);
    cuda_bench_close(&bed);
}

static void test_cuda(void)
{
    test_cuda_streams();
    test_cuda_groups();
}
#endif

int main(void)
{
    test_simulated_streams();
    test_cuda();
    return tap_done();
}

/* Arenas of all kinds of memory over CUDA's own table, on the substitute.
   It must not know how a pool lays its memory out. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA

/* Real bytes in real arenas; nothing is left, neither memory nor a pool. */
static void test_arena(gpuarena_backing backing)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL, *second = NULL;
    gpuarena_driver driver;
    cudaStream_t streams[2];
    void *blocks[40];
    unsigned wrong = 0;
    int current = -1;
    size_t free_bytes, total_bytes;
    for (int i = 0; i < 2; i++) wrong += cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking) != 0;
    CHECK_INT(gpuarena_create(NULL, &arena), ==, 0);         /* all defaults, on device 0 */
    CHECK_INT(gpuarena_destroy(arena), ==, 0);
    CHECK_INT(gpuarena_driver_cuda(0, &driver), ==, 0);
    uint64_t before = driver.now_ns(&driver);
    CHECK_U64(driver.now_ns(&driver), >=, before);
    CHECK_U64(before, >, 0);
    config.driver = &driver;
    config.backing = backing;
    config.limit_bytes = MIB(64);
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &arena), ==, 0);
    CHECK_INT(gpuarena_create(&config, &second), ==, 0);
    CHECK_DONE(cudaSetDevice(1));
    for (int round = 0; round < 8; round++) {
        for (size_t i = 0; i < COUNT(blocks); i++)
            wrong += gpuarena_alloc(i % 8 ? arena : second, &blocks[i], KIB(900) + KIB(30) * (uint64_t)round,
                                    streams[(i + (size_t)round) % 2]) != 0;
        for (size_t i = 0; i < COUNT(blocks); i++)
            wrong += gpuarena_free(i % 8 ? arena : second, blocks[i], streams[(i + (size_t)round) % 2]) != 0;
        if (round % 3 == 2) wrong += gpuarena_trim(arena, 0, NULL) != 0;
        wrong += gpuarena_check(arena, NULL, 0) != 0;
    }
    CHECK_DONE(cudaGetDevice(&current));
    CHECK_INT(current, ==, 1);
    CHECK_MSG(wrong == 0, "backing %d: %u things wrong", (int)backing, wrong);
    CHECK_INT(gpuarena_destroy(arena), ==, 0);
    CHECK_INT(gpuarena_destroy(second), ==, 0);
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK_U64(free_bytes, ==, GIB(1));
    sim_counters counters;
    sim_get_counters(machine, 0, &counters);
    CHECK_U64(counters.calls[SIM_CALL_POOL_CREATE], ==, counters.calls[SIM_CALL_POOL_DESTROY]);
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

/* On a captured stream the memory would be the graph's: refused, and served from what was there before. */
static void test_capture(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    gpuarena_failure failure;
    cudaStream_t stream;
    cudaGraph_t graph;
    uint64_t set = 0;
    void *ptr, *more;
    CHECK_DONE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    config.backing = GPUARENA_BACKING_ASYNC;
    config.initial_bytes = MIB(4);
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &arena), ==, 0);
    CHECK_INT(gpuarena_capture_begin(arena, stream, &set), ==, 0);
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(4), stream), ==, 0);
    CHECK_INT(gpuarena_alloc(arena, &more, MIB(4), stream), ==, GPUARENA_CAPTURE);
    gpuarena_last_failure(arena, &failure);
    CHECK_U64(failure.reserved_bytes, ==, MIB(4));
    CHECK_INT(gpuarena_free(arena, ptr, stream), ==, 0);
    CHECK_DONE(cudaStreamEndCapture(stream, &graph));
    CHECK_INT(gpuarena_capture_end(arena, stream), ==, 0);
    CHECK_INT(gpuarena_capture_release(arena, set, stream), ==, 0);
    CHECK_INT(gpuarena_destroy(arena), ==, 0);
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

static void run(void)
{
    for (int backing = GPUARENA_BACKING_SEGMENTS; backing <= GPUARENA_BACKING_ASYNC; backing++)
        test_arena((gpuarena_backing)backing);
    test_capture();
}
#endif

CUDA_TEST_MAIN(run)

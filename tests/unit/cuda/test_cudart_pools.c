/* The substitute's memory pools and managed memory, and arenas of all kinds of memory over CUDA's own table on it.
   It must not know how a pool lays its memory out.
   Without the CUDA Toolkit it says that it skips. */
#include <stdint.h>

#ifdef GPUARENA_NO_CUDA
#include "tap.h"
int main(void)
{
    SKIP("no CUDA Toolkit");
    return tap_done();
}
#else
#include "gpuarena.h"

#include "test_cudart.h"

static uint64_t figure_of(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = UINT64_MAX;
    (void)cudaMemPoolGetAttribute(pool, attribute, &value);
    return value;
}

static cudaMemPool_t make_pool(int device)
{
    struct cudaMemPoolProps props;
    cudaMemPool_t pool = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    CHECK_DONE(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void test_attributes(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    cudaMemPool_t own, pool = make_pool(1), current;
    uint64_t value = MIB(8);
    int on = 0;
    CHECK_DONE(cudaDeviceGetDefaultMemPool(&own, 0));
    CHECK_DONE(cudaDeviceGetMemPool(&current, 0));
    CHECK(own == current);
    CHECK_CODE(cudaDeviceSetMemPool(0, pool), cudaErrorInvalidDevice);
    CHECK_DONE(cudaDeviceSetMemPool(1, pool));
    CHECK_DONE(cudaDeviceGetMemPool(&current, 1));
    CHECK(current == pool);
    CHECK_DONE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    CHECK_U64(figure_of(pool, cudaMemPoolAttrReleaseThreshold), ==, MIB(8));
    CHECK_DONE(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &on));
    on = 7;
    CHECK_DONE(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &on));
    CHECK_INT(on, ==, 0);
    CHECK_CODE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemPoolDestroy(own), cudaErrorInvalidValue);
    CHECK_DONE(cudaMemPoolDestroy(pool));
    CHECK_CODE(cudaMemPoolTrimTo(pool, 0), cudaErrorInvalidValue);
    CHECK_DONE(cudaDeviceGetMemPool(&current, 1));
    CHECK_MSG(current != pool, "a pool that is gone is nobody's");
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

/* Bytes, high marks, the threshold, and a pool that outlives its end as long as it has given something. */
static void test_memory(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    cudaMemPool_t pool = make_pool(0);
    cudaStream_t stream;
    struct cudaPointerAttributes described;
    unsigned char byte = 0;
    size_t free_bytes, total_bytes;
    uint64_t none = 0;
    void *ptr, *other;
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaMallocFromPoolAsync(&ptr, 1000, pool, stream));
    CHECK_DONE(cudaMallocFromPoolAsync(&other, MIB(36), pool, stream));
    CHECK_DONE(cudaMemsetAsync(ptr, 42, 1000, stream));
    CHECK_DONE(cudaMemcpyAsync(&byte, (char *)ptr + 999, 1, cudaMemcpyDeviceToHost, stream));
    CHECK_INT(byte, ==, 42);
    CHECK(!cudaPointerGetAttributes(&described, ptr) && described.type == cudaMemoryTypeDevice);
    CHECK_U64(figure_of(pool, cudaMemPoolAttrUsedMemCurrent), ==, 1024 + MIB(36));
    CHECK_U64(figure_of(pool, cudaMemPoolAttrReservedMemCurrent), ==, MIB(96));
    CHECK_DONE(cudaFreeAsync(other, stream));
    CHECK_DONE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &none));
    CHECK_U64(figure_of(pool, cudaMemPoolAttrUsedMemHigh), ==, 1024);
    CHECK_U64(figure_of(pool, cudaMemPoolAttrReservedMemHigh), ==, MIB(96));
    CHECK_DONE(cudaStreamSynchronize(stream));
    CHECK_U64(figure_of(pool, cudaMemPoolAttrReservedMemCurrent), ==, MIB(32));
    CHECK_DONE(cudaMemPoolDestroy(pool));
    CHECK_DONE(cudaMemsetAsync(ptr, 43, 1000, stream));
    CHECK_DONE(cudaFree(ptr));
    CHECK_DONE(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK_U64(free_bytes, ==, GIB(1));
    CHECK_DONE(cudaMallocAsync(&ptr, MIB(1), NULL));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    CHECK_DONE(cudaFreeAsync(ptr, NULL));
    CHECK_CODE(cudaFreeAsync(ptr, NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemsetAsync(ptr, 1, 8, NULL), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 2);
    cudart_close(machine);
}

static void test_managed(void)
{
    sim *machine = cudart_open(1, MIB(64), NULL);
    struct cudaPointerAttributes described;
    unsigned char *ptr = NULL;
    void *device;
    size_t free_bytes, total_bytes;
    CHECK_DONE(cudaMallocManaged((void **)&ptr, MIB(100), cudaMemAttachGlobal));
    CHECK_DONE(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK_U64(free_bytes, ==, MIB(64));
    CHECK(!cudaPointerGetAttributes(&described, ptr) && described.type == cudaMemoryTypeManaged);
    CHECK_DONE(cudaMalloc(&device, 100));
    ptr[99] = 42;
    CHECK_DONE(cudaMemcpy(device, ptr, 100, cudaMemcpyDeviceToDevice));
    ptr[99] = 0;
    CHECK_DONE(cudaMemcpy(ptr, device, 100, cudaMemcpyDefault));
    CHECK_INT(ptr[99], ==, 42);
    CHECK_CODE(cudaFreeHost(ptr), cudaErrorInvalidValue);
    CHECK_DONE(cudaFree(ptr));
    CHECK_CODE(cudaMallocManaged((void **)&ptr, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
    CHECK_CODE(cudaMallocManaged((void **)&ptr, 8, 99), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 1);
    cudart_close(machine);
}

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
    CHECK_INT(gpuarena_driver_cuda(0, &driver), ==, 0);
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

int main(void)
{
    test_attributes();
    test_memory();
    test_managed();
    for (int backing = GPUARENA_BACKING_SEGMENTS; backing <= GPUARENA_BACKING_ASYNC; backing++)
        test_arena((gpuarena_backing)backing);
    test_capture();
    return tap_done();
}
#endif

/* Three bugs of CUB's allocator, seen by the judge: a double free, a free that is taken before its event is recorded,
   and a query of an event that fails the next allocation. And the same calls on an arena, in order.
   It must not know of policies or workloads. Skipped, aloud, where CUB or CUDA is not in this build. */
#include "stress/policy/rival.h"
#include "tap.h"

#ifdef GPUARENA_NO_CUDA
int main(void)
{
    SKIP("bugs of CUB: this build is without CUDA");
    return tap_done();
}
#else
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <pthread.h>

#include "stress/cudart/cudart.h"

#define MIB     ((uint64_t)1 << 20)
#define LONG_NS ((uint64_t)1000000000)

enum { BYTES = 1000 };

typedef struct bench {                           /* CUDA on a machine of ours, two streams that nothing orders */
    sim            *machine;
    device         *on;
    rival          *cub;
    gpuarena       *arena;
    gpuarena_stream streams[2];
    void           *taken;                       /* by the other thread, on streams[1] */
    int             taken_code;
} bench;

static problem why;
static bench *bed_of_record;                     /* whose other thread acts when an event is recorded next */
static pthread_t other_thread;
static int       record_count;

static void *take_from_cub(void *context)
{
    bench *bed = context;
    bed->taken_code = rival_alloc(bed->cub, &bed->taken, BYTES, bed->streams[1]);
    return NULL;
}

static void *take_from_arena(void *context)
{
    bench *bed = context;
    bed->taken_code = gpuarena_alloc(bed->arena, &bed->taken, BYTES, bed->streams[1]);
    return NULL;
}

/* The substitute's own, behind the one below. ISO C has no way from an object pointer to a function's. */
static cudaError_t record_really(cudaEvent_t event, cudaStream_t stream)
{
    static cudaError_t (*record)(cudaEvent_t, cudaStream_t);
    char name[32];
    if (!record) {
        int major = CUDART_VERSION / 1000;
        snprintf(name, sizeof name, "libcudart.so.%d%s", major, major == 11 ? ".0" : "");
        void *library = dlopen(name, RTLD_NOW), *found = library ? dlsym(library, "cudaEventRecord") : NULL;
        memcpy(&record, &found, sizeof record);
    }
    return record ? record(event, stream) : cudaErrorUnknown;
}

/* All of this process that call cudaEventRecord come here first: a thread that is as late as this is what the other
   one meets. It may need a lock that the caller of this holds: an arena's is let go only after the record. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    bench *bed = bed_of_record;
    record_count++;
    bed_of_record = NULL;
    if (bed && !pthread_create(&other_thread, NULL, bed->cub ? take_from_cub : take_from_arena, bed) && bed->cub) {
        pthread_join(other_thread, NULL);
    }
    return record_really(event, stream);
}

static int bench_open(bench *bed)
{
    sim_config machine;
    device_config config;
    memset(bed, 0, sizeof *bed);
    memset(&machine, 0, sizeof machine);
    memset(&config, 0, sizeof config);
    machine.capacity_bytes = 64 * MIB;
    config.is_cuda = 1;
    bed->machine = sim_create(&machine, &why);
    cudart_attach(bed->machine);
    bed->on = device_open(&config, &why);
    return CHECK_MSG(bed->on && !device_stream_create(bed->on, &bed->streams[0], &why)
                     && !device_stream_create(bed->on, &bed->streams[1], &why), "device and streams: %s", why.text);
}

static int bench_open_cub(bench *bed)
{
    return bench_open(bed) && CHECK_MSG((bed->cub = rival_open(bed->on, &why)) != NULL, "CUB on it: %s", why.text);
}

static int bench_open_arena(bench *bed, uint64_t limit_bytes)
{
    gpuarena_config config = GPUARENA_INIT;
    if (!bench_open(bed)) return 0;
    config.driver = device_driver(bed->on);
    config.environment = "";
    config.backing = GPUARENA_BACKING_SEGMENTS;
    config.limit_bytes = limit_bytes;
    return CHECK(gpuarena_create(&config, &bed->arena) == GPUARENA_OK);
}

static void bench_close(bench *bed)
{
    rival_close(bed->cub);
    if (bed->arena) CHECK_INT(gpuarena_destroy(bed->arena), ==, GPUARENA_OK);
    device_close(bed->on, NULL);
    cudart_attach(NULL);
    sim_destroy(bed->machine);
}

/* Operation `op`: its owner uses the block. The latest finding, or "". */
static const char *use(bench *bed, int stream, const void *ptr, uint64_t bytes, uint64_t op)
{
    uint64_t before = sim_finding_count(bed->machine);
    sim_begin_op(bed->machine, op);
    CHECK_INT(sim_access(bed->machine, 0, bed->streams[stream], ptr, bytes, op, op), ==, 0);
    return sim_finding_count(bed->machine) > before ? sim_finding(bed->machine, before) : "";
}

static void work(bench *bed, int stream)
{
    CHECK_INT(sim_work(bed->machine, 0, bed->streams[stream], LONG_NS), ==, 0);
}

/* The second free is refused, but what is in the cache is given back to the device: it has two owners soon. */
static void test_cub_double_free(void)
{
    bench bed;
    void *block = NULL, *dead = NULL, *next = NULL;
    if (!bench_open_cub(&bed)) return;
    CHECK_INT(rival_alloc(bed.cub, &block, BYTES, bed.streams[0]), ==, 0);
    CHECK_INT(rival_free(bed.cub, block), ==, 0);
    CHECK_INT(rival_free(bed.cub, block), ==, cudaErrorInvalidResourceHandle);
    CHECK_INT(rival_alloc(bed.cub, &dead, BYTES, bed.streams[0]), ==, 0);
    CHECK_MSG(dead == block && !device_holds(bed.on, dead, BYTES), "CUB hands out what the device has not given");
    const char *finding = use(&bed, 0, dead, BYTES, 4);
    CHECK_MSG(strstr(finding, "uses 1000 bytes at +0x200000, which are not held by one obtain"), "%s", finding);
    CHECK_INT(rival_alloc(bed.cub, &next, BYTES, bed.streams[1]), ==, 0);
    CHECK_MSG(next == dead, "and then once more: one address, two owners");
    use(&bed, 0, dead, BYTES, 6);
    finding = use(&bed, 1, next, BYTES, 7);
    CHECK_MSG(strstr(finding, "op 7 on stream 2 uses 1000 bytes at +0x200000: not ordered after op 6 on stream 1"),
              "%s", finding);
    bench_close(&bed);
}

static void test_arena_double_free(void)
{
    bench bed;
    void *block = NULL, *next = NULL, *last = NULL;
    if (!bench_open_arena(&bed, 0)) return;
    CHECK_INT(gpuarena_alloc(bed.arena, &block, BYTES, bed.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(bed.arena, block, bed.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(bed.arena, block, bed.streams[0]), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_alloc(bed.arena, &next, BYTES, bed.streams[0]), ==, GPUARENA_OK);
    CHECK_STR(use(&bed, 0, next, BYTES, 4), "");
    CHECK_INT(gpuarena_alloc(bed.arena, &last, BYTES, bed.streams[1]), ==, GPUARENA_OK);
    CHECK_STR(use(&bed, 1, last, BYTES, 5), "");
    CHECK_MSG(next == block && last != next, "one address, one owner");
    CHECK_INT(gpuarena_free(bed.arena, next, bed.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(bed.arena, last, bed.streams[1]), ==, GPUARENA_OK);
    bench_close(&bed);
}

/* The block is in the cache, CUB's lock is let go, and the event that says when it is quiet is not recorded yet. */
static void test_cub_race(void)
{
    bench bed;
    void *block = NULL;
    if (!bench_open_cub(&bed)) return;
    CHECK_INT(rival_alloc(bed.cub, &block, BYTES, bed.streams[0]), ==, 0);
    work(&bed, 0);
    CHECK_STR(use(&bed, 0, block, BYTES, 2), "");
    bed_of_record = &bed;
    CHECK_INT(rival_free(bed.cub, block), ==, 0);
    CHECK_MSG(bed.taken_code == 0 && bed.taken == block, "the other stream has it while the work is still under way");
    const char *finding = use(&bed, 1, bed.taken, BYTES, 4);
    CHECK_MSG(strstr(finding, "op 4 on stream 2 uses 1000 bytes at +0x200000: not ordered after op 2 on stream 1"),
              "%s", finding);
    bench_close(&bed);
}

/* In an arena a free records nothing; one that must be given to the other stream is waited for by that stream. */
static void test_arena_race(void)
{
    bench bed;
    void *block = NULL, *next = NULL;
    if (!bench_open_arena(&bed, 2 * MIB)) return;
    CHECK_INT(gpuarena_alloc(bed.arena, &block, 2 * MIB, bed.streams[0]), ==, GPUARENA_OK);
    work(&bed, 0);
    CHECK_STR(use(&bed, 0, block, 2 * MIB, 2), "");
    int before = record_count;
    CHECK_INT(gpuarena_free(bed.arena, block, bed.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(record_count, ==, before);
    CHECK_INT(gpuarena_alloc(bed.arena, &next, BYTES, bed.streams[0]), ==, GPUARENA_OK);
    CHECK_STR(use(&bed, 0, next, BYTES, 3), "");
    bed_of_record = &bed;
    void *half = NULL;
    CHECK_INT(gpuarena_alloc(bed.arena, &half, MIB, bed.streams[1]), ==, GPUARENA_OK);
    if (CHECK_MSG(!bed_of_record, "an event was recorded, with the other thread at work")) {
        pthread_join(other_thread, NULL);
        CHECK_INT(bed.taken_code, ==, GPUARENA_OK);
        CHECK_STR(use(&bed, 1, bed.taken, BYTES, 4), "");
    }
    CHECK_STR(use(&bed, 1, half, MIB, 5), "");
    CHECK_MSG(sim_stream_query(bed.machine, 0, bed.streams[0]) == SIM_NOT_READY, "all while the work is under way");
    bed_of_record = NULL;
    CHECK_INT(gpuarena_reset(bed.arena, bed.streams[1]), ==, GPUARENA_OK);
    bench_close(&bed);
}

/* An event that is not ready is CUDA's last error; CUB leaves it there, and takes it for that of its next call. */
static void test_cub_not_ready(void)
{
    bench bed;
    void *block = NULL, *next = NULL;
    device_counters before, after;
    if (!bench_open_cub(&bed)) return;
    CHECK_INT(rival_alloc(bed.cub, &block, 2 * MIB, bed.streams[0]), ==, 0);
    work(&bed, 0);
    CHECK_INT(rival_free(bed.cub, block), ==, 0);
    device_count(bed.on, &before);
    CHECK_INT(rival_alloc(bed.cub, &next, 2 * MIB, bed.streams[1]), ==, cudaErrorNotReady);
    device_count(bed.on, &after);
    CHECK_MSG(after.calls == before.calls, "there is memory, and it is not even asked for");
    CHECK_INT(sim_stream_wait(bed.machine, 0, bed.streams[0]), ==, 0);
    CHECK_INT(rival_alloc(bed.cub, &next, 2 * MIB, bed.streams[1]), ==, 0);
    CHECK_MSG(next == block, "once it is ready, it is had");
    CHECK_U64(sim_finding_count(bed.machine), ==, 0);
    bench_close(&bed);
}

int main(void)
{
    bench bed;
    int has_cub = bench_open(&bed) && (bed.cub = rival_open(bed.on, &why)) != NULL;
    bench_close(&bed);
    if (has_cub) {
        test_cub_double_free();
        test_cub_race();
        test_cub_not_ready();
    } else {
        SKIP("bugs of CUB: %s", why.text);
    }
    test_arena_double_free();
    test_arena_race();
    return tap_done();
}
#endif

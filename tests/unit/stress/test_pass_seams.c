/* A pass at its seams to device and policy: passes that are judged, calls at a policy's end, and a policy that lies.
   It must not know of files or the command line. */
#include "stress/run/pass.h"

enum { SEAM_STREAMS = 8 };

static struct seam {
    int             is_unjudged, lies;           /* lies: every allocation is the first one's stream's */
    gpuarena_stream first, forgotten[SEAM_STREAMS];
    size_t          alloc_count, forgotten_count, gone_count;        /* gone: destroyed before */
    uint64_t        thread, threads;             /* the device's, now; at each allocation, a digit each */
} seam;

static device *seam_device_open(const device_config *config, problem *trouble)
{
    seam.is_unjudged = config->is_unjudged;
    return device_open(config, trouble);
}

static void seam_device_thread(device *self, uint64_t thread)
{
    seam.thread = thread;
    device_thread(self, thread);
}

static gpuarena_result seam_pool_alloc(pool *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    if (!seam.alloc_count++) seam.first = stream;
    seam.threads = 10 * seam.threads + seam.thread;
    return pool_alloc(self, ptr, bytes, seam.lies ? seam.first : stream);
}

static gpuarena_result seam_pool_forget(pool *self, gpuarena_stream stream)
{
    seam.gone_count += sim_stream_query(device_simulated(self->device), 0, stream) == SIM_INVALID_HANDLE;
    if (seam.forgotten_count < SEAM_STREAMS) seam.forgotten[seam.forgotten_count++] = stream;
    return pool_forget(self, stream);
}

#define device_open   seam_device_open
#define device_thread seam_device_thread
#define pool_alloc    seam_pool_alloc
#define pool_forget   seam_pool_forget
#include "stress/run/pass.c"
#undef device_open
#undef device_thread
#undef pool_alloc
#undef pool_forget

#include <stdlib.h>

#include "pass_bench.h"

static pass_result *seam_run(bench *bed, latencies *timing)
{
    memset(&seam, 0, sizeof seam);
    return run(bed, "segments", timing);
}

static void add_blocks(bench *bed)
{
    bench_open(bed);
    for (uint64_t stream = 0; stream < 4; stream++) add_alloc(bed, 3 * MIB, stream);
    add_free(bed, 1, 1);
}

/* The device judges if the pass looks at the findings. */
static void test_unjudged(void)
{
    static const struct { verify_mode verify; int is_unjudged; } cases[] = {
        { VERIFY_FULL, 0 }, { VERIFY_SAMPLE, 0 }, { VERIFY_OFF, 1 }
    };
    bench bed;
    static latencies timing;
    add_blocks(&bed);
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        bed.settings.verify = cases[index].verify;
        CHECK_INT(seam_run(&bed, NULL)->status, ==, PASS_OK);
        CHECK_INT(seam.is_unjudged, ==, cases[index].is_unjudged);
        CHECK_INT(seam_run(&bed, &timing)->status, ==, PASS_OK);
        CHECK_MSG(seam.is_unjudged, "the timing pass asks nobody");
    }
}

/* At the end each stream is forgotten, once, while it is there still; but for the default one, which stays. */
static void test_forgotten(void)
{
    bench bed;
    add_blocks(&bed);
    CHECK_INT(seam_run(&bed, NULL)->status, ==, PASS_OK);
    CHECK_U64(seam.forgotten_count, ==, 3);
    CHECK_U64(seam.gone_count, ==, 0);
    for (size_t index = 0; index < seam.forgotten_count; index++) {
        CHECK(seam.forgotten[index] && seam.forgotten[index] != seam.forgotten[(index + 1) % 3]);
    }
}

/* A default stream may be each thread's own: the device hears whose op it is, before the policy does. */
static void test_threads(void)
{
    static uint8_t numbers[] = { 0, 2, 1, 0, 2 };
    bench bed;
    add_blocks(&bed);
    CHECK_INT(seam_run(&bed, NULL)->status, ==, PASS_OK);
    CHECK_MSG(seam.threads == 0, "one thread: the device's own");
    bed.stream.threads = numbers;
    bed.stream.thread_count = 3;
    CHECK_INT(seam_run(&bed, NULL)->status, ==, PASS_OK);
    CHECK_U64(seam.threads, ==, 1321);
}

/* A policy that hands one stream's memory to another is found out, by the work that the pass adds where a thread's
   ops have none, whatever another thread's have. Where no thread's ops have work it is not the workload's mistake. */
static void test_lie(int others_have_kernels)
{
    static uint8_t numbers[OPS];
    bench bed;
    bench_open(&bed);
    bed.settings.device.op_ns = LONG_NS;
    add_alloc(&bed, 3 * MIB, 1);
    add_free(&bed, 0, 1);
    add_alloc(&bed, 3 * MIB, 2);
    if (others_have_kernels) {
        memset(numbers + bed.stream.op_count, 1, 2);
        bed.stream.threads = numbers;
        bed.stream.thread_count = 2;
        add_alloc(&bed, MIB, 5);
        add_kernel(&bed, 1000, 5, 2);
    }
    CHECK_INT(seam_run(&bed, NULL)->status, ==, PASS_OK);
    memset(&seam, 0, sizeof seam);
    seam.lies = 1;
    const pass_result *result = run(&bed, "segments", NULL);
    CHECK_INT(result->status, ==, PASS_VERIFY_FAILED);
    CHECK_MSG(strstr(result->message, "op 2: device: stream 2 uses 3145728 bytes at +0x200000: not ordered after "
                     "op 0 on stream 1") == result->message, "%s", result->message);
    CHECK_INT(strstr(result->message, "or the workload's") != NULL, ==, others_have_kernels);
}

int main(void)
{
    test_unjudged();
    test_forgotten();
    test_threads();
    test_lie(0);
    test_lie(1);
    CHECK_MSG(why.exit_code == 0, "no problem is left: %s", why.text);
    return tap_done();
}

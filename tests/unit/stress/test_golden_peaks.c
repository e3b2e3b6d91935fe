/* Models of known allocators against the real ones: the bytes that PyTorch (native, and with expandable segments),
   XLA's BFC, ONNX Runtime's arena and RMM's pool reserved at their peak for the same operations, and the smallest
   limits under which PyTorch completed. The figures are the libraries' own: PyTorch 2.15.0 and 2.9.1, JAX 0.10.2,
   ONNX Runtime 1.31.1 and RMM 26.08, on a simulated device of 320 GiB, one stream. (GPUARENA_TRACES=folder of
   recordings; rows of missing ones are skipped, aloud)
   Runs once: figures do not depend on the build. */
#include <stdlib.h>
#include <unistd.h>

#include "stress/policy/policy.h"
#include "stress/workload/workload.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
/* A model of 7 billion parameters. */
#define B "train:layers=32,hidden=4096,ff=11008,heads=32,batch=2,seq=512-4096"

enum { PYTORCH, EXPANDABLE, BFC, ORT, RMM, GOLDEN_POLICIES };

/* of_device: told by the device, in its granules; else as the library itself counts. */
static const struct { const char *name; int of_device; } golden_policies[GOLDEN_POLICIES] = {
    { "pytorch", 0 }, { "pytorch-expandable", 0 }, { "bfc", 0 }, { "ort", 1 }, { "rmm", 0 } };

typedef struct golden_row {
    const char *workload;                        /* replay:FILE: below the folder of recordings */
    uint64_t    seed;
    uint64_t    limit, limit_expandable;         /* smallest limit / peak requested, in 1/10,000; 0: not measured */
    uint64_t    peak_bytes[GOLDEN_POLICIES];     /* 0: not measured */
} golden_row;

static const golden_row golden_rows[] = {
    { B ",steps=6,recompute=1", 2, 0, 0, { 109708312576, 106036199424, 0, 0, 137438953472 } },
    { B ",steps=6,recompute=1", 3, 0, 0, { 109769129984, 106141057024, 0, 0, 137438953472 } },
    { B ",steps=6,recompute=1,lora=16", 2, 0, 0, { 21764243456, 18830327808, 0, 0, 34359738368 } },
    { B ",steps=6,recompute=1,lora=16", 3, 0, 0, { 22055747584, 18977128448, 0, 0, 34359738368 } },
    { B ",steps=4,recompute=1,zero3=64", 1, 11060, 10060,
      { 8621391872, 5888802816, 8587837440, 8589934592, 8589934592 } },
    { B ",steps=6,recompute=1,zero3=64", 2, 0, 0, { 10051649536, 6035603456, 0, 0, 8589934592 } },
    { B ",steps=6,recompute=1,zero3=64", 3, 0, 0, { 10282336256, 6140461056, 0, 0, 8589934592 } },
    { B ",steps=4,recompute=1,zero3=8", 1, 11036, 10022,
      { 19547553792, 15795748864, 17179869184, 19327352832, 17179869184 } },
    { B ",steps=6,recompute=1,zero3=8", 2, 0, 0, { 20979908608, 15942549504, 0, 0, 17179869184 } },
    { B ",steps=6,recompute=1,zero3=8", 3, 0, 0, { 21208498176, 16047407104, 0, 0, 17179869184 } },
    { B ",steps=6,zero3=8", 2, 0, 0, { 69052923904, 51164217344, 0, 0, 68719476736 } },
    { B ",steps=6,zero3=8", 3, 0, 0, { 81373691904, 52275707904, 0, 0, 68719476736 } },
    { B ",steps=4,zero3=8,lora=16", 1, 10346, 10040,
      { 47777316864, 40372273152, 68719476736, 42949672960, 68719476736 } },
    { "cnn", 1, 10487, 10087, { 3430940672, 3034578944, 4292870144, 3221225472, 3649044480 } },
    { "cnn", 2, 0, 0, { 3430940672, 3034578944, 0, 0, 3649044480 } },
    { "cnn", 3, 0, 0, { 3430940672, 3034578944, 0, 0, 3649044480 } },
    { "embedding", 1, 10062, 10014, { 8705277952, 8663334912, 17181966336, 9665773568, 10377367552 } },
    { "growing", 1, 12265, 10217, { 1231028224, 1029701632, 2147483648, 2147483648, 1849688064 } },
    { "replay:pytorch/medium_128_training.trace", 1, 10125, 10203,
      { 7218397184, 7159676928, 8589934592, 7516192768, 8589934592 } },
    { "replay:pytorch/medium_512_training.trace", 1, 10057, 10043,
      { 12601786368, 12538871808, 17179869184, 12884901888, 17179869184 } },
    { "replay:intervals/somas_pangu_2.6B.csv", 1, 10561, 10307,
      { 8107589632, 6610223104, 8596226048, 7524581376, 6823149568 } },
    { "pareto", 1, 12166, 10931, { 413138944, 377487360, 622854144, 622854144, 359967232 } },
    { "pareto:n=20000", 2, 0, 0, { 677380096, 425721856, 0, 0, 658636800 } },
    { "pareto:n=20000", 3, 0, 0, { 838860800, 421527552, 0, 0, 520781824 } },
    { "phases", 1, 10863, 10014, { 41643147264, 32145145856, 34361835520, 34361835520, 35165044736 } },
    { "phases", 2, 0, 0, { 32250003456, 30549213184, 0, 0, 35567697920 } },
    { "phases", 3, 0, 0, { 35261513728, 30570184704, 0, 0, 35165044736 } },
    { "replay:intervals/somas_resnet50.csv", 1, 10545, 10116,
      { 1688207360, 1547698176, 2147483648, 2147483648, 2877292544 } },
    { "serve", 1, 10037, 10009, { 19874709504, 19591593984, 34359738368, 21474836480, 33621540864 } },
    { "serve", 2, 0, 0, { 19564331008, 19528679424, 0, 0, 33621540864 } },
    { "serve", 3, 0, 0, { 19604176896, 19507707904, 0, 0, 33621540864 } },
    { "tape", 1, 11261, 10142, { 5637144576, 4567597056, 8589934592, 5368709120, 6102319104 } },
    { "train", 1, 10252, 10013, { 44711280640, 33485225984, 34359738368, 35433480192, 34359738368 } },
    { "train:seq=1024", 1, 10224, 10013, { 26732396544, 26180845568, 34359738368, 26843545600, 34359738368 } },
    { "uniform", 1, 10550, 10348, { 14027849728, 13759414272, 17177772032, 15032385536, 16884170752 } },
    { "uniform:max=64", 2, 0, 0, { 19465764864, 18765316096, 0, 0, 19653853184 } },
    { "uniform:max=64", 3, 0, 0, { 19537068032, 18513657856, 0, 0, 27971420160 } },
};

static problem why;

static uint64_t library_bytes(const pool *opened)
{
    memory_use use;
    gpuarena_stats ignored;
    pool_measure(opened, &use, &ignored);
    return use.live_bytes + use.free_bytes;
}

static uint64_t device_bytes(const device *on)
{
    device_counters counters;
    device_count(on, &counters);
    return counters.held_bytes;
}

/* The allocations and frees; 1: none was refused. peaks: of the library's count, and the device's. */
static int play(const op_stream *stream, pool *opened, device *on, uint64_t *peaks)
{
    void **blocks = calloc(stream->block_count + 1, sizeof *blocks);
    uint64_t *sizes = calloc(stream->block_count + 1, sizeof *sizes);
    int served = blocks && sizes;
    for (size_t at = 0; at < stream->op_count && served; at++) {
        const op *next = &stream->ops[at];
        if (next->kind == OP_FREE) (void)pool_free(opened, blocks[next->first], sizes[next->first], NULL);
        if (next->kind != OP_ALLOC) continue;
        sizes[next->first] = next->value;
        served = pool_alloc(opened, &blocks[next->first], next->value, NULL) == GPUARENA_OK;
        if (peaks && library_bytes(opened) > peaks[0]) peaks[0] = library_bytes(opened);
        if (peaks && device_bytes(on) > peaks[1]) peaks[1] = device_bytes(on);
    }
    free(blocks);
    free(sizes);
    return served;
}

/* Runs the policy on a fresh device; limit_bytes 0: none. */
static int run(const op_stream *stream, const char *name, uint64_t limit_bytes, uint64_t *peaks)
{
    policy chosen;
    pool opened;
    device_config config;
    int served = 0;
    memset(&config, 0, sizeof config);
    config.sim.capacity_bytes = 320 * GIB;
    config.is_unjudged = 1;
    device *on = device_open(&config, &why);
    if (on && !policy_parse(name, limit_bytes, &chosen, &why) && !pool_open(&opened, &chosen, on, &why)) {
        served = play(stream, &opened, on, peaks);
        pool_close(&opened);
    }
    (void)device_close(on, NULL);
    return served;
}

static void check_peak(const golden_row *row, const op_stream *stream, int which)
{
    uint64_t peaks[2] = { 0, 0 }, expected = row->peak_bytes[which];
    int served = run(stream, golden_policies[which].name, 0, peaks);
    uint64_t found = peaks[golden_policies[which].of_device];
    CHECK_MSG(served && found == expected, "%s, seed %" PRIu64 ": %s reserves %" PRIu64 " bytes, expected %" PRIu64,
              row->workload, row->seed, golden_policies[which].name, found, expected);
}

/* Finds the smallest limit by the bisection that was done with the library, too: from the peak requested to twice as
   much, by 2 MiB. */
static void check_limit(const golden_row *row, const op_stream *stream, int which, uint64_t expected)
{
    const char *name = golden_policies[which].name;
    uint64_t low = stream->requested_peak_bytes / (2 * MIB), high = 2 * stream->requested_peak_bytes / (2 * MIB);
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (run(stream, name, middle * 2 * MIB, NULL)) high = middle;
        else low = middle;
    }
    double found = (double)(high * 2 * MIB) / (double)stream->requested_peak_bytes;
    double real = (double)expected / 10000;
    CHECK_MSG(found > real - 0.00005001 && found < real + 0.00005001, "%s: %s completes under a limit of %.4f of the "
              "peak, expected %.4f", row->workload, name, found, real);
}

static void check_row(const golden_row *row)
{
    const char *folder = getenv("GPUARENA_TRACES"), *file = strchr(row->workload, ':');
    char text[512];
    op_stream stream;
    workload_options options;
    memset(&options, 0, sizeof options);
    snprintf(text, sizeof text, "%s", row->workload);
    if (!strncmp(text, "replay:", 7)) {
        snprintf(text, sizeof text, "replay:%s/%s", folder ? folder : "../shared/traces", file + 1);
        if (access(text + 7, R_OK)) {
            SKIP("no %s: set GPUARENA_TRACES", text + 7);
            return;
        }
    } else {
        options.seed_given = 1;
        options.seed = row->seed;
    }
    int made = !workload_make(text, &options, &stream, &why);
    CHECK_MSG(made, "%s", text);
    if (!made) return;
    for (int which = 0; which < GOLDEN_POLICIES; which++) {
        if (row->peak_bytes[which]) check_peak(row, &stream, which);
    }
    if (row->limit) check_limit(row, &stream, PYTORCH, row->limit);
    if (row->limit_expandable) check_limit(row, &stream, EXPANDABLE, row->limit_expandable);
    op_stream_free(&stream);
}

/* RMM's arena takes half of free memory, and holds that, whatever is requested of it. */
static void test_rmm_arena(void)
{
    op_stream stream;
    workload_options options;
    uint64_t peaks[2] = { 0, 0 };
    memset(&options, 0, sizeof options);
    CHECK_INT(workload_make("pareto", &options, &stream, &why), ==, 0);
    CHECK(run(&stream, "rmm-arena", 0, peaks));
    CHECK_U64(peaks[0], ==, UINT64_C(171798691840));
    CHECK_U64(peaks[1], ==, UINT64_C(171798691840));
    op_stream_free(&stream);
}

int main(void)
{
    for (size_t at = 0; at < sizeof golden_rows / sizeof golden_rows[0]; at++) check_row(&golden_rows[at]);
    test_rmm_arena();
    return tap_done();
}

/* Devices through their seam: simulated ones, and CUDA's table on the libcudart substitute; the list of ranges.
   It must not know of policies or workloads. */
#include "device_bench.h"
#include "stress/device/cuda_table.h"
#include "stress/device/cuda_environment.h"
#include "stress/base/splitmix64.h"

static void test_simulated(void)
{
    device_config config = simulated(64 * MIB);
    uint64_t bad_offset = 0;
    forget();
    device *opened = device_open(&config, &why);
    if (!CHECK(opened != NULL)) return;
    CHECK(device_simulated(opened) != NULL && counted(opened).is_virtual);
    CHECK_U64(counted(opened).calls, ==, 0);
    uint64_t start_ns = sim_now_ns(device_simulated(opened));
    device_begin_op(opened, 0);
    CHECK_U64(sim_now_ns(device_simulated(opened)) - start_ns, ==, 2000);
    char *block = obtain(opened, 5 * MIB);
    CHECK(block != NULL && obtain(opened, 100 * MIB) == NULL);
    CHECK_U64(counted(opened).calls, ==, 2);
    CHECK_U64(counted(opened).held_bytes, ==, 6 * MIB);
    CHECK_U64(counted(opened).call_vns, ==, 120000 + 6 * 120 + 120000);
    CHECK(device_holds(opened, block, 5 * MIB) && !device_holds(opened, block + 1, 5 * MIB));
    CHECK_INT(device_fill(opened, NULL, block, 5 * MIB, 7, &why), ==, 0);
    CHECK_INT(device_verify(opened, block, 5 * MIB, 7, &bad_offset, &why), ==, 1);
    device_fill(opened, NULL, block + 100, 1, 8, &why);
    CHECK_INT(device_verify(opened, block, 5 * MIB, 7, &bad_offset, &why), ==, 0);
    CHECK_U64(bad_offset, ==, 100);
    CHECK_INT(give_back(opened, block, 5 * MIB), ==, 0);
    CHECK_U64(counted(opened).call_vns, ==, 120000 + 6 * 120 + 120000 + 75000 + 6 * 370);
    CHECK_U64(counted(opened).held_bytes, ==, 0);
    CHECK_U64(counted(opened).held_peak_bytes, ==, 6 * MIB);
    CHECK(device_finding(opened, 0) == NULL && counted(opened).findings == 0);
    give_back(opened, block, 5 * MIB);
    CHECK(device_finding(opened, 0) != NULL && counted(opened).findings == 1);
    device_close(opened, NULL);
}

static void test_bad_configurations(void)
{
    device_config config = simulated(UINT64_MAX);
    forget();
    CHECK(device_open(&config, &why) == NULL && why.exit_code == EXIT_USAGE);
    config = simulated(0);
    config.sim.faults = "bogus";
    forget();
    CHECK(device_open(&config, &why) == NULL && why.exit_code == EXIT_USAGE);
    config.is_cuda = 1;
    config.ordinal = 99;
    forget();
    CHECK_MSG(device_open(&config, &why) == NULL && why.exit_code == EXIT_NO_DEVICE, "CUDA device 99: %s", why.text);
    device_close(NULL, NULL);
}

/* Random ranges against a table of owners, one per unit. */
static void test_ranges(void)
{
    enum { UNITS = 512, ROUNDS = 20000 };
    static uint32_t owner[UNITS], length[UNITS];
    device_ranges ranges;
    uint64_t random = 9;
    int wrong = 0;
    memset(&ranges, 0, sizeof ranges);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t at = (uint32_t)(splitmix64_next(&random) % (UNITS - 16));
        uint32_t bytes = 1 + (uint32_t)(splitmix64_next(&random) % 16);
        wrong += device_ranges_hold(&ranges, at, 1) != (owner[at] != 0);
        if (length[at]) {
            uint32_t last = at + length[at] - 1;
            wrong += !device_ranges_hold(&ranges, at, length[at]) || device_ranges_hold(&ranges, at, length[at] + 1);
            wrong += !device_ranges_hold(&ranges, last, 1) || !device_ranges_remove(&ranges, at);
            for (uint32_t unit = at; unit <= last; unit++) owner[unit] = 0;
            length[at] = 0;
            continue;
        }
        wrong += device_ranges_remove(&ranges, at);
        uint32_t used = 0;
        for (uint32_t unit = at; unit < at + bytes; unit++) used |= owner[unit];
        if (used) continue;
        device_ranges_add(&ranges, at, bytes);
        for (uint32_t unit = at; unit < at + bytes; unit++) owner[unit] = at + 1;
        length[at] = bytes;
        wrong += device_ranges_bytes(&ranges) != 2 * MIB;
    }
    CHECK_INT(wrong, ==, 0);
    device_ranges_clear(&ranges);
    for (uint64_t bytes = MIB; bytes <= 3 * MIB; bytes += MIB) device_ranges_add(&ranges, bytes * 16, bytes);
    CHECK_U64(device_ranges_bytes(&ranges), ==, 2 * MIB + 2 * MIB + 4 * MIB);
    CHECK(device_ranges_hold(&ranges, 5, 0) && !device_ranges_hold(&ranges, UINT64_MAX, UINT64_MAX));
    device_ranges_clear(&ranges);
}

/* Pieces against a look at every granule: those that share one, those that reach into two, those that are gone. */
static void test_pieces(void)
{
    enum { GRANULES = 8, PLACES = 24, ROUNDS = 20000 };
    const uint64_t granule_bytes = 2 * MIB, step_bytes = GRANULES * granule_bytes / PLACES;
    uint64_t random = 10, sizes[PLACES] = { 0 };
    device_ranges ranges;
    int wrong = 0;
    memset(&ranges, 0, sizeof ranges);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t place = splitmix64_next(&random) % PLACES, used = 0;
        int is_held = sizes[place] != 0;
        sizes[place] = is_held ? 0 : 1 + splitmix64_next(&random) % (granule_bytes - 1);
        if (is_held) wrong += !device_ranges_remove(&ranges, place * step_bytes);
        else device_ranges_add(&ranges, place * step_bytes, sizes[place]);
        for (uint64_t granule = 0; granule <= GRANULES; granule++) {
            uint64_t start = granule * granule_bytes, tenants = 0;
            for (uint64_t at = 0; at < PLACES; at++) {
                uint64_t address = at * step_bytes;
                tenants += sizes[at] && address < start + granule_bytes && address + sizes[at] > start;
            }
            used += tenants > 0;
        }
        wrong += device_ranges_bytes(&ranges) != used * granule_bytes;
    }
    CHECK_INT(wrong, ==, 0);
    device_ranges_clear(&ranges);
}

#ifdef GPUARENA_NO_CUDA
static void test_cuda(void)
{
    SKIP("the CUDA side: this build is without CUDA");
}
#else

static void test_cuda_counts(void)
{
    cuda_bench bed;
    if (!cuda_bench_open(&bed)) return;
    device *opened = bed.opened;
    int current = -1;
    CHECK_MSG(!cudaGetDevice(&current) && current == 1, "it is the current device");
    CHECK(device_simulated(opened) == NULL && device_finding(opened, 0) == NULL && !counted(opened).is_virtual);
    device_begin_op(opened, 5);
    char *block = obtain(opened, 5 * MIB), *piece = obtain(opened, 1000);
    CHECK(block && piece && !obtain(opened, 1024 * MIB));
    CHECK_U64(counted(opened).calls, ==, 3);
    CHECK_U64(counted(opened).call_vns, ==, 0);
    CHECK_U64(counted(opened).held_bytes, ==, 8 * MIB);
    CHECK_U64(counted(opened).held_bytes, ==, cuda_bench_held(&bed));
    CHECK(device_holds(opened, block, 5 * MIB) && !device_holds(opened, block + 5 * MIB, 1));
    CHECK(device_holds(opened, piece + 999, 1) && !device_holds(opened, piece + 999, 2));
    CHECK_INT(give_back(opened, block, 5 * MIB), ==, 0);
    CHECK_U64(counted(opened).held_bytes, ==, 2 * MIB);
    CHECK_U64(counted(opened).held_peak_bytes, ==, 8 * MIB);
    CHECK_MSG(!device_holds(opened, block, 1), "what was given back is not held");
    obtain(opened, 3 * MIB);                     /* and left to device_close */
    cuda_bench_close(&bed);
}

/* Every size around the ends and the window of the check; every byte, changed, is seen where it is. */
static void test_cuda_contents(void)
{
    static const uint64_t sizes[] = { 1, 7, 8, 9, 15, 16, 17, 100, 4 * MIB - 1, 4 * MIB, 4 * MIB + 9, 9 * MIB + 3 };
    cuda_bench bed;
    if (!cuda_bench_open(&bed)) return;
    const uint64_t pattern = 12345678901u;
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; index++) {
        uint64_t bytes = sizes[index], bad_offset = 0, wrong = 0, step = bytes < 1000 ? 1 : bytes / 7;
        unsigned char *block = obtain(bed.opened, bytes), other;
        wrong += device_fill(bed.opened, NULL, block, bytes, pattern, &why) != 0;
        for (uint64_t at = 0; at < bytes; at += step) {
            unsigned char kept;
            wrong += device_verify(bed.opened, block, bytes, pattern, &bad_offset, &why) != 1;
            cudaMemcpy(&kept, block + at, 1, cudaMemcpyDeviceToHost);
            other = (unsigned char)(kept ^ 0x10);
            cudaMemcpy(block + at, &other, 1, cudaMemcpyHostToDevice);
            wrong += device_verify(bed.opened, block, bytes, pattern, &bad_offset, &why) != 0 || bad_offset != at;
            cudaMemcpy(block + at, &kept, 1, cudaMemcpyHostToDevice);
        }
        CHECK_MSG(wrong == 0, "%" PRIu64 " bytes: %" PRIu64 " answers are wrong", bytes, wrong);
        give_back(bed.opened, block, bytes);
    }
    cuda_bench_close(&bed);
}

/* Patterns of neighbours differ in the first and the last bytes, whatever their middle. */
static void test_cuda_neighbours(void)
{
    cuda_bench bed;
    uint64_t bad_offset = 0, mistaken = 0;
    if (!cuda_bench_open(&bed)) return;
    unsigned char *block = obtain(bed.opened, 64);
    for (uint64_t pattern = 1; pattern <= 300; pattern++) {
        device_fill(bed.opened, NULL, block, 64, pattern, &why);
        mistaken += device_verify(bed.opened, block, 64, pattern + 1, &bad_offset, &why) != 0;
        mistaken += device_verify(bed.opened, block, 64, pattern, &bad_offset, &why) != 1;
    }
    CHECK_U64(mistaken, ==, 0);
    cuda_bench_close(&bed);
}

/* What cannot be given back is said, with how much it is. */
static void test_cuda_kept(void)
{
    cuda_bench bed;
    if (!cuda_bench_open(&bed)) return;
    CHECK(obtain(bed.opened, 5 * MIB) && obtain(bed.opened, 100));
    sim_config machine;
    memset(&machine, 0, sizeof machine);
    machine.device_count = 2;
    sim *other = sim_create(&machine, &why);
    cudart_attach(other);                        /* where nothing of it is known */
    forget();
    CHECK_INT(device_close(bed.opened, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_HARNESS);
    CHECK_MSG(strstr(why.text, "5242980 bytes could not be given back to cuda:1: cudaError") != NULL, "%s", why.text);
    cudart_attach(NULL);
    sim_destroy(other);
    sim_destroy(bed.machine);
}

static void test_cuda(void)
{
    test_cuda_kept();
    test_cuda_counts();
    test_cuda_contents();
    test_cuda_neighbours();
}
#endif

int main(void)
{
    test_simulated();
    test_bad_configurations();
    test_ranges();
    test_pieces();
    test_cuda();
    return tap_done();
}

/* Two devices: an arena each, with its own limit and its own figures; the caller's current device stays current.
   Introduces gpuarena_driver_cuda, gpuarena_get_device, gpuarena_owner.
   Run: make build/examples/12_two_devices && build/examples/12_two_devices;
   without GPUs: GPUARENA_SIM=device=24G*2 LD_LIBRARY_PATH=build/sim .. */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

enum { MOST_DEVICES = 2 };

/* Opens an arena on a device that need not be the current one. */
static int open_arena(int device, uint64_t limit_bytes, gpuarena **arena)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_driver driver = GPUARENA_INIT;
    if (gpuarena_driver_cuda(device, &driver)) return example_failed();
    snprintf(config.name, sizeof config.name, "device %d", device);
    config.driver = &driver;                     /* copied */
    config.limit_bytes = limit_bytes;
    return gpuarena_create(&config, arena) ? example_failed() : 0;
}

static int show(gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_device device;
    gpuarena_get_stats(arena, &stats);
    if (gpuarena_get_device(arena, &device)) return example_failed();
    printf("device %" PRId32 ": live %" PRIu64 ", reserved %" PRIu64 ", limit %" PRIu64 " MiB; of %" PRIu64
           " MiB in all others hold %" PRId64 "\n", device.device, stats.live_bytes / MIB, stats.reserved_bytes / MIB,
           stats.limit_bytes / MIB, device.total_bytes / MIB, device.other_bytes / (int64_t)MIB);
    return 0;
}

/* Writes and reads memory on its own device. Only that device and those of config.peers can access paged memory. */
static int use(int device, void *memory)
{
    int current, failed;
    if (example_cuda(cudaGetDevice(&current), "cudaGetDevice")) return 1;
    if (example_cuda(cudaSetDevice(device), "cudaSetDevice")) return 1;
    failed = example_write(memory, 4 * KIB, 9) || example_compare(memory, 4 * KIB, 9);
    return example_cuda(cudaSetDevice(current), "cudaSetDevice") || failed;
}

/* Allocates blocks until the limit. The last one can be written and read, and gpuarena_owner finds its arena. */
static int fill(int device, gpuarena *arena)
{
    gpuarena_result result;
    void *last = NULL;
    do {
        result = gpuarena_alloc(arena, &last, 64 * MIB, NULL);
    } while (result == GPUARENA_OK);
    if (result != GPUARENA_OUT_OF_MEMORY || gpuarena_owner(last) != arena) return example_failed();
    example_explain(stdout, "one block of 64 MiB more");
    return use(device, last) || show(arena);
}

int main(void)
{
    static const uint64_t limits[MOST_DEVICES] = { 256 * MIB, 512 * MIB };
    gpuarena *arenas[MOST_DEVICES] = { NULL };
    int device_count, current, count, i;

    if (example_cuda(cudaGetDeviceCount(&device_count), "cudaGetDeviceCount")) return 1;
    count = device_count < MOST_DEVICES ? device_count : MOST_DEVICES;
    if (count < MOST_DEVICES) printf("one device only: the second arena is left out\n");
    if (example_cuda(cudaSetDevice(count - 1), "cudaSetDevice")) return 1;

    for (i = 0; i < count; i++)
        if (open_arena(i, limits[i], &arenas[i])) return 1;
    for (i = 0; i < count; i++)
        if (fill(i, arenas[i])) return 1;
    for (i = count - 1; i >= 0; i--) {           /* the last to be called is not on the current device */
        gpuarena_reset(arenas[i], NULL);
        if (gpuarena_destroy(arenas[i])) return example_failed();
    }

    if (example_cuda(cudaGetDevice(&current), "cudaGetDevice")) return 1;
    printf("device %d was made current, and device %d is\n", count - 1, current);
    return current != count - 1;
}

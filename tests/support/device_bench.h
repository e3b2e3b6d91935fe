/* What tests of devices share: simulated ones and CUDA's on a machine of ours, memory of theirs, and counters.
   It must not know what is tested.
   Included by test_device*.c. */
#ifndef TESTS_DEVICE_BENCH_H
#define TESTS_DEVICE_BENCH_H

#include "stress/device/device.h"
#include "tap.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda_runtime_api.h>

#include "stress/cudart/cudart.h"
#endif

#define MIB ((uint64_t)1 << 20)

static problem why;

static inline void forget(void)
{
    why.exit_code = 0;
    why.text[0] = '\0';
}

static inline device_config simulated(uint64_t capacity_bytes)
{
    device_config config;
    memset(&config, 0, sizeof config);
    config.sim.capacity_bytes = capacity_bytes;
    config.op_ns = 2000;
    return config;
}

static inline void *obtain(device *on, uint64_t bytes)
{
    const gpuarena_driver *driver = device_driver(on);
    void *ptr = NULL;
    return driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &ptr, bytes, NULL) ? NULL : ptr;
}

static inline int give_back(device *on, void *ptr, uint64_t bytes)
{
    const gpuarena_driver *driver = device_driver(on);
    return driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
}

static inline device_counters counted(const device *on)
{
    device_counters counters;
    device_count(on, &counters);
    return counters;
}

#ifndef GPUARENA_NO_CUDA
typedef struct cuda_bench {                      /* CUDA on a machine of ours */
    sim    *machine;
    device *opened;
} cuda_bench;

static inline int cuda_bench_open(cuda_bench *bed)
{
    sim_config machine;
    device_config config = simulated(0);
    memset(&machine, 0, sizeof machine);
    machine.device_count = 2;
    machine.capacity_bytes = 256 * MIB;
    forget();
    bed->machine = sim_create(&machine, &why);
    cudart_attach(bed->machine);
    config.is_cuda = 1;
    config.ordinal = 1;
    bed->opened = device_open(&config, &why);
    return CHECK_MSG(bed->opened != NULL, "a CUDA device opens on the substitute: %s", why.text);
}

static inline uint64_t cuda_bench_held(const cuda_bench *bed)
{
    sim_counters counters;
    sim_get_counters(bed->machine, 1, &counters);
    return counters.held_bytes;
}

static inline void cuda_bench_close(cuda_bench *bed)
{
    sim_counters counters;
    device_close(bed->opened, NULL);
    sim_get_counters(bed->machine, 1, &counters);
    CHECK_MSG(counters.calls[SIM_CALL_EVENT_DESTROY] >= counters.calls[SIM_CALL_EVENT_WITH_FLAGS],
              "every event is destroyed");
    CHECK_U64(cuda_bench_held(bed), ==, 0);
    CHECK_MSG(!sim_finding(bed->machine, 0), "no finding: %s",
              sim_finding(bed->machine, 0) ? sim_finding(bed->machine, 0) : "");
    cudart_attach(NULL);
    sim_destroy(bed->machine);
}
#endif

#endif

/* Shared parts of tests of the libcudart substitute and of the CUDA driver table: a simulated machine that serves all
   calls. It must not know the subjects of tests. Without the CUDA Toolkit they are skipped. */
#ifndef TESTS_CUDA_MACHINE_H
#define TESTS_CUDA_MACHINE_H

#include "tap.h"

#ifdef GPUARENA_NO_CUDA
#define CUDA_TEST_MAIN(run) int main(void) { printf("1..0 # SKIP no CUDA Toolkit\n"); return 0; }
#else
#define CUDA_TEST_MAIN(run) int main(void) { run(); return tap_done(); }

#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpuarena.h"
#include "sim_device.h"
#include "stress/cudart/cudart.h"

/* CHECK_CODE(call, cudaError..): the code that a call returns, by name. Evaluated once. */
#define CHECK_CODE(call, expected) CHECK_STR(cudaGetErrorName(call), cudaGetErrorName(expected))
#define CHECK_DONE(call) CHECK_CODE(call, cudaSuccess)

/* A machine that serves all calls from now on. */
static inline sim *cudart_open(uint32_t devices, uint64_t capacity_bytes, const char *fault_text)
{
    sim_config config = { devices, capacity_bytes, 0, NULL, fault_text, 0, 0 };
    sim *machine = bench_machine(&config);
    cudart_attach(machine);
    return machine;
}

static inline void cudart_close(sim *machine)
{
    cudart_attach(NULL);
    sim_destroy(machine);
}

/* Tests, each on a machine of its own: cudart_machine(), of devices of 1 GiB. */
typedef struct machine_test { void (*run)(void); uint32_t devices; const char *faults; } machine_test;

static inline void machine_tests(const machine_test *tests, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        sim *machine = cudart_open(tests[at].devices, GIB(1), tests[at].faults);
        tests[at].run();
        cudart_close(machine);
    }
}

/* Two devices of 1 GiB. */
static inline sim *machine_attach(const char *fault_text)
{
    return cudart_open(2, GIB(1), fault_text);
}

static inline uint64_t machine_held(const sim *machine, int device)
{
    sim_counters counters;
    sim_get_counters(machine, device, &counters);
    return counters.held_bytes;
}
#endif

#endif

/* What tests of the CUDA driver table share: a simulated machine behind the libcudart substitute, made from a fault text.
   It must not know what is tested. Included by tests/test_cuda_*.c; without the CUDA Toolkit they are skipped. */
#ifndef TESTS_CUDA_MACHINE_H
#define TESTS_CUDA_MACHINE_H

#include "tap.h"

#ifdef GPUARENA_NO_CUDA
#define CUDA_TEST_MAIN(run) int main(void) { printf("1..0 # SKIP no CUDA Toolkit\n"); return 0; }
#else
#define CUDA_TEST_MAIN(run) int main(void) { run(); return tap_done(); }

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include "../gpuarena.h"
#include "../stress/sim/cudart/cudart.h"

#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)

/* Two devices of 1 GiB. Ends the program if it cannot be made: nothing could be tested. The fault text must last. */
static inline sim *machine_attach(const char *faults)
{
    sim_config config = { 0, 0, 0, NULL, NULL };
    problem why = { 0, "" };
    config.device_count = 2;
    config.capacity_bytes = GIB(1);
    config.faults = faults;
    sim *machine = sim_create(&config, &why);
    if (!machine) {
        printf("Bail out! no simulated machine: %s\n", why.text);
        exit(1);
    }
    cudart_attach(machine);
    return machine;
}

static inline void machine_detach(sim *machine)
{
    cudart_attach(NULL);
    sim_destroy(machine);
}

static inline uint64_t machine_held(const sim *machine, int device)
{
    sim_counters counters;
    sim_get_counters(machine, device, &counters);
    return counters.held_bytes;
}
#endif

#endif

/* What tests of the CUDA driver table share: a simulated machine behind the libcudart substitute, made from a fault
   text. It must not know what is tested. Included by test_cuda_*.c; without the CUDA Toolkit they
   are skipped. */
#ifndef TESTS_CUDA_MACHINE_H
#define TESTS_CUDA_MACHINE_H

#include "tap.h"

#ifdef GPUARENA_NO_CUDA
#define CUDA_TEST_MAIN(run) int main(void) { printf("1..0 # SKIP no CUDA Toolkit\n"); return 0; }
#else
#define CUDA_TEST_MAIN(run) int main(void) { run(); return tap_done(); }

#include "gpuarena.h"
#include "test_cudart.h"

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

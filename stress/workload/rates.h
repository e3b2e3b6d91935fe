/* How long GPU work takes, for families whose kernels have shapes: a GPU of 2020 and its links, in round figures.
   It must not know of any one family.
   Tested by tests/test_workload_train.c, whose reference has the same figures. */
#ifndef STRESS_WORKLOAD_RATES_H
#define STRESS_WORKLOAD_RATES_H

enum {
    RATE_FLOPS_PER_NS = 200000,                  /* 200 TFLOP/s in 16-bit matrices */
    RATE_MEMORY_BYTES_PER_NS = 2000,             /* 2 TB/s */
    RATE_LINK_BYTES_PER_NS = 200,                /* 200 GB/s between GPUs */
    RATE_HOST_BYTES_PER_NS = 25                  /* 25 GB/s to and from the host: PCIe 4.0 x16 */
};

#endif

/* The common parts of examples: their device, bytes written to it and read back, a failure in words.
   It must not hide a call of the library that an example is about. Used by examples/ alone.
   With the CUDA Toolkit this is CUDA; without (GPUARENA_NO_CUDA) a simulated GPU of 80 GiB stands in. */
#ifndef EXAMPLES_EXAMPLE_H
#define EXAMPLES_EXAMPLE_H

#include "../gpuarena.h"
#include <inttypes.h>
#include <stdio.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

/* Prints why this thread's latest failed call failed. tried: the call, if its failure is the point of the example. */
static inline void example_explain(FILE *out, const char *tried)
{
    gpuarena_failure failure;
    char text[512];
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    if (tried) fprintf(out, "%s -> %s\n    ", tried, gpuarena_result_name(failure.result));
    fprintf(out, "%s\n", text);
}

/* For `return example_failed();` if a failure was not expected. */
static inline int example_failed(void)
{
    example_explain(stderr, NULL);
    return 1;
}

#ifndef GPUARENA_NO_CUDA
#include <cuda_runtime_api.h>

/* NULL, the default of a configuration: CUDA's current device. */
static inline const gpuarena_driver *example_driver(void)
{
    return NULL;
}

/* Prints a failed call. Like for cudaError_t, 0 is success. */
static inline int example_cuda(cudaError_t code, const char *call)
{
    if (code) fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    return (int)code;
}

/* Sets every byte of device memory. 0: done. */
static inline int example_write(void *memory, uint64_t bytes, unsigned char value)
{
    return example_cuda(cudaMemset(memory, value, (size_t)bytes), "cudaMemset");
}

/* Copies device memory to the host. 0: every byte has this value. */
static inline int example_compare(const void *memory, uint64_t bytes, unsigned char value)
{
    unsigned char piece[4096];
    uint64_t done, i, piece_bytes;
    for (done = 0; done < bytes; done += piece_bytes) {
        cudaError_t code;
        piece_bytes = bytes - done < sizeof piece ? bytes - done : sizeof piece;
        code = cudaMemcpy(piece, (const char *)memory + done, (size_t)piece_bytes, cudaMemcpyDeviceToHost);
        if (example_cuda(code, "cudaMemcpy")) return 1;
        for (i = 0; i < piece_bytes; i++)
            if (piece[i] != value)
                return fprintf(stderr, "byte %" PRIu64 " is %d, not %d\n", done + i, piece[i], value), 1;
    }
    return 0;
}

#else
#include "../stress/sim/sim.h"

static inline sim *example_machine(void)
{
    static const sim_config defaults = {0};
    static sim *machine;
    problem trouble = {0};
    if (!machine) machine = sim_create(&defaults, &trouble);
    return machine;
}

/* The driver table of the simulated device. If there is none, it is all zero, and gpuarena_create refuses it. */
static inline const gpuarena_driver *example_driver(void)
{
    static gpuarena_driver driver;
    if (example_machine()) sim_driver(example_machine(), 0, &driver);
    return &driver;
}

static inline int example_write(void *memory, uint64_t bytes, unsigned char value)
{
    sim_fill(example_machine(), 0, memory, bytes, value);
    return 0;
}

static inline int example_compare(const void *memory, uint64_t bytes, unsigned char value)
{
    uint64_t offset = 0;
    if (sim_verify(example_machine(), 0, memory, bytes, value, &offset)) return 0;
    return fprintf(stderr, "byte %" PRIu64 " is not %d\n", offset, value), 1;
}
#endif

#endif

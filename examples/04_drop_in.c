/* Drop-in: an existing CUDA program whose cudaMalloc and cudaFree go to a pool; the rest of it stays as it was.
   Introduces nothing new: two functions and two macros over gpuarena_alloc and gpuarena_free.
   Run: make build/examples/04_drop_in && build/examples/04_drop_in;
   without a GPU: with LD_LIBRARY_PATH=build/sim before it */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"
#include <stdlib.h>

/* ---- The added part. In a larger program: a header of its own, included after cuda_runtime_api.h. */
static gpuarena *pool;                           /* on the device that was current when it was made */

/* The answer that cudaMalloc would have given: the driver's own code, if the driver failed. cudaGetLastError does not
   return it: a program that ignores cudaMalloc's own answer has to be changed. */
static cudaError_t pool_error(gpuarena_result result)
{
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    if (result == GPUARENA_OK) return cudaSuccess;
    if (result == GPUARENA_OUT_OF_MEMORY || result == GPUARENA_HOST_MEMORY) return cudaErrorMemoryAllocation;
    return failure.driver_code ? (cudaError_t)failure.driver_code : cudaErrorInvalidValue;
}

static cudaError_t pool_malloc(void **ptr, size_t bytes)
{
    return pool_error(gpuarena_alloc(pool, ptr, bytes, NULL));
}

/* Unlike cudaFree this does not wait for the GPU. Work of the default stream on the memory may be under way, because
   the memory's next user comes after it on that stream. Work on other streams must have been waited for. */
static cudaError_t pool_free(void *ptr)
{
    return pool_error(gpuarena_free(pool, ptr, NULL));
}

#define cudaMalloc(ptr, bytes) pool_malloc((void **)(ptr), bytes)
#define cudaFree(ptr)          pool_free(ptr)

/* ---- The unchanged program, but for the two lines in main that make the pool and end it */
#define CHECK(call) \
    do { \
        cudaError_t code = (call); \
        if (code) return fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code)), 1; \
    } while (0)

/* Numbers go to the device, half of them are cleared there, all come back. 0: they are right. */
static int round_trip(float *numbers, size_t count, int round)
{
    float *device_numbers;
    size_t half_bytes = count / 2 * sizeof *numbers, i, wrong = 0;
    for (i = 0; i < count; i++) numbers[i] = (float)(i + (size_t)round + 1);

    CHECK(cudaMalloc(&device_numbers, 2 * half_bytes));
    CHECK(cudaMemcpy(device_numbers, numbers, 2 * half_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_numbers + count / 2, 0, half_bytes));
    CHECK(cudaMemcpy(numbers, device_numbers, 2 * half_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_numbers));

    for (i = 0; i < count; i++) {
        int same = i < count / 2 ? numbers[i] == (float)(i + (size_t)round + 1) : numbers[i] == 0;
        wrong += !same;
    }
    if (wrong) fprintf(stderr, "round %d: %zu of %zu numbers are wrong\n", round, wrong, count);
    return wrong != 0;
}

static int program(void)
{
    enum { ROUND_COUNT = 500, COUNT = 3000 };
    float *numbers = malloc(COUNT * sizeof *numbers);
    int round, failed = !numbers;
    for (round = 0; round < ROUND_COUNT && !failed; round++) failed = round_trip(numbers, COUNT, round);
    free(numbers);
    if (!failed) printf("%d rounds of %d numbers to the device and back: all right\n", ROUND_COUNT, COUNT);
    return failed;
}

int main(void)
{
    gpuarena_stats stats;
    void *never;
    if (gpuarena_create(NULL, &pool)) return example_failed();
    if (program()) return 1;

    gpuarena_get_stats(pool, &stats);
    printf("%" PRIu64 " calls of cudaMalloc and cudaFree, %" PRIu64 " of them reached the driver\n",
           stats.alloc_count + stats.free_count, stats.driver_call_count);
    printf("far too much: %s\n", cudaGetErrorName(cudaMalloc(&never, SIZE_MAX / 4)));
    printf("a pointer that is not of the pool: %s\n", cudaGetErrorName(cudaFree(&stats)));
    return gpuarena_destroy(pool) ? example_failed() : 0;
}

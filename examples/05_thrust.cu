/* Thrust: vectors and algorithms whose device memory, temporary buffers too, comes from an arena.
   Introduces gpuarena.hpp's resource for Thrust.
   Run: make build/examples/05_thrust && build/examples/05_thrust;
   without a GPU (no kernel can run there): with LD_LIBRARY_PATH=build/sim */
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.hpp"
#include "example.h"
#include <algorithm>
#include <cuda_runtime.h>
#include <exception>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/mr/allocator.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>

/* A resource of one stream. It must outlive all memory that is allocated from it. */
using arena_resource = gpuarena_cxx::thrust_resource;
template <class T> using arena_allocator = thrust::mr::allocator<T, arena_resource>;
template <class T> using arena_vector = thrust::device_vector<T, arena_allocator<T>>;

/* ---- The use of the resource */
static thrust::host_vector<int> scattered_numbers()
{
    thrust::host_vector<int> numbers(100000);
    for (std::size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<int>(i * 7919 % 100003);
    return numbers;
}

/* Vectors are made from ranges, which are copied. A vector made from a count would be filled by a kernel. */
static bool copies_are_the_same(arena_resource &resource)
{
    const thrust::host_vector<int> numbers = scattered_numbers();
    thrust::host_vector<int> back(numbers.size());
    arena_vector<int> first(numbers.begin(), numbers.end(), arena_allocator<int>(&resource));
    arena_vector<int> second(first);
    thrust::copy(second.begin(), second.end(), back.begin());
    std::printf("%zu numbers to the device, copied there, and back: %s\n", numbers.size(),
                back == numbers ? "the same" : "NOT THE SAME");
    return back == numbers;
}

static bool sorts(arena_resource &resource)
{
    thrust::host_vector<int> numbers = scattered_numbers();
    arena_allocator<char> temporary(&resource);
    arena_vector<int> sorted(numbers.begin(), numbers.end(), arena_allocator<int>(&resource));
    thrust::sort(thrust::cuda::par(temporary), sorted.begin(), sorted.end());
    thrust::copy(sorted.begin(), sorted.end(), numbers.begin());
    const bool in_order = std::is_sorted(numbers.begin(), numbers.end());
    std::printf("sorted on the device: %s\n", in_order ? "in order" : "NOT IN ORDER");
    return in_order;
}

/* The simulated GPU has memory and no processors: it answers every launch with cudaErrorNotSupported. */
static bool sorts_where_kernels_run(arena_resource &resource)
{
    try {
        return sorts(resource);
    } catch (const thrust::system_error &error) {
        if (error.code().value() != cudaErrorNotSupported) throw;
        std::printf("sort left out: no kernel can run here (%s)\n", cudaGetErrorName(cudaErrorNotSupported));
        (void)cudaGetLastError();                /* clears the error */
        return true;
    }
}

static int run(gpuarena *arena)
{
    gpuarena_stats stats;
    arena_resource resource(arena, NULL);
    if (!copies_are_the_same(resource) || !sorts_where_kernels_run(resource)) return 1;
    gpuarena_get_stats(arena, &stats);
    std::printf("%" PRIu64 " blocks live, at most %" PRIu64 " MiB held\n", stats.live_count,
                stats.reserved_peak_bytes / MIB);
    return 0;
}

int main()
{
    gpuarena *arena;
    int status;
    if (gpuarena_create(NULL, &arena)) return example_failed();
    try {
        status = run(arena);
    } catch (const std::bad_alloc &) {
        status = example_failed();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
    }
    return gpuarena_destroy(arena) ? example_failed() : status;
}

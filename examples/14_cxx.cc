/* C++: an arena that ends by itself, failures as exceptions, and resources for CUDA's libraries and std::pmr.
   Introduces gpuarena.hpp, which is for you to copy.
   Run: make build/examples/14_cxx && build/examples/14_cxx; without a GPU: with LD_LIBRARY_PATH=build/sim */
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.hpp"
#include <cuda_runtime_api.h>
#include <cstdio>
#include <vector>

static void on_device()
{
    gpuarena_cxx::arena pool("limit=64M");
    void *block = gpuarena_cxx::allocate(pool, 1 << 20, 0, nullptr);
    std::printf("live: %llu bytes\n", static_cast<unsigned long long>(pool.stats().live_bytes));
    gpuarena_cxx::check(gpuarena_free(pool, block, nullptr));
    try {
        gpuarena_cxx::allocate(pool, 65 << 20, 0, nullptr);
    } catch (const std::bad_alloc &failure) {
        std::printf("refused: %s\n", failure.what());
    }
}

#if __has_include(<cuda/memory_resource>)
static void with_cuda_libraries()
{
    gpuarena_cxx::arena pool("limit=64M");
    gpuarena_cxx::resource memory(pool);
    cudaStream_t stream;
    void *block;
    if (cudaStreamCreate(&stream)) throw std::runtime_error("cudaStreamCreate failed");
#if CCCL_VERSION >= 3001000
    cuda::mr::any_resource<cuda::mr::device_accessible> any(memory);
    block = any.allocate(cuda::stream_ref{stream}, 1000, 256);
    any.deallocate(cuda::stream_ref{stream}, block, 1000, 256);
#else
    cuda::mr::async_resource_ref<cuda::mr::device_accessible> any(memory);
    block = any.allocate_async(1000, 256, cuda::stream_ref{stream});
    any.deallocate_async(block, 1000, 256, cuda::stream_ref{stream});
#endif
    std::printf("cuda::mr: %llu allocations, %llu live\n", static_cast<unsigned long long>(pool.stats().alloc_count),
                static_cast<unsigned long long>(pool.stats().live_count));
    gpuarena_forget(pool, stream);
    cudaStreamDestroy(stream);
}
#else
static void with_cuda_libraries() { std::printf("cuda::mr: not found\n"); }
#endif

static void on_host()
{
    gpuarena_cxx::arena pool("backing=pinned,limit=64M");
    gpuarena_cxx::pmr_resource memory(pool);
    std::pmr::vector<int> numbers(&memory);
    for (int number = 0; number < 1000; number++) numbers.push_back(number);
    std::printf("std::pmr: %d numbers, %llu live blocks\n", static_cast<int>(numbers.size()),
                static_cast<unsigned long long>(pool.stats().live_count));
}

int main()
{
    try {
        on_device();
        with_cuda_libraries();
        on_host();
        return 0;
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}

// gpuarena for C++17 with exceptions and RTTI, for you to copy beside gpuarena.h: an arena that ends by itself,
// failures as exceptions, and memory resources over it for CUDA's libraries and the standard one:
//     gpuarena_cxx::arena           owns an arena: moved, not copied
//     gpuarena_cxx::bad_alloc       a std::bad_alloc whose what() is gpuarena's sentence
//     gpuarena_cxx::resource        cuda::mr, of CCCL 3.0 and of 3.1 and later (RMM 26.06 and later take it, too)
//     gpuarena_cxx::thrust_resource thrust::mr, for one stream
//     gpuarena_cxx::pmr_resource    std::pmr, for memory that the host reads: backing pinned or managed
// Each part is there if its library's header was found. One file of the program has gpuarena.h's implementation.
// A resource is a reference: the arena must outlive it, and all memory that was allocated by it.
// Used by 14_cxx.cc; tested by tests/real/examples.t.
#ifndef GPUARENA_HPP
#define GPUARENA_HPP

#include "gpuarena.h"
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#if __has_include(<cuda/memory_resource>)
#ifndef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE   /* CCCL 3.0 asks for it */
#endif
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#endif
#if __has_include(<thrust/mr/memory_resource.h>) && defined(__CUDACC__)
#include <thrust/mr/memory_resource.h>
#include <thrust/system/cuda/memory.h>
#define GPUARENA_CXX_THRUST 1
#endif

namespace gpuarena_cxx {

// gpuarena's sentence about this thread's latest failure.
inline std::string sentence()
{
    gpuarena_failure failure;
    char text[512];
    gpuarena_last_failure(nullptr, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    return text;
}

class bad_alloc final : public std::bad_alloc {
public:
    explicit bad_alloc(std::string text) : text_(std::move(text)) {}
    const char *what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

// Throws for a result that is not OK: bad_alloc for lack of memory, std::runtime_error otherwise.
inline void check(gpuarena_result result)
{
    if (result == GPUARENA_OK) return;
    if (result == GPUARENA_OUT_OF_MEMORY || result == GPUARENA_HOST_MEMORY) throw bad_alloc(sentence());
    throw std::runtime_error(sentence());
}

inline void *allocate(gpuarena *arena, std::size_t bytes, std::size_t alignment, gpuarena_stream stream)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = nullptr;
    request.bytes = bytes;
    request.alignment_bytes = alignment;
    request.stream = stream;
    check(gpuarena_alloc_ex(arena, &ptr, &request));
    return ptr;
}

// Owns an arena. Blocks that are still live when it ends are freed, after the work on them. An arena that then has
// sub-arenas, imports or a capture set lives on without an owner.
class arena {
public:
    explicit arena(const gpuarena_config &config) { check(gpuarena_create(&config, &handle_)); }
    // Text as in GPUARENA_CONF: "limit=4G,growth=step".
    explicit arena(const char *text = "")
    {
        gpuarena_config config = GPUARENA_INIT;
        char message[256];
        if (gpuarena_config_parse(text, &config, message, sizeof message)) throw std::invalid_argument(message);
        check(gpuarena_create(&config, &handle_));
    }
    arena(arena &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    arena &operator=(arena &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    arena(const arena &) = delete;
    arena &operator=(const arena &) = delete;
    ~arena()
    {
        if (handle_ && gpuarena_destroy(handle_) == GPUARENA_STILL_IN_USE) {
            gpuarena_reset(handle_, GPUARENA_OWN_STREAM);
            gpuarena_destroy(handle_);
        }
    }

    gpuarena *get() const noexcept { return handle_; }
    operator gpuarena *() const noexcept { return handle_; }
    gpuarena_stats stats() const
    {
        gpuarena_stats stats;
        gpuarena_get_stats(handle_, &stats);
        return stats;
    }

private:
    gpuarena *handle_ = nullptr;
};

#if __has_include(<cuda/memory_resource>)
// Memory of synchronous calls serves every stream, and must be freed only when the GPU is done with it.
class resource {
public:
    explicit resource(gpuarena *arena) noexcept : arena_(arena) {}

    // CCCL 3.1 and later
    void *allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = 256)
    {
        return gpuarena_cxx::allocate(arena_, bytes, alignment, stream.get());
    }
    void deallocate(cuda::stream_ref stream, void *ptr, std::size_t, std::size_t = 256) noexcept
    {
        (void)gpuarena_free(arena_, ptr, stream.get());
    }
    void *allocate_sync(std::size_t bytes, std::size_t alignment = 256)
    {
        return gpuarena_cxx::allocate(arena_, bytes, alignment, GPUARENA_ANY_STREAM);
    }
    void deallocate_sync(void *ptr, std::size_t, std::size_t = 256) noexcept
    {
        (void)gpuarena_free(arena_, ptr, GPUARENA_ANY_STREAM);
    }

    // CCCL 3.0
    void *allocate(std::size_t bytes, std::size_t alignment = 256) { return allocate_sync(bytes, alignment); }
    void deallocate(void *ptr, std::size_t bytes, std::size_t = 256) noexcept { deallocate_sync(ptr, bytes); }
    void *allocate_async(std::size_t bytes, std::size_t alignment, cuda::stream_ref stream)
    {
        return allocate(stream, bytes, alignment);
    }
    void *allocate_async(std::size_t bytes, cuda::stream_ref stream) { return allocate(stream, bytes); }
    void deallocate_async(void *ptr, std::size_t bytes, std::size_t, cuda::stream_ref stream) noexcept
    {
        deallocate(stream, ptr, bytes);
    }
    void deallocate_async(void *ptr, std::size_t bytes, cuda::stream_ref stream) noexcept
    {
        deallocate(stream, ptr, bytes);
    }

    bool operator==(const resource &other) const noexcept { return arena_ == other.arena_; }
    bool operator!=(const resource &other) const noexcept { return arena_ != other.arena_; }
#if CCCL_VERSION >= 3002000
    using default_queries = cuda::mr::properties_list<cuda::mr::device_accessible>;
#endif
    friend constexpr void get_property(const resource &, cuda::mr::device_accessible) noexcept {}

private:
    gpuarena *arena_;
};
#if CCCL_VERSION >= 3001000
static_assert(cuda::mr::resource_with<resource, cuda::mr::device_accessible>, "CCCL's concept has changed");
#else
static_assert(cuda::mr::async_resource_with<resource, cuda::mr::device_accessible>, "CCCL's concept has changed");
#endif
#endif

#ifdef GPUARENA_CXX_THRUST
class thrust_resource final : public thrust::mr::memory_resource<thrust::cuda::pointer<void>> {
public:
    thrust_resource(gpuarena *arena, gpuarena_stream stream) noexcept : arena_(arena), stream_(stream) {}

    pointer do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        return pointer(gpuarena_cxx::allocate(arena_, bytes, alignment, stream_));
    }
    void do_deallocate(pointer ptr, std::size_t, std::size_t) override
    {
        (void)gpuarena_free(arena_, ptr.get(), stream_);
    }

private:
    gpuarena *arena_;
    gpuarena_stream stream_;
};
#endif

#if __has_include(<memory_resource>)
class pmr_resource final : public std::pmr::memory_resource {
public:
    // The host writes to this memory. Arenas whose memory only the device can access are refused.
    explicit pmr_resource(gpuarena *arena) : arena_(arena)
    {
        gpuarena_config config;
        gpuarena_get_config(arena, &config);
        if (config.backing != GPUARENA_BACKING_PINNED && config.backing != GPUARENA_BACKING_MANAGED)
            throw std::invalid_argument("gpuarena_cxx::pmr_resource: the arena's backing must be pinned or managed");
    }

private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        // std::pmr wants an address even for no bytes
        return gpuarena_cxx::allocate(arena_, bytes ? bytes : 1, alignment, GPUARENA_ANY_STREAM);
    }
    void do_deallocate(void *ptr, std::size_t, std::size_t) override
    {
        (void)gpuarena_free(arena_, ptr, GPUARENA_ANY_STREAM);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        const pmr_resource *same = dynamic_cast<const pmr_resource *>(&other);
        return same && same->arena_ == arena_;
    }

    gpuarena *arena_;
};
#endif

} // namespace gpuarena_cxx

#endif

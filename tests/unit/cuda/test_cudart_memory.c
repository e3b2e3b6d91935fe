/* The libcudart substitute: device memory, pinned memory, what a pointer is; two devices; frees that must not be.
   Must not know how memory is laid out. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "test_cudart.h"

static sim_counters counted(const sim *machine, int device)
{
    sim_counters counters;
    sim_get_counters(machine, device, &counters);
    return counters;
}

static void test_malloc_and_free(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    void *block = NULL, *piece = NULL, *untouched = machine;
    size_t free_bytes = 0, total_bytes = 0;
    CHECK_DONE(cudaMalloc(&block, MIB(3)));
    CHECK_DONE(cudaMalloc(&piece, 1000));
    CHECK_MSG((uintptr_t)block % MIB(2) == 0 && (uintptr_t)piece % 256 == 0 && block != piece, "aligned and apart");
    CHECK_DONE(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK(free_bytes == GIB(1) - MIB(6) && total_bytes == GIB(1));
    CHECK_CODE(cudaMalloc(&untouched, GIB(1)), cudaErrorMemoryAllocation);
    CHECK_CODE(cudaMalloc(&untouched, SIZE_MAX), cudaErrorMemoryAllocation);
    CHECK_MSG(untouched == (void *)machine, "a failed cudaMalloc leaves its output alone");
    CHECK_CODE(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    CHECK_DONE(cudaMalloc(&untouched, 0));
    CHECK(untouched == NULL);
    CHECK_DONE(cudaFree(NULL));
    CHECK_CODE(cudaMemGetInfo(NULL, &total_bytes), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemGetInfo(&free_bytes, NULL), cudaErrorInvalidValue);
    CHECK_DONE(cudaFree(block));
    CHECK_DONE(cudaFree(piece));
    CHECK_U64(counted(machine, 0).held_bytes, ==, 0);
    CHECK_U64(counted(machine, 0).calls[SIM_CALL_OBTAIN], ==, 6);
    CHECK_U64(counted(machine, 0).calls[SIM_CALL_GIVE_BACK], ==, 3);
    CHECK_U64(counted(machine, 0).vns[SIM_CALL_GIVE_BACK], ==, 75000 + 4 * 370 + 75000 + 2 * 370);
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

static void test_frees_that_must_not_be(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    char *block;
    int host;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(4)));
    CHECK_CODE(cudaFree(block + 256), cudaErrorInvalidValue);
    CHECK_CODE(cudaFree(&host), cudaErrorInvalidValue);
    CHECK_DONE(cudaFree(block));
    CHECK_CODE(cudaFree(block), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 3);
    CHECK(strstr(sim_finding(machine, 0), "cudaFree of +0x200000") == NULL);
    CHECK(strstr(sim_finding(machine, 0), "lies 256 bytes inside +0x200000 of 4194304 bytes") != NULL);
    CHECK(strstr(sim_finding(machine, 1), "an address of no device") != NULL);
    CHECK(strstr(sim_finding(machine, 2), "cudaFree of +0x200000, which is not held now") != NULL);
    cudart_close(machine);
}

static void test_another_device_is_current(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    void *first, *second;
    struct cudaPointerAttributes is;
    CHECK_DONE(cudaMalloc(&first, MIB(2)));
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc(&second, MIB(8)));
    CHECK_U64(counted(machine, 0).held_bytes, ==, MIB(2));
    CHECK_U64(counted(machine, 1).held_bytes, ==, MIB(8));
    CHECK_DONE(cudaPointerGetAttributes(&is, first));
    CHECK(is.type == cudaMemoryTypeDevice && is.device == 0 && is.devicePointer == first && is.hostPointer == NULL);
    CHECK_DONE(cudaPointerGetAttributes(&is, (char *)second + MIB(8) - 1));
    CHECK(is.type == cudaMemoryTypeDevice && is.device == 1);
    CHECK_DONE(cudaFree(first));
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaFree(second));
    CHECK_MSG(counted(machine, 0).held_bytes == 0 && counted(machine, 1).held_bytes == 0, "freed from the other one");
    CHECK_DONE(cudaPointerGetAttributes(&is, second));
    CHECK_MSG(is.type == cudaMemoryTypeUnregistered, "an address that is held no more is like any other");
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

static void test_pinned_memory(void)
{
    enum { BLOCKS = 100 };
    sim *machine = cudart_open(1, GIB(1), NULL);
    struct cudaPointerAttributes is;
    void *blocks[BLOCKS], *none = machine;
    int wrong = 0;
    for (int i = 0; i < BLOCKS; i++) {
        wrong += i % 2 ? cudaMallocHost(&blocks[i], 1 + 1000 * (size_t)i) != cudaSuccess
                       : cudaHostAlloc(&blocks[i], 1 + 1000 * (size_t)i, cudaHostAllocPortable) != cudaSuccess;
        memset(blocks[i], i, 1 + 1000 * (size_t)i);
    }
    for (int i = 0; i < BLOCKS; i++) {
        wrong += cudaPointerGetAttributes(&is, (char *)blocks[i] + 1000 * (size_t)i) != cudaSuccess;
        wrong += is.type != cudaMemoryTypeHost || is.device != 0 || !is.hostPointer || ((char *)blocks[i])[0] != i;
    }
    CHECK_DONE(cudaPointerGetAttributes(&is, (char *)blocks[1] + 1001));
    CHECK_MSG(is.type == cudaMemoryTypeUnregistered, "what lies behind a block is not pinned");
    for (int i = 0; i < BLOCKS; i++) wrong += cudaFreeHost(blocks[i * 37 % BLOCKS]) != cudaSuccess;
    CHECK_INT(wrong, ==, 0);
    CHECK_DONE(cudaPointerGetAttributes(&is, &wrong));
    CHECK(is.type == cudaMemoryTypeUnregistered && is.device == cudaInvalidDeviceId && !is.devicePointer);
    CHECK_CODE(cudaPointerGetAttributes(NULL, &wrong), cudaErrorInvalidValue);
    CHECK_DONE(cudaMallocHost(&none, 0));
    CHECK(none == NULL);
    CHECK_DONE(cudaFreeHost(NULL));
    CHECK_CODE(cudaMallocHost(NULL, 1), cudaErrorInvalidValue);
    CHECK_CODE(cudaHostAlloc(&none, 1, 0x80), cudaErrorInvalidValue);
    CHECK_CODE(cudaMallocHost(&none, SIZE_MAX / 2), cudaErrorMemoryAllocation);
    CHECK_U64(sim_finding_count(machine), ==, 0);
    CHECK_CODE(cudaFreeHost(&wrong), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 1);
    CHECK_U64(counted(machine, 0).held_bytes, ==, 0);
    cudart_close(machine);
}

/* What a pinned pointer says of its device is who was current when it was made, not who asks. */
static void test_pinned_memory_is_a_devices(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    struct cudaPointerAttributes is;
    void *ptr;
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMallocHost(&ptr, 100));
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaPointerGetAttributes(&is, ptr));
    CHECK(is.type == cudaMemoryTypeHost && is.device == 1 && is.hostPointer == ptr && is.devicePointer == ptr);
    CHECK_DONE(cudaDeviceReset());
    CHECK_DONE(cudaPointerGetAttributes(&is, ptr));
    CHECK_MSG(is.type == cudaMemoryTypeHost, "the reset of another device leaves it alone");
    CHECK_DONE(cudaFreeHost(ptr));
    cudart_close(machine);
}

static void test_pitch(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    void *block;
    size_t pitch = 0;
    CHECK_DONE(cudaMallocPitch(&block, &pitch, 1000, 5000));
    CHECK_U64(pitch, ==, 1024);
    CHECK(sim_holds(machine, 0, block, 1024 * 5000) && !sim_holds(machine, 0, block, 1024 * 5000 + 1));
    CHECK_DONE(cudaFree(block));
    CHECK_CODE(cudaMallocPitch(&block, &pitch, SIZE_MAX - 5, 1), cudaErrorInvalidValue);
    CHECK_CODE(cudaMallocPitch(&block, &pitch, SIZE_MAX / 2, 3), cudaErrorInvalidValue);
    CHECK_CODE(cudaMallocPitch(&block, &pitch, GIB(1), 2), cudaErrorMemoryAllocation);
    CHECK_CODE(cudaMallocPitch(&block, NULL, 1, 1), cudaErrorInvalidValue);
    CHECK_U64(pitch, ==, 1024);
    CHECK_DONE(cudaMallocPitch(&block, &pitch, 513, 0));
    CHECK(block == NULL && pitch == 1024);
    CHECK_DONE(cudaMallocPitch(&block, &pitch, 512, 2));
    CHECK(pitch == 512 && sim_holds(machine, 0, block, 1024) && !sim_holds(machine, 0, block, 1025));
    cudart_close(machine);
}

static void test_lies(void)
{
    sim *machine = cudart_open(1, GIB(1), "null:1;misaligned:2;overlap:4");
    void *none = machine, *odd, *block, *again;
    CHECK_DONE(cudaMalloc(&none, MIB(2)));
    CHECK_DONE(cudaMalloc(&odd, MIB(2)));
    CHECK_DONE(cudaMalloc(&block, MIB(2)));
    CHECK_DONE(cudaMalloc(&again, MIB(2)));
    CHECK(none == NULL && (uintptr_t)odd % 256 != 0 && again == block);
    CHECK_U64(counted(machine, 0).lies_held, ==, 2);
    CHECK_DONE(cudaFree(odd));
    CHECK_DONE(cudaFree(again));
    CHECK_MSG(counted(machine, 0).lies_held == 0 && counted(machine, 0).held_bytes == MIB(2), "the lie goes first");
    CHECK_DONE(cudaFree(block));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

int main(void)
{
    test_malloc_and_free();
    test_frees_that_must_not_be();
    test_another_device_is_current();
    test_pinned_memory();
    test_pinned_memory_is_a_devices();
    test_pitch();
    test_lies();
    return tap_done();
}
#endif

/* The libcudart substitute: devices, what they say of themselves, peers, reset.
   Must not know what memory holds. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include <pthread.h>

#include "test_cudart.h"

static void *current_of_a_thread(void *unused)
{
    static int devices[2] = { -1, -1 };
    (void)unused;
    cudaGetDevice(&devices[0]);
    cudaSetDevice(2);
    cudaGetDevice(&devices[1]);
    return devices;
}

static void test_current_device(void)
{
    sim *machine = cudart_open(3, GIB(1), NULL);
    pthread_t thread;
    void *told = NULL;
    int count = 0, device = -1;
    CHECK_DONE(cudaGetDeviceCount(&count));
    CHECK_INT(count, ==, 3);
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_INT(device, ==, 0);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_CODE(cudaSetDevice(3), cudaErrorInvalidDevice);
    CHECK_CODE(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_INT(pthread_create(&thread, NULL, current_of_a_thread, NULL), ==, 0);
    pthread_join(thread, &told);
    const int *devices = told;
    CHECK_MSG(devices[0] == 0 && devices[1] == 2, "a thread starts with device 0 and has its own");
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_INT(device, ==, 1);
    CHECK_CODE(cudaGetDevice(NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaGetDeviceCount(NULL), cudaErrorInvalidValue);
    cudart_close(machine);
}

static void test_contexts_cost_time(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    int count;
    CHECK_DONE(cudaGetDeviceCount(&count));
    CHECK_MSG(sim_now_ns(machine) == 0, "counting devices creates no context");
    CHECK_DONE(cudaFree(NULL));
    uint64_t one = sim_now_ns(machine);
    CHECK_U64(one, ==, 150000000);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaDeviceSynchronize());
    CHECK_U64(sim_now_ns(machine), ==, 2 * one + 300 + 5000);
    cudart_close(machine);
}

static void test_attributes_and_properties(void)
{
    sim *machine = cudart_open(2, GIB(24), NULL);
    struct cudaDeviceProp first, second;
    int value = -1, wrong = 0;
    CHECK_DONE(cudaGetDeviceProperties(&first, 0));
    CHECK_DONE(cudaGetDeviceProperties(&second, 1));
    CHECK_STR(first.name, "gpuarena simulated device");
    CHECK(first.totalGlobalMem == GIB(24) && first.major == 9 && first.minor == 0 && first.warpSize == 32);
    CHECK(first.maxThreadsDim[2] == 64 && first.maxGridSize[0] == INT32_MAX && first.maxGridSize[2] == 65535);
    CHECK_MSG(memcmp(&first.uuid, &second.uuid, sizeof first.uuid) != 0 && first.pciBusID != second.pciBusID,
              "devices are told apart");
    for (int i = cudaDevAttrMaxThreadsPerBlock; i < cudaDevAttrMax; i++)
        wrong += cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)i, 1) != cudaSuccess;
    CHECK_INT(wrong, ==, 0);
    CHECK_DONE(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK_INT(value, ==, first.multiProcessorCount);
    CHECK_DONE(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 1));
    CHECK_INT(value, ==, second.pciBusID);
    CHECK_DONE(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK_MSG(value == 1, "what is served is promised");
    CHECK_DONE(cudaDeviceGetAttribute(&value, cudaDevAttrHostRegisterSupported, 0));
    CHECK_MSG(value == 0, "what is not served is not promised");
    CHECK_CODE(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)0, 0), cudaErrorInvalidValue);
    CHECK_CODE(cudaDeviceGetAttribute(&value, cudaDevAttrMax, 0), cudaErrorInvalidValue);
    CHECK_CODE(cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
    CHECK_CODE(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2), cudaErrorInvalidDevice);
    CHECK_CODE(cudaGetDeviceProperties(&first, 2), cudaErrorInvalidDevice);
    CHECK_CODE(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
    cudart_close(machine);
}

static void test_bus_flags_and_start(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    char text[20];
    unsigned flags = 99;
    CHECK_DONE(cudaDeviceGetPCIBusId(text, sizeof text, 1));
    CHECK_STR(text, "0000:02:00.0");
    CHECK_CODE(cudaDeviceGetPCIBusId(text, 12, 1), cudaErrorInvalidValue);
    CHECK_DONE(cudaDeviceGetPCIBusId(text, 13, 0));
    CHECK_CODE(cudaDeviceGetPCIBusId(NULL, 20, 1), cudaErrorInvalidValue);
    CHECK_CODE(cudaDeviceGetPCIBusId(text, 20, 2), cudaErrorInvalidDevice);
    CHECK_CODE(cudaDeviceGetPCIBusId(text, 20, INT32_MAX), cudaErrorInvalidDevice);
    CHECK_DONE(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    CHECK_DONE(cudaGetDeviceFlags(&flags));
    CHECK_U64(flags, ==, cudaDeviceScheduleYield);
    CHECK_CODE(cudaSetDeviceFlags(0x8000), cudaErrorInvalidValue);
    CHECK_CODE(cudaSetDeviceFlags(cudaDeviceScheduleYield | cudaDeviceScheduleSpin), cudaErrorInvalidValue);
    CHECK_DONE(cudaGetDeviceFlags(&flags));
    CHECK_MSG(flags == cudaDeviceScheduleYield, "what is refused changes nothing");
    CHECK_CODE(cudaGetDeviceFlags(NULL), cudaErrorInvalidValue);
#if CUDART_VERSION >= 12000
    int device = -1;
    CHECK_DONE(cudaInitDevice(1, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_MSG(device == 0, "cudaInitDevice does not change the current device");
    CHECK_CODE(cudaInitDevice(2, 0, 0), cudaErrorInvalidDevice);
    CHECK_CODE(cudaInitDevice(0, 0, 0x40), cudaErrorInvalidValue);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaGetDeviceFlags(&flags));
    CHECK_U64(flags, ==, cudaDeviceScheduleSpin);
#endif
    cudart_close(machine);
}

static void test_peers(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    int can = -1;
    CHECK_DONE(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK_INT(can, ==, 1);
    CHECK_DONE(cudaDeviceCanAccessPeer(&can, 1, 1));
    CHECK_INT(can, ==, 0);
    CHECK_CODE(cudaDeviceCanAccessPeer(&can, 0, 2), cudaErrorInvalidDevice);
    CHECK_CODE(cudaDeviceCanAccessPeer(NULL, 0, 1), cudaErrorInvalidValue);
    CHECK_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    CHECK_CODE(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    CHECK_DONE(cudaDeviceEnablePeerAccess(1, 0));
    CHECK_CODE(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    CHECK_CODE(cudaGetLastError(), cudaErrorPeerAccessAlreadyEnabled);
    CHECK_CODE(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    CHECK_CODE(cudaDeviceEnablePeerAccess(2, 0), cudaErrorInvalidDevice);
    CHECK_CODE(cudaDeviceDisablePeerAccess(-1), cudaErrorInvalidDevice);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_MSG(cudaDeviceEnablePeerAccess(0, 0) == cudaSuccess, "each direction by itself");
    CHECK_DONE(cudaSetDevice(0));
    sim_fail_call(machine, SIM_CALL_DISABLE_PEER_ACCESS, 1, 0, SIM_UNKNOWN);
    CHECK_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorUnknown);
    CHECK_DONE(cudaDeviceDisablePeerAccess(1));
    CHECK_DONE(cudaDeviceEnablePeerAccess(1, 0));
    cudart_close(machine);
}

static void test_reset(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    void *block, *other, *pinned;
    cudaStream_t stream;
    unsigned flags = 99;
    sim_counters counters;
    struct cudaPointerAttributes is;
    CHECK_DONE(cudaMalloc(&block, MIB(2)));
    CHECK_DONE(cudaMallocHost(&pinned, 10));
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaDeviceEnablePeerAccess(1, 0));
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc(&other, MIB(2)));
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    CHECK_DONE(cudaDeviceReset());
    uint64_t before_ns = sim_now_ns(machine);
    CHECK_DONE(cudaGetDeviceFlags(&flags));
    CHECK_MSG(flags == 0 && sim_now_ns(machine) == before_ns + 150000000, "flags go, and the context is made anew");
    sim_get_counters(machine, 0, &counters);
    CHECK_U64(counters.held_bytes, ==, 0);
    CHECK_CODE(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
    CHECK_DONE(cudaPointerGetAttributes(&is, pinned));
    CHECK(is.type == cudaMemoryTypeUnregistered);
    CHECK_DONE(cudaDeviceEnablePeerAccess(1, 0));
    CHECK_MSG(cudaFree(other) == cudaSuccess, "other devices keep what they hold");
    CHECK_U64(sim_finding_count(machine), ==, 0);
    CHECK_MSG(cudaFree(block) == cudaErrorInvalidValue && sim_finding_count(machine) == 1, "this one does not");
    cudart_close(machine);
}

int main(void)
{
    test_current_device();
    test_contexts_cost_time();
    test_attributes_and_properties();
    test_bus_flags_and_start();
    test_peers();
    test_reset();
    return tap_done();
}
#endif

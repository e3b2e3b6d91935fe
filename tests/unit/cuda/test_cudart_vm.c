/* The libcudart substitute: virtual memory by the driver's functions: where they are found, who has access, and how
   the runtime's calls meet it. It must not know how memory is kept. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include <dlfcn.h>

#include "cudart_vm.h"

static const char *const names[] = {
#define X(field, name) #name,
    FUNCTIONS(X)
#undef X
};

static void *pointer(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static void test_names(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    void *process = dlopen(NULL, RTLD_NOW);
    for (size_t i = 0; i < COUNT(names); i++) {
        CHECK_MSG(process && dlsym(process, names[i]), "%s is a symbol, as of libcuda", names[i]);
#if CUDART_VERSION >= 12050
        enum cudaDriverEntryPointQueryResult told;
        void *found = &machine;
        CHECK_DONE(cudaGetDriverEntryPointByVersion(names[i], &found, 10020, cudaEnableDefault, &told));
        CHECK_MSG(found && told == cudaDriverEntryPointSuccess, "%s: from 10.2 on", names[i]);
        CHECK_DONE(cudaGetDriverEntryPointByVersion(names[i], &found, 10010, cudaEnableDefault, &told));
        CHECK_MSG(!found && told == cudaDriverEntryPointVersionNotSufficent, "%s: not in 10.1", names[i]);
        CHECK_CODE(cudaGetDriverEntryPointByVersion(names[i], &found, CUDART_VERSION + 10, cudaEnableDefault, &told),
                   cudaErrorInvalidValue);
        CHECK_CODE(cudaGetLastError(), cudaErrorInvalidValue);
#endif
    }
    cudart_close(machine);
}

static void test_support(void)
{
    int supported = -1;
    size_t bytes = 0;
    CUmemAllocationProp prop = prop_of(1), nowhere = prop_of(2);
    bench self = bench_open();
    CHECK_CU(vm.attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1), CUDA_SUCCESS);
    CHECK_INT(supported, ==, 1);
    CHECK_CU(vm.granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS);
    CHECK_U64(bytes, ==, MIB(2));
    CHECK_CU(vm.granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
    CHECK_CU(vm.granularity(&bytes, &prop, (CUmemAllocationGranularity_flags)2), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.granularity(NULL, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.granularity(&bytes, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.granularity(&bytes, &nowhere, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_DEVICE);
    bench_close(&self, 0);
}

static void test_devices_without(void)
{
    sim_config config = { 1, GIB(1), 0, NULL, NULL, 1, 0 };
    problem why = { 0, "" };
    sim *machine = sim_create(&config, &why);
    CUmemAllocationProp prop = prop_of(0);
    CUmemGenericAllocationHandle page = 0;
    CUdeviceptr at = 0;
    size_t bytes = 0;
    int supported = -1;
    cudart_attach(machine);
    CHECK_CU(vm.attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0), CUDA_SUCCESS);
    CHECK_INT(supported, ==, 0);
    CHECK_CU(vm.granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_CU(vm.reserve(&at, MIB(8), 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_CU(vm.create(&page, MIB(2), &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK(bytes == 0 && at == 0 && page == 0 && !sim_finding(machine, 0));
    cudart_close(machine);
}

/* The flags a device has at an address, or a code. */
static int flags_of(CUdeviceptr at, int device)
{
    CUmemLocation location = desc_of(device, CU_MEM_ACCESS_FLAGS_PROT_NONE).location;
    unsigned long long flags = 99;
    CUresult code = vm.get_access(&flags, &location, at);
    return code == CUDA_SUCCESS ? (int)flags : 1000 + (int)code;
}

static void test_access_of_several_devices(void)
{
    bench self = bench_open();
    CUmemAccessDesc both[2] = { desc_of(0, CU_MEM_ACCESS_FLAGS_PROT_NONE),
                                desc_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) };
    CHECK_INT(flags_of(self.at, 0), ==, 3);
    CHECK_INT(flags_of(self.at, 1), ==, 0);
    CHECK_CU(vm.set_access(self.at, MIB(2), both, 2), CUDA_SUCCESS);
    CHECK_INT(flags_of(self.at + 100, 0), ==, 0);
    CHECK_INT(flags_of(self.at + 100, 1), ==, 3);
    both[1].location.id = 0;
    CHECK_CU(vm.set_access(self.at, MIB(2), both, 2), CUDA_SUCCESS);
    CHECK_MSG(flags_of(self.at, 0) == 3 && flags_of(self.at, 1) == 3, "named twice, the last word counts");
    CHECK_INT(flags_of(self.at + MIB(2), 0), ==, 1000 + CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(flags_of(self.at, 2), ==, 1000 + CUDA_ERROR_INVALID_DEVICE);
    CHECK_INT(flags_of(1, 0), ==, 1000 + CUDA_ERROR_INVALID_VALUE);
    bench_close(&self, 0);
}

/* An address tells its device, and the one mapping or cudaMalloc that it lies in. */
static void test_what_a_pointer_is(void)
{
    bench self = bench_open();
    CUmemAllocationProp prop = prop_of(0);
    CUmemGenericAllocationHandle large = 0;
    CUdeviceptr base = 0, same = 0;
    PFN_cuMemGetAddressRange_v3020 range;
    PFN_cuPointerGetAttribute_v4000 describe;
    void *found = look_up("cuMemGetAddressRange"), *block = NULL;
    size_t bytes = 0;
    unsigned type = 0;
    int device = -1;
    memcpy(&range, &found, sizeof range);
    found = look_up("cuPointerGetAttribute");
    memcpy(&describe, &found, sizeof describe);
    CHECK_CU(vm.create(&large, MIB(4), &prop, 0), CUDA_SUCCESS);
    CHECK_CU(vm.map(self.at + MIB(2), MIB(4), 0, large, 0), CUDA_SUCCESS);
    CHECK_CU(range(&base, &bytes, self.at + MIB(5)), CUDA_SUCCESS);
    CHECK_MSG(base == self.at + MIB(2) && bytes == MIB(4), "one mapping, not its neighbours");
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc(&block, 1000));
    CHECK_CU(range(&base, NULL, (CUdeviceptr)(uintptr_t)block + 999), CUDA_SUCCESS);
    CHECK_CU(range(NULL, &bytes, (CUdeviceptr)(uintptr_t)block + 999), CUDA_SUCCESS);
    CHECK(pointer(base) == block && bytes == 1000);
    CHECK_CU(range(&base, &bytes, self.at + MIB(6)), CUDA_ERROR_NOT_FOUND);
    CHECK_CU(range(&base, &bytes, (CUdeviceptr)(uintptr_t)&self), CUDA_ERROR_NOT_FOUND);
    CHECK_CU(describe(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, self.at), CUDA_SUCCESS);
    CHECK_CU(describe(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, self.at + 5), CUDA_SUCCESS);
    CHECK_CU(describe(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, self.at + 5), CUDA_SUCCESS);
    CHECK(type == CU_MEMORYTYPE_DEVICE && device == 0 && same == self.at + 5);
    CHECK_CU(describe(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)(uintptr_t)block), CUDA_SUCCESS);
    CHECK_INT(device, ==, 1);
    CHECK_CU(describe(&device, CU_POINTER_ATTRIBUTE_BUFFER_ID, self.at), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_CU(describe(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, self.at + MIB(6)), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(describe(NULL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, self.at), CUDA_ERROR_INVALID_VALUE);
    CHECK_DONE(cudaFree(block));
    CHECK_CU(vm.unmap(self.at + MIB(2), MIB(4)), CUDA_SUCCESS);
    CHECK_CU(vm.destroy(large), CUDA_SUCCESS);
    bench_close(&self, 0);
}

/* cudaFree knows nothing of these addresses; copies work across pages, and stop where there are none. */
static void test_the_runtimes_calls(void)
{
    bench self = bench_open();
    struct cudaPointerAttributes attributes;
    char bytes[8] = "inside";
    CHECK_DONE(cudaPointerGetAttributes(&attributes, pointer(self.at + 5)));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    CHECK_DONE(cudaMemcpy(pointer(self.at + MIB(2) - 8), bytes, 8, cudaMemcpyHostToDevice));
    CHECK_CODE(cudaFree(pointer(self.at)), cudaErrorInvalidValue);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(self.machine), ==, 1);
    memset(bytes, 0, sizeof bytes);
    CHECK_DONE(cudaMemcpy(bytes, pointer(self.at + MIB(2) - 8), 8, cudaMemcpyDeviceToHost));
    CHECK_STR(bytes, "inside");
    CHECK_CODE(cudaMemset(pointer(self.at + MIB(2) - 4), 0, 8), cudaErrorIllegalAddress);
    CHECK_U64(sim_finding_count(self.machine), ==, 2);
    CHECK_CU(vm.unmap(self.at, MIB(2)), CUDA_ERROR_ILLEGAL_ADDRESS);
    cudart_close(self.machine);
}

/* Every function once, as it would succeed; each answers a code. */
static CUresult call_nth(const bench *self, size_t nth)
{
    CUmemAllocationProp prop = prop_of(0);
    CUmemAccessDesc desc = desc_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle page;
    CUdeviceptr at;
    size_t bytes;
    unsigned long long flags;
    switch (nth) {
    case 0:  return vm.granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    case 1:  return vm.reserve(&at, MIB(2), 0, 0, 0);
    case 2:  return vm.release(self->at, MIB(8));
    case 3:  return vm.create(&page, MIB(2), &prop, 0);
    case 4:  return vm.destroy(self->page);
    case 5:  return vm.map(self->at + MIB(2), MIB(2), 0, self->page, 0);
    case 6:  return vm.unmap(self->at, MIB(2));
    case 7:  return vm.set_access(self->at, MIB(2), &desc, 1);
    default: return vm.get_access(&flags, &desc.location, self->at);
    }
}

/* Each is counted by the device that it is about, and can be made to fail: then it does nothing. */
static void test_counted_and_failing(void)
{
    static const struct { sim_call kind; int device; } rows[] = {
        { SIM_CALL_VM_GRANULARITY, 1 }, { SIM_CALL_VM_RESERVE, 1 }, { SIM_CALL_VM_RELEASE, 0 },
        { SIM_CALL_VM_CREATE, 0 }, { SIM_CALL_VM_DESTROY, 0 }, { SIM_CALL_VM_MAP, 0 }, { SIM_CALL_VM_UNMAP, 0 },
        { SIM_CALL_VM_ACCESS, 0 }, { SIM_CALL_VM_GET_ACCESS, 1 },
    };
    bench self = bench_open();
    CHECK_DONE(cudaSetDevice(1));
    for (size_t nth = 0; nth < COUNT(rows); nth++) {
        sim_counters before, after;
        sim_get_counters(self.machine, rows[nth].device, &before);
        sim_fail_call(self.machine, rows[nth].kind, 1, 0, 46);
        CUresult code = call_nth(&self, nth);
        sim_get_counters(self.machine, rows[nth].device, &after);
        CHECK_MSG(code == 46 && after.calls[rows[nth].kind] == before.calls[rows[nth].kind] + 1, "call %zu", nth);
    }
    bench_close(&self, 0);
}

/* What a capture forbids of cudaMalloc it forbids of these, and is invalid after it; relaxed, it lets them. */
static void test_captures(void)
{
    bench self = bench_open();
    CUmemAllocationProp prop = prop_of(0);
    CUmemGenericAllocationHandle page = 0;
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_CU(vm.create(&page, MIB(2), &prop, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_CODE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK_CODE(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK_CU(vm.create(&page, MIB(2), &prop, 0), CUDA_SUCCESS);
    CHECK_CU(vm.destroy(page), CUDA_SUCCESS);
    CHECK_DONE(cudaStreamEndCapture(stream, &graph));
    CHECK_DONE(cudaGraphDestroy(graph));
    CHECK_DONE(cudaStreamDestroy(stream));
    bench_close(&self, sim_finding_count(self.machine));
}

/* Neither waits for the device: work that is not known to be done is a finding. */
static void test_pending_work(void)
{
    bench self = bench_open();
    CUmemAccessDesc none = desc_of(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    cudart_work_ns(1000000);
    CHECK_DONE(cudaMemsetAsync(pointer(self.at), 1, MIB(1), NULL));
    CHECK_CU(vm.set_access(self.at, MIB(2), &none, 1), CUDA_SUCCESS);
    CHECK_U64(sim_finding_count(self.machine), ==, 1);
    CHECK_DONE(cudaDeviceSynchronize());
    bench_close(&self, 1);
}

static CUdeviceptr kept;

static void tell_last(void)
{
    CUdeviceptr at;
    printf("at the end: %d %d\n", (int)vm.release(kept, MIB(2)), (int)vm.reserve(&at, MIB(2), 0, 0, 0));
}

/* What the process that is run again does: asks in a child, and once more when the runtime has shut down. */
static int ask_late(void)
{
    CUmemAllocationProp prop = prop_of(0);
    CUmemGenericAllocationHandle page;
    int status = -1;
    atexit(tell_last);
    look_up_all();
    printf("in time: %d\n", (int)vm.reserve(&kept, MIB(2), 0, 0, 0));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit((int)vm.create(&page, MIB(2), &prop, 0));
    waitpid(child, &status, 0);
    printf("in a child: %d\n", WEXITSTATUS(status));
    return 0;
}

static void test_asked_late(const char *program)
{
    static char said[8192];
    CHECK_INT(cudart_run_again(program, "late", "", said, sizeof said), ==, 0);
    const char *told = strstr(said, "in time");  /* behind the checks of the looking up */
    CHECK_STR(told ? told : "nothing in time", "in time: 0\nin a child: 3\nat the end: 4 4\n");
}

int main(int count, char **arguments)
{
    if (count > 1) return ask_late();
    test_asked_late(arguments[0]);
    look_up_all();
    test_names();
    test_support();
    test_devices_without();
    test_access_of_several_devices();
    test_what_a_pointer_is();
    test_the_runtimes_calls();
    test_counted_and_failing();
    test_captures();
    test_pending_work();
    return tap_done();
}
#endif

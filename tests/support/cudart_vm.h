/* What tests of virtual memory behind the libcudart substitute share: the driver's functions, and two devices with
   memory mapped. It must not know what is tested. Included by test_cudart_vm*.c where the CUDA Toolkit is. */
#ifndef TESTS_CUDART_VM_H
#define TESTS_CUDART_VM_H

#include <cudaTypedefs.h>

#include "test_cudart.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

#define FUNCTIONS(X) \
    X(granularity, cuMemGetAllocationGranularity) X(reserve, cuMemAddressReserve) X(release, cuMemAddressFree) \
    X(create, cuMemCreate) X(destroy, cuMemRelease) X(map, cuMemMap) X(unmap, cuMemUnmap) \
    X(set_access, cuMemSetAccess) X(get_access, cuMemGetAccess)

static struct {
#define X(field, name) PFN_##name##_v10020 field;
    FUNCTIONS(X)
#undef X
    PFN_cuDeviceGetAttribute_v2000 attribute;
} vm;

#define CHECK_CU(call, expected) CHECK_INT((call), ==, (expected))

static inline void *look_up(const char *name)
{
    void *found = NULL;
#if CUDART_VERSION >= 12000
    CHECK_DONE(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, NULL));
#else
    CHECK_DONE(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault));
#endif
    if (!found) {
        printf("Bail out! no %s\n", name);
        exit(1);
    }
    return found;
}

/* Ends the test program if one is not found. */
static inline void look_up_all(void)
{
    void *found;
#define X(field, name) found = look_up(#name); memcpy(&vm.field, &found, sizeof found);
    FUNCTIONS(X)
    X(attribute, cuDeviceGetAttribute)
#undef X
}

static inline CUmemAllocationProp prop_of(int device)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    return prop;
}

static inline CUmemAccessDesc desc_of(int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = device;
    desc.flags = flags;
    return desc;
}

/* Two devices; addresses for four pages on the first, and a handle of one page, mapped at the start with access. */
typedef struct bench { sim *machine; CUdeviceptr at; CUmemGenericAllocationHandle page; } bench;

static inline bench bench_open(void)
{
    bench made = { cudart_open(2, GIB(1), NULL), 0, 0 };
    CUmemAllocationProp prop = prop_of(0);
    CUmemAccessDesc desc = desc_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK_CU(vm.reserve(&made.at, MIB(8), 0, 0, 0), CUDA_SUCCESS);
    CHECK_CU(vm.create(&made.page, MIB(2), &prop, 0), CUDA_SUCCESS);
    CHECK_CU(vm.map(made.at, MIB(2), 0, made.page, 0), CUDA_SUCCESS);
    CHECK_CU(vm.set_access(made.at, MIB(2), &desc, 1), CUDA_SUCCESS);
    return made;
}

/* All is in its place, and nothing else happened; then it is taken down. finding_count: how many there must be. */
static inline void bench_close(bench *self, uint64_t finding_count)
{
    CHECK_U64(sim_finding_count(self->machine), ==, finding_count);
    CHECK_DONE(cudaGetLastError());
    CHECK_CU(vm.unmap(self->at, MIB(2)), CUDA_SUCCESS);
    CHECK_CU(vm.destroy(self->page), CUDA_SUCCESS);
    CHECK_CU(vm.release(self->at, MIB(8)), CUDA_SUCCESS);
    for (int device = 0; device < 2; device++) {
        sim_counters counters;
        sim_get_counters(self->machine, device, &counters);
        CHECK_U64(counters.held_bytes + counters.handle_count + counters.mapping_count
                  + counters.reserved_address_bytes, ==, 0);
    }
    cudart_close(self->machine);
}

#endif

/* The libcudart substitute: what the driver's functions of virtual memory refuse, argument by argument, and with what
   code. It must not know how memory is kept. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "cudart_vm.h"

typedef enum fault { HANDLE, FLAGS, SIZE, NO_SIZE, TYPE, LOCATION, HOST, DEVICE, MINUS, METADATA, COMPRESSION,
                     COMPRESSIBLE, RDMA, USAGE, TILES, RESERVED, WINDOWS, FAULTS } fault;

static CUresult create_wrongly(fault wrong)
{
    CUmemAllocationProp prop = prop_of(0);
    CUmemGenericAllocationHandle page = 5;
    size_t bytes = wrong == SIZE ? MIB(2) - 4096 : wrong == NO_SIZE ? 0 : MIB(2);
    if (wrong == TYPE) prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    if (wrong == LOCATION) prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    if (wrong == HOST) prop.location.type = (CUmemLocationType)2;
    if (wrong == DEVICE) prop.location.id = 2;
    if (wrong == MINUS) prop.location.id = -1;
    if (wrong == METADATA) prop.win32HandleMetaData = &page;
    if (wrong == COMPRESSION) prop.allocFlags.compressionType = 2;
    if (wrong == COMPRESSIBLE) prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    if (wrong == RDMA) prop.allocFlags.gpuDirectRDMACapable = 0xA5;
    if (wrong == USAGE) prop.allocFlags.usage = 0xA5;
    if (wrong == TILES) prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    if (wrong == RESERVED) prop.allocFlags.reserved[3] = 1;
    if (wrong == WINDOWS) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    CUresult code = vm.create(wrong == HANDLE ? NULL : &page, bytes, &prop, wrong == FLAGS);
    CHECK_MSG(page == 5, "create, fault %d: no handle", (int)wrong);
    return code;
}

static void test_create_refuses(void)
{
    bench self = bench_open();
    for (int wrong = 0; wrong < FAULTS; wrong++) {
        int is_unserved = wrong == HOST || wrong == COMPRESSIBLE || wrong == TILES || wrong == WINDOWS;
        CUresult expected = wrong == DEVICE || wrong == MINUS ? CUDA_ERROR_INVALID_DEVICE
                          : is_unserved                       ? CUDA_ERROR_NOT_SUPPORTED
                                                              : CUDA_ERROR_INVALID_VALUE;
        CUresult code = create_wrongly((fault)wrong);
        CHECK_MSG(code == expected, "create, fault %d: %d, expected %d", wrong, (int)code, (int)expected);
    }
    CUmemGenericAllocationHandle page;
    CUmemAllocationProp prop = prop_of(1);
    CHECK_CU(vm.create(&page, GIB(2), &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_CU(vm.create(&page, MIB(2), NULL, 0), CUDA_ERROR_INVALID_VALUE);
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.allocFlags.gpuDirectRDMACapable = 1;
    CHECK_CU(vm.create(&page, MIB(4), &prop, 0), CUDA_SUCCESS);
    CHECK_CU(vm.destroy(page), CUDA_SUCCESS);
    bench_close(&self, 0);
}

static void test_reserve_refuses(void)
{
    bench self = bench_open();
    CUdeviceptr at = 5;
    CHECK_CU(vm.reserve(NULL, MIB(2), 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.reserve(&at, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.reserve(&at, MIB(2), 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.reserve(&at, MIB(2), 0, 5, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.reserve(&at, MIB(2), 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.reserve(&at, (size_t)1 << 47, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_U64(at, ==, 5);
    CHECK_CU(vm.reserve(&at, MIB(2), GIB(1), self.at, 0), CUDA_SUCCESS);
    CHECK_MSG(at % GIB(1) == 0, "the alignment is kept, the hint is not");
    CHECK_CU(vm.release(at, MIB(2)), CUDA_SUCCESS);
    bench_close(&self, 0);
}

static void test_map_and_unmap_refuse(void)
{
    bench self = bench_open();
    CUmemAllocationProp prop = prop_of(0);
    CUmemGenericAllocationHandle large = 0;
    CHECK_CU(vm.create(&large, MIB(4), &prop, 0), CUDA_SUCCESS);
    CHECK_CU(vm.map(self.at + MIB(2), MIB(2), MIB(2), large, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.map(self.at + MIB(2), MIB(4), 0, large, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    CHECK_CU(vm.map(self.at, MIB(4), 0, large, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.map(self.at + MIB(6), MIB(4), 0, large, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.map(self.at + MIB(2), MIB(4), 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.destroy(12345), CUDA_ERROR_INVALID_VALUE);
    CHECK_U64(sim_finding_count(self.machine), ==, 4);
    CHECK_CU(vm.map(self.at + MIB(4), MIB(4), 0, large, 0), CUDA_SUCCESS);
    CHECK_CU(vm.unmap(self.at, MIB(8)), CUDA_ERROR_INVALID_VALUE);              /* across a hole */
    CHECK_CU(vm.unmap(self.at + MIB(4), MIB(2)), CUDA_ERROR_INVALID_VALUE);     /* a part */
    CHECK_CU(vm.release(self.at, MIB(8)), CUDA_ERROR_INVALID_VALUE);            /* still mapped */
    CHECK_U64(sim_finding_count(self.machine), ==, 7);
    CHECK_CU(vm.unmap(self.at + MIB(4), MIB(4)), CUDA_SUCCESS);
    CHECK_CU(vm.destroy(large), CUDA_SUCCESS);
    bench_close(&self, 7);
}

static void test_set_access_refuses(void)
{
    bench self = bench_open();
    CUmemAccessDesc desc = desc_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), there = desc;
    CHECK_CU(vm.set_access(self.at, MIB(2), NULL, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(vm.set_access(self.at, MIB(2), &desc, 0), CUDA_ERROR_INVALID_VALUE);
    there.location.id = 2;
    CHECK_CU(vm.set_access(self.at, MIB(2), &there, 1), CUDA_ERROR_INVALID_DEVICE);
    desc.flags = (CUmemAccess_flags)2;
    CHECK_CU(vm.set_access(self.at, MIB(2), &desc, 1), CUDA_ERROR_INVALID_VALUE);
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CHECK_CU(vm.set_access(self.at, MIB(2), &desc, 1), CUDA_ERROR_NOT_SUPPORTED);
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    desc.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    CHECK_CU(vm.set_access(self.at, MIB(2), &desc, 1), CUDA_ERROR_INVALID_VALUE);
    desc = desc_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    CHECK_CU(vm.set_access(self.at, MIB(4), &desc, 1), CUDA_ERROR_INVALID_VALUE);   /* not all mapped */
    bench_close(&self, 1);
}

int main(void)
{
    look_up_all();
    test_create_refuses();
    test_reserve_refuses();
    test_map_and_unmap_refuse();
    test_set_access_refuses();
    return tap_done();
}
#endif

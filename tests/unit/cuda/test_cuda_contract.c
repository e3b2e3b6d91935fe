/* The contract of a CUDA device, asked of the libcudart substitute: by the calls of the runtime and of libcuda, and
   through gpuarena.h's driver table over them. Besides, what each call leaves in the last-error slot: the runtime's
   its code, libcuda's and the table's nothing; and the table leaves the caller's device current.
   It must not know what the cases say: tests/contract. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>
#include <dlfcn.h>

#include "contract.h"

static int is_libcuda;                           /* the latest call was one of libcuda's, which knows no slot */

static void on(int device)
{
    is_libcuda = 0;
    cudaSetDevice(device);
}

static void *find(const char *name)
{
    static void *all;
    if (!all) all = dlopen(NULL, RTLD_NOW);
    is_libcuda = strncmp(name, "cuda", 4) != 0 || strncmp(name, "cudart_", 7) == 0;
    return dlsym(all, name);
}

/* As the table does, device and peers by number. */
static int set_access(contract *self, const step *at)
{
    CUmemAccessDesc descs[64];
    size_t count = 0;
    memset(descs, 0, sizeof descs);
    for (int i = 0; i < 64; i++) {
        if (i != self->device && !(self->driver->peers >> i & 1)) continue;
        descs[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        descs[count].location.id = i;
        descs[count++].flags = contract_value(self, at->words[3]) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    is_libcuda = 1;
    return (int)cuMemSetAccess(contract_value(self, at->words[1]), contract_value(self, at->words[2]), descs, count);
}

/* A handle is a struct that is handed over whole. */
static int open_handle(contract *self, step *at)
{
    void *made = (void *)(uintptr_t)CONTRACT_UNTOUCHED;
    cudaIpcMemHandle_t handle;
    memcpy(&handle, self->handles[contract_value(self, at->words[1]) - 1], sizeof handle);
    on(self->device);
    int code = (int)cudaIpcOpenMemHandle(&made, handle, at->words[2] ? (unsigned)contract_value(self, at->words[2])
                                                                     : cudaIpcMemLazyEnablePeerAccess);
    contract_made(at, 'o', (uint64_t)(uintptr_t)made);
    return code;
}

static int call(contract *self, step *at, int *code)
{
    int is_open = !strcmp(at->words[0], "open"), is_access = !strcmp(at->words[0], "access");
    if (self->driver->classify || !(is_open || is_access || !strcmp(at->words[0], "cudaIpcOpenMemHandle"))) return 0;
    at->is_table = 1;
    *code = is_access ? set_access(self, at) : open_handle(self, at);
    return 1;
}

static int has(const contract *self, void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset)
{
    static unsigned char here[1 << 20];
    on(self->device);
    for (uint64_t done = 0; done < bytes; done += sizeof here) {
        size_t part = bytes - done < sizeof here ? (size_t)(bytes - done) : sizeof here;
        *bad_offset = done;
        if (cudaMemcpy(here, (char *)ptr + done, part, cudaMemcpyDeviceToHost)) return 0;
        for (size_t i = 0; i < part; i++, ++*bad_offset)
            if (here[i] != (unsigned char)pattern) return 0;
    }
    return 1;
}

/* ---- what a call leaves */

static const char *settle_runtime(const contract *self, int code, int is_table)
{
    int kept = (int)cudaGetLastError(), is_lost = codes_status(kept) == GPUARENA_STATUS_LOST;
    (void)self;
    if (!is_table || is_lost) return NULL;
    return kept == (is_libcuda ? 0 : code) ? NULL : "the last-error slot holds something else";
}

static const char *settle_table(const contract *self, int code, int is_table)
{
    int kept = (int)cudaGetLastError(), device = -1, is_lost = codes_status(kept) == GPUARENA_STATUS_LOST;
    (void)code;
    cudaGetDevice(&device);
    on(0);
    if (!is_table || is_lost) return NULL;
    return kept ? "the table left an error" : device && !self->is_astray ? "the table left its device current" : NULL;
}

static void no_table(sim *machine, int device, gpuarena_driver *driver)
{
    (void)machine;
    memset(driver, 0, sizeof *driver);
    driver->device = device;
}

static void header_table(sim *machine, int device, gpuarena_driver *driver)
{
    (void)machine;
    if (gpuarena_driver_cuda(device, driver)) {
        printf("Bail out! no table of device %d\n", device);
        exit(1);
    }
}

static const face faces[] = {
    { "runtime", CUDART_VERSION, cudart_attach, no_table, find, on, call, has, settle_runtime },
    { "table", CUDART_VERSION, cudart_attach, header_table, find, on, call, has, settle_table },
};

/* Kernels cannot run, so that what is theirs fails anyhow; host functions and versions: test_cudart_calls.c. */
static void test_all_calls_were_refused(void)
{
    static const char *const elsewhere[] = {
        "LaunchKernel", "LaunchCooperative", "cudaFunc", "Occupancy", "LaunchHostFunc", "GetDeviceProperties",
        "CaptureInfo", "EntryPoint", CUDART_VERSION < 12000 ? "cudaInitDevice" : "?",
        CUDART_VERSION < 12000 ? "cudaStreamGetId" : "?",
    };
    static const char *const names[SIM_CALL_KINDS] = {
#define X(kind, text, cuda_name, code, cost, trait) #cuda_name,
        SIM_CALLS(X)
#undef X
    };
    for (int i = 0; i < SIM_CALL_KINDS; i++) {
        int is_elsewhere = 0;
        for (size_t j = 0; j < COUNT(elsewhere); j++) is_elsewhere |= strstr(names[i], elsewhere[j]) != NULL;
        if (is_elsewhere == contract_refused[i]) CHECK_MSG(0, "%s is made to fail, once", names[i]);
    }
}

static void run(void)
{
    static const char *const files[] = { "memory", "virtual", "share", "streams", "captures" };
    for (size_t i = 0; i < COUNT(files); i++) contract_file(faces, COUNT(faces), files[i]);
    contract_file(faces, 1, "runtime");
    contract_file(faces, 1, "pools");             /* gpuarena.h's table has a pool of its own */
    contract_file(faces + 1, 1, "table");
    test_all_calls_were_refused();
    for (size_t i = 0; i < COUNT(faces); i++) contract_prohibitions(&faces[i]);
}
#endif

CUDA_TEST_MAIN(run)

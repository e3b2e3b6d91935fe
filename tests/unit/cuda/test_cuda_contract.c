/* The contract of a CUDA device, asked of the libcudart substitute: by the calls of the runtime and of libcuda, and
   through gpuarena.h's driver table over them. Besides, what each call leaves in the last-error slot: the runtime's
   its code, libcuda's and the table's nothing; and the table leaves the caller's device current.
   It must not know what the cases say: tests/contract. */
#ifndef GPUARENA_NO_CUDA
#include <cuda.h>
#include <dlfcn.h>

#include "contract.h"
#endif
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA

static int is_libcuda;                           /* the latest call was one of libcuda, which knows no slot */

/* ---- the runtime's calls as a table */

static void on(int device)
{
    is_libcuda = 0;
    cudaSetDevice(device);
}

static int runtime_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                        uint64_t *total_bytes)
{
    size_t free_now = 0, total = 0;
    on(self->device);
    if (kind > GPUARENA_MEMORY_ASYNC) return is_libcuda = 1, cudaErrorNotSupported;
    int code = (int)cudaMemGetInfo(&free_now, &total);
    if (code) return code;
    *free_bytes = free_now;
    *total_bytes = total;
    return code;
}

static int runtime_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                          gpuarena_stream stream)
{
    on(self->device);
    if (kind == GPUARENA_MEMORY_ASYNC) return (int)cudaMallocAsync(ptr, bytes, (cudaStream_t)stream);
    if (kind == GPUARENA_MEMORY_MANAGED) return (int)cudaMallocManaged(ptr, bytes, cudaMemAttachGlobal);
    return (int)(kind == GPUARENA_MEMORY_PINNED ? cudaHostAlloc(ptr, bytes, 0) : cudaMalloc(ptr, bytes));
}

static int runtime_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                             gpuarena_stream stream)
{
    (void)bytes;
    on(self->device);
    if (kind == GPUARENA_MEMORY_ASYNC) return (int)cudaFreeAsync(ptr, (cudaStream_t)stream);
    return (int)(kind == GPUARENA_MEMORY_PINNED ? cudaFreeHost(ptr) : cudaFree(ptr));
}

static int libcuda(CUresult code)
{
    is_libcuda = 1;
    return (int)code;
}

static int runtime_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    CUdeviceptr at = 0;
    on(self->device);
    int code = libcuda(cuMemAddressReserve(&at, bytes, alignment, 0, 0));
    if (!code) *address = (void *)(uintptr_t)at;
    return code;
}

static int runtime_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    (void)self;
    return libcuda(cuMemAddressFree((CUdeviceptr)(uintptr_t)address, bytes));
}

static int runtime_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    CUmemAllocationProp prop;
    CUmemGenericAllocationHandle made = 0;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = self->device;
    int code = libcuda(cuMemCreate(&made, bytes, &prop, traits));
    if (!code) *page = made;
    return code;
}

static int runtime_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    (void)self, (void)bytes;
    return libcuda(cuMemRelease(page));
}

static int runtime_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    (void)self;
    return libcuda(cuMemMap((CUdeviceptr)(uintptr_t)address, bytes, 0, page, 0));
}

static int runtime_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    CUmemAccessDesc descs[64];
    size_t count = 0;
    memset(descs, 0, sizeof descs);
    for (int i = 0; i < 64; i++) {
        if (i != self->device && !(self->peers >> i & 1)) continue;
        descs[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        descs[count].location.id = i;
        descs[count++].flags = mode ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    return libcuda(cuMemSetAccess((CUdeviceptr)(uintptr_t)address, bytes, descs, count));
}

static int runtime_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    (void)self;
    return libcuda(cuMemUnmap((CUdeviceptr)(uintptr_t)address, bytes));
}

static int runtime_event_create(const gpuarena_driver *self, void **event)
{
    on(self->device);
    return (int)cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming);
}

static int runtime_event_destroy(const gpuarena_driver *self, void *event)
{
    return on(self->device), (int)cudaEventDestroy(event);
}

static int runtime_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    return on(self->device), (int)cudaEventRecord(event, (cudaStream_t)stream);
}

static int runtime_event_query(const gpuarena_driver *self, void *event)
{
    return on(self->device), (int)cudaEventQuery(event);
}

static int runtime_host_wait(const gpuarena_driver *self, void *event)
{
    return on(self->device), (int)cudaEventSynchronize(event);
}

static int runtime_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    return on(self->device), (int)cudaStreamWaitEvent((cudaStream_t)stream, event, 0);
}

static int runtime_device_wait(const gpuarena_driver *self)
{
    return on(self->device), (int)cudaDeviceSynchronize();
}

static int runtime_active(const gpuarena_driver *self, gpuarena_stream stream, int *active)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    on(self->device);
    int code = (int)cudaStreamIsCapturing((cudaStream_t)stream, &status);
    if (!code) *active = status != cudaStreamCaptureStatusNone;
    return code;
}

static int runtime_exchange_mode(const gpuarena_driver *self, int *mode)
{
    enum cudaStreamCaptureMode asked = (enum cudaStreamCaptureMode)*mode;
    on(self->device);
    int code = (int)cudaThreadExchangeStreamCaptureMode(&asked);
    *mode = (int)asked;
    return code;
}

static int runtime_clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    return on(self->device), (int)cudaMemsetAsync(ptr, 0, bytes, (cudaStream_t)stream);
}

static void runtime_table(sim *machine, int device, gpuarena_driver *driver)
{
    static const gpuarena_driver made = {
        .memory = { runtime_info, runtime_obtain, runtime_give_back },
        .vm = { runtime_reserve, runtime_release, runtime_create, runtime_destroy, runtime_map, runtime_access,
                runtime_unmap },
        .events = { runtime_event_create, runtime_event_destroy, runtime_record, runtime_event_query,
                    runtime_host_wait, runtime_stream_wait, runtime_device_wait },
        .capture = { runtime_active, runtime_exchange_mode }, .clear = runtime_clear,
    };
    (void)machine;
    *driver = made;
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

/* ---- what no table has */

static int stream_create(const contract *self, int is_blocking, void **stream)
{
    on(self->device);
    return (int)cudaStreamCreateWithFlags((cudaStream_t *)stream, is_blocking ? 0 : cudaStreamNonBlocking);
}

static int stream_destroy(const contract *self, void *stream)
{
    return on(self->device), (int)cudaStreamDestroy(stream);
}

static int stream_query(const contract *self, void *stream)
{
    return on(self->device), (int)cudaStreamQuery(stream);
}

static int stream_wait(const contract *self, void *stream)
{
    return on(self->device), (int)cudaStreamSynchronize(stream);
}

static int work(const contract *self, void *stream, uint64_t work_ns)
{
    return on(self->device), cudart_kernel(stream, work_ns, NULL, NULL, 0);
}

static int begin(const contract *self, void *stream, int mode)
{
    return on(self->device), (int)cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode);
}

static int end(const contract *self, void *stream, void **made)
{
    on(self->device);
    return (int)cudaStreamEndCapture(stream, (cudaGraph_t *)made);
}

static int launch(const contract *self, void *made, void *stream, uint64_t op)
{
    cudaGraphExec_t ready = NULL;
    (void)op;
    on(self->device);
    int code = (int)cudaGraphInstantiateWithFlags(&ready, made, 0);
    return code ? code : (int)cudaGraphLaunch(ready, stream);
}

static int graph_drop(const contract *self, void *made)
{
    return on(self->device), (int)cudaGraphDestroy(made);
}

static int fill(const contract *self, void *ptr, uint64_t bytes, uint64_t pattern)
{
    on(self->device);
    int code = (int)cudaMemset(ptr, (int)pattern, bytes);
    return code ? code : (int)cudaDeviceSynchronize();
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

/* ---- any function of CUDA by its name, whose arguments are numbers and pointers: as words, in its own order. `&` is
        an output, `&=VALUE,VALUE` one that holds these words of 8 bytes before, 'text' a text. On the machines that
        CUDA runs on both lie in registers, and a function leaves alone what it is given too much. */

typedef int any_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint64_t argument(contract *self, char *word, int *outputs)
{
    static char texts[4][64];
    if (word[0] == '\'') {
        char *text = texts[*outputs];
        snprintf(text, sizeof texts[0], "%.*s", (int)strcspn(word + 1, "'"), word + 1);
        return (uint64_t)(uintptr_t)text;
    }
    if (word[0] != '&') return contract_value(self, word);
    unsigned char *output = self->outputs[(*outputs)++];
    memset(output, 0, sizeof self->outputs[0]);
    uint64_t before = CONTRACT_UNTOUCHED;
    char held[64] = "";
    memcpy(output, &before, sizeof before);
    if (word[1]) snprintf(held, sizeof held, "%s", word + 2);
    for (char *each = strtok(held, ","); each; each = strtok(NULL, ","), output += sizeof before) {
        before = contract_value(self, each);
        memcpy(output, &before, sizeof before);
    }
    return (uint64_t)(uintptr_t)self->outputs[*outputs - 1];
}

static int by_name(contract *self, step *at)
{
    static void *all;
    any_function *function;
    uint64_t values[8] = { 0 }, made;
    int outputs = 0;
    if (!all) all = dlopen(NULL, RTLD_NOW);
    void *found = dlsym(all, at->words[0]);
    if (!found) return contract_blame(self, "there is no such function"), 0;
    memcpy(&function, &found, sizeof function);
    for (int i = 1; i < at->count && i <= 8; i++) values[i - 1] = argument(self, at->words[i], &outputs);
    at->is_table = 1;
    is_libcuda = strncmp(at->words[0], "cuda", 4) != 0 || strncmp(at->words[0], "cudart_", 7) == 0;
    int code = function(values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]);
    memcpy(&made, self->outputs[0], sizeof made);
    if (at->name) contract_made(at, 'n', (void *)(uintptr_t)made, 0);
    return code;
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
    return kept ? "the table left an error" : self->device && device ? "the table left its device current" : NULL;
}

#define REST stream_create, stream_destroy, stream_query, stream_wait, work, begin, end, launch, graph_drop, fill, \
    has, by_name
static const face faces[] = {
    { "runtime", CUDART_VERSION, cudart_attach, runtime_table, REST, settle_runtime },
    { "table", CUDART_VERSION, cudart_attach, header_table, REST, settle_table },
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
#define X(kind, text, runtime_name, code, cost) runtime_name,
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
    static const char *const files[] = { "memory", "virtual", "streams", "captures" };
    for (size_t i = 0; i < COUNT(files); i++) contract_file(faces, COUNT(faces), files[i]);
    contract_file(faces, 1, "runtime");
    contract_file(faces, 1, "pools");             /* gpuarena.h's table has a pool of its own */
    test_all_calls_were_refused();
    for (size_t i = 0; i < COUNT(faces); i++) contract_prohibitions(&faces[i]);
}
#endif

CUDA_TEST_MAIN(run)

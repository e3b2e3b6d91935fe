/* The contract of a CUDA device, asked of the libcudart substitute: by the calls of the runtime and of libcuda, and
   through gpuarena.h's driver table over them. Besides, what each call leaves in the last-error slot: the runtime's
   its code, libcuda's and the table's nothing; and the table leaves the caller's device current.
   It must not know what the cases say: tests/contract. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>
#include <dlfcn.h>

#include "contract.h"

static int is_libcuda;                           /* the latest call was one of libcuda, which knows no slot */

static void on(int device)
{
    is_libcuda = 0;
    cudaSetDevice(device);
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

#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static int by_name(contract *self, step *at)
{
    static void *all;
    any_function *function;
    uint64_t values[8] = { 0 }, made;
    int outputs = 0, is_bare = 0;             /* is_bare: the first output holds nothing before */
    if (!all) all = dlopen(NULL, RTLD_NOW);
    void *found = dlsym(all, at->words[0]);
    if (!found) return contract_blame(self, "there is no such function"), 0;
    memcpy(&function, &found, sizeof function);
    for (int i = 1; i < at->count && i <= 8; i++) {
        is_bare |= outputs == 0 && !strcmp(at->words[i], "&");
        values[i - 1] = argument(self, at->words[i], &outputs);
    }
    at->is_table = 1;
    is_libcuda = strncmp(at->words[0], "cuda", 4) != 0 || strncmp(at->words[0], "cudart_", 7) == 0;
    int code = function(values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]);
    memcpy(&made, self->outputs[0], sizeof made);
    int writes_null = strstr(at->words[0], "EndCapture") || strstr(at->words[0], "cuGetErrorString");
    if (code && made == 0 && writes_null) made = CONTRACT_UNTOUCHED;
    if (is_bare) contract_made(at, 'n', (void *)(uintptr_t)made, 0);
    return code;
}

/* ---- verbs as calls by name: what gpuarena.h's table has is rewritten for the runtime face alone. $1 to $4: the
        step's words, or 0; $S: word 2, or the first thing's size; $M: word 3, or the second's; $P: the device, as a
        place */

static const struct { const char *verb; char kind, is_in_table, made; const char *calls; } rewritten[] = {
    { "get", 0, 1, 'm', "cudaMalloc & $1" }, { "pin", 0, 1, 'p', "cudaHostAlloc & $1 0" },
    { "manage", 0, 1, 'u', "cudaMallocManaged & $1 1" }, { "draw", 0, 1, 'a', "cudaMallocAsync & $1 $2" },
    { "free", 'p', 1, 0, "cudaFreeHost $1" }, { "free", 0, 1, 0, "cudaFree $1" },
    { "return", 0, 1, 0, "cudaFreeAsync $1 $2" },
    { "info", 0, 1, 0, "cudaMemGetInfo & &; is out1 $2; is out2 $3" },
    { "reserve", 0, 1, 'r', "cuMemAddressReserve & $1 $2 0 0" }, { "release", 0, 1, 0, "cuMemAddressFree $1 $S" },
    { "create", 0, 1, 'h', "cuMemCreate & $1 &=1,$P 0" }, { "destroy", 0, 1, 0, "cuMemRelease $1" },
    { "shared", 0, 1, 'h', "cuMemCreate & $1 &=4294967297,$P 0" },
    { "map", 0, 1, 0, "cuMemMap $1 $M 0 $2 0" }, { "unmap", 0, 1, 0, "cuMemUnmap $1 $2" },
    { "back", 0, 1, 'h', "cuMemCreate & $2 &=1,$P 0; cuMemMap $1 $2 0 out1 0; cuMemSetAccess $1 $2 &=$P,3 1" },
    { "clear", 0, 1, 0, "cudaMemsetAsync $1 0 $2 $3" }, { "event", 0, 1, 'e', "cudaEventCreateWithFlags & 2" },
    { "drop", 'e', 1, 0, "cudaEventDestroy $1" }, { "query", 'e', 1, 0, "cudaEventQuery $1" },
    { "sync", 'e', 1, 0, "cudaEventSynchronize $1" }, { "sync", '-', 1, 0, "cudaDeviceSynchronize" },
    { "record", 0, 1, 0, "cudaEventRecord $1 $2" }, { "await", 0, 1, 0, "cudaStreamWaitEvent $1 $2 0" },
    { "capturing", 0, 1, 0, "cudaStreamIsCapturing $1 &; truth out1 $2" },
    { "mode", 0, 1, 0, "cudaThreadExchangeStreamCaptureMode &=$1; is out1 $2" },
    { "stream", '-', 0, 's', "cudaStreamCreateWithFlags & 0" },
    { "stream", 0, 0, 's', "cudaStreamCreateWithFlags & 1" },
    { "drop", 'g', 0, 0, "cudaGraphDestroy $1" }, { "drop", 0, 0, 0, "cudaStreamDestroy $1" },
    { "query", 0, 0, 0, "cudaStreamQuery $1" }, { "sync", 0, 0, 0, "cudaStreamSynchronize $1" },
    { "work", 0, 0, 0, "cudart_kernel $1 $2 0 0 0" }, { "begin", 0, 0, 0, "cudaStreamBeginCapture $1 $2" },
    { "end", 0, 0, 'g', "cudaStreamEndCapture $1 &" },
    { "launch", 0, 0, 0, "cudaGraphInstantiateWithFlags & $1 0; cudaGraphLaunch out1 $2" },
    { "fill", 0, 0, 0, "cudaMemset $1 $3 $2; cudaDeviceSynchronize" },
};

static void rewrite(contract *self, const step *at, const char *calls, char *text, size_t room)
{
    for (size_t length = 0; *calls && length + 1 < room; length = strlen(text)) {
        char one[2] = { *calls++, '\0' };
        const char *word = one[0] == '$' && *calls <= '4' ? at->words[*calls - '0'] : NULL;
        if (one[0] != '$') strcat(text, one);
        else if (*calls <= '4') strcat(text, word ? word : "0");
        else snprintf(text + length, room - length, "%" PRIu64,
                      *calls == 'S' ? contract_size(self, at, 2)
                      : *calls == 'P' ? (uint64_t)1 + ((uint64_t)self->device << 32)
                      : at->words[3] ? contract_value(self, at->words[3]) : contract_base(self, at->words[2])->bytes);
        calls += one[0] == '$';
    }
}

/* Makes the calls until one fails; what the first one makes is what the step makes. */
static int make_all(contract *self, step *at, const char *calls)
{
    char text[400] = "";
    int code = 0, is_first = 1;
    rewrite(self, at, calls, text, sizeof text);
    for (char *next = text; next && code == 0; is_first = 0) {
        step one;
        char *call = next;
        next = strchr(call, ';');
        contract_parse(&one, call, next ? (size_t)(next++ - call) : strlen(call));
        code = contract_make(self, &one);
        if (is_first && one.kind) contract_made(at, 'n', (void *)(uintptr_t)one.made, 0);
    }
    return code;
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

/* Handles of cudaIpc are structs, and descriptors ints. Not 1: it is another call. */
static int share(contract *self, step *at, int *code)
{
    const char *verb = at->words[0];
    cudaIpcMemHandle_t handle;
    void *made = (void *)(uintptr_t)CONTRACT_UNTOUCHED;
    static const char *const verbs[] = { "describe", "open", "cudaIpcOpenMemHandle", "close", "export", "import" };
    uint64_t page = CONTRACT_UNTOUCHED, first;
    int fd = (int)CONTRACT_UNTOUCHED, is_known = 0;
    for (size_t i = 0; i < COUNT(verbs); i++) is_known |= !strcmp(verbs[i], verb);
    if (!is_known) return 0;
    first = contract_value(self, at->words[1]);
    on(self->device);
    at->is_table = 1;
    if (!strcmp(verb, "describe")) {
        *code = (int)cudaIpcGetMemHandle(&handle, (void *)(uintptr_t)first);
        contract_handle(self, at, &handle, *code);
    } else if (!strcmp(verb, "open") || !strcmp(verb, "cudaIpcOpenMemHandle")) {
        memcpy(&handle, self->handles[first - 1], sizeof handle);
        *code = (int)cudaIpcOpenMemHandle(&made, handle, at->words[2] ? (unsigned)contract_value(self, at->words[2])
                                                                      : cudaIpcMemLazyEnablePeerAccess);
        contract_made(at, 'o', made, 0);
    } else if (!strcmp(verb, "close")) *code = (int)cudaIpcCloseMemHandle((void *)(uintptr_t)first);
    else if (!strcmp(verb, "export")) {
        is_libcuda = 1;
        *code = (int)cuMemExportToShareableHandle(&fd, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        contract_made(at, 'f', (void *)(uintptr_t)fd, 0);
    } else {
        CUmemGenericAllocationHandle got = page;
        is_libcuda = 1;
        *code = (int)cuMemImportFromShareableHandle(&got, (void *)(uintptr_t)first,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        contract_made(at, 'h', (void *)(uintptr_t)got, contract_size(self, at, 2));
    }
    return 1;
}

static int call(contract *self, step *at, int *code)
{
    const char *verb = at->words[0];
    int is_table_face = self->driver->classify != NULL;
    char kind = at->words[1] ? contract_base(self, at->words[1])->kind : '-';
    if ((!is_table_face || !strncmp(verb, "cuda", 4)) && share(self, at, code)) return 1;
    if (!strncmp(verb, "cu", 2) || !strncmp(verb, "nvml", 4)) return *code = by_name(self, at), 1;
    if (!strcmp(verb, "access") && !is_table_face) return at->is_table = 1, *code = set_access(self, at), 1;
    for (size_t i = 0; i < COUNT(rewritten); i++) {
        if (strcmp(rewritten[i].verb, verb) || (rewritten[i].kind && rewritten[i].kind != kind)) continue;
        if (rewritten[i].is_in_table && is_table_face) return 0;
        char *size = !rewritten[i].made ? NULL : at->words[strcmp(verb, "back") ? 1 : 2];
        uint64_t bytes = size && strchr("mpuarh", rewritten[i].made) ? contract_value(self, size) : 0;
        on(self->device);
        *code = make_all(self, at, rewritten[i].calls);
        at->is_table = !is_table_face;
        at->kind = rewritten[i].made;
        at->bytes = bytes;
        return 1;
    }
    return 0;
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
    return kept ? "the table left an error" : self->device && device ? "the table left its device current" : NULL;
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
    { "runtime", CUDART_VERSION, cudart_attach, no_table, call, has, settle_runtime },
    { "table", CUDART_VERSION, cudart_attach, header_table, call, has, settle_table },
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
    test_all_calls_were_refused();
    for (size_t i = 0; i < COUNT(faces); i++) contract_prohibitions(&faces[i]);
}
#endif

CUDA_TEST_MAIN(run)

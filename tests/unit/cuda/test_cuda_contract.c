/* The contract of a CUDA device, asked of the libcudart substitute: by the calls of the runtime and of libcuda, and
   through gpuarena.h's driver table over them. It also judges the last-error slot: calls of the runtime leave their
   codes there, those of libcuda and the table nothing; and the table leaves the caller's device current. Another
   process's steps are made by children that were forked before any call: the substitute serves none that was forked
   later. It must not know the contents of the cases: tests/contract; nor how memory is shared, but for the words of a
   handle. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                              /* memfd_create */
#endif
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

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
    is_libcuda = strncmp(name + strspn(name, "_"), "cuda", 4) != 0 || strncmp(name, "cudart_", 7) == 0;
    void *found = dlsym(all, name);
    char second[64];                             /* the form that newer toolkits mean by this name */
    snprintf(second, sizeof second, "%s_v2", name);
    return found ? found : dlsym(all, second);
}

/* Gives access as the table does, with the device and its peers by number. */
static int set_access(const step *at)
{
    CUmemAccessDesc descs[64];
    size_t count = 0;
    memset(descs, 0, sizeof descs);
    for (int i = 0; i < 64; i++) {
        if (i != world.device && !(world.driver->peers >> i & 1)) continue;
        descs[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        descs[count].location.id = i;
        descs[count++].flags = value_of(at->words[3]) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                      : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    is_libcuda = 1;
    return (int)cuMemSetAccess(value_of(at->words[1]), value_of(at->words[2]), descs, count);
}

/* A handle is a struct that is handed over whole. */
static int open_handle(step *at)
{
    void *opened = (void *)(uintptr_t)UNTOUCHED;
    cudaIpcMemHandle_t handle;
    memcpy(&handle, world.handles[value_of(at->words[1]) - 1], sizeof handle);
    on(world.device);
    int code = (int)cudaIpcOpenMemHandle(&opened, handle, at->words[2] ? (unsigned)value_of(at->words[2])
                                                                       : cudaIpcMemLazyEnablePeerAccess);
    made(at, 'o', bench_number(opened));
    return code;
}

/* ---- another process, of the same face: it has a machine of its own, and is told handles and descriptors by name */

enum { OTHERS = 12, TOLD = 12 };

static struct { int socket; pid_t process; } others[OTHERS];
static int other, case_number;                   /* of others: who is asked now */

typedef struct message {
    int   case_number, is_table, leaves;
    uint64_t memory_bytes;                       /* of each device */
    char  text[LINE_BYTES];
    thing things[TOLD];                          /* handles, and the one descriptor that comes along */
    unsigned char handles[MOST_HANDLES][GPUARENA_IPC_BYTES];
} message;

typedef struct answer { char why[TROUBLE_BYTES]; thing made; unsigned char handle[GPUARENA_IPC_BYTES]; } answer;

/* Sends bytes, with a descriptor unless it is -1; or receives both. */
static int pass(int socket, int sends, void *bytes, size_t length, int *fd)
{
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } extra;
    struct iovec piece = { bytes, length };
    struct msghdr about;
    memset(&about, 0, sizeof about);
    memset(&extra, 0, sizeof extra);
    about.msg_iov = &piece;
    about.msg_iovlen = 1;
    if (!sends || *fd >= 0) {
        about.msg_control = &extra;
        about.msg_controllen = sizeof extra;
    }
    extra.header.cmsg_level = SOL_SOCKET;
    extra.header.cmsg_type = SCM_RIGHTS;
    extra.header.cmsg_len = CMSG_LEN(sizeof *fd);
    if (sends) memcpy(CMSG_DATA(&extra.header), fd, sizeof *fd);
    ssize_t passed = sends ? sendmsg(socket, &about, MSG_NOSIGNAL) : recvmsg(socket, &about, MSG_WAITALL);
    if (!sends) {
        *fd = -1;
        if (about.msg_controllen > 0) memcpy(fd, CMSG_DATA(&extra.header), sizeof *fd);
    }
    return passed == (ssize_t)length;
}

static void ask_other(const char *text)
{
    message told;
    answer back;
    step at;
    int fd = -1, none = -1, count = 0;
    memset(&told, 0, sizeof told);
    told.case_number = case_number;
    told.memory_bytes = world.memory_bytes;
    told.is_table = world.driver->classify != NULL;
    snprintf(told.text, sizeof told.text, "%s", text);
    memcpy(told.handles, world.handles, sizeof told.handles);
    parse(&at, text);
    for (int i = 0; i < at.count; i++) {
        const thing *named = base_of(at.words[i]);
        if (!strchr("df", named->kind) || count == TOLD) continue;
        told.things[count++] = *named;
        if (named->kind == 'f') fd = (int)named->value;
    }
    int passed = pass(others[other].socket, 1, &told, sizeof told, &fd)
              && pass(others[other].socket, 0, &back, sizeof back, &none);
    if (!passed) blame("there is no other process");
    else if (back.why[0]) blame("%s", back.why);
    else if (back.made.kind == 'd') {
        keep_handle(&at, back.handle);
        back.made.value = at.made;
        world.things[world.thing_count++] = back.made;
    }
}

/* The other process ends, as a program that crashes; the next one is asked from now on. */
static void leave(void)
{
    message told;
    int none = -1;
    memset(&told, 0, sizeof told);
    told.leaves = 1;
    (void)pass(others[other].socket, 1, &told, sizeof told, &none);
    close(others[other].socket);
    waitpid(others[other++].process, NULL, 0);
}

/* ---- steps for which CUDA has no function */

/* The other process may not look into this one any more. Where that cannot be had, the case ends here. */
static void hide(void)
{
    ask_other("stranger");
    world.is_over = place.trouble[0] || prctl(PR_SET_DUMPABLE, 0);
    place.trouble[0] = '\0';
}

static int limit_files(uint64_t most)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return -1;
    limit.rlim_cur = most ? (rlim_t)most : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static uint64_t standard_count(void)
{
    uint64_t count = 0;
    for (int i = 0; i < 3; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* A handle like another one, except that this word of 8 bytes has another value. */
static const uint64_t *reword(step *at, const char *word, uint64_t value)
{
    static const char words[] = "magic   process machine device  what    bytes   file    place   ";
    static uint64_t said[GPUARENA_IPC_BYTES / sizeof value];
    const char *found = strstr(words, word);
    memcpy(said, world.handles[value_of(at->words[1]) - 1], sizeof said);
    if (found) said[(found - words) / 8] = value;
    else blame("a handle says no %s", word);
    keep_handle(at, said);
    return said;
}

/* Makes a handle of a file of 4 MiB with this name, which begins with the words of the handle. */
static void forge(step *at)
{
    int file = memfd_create(at->words[2], MFD_CLOEXEC);
    const uint64_t *said = reword(at, "file", (uint64_t)file);
    if (file < 0 || ftruncate(file, MIB(4)) || pwrite(file, said, GPUARENA_IPC_BYTES, 0) != GPUARENA_IPC_BYTES)
        blame("there is no file to forge with");
}

static int call(step *at, int *code)
{
    const char *verb = at->words[0];
    *code = 0;
    if (!strcmp(verb, "leave")) leave();
    else if (!strcmp(verb, "daemon")) close(0), close(1), close(2);
    else if (!strcmp(verb, "standard")) want(standard_count(), value_of(at->words[1]));
    else if (!strcmp(verb, "files")) *code = limit_files(value_of(at->words[1]));
    else if (!strcmp(verb, "stranger")) *code = geteuid() == 0 ? setresuid(65534, 65534, 65534) : 0;
    else if (!strcmp(verb, "hide")) hide();
    else if (!strcmp(verb, "show")) *code = prctl(PR_SET_DUMPABLE, 1);
    else if (!strcmp(verb, "alter")) (void)reword(at, at->words[2], value_of(at->words[3]));
    else if (!strcmp(verb, "forge")) forge(at);
    else if (!strcmp(verb, "sealed")) *code = !ftruncate((int)value_of(at->words[1]), 0) || errno != EPERM;
    else {
        int is_access = !strcmp(verb, "access"), is_open = !strcmp(verb, "open") || strstr(verb, "IpcOpenMemHandle");
        if (world.driver->classify || !(is_access || is_open)) return 0;
        at->is_table = 1;
        *code = is_access ? set_access(at) : open_handle(at);
    }
    return 1;
}

static int has(void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset)
{
    static unsigned char here[1 << 20];
    on(world.device);
    for (uint64_t done = 0; done < bytes; done += sizeof here) {
        size_t part = bytes - done < sizeof here ? (size_t)(bytes - done) : sizeof here;
        *bad_offset = done;
        if (cudaMemcpy(here, (char *)ptr + done, part, cudaMemcpyDeviceToHost)) return 0;
        for (size_t i = 0; i < part; i++, ++*bad_offset)
            if (here[i] != (unsigned char)pattern) return 0;
    }
    return 1;
}

/* ---- the last-error slot and the current device after a call */

static const char *settle_runtime(int code, int is_table)
{
    int kept = (int)cudaGetLastError(), is_lost = codes_of(kept)->status == GPUARENA_STATUS_LOST;
    if (!is_table || is_lost) return NULL;
    return kept == (is_libcuda ? 0 : code) ? NULL : "the last-error slot holds something else";
}

static const char *settle_table(int code, int is_table)
{
    int kept = (int)cudaGetLastError(), device = -1, is_lost = codes_of(kept)->status == GPUARENA_STATUS_LOST;
    (void)code;
    cudaGetDevice(&device);
    on(0);
    if (!is_table || is_lost) return NULL;
    return kept ? "the table left an error" : device && !world.is_astray ? "the table left its device current" : NULL;
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

static void attach(sim *machine)
{
    case_number += machine != NULL;
    cudart_attach(machine);
}

static const face faces[] = {
    { "runtime", CUDART_VERSION, attach, no_table, find, on, call, has, settle_runtime, ask_other },
    { "table", CUDART_VERSION, attach, header_table, find, on, call, has, settle_table, ask_other },
};

static void serve(int socket)
{
    message told;
    answer back;
    int fd = -1, number = 0;
    while (pass(socket, 0, &told, sizeof told, &fd) && !told.leaves) {
        memset(&back, 0, sizeof back);
        if (told.case_number != number) {
            if (number) close_world();
            char options[40];
            snprintf(options, sizeof options, "{memory=%" PRIu64 "}", told.memory_bytes);
            open_world(&faces[told.is_table], options);
            world.thing_count = TOLD;
            number = told.case_number;
        }
        memcpy(world.things, told.things, sizeof told.things);
        for (int i = 0; i < TOLD; i++) if (world.things[i].kind == 'f') world.things[i].value = (uint64_t)fd;
        memcpy(world.handles, told.handles, sizeof world.handles);
        world.handle_count = MOST_HANDLES - 1;   /* its own */
        int count = world.thing_count;
        place.trouble[0] = '\0';
        place.file = "another process";          /* the first one says which line it is */
        run_step(told.text);
        memcpy(back.why, place.trouble, sizeof back.why);
        if (world.thing_count > count) back.made = world.things[count];
        memcpy(back.handle, world.handles[MOST_HANDLES - 1], sizeof back.handle);
        if (fd >= 0) close(fd);
        fd = -1;
        if (!pass(socket, 1, &back, sizeof back, &fd)) break;
    }
    _exit(0);
}

static void start_others(void)
{
    for (int i = 0; i < OTHERS; i++) {
        int ends[2] = { -1, -1 };
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || (others[i].process = fork()) < 0) {
            printf("Bail out! no other process: %s\n", strerror(errno));
            exit(1);
        }
        if (others[i].process == 0) {
            close(ends[0]);
            serve(ends[1]);
        }
        close(ends[1]);
        others[i].socket = ends[0];
    }
}

/* Kernels cannot run, so their calls fail anyhow; host functions: test_cudart_calls.c. */
static void test_all_calls_were_refused(void)
{
    static const char *const elsewhere[] = {
        "LaunchKernel", "LaunchCooperative", "cudaFunc", "Occupancy", "LaunchHostFunc", "GetDeviceProperties",
        CUDART_VERSION < 12000 ? "cudaInitDevice" : "?", CUDART_VERSION < 12000 ? "cudaStreamGetId" : "?",
        CUDART_VERSION < 12050 ? "EntryPointByVersion" : "?", CUDART_VERSION < 13000 ? "CaptureInfo" : "?",
        CUDART_VERSION < 12080 ? "cudaStreamGetDevice" : "?",
    };
    static const char *const names[SIM_CALL_KINDS] = {
#define X(kind, text, cuda_name, code, cost, trait) #cuda_name,
        SIM_CALLS(X)
#undef X
    };
    for (int i = 0; i < SIM_CALL_KINDS; i++) {
        int is_elsewhere = 0;
        for (size_t j = 0; j < COUNT(elsewhere); j++) is_elsewhere |= strstr(names[i], elsewhere[j]) != NULL;
        if (is_elsewhere == was_refused[i]) CHECK_MSG(0, "%s is made to fail, once", names[i]);
    }
}

static void run(void)
{
    static const char *const files[] = { "memory", "virtual", "share", "processes", "streams", "captures",
                                         "prohibitions" };
    start_others();
    for (size_t i = 0; i < COUNT(faces); i++)
        for (size_t j = 0; j < COUNT(files); j++) run_contract(&faces[i], files[j]);
    run_contract(&faces[0], "runtime");
    run_contract(&faces[0], "pools");            /* gpuarena.h's table has a pool of its own */
    run_contract(&faces[1], "table");
    test_all_calls_were_refused();
    while (other < OTHERS) leave();
}
#endif

CUDA_TEST_MAIN(run)

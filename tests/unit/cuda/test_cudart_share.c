/* Memory between two real processes on the libcudart substitute: each has a machine of its own, contents are common.
   The others are children that were forked before any call: the substitute serves no child that was forked later.
   Must not know how contents are shared, but for what a forged handle says. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                              /* memfd_create */
#endif
#include "cuda_machine.h"

#ifdef GPUARENA_NO_CUDA
CUDA_TEST_MAIN(run)
#else
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

typedef enum order { ORDER_OPEN, ORDER_CLOSE, ORDER_FREE, ORDER_GET, ORDER_IMPORT, ORDER_UNMAP, ORDER_STRANGER,
                     ORDER_DAEMON, ORDER_FILES, ORDER_LEAVE } order;

/* What the other process is told. It reads a byte at `at`, then sets all `bytes` to `value`, if that is not 0. It
   closes, frees and exports what lies `at` below its memory, and may have `at` files, 0: as many as it can. */
typedef struct message {
    order what;
    unsigned char value;
    uint64_t at, bytes;
    cudaIpcMemHandle_t handle;
} message;

/* standard: how many of the descriptors 0 to 2 are open. */
typedef struct answer { int code, byte, standard; uint64_t held, findings; } answer;

typedef struct other { int ends[2]; pid_t process; } other;

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

/* ---- the other process */

static void look(const message *told, char *memory, answer *told_back)
{
    unsigned char byte = 0;
    if (told_back->code) return;
    told_back->code = (int)cudaMemcpy(&byte, memory + told->at, 1, cudaMemcpyDeviceToHost);
    told_back->byte = byte;
    if (told->value && !told_back->code) told_back->code = (int)cudaMemset(memory, told->value, (size_t)told->bytes);
}

static int import(const gpuarena_driver *driver, const message *told, int fd, void **memory)
{
    uint64_t page;
    int code = driver->fd.to_page(driver, fd, &page);
    if (!code) code = driver->vm.reserve(driver, memory, told->bytes, 0);
    if (!code) code = driver->vm.map(driver, *memory, told->bytes, page);
    if (!code) code = driver->vm.access(driver, *memory, told->bytes, 1);
    return code ? code : driver->vm.destroy(driver, page, told->bytes);
}

/* From now on this process may not look into others. -1: it still may. */
static int become_a_stranger(void)
{
    return geteuid() == 0 ? setresuid(65534, 65534, 65534) : 0;
}

static int limit_files(uint64_t most)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return -1;
    limit.rlim_cur = most ? (rlim_t)most : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static void close_standard(void)
{
    for (int i = 0; i < 3; i++) close(i);
}

static int standard_count(void)
{
    int count = 0;
    for (int i = 0; i < 3; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void serve(int socket)
{
    sim *machine = machine_attach(NULL);
    gpuarena_driver driver;
    message told;
    void *memory = NULL;
    int fd = -1;
    gpuarena_driver_cuda(0, &driver);
    while (pass(socket, 0, &told, sizeof told, &fd)) {
        answer back = { 0, 0, 0, 0, 0 };
        char *below = memory ? (char *)memory - told.at : NULL;
        if (told.what == ORDER_LEAVE) _exit(0);  /* as a program that crashes */
        if (told.what == ORDER_OPEN)
            back.code = (int)cudaIpcOpenMemHandle(&memory, told.handle, cudaIpcMemLazyEnablePeerAccess);
        if (told.what == ORDER_CLOSE) back.code = (int)cudaIpcCloseMemHandle(below);
        if (told.what == ORDER_FREE) back.code = (int)cudaFree(below);
        if (told.what == ORDER_GET) back.code = (int)cudaIpcGetMemHandle(&told.handle, below);
        if (told.what == ORDER_STRANGER) back.code = become_a_stranger();
        if (told.what == ORDER_FILES) back.code = limit_files(told.at);
        if (told.what == ORDER_DAEMON) close_standard();
        if (told.what == ORDER_IMPORT) back.code = import(&driver, &told, fd, &memory);
        if (told.what == ORDER_OPEN || told.what == ORDER_IMPORT) look(&told, memory, &back);
        if (told.what == ORDER_UNMAP) back.code = driver.vm.unmap(&driver, memory, told.bytes);
        if (fd >= 0) close(fd);
        back.standard = standard_count();
        back.held = machine_held(machine, 0);
        back.findings = (uint64_t)sim_finding_count(machine);
        fd = -1;
        if (!pass(socket, 1, &back, sizeof back, &fd)) break;
    }
    _exit(0);
}

static other start(void)
{
    other made = { { -1, -1 }, -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, made.ends) == 0) made.process = fork();
    if (made.process < 0) {
        printf("Bail out! no other process: %s\n", strerror(errno));
        exit(1);
    }
    if (made.process == 0) {
        close(made.ends[0]);
        serve(made.ends[1]);
    }
    close(made.ends[1]);
    return made;
}

static message order_of(order what, uint64_t at, uint64_t bytes, int value)
{
    message made;
    memset(&made, 0, sizeof made);
    made.what = what;
    made.value = (unsigned char)value;
    made.at = at;
    made.bytes = bytes;
    return made;
}

static answer ask(const other *child, message told, int fd)
{
    answer back = { -1, 0, 0, 0, 0 };
    int none = -1;
    if (!pass(child->ends[0], 1, &told, sizeof told, &fd) || told.what == ORDER_LEAVE) return back;
    if (!pass(child->ends[0], 0, &back, sizeof back, &none)) back.code = -2;
    return back;
}

static void finish(const other *child)
{
    ask(child, order_of(ORDER_LEAVE, 0, 0, 0), -1);
    close(child->ends[0]);
    waitpid(child->process, NULL, 0);
}

/* ---- this one */

static int byte_at(const void *memory, uint64_t at)
{
    unsigned char byte = 0;
    CHECK_DONE(cudaMemcpy(&byte, (const char *)memory + at, 1, cudaMemcpyDeviceToHost));
    return byte;
}

static void test_blocks(const other *child)
{
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, MIB(5) - 1, MIB(5), 0), closes = order_of(ORDER_CLOSE, 0, 0, 0);
    void *block = NULL;
    CHECK_DONE(cudaMalloc(&block, MIB(5)));
    CHECK_DONE(cudaMemset(block, 7, MIB(5)));
    CHECK_DONE(cudaIpcGetMemHandle(&open.handle, block));
    CHECK_INT(byte_at(block, MIB(3)), ==, 7);
    answer back = ask(child, open, -1);
    CHECK_MSG(back.code == 0 && back.byte == 7, "another process reads what was written before: %d", back.byte);
    CHECK_MSG(back.held == MIB(6), "on its device the memory is held, too");
    open.value = 9;
    back = ask(child, open, -1);
    CHECK_MSG(back.code == 0 && back.held == MIB(6), "opened again it is the same memory");
    CHECK_MSG(byte_at(block, 0) == 9 && byte_at(block, MIB(5) - 1) == 9, "what it writes is read here");
    CHECK_DONE(cudaMemset(block, 5, MIB(1)));
    open.value = 0;
    open.at = MIB(1) - 1;
    back = ask(child, open, -1);
    CHECK_MSG(back.code == 0 && back.byte == 5, "what is written after the export is read there");
    back = ask(child, order_of(ORDER_FREE, 0, 0, 0), -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 1, "it must not free the memory");
    for (int i = 0; i < 3; i++) {
        CHECK_CODE(cudaFree(block), cudaErrorInvalidValue);
        CHECK_INT(sim_finding_count(machine), ==, i + 1);
        back = ask(child, closes, -1);
        CHECK_INT(back.code, ==, 0);
    }
    CHECK_MSG(back.held == 0, "with the last close it is gone there,");
    CHECK_DONE(cudaFree(block));
    CHECK_MSG(sim_finding_count(machine) == 3, "and may be given back here");
    back = ask(child, open, -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 2, "then nobody opens it any more");
    cudart_close(machine);
}

static void test_a_piece_of_a_slab(const other *child)
{
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, 99, 100, 3);
    void *first = NULL, *second = NULL;
    CHECK(!cudaMalloc(&first, 1000) && !cudaMalloc(&second, 100));
    CHECK(!cudaMemset(first, 1, 1000) && !cudaMemset(second, 2, 100));
    CHECK_DONE(cudaIpcGetMemHandle(&open.handle, second));
    answer back = ask(child, open, -1);
    CHECK_MSG(back.code == 0 && back.byte == 2, "a small request is opened where it begins: %d", back.byte);
    CHECK_MSG(byte_at(second, 99) == 3 && byte_at(first, 999) == 1, "and its neighbour is not written");
    message below = order_of(ORDER_FREE, (uint64_t)((char *)second - (char *)first), 0, 0);
    back = ask(child, below, -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 1 && back.held == MIB(2),
              "nor is the memory freed by the base of the slab: %d", back.code);
    below.what = ORDER_GET;
    back = ask(child, below, -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 2, "or exported by it: %d", back.code);
    back = ask(child, order_of(ORDER_CLOSE, 0, 0, 0), -1);
    CHECK_MSG(back.code == 0 && back.held == 0, "it is there to be closed");
    CHECK(!cudaFree(first) && !cudaFree(second) && sim_finding_count(machine) == 0);
    cudart_close(machine);
}

/* The same handle, byte for byte, is of other memory after a free and an obtain. */
static void test_a_handle_that_comes_again(const other *child)
{
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, 0, 1000, 0), again = open;
    void *block = NULL;
    CHECK(!cudaMalloc(&block, 1000) && !cudaMemset(block, 1, 1000) && !cudaIpcGetMemHandle(&open.handle, block));
    CHECK_INT(ask(child, open, -1).byte, ==, 1);
    CHECK_DONE(cudaFree(block));
    CHECK(!cudaMalloc(&block, 1000) && !cudaMemset(block, 2, 1000) && !cudaIpcGetMemHandle(&again.handle, block));
    CHECK_MSG(memcmp(&open.handle, &again.handle, sizeof open.handle) == 0, "the handle is the same");
    answer back = ask(child, again, -1);
    CHECK_MSG(back.code == 0 && back.byte == 2, "another memory by the same handle is opened: %d", back.byte);
    CHECK_INT(back.held, ==, MIB(4));
    back = ask(child, again, -1);
    CHECK_MSG(back.code == 0 && back.byte == 2 && back.held == MIB(4), "and opened again as the same");
    CHECK_INT(ask(child, order_of(ORDER_CLOSE, 0, 0, 0), -1).code, ==, 0);
    back = ask(child, order_of(ORDER_CLOSE, 0, 0, 0), -1);
    CHECK_MSG(back.code == 0 && back.held == MIB(2), "what was opened first stays,");
    back = ask(child, order_of(ORDER_CLOSE, MIB(2), 0, 0), -1);
    CHECK_MSG(back.code == 0 && back.held == 0 && back.findings == 0, "until it is closed");
    back = ask(child, open, -1);
    CHECK_MSG(back.code == 0 && back.held == MIB(2), "then the handle opens the memory that is there,");
    CHECK_DONE(cudaFree(block));
    back = ask(child, open, -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 1, "but never what is gone");
    cudart_close(machine);
}

static void test_an_import_is_not_exported(const other *child)
{
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, 0, MIB(2), 0);
    void *block = NULL;
    CHECK(!cudaMalloc(&block, MIB(2)) && !cudaIpcGetMemHandle(&open.handle, block));
    CHECK_INT(ask(child, open, -1).code, ==, 0);
    answer back = ask(child, order_of(ORDER_GET, 0, 0, 0), -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 1, "imported memory has no handle: %d",
              back.code);
    CHECK_INT(ask(child, order_of(ORDER_CLOSE, 0, 0, 0), -1).code, ==, 0);
    CHECK(!cudaFree(block) && sim_finding_count(machine) == 0);
    cudart_close(machine);
}

/* What keeps an open from being made, but is no mistake of the program. */
static void test_opens_that_cannot_be(const other *child)
{
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, 0, MIB(2), 0);
    void *block = NULL;
    CHECK(!cudaMalloc(&block, MIB(2)) && !cudaIpcGetMemHandle(&open.handle, block));
    answer back = ask(child, order_of(ORDER_DAEMON, 0, 0, 0), -1);
    CHECK_INT(back.standard, ==, 0);
    back = ask(child, open, -1);
    CHECK_MSG(back.code == 0 && back.standard == 0, "an open takes no descriptor below 3: %d", back.standard);
    CHECK_INT(ask(child, order_of(ORDER_CLOSE, 0, 0, 0), -1).code, ==, 0);
    CHECK_INT(ask(child, order_of(ORDER_FILES, 1, 0, 0), -1).code, ==, 0);
    back = ask(child, open, -1);
    CHECK_MSG(back.code == (int)cudaErrorUnknown && back.findings == 0, "without descriptors: %d", back.code);
    CHECK_INT(ask(child, order_of(ORDER_FILES, 0, 0, 0), -1).code, ==, 0);
    int dumpable = prctl(PR_GET_DUMPABLE);
    if (ask(child, order_of(ORDER_STRANGER, 0, 0, 0), -1).code == 0 && prctl(PR_SET_DUMPABLE, 0) == 0) {
        back = ask(child, open, -1);
        CHECK_MSG(back.code == (int)cudaErrorNotSupported && back.findings == 0, "without permission: %d", back.code);
        prctl(PR_SET_DUMPABLE, dumpable);
    }
    CHECK(!cudaFree(block) && sim_finding_count(machine) == 0);
    cudart_close(machine);
}

/* A descriptor with a handle at the beginning of its file, and room for 4 MiB; or -1. */
static int forge(const char *name, cudaIpcMemHandle_t *handle, uint64_t bytes)
{
    enum { WORD_BYTES = 5, WORD_FILE = 6, WORDS = 8 };
    uint64_t words[WORDS];
    int file = memfd_create(name, MFD_CLOEXEC);
    memcpy(words, handle, sizeof words);
    words[WORD_BYTES] = bytes;
    words[WORD_FILE] = (uint64_t)file;
    memcpy(handle, words, sizeof words);
    if (file >= 0 && ftruncate(file, MIB(4)) == 0 && pwrite(file, words, sizeof words, 0) == (ssize_t)sizeof words) {
        return file;
    }
    if (file >= 0) close(file);
    return -1;
}

static void test_forged_handles(const other *child)
{
    static const struct { const char *name; uint64_t bytes; int opens; } forged[] = {
        { "gpuarena-sim", MIB(2), 1 }, { "other", MIB(2), 0 }, { "gpuarena-sim", 0, 0 },
        { "gpuarena-sim", MIB(1), 0 }, { "gpuarena-sim", (uint64_t)0 - MIB(2), 0 },
    };
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, 0, MIB(2), 0);
    void *block = NULL;
    uint64_t findings = 0;
    CHECK(!cudaMalloc(&block, MIB(2)) && !cudaIpcGetMemHandle(&open.handle, block));
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        message told = open;
        int file = forge(forged[i].name, &told.handle, forged[i].bytes);
        answer back = ask(child, told, -1);
        findings += !forged[i].opens;
        CHECK_MSG(file >= 0 && back.code == (forged[i].opens ? 0 : (int)cudaErrorInvalidValue)
                      && back.findings == findings, "forged handle %d: %d", (int)i, back.code);
        if (back.code == 0) ask(child, order_of(ORDER_CLOSE, 0, 0, 0), -1);
        close(file);
    }
    CHECK(!cudaFree(block) && sim_finding_count(machine) == 0);
    cudart_close(machine);
}

static void test_processes_that_end(const other *child, const other *late)
{
    sim *machine = machine_attach(NULL);
    message open = order_of(ORDER_OPEN, 0, MIB(2), 0);
    void *block = NULL;
    CHECK_DONE(cudaMalloc(&block, MIB(2)));
    CHECK_DONE(cudaIpcGetMemHandle(&open.handle, block));
    CHECK_INT(ask(child, open, -1).code, ==, 0);
    CHECK_CODE(cudaFree(block), cudaErrorInvalidValue);
    finish(child);
    CHECK_DONE(cudaFree(block));
    CHECK_MSG(sim_finding_count(machine) == 1, "an importer that is gone keeps nothing");
    CHECK_DONE(cudaMalloc(&block, MIB(2)));
    CHECK_DONE(cudaIpcGetMemHandle(&open.handle, block));
    cudart_close(machine);
    answer back = ask(late, open, -1);
    CHECK_MSG(back.code == (int)cudaErrorInvalidValue && back.findings == 1, "an exporter that is gone has nothing");
}

static void test_pages(const other *child)
{
    sim *machine = machine_attach(NULL);
    message told = order_of(ORDER_IMPORT, MIB(4) - 1, MIB(4), 8);
    gpuarena_driver driver;
    void *memory = NULL;
    uint64_t page = 0;
    int fd = -1, again = -1;
    CHECK_INT(gpuarena_driver_cuda(0, &driver), ==, GPUARENA_OK);
    CHECK_INT(driver.vm.create(&driver, &page, MIB(4), GPUARENA_PAGE_SHARED), ==, 0);
    CHECK_INT(driver.vm.reserve(&driver, &memory, MIB(4), 0), ==, 0);
    CHECK(!driver.vm.map(&driver, memory, MIB(4), page) && !driver.vm.access(&driver, memory, MIB(4), 1));
    CHECK_DONE(cudaMemset(memory, 6, MIB(4)));
    CHECK(!driver.fd.from_page(&driver, page, &fd) && !driver.fd.from_page(&driver, page, &again));
    CHECK_MSG(ftruncate(fd, 0) == -1 && errno == EPERM, "nobody takes the contents from under it");
    answer back = ask(child, told, fd);
    CHECK_MSG(back.code == 0 && back.byte == 6 && back.held == MIB(4), "another process maps it: %d", back.byte);
    CHECK_MSG(byte_at(memory, 0) == 8, "and what it writes is read here");
    CHECK(!driver.vm.unmap(&driver, memory, MIB(4)) && !driver.vm.destroy(&driver, page, MIB(4)));
    CHECK_INT(machine_held(machine, 0), ==, 0);
    CHECK_INT(ask(child, order_of(ORDER_UNMAP, 0, MIB(4), 0), -1).code, ==, 0);
    told.value = 0;
    back = ask(child, told, again);
    CHECK_MSG(back.code == 0 && back.byte == 8, "a descriptor keeps the memory for others");
    close(fd);
    close(again);
    CHECK(!driver.vm.release(&driver, memory, MIB(4)) && sim_finding_count(machine) == 0);
    cudart_close(machine);
}

static void run(void)
{
    enum { OTHERS = 9 };
    other others[OTHERS];
    for (int i = 0; i < OTHERS; i++) others[i] = start();
    test_blocks(&others[0]);
    test_a_piece_of_a_slab(&others[1]);
    test_processes_that_end(&others[2], &others[3]);
    test_a_handle_that_comes_again(&others[5]);
    test_an_import_is_not_exported(&others[6]);
    test_opens_that_cannot_be(&others[7]);
    test_forged_handles(&others[8]);
    test_pages(&others[4]);
    for (int i = 0; i < OTHERS; i++) if (i != 2) finish(&others[i]);
}

CUDA_TEST_MAIN(run)
#endif

/* Two processes: one exports a block, whose pages travel as file descriptors over a socket; the other maps them.
   Introduces gpuarena_export, gpuarena_export_fd, gpuarena_export_end, gpuarena_import, gpuarena_import_fd,
   gpuarena_import_end.
   Run: make build/examples/16_two_processes && build/examples/16_two_processes;
   without a GPU: LD_LIBRARY_PATH=build/sim .. A simulated device is its process's own: there the import is refused,
   and the program says so; `16_two_processes one` imports in the process that exports. */
#define _POSIX_C_SOURCE 200809L
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_MIB = 300, PATTERN = 7 };

typedef union ancillary { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } ancillary;

/* A message is the length of a handle's pages, with its descriptor. */
static struct msghdr message_of(struct iovec *piece, ancillary *extra, uint64_t *bytes)
{
    struct msghdr message;
    memset(&message, 0, sizeof message);
    memset(extra, 0, sizeof *extra);
    piece->iov_base = bytes;
    piece->iov_len = sizeof *bytes;
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    message.msg_control = extra->space;
    message.msg_controllen = sizeof extra->space;
    return message;
}

static int send_fd(int to, int fd, uint64_t bytes)
{
    struct iovec piece;
    ancillary extra;
    struct msghdr message = message_of(&piece, &extra, &bytes);
    extra.header.cmsg_level = SOL_SOCKET;
    extra.header.cmsg_type = SCM_RIGHTS;
    extra.header.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&extra.header), &fd, sizeof fd);
    return sendmsg(to, &message, 0) == (ssize_t)sizeof bytes ? 0 : 1;
}

static int receive_fd(int from, int *fd, uint64_t *bytes)
{
    struct iovec piece;
    ancillary extra;
    struct msghdr message = message_of(&piece, &extra, bytes);
    if (recvmsg(from, &message, MSG_WAITALL) != (ssize_t)sizeof *bytes) return 1;
    if (extra.header.cmsg_type != SCM_RIGHTS) return 1;
    memcpy(fd, CMSG_DATA(&extra.header), sizeof *fd);
    return 0;
}

static int open_arena(gpuarena **arena)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = example_driver();
    config.share = GPUARENA_SHARE_PAGES;
    return gpuarena_create(&config, arena) ? example_failed() : 0;
}

/* ---- the importer: maps what arrives, reads it, and answers how it went */

static gpuarena_result map_all(gpuarena *arena, int from, const gpuarena_shared *shared, void *ptr)
{
    gpuarena_result result = GPUARENA_OK;
    uint64_t at, bytes = 0;
    for (at = 0; at < shared->paged_bytes; at += bytes) {
        int fd;
        if (receive_fd(from, &fd, &bytes)) return GPUARENA_DRIVER_ERROR;
        if (result == GPUARENA_OK) result = gpuarena_import_fd(arena, ptr, fd, bytes);
        close(fd);
    }
    return result;
}

static int importer(int socket)
{
    gpuarena *arena;
    gpuarena_shared shared;
    gpuarena_result result;
    void *ptr = NULL;
    int failed = 0;
    if (read(socket, &shared, sizeof shared) != (ssize_t)sizeof shared) return 1;    /* the exporter has said why */
    if (open_arena(&arena)) return 1;
    result = gpuarena_import(arena, &shared, &ptr);
    if (result == GPUARENA_OK) result = map_all(arena, socket, &shared, ptr);
    if (result == GPUARENA_OK) failed = example_compare(ptr, shared.bytes, PATTERN);
    else example_explain(stdout, "importer: import");
    if (result == GPUARENA_OK && !failed) printf("importer: %d MiB, as they were written\n", BLOCK_MIB);
    fflush(stdout);
    if (gpuarena_import_end(arena, ptr)) return example_failed();
    if (write(socket, &result, sizeof result) != (ssize_t)sizeof result) return 1;
    return gpuarena_destroy(arena) || failed;
}

/* ---- the exporter */

static int hand_over(gpuarena *arena, int to, void *block, const gpuarena_shared *shared)
{
    uint64_t at, bytes;
    int fd, failed = write(to, shared, sizeof *shared) != (ssize_t)sizeof *shared;
    for (at = 0; at < shared->paged_bytes && !failed; at += bytes) {
        if (gpuarena_export_fd(arena, block, at, &fd, &bytes)) return example_failed();
        failed = send_fd(to, fd, bytes);
        close(fd);                               /* the message has one of its own */
    }
    return failed;
}

static int exporter(int socket)
{
    gpuarena *arena;
    gpuarena_shared shared;
    gpuarena_result answer;
    void *block;
    if (open_arena(&arena)) return 1;
    if (gpuarena_alloc(arena, &block, BLOCK_MIB * MIB, NULL)) return example_failed();
    if (example_write(block, BLOCK_MIB * MIB, PATTERN)) return 1;
    if (gpuarena_export(arena, block, &shared)) return example_failed();
    if (hand_over(arena, socket, block, &shared)) return fprintf(stderr, "the importer is gone\n"), 1;
    if (gpuarena_free(arena, block, NULL) == GPUARENA_OK) return 1;
    example_explain(stdout, "exporter: free");
    fflush(stdout);
    if (read(socket, &answer, sizeof answer) != (ssize_t)sizeof answer) return 1;
    printf("exporter: the importer answers %s\n", gpuarena_result_name(answer));
    if (gpuarena_export_end(arena, block) || gpuarena_free(arena, block, NULL)) return example_failed();
    return gpuarena_destroy(arena) || (answer != GPUARENA_OK && answer != GPUARENA_NOT_SUPPORTED);
}

/* Both in one process, as a GPU allows for pages. */
static int one_process(void)
{
    gpuarena *arena;
    gpuarena_shared shared;
    void *block, *ptr;
    uint64_t at, bytes, count = 0;
    int fd;
    if (open_arena(&arena)) return 1;
    if (gpuarena_alloc(arena, &block, BLOCK_MIB * MIB, NULL)) return example_failed();
    if (example_write(block, BLOCK_MIB * MIB, PATTERN)) return 1;
    if (gpuarena_export(arena, block, &shared) || gpuarena_import(arena, &shared, &ptr)) return example_failed();
    for (at = 0; at < shared.paged_bytes; at += bytes, count++) {
        gpuarena_result result;
        if (gpuarena_export_fd(arena, block, at, &fd, &bytes)) return example_failed();
        result = gpuarena_import_fd(arena, ptr, fd, bytes);
        close(fd);
        if (result) return example_failed();
    }
    if (example_compare(ptr, shared.bytes, PATTERN)) return 1;
    printf("%d MiB by %" PRIu64 " descriptors, at another address, as they were written\n", BLOCK_MIB, count);
    if (gpuarena_import_end(arena, ptr) || gpuarena_export_end(arena, block)) return example_failed();
    return gpuarena_free(arena, block, NULL) || gpuarena_destroy(arena);
}

int main(int count, char **words)
{
    int ends[2], status = 0, failed;
    pid_t child;
    if (count > 1 && strcmp(words[1], "one") == 0) return one_process();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return perror("socketpair"), 1;
    child = fork();                              /* before CUDA is used: it does not survive a fork */
    if (child < 0) return perror("fork"), 1;
    if (child == 0) {
        close(ends[0]);
        return importer(ends[1]);
    }
    close(ends[1]);
    failed = exporter(ends[0]);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child) return 1;
    return failed || status;
}

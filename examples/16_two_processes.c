/* Two processes: one exports a block, whose pages travel as file descriptors over a socket; the other maps them.
   Introduces gpuarena_export, gpuarena_import, and their _fd and _end.
   Run: make build/examples/16_two_processes && build/examples/16_two_processes (LD_LIBRARY_PATH=build/sim: no GPU).
   `16_two_processes one` imports in a thread. Without the CUDA Toolkit only that works: see stress/sim/memory.h. */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_MIB = 40, PATTERN = 7 };

/* Sends or receives the length of a handle's pages, with its descriptor. */
static int pass_fd(int socket, int sends, int *fd, uint64_t *bytes)
{
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } extra;
    struct iovec piece = { bytes, sizeof *bytes };
    struct msghdr message = { NULL, 0, &piece, 1, &extra, sizeof extra, 0 };   /* on Linux, in this order */
    ssize_t passed;
    memset(&extra, 0, sizeof extra);
    extra.header.cmsg_level = SOL_SOCKET;
    extra.header.cmsg_type = SCM_RIGHTS;
    extra.header.cmsg_len = CMSG_LEN(sizeof *fd);
    if (sends) memcpy(CMSG_DATA(&extra.header), fd, sizeof *fd);
    passed = sends ? sendmsg(socket, &message, MSG_NOSIGNAL) : recvmsg(socket, &message, MSG_WAITALL);
    if (!sends) memcpy(fd, CMSG_DATA(&extra.header), sizeof *fd);
    return passed != (ssize_t)sizeof *bytes;
}

/* Opens an arena that exports pages; or, if handles of pages cannot be exported, a segment of the block's own. */
static int open_arena(gpuarena **arena, gpuarena_request *request)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_result result;
    config.driver = example_driver();
    config.share = GPUARENA_SHARE_PAGES;
    result = gpuarena_create(&config, arena);
    if (result != GPUARENA_NOT_SUPPORTED) return result ? example_failed() : 0;
    config.share = GPUARENA_SHARE_NONE;
    request->flags = GPUARENA_ALLOC_DEDICATED;
    return gpuarena_create(&config, arena) ? example_failed() : 0;
}

static int importer(int socket)
{
    gpuarena *arena;
    gpuarena_request unused = GPUARENA_INIT;
    gpuarena_shared shared;
    gpuarena_result result;
    void *ptr = NULL;
    uint64_t at, bytes;
    int fd, failed;
    if (read(socket, &shared, sizeof shared) != (ssize_t)sizeof shared || open_arena(&arena, &unused)) return 1;
    result = gpuarena_import(arena, &shared, &ptr);
    for (at = 0; at < shared.paged_bytes; at += bytes) {
        if (pass_fd(socket, 0, &fd, &bytes)) return 1;
        if (result == GPUARENA_OK) result = gpuarena_import_fd(arena, ptr, fd, bytes);
        close(fd);
    }
    failed = result == GPUARENA_OK && example_compare(ptr, shared.bytes, PATTERN);
    if (result) example_explain(result == GPUARENA_NOT_SUPPORTED ? stdout : stderr, "importer: import");
    else printf("importer: %d MiB, %s\n", BLOCK_MIB, failed ? "spoilt" : "as they were written");
    fflush(stdout);
    if (gpuarena_import_end(arena, ptr) || gpuarena_destroy(arena)) return example_failed();
    return send(socket, &result, sizeof result, MSG_NOSIGNAL) != (ssize_t)sizeof result || failed;
}

static int exporter(int socket)
{
    gpuarena *arena;
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_shared shared;
    gpuarena_result answer;
    void *block;
    uint64_t at, bytes;
    int fd, failed;
    request.bytes = BLOCK_MIB * MIB;
    if (open_arena(&arena, &request)) return 1;
    if (gpuarena_alloc_ex(arena, &block, &request) || gpuarena_export(arena, block, &shared)) return example_failed();
    if (example_write(block, request.bytes, PATTERN) || gpuarena_free(arena, block, NULL) == GPUARENA_OK) return 1;
    example_explain(stdout, "exporter: free");
    fflush(stdout);
    failed = send(socket, &shared, sizeof shared, MSG_NOSIGNAL) != (ssize_t)sizeof shared;
    for (at = 0; at < shared.paged_bytes && !failed; at += bytes) {
        if (gpuarena_export_fd(arena, block, at, &fd, &bytes)) return example_failed();
        failed = pass_fd(socket, 1, &fd, &bytes);
        close(fd);                               /* the message holds a descriptor of its own */
    }
    failed = failed || read(socket, &answer, sizeof answer) != (ssize_t)sizeof answer;
    if (failed) return fprintf(stderr, "exporter: the importer is gone\n"), 1;
    printf("exporter: the importer answers %s\n", gpuarena_result_name(answer));
    if (gpuarena_export_end(arena, block) || gpuarena_free(arena, block, NULL) || gpuarena_destroy(arena))
        return example_failed();
    return answer != GPUARENA_OK && answer != GPUARENA_NOT_SUPPORTED;
}

static void *importer_thread(void *socket)
{
    int failed = importer(*(int *)socket);
    return close(*(int *)socket) || failed ? socket : NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    int ends[2], status = 0, failed, one = count > 1 && strcmp(words[1], "one") == 0;
    pid_t child = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return perror("socketpair"), 1;
    if (one && pthread_create(&thread, NULL, importer_thread, &ends[1])) return perror("pthread_create"), 1;
    if (!one) child = fork();                    /* before CUDA is used, because CUDA does not survive a fork */
    if (!one && child == 0) return close(ends[0]) || importer(ends[1]);
    if (!one) close(ends[1]);
    failed = exporter(ends[0]);
    close(ends[0]);
    if (one ? pthread_join(thread, NULL) : waitpid(child, &status, 0) != child) return 1;
    return failed || status;
}

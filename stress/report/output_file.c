/* Making files beside their place, and errors that only show when a file is closed.
   It must not know the formats.
   Tested by tests/interrupt.t and tests/run.t. */
#define _XOPEN_SOURCE 700                        /* realpath */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../result/csv.h"

enum { OUTPUT_MARK_ROOM = 200 };

/* Where the last line of ours that leaves room for a mark ends: no half row may look like a whole one. What stood in
   front of `begun` is not ours. */
static off_t output_last_line(int file, off_t begun, off_t size)
{
    char text[4096];
    off_t end = size - begun > OUTPUT_MARK_ROOM ? size - OUTPUT_MARK_ROOM : begun;
    while (end > begun) {
        off_t from = end - begun > (off_t)sizeof text ? end - (off_t)sizeof text : begun;
        ssize_t length = pread(file, text, (size_t)(end - from), from);
        while (length > 0 && text[length - 1] != '\n') length--;
        end = length > 0 ? from + length : from;
        if (length) break;
    }
    return end;
}

/* A regular file that ended before its time says so in its last line, in place of what we wrote there. */
static void output_spoil(const char *path, off_t begun, const char *cause)
{
    char mark[OUTPUT_MARK_ROOM];
    struct stat found;
    int file = open(path, O_RDWR | O_NONBLOCK);
    if (file >= 0 && !fstat(file, &found) && S_ISREG(found.st_mode)) {
        off_t end = output_last_line(file, begun, found.st_size);
        snprintf(mark, sizeof mark, CSV_PARTIAL "not all was written: %s\n", cause);
        if (ftruncate(file, end) || pwrite(file, mark, strlen(mark), end) < 0) end = 0;  /* no more can be done */
    }
    if (file >= 0) close(file);
}

static int output_is_stream_of_ours(const struct stat *found)
{
    struct stat other;
    for (int number = STDOUT_FILENO; number <= STDERR_FILENO; number++) {
        if (!fstat(number, &other) && other.st_dev == found->st_dev && other.st_ino == found->st_ino) return 1;
    }
    return 0;
}

/* Where the path leads, if a new file may take the place of what is there; else NULL. *found: zero: nothing is. */
static char *output_target(const char *path, struct stat *found)
{
    struct stat link;
    memset(found, 0, sizeof *found);
    if (lstat(path, &link)) return errno == ENOENT ? strdup(path) : NULL;
    if (stat(path, found) || !S_ISREG(found->st_mode) || found->st_nlink != 1 || output_is_stream_of_ours(found)) {
        return NULL;
    }
    return realpath(path, NULL);
}

/* As what it takes the place of: its mode, and the same owner. */
static int output_is_like(int file, const struct stat *found)
{
    struct stat made;
    if (!found->st_nlink) return 1;
    return !fstat(file, &made) && made.st_uid == found->st_uid && made.st_gid == found->st_gid
        && !fchmod(file, found->st_mode & 07777);
}

static void output_file_free(output_file *self)
{
    free(self->made);
    free(self->target);
    self->made = self->target = NULL;
}

/* 0; -1: in place, then. */
static int output_file_beside(output_file *self)
{
    struct stat found;
    self->target = output_target(self->path, &found);
    size_t room = self->target ? strlen(self->target) + 40 : 0;
    self->made = room ? malloc(room) : NULL;
    if (!self->made) return -1;
    snprintf(self->made, room, "%s.%ld.part", self->target, (long)getpid());
    int file = open(self->made, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0) return -1;
    self->stream = output_is_like(file, &found) ? fdopen(file, "w") : NULL;
    self->is_kept = found.st_nlink != 0;
    if (self->stream) return 0;
    close(file);
    unlink(self->made);
    return -1;
}

static int output_file_begin(output_file *self, const char *path, const char *mode, problem *why)
{
    errno = 0;
    self->stream = fopen(path, mode);
    if (self->stream) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: cannot be written: %s", path, strerror(errno));
}

int output_file_open(output_file *self, const char *path, problem *why)
{
    memset(self, 0, sizeof *self);
    self->path = path;
    int failed = 0;
    if (output_file_beside(self)) {
        output_file_free(self);
        failed = output_file_begin(self, path, "w", why);
    }
    errno = 0;
    return failed;
}

int output_file_append(output_file *self, const char *path, problem *why)
{
    memset(self, 0, sizeof *self);
    self->path = path;
    struct stat found;
    int failed = output_file_begin(self, path, "a", why);
    if (!failed && !fstat(fileno(self->stream), &found)) self->begun = found.st_size;
    errno = 0;
    return failed;
}

/* To where it is wanted: whole, or where nothing stood as a part that says so. -1: not all is there, *cause why. */
static int output_file_move(output_file *self, int failed, char *cause, size_t size)
{
    if (failed) output_spoil(self->made ? self->made : self->path, self->begun, cause);
    if (!self->made) return failed;
    errno = 0;
    if (failed && self->is_kept) unlink(self->made);
    else if (rename(self->made, self->target)) {
        if (!failed) snprintf(cause, size, "%s", strerror(errno));
        unlink(self->made);
        return -1;
    }
    return failed;
}

int output_file_close(output_file *self, const char *format, problem *why)
{
    char cause[128];
    int failed = ferror(self->stream) ? -1 : 0;
    if (!failed) errno = 0;
    if (fclose(self->stream)) failed = -1;
    snprintf(cause, sizeof cause, "%s", errno ? strerror(errno) : "write error");
    failed = output_file_move(self, failed, cause, sizeof cause);
    output_file_free(self);
    if (!failed) return 0;
    return problem_set(why, EXIT_HARNESS, *format ? "%s: not all was written: %s (--out %s)"
                       : "%s: not all was written: %s%s", self->path, cause, format);
}

/* Host memory for arenas under test: it is counted, has a size that a free must tell and bytes behind its end that
   nobody may write, and begins as rubbish. Several threads may use it, and none of them is ordered by it.
   It must not know arenas' inside. Included by the devices of tests. */
#ifndef TESTS_HOST_MEMORY_H
#define TESTS_HOST_MEMORY_H

#include <stdlib.h>
#include <string.h>
#include "gpuarena.h"

enum { HOST_GUARD = 96, HOST_RUBBISH = 0xA5, HOST_FREED = 0x5F, HOST_RUBBISH_BYTES = 65536 };  /* the most bytes that
                                                                                                  begin as rubbish */

typedef union host_header {                      /* before each block: its size, and the list of kept ones */
    struct { size_t bytes; union host_header *next; } tie;
    long double alignment;
} host_header;

typedef struct host_memory {
    uint64_t bytes;                              /* in use */
    int    (*refuses)(size_t bytes);             /* 1: there is none. NULL: there always is */
    int      keeps;                              /* 1: freed memory can be read until host_close, by one thread */
    int      spoils;                             /* 1: and has become rubbish, which nobody may write */
    host_header *kept;
    const char *wrong;                           /* the latest illegal call; NULL: none */
} host_memory;

static inline void *host_alloc(size_t bytes, void *user)
{
    host_memory *self = user;
    int refused = self->refuses && self->refuses(bytes);
    host_header *header = refused ? NULL : malloc(sizeof *header + bytes + HOST_GUARD);
    if (!header) return NULL;
    header->tie.bytes = bytes;
    header->tie.next = NULL;
    memset(header + 1, HOST_RUBBISH, bytes < HOST_RUBBISH_BYTES ? bytes : HOST_RUBBISH_BYTES);
    memset((char *)(header + 1) + bytes, HOST_GUARD, HOST_GUARD);
    __atomic_fetch_add(&self->bytes, bytes, __ATOMIC_RELAXED);
    return header + 1;
}

static inline void host_free(void *memory, size_t bytes, void *user)
{
    host_memory *self = user;
    host_header *header = (host_header *)memory - 1;
    const char *guard = (const char *)memory + header->tie.bytes;
    if (header->tie.bytes != bytes) self->wrong = "host memory is freed with another size";
    for (int at = 0; at < HOST_GUARD; at++)
        if (guard[at] != HOST_GUARD) self->wrong = "host memory is written behind its end";
    __atomic_fetch_sub(&self->bytes, header->tie.bytes, __ATOMIC_RELAXED);
    if (!self->keeps) {
        free(header);
        return;
    }
    if (self->spoils) memset(memory, HOST_FREED, bytes < HOST_RUBBISH_BYTES ? bytes : HOST_RUBBISH_BYTES);
    header->tie.next = self->kept;
    self->kept = header;
}

/* Gives an arena of this configuration its host memory. */
static inline void host_serve(host_memory *self, gpuarena_config *config)
{
    config->host_alloc = host_alloc;
    config->host_free = host_free;
    config->host_user = self;
}

/* Tells whether the block is as the free left it. */
static inline int host_is_spoilt(const host_header *freed)
{
    const char *bytes = (const char *)(freed + 1);
    size_t count = freed->tie.bytes < HOST_RUBBISH_BYTES ? freed->tie.bytes : HOST_RUBBISH_BYTES;
    return !count || (bytes[0] == HOST_FREED && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* Frees the kept blocks. Returns the first trouble, or that some memory is left; NULL: neither. */
static inline const char *host_close(host_memory *self)
{
    while (self->kept) {
        host_header *header = self->kept;
        self->kept = header->tie.next;
        if (self->spoils && !host_is_spoilt(header)) self->wrong = "host memory is written after its free";
        free(header);
    }
    return self->wrong ? self->wrong : self->bytes ? "host memory is left" : NULL;
}

#endif

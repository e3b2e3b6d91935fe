/* gpuarena's own CUDA table, with every call on memory counted, plain or virtual, and all that it holds in books, so
   that nothing of it stays on somebody's GPU. The other groups are handed through.
   It must not know of contents, streams in use, policies or workloads. */
#ifndef STRESS_DEVICE_CUDA_TABLE_H
#define STRESS_DEVICE_CUDA_TABLE_H

#include <pthread.h>

#include "../../gpuarena.h"
#include "../base/sets.h"
#include "../sim/base.h"

/* Books of all that is held, in the order in which it is given back: obtained memory of each kind; mappings, reserved
   addresses and handles of virtual memory. */
typedef enum cuda_book {
    CUDA_OBTAINED = 0,                           /* + gpuarena_memory */
    CUDA_MAPPED = GPUARENA_MEMORY_ASYNC + 1, CUDA_RESERVED, CUDA_CREATED, CUDA_BOOKS
} cuda_book;

typedef struct cuda_table {                      /* zeroed, but for these two: nothing obtained yet */
    gpuarena_driver inner;                       /* gpuarena_driver_cuda's */
    pthread_mutex_t mutex;                       /* one call on memory at a time; waits last, and come as they are */
    treap           books[CUDA_BOOKS];           /* by address, or handle */
    uint64_t        entered;                     /* of all books together, so far */
    uint64_t        whole_bytes;                 /* of handles, and of requests of a granule and more, in whole
                                                    granules */
    device_table    granules;                    /* granules with smaller requests, or with those of the driver's
                                                    pool, which packs all; bytes: how many pieces lie there */
    uint64_t        calls, held_peak_bytes;
    sim_watch_fn   *watch;                       /* told of memory that comes and goes; NULL: nobody */
    void           *watch_user;
} cuda_table;

/* *driver: the counting table, for as long as self is. */
void     cuda_table_fill(cuda_table *self, gpuarena_driver *driver);
/* An entry comes, of bytes > 0, or goes; without one nothing does. A mapping is whole. */
void     cuda_table_enter(cuda_table *self, cuda_book in, uint64_t key, uint64_t bytes);
void     cuda_table_drop(cuda_table *self, cuda_book from, uint64_t key);
/* The bytes that the device holds at least, of pinned and managed memory, too: it may keep memory that nothing lies
   in. A granule in which several small pieces lie is held once. */
uint64_t cuda_table_held_bytes(const cuda_table *self);
/* Tells whether all of the bytes lie in memory obtained by one call, or in mappings that touch each other. */
int      cuda_table_holds(const cuda_table *self, const void *ptr, uint64_t bytes);
/* Gives back all that the books still hold, and clears them. How many bytes could not, *failed: the last such
   code. */
uint64_t cuda_table_clear(cuda_table *self, int *failed);

#endif

/* gpuarena's own CUDA table, with every call on memory counted, plain or virtual, and all that it holds on lists, so
   that nothing of it stays on somebody's GPU. The other groups are handed through.
   It must not know of contents, streams in use, policies or workloads. Without CUDA there is none. */
#ifndef STRESS_DEVICE_CUDA_TABLE_H
#define STRESS_DEVICE_CUDA_TABLE_H

#include <pthread.h>

#include "../../gpuarena.h"
#include "../base/hash.h"
#include "../sim/base.h"

/* ---- What was obtained from a device and not given back, by address, and the device memory behind it */

typedef struct device_ranges {                   /* zeroed: none */
    device_table held;
    device_table pages;                          /* granules in which small ranges lie; bytes: how many of them */
    uint64_t     block_bytes;                    /* of ranges of a granule and more: each in whole granules */
} device_ranges;

void device_ranges_add(device_ranges *self, uint64_t address, uint64_t bytes);       /* bytes > 0; new there */
int  device_ranges_remove(device_ranges *self, uint64_t address);            /* 0: no range begins there */
/* 1: the bytes lie wholly in one range. At once where they begin with it, else after a look at all ranges. */
int  device_ranges_hold(const device_ranges *self, uint64_t address, uint64_t bytes);
/* Ranges of a granule and more in whole granules, and every granule in which a smaller one lies, once. The device
   holds at least this: it may keep what nothing lies in. */
uint64_t device_ranges_bytes(const device_ranges *self);
void device_ranges_clear(device_ranges *self);

/* ---- What was reserved, created and mapped through a driver's calls on virtual memory, as far as they succeeded,
        and the device memory behind it */

typedef struct device_pages {                    /* zeroed, but for page_bytes: nothing */
    uint64_t       page_bytes;                   /* all sizes and mapped addresses are multiples of it */
    device_table   ranges;                       /* reserved */
    device_table   handles;                      /* not destroyed, which is done after they are unmapped */
    device_table   mapped;                       /* 1 by number of the page in the address space */
    uint64_t       held_bytes;                   /* of handles */
} device_pages;

void device_pages_create(device_pages *self, uint64_t handle, uint64_t bytes);
void device_pages_destroy(device_pages *self, uint64_t handle);
void device_pages_map(device_pages *self, uint64_t address, uint64_t bytes);
void device_pages_unmap(device_pages *self, uint64_t address, uint64_t bytes);

/* 1: all of the bytes lie in mapped pages. */
int  device_pages_hold(const device_pages *self, uint64_t address, uint64_t bytes);
/* The longest run of mapped bytes from here on, up to so many; 0: none begins here. */
uint64_t device_pages_run(const device_pages *self, uint64_t address, uint64_t most_bytes);
void device_pages_clear(device_pages *self);

enum { CUDA_TABLE_KINDS = GPUARENA_MEMORY_ASYNC + 1 };

typedef struct cuda_table {                      /* zeroed, but for these two: nothing obtained yet */
    gpuarena_driver inner;                       /* gpuarena_driver_cuda's */
    pthread_mutex_t mutex;                       /* one call on memory at a time; waits last, and come as they are */
    device_ranges   ranges[CUDA_TABLE_KINDS];    /* of each kind of memory */
    device_pages    pages;                       /* where `inner` has the group vm */
    uint64_t        calls, held_peak_bytes;
    sim_watch_fn   *watch;                       /* told what comes and goes; NULL: nobody */
    void           *watch_user;
} cuda_table;

/* *driver: the counting table, for as long as self is. */
void     cuda_table_fill(cuda_table *self, gpuarena_driver *driver);
uint64_t cuda_table_thread_calls(void);          /* `calls` of this thread, of all tables */
/* Memory that is held, at least (device_ranges_bytes), pinned and managed too; and whether the bytes lie in it. */
uint64_t cuda_table_held_bytes(const cuda_table *self);
int      cuda_table_holds(const cuda_table *self, const void *ptr, uint64_t bytes);
/* Gives back what is on the lists still, and clears them. How many bytes could not, *failed: the last such code. */
uint64_t cuda_table_clear(cuda_table *self, int *failed);

#endif

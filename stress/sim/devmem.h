/* The memory of one device as cudaMalloc and cudaFree see it: blocks of whole granules, slabs for small requests,
   physical memory that is counted and runs out. It must not know of driver codes, costs, faults or the judge.
   Tested by tests/test_sim_memory.c; the bytes by tests/test_sim_bytes.c. */
#ifndef STRESS_SIM_DEVMEM_H
#define STRESS_SIM_DEVMEM_H

#include "addresses.h"
#include "granules.h"
#include "mapping.h"

/* Offsets count from the start of the device's addresses. Physical memory:
     free = capacity - context - held - rival >= 0 */
typedef struct devmem {
    addresses addresses;
    mapping   mapping;
    granules  granules;
    uint64_t  capacity_bytes, context_bytes, rival_bytes, held_bytes, held_peak_bytes;
    uint64_t  high_offset;                       /* end of all addresses that were ever in use */
} devmem;

typedef enum devmem_result { DEVMEM_OK, DEVMEM_FULL, DEVMEM_HOST_MEMORY } devmem_result;

/* A held request. Valid until the next obtain or give back. */
typedef struct devmem_place {
    address_range *range;
    slab_piece    *piece;                        /* NULL: a block */
    uint64_t       offset, bytes;                /* of the request, bytes as requested */
} devmem_place;

typedef struct devmem_work {                     /* what a call had to do, for whoever charges it */
    int      in_slab;                            /* 1: inside a slab that was there before and is there after */
    uint64_t bytes;                              /* physical memory obtained or given back */
} devmem_work;

void     devmem_init(devmem *memory, uint64_t capacity_bytes, uint64_t context_bytes);       /* must not move after */
void     devmem_destroy(devmem *memory);
uint64_t devmem_free_bytes(const devmem *memory);

/* bytes > 0, any. Below a granule: a piece of a slab, else whole granules at the lowest addresses that fit. */
devmem_result devmem_obtain(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work);
int  devmem_find(const devmem *memory, uint64_t offset, devmem_place *place);        /* 1: offset lies in a request */
void devmem_give_back(devmem *memory, const devmem_place *place, devmem_work *work);
void devmem_clear(devmem *memory);               /* gives back all that is held */

/* 1: the range lies within one request, as long as it was asked for. An empty range always does. */
int  devmem_holds(const devmem *memory, uint64_t offset, uint64_t bytes);

/* Of ranges that devmem_holds. fill: -1, no host memory. verify: 1, or 0 and the first offset from the range's start
   that has not the pattern. */
int  devmem_fill(devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern);
int  devmem_verify(const devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset);

/* One granule's share of a range, for walks over what is behind it: the part of [offset, end) in offset's granule. */
typedef struct devmem_part { uint32_t granule, from, to; } devmem_part;
devmem_part devmem_first_part(const devmem *memory, uint64_t offset, uint64_t end);

/* Real bytes, of ranges that devmem_holds. -1: no host memory, and part of the range may be done. The two ranges of a
   copy must be apart. */
int  devmem_write(devmem *memory, uint64_t offset, uint64_t bytes, const void *source);
void devmem_read(const devmem *memory, uint64_t offset, uint64_t bytes, void *target);
int  devmem_set(devmem *memory, uint64_t offset, uint64_t bytes, unsigned char value);
int  devmem_copy(devmem *to, uint64_t to_offset, const devmem *from, uint64_t from_offset, uint64_t bytes);

#endif

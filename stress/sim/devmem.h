/* The memory of one device. Physical memory comes in pages, which are counted and run out. Addresses come in ranges.
   A mapping lays a page behind addresses. cuMemCreate makes pages, cuMemAddressReserve ranges, cuMemMap mappings.
   cudaMalloc makes all three at once: blocks of whole granules, and slabs for small requests.
   It must not know of driver codes, costs, faults or findings, nor check whether a caller may do this: callers
   have. */
#ifndef STRESS_SIM_DEVMEM_H
#define STRESS_SIM_DEVMEM_H

#include "../base/sets.h"
#include "judge.h"

/* ---- Addresses: ranges in use, the lowest gap that fits, which range an address lies in. Offsets count from the
        start of the device's window */

typedef struct address_range {
    uint64_t offset, bytes;                      /* fixed */
    uint64_t requested_bytes;                    /* its first bytes, which may be used */
    struct addresses *pieces;                    /* parts of a slab or a pool's chunk, which alone may be used; NULL:
                                                    all may */
    struct mempool *pool;                        /* memory.h: whose chunk it is; NULL: no pool's */
    uint64_t serial;                             /* of a pool's piece: which one that it handed out */
    uint64_t mapping_count;                      /* mappings that lie there */
    struct share_open *opened;                   /* share.c: it is open by cudaIpc; NULL: it is not */
    treap_node place;                            /* by offset; its weight: the gap up to the next range, or the end */
    treap_node hole;                             /* by offset; its weight: the largest piece that still fits inside,
                                                    see addresses_set_hole; of weight 0 it is in no set. Of a pool's
                                                    chunk: memory.h */
} address_range;

typedef struct addresses {
    treap ranges, holes;
    uint64_t count, bytes;                       /* of ranges */
    uint64_t high_offset;                        /* the end of all that there ever was */
    address_range origin;                        /* addresses that are never handed out: the first granule, so that
                                                    offset 0 is no address, or all of another space */
} addresses;

/* *space must not move afterwards. from: the first offset that may be handed out, not 0. */
void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes);

/* All take O(log ranges), but for clear, which removes all ranges. insert places a range in a gap. All of the new
   range may be used, and its other fields are zero. */
uint64_t       addresses_lowest_gap(const addresses *space, uint64_t bytes);     /* its offset; 0: there is none */
uint64_t       addresses_largest_gap(const addresses *space);                    /* 0: none */
address_range *addresses_insert(addresses *space, uint64_t offset, uint64_t bytes);
void           addresses_remove(addresses *space, address_range *range);         /* frees it, and `opened` */
void           addresses_clear(addresses *space);
address_range *addresses_at(const addresses *space, uint64_t offset);            /* NULL: in no range */
address_range *addresses_lowest(const addresses *space);                         /* NULL: there is none */
void           addresses_set_hole(addresses *space, address_range *range, uint64_t bytes);
address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes);    /* of bytes > 0; or NULL */

/* ---- The memory of one device */

#define DEVMEM_SPACE ((uint64_t)1 << 47)         /* addresses: the half of 48 bits that programs have */

enum { DEVMEM_ALIGNMENT = 256 };                 /* of the pieces of a slab */

/* Granules, wherever they are mapped. They live while they are referenced or mapped. */
typedef struct devmem_page devmem_page;
struct devmem_page {
    uint64_t     bytes;
    int          device, is_shared;              /* 1: created to be exported */
    int          is_rdma;                        /* 1: created for network cards to reach it */
    int          file;                           /* of its contents, which other processes have, too; 0: none */
    uint32_t     reference_count;                /* handles of it that were not given up */
    uint32_t     mapping_count;
    devmem_page *previous, *next;                /* of the device's */
    granule      granules[];
};

typedef struct devmem_mapping {                  /* all of a page, somewhere; it stays where it is */
    uint64_t       offset, end, serial;          /* serial: never given again, from 1; 0: it was obtained */
    devmem_page   *page;
    address_range *range;
    uint64_t       accessors;                    /* bit i: device i may use it */
} devmem_mapping;

/* Offsets count from the start of the device's addresses: first obtains' own, then those that can be reserved.
   Physical memory:
     free = capacity - context - held - rival >= 0 */
typedef struct devmem {
    int       device;                            /* its ordinal */
    addresses obtained, reserved;
    devmem_page *pages;
    uint64_t  page_count, mapping_count;
    devmem_mapping ***leaves;                    /* the mapping behind each granule of addresses, in two levels; NULL:
                                                    none there, ever */
    size_t    leaf_count;
    uint64_t  capacity_bytes, context_bytes, rival_bytes, held_bytes, held_peak_bytes;
} devmem;

/* A held request. Valid until the next obtain or give back. */
typedef struct devmem_place {
    devmem_page   *page;                         /* behind all of the range */
    address_range *range;
    address_range *piece;                        /* of a slab or a pool's chunk; NULL: a block */
    uint64_t       offset, bytes;                /* of the request, bytes as requested */
} devmem_place;

typedef struct devmem_work {                     /* the work of a call, for the code that charges it */
    int      in_slab;                            /* 1: inside a slab that was there before and is there after */
    uint64_t bytes;                              /* physical memory obtained or given back */
} devmem_work;

/* Obtains have the addresses below obtain_end, reservations those from there to address_end. Must not move after. */
void     devmem_init(devmem *memory, int device, uint64_t capacity_bytes, uint64_t context_bytes, uint64_t obtain_end,
                     uint64_t address_end);
void     devmem_destroy(devmem *memory);
uint64_t devmem_free_bytes(const devmem *memory);
uint64_t devmem_mapping_count(const devmem *memory);         /* without those of obtains */

/* Whole granules, without an address; NULL: there are not as many. give: it must not be mapped any more.
   O(granules). */
devmem_page *devmem_take_page(devmem *memory, uint64_t bytes);
void devmem_give_page(devmem *memory, devmem_page *page);
void devmem_forget_touches(devmem *memory);      /* of all pages */

/* The page has its bytes in a file from now on, from `place` on: granule_share. All in one mapping of this process,
   which may have 65,530. -1: no host memory, nothing done. `file` of a page is closed when that goes. close: 0 is
   fine; a child of fork may have the descriptor as well, and must not keep the lock. */
int  devmem_share(devmem_page *page, int file, uint64_t place, int keep);
void devmem_close(int file);

/* The lowest offset whose sum with `base` is a multiple of the alignment, a power of two; 0: there is none. O(log
   reservations). */
uint64_t       devmem_reserve(devmem *memory, uint64_t bytes, uint64_t alignment, uint64_t base);
address_range *devmem_reservation(const devmem *memory, uint64_t offset);    /* NULL: not reserved. O(log) */

/* O(granules of the page). Nobody has access at first. */
devmem_mapping *devmem_map(devmem *memory, address_range *range, uint64_t offset, devmem_page *page,
                           uint64_t serial);
void devmem_unmap(devmem *memory, devmem_mapping *mapped);
devmem_mapping *devmem_mapped(const devmem *memory, uint64_t offset);        /* NULL: none, or obtained. O(1) */

/* bytes > 0, any. Below a granule: a piece of a slab, else whole granules at the lowest addresses that fit. Its
   offset; 0: there is no memory for it. */
uint64_t devmem_obtain(devmem *memory, uint64_t bytes, devmem_work *work);
/* Finds the request that the offset lies in. 1; 0: there is none; place->range: the slab or the chunk that the offset
   lies in; NULL: neither. */
int  devmem_find(const devmem *memory, uint64_t offset, devmem_place *place);
devmem_work devmem_give_back(devmem *memory, const devmem_place *place);
void devmem_clear(devmem *memory);               /* gives back all that was obtained */
void devmem_cut(address_range *range);           /* pieces of it alone may be used from now on: there are none yet */

/* Tells whether the range lies within one request, as long as it was asked for, or is all mapped, within one
   reservation, with access for the device. An empty range always does. */
int  devmem_reaches(const devmem *memory, uint64_t offset, uint64_t bytes, int device);

/* Tells whether the offset lies in a request, or in a reservation, and where that begins. */
int  devmem_base(const devmem *memory, uint64_t offset, uint64_t *base);

/* Tells whether an obtain or a reservation has had the offset, or it lies right above those. */
int  devmem_has_given(const devmem *memory, uint64_t offset);

/* For ranges that devmem_reaches. verify: 1, or 0 and the first offset from the range's start that has not the
   pattern. */
void devmem_fill(devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern);
int  devmem_verify(const devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset);

/* A walk over the granules behind a range, all of which is mapped. Each step is one granule's share of the range, or
   less where the caller lowers `to`. */
typedef struct devmem_part {
    uint64_t offset, end;
    granule *unit;
    uint32_t from, to;
    uint64_t place;                              /* the serial of its mapping; 0: it was obtained */
} devmem_part;
#define DEVMEM_EACH(part, memory, first, bytes) \
    devmem_part part = { .offset = (first), .end = (first) + (bytes) }; devmem_next(memory, &part);
int devmem_next(const devmem *memory, devmem_part *part);    /* 0: the range is at its end */

/* Real bytes, of ranges that devmem_reaches. -1: no host memory, and part of the range may be done. The two ranges of
   a copy must be apart. */
int  devmem_write(devmem *memory, uint64_t offset, uint64_t bytes, const void *source);
void devmem_read(const devmem *memory, uint64_t offset, uint64_t bytes, void *target);
int  devmem_set(devmem *memory, uint64_t offset, uint64_t bytes, unsigned char value);
int  devmem_copy(devmem *to, uint64_t to_offset, const devmem *from, uint64_t from_offset, uint64_t bytes);

#endif

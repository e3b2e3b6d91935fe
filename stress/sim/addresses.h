/* The address space of one device: ranges in use, the lowest gap that fits, which range an address lies in.
   It must not know what backs a range, nor of driver calls. Offsets count from the start of the device's window. */
#ifndef STRESS_SIM_ADDRESSES_H
#define STRESS_SIM_ADDRESSES_H

#include "../base/sets.h"
#include "base.h"

typedef struct address_range {
    uint64_t offset, bytes;                      /* fixed */
    uint64_t requested_bytes;                    /* what of it may be used */
    struct addresses *pieces;                    /* which alone may be, of a slab or a pool's chunk; NULL: all may */
    struct mempool *pool;                        /* memory.h: whose chunk it is; NULL: no pool's */
    uint64_t serial;                             /* of a pool's piece: which one that it handed out */
    uint64_t mapping_count;                      /* mappings that lie there */
    struct share_open *opened;                   /* share.h: what another process has of it; NULL: nothing */
    treap_node place;                            /* by offset; its weight: the gap up to the next range, or the end */
    treap_node hole;                             /* by offset; its weight: what may still be placed inside, see
                                                    addresses_set_hole; of weight 0 it is in no set. Of a pool's
                                                    chunk: memory.h */
} address_range;

typedef struct addresses {
    treap ranges, holes;
    uint64_t count, bytes;                       /* of ranges */
    uint64_t high_offset;                        /* the end of all that there ever was */
    address_range origin;                        /* what is never handed out: the first granule, so that offset 0 is
                                                    no address, or all that another space has */
} addresses;

#define ADDRESSES_NONE UINT64_MAX

/* *space must not move afterwards. from: the first offset that may be handed out, not 0. */
void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes);

/* All O(log ranges), but for clear: all ranges go. insert: into a gap; all of it may be used; the rest
   of what is answered is zeroed. */
uint64_t       addresses_lowest_gap(const addresses *space, uint64_t bytes);     /* its offset, or ADDRESSES_NONE */
uint64_t       addresses_largest_gap(const addresses *space);                    /* 0: none */
address_range *addresses_insert(addresses *space, uint64_t offset, uint64_t bytes);
void           addresses_remove(addresses *space, address_range *range);         /* and it is freed, and `opened` */
void           addresses_clear(addresses *space);
address_range *addresses_at(const addresses *space, uint64_t offset);            /* NULL: in no range */
address_range *addresses_lowest(const addresses *space);                         /* NULL: there is none */
void           addresses_set_hole(addresses *space, address_range *range, uint64_t bytes);
address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes);    /* of bytes > 0; or NULL */

#endif

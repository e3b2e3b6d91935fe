/* The address space of one device: ranges in use, the lowest gap that fits, which range an address lies in.
   It must not know what backs a range, nor of driver calls. Offsets count from the start of the device's window. */
#ifndef STRESS_SIM_ADDRESSES_H
#define STRESS_SIM_ADDRESSES_H

#include "../base/treap.h"
#include "base.h"

typedef struct address_range {
    uint64_t offset, bytes;                      /* fixed */
    uint64_t requested_bytes;                    /* of a block, or of a slab's piece */
    struct addresses *slab;                      /* of its pieces; NULL: a block, a piece, or reserved addresses */
    int      file;                               /* of its contents, which other processes have, too; 0: none */
    void    *tenant;                             /* whose a block is, if not a program's: a chunk of memory.h */
    uint64_t mapping_count;                      /* of reserved addresses: mappings that lie there */
    treap_node place;                            /* by offset; its weight: the gap up to the next range, or the end */
    treap_node hole;                             /* by offset; its weight: what may still be placed inside, see
                                                    addresses_set_hole; of weight 0 it is in no set */
} address_range;

typedef struct addresses {
    treap ranges, holes;
    address_range origin;                        /* what is never handed out: the first granule, so that offset 0 is
                                                    no address, or all that another space has */
} addresses;

#define ADDRESSES_NONE UINT64_MAX

/* *space must not move afterwards. from: the first offset that may be handed out, not 0. */
void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes);

/* All O(log ranges), but for clear: all ranges go. insert: into a gap; the rest of what is answered is zeroed. */
uint64_t       addresses_lowest_gap(const addresses *space, uint64_t bytes);     /* its offset, or ADDRESSES_NONE */
uint64_t       addresses_largest_gap(const addresses *space);                    /* 0: none */
address_range *addresses_insert(addresses *space, uint64_t offset, uint64_t bytes);
void           addresses_remove(addresses *space, address_range *range);         /* and it is freed */
void           addresses_clear(addresses *space);
address_range *addresses_at(const addresses *space, uint64_t offset);            /* NULL: in no range */
address_range *addresses_lowest(const addresses *space);                         /* NULL: there is none */
void           addresses_set_hole(addresses *space, address_range *range, uint64_t bytes);
address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes);    /* of bytes > 0; or NULL */

#endif

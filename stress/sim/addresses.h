/* The address space of one device: ranges in use, the lowest gap that fits, which range an address lies in.
   It must not know what backs a range, nor of driver calls. Offsets count from the start of the device's window. */
#ifndef STRESS_SIM_ADDRESSES_H
#define STRESS_SIM_ADDRESSES_H

#include "../base/treap.h"
#include "base.h"

/* ---- A slab: one granule shared by small requests, 256 B aligned, first fit in address order */

enum { SLAB_ALIGNMENT = 256 };

typedef struct slab_piece { uint32_t offset, bytes; } slab_piece;    /* bytes: as requested, at least 1 */
typedef struct slab {
    slab_piece *pieces;                          /* by offset, apart from each other */
    uint32_t    count, capacity;
} slab;

uint32_t    slab_take(slab *area, uint32_t bytes);           /* its offset; a hole that fits must exist. O(pieces) */
void        slab_drop(slab *area, const slab_piece *piece);  /* O(pieces) */
slab_piece *slab_at(const slab *area, uint32_t offset);      /* piece, rounded up to 256 B, or NULL. O(log pieces) */
uint32_t    slab_largest_hole(const slab *area);             /* O(pieces) */
void        slab_destroy(slab *area);                        /* zeroed it is empty; NULL is fine */

typedef struct address_range {
    uint64_t offset, bytes;                      /* whole granules; set before addresses_insert, then fixed */
    uint64_t requested_bytes;                    /* of a block; a slab's are in its pieces */
    slab    *slab;                               /* NULL: a block, or reserved addresses */
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

/* *space must not move afterwards. from: the first offset that may be handed out; whole granules, at least one. */
void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes);

/* All O(log ranges). */
uint64_t       addresses_lowest_gap(const addresses *space, uint64_t bytes);     /* its offset, or ADDRESSES_NONE */
void           addresses_insert(addresses *space, address_range *range);         /* into a gap; not freed here */
void           addresses_remove(addresses *space, address_range *range);
address_range *addresses_at(const addresses *space, uint64_t offset);            /* NULL: in no range */
address_range *addresses_lowest(const addresses *space);                         /* NULL: there is none */
void           addresses_set_hole(addresses *space, address_range *range, uint64_t bytes);
address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes);    /* of bytes > 0; or NULL */

#endif

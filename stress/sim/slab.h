/* A slab: one granule shared by small requests, 256 B aligned, first fit in address order.
   It must not know where the slab lies, nor which request is whose.
   Tested by tests/test_sim_parts.c. */
#ifndef STRESS_SIM_SLAB_H
#define STRESS_SIM_SLAB_H

#include "base.h"

enum { SLAB_ALIGNMENT = 256 };

typedef struct slab_piece { uint32_t offset, bytes; } slab_piece;    /* bytes: as requested, at least 1 */
typedef struct slab {
    slab_piece *pieces;                          /* by offset, apart from each other */
    uint32_t    count, capacity;
} slab;

/* Room for one more piece, so that slab_take cannot fail. 0, or -1: no host memory. O(pieces) amortised to O(1). */
int         slab_reserve(slab *area);
uint32_t    slab_take(slab *area, uint32_t bytes);           /* its offset; a hole that fits must exist. O(pieces) */
void        slab_drop(slab *area, const slab_piece *piece);  /* O(pieces) */
slab_piece *slab_at(const slab *area, uint32_t offset);      /* piece, rounded up to 256 B, or NULL. O(log pieces) */
uint32_t    slab_largest_hole(const slab *area);             /* O(pieces) */
void        slab_destroy(slab *area);                        /* from slab_create; NULL is fine */
slab       *slab_create(void);                               /* empty, room for one piece; NULL: no host memory */

#endif

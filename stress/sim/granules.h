/* Physical memory: granules of 2 MiB by number, and what they hold, symbolically. Contents belong to the granule,
   whatever addresses it is mapped at. It must not know of addresses, blocks or calls.
   Tested by tests/test_sim_contents.c. */
#ifndef STRESS_SIM_GRANULES_H
#define STRESS_SIM_GRANULES_H

#include "sim.h"

/* Bytes from offset to the next piece (or the granule's end) hold the pattern; known 0: nobody can say which. */
typedef struct content { uint64_t pattern; uint32_t offset; uint32_t known; } content;

/* Pieces are sorted, the first starts at 0, neighbours differ. One piece lies in `whole`, more in `pieces`. */
typedef struct granule {
    content  whole;
    content *pieces;                             /* NULL: the granule is of one piece */
    uint32_t count, capacity;                    /* of pieces */
} granule;

typedef struct granules {                        /* zeroed: empty */
    granule  *list;
    uint32_t *idle;                              /* numbers not in use, the latest given back last */
    uint32_t  count, capacity, idle_count;
} granules;

int      granules_reserve(granules *all, uint32_t count);    /* count takes cannot fail now. -1: no host memory */
uint32_t granules_take(granules *all);                       /* contents unknown */
void     granules_give(granules *all, uint32_t number);
void     granules_destroy(granules *all);

/* Bytes [from, to) of a granule in use, from < to <= 2 MiB. fill: known 0 forgets them; -1: no host memory, nothing
   done. matches: the first byte in [from, to) that has not this pattern, or `to`. O(log pieces), fill O(pieces). */
int      granules_fill(granules *all, uint32_t number, uint32_t from, uint32_t to, uint32_t known, uint64_t pattern);
uint32_t granules_matches(const granules *all, uint32_t number, uint32_t from, uint32_t to, uint64_t pattern);
uint32_t granules_piece_count(const granules *all, uint32_t number);

#endif

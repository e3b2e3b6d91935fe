/* Time x addresses as a grid of cells: what takes most of each. From a record's blocks and changes, in whole numbers,
   so that every machine draws the same.
   Knows nothing of drawing. */
#ifndef STRESS_REPORT_MAP_H
#define STRESS_REPORT_MAP_H

#include "../result/record.h"

enum { MAP_BATCHES = 6 };
typedef enum map_cell {                          /* what is seen; the first MAP_BATCHES: live blocks of a batch */
    MAP_SLACK = MAP_BATCHES,                     /* of live blocks: not asked for */
    MAP_SMALL,                                   /* blocks that are smaller than a cell */
    MAP_HOLE,                                    /* addresses without memory */
    MAP_FREE,
    MAP_NOTHING                                  /* the run was over, or the addresses are beyond its own */
} map_cell;

typedef struct map {
    unsigned       width, height;                /* cells */
    unsigned char *cells;                        /* map_cell, line by line, the lowest address first */
} map;

/* ops and axis_bytes: what the grid is wide and high; at least the record's. -1: no host memory. */
int  map_make(map *self, const record *drawn, unsigned width, unsigned height, uint64_t ops, uint64_t axis_bytes);
void map_free(map *self);
/* Which batch a block is of, 0 to MAP_BATCHES - 1: before the first step, then the others by turns; without steps by
   the sixth of most_ops in which it was born. */
unsigned map_batch(const record *drawn, const record_block *block);

/* Rectangles of equal cells, the largest that can be told apart going by lines: calls see for each, MAP_NOTHING left
   out. */
typedef void map_see_fn(void *user, map_cell cell, unsigned x, unsigned y, unsigned width, unsigned height);
void map_walk(const map *self, map_see_fn *see, void *user);

#endif

/* Pieces of one slab in a sorted array: at most 8,192 small records, so a scan or a move stays within microseconds.
   Must not know where the slab lies, nor which request is whose.
   Tested by tests/test_sim_parts.c. */
#include "slab.h"

#include <stdlib.h>
#include <string.h>

static uint32_t slab_round(uint32_t bytes)                   /* bytes: at most a granule */
{
    return (bytes + SLAB_ALIGNMENT - 1) / SLAB_ALIGNMENT * SLAB_ALIGNMENT;
}

static uint32_t slab_end(const slab *area, uint32_t index)   /* of the piece before index, 0 for the first */
{
    return index == 0 ? 0 : area->pieces[index - 1].offset + slab_round(area->pieces[index - 1].bytes);
}

static uint32_t slab_hole(const slab *area, uint32_t index)  /* free before the piece at index, or the end */
{
    return (index < area->count ? area->pieces[index].offset : (uint32_t)SIM_GRANULE) - slab_end(area, index);
}

int slab_reserve(slab *area)
{
    if (area->count < area->capacity) {
        return 0;
    }
    uint32_t capacity = area->capacity ? area->capacity * 2 : 2;
    slab_piece *pieces = realloc(area->pieces, capacity * sizeof *pieces);
    if (!pieces) {
        return -1;
    }
    area->pieces = pieces;
    area->capacity = capacity;
    return 0;
}

uint32_t slab_take(slab *area, uint32_t bytes)
{
    uint32_t index = 0;
    while (index < area->count && slab_hole(area, index) < bytes) {
        index++;
    }
    slab_piece piece = { slab_end(area, index), bytes };
    memmove(area->pieces + index + 1, area->pieces + index, (area->count - index) * sizeof piece);
    area->pieces[index] = piece;
    area->count++;
    return piece.offset;
}

void slab_drop(slab *area, const slab_piece *piece)
{
    uint32_t index = (uint32_t)(piece - area->pieces);
    area->count--;
    memmove(area->pieces + index, area->pieces + index + 1, (area->count - index) * sizeof *piece);
}

slab_piece *slab_at(const slab *area, uint32_t offset)
{
    uint32_t low = 0, high = area->count;                    /* the first piece that starts after offset */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (area->pieces[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return offset < slab_end(area, low) ? &area->pieces[low - 1] : NULL;
}

uint32_t slab_largest_hole(const slab *area)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i <= area->count; i++) {
        uint32_t hole = slab_hole(area, i);
        largest = hole > largest ? hole : largest;
    }
    return largest;
}

void slab_destroy(slab *area)
{
    if (area) {
        free(area->pieces);
        free(area);
    }
}

slab *slab_create(void)
{
    slab *made = calloc(1, sizeof *made);
    if (made && slab_reserve(made)) {
        free(made);
        made = NULL;
    }
    return made;
}

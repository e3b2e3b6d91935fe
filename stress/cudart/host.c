/* Pinned memory: ordinary pages, and a list of them by address. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

enum { HOST_PAGE = 4096 };
#define HOST_MOST ((uint64_t)512 << 30)          /* more than any machine pins: refused unasked */

static host_block *host_blocks;                  /* by address */
static size_t host_count, host_capacity;

/* How many blocks start at or below the address. */
static size_t host_rank(const void *ptr)
{
    size_t low = 0, high = host_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)host_blocks[middle].ptr <= (uintptr_t)ptr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void *host_obtain(const sim_device *owner, uint64_t bytes, int is_managed)
{
    void *ptr;
    if (ARRAY_RESERVE(host_blocks, host_capacity, host_count + 1)) return NULL;
    if (bytes > HOST_MOST || posix_memalign(&ptr, HOST_PAGE, (size_t)bytes)) return NULL;
    size_t rank = host_rank(ptr);
    host_block block = { ptr, bytes, owner->sim->runtime_serial, owner->ordinal, is_managed };
    memmove(host_blocks + rank + 1, host_blocks + rank, (host_count - rank) * sizeof block);
    host_blocks[rank] = block;
    host_count++;
    return ptr;
}

static void host_drop(size_t index)
{
    free(host_blocks[index].ptr);
    host_count--;
    memmove(host_blocks + index, host_blocks + index + 1, (host_count - index) * sizeof *host_blocks);
}

int host_give_back(void *ptr, int is_managed, uint64_t *bytes)
{
    size_t rank = host_rank(ptr);
    if (rank == 0 || host_blocks[rank - 1].ptr != ptr || host_blocks[rank - 1].is_managed != is_managed) {
        return 0;
    }
    *bytes = host_blocks[rank - 1].bytes;
    host_drop(rank - 1);
    return 1;
}

void host_reset(const sim_device *owner)
{
    for (size_t i = host_count; i > 0; i--) {
        const host_block *block = &host_blocks[i - 1];
        if (block->machine == owner->sim->runtime_serial && block->ordinal == owner->ordinal) {
            host_drop(i - 1);
        }
    }
}

const host_block *host_find(const void *ptr)
{
    size_t rank = host_rank(ptr);
    const host_block *below = rank > 0 ? &host_blocks[rank - 1] : NULL;
    return below && (uintptr_t)ptr - (uintptr_t)below->ptr < below->bytes ? below : NULL;
}

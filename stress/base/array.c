/* Pointers and capacities of any type are read and written as bytes. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAY_LEAST = 4 };

static int array_resize(void *list, size_t item_bytes, uint64_t count)
{
    void *old;
    memcpy(&old, list, sizeof old);
    void *grown = count <= SIZE_MAX / item_bytes ? realloc(old, (size_t)count * item_bytes) : NULL;
    if (!grown) return -1;
    memcpy(list, &grown, sizeof grown);
    return 0;
}

int array_grow(void *list, size_t item_bytes, void *other, size_t other_bytes, void *capacity, size_t capacity_bytes,
               uint64_t wanted)
{
    uint32_t narrow = 0;
    uint64_t count = 0;
    memcpy(capacity_bytes == sizeof narrow ? (void *)&narrow : (void *)&count, capacity, capacity_bytes);
    count += narrow;
    count = wanted > count * 2 ? wanted : count * 2;
    if (count < ARRAY_LEAST) count = ARRAY_LEAST;
    if (capacity_bytes == sizeof narrow && count > UINT32_MAX) return -1;
    if (array_resize(list, item_bytes, count) || (other && array_resize(other, other_bytes, count))) return -1;
    narrow = (uint32_t)count;
    memcpy(capacity, capacity_bytes == sizeof narrow ? (const void *)&narrow : (const void *)&count, capacity_bytes);
    return 0;
}

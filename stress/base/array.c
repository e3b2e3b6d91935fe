/* Pointers and capacities of any type are read and written as bytes. */
#include "array.h"

#include <string.h>

#include "program.h"

enum { ARRAY_LEAST = 4 };

static void array_resize(void *list, size_t item_bytes, uint64_t count)
{
    void *old;
    memcpy(&old, list, sizeof old);
    void *grown = program_resize(old, count <= SIZE_MAX ? (size_t)count : SIZE_MAX, item_bytes);
    memcpy(list, &grown, sizeof grown);
}

void array_grow(void *list, size_t item_bytes, void *other, size_t other_bytes, void *capacity,
                size_t capacity_bytes, uint64_t wanted)
{
    uint32_t narrow = 0;
    uint64_t count = 0;
    memcpy(capacity_bytes == sizeof narrow ? (void *)&narrow : (void *)&count, capacity, capacity_bytes);
    count += narrow;
    count = wanted > count * 2 ? wanted : count * 2;
    if (count < ARRAY_LEAST) count = ARRAY_LEAST;
    if (capacity_bytes == sizeof narrow && count > UINT32_MAX) program_no_memory();
    array_resize(list, item_bytes, count);
    if (other) array_resize(other, other_bytes, count);
    narrow = (uint32_t)count;
    memcpy(capacity, capacity_bytes == sizeof narrow ? (const void *)&narrow : (const void *)&count, capacity_bytes);
}

/* Handles: one growing table a machine, records reused, the latest first.
   Must not know of calls, nor what the objects are.
   Tested by tests/test_cudart_streams.c and tests/test_sim_order.c. */
#include "handles.h"

#include <stdlib.h>
#include <string.h>

enum { HANDLES_FIRST = 16, HANDLES_INDEX_BITS = 24 };        /* so that no value is that of a default stream */
#define HANDLES_MOST  (((uint32_t)1 << HANDLES_INDEX_BITS) - HANDLES_FIRST)
#define HANDLES_LOW   ((uint64_t)0xFFFFFF)

/* From low bits to high: record, generation, machine. */
static uint64_t handles_value(uint64_t serial, uint64_t generation, uint32_t index)
{
    return (serial & 0x7FFF) << 48 | (generation & HANDLES_LOW) << HANDLES_INDEX_BITS | (index + HANDLES_FIRST);
}

static int handles_grow(handles *all)
{
    uint32_t capacity = all->capacity ? all->capacity * 2 : 64;
    if (all->capacity >= HANDLES_MOST / 2) {
        return -1;
    }
    handle_record *records = realloc(all->records, capacity * sizeof *records);
    if (!records) {
        return -1;
    }
    all->records = records;
    uint32_t *idle = realloc(all->idle, capacity * sizeof *idle);
    if (!idle) {
        return -1;
    }
    all->idle = idle;
    all->capacity = capacity;
    return 0;
}

void *handles_create(handles *all, uint64_t serial, handle_kind kind, void *object)
{
    uint32_t index;
    uint64_t generation = 1;
    if (all->idle_count > 0) {
        index = all->idle[--all->idle_count];
        generation = (all->records[index].value >> HANDLES_INDEX_BITS & HANDLES_LOW) + !all->reuse;
    } else if (all->count < all->capacity || handles_grow(all) == 0) {
        index = all->count++;
    } else {
        return NULL;
    }
    handle_record made = { handles_value(serial, generation, index), object, kind };
    all->records[index] = made;
    return (void *)(uintptr_t)made.value;
}

static handle_record *handles_record(const handles *all, const void *value)
{
    uint64_t number = (uint64_t)(uintptr_t)value, index = (number & HANDLES_LOW) - HANDLES_FIRST;
    return index < all->count && all->records[index].value == number ? &all->records[index] : NULL;
}

void *handles_find(const handles *all, const void *value, handle_kind kind)
{
    const handle_record *found = handles_record(all, value);
    return found && found->kind == kind ? found->object : NULL;
}

void handles_drop(handles *all, const void *value)
{
    handle_record *record = handles_record(all, value);
    record->kind = HANDLE_NONE;
    record->object = NULL;
    all->idle[all->idle_count++] = (uint32_t)(record - all->records);
}

void *handles_each(const handles *all, uint32_t index, handle_kind kind, void **value)
{
    const handle_record *record = &all->records[index];
    *value = (void *)(uintptr_t)record->value;
    return record->kind == kind ? record->object : NULL;
}

void handles_destroy(handles *all)
{
    free(all->records);
    free(all->idle);
    memset(all, 0, sizeof *all);
}

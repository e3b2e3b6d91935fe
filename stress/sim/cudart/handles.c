/* Handles: one growing table, records reused, the latest first.
   Must not know of calls.
   Tested by tests/test_cudart_streams.c. */
#include "handles.h"

#include <stdlib.h>

static handle   *handles_records;
static uint32_t *handles_idle;                   /* as long as the table */
static uint32_t  handles_count, handles_capacity, handles_idle_count;

enum { HANDLES_FIRST = 16 };                     /* so that no value is that of a default stream */

static int handles_grow(void)
{
    uint32_t capacity = handles_capacity ? handles_capacity * 2 : 64;
    if (capacity > UINT32_MAX / 2) {
        return -1;
    }
    handle *records = realloc(handles_records, capacity * sizeof *records);
    if (!records) {
        return -1;
    }
    handles_records = records;
    uint32_t *idle = realloc(handles_idle, capacity * sizeof *idle);
    if (!idle) {
        return -1;
    }
    handles_idle = idle;
    handles_capacity = capacity;
    return 0;
}

void *handles_create(handle_kind kind, const sim_device *device, unsigned flags)
{
    uint32_t index, generation = 1;
    if (handles_idle_count > 0) {
        index = handles_idle[--handles_idle_count];
        generation = handles_records[index].generation + 1;
    } else if (handles_count < handles_capacity || handles_grow() == 0) {
        index = handles_count++;
    } else {
        return NULL;
    }
    handle made = { kind, generation, device->sim->runtime_serial, device->ordinal, flags, 0, 0 };
    handles_records[index] = made;
    return (void *)(uintptr_t)((uint64_t)generation << 32 | (index + HANDLES_FIRST));
}

handle *handles_find(const void *value, handle_kind kind, const sim *machine)
{
    uint64_t number = (uint64_t)(uintptr_t)value, index = (number & UINT32_MAX) - HANDLES_FIRST;
    if (index >= handles_count) {
        return NULL;
    }
    handle *found = &handles_records[index];
    return found->kind == kind && found->generation == number >> 32
        && found->machine == machine->runtime_serial ? found : NULL;
}

void handles_destroy(handle *record)
{
    record->kind = HANDLE_NONE;
    handles_idle[handles_idle_count++] = (uint32_t)(record - handles_records);
}

void handles_reset(const sim_device *device)
{
    for (uint32_t i = 0; i < handles_count; i++) {
        handle *record = &handles_records[i];
        if (record->kind != HANDLE_NONE && record->machine == device->sim->runtime_serial
            && record->ordinal == device->ordinal) {
            handles_destroy(record);
        }
    }
}

/* Hash tables without tombstones: what follows a removed slot moves up.
   It must not know what the addresses are of.
   Tested by tests/test_device.c. */
#include "number_map.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_TABLE_FIRST = 64 };                /* slots */

static size_t device_table_home(const device_table *self, uint64_t address)
{
    return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (self->capacity - 1);
}

/* Ends, since half of the slots are empty. */
device_range *device_table_slot(const device_table *self, uint64_t address)
{
    size_t at = device_table_home(self, address);
    while (self->slots[at].bytes && self->slots[at].address != address) at = (at + 1) & (self->capacity - 1);
    return &self->slots[at];
}

int device_table_reserve(device_table *self, size_t more)
{
    if (self->count + more <= self->capacity / 2) return 0;
    device_table larger = *self;
    larger.capacity = self->capacity ? self->capacity * 2 : DEVICE_TABLE_FIRST;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t at = 0; at < self->capacity; at++) {
        if (self->slots[at].bytes) *device_table_slot(&larger, self->slots[at].address) = self->slots[at];
    }
    free(self->slots);
    *self = larger;
    return 0;
}

void device_table_add(device_table *self, uint64_t address, uint64_t bytes)
{
    device_range *slot = device_table_slot(self, address);
    self->count += !slot->bytes;
    slot->address = address;
    slot->bytes += bytes;
}

void device_table_remove(device_table *self, device_range *removed)
{
    static const device_range empty;
    size_t mask = self->capacity - 1, hole = (size_t)(removed - self->slots);
    self->count--;
    for (size_t at = (hole + 1) & mask; self->slots[at].bytes; at = (at + 1) & mask) {
        size_t home = device_table_home(self, self->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;           /* its home lies behind the hole */
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole] = empty;
}

uint64_t device_table_find(const device_table *self, uint64_t address)
{
    return self->count ? device_table_slot(self, address)->bytes : 0;
}

void device_table_clear(device_table *self)
{
    free(self->slots);
    memset(self, 0, sizeof *self);
}

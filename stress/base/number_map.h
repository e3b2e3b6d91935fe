/* Numbers by address, or by whatever else 64 bits name. All but growing is constant time: it stands between clock
   readings.
   It must not know what the addresses are of. Tested by tests/test_device.c. */
#ifndef STRESS_BASE_NUMBER_MAP_H
#define STRESS_BASE_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct device_range { uint64_t address, bytes; } device_range;

typedef struct device_table {                    /* zeroed: empty */
    device_range *slots;                         /* open addressing, linear probes; bytes 0: empty */
    size_t        count, capacity;               /* at most half full; capacity 0 or a power of two */
} device_table;

int  device_table_reserve(device_table *self, size_t more);          /* room for so many more. -1: no host memory */
/* The address's, or the empty one where it belongs. Only after a reserve. */
device_range *device_table_slot(const device_table *self, uint64_t address);
uint64_t      device_table_find(const device_table *self, uint64_t address);         /* its bytes; 0: it has none */
void device_table_add(device_table *self, uint64_t address, uint64_t bytes);  /* more bytes there; after a reserve */
void device_table_remove(device_table *self, device_range *removed);         /* a slot that is not empty */
void device_table_clear(device_table *self);

#endif

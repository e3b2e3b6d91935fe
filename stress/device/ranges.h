/* What was obtained from a device and not given back, by address, and the device memory behind it.
   It must not know how memory is obtained. Adding and removing are constant time: they stand between clock readings.
   Tested by tests/test_device.c. */
#ifndef STRESS_DEVICE_RANGES_H
#define STRESS_DEVICE_RANGES_H

#include "../base/number_map.h"

typedef struct device_ranges {                   /* zeroed: none */
    device_table held;
    device_table pages;                          /* granules in which small ranges lie; bytes: how many of them */
    uint64_t     block_bytes;                    /* of ranges of a granule and more: each in whole granules */
} device_ranges;

/* Room for one more, so that adding cannot fail. -1: no host memory. */
int  device_ranges_reserve(device_ranges *self);
/* After a reserve; bytes > 0, and no range begins there. */
void device_ranges_add(device_ranges *self, uint64_t address, uint64_t bytes);
int  device_ranges_remove(device_ranges *self, uint64_t address);            /* 0: no range begins there */
/* 1: the bytes lie wholly in one range. At once where they begin with it, else after a look at all ranges. */
int  device_ranges_hold(const device_ranges *self, uint64_t address, uint64_t bytes);
/* Ranges of a granule and more in whole granules, and every granule in which a smaller one lies, once. The device
   holds at least this: it may keep what nothing lies in. */
uint64_t device_ranges_bytes(const device_ranges *self);
void device_ranges_clear(device_ranges *self);

#endif

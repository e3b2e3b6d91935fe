/* What was reserved, created and mapped through a driver's calls on virtual memory, as far as they succeeded, and the
   device memory behind it.
   It must not know what the pages are for. All is constant time, a page: it stands between clock readings.
   Tested by tests/test_device_pages.c. */
#ifndef STRESS_DEVICE_PAGES_H
#define STRESS_DEVICE_PAGES_H

#include "../base/number_map.h"

typedef struct device_memory {                   /* what one create made */
    uint64_t bytes;                              /* gone: the number of another that is gone, 0: no more */
    uint64_t uses;                               /* pages mapped, and 1 until it is destroyed; 0: gone */
} device_memory;

typedef struct device_pages {                    /* zeroed, but for page_bytes: nothing */
    uint64_t       page_bytes;                   /* all sizes and mapped addresses are multiples of it */
    device_table   ranges;                       /* reserved */
    device_table   handles;                      /* not destroyed: their memory, by number from 1 */
    device_table   mapped;                       /* by number of the page in the address space: likewise */
    device_memory *memories;
    size_t         memory_count, memory_capacity;
    uint64_t       gone;                         /* number of one that is, 0: none */
    uint64_t       held_bytes;                   /* created, and neither destroyed nor out of all mappings */
} device_pages;

/* Room for one more range and handle and so many more mapped bytes, so that what follows cannot fail. -1: no host
   memory. */
int  device_pages_reserve(device_pages *self, uint64_t mapped_bytes);

void device_pages_add_range(device_pages *self, uint64_t address, uint64_t bytes);
void device_pages_remove_range(device_pages *self, uint64_t address);
void device_pages_create(device_pages *self, uint64_t handle, uint64_t bytes);
void device_pages_destroy(device_pages *self, uint64_t handle);
void device_pages_map(device_pages *self, uint64_t address, uint64_t bytes, uint64_t handle);
void device_pages_unmap(device_pages *self, uint64_t address, uint64_t bytes);

/* 1: all of the bytes lie in mapped pages. */
int  device_pages_hold(const device_pages *self, uint64_t address, uint64_t bytes);
/* The longest run of mapped bytes from here on, up to so many; 0: none begins here. */
uint64_t device_pages_run(const device_pages *self, uint64_t address, uint64_t most_bytes);
void device_pages_clear(device_pages *self);

#endif

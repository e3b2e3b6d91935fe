/* Virtual addresses of one device: what is reserved, and which physical memory is mapped where. Reservations lie
   above all addresses that obtains have.
   It must not know of codes, costs, faults or the judge, nor who may ask for what: callers have looked. */
#ifndef STRESS_SIM_VSPACE_H
#define STRESS_SIM_VSPACE_H

#include "addresses.h"
#include "granules.h"

/* Physical memory by a handle: granules, wherever they are mapped. It lives while it is referenced or mapped. */
typedef struct vspace_page vspace_page;
struct vspace_page {
    uint64_t     bytes;
    int          device, is_shared;              /* 1: created to be exported */
    int          file;                           /* of its contents, since it was exported; 0: none */
    uint32_t     reference_count;                /* handles of it that were not given up */
    uint32_t     mapping_count;
    vspace_page *previous, *next;                /* of the device's */
    uint32_t     granules[];
};

typedef struct vspace_mapping {                  /* all of a page, somewhere */
    uint64_t       offset, serial;               /* serial: never given again, from 1 */
    vspace_page   *page;
    address_range *reservation;
    uint64_t       accessors;                    /* bit i: device i may use it */
} vspace_mapping;

typedef struct vspace {
    addresses reserved;
    uint64_t  from_offset, high_offset;          /* of its addresses, and the end of those ever reserved */
    uint64_t  reserved_bytes;
    mapping   slots;                             /* of granules of addresses, from from_offset on: which mapping */
    vspace_mapping *mappings;
    uint32_t *idle;                              /* numbers not in use */
    uint32_t  count, capacity, idle_count;
} vspace;

typedef enum vspace_result { VSPACE_OK, VSPACE_FULL, VSPACE_HOST_MEMORY } vspace_result;

void vspace_init(vspace *space, uint64_t from_offset, uint64_t end_offset);      /* must not move after */
void vspace_destroy(vspace *space);

/* At the lowest offset whose sum with `base` is a multiple of the alignment, a power of two. O(log reservations). */
vspace_result  vspace_reserve(vspace *space, uint64_t bytes, uint64_t alignment, uint64_t base, uint64_t *offset);
address_range *vspace_reservation(const vspace *space, uint64_t offset);     /* NULL: not reserved. O(log) */
void           vspace_release(vspace *space, address_range *reservation);

/* O(granules of the page). -1: no host memory, nothing done. A mapping is valid until the next map or unmap. */
int  vspace_map(vspace *space, address_range *reservation, uint64_t offset, vspace_page *page, uint64_t serial);
void vspace_unmap(vspace *space, vspace_mapping *mapped);
vspace_mapping *vspace_at(const vspace *space, uint64_t offset);             /* NULL: nothing is mapped. O(1) */
uint32_t vspace_mapping_count(const vspace *space);

/* 1: all of the range, within one reservation, is mapped with access for the device. O(mappings in the range). */
int  vspace_reaches(const vspace *space, uint64_t offset, uint64_t bytes, int device);

#endif

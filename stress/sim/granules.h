/* Physical memory: granules of 2 MiB by number, and what they hold: patterns, symbolically, and real bytes. Contents
   belong to the granule, whatever addresses it is mapped at. It must not know of addresses, blocks or calls. */
#ifndef STRESS_SIM_GRANULES_H
#define STRESS_SIM_GRANULES_H

#include "cuts.h"

enum { GRANULES_POISON = 0xA5 };                 /* what bytes hold that nobody has written */

/* Byte i of the granule holds even ^ (bytes ? bytes[i] : 0), so that memory of the host is touched only where bytes
   were written that are not all the same. */
typedef struct granule {
    cuts     patterns;                           /* values, of mark 1; of mark 0: nobody can say which */
    unsigned char *bytes;                        /* 2 MiB; NULL: all bytes hold `even` */
    unsigned char  even;                         /* GRANULES_POISON, while bytes are shared */
    unsigned char  is_shared;                    /* 1: bytes lie in a file, which other processes may map, too */
} granule;

typedef struct granules {                        /* zeroed: empty */
    granule  *list;
    uint32_t *idle;                              /* numbers not in use, the latest given back last */
    uint32_t  count, capacity, idle_count;
} granules;

uint32_t granules_take(granules *all);                       /* contents unknown */
void     granules_give(granules *all, uint32_t number);
void     granules_destroy(granules *all);

/* Bytes [from, to) of a granule in use, from < to <= 2 MiB. fill: known 0 forgets them. matches: the first byte in
   [from, to) that has not this pattern, or `to`. O(log parts), fill O(parts). */
void     granules_fill(granules *all, uint32_t number, uint32_t from, uint32_t to, uint32_t known,
                       uint64_t pattern);
uint32_t granules_matches(const granules *all, uint32_t number, uint32_t from, uint32_t to, uint64_t pattern);

/* Real bytes of [from, to). write and set: the patterns of the range are forgotten; -1: no host memory, nothing done.
   A whole granule that gets one byte all over takes no host memory. even: 1 if all of the granule is known to hold
   one value. forget: patterns and bytes; a part of a granule may keep them when host memory is out. O(bytes), a whole
   granule that is set O(1). */
int  granules_write(granules *all, uint32_t number, uint32_t from, uint32_t to, const unsigned char *source);
void granules_read(const granules *all, uint32_t number, uint32_t from, uint32_t to, unsigned char *target);
int  granules_set(granules *all, uint32_t number, uint32_t from, uint32_t to, unsigned char value);
int  granules_even(const granules *all, uint32_t number, unsigned char *value);
void granules_forget(granules *all, uint32_t number, uint32_t from, uint32_t to);

/* The granule's bytes are in the file from now on, at `place`. keep: the file gets what the granule holds; else the
   granule holds what is in the file. Patterns stay this process's own. -1: no host memory, nothing done. */
int granules_share(granules *all, uint32_t number, int file, uint64_t place, int keep);

/* ---- What lies behind which granule of one device's addresses: a table in two levels */

#define MAPPING_SPACE ((uint64_t)1 << 47)        /* of addresses: half of what 48 bits have, as programs have them */
#define MAPPING_NONE  UINT32_MAX

enum { MAPPING_LEAF_SLOTS = 2048 };

typedef struct mapping_slot {
    uint64_t place;                              /* the serial of devmem's mapping; 0: it was obtained */
    uint32_t granule;                            /* physical; MAPPING_NONE: nothing lies there */
    uint32_t number;                             /* of devmem's mapping; MAPPING_NONE likewise */
} mapping_slot;

typedef struct mapping {                         /* zeroed: nothing mapped */
    mapping_slot **leaves;                       /* NULL: nothing was ever mapped there */
    size_t     leaf_count;
} mapping;

/* Offsets are those of granules, or inside them, below the space's end. O(1). Answers are good until the next set. */
extern const mapping_slot mapping_nothing;
void                mapping_set(mapping *map, uint64_t offset, mapping_slot slot);
const mapping_slot *mapping_get(const mapping *map, uint64_t offset);        /* never NULL */
void                mapping_destroy(mapping *map);

#endif

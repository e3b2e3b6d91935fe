/* Hashing: one number for what happened, and maps from 64-bit numbers. It must not know what the numbers
   name. */
#ifndef STRESS_BASE_HASH_H
#define STRESS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* ---- One number for what happened: FNV-1a, 64 bit, over words, lowest byte first on every host */

#define DIGEST_START UINT64_C(0xcbf29ce484222325)

uint64_t digest_word(uint64_t digest, uint64_t word);

/* ---- Numbers by address, or by whatever else 64 bits name */

typedef struct device_range { uint64_t address, bytes; } device_range;

typedef struct device_table {                    /* zeroed: empty */
    device_range *slots;                         /* open addressing, linear probes; bytes 0: empty */
    size_t        count, capacity;               /* at most half full; capacity 0 or a power of two */
} device_table;

void     device_table_add(device_table *self, uint64_t address, uint64_t bytes);     /* more bytes there */
uint64_t device_table_find(const device_table *self, uint64_t address);      /* its bytes; 0: it has none */
uint64_t device_table_take(device_table *self, uint64_t address);            /* likewise; and it has none any more */
void     device_table_clear(device_table *self);

/* ---- What became of 64-bit ids */

typedef enum id_state { ID_UNKNOWN, ID_LIVE, ID_FREED } id_state;

typedef struct id_entry {
    uint64_t id;
    uint64_t line;                               /* of its last allocation or free */
    uint32_t value;                              /* the block */
    id_state state;
} id_entry;

typedef struct id_map {                          /* zeroed: empty */
    id_entry    *entries;
    size_t       capacity, count;
    device_table index;                          /* by id: the entry, from 1 */
} id_map;

/* The id's entry, or NULL: never added. */
id_entry *id_map_find(const id_map *map, uint64_t id);

/* The id's entry, good until the next add; a new one is ID_UNKNOWN. */
id_entry *id_map_add(id_map *map, uint64_t id);

void id_map_free(id_map *map);

#endif

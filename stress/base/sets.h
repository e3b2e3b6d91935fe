/* Numbers drawn, hashed, and kept in sets: hash tables by 64 bits, and treaps in order. It must not know the things
   that the numbers name. */
#ifndef STRESS_BASE_SETS_H
#define STRESS_BASE_SETS_H

#include "program.h"

/* ---- splitmix64 (Sebastiano Vigna, public domain): the one source of randomness of op streams, the same on every
        machine. The state is the seed to begin with */

#define SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15)        /* from a state to the next */

/* The number drawn from a state. It also serves as a hash of any number. */
static inline uint64_t splitmix64_mix(uint64_t state)
{
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

static inline uint64_t splitmix64_next(uint64_t *state)
{
    return splitmix64_mix(*state += SPLITMIX64_STEP);
}

/* 0 .. bound - 1, unbiased; bound > 0. */
static inline uint64_t splitmix64_below(uint64_t *state, uint64_t bound)
{
    uint64_t drawn;                              /* numbers below a multiple of bound are even over all remainders */
    do drawn = splitmix64_next(state);
    while (drawn > UINT64_MAX - bound && drawn >= UINT64_MAX - UINT64_MAX % bound);
    return drawn % bound;
}

/* ---- One number for a sequence of events: FNV-1a, 64 bit, over words, lowest byte first on every host */

#define DIGEST_START UINT64_C(0xcbf29ce484222325)

uint64_t digest_word(uint64_t digest, uint64_t word);

/* ---- Numbers by address, or by any other 64-bit key */

typedef struct device_range { uint64_t address, bytes; } device_range;

typedef struct device_table {                    /* zeroed: empty */
    device_range *slots;                         /* open addressing, linear probes; bytes 0: empty */
    size_t        count, capacity;               /* at most half full; capacity 0 or a power of two */
} device_table;

void     device_table_add(device_table *self, uint64_t address, uint64_t bytes);     /* more bytes there */
uint64_t device_table_find(const device_table *self, uint64_t address);      /* its bytes; 0: it has none */
uint64_t device_table_take(device_table *self, uint64_t address);            /* find, and removes the address */
void     device_table_clear(device_table *self);

/* ---- Ordered sets: a treap of nodes by their keys, each with a weight, so that the first node of some weight is
        found as quickly as one by its key */

/* Embedded in the object it stands for. The object must not move while the node is in a set. */
typedef struct treap_node treap_node;
struct treap_node {
    uint64_t    key, tie;                        /* the order: by key, then by tie; a set has both once */
    uint64_t    weight;
    void       *owner;                           /* the object that the node stands for */
    uint64_t    heaviest;                        /* the treap's: the largest weight from here down */
    uint64_t    rank;                            /* the treap's: not below the ranks of left and right */
    treap_node *left, *right, *above;
};

/* Zeroed: empty. Ranks are drawn from a counter, so a treap has the same shape in every run of a program. */
typedef struct treap { treap_node *root; uint64_t drawn; } treap;

/* All take O(log nodes). Searches return the owner of the node found; NULL: there is none. */
/* `added` must be in no set. The other arguments are stored in it. Keys must not change while it is in a set. */
void     treap_add(treap *self, treap_node *added, void *owner, uint64_t key, uint64_t tie, uint64_t weight);
void     treap_remove(treap *self, treap_node *removed);     /* the node must be in this set */
void     treap_weigh(treap_node *changed, uint64_t weight);  /* changes the weight of a node in a set */
/* Finds the first node not before (key, tie) that has at least this weight. */
void    *treap_from(const treap *self, uint64_t key, uint64_t tie, uint64_t weight);
void    *treap_until(const treap *self, uint64_t key);               /* finds the last node of at most this key */
uint64_t treap_heaviest(const treap *self);                          /* the largest weight; 0: empty */

#endif

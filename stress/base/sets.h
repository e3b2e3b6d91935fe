/* Numbers drawn, hashed, and kept in sets: hash tables by 64 bits, and treaps in order. It must not know what the
   numbers name. */
#ifndef STRESS_BASE_SETS_H
#define STRESS_BASE_SETS_H

#include "program.h"

/* ---- splitmix64 (Sebastiano Vigna, public domain): the one source of randomness of op streams, the same on every
        machine. The state is the seed to begin with */

#define SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15)        /* from a state to the next */

/* What is drawn from a state; a hash of any number, too. */
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
    uint64_t drawn;                              /* those below a multiple of it fall evenly on all remainders */
    do drawn = splitmix64_next(state);
    while (drawn > UINT64_MAX - bound && drawn >= UINT64_MAX - UINT64_MAX % bound);
    return drawn % bound;
}

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

/* ---- Ordered sets: a treap of nodes by their keys, each with a weight, so that the first node of some weight is
        found as quickly as one by its key */

/* A part of what it stands for, which nobody copies while it is in a set. */
typedef struct treap_node treap_node;
struct treap_node {
    uint64_t    key, tie;                        /* the order: by key, then by tie; a set has both once */
    uint64_t    weight;
    void       *owner;                           /* what the node stands for */
    uint64_t    heaviest;                        /* the treap's: of all weights from here down .. */
    uint64_t    rank;                            /* .. above those of left and right */
    treap_node *left, *right, *above;
};

/* Zeroed: empty. Ranks are drawn from a counter, so that runs of a program have the same shapes. */
typedef struct treap { treap_node *root; uint64_t drawn; } treap;

/* All O(log nodes). What is searched for is answered by its owner; NULL: there is none. */
/* added: it is in no set. What follows goes into it, and is fixed then. */
void     treap_add(treap *self, treap_node *added, void *owner, uint64_t key, uint64_t tie, uint64_t weight);
void     treap_remove(treap *self, treap_node *removed);     /* it is in this set */
void     treap_weigh(treap_node *changed, uint64_t weight);  /* as remove, another weight, and add */
/* The first not before these keys, of at least this weight. */
void    *treap_from(const treap *self, uint64_t key, uint64_t tie, uint64_t weight);
void    *treap_until(const treap *self, uint64_t key);               /* the last of at most this key */
uint64_t treap_heaviest(const treap *self);                          /* of all weights; 0: empty */

#endif

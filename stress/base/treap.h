/* Ordered sets: a treap of nodes by their keys, each with a weight, so that the first node of some weight is found as
   quickly as one by its key. It must not know what the nodes stand for. */
#ifndef STRESS_BASE_TREAP_H
#define STRESS_BASE_TREAP_H

#include <stdint.h>

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

/* Pieces of device memory: neighbours in a chain, and ordered sets of them. What the models of known allocators are
   built from.
   It must not know any allocator's rules. Tested by tests/test_like_*.c. */
#ifndef STRESS_POLICY_PIECES_H
#define STRESS_POLICY_PIECES_H

#include "../../gpuarena.h"

typedef enum piece_state {
    PIECE_FREE, PIECE_LIVE,
    PIECE_PENDING,                               /* freed, and waiting for events */
    PIECE_HOLE                                   /* addresses without memory */
} piece_state;

typedef struct piece piece;
struct piece {
    uint64_t        address, bytes;
    piece          *previous, *next;             /* touching neighbours; NULL: an end of the chain */
    piece_state     state;
    uint32_t        event_count;                 /* that it waits for */
    void           *owner;                       /* the model's own: a list, a pool, an event */
    void           *uses;                        /* the model's own: streams that use it */
    gpuarena_stream stream;                      /* whose work comes last, as far as the model goes by it */
    piece          *left, *right;                /* in the set that it is in: at most one */
    uint64_t        rank;                        /* random: a set is a heap of these */
    uint64_t        most_bytes;                  /* the largest of its part of the set */
};

typedef struct piece_chunk piece_chunk;
typedef struct pieces {                          /* where pieces come from; zeroed: none yet */
    piece_chunk *chunks;
    piece       *spare;
    size_t       spare_count;
    uint64_t     serial;
} pieces;

int    pieces_reserve(pieces *self, size_t count);       /* so many can be taken. -1: no host memory */
piece *pieces_take(pieces *self);                /* zeroed; only after a reserve */
void   pieces_give(pieces *self, piece *unused);
void   pieces_clear(pieces *self);               /* all of them are gone, taken ones too */

/* In no set, both. split: the part behind the first bytes, taken from here, a piece of its own with the same owner,
   state and stream. join: what comes next is made part of this. */
piece *piece_split(pieces *self, piece *from, uint64_t bytes);
void   piece_join(pieces *self, piece *left);

typedef struct piece_set {                       /* zeroed: empty, by size and then address */
    piece *root;
    int    by_address;
} piece_set;

void     piece_set_add(piece_set *self, piece *added);
void     piece_set_remove(piece_set *self, piece *removed);
piece   *piece_set_first(const piece_set *self);
piece   *piece_set_after(const piece_set *self, const piece *one);   /* NULL: it is the last */
piece   *piece_set_best(const piece_set *self, uint64_t bytes);      /* by size: the smallest, then lowest, to fit */
piece   *piece_set_lowest(const piece_set *self, uint64_t bytes);    /* by address: the first that fits */
uint64_t piece_set_largest(const piece_set *self);                   /* bytes; 0: empty */

#endif

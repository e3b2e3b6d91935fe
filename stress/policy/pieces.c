/* A set is a treap: ordered by its keys, a heap by ranks, which are drawn from a counter and so always the same.
   It must not know any allocator's rules. Tested by tests/test_like_*.c. */
#include "pieces.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_CHUNK = 256 };

struct piece_chunk {
    piece_chunk *next;
    piece        list[PIECES_CHUNK];
};

int pieces_reserve(pieces *self, size_t count)
{
    while (self->spare_count < count) {
        piece_chunk *made = calloc(1, sizeof *made);
        if (!made) return -1;
        made->next = self->chunks;
        self->chunks = made;
        for (size_t at = 0; at < PIECES_CHUNK; at++) pieces_give(self, &made->list[at]);
    }
    return 0;
}

static uint64_t pieces_rank(uint64_t value)      /* splitmix64's last steps */
{
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

piece *pieces_take(pieces *self)
{
    piece *taken = self->spare;
    self->spare = taken->next;
    self->spare_count--;
    memset(taken, 0, sizeof *taken);
    taken->rank = pieces_rank(self->serial += UINT64_C(0x9E3779B97F4A7C15));
    return taken;
}

void pieces_give(pieces *self, piece *unused)
{
    unused->next = self->spare;
    self->spare = unused;
    self->spare_count++;
}

void pieces_clear(pieces *self)
{
    while (self->chunks) {
        piece_chunk *gone = self->chunks;
        self->chunks = gone->next;
        free(gone);
    }
    memset(self, 0, sizeof *self);
}

piece *piece_split(pieces *self, piece *from, uint64_t bytes)
{
    piece *rest = pieces_take(self);
    rest->address = from->address + bytes;
    rest->bytes = from->bytes - bytes;
    rest->state = from->state;
    rest->owner = from->owner;
    rest->stream = from->stream;
    rest->previous = from;
    rest->next = from->next;
    if (rest->next) rest->next->previous = rest;
    from->next = rest;
    from->bytes = bytes;
    return rest;
}

void piece_join(pieces *self, piece *left)
{
    piece *gone = left->next;
    left->bytes += gone->bytes;
    left->next = gone->next;
    if (left->next) left->next->previous = left;
    pieces_give(self, gone);
}

static int piece_is_before(const piece_set *set, const piece *one, const piece *other)
{
    if (set->by_address || one->bytes == other->bytes) return one->address < other->address;
    return one->bytes < other->bytes;
}

static uint64_t piece_most(const piece *root)
{
    return root ? root->most_bytes : 0;
}

static void piece_sum(piece *root)
{
    uint64_t left = piece_most(root->left), right = piece_most(root->right);
    root->most_bytes = root->bytes > left ? root->bytes : left;
    if (right > root->most_bytes) root->most_bytes = right;
}

/* Everything in left comes before everything in right. */
static piece *piece_merge(piece *left, piece *right)
{
    if (!left || !right) return left ? left : right;
    if (left->rank > right->rank) {
        left->right = piece_merge(left->right, right);
        piece_sum(left);
        return left;
    }
    right->left = piece_merge(left, right->left);
    piece_sum(right);
    return right;
}

static void piece_part(const piece_set *set, piece *root, const piece *border, piece **before, piece **behind)
{
    if (!root) {
        *before = *behind = NULL;
    } else if (piece_is_before(set, root, border)) {
        piece_part(set, root->right, border, &root->right, behind);
        *before = root;
        piece_sum(root);
    } else {
        piece_part(set, root->left, border, before, &root->left);
        *behind = root;
        piece_sum(root);
    }
}

void piece_set_add(piece_set *self, piece *added)
{
    piece *before, *behind;
    piece_part(self, self->root, added, &before, &behind);
    added->left = added->right = NULL;
    piece_sum(added);
    self->root = piece_merge(piece_merge(before, added), behind);
}

static piece *piece_without(const piece_set *set, piece *root, const piece *removed)
{
    if (root == removed) return piece_merge(root->left, root->right);
    if (piece_is_before(set, removed, root)) root->left = piece_without(set, root->left, removed);
    else root->right = piece_without(set, root->right, removed);
    piece_sum(root);
    return root;
}

void piece_set_remove(piece_set *self, piece *removed)
{
    self->root = piece_without(self, self->root, removed);
}

piece *piece_set_first(const piece_set *self)
{
    piece *at = self->root;
    while (at && at->left) at = at->left;
    return at;
}

piece *piece_set_after(const piece_set *self, const piece *one)
{
    piece *at = self->root, *found = NULL;
    while (at) {
        int is_later = piece_is_before(self, one, at);
        if (is_later) found = at;
        at = is_later ? at->left : at->right;
    }
    return found;
}

piece *piece_set_best(const piece_set *self, uint64_t bytes)
{
    piece *at = self->root, *found = NULL;
    while (at) {
        int fits = at->bytes >= bytes;
        if (fits) found = at;
        at = fits ? at->left : at->right;
    }
    return found;
}

piece *piece_set_lowest(const piece_set *self, uint64_t bytes)
{
    piece *at = self->root;
    if (piece_most(at) < bytes) return NULL;
    for (;;) {
        if (piece_most(at->left) >= bytes) at = at->left;
        else if (at->bytes >= bytes) return at;
        else at = at->right;
    }
}

uint64_t piece_set_largest(const piece_set *self)
{
    return piece_most(self->root);
}

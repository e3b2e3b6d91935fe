#include "sets.h"

/* ---- FNV-1a over the eight bytes of a word */

#define DIGEST_PRIME   UINT64_C(0x100000001b3)
#define DIGEST_PRIME_8 UINT64_C(0x1efac7090aef4a21)          /* its eighth power: most words are one byte and zeros */

uint64_t digest_word(uint64_t digest, uint64_t word)
{
    if (word <= 0xff) return (digest ^ word) * DIGEST_PRIME_8;
    for (unsigned shift = 0; shift < 64; shift += 8) digest = (digest ^ (word >> shift & 0xff)) * DIGEST_PRIME;
    return digest;
}

/* ---- Hash tables without tombstones: slots behind a removed one move up */

enum { DEVICE_TABLE_FIRST = 64 };                /* slots */

/* The address is mixed, because addresses are often dense, or 2 MiB apart. */
static size_t device_table_home(const device_table *self, uint64_t address)
{
    return (size_t)splitmix64_mix(address) & (self->capacity - 1);
}

/* The slot of the address, or the empty slot where it belongs. There is one: half of the slots are empty. */
static device_range *device_table_slot(const device_table *self, uint64_t address)
{
    size_t at = device_table_home(self, address);
    while (self->slots[at].bytes && self->slots[at].address != address) at = (at + 1) & (self->capacity - 1);
    return &self->slots[at];
}

void device_table_add(device_table *self, uint64_t address, uint64_t bytes)
{
    if (self->count + 1 > self->capacity / 2) {
        device_table larger = *self;
        larger.capacity = self->capacity ? self->capacity * 2 : DEVICE_TABLE_FIRST;
        larger.slots = program_need(larger.capacity, sizeof *larger.slots);
        for (size_t at = 0; at < self->capacity; at++) {
            if (self->slots[at].bytes) *device_table_slot(&larger, self->slots[at].address) = self->slots[at];
        }
        free(self->slots);
        *self = larger;
    }
    device_range *slot = device_table_slot(self, address);
    self->count += !slot->bytes;
    slot->address = address;
    slot->bytes += bytes;
}

uint64_t device_table_find(const device_table *self, uint64_t address)
{
    return self->count ? device_table_slot(self, address)->bytes : 0;
}

uint64_t device_table_take(device_table *self, uint64_t address)
{
    uint64_t bytes = device_table_find(self, address);
    if (!bytes) return 0;
    size_t mask = self->capacity - 1, hole = (size_t)(device_table_slot(self, address) - self->slots);
    self->count--;
    for (size_t at = (hole + 1) & mask; self->slots[at].bytes; at = (at + 1) & mask) {
        size_t home = device_table_home(self, self->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;           /* its home lies behind the hole */
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole] = (device_range){ 0, 0 };
    return bytes;
}

void device_table_clear(device_table *self)
{
    free(self->slots);
    memset(self, 0, sizeof *self);
}

/* ---- A search tree by keys that is a heap by random ranks: hardly ever deep, whatever the order of additions */

static int treap_is_before(const treap_node *node, uint64_t key, uint64_t tie)
{
    return node->key < key || (node->key == key && node->tie < tie);
}

/* Raises the root's heaviest weight to a weight that is now below it. */
static void treap_raise(treap_node *root, uint64_t weight)
{
    if (root->heaviest < weight) root->heaviest = weight;
}

static void treap_own(treap_node *root, treap_node *below)
{
    if (!below) return;
    treap_raise(root, below->heaviest);
    below->above = root;
}

/* Makes left and right the children of the root, and takes its heaviest weight from all three. */
static void treap_own_both(treap_node *root)
{
    root->heaviest = root->weight;
    treap_own(root, root->left);
    treap_own(root, root->right);
}

/* Everything in left comes before everything in right. */
static treap_node *treap_merge(treap_node *left, treap_node *right)
{
    if (!left || !right) return left ? left : right;
    if (left->rank > right->rank) {
        left->right = treap_merge(left->right, right);
        treap_own(left, left->right);
        return left;
    }
    right->left = treap_merge(left, right->left);
    treap_own(right, right->left);
    return right;
}

static void treap_part(treap_node *root, const treap_node *border, treap_node **before, treap_node **behind)
{
    if (!root) {
        *before = *behind = NULL;
    } else if (treap_is_before(root, border->key, border->tie)) {
        treap_part(root->right, border, &root->right, behind);
        *before = root;
        treap_own_both(root);
    } else {
        treap_part(root->left, border, before, &root->left);
        *behind = root;
        treap_own_both(root);
    }
}

void treap_add(treap *self, treap_node *added, void *owner, uint64_t key, uint64_t tie, uint64_t weight)
{
    treap_node made = { .key = key, .tie = tie, .weight = weight, .owner = owner,
                        .rank = splitmix64_next(&self->drawn) };
    treap_node **link = &self->root;
    while (*link && (*link)->rank > made.rank) {
        made.above = *link;
        treap_raise(made.above, weight);
        link = treap_is_before(made.above, key, tie) ? &made.above->right : &made.above->left;
    }
    treap_part(*link, &made, &made.left, &made.right);
    *added = made;
    treap_own_both(added);
    *link = added;
}

/* Updates the heaviest weights from root upwards after a change below, as far as they change. */
static void treap_refresh(treap_node *root)
{
    for (; root; root = root->above) {
        const uint64_t before = root->heaviest;
        treap_own_both(root);
        if (root->heaviest == before) return;
    }
}

void treap_remove(treap *self, treap_node *removed)
{
    treap_node *above = removed->above, *merged = treap_merge(removed->left, removed->right);
    *(!above ? &self->root : above->left == removed ? &above->left : &above->right) = merged;
    if (merged) merged->above = above;
    treap_refresh(above);
}

void treap_weigh(treap_node *changed, uint64_t weight)
{
    changed->weight = weight;
    treap_refresh(changed);
}

void *treap_from(const treap *self, uint64_t key, uint64_t tie, uint64_t weight)
{
    const treap_node *found = NULL;
    for (const treap_node *at = self->root; at && at->heaviest >= weight;) {
        int is_before = treap_is_before(at, key, tie);
        if (!is_before && (at->weight >= weight || (at->right && at->right->heaviest >= weight))) found = at;
        at = is_before ? at->right : at->left;
    }
    while (found && found->weight < weight) {    /* the first one heavy enough is on its right */
        found = found->right;
        while (found->left && found->left->heaviest >= weight) found = found->left;
    }
    return found ? found->owner : NULL;
}

void *treap_until(const treap *self, uint64_t key)
{
    const treap_node *found = NULL;
    for (const treap_node *at = self->root; at;) {
        int is_within = at->key <= key;
        if (is_within) found = at;
        at = is_within ? at->right : at->left;
    }
    return found ? found->owner : NULL;
}

uint64_t treap_heaviest(const treap *self)
{
    return self->root ? self->root->heaviest : 0;
}

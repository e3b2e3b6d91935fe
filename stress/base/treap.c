/* A search tree by keys that is a heap by random ranks: whatever the order of additions, it is hardly ever deep. */
#include "treap.h"

#include <stddef.h>

#include "splitmix64.h"

static int treap_is_before(const treap_node *node, uint64_t key, uint64_t tie)
{
    return node->key < key || (node->key == key && node->tie < tie);
}

/* There is this much weight below it now, too. */
static void treap_raise(treap_node *root, uint64_t weight)
{
    if (root->heaviest < weight) root->heaviest = weight;
}

static uint64_t treap_heaviest_of(const treap_node *root)
{
    return root ? root->heaviest : 0;
}

static void treap_refresh(treap_node *root)
{
    root->heaviest = root->weight;
    treap_raise(root, treap_heaviest_of(root->left));
    treap_raise(root, treap_heaviest_of(root->right));
}

/* Everything in left comes before everything in right. */
static treap_node *treap_merge(treap_node *left, treap_node *right)
{
    if (!left || !right) return left ? left : right;
    if (left->rank > right->rank) {
        treap_raise(left, right->heaviest);
        left->right = treap_merge(left->right, right);
        return left;
    }
    treap_raise(right, left->heaviest);
    right->left = treap_merge(left, right->left);
    return right;
}

static void treap_part(treap_node *root, const treap_node *border, treap_node **before, treap_node **behind)
{
    if (!root) {
        *before = *behind = NULL;
    } else if (treap_is_before(root, border->key, border->tie)) {
        treap_part(root->right, border, &root->right, behind);
        *before = root;
        treap_refresh(root);
    } else {
        treap_part(root->left, border, before, &root->left);
        *behind = root;
        treap_refresh(root);
    }
}

static treap_node **treap_side(treap_node *root, const treap_node *sought)
{
    return treap_is_before(root, sought->key, sought->tie) ? &root->right : &root->left;
}

void treap_add(treap *self, treap_node *added, void *owner, uint64_t key, uint64_t tie, uint64_t weight)
{
    const treap_node made = { .key = key, .tie = tie, .weight = weight, .owner = owner,
                              .rank = splitmix64_next(&self->drawn) };
    treap_node **link = &self->root;
    *added = made;
    while (*link && (*link)->rank > added->rank) {
        treap_raise(*link, added->weight);
        link = treap_side(*link, added);
    }
    treap_part(*link, added, &added->left, &added->right);
    treap_refresh(added);
    *link = added;
}

/* Where the keys of what changed lead, from here down. */
static void treap_refresh_to(treap_node *root, const treap_node *changed)
{
    if (!root) return;
    if (root != changed) treap_refresh_to(*treap_side(root, changed), changed);
    treap_refresh(root);
}

void treap_remove(treap *self, treap_node *removed)
{
    treap_node **link = &self->root, *stale = NULL;
    while (*link != removed) {
        if (!stale && removed->weight && (*link)->heaviest == removed->weight) stale = *link;
        link = treap_side(*link, removed);
    }
    *link = treap_merge(removed->left, removed->right);
    treap_refresh_to(stale, removed);
}

void treap_weigh(treap *self, treap_node *changed, uint64_t weight)
{
    changed->weight = weight;
    treap_refresh_to(self->root, changed);
}

void *treap_from(const treap *self, uint64_t key, uint64_t tie, uint64_t weight)
{
    const treap_node *found = NULL;
    for (const treap_node *at = self->root; at && at->heaviest >= weight;) {
        int is_before = treap_is_before(at, key, tie);
        if (!is_before && (at->weight >= weight || treap_heaviest_of(at->right) >= weight)) found = at;
        at = is_before ? at->right : at->left;
    }
    while (found && found->weight < weight) {    /* then the first to its right */
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
    return treap_heaviest_of(self->root);
}

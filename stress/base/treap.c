/* A search tree by keys that is a heap by random ranks: whatever the order of additions, it is hardly ever deep. */
#include "treap.h"

#include <stddef.h>

#include "splitmix64.h"

static int treap_is_before(const treap_node *node, uint64_t key, uint64_t tie)
{
    return node->key < key || (node->key == key && node->tie < tie);
}

static uint64_t treap_heaviest_of(const treap_node *root)
{
    return root ? root->heaviest : 0;
}

static void treap_refresh(treap_node *root)
{
    uint64_t left = treap_heaviest_of(root->left), right = treap_heaviest_of(root->right);
    root->heaviest = root->weight > left ? root->weight : left;
    if (right > root->heaviest) root->heaviest = right;
}

/* Everything in left comes before everything in right. */
static treap_node *treap_merge(treap_node *left, treap_node *right)
{
    if (!left || !right) return left ? left : right;
    if (left->rank > right->rank) {
        left->right = treap_merge(left->right, right);
        treap_refresh(left);
        return left;
    }
    right->left = treap_merge(left, right->left);
    treap_refresh(right);
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

void treap_add(treap *self, treap_node *added)
{
    treap_node *before, *behind;
    treap_part(self->root, added, &before, &behind);
    added->rank = splitmix64_next(&self->drawn);
    added->left = added->right = NULL;
    treap_refresh(added);
    self->root = treap_merge(treap_merge(before, added), behind);
}

static treap_node **treap_side(treap_node *root, const treap_node *sought)
{
    return treap_is_before(root, sought->key, sought->tie) ? &root->right : &root->left;
}

static treap_node *treap_without(treap_node *root, const treap_node *removed)
{
    if (root == removed) return treap_merge(root->left, root->right);
    treap_node **side = treap_side(root, removed);
    *side = treap_without(*side, removed);
    treap_refresh(root);
    return root;
}

void treap_remove(treap *self, treap_node *removed)
{
    self->root = treap_without(self->root, removed);
}

static void treap_refresh_to(treap_node *root, const treap_node *changed)
{
    if (root != changed) treap_refresh_to(*treap_side(root, changed), changed);
    treap_refresh(root);
}

void treap_weigh(treap *self, treap_node *changed, uint64_t weight)
{
    changed->weight = weight;
    treap_refresh_to(self->root, changed);
}

void *treap_from(const treap *self, uint64_t key, uint64_t tie)
{
    const treap_node *found = NULL;
    for (const treap_node *at = self->root; at;) {
        int is_before = treap_is_before(at, key, tie);
        if (!is_before) found = at;
        at = is_before ? at->right : at->left;
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

void *treap_heavy(const treap *self, uint64_t weight)
{
    const treap_node *at = self->root;
    if (!at || at->heaviest < weight) return NULL;
    for (;;) {
        if (at->left && at->left->heaviest >= weight) at = at->left;
        else if (at->weight >= weight) return at->owner;
        else at = at->right;
    }
}

uint64_t treap_heaviest(const treap *self)
{
    return treap_heaviest_of(self->root);
}

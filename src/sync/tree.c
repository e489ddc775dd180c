/*
 * sync_tree.c - the root over the pages of a filter.
 *
 * A page that changed costs its own hash and one of 512 bytes for each level
 * above it: four of them for a gigabyte.
 */
#include "sync/internal.h"

#include <sodium.h>
#include <stdlib.h>

/* Leaves and nodes have different keys: neither passes for the other. */
static void hash_with(const char key[16], const void *data, size_t len,
                      uint8_t out[UM_HASH_LEN])
{
    crypto_generichash(out, UM_HASH_LEN, data, len, (const uint8_t *)key, 16);
}

void um_tree_hash_page(const void *cells, size_t len, uint8_t out[UM_HASH_LEN])
{
    hash_with("umbel-sync-page1", cells, len, out);
}

static void hash_node(um_tree *t, unsigned level, uint64_t i)
{
    uint64_t from = i * UM_TREE_FAN, left = t->n[level - 1] - from;
    uint64_t n = left < UM_TREE_FAN ? left : UM_TREE_FAN;

    hash_with("umbel-sync-node1", t->level[level - 1] + from * UM_HASH_LEN,
              (size_t)n * UM_HASH_LEN, t->level[level] + i * UM_HASH_LEN);
}

static bool create_levels(um_tree *t, uint64_t pages)
{
    *t = (um_tree){.levels = 0};
    for (uint64_t n = pages;; n = (n + UM_TREE_FAN - 1) / UM_TREE_FAN) {
        t->n[t->levels] = n;
        t->level[t->levels] = malloc((size_t)n * UM_HASH_LEN);
        if (!t->level[t->levels++]) {
            um_tree_fini(t);
            return false;
        }
        if (n == 1)
            return true;
    }
}

bool um_tree_init_empty(um_tree *t, const um_pages *p, const uint8_t *zeros)
{
    size_t len = 0;

    if (!create_levels(t, p->n))
        return false;
    for (uint64_t i = 0; i < p->n; i++) {
        size_t own = um_page_of(p, i).len;
        if (own == len)
            memcpy(um_tree_leaf(t, i), um_tree_leaf(t, i - 1), UM_HASH_LEN);
        else
            um_tree_hash_page(zeros, own, um_tree_leaf(t, i));
        len = own;
    }
    for (unsigned level = 1; level < t->levels; level++)
        for (uint64_t i = 0; i < t->n[level]; i++)
            hash_node(t, level, i);
    return true;
}

bool um_tree_copy(um_tree *t, const um_tree *from)
{
    if (!create_levels(t, from->n[0]))
        return false;
    for (unsigned i = 0; i < t->levels; i++)
        memcpy(t->level[i], from->level[i], (size_t)t->n[i] * UM_HASH_LEN);
    return true;
}

void um_tree_fini(um_tree *t)
{
    for (unsigned i = 0; i < t->levels; i++)
        free(t->level[i]);
    t->levels = 0;
}

uint8_t *um_tree_leaf(const um_tree *t, uint64_t number)
{
    return t->level[0] + number * UM_HASH_LEN;
}

void um_tree_touch(um_tree *t, uint64_t number)
{
    for (unsigned level = 1; level < t->levels; level++) {
        uint64_t parent = number / UM_TREE_FAN;
        if (t->touched[level] && t->touched[level] != parent + 1)
            hash_node(t, level, t->touched[level] - 1);
        else if (t->touched[level])
            return; /* it is due already, and so is what is above */
        t->touched[level] = parent + 1;
        number = parent;
    }
}

void um_tree_end(um_tree *t)
{
    for (unsigned level = 1; level < t->levels; level++) {
        if (t->touched[level])
            hash_node(t, level, t->touched[level] - 1);
        t->touched[level] = 0;
    }
}

const uint8_t *um_tree_root(const um_tree *t)
{
    return t->level[t->levels - 1];
}

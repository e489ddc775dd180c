/*
 * sync_tree.c - the root over the pages of a filter.
 *
 * A page that changed costs its own hash and one of 512 bytes for each level
 * above it: four of them for a gigabyte.
 */
#include "exchange/sync_inside.h"

#include <sodium.h>
#include <stdlib.h>

/* Leaves and nodes have different keys: neither passes for the other. */
static void hash_with(const char key[16], const void *data, size_t len,
                      uint8_t out[UM_HASH_LEN])
{
    crypto_generichash(out, UM_HASH_LEN, data, len, (const uint8_t *)key, 16);
}

static void hash_leaf(um_tree *t, const um_pages *p, uint64_t i,
                      const uint8_t *payload)
{
    um_page page = um_page_of(p, i);

    hash_with("umbel-sync-page1", payload + page.offset, page.len,
              t->level[0] + i * UM_HASH_LEN);
}

static void hash_node(um_tree *t, unsigned level, uint64_t i)
{
    uint64_t from = i * UM_TREE_FAN, left = t->n[level - 1] - from;
    uint64_t n = left < UM_TREE_FAN ? left : UM_TREE_FAN;

    hash_with("umbel-sync-node1", t->level[level - 1] + from * UM_HASH_LEN,
              (size_t)n * UM_HASH_LEN, t->level[level] + i * UM_HASH_LEN);
}

bool um_tree_init(um_tree *t, const um_pages *p, const uint8_t *payload)
{
    *t = (um_tree){.levels = 0};
    for (uint64_t n = p->n;; n = (n + UM_TREE_FAN - 1) / UM_TREE_FAN) {
        t->n[t->levels] = n;
        t->level[t->levels] = malloc((size_t)n * UM_HASH_LEN);
        if (!t->level[t->levels++]) {
            um_tree_fini(t);
            return false;
        }
        if (n == 1)
            break;
    }
    for (uint64_t i = 0; i < p->n; i++)
        hash_leaf(t, p, i, payload);
    for (unsigned level = 1; level < t->levels; level++)
        for (uint64_t i = 0; i < t->n[level]; i++)
            hash_node(t, level, i);
    return true;
}

void um_tree_fini(um_tree *t)
{
    for (unsigned i = 0; i < t->levels; i++)
        free(t->level[i]);
    t->levels = 0;
}

void um_tree_update(um_tree *t, const um_pages *p, uint64_t number,
                    const uint8_t *payload)
{
    hash_leaf(t, p, number, payload);
    for (unsigned level = 1; level < t->levels; level++)
        hash_node(t, level, number /= UM_TREE_FAN);
}

const uint8_t *um_tree_root(const um_tree *t)
{
    return t->level[t->levels - 1];
}

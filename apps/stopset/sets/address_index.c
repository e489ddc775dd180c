/*
 * address_index.c - a hash table of 128-bit keys with open addressing, at most
 * half full.
 */
#include "stopset/sets/address_index.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "base/map.h"

enum { FIRST_SLOTS = 1024 };

static uint64_t hash_key(ss_addr key)
{
    uint64_t h = um_remix(um_remix(key.lo) ^ key.hi);

    return h ^ h >> 29;
}

static bool is_free(const void *slot)
{
    return *(const uint32_t *)slot == 0;
}

static bool has_key(const void *ctx, const void *slot, const void *key)
{
    return ss_addr_equal(
        ((const ss_index *)ctx)->key[*(const uint32_t *)slot - 1],
        *(const ss_addr *)key);
}

static uint64_t hash_slot(const void *ctx, const void *slot)
{
    return hash_key(((const ss_index *)ctx)->key[*(const uint32_t *)slot - 1]);
}

static const um_map_rule rule = {sizeof(uint32_t), is_free, has_key, hash_slot};

/* Returns the slot of a key, or the free slot for it. */
static uint32_t *find_slot(const ss_index *x, ss_addr key)
{
    return um_map_find(&rule, x, x->slot, x->nslots, hash_key(key), &key);
}

static bool widen(ss_index *x)
{
    size_t nslots = x->nslots ? 2 * x->nslots : FIRST_SLOTS;
    uint32_t *slot = calloc(nslots, sizeof *slot);

    if (!slot)
        return false;
    um_map_move(&rule, x, x->slot, x->nslots, slot, nslots);
    free(x->slot);
    x->slot = slot;
    x->nslots = nslots;
    return true;
}

static bool reserve(ss_index *x)
{
    if (x->n == UINT32_MAX / 2)
        return false;
    if (x->n == x->cap) {
        uint32_t cap = x->cap ? 2 * x->cap : FIRST_SLOTS / 2;
        if (!um_array_resize(&x->key, cap, sizeof *x->key))
            return false;
        x->cap = cap;
    }
    return 2 * (size_t)x->n < x->nslots || widen(x);
}

void ss_index_fini(ss_index *x)
{
    free(x->key);
    free(x->slot);
    *x = (ss_index){0};
}

uint32_t ss_index_add(ss_index *x, ss_addr key)
{
    if (!reserve(x))
        return SS_NO_NUMBER;
    uint32_t *slot = find_slot(x, key);
    if (!*slot) {
        x->key[x->n] = key;
        *slot = ++x->n;
    }
    return *slot - 1;
}

uint32_t ss_index_find(const ss_index *x, ss_addr key)
{
    uint32_t number = x->nslots ? *find_slot(x, key) : 0;

    return number ? number - 1 : SS_NO_NUMBER;
}

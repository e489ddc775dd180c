/*
 * index.c - an open hash table of 128-bit keys, at most half full.
 */
#include "stopset/sets/index.h"

#include "base/buffer.h"
#include "base/hash.h"

enum { FIRST_SLOTS = 1024 };

static size_t slot_of(const ss_index *x, ss_addr key)
{
    uint64_t h = um_remix(um_remix(key.lo) ^ key.hi);

    return (size_t)(h ^ h >> 29) & (x->nslots - 1);
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t find_slot(const ss_index *x, ss_addr key)
{
    size_t i = slot_of(x, key);

    while (x->slot[i] && !ss_addr_equal(x->key[x->slot[i] - 1], key))
        i = (i + 1) & (x->nslots - 1);
    return i;
}

static bool widen(ss_index *x)
{
    size_t nslots = x->nslots ? 2 * x->nslots : FIRST_SLOTS;
    uint32_t *slot = calloc(nslots, sizeof *slot);

    if (!slot)
        return false;
    free(x->slot);
    x->slot = slot;
    x->nslots = nslots;
    for (uint32_t i = 0; i < x->n; i++)
        x->slot[find_slot(x, x->key[i])] = i + 1;
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
    size_t i = find_slot(x, key);
    if (!x->slot[i]) {
        x->key[x->n] = key;
        x->slot[i] = ++x->n;
    }
    return x->slot[i] - 1;
}

uint32_t ss_index_find(const ss_index *x, ss_addr key)
{
    size_t i = x->nslots ? find_slot(x, key) : 0;

    return x->nslots && x->slot[i] ? x->slot[i] - 1 : SS_NO_NUMBER;
}

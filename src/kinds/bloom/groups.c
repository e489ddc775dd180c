/*
 * bloom_groups.c - bloom with a choice of digests: add and query.
 *
 * Which cells are set depends on the order of the keys, but no key is ever
 * denied.
 */
#include "filter/addressing/groups.h"
#include "base/batch.h"
#include "kinds/bloom/bloom.h"

/* Digests of a batch that match by no group so far. */
typedef struct pending {
    umbel_digest digest[UM_BATCH];
    uint16_t at[UM_BATCH]; /* their places in the batch */
    size_t n;
} pending;

static void ask_batch(const um_bloom *b, um_query_fn *ask,
                      const umbel_digest *d, size_t n, bool *hit)
{
    pending p = {.n = 0};
    bool found[UM_BATCH];

    ask(b, d, n, hit);
    for (uint32_t g = 1; g < b->groups; g++) {
        p.n = 0;
        for (size_t i = 0; i < n; i++)
            if (!hit[i]) {
                p.digest[p.n] = um_group_digest(d[i], g);
                p.at[p.n++] = (uint16_t)i;
            }
        ask(b, p.digest, p.n, found);
        for (size_t j = 0; j < p.n; j++)
            hit[p.at[j]] = found[j];
    }
}

void um_groups_query(const um_bloom *b, um_query_fn *ask, const umbel_digest *d,
                     size_t n, bool *hit)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        ask_batch(b, ask, d + done, some, hit + done);
    }
}

static bool add_one(const um_bloom *b, umbel_digest d)
{
    const um_layout *l = b->layout;
    uint64_t pos[UM_GROUPED_CELLS], cost;

    um_group_cells(l, b->groups, d, pos);
    uint32_t g = um_cheapest_group(l, b->groups, b->bits, pos, &cost);
    for (uint32_t j = 0; j < l->hashes; j++)
        um_set_bit(b->bits, pos[(size_t)g * l->hashes + j]);
    return cost > 0;
}

size_t um_groups_add(const um_bloom *b, const umbel_digest *d, size_t n,
                     bool *fresh)
{
    size_t added = 0;

    for (size_t i = 0; i < n; i++) {
        bool new_key = add_one(b, d[i]);
        added += new_key;
        if (fresh)
            fresh[i] = new_key;
    }
    return added;
}

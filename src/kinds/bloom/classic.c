/*
 * bloom_classic.c - queries of bloom on classic in batches, on any machine.
 */
#include "base/xxh3.h"
#include "filter/fast.h"
#include "kinds/blocked/classic_walk.h"
#include "kinds/rows.h"

UM_INLINE void start_digests(const void *source, size_t from, size_t n,
                             um_walkers *w)
{
    const umbel_digest *d = (const umbel_digest *)source + from;

    for (size_t i = 0; i < n; i++) {
        w->at[i] = d[i].lo;
        w->hi[i] = d[i].hi;
    }
}

void um_bloom_classic_query(const void *self, const umbel_digest *d, size_t n,
                            bool *hit)
{
    if (um_walk_is_far(self))
        um_walk_far(self, d, n, hit, start_digests);
    else
        um_walk_near(self, d, n, hit, start_digests);
}

UM_INLINE void start_keys8(const void *source, size_t from, size_t n,
                           um_walkers *w)
{
    const um_walk_keys8 *s = source;

    for (size_t i = 0; i < n; i++) {
        w->at[i] = um_xxh3_8(um_le64(s->key[from + i]), s->flip);
        w->hi[i] = um_remix(w->at[i]);
    }
}

static void query_keys8(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit)
{
    um_walk_keys8 source = {keys, um_xxh3_flip(seed)};

    if (um_walk_is_far(self))
        um_walk_far(self, &source, n, hit, start_keys8);
    else
        um_walk_near(self, &source, n, hit, start_keys8);
}

static bool usable(const um_layout *l)
{
    (void)l;
    return true;
}

const um_fast um_fast_bloom_classic = {
    .name = "plain",
    .kind = "bloom",
    .addressing = "classic",
    .usable = usable,
    .query = um_bloom_classic_query,
    .query_keys8 = query_keys8,
};

/*
 * each.h - the loop over keys that most kinds share: computes the positions of
 * a batch, then calls a function for each key.
 *
 * Always inlined, so that every caller gets its own loop with its function
 * inlined.
 */
#ifndef UM_KINDS_BLOOM_EACH_H
#define UM_KINDS_BLOOM_EACH_H

#include "base/bits.h"
#include "filter/kind.h"

enum { UM_EACH_POSITIONS = 1024 }; /* in a batch */

/* Computes the positions of n digests; NULL: those of the layout. */
typedef void um_locate_fn(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *pos);

/* A key to add, and the positions of its cells. */
typedef struct um_each_key {
    umbel_digest digest;
    uint64_t *pos;
    uint64_t amount; /* 1 unless amounts were given */
} um_each_key;

/* Computes the positions of as many keys as fit; returns their number. */
UM_INLINE size_t um_each_batch(const void *self, const um_layout *l,
                               um_locate_fn *locate, const umbel_digest *d,
                               size_t left, uint64_t *pos)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): every layout hashes */
    size_t fit = UM_EACH_POSITIONS / l->hashes;
    size_t n = left < fit ? left : fit;

    if (locate)
        locate(self, d, n, pos);
    else
        l->row->positions(l, d, n, pos);
    return n;
}

/* Adds every key with `one`, which returns true if the key is new. */
UM_INLINE size_t um_each_add(void *self, const um_layout *l,
                             um_locate_fn *locate,
                             bool (*one)(void *self, um_each_key key),
                             const umbel_digest *d, const uint64_t *amounts,
                             size_t n, bool *fresh)
{
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes, added = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, locate, d + done, n - done, pos);
        for (size_t i = 0; i < some; i++) {
            um_each_key key = {.digest = d[done + i],
                               .pos = pos + i * hashes,
                               .amount = amounts ? amounts[done + i] : 1};
            bool is_new = one(self, key);
            added += is_new;
            if (fresh)
                fresh[done + i] = is_new;
        }
    }
    return added;
}

/* Sets hit[i] = one(self, positions of key i). */
UM_INLINE void um_each_query(const void *self, const um_layout *l,
                             um_locate_fn *locate,
                             bool (*one)(const void *self, const uint64_t *pos),
                             const umbel_digest *d, size_t n, bool *hit)
{
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes; /* read once: answers may alias the layout */

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, locate, d + done, n - done, pos);
        for (size_t i = 0; i < some; i++)
            hit[done + i] = one(self, pos + i * hashes);
    }
}

/* Sets out[i] = one(self, positions of key i). */
UM_INLINE void
um_each_count(const void *self, const um_layout *l, um_locate_fn *locate,
              uint64_t (*one)(const void *self, const uint64_t *pos),
              const umbel_digest *d, size_t n, uint64_t *out)
{
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes; /* read once: answers may alias the layout */

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, locate, d + done, n - done, pos);
        for (size_t i = 0; i < some; i++)
            out[done + i] = one(self, pos + i * hashes);
    }
}

#endif

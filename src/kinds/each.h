/*
 * each.h - the loop over keys that most kinds share: the positions of a batch,
 * then a function for each key.
 *
 * Always inlined, so that every caller gets a loop of its own around its own
 * function, with no call in it.
 */
#ifndef UM_KINDS_EACH_H
#define UM_KINDS_EACH_H

#include "base/inline.h"
#include "filter/kind.h"

enum { UM_EACH_POSITIONS = 1024 }; /* of a batch */

/* Fills in the positions of n digests. */
typedef void um_locate_fn(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *pos);

/* One key: what was given, and where its cells are. */
typedef struct um_each_key {
    umbel_digest digest;
    uint64_t *pos;
    uint64_t amount; /* 1 unless amounts were given */
} um_each_key;

/* Returns the number of keys that have room in a batch. */
UM_INLINE size_t um_each_batch(uint32_t hashes, size_t left)
{
    size_t room = UM_EACH_POSITIONS / hashes;
    return left < room ? left : room;
}

/* Adds every key by one, which returns true if the key is new. */
UM_INLINE size_t um_each_add(void *self, uint32_t hashes, um_locate_fn *locate,
                             bool (*one)(void *self, um_each_key key),
                             const umbel_digest *d, const uint64_t *amounts,
                             size_t n, bool *fresh)
{
    uint64_t pos[UM_EACH_POSITIONS];
    size_t added = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(hashes, n - done);
        locate(self, d + done, some, pos);
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

/* hit[i] = one(self, positions of key i). */
UM_INLINE void um_each_query(const void *self, uint32_t hashes,
                             um_locate_fn *locate,
                             bool (*one)(const void *self, const uint64_t *pos),
                             const umbel_digest *d, size_t n, bool *hit)
{
    uint64_t pos[UM_EACH_POSITIONS];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(hashes, n - done);
        locate(self, d + done, some, pos);
        for (size_t i = 0; i < some; i++)
            hit[done + i] = one(self, pos + i * hashes);
    }
}

/* out[i] = one(self, positions of key i). */
UM_INLINE void
um_each_count(const void *self, uint32_t hashes, um_locate_fn *locate,
              uint64_t (*one)(const void *self, const uint64_t *pos),
              const umbel_digest *d, size_t n, uint64_t *out)
{
    uint64_t pos[UM_EACH_POSITIONS];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(hashes, n - done);
        locate(self, d + done, some, pos);
        for (size_t i = 0; i < some; i++)
            out[done + i] = one(self, pos + i * hashes);
    }
}

#endif

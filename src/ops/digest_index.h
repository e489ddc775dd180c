/*
 * digest_index.h - digests by what they are: which stand twice, which stand
 * there too.
 */
#ifndef UM_OPS_DIGEST_INDEX_H
#define UM_OPS_DIGEST_INDEX_H

#include <umbel/base.h>

typedef struct um_digest_index {
    const umbel_alloc *alloc;
    const umbel_digest *digests;
    uint32_t *slot; /* 1 + the number of the first that is equal; 0: free */
    size_t nslots;  /* a power of two */
    size_t n;       /* different ones */
} um_digest_index;

/* Of n digests, which stay the caller's and must stay where they are. */
umbel_status um_digest_index_init(um_digest_index *r, const umbel_alloc *alloc,
                                  const umbel_digest *digests, size_t n,
                                  umbel_error *err);
void um_digest_index_fini(um_digest_index *r);

/* 1 + the number of the first digest equal to d; 0: there is none. */
uint32_t um_digest_index_find(const um_digest_index *r, const umbel_digest *d);

/* Nothing, or what sums and shares of 2^32 of them can hold. */
static inline bool um_is_weight(double w)
{
    return w == 0 || (w >= 1e-100 && w <= 1e100); /* not a NAN */
}

#endif

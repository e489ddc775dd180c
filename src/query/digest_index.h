/*
 * digest_index.h - an index of digests: finds duplicates, and members of
 * another list.
 */
#ifndef UM_OPS_DIGEST_INDEX_H
#define UM_OPS_DIGEST_INDEX_H

#include <umbel/base.h>

typedef struct um_digest_index {
    const umbel_alloc *alloc;
    const umbel_digest *digests;
    uint32_t *slot; /* 1 + the number of the first that is equal; 0: free */
    size_t nslots;  /* a power of two */
    size_t n;       /* different digests */
} um_digest_index;

/* Indexes n digests, which must stay where they are. */
umbel_status um_digest_index_init(um_digest_index *r, const umbel_alloc *alloc,
                                  const umbel_digest *digests, size_t n,
                                  umbel_error *err);
void um_digest_index_fini(um_digest_index *r);

/* Returns 1 + the number of the first digest equal to d, or 0. */
uint32_t um_digest_index_find(const um_digest_index *r, const umbel_digest *d);

/* Returns true if digest i has no equal before it. */
static inline bool um_digest_index_is_first(const um_digest_index *r, size_t i)
{
    return um_digest_index_find(r, &r->digests[i]) == i + 1;
}

/*
 * Refuses weights that are neither 0 nor between 1e-100 and 1e100, so that sums
 * and shares of 2^32 of them can be computed. NULL is accepted.
 */
umbel_status um_check_weights(const double *weights, size_t n,
                              umbel_error *err);

#endif

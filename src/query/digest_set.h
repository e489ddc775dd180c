/*
 * digest_set.h - an index of digests: finds duplicates, and members of
 * another list.
 */
#ifndef UM_QUERY_DIGEST_SET_H
#define UM_QUERY_DIGEST_SET_H

#include <umbel/base.h>
#include <umbel/keys.h>

typedef struct um_digest_set {
    const umbel_alloc *alloc;
    const umbel_digest *digests;
    uint32_t *slot; /* 1 + the number of the first that is equal; 0: free */
    size_t nslots;  /* a power of two */
    size_t n;       /* different digests */
} um_digest_set;

/* Indexes n digests, which must stay where they are. */
umbel_status um_digest_set_init(um_digest_set *r, const umbel_alloc *alloc,
                                const umbel_digest *digests, size_t n,
                                umbel_error *err);
void um_digest_set_fini(um_digest_set *r);

/* Returns 1 + the number of the first digest equal to d, or 0. */
uint32_t um_digest_set_find(const um_digest_set *r, const umbel_digest *d);

/* Returns true if digest i has no equal before it. */
static inline bool um_digest_set_is_first(const um_digest_set *r, size_t i)
{
    return um_digest_set_find(r, &r->digests[i]) == i + 1;
}

/*
 * Refuses weights that are neither 0 nor between 1e-100 and 1e100, so that sums
 * and shares of 2^32 of them can be computed. NULL is accepted.
 */
umbel_status um_check_weights(const double *weights, size_t n,
                              umbel_error *err);

/*
 * Digests that can be gone through again and again, in memory
 * or not.
 *
 * Work on all members of a large filter goes through them a few times instead
 * of keeping them.
 */
/* Takes the next n digests, in the order of the source. */
typedef umbel_status um_digests_fn(void *ctx, const umbel_digest *d, size_t n,
                                   umbel_error *err);

typedef struct um_digest_source {
    const void *ctx;
    size_t n;  /* digests; each fails when there are more */
    bool kept; /* in memory: always the same, for any thread */
    /* Hands over those from .. to - 1; of a source that is not kept, all. */
    umbel_status (*each)(const void *ctx, size_t from, size_t to,
                         um_digests_fn *take, void *take_ctx, umbel_error *err);
} um_digest_source;

/* The digests of a list, which must stay where it is. */
um_digest_source um_source_of_list(const umbel_key_list *list);

/*
 * How many different keys a list has that is too long to keep.
 */
/* Different keys that are counted one by one. */
enum { UM_DISTINCT_MAX = 1 << 20 };

typedef struct um_distinct {
    const umbel_alloc *alloc;
    uint64_t *key;   /* 0: a free slot */
    uint32_t *times; /* that it came again */
    size_t nslots;   /* a power of two, or 0 */
    size_t n;        /* keys in the table */
    unsigned level;  /* it holds one of 2^level of those that came */
    uint64_t came;   /* in all */
} um_distinct;

/* Zeroed but for alloc; um_distinct_fini takes that, too. */
void um_distinct_fini(um_distinct *d);

/* Adds digests. Returns false if memory runs out; those before the failure have
 * been added. */
bool um_distinct_add(um_distinct *d, const umbel_digest *digests, size_t n);

/* Returns the number of different digests: exact if none came twice or there
 * were at most UM_DISTINCT_MAX, otherwise within a few thousandths. */
uint64_t um_distinct_count(const um_distinct *d);

#endif

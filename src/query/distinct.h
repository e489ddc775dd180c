/*
 * distinct.h - how many different keys a list has that is too long to keep.
 */
#ifndef UM_OPS_DISTINCT_H
#define UM_OPS_DISTINCT_H

#include <umbel/base.h>

/* Different keys that are counted one by one. */
enum { UM_DISTINCT_MOST = 1 << 20 };

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

/* False: no memory; those before the one that found none have come. */
bool um_distinct_add(um_distinct *d, const umbel_digest *digests, size_t n);

/* How many were different: exact where none came twice, or UM_DISTINCT_MOST at
 * most were; else within some thousandths. */
uint64_t um_distinct_count(const um_distinct *d);

#endif

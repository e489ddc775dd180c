/*
 * bloom.h - a bloom filter's part of a handle, for kinds that hold some.
 */
#ifndef UM_KINDS_BLOOM_H
#define UM_KINDS_BLOOM_H

#include "filter/kind.h"

typedef struct um_bloom {
    const um_layout *layout;
    uint8_t *bits;
    uint32_t groups;            /* digests a key may go by: kinds/groups.h */
    const struct um_fast *fast; /* asks one of several groups; or NULL */
} um_bloom;

/* As add and query of the kind, for any number of threads at once. */
size_t um_bloom_add_shared(void *self, const umbel_digest *d, size_t n,
                           bool *fresh);
void um_bloom_query_shared(const void *self, const umbel_digest *d, size_t n,
                           bool *hit);

/* Cells in use among the n from the cell from on. */
typedef uint64_t um_used_in(const void *cells, uint64_t from, uint64_t n);

/*
 * Chance that a key never added finds all its cells in use: of any kind where
 * that is a match.
 */
double um_bloom_chance(const um_layout *l, um_used_in *used, const void *cells);

#endif

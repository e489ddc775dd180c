/*
 * bloom.h - the Bloom filter inside a handle, for kinds that contain one.
 */
#ifndef UM_KINDS_BLOOM_H
#define UM_KINDS_BLOOM_H

#include "filter/kind.h"

enum { UM_BLOOM_GROUPS }; /* number of the kind's setting */

typedef struct um_bloom {
    const um_layout *layout;
    uint8_t *bits;
    uint32_t groups;            /* number of digests a key may be added with */
    uint32_t lanes;             /* um_lanes_at */
    const struct um_fast *fast; /* fast path to query one of several groups; or
                                   NULL */
} um_bloom;

/* Describes the section: one bit per cell. */
size_t um_bloom_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS]);

/* Counts the used cells among n, starting at cell `from`. */
typedef uint64_t um_used_in(const void *cells, uint64_t from, uint64_t n);
um_used_in um_bits_used_in; /* for cells of one bit */

/*
 * Returns the probability that all cells of a key that was never added are in
 * use, for any kind where that is a match.
 */
double um_bloom_chance(const um_layout *l, um_used_in *used, const void *cells);
/* Computes the same, and the numbers of used cells. */
void um_bloom_look(const um_layout *l, um_used_in *used, const void *cells,
                   um_bits_look *out);
/* Computes the same if classes of cells depend on each other; the seed selects
 * the sample, if one is taken. */
double um_classes_sampled(const um_layout *l, um_used_in *used,
                          const void *cells, uint64_t seed);

#endif

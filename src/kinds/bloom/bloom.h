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
    uint32_t groups;            /* digests a key may go by */
    uint32_t lanes;             /* um_lanes_at */
    const struct um_fast *fast; /* queries one of several groups; or NULL */
} um_bloom;

/* One section of one bit a cell. */
size_t um_bloom_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS]);

/* Counts the cells in use among the n from the cell from on. */
typedef uint64_t um_used_in(const void *cells, uint64_t from, uint64_t n);
um_used_in um_bits_used_in; /* where a cell is a bit */

/*
 * Returns the chance that a key never added finds all its cells in use, for any
 * kind where that is a match.
 */
double um_bloom_chance(const um_layout *l, um_used_in *used, const void *cells);
/* The same, with the cells in use. */
void um_bloom_look(const um_layout *l, um_used_in *used, const void *cells,
                   um_bits_look *out);
/* The same where classes of cells follow from each other; the seed decides on
 * the sample, where one is taken. */
double um_classes_sampled(const um_layout *l, um_used_in *used,
                          const void *cells, uint64_t seed);

#endif

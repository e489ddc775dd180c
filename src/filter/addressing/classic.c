/*
 * classic.c - k cells anywhere: the filter of 1970, the least bits.
 *
 * A linear congruential sequence with an increment of the key's own walks from
 * lo; the high half of its product with m is the cell. Plain double hashing
 * (lo + i hi) would be a multiplication cheaper, but steps near 0, 1/2, 1/3,
 * ... of the range revisit cells, which puts a floor of about 2/(k m) under the
 * error: 0.000001 asked at 3,000 keys would be 0.000002.
 *
 * A query costs k cache lines when the key is in, about two when it is not.
 */
#include "filter/addressing/classic.h"

#include "filter/addressing/rows.h"

static void positions(const um_layout *l, const umbel_digest *d, size_t n,
                      uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d[i].lo;
        for (uint32_t j = 0; j < l->hashes;
             j++, x = um_classic_step(x, d[i].hi))
            *pos++ = um_scale(x, l->cells);
    }
}

const um_addressing um_addressing_classic = {
    .name = "classic",
    .summary = "k cells anywhere: the fewest bits",
    .distinct = 1,
    .fold = UM_FOLD_NEIGHBOURS,
    .block = 1,
    .positions = positions,
};

/*
 * partitioned: the same walk, but step j stays in the j-th of k equal slices
 * (survey 2.1). Cells of a key are distinct; the error is a little higher.
 */
static uint64_t slice_granule(uint32_t hashes)
{
    return hashes <= UM_MAX_HASHES ? hashes : 0;
}

static void slice_prepare(um_layout *l)
{
    l->lanes = l->hashes;
    l->width = l->cells / l->hashes;
    l->throws = 1;
}

static void slice_positions(const um_layout *l, const umbel_digest *d, size_t n,
                            uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d[i].lo, slice = 0;
        for (uint32_t j = 0; j < l->hashes;
             j++, x = um_classic_step(x, d[i].hi)) {
            *pos++ = slice + um_scale(x, l->width);
            slice += l->width;
        }
    }
}

const um_addressing um_addressing_partitioned = {
    .name = "partitioned",
    .summary = "one cell in each of k slices: distinct cells",
    .distinct = UM_MAX_HASHES,
    .fold = UM_FOLD_NEIGHBOURS,
    .block = 1,
    .granule = slice_granule,
    .prepare = slice_prepare,
    .positions = slice_positions,
};

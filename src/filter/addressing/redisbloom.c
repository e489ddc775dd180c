/*
 * redisbloom.c - cells as a (sub-)filter of RedisBloom has them.
 *
 * Plain double hashing of two 64-bit Murmur hashes a and b of the key:
 *
 *     cell i = (a + i b mod 2^64) mod m
 *
 * so a filter of ours can be loaded there bit for bit, and theirs here
 * (foreign/redisbloom_file.c). Steps b near 0, m/2, m/3 ... revisit cells: the
 * error has a floor of about 2/(k m), which matters for small filters only.
 *
 * When not to use it: the seed is a public constant, and anyone can compute
 * keys that collide; take it for filters that RedisBloom reads.
 */
#include "filter/addressing/redisbloom.h"

#include "filter/addressing/rows.h"

#include <math.h>

enum { GRANULE = 64 };

/* Their constants for ln 2 squared and ln 2, to the digit: INFO and chunks
 * show what comes of them. */
double um_redisbloom_bits_per_item(double error)
{
    return -(log(error) / 0.480453013918201);
}

double um_redisbloom_hashes(double bits_per_item)
{
    return ceil(0.693147180559945 * bits_per_item);
}

double um_redisbloom_bits(double capacity, double bits_per_item)
{
    double bits = floor(capacity * bits_per_item);

    return ceil(fmax(bits, 1) / GRANULE) * GRANULE;
}

static void size(double keys, double fpr, double *cells, double *hashes)
{
    double bits_per_item = um_redisbloom_bits_per_item(fpr);

    *cells = um_redisbloom_bits(keys, bits_per_item);
    *hashes = um_redisbloom_hashes(bits_per_item);
}

static void positions(const um_layout *l, const umbel_digest *d, size_t n,
                      uint64_t *pos)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < l->hashes; j++)
            *pos++ = um_redisbloom_cell(d[i], j, l->cells);
}

const um_addressing um_addressing_redisbloom = {
    .name = "redisbloom",
    .summary = "compatible with RedisBloom's BF commands",
    .hash = "murmur64a",
    .foreign = true,
    .dependent = true,
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = GRANULE,
    .size = size,
    .positions = positions,
};

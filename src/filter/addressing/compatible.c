/*
 * compatible.c - addressings of other programs and of the papers, which imply
 * their own hash. A cell is a number modulo m, so they fold by parts.
 */
#include "base/rng.h"
#include "filter/addressing/addressing.h"
#include "filter/addressing/redisbloom.h"

#include <math.h>

/* --- universal and chunks-md5: addressings of the papers -------------------
 *
 * A cell is a number modulo m, so they fold by parts, and cells below (range
 * mod m) are slightly more likely than the others: um_range returns the range,
 * and the model includes the bias.
 */

/*
 * universal: h(x) = ((c x + d) mod p) mod m, with c and d drawn from the seed
 * (spam 2006, equation 2; generalized 2011, equation 14). The digest is the
 * integer key itself. The function is linear, so a few known cells reveal c and
 * d: use it to reproduce the papers, not against attackers. An attacker who
 * chooses the seed can make c of one function a small multiple of another's, so
 * that their cells coincide: admission samples such filters.
 */
static uint64_t universal_limit(uint32_t hashes)
{
    (void)hashes;
    return UM_INTEGER_PRIME;
}

static uint64_t universal_range(const um_layout *l)
{
    (void)l;
    return UM_INTEGER_PRIME;
}

/* Draws the parameters anew for each batch: a table would be most of a
 * handle. */
void um_draw_universal(const um_layout *l, um_universal h[UM_MAX_HASHES])
{
    um_rng rng = {l->seed};

    for (size_t j = 0; j < l->hashes; j++) {
        h[j].c = (uint32_t)(1 + um_random_below(&rng, UM_INTEGER_PRIME - 1));
        h[j].d = (uint32_t)um_random_below(&rng, UM_INTEGER_PRIME);
    }
}

static void universal_positions(const um_layout *l, const umbel_digest *d,
                                size_t n, uint64_t *pos)
{
    um_universal h[UM_MAX_HASHES];

    um_draw_universal(l, h);
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d[i].lo % UM_INTEGER_PRIME;
        for (size_t j = 0; j < l->hashes; j++) {
            uint64_t y = h[j].c * x + h[j].d;
            *pos++ = (uint32_t)(y % UM_INTEGER_PRIME) % (uint32_t)l->cells;
        }
    }
}

const um_addressing um_addressing_universal = {
    .name = "universal",
    .summary = "((cx+d) mod p) mod m over integer keys, as in the papers",
    .hash = "integer",
    .dependent = true,
    .permutes = true,
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = 1,
    .limit = universal_limit,
    .range = universal_range,
    .positions = universal_positions,
};

/*
 * chunks-md5: MD5 cut into k equal chunks, each modulo m (Summary Cache with k
 * = 4; spam 2006, section III). A chunk of 128/k bits can address only
 * 2^(128/k) cells, so larger filters are refused.
 */
static uint64_t chunks_granule(uint32_t hashes)
{
    return hashes >= 1 && hashes <= UM_MAX_HASHES && 128 % hashes == 0;
}

static uint64_t chunks_limit(uint32_t hashes)
{
    uint32_t bits = 128 / hashes;
    return bits >= 48 ? UM_MAX_CELLS : (uint64_t)1 << bits;
}

static uint64_t chunks_range(const um_layout *l)
{
    uint32_t bits = 128 / l->hashes;

    return bits < 64 ? (uint64_t)1 << bits : 0;
}

static void chunks_positions(const um_layout *l, const umbel_digest *d,
                             size_t n, uint64_t *pos)
{
    uint32_t bits = 128 / l->hashes;

    for (size_t i = 0; i < n; i++) {
        um_u128 sum = (um_u128)d[i].hi << 64 | d[i].lo;
        for (uint32_t j = 0; j < l->hashes; j++) {
            um_u128 chunk = sum << bits * j >> (128 - bits);
            *pos++ = (uint64_t)(chunk % l->cells);
        }
    }
}

const um_addressing um_addressing_chunks_md5 = {
    .name = "chunks-md5",
    .summary = "k chunks of MD5 mod m, as in Summary Cache",
    .hash = "md5",
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = 1,
    .granule = chunks_granule,
    .limit = chunks_limit,
    .range = chunks_range,
    .positions = chunks_positions,
};

/* --- dcso: cells as in files of DCSO's bloom -------------------------------
 *
 * The tools bloom (Go), flor (Python) and fleur (C) share a file format and
 * this sequence of cells, so our filters can be written in their format, bit
 * for bit (foreign/dcso.c). Starting from h, the FNV-1 of the key mod P, k
 * times
 *
 *     h = (h * G mod 2^64) mod P        cell = h mod m
 *
 * The cells of a key depend on each other. A product below 2^64 is hardly ever
 * reduced by P, so the last s bits of h determine those of the next h. If 2^s
 * divides m, the same holds for cells: for m = 2^s the first cell of a key
 * determines all others, and the error is a few per cent whatever k is
 * (filter/addressing/model.c). And as G = 2^64 - 1469, h G mod 2^64 is c 2^64 -
 * 1469 h for one of 1469 numbers c: each cell has at most 1469 successors, for
 * any m.
 *
 * When not to use it: FNV-1 reads a byte at a time and anyone can find keys
 * that collide; use it for files that those tools read.
 */

static const uint64_t P = 18446744073709551557u; /* the largest prime */
static const uint64_t G = 18446744073709550147u; /* their multiplier */

/* Computes sizes as DCSO does: rounding a negative number up makes m one less
 * than expected. */
static void dcso_size(double keys, double fpr, double *cells, double *hashes)
{
    const double ln2 = 0.69314718055994530942;

    *cells = fabs(ceil(keys * log(fpr) / (ln2 * ln2)));
    *hashes = ceil(ln2 * *cells / keys);
}

static uint64_t classes(const um_layout *l, uint64_t *step)
{
    uint64_t n = l->cells & -l->cells; /* the largest power of 2 that divides
                                          it */

    if (step)
        *step = G % n;
    return n > 1 ? n : 0;
}

static void dcso_positions(const um_layout *l, const umbel_digest *d, size_t n,
                           uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t h = d[i].lo % P;
        for (uint32_t j = 0; j < l->hashes; j++) {
            h = h * G % P;
            *pos++ = h % l->cells;
        }
    }
}

const um_addressing um_addressing_dcso = {
    .name = "dcso",
    .summary = "compatible with DCSO's bloom, flor and fleur",
    .hash = "fnv1",
    .foreign = true,
    .dependent = true,
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = 1,
    .size = dcso_size,
    .classes = classes,
    .positions = dcso_positions,
};

/* --- redisbloom: cells as in a (sub-)filter of RedisBloom ------------------
 *
 * Plain double hashing of two 64-bit Murmur hashes a and b of the key:
 *
 *     cell i = (a + i b mod 2^64) mod m
 *
 * so our filters can be loaded into RedisBloom bit for bit, and vice versa
 * (foreign/redisbloom.c). Steps b near 0, m/2, m/3 ... revisit cells: the error
 * has a floor of about 2/(k m), which matters for small filters only.
 *
 * When not to use it: the seed is a public constant, and anyone can compute
 * keys that collide; use it for filters that RedisBloom reads.
 */

enum { GRANULE = 64 };

/* RedisBloom's constants for ln 2 squared and ln 2, digit by digit: BF.INFO and
 * dumps show the results. */
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

static void redisbloom_size(double keys, double fpr, double *cells,
                            double *hashes)
{
    double bits_per_item = um_redisbloom_bits_per_item(fpr);

    *cells = um_redisbloom_bits(keys, bits_per_item);
    *hashes = um_redisbloom_hashes(bits_per_item);
}

static void redisbloom_positions(const um_layout *l, const umbel_digest *d,
                                 size_t n, uint64_t *pos)
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
    .size = redisbloom_size,
    .positions = redisbloom_positions,
};

/* --- guava, guava32: cells as in Guava's BloomFilter -----------------------
 *
 * Its two strategies, MURMUR128_MITZ_64 and the older MURMUR128_MITZ_32, hash
 * the key with MurmurHash3 and step through the halves a and b of the result:
 *
 *     guava     cell i = (a + i b mod 2^64) mod 2^63 mod m       i = 0 .. k-1
 *     guava32   x = a + i b mod 2^32, where a and b are the halves of lo;
 *               cell i = x or, from 2^31 on, 2^32 - 1 - x, mod m  i = 1 .. k
 *
 * so our filters are Guava's bit for bit (foreign/guava.c). Double hashing has
 * the floor of redisbloom. With guava32 the numbers end at 2^31, so that is the
 * largest filter.
 *
 * When not to use it: it has no seed, and anyone can compute keys that collide;
 * use it for files that Java programs read.
 */

static void guava_size(double keys, double fpr, double *cells, double *hashes)
{
    const double ln2 = 0.69314718055994530942;
    double bits = floor(-keys * log(fpr) / (ln2 * ln2));

    *cells = ceil(fmax(bits, 1) / GRANULE) * GRANULE;
    *hashes = fmax(1, floor(bits / keys * ln2 + 0.5));
}

static void guava_positions(const um_layout *l, const umbel_digest *d, size_t n,
                            uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d[i].lo;
        for (uint32_t j = 0; j < l->hashes; j++, x += d[i].hi)
            *pos++ = (x & INT64_MAX) % l->cells;
    }
}

const um_addressing um_addressing_guava = {
    .name = "guava",
    .summary = "compatible with Guava's BloomFilter (MURMUR128_MITZ_64)",
    .hash = "murmur3",
    .foreign = true,
    .dependent = true,
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = GRANULE,
    .size = guava_size,
    .positions = guava_positions,
};

enum { GUAVA32_BITS = 31 };

static uint64_t guava32_limit(uint32_t hashes)
{
    (void)hashes;
    return UINT64_C(1) << GUAVA32_BITS;
}

static uint64_t guava32_range(const um_layout *l)
{
    return guava32_limit(l->hashes);
}

static void guava32_positions(const um_layout *l, const umbel_digest *d,
                              size_t n, uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)d[i].lo, step = (uint32_t)(d[i].lo >> 32);
        for (uint32_t j = 0; j < l->hashes; j++) {
            x += step;
            *pos++ = (x >> GUAVA32_BITS ? ~x : x) % l->cells;
        }
    }
}

const um_addressing um_addressing_guava32 = {
    .name = "guava32",
    .summary = "compatible with Guava's older strategy (MURMUR128_MITZ_32)",
    .hash = "murmur3",
    .foreign = true,
    .dependent = true,
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = GRANULE,
    .limit = guava32_limit,
    .size = guava_size,
    .range = guava32_range,
    .positions = guava32_positions,
};

/*
 * papers.c - addressings of the papers, which bring their own hash.
 *
 * They take a cell as a number modulo m, so they fold by parts, and cells below
 * (range mod m) are a little likelier than the others: um_range says so and
 * the model counts it.
 */
#include "base/rng.h"
#include "filter/addressing/rows.h"

/*
 * universal: h(x) = ((c x + d) mod p) mod m, with c and d drawn from the seed
 * (spam 2006, equation 2; generalized 2011, equation 14). The digest is the
 * integer key itself. Linear: a few known cells give c and d away, so it is for
 * reproducing the papers, not for defence. And whoever chooses the seed may
 * choose one where c of one function is a small multiple of another's, so that
 * their cells go together: admission samples.
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

/* Called for each batch: a table of them would be most of a handle. */
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
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = 1,
    .limit = universal_limit,
    .range = universal_range,
    .positions = universal_positions,
};

/*
 * chunks-md5: MD5 cut into k equal chunks, each modulo m (Summary Cache with
 * k = 4; spam 2006, section III). A chunk of 128/k bits reaches 2^(128/k) cells
 * and no more: larger filters would have cells that no key can use, so they are
 * refused.
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

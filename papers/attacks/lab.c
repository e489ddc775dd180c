/*
 * lab.c - opens, fills and queries the attacked filters.
 */
#include "papers/attacks/lab.h"

#include "base/error.h"
#include "filter/handle.h"
#include "papers/frame/paper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const defence defences[] = {
    {"standard", 0, 8, false, false, false},
    {"fill-checked", 0, 8, false, true, false},
    {"keyed", 0, 8, false, false, true},
    {"generalized flat", 4, 4, false, false, false},
    {"generalized blocked", 4, 4, true, false, false},
    {"generalized keyed", 4, 4, false, false, true},
};
_Static_assert(UM_COUNT(defences) == DEFENCES, "as many as told");

/* --- open ------------------------------------------------------------------*/

static umbel_status open_hash(const defence *row, uint64_t seed,
                              const uint8_t *secret, umbel_filter **out,
                              umbel_error *err)
{
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .hash = row->keyed ? "sip" : "xxh3-64",
                      .seed = row->keyed ? 0 : seed,
                      .cells = BITS,
                      .hashes = row->k0 + row->k1,
                      .secret = row->keyed ? secret : NULL};

    return umbel_create("bloom", &p, out, err);
}

/* Opens the filters of owner and enemy. They share the seed, which is public,
 * but not the secret. */
umbel_status lab_open(lab *l, const defence *row, um_rng *rng, umbel_error *err)
{
    uint64_t seed = um_random(rng);
    uint8_t other[UMBEL_SECRET_LEN];

    memset(l, 0, sizeof *l);
    l->row = row;
    for (size_t i = 0; i < sizeof other; i += 8) {
        um_store64(l->secret + i, um_random(rng));
        um_store64(other + i, um_random(rng));
    }
    umbel_status status = open_hash(row, seed, l->secret, &l->ours, err);
    return status == UMBEL_OK ? open_hash(row, seed, other, &l->guess, err)
                              : status;
}

void lab_close(lab *l)
{
    umbel_close(l->ours);
    umbel_close(l->guess);
    memset(l, 0, sizeof *l);
}

/* --- places ----------------------------------------------------------------*/

static void standard_places(const umbel_filter *hash, const umbel_digest *d,
                            uint32_t *place)
{
    const um_layout *layout = &hash->layout;
    uint64_t at[MAX_PLACES];

    layout->row->positions(layout, d, 1, at);
    for (unsigned i = 0; i < layout->hashes; i++)
        place[i] = (uint32_t)at[i];
}

/* Draws distinct places, anywhere or in one block, from a stream seeded by the
 * digest. */
static void generalized_places(const defence *row, const umbel_digest *d,
                               uint32_t *place)
{
    um_rng own = {d->lo};
    uint32_t range = row->blocked ? BLOCK : BITS;
    uint32_t first = (uint32_t)um_random_below(&own, BITS / range) * range;

    um_gbf_places(&own, range, row->k0 + row->k1, true, place);
    for (unsigned i = 0; i < row->k0 + row->k1; i++)
        place[i] += first;
}

umbel_status lab_places(const lab *l, const umbel_filter *hash,
                        const uint64_t *keys, size_t n, uint32_t *place,
                        umbel_error *err)
{
    umbel_digest d[64];
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < n; i += UM_COUNT(d)) {
        size_t some = n - i < UM_COUNT(d) ? n - i : UM_COUNT(d);
        status = umbel_digest_fixed(hash, keys + i, sizeof *keys, some, d, err);
        for (size_t j = 0; status == UMBEL_OK && j < some; j++)
            if (l->row->k0)
                generalized_places(l->row, &d[j], place + (i + j) * MAX_PLACES);
            else
                standard_places(hash, &d[j], place + (i + j) * MAX_PLACES);
    }
    return status;
}

void lab_insert(lab *l, const uint32_t *place)
{
    um_gbf_insert(l->bits, place, l->row->k0, l->row->k1);
}

bool lab_has(const lab *l, const uint32_t *place)
{
    return um_gbf_has(l->bits, place, l->row->k0, l->row->k1);
}

/* --- content ---------------------------------------------------------------*/

void lab_fill(lab *l, double ones)
{
    memset(l->bits, 0, sizeof l->bits);
    for (uint64_t i = 0; i < BITS; i++)
        if (floor((double)(i + 1) * ones) > floor((double)i * ones))
            um_set_bit(l->bits, i);
}

/* Returns the limit of the check. An optimal filter is half full; the variance
 * of its fill follows from its load. */
double lab_limit(const defence *row)
{
    double load = log(2);
    double variance =
        (exp(-load) - (1 + load) * exp(-2 * load)) / BITS; /* of the share */

    return row->checked ? 0.5 + 6 * sqrt(variance) : 1;
}

void lab_arrive(lab *l)
{
    l->refused =
        (double)um_popcount(l->bits, 0, BITS) > lab_limit(l->row) * BITS + 0.5;
}

/* Decodes the file of an empty filter whose payload is replaced by the enemy's
 * bits. */
static umbel_status receive(const lab *l, umbel_filter **out, umbel_error *err)
{
    size_t len = umbel_encoded_len(l->ours);
    umbel_source source = UMBEL_SOURCE_INIT;
    uint8_t *file = malloc(len);

    if (!file)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a file");
    umbel_status status = umbel_encode(l->ours, file, len, &len, err);
    if (status == UMBEL_OK) {
        memcpy(file + len - sizeof l->bits, l->bits, sizeof l->bits);
        source.secret = l->row->keyed ? l->secret : NULL;
        status = umbel_decode(file, len, &source, out, err);
    }
    free(file);
    return status;
}

static umbel_status ask_standard(const lab *l, const uint64_t *keys, size_t n,
                                 double *share, umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_status status = receive(l, &f, err);

    if (status == UMBEL_OK)
        status = um_share_matching(f, keys, n, share, err);
    umbel_close(f);
    return status;
}

static umbel_status ask_generalized(const lab *l, const uint64_t *keys,
                                    size_t n, double *share, umbel_error *err)
{
    uint32_t *place = malloc(n * MAX_PLACES * sizeof *place);
    size_t hits = 0;

    if (!place)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for places");
    umbel_status status = lab_places(l, l->ours, keys, n, place, err);
    for (size_t i = 0; status == UMBEL_OK && i < n; i++)
        hits += lab_has(l, place + i * MAX_PLACES);
    free(place);
    *share = (double)hits / (double)n;
    return status;
}

umbel_status lab_ask(const lab *l, const uint64_t *keys, size_t n,
                     double *share, umbel_error *err)
{
    *share = 0;
    if (l->refused)
        return UMBEL_OK;
    return l->row->k0 ? ask_generalized(l, keys, n, share, err)
                      : ask_standard(l, keys, n, share, err);
}

/*
 * run.c - spam-table1: what a Bloom filter saves for Razor (Table I, equation
 * 1).
 *
 * The paper computes the table; we compute it, too, and measure filters of
 * these shapes.
 */
#include "base/error.h"
#include "papers/frame/paper.h"
#include "papers/spam/table.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 10000, ASKED = 100000, SIGNATURE_BITS = 160 };

typedef struct shape {
    uint32_t bits_a_key, hashes;
} shape;

static const shape shapes[] = {{16, 4}, {10, 8}, {16, 8}, {40, 8}, {40, 16}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Computes equation 1, its last form. */
static double formula(const shape *s)
{
    return pow(-expm1(-(double)s->hashes / s->bits_a_key), s->hashes);
}

/* Measures the false positive rate with random 64-bit keys. */
static umbel_status measure(um_round *r, const shape *s, uint64_t *keys,
                            double *share, umbel_error *err)
{
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .cells = (uint64_t)s->bits_a_key * KEYS,
                      .hashes = s->hashes,
                      .seed = um_random(&r->rng)};
    umbel_filter *f = NULL;
    umbel_status status = umbel_create("bloom", &p, &f, err);

    for (size_t i = 0; i < KEYS + ASKED; i++)
        keys[i] = um_random_key(&r->rng);
    if (status == UMBEL_OK)
        status = umbel_add_fixed(f, keys, sizeof *keys, KEYS, NULL, err);
    if (status == UMBEL_OK)
        status = um_share_matching(f, keys + KEYS, ASKED, share, err);
    umbel_close(f);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    uint64_t *keys = malloc((KEYS + ASKED) * sizeof *keys);
    umbel_status status = UMBEL_OK;

    if (!keys)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    for (size_t i = 0; status == UMBEL_OK && i < SHAPES; i++)
        status = measure(r, &shapes[i], keys, &out[i], err);
    free(keys);
    return status;
}

static void conclude(um_study *s)
{
    char item[UM_TEXT_LEN];

    for (size_t i = 0; i < SHAPES; i++) {
        const shape *h = &shapes[i];
        um_mean m = um_column(s, i);
        snprintf(item, sizeof item, "compression, m/n = %u, k = %u",
                 h->bits_a_key, h->hashes);
        um_check_value(s, item, (double)SIGNATURE_BITS / h->bits_a_key, NAN);
        snprintf(item, sizeof item, "equation 1, m/n = %u, k = %u",
                 h->bits_a_key, h->hashes);
        um_check_value(s, item, formula(h), NAN);
        snprintf(item, sizeof item, "measured, m/n = %u, k = %u", h->bits_a_key,
                 h->hashes);
        um_check_events(s, item, &m, 1 / ((double)ASKED * (double)s->rounds));
    }
}

const um_paper um_paper_spam_table1 = {
    .name = "spam-table1",
    .source = SPAM_SOURCE "Table I",
    .claim = "signatures of 160 bits as a Bloom filter: 4 to 16 times smaller",
    .rounds = 100,
    .width = SHAPES,
    .round = run_round,
    .conclude = conclude,
};

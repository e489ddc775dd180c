/*
 * run.c - rbf-fig3: the false positive rate against k, m and n (2006, Fig. 3,
 * eqn 5).
 *
 * Each point is a separate filter, built from random keys and queried with
 * others. The paper draws the formula; we draw the formula and the measured
 * rates.
 */
#include "base/error.h"
#include "papers/frame/paper.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>

enum {
    KEYS = 10000,
    BITS = 100000,
    HASHES = 5,
    POINTS = 20, /* of a curve */
    CURVES = 3,
    WIDTH = CURVES * POINTS,
    ASKED = 50000 /* non-members queried per point and round */
};

typedef struct setting {
    uint32_t hashes;
    uint64_t bits, keys;
} setting;

/* Returns the i-th point of a curve, along which one of k, m and n varies. */
static setting setting_at(size_t curve, size_t i)
{
    setting s = {HASHES, BITS, KEYS};

    if (curve == 0)
        s.hashes = (uint32_t)(1 + i);
    else if (curve == 1)
        s.bits = 10000 * (1 + i);
    else
        s.keys = 2000 * (1 + i);
    return s;
}

static double varied(size_t curve, size_t i)
{
    setting s = setting_at(curve, i);
    return curve == 0   ? (double)s.hashes
           : curve == 1 ? (double)s.bits
                        : (double)s.keys;
}

/* Computes equation 5. */
static double formula(const setting *s)
{
    double m = (double)s->bits, kn = s->hashes * (double)s->keys;
    return pow(1 - exp(kn * log1p(-1 / m)), s->hashes);
}

/*
 * Returns the variance of the rate measured in one round: binomial, plus that
 * of the fill, which differs between filters (bits thrown into m cells, k n
 * times).
 */
static double variance(const setting *s)
{
    double c = s->hashes * (double)s->keys / (double)s->bits;
    double f = formula(s), fill = 1 - exp(-c);
    double of_fill = exp(-c) * (1 - (1 + c) * exp(-c)) / (double)s->bits;
    double slope = s->hashes * f / fill;

    return f * (1 - f) / ASKED + slope * slope * of_fill;
}

/* Measures the false positive rate with random 64-bit keys. */
static umbel_status measure(um_round *r, const setting *s, uint64_t *keys,
                            double *share, umbel_error *err)
{
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .cells = s->bits,
                      .hashes = s->hashes,
                      .seed = um_random(&r->rng)};
    umbel_filter *f = NULL;
    umbel_status status = umbel_create("bloom", &p, &f, err);

    for (uint64_t i = 0; i < s->keys; i++)
        keys[i] = um_random_key(&r->rng);
    if (status == UMBEL_OK)
        status = umbel_add_fixed(f, keys, sizeof *keys, s->keys, NULL, err);
    for (uint64_t i = 0; i < ASKED; i++)
        keys[i] = um_random_key(&r->rng);
    if (status == UMBEL_OK)
        status = um_share_matching(f, keys, ASKED, share, err);
    umbel_close(f);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    uint64_t *keys = malloc(ASKED * sizeof *keys);
    umbel_status status = UMBEL_OK;

    if (!keys)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    for (size_t i = 0; status == UMBEL_OK && i < (size_t)CURVES * POINTS; i++) {
        setting s = setting_at(i / POINTS, i % POINTS);
        status = measure(r, &s, keys, &out[i], err);
    }
    free(keys);
    return status;
}

/* Returns the largest distance from the formula, in standard errors. */
static double worst(um_study *s, size_t curve)
{
    double most = 0;

    for (size_t i = 0; i < POINTS; i++) {
        setting at = setting_at(curve, i);
        double error = sqrt(variance(&at) / (double)s->rounds);
        double z = um_z(um_column(s, curve * POINTS + i).value, error,
                        formula(&at), 0);
        most = fmax(most, fabs(z));
    }
    return most;
}

static void draw(um_study *s, size_t curve, const char *id, const char *title,
                 const char *x)
{
    um_record *r = &s->record;
    um_figure *f = um_record_figure(r, id, title, x, "false positive rate");
    if (f)
        f->log_y = true;
    um_series *measured = um_figure_series(f, "measured");
    for (size_t i = 0; i < POINTS; i++) {
        um_mean m = um_column(s, curve * POINTS + i);
        um_series_point(measured, varied(curve, i), m.value, m.error);
    }
    um_series *model = um_figure_series(f, "equation 5");
    if (model)
        model->faint = true;
    for (size_t i = 0; i < POINTS; i++) {
        setting at = setting_at(curve, i);
        um_series_point(model, varied(curve, i), formula(&at), NAN);
    }
}

static double best_k(const um_study *s)
{
    size_t best = 0;

    for (size_t i = 1; i < POINTS; i++)
        if (um_column(s, i).value < um_column(s, best).value)
            best = i;
    return (double)best + 1;
}

static void conclude(um_study *s)
{
    setting standard = {HASHES, BITS, KEYS};
    um_mean rate = um_column(s, HASHES - 1);

    um_check_value(s, "rate by equation 5", formula(&standard), NAN);
    um_check_mean(s, "rate measured", &rate);
    um_check_value(s, "base of equation 7", pow(0.5, log(2)), NAN);
    um_check_value(s, "best k measured", best_k(s), NAN);
    um_check_value(s, "worst z against k", worst(s, 0), NAN);
    um_check_value(s, "worst z against m", worst(s, 1), NAN);
    um_check_value(s, "worst z against n", worst(s, 2), NAN);
    draw(s, 0, "k", "n = 10,000, m = 100,000", "k");
    draw(s, 1, "m", "n = 10,000, k = 5", "m");
    draw(s, 2, "n", "m = 100,000, k = 5", "n");
    um_record_note(&s->record,
                   "Our reading: the text does not print the ranges of Fig. 3; "
                   "k runs to 20, m to 200,000, n to 40,000, the other two "
                   "stand at the values of section IV.");
}

const um_paper um_paper_rbf_fig3 = {
    .name = "rbf-fig3",
    .source = "Donnet, Baynat, Friedman 2006, Fig. 3 and equations 5 to 7",
    .claim = "the false positive rate of plain filters against k, m and n",
    .rounds = 15,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

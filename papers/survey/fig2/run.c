/*
 * run.c - survey-fig2: a conservative update (Fig. 2), and how far counters
 * grow (section 2.5): four bits suffice.
 */
#include "base/error.h"
#include "papers/frame/paper.h"
#include "papers/spam/filter.h"

#include <umbel/counting.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    COUNTERS = 1000000,
    HASHES = 8,
    FIRST = 2, /* shares of counters of at least 2 .. 7 are measured */
    LAST = 7,
    SHARES = LAST - FIRST + 1,
    GREATEST = SHARES, /* the column of the largest counter */
    WIDTH = SHARES + 1,
    OVERFLOW = 16 /* the first count that 4 bits cannot hold */
};

static const double load = 0.69314718055994530942; /* ln 2: the optimal k */

static umbel_status open_counters(um_rng *rng, umbel_filter **out,
                                  umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting bits = {"cell_bits", 4};

    p.addressing = "classic";
    p.cells = COUNTERS;
    p.hashes = HASHES;
    p.seed = um_random(rng);
    p.settings = &bits;
    p.nsettings = 1;
    return umbel_create("counting", &p, out, err);
}

static void count_shares(const umbel_filter *f, double *out)
{
    for (size_t i = 0; i < WIDTH; i++)
        out[i] = 0;
    for (uint64_t i = 0; i < COUNTERS; i++) {
        double counter = (double)um_spam_counter(f, i);
        for (unsigned j = FIRST; j <= LAST; j++)
            out[j - FIRST] += counter >= j ? 1. / COUNTERS : 0;
        out[GREATEST] = fmax(out[GREATEST], counter);
    }
}

/* Fills a filter of kind counting with as many keys as make m ln 2
 * increments. */
static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    size_t n = (size_t)(load * COUNTERS / HASHES);
    uint64_t *key = malloc(n * sizeof *key);
    umbel_filter *f;

    if (!key)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    for (size_t i = 0; i < n; i++)
        key[i] = um_random_key(&r->rng);
    umbel_status status = open_counters(&r->rng, &f, err);
    if (status == UMBEL_OK) {
        status = umbel_add_fixed(f, key, sizeof *key, n, NULL, err);
        count_shares(f, out);
        umbel_close(f);
    }
    free(key);
    return status;
}

static double bound(double j)
{
    return pow(exp(1) * load / j, j);
}

/* Returns P(X >= j), X ~ Poisson(ln 2), starting from the largest term, so that
 * nothing is lost to rounding. */
static double tail(double j)
{
    double term = exp(j * log(load) - load - lgamma(j + 1)), sum = 0;

    while (term > 1e-20 * sum) {
        sum += term;
        term *= load / ++j;
    }
    return sum;
}

/* Runs the flow of Fig. 2 in a filter of three counters that start with 2, 3,
 * 8; the text gives only the smallest. */
static umbel_status run_example(double out[3], umbel_error *err)
{
    static const uint8_t before[] = {2, 3, 8};
    umbel_filter *f;
    uint64_t bytes = 4;
    umbel_status status =
        um_spam_open(3, 3, 8, SPAM_REFINED_UPDATE, 1, &f, err);

    if (status != UMBEL_OK)
        return status;
    for (uint64_t i = 0; i < 3; i++)
        um_spam_set_counter(f, i, before[i]);
    umbel_digest flow = um_spam_spread_key(f);
    status = umbel_add_digest_amounts(f, &flow, &bytes, 1, NULL, err);
    for (uint64_t i = 0; i < 3; i++)
        out[i] = (double)um_spam_counter(f, i);
    umbel_close(f);
    return status;
}

static void check_example(um_study *s)
{
    double counter[3] = {NAN, NAN, NAN};

    run_example(counter, NULL);
    um_check_value(s, "Fig. 2: least counter", counter[0], NAN);
    um_check_value(s, "Fig. 2: counter that was between", counter[1], NAN);
    um_check_value(s, "Fig. 2: counter that was above", counter[2], NAN);
}

/* Draws the shares, and the bound in the text. */
static void draw(um_study *s)
{
    um_figure *f = um_record_figure(
        &s->record, "tail", "Share of counters of at least c, and its bound",
        "c", "share of the counters");
    um_series *c = um_figure_series(f, "measured, kind counting");

    if (f)
        f->log_y = true;
    for (unsigned j = FIRST; j <= LAST; j++) {
        um_mean m = um_column(s, j - FIRST);
        um_series_point(c, j, m.value, m.error);
    }
    c = um_figure_series(f, "Poisson, mean ln 2");
    for (unsigned j = FIRST; j <= OVERFLOW; j++)
        um_series_point(c, j, tail(j), NAN);
    if (c)
        c->faint = true;
    c = um_figure_series(f, "bound (e ln 2 / c)^c");
    for (unsigned j = FIRST; j <= OVERFLOW; j++)
        um_series_point(c, j, bound(j), NAN);
    if (c)
        c->faint = true;
}

static double greatest(const um_study *s)
{
    double most = 0;

    for (size_t i = 0; i < s->rounds; i++)
        most = fmax(most, s->numbers[i * WIDTH + GREATEST]);
    return most;
}

static void conclude(um_study *s)
{
    char item[UM_TEXT_LEN];

    check_example(s);
    um_check_value(s, "bound of an overflow at 16", bound(OVERFLOW), NAN);
    um_check_value(s, "probability of an overflow at 16", tail(OVERFLOW), NAN);
    for (unsigned j = FIRST; j <= LAST; j++) {
        um_mean m = um_column(s, j - FIRST);
        snprintf(item, sizeof item, "share of counters of at least %u", j);
        um_check_events(s, item, &m, 1. / COUNTERS / (double)s->rounds);
        snprintf(item, sizeof item, "the same over its bound, %u", j);
        um_check_value(s, item, m.value / bound(j), NAN);
    }
    um_check_value(s, "greatest counter", greatest(s), NAN);
    draw(s);
    um_record_note(&s->record,
                   "The bound is loose by a factor of 19: P(c >= 16) is "
                   "7.1e-17 a counter. Our reading: Fig. 2 is known from its "
                   "caption; counters other than the least are ours.");
}

const um_paper um_paper_survey_fig2 = {
    .name = "survey-fig2",
    .source = "Broder, Mitzenmacher 2004, Fig. 2 and section 2.5",
    .claim = "2 bytes and 4 new ones make 6; four bits a counter overflow with "
             "probability 1.37e-15 m",
    .rounds = 100,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

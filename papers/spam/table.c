/*
 * table.c - runs an experiment at every shape, and compares it with its table.
 */
#include "papers/spam/table.h"

#include "base/error.h"
#include "papers/frame/expected.h"
#include "papers/spam/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADLINE = 8 }; /* the shape 320K, k = 8, of three sizes */

typedef struct table {
    const um_spam_experiment *experiment;
    um_spam_load load;
} table;

static const um_spam_experiment *experiment_of(const um_study *s)
{
    return ((const table *)s->shared)->experiment;
}

/* --- rounds ----------------------------------------------------------------*/

/* Prepares the keys and counts. Experiments 4 and 5 share their counts: the
 * random stream depends only on the law. */
umbel_status um_spam_table_prepare(um_study *s, unsigned experiment,
                                   umbel_error *err)
{
    table *t = calloc(1, sizeof *t);

    if (!t)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the keys");
    s->shared = t;
    t->experiment = &um_spam_experiments[experiment - 1];
    um_rng rng = um_round_stream(
        s->seed, "spam", t->experiment->total + t->experiment->parameter);
    um_spam_draw_keys(&t->load, &rng);
    um_spam_draw_counts(t->experiment, true, &t->load, &rng);
    return UMBEL_OK;
}

void um_spam_table_release(um_study *s)
{
    free(s->shared);
    s->shared = NULL;
}

const um_spam_load *um_spam_table_load(um_round *r, um_spam_load *own)
{
    const table *t = r->study->shared;

    if (!r->study->fresh)
        return &t->load;
    memcpy(own, &t->load, sizeof *own);
    um_spam_draw_counts(t->experiment, false, own, &r->rng);
    return own;
}

static umbel_status run_shape(um_round *r, const um_spam_load *load,
                              size_t shape, um_spam_space *space, double *to,
                              umbel_error *err)
{
    um_spam_result found;
    umbel_status status = um_spam_run(experiment_of(r->study), load, shape,
                                      false, space, &r->rng, &found, err);

    to[SPAM_PLAIN] = found.plain;
    to[SPAM_PLAIN_ERRORS] = found.plain_errors;
    to[SPAM_REFINED] = found.refined;
    to[SPAM_REFINED_ERRORS] = found.refined_errors;
    return status;
}

/* Returns where the numbers of a stream begin; streams are additional runs of
 * one shape. */
static size_t stream_at(const um_spam_experiment *e, size_t stream)
{
    return (um_spam_shapes(e) + stream) * SPAM_NUMBERS;
}

umbel_status um_spam_table_round(um_round *r, double *out, umbel_error *err)
{
    const um_spam_experiment *e = experiment_of(r->study);
    um_spam_load own;
    const um_spam_load *load = um_spam_table_load(r, &own);
    um_spam_space *space = um_spam_space_new(err);
    umbel_status status = space ? UMBEL_OK : UMBEL_E_NOMEM;

    for (size_t i = 0; !status && i < um_spam_shapes(e); i++)
        status = run_shape(r, load, i, space, out + i * SPAM_NUMBERS, err);
    for (size_t i = 0; !status && e->headline && i < SPAM_STREAMS; i++)
        status =
            run_shape(r, load, HEADLINE, space, out + stream_at(e, i), err);
    um_spam_space_free(space);
    return status;
}

/* --- conclusions -----------------------------------------------------------*/

static um_mean rate(const um_study *s, size_t shape, size_t what)
{
    return um_column(s, shape * SPAM_NUMBERS + what);
}

static void name_cell(char item[UM_TEXT_LEN], const um_spam_experiment *e,
                      size_t shape, size_t what)
{
    snprintf(item, UM_TEXT_LEN, "%s, m = %uK, k = %u",
             what == SPAM_PLAIN ? "intuitive" : "refined",
             um_spam_size(e, shape) / 1000, um_spam_k(shape));
}

static void name_reduction(char item[UM_TEXT_LEN], const um_spam_experiment *e,
                           size_t shape)
{
    snprintf(item, UM_TEXT_LEN, "reduction, m = %uK, k = %u",
             um_spam_size(e, shape) / 1000, um_spam_k(shape));
}

/* Finds the printed value: Tables IV, V and VII omit the intuitive columns,
 * which are in the tables before. */
static bool printed(const um_study *s, const char *item, um_expected *out)
{
    return um_expected_find(um_expected_text(s->paper->name), item, out);
}

/*
 * Returns what a miscounted key adds to the mean of all rounds. Keys have
 * different weights; with the weight E(c^2) / E(c) their sum varies as if all
 * weights were equal. Keys that the refined extension miscounts weigh less, so
 * the interval is never too narrow.
 */
static double unit(const um_study *s)
{
    const table *t = s->shared;
    double sum = 0, squares = 0;

    if (!t->experiment->weighted)
        return 1 / ((double)s->rounds * SPAM_KEYS);
    for (size_t i = 0; i < SPAM_KEYS; i++) {
        sum += t->load.count[i];
        squares += t->load.count[i] * t->load.count[i];
    }
    return squares / sum / (sum * (double)s->rounds);
}

/*
 * Returns the standard error due to drawing counts once, as a share of the
 * quantity: for the authors' draw, and for ours if it is also drawn once. Our
 * Poisson counts are not drawn (um_spam_draw_counts); with --fresh counts are
 * drawn in every round, so that ours is in the spread of the rounds.
 */
static double draw_error(const um_study *s, size_t shape, um_spam_quantity q)
{
    const um_spam_experiment *e = experiment_of(s);
    bool given = e->total && !s->fresh;
    double one = um_spam_draw_spread(e, shape, q, given);

    return given ? hypot(one, one) : one;
}

static um_spam_quantity quantity(size_t what)
{
    return what == SPAM_PLAIN ? SPAM_OF_PLAIN : SPAM_OF_REFINED;
}

static void check_cell(um_study *s, size_t shape, size_t what)
{
    char item[UM_TEXT_LEN];
    um_expected e;
    um_mean m = rate(s, shape, what);

    name_cell(item, experiment_of(s), shape, what);
    if (printed(s, item, &e))
        um_check_drawn(s, item, &m, unit(s),
                       e.paper * draw_error(s, shape, quantity(what)));
}

static void check_cells(um_study *s, size_t what)
{
    for (size_t i = 0; i < um_spam_shapes(experiment_of(s)); i++)
        check_cell(s, i, what);
}

/* Returns how many errors a printed mean represents. */
static double errors_behind(const um_study *s, double mean, double rounds)
{
    return mean * rounds / (unit(s) * (double)s->rounds);
}

/* Returns the correlation of the two rates of a round: both fall with a lucky
 * hash. */
static double correlation(const um_study *s, size_t shape)
{
    size_t a = shape * SPAM_NUMBERS + SPAM_PLAIN;
    size_t b = shape * SPAM_NUMBERS + SPAM_REFINED;
    um_mean x = um_column(s, a), y = um_column(s, b);
    double both = 0;

    for (uint64_t i = 0; i < s->rounds; i++) {
        const double *row = s->numbers + i * s->paper->width;
        both += (row[a] - x.value) * (row[b] - y.value);
    }
    both /= (x.n - 1) * x.sd * y.sd;
    return isfinite(both) ? both : 0;
}

/*
 * Returns the standard error of a quotient of means, by error propagation from
 * the printed means and standard deviations; the correlation of the two columns
 * is not printed, so it is taken from our rounds. The error due to the draw of
 * the counts is added.
 */
static double factor_error(const um_study *s, size_t shape,
                           const um_expected *plain, const um_expected *refined)
{
    double u = plain->sd / plain->paper, v = refined->sd / refined->paper;
    double one = u * u + v * v - 2 * correlation(s, shape) * u * v;
    double runs = one / plain->rounds + one / (double)s->rounds;

    return hypot(sqrt(runs), draw_error(s, shape, SPAM_OF_FACTOR));
}

/* Returns how many errors a mean of ours stands for. */
static double errors_in(const um_study *s, size_t shape, size_t what)
{
    return rate(s, shape, what).value / unit(s);
}

/*
 * Checks a factor if its refined mean is based on at least 20 errors: with
 * fewer, a quotient may be anything (those are marked "shown"). The refined
 * extension miscounts some of the keys that the plain filter miscounts, so up
 * to 100 errors an exact test of the two counts decides.
 */
static void check_reduction(um_study *s, size_t shape)
{
    char item[UM_TEXT_LEN], cell[UM_TEXT_LEN];
    um_expected e, plain, refined;

    name_reduction(item, experiment_of(s), shape);
    if (!printed(s, item, &e) || e.shown)
        return;
    double above = errors_in(s, shape, SPAM_PLAIN);
    double below = errors_in(s, shape, SPAM_REFINED);
    name_cell(cell, experiment_of(s), shape, SPAM_PLAIN);
    if (!printed(s, cell, &plain))
        return; /* the row stays unmeasured, which is a failed check */
    name_cell(cell, experiment_of(s), shape, SPAM_REFINED);
    if (!printed(s, cell, &refined))
        return;
    double theirs = errors_behind(s, refined.paper, refined.rounds);
    if (fmin(below, theirs) < UM_EXACT_EVENTS)
        um_check_quotient(s, item, above, below,
                          errors_behind(s, plain.paper, plain.rounds), theirs);
    else
        um_check_value(s, item, above / below,
                       e.paper * factor_error(s, shape, &plain, &refined));
}

static void check_reductions(um_study *s)
{
    for (size_t i = 0; i < um_spam_shapes(experiment_of(s)); i++)
        check_reduction(s, i);
}

/*
 * Checks the column of standard deviations, cell by cell, if a mean is based on
 * at least 20 errors. The errors of a round are a sum of N weighted events,
 * nearly Poisson: the kurtosis is 3 + 1.5 / N, so the square root of a variance
 * from n rounds has the relative error sqrt((2 + 1.5 / N) / 4n).
 */
static void check_spread(um_study *s, size_t shape, size_t what)
{
    char item[UM_TEXT_LEN];
    um_expected e;
    um_mean m = rate(s, shape, what);

    name_cell(item, experiment_of(s), shape, what);
    if (!printed(s, item, &e) || s->rounds < 2)
        return;
    double events = errors_behind(s, e.paper, 1);
    if (events * fmin(1000, (double)s->rounds) < UM_RARE_EVENTS)
        return;
    double relative =
        sqrt((2 + 1.5 / events) / 4 * (1 / (double)(s->rounds - 1) + 1 / 999.));
    double draws =
        s->fresh ? e.paper * draw_error(s, shape, quantity(what)) : 0;
    um_check c = {
        .paper = e.sd,
        .ours = m.sd,
        .error = m.sd * sqrt((2 + 1.5 / events) / 4 / (double)(s->rounds - 1)),
        .z = NAN,
        .low = e.sd * (1 - UM_Z_LIMIT * relative) - e.sd_slack,
        .high = hypot(e.sd, draws) * (1 + UM_Z_LIMIT * relative) + e.sd_slack,
        .fitted = e.fitted && !s->fresh,
        .note = "standard deviation of one round"};
    snprintf(c.item, sizeof c.item, "std. dev., %.70s", item);
    um_record_check(&s->record, c);
}

static void check_spreads(um_study *s, size_t what)
{
    for (size_t i = 0; i < um_spam_shapes(experiment_of(s)); i++)
        check_spread(s, i, what);
}

/* --- the headline factor ---------------------------------------------------*/

static double stream_value(const um_study *s, size_t stream, size_t what)
{
    return um_column(s, stream_at(experiment_of(s), stream) + what).value;
}

/* Checks the factor of five runs together, which have enough errors for a
 * quotient: single runs with other seeds gave 5 to 18 before this was run. */
static void check_headline(um_study *s, double factor, double errors)
{
    if (errors < UM_RARE_EVENTS)
        return;
    um_record_check(&s->record,
                    (um_check){.item = "reduction, m = 320K, k = 8, five runs "
                                       "together",
                               .paper = NAN,
                               .ours = factor,
                               .error = NAN,
                               .z = NAN,
                               .low = 5,
                               .high = 18,
                               .note = "the paper's 17.733 rests on one or two "
                                       "refined errors"});
}

/* Shows the five runs together and separately: with few errors a factor may be
 * anything. */
static void show_headline(um_study *s)
{
    static const char *const heads[] = {"run", "intuitive errors",
                                        "refined errors", "factor", NULL};
    um_sheet *sheet = um_record_sheet(
        &s->record, "headline",
        "The factor at 320K, k = 8, from five runs of all rounds", heads);
    um_figure *f = um_record_figure(&s->record, "headline",
                                    "The factor at 320K, k = 8, run five times",
                                    "run", "reduction factor");
    um_series *c = um_figure_series(f, "a run of all rounds");
    double plain = 0, refined = 0, errors = 0;

    for (size_t i = 0; i < SPAM_STREAMS; i++) {
        errors += stream_value(s, i, SPAM_REFINED_ERRORS) * (double)s->rounds;
        double a = stream_value(s, i, SPAM_PLAIN);
        double b = stream_value(s, i, SPAM_REFINED);
        plain += a;
        refined += b;
        um_sheet_cell(sheet, "%zu", i + 1);
        um_sheet_cell(sheet, "%.0f",
                      stream_value(s, i, SPAM_PLAIN_ERRORS) *
                          (double)s->rounds);
        um_sheet_cell(sheet, "%.0f",
                      stream_value(s, i, SPAM_REFINED_ERRORS) *
                          (double)s->rounds);
        um_sheet_cell(sheet, b > 0 ? "%.1f" : "none refined", a / b);
        if (b > 0)
            um_series_point(c, (double)i + 1, a / b, NAN);
    }
    c = um_figure_series(f, "the paper: 17.733");
    if (c)
        c->faint = true;
    um_series_point(c, 1, 17.733, NAN);
    um_series_point(c, SPAM_STREAMS, 17.733, NAN);
    c = um_figure_series(f, "all five together");
    if (c)
        c->faint = true;
    um_series_point(c, 1, plain / refined, NAN);
    um_series_point(c, SPAM_STREAMS, plain / refined, NAN);
    check_headline(s, plain / refined, errors);
}

static void draw_curve(um_study *s, um_figure *f, size_t hashes, size_t what)
{
    const um_spam_experiment *e = experiment_of(s);
    char name[UM_TEXT_LEN];

    snprintf(name, sizeof name, "%s, k = %u",
             what == SPAM_PLAIN ? "intuitive" : "refined", um_spam_k(hashes));
    um_series *c = um_figure_series(f, name);
    for (size_t i = hashes; i < um_spam_shapes(e); i += SPAM_HASHES) {
        um_mean m = rate(s, i, what);
        um_series_point(c, um_spam_size(e, i), m.value, m.error);
    }
}

static void draw(um_study *s)
{
    const um_spam_experiment *e = experiment_of(s);
    char title[UM_TEXT_LEN];

    snprintf(title, sizeof title, "Fig. %s: counting errors in Experiment %u",
             e->figure, e->number);
    um_figure *f =
        um_record_figure(&s->record, "rates", title, "cells", "error rate");
    if (f)
        f->log_y = true;
    for (size_t i = 0; i < SPAM_HASHES; i++)
        draw_curve(s, f, i, SPAM_PLAIN);
    for (size_t i = 0; i < SPAM_HASHES; i++)
        draw_curve(s, f, i, SPAM_REFINED);
}

static void list_cell(um_study *s, um_sheet *sheet, size_t shape, size_t what)
{
    char item[UM_TEXT_LEN];
    um_expected e;
    um_mean m = rate(s, shape, what);

    name_cell(item, experiment_of(s), shape, what);
    bool has = printed(s, item, &e);
    um_sheet_cell(sheet, "%.3e", m.value);
    um_sheet_cell(sheet, "%.3e", m.sd);
    um_sheet_cell(sheet, has ? "%.3e" : "-", has ? e.paper : 0);
    um_sheet_cell(sheet, has ? "%.3e" : "-", has ? e.sd : 0);
}

static void list_printed_reduction(um_study *s, um_sheet *sheet, size_t shape)
{
    char item[UM_TEXT_LEN];
    um_expected e;

    name_reduction(item, experiment_of(s), shape);
    bool has = printed(s, item, &e);
    um_sheet_cell(sheet, has ? "%.3f%s" : "-", has ? e.paper : 0,
                  has && e.shown ? " (few)" : "");
}

static void list(um_study *s)
{
    static const char *const heads[] = {
        "m",  "k",     "intuitive", "sd",        "paper", "sd", "refined",
        "sd", "paper", "sd",        "reduction", "paper", NULL};
    const um_spam_experiment *e = experiment_of(s);
    um_record *r = &s->record;
    char title[UM_TEXT_LEN];

    snprintf(title, sizeof title, "Table %s: %s; %s", e->table, e->counts,
             e->order);
    um_sheet *sheet = um_record_sheet(r, "table", title, heads);
    for (size_t i = 0; i < um_spam_shapes(e); i++) {
        double refined = rate(s, i, SPAM_REFINED).value;
        um_sheet_cell(sheet, "%uK", um_spam_size(e, i) / 1000);
        um_sheet_cell(sheet, "%u", um_spam_k(i));
        list_cell(s, sheet, i, SPAM_PLAIN);
        list_cell(s, sheet, i, SPAM_REFINED);
        um_sheet_cell(sheet, refined > 0 ? "%.3f" : "-",
                      rate(s, i, SPAM_PLAIN).value / refined);
        list_printed_reduction(s, sheet, i);
    }
}

static void note(um_study *s)
{
    const um_spam_experiment *e = experiment_of(s);
    const table *t = s->shared;

    um_record_note(&s->record,
                   "Our reading: K is 1000. %s Keys with count 0 are neither "
                   "inserted nor asked for. Cells with fewer than 100 expected "
                   "errors are held to an exact test of two Poisson counts.",
                   e->weighted
                       ? "An error counts as often as its key was inserted, "
                         "and the rate is the quotient by the length l of the "
                         "sequence, not by the number of keys."
                       : "The rate is the share of the 10,000 keys whose count "
                         "is not 20.");
    if (e->headline)
        um_record_note(&s->record,
                       "Errata: \"an order of about 18\" (17.733) rests on one "
                       "or two wrong refined counts. Runs of 1000 rounds give "
                       "factors from 5 to 159, and many of them together about "
                       "10.");
    if (s->fresh)
        um_record_note(&s->record, "Counts were drawn anew in every round; the "
                                   "authors seem to have drawn them once.");
    else if (e->total)
        um_record_note(
            &s->record,
            "Our reading, fitted: the counts were drawn once and kept for all "
            "rounds. The printed means are multiples of 1/(1000 l) for l = "
            "%lu, "
            "and the intuitive column asks for %zu keys with count 0; our "
            "counts are drawn with just that sum and these zeros.",
            (unsigned long)t->load.insertions, e->zeros);
    else if (e->law)
        um_record_note(&s->record,
                       "Our reading: the counts stay the same in all rounds, "
                       "each as frequent as the law expects. The table does "
                       "not tell what the authors drew.");
}

void um_spam_table_conclude(um_study *s)
{
    check_cells(s, SPAM_PLAIN);
    check_cells(s, SPAM_REFINED);
    check_reductions(s);
    check_spreads(s, SPAM_PLAIN);
    check_spreads(s, SPAM_REFINED);
    draw(s);
    list(s);
    if (experiment_of(s)->headline)
        show_headline(s);
    note(s);
}

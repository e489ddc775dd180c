/*
 * table.c - run an experiment at every shape, hold it against its table.
 */
#include "papers/spam/table.h"

#include "base/error.h"
#include "papers/frame/expected.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    const um_spam_experiment *experiment;
    um_spam_load load;
} table;

static const um_spam_experiment *experiment_of(const um_study *s)
{
    return ((const table *)s->shared)->experiment;
}

/* --- rounds ----------------------------------------------------------------*/

/* Experiments 4 and 5 share their counts: the stream is that of the law. */
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

umbel_status um_spam_table_round(um_round *r, double *out, umbel_error *err)
{
    const um_spam_experiment *e = experiment_of(r->study);
    um_spam_load own;
    const um_spam_load *load = um_spam_table_load(r, &own);
    um_spam_space space;
    umbel_status status = um_spam_space_init(&space, err);

    for (size_t i = 0; status == UMBEL_OK && i < um_spam_shapes(e); i++) {
        um_spam_result found;
        double *to = out + i * SPAM_NUMBERS;
        um_spam_run(e, load, i, &space, &r->rng, &found);
        to[SPAM_PLAIN] = found.plain;
        to[SPAM_PLAIN_ERRORS] = found.plain_errors;
        to[SPAM_REFINED] = found.refined;
        to[SPAM_REFINED_ERRORS] = found.refined_errors;
    }
    um_spam_space_fini(&space);
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

/* Tables IV, V and VII leave the intuitive columns to those before. */
static bool printed(const um_study *s, const char *item, um_expected *out)
{
    return um_expected_find(um_expected_text(s->paper->name), item, out);
}

/*
 * What a miscounted key adds to the mean of all rounds. Keys weigh differently;
 * taken at E(c^2) / E(c), a sum of them varies as if all weighed the same. Keys
 * that the refined extension miscounts weigh less, so this is never too narrow.
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

static void check_cell(um_study *s, size_t shape, size_t what)
{
    char item[UM_TEXT_LEN];
    um_expected e;
    um_mean m = rate(s, shape, what);

    name_cell(item, experiment_of(s), shape, what);
    if (printed(s, item, &e))
        um_check_events(s, item, &m, unit(s));
}

static void check_cells(um_study *s, size_t what)
{
    for (size_t i = 0; i < um_spam_shapes(experiment_of(s)); i++)
        check_cell(s, i, what);
}

/*
 * Reductions at 80K, where errors are frequent enough for a quotient. A sum of
 * N weighted errors has the relative variance E(c^2) / E(c)^2 / N, which is at
 * most 1.5 / N here; the paper's quotient rests on 1000 rounds.
 */
static void check_reductions(um_study *s)
{
    char item[UM_TEXT_LEN];

    for (size_t i = 0; i < SPAM_HASHES; i++) {
        double quotient =
            rate(s, i, SPAM_PLAIN).value / rate(s, i, SPAM_REFINED).value;
        double variance = 1.5 / rate(s, i, SPAM_PLAIN_ERRORS).value +
                          1.5 / rate(s, i, SPAM_REFINED_ERRORS).value;
        double error =
            quotient * sqrt(variance / (double)s->rounds + variance / 1000);
        snprintf(item, sizeof item, "reduction, m = 80K, k = %u", um_spam_k(i));
        um_check_value(s, item, quotient, error);
    }
}

/*
 * The column of standard deviations, at 80K: errors are many there, nearly
 * normal, and a spread from n rounds has the relative error 1 / sqrt(2 (n -
 * 1)). The mean of several cells is no worse than that.
 */
static void check_spread(um_study *s, size_t what, const char *name)
{
    char item[UM_TEXT_LEN];
    um_expected e;
    double sum = 0, n = 0;

    for (size_t i = 0; i < SPAM_HASHES; i++) {
        name_cell(item, experiment_of(s), i, what);
        if (!printed(s, item, &e))
            continue;
        sum += rate(s, i, what).sd / e.sd;
        n++;
    }
    if (n > 0 && s->rounds > 1)
        um_check_value(s, name, sum / n,
                       sqrt(1 / (2 * ((double)s->rounds - 1)) + 1 / 1998.));
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

static void list(um_study *s)
{
    static const char *const heads[] = {"m",     "k",  "intuitive", "sd",
                                        "paper", "sd", "refined",   "sd",
                                        "paper", "sd", "reduction", NULL};
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
    }
}

static void note(um_study *s)
{
    const um_spam_experiment *e = experiment_of(s);
    const table *t = s->shared;

    um_record_note(&s->record,
                   "Our reading: K is 1000. %s Keys with count 0 are neither "
                   "inserted nor asked for. Cells with fewer than 20 expected "
                   "errors are held to an exact test of two Poisson counts.",
                   e->weighted
                       ? "An error counts as often as its key was inserted, "
                         "and the rate is the quotient by the length l of the "
                         "sequence, not by the number of keys."
                       : "The rate is the share of the 10,000 keys whose count "
                         "is not 20.");
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
    check_spread(s, SPAM_PLAIN, "std. dev. over the paper's, intuitive");
    check_spread(s, SPAM_REFINED, "std. dev. over the paper's, refined");
    draw(s);
    list(s);
    note(s);
}

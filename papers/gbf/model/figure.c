/*
 * figure.c - simulates the points of a figure, draws it, and reads numbers off
 * it.
 */
#include "papers/gbf/model/figure.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A simulated point; its index is that of its number in a round. */
typedef struct point {
    const um_gbf_panel *panel;
    const um_gbf_curve *curve;
    um_gbf filter;
    double x;
} point;

typedef struct shared {
    const um_gbf_figure *figure;
    point point[GBF_MAX_POINTS];
    size_t n;
} shared;

/* --- rounds ----------------------------------------------------------------*/

/* Returns the number of points from, from + step .. to, robust against
 * rounding. */
static size_t steps(double from, double to, double step)
{
    return step > 0 ? (size_t)floor((to - from) / step + 1e-9) + 1 : 0;
}

static umbel_status add_points(shared *own, const um_gbf_panel *p,
                               const um_gbf_curve *c, umbel_error *err)
{
    for (size_t i = 0; i < steps(p->first, p->to, p->every); i++) {
        double x = p->first + (double)i * p->every;
        um_gbf at = c->sight->at(c->filter, x);
        if (own->n == GBF_MAX_POINTS || at.m > GBF_MAX_BITS ||
            at.n >= GBF_MAX_ELEMENTS || at.k0 + at.k1 > GBF_MAX_FUNCTIONS)
            return um_fail(err, UMBEL_E_RANGE, "too large a figure: %s",
                           p->title);
        own->point[own->n++] = (point){p, c, at, x};
    }
    return UMBEL_OK;
}

umbel_status um_gbf_figure_prepare(um_study *s, const um_gbf_figure *f,
                                   umbel_error *err)
{
    shared *own = calloc(1, sizeof *own);
    umbel_status status = UMBEL_OK;

    if (!own)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a figure");
    s->shared = own;
    own->figure = f;
    for (const um_gbf_panel *p = f->panel; p->id; p++)
        for (const um_gbf_curve *c = p->curve; c->name; c++)
            if (status == UMBEL_OK)
                status = add_points(own, p, c, err);
    return status;
}

void um_gbf_figure_release(um_study *s)
{
    free(s->shared);
    s->shared = NULL;
}

umbel_status um_gbf_figure_round(um_round *r, double *out, umbel_error *err)
{
    const shared *own = r->study->shared;
    um_gbf_space space;
    umbel_status status =
        um_gbf_space_init(&space, GBF_MAX_BITS, GBF_MAX_ELEMENTS, err);

    for (size_t i = 0; status == UMBEL_OK && i < own->n; i++) {
        const point *p = &own->point[i];
        out[i] = p->curve->sight->seen(&p->filter, p->x, &space, &r->rng);
    }
    um_gbf_space_fini(&space);
    return status;
}

/* --- distances -------------------------------------------------------------*/

/* Returns the z of a two-sided p-value. */
static double z_of(double p)
{
    double low = 0, high = 40;

    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Uses the spread over the rounds if it is larger than that of the queries:
 * each round has its own filter. */
double um_gbf_sigmas(const um_mean *m, double truth, double trials)
{
    double all = trials * m->n, events = truth * all;
    double error = sqrt(truth * (1 - truth) / all);

    if (fabs(m->value - truth) < 1e-12)
        return 0;
    if (events < UM_RARE_EVENTS)
        return z_of(fmin(1, um_poisson_test(round(m->value * all), events)));
    return fabs(m->value - truth) / (m->error > error ? m->error : error);
}

/* --- spots -----------------------------------------------------------------*/

double um_gbf_value_at(const um_gbf_panel *p, const um_gbf_curve *c, double x)
{
    um_gbf at = c->sight->at(c->filter, x);

    (void)p;
    return c->sight->value(&at, x);
}

double um_gbf_truth_at(const um_gbf_panel *p, const um_gbf_curve *c, double x)
{
    um_gbf at = c->sight->at(c->filter, x);

    (void)p;
    return c->sight->truth(&at, x);
}

/* Returns where sign times the curve is largest, among the drawn points. */
static double where(const um_gbf_panel *p, const um_gbf_curve *c, double sign)
{
    double best = p->from;

    for (size_t i = 0; i < steps(p->from, p->to, p->step); i++) {
        double x = p->from + (double)i * p->step;
        if (sign * um_gbf_value_at(p, c, x) >
            sign * um_gbf_value_at(p, c, best))
            best = x;
    }
    return best;
}

double um_gbf_where_largest(const um_gbf_panel *p, const um_gbf_curve *c,
                            double x)
{
    (void)x;
    return where(p, c, 1);
}

double um_gbf_largest(const um_gbf_panel *p, const um_gbf_curve *c, double x)
{
    (void)x;
    return um_gbf_value_at(p, c, where(p, c, 1));
}

double um_gbf_where_least(const um_gbf_panel *p, const um_gbf_curve *c,
                          double x)
{
    (void)x;
    return where(p, c, -1);
}

double um_gbf_least(const um_gbf_panel *p, const um_gbf_curve *c, double x)
{
    (void)x;
    return um_gbf_value_at(p, c, where(p, c, -1));
}

double um_gbf_least_rise(const um_gbf_panel *p, const um_gbf_curve *c, double x)
{
    double least = INFINITY;

    (void)x;
    for (size_t i = 1; i < steps(p->from, p->to, p->step); i++) {
        double right = p->from + (double)i * p->step;
        least = fmin(least, um_gbf_value_at(p, c, right) -
                                um_gbf_value_at(p, c, right - p->step));
    }
    return least;
}

/* --- conclusions -----------------------------------------------------------*/

static void check_spots(um_study *s, const um_gbf_figure *f)
{
    for (const um_gbf_spot *spot = f->spot; spot->item; spot++) {
        const um_gbf_panel *p = &f->panel[spot->panel];
        double found = spot->find(p, &p->curve[spot->curve], spot->x);
        um_check_value(s, spot->item, found, NAN);
    }
}

static void check_points(um_study *s, const um_gbf_panel *p)
{
    const shared *own = s->shared;
    char item[UM_TEXT_LEN];
    double worst = 0;

    for (size_t i = 0; i < own->n; i++) {
        const point *at = &own->point[i];
        const um_gbf_sight *sight = at->curve->sight;
        um_mean m = um_column(s, i);
        if (at->panel == p)
            worst =
                fmax(worst, um_gbf_sigmas(&m, sight->truth(&at->filter, at->x),
                                          sight->trials));
    }
    snprintf(item, sizeof item, "farthest simulated point, in sigmas%s%s",
             *p->id ? ", " : "", p->id);
    um_check_value(s, item, worst, NAN);
}

static void draw_equation(um_figure *f, const um_gbf_panel *p,
                          const um_gbf_curve *c)
{
    um_series *line = um_figure_series(f, c->name);

    if (line)
        line->faint = p->every > 0; /* the simulated points are on it */
    for (size_t i = 0; i < steps(p->from, p->to, p->step); i++) {
        double x = p->from + (double)i * p->step;
        um_series_point(line, x, um_gbf_value_at(p, c, x), NAN);
    }
}

static void draw_points(um_study *s, um_figure *f, const um_gbf_panel *p,
                        const um_gbf_curve *c)
{
    const shared *own = s->shared;
    char name[UM_TEXT_LEN];

    snprintf(name, sizeof name, "%s, simulated", c->name);
    um_series *line = um_figure_series(f, name);
    if (line)
        line->dots = true;
    for (size_t i = 0; i < own->n; i++) {
        um_mean m = um_column(s, i);
        if (own->point[i].panel == p && own->point[i].curve == c)
            um_series_point(line, own->point[i].x, m.value, m.error);
    }
}

static void draw(um_study *s, const um_gbf_panel *p)
{
    um_figure *f = um_record_figure(&s->record, *p->id ? p->id : "curves",
                                    p->title, p->x, p->y);

    if (f)
        f->log_y = p->log_y;
    for (const um_gbf_curve *c = p->curve; c->name; c++) {
        draw_equation(f, p, c);
        if (p->every > 0)
            draw_points(s, f, p, c);
    }
}

void um_gbf_figure_conclude(um_study *s)
{
    const um_gbf_figure *f = ((const shared *)s->shared)->figure;

    check_spots(s, f);
    for (const um_gbf_panel *p = f->panel; p->id; p++) {
        if (p->every > 0)
            check_points(s, p);
        draw(s, p);
    }
    um_record_note(&s->record, "%s", f->note);
}

/*
 * curve.c - the trade-off curve as CSV or SVG.
 */
#include "cli/curve.h"

#include "base/error.h"
#include "cli/files.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void um_curve_add(um_curve *c, const umbel_retouch_step *step)
{
    if (c->n && step->removed <= c->steps[c->n - 1].removed)
        return;
    if (c->n == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 1024;
        umbel_retouch_step *larger = realloc(c->steps, cap * sizeof *larger);
        if (!larger) {
            c->no_memory = true;
            return;
        }
        c->steps = larger;
        c->cap = cap;
    }
    c->steps[c->n++] = *step;
}

umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost)
{
    umbel_retouch_step at = {0};

    for (size_t i = 0; i < c->n && c->steps[i].lost <= lost; i++)
        at = c->steps[i];
    return at;
}

void um_curve_fini(um_curve *c)
{
    free(c->steps);
    *c = (um_curve){0};
}

double um_weight_left(const umbel_retouch_result *bill,
                      const umbel_retouch_step *step)
{
    return step->removed == bill->matched
               ? 0
               : bill->matched_weight - step->removed_weight;
}

static void csv_row(FILE *out, const umbel_retouch_step *s,
                    const umbel_retouch_result *b)
{
    fprintf(out, "%" PRIu64 ",%.9g,%.9g,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g\n",
            s->lost, b->members ? (double)s->lost / (double)b->members : 0,
            s->lost_weight, s->removed, b->matched - s->removed,
            s->removed_weight, um_weight_left(b, s));
}

static void write_csv(FILE *out, const um_curve *c,
                      const umbel_retouch_result *b,
                      const umbel_retouch_step *end)
{
    static const umbel_retouch_step nothing;

    fputs("lost,lost_share,lost_weight,removed,left,removed_weight,"
          "left_weight\n",
          out);
    csv_row(out, &nothing, b);
    for (size_t i = 0; i < c->n; i++)
        csv_row(out, &c->steps[i], b);
    csv_row(out, end, b);
}

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void add_point(um_series *to, const umbel_retouch_result *b,
                      const umbel_retouch_step *s)
{
    um_series_point(to, percent_of((double)s->lost, (double)b->members),
                    percent_of(um_weight_left(b, s), b->matched_weight), NAN);
}

/* At most a thousand points: more cannot be seen. */
static void draw_curve(um_figure *f, const um_curve *c,
                       const umbel_retouch_result *b,
                       const umbel_retouch_step *end)
{
    static const umbel_retouch_step nothing;
    size_t every = c->n / 1000 + 1;

    um_figure_init(f, "curve", "false positives left, against members lost",
                   "members lost, per cent", "weight left, per cent");
    um_series *walked = um_figure_series(f, "each step");
    add_point(walked, b, &nothing);
    for (size_t i = 0; i < c->n; i += every)
        add_point(walked, b, &c->steps[i]);
    um_series *stop = um_figure_series(f, "this filter");
    if (stop)
        stop->dots = true;
    add_point(stop, b, end);
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

umbel_status um_curve_save(const um_curve *c, const umbel_retouch_result *bill,
                           const char *path, umbel_error *err)
{
    umbel_retouch_step end = {.lost = bill->lost,
                              .removed = bill->removed,
                              .lost_weight = bill->lost_weight,
                              .removed_weight =
                                  bill->matched_weight - bill->left_weight};

    um_figure f;
    um_draft text;
    umbel_status status = UMBEL_E_NOMEM;
    FILE *out = NULL;

    draw_curve(&f, c, bill, &end);
    if (c->no_memory || um_figure_bad(&f))
        um_set_error(err, status, "no memory for the curve");
    else
        out = um_draft_open(&text, err);
    if (out && ends_with(path, ".svg"))
        um_svg_figure(out, &f);
    else if (out)
        write_csv(out, c, bill, &end);
    if (out)
        status = um_draft_save(&text, path, err);
    um_figure_fini(&f);
    return status;
}

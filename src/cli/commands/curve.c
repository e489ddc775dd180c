/*
 * curve.c - the curve of a retouching as CSV or SVG.
 */
#include "cli/commands/curve.h"

#include "base/error.h"
#include "cli/commands/files.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <string.h>

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void csv_row(FILE *out, const umbel_retouch_step *s,
                    const umbel_retouch_result *r)
{
    fprintf(out, "%" PRIu64 ",%.9g,%.9g,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g\n",
            s->lost, share((double)s->lost, (double)r->members), s->lost_weight,
            s->removed, r->matched - s->removed, s->removed_weight,
            um_weight_left(r, s));
}

static void write_csv(FILE *out, const um_curve *c,
                      const umbel_retouch_result *r,
                      const umbel_retouch_step *end)
{
    static const umbel_retouch_step nothing;

    fputs("lost,lost_share,lost_weight,removed,left,removed_weight,"
          "left_weight\n",
          out);
    csv_row(out, &nothing, r);
    for (size_t i = 0; i < c->n; i++)
        csv_row(out, &c->steps[i], r);
    csv_row(out, end, r);
}

static void add_point(um_series *s, const umbel_retouch_step *step,
                      const umbel_retouch_result *r)
{
    um_series_point(s, 100 * share((double)step->lost, (double)r->members),
                    100 * share(um_weight_left(r, step), r->matched_weight), 0);
}

/* At most a thousand steps: nobody sees more. */
static void create_figure(um_figure *f, const um_curve *c,
                          const umbel_retouch_result *r,
                          const umbel_retouch_step *end)
{
    static const umbel_retouch_step nothing;
    size_t every = c->n / 1000 + 1;

    um_figure_init(f, "curve", "false positives left, against members lost",
                   "members lost, per cent", "weight left, per cent");
    um_series *steps = um_figure_series(f, "each step");
    add_point(steps, &nothing, r);
    for (size_t i = 0; i < c->n; i += every)
        add_point(steps, &c->steps[i], r);
    um_series *stop = um_figure_series(f, "this filter");
    if (stop)
        stop->dots = true;
    add_point(stop, end, r);
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);

    return len >= n && strcmp(text + len - n, end) == 0;
}

/* Writes the figure, or the steps if it is NULL. */
static umbel_status save(const um_figure *figure, const um_curve *c,
                         const umbel_retouch_result *r,
                         const umbel_retouch_step *end, const char *path,
                         umbel_error *err)
{
    um_draft text;

    if (c->no_memory || (figure && um_figure_bad(figure)))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the curve");
    FILE *out = um_draft_open(&text, err);
    if (!out)
        return UMBEL_E_NOMEM;
    if (figure)
        um_svg_figure(out, figure);
    else
        write_csv(out, c, r, end);
    return um_draft_save(&text, path, err);
}

umbel_status um_curve_save(const um_curve *c, const umbel_retouch_result *r,
                           const char *path, umbel_error *err)
{
    umbel_retouch_step end = {.lost = r->lost,
                              .removed = r->removed,
                              .lost_weight = r->lost_weight,
                              .removed_weight =
                                  r->matched_weight - r->left_weight};
    um_figure figure;

    if (!ends_with(path, ".svg"))
        return save(NULL, c, r, &end, path, err);
    create_figure(&figure, c, r, &end);
    umbel_status status = save(&figure, c, r, &end, path, err);
    um_figure_fini(&figure);
    return status;
}

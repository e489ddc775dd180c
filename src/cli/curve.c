/*
 * curve.c - the trade-off curve as CSV or SVG.
 */
#include "cli/curve.h"

#include "base/error.h"
#include "cli/files.h"

#include <inttypes.h>
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

/* The picture: a frame with room for numbers on the left and below. */
enum { WIDTH = 640, HEIGHT = 400, LEFT = 70, TOP = 30, RIGHT = 20, BELOW = 50 };

typedef struct frame {
    double most_lost;
    double all;
} frame;

static double x_of(const frame *f, double lost)
{
    return LEFT + lost / f->most_lost * (WIDTH - LEFT - RIGHT);
}

static double y_of(const frame *f, double left)
{
    return TOP + (1 - left / f->all) * (HEIGHT - TOP - BELOW);
}

static void svg_axes(FILE *out, const frame *f, const umbel_retouch_result *b)
{
    double members = b->members ? (double)b->members : 1;

    for (int i = 0; i <= 4; i++) {
        double lost = f->most_lost * i / 4, left = f->all * i / 4;
        fprintf(out,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" "
                "stroke=\"#ddd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g %%"
                "</text>\n",
                x_of(f, lost), TOP, x_of(f, lost), HEIGHT - BELOW,
                x_of(f, lost), HEIGHT - BELOW + 18, 100 * lost / members);
        fprintf(out,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
                "stroke=\"#ddd\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%"
                "</text>\n",
                LEFT, y_of(f, left), WIDTH - RIGHT, y_of(f, left), LEFT - 8,
                y_of(f, left) + 4, 25 * i);
    }
}

static void svg_point(FILE *out, const frame *f, double lost, double left)
{
    fprintf(out, "%.1f,%.1f ", x_of(f, lost), y_of(f, left));
}

/* At most a thousand points: nobody sees more. */
static void write_svg(FILE *out, const um_curve *c,
                      const umbel_retouch_result *b,
                      const umbel_retouch_step *end)
{
    double most = c->n ? (double)c->steps[c->n - 1].lost : 0;
    frame f = {.most_lost = most > (double)end->lost ? most : (double)end->lost,
               .all = b->matched_weight > 0 ? b->matched_weight : 1};
    size_t every = c->n / 1000 + 1;

    if (f.most_lost <= 0)
        f.most_lost = 1;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"18\">weight of keys left, against members "
            "lost</text>\n",
            WIDTH, HEIGHT, LEFT);
    svg_axes(out, &f, b);
    fputs("<polyline fill=\"none\" stroke=\"#06c\" stroke-width=\"2\" "
          "points=\"",
          out);
    svg_point(out, &f, 0, b->matched_weight);
    for (size_t i = 0; i < c->n; i += every)
        svg_point(out, &f, (double)c->steps[i].lost,
                  um_weight_left(b, &c->steps[i]));
    fprintf(out,
            "\"/>\n<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#c00\"/>\n"
            "</svg>\n",
            x_of(&f, (double)end->lost), y_of(&f, b->left_weight));
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

    if (c->no_memory)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the curve");
    um_draft text;
    FILE *out = um_draft_open(&text, err);
    if (!out)
        return UMBEL_E_NOMEM;
    if (ends_with(path, ".svg"))
        write_svg(out, c, bill, &end);
    else
        write_csv(out, c, bill, &end);
    return um_draft_save(&text, path, err);
}

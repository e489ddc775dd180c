/*
 * checks.c - writes checked values as text, CSV and SVG.
 */
#include "draw/svg.h"
#include "papers/frame/publish.h"

#include <inttypes.h>
#include <math.h>

um_shown um_show_bar(const um_check *c)
{
    um_shown s = {""};
    um_shown low = um_show(c->low), high = um_show(c->high);

    if (isinf(c->low) && isinf(c->high))
        return s;
    if (isinf(c->high))
        snprintf(s.text, sizeof s.text, "at least %.30s", low.text);
    else if (isinf(c->low))
        snprintf(s.text, sizeof s.text, "at most %.30s", high.text);
    else
        snprintf(s.text, sizeof s.text, "%.20s to %.20s", low.text, high.text);
    return s;
}

void um_write_verdicts(FILE *out, const um_record *r)
{
    um_verdicts v = um_record_verdicts(r);

    fprintf(out, "%zu of %zu values within their bars", v.passed,
            v.passed + v.failed);
    if (v.weak)
        fprintf(out, "; %zu that these rounds cannot check", v.weak);
    if (v.errata)
        fprintf(out, "; %zu outside, where the paper contradicts itself",
                v.errata);
    fprintf(out, ": %s", um_outcome_name(um_record_outcome(r)));
}

void um_csv_checks(FILE *out, const um_record *r)
{
    fputs("item,paper,ours,standard error,low,high,pass,fitted,note\n", out);
    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        const double number[] = {c->paper, c->ours, c->error, c->low, c->high};
        um_write_csv(out, c->item);
        for (size_t j = 0; j < sizeof number / sizeof *number; j++) {
            putc(',', out);
            um_write_csv_number(out, number[j]);
        }
        fprintf(out, ",%s,%s,", c->pass ? "yes" : "no",
                c->fitted ? "yes" : "no");
        um_write_csv(out, c->note);
        putc('\n', out);
    }
}

/* Returns where the value lies in its interval: -1 at low, 1 at high. If one
 * end is open, the distance from the other counts. */
static double place_in_bar(const um_check *c)
{
    if (isfinite(c->low) && isfinite(c->high))
        return c->high > c->low
                   ? (2 * c->ours - c->low - c->high) / (c->high - c->low)
                   : (c->ours > c->high) - (c->ours < c->low);
    double bar = isfinite(c->low) ? c->low : c->high;
    double ahead = isfinite(c->low) ? c->ours - bar : bar - c->ours;
    double scale = fmax(fabs(bar), 1e-12);
    return isfinite(c->low) ? -1 + 4 * ahead / scale : 1 - 4 * ahead / scale;
}

/* Names are on the left, intervals in the middle, measured values on the
 * right. */
enum {
    ROW = 22,
    NAMES = 330,
    HALF = 80,
    MIDDLE = NAMES + HALF + 34,
    VALUES = MIDDLE + HALF + 34,
    HEAD = 74
};
#define LETTER 7.4

static void write_check(FILE *out, const um_check *c, double y)
{
    double at = fmax(-1.25, fmin(1.25, place_in_bar(c)));
    char words[200];

    um_svg_fitted_text(out, NAMES, y + 4, "text-anchor=\"end\"", c->item,
                       LETTER, NAMES - 12);
    fprintf(out,
            "<rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%d\" "
            "height=\"10\" rx=\"3\"/>\n",
            MIDDLE - HALF, y - 5, 2 * HALF);
    if (!isnan(c->ours))
        fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                c->pass ? "good" : "off", MIDDLE + at * HALF, y);
    snprintf(words, sizeof words, "%s (%s)", um_show(c->ours).text,
             um_show_bar(c).text);
    um_svg_fitted_text(out, VALUES, y + 4, "", words, LETTER,
                       UM_SVG_WIDTH - VALUES - 10);
}

/* Draws the scale that all rows share: the ends of their own intervals. */
static void write_scale(FILE *out, double bottom)
{
    static const struct {
        int at;
        const char *name;
    } mark[] = {{-HALF, "low"}, {0, "middle"}, {HALF, "high"}};

    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++) {
        double x = MIDDLE + mark[i].at;
        um_svg_line(out, "grid", x, HEAD - 14, x, bottom);
        um_svg_text(out, x, HEAD - 20, "text-anchor=\"middle\"", mark[i].name);
    }
    um_svg_text(out, NAMES, HEAD - 20, "text-anchor=\"end\"", "value");
    um_svg_text(out, VALUES, HEAD - 20, "", "ours (must be)");
}

void um_svg_checks(FILE *out, const um_record *r)
{
    int height = HEAD + ROW * (int)r->nchecks + 8;

    um_svg_begin(out, UM_SVG_WIDTH, height,
                 "checked values, each in its interval");
    um_svg_text(out, 16, 24, "class=\"title\"",
                "Checked values, each in its interval");
    write_scale(out, height - 12);
    for (size_t i = 0; i < r->nchecks; i++)
        write_check(out, &r->check[i], HEAD + ROW * (double)i);
    um_svg_end(out);
}

void um_write_command(FILE *out, const um_study *s)
{
    fprintf(out,
            "umbel reproduce %s --rounds %" PRIu64 " --seed %" PRIu64
            "%s%s%s%s",
            s->paper->name, s->rounds, s->seed, s->timed ? " --timed" : "",
            s->fresh ? " --fresh" : "", s->world ? " --world " : "",
            s->world ? s->paper->worlds[s->world] : "");
}

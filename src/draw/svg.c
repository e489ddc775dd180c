/*
 * svg.c - charts as SVG, written by hand.
 *
 * Colours come from a style sheet inside the file that follows the reader's
 * light or dark preference. Curves differ in colour and in the shape of their
 * marks, so that a black-and-white print can be read.
 */
#include "draw/svg.h"

#include "draw/document.h"
#include "draw/internal.h"

#include <math.h>

enum {
    PLOT = 330, /* height of the plot area */
    LEFT = 92,
    RIGHT = 40,
    TOP = 44,
    BOTTOM = 58, /* ticks, and the name of the x axis */
    ENTRY = 21,  /* a line of the legend */
    STYLES = 8
};

/* Estimated widths of letters, on the large side because fonts differ. */
#define LETTER 7.4
#define TITLE_LETTER 9.0

static const char style[] =
    "<style>\n"
    "text{font:13px system-ui,sans-serif;fill:#333}\n"
    ".title{font-size:15px;font-weight:600}\n"
    ".grid{stroke:#8884;stroke-width:1}.axis{stroke:#888;stroke-width:1}\n"
    ".c{fill:none;stroke-width:2;stroke-linejoin:round}\n"
    ".faint{stroke-dasharray:5 4}.e{stroke-width:1.2}\n"
    ".s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}"
    ".s3{stroke:#c26a9d}\n"
    ".s4{stroke:#b08800}.s5{stroke:#3fa7dc}.s6{stroke:#7f5fc5}"
    ".s7{stroke:#888}\n"
    ".f0{fill:#0072b2}.f1{fill:#d55e00}.f2{fill:#009e73}.f3{fill:#c26a9d}\n"
    ".f4{fill:#b08800}.f5{fill:#3fa7dc}.f6{fill:#7f5fc5}.f7{fill:#888}\n"
    ".bar{fill:#8883}.good{fill:#009e73}.off{fill:#d5341e}\n"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}}\n"
    "</style>\n";

static void init_axes(const um_figure *f, um_axis *x, um_axis *y)
{
    um_axis_init(x, f->log_x, LEFT, UM_SVG_WIDTH - RIGHT);
    um_axis_init(y, f->log_y, TOP + PLOT, TOP);
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < f->series[i].n; j++) {
            const um_point *p = &f->series[i].point[j];
            um_axis_include(x, p->x);
            um_axis_include(y, p->y);
            if (p->error > 0 && um_axis_takes(y, p->y))
                um_axis_include(y, p->y + p->error);
            if (p->error > 0 && !f->log_y)
                um_axis_include(y, p->y - p->error);
        }
    um_axis_settle(x);
    um_axis_settle(y);
}

void um_svg_text(FILE *out, double x, double y, const char *attributes,
                 const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    um_write_escaped(out, text);
    fputs("</text>\n", out);
}

void um_svg_line(FILE *out, const char *class, double x1, double y1, double x2,
                 double y2)
{
    fprintf(out,
            "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
            "y2=\"%.1f\"/>\n",
            class, x1, y1, x2, y2);
}

/* Counts the characters of UTF-8 text: all bytes except continuation bytes. */
static size_t letters(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

double um_svg_text_width(const char *text)
{
    return LETTER * (double)letters(text);
}

void um_svg_fitted_text(FILE *out, double x, double y, const char *attributes,
                        const char *text, double letter, double room)
{
    char all[256];

    if (letter * (double)letters(text) <= room)
        snprintf(all, sizeof all, "%s", attributes);
    else
        snprintf(all, sizeof all,
                 "%s textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"",
                 attributes, room);
    um_svg_text(out, x, y, all, text);
}

static void write_axes(FILE *out, const um_figure *f, const um_axis *x,
                       const um_axis *y)
{
    char turned[96];

    for (size_t i = 0; i < x->nticks; i++) {
        double at = um_axis_at(x, x->tick[i]);
        um_svg_line(out, "grid", at, y->from, at, y->to);
        um_svg_text(out, at, y->from + 18, "text-anchor=\"middle\"",
                    um_show(x->tick[i]).text);
    }
    for (size_t i = 0; i < y->nticks; i++) {
        double at = um_axis_at(y, y->tick[i]);
        um_svg_line(out, "grid", x->from, at, x->to, at);
        um_svg_text(out, x->from - 8, at + 4, "text-anchor=\"end\"",
                    um_show(y->tick[i]).text);
    }
    um_svg_line(out, "axis", x->from, y->from, x->to, y->from);
    um_svg_line(out, "axis", x->from, y->from, x->from, y->to);
    um_svg_fitted_text(out, 16, 24, "class=\"title\"", f->title, TITLE_LETTER,
                       UM_SVG_WIDTH - 32);
    um_svg_fitted_text(out, (x->from + x->to) / 2, y->from + 42,
                       "text-anchor=\"middle\"", f->x, LETTER, x->to - x->from);
    snprintf(turned, sizeof turned,
             "text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\"",
             (y->from + y->to) / 2);
    um_svg_fitted_text(out, 18, (y->from + y->to) / 2, turned, f->y, LETTER,
                       PLOT);
}

/* Returns the number of a series' style; dots have that of the series before
 * them. */
static size_t style_of(const um_figure *f, size_t series)
{
    size_t lines = 0;

    for (size_t i = 0; i <= series; i++)
        lines += f->series[i].dots && lines ? 0 : 1;
    return lines - 1;
}

/* Writes a mark: circle, square, triangle and diamond in turn. */
static void write_mark(FILE *out, size_t series, double x, double y)
{
    static const char *const shape[] = {
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "m-3.2 -3.2h6.4v6.4h-6.4z", "m0 -4.4l4.2 7.4h-8.4z",
        "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z"};

    fprintf(out, "<path class=\"f%zu\" d=\"M%.1f %.1f%s\"/>\n", series % STYLES,
            x, y, shape[series % 4]);
}

static void write_ring(FILE *out, size_t series, double x, double y)
{
    fprintf(out,
            "<circle class=\"c s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"6.5\"/>\n",
            series % STYLES, x, y);
}

/* Writes an error bar. If it reaches zero on a logarithmic axis, it ends at the
 * bottom, without a cap. */
static void write_error_bar(FILE *out, size_t series, const um_axis *x,
                            const um_axis *y, const um_point *p)
{
    char class[16];
    double low = p->y - p->error, high = p->y + p->error;

    if (!(p->error > 0) || !um_axis_takes(y, high))
        return;
    snprintf(class, sizeof class, "e s%zu", series % STYLES);
    double at = um_axis_at(x, p->x), up = um_axis_at(y, high);
    double down = um_axis_takes(y, low) ? um_axis_at(y, low) : INFINITY;
    bool whole = down <= y->from;
    um_svg_line(out, class, at, fmin(down, y->from), at, up);
    if (whole)
        um_svg_line(out, class, at - 4, down, at + 4, down);
    um_svg_line(out, class, at - 4, up, at + 4, up);
}

static void write_path(FILE *out, const um_series *c, size_t as,
                       const um_axis *x, const um_axis *y)
{
    fprintf(out, "<polyline class=\"c s%zu%s\" points=\"", as % STYLES,
            c->faint ? " faint" : "");
    for (size_t j = 0; j < c->n; j++)
        if (um_axis_takes(x, c->point[j].x) && um_axis_takes(y, c->point[j].y))
            fprintf(out, "%.1f,%.1f ", um_axis_at(x, c->point[j].x),
                    um_axis_at(y, c->point[j].y));
    fputs("\"/>\n", out);
}

/* Writes a ring around a mark, and a name on the side with more space. */
static void write_name(FILE *out, const char *name, size_t as, double x,
                       double y)
{
    bool left = x > LEFT + (UM_SVG_WIDTH - LEFT - RIGHT) / 2.0;

    fprintf(out, "<circle class=\"c s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>\n",
            as % STYLES, x, y);
    um_svg_text(
        out, left ? x - 14 : x + 14, y + 4,
        left ? "class=\"title\" text-anchor=\"end\"" : "class=\"title\"", name);
}

static void write_series(FILE *out, const um_figure *f, size_t i,
                         const um_axis *x, const um_axis *y)
{
    const um_series *c = &f->series[i];
    size_t as = style_of(f, i);
    bool marks = c->dots || (!c->faint && c->n <= 40);

    if (!c->dots)
        write_path(out, c, as, x, y);
    for (size_t j = 0; marks && j < c->n; j++) {
        const um_point *p = &c->point[j];
        if (!um_axis_takes(x, p->x) || !um_axis_takes(y, p->y))
            continue;
        write_error_bar(out, as, x, y, p);
        (c->rings ? write_ring : write_mark)(out, as, um_axis_at(x, p->x),
                                             um_axis_at(y, p->y));
        if (c->named)
            write_name(out, c->name, as, um_axis_at(x, p->x),
                       um_axis_at(y, p->y));
    }
}

enum { SWATCH = 33, GAP = 18 }; /* width of a swatch; space between entries */

static void write_entry(FILE *out, const um_figure *f, size_t i, double x,
                        double y)
{
    const um_series *c = &f->series[i];
    size_t as = style_of(f, i);
    char class[24];

    snprintf(class, sizeof class, "c s%zu%s", as % STYLES,
             c->faint ? " faint" : "");
    if (!c->dots)
        um_svg_line(out, class, x, y, x + 26, y);
    if (!c->faint)
        (c->rings ? write_ring : write_mark)(out, as, x + 13, y);
    um_svg_fitted_text(out, x + SWATCH, y + 4, "", c->name, LETTER,
                       UM_SVG_WIDTH - LEFT - RIGHT - SWATCH);
}

/* Writes the legend under the plot, as many entries per line as fit. Returns
 * the number of lines; only counts them if out is NULL. */
static int write_legend(FILE *out, const um_figure *f)
{
    double x = LEFT;
    int line = 0;

    for (size_t i = 0; i < f->n; i++) {
        if (f->series[i].named || f->series[i].unlisted)
            continue;
        double width = fmin(SWATCH + um_svg_text_width(f->series[i].name),
                            UM_SVG_WIDTH - LEFT - RIGHT);
        if (x > LEFT && x + width > UM_SVG_WIDTH - RIGHT) {
            x = LEFT;
            line++;
        }
        if (out)
            write_entry(out, f, i, x,
                        TOP + PLOT + BOTTOM + 8 + ENTRY * (double)line);
        x += width + GAP;
    }
    return f->n ? line + 1 : 0;
}

void um_svg_begin(FILE *out, int width, int height, const char *title)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "width=\"%d\" height=\"%d\" role=\"img\">\n%s<title>",
            width, height, width, height, style);
    um_write_escaped(out, title);
    fputs("</title>\n", out);
}

void um_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

int um_svg_figure_height(const um_figure *f)
{
    return TOP + PLOT + BOTTOM + ENTRY * write_legend(NULL, f);
}

void um_svg_figure(FILE *out, const um_figure *f)
{
    um_axis x, y;

    init_axes(f, &x, &y);
    um_svg_begin(out, UM_SVG_WIDTH, um_svg_figure_height(f), f->title);
    write_axes(out, f, &x, &y);
    for (size_t i = 0; i < f->n; i++)
        write_series(out, f, i, &x, &y);
    write_legend(out, f);
    um_svg_end(out);
}

/* --- pictures in a page --------------------------------------------------- */

enum { SLOT = 10, BAR_GAP = 1, BARS_HEIGHT = 100 };

/* Smallest visible height of a part. */
#define LOWEST 1.5

static double part_height(const um_svg_bars *b, size_t bar, size_t part)
{
    double v = b->value[bar * b->parts + part], h = v / b->top * BARS_HEIGHT;

    return v > 0 && h < LOWEST ? LOWEST : h;
}

static void write_bar_part(FILE *out, const um_svg_bars *b, size_t part)
{
    fprintf(out, "<path class=\"%s\" d=\"", b->class[part]);
    for (size_t i = 0; i < b->n; i++) {
        double y = BARS_HEIGHT, h = part_height(b, i, part);
        size_t x = (b->slots - b->n + i) * SLOT + BAR_GAP;
        for (size_t below = 0; below < part; below++)
            y -= part_height(b, i, below);
        if (h > 0)
            fprintf(out, "M%zu %.1fv-%.1fh%dv%.1fz", x, y, h,
                    SLOT - 2 * BAR_GAP, h);
    }
    fputs("\"/>\n", out);
}

void um_svg_bars_print(FILE *out, const um_svg_bars *b, const char *label)
{
    size_t width = b->slots * SLOT;

    fprintf(out,
            "<svg viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\" "
            "role=\"img\" aria-label=\"",
            width, BARS_HEIGHT);
    um_write_escaped(out, label);
    fprintf(out,
            "\">\n<rect class=\"before\" width=\"%zu\" height=\"%d\"/>\n"
            "<path class=\"grid\" d=\"M0 0H%zuM0 %dH%zuM0 %dH%zu\"/>\n",
            (b->slots - b->n) * SLOT, BARS_HEIGHT, width, BARS_HEIGHT / 2,
            width, BARS_HEIGHT, width);
    for (size_t part = 0; part < b->parts; part++)
        write_bar_part(out, b, part);
    fputs("</svg>\n", out);
}

void um_svg_level(FILE *out, double share)
{
    fprintf(out,
            "<svg class=\"bar\" viewBox=\"0 0 100 6\" "
            "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
            "class=\"track\" width=\"100\" height=\"6\"/><rect "
            "class=\"level\" width=\"%.1f\" height=\"6\"/></svg>",
            share > 1 ? 100 : 100 * share);
}

/*
 * svg.c - charts as SVG, written by hand.
 *
 * Colours come from a style sheet inside the file that follows the reader's
 * light or dark preference. Curves differ in colour and in the shape of their
 * marks, so that a black-and-white print can be read.
 */
#include "papers/frame/publish.h"

#include <math.h>

enum {
    WIDTH = 760,
    HEIGHT = 430,
    LEFT = 76,
    RIGHT = 220, /* the legend's */
    TOP = 44,
    BOTTOM = 56,
    MAX_TICKS = 64,
    CURVE_STYLES = 8
};

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

/* An axis: what it spans, and where that lies on the paper. */
typedef struct axis {
    bool log;
    double low, high; /* in the data, or their logarithms */
    double from, to;  /* in the picture */
    double tick[MAX_TICKS];
    size_t nticks;
} axis;

static double on_axis(const axis *a, double v)
{
    if (a->log)
        v = log10(v);
    return a->from + (v - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* 1, 2 or 5 times a power of ten, at least x. */
static double nice_step(double x)
{
    double unit = pow(10, floor(log10(x)));
    double times = x / unit;

    return unit * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void add_tick(axis *a, double value)
{
    if (a->nticks < MAX_TICKS)
        a->tick[a->nticks++] = value;
}

static void settle_linear(axis *a)
{
    if (a->low > 0 && a->low < 0.6 * a->high)
        a->low = 0;
    if (a->high <= a->low)
        a->high = a->low + 1;
    double step = nice_step((a->high - a->low) / 8);
    long first = (long)floor(a->low / step + 1e-9);
    long last = (long)ceil(a->high / step - 1e-9);
    a->low = (double)first * step;
    a->high = (double)last * step;
    for (long i = first; i <= last; i++)
        add_tick(a, (double)i * step);
}

/* Whole decades, labelled each or every few. */
static void settle_log(axis *a)
{
    a->low = floor(log10(a->low) + 1e-9);
    a->high = ceil(log10(a->high) - 1e-9);
    if (a->high <= a->low)
        a->high = a->low + 1;
    int decades = (int)(a->high - a->low);
    for (int i = 0; i <= decades; i += 1 + decades / 10)
        add_tick(a, pow(10, a->low + i));
}

static bool drawable(const axis *a, double v)
{
    return isfinite(v) && (!a->log || v > 0);
}

static void widen(axis *a, double v)
{
    if (!drawable(a, v))
        return;
    a->low = fmin(a->low, v);
    a->high = fmax(a->high, v);
}

static void settle(axis *a)
{
    if (!(a->low <= a->high)) /* nothing to draw */
        a->low = a->log ? 1 : 0, a->high = 1;
    if (a->log)
        settle_log(a);
    else
        settle_linear(a);
}

static void make_axes(const um_figure *f, axis *x, axis *y)
{
    *x = (axis){.log = f->log_x,
                .low = INFINITY,
                .high = -INFINITY,
                .from = LEFT,
                .to = WIDTH - RIGHT};
    *y = (axis){.log = f->log_y,
                .low = INFINITY,
                .high = -INFINITY,
                .from = HEIGHT - BOTTOM,
                .to = TOP};
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < f->curve[i].n; j++) {
            widen(x, f->curve[i].point[j].x);
            widen(y, f->curve[i].point[j].y);
        }
    settle(x);
    settle(y);
}

static void put_text(FILE *out, double x, double y, const char *attributes,
                     const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    um_put_escaped(out, text);
    fputs("</text>\n", out);
}

static void put_line(FILE *out, const char *class, double x1, double y1,
                     double x2, double y2)
{
    fprintf(out,
            "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
            "y2=\"%.1f\"/>\n",
            class, x1, y1, x2, y2);
}

static void put_axes(FILE *out, const um_figure *f, const axis *x,
                     const axis *y)
{
    char turned[96];

    for (size_t i = 0; i < x->nticks; i++) {
        double at = on_axis(x, x->tick[i]);
        put_line(out, "grid", at, y->from, at, y->to);
        put_text(out, at, y->from + 18, "text-anchor=\"middle\"",
                 um_show(x->tick[i]).text);
    }
    for (size_t i = 0; i < y->nticks; i++) {
        double at = on_axis(y, y->tick[i]);
        put_line(out, "grid", x->from, at, x->to, at);
        put_text(out, x->from - 8, at + 4, "text-anchor=\"end\"",
                 um_show(y->tick[i]).text);
    }
    put_line(out, "axis", x->from, y->from, x->to, y->from);
    put_line(out, "axis", x->from, y->from, x->from, y->to);
    put_text(out, x->from, 24, "class=\"title\"", f->title);
    put_text(out, (x->from + x->to) / 2, HEIGHT - 14, "text-anchor=\"middle\"",
             f->x);
    snprintf(turned, sizeof turned,
             "text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\"",
             (y->from + y->to) / 2);
    put_text(out, 18, (y->from + y->to) / 2, turned, f->y);
}

/* Dots belong to the curve before them. */
static size_t style_of(const um_figure *f, size_t curve)
{
    size_t lines = 0;

    for (size_t i = 0; i <= curve; i++)
        lines += f->curve[i].dots && lines ? 0 : 1;
    return lines - 1;
}

/* Circle, square, triangle, diamond, in turn. */
static void put_mark(FILE *out, size_t curve, double x, double y)
{
    static const char *const shape[] = {
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "m-3.2 -3.2h6.4v6.4h-6.4z", "m0 -4.4l4.2 7.4h-8.4z",
        "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z"};

    fprintf(out, "<path class=\"f%zu\" d=\"M%.1f %.1f%s\"/>\n",
            curve % CURVE_STYLES, x, y, shape[curve % 4]);
}

static void put_error_bar(FILE *out, size_t curve, const axis *x, const axis *y,
                          const um_point *p)
{
    char class[16];
    double low = p->y - p->error, high = p->y + p->error;

    if (!(p->error > 0) || !drawable(y, low))
        return;
    snprintf(class, sizeof class, "e s%zu", curve % CURVE_STYLES);
    double at = on_axis(x, p->x), down = on_axis(y, low), up = on_axis(y, high);
    put_line(out, class, at, down, at, up);
    put_line(out, class, at - 4, down, at + 4, down);
    put_line(out, class, at - 4, up, at + 4, up);
}

static void put_path(FILE *out, const um_curve *c, size_t as, const axis *x,
                     const axis *y)
{
    fprintf(out, "<polyline class=\"c s%zu%s\" points=\"", as % CURVE_STYLES,
            c->faint ? " faint" : "");
    for (size_t j = 0; j < c->n; j++)
        if (drawable(x, c->point[j].x) && drawable(y, c->point[j].y))
            fprintf(out, "%.1f,%.1f ", on_axis(x, c->point[j].x),
                    on_axis(y, c->point[j].y));
    fputs("\"/>\n", out);
}

static void put_curve(FILE *out, const um_figure *f, size_t i, const axis *x,
                      const axis *y)
{
    const um_curve *c = &f->curve[i];
    size_t as = style_of(f, i);
    bool marks = c->dots || (!c->faint && c->n <= 40);

    if (!c->dots)
        put_path(out, c, as, x, y);
    for (size_t j = 0; marks && j < c->n; j++) {
        const um_point *p = &c->point[j];
        if (!drawable(x, p->x) || !drawable(y, p->y))
            continue;
        put_error_bar(out, as, x, y, p);
        put_mark(out, as, on_axis(x, p->x), on_axis(y, p->y));
    }
}

static void put_legend(FILE *out, const um_figure *f)
{
    double x = WIDTH - RIGHT + 16;

    for (size_t i = 0; i < f->n; i++) {
        const um_curve *c = &f->curve[i];
        double y = TOP + 8 + 21 * (double)i;
        size_t as = style_of(f, i);
        char class[24];
        snprintf(class, sizeof class, "c s%zu%s", as % CURVE_STYLES,
                 c->faint ? " faint" : "");
        if (!c->dots)
            put_line(out, class, x, y, x + 26, y);
        if (!c->faint)
            put_mark(out, as, x + 13, y);
        put_text(out, x + 33, y + 4, "", c->name);
    }
}

static void begin_svg(FILE *out, int width, int height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "width=\"%d\" height=\"%d\" role=\"img\">\n%s",
            width, height, width, height, style);
}

void um_svg_figure(FILE *out, const um_figure *f)
{
    axis x, y;

    make_axes(f, &x, &y);
    begin_svg(out, WIDTH, HEIGHT);
    fputs("<title>", out);
    um_put_escaped(out, f->title);
    fputs("</title>\n", out);
    put_axes(out, f, &x, &y);
    for (size_t i = 0; i < f->n; i++)
        put_curve(out, f, i, &x, &y);
    put_legend(out, f);
    fputs("</svg>\n", out);
}

/* Where ours lies in its bar: -1 at low, 1 at high; one-sided by distance. */
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

void um_svg_checks(FILE *out, const um_record *r)
{
    enum { ROW = 20, NAMES = 380, HALF = 120 };
    int height = ROW * (int)r->nchecks + 24;
    double middle = NAMES + HALF + 40;

    begin_svg(out, WIDTH, height);
    fputs("<title>checked values in their bars</title>\n", out);
    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        double y = 16 + ROW * (double)i;
        double at = fmax(-1.25, fmin(1.25, place_in_bar(c)));
        put_text(out, NAMES, y + 4, "text-anchor=\"end\"", c->item);
        fprintf(out,
                "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
                "height=\"10\" rx=\"3\"/>\n",
                middle - HALF, y - 5, 2 * HALF);
        if (!isnan(at))
            fprintf(out,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                    c->pass ? "good" : "off", middle + at * HALF, y);
    }
    fputs("</svg>\n", out);
}

/*
 * status_graph.c - the last hour of a front, drawn as SVG.
 *
 * A bar per minute: hits at the bottom, requests without a hit above them,
 * refused ones on top. The picture is stretched to the width of the page, so
 * its texts are HTML beside it.
 */
#include "clearinghouse/status/graph.h"

#include "base/error.h"
#include "clearinghouse/runtime/format.h"
#include "draw/text.h"

enum { SLOT = 10, GAP = 1, WIDTH = UM_HOUR_MINUTES * SLOT, HEIGHT = 100 };

/* Bars lower than that could not be seen. */
static const double least = 1.5;

/* The smallest of 4, 6, 8, 10, 20, 40, 60 and so on that is not below n. */
static uint64_t round_up(uint64_t n)
{
    static const uint64_t steps[] = {4, 6, 8, 10, 20};

    for (uint64_t ten = 1; ten < UINT64_MAX / 100; ten *= 10)
        for (unsigned i = 0; i < UM_COUNT(steps); i++)
            if (n <= steps[i] * ten)
                return steps[i] * ten;
    return n;
}

static uint64_t highest(const um_totals *minute, size_t n)
{
    uint64_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = minute[i].requests > most ? minute[i].requests : most;
    return most;
}

/* Parts of a bar, from the bottom up. */
enum { HITS, REST, REFUSED, PARTS };
static const char *const part_class[PARTS] = {"hits", "rest", "refused"};

/* Hits and refusals are requests, but counted at other places: one of them may
 * be ahead by a request that is on its way. */
static uint64_t part_of(const um_totals *t, unsigned part)
{
    uint64_t counted = t->hits + t->refused;

    if (part == HITS)
        return t->hits;
    if (part == REFUSED)
        return t->refused;
    return t->requests > counted ? t->requests - counted : 0;
}

static double height_of(const um_totals *t, unsigned part, uint64_t top)
{
    double n = (double)part_of(t, part), h = n / (double)top * HEIGHT;

    return n > 0 && h < least ? least : h;
}

static void write_part(FILE *out, const um_totals *minute, size_t n,
                       unsigned part, uint64_t top)
{
    fprintf(out, "<path class=\"%s\" d=\"", part_class[part]);
    for (size_t i = 0; i < n; i++) {
        double y = HEIGHT, h = height_of(&minute[i], part, top);
        size_t x = (UM_HOUR_MINUTES - n + i) * SLOT + GAP;
        for (unsigned below = 0; below < part; below++)
            y -= height_of(&minute[i], below, top);
        if (h > 0)
            fprintf(out, "M%zu %.1fv-%.1fh%dv%.1fz", x, y, h, SLOT - 2 * GAP,
                    h);
    }
    fputs("\"/>\n", out);
}

/* "4 requests, 1 hit, 0 refused; at most 3 a minute" */
static void write_summary(FILE *out, const um_service_stats *f,
                          const um_totals *minute, size_t n)
{
    um_totals sum = um_service_last_minutes(f, UM_HOUR_MINUTES);

    fprintf(out, "%s request%s, %s hit%s, %s refused; at most %s a minute%s",
            um_format_count(sum.requests).text, sum.requests == 1 ? "" : "s",
            um_format_count(sum.hits).text, sum.hits == 1 ? "" : "s",
            um_format_count(sum.refused).text,
            um_format_count(highest(minute, n)).text,
            n < UM_HOUR_MINUTES ? ", since the start" : "");
}

static void write_picture(FILE *out, const um_service_stats *f,
                          const um_totals *minute, size_t n, uint64_t top)
{
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
            "role=\"img\" aria-label=\"",
            WIDTH, HEIGHT);
    um_write_escaped(out, f->service->name);
    fputs(", last hour: ", out);
    write_summary(out, f, minute, n);
    fprintf(out,
            "\">\n<rect class=\"before\" width=\"%zu\" height=\"%d\"/>\n"
            "<path class=\"grid\" d=\"M0 0H%dM0 %dH%dM0 %dH%d\"/>\n",
            (UM_HOUR_MINUTES - n) * SLOT, HEIGHT, WIDTH, HEIGHT / 2, WIDTH,
            HEIGHT, WIDTH);
    for (unsigned part = 0; part < PARTS; part++)
        write_part(out, minute, n, part, top);
    fputs("</svg>\n", out);
}

void um_status_print_graph(FILE *out, const um_service_stats *f)
{
    um_totals minute[UM_HOUR_MINUTES];
    size_t n = um_service_minutes(f, minute);
    uint64_t top = round_up(highest(minute, n));

    fputs("<figure class=\"graph\">\n<figcaption><h3>", out);
    um_write_escaped(out, f->service->name);
    fputs("</h3><p>", out);
    write_summary(out, f, minute, n);
    fprintf(out,
            "</p></figcaption>\n<div class=\"plot\">\n<div class=\"y\" "
            "aria-hidden=\"true\"><span>%s</span><span>%s</span>"
            "<span>0</span></div>\n",
            um_format_count(top).text, um_format_count(top / 2).text);
    write_picture(out, f, minute, n, top);
    fputs("<div class=\"x\" aria-hidden=\"true\"><span>60 min ago</span>"
          "<span>30</span><span>now</span></div>\n</div>\n</figure>\n",
          out);
}

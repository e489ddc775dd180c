/*
 * document.c - the parts of a page: its head, tables, images.
 */
#include "draw/document.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <umbel/umbel.h>

/* --- text and numbers ----------------------------------------------------- */

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void um_write_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        const char *name = entity(*text);
        if (name)
            fputs(name, out);
        else if (c >= ' ' || c == '\n' || c == '\t')
            putc(c, out);
    }
}

void um_write_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void um_write_csv_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, "%.9g", x);
}

um_shown um_show(double x)
{
    um_shown s = {""};

    if (isnan(x))
        return s;
    bool whole = x == floor(x) && fabs(x) < 1e7;
    snprintf(s.text, sizeof s.text, whole ? "%.0f" : "%.5g", x);
    return s;
}

/* --- pages ---------------------------------------------------------------- */

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "table{border-collapse:collapse;margin:1rem 0;display:block;"
    "overflow-x:auto}\n"
    "th,td{padding:.25rem .7rem;border-bottom:1px solid #8884;"
    "text-align:right}\n"
    "th:first-child,td:first-child,.t{text-align:left}\n"
    "td{white-space:nowrap}\n"
    "td.t{font-size:13px;min-width:14rem;white-space:normal}\n"
    "figcaption{font-size:13px}\n"
    "code{background:#8882;padding:.1rem .25rem;border-radius:4px;"
    "-webkit-box-decoration-break:clone;box-decoration-break:clone}\n"
    ".pass{color:#00845f}.fail{color:#d5341e;font-weight:600}\n"
    "@media (prefers-color-scheme:dark){.pass{color:#3ddba8}"
    ".fail{color:#ff7b66}}\n"
    "img,svg{max-width:100%;height:auto}figure{margin:1rem 0}\n"
    ".story{display:grid;grid-template-columns:minmax(0,3fr) "
    "minmax(0,2fr);gap:0 2rem;align-items:start}\n"
    ".story h2{grid-column:1/-1;margin-bottom:0}"
    ".story h3{margin:1rem 0 .2rem}.story p{margin:.2rem 0 .6rem}"
    ".story code span{white-space:nowrap}\n"
    "@media (max-width:52rem){.story{display:block}}\n"
    "section{border-top:2px solid #8886;margin-top:2.5rem}\n"
    "</style>\n";

void um_html_begin(FILE *out, const char *generator, const char *heading)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta name=\"generator\" content=\"",
          out);
    um_write_escaped(out, generator);
    fputs("\">\n<meta name=\"viewport\" content=\"width=device-width\">\n",
          out);
    um_html_text(out, "title", "", generator);
    fputs(style, out);
    um_html_text(out, "h1", "", heading);
}

void um_html_end(FILE *out)
{
    fprintf(out, "<p><small>umbel %s</small></p>\n</html>\n", umbel_version());
}

static void write_tagged(FILE *out, const char *tag, const char *attributes,
                         const char *text)
{
    fprintf(out, "<%s%s>", tag, attributes);
    um_write_escaped(out, text);
    fprintf(out, "</%s>", tag);
}

void um_html_text(FILE *out, const char *tag, const char *attributes,
                  const char *text)
{
    write_tagged(out, tag, attributes, text);
    putc('\n', out);
}

void um_html_sheet(FILE *out, const um_sheet *s)
{
    if (!s->columns)
        return;
    um_html_text(out, "h3", "", s->title);
    fputs("<table>\n", out);
    for (size_t i = 0; i < s->n; i++) {
        fputs(i % s->columns ? "" : "<tr>", out);
        write_tagged(out, i < s->columns ? "th" : "td", "", s->cell[i].text);
        fputs((i + 1) % s->columns ? "" : "</tr>\n", out);
    }
    fputs("</table>\n", out);
}

void um_html_image(FILE *out, const char *stem, const char *text)
{
    fputs("<figure><a href=\"", out);
    um_write_escaped(out, stem);
    fputs(".svg\"><img src=\"", out);
    um_write_escaped(out, stem);
    fputs(".svg\" alt=\"", out);
    um_write_escaped(out, text);
    fputs("\"></a><figcaption>", out);
    um_write_escaped(out, text);
    fputs(" (<a href=\"", out);
    um_write_escaped(out, stem);
    fputs(".csv\">numbers</a>)</figcaption></figure>\n", out);
}

/* --- comma-separated values ----------------------------------------------- */

static void write_point(FILE *out, const char *series, const um_point *p)
{
    const double number[] = {p->x, p->y, p->error};

    um_write_csv(out, series);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        putc(',', out);
        um_write_csv_number(out, number[i]);
    }
    putc('\n', out);
}

void um_csv_figure(FILE *out, const um_figure *f)
{
    fputs("curve,", out);
    um_write_csv(out, f->x);
    putc(',', out);
    um_write_csv(out, f->y);
    fputs(",standard error\n", out);
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < f->series[i].n; j++)
            write_point(out, f->series[i].name, &f->series[i].point[j]);
}

void um_csv_sheet(FILE *out, const um_sheet *s)
{
    for (size_t i = 0; s->columns && i < s->n; i++) {
        um_write_csv(out, s->cell[i].text);
        putc((i + 1) % s->columns ? ',' : '\n', out);
    }
}

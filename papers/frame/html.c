/*
 * html.c - one page: each study's claim, command, checks, figures and sheets.
 */
#include "papers/frame/publish.h"

#include <inttypes.h>
#include <math.h>

void um_put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else if (c >= ' ' || c == '\n' || c == '\t')
            putc(c, out); /* other control bytes are not XML */
    }
}

void um_html_begin(FILE *out)
{
    /* um_publish_begin looks for the generator. */
    fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta name=\"generator\" content=\"umbel reproduce\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>umbel reproduce</title>\n<style>\n"
          ":root{color-scheme:light dark}\n"
          "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;"
          "margin:2rem auto;padding:0 1rem}\n"
          "table{border-collapse:collapse;margin:1rem 0;display:block;"
          "overflow-x:auto}\n"
          "th,td{padding:.25rem .7rem;border-bottom:1px solid #8884;"
          "text-align:right}\n"
          "th:first-child,td:first-child,td.t{text-align:left}\n"
          "td.t{color:#888;font-size:13px;min-width:14rem}\n"
          "code{background:#8882;padding:.15rem .4rem;border-radius:4px}\n"
          ".pass{color:#00845f}.fail{color:#d5341e;font-weight:600}\n"
          "@media (prefers-color-scheme:dark){.pass{color:#3ddba8}"
          ".fail{color:#ff7b66}}\n"
          "img{max-width:100%;height:auto}figure{margin:1rem 0}\n"
          "section{border-top:2px solid #8886;margin-top:2.5rem}\n"
          "</style>\n<h1>Reproductions</h1>\n",
          out);
}

static void cell(FILE *out, const char *attributes, const char *text)
{
    fprintf(out, "<td%s>", attributes);
    um_put_escaped(out, text);
    fputs("</td>", out);
}

static void put_check(FILE *out, const um_check *c)
{
    char ours[120];

    if (c->error > 0)
        snprintf(ours, sizeof ours, "%s ± %.2g", um_show(c->ours).text,
                 c->error);
    else
        snprintf(ours, sizeof ours, "%s", um_show(c->ours).text);
    fputs("<tr>", out);
    cell(out, "", c->item);
    cell(out, "", isnan(c->paper) ? "–" : um_show(c->paper).text);
    cell(out, "", ours);
    cell(out, "", um_show_bar(c).text);
    cell(out, c->pass ? " class=\"pass\"" : " class=\"fail\"",
         c->pass ? "pass" : "FAIL");
    fputs("<td class=\"t\">", out);
    if (c->fitted)
        fputs("fitted. ", out);
    um_put_escaped(out, c->note);
    fputs("</td></tr>\n", out);
}

static void put_checks(FILE *out, const um_record *r)
{
    fputs("<table>\n<tr><th>value</th><th>paper</th><th>ours ± standard "
          "error</th><th>must be</th><th>verdict</th><th></th></tr>\n",
          out);
    for (size_t i = 0; i < r->nchecks; i++)
        put_check(out, &r->check[i]);
    fputs("</table>\n", out);
}

static void put_sheet(FILE *out, const um_sheet *s)
{
    if (!s->columns)
        return;
    fputs("<h3>", out);
    um_put_escaped(out, s->title);
    fputs("</h3>\n<table>\n", out);
    for (size_t i = 0; i < s->n; i++) {
        const char *tag = i < s->columns ? "th" : "td";
        fprintf(out, "%s<%s>", i % s->columns ? "" : "<tr>", tag);
        um_put_escaped(out, s->cell[i].text);
        fprintf(out, "</%s>%s", tag, (i + 1) % s->columns ? "" : "</tr>\n");
    }
    fputs("</table>\n", out);
}

/* Names of files are names of papers and ids: plain letters. */
static void put_image(FILE *out, const char *paper, const char *id,
                      const char *what)
{
    fprintf(out, "<figure><img src=\"%s-%s.svg\" alt=\"", paper, id);
    um_put_escaped(out, what);
    fprintf(out,
            "\"><figcaption><a href=\"%s-%s.csv\">numbers</a>"
            "</figcaption></figure>\n",
            paper, id);
}

void um_html_study(FILE *out, const um_study *s)
{
    const um_record *r = &s->record;
    size_t failed = um_record_failed(r);

    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n<p>", s->paper->name,
            s->paper->name);
    um_put_escaped(out, s->paper->source);
    fputs("<br>", out);
    um_put_escaped(out, s->paper->claim);
    fputs("</p>\n<p><code>", out);
    um_put_command(out, s);
    fprintf(out,
            "</code></p>\n<p class=\"%s\">%zu of %zu values within their "
            "bars</p>\n",
            failed ? "fail" : "pass", r->nchecks - failed, r->nchecks);
    put_checks(out, r);
    for (size_t i = 0; i < r->nnotes; i++) {
        fputs("<p>", out);
        um_put_escaped(out, r->note[i].text);
        fputs("</p>\n", out);
    }
    for (size_t i = 0; i < r->nfigures; i++)
        put_image(out, s->paper->name, r->figure[i].id, r->figure[i].title);
    for (size_t i = 0; i < r->nsheets; i++)
        put_sheet(out, &r->sheet[i]);
    put_image(out, s->paper->name, "checks", "checked values in their bars");
    fputs("</section>\n", out);
}

void um_html_end(FILE *out)
{
    fprintf(out, "<p><small>umbel %s</small></p>\n</html>\n", umbel_version());
}

/*
 * page.c - a study as a section of the page: claim, command, checks, figures
 * and tables.
 */
#include "draw/html.h"
#include "papers/frame/publish.h"

#include <math.h>

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
    cell(out, c->pass ? " class=\"pass\"" : " class=\"fail\"", um_verdict(c));
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

/* Names of papers and ids are plain letters: they make names of files. */
static void put_image(FILE *out, const char *paper, const char *id,
                      const char *text)
{
    char stem[2 * UM_TEXT_LEN];

    snprintf(stem, sizeof stem, "%s-%s", paper, id);
    um_html_image(out, stem, text);
}

void um_html_study(FILE *out, const um_study *s)
{
    const um_record *r = &s->record;
    um_verdicts v = um_record_verdicts(r);

    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n<p>", s->paper->name,
            s->paper->name);
    um_put_escaped(out, s->paper->source);
    fputs("<br>", out);
    um_put_escaped(out, s->paper->claim);
    fputs("</p>\n<p><code>", out);
    um_put_command(out, s);
    fprintf(out, "</code></p>\n<p class=\"%s\">", v.failed ? "fail" : "pass");
    um_put_verdicts(out, r);
    fputs("</p>\n", out);
    put_checks(out, r);
    for (size_t i = 0; i < r->nnotes; i++)
        um_html_text(out, "p", "", r->note[i].text);
    for (size_t i = 0; i < r->nfigures; i++)
        put_image(out, s->paper->name, r->figure[i].id, r->figure[i].title);
    for (size_t i = 0; i < r->nsheets; i++)
        um_html_sheet(out, &r->sheet[i]);
    put_image(out, s->paper->name, "checks", "checked values in their bars");
    fputs("</section>\n", out);
}

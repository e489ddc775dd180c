/*
 * page.c - writes a study as a section of the page: claim, command, checks,
 * figures and tables.
 */
#include "draw/document.h"
#include "papers/frame/expected.h"
#include "papers/frame/publish.h"
#include "papers/frame/sources.h"

#include <math.h>
#include <string.h>

static void cell(FILE *out, const char *attributes, const char *text)
{
    fprintf(out, "<td%s>", attributes);
    um_write_escaped(out, text);
    fputs("</td>", out);
}

static void write_check(FILE *out, const um_check *c)
{
    char ours[120];

    if (c->error > 0)
        snprintf(ours, sizeof ours, "%s ± %.2g", um_show(c->ours).text,
                 c->error);
    else
        snprintf(ours, sizeof ours, "%s", um_show(c->ours).text);
    fputs("<tr>", out);
    cell(out, " class=\"t\"", c->item);
    cell(out, c->pass ? " class=\"pass\"" : " class=\"fail\"", um_verdict(c));
    cell(out, "", isnan(c->paper) ? "–" : um_show(c->paper).text);
    cell(out, "", ours);
    cell(out, "", um_show_bar(c).text);
    fputs("<td class=\"t\">", out);
    if (c->fitted)
        fputs("fitted. ", out);
    um_write_escaped(out, c->note);
    fputs("</td></tr>\n", out);
}

static void write_checks(FILE *out, const um_record *r)
{
    fputs("<table>\n<tr><th>value</th><th>verdict</th><th>paper</th>"
          "<th>ours ± standard error</th><th>must be</th><th></th></tr>\n",
          out);
    for (size_t i = 0; i < r->nchecks; i++)
        write_check(out, &r->check[i]);
    fputs("</table>\n", out);
}

/* Writes an image. Names of papers and ids are plain letters, because they
 * become file names. */
static void write_image(FILE *out, const char *paper, const char *id,
                        const char *text)
{
    char stem[2 * UM_TEXT_LEN];

    snprintf(stem, sizeof stem, "%s-%s", paper, id);
    um_html_image(out, stem, text);
}

static const char *class_of(um_outcome o)
{
    return o == UM_DOES_NOT_COME_OUT ? "fail" : "pass";
}

/* Writes the main picture of a study: its first figure, or the checks. */
static void write_picture(FILE *out, const um_study *s)
{
    const um_record *r = &s->record;

    if (r->nfigures)
        write_image(out, s->paper->name, r->figure[0].id, r->figure[0].title);
    else
        write_image(out, s->paper->name, "checks",
                    "checked values, each in its interval");
}

/* Writes one paragraph: source, claim, and the meaning of the symbols. */
static void write_claim(FILE *out, const um_study *s)
{
    fputs("<p>", out);
    um_write_escaped(out, s->paper->source);
    fputs(": <b>", out);
    um_write_escaped(out, s->paper->claim);
    fputs("</b>. ", out);
    um_write_escaped(out, um_source_of(s->paper->name)->symbols);
    fputs("</p>\n", out);
}

/* Writes the recorded verdict if this run has a different one. */
static void write_recorded(FILE *out, const um_study *s)
{
    char verdict[UM_TEXT_LEN];

    um_expected_verdict(s->paper->name, verdict);
    if (!*verdict ||
        strcmp(verdict, um_outcome_name(um_record_outcome(&s->record))) == 0)
        return;
    fputs("<p>The recorded verdict is: ", out);
    um_write_escaped(out, verdict);
    fputs(".</p>\n", out);
}

static void write_outcome(FILE *out, const um_study *s)
{
    um_outcome o = um_record_outcome(&s->record);

    fprintf(out, "<p><code>");
    um_write_command(out, s);
    fprintf(out, "</code></p>\n<p class=\"%s\">", class_of(o));
    um_write_verdicts(out, &s->record);
    fputs("</p>\n", out);
    write_recorded(out, s);
}

/* Lists the values that do not come out. */
static void write_misfits(FILE *out, const um_record *r)
{
    if (um_record_outcome(r) != UM_DOES_NOT_COME_OUT)
        return;
    fputs("<h3>What does not come out, and why</h3>\n<ul>\n", out);
    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        if (c->pass)
            continue;
        fputs("<li>", out);
        um_write_escaped(out, c->item);
        fprintf(out, ": ours %s, must be %s. ", um_show(c->ours).text,
                um_show_bar(c).text);
        um_write_escaped(out, c->note);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

void um_html_study(FILE *out, const um_study *s)
{
    const um_record *r = &s->record;

    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", s->paper->name,
            s->paper->name);
    write_picture(out, s);
    write_claim(out, s);
    write_outcome(out, s);
    write_checks(out, r);
    write_misfits(out, r);
    for (size_t i = 0; i < r->nnotes; i++)
        um_html_text(out, "p", "", r->note[i].text);
    for (size_t i = 1; i < r->nfigures; i++)
        write_image(out, s->paper->name, r->figure[i].id, r->figure[i].title);
    for (size_t i = 0; i < r->nsheets; i++)
        um_html_sheet(out, &r->sheet[i]);
    if (r->nfigures)
        write_image(out, s->paper->name, "checks",
                    "checked values, each in its interval");
    fputs("</section>\n", out);
}

void um_html_card(FILE *out, const um_study *s)
{
    um_outcome o = um_record_outcome(&s->record);

    fprintf(out, "<section id=\"%s\">\n<h3><a href=\"%s.html\">%s</a></h3>\n",
            s->paper->name, s->paper->name, s->paper->name);
    write_picture(out, s);
    fputs("<p>", out);
    um_write_escaped(out, s->paper->source);
    fputs(": ", out);
    um_write_escaped(out, s->paper->claim);
    fprintf(out, "</p>\n<p class=\"%s\">", class_of(o));
    fputs(um_outcome_name(o), out);
    fputs("</p>\n<p><code>", out);
    um_write_command(out, s);
    fputs("</code></p>\n</section>\n", out);
}

/* Writes a table of the studies, with their claims and verdicts. */
void um_html_contents(FILE *out, const um_study *s, size_t n)
{
    fputs("<table>\n<tr><th>study</th><th class=\"t\">claim</th>"
          "<th>verdict</th></tr>\n",
          out);
    for (size_t i = 0; i < n; i++) {
        um_outcome o = um_record_outcome(&s[i].record);
        fprintf(out, "<tr><td><a href=\"#%s\">%s</a></td>", s[i].paper->name,
                s[i].paper->name);
        cell(out, " class=\"t\"", s[i].paper->claim);
        fprintf(out, "<td class=\"%s\">%s</td></tr>\n", class_of(o),
                um_outcome_name(o));
    }
    fputs("</table>\n", out);
}

/*
 * status_page.c - the page for people at /.
 *
 * page/page.html is a template: {{name}} is replaced by what a row writes. All
 * figures are written here, also for page.js, which asks for the page again.
 */
#include "clearinghouse/status/status.h"

#include "base/error.h"
#include "clearinghouse/status/figures.h"
#include "clearinghouse/status/graph.h"
#include "clearinghouse/status/page_files.h"
#include "clearinghouse/status/problems.h"
#include "clearinghouse/status/table.h"
#include "draw/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Fronts that count mail; others serve the operator. */
static bool counts_mail(const um_service_stats *f)
{
    return f->service->counts_mail;
}

/* --- the state ------------------------------------------------------------ */

static void write_title(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    fprintf(out, "%s - umbel-clearinghouse",
            um_level_name(um_problems_level(&p)));
}

static um_totals mail_of_hour(const um_status *s)
{
    um_totals sum = {0};

    for (size_t i = 0; i < s->nservices; i++)
        if (counts_mail(s->service[i])) {
            um_totals t =
                um_service_last_minutes(s->service[i], UM_HOUR_MINUTES);
            sum.requests += t.requests;
            sum.hits += t.hits;
            sum.refused += t.refused;
        }
    return sum;
}

static bool is_idle(const um_status *s)
{
    for (size_t i = 0; i < s->nservices; i++)
        if (counts_mail(s->service[i]) && um_service_requests(s->service[i]))
            return false;
    return true;
}

/* Where mail software can ask: for a server that nobody has asked yet. */
static void write_invitation(FILE *out, const um_status *s)
{
    fputs("<p class=\"problem\">Mail software has not asked yet. The server "
          "listens for it on",
          out);
    for (size_t i = 0, n = 0; i < s->naddresses; i++)
        if (s->address[i].service->counts_mail) {
            fputs(n++ ? ", " : " ", out);
            um_write_escaped(out, s->address[i].text);
            fputs(" (", out);
            um_write_escaped(out, s->address[i].service->name);
            putc(')', out);
        }
    fputs(".</p>\n", out);
}

static void write_problem(FILE *out, const um_problem *p, bool first)
{
    fprintf(out, "<p class=\"%s\">", first ? "verdict" : "problem");
    um_write_escaped(out, p->what);
    fputs("</p>\n<p class=\"advice\">", out);
    um_write_escaped(out, p->advice);
    fputs("</p>\n", out);
}

/* A shape for each level, so that colour alone says nothing. */
static const char *const signs[] = {
    [UM_WELL] = "<circle cx=\"16\" cy=\"16\" r=\"14\"/>"
                "<path d=\"M9 16.5l5 5 9-10\"/>",
    [UM_WARNING] =
        "<path d=\"M16 3L30 28H2Z\"/><path d=\"M16 12v8M16 24v.1\"/>",
    [UM_FAILED] = "<path d=\"M10 2h12l8 8v12l-8 8H10l-8-8V10z\"/>"
                  "<path d=\"M11 11l10 10M21 11L11 21\"/>"};

static void write_state(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    um_level level = um_problems_level(&p);
    fprintf(out,
            "<div id=\"state\" class=\"state %s\" role=\"status\">\n"
            "<svg class=\"sign\" viewBox=\"0 0 32 32\" aria-hidden=\"true\" "
            "fill=\"none\" stroke=\"currentColor\" stroke-width=\"3\" "
            "stroke-linecap=\"round\" stroke-linejoin=\"round\">%s</svg>\n"
            "<div>\n",
            um_level_name(level), signs[level]);
    if (level == UM_WELL)
        fputs("<p class=\"verdict\">All is well. Reports are stored, look-ups "
              "are answered.</p>\n",
              out);
    for (size_t i = 0; i < p.n; i++)
        write_problem(out, &p.item[i], i == 0);
    if (is_idle(s))
        write_invitation(out, s);
    fputs("</div>\n</div>", out);
}

static void write_uptime(FILE *out, const um_status *s)
{
    fprintf(out, "Running for %s.", um_format_duration(s->uptime).text);
}

/* --- fronts --------------------------------------------------------------- */

static void write_tile(FILE *out, const char *name, uint64_t n)
{
    fprintf(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", name,
            um_format_count(n).text);
}

static void write_tiles(FILE *out, const um_status *s)
{
    um_totals sum = mail_of_hour(s);

    fputs("<dl class=\"tiles\">\n", out);
    write_tile(out, "requests", sum.requests);
    write_tile(out, "hits", sum.hits);
    write_tile(out, "refused", sum.refused);
    fputs("</dl>", out);
}

static void write_graphs(FILE *out, const um_status *s)
{
    for (size_t i = 0; i < s->nservices; i++)
        if (counts_mail(s->service[i]))
            um_status_print_graph(out, s->service[i]);
}

static void write_addresses(FILE *out, const um_status *s, const um_service *f)
{
    for (size_t i = 0; i < s->naddresses; i++)
        if (s->address[i].service == f) {
            fputs("<small>", out);
            um_write_escaped(out, s->address[i].text);
            fputs("</small>", out);
        }
}

static void write_protocols(FILE *out, const um_status *s)
{
    static const char *const heads[] = {"front", "requests", "hits", "refused",
                                        NULL};

    um_page_begin_table(out, "split", heads);
    for (size_t i = 0; i < s->nservices; i++) {
        const um_service_stats *f = s->service[i];
        um_page_begin_row(out);
        um_page_begin_cell(out);
        um_write_escaped(out, f->service->name);
        write_addresses(out, s, f->service);
        fputs("</td>", out);
        um_page_append_cell(out, um_format_count(um_service_requests(f)).text);
        um_page_append_cell(out, counts_mail(f) ? um_format_count(f->hits).text
                                                : "-");
        um_page_append_cell(out, um_format_count(um_service_refused(f)).text);
        um_page_end_row(out);
    }
    um_page_end_table(out);
}

static void write_refusal(FILE *out, const um_service *f, const um_verdict *v,
                          uint64_t n)
{
    um_page_begin_row(out);
    um_page_begin_cell(out);
    um_write_escaped(out, v->reason);
    fputs("<small>", out);
    um_write_escaped(out, f->name);
    fputs(": ", out);
    um_write_escaped(out, v->diag);
    fputs("</small></td>", out);
    um_page_append_cell(out, um_format_count(n).text);
    um_page_end_row(out);
}

static void write_refusals(FILE *out, const um_status *s)
{
    static const char *const heads[] = {"reason", "requests", NULL};
    uint64_t all = 0;

    for (size_t i = 0; i < s->nservices; i++)
        all += um_service_refused(s->service[i]);
    if (!all) {
        fputs("<p class=\"soft\">Nothing.</p>", out);
        return;
    }
    um_page_begin_table(out, "wide-first", heads);
    for (size_t i = 0; i < s->nservices; i++)
        for (unsigned v = 0; v < um_service_verdicts(s->service[i]->service);
             v++) {
            const um_service *f = s->service[i]->service;
            uint64_t n = um_service_with_verdict(s->service[i], v);
            if (f->verdicts[v].reason && n)
                write_refusal(out, f, &f->verdicts[v], n);
        }
    um_page_end_table(out);
}

/* --- figures -------------------------------------------------------------- */

static void write_figure(FILE *out, const um_figure_row *r, um_figure_value v)
{
    fputs("<dt title=\"", out);
    um_write_escaped(out, r->help ? r->help : "");
    fprintf(out, "\">%s</dt><dd>", r->label);
    if (r->unit == UM_UNIT_SHARE)
        fprintf(out,
                "<svg class=\"bar\" viewBox=\"0 0 100 6\" "
                "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                "class=\"track\" width=\"100\" height=\"6\"/><rect "
                "class=\"level\" width=\"%.1f\" height=\"6\"/></svg>",
                v.number > 1 ? 100 : 100 * v.number);
    um_write_escaped(out, um_figure_words(r, v).text);
    fputs("</dd>\n", out);
}

/* Figures that a list does not have are left out. */
static void write_list(FILE *out, const um_status *s, size_t i)
{
    static const um_figure_row agreement = {
        .label = "agreement",
        .unit = UM_UNIT_TEXT,
        .help = "The same word on two servers: the same answers."};
    const um_list_stats *l = &s->list[i];

    fputs("<div class=\"list\">\n<h3>", out);
    um_write_escaped(out, l->name);
    fputs("</h3>\n<dl class=\"figures\">\n", out);
    for (const um_list_figure *f = um_list_figures; f->row.name; f++) {
        um_figure_value v = f->value(l, s->now);
        if (f->row.label && !isnan(v.number))
            write_figure(out, &f->row, v);
    }
    if (s->peers) {
        um_formatted word = um_status_agreement(s, i);
        write_figure(out, &agreement, (um_figure_value){.text = word.text});
    }
    fputs("</dl>\n</div>\n", out);
}

static void write_lists(FILE *out, const um_status *s)
{
    fputs("<div class=\"lists\">\n", out);
    for (size_t i = 0; i < s->nlists; i++)
        write_list(out, s, i);
    fputs("</div>", out);
}

static void write_sections(FILE *out, const um_status *s)
{
    for (size_t i = 0; um_server_figures[i].section; i++) {
        const um_server_figure *f = &um_server_figures[i];
        if (um_figure_begins_section(i))
            fprintf(out,
                    "%s<section>\n<h2 class=\"section-title\">%s</h2>\n"
                    "<dl class=\"figures\">\n",
                    i ? "</dl>\n</section>\n" : "", f->section);
        if (f->row.label)
            write_figure(out, &f->row, f->value(s));
    }
    fputs("</dl>\n</section>", out);
}

/* --- reporters ------------------------------------------------------------ */

static void write_busy_reporter(FILE *out, const um_top_reporter *r)
{
    um_page_begin_row(out);
    um_page_begin_cell(out);
    um_write_escaped(out, r->name);
    fputs("<small>", out);
    um_write_escaped(out, r->key.service->name);
    fprintf(out, ", %s</small></td>", r->key.account ? "account" : "network");
    um_page_begin_cell(out);
    fprintf(out, "%s%s</td>", r->surplus ? "&le; " : "",
            um_format_count(r->reports).text);
    um_page_begin_cell(out);
    fprintf(out, "%s ago</td>", um_format_about(r->last).text);
    um_page_end_row(out);
}

static void write_busiest(FILE *out, const um_status *s)
{
    static const char *const heads[] = {"reporter", "digests", "last report",
                                        NULL};
    bool inexact = false;

    if (!s->ntop) {
        fputs("<p class=\"soft\">No reports.</p>", out);
        return;
    }
    um_page_begin_table(out, "split busiest", heads);
    for (size_t i = 0; i < s->ntop; i++) {
        write_busy_reporter(out, &s->top[i]);
        inexact |= s->top[i].surplus > 0;
    }
    um_page_end_table(out);
    if (inexact)
        fprintf(out,
                "<p class=\"soft note\">Approximate: %d reporters are counted "
                "at a time. &le; marks counts that include others'.</p>",
                UM_TOP_COUNTED);
}

/* --- the template --------------------------------------------------------- */

static void write_version(FILE *out, const um_status *s)
{
    (void)s;
    fputs(umbel_version(), out);
}

static const struct {
    const char *name;
    void (*put)(FILE *out, const um_status *s);
} parts[] = {
    {"{{version}}", write_version},   {"{{title}}", write_title},
    {"{{state}}", write_state},       {"{{uptime}}", write_uptime},
    {"{{tiles}}", write_tiles},       {"{{graphs}}", write_graphs},
    {"{{fronts}}", write_protocols},  {"{{refusals}}", write_refusals},
    {"{{lists}}", write_lists},       {"{{busiest}}", write_busiest},
    {"{{sections}}", write_sections}, {"{{peers}}", um_page_append_peers},
};

/* Writes the part that text begins with, and returns the length of its name; 0
 * if it is none. */
static size_t write_part(FILE *out, const char *text, const um_status *s)
{
    for (size_t i = 0; i < UM_COUNT(parts); i++) {
        size_t len = strlen(parts[i].name);
        if (strncmp(text, parts[i].name, len) == 0) {
            parts[i].put(out, s);
            return len;
        }
    }
    return 0;
}

void um_status_print_page(FILE *out, const um_status *s)
{
    for (const char *at = um_page_html; *at;) {
        size_t len = *at == '{' ? write_part(out, at, s) : 0;
        if (!len)
            putc(*at, out);
        at += len ? len : 1;
    }
}

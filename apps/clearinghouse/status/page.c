/*
 * page.c - the page for people at /.
 *
 * page/page.html is a template: {{name}} is replaced by what a row writes. All
 * figures are written here, also for page.js, which fetches the page again.
 */
#include "clearinghouse/status/internal.h"

#include "base/error.h"
#include "clearinghouse/runtime/format.h"
#include "draw/document.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- tables --------------------------------------------------------------- */

static void begin_cell(FILE *out)
{
    fputs("<td role=\"cell\">", out);
}

static void write_cell(FILE *out, const char *text)
{
    begin_cell(out);
    um_write_escaped(out, text);
    fputs("</td>", out);
}

/* Begins a table. Sets roles, because screen readers do not recognise a table
 * whose rows are grids. */
static void begin_table(FILE *out, const char *class, const char *const *heads)
{
    fprintf(out,
            "<table class=\"%s\" role=\"table\"><thead role=\"rowgroup\">"
            "<tr role=\"row\">",
            class);
    for (; *heads; heads++) {
        fputs("<th role=\"columnheader\" scope=\"col\">", out);
        um_write_escaped(out, *heads);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody role=\"rowgroup\">\n", out);
}

static void begin_row(FILE *out)
{
    fputs("<tr role=\"row\">", out);
}

static void end_row(FILE *out)
{
    fputs("</tr>\n", out);
}

static void end_table(FILE *out)
{
    fputs("</tbody></table>\n", out);
}

/* Returns true for protocols that count mail; others serve the operator. */
static bool counts_mail(const um_service_stats *f)
{
    return f->service->counts_mail;
}

/* --- the state ------------------------------------------------------------ */

static void write_title(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    fprintf(out, "%s - ", um_level_name(um_problems_level(&p)));
    um_write_escaped(out, s->host);
    fputs(" - umbel-clearinghouse", out);
}

static void write_host(FILE *out, const um_status *s)
{
    um_write_escaped(out, s->host);
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

/* Lists where mail software can connect, for a server without requests. */
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

static void write_problem(FILE *out, const um_status_problem *p, bool first)
{
    fprintf(out, "<p class=\"%s\">", first ? "verdict" : "problem");
    um_write_escaped(out, p->what);
    fputs("</p>\n<p class=\"advice\">", out);
    um_write_escaped(out, p->advice);
    fputs("</p>\n", out);
}

/* A shape for each level, so that it does not depend on colour. */
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

/* --- graphs of the last hour ---------------------------------------------- */

/* Returns the smallest of 4, 6, 8, 10, 20, 40, 60 and so on that is at least n.
 */
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

/* Returns one part of a bar. Hits and refusals are requests, but they are
 * counted elsewhere: one of them may be ahead by a request that is running. */
static uint64_t part_of(const um_totals *t, unsigned part)
{
    uint64_t counted = t->hits + t->refused;

    if (part == HITS)
        return t->hits;
    if (part == REFUSED)
        return t->refused;
    return t->requests > counted ? t->requests - counted : 0;
}

/* Prints "4 requests, 1 hit, 0 refused; at most 3 a minute". */
static void print_summary(char *out, size_t cap, const um_service_stats *f,
                          const um_totals *minute, size_t n)
{
    um_totals sum = um_service_last_minutes(f, UM_HOUR_MINUTES);

    snprintf(out, cap,
             "%s request%s, %s hit%s, %s refused; at most %s a minute%s",
             um_format_count(sum.requests).text, sum.requests == 1 ? "" : "s",
             um_format_count(sum.hits).text, sum.hits == 1 ? "" : "s",
             um_format_count(sum.refused).text,
             um_format_count(highest(minute, n)).text,
             n < UM_HOUR_MINUTES ? ", since the start" : "");
}

void um_status_print_graph(FILE *out, const um_service_stats *f)
{
    um_totals minute[UM_HOUR_MINUTES];
    double value[UM_HOUR_MINUTES * PARTS];
    size_t n = um_service_minutes(f, minute);
    uint64_t top = round_up(highest(minute, n));
    char summary[512], label[sizeof summary + 64];

    for (size_t i = 0; i < n * PARTS; i++)
        value[i] = (double)part_of(&minute[i / PARTS], (unsigned)(i % PARTS));
    print_summary(summary, sizeof summary, f, minute, n);
    snprintf(label, sizeof label, "%.40s, last hour: %s", f->service->name,
             summary);
    fputs("<figure class=\"graph\">\n<figcaption><h3>", out);
    um_write_escaped(out, f->service->name);
    fprintf(out,
            "</h3><p>%s</p></figcaption>\n<div class=\"plot\">\n"
            "<div class=\"y\" aria-hidden=\"true\"><span>%s</span>"
            "<span>%s</span><span>0</span></div>\n",
            summary, um_format_count(top).text, um_format_count(top / 2).text);
    um_svg_bars_print(out,
                      &(um_svg_bars){.slots = UM_HOUR_MINUTES,
                                     .n = n,
                                     .parts = PARTS,
                                     .class = part_class,
                                     .value = value,
                                     .top = (double)top},
                      label);
    fputs("<div class=\"x\" aria-hidden=\"true\"><span>60 min ago</span>"
          "<span>30</span><span>now</span></div>\n</div>\n</figure>\n",
          out);
}

/* --- protocols ------------------------------------------------------------ */

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
    static const char *const heads[] = {"protocol", "requests", "hits",
                                        "refused", NULL};

    begin_table(out, "split", heads);
    for (size_t i = 0; i < s->nservices; i++) {
        const um_service_stats *f = s->service[i];
        begin_row(out);
        begin_cell(out);
        um_write_escaped(out, f->service->name);
        write_addresses(out, s, f->service);
        fputs("</td>", out);
        write_cell(out, um_format_count(um_service_requests(f)).text);
        write_cell(out, counts_mail(f) ? um_format_count(f->hits).text : "-");
        write_cell(out, um_format_count(um_service_refused(f)).text);
        end_row(out);
    }
    end_table(out);
}

static void write_refusal(FILE *out, const um_service *f, const um_verdict *v,
                          uint64_t n)
{
    begin_row(out);
    begin_cell(out);
    um_write_escaped(out, v->reason);
    fputs("<small>", out);
    um_write_escaped(out, f->name);
    fputs(": ", out);
    um_write_escaped(out, v->diag);
    fputs("</small></td>", out);
    write_cell(out, um_format_count(n).text);
    end_row(out);
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
    begin_table(out, "wide-first", heads);
    for (size_t i = 0; i < s->nservices; i++)
        for (unsigned v = 0; v < um_service_verdicts(s->service[i]->service);
             v++) {
            const um_service *f = s->service[i]->service;
            uint64_t n = um_service_with_verdict(s->service[i], v);
            if (f->verdicts[v].reason && n)
                write_refusal(out, f, &f->verdicts[v], n);
        }
    end_table(out);
}

/* --- figures -------------------------------------------------------------- */

static void write_figure(FILE *out, const um_figure_row *r, um_figure_value v)
{
    fputs("<dt title=\"", out);
    um_write_escaped(out, r->help ? r->help : "");
    fprintf(out, "\">%s</dt><dd>", r->label);
    if (r->unit == UM_UNIT_SHARE)
        um_svg_level(out, v.number);
    um_write_escaped(out, um_figure_format(r, v).text);
    fputs("</dd>\n", out);
}

/* Writes the figures of a list, without those that it does not have. */
static void write_list(FILE *out, const um_status *s, size_t i)
{
    static const um_figure_row agreement = {
        .label = "agreement",
        .unit = UM_UNIT_TEXT,
        .help = "Two servers with the same hash give the same answers."};
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

static void write_top_reporter(FILE *out, const um_top_reporter *r)
{
    begin_row(out);
    begin_cell(out);
    um_write_escaped(out, r->name);
    fputs("<small>", out);
    um_write_escaped(out, r->key.service->name);
    fprintf(out, ", %s</small></td>", r->key.account ? "account" : "network");
    begin_cell(out);
    fprintf(out, "%s%s</td>", r->surplus ? "&le; " : "",
            um_format_count(r->reports).text);
    begin_cell(out);
    fprintf(out, "%s ago</td>", um_format_about(r->last).text);
    end_row(out);
}

static void write_top_reporters(FILE *out, const um_status *s)
{
    static const char *const heads[] = {"reporter", "digests", "last report",
                                        NULL};
    bool inexact = false;

    if (!s->ntop) {
        fputs("<p class=\"soft\">No reports.</p>", out);
        return;
    }
    begin_table(out, "split top-reporters", heads);
    for (size_t i = 0; i < s->ntop; i++) {
        write_top_reporter(out, &s->top[i]);
        inexact |= s->top[i].surplus > 0;
    }
    end_table(out);
    if (inexact)
        fprintf(out,
                "<p class=\"soft note\">Approximate: %d reporters are counted "
                "at a time. &le; marks counts that include others'.</p>",
                UM_TOP_COUNTED);
}

/* --- peers ---------------------------------------------------------------- */

/* Writes a line below the first one of a cell. */
static void write_small(FILE *out, const char *before, const char *text)
{
    fprintf(out, "<small>%s", before);
    um_write_escaped(out, text);
    fputs("</small>", out);
}

static void write_peer_who(FILE *out, const um_origin *o)
{
    char key[20];

    snprintf(key, sizeof key, "%.12s", o->key);
    begin_cell(out);
    um_write_escaped(out, o->name ? o->name : o->own ? "this server" : key);
    if (o->name || o->own)
        write_small(out, "", key);
    if (o->address)
        write_small(out, "", o->address);
    if (o->error[0])
        write_small(out, "", o->error);
    fputs("</td>", out);
}

static void write_peer_state(FILE *out, const um_status *s, const um_origin *o)
{
    begin_cell(out);
    um_write_escaped(out, o->state);
    if (o->since)
        write_small(
            out, "for ",
            um_format_about(s->now > o->since ? s->now - o->since : 0).text);
    if (o->held)
        write_small(out, "", "held at its capacity");
    fputs("</td>", out);
}

/* Writes "-" for an origin that is not a peer: only peers have a link. */
static void write_peer_of_link(FILE *out, const um_origin *o,
                               um_formatted words)
{
    write_cell(out, o->name ? words.text : "-");
}

static void write_peer_refused(FILE *out, const um_origin *o)
{
    if (!o->name) {
        write_cell(out, "-");
        return;
    }
    begin_cell(out);
    fputs(um_format_count(um_origin_refusals(o)).text, out);
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i])
            write_small(out, "", umbel_sync_reason_name((umbel_sync_reason)i));
    fputs("</td>", out);
}

static void write_origin(FILE *out, const um_status *s, const um_origin *o)
{
    begin_row(out);
    write_peer_who(out, o);
    write_peer_state(out, s, o);
    begin_cell(out);
    fputs(um_format_count(o->digests).text, out);
    write_small(out, "version ", um_format_count(o->version).text);
    fputs("</td>", out);
    write_cell(out, um_format_unit(UM_UNIT_SHARE, o->fill).text);
    write_peer_of_link(out, o, um_format_unit(UM_UNIT_SECONDS, o->lag));
    write_peer_of_link(out, o, um_format_bytes(o->bytes_in));
    write_peer_of_link(out, o, um_format_bytes(o->bytes_out));
    write_peer_refused(out, o);
    end_row(out);
}

static void write_peers(FILE *out, const um_status *s)
{
    static const char *const heads[] = {"peer", "state",   "digests",
                                        "full", "lag",     "in",
                                        "out",  "refused", NULL};

    if (!s->peers)
        return;
    fputs("<section aria-labelledby=\"peers-title\">\n"
          "<h2 id=\"peers-title\">Peers</h2>\n",
          out);
    begin_table(out, "peers", heads);
    for (size_t i = 0; i < s->peers->n; i++)
        write_origin(out, s, &s->peers->item[i]);
    end_table(out);
    fputs("<p class=\"soft note\">Lag: the age of the oldest report that the "
          "peer lacks. Two servers whose lists have the same agreement hash "
          "give the same answers.</p>\n</section>\n",
          out);
}

/* --- the template --------------------------------------------------------- */

static void write_version(FILE *out, const um_status *s)
{
    (void)s;
    fputs(umbel_version(), out);
}

static const struct {
    const char *name;
    void (*write)(FILE *out, const um_status *s);
} parts[] = {
    {"{{version}}", write_version},
    {"{{title}}", write_title},
    {"{{host}}", write_host},
    {"{{state}}", write_state},
    {"{{uptime}}", write_uptime},
    {"{{tiles}}", write_tiles},
    {"{{graphs}}", write_graphs},
    {"{{protocols}}", write_protocols},
    {"{{refusals}}", write_refusals},
    {"{{lists}}", write_lists},
    {"{{top_reporters}}", write_top_reporters},
    {"{{sections}}", write_sections},
    {"{{peers}}", write_peers},
};

/* Writes the part that text begins with, and returns the length of its name; 0
 * if it begins with no part. */
static size_t write_part(FILE *out, const char *text, const um_status *s)
{
    for (size_t i = 0; i < UM_COUNT(parts); i++) {
        size_t len = strlen(parts[i].name);
        if (strncmp(text, parts[i].name, len) == 0) {
            parts[i].write(out, s);
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

/*
 * status_json.c - /status.json and /health.
 */
#include "base/json.h"
#include "clearinghouse/status/status.h"

#include "clearinghouse/status/figures.h"
#include "clearinghouse/status/problems.h"
#include "cli/framework/report.h"

#include <inttypes.h>
#include <string.h>

/* Prints a name on a line of its own. */
static void write_entry(FILE *out, size_t i, const char *name)
{
    fputs(i ? ",\n    " : "\n    ", out);
    um_json_name(out, 0, name);
}

/* --- problems ------------------------------------------------------------- */

static void write_problems(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    fprintf(out, "  \"state\": \"%s\",\n  \"problems\": [",
            um_level_name(um_problems_level(&p)));
    for (size_t i = 0; i < p.n; i++) {
        fputs(i ? ", {" : "{", out);
        um_json_name(out, 0, "what");
        um_json_text(out, p.item[i].what);
        um_json_name(out, 1, "advice");
        um_json_text(out, p.item[i].advice);
        putc('}', out);
    }
    fputs("],\n", out);
}

/* --- fronts --------------------------------------------------------------- */

static void write_reasons(FILE *out, const um_service_stats *f)
{
    size_t n = 0;

    fputs(", \"reasons\": {", out);
    for (unsigned v = 0; v < um_service_verdicts(f->service); v++)
        if (f->service->verdicts[v].reason && um_service_with_verdict(f, v)) {
            um_json_name(out, n++, f->service->verdicts[v].reason);
            fprintf(out, "%" PRIu64, um_service_with_verdict(f, v));
        }
    putc('}', out);
}

/* The minutes of one of the totals. */
static void write_series(FILE *out, const char *name, const um_totals *minute,
                         size_t n, uint64_t (*of)(const um_totals *t))
{
    um_json_name(out, 1, name);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%" PRIu64, i ? "," : "[", of(&minute[i]));
    putc(']', out);
}

static uint64_t requests_of(const um_totals *t)
{
    return t->requests;
}

static uint64_t hits_of(const um_totals *t)
{
    return t->hits;
}

static uint64_t refused_of(const um_totals *t)
{
    return t->refused;
}

static void write_hour(FILE *out, const um_service_stats *f)
{
    um_totals minute[UM_HOUR_MINUTES];
    size_t n = um_service_minutes(f, minute);

    fputs(",\n      \"hour\": {\"seconds\": 60", out);
    write_series(out, "requests", minute, n, requests_of);
    write_series(out, "hits", minute, n, hits_of);
    write_series(out, "refused", minute, n, refused_of);
    putc('}', out);
}

static void write_protocol(FILE *out, const um_service_stats *f)
{
    fprintf(out,
            "{\"requests\": %" PRIu64 ", \"hits\": %" PRIu64
            ", \"refused\": %" PRIu64,
            um_service_requests(f), f->hits, um_service_refused(f));
    write_reasons(out, f);
    write_hour(out, f);
    putc('}', out);
}

/* --- figures -------------------------------------------------------------- */

static void write_list(FILE *out, const um_status *s, size_t list)
{
    putc('{', out);
    for (size_t i = 0; um_list_figures[i].row.name; i++) {
        um_json_name(out, i, um_list_figures[i].row.name);
        um_figure_print_json(out, &um_list_figures[i].row,
                             um_list_figures[i].value(&s->list[list], s->now));
    }
    um_json_name(out, 1, "agreement");
    if (s->peers)
        um_json_text(out, um_status_agreement(s, list).text);
    else
        fputs("null", out);
    putc('}', out);
}

static void write_sections(FILE *out, const um_status *s)
{
    for (size_t i = 0; um_server_figures[i].section; i++) {
        const um_server_figure *f = &um_server_figures[i];
        bool first = um_figure_begins_section(i);
        if (first)
            fprintf(out, "%s  \"%s\": {", i ? "},\n" : "", f->section);
        um_json_name(out, !first, f->row.name);
        um_figure_print_json(out, &f->row, f->value(s));
    }
    fputs("},\n", out);
}

/* --- reporters ------------------------------------------------------------ */

static void write_busiest(FILE *out, const um_status *s)
{
    fputs("  \"busiest\": [", out);
    for (size_t i = 0; i < s->ntop; i++) {
        const um_top_reporter *r = &s->top[i];
        fputs(i ? ",\n    {" : "\n    {", out);
        um_json_name(out, 0, r->key.account ? "account" : "network");
        um_json_text(out, r->name);
        um_json_name(out, 1, "front");
        um_json_text(out, r->key.service->name);
        fprintf(out,
                ", \"reports\": %" PRIu64 ", \"surplus\": %" PRIu64
                ", \"ago\": %" PRIu64 "}",
                r->reports, r->surplus, r->last);
    }
    fputs("],\n", out);
}

static void write_peers(FILE *out, const um_status *s)
{
    fputs("  \"peers\": ", out);
    if (s->peers)
        um_origins_print_json(out, s->peers, s->now);
    else
        fputs("[]", out);
    fputs(",\n", out);
}

void um_status_print_json(FILE *out, const um_status *s)
{
    fprintf(out, "{\n  \"uptime\": %" PRIu64 ",\n", s->uptime);
    write_problems(out, s);
    fputs("  \"fronts\": {", out);
    for (size_t i = 0; i < s->nservices; i++) {
        write_entry(out, i, s->service[i]->service->name);
        write_protocol(out, s->service[i]);
    }
    fputs("\n  },\n  \"lists\": {", out);
    for (size_t i = 0; i < s->nlists; i++) {
        write_entry(out, i, s->list[i].name);
        write_list(out, s, i);
    }
    fputs("\n  },\n", out);
    write_sections(out, s);
    write_busiest(out, s);
    write_peers(out, s);
    fputs("  ", out);
    um_json_name(out, 0, "version");
    um_json_text(out, umbel_version());
    fputs("\n}\n", out);
}

/* --- health --------------------------------------------------------------- */

unsigned um_status_health(const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    return um_problems_level(&p) == UM_FAILED ? 503 : 200;
}

void um_status_print_health(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    if (p.n == 0)
        fputs("ok\n", out);
    for (size_t i = 0; i < p.n; i++)
        fprintf(out, "%s: %s\n", um_level_name(p.item[i].level),
                p.item[i].what);
}

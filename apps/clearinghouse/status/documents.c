/*
 * documents.c - the status as documents for programs and terminals:
 * /status.json, /health, /metrics in the text format of Prometheus, and the
 * text of umbel clearinghouse status.
 */
#include "clearinghouse/status/internal.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/framework/report.h"
#include "net/server/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- JSON, and /health ---------------------------------------------------- */

/* Writes a name on its own line. */
static void write_json_entry(FILE *out, size_t i, const char *name)
{
    fputs(i ? ",\n    " : "\n    ", out);
    um_json_name(out, 0, name);
}

static void write_json_problems(FILE *out, const um_status *s)
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

static void write_json_reasons(FILE *out, const um_service_stats *f)
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

/* Writes one of the totals for each minute. */
static void write_json_series(FILE *out, const char *name,
                              const um_totals *minute, size_t n,
                              uint64_t (*of)(const um_totals *t))
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

static void write_json_hour(FILE *out, const um_service_stats *f)
{
    um_totals minute[UM_HOUR_MINUTES];
    size_t n = um_service_minutes(f, minute);

    fputs(",\n      \"hour\": {\"seconds\": 60", out);
    write_json_series(out, "requests", minute, n, requests_of);
    write_json_series(out, "hits", minute, n, hits_of);
    write_json_series(out, "refused", minute, n, refused_of);
    putc('}', out);
}

static void write_json_protocol(FILE *out, const um_service_stats *f)
{
    fprintf(out,
            "{\"requests\": %" PRIu64 ", \"hits\": %" PRIu64
            ", \"refused\": %" PRIu64,
            um_service_requests(f), f->hits, um_service_refused(f));
    write_json_reasons(out, f);
    write_json_hour(out, f);
    putc('}', out);
}

static void write_json_list(FILE *out, const um_status *s, size_t list)
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

static void write_json_sections(FILE *out, const um_status *s)
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

static void write_json_top_reporters(FILE *out, const um_status *s)
{
    fputs("  \"top_reporters\": [", out);
    for (size_t i = 0; i < s->ntop; i++) {
        const um_top_reporter *r = &s->top[i];
        fputs(i ? ",\n    {" : "\n    {", out);
        um_json_name(out, 0, r->key.account ? "account" : "network");
        um_json_text(out, r->name);
        um_json_name(out, 1, "protocol");
        um_json_text(out, r->key.service->name);
        fprintf(out,
                ", \"reports\": %" PRIu64 ", \"surplus\": %" PRIu64
                ", \"ago\": %" PRIu64 "}",
                r->reports, r->surplus, r->last);
    }
    fputs("],\n", out);
}

static void write_json_peers(FILE *out, const um_status *s)
{
    fputs("  \"peers\": ", out);
    if (s->peers)
        um_origins_print_json(out, s->peers, s->now);
    else
        fputs("[]", out);
    fputs(",\n", out);
}

/* Writes the figures of all lists together: sums, and the fullest one. */
static void write_json_fullness(FILE *out, const um_status *s)
{
    uint64_t early = 0, anonymous = 0;
    double fill = 0;

    for (size_t i = 0; i < s->nlists; i++) {
        early += s->list[i].ended_early;
        anonymous += s->list[i].anonymous;
        fill = s->list[i].fill > fill ? s->list[i].fill : fill;
    }
    fprintf(out,
            "  \"epochs_ended_early\": %" PRIu64
            ",\n  \"anonymous_new\": %" PRIu64 ",\n  \"list_fill\": %.6g,\n",
            early, anonymous, fill);
}

void um_status_print_json(FILE *out, const um_status *s)
{
    fputs("{\n  ", out);
    um_json_field(out, 0, "host", s->host);
    fprintf(out, ",\n  \"uptime\": %" PRIu64 ",\n", s->uptime);
    write_json_problems(out, s);
    write_json_fullness(out, s);
    fputs("  \"protocols\": {", out);
    for (size_t i = 0; i < s->nservices; i++) {
        write_json_entry(out, i, s->service[i]->service->name);
        write_json_protocol(out, s->service[i]);
    }
    fputs("\n  },\n  \"lists\": {", out);
    for (size_t i = 0; i < s->nlists; i++) {
        write_json_entry(out, i, s->list[i].name);
        write_json_list(out, s, i);
    }
    fputs("\n  },\n", out);
    write_json_sections(out, s);
    write_json_top_reporters(out, s);
    write_json_peers(out, s);
    fputs("  ", out);
    um_json_name(out, 0, "version");
    um_json_text(out, umbel_version());
    fputs("\n}\n", out);
}

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

/* --- metrics -------------------------------------------------------------- */

/* Writes the codes of one operation: 200 always, others if they happened. */
static void write_metric_requests(FILE *out, const um_service_stats *f,
                                  unsigned op)
{
    const um_verdict *rows = f->service->verdicts;

    for (unsigned i = 0; rows[i].code; i++) {
        bool repeated = false;
        for (unsigned j = 0; j < i; j++)
            repeated |= rows[j].code == rows[i].code;
        uint64_t n = um_service_with_code(f, op, rows[i].code);
        if (repeated || (!n && rows[i].code != 200))
            continue;
        um_metric_begin(out, "umbel_requests_total", "protocol",
                        f->service->name);
        putc(',', out);
        um_metric_label(out, "op", f->service->ops[op]);
        fprintf(out, ",code=\"%u\"", rows[i].code);
        um_metric_value(out, (double)n);
    }
}

static void write_metric_refusals(FILE *out, const um_service_stats *f)
{
    for (unsigned v = 0; v < um_service_verdicts(f->service); v++)
        if (f->service->verdicts[v].reason) {
            um_metric_begin(out, "umbel_refused_total", "protocol",
                            f->service->name);
            putc(',', out);
            um_metric_label(out, "reason", f->service->verdicts[v].reason);
            um_metric_value(out, (double)um_service_with_verdict(f, v));
        }
}

static void write_metric_protocols(FILE *out, const um_status *s)
{
    um_metric_head(out, "umbel_requests_total", "counter",
                   "Requests by protocol, operation and code of the answer.");
    for (size_t i = 0; i < s->nservices; i++)
        for (unsigned op = 0; op < um_service_ops(s->service[i]->service); op++)
            write_metric_requests(out, s->service[i], op);
    um_metric_head(
        out, "umbel_hits_total", "counter",
        "Look-ups that were a hit: a count other than 0 (pyzor), many "
        "(dccifd).");
    for (size_t i = 0; i < s->nservices; i++) {
        um_metric_begin(out, "umbel_hits_total", "protocol",
                        s->service[i]->service->name);
        um_metric_value(out, (double)s->service[i]->hits);
    }
    um_metric_head(out, "umbel_refused_total", "counter",
                   "Requests that were refused, by reason.");
    for (size_t i = 0; i < s->nservices; i++)
        write_metric_refusals(out, s->service[i]);
}

static void write_metric_lists(FILE *out, const um_status *s)
{
    for (const um_list_figure *f = um_list_figures; f->row.name; f++) {
        if (!f->row.metric)
            continue;
        um_metric_head(out, f->row.metric, f->row.type, f->row.help);
        for (size_t i = 0; i < s->nlists; i++) {
            double x = f->value(&s->list[i], s->now).number;
            if (isnan(x)) /* the list has no such figure */
                continue;
            um_metric_begin(out, f->row.metric, "list", s->list[i].name);
            um_metric_value(out, x);
        }
    }
}

static void write_metric_up(FILE *out, const char *name, const um_origin *o)
{
    um_metric_begin(out, name, "peer", o->name);
    um_metric_value(out, o->up);
}

static void write_metric_lag(FILE *out, const char *name, const um_origin *o)
{
    if (isnan(o->lag))
        return;
    um_metric_begin(out, name, "peer", o->name);
    um_metric_value(out, o->lag);
}

static void write_metric_count(FILE *out, const char *name, const um_origin *o,
                               const char *label, const char *value, uint64_t n)
{
    um_metric_begin(out, name, "peer", o->name);
    putc(',', out);
    um_metric_label(out, label, value);
    um_metric_value(out, (double)n);
}

static void write_metric_bytes(FILE *out, const char *name, const um_origin *o)
{
    write_metric_count(out, name, o, "direction", "in", o->bytes_in);
    write_metric_count(out, name, o, "direction", "out", o->bytes_out);
}

/* Writes only reasons that happened: there are many reasons, and there may be
 * many peers. */
static void write_metric_peer_refusals(FILE *out, const char *name,
                                       const um_origin *o)
{
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i])
            write_metric_count(out, name, o, "reason",
                               umbel_sync_reason_name((umbel_sync_reason)i),
                               o->refused[i]);
}

static const struct {
    const char *name, *type, *help;
    void (*write)(FILE *out, const char *name, const um_origin *o);
} peer_metrics[] = {
    {"umbel_peer_up", "gauge", "1 while there is a link to the peer.",
     write_metric_up},
    {"umbel_peer_lag_seconds", "gauge",
     "Age of the oldest version that the peer lacks.", write_metric_lag},
    {"umbel_peer_bytes_total", "counter", "Bytes of links, by direction.",
     write_metric_bytes},
    {"umbel_peer_refused_total", "counter",
     "Messages and versions of the peer that were refused, by reason.",
     write_metric_peer_refusals},
};

/* Writes configured peers only: other origins come and go. */
static void write_metric_peers(FILE *out, const um_status *s)
{
    for (size_t m = 0; s->peers && m < UM_COUNT(peer_metrics); m++) {
        um_metric_head(out, peer_metrics[m].name, peer_metrics[m].type,
                       peer_metrics[m].help);
        for (size_t i = 0; i < s->peers->n; i++)
            if (s->peers->item[i].name)
                peer_metrics[m].write(out, peer_metrics[m].name,
                                      &s->peers->item[i]);
    }
    if (s->peers) /* below the last metric, umbel_peer_refused_total */
        write_metric_count(out, "umbel_peer_refused_total",
                           &(um_origin){.name = "other"}, "reason", "stranger",
                           s->peers->strangers);
}

static void write_metric_digests(FILE *out, const char *name, const char *peer,
                                 uint64_t digests)
{
    um_metric_begin(out, name, "peer", peer);
    um_metric_value(out, (double)digests);
}

/* Writes the digests of this server, of peers, and of all other origins, which
 * come and go; and the agreement of each list, which is a label: servers agree
 * if it is the same. */
static void write_metric_agreement(FILE *out, const um_status *s)
{
    static const char origin[] = "umbel_origin_digests",
                      agreement[] = "umbel_list_agreement_info";
    uint64_t others = 0;

    if (!s->peers)
        return;
    um_metric_head(out, origin, "gauge",
                   "Digests that an origin has reported, as it claims: "
                   "this server (self), peers, all others (other).");
    for (size_t i = 0; i < s->peers->n; i++) {
        const um_origin *o = &s->peers->item[i];
        if (o->own || o->name)
            write_metric_digests(out, origin, o->own ? "self" : o->name,
                                 o->digests);
        else
            others += o->digests;
    }
    write_metric_digests(out, origin, "other", others);
    um_metric_head(out, agreement, "gauge",
                   "Always 1; the label agreement is the same on two "
                   "servers if they give the same answers.");
    for (size_t i = 0; i < s->nlists; i++) {
        um_metric_begin(out, agreement, "list", s->list[i].name);
        putc(',', out);
        um_metric_label(out, "agreement", um_status_agreement(s, i).text);
        um_metric_value(out, 1);
    }
}

static void write_metric_number(FILE *out, const um_figure_row *r, double x)
{
    um_metric_head(out, r->metric, r->type, r->help);
    fprintf(out, "%s %.16g\n", r->metric, x);
}

void um_status_print_metrics(FILE *out, const um_status *s)
{
    static const um_figure_row uptime = {.metric = "umbel_uptime_seconds",
                                         .type = "gauge",
                                         .help = "Time since the start."};
    static const um_figure_row state = {
        .metric = "umbel_state",
        .type = "gauge",
        .help = "0: well; 1: a warning; 2: failed, reports are refused."};
    static const um_figure_row refused = {
        .metric = "umbel_reload_refused",
        .type = "gauge",
        .help = "1 if the last reload was refused."};
    um_problems p;

    um_status_problems(s, &p);

    write_metric_protocols(out, s);
    write_metric_lists(out, s);
    write_metric_peers(out, s);
    write_metric_agreement(out, s);
    for (const um_server_figure *f = um_server_figures; f->section; f++)
        if (f->row.metric)
            write_metric_number(out, &f->row, f->value(s).number);
    write_metric_number(out, &uptime, (double)s->uptime);
    write_metric_number(out, &state, (double)um_problems_level(&p));
    write_metric_number(out, &refused,
                        s->not_reloaded && s->not_reloaded[0] ? 1 : 0);
}

/* --- text for a terminal -------------------------------------------------- */

static void write_text_line(FILE *out, const char *name, const char *what,
                            const char *value)
{
    fprintf(out, "%-16s %-22s %s\n", name, what, value);
}

static void write_text_problems(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    write_text_line(out, "server", "state",
                    um_level_name(um_problems_level(&p)));
    for (size_t i = 0; i < p.n; i++) {
        write_text_line(out, "server", um_level_name(p.item[i].level),
                        p.item[i].what);
        write_text_line(out, "server", "", p.item[i].advice);
    }
}

static void write_text_protocol(FILE *out, const um_service_stats *f)
{
    const char *name = f->service->name;
    char reason[32];

    write_text_line(out, name, "requests",
                    um_format_count(um_service_requests(f)).text);
    write_text_line(out, name, "hits", um_format_count(f->hits).text);
    write_text_line(out, name, "refused",
                    um_format_count(um_service_refused(f)).text);
    for (unsigned v = 0; v < um_service_verdicts(f->service); v++)
        if (f->service->verdicts[v].reason && um_service_with_verdict(f, v)) {
            snprintf(reason, sizeof reason, "  %s",
                     f->service->verdicts[v].reason);
            write_text_line(
                out, name, reason,
                um_format_count(um_service_with_verdict(f, v)).text);
        }
}

static void write_text_list(FILE *out, const um_status *s, size_t i)
{
    const um_list_stats *l = &s->list[i];
    uint64_t now = s->now;

    for (const um_list_figure *f = um_list_figures; f->row.name; f++)
        if (f->row.label && !isnan(f->value(l, now).number))
            write_text_line(out, l->name, f->row.label,
                            um_figure_format(&f->row, f->value(l, now)).text);
    if (s->peers)
        write_text_line(out, l->name, "agreement",
                        um_status_agreement(s, i).text);
}

/* Writes one line; umbel clearinghouse peers prints more. */
static void write_text_peer(FILE *out, const um_origin *o)
{
    char value[320];

    snprintf(value, sizeof value, "%.32s, lag %s, in %s, out %s, refused %s",
             o->state, um_format_unit(UM_UNIT_SECONDS, o->lag).text,
             um_format_bytes(o->bytes_in).text,
             um_format_bytes(o->bytes_out).text,
             um_format_count(um_origin_refusals(o)).text);
    write_text_line(out, "peer", o->name, value);
}

void um_status_print_text(FILE *out, const um_status *s)
{
    write_text_line(out, "server", "host", s->host);
    write_text_problems(out, s);
    write_text_line(out, "server", "uptime",
                    um_format_duration(s->uptime).text);
    for (size_t i = 0; i < s->nservices; i++)
        write_text_protocol(out, s->service[i]);
    for (size_t i = 0; i < s->nlists; i++)
        write_text_list(out, s, i);
    for (size_t i = 0; s->peers && i < s->peers->n; i++)
        if (s->peers->item[i].name)
            write_text_peer(out, &s->peers->item[i]);
    for (const um_server_figure *f = um_server_figures; f->section; f++)
        if (f->row.label)
            write_text_line(out, f->section, f->row.label,
                            um_figure_format(&f->row, f->value(s)).text);
    for (size_t i = 0; i < s->ntop; i++)
        write_text_line(out, "top reporter", s->top[i].name,
                        um_format_count(s->top[i].reports).text);
}

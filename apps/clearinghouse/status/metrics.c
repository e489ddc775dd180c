/*
 * status_metrics.c - /metrics, in the text format of Prometheus.
 */
#include "clearinghouse/status/status.h"

#include "base/error.h"
#include "clearinghouse/status/figures.h"

#include <inttypes.h>
#include <math.h>

static void write_head(FILE *out, const char *name, const char *type,
                       const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: names are ours, but the format has three characters that
 * must not stand in it. */
static void write_label(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++)
        if (*value == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *value == '"' || *value == '\\' ? "\\%c" : "%c",
                    *value);
    putc('"', out);
}

/* Begins a sample: NAME{front="...". */
static void begin_sample(FILE *out, const char *name, const char *label,
                         const char *value)
{
    fprintf(out, "%s{", name);
    write_label(out, label, value);
}

static void write_value(FILE *out, double x)
{
    fprintf(out, "} %.16g\n", x);
}

/* --- fronts --------------------------------------------------------------- */

/* Codes of one operation: 200 always, others once they happened. */
static void write_requests(FILE *out, const um_service_stats *f, unsigned op)
{
    const um_verdict *rows = f->service->verdicts;

    for (unsigned i = 0; rows[i].code; i++) {
        bool repeated = false;
        for (unsigned j = 0; j < i; j++)
            repeated |= rows[j].code == rows[i].code;
        uint64_t n = um_service_with_code(f, op, rows[i].code);
        if (repeated || (!n && rows[i].code != 200))
            continue;
        begin_sample(out, "umbel_requests_total", "front", f->service->name);
        putc(',', out);
        write_label(out, "op", f->service->ops[op]);
        fprintf(out, ",code=\"%u\"", rows[i].code);
        write_value(out, (double)n);
    }
}

static void write_refusals(FILE *out, const um_service_stats *f)
{
    for (unsigned v = 0; v < um_service_verdicts(f->service); v++)
        if (f->service->verdicts[v].reason) {
            begin_sample(out, "umbel_refused_total", "front", f->service->name);
            putc(',', out);
            write_label(out, "reason", f->service->verdicts[v].reason);
            write_value(out, (double)um_service_with_verdict(f, v));
        }
}

static void write_protocols(FILE *out, const um_status *s)
{
    write_head(out, "umbel_requests_total", "counter",
               "Requests by front, operation and code of the answer.");
    for (size_t i = 0; i < s->nservices; i++)
        for (unsigned op = 0; op < um_service_ops(s->service[i]->service); op++)
            write_requests(out, s->service[i], op);
    write_head(out, "umbel_hits_total", "counter",
               "Look-ups that were a hit: a count other than 0 (pyzor), many "
               "(dccifd).");
    for (size_t i = 0; i < s->nservices; i++) {
        begin_sample(out, "umbel_hits_total", "front",
                     s->service[i]->service->name);
        write_value(out, (double)s->service[i]->hits);
    }
    write_head(out, "umbel_refused_total", "counter",
               "Requests that were refused, by reason.");
    for (size_t i = 0; i < s->nservices; i++)
        write_refusals(out, s->service[i]);
}

/* --- figures -------------------------------------------------------------- */

static void write_lists(FILE *out, const um_status *s)
{
    for (const um_list_figure *f = um_list_figures; f->row.name; f++) {
        if (!f->row.metric)
            continue;
        write_head(out, f->row.metric, f->row.type, f->row.help);
        for (size_t i = 0; i < s->nlists; i++) {
            double x = f->value(&s->list[i], s->now).number;
            if (isnan(x)) /* the list has none */
                continue;
            begin_sample(out, f->row.metric, "list", s->list[i].name);
            write_value(out, x);
        }
    }
}

/* --- peers ---------------------------------------------------------------- */

static void write_up(FILE *out, const char *name, const um_origin *o)
{
    begin_sample(out, name, "peer", o->name);
    write_value(out, o->up);
}

static void write_lag(FILE *out, const char *name, const um_origin *o)
{
    if (isnan(o->lag))
        return;
    begin_sample(out, name, "peer", o->name);
    write_value(out, o->lag);
}

static void write_count(FILE *out, const char *name, const um_origin *o,
                        const char *label, const char *value, uint64_t n)
{
    begin_sample(out, name, "peer", o->name);
    putc(',', out);
    write_label(out, label, value);
    write_value(out, (double)n);
}

static void write_bytes(FILE *out, const char *name, const um_origin *o)
{
    write_count(out, name, o, "direction", "in", o->bytes_in);
    write_count(out, name, o, "direction", "out", o->bytes_out);
}

/* Reasons that happened: there are many, and there may be many peers. */
static void write_peer_refusals(FILE *out, const char *name, const um_origin *o)
{
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i])
            write_count(out, name, o, "reason",
                        umbel_sync_reason_name((umbel_sync_reason)i),
                        o->refused[i]);
}

static const struct {
    const char *name, *type, *help;
    void (*put)(FILE *out, const char *name, const um_origin *o);
} peer_metrics[] = {
    {"umbel_peer_up", "gauge", "1 while there is a link to the peer.",
     write_up},
    {"umbel_peer_lag_seconds", "gauge",
     "Age of the oldest version that the peer lacks.", write_lag},
    {"umbel_peer_bytes_total", "counter", "Bytes of links, by direction.",
     write_bytes},
    {"umbel_peer_refused_total", "counter",
     "Messages and versions of the peer that were refused, by reason.",
     write_peer_refusals},
};

/* Only peers of the configuration: others come and go as they like. */
static void write_peers(FILE *out, const um_status *s)
{
    for (size_t m = 0; s->peers && m < UM_COUNT(peer_metrics); m++) {
        write_head(out, peer_metrics[m].name, peer_metrics[m].type,
                   peer_metrics[m].help);
        for (size_t i = 0; i < s->peers->n; i++)
            if (s->peers->item[i].name)
                peer_metrics[m].put(out, peer_metrics[m].name,
                                    &s->peers->item[i]);
    }
    if (s->peers) /* of the last one */
        write_count(out, "umbel_peer_refused_total",
                    &(um_origin){.name = "other"}, "reason", "stranger",
                    s->peers->strangers);
}

static void write_number(FILE *out, const um_figure_row *r, double x)
{
    write_head(out, r->metric, r->type, r->help);
    fprintf(out, "%s %.16g\n", r->metric, x);
}

void um_status_print_metrics(FILE *out, const um_status *s)
{
    static const um_figure_row uptime = {.metric = "umbel_uptime_seconds",
                                         .type = "gauge",
                                         .help = "Time since the start."};

    write_protocols(out, s);
    write_lists(out, s);
    write_peers(out, s);
    for (const um_server_figure *f = um_server_figures; f->section; f++)
        if (f->row.metric)
            write_number(out, &f->row, f->value(s).number);
    write_number(out, &uptime, (double)s->uptime);
}

/*
 * status_metrics.c - /metrics, in the text format of Prometheus.
 */
#include "clearinghouse/status.h"

#include <inttypes.h>

static void put_head(FILE *out, const char *name, const char *type,
                     const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Codes of one operation: 200 always, others once they happened. */
static void put_requests(FILE *out, const um_front_stats *f, unsigned op)
{
    const um_verdict *rows = f->front->verdicts;

    for (unsigned i = 0; rows[i].code; i++) {
        bool repeated = false;
        for (unsigned j = 0; j < i; j++)
            repeated |= rows[j].code == rows[i].code;
        uint64_t n = um_front_with_code(f, op, rows[i].code);
        if (!repeated && (n || rows[i].code == 200))
            fprintf(out,
                    "umbel_requests_total{front=\"%s\",op=\"%s\",code=\"%u\"} "
                    "%" PRIu64 "\n",
                    f->front->name, f->front->ops[op], rows[i].code, n);
    }
}

static void put_fronts(FILE *out, const um_status *s)
{
    put_head(out, "umbel_requests_total", "counter",
             "Requests by front, operation and code of the answer.");
    for (size_t i = 0; i < s->nfronts; i++)
        for (unsigned op = 0; op < um_front_ops(s->front[i]->front); op++)
            put_requests(out, s->front[i], op);
    put_head(out, "umbel_hits_total", "counter",
             "Look-ups that found a count other than 0.");
    for (size_t i = 0; i < s->nfronts; i++)
        fprintf(out, "umbel_hits_total{front=\"%s\"} %" PRIu64 "\n",
                s->front[i]->front->name, s->front[i]->hits);
    put_head(out, "umbel_refused_total", "counter",
             "Requests that were refused, by reason.");
    for (size_t i = 0; i < s->nfronts; i++)
        for (unsigned v = 0; v < um_front_verdicts(s->front[i]->front); v++)
            if (s->front[i]->front->verdicts[v].reason)
                fprintf(out,
                        "umbel_refused_total{front=\"%s\",reason=\"%s\"} "
                        "%" PRIu64 "\n",
                        s->front[i]->front->name,
                        s->front[i]->front->verdicts[v].reason,
                        um_front_with_verdict(s->front[i], v));
}

/* A gauge of every list. */
typedef struct list_gauge {
    const char *name, *help;
    double (*value)(const um_list_stats *l);
} list_gauge;

static double list_digests(const um_list_stats *l)
{
    return (double)l->digests;
}

static double list_fill(const um_list_stats *l)
{
    return l->fill;
}

static double list_error(const um_list_stats *l)
{
    return l->error;
}

static double list_max_error(const um_list_stats *l)
{
    return l->max_error;
}

static double list_bytes(const um_list_stats *l)
{
    return (double)l->bytes;
}

static double list_epochs(const um_list_stats *l)
{
    return l->n;
}

static const list_gauge list_gauges[] = {
    {"umbel_list_digests", "Different digests in live epochs.", list_digests},
    {"umbel_list_fill", "Share of the newest epoch that is used.", list_fill},
    {"umbel_list_error",
     "Chance that a digest never reported has a count, predicted now.",
     list_error},
    {"umbel_list_max_error", "The same, as configured.", list_max_error},
    {"umbel_list_bytes", "Memory of the list.", list_bytes},
    {"umbel_list_epochs", "Live epochs.", list_epochs},
};

static void put_lists(FILE *out, const um_status *s)
{
    for (size_t g = 0; g < sizeof list_gauges / sizeof list_gauges[0]; g++) {
        put_head(out, list_gauges[g].name, "gauge", list_gauges[g].help);
        for (size_t i = 0; i < s->nlists; i++)
            fprintf(out, "%s{list=\"%s\"} %.10g\n", list_gauges[g].name,
                    s->list[i].name, list_gauges[g].value(&s->list[i]));
    }
}

static void put_number(FILE *out, const char *name, const char *type,
                       const char *help, uint64_t n)
{
    put_head(out, name, type, help);
    fprintf(out, "%s %" PRIu64 "\n", name, n);
}

void um_status_print_metrics(FILE *out, const um_status *s)
{
    put_fronts(out, s);
    put_lists(out, s);
    put_number(out, "umbel_journal_bytes", "gauge",
               "Bytes of journals that a restart would read.",
               s->store.journal_bytes);
    put_number(out, "umbel_snapshot_bytes", "gauge",
               "Bytes of the last snapshot.", s->store.snapshot_bytes);
    put_number(out, "umbel_snapshots_total", "counter",
               "Snapshots since the start.", s->store.snapshots);
    put_number(out, "umbel_snapshot_failed", "gauge",
               "1 if the last snapshot could not be written.",
               s->store.snapshot_error != 0);
    put_number(out, "umbel_syncs_total", "counter",
               "Calls of fdatasync for the journal.", s->store.syncs);
    put_number(out, "umbel_store_failed", "gauge",
               "1 while the disk cannot be written and reports are refused.",
               s->store.failed != NULL);
    put_number(out, "umbel_store_failures_total", "counter",
               "Failures of the disk since the start.", s->store.failures);
    put_number(out, "umbel_memory_bytes", "gauge",
               "Resident memory of the server.", s->memory);
    put_number(out, "umbel_memory_limit_bytes", "gauge",
               "Memory that the server may use.", s->memory_limit);
    put_number(out, "umbel_uptime_seconds", "gauge", "Time since the start.",
               s->uptime);
}

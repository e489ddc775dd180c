/*
 * output_json.c - a trace a line, with the names that scamper gives its fields.
 */
#include "stopset/formats/output.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

const ss_output_format *ss_output_find(const char *name)
{
    static const ss_output_format *const rows[] = {&ss_output_json,
                                                   &ss_output_warts};

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

static void write_start(FILE *out, uint64_t start)
{
    struct tm t;
    char text[32];
    time_t seconds = (time_t)start;

    gmtime_r(&seconds, &t);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
    fprintf(out,
            "\"start\":{\"sec\":%" PRIu64 ", \"usec\":0, \"ftime\":\"%s\"}, ",
            start, text);
}

static void write_hop(FILE *out, const ss_hop *hop, unsigned probe_size)
{
    char text[SS_ADDR_TEXT];

    ss_addr_format(hop->addr, text);
    fprintf(out, "{\"addr\":\"%s\", \"probe_ttl\":%u, \"probe_id\":%u, ", text,
            hop->ttl, hop->attempt + 1u);
    if (probe_size)
        fprintf(out, "\"probe_size\":%u, ", probe_size);
    fprintf(out,
            "\"rtt\":%" PRIu32 ".%03" PRIu32
            ", \"icmp_type\":%u, \"icmp_code\":%u}",
            hop->rtt / 1000, hop->rtt % 1000, hop->icmp_type, hop->icmp_code);
}

static void write_head(FILE *out, const ss_trace *t)
{
    char src[SS_ADDR_TEXT], dst[SS_ADDR_TEXT];

    ss_addr_format(t->src, src);
    ss_addr_format(t->dst, dst);
    fprintf(out,
            "{\"type\":\"trace\", \"version\":\"0.1\", \"src\":\"%s\", "
            "\"dst\":\"%s\", \"stop_reason\":\"%s\", ",
            src, dst, ss_stop_name(t->stop));
    write_start(out, t->start);
    fprintf(out, "\"hop_count\":%u, \"firsthop\":%u, ", t->last,
            t->first ? t->first : 1u);
}

static void write_hops(FILE *out, const ss_trace *t, unsigned probe_size)
{
    fputs("\"hops\":[", out);
    for (size_t i = 0; i < t->nhops; i++) {
        if (i)
            putc(',', out);
        write_hop(out, &t->hop[i], probe_size);
    }
    fputs("]}\n", out);
}

void ss_trace_write_json(const ss_trace *t, FILE *out)
{
    write_head(out, t);
    write_hops(out, t, 0);
}

static void write_json(FILE *out, const ss_run_facts *run, const ss_trace *t,
                       unsigned probes)
{
    write_head(out, t);
    fprintf(out,
            "\"userid\":0, \"method\":\"%s\", \"stop_data\":%u, "
            "\"attempts\":%u, \"hoplimit\":%u, \"wait\":%u, "
            "\"wait_probe\":0, \"tos\":0, \"probe_size\":%u, "
            "\"probe_count\":%u, ",
            run->udp ? "udp-paris" : "icmp-echo-paris", t->stop == SS_STOP_RED,
            run->attempts, run->policy.max_ttl, run->wait, run->probe_size,
            probes);
    write_hops(out, t, run->probe_size);
}

const ss_output_format ss_output_json = {.name = "json", .trace = write_json};

/*
 * output_json.c - a trace a line, with the names that scamper gives its fields.
 */
#include "stopset/output.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

const ss_output_format *ss_output_find(const char *name)
{
    static const ss_output_format *const rows[] = {&ss_output_json,
                                                   &ss_output_warts};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

static const char *address_text(ss_addr a, char text[SS_ADDR_TEXT])
{
    text[ss_addr_format(a, text)] = '\0';
    return text;
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

static void write_hop(FILE *out, const ss_run_facts *run, const ss_hop *hop)
{
    char text[SS_ADDR_TEXT];

    fprintf(out,
            "{\"addr\":\"%s\", \"probe_ttl\":%u, \"probe_id\":%u, "
            "\"probe_size\":%u, \"rtt\":%" PRIu32 ".%03" PRIu32
            ", \"icmp_type\":%u, \"icmp_code\":%u}",
            address_text(hop->addr, text), hop->ttl, hop->attempt + 1,
            run->probe_size, hop->rtt / 1000, hop->rtt % 1000, hop->icmp_type,
            hop->icmp_code);
}

static void write_json(FILE *out, const ss_run_facts *run, const ss_trace *t,
                       unsigned probes)
{
    char src[SS_ADDR_TEXT], dst[SS_ADDR_TEXT];

    fprintf(out,
            "{\"type\":\"trace\", \"version\":\"0.1\", \"userid\":0, "
            "\"method\":\"%s\", \"src\":\"%s\", \"dst\":\"%s\", "
            "\"stop_reason\":\"%s\", \"stop_data\":0, ",
            run->udp ? "udp-paris" : "icmp-echo-paris",
            address_text(t->src, src), address_text(t->dst, dst),
            ss_stop_name(t->stop));
    write_start(out, t->start);
    fprintf(out,
            "\"hop_count\":%u, \"attempts\":%u, \"hoplimit\":%u, "
            "\"firsthop\":%u, \"wait\":%u, \"wait_probe\":0, \"tos\":0, "
            "\"probe_size\":%u, \"probe_count\":%u, \"hops\":[",
            t->nhops ? t->hop[t->nhops - 1].ttl : 0, run->attempts,
            run->policy.max_ttl, run->policy.first, run->wait, run->probe_size,
            probes);
    for (size_t i = 0; i < t->nhops; i++) {
        if (i)
            putc(',', out);
        write_hop(out, run, &t->hop[i]);
    }
    fputs("]}\n", out);
}

const ss_output_format ss_output_json = {.name = "json", .trace = write_json};

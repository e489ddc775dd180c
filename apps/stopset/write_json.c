/*
 * write_json.c - traces in scamper's JSON, one object a line.
 */
#include "stopset/write.h"

#include <inttypes.h>

static void write_hop(FILE *out, const ss_hop *h)
{
    char addr[SS_ADDR_TEXT];

    ss_addr_format(h->addr, addr);
    fprintf(out,
            "{\"addr\":\"%s\", \"probe_ttl\":%u, \"probe_id\":%u, "
            "\"rtt\":%u.%03u, \"icmp_type\":%u, \"icmp_code\":%u}",
            addr, h->ttl, h->attempt, h->rtt / 1000, h->rtt % 1000,
            h->icmp_type, h->icmp_code);
}

void ss_trace_write_json(const ss_trace *t, FILE *out)
{
    char src[SS_ADDR_TEXT], dst[SS_ADDR_TEXT];

    ss_addr_format(t->src, src);
    ss_addr_format(t->dst, dst);
    fprintf(out,
            "{\"type\":\"trace\", \"version\":\"0.1\", \"src\":\"%s\", "
            "\"dst\":\"%s\", \"stop_reason\":\"%s\", "
            "\"start\":{\"sec\":%" PRIu64 "}, \"hop_count\":%u, "
            "\"firsthop\":%u, \"hops\":[",
            src, dst, ss_stop_name(t->stop), t->start, t->last,
            t->first ? t->first : 1);
    for (size_t i = 0; i < t->nhops; i++) {
        if (i)
            putc(',', out);
        write_hop(out, &t->hop[i]);
    }
    fputs("]}\n", out);
}

/*
 * output.c - writes traces in scamper's formats, JSON and warts.
 */
#include "stopset/formats/output.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* --- JSON, one trace per line, with scamper's names ----------------------- */

const ss_output_format *ss_output_find(const char *name)
{
    static const ss_output_format *const rows[] = {&ss_output_json,
                                                   &ss_output_warts};

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

static void print_start(FILE *out, const ss_trace *trace)
{
    struct tm t;
    char text[32];
    time_t seconds = (time_t)trace->start;

    gmtime_r(&seconds, &t);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
    fprintf(out,
            "\"start\":{\"sec\":%" PRIu64 ", \"usec\":%" PRIu32
            ", \"ftime\":\"%s\"}, ",
            trace->start, trace->start_us, text);
}

/* Prints a number if it is known. */
static void print_known(FILE *out, const char *name, unsigned value)
{
    if (value)
        fprintf(out, "\"%s\":%u, ", name, value);
}

static void print_hop(FILE *out, const ss_hop *hop, unsigned probe_size)
{
    char text[SS_ADDR_TEXT];

    ss_addr_format(hop->addr, text);
    fprintf(out, "{\"addr\":\"%s\", \"probe_ttl\":%u, \"probe_id\":%u, ", text,
            hop->ttl, hop->attempt + 1u);
    print_known(out, "probe_size", probe_size);
    if (hop->rtt)
        fprintf(out, "\"rtt\":%" PRIu32 ".%03" PRIu32 ", ", hop->rtt / 1000,
                hop->rtt % 1000);
    print_known(out, "reply_ttl", hop->reply_ttl);
    print_known(out, "reply_tos", hop->reply_tos);
    print_known(out, "reply_ipid", hop->reply_id);
    print_known(out, "reply_size", hop->reply_size);
    fprintf(out, "\"icmp_type\":%u, \"icmp_code\":%u}", hop->icmp_type,
            hop->icmp_code);
}

static void print_head(FILE *out, const ss_trace *t, unsigned probe_size)
{
    char src[SS_ADDR_TEXT], dst[SS_ADDR_TEXT];

    ss_addr_format(t->src, src);
    ss_addr_format(t->dst, dst);
    fprintf(out,
            "{\"type\":\"trace\", \"version\":\"0.1\", \"src\":\"%s\", "
            "\"dst\":\"%s\", \"stop_reason\":\"%s\", ",
            src, dst, ss_stop_name(t->stop));
    print_start(out, t);
    fprintf(out, "\"hop_count\":%u, \"firsthop\":%u, ", t->last,
            t->first ? t->first : 1u);
    print_known(out, "probe_size", probe_size);
}

static void print_hops(FILE *out, const ss_trace *t, unsigned probe_size)
{
    fputs("\"hops\":[", out);
    for (size_t i = 0; i < t->nhops; i++) {
        if (i)
            putc(',', out);
        print_hop(out, &t->hop[i], probe_size);
    }
    fputs("]}\n", out);
}

void ss_trace_write_json(const ss_trace *t, FILE *out)
{
    print_head(out, t, t->probe_size);
    print_hops(out, t, t->probe_size);
}

static bool is_v6(const ss_trace *t)
{
    return !ss_addr_is_v4(t->dst);
}

static uint16_t probe_size_of(const ss_run_facts *run, const ss_trace *t)
{
    return t->probe_size ? t->probe_size : run->probe_size[is_v6(t)];
}

static void write_json(FILE *out, const ss_run_facts *run, const ss_trace *t,
                       unsigned probes)
{
    uint16_t probe_size = probe_size_of(run, t);

    print_head(out, t, probe_size);
    print_known(out, "sport", run->sport[is_v6(t)]);
    print_known(out, "dport", run->dport);
    fprintf(out,
            "\"userid\":0, \"method\":\"%s\", \"stop_data\":%u, "
            "\"attempts\":%u, \"hoplimit\":%u, \"wait\":%u, "
            "\"wait_probe\":0, \"tos\":0, \"probe_count\":%u, ",
            run->udp ? "udp-paris" : "icmp-echo-paris", t->stop == SS_STOP_RED,
            run->attempts, run->policy.max_ttl, run->wait, probes);
    print_hops(out, t, probe_size);
}

const ss_output_format ss_output_json = {.name = "json", .trace = write_json};

/* --- scamper's binary format, as CAIDA's tools read it ------------------- */

/*
 * Numbers are big-endian. A file is a sequence of objects: magic, type, length,
 * content. A trace and each hop have optional fields in a fixed order, preceded
 * by flags: bit i is set if field i + 1 is present. A byte has seven flags, low
 * bits first; its top bit means that another byte follows.
 *
 * The format has no reason for a stop at the red set: it is written as GSS,
 * with 1 as its data.
 */

enum { WARTS_MAGIC = 0x1205 };
enum {
    WARTS_LIST = 1,
    WARTS_CYCLE_START = 2,
    WARTS_CYCLE_STOP = 4,
    WARTS_TRACE = 6
};
enum { METHOD_ICMP_PARIS = 4, METHOD_UDP_PARIS = 5 };
enum { HOP_HAS_REPLY_TTL = 0x10 }; /* a flag of a hop */
enum {
    HEAD = 8,
    /* For a trace: flags, fields, addresses, number of hops, end mark. */
    TRACE_ROOM = 128,
    HOP_ROOM = 64
};

typedef struct byte_sink {
    uint8_t *at;
} byte_sink;

static void append(byte_sink *b, uint64_t value, unsigned len)
{
    while (len--)
        *b->at++ = (uint8_t)(value >> 8 * len);
}

static void write_text(byte_sink *b, const char *text)
{
    size_t len = strlen(text) + 1;

    memcpy(b->at, text, len);
    b->at += len;
}

/* Fills in the header of an object, and writes it. */
static void write_object(FILE *out, unsigned type, uint8_t *object,
                         byte_sink end)
{
    byte_sink head = {object};

    append(&head, WARTS_MAGIC, 2);
    append(&head, type, 2);
    append(&head, (uint64_t)(end.at - object) - HEAD, 4);
    fwrite(object, 1, (size_t)(end.at - object), out);
}

static void begin_warts(FILE *out, const ss_run_facts *run)
{
    uint8_t object[64];
    byte_sink b = {object + HEAD};

    append(&b, 1, 4); /* its number in this file */
    append(&b, 0, 4); /* its number among all lists */
    write_text(&b, "default");
    append(&b, 0, 1); /* no flags */
    write_object(out, WARTS_LIST, object, b);

    b.at = object + HEAD;
    append(&b, 1, 4); /* its number in this file */
    append(&b, 1, 4); /* the list it belongs to */
    append(&b, 0, 4); /* its number among all cycles */
    append(&b, run->start, 4);
    append(&b, 0, 1); /* no flags */
    write_object(out, WARTS_CYCLE_START, object, b);
}

static void end_warts(FILE *out, const ss_run_facts *run, uint64_t now)
{
    uint8_t object[64];
    byte_sink b = {object + HEAD};

    (void)run;
    append(&b, 1, 4); /* the cycle's number in this file */
    append(&b, now, 4);
    append(&b, 0, 1); /* no flags */
    write_object(out, WARTS_CYCLE_STOP, object, b);
}

/* --- flags --------------------------------------------------------------- */

/* Fields in their order; writing one sets its flag. */
typedef struct fields {
    byte_sink at;
    uint32_t present;
    uint8_t text[96];
} fields;

static void write_field(fields *f, unsigned field, uint64_t value, unsigned len)
{
    f->present |= UINT32_C(1) << (field - 1);
    append(&f->at, value, len);
}

/* Writes a field if its value is known. */
static void write_known(fields *f, unsigned field, uint64_t value, unsigned len)
{
    if (value)
        write_field(f, field, value, len);
}

static void write_fields(byte_sink *b, const fields *f)
{
    size_t len = (size_t)(f->at.at - f->text);

    for (uint32_t left = f->present;; left >>= 7) {
        append(b, (left & 0x7F) | (left >> 7 ? 0x80u : 0), 1);
        if (!(left >> 7))
            break;
    }
    append(b, len, 2);
    memcpy(b->at, f->text, len);
    b->at += len;
}

/* --- a trace ------------------------------------------------------------- */

/* Addresses of an object, numbered as they occur; a repeated one is written as
 * its number. */
typedef struct addresses {
    ss_addr known[SS_MAX_TTL + 2];
    uint32_t n;
} addresses;

static void write_address(byte_sink *b, addresses *a, ss_addr address)
{
    uint8_t text[16];
    bool v4 = ss_addr_is_v4(address);

    for (uint32_t i = 0; i < a->n; i++)
        if (ss_addr_equal(a->known[i], address)) {
            append(b, 0, 1);
            append(b, i, 4);
            return;
        }
    a->known[a->n++] = address;
    ss_addr_to_bytes(address, text);
    append(b, v4 ? 4 : 16, 1);
    append(b, v4 ? 1 : 2, 1);
    memcpy(b->at, v4 ? text + 12 : text, v4 ? 4 : 16);
    b->at += v4 ? 4 : 16;
}

static unsigned stop_number(ss_stop stop)
{
    static const uint8_t numbers[SS_STOPS] = {
        [SS_STOP_COMPLETED] = 1, [SS_STOP_UNREACH] = 2,  [SS_STOP_ICMP] = 3,
        [SS_STOP_LOOP] = 4,      [SS_STOP_GAPLIMIT] = 5, [SS_STOP_ERROR] = 6,
        [SS_STOP_HOPLIMIT] = 7,  [SS_STOP_GSS] = 8,      [SS_STOP_HALTED] = 9,
        [SS_STOP_RED] = 8};

    return numbers[stop];
}

static void write_trace(byte_sink *b, addresses *a, const ss_run_facts *run,
                        const ss_trace *t, unsigned probes)
{
    fields f = {.at = {f.text}};

    write_field(&f, 1, 1, 4); /* list */
    write_field(&f, 2, 1, 4); /* cycle */
    write_field(&f, 5, t->start << 32 | t->start_us, 8);
    write_field(&f, 6, stop_number(t->stop), 1);
    write_field(&f, 7, t->stop == SS_STOP_RED, 1);
    write_field(&f, 9, run->attempts, 1);
    write_field(&f, 10, run->policy.max_ttl, 1);
    write_field(&f, 11, run->udp ? METHOD_UDP_PARIS : METHOD_ICMP_PARIS, 1);
    write_known(&f, 12, probe_size_of(run, t), 2);
    write_known(&f, 13, run->sport[is_v6(t)], 2);
    write_known(&f, 14, run->dport, 2);
    write_field(&f, 15, run->policy.first, 1);
    write_field(&f, 17, run->wait, 1);
    write_field(&f, 19, t->last, 2);
    write_field(&f, 20, run->policy.gap_limit, 1);
    write_field(&f, 23, probes, 2);
    write_field(&f, 26, 0, 0);
    write_address(&f.at, a, t->src);
    write_field(&f, 27, 0, 0);
    write_address(&f.at, a, t->dst);
    write_fields(b, &f);
}

static void write_hop(byte_sink *b, addresses *a, uint16_t probe_size,
                      const ss_hop *hop)
{
    fields f = {.at = {f.text}};

    write_field(&f, 2, hop->ttl, 1);
    write_known(&f, 3, hop->reply_ttl, 1);
    write_known(&f, 4, hop->reply_ttl ? HOP_HAS_REPLY_TTL : 0, 1);
    write_field(&f, 5, hop->attempt, 1);
    write_known(&f, 6, hop->rtt, 4);
    write_field(&f, 7, (unsigned)hop->icmp_type << 8 | hop->icmp_code, 2);
    write_known(&f, 8, probe_size, 2);
    write_known(&f, 9, hop->reply_size, 2);
    write_known(&f, 10, hop->reply_id, 2);
    write_known(&f, 11, hop->reply_tos, 1);
    write_field(&f, 18, 0, 0);
    write_address(&f.at, a, hop->addr);
    write_fields(b, &f);
}

static void write_warts(FILE *out, const ss_run_facts *run, const ss_trace *t,
                        unsigned probes)
{
    uint8_t object[HEAD + TRACE_ROOM + (SS_MAX_TTL + 1) * HOP_ROOM];
    byte_sink b = {object + HEAD};
    addresses a = {.n = 0};

    write_trace(&b, &a, run, t, probes);
    append(&b, t->nhops, 2);
    for (size_t i = 0; i < t->nhops; i++)
        write_hop(&b, &a, probe_size_of(run, t), &t->hop[i]);
    append(&b, 0, 2); /* no attributes */
    write_object(out, WARTS_TRACE, object, b);
}

const ss_output_format ss_output_warts = {
    .name = "warts",
    .begin = begin_warts,
    .trace = write_warts,
    .end = end_warts,
};

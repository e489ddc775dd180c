/*
 * trace_json.c - traces in JSON: those of scamper and RIPE Atlas.
 */
#include "base/error.h"
#include "keylist/json.h"
#include "stopset/formats/format.h"

#include <string.h>

/* --- traces in JSON: scamper's and RIPE Atlas's -------------------------- */

/*
 *   scamper   {"type":"trace", "src", "dst", "stop_reason",
 *              "start":{"sec", "usec"}, "firsthop", "hop_count", "probe_size",
 *              "hops":[{"addr", "probe_ttl", "probe_id", "icmp_type", "rtt",
 *                       "reply_ttl", "reply_size", "reply_ipid",
 *                       "reply_tos"}]}
 *             {"type":"tracelb", "src", "dst", "start", "firsthop",
 *              "nodes":[{"addr", "links":[[{"addr", "probes":[{"ttl",
 *                       "replies":[{"rtt", "ttl", "icmp_type"}]}]}]]}]}
 *   M-Lab     one of these, or {"Metadata", "CycleStart", "Trace":{...}}
 *   Atlas     {"type":"traceroute", "prb_id", "src_addr", "dst_addr",
 *              "timestamp", "result":[{"hop", "result":[{"from", "rtt"}]}]}
 *
 * Names come in any order, so an object is read as both and its type decides.
 * A file is a sequence of objects, with or without newlines between them, or
 * one array of them. Atlas replies marked "late" answer an earlier probe and
 * are left out, as RIPE's own library does.
 */

/* An object that is being read. */
typedef struct draft {
    ss_trace *trace;
    um_json_slice type;
    ss_addr src, from;    /* Atlas: the probe's local and public address */
    uint64_t first, hops; /* scamper: the range of TTLs that were probed */
    ss_trace_buffer *buffer;
    ss_addr node, first_node; /* tracelb: the current node; the first one */
    unsigned distance;        /* of the current reply from that node */
    ss_hop hop;               /* the current reply or Atlas hop */
    um_json_slice last_text;  /* the last address, as text and parsed */
    ss_addr last;
    bool late;
    bool too_long;
} draft;

/* The name of a member, and the function that reads its value. Tables end with
 * a NULL name. */
typedef struct field {
    const char *name;
    size_t len;
    void (*read)(um_json *j, draft *d);
} field;

#define FIELD(name, read)                                                      \
    {                                                                          \
        name, sizeof name - 1, read                                            \
    }
#define FIELDS_END                                                             \
    {                                                                          \
        NULL, 0, NULL                                                          \
    }

static void read_member(um_json *j, const field *f, const um_json_slice *key,
                        draft *d)
{
    while (f->name && !um_json_is(key, f->name, f->len))
        f++;
    if (f->name)
        f->read(j, d);
    else
        um_json_skip(j);
}

/* Reads an object. Skips any other value: the type of measurement may only be
 * known later. */
static void read_object(um_json *j, const field *fields, draft *d)
{
    um_json_slice key;

    if (um_json_peek(j) != '{') {
        um_json_skip(j);
        return;
    }
    for (bool first = true; um_json_member(j, &first, &key);)
        read_member(j, fields, &key, d);
}

/* Returns true if an array begins here; otherwise skips the value. */
static bool array_begins(um_json *j)
{
    if (um_json_peek(j) == '[')
        return true;
    um_json_skip(j);
    return false;
}

static ss_addr parse_address(um_json_slice text)
{
    char copy[SS_ADDR_TEXT];
    ss_addr a = {0};

    if (text.escaped) {
        size_t len = um_json_copy(&text, copy, sizeof copy);
        text = (um_json_slice){copy, len > sizeof copy ? 0 : len, false};
    }
    return ss_addr_parse(text.at, text.len, &a) ? a : (ss_addr){0};
}

/* Reads an address. Replies of one hop mostly come from the same address, which
 * is parsed once. The comparison includes both quotes. */
static ss_addr read_address(um_json *j, draft *d)
{
    const um_json_slice *last = &d->last_text;

    if (last->len && um_json_begins(j, last->at - 1, last->len + 2)) {
        j->at += last->len + 2;
        return d->last;
    }
    d->last_text = um_json_read_string(j);
    d->last = parse_address(d->last_text);
    return d->last;
}

static uint8_t read_byte(um_json *j)
{
    uint64_t x = um_json_read_whole(j);

    return x <= UINT8_MAX ? (uint8_t)x : 0;
}

static uint16_t read_u16(um_json *j)
{
    uint64_t x = um_json_read_whole(j);

    return x <= UINT16_MAX ? (uint16_t)x : 0;
}

static uint32_t read_rtt(um_json *j)
{
    uint64_t us = um_json_read_thousandths(j);

    return us <= UINT32_MAX ? (uint32_t)us : 0;
}

static void add_hop(draft *d)
{
    if (!d->hop.ttl || ss_addr_none(d->hop.addr) || d->late)
        return;
    if (d->trace->nhops < SS_MAX_REPLIES) /* if it turns out a tracelb */
        d->buffer->from[d->trace->nhops] = (ss_addr){0, 0};
    d->too_long |= !ss_trace_add(d->trace, &d->hop);
}

/* --- scamper -------------------------------------------------------------- */

static void read_hop_addr(um_json *j, draft *d)
{
    d->hop.addr = read_address(j, d);
}

static void read_probe_ttl(um_json *j, draft *d)
{
    d->hop.ttl = read_byte(j);
}

static void read_probe_id(um_json *j, draft *d)
{
    uint64_t id = um_json_read_whole(j); /* from 1; 0 if the file has none */

    d->hop.attempt = id && id - 1 <= UINT8_MAX ? (uint8_t)(id - 1) : 0;
}

static void read_icmp_type(um_json *j, draft *d)
{
    d->hop.icmp_type = read_byte(j);
}

static void read_icmp_code(um_json *j, draft *d)
{
    d->hop.icmp_code = read_byte(j);
}

static void read_hop_rtt(um_json *j, draft *d)
{
    d->hop.rtt = read_rtt(j);
}

static void read_reply_ttl(um_json *j, draft *d)
{
    d->hop.reply_ttl = read_byte(j);
}

static void read_reply_tos(um_json *j, draft *d)
{
    d->hop.reply_tos = read_byte(j);
}

static void read_reply_id(um_json *j, draft *d)
{
    d->hop.reply_id = read_u16(j);
}

static void read_reply_size(um_json *j, draft *d)
{
    d->hop.reply_size = read_u16(j);
}

static void read_hops(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("addr", read_hop_addr),
                                   FIELD("probe_ttl", read_probe_ttl),
                                   FIELD("probe_id", read_probe_id),
                                   FIELD("icmp_type", read_icmp_type),
                                   FIELD("icmp_code", read_icmp_code),
                                   FIELD("rtt", read_hop_rtt),
                                   FIELD("reply_ttl", read_reply_ttl),
                                   FIELD("reply_tos", read_reply_tos),
                                   FIELD("reply_ipid", read_reply_id),
                                   FIELD("reply_size", read_reply_size),
                                   FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; um_json_element(j, &first);) {
        d->hop = (ss_hop){0};
        d->late = false;
        read_object(j, fields, d);
        if (!um_json_bad(j))
            add_hop(d);
    }
}

static void read_start_sec(um_json *j, draft *d)
{
    d->trace->start = um_json_read_whole(j);
}

static void read_start_usec(um_json *j, draft *d)
{
    uint64_t us = um_json_read_whole(j);

    d->trace->start_us = us < 1000000 ? (uint32_t)us : 0;
}

static void read_start(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("sec", read_start_sec),
                                   FIELD("usec", read_start_usec), FIELDS_END};

    read_object(j, fields, d);
}

static void read_stop_reason(um_json *j, draft *d)
{
    um_json_slice name = um_json_read_string(j);

    d->trace->stop = ss_stop_find(name.at, name.len);
}

static void read_firsthop(um_json *j, draft *d)
{
    d->first = um_json_read_whole(j);
}

static void read_probe_size(um_json *j, draft *d)
{
    d->trace->probe_size = read_u16(j);
}

static void read_hop_count(um_json *j, draft *d)
{
    d->hops = um_json_read_whole(j);
}

static void read_src(um_json *j, draft *d)
{
    d->src = read_address(j, d);
}

static void read_dst(um_json *j, draft *d)
{
    d->trace->dst = read_address(j, d);
}

/* --- scamper, along several paths ------------------------------------------
 */

/*
 * "links" of a node is an array for each TTL after it: of all nodes that
 * replied, or of {"addr":"*"}. Only if several links begin at the node, they
 * are together in one array.
 */

static void read_lb_reply(um_json *j, draft *d)
{
    static const field fields[] = {
        FIELD("ttl", read_reply_ttl),       FIELD("rtt", read_hop_rtt),
        FIELD("ipid", read_reply_id),       FIELD("icmp_type", read_icmp_type),
        FIELD("icmp_code", read_icmp_code), FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; um_json_element(j, &first);) {
        d->hop = (ss_hop){
            .addr = d->hop.addr, .ttl = d->hop.ttl, .attempt = d->hop.attempt};
        read_object(j, fields, d);
        if (!um_json_bad(j) && d->hop.ttl && !ss_addr_none(d->hop.addr))
            d->too_long |=
                !ss_paths_add(d->buffer, &d->hop, d->node, d->distance);
    }
}

static void read_attempt(um_json *j, draft *d)
{
    d->hop.attempt = read_byte(j);
}

static void read_lb_probes(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("ttl", read_probe_ttl),
                                   FIELD("attempt", read_attempt),
                                   FIELD("replies", read_lb_reply), FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; um_json_element(j, &first);) {
        d->hop = (ss_hop){.addr = d->hop.addr};
        read_object(j, fields, d);
    }
}

static void read_lb_links(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("addr", read_hop_addr),
                                   FIELD("probes", read_lb_probes), FIELDS_END};

    if (!array_begins(j))
        return;
    d->distance = 1;
    for (bool outer = true; um_json_element(j, &outer); d->distance++)
        if (array_begins(j))
            for (bool first = true; um_json_element(j, &first);) {
                d->hop = (ss_hop){0};
                read_object(j, fields, d);
            }
}

static void read_node_addr(um_json *j, draft *d)
{
    d->node = read_address(j, d);
}

static void read_nodes(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("addr", read_node_addr),
                                   FIELD("links", read_lb_links), FIELDS_END};
    bool begun = false;

    if (!array_begins(j))
        return;
    for (bool first = true; um_json_element(j, &first); begun = true) {
        d->node = (ss_addr){0, 0};
        read_object(j, fields, d);
        if (!begun)
            d->first_node = d->node;
    }
}

/* --- RIPE Atlas ----------------------------------------------------------- */

static void read_late(um_json *j, draft *d)
{
    um_json_skip(j);
    d->late = true;
}

/* Skips a whole number that ends before a comma or bracket. Returns false, and
 * skips nothing, if something else comes next. */
static bool skip_digits(um_json *j)
{
    const uint8_t *at = j->at;

    while (at < j->end && *at >= '0' && *at <= '9')
        at++;
    if (at == j->end || (*at != ',' && *at != '}'))
        return false;
    j->at = at;
    return true;
}

/*
 * Nearly all replies look like this, and they are most of a file:
 *
 *     {"from":"192.0.2.1","rtt":1.395,"size":28,"ttl":254}
 *
 * Reads such members, each with the byte before it. Anything else is left to
 * the general parser, so results do not change; without this shortcut a file
 * takes twice as long.
 */
static void read_plain_members(um_json *j, draft *d)
{
    while (!um_json_bad(j) && j->at < j->end) {
        const uint8_t *start = j->at++;
        bool taken = false;
        if (um_json_begins(j, "\"from\":\"", 8)) {
            j->at += 7;
            d->hop.addr = read_address(j, d);
            taken = !um_json_bad(j);
        } else if (um_json_begins(j, "\"rtt\":", 6)) {
            j->at += 6;
            d->hop.rtt = read_rtt(j);
            taken = !um_json_bad(j);
        } else if (um_json_begins(j, "\"size\":", 7)) {
            j->at += 7;
            taken = skip_digits(j);
        } else if (um_json_begins(j, "\"ttl\":", 6)) {
            j->at += 6;
            taken = skip_digits(j);
        }
        if (!taken) {
            j->at = start;
            return;
        }
        if (j->at == j->end || *j->at != ',')
            return;
    }
}

static void read_reply(um_json *j, const field *fields, draft *d)
{
    bool first = true;
    um_json_slice key;

    if (um_json_peek(j) != '{') {
        um_json_skip(j);
        return;
    }
    if (j->depth < UM_JSON_DEPTH && um_json_begins(j, "{\"from\":\"", 9)) {
        j->depth++;
        first = false;
        read_plain_members(j, d);
    }
    while (um_json_member(j, &first, &key)) {
        read_member(j, fields, &key, d);
        if (j->at < j->end && *j->at == ',')
            read_plain_members(j, d);
    }
}

static void read_replies(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("from", read_hop_addr),
                                   FIELD("rtt", read_hop_rtt),
                                   FIELD("late", read_late), FIELDS_END};
    uint8_t ttl = d->hop.ttl, attempt = 0;

    if (!array_begins(j))
        return;
    for (bool first = true; um_json_element(j, &first); attempt++) {
        d->hop = (ss_hop){.ttl = ttl, .attempt = attempt};
        d->late = false;
        read_reply(j, fields, d);
        if (!um_json_bad(j))
            add_hop(d);
    }
    d->hop.ttl = ttl;
}

/* Reads a hop, with a shortcut for the usual beginning {"hop":1,"result":[. */
static void read_atlas_hop(um_json *j, const field *fields, draft *d)
{
    bool first = false;
    um_json_slice key;

    if (j->depth == UM_JSON_DEPTH || !um_json_begins(j, "{\"hop\":", 7)) {
        read_object(j, fields, d);
        return;
    }
    j->depth++;
    j->at += 7;
    d->hop.ttl = read_byte(j);
    if (!um_json_bad(j) && um_json_begins(j, ",\"result\":[", 11)) {
        j->at += 10;
        read_replies(j, d);
    }
    while (um_json_member(j, &first, &key))
        read_member(j, fields, &key, d);
}

/* Reads the array of hops. RIPE Atlas always sends "hop" before "result";
 * otherwise the replies have no TTL and are left out. */
static void read_result(um_json *j, draft *d)
{
    static const field fields[] = {FIELD("hop", read_probe_ttl),
                                   FIELD("result", read_replies), FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; um_json_element(j, &first);) {
        d->hop = (ss_hop){0};
        read_atlas_hop(j, fields, d);
        if (!um_json_bad(j) && d->hop.ttl)
            ss_trace_probed(d->trace, d->hop.ttl, d->hop.ttl);
    }
}

static void read_from(um_json *j, draft *d)
{
    d->from = read_address(j, d);
}

static void read_timestamp(um_json *j, draft *d)
{
    d->trace->start = um_json_read_whole(j);
}

static void read_probe(um_json *j, draft *d)
{
    d->trace->monitor = ss_monitor_probe(um_json_read_whole(j));
}

/* --- objects -------------------------------------------------------------- */

/* Reads a trace inside an object of M-Lab. */
static void read_wrapped(um_json *j, draft *d);

static void read_type(um_json *j, draft *d)
{
    d->type = um_json_read_string(j);
}

static const field top_fields[] = {FIELD("type", read_type),
                                   FIELD("src", read_src),
                                   FIELD("dst", read_dst),
                                   FIELD("stop_reason", read_stop_reason),
                                   FIELD("start", read_start),
                                   FIELD("firsthop", read_firsthop),
                                   FIELD("hop_count", read_hop_count),
                                   FIELD("hops", read_hops),
                                   FIELD("probe_size", read_probe_size),
                                   FIELD("nodes", read_nodes),
                                   FIELD("result", read_result),
                                   FIELD("dst_addr", read_dst),
                                   FIELD("src_addr", read_src),
                                   FIELD("from", read_from),
                                   FIELD("prb_id", read_probe),
                                   FIELD("timestamp", read_timestamp),
                                   FIELD("Trace", read_wrapped),
                                   FIELD("Tracelb", read_wrapped),
                                   FIELDS_END};

static void read_wrapped(um_json *j, draft *d)
{
    read_object(j, top_fields, d);
}

static ss_took conclude(draft *d)
{
    bool scamper = um_json_is(&d->type, "trace", 5);
    bool atlas = um_json_is(&d->type, "traceroute", 10);
    bool paths = um_json_is(&d->type, "tracelb", 7);
    ss_trace *t = d->trace;

    if (!scamper && !atlas && !paths)
        return SS_TOOK_OTHER;
    if (paths) {
        unsigned first =
            d->first && d->first <= SS_MAX_TTL ? (unsigned)d->first : 1;
        ss_trace_probed(t, first, first);
        d->too_long |= !ss_paths_end(d->buffer, d->first_node);
    }
    if (d->too_long)
        return SS_TOOK_LONG;
    t->src = ss_addr_none(d->src) ? d->from : d->src;
    if (ss_addr_none(t->monitor))
        t->monitor = t->src;
    if (scamper && d->hops <= SS_MAX_TTL)
        ss_trace_probed(t, d->first ? (unsigned)d->first : 1,
                        (unsigned)d->hops);
    return ss_addr_none(t->dst) ? SS_TOOK_BAD : SS_TOOK_TRACE;
}

static umbel_status parse_object(const uint8_t *bytes, size_t len, size_t *used,
                                 ss_trace_buffer *buffer, ss_took *took,
                                 umbel_error *err)
{
    draft d = {.trace = ss_trace_begin(buffer),
               .buffer = buffer,
               .type = {"", 0, false},
               .last_text = {"", 0, false}};
    um_json j = {.at = bytes, .end = bytes + len};

    read_object(&j, top_fields, &d);
    *used = (size_t)(j.at - bytes);
    if (j.wrong == UM_JSON_CUT) {
        *used = 0;
        *took = SS_NEED_MORE;
        return UMBEL_OK;
    }
    if (j.wrong)
        return um_fail(err, UMBEL_E_FORMAT, "%s", j.wrong);
    *took = conclude(&d);
    return UMBEL_OK;
}

/* Skips a byte between objects: a blank, or a bracket or comma of an array.
 * Returns true if it skipped one. */
static bool parse_between(ss_format_state *s, uint8_t c)
{
    if (um_json_blank(c))
        return true;
    if (c == '[' && !s->in_array) {
        s->in_array = true;
        s->need_comma = false;
        return true;
    }
    if (c == ']' && s->in_array) {
        s->in_array = false;
        return true;
    }
    if (c == ',' && s->in_array && s->need_comma) {
        s->need_comma = false;
        return true;
    }
    return false;
}

static umbel_status parse_json(ss_format_state *s, const uint8_t *bytes,
                               size_t len, size_t *used,
                               ss_trace_buffer *buffer, ss_took *took,
                               umbel_error *err)
{
    *used = 0;
    while (*used < len && parse_between(s, bytes[*used]))
        ++*used;
    if (*used || !len) {
        *took = len ? SS_TOOK_NONE : SS_NEED_MORE;
        return UMBEL_OK;
    }
    if (*bytes != '{' || (s->in_array && s->need_comma))
        return um_fail(err, UMBEL_E_FORMAT,
                       "a JSON object should begin here, after a comma in an "
                       "array");
    UM_TRY(parse_object(bytes, len, used, buffer, took, err));
    s->need_comma |= *took != SS_NEED_MORE;
    return UMBEL_OK;
}

static bool begins_json(const uint8_t *bytes, size_t len)
{
    return len && (*bytes == '{' || *bytes == '[');
}

const ss_format ss_format_json = {
    .name = "JSON", .begins = begins_json, .take = parse_json};

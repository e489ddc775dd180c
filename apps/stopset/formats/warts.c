/*
 * warts.c - reads traces in scamper's binary format.
 *
 * A file is a sequence of objects, with big-endian numbers:
 *
 *     u16 0x1205, u16 type, u32 length     type 6 is a trace, 8 a tracelb
 *     flags       7 bits a byte, low bit first, top bit: another byte follows
 *     u16         length of the fields; absent when no flag is set
 *     fields      bit i of the flags: field i + 1 is there
 *     u16         number of hops; each again flags, length, fields
 *
 * Fields are read up to the last one that we need; the length is used to skip
 * the rest, which may be newer than this code. Within an object an address is
 * written out once; later it is referred to by its number, in order of first
 * appearance.
 *
 * A tracelb is a trace along all paths of equal cost. After its fields come the
 * nodes, then the links between them; a link has probes for one or more TTLs,
 * and a probe has replies.
 */
#include "stopset/formats/format.h"

#include "base/bits.h"
#include "base/error.h"

#include <string.h>

enum {
    MAGIC = 0x1205,
    HEAD = 8,
    TRACE_OBJECT = 6,
    TRACELB_OBJECT = 8,
    MAX_OBJECT = SS_MAX_ITEM - HEAD
};

/* The bytes of an object. A read past the end is recorded as an error. */
typedef struct cursor {
    const uint8_t *start, *at, *end;
    const char *wrong; /* NULL if there is no error */
    ss_addr *address;  /* written out so far */
    size_t naddresses;
} cursor;

static void go_wrong(cursor *c, const char *what)
{
    if (!c->wrong)
        c->wrong = what;
}

static uint32_t get(cursor *c, size_t len)
{
    uint32_t x = 0;

    if (c->wrong || (size_t)(c->end - c->at) < len) {
        go_wrong(c, "a field runs past the end of its object");
        return 0;
    }
    for (size_t i = 0; i < len; i++)
        x = x << 8 | c->at[i];
    c->at += len;
    return x;
}

static void skip_bytes(cursor *c, size_t len)
{
    if (c->wrong || (size_t)(c->end - c->at) < len)
        go_wrong(c, "a field runs past the end of its object");
    else
        c->at += len;
}

static ss_addr get_address(cursor *c)
{
    uint32_t len = get(c, 1);
    ss_addr a = {0};

    if (len == 0) {
        uint32_t number = get(c, 4);
        if (!c->wrong && number >= c->naddresses)
            go_wrong(c, "a reference to an address that was not written");
        return c->wrong ? a : c->address[number];
    }
    uint32_t type = get(c, 1);
    const uint8_t *bytes = c->at;
    skip_bytes(c, len);
    if (!c->wrong && ((type == 1 && len == 4) || (type == 2 && len == 16)))
        a = ss_addr_from_bytes(bytes, len);
    if (c->naddresses < SS_MAX_ADDRESSES)
        c->address[c->naddresses++] = a;
    else
        go_wrong(c, "too many addresses in an object");
    return a;
}

/* Reads the first 35 flags; we use fewer. */
static uint64_t get_flags(cursor *c)
{
    uint64_t flags = 0;
    uint32_t byte;
    unsigned shift = 0;

    do {
        byte = get(c, 1);
        if (shift < 35)
            flags |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return flags;
}

/* A record: its flags, and where it ends. */
typedef struct record {
    uint64_t flags;
    const uint8_t *end;
} record;

static record get_record(cursor *c)
{
    record r = {get_flags(c), NULL};
    uint32_t len = r.flags ? get(c, 2) : 0;

    if ((size_t)(c->end - c->at) < len)
        go_wrong(c, "a record runs past the end of its object");
    r.end = c->wrong ? c->at : c->at + len;
    return r;
}

static bool has(const record *r, unsigned field)
{
    return r->flags >> (field - 1) & 1;
}

static void leave_record(cursor *c, const record *r)
{
    if (c->at > r->end)
        go_wrong(c, "a record is longer than it says");
    else if (!c->wrong)
        c->at = r->end;
}

/* Lengths of numeric fields; 0 for fields with their own format. */
static const uint8_t trace_fields[] = {
    [1] = 4,  [2] = 4,  [3] = 4,  [4] = 4,  [5] = 8,  [6] = 1,  [7] = 1,
    [8] = 1,  [9] = 1,  [10] = 1, [11] = 1, [12] = 2, [13] = 2, [14] = 2,
    [15] = 1, [16] = 1, [17] = 1, [18] = 1, [19] = 2, [20] = 1, [21] = 1,
    [22] = 1, [23] = 2, [24] = 1, [25] = 1, [26] = 0, [27] = 0};
enum {
    T_START = 5,
    T_STOP = 6,
    T_PROBE_SIZE = 12,
    T_FIRST = 15,
    T_HOPS = 19,
    T_SRC = 26,
    T_DST
};

static const uint8_t hop_fields[] = {
    [1] = 4,  [2] = 1,  [3] = 1,  [4] = 1,  [5] = 1,  [6] = 4,
    [7] = 2,  [8] = 2,  [9] = 2,  [10] = 2, [11] = 1, [12] = 2,
    [13] = 2, [14] = 1, [15] = 1, [16] = 1, [17] = 0, [18] = 0};
enum {
    H_TTL = 2,
    H_REPLY_TTL,
    H_ATTEMPT = 5,
    H_RTT,
    H_ICMP,
    H_REPLY_SIZE = 9,
    H_REPLY_ID,
    H_REPLY_TOS,
    H_EXTENSION = 17,
    H_ADDR
};

/* Reads the second half of a time. */
static uint32_t get_microseconds(cursor *c)
{
    uint32_t us = get(c, 4);

    return us < 1000000 ? us : 0;
}

static unsigned get_trace_fields(cursor *c, ss_trace *t)
{
    record r = get_record(c);
    unsigned first = 1, hops = 0;

    for (unsigned i = 1; i < UM_COUNT(trace_fields) && !c->wrong; i++) {
        if (!has(&r, i))
            continue;
        if (i == T_START) {
            t->start = get(c, 4);
            t->start_us = get_microseconds(c);
        } else if (i == T_STOP) {
            uint32_t stop = get(c, 1);
            t->stop = stop < SS_STOP_RED ? (ss_stop)stop : SS_STOP_OTHER;
        } else if (i == T_PROBE_SIZE) {
            t->probe_size = (uint16_t)get(c, 2);
        } else if (i == T_FIRST) {
            first = get(c, 1);
        } else if (i == T_HOPS) {
            hops = get(c, 2);
        } else if (i == T_SRC) {
            t->src = t->monitor = get_address(c);
        } else if (i == T_DST) {
            t->dst = get_address(c);
        } else {
            skip_bytes(c, trace_fields[i]);
        }
    }
    leave_record(c, &r);
    ss_trace_probed(t, first, hops < SS_MAX_TTL ? hops : SS_MAX_TTL);
    return hops;
}

static void get_hop(cursor *c, ss_hop *hop)
{
    record r = get_record(c);

    *hop = (ss_hop){0};
    for (unsigned i = 1; i < UM_COUNT(hop_fields) && !c->wrong; i++) {
        if (!has(&r, i))
            continue;
        if (i == H_TTL) {
            hop->ttl = (uint8_t)get(c, 1);
        } else if (i == H_ATTEMPT) {
            hop->attempt = (uint8_t)get(c, 1);
        } else if (i == H_RTT) {
            hop->rtt = get(c, 4);
        } else if (i == H_ICMP) {
            hop->icmp_type = (uint8_t)get(c, 1);
            hop->icmp_code = (uint8_t)get(c, 1);
        } else if (i == H_REPLY_TTL) {
            hop->reply_ttl = (uint8_t)get(c, 1);
        } else if (i == H_REPLY_SIZE) {
            hop->reply_size = (uint16_t)get(c, 2);
        } else if (i == H_REPLY_ID) {
            hop->reply_id = (uint16_t)get(c, 2);
        } else if (i == H_REPLY_TOS) {
            hop->reply_tos = (uint8_t)get(c, 1);
        } else if (i == H_EXTENSION) {
            skip_bytes(c, get(c, 2));
        } else if (i == H_ADDR) {
            hop->addr = get_address(c);
        } else {
            skip_bytes(c, hop_fields[i]);
        }
    }
    leave_record(c, &r);
}

static ss_took get_trace(cursor *c, ss_trace *t)
{
    get_trace_fields(c, t);
    uint32_t n = get(c, 2);
    if (!c->wrong && n > SS_MAX_REPLIES)
        return SS_TOOK_LONG;
    for (uint32_t i = 0; i < n && !c->wrong; i++) {
        ss_hop hop;
        get_hop(c, &hop);
        if (!c->wrong && hop.ttl && !ss_addr_none(hop.addr))
            ss_trace_add(t, &hop);
    }
    return ss_addr_none(t->dst) ? SS_TOOK_BAD : SS_TOOK_TRACE;
}

/* --- traces along several paths ------------------------------------------- */

enum {
    ADDRESS = 0,     /* the length of a field with an address, */
    EXTENSION = 255, /* and of one with a length of its own */
    MAX_FIELDS = 24
};

/* Lengths of the fields of each record, up to the last one that we need. */
static const uint8_t tracelb_fields[] = {
    [1] = 4,  [2] = 4,  [3] = 4,        [4] = 4,       [5] = 8,  [6] = 2,
    [7] = 2,  [8] = 2,  [9] = 1,        [10] = 1,      [11] = 1, [12] = 1,
    [13] = 1, [14] = 1, [15] = 1,       [16] = 2,      [17] = 2, [18] = 4,
    [19] = 4, [20] = 1, [21] = ADDRESS, [22] = ADDRESS};
enum {
    LB_START = 5,
    LB_PROBE_SIZE = 8,
    LB_FIRST = 10,
    LB_NODES = 16,
    LB_LINKS,
    LB_SRC = 21,
    LB_DST
};

static const uint8_t node_fields[] = {
    [1] = 4, [2] = 1, [3] = 2, [4] = 1, [5] = ADDRESS};
enum { NODE_ADDR = 5 };

static const uint8_t link_fields[] = {[1] = 2, [2] = 2, [3] = 1};
enum { LINK_FROM = 1, LINK_SETS = 3 };

static const uint8_t set_fields[] = {[1] = 2};
enum { SET_PROBES = 1 };

static const uint8_t probe_fields[] = {
    [1] = 8, [2] = 2, [3] = 1, [4] = 1, [5] = 2};
enum { PROBE_TIME = 1, PROBE_TTL = 3, PROBE_ATTEMPT, PROBE_REPLIES };

static const uint8_t reply_fields[] = {
    [1] = 8,         [2] = 2, [3] = 1, [4] = 1,  [5] = 2,       [6] = 1,
    [7] = EXTENSION, [8] = 1, [9] = 1, [10] = 4, [11] = ADDRESS};
enum { REPLY_TIME = 1, REPLY_ID, REPLY_TTL, REPLY_ICMP = 5, REPLY_FROM = 11 };

/* The fields of a record; 0 for those that are absent. */
typedef struct values {
    uint64_t n[MAX_FIELDS];
    ss_addr address[MAX_FIELDS];
} values;

/* Reads a record of `count` - 1 known fields. */
static void get_values(cursor *c, const uint8_t *lengths, size_t count,
                       values *v)
{
    record r = get_record(c);

    memset(v, 0, sizeof *v);
    for (unsigned i = 1; i < count && !c->wrong; i++) {
        if (!has(&r, i))
            continue;
        if (lengths[i] == ADDRESS)
            v->address[i] = get_address(c);
        else if (lengths[i] == EXTENSION)
            skip_bytes(c, get(c, 2));
        else if (lengths[i] == 8) /* seconds and microseconds */
            v->n[i] = UINT64_C(1000000) * get(c, 4) + get_microseconds(c);
        else
            v->n[i] = get(c, lengths[i]);
    }
    leave_record(c, &r);
}

/* Reads a probe of a link from that node, and adds its replies. Returns false
 * if there are too many. */
static bool get_probe(cursor *c, ss_trace_buffer *buffer, ss_addr from,
                      unsigned distance)
{
    values probe, reply;
    bool fine = true;

    get_values(c, probe_fields, UM_COUNT(probe_fields), &probe);
    for (uint64_t i = 0; i < probe.n[PROBE_REPLIES] && !c->wrong; i++) {
        get_values(c, reply_fields, UM_COUNT(reply_fields), &reply);
        uint64_t rtt = reply.n[REPLY_TIME] - probe.n[PROBE_TIME];
        ss_hop hop = {.addr = reply.address[REPLY_FROM],
                      .rtt = rtt <= UINT32_MAX ? (uint32_t)rtt : 0,
                      .ttl = (uint8_t)probe.n[PROBE_TTL],
                      .attempt = (uint8_t)probe.n[PROBE_ATTEMPT],
                      .icmp_type = (uint8_t)(reply.n[REPLY_ICMP] >> 8),
                      .icmp_code = (uint8_t)reply.n[REPLY_ICMP],
                      .reply_ttl = (uint8_t)reply.n[REPLY_TTL],
                      .reply_id = (uint16_t)reply.n[REPLY_ID]};
        if (!c->wrong && hop.ttl && !ss_addr_none(hop.addr))
            fine &= ss_paths_add(buffer, &hop, from, distance);
    }
    return fine;
}

static bool get_link(cursor *c, ss_trace_buffer *buffer, uint64_t nodes)
{
    values link, set;
    bool fine = true;

    get_values(c, link_fields, UM_COUNT(link_fields), &link);
    if (!c->wrong && link.n[LINK_FROM] >= nodes)
        go_wrong(c, "a link from a node that was not written");
    for (uint64_t i = 0; i < link.n[LINK_SETS] && !c->wrong; i++) {
        get_values(c, set_fields, UM_COUNT(set_fields), &set);
        for (uint64_t j = 0; j < set.n[SET_PROBES] && !c->wrong; j++)
            fine &= get_probe(c, buffer, buffer->node[link.n[LINK_FROM]],
                              (unsigned)i + 1);
    }
    return fine;
}

static ss_took get_tracelb(cursor *c, ss_trace_buffer *buffer)
{
    ss_trace *t = &buffer->trace;
    values trace, node;
    bool fine = true;

    get_values(c, tracelb_fields, UM_COUNT(tracelb_fields), &trace);
    uint64_t nodes = trace.n[LB_NODES];
    if (!c->wrong && nodes > SS_MAX_REPLIES)
        return SS_TOOK_LONG;
    t->start = trace.n[LB_START] / 1000000;
    t->start_us = (uint32_t)(trace.n[LB_START] % 1000000);
    t->probe_size = (uint16_t)trace.n[LB_PROBE_SIZE];
    t->src = t->monitor = trace.address[LB_SRC];
    t->dst = trace.address[LB_DST];
    unsigned first = trace.n[LB_FIRST] ? (unsigned)trace.n[LB_FIRST] : 1;
    ss_trace_probed(t, first, first);
    for (uint64_t i = 0; i < nodes && !c->wrong; i++) {
        get_values(c, node_fields, UM_COUNT(node_fields), &node);
        buffer->node[i] = node.address[NODE_ADDR];
    }
    for (uint64_t i = 0; i < trace.n[LB_LINKS] && !c->wrong; i++)
        fine &= get_link(c, buffer, nodes);
    if (c->wrong)
        return SS_TOOK_BAD;
    if (nodes)
        fine &= ss_paths_end(buffer, buffer->node[0]);
    if (!fine)
        return SS_TOOK_LONG;
    return ss_addr_none(t->dst) ? SS_TOOK_BAD : SS_TOOK_TRACE;
}

/* --- objects -------------------------------------------------------------- */

static uint32_t load(const uint8_t *bytes, size_t len)
{
    uint32_t x = 0;

    for (size_t i = 0; i < len; i++)
        x = x << 8 | bytes[i];
    return x;
}

static umbel_status parse_trace(uint32_t type, const uint8_t *bytes, size_t len,
                                size_t *used, ss_trace_buffer *buffer,
                                ss_took *took, umbel_error *err)
{
    cursor c = {.start = bytes,
                .at = bytes,
                .end = bytes + len,
                .address = buffer->address};

    ss_trace *t = ss_trace_begin(buffer);
    *took = type == TRACE_OBJECT ? get_trace(&c, t) : get_tracelb(&c, buffer);
    *used = HEAD + len;
    if (!c.wrong)
        return UMBEL_OK;
    *used = HEAD + (size_t)(c.at - c.start);
    return um_fail(err, UMBEL_E_FORMAT, "%s", c.wrong);
}

/* Parses an object. Objects that are not traces are skipped, and need not fit
 * into memory. */
static umbel_status parse_warts(ss_format_state *state, const uint8_t *bytes,
                                size_t len, size_t *used,
                                ss_trace_buffer *buffer, ss_took *took,
                                umbel_error *err)
{
    *used = 0;
    *took = SS_NEED_MORE;
    if (state->skip) {
        *used = state->skip < len ? (size_t)state->skip : len;
        state->skip -= *used;
        *took = SS_TOOK_NONE;
        return UMBEL_OK;
    }
    if (len >= 2 && load(bytes, 2) != MAGIC)
        return um_fail(err, UMBEL_E_FORMAT, "no warts object begins here");
    if (len < HEAD)
        return UMBEL_OK;
    uint32_t length = load(bytes + 4, 4), type = load(bytes + 2, 2);
    if (type != TRACE_OBJECT && type != TRACELB_OBJECT) {
        state->skip = length;
        *used = HEAD;
        *took = SS_TOOK_OTHER;
        return UMBEL_OK;
    }
    if (length > MAX_OBJECT)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a trace of %u bytes; at most %u are read", length,
                       (unsigned)MAX_OBJECT);
    if (len - HEAD < length)
        return UMBEL_OK;
    return parse_trace(type, bytes + HEAD, length, used, buffer, took, err);
}

static bool begins_warts(const uint8_t *bytes, size_t len)
{
    return len >= 2 && load(bytes, 2) == MAGIC;
}

const ss_format ss_format_warts = {
    .name = "warts", .begins = begins_warts, .take = parse_warts};

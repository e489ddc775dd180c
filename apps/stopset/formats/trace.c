/*
 * trace.c - traced routes, their addresses, and where a trace stops.
 */
#include "stopset/formats/trace.h"

#include "base/bits.h"
#include "base/decimal.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- IPv4 and IPv6 addresses, and their prefixes ------------------------- */

/*
 * IPv4 has its own code: millions of addresses are parsed and printed, and
 * inet_pton takes five times as long.
 */

static uint64_t load_be(const uint8_t *bytes, size_t len)
{
    uint64_t x = 0;

    for (size_t i = 0; i < len; i++)
        x = x << 8 | bytes[i];
    return x;
}

ss_addr ss_addr_from_bytes(const uint8_t *bytes, size_t len)
{
    if (len == 4)
        return ss_addr_v4((uint32_t)load_be(bytes, 4));
    return (ss_addr){load_be(bytes, 8), load_be(bytes + 8, 8)};
}

void ss_addr_to_bytes(ss_addr a, uint8_t out[16])
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(a.hi >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(a.lo >> (56 - 8 * i));
    }
}

/* Returns a word with only its first bits, 0 to 64 of them, retained. */
static uint64_t first_bits(uint64_t word, unsigned bits)
{
    return bits == 0 ? 0 : bits >= 64 ? word : word & ~(UINT64_MAX >> bits);
}

ss_addr ss_addr_mask(ss_addr a, ss_prefix_len len)
{
    unsigned bits = ss_addr_is_v4(a) ? 96u + len.v4 : len.v6;

    a.hi = first_bits(a.hi, bits);
    a.lo = first_bits(a.lo, bits > 64 ? bits - 64 : 0);
    return a;
}

/* Parses a number of one to three digits, at most 255. Returns its end, or
 * NULL. */
static const char *parse_part(const char *at, const char *end, uint32_t *out)
{
    uint64_t part;
    size_t digits =
        um_decimal_scan(at, end - at < 3 ? (size_t)(end - at) : 3, &part);

    *out = (uint32_t)part;
    return digits == 0 || part > 255 ? NULL : at + digits;
}

static bool parse_v4(const char *text, size_t len, ss_addr *out)
{
    const char *end = text + len;
    uint32_t address = 0, part;

    for (unsigned i = 0; i < 4; i++) {
        if (i && (text == end || *text++ != '.'))
            return false;
        text = parse_part(text, end, &part);
        if (!text)
            return false;
        address = address << 8 | part;
    }
    *out = ss_addr_v4(address);
    return text == end;
}

bool ss_addr_parse(const char *text, size_t len, ss_addr *out)
{
    char copy[SS_ADDR_TEXT];
    uint8_t bytes[16];

    if (parse_v4(text, len, out))
        return true;
    if (len >= sizeof copy || memchr(text, '\0', len))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (inet_pton(AF_INET6, copy, bytes) != 1)
        return false;
    *out = ss_addr_from_bytes(bytes, sizeof bytes);
    return true;
}

static char *write_part(char *at, unsigned x)
{
    if (x >= 100)
        *at++ = (char)('0' + x / 100);
    if (x >= 10)
        *at++ = (char)('0' + x / 10 % 10);
    *at++ = (char)('0' + x % 10);
    return at;
}

size_t ss_addr_format(ss_addr a, char *out)
{
    char *at = out;

    if (!ss_addr_is_v4(a)) {
        uint8_t bytes[16];
        for (size_t i = 0; i < 8; i++) {
            bytes[i] = (uint8_t)(a.hi >> (56 - 8 * i));
            bytes[8 + i] = (uint8_t)(a.lo >> (56 - 8 * i));
        }
        inet_ntop(AF_INET6, bytes, out, SS_ADDR_TEXT);
        return strlen(out);
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        at = write_part(at, (unsigned)(a.lo >> shift) & 255);
        *at++ = shift ? '.' : '\0';
    }
    return (size_t)(at - out) - 1;
}

static const uint64_t DISCARD = UINT64_C(1) << 56; /* 100:: */
static const char PROBE[] = "probe-";

ss_addr ss_monitor_probe(uint64_t number)
{
    return (ss_addr){DISCARD, number};
}

bool ss_monitor_parse(const char *text, size_t len, ss_addr *out)
{
    const size_t head = sizeof PROBE - 1;
    uint64_t number = 0;

    if (len <= head || memcmp(text, PROBE, head) != 0)
        return ss_addr_parse(text, len, out);
    if (!um_decimal_read(text + head, len - head, UINT64_MAX, &number))
        return false;
    *out = ss_monitor_probe(number);
    return true;
}

size_t ss_monitor_format(ss_addr monitor, char *out)
{
    if (monitor.hi != DISCARD)
        return ss_addr_format(monitor, out);
    return (size_t)snprintf(out, SS_ADDR_TEXT, "%s%" PRIu64, PROBE, monitor.lo);
}

int ss_addr_compare(const void *a, const void *b)
{
    const ss_addr *x = a, *y = b;
    bool x4 = ss_addr_is_v4(*x), y4 = ss_addr_is_v4(*y);

    if (x4 != y4)
        return x4 ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

/* --- traces --------------------------------------------------------------- */

#define SS_STOP_NAME(name) #name,
static const char *const stop_names[] = {SS_STOP_LIST(SS_STOP_NAME)};

const char *ss_stop_name(ss_stop stop)
{
    return stop_names[stop];
}

ss_stop ss_stop_find(const char *name, size_t len)
{
    for (size_t i = 0; i < SS_STOPS; i++)
        if (strlen(stop_names[i]) == len &&
            memcmp(stop_names[i], name, len) == 0)
            return (ss_stop)i;
    return SS_STOP_OTHER;
}

ss_trace *ss_trace_begin(ss_trace_buffer *buffer)
{
    buffer->trace = (ss_trace){.hop = buffer->hop};
    return &buffer->trace;
}

void ss_trace_probed(ss_trace *t, unsigned from, unsigned to)
{
    if (from > to || to > SS_MAX_TTL)
        return;
    for (unsigned ttl = from; ttl <= to; ttl++)
        um_set_bit(t->probed, ttl);
    if (t->first == 0 || from < t->first)
        t->first = (uint8_t)from;
    if (to > t->last)
        t->last = (uint8_t)to;
}

bool ss_trace_add(ss_trace *t, const ss_hop *hop)
{
    if (t->nhops == SS_MAX_REPLIES)
        return false;
    t->hop[t->nhops++] = *hop;
    if (!um_bit(t->probed, hop->ttl))
        ss_trace_probed(t, hop->ttl, hop->ttl);
    return true;
}

static bool add_after(ss_trace_buffer *buffer, const ss_hop *hop, ss_addr from)
{
    size_t n = buffer->trace.nhops;

    if (!ss_trace_add(&buffer->trace, hop))
        return false;
    buffer->from[n] = from;
    return true;
}

static bool add_first(ss_trace_buffer *buffer, ss_addr first, unsigned ttl)
{
    ss_hop hop = {.addr = first, .ttl = (uint8_t)ttl};

    return ss_addr_none(first) || ttl < 1 || ttl > SS_MAX_TTL ||
           add_after(buffer, &hop, (ss_addr){0, 0});
}

bool ss_paths_add(ss_trace_buffer *buffer, const ss_hop *hop, ss_addr from,
                  unsigned distance)
{
    const ss_trace *t = &buffer->trace;

    if (t->nhops == 0 && hop->ttl > distance &&
        !add_first(buffer, from, hop->ttl - distance))
        return false;
    /* Mostly a node answers several probes of the same kind. */
    if (t->nhops && t->hop[t->nhops - 1].ttl == hop->ttl &&
        ss_addr_equal(t->hop[t->nhops - 1].addr, hop->addr) &&
        ss_addr_equal(buffer->from[t->nhops - 1], from))
        return true;
    return add_after(buffer, hop, from);
}

/* Marks everything as aside but a path that ends with hop `at`. */
static void choose_path(ss_trace_buffer *buffer, size_t at)
{
    ss_trace *t = &buffer->trace;

    for (size_t i = 0; i < t->nhops; i++)
        t->hop[i].aside = true;
    for (size_t next; at < t->nhops; at = next) {
        t->hop[at].aside = false;
        next = t->nhops;
        for (size_t i = 0; i < t->nhops; i++)
            if (t->hop[i].ttl < t->hop[at].ttl &&
                ss_addr_equal(t->hop[i].addr, buffer->from[at]) &&
                (next == t->nhops || t->hop[i].ttl > t->hop[next].ttl))
                next = i;
    }
}

static bool leads_to_destination(const ss_trace_buffer *buffer, ss_addr node)
{
    const ss_trace *t = &buffer->trace;

    for (size_t i = 0; i < t->nhops; i++)
        if (ss_addr_equal(buffer->from[i], node) &&
            ss_addr_equal(t->hop[i].addr, t->dst))
            return true;
    return false;
}

bool ss_paths_end(ss_trace_buffer *buffer, ss_addr first)
{
    ss_trace *t = &buffer->trace;
    size_t end = 0, kept = 0;

    if (t->nhops == 0 && !add_first(buffer, first, t->first))
        return false;
    uint8_t reached = ss_trace_reached(t);
    for (size_t i = 0; i < t->nhops; i++)
        if (reached ? t->hop[i].ttl == reached &&
                          ss_addr_equal(t->hop[i].addr, t->dst)
                    : t->hop[i].ttl > t->hop[end].ttl)
            end = i;
    choose_path(buffer, end);
    if (t->nhops)
        ss_trace_probed(t, t->first, t->last);
    if (!reached)
        return true;
    t->stop = SS_STOP_COMPLETED;
    for (size_t i = 0; i < t->nhops; i++) {
        const ss_hop *h = &t->hop[i];
        if (h->aside && h->ttl == reached - 1 &&
            !leads_to_destination(buffer, h->addr))
            continue;
        buffer->from[kept] = buffer->from[i];
        t->hop[kept++] = *h;
    }
    t->nhops = kept;
    return true;
}

uint8_t ss_trace_reached(const ss_trace *t)
{
    unsigned least = SS_MAX_TTL + 1;

    for (size_t i = 0; i < t->nhops; i++)
        if (t->hop[i].ttl < least && ss_addr_equal(t->hop[i].addr, t->dst))
            least = t->hop[i].ttl;
    return least > SS_MAX_TTL ? 0 : (uint8_t)least;
}

/* --- where a trace continues, and where it stops -------------------------- */

static uint8_t first_ttl(const ss_policy *p)
{
    return p->first ? p->first : 1;
}

static uint8_t last_ttl(const ss_policy *p)
{
    return p->max_ttl ? p->max_ttl : SS_MAX_TTL;
}

void ss_walk_begin(ss_walk *w, const ss_policy *policy)
{
    *w = (ss_walk){.policy = *policy, .ttl = first_ttl(policy)};
}

static void turn_back(ss_walk *w)
{
    uint8_t first = first_ttl(&w->policy);

    w->back = true;
    w->ttl = w->policy.backwards ? (uint8_t)(first - 1) : 0;
}

/* Decides whether a trace stops, going forwards. The order matters: a
 * destination is reached whatever the sets contain, and the red set comes
 * before the global one, which would also skip the hops behind. */
static ss_stop forward_stop(const ss_walk *w, const ss_reply *r)
{
    if (r->destination)
        return SS_STOP_COMPLETED;
    if (r->red)
        return SS_STOP_RED;
    if (r->global)
        return SS_STOP_GSS;
    if (r->unreachable)
        return SS_STOP_UNREACH;
    if (r->seen)
        return SS_STOP_LOOP;
    if (w->policy.gap_limit && w->gap >= w->policy.gap_limit)
        return SS_STOP_GAPLIMIT;
    return w->ttl >= last_ttl(&w->policy) ? SS_STOP_HOPLIMIT : SS_STOP_NONE;
}

static void apply_forwards(ss_walk *w, const ss_reply *r)
{
    w->gap = r->silent ? (uint8_t)(w->gap + 1) : 0;
    w->stop = forward_stop(w, r);
    w->at = w->ttl;
    if (w->stop == SS_STOP_NONE)
        w->ttl++;
    else
        turn_back(w);
}

/* Applies a reply, going backwards. If the first probe reached the destination,
 * earlier ones may do so, too. */
static void apply_backwards(ss_walk *w, const ss_reply *r)
{
    if (r->destination) {
        w->stop = SS_STOP_COMPLETED;
        w->at = w->ttl;
    }
    if (r->local && !r->destination)
        w->back_at = w->ttl;
    w->ttl = w->back_at ? 0 : (uint8_t)(w->ttl - 1);
}

void ss_walk_apply(ss_walk *w, const ss_reply *reply)
{
    if (w->ttl == 0)
        return;
    if (w->back)
        apply_backwards(w, reply);
    else
        apply_forwards(w, reply);
}

/*
 * trace_json.c - traces in JSON: a reader of JSON in memory, and the traces of
 * scamper and RIPE Atlas.
 */
#include "base/bits.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "stopset/formats/format.h"
#include "stopset/formats/internal.h"

#include <string.h>

/* --- a reader of JSON in memory ------------------------------------------ */

/*
 * Most of a RIPE Atlas result is skipped without parsing: brackets are counted,
 * and strings are scanned eight bytes at a time. Skipped parts need not be
 * valid beyond that.
 */

static void go_wrong(ss_json *j, const char *what)
{
    if (!ss_json_bad(j))
        j->wrong = what;
}

const char SS_JSON_CUT[] = "the bytes end inside a value";

static void run_out(ss_json *j)
{
    go_wrong(j, SS_JSON_CUT);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

uint8_t ss_json_peek_slowly(ss_json *j)
{
    while (j->at < j->end && is_blank(*j->at))
        j->at++;
    if (j->at == j->end)
        run_out(j);
    return ss_json_bad(j) ? 0 : *j->at;
}

/* Returns the index of the first quote or backslash in eight bytes; 8 if there
 * is none. */
static size_t find_end(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t quote = bytes ^ ones * '"', slash = bytes ^ ones * '\\';
    uint64_t found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash);

    found &= high;
    return found ? (size_t)__builtin_ctzll(found) / 8 : 8;
}

/* Returns the first quote or backslash from at on, or NULL. */
static const uint8_t *find_quote(const uint8_t *at, const uint8_t *end)
{
    for (; end - at >= 8; at += 8) {
        size_t i = find_end(um_load64(at));
        if (i < 8)
            return at + i;
    }
    for (; at < end; at++)
        if (*at == '"' || *at == '\\')
            return at;
    return NULL;
}

/* Parses a string; j is at its first quote. */
static inline ss_json_text parse_string(ss_json *j)
{
    ss_json_text text = {(const char *)j->at + 1, 0, false};
    const uint8_t *at = find_quote(j->at + 1, j->end);

    while (at && *at == '\\') {
        text.escaped = true;
        at = j->end - at < 2 ? NULL : find_quote(at + 2, j->end);
    }
    if (!at) {
        run_out(j);
        return (ss_json_text){"", 0, false};
    }
    text.len = (size_t)((const char *)at - text.at);
    j->at = at + 1;
    return text;
}

static bool enter(ss_json *j, uint8_t bracket)
{
    if (ss_json_peek(j) != bracket) {
        go_wrong(j, bracket == '{' ? "an object should begin here"
                                   : "an array should begin here");
        return false;
    }
    if (++j->depth > SS_JSON_DEPTH) {
        go_wrong(j, "values lie too deep inside each other");
        return false;
    }
    j->at++;
    return true;
}

/* Advances to the next item of an object or array; false at its end. */
static bool next_item(ss_json *j, bool *first, uint8_t open, uint8_t close)
{
    if (ss_json_bad(j) || (*first && !enter(j, open)))
        return false;
    uint8_t c = ss_json_peek(j);
    if (c == close) {
        j->at++;
        j->depth--;
        return false;
    }
    if (!*first) {
        if (c != ',')
            go_wrong(j, "a comma or closing bracket should stand here");
        else
            j->at++;
    }
    *first = false;
    return ss_json_peek(j) != 0;
}

/* Advances to the next member of an object. Mostly a comma and a quote come
 * next. */
static bool next_member(ss_json *j, bool *first)
{
    if (!*first && j->end - j->at >= 2 && j->at[0] == ',' && j->at[1] == '"' &&
        !ss_json_bad(j)) {
        j->at++;
        return true;
    }
    if (!next_item(j, first, '{', '}'))
        return false;
    if (*j->at != '"')
        go_wrong(j, "a name in quotes should stand here");
    return !ss_json_bad(j);
}

bool ss_json_member(ss_json *j, bool *first, ss_json_text *key)
{
    if (!next_member(j, first))
        return false;
    *key = parse_string(j);
    if (ss_json_peek(j) != ':') {
        go_wrong(j, "a colon should stand here");
        return false;
    }
    j->at++;
    return true;
}

bool ss_json_element(ss_json *j, bool *first)
{
    if (!*first && j->end - j->at >= 2 && j->at[0] == ',' && j->at[1] == '{' &&
        !ss_json_bad(j)) { /* the usual case */
        j->at++;
        return true;
    }
    return next_item(j, first, '[', ']');
}

/* What a byte means: it changes the depth, or begins a string. */
enum { PLAIN, OPEN, CLOSE, QUOTE };
static const uint8_t nesting[256] = {
    ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE, ['"'] = QUOTE};

/* Skips an object or array: brackets must be balanced, whatever their kind. at
 * is a local copy, because otherwise the compiler must assume that a byte
 * aliases *j. */
static void skip_nested(ss_json *j)
{
    const uint8_t *at = j->at, *end = j->end;
    unsigned depth = 0;

    while (at < end) {
        uint8_t what = nesting[*at++];
        if (what == PLAIN)
            continue;
        if (what == QUOTE) {
            while ((at = find_quote(at, end)) && *at == '\\')
                at = end - at < 2 ? end : at + 2;
            if (!at)
                break;
            at++;
        } else if (what == OPEN) {
            if (++depth + j->depth > SS_JSON_DEPTH) {
                j->at = at;
                go_wrong(j, "values lie too deep inside each other");
                return;
            }
        } else if (--depth == 0) {
            j->at = at;
            return;
        }
    }
    run_out(j);
}

static const bool ends_word[256] = {
    [' '] = true, ['\n'] = true, ['\r'] = true, ['\t'] = true,
    [','] = true, ['}'] = true,  [']'] = true};

static bool begins_word(uint8_t c)
{
    return c == '-' || (c >= '0' && c <= '9') || c == 't' || c == 'f' ||
           c == 'n';
}

/* Parses a number, true, false or null. */
static ss_json_text parse_word(ss_json *j)
{
    const uint8_t *start = j->at, *at = start, *end = j->end;

    while (at < end && !ends_word[*at])
        at++;
    if (at == end)
        run_out(j);
    else if (!begins_word(*start))
        go_wrong(j, "a value should stand here");
    else
        j->at = at;
    return (ss_json_text){(const char *)start, (size_t)(at - start), false};
}

void ss_json_skip(ss_json *j)
{
    uint8_t c = ss_json_peek(j);

    if (c == '"')
        parse_string(j);
    else if (c == '{' || c == '[')
        skip_nested(j);
    else if (!ss_json_bad(j))
        parse_word(j);
}

ss_json_text ss_json_string(ss_json *j)
{
    if (ss_json_peek(j) == '"')
        return parse_string(j);
    ss_json_skip(j);
    return (ss_json_text){"", 0, false};
}

static bool is_number_next(ss_json *j)
{
    uint8_t c = ss_json_peek(j);

    return c == '-' || (c >= '0' && c <= '9');
}

uint64_t ss_json_whole(ss_json *j)
{
    uint64_t x = 0;

    if (!is_number_next(j)) {
        ss_json_skip(j);
        return 0;
    }
    ss_json_text word = parse_word(j);
    um_decimal_scan(word.at, word.len, &x);
    return x;
}

uint64_t ss_json_thousandths(ss_json *j)
{
    const uint8_t *start = (ss_json_peek(j), j->at), *at = start;
    uint64_t x = 0;
    unsigned places = 0; /* digits after the decimal point that count */

    for (; at < j->end && *at >= '0' && *at <= '9' && at - start < 15; at++)
        x = x * 10 + (uint64_t)(*at - '0');
    if (at < j->end && *at == '.') {
        for (at++; at < j->end && *at >= '0' && *at <= '9'; at++, places++)
            if (places < 3)
                x = x * 10 + (uint64_t)(*at - '0');
            else if (places == 3)
                x += *at >= '5';
    }
    if (at == start || at == j->end || !ends_word[*at]) { /* something else */
        ss_json_skip(j);
        return 0;
    }
    j->at = at;
    for (; places < 3; places++)
        x *= 10;
    return x;
}

/* --- escapes -------------------------------------------------------------- */

/* Returns the value of four hexadecimal digits, or -1. */
static int hex4(const char *at, size_t left)
{
    int x = 0;

    for (size_t i = 0; i < 4; i++) {
        int digit = i < left ? um_hex_value((uint8_t)at[i]) : -1;
        if (digit < 0)
            return -1;
        x = x * 16 + digit;
    }
    return x;
}

/*
 * Returns the character that an escape stands for if it is ASCII, otherwise
 * '?'; sets *len to its length. No name or address that we look for contains
 * other characters.
 */
static char unescape(const char *at, size_t left, size_t *len)
{
    static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";

    *len = left < 2 ? left : 2;
    if (left < 2)
        return '?';
    if (at[1] == 'u') {
        int x = hex4(at + 2, left - 2);
        *len = x < 0 ? 2 : 6;
        if (x >= 0 && x < 128)
            return (char)x;
        return '?';
    }
    const char *found = at[1] ? strchr(plain, at[1]) : NULL;
    if (found)
        return means[found - plain];
    return '?';
}

size_t ss_json_copy(const ss_json_text *text, char *out, size_t cap)
{
    size_t n = 0, step = 1;

    for (size_t i = 0; i < text->len; i += step) {
        char c = text->at[i];
        step = 1;
        if (c == '\\')
            c = unescape(text->at + i, text->len - i, &step);
        if (n == cap)
            return cap;
        out[n++] = c;
    }
    return n;
}

bool ss_json_is_escaped(const ss_json_text *text, const char *name, size_t len)
{
    char copy[32];

    return len < sizeof copy && ss_json_copy(text, copy, sizeof copy) == len &&
           memcmp(copy, name, len) == 0;
}

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
    ss_json_text type;
    ss_addr src, from;    /* Atlas: the probe's local and public address */
    uint64_t first, hops; /* scamper: the range of TTLs that were probed */
    ss_trace_buffer *buffer;
    ss_addr node, first_node; /* tracelb: the current node; the first one */
    unsigned distance;        /* of the current reply from that node */
    ss_hop hop;               /* the current reply or Atlas hop */
    ss_json_text last_text;   /* the last address, as text and parsed */
    ss_addr last;
    bool late;
    bool too_long;
} draft;

/* The name of a member, and the function that reads its value. Tables end with
 * a NULL name. */
typedef struct field {
    const char *name;
    size_t len;
    void (*read)(ss_json *j, draft *d);
} field;

#define FIELD(name, read)                                                      \
    {                                                                          \
        name, sizeof name - 1, read                                            \
    }
#define FIELDS_END                                                             \
    {                                                                          \
        NULL, 0, NULL                                                          \
    }

static void read_member(ss_json *j, const field *f, const ss_json_text *key,
                        draft *d)
{
    while (f->name && !ss_json_is(key, f->name, f->len))
        f++;
    if (f->name)
        f->read(j, d);
    else
        ss_json_skip(j);
}

/* Reads an object. Skips any other value: the type of measurement may only be
 * known later. */
static void read_object(ss_json *j, const field *fields, draft *d)
{
    ss_json_text key;

    if (ss_json_peek(j) != '{') {
        ss_json_skip(j);
        return;
    }
    for (bool first = true; ss_json_member(j, &first, &key);)
        read_member(j, fields, &key, d);
}

/* Returns true if an array begins here; otherwise skips the value. */
static bool array_begins(ss_json *j)
{
    if (ss_json_peek(j) == '[')
        return true;
    ss_json_skip(j);
    return false;
}

static ss_addr parse_address(ss_json_text text)
{
    char copy[SS_ADDR_TEXT];
    ss_addr a = {0};

    if (text.escaped) {
        size_t len = ss_json_copy(&text, copy, sizeof copy);
        text = (ss_json_text){copy, len, false};
    }
    return ss_addr_parse(text.at, text.len, &a) ? a : (ss_addr){0};
}

/* Reads an address. Replies of one hop mostly come from the same address, which
 * is parsed once. The comparison includes both quotes. */
static ss_addr read_address(ss_json *j, draft *d)
{
    const ss_json_text *last = &d->last_text;

    if (last->len && ss_json_begins(j, last->at - 1, last->len + 2)) {
        j->at += last->len + 2;
        return d->last;
    }
    d->last_text = ss_json_string(j);
    d->last = parse_address(d->last_text);
    return d->last;
}

static uint8_t read_byte(ss_json *j)
{
    uint64_t x = ss_json_whole(j);

    return x <= UINT8_MAX ? (uint8_t)x : 0;
}

static uint16_t read_u16(ss_json *j)
{
    uint64_t x = ss_json_whole(j);

    return x <= UINT16_MAX ? (uint16_t)x : 0;
}

static uint32_t read_rtt(ss_json *j)
{
    uint64_t us = ss_json_thousandths(j);

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

static void read_hop_addr(ss_json *j, draft *d)
{
    d->hop.addr = read_address(j, d);
}

static void read_probe_ttl(ss_json *j, draft *d)
{
    d->hop.ttl = read_byte(j);
}

static void read_probe_id(ss_json *j, draft *d)
{
    uint64_t id = ss_json_whole(j); /* from 1; 0 if the file has none */

    d->hop.attempt = id && id - 1 <= UINT8_MAX ? (uint8_t)(id - 1) : 0;
}

static void read_icmp_type(ss_json *j, draft *d)
{
    d->hop.icmp_type = read_byte(j);
}

static void read_icmp_code(ss_json *j, draft *d)
{
    d->hop.icmp_code = read_byte(j);
}

static void read_hop_rtt(ss_json *j, draft *d)
{
    d->hop.rtt = read_rtt(j);
}

static void read_reply_ttl(ss_json *j, draft *d)
{
    d->hop.reply_ttl = read_byte(j);
}

static void read_reply_tos(ss_json *j, draft *d)
{
    d->hop.reply_tos = read_byte(j);
}

static void read_reply_id(ss_json *j, draft *d)
{
    d->hop.reply_id = read_u16(j);
}

static void read_reply_size(ss_json *j, draft *d)
{
    d->hop.reply_size = read_u16(j);
}

static void read_hops(ss_json *j, draft *d)
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
    for (bool first = true; ss_json_element(j, &first);) {
        d->hop = (ss_hop){0};
        d->late = false;
        read_object(j, fields, d);
        if (!ss_json_bad(j))
            add_hop(d);
    }
}

static void read_start_sec(ss_json *j, draft *d)
{
    d->trace->start = ss_json_whole(j);
}

static void read_start_usec(ss_json *j, draft *d)
{
    uint64_t us = ss_json_whole(j);

    d->trace->start_us = us < 1000000 ? (uint32_t)us : 0;
}

static void read_start(ss_json *j, draft *d)
{
    static const field fields[] = {FIELD("sec", read_start_sec),
                                   FIELD("usec", read_start_usec), FIELDS_END};

    read_object(j, fields, d);
}

static void read_stop_reason(ss_json *j, draft *d)
{
    ss_json_text name = ss_json_string(j);

    d->trace->stop = ss_stop_find(name.at, name.len);
}

static void read_firsthop(ss_json *j, draft *d)
{
    d->first = ss_json_whole(j);
}

static void read_probe_size(ss_json *j, draft *d)
{
    d->trace->probe_size = read_u16(j);
}

static void read_hop_count(ss_json *j, draft *d)
{
    d->hops = ss_json_whole(j);
}

static void read_src(ss_json *j, draft *d)
{
    d->src = read_address(j, d);
}

static void read_dst(ss_json *j, draft *d)
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

static void read_lb_reply(ss_json *j, draft *d)
{
    static const field fields[] = {
        FIELD("ttl", read_reply_ttl),       FIELD("rtt", read_hop_rtt),
        FIELD("ipid", read_reply_id),       FIELD("icmp_type", read_icmp_type),
        FIELD("icmp_code", read_icmp_code), FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; ss_json_element(j, &first);) {
        d->hop = (ss_hop){
            .addr = d->hop.addr, .ttl = d->hop.ttl, .attempt = d->hop.attempt};
        read_object(j, fields, d);
        if (!ss_json_bad(j) && d->hop.ttl && !ss_addr_none(d->hop.addr))
            d->too_long |=
                !ss_paths_add(d->buffer, &d->hop, d->node, d->distance);
    }
}

static void read_attempt(ss_json *j, draft *d)
{
    d->hop.attempt = read_byte(j);
}

static void read_lb_probes(ss_json *j, draft *d)
{
    static const field fields[] = {FIELD("ttl", read_probe_ttl),
                                   FIELD("attempt", read_attempt),
                                   FIELD("replies", read_lb_reply), FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; ss_json_element(j, &first);) {
        d->hop = (ss_hop){.addr = d->hop.addr};
        read_object(j, fields, d);
    }
}

static void read_lb_links(ss_json *j, draft *d)
{
    static const field fields[] = {FIELD("addr", read_hop_addr),
                                   FIELD("probes", read_lb_probes), FIELDS_END};

    if (!array_begins(j))
        return;
    d->distance = 1;
    for (bool outer = true; ss_json_element(j, &outer); d->distance++)
        if (array_begins(j))
            for (bool first = true; ss_json_element(j, &first);) {
                d->hop = (ss_hop){0};
                read_object(j, fields, d);
            }
}

static void read_node_addr(ss_json *j, draft *d)
{
    d->node = read_address(j, d);
}

static void read_nodes(ss_json *j, draft *d)
{
    static const field fields[] = {FIELD("addr", read_node_addr),
                                   FIELD("links", read_lb_links), FIELDS_END};
    bool begun = false;

    if (!array_begins(j))
        return;
    for (bool first = true; ss_json_element(j, &first); begun = true) {
        d->node = (ss_addr){0, 0};
        read_object(j, fields, d);
        if (!begun)
            d->first_node = d->node;
    }
}

/* --- RIPE Atlas ----------------------------------------------------------- */

static void read_late(ss_json *j, draft *d)
{
    ss_json_skip(j);
    d->late = true;
}

/* Skips a whole number that ends before a comma or bracket. Returns false, and
 * skips nothing, if something else comes next. */
static bool skip_digits(ss_json *j)
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
static void read_plain_members(ss_json *j, draft *d)
{
    while (!ss_json_bad(j) && j->at < j->end) {
        const uint8_t *start = j->at++;
        bool taken = false;
        if (ss_json_begins(j, "\"from\":\"", 8)) {
            j->at += 7;
            d->hop.addr = read_address(j, d);
            taken = !ss_json_bad(j);
        } else if (ss_json_begins(j, "\"rtt\":", 6)) {
            j->at += 6;
            d->hop.rtt = read_rtt(j);
            taken = !ss_json_bad(j);
        } else if (ss_json_begins(j, "\"size\":", 7)) {
            j->at += 7;
            taken = skip_digits(j);
        } else if (ss_json_begins(j, "\"ttl\":", 6)) {
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

static void read_reply(ss_json *j, const field *fields, draft *d)
{
    bool first = true;
    ss_json_text key;

    if (ss_json_peek(j) != '{') {
        ss_json_skip(j);
        return;
    }
    if (j->depth < SS_JSON_DEPTH && ss_json_begins(j, "{\"from\":\"", 9)) {
        j->depth++;
        first = false;
        read_plain_members(j, d);
    }
    while (ss_json_member(j, &first, &key)) {
        read_member(j, fields, &key, d);
        if (j->at < j->end && *j->at == ',')
            read_plain_members(j, d);
    }
}

static void read_replies(ss_json *j, draft *d)
{
    static const field fields[] = {FIELD("from", read_hop_addr),
                                   FIELD("rtt", read_hop_rtt),
                                   FIELD("late", read_late), FIELDS_END};
    uint8_t ttl = d->hop.ttl, attempt = 0;

    if (!array_begins(j))
        return;
    for (bool first = true; ss_json_element(j, &first); attempt++) {
        d->hop = (ss_hop){.ttl = ttl, .attempt = attempt};
        d->late = false;
        read_reply(j, fields, d);
        if (!ss_json_bad(j))
            add_hop(d);
    }
    d->hop.ttl = ttl;
}

/* Reads a hop, with a shortcut for the usual beginning {"hop":1,"result":[. */
static void read_atlas_hop(ss_json *j, const field *fields, draft *d)
{
    bool first = false;
    ss_json_text key;

    if (j->depth == SS_JSON_DEPTH || !ss_json_begins(j, "{\"hop\":", 7)) {
        read_object(j, fields, d);
        return;
    }
    j->depth++;
    j->at += 7;
    d->hop.ttl = read_byte(j);
    if (!ss_json_bad(j) && ss_json_begins(j, ",\"result\":[", 11)) {
        j->at += 10;
        read_replies(j, d);
    }
    while (ss_json_member(j, &first, &key))
        read_member(j, fields, &key, d);
}

/* Reads the array of hops. RIPE Atlas always sends "hop" before "result";
 * otherwise the replies have no TTL and are left out. */
static void read_result(ss_json *j, draft *d)
{
    static const field fields[] = {FIELD("hop", read_probe_ttl),
                                   FIELD("result", read_replies), FIELDS_END};

    if (!array_begins(j))
        return;
    for (bool first = true; ss_json_element(j, &first);) {
        d->hop = (ss_hop){0};
        read_atlas_hop(j, fields, d);
        if (!ss_json_bad(j) && d->hop.ttl)
            ss_trace_probed(d->trace, d->hop.ttl, d->hop.ttl);
    }
}

static void read_from(ss_json *j, draft *d)
{
    d->from = read_address(j, d);
}

static void read_timestamp(ss_json *j, draft *d)
{
    d->trace->start = ss_json_whole(j);
}

static void read_probe(ss_json *j, draft *d)
{
    d->trace->monitor = ss_monitor_probe(ss_json_whole(j));
}

/* --- objects -------------------------------------------------------------- */

/* Reads a trace inside an object of M-Lab. */
static void read_wrapped(ss_json *j, draft *d);

static void read_type(ss_json *j, draft *d)
{
    d->type = ss_json_string(j);
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

static void read_wrapped(ss_json *j, draft *d)
{
    read_object(j, top_fields, d);
}

static ss_took conclude(draft *d)
{
    bool scamper = ss_json_is(&d->type, "trace", 5);
    bool atlas = ss_json_is(&d->type, "traceroute", 10);
    bool paths = ss_json_is(&d->type, "tracelb", 7);
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
    ss_json j = {.at = bytes, .end = bytes + len};

    read_object(&j, top_fields, &d);
    *used = (size_t)(j.at - bytes);
    if (j.wrong == SS_JSON_CUT) {
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
    if (is_blank(c))
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

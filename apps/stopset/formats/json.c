/*
 * json.c - a reader of JSON in memory.
 *
 * Most of a RIPE Atlas result is passed over. That is done without parsing it:
 * brackets are counted, strings are crossed eight bytes at a time. What is
 * passed over need not be valid beyond that.
 */
#include "stopset/formats/json.h"

#include "base/bits.h"
#include "base/decimal.h"
#include "base/hex.h"

#include <string.h>

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

/* Finds the first quote or backslash in eight bytes: returns their number, 8
 * if there is none. */
static size_t find_end(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t quote = bytes ^ ones * '"', slash = bytes ^ ones * '\\';
    uint64_t found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash);

    found &= high;
    return found ? (size_t)__builtin_ctzll(found) / 8 : 8;
}

/* The first quote or backslash from at on; NULL: there is none. */
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

/* Takes the bytes between quotes; j is at the first quote. */
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

/* Goes to the next item of an object or array; false at its end. */
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

/* Most often a comma and a quote come next. */
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
        !ss_json_bad(j)) { /* most often */
        j->at++;
        return true;
    }
    return next_item(j, first, '[', ']');
}

/* What a byte does to the depth, or that a string begins. */
enum { PLAIN, OPEN, CLOSE, QUOTE };
static const uint8_t nesting[256] = {
    ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE, ['"'] = QUOTE};

/* Crosses an object or array: brackets must pair up, of either kind. at is a
 * copy: the compiler must believe that a byte could be part of *j. */
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

/* Takes a number, true, false or null. */
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
    unsigned places = 0; /* digits behind the point that count */

    for (; at < j->end && *at >= '0' && *at <= '9' && at - start < 15; at++)
        x = x * 10 + (uint64_t)(*at - '0');
    if (at < j->end && *at == '.') {
        for (at++; at < j->end && *at >= '0' && *at <= '9'; at++, places++)
            if (places < 3)
                x = x * 10 + (uint64_t)(*at - '0');
            else if (places == 3)
                x += *at >= '5';
    }
    if (at == start || at == j->end || !ends_word[*at]) { /* no such number */
        ss_json_skip(j);
        return 0;
    }
    j->at = at;
    for (; places < 3; places++)
        x *= 10;
    return x;
}

/* --- escapes ---------------------------------------------------------------
 */

/* The number that four hexadecimal digits stand for; -1: they are not. */
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

/* What an escape stands for, if that is ASCII, else '?'; *len is its length.
 * No name or address that we look for has anything else. */
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

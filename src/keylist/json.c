/*
 * json.c - a reader of JSON in memory.
 *
 * Most of a line is skipped without parsing: brackets are counted, and strings
 * are scanned eight bytes at a time. Skipped parts need not be valid beyond
 * that.
 */
#include "keylist/json.h"

#include "base/bits.h"
#include "base/decimal.h"
#include "base/hex.h"

#include <string.h>

static void go_wrong(um_json *j, const char *what)
{
    if (!um_json_bad(j))
        j->wrong = what;
}

const char UM_JSON_CUT[] = "the bytes end inside a value";

static void run_out(um_json *j)
{
    go_wrong(j, UM_JSON_CUT);
}

uint8_t um_json_peek_slowly(um_json *j)
{
    while (j->at < j->end && um_json_blank(*j->at))
        j->at++;
    if (j->at == j->end)
        run_out(j);
    return um_json_bad(j) ? 0 : *j->at;
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
static inline um_json_slice parse_string(um_json *j)
{
    um_json_slice text = {(const char *)j->at + 1, 0, false};
    const uint8_t *at = find_quote(j->at + 1, j->end);

    while (at && *at == '\\') {
        text.escaped = true;
        at = j->end - at < 2 ? NULL : find_quote(at + 2, j->end);
    }
    if (!at) {
        run_out(j);
        return (um_json_slice){"", 0, false};
    }
    text.len = (size_t)((const char *)at - text.at);
    j->at = at + 1;
    return text;
}

static bool enter(um_json *j, uint8_t bracket)
{
    if (um_json_peek(j) != bracket) {
        go_wrong(j, bracket == '{' ? "an object should begin here"
                                   : "an array should begin here");
        return false;
    }
    if (++j->depth > UM_JSON_DEPTH) {
        go_wrong(j, "values lie too deep inside each other");
        return false;
    }
    j->at++;
    return true;
}

/* Advances to the next item of an object or array; false at its end. */
static bool next_item(um_json *j, bool *first, uint8_t open, uint8_t close)
{
    if (um_json_bad(j) || (*first && !enter(j, open)))
        return false;
    uint8_t c = um_json_peek(j);
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
    return um_json_peek(j) != 0;
}

/* Advances to the next member of an object. Mostly a comma and a quote come
 * next. */
static bool next_member(um_json *j, bool *first)
{
    if (!*first && j->end - j->at >= 2 && j->at[0] == ',' && j->at[1] == '"' &&
        !um_json_bad(j)) {
        j->at++;
        return true;
    }
    if (!next_item(j, first, '{', '}'))
        return false;
    if (*j->at != '"')
        go_wrong(j, "a name in quotes should stand here");
    return !um_json_bad(j);
}

bool um_json_member(um_json *j, bool *first, um_json_slice *key)
{
    if (!next_member(j, first))
        return false;
    *key = parse_string(j);
    if (um_json_peek(j) != ':') {
        go_wrong(j, "a colon should stand here");
        return false;
    }
    j->at++;
    return true;
}

bool um_json_element(um_json *j, bool *first)
{
    if (!*first && j->end - j->at >= 2 && j->at[0] == ',' && j->at[1] == '{' &&
        !um_json_bad(j)) { /* the usual case */
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
static void skip_nested(um_json *j)
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
            if (++depth + j->depth > UM_JSON_DEPTH) {
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
static um_json_slice parse_word(um_json *j)
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
    return (um_json_slice){(const char *)start, (size_t)(at - start), false};
}

void um_json_skip(um_json *j)
{
    uint8_t c = um_json_peek(j);

    if (c == '"')
        parse_string(j);
    else if (c == '{' || c == '[')
        skip_nested(j);
    else if (!um_json_bad(j))
        parse_word(j);
}

um_json_slice um_json_read_string(um_json *j)
{
    if (um_json_peek(j) == '"')
        return parse_string(j);
    um_json_skip(j);
    return (um_json_slice){"", 0, false};
}

um_json_slice um_json_read_word(um_json *j)
{
    uint8_t c = um_json_peek(j);

    if (c != '"' && c != '{' && c != '[' && !um_json_bad(j))
        return parse_word(j);
    um_json_skip(j);
    return (um_json_slice){"", 0, false};
}

static bool is_number_next(um_json *j)
{
    uint8_t c = um_json_peek(j);

    return c == '-' || (c >= '0' && c <= '9');
}

uint64_t um_json_read_whole(um_json *j)
{
    uint64_t x = 0;

    if (!is_number_next(j)) {
        um_json_skip(j);
        return 0;
    }
    um_json_slice word = parse_word(j);
    um_decimal_scan(word.at, word.len, &x);
    return x;
}

uint64_t um_json_read_thousandths(um_json *j)
{
    const uint8_t *start = (um_json_peek(j), j->at), *at = start;
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
        um_json_skip(j);
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

/* Parses \uXXXX, or two of them for a character above U+FFFF. Returns its
 * length; 0 if it is invalid. */
static size_t parse_u(const char *at, size_t left, uint32_t *out)
{
    int x = left < 2 ? -1 : hex4(at + 2, left - 2), low = -1;

    if (x < 0 || (x >= 0xDC00 && x < 0xE000))
        return 0;
    *out = (uint32_t)x;
    if (x < 0xD800 || x >= 0xE000)
        return 6;
    if (left >= 12 && at[6] == '\\' && at[7] == 'u')
        low = hex4(at + 8, left - 8);
    if (low < 0xDC00 || low >= 0xE000)
        return 0;
    *out = 0x10000 + (((uint32_t)x - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
    return 12;
}

static size_t encode_utf8(uint32_t x, char out[4])
{
    if (x < 0x80) {
        out[0] = (char)x;
        return 1;
    }
    size_t len = x < 0x800 ? 2 : x < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; x >>= 6)
        out[i] = (char)(0x80 | (x & 0x3F));
    out[0] = (char)(x | (0xF00u >> len));
    return len;
}

/* Decodes the escape at `at` to *n bytes. Returns its length; 0 if it is
 * invalid. */
static size_t unescape(const char *at, size_t left, char out[4], size_t *n)
{
    static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    uint32_t x;
    size_t len;

    *n = 1;
    if (left >= 2 && at[1] == 'u') {
        len = parse_u(at, left, &x);
        *n = len ? encode_utf8(x, out) : 0;
        return len;
    }
    const char *found = left >= 2 && at[1] ? strchr(plain, at[1]) : NULL;
    if (!found)
        return 0;
    out[0] = means[found - plain];
    return 2;
}

size_t um_json_copy(const um_json_slice *text, char *out, size_t cap)
{
    size_t n = 0, step = 1, len;
    char bytes[4];

    for (size_t i = 0; i < text->len; i += step, n += len) {
        bytes[0] = text->at[i];
        step = len = 1;
        if (bytes[0] == '\\')
            step = unescape(text->at + i, text->len - i, bytes, &len);
        if (step == 0)
            return UM_JSON_INVALID;
        if (len > cap - n)
            return cap;
        memcpy(out + n, bytes, len);
    }
    return n;
}

bool um_json_is_escaped(const um_json_slice *text, const char *name, size_t len)
{
    char copy[256];

    return len < sizeof copy && um_json_copy(text, copy, sizeof copy) == len &&
           memcmp(copy, name, len) == 0;
}

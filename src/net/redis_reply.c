/*
 * redis_reply.c - replies of a Redis server (RESP2).
 */
#include "net/redis.h"

#include "base/decimal.h"

#include <string.h>

enum { LONGEST_LINE = 1024 };

typedef struct cursor {
    const char *at, *end;
    size_t limit; /* bytes that a value may have */
    um_redis_parsed state;
} cursor;

/* Parses a line, without its CR LF; returns false if it is incomplete. */
static bool parse_line(cursor *c, umbel_slice *out)
{
    size_t left = (size_t)(c->end - c->at);
    const char *lf = left ? memchr(c->at, '\n', left) : NULL;

    if (!lf) {
        c->state = left > LONGEST_LINE ? UM_REDIS_BAD : UM_REDIS_MORE;
        return false;
    }
    size_t len = (size_t)(lf - c->at);
    if (len == 0 || len > LONGEST_LINE || lf[-1] != '\r') {
        c->state = UM_REDIS_BAD;
        return false;
    }
    *out = (umbel_slice){c->at, len - 1};
    c->at = lf + 1;
    return true;
}

/* Parses an optional minus and up to 18 decimal digits. */
static bool parse_number(umbel_slice text, int64_t *out)
{
    const char *s = text.data;
    bool minus = text.len && *s == '-';
    uint64_t x;

    if (text.len > 18u + minus ||
        !um_decimal_read(s + minus, text.len - minus, INT64_MAX, &x))
        return false;
    *out = minus ? -(int64_t)x : (int64_t)x;
    return true;
}

static void parse_bytes(cursor *c, int64_t len, um_redis_value *out)
{
    if (len == -1) {
        out->type = UM_REDIS_NIL;
        return;
    }
    if (len < 0 || (uint64_t)len > c->limit) {
        c->state = UM_REDIS_BAD;
        return;
    }
    if ((uint64_t)(c->end - c->at) < (uint64_t)len + 2) {
        c->state = UM_REDIS_MORE;
        return;
    }
    out->type = UM_REDIS_BYTES;
    out->text = (umbel_slice){c->at, (size_t)len};
    c->at += len;
    if (memcmp(c->at, "\r\n", 2) != 0)
        c->state = UM_REDIS_BAD;
    c->at += 2;
}

/* Parses one value, whose first line is complete. */
static void parse_value(cursor *c, umbel_slice line, um_redis_value *out)
{
    char kind = *(const char *)line.data;
    umbel_slice rest = {(const char *)line.data + 1, line.len - 1};

    *out = (um_redis_value){.type = UM_REDIS_NIL};
    if (kind == '+' || kind == '-') {
        out->type = kind == '+' ? UM_REDIS_STATUS : UM_REDIS_ERROR;
        out->text = rest;
        return;
    }
    if ((kind != ':' && kind != '$') || !parse_number(rest, &out->number)) {
        c->state = UM_REDIS_BAD;
        return;
    }
    if (kind == ':')
        out->type = UM_REDIS_NUMBER;
    else
        parse_bytes(c, out->number, out);
}

static void parse_array(cursor *c, umbel_slice line, um_redis_reply *out)
{
    umbel_slice rest = {(const char *)line.data + 1, line.len - 1};
    int64_t n;

    if (!parse_number(rest, &n) || n < 0 || n > UM_REDIS_MAX_VALUES) {
        c->state = UM_REDIS_BAD;
        return;
    }
    out->is_array = true;
    out->n = (size_t)n;
    for (size_t i = 0; i < out->n && c->state == UM_REDIS_WHOLE; i++)
        if (parse_line(c, &line) && line.len)
            parse_value(c, line, &out->value[i]);
        else if (c->state == UM_REDIS_WHOLE)
            c->state = UM_REDIS_BAD;
}

um_redis_parsed um_redis_parse(const void *input, size_t len, size_t limit,
                               um_redis_reply *out)
{
    cursor c = {input, (const char *)input + len, limit, UM_REDIS_WHOLE};
    umbel_slice line;

    *out = (um_redis_reply){.n = 1};
    if (!parse_line(&c, &line))
        return c.state;
    if (line.len == 0)
        return UM_REDIS_BAD;
    if (*(const char *)line.data == '*')
        parse_array(&c, line, out);
    else
        parse_value(&c, line, &out->value[0]);
    return c.state;
}

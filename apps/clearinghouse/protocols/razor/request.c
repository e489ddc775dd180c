/*
 * request.c - requests of Razor2 clients.
 */

#include "clearinghouse/protocols/razor/internal.h"

#include "base/hex.h"

#include <ctype.h>
#include <string.h>

static const char *const key_names[UM_RAZOR_KEYS] = {
    [UM_RAZOR_A] = "a",         [UM_RAZOR_E] = "e",
    [UM_RAZOR_EP4] = "ep4",     [UM_RAZOR_S] = "s",
    [UM_RAZOR_USER] = "user",   [UM_RAZOR_PASS] = "pass",
    [UM_RAZOR_ARESP] = "aresp", [UM_RAZOR_PM] = "pm",
    [UM_RAZOR_CN] = "cn",       [UM_RAZOR_MESSAGE] = "message"};

bool um_razor_is(umbel_slice value, const char *text)
{
    size_t len = strlen(text);

    return value.data && value.len == len && memcmp(value.data, text, len) == 0;
}

/* --- queries -------------------------------------------------------------- */

/* Removes and returns the part before the next mark; *found is false if there
 * is none. */
static umbel_slice cut(umbel_slice *left, char mark, bool *found)
{
    const char *at = left->data;
    const char *end = left->len ? memchr(at, mark, left->len) : NULL;
    umbel_slice part = {at, end ? (size_t)(end - at) : left->len};

    *found = end;
    *left = end ? (umbel_slice){end + 1, left->len - part.len - 1}
                : (umbel_slice){at + part.len, 0};
    return part;
}

static bool has_broken_escape(umbel_slice value)
{
    const unsigned char *at = value.data, *end = at + value.len;

    if (!value.len)
        return false;
    while ((at = memchr(at, '%', (size_t)(end - at)))) {
        if (end - at < 3 || !isxdigit(at[1]) || !isxdigit(at[2]))
            return true;
        at += 3;
    }
    return false;
}

static um_razor_key find_key(umbel_slice name)
{
    unsigned i = 0;

    while (i < UM_RAZOR_KEYS && !um_razor_is(name, key_names[i]))
        i++;
    return (um_razor_key)i;
}

/* Parses "k=v&k=v". If open is not NULL, it gets the keys whose value is "?",
 * which are left unset. */
static void parse_query(umbel_slice line, um_razor_query *q, um_razor_key *open,
                        size_t *nopen)
{
    bool more = true, named;

    *q = (um_razor_query){.malformed = line.len == 0};
    while (more && line.len) {
        umbel_slice value = cut(&line, '&', &more);
        umbel_slice name = cut(&value, '=', &named);
        um_razor_key key = find_key(name);

        q->malformed |= !named || !name.len || has_broken_escape(value);
        if (key == UM_RAZOR_KEYS)
            continue;
        if (open && *nopen < UM_RAZOR_KEYS && um_razor_is(value, "?"))
            open[(*nopen)++] = key;
        else
            q->value[key] = value;
    }
}

/* Removes and returns the next line, without its CR LF. */
static umbel_slice cut_line(umbel_slice *left)
{
    bool found;
    umbel_slice line = cut(left, '\n', &found);

    if (line.len && ((const char *)line.data)[line.len - 1] == '\r')
        line.len--;
    return line;
}

um_razor_walk um_razor_begin(const um_razor_request *r)
{
    um_razor_walk w = {.left = r->text};
    umbel_slice line = cut_line(&w.left);
    bool batch = r->form == UM_RAZOR_BATCHED;

    parse_query(line, &w.first, batch ? w.open : NULL, &w.nopen);
    w.begun = w.nopen; /* a template is not a query */
    return w;
}

static void fill_template(const um_razor_walk *w, umbel_slice line,
                          um_razor_query *out)
{
    bool more = true;

    *out = w->first;
    for (size_t i = 0; i < w->nopen; i++) {
        umbel_slice value = cut(&line, ',', &more);
        out->malformed |= !value.len || has_broken_escape(value);
        out->value[w->open[i]] = value;
    }
    out->malformed |= more; /* more values than the template has keys */
}

bool um_razor_next(um_razor_walk *w, um_razor_query *out)
{
    if (!w->begun) {
        w->begun = true;
        *out = w->first;
        return true;
    }
    if (!w->left.len)
        return false;
    umbel_slice line = cut_line(&w->left);
    if (w->nopen)
        fill_template(w, line, out);
    else
        parse_query(line, out, NULL, NULL);
    return true;
}

/* --- escapes -------------------------------------------------------------- */

bool um_razor_unescape(umbel_slice value, char *out, size_t cap, size_t *len)
{
    const char *at = value.data;

    *len = 0;
    for (size_t i = 0; i < value.len; i++) {
        char c = at[i];
        if (c == '%' && value.len - i > 2) {
            c = (char)(um_hex_value((uint8_t)at[i + 1]) << 4 |
                       um_hex_value((uint8_t)at[i + 2]));
            i += 2;
        }
        if (*len == cap)
            return false;
        out[(*len)++] = c;
    }
    return true;
}

size_t um_razor_escape(umbel_slice text, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *at = text.data;
    char *to = out;

    for (size_t i = 0; i < text.len; i++)
        if (isalnum(at[i]) || (at[i] && strchr("-_.!~*'()", at[i]))) {
            *to++ = (char)at[i];
        } else {
            *to++ = '%';
            *to++ = digits[at[i] >> 4];
            *to++ = digits[at[i] & 15];
        }
    *to = '\0';
    return (size_t)(to - out);
}

/* --- requests ------------------------------------------------------------- */

/* Finds the last line "." of a batch; NULL if it has not arrived. */
static const uint8_t *find_last_line(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *line = at, *next;

    while ((next = memchr(line, '\n', (size_t)(end - line)))) {
        size_t len = (size_t)(next - line);
        if ((len == 1 || (len == 2 && line[1] == '\r')) && line[0] == '.')
            return line;
        line = next + 1;
    }
    return NULL;
}

static bool is_mail(umbel_slice line)
{
    um_razor_query q;

    parse_query(line, &q, NULL, NULL);
    return um_razor_is(q.value[UM_RAZOR_MESSAGE], "*");
}

static um_razor_request find_batch(const uint8_t *bytes, const uint8_t *end,
                                   umbel_slice line, const uint8_t *second)
{
    um_razor_request r = {UM_RAZOR_MAIL, (size_t)(second - bytes), line};

    if (is_mail(line))
        return r;
    const uint8_t *last = find_last_line(second, end);
    if (!last)
        return (um_razor_request){.form = UM_RAZOR_MORE};
    const uint8_t *after = memchr(last, '\n', (size_t)(end - last));
    r.form = UM_RAZOR_BATCHED;
    r.len = (size_t)(after + 1 - bytes);
    r.text.len = (size_t)(last - (const uint8_t *)line.data);
    return r;
}

um_razor_request um_razor_find(const uint8_t *bytes, size_t len)
{
    const uint8_t *next = len ? memchr(bytes, '\n', len) : NULL;

    if (!next)
        return (um_razor_request){.form = UM_RAZOR_MORE};
    umbel_slice left = {bytes, (size_t)(next + 1 - bytes)};
    umbel_slice line = cut_line(&left);
    if (bytes[0] != '-')
        return (um_razor_request){UM_RAZOR_LINE, (size_t)(next + 1 - bytes),
                                  line};
    line = (umbel_slice){bytes + 1, line.len - 1};
    return find_batch(bytes, bytes + len, line, next + 1);
}

/* --- mails ---------------------------------------------------------------- */

size_t um_razor_skip_mail(const uint8_t *bytes, size_t len, unsigned *matched,
                          bool *over)
{
    static const char end[] = "\r\n.\r\n";
    enum { LEN = sizeof end - 1 };

    *over = false;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == (uint8_t)end[*matched])
            ++*matched;
        else /* a mismatch can only start over with this CR */
            *matched = bytes[i] == '\r';
        if (*matched == LEN) {
            *over = true;
            return i + 1;
        }
    }
    return len;
}

/*
 * header.c - values of header fields, read as Python's email package does.
 *
 * Python splits a field at semicolons outside quotes, where a quote is one
 * without a backslash before it. This is simpler than the standard, and
 * determines what the Pyzor client regards as text.
 */
#include "mail/internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

umbel_slice um_slice_trim(umbel_slice s)
{
    const char *at = s.data;

    while (s.len && is_blank(at[s.len - 1]))
        s.len--;
    while (s.len && is_blank(*at)) {
        at++;
        s.len--;
    }
    return (umbel_slice){at, s.len};
}

bool um_slice_is(umbel_slice s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.data, word, s.len) == 0;
}

/* --- lines and fields ----------------------------------------------------- */

const uint8_t *um_line_end(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));

    return newline ? newline + 1 : end;
}

/* Returns true for a line that Python accepts in a header: a name and a colon,
 * a blank, or "From ". */
static bool is_header_line(const uint8_t *at, const uint8_t *end)
{
    if (*at == ' ' || *at == '\t')
        return true;
    if (end - at >= 5 && memcmp(at, "From ", 5) == 0)
        return true;
    while (at<end && * at> ' ' && *at < 0x7f && *at != ':')
        at++;
    return at < end && *at == ':';
}

const uint8_t *um_header_end(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_header_line(at, end))
        at = um_line_end(at, end);
    return at;
}

const uint8_t *um_field_end(const uint8_t *at, const uint8_t *end)
{
    do
        at = um_line_end(at, end);
    while (at < end && (*at == ' ' || *at == '\t'));
    return at;
}

/* --- Content-Type --------------------------------------------------------- */

um_content_type um_content_type_read(umbel_slice value)
{
    static const um_content_type plain = {{"text", 4}, {"plain", 5}};
    const char *end = memchr(value.data, ';', value.len), *slash;
    umbel_slice whole = um_slice_trim(
        (umbel_slice){value.data, end ? (size_t)(end - (const char *)value.data)
                                      : value.len});
    const char *at = whole.data;

    slash = memchr(at, '/', whole.len);
    if (!slash)
        return plain;
    um_content_type t = {{at, (size_t)(slash - at)},
                         {slash + 1, whole.len - (size_t)(slash - at) - 1}};
    return memchr(slash + 1, '/', t.subtype.len) ? plain : t;
}

/* Returns the end of the part of a field that begins at `at`. */
static const char *part_end(const char *at, const char *end)
{
    bool quoted = false;

    for (const char *c = at; c < end; c++) {
        if (*c == '"' && (c == at || c[-1] != '\\'))
            quoted = !quoted;
        if (*c == ';' && !quoted)
            return c;
    }
    return end;
}

/* Copies the value without quotes or angle brackets, and without escapes. */
static size_t unquote(umbel_slice v, char *out, size_t cap)
{
    const char *at = v.data;
    size_t n = 0;
    bool quoted = v.len > 1 && at[0] == '"' && at[v.len - 1] == '"';

    if (quoted || (v.len > 1 && at[0] == '<' && at[v.len - 1] == '>'))
        v = (umbel_slice){at + 1, v.len - 2};
    at = v.data;
    for (size_t i = 0; i < v.len && n + 1 < cap; i++) {
        if (quoted && at[i] == '\\' && i + 1 < v.len &&
            (at[i + 1] == '\\' || at[i + 1] == '"'))
            i++;
        out[n++] = at[i];
    }
    out[n] = '\0';
    return n;
}

/* Returns the text of name*=charset'language'text. */
static umbel_slice skip_language(umbel_slice v)
{
    const char *at = v.data, *first = memchr(at, '\'', v.len), *second = NULL;
    const char *end = at + v.len;

    if (first)
        second = memchr(first + 1, '\'', (size_t)(end - first - 1));
    return second ? (umbel_slice){second + 1, (size_t)(end - second - 1)} : v;
}

bool um_content_param(umbel_slice value, const char *name, char *out,
                      size_t cap, size_t *len)
{
    const char *at = value.data, *end = at + value.len;

    for (const char *stop; at < end; at = stop + 1) {
        stop = part_end(at, end);
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        if (!equals)
            continue;
        umbel_slice key =
            um_slice_trim((umbel_slice){at, (size_t)(equals - at)});
        umbel_slice v = um_slice_trim(
            (umbel_slice){equals + 1, (size_t)(stop - equals - 1)});
        if (key.len && ((const char *)key.data)[key.len - 1] == '*') {
            key.len--;
            v = skip_language(v);
        }
        if (um_slice_is(key, name)) {
            *len = unquote(v, out, cap);
            return true;
        }
    }
    return false;
}

/* --- facts ---------------------------------------------------------------- */

/* Copies a name in lower case, if it is one: letters, digits and . - _ as in
 * domains, and bytes above ASCII. */
static void copy_name(umbel_slice name, const char *others, char *out,
                      size_t cap)
{
    const unsigned char *at = name.data;

    out[0] = '\0';
    if (name.len == 0 || name.len >= cap)
        return;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = at[i];

        if (!(c < 0x80 && isalnum(c)) && (!c || !strchr(others, c))) {
            memset(out, 0, i);
            return;
        }
        out[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    out[name.len] = '\0';
}

void um_address_domain(const char *address, char *out, size_t cap)
{
    const char *at = strrchr(address, '@');

    out[0] = '\0';
    if (at)
        copy_name((umbel_slice){at + 1, strlen(at + 1)}, ".-_", out, cap);
}

void um_list_id(umbel_slice value, char *out, size_t cap)
{
    const char *at = value.data, *end = at + value.len;
    const char *open = memchr(at, '<', value.len), *close = NULL;

    if (open)
        close = memchr(open, '>', (size_t)(end - open));
    if (close)
        value = (umbel_slice){open + 1, (size_t)(close - open - 1)};
    copy_name(um_slice_trim(value), ".-_+=@", out, cap);
}

/* Returns the " by " of "from NAME (NAME [ADDRESS]) by SERVER ...". */
static const char *find_by(const char *at, const char *end)
{
    for (; end - at > 3; at++)
        if (is_blank(at[0]) && strncasecmp(at + 1, "by", 2) == 0 &&
            is_blank(at[3]))
            return at;
    return end;
}

/* Returns true for "helo=[" of Exim and "HELO [" of qmail. */
static bool is_helo(const char *begin, const char *open)
{
    return (open > begin && open[-1] == '=') ||
           (open - begin >= 5 && (strncasecmp(open - 5, "HELO ", 5) == 0 ||
                                  strncasecmp(open - 5, "EHLO ", 5) == 0));
}

/* Finds the client's address. The client chooses the name after "from", which
 * may be in brackets, too; the last address is the one that the server saw. */
void um_received_client(umbel_slice value, char *out, size_t cap)
{
    const char *begin = value.data, *end = find_by(begin, begin + value.len);
    const char *open = NULL, *close = NULL;

    out[0] = '\0';
    for (const char *at = begin;
         (at = memchr(at, '[', (size_t)(end - at))) != NULL; at++)
        if (!is_helo(begin, at))
            open = at;
    if (open)
        close = memchr(open, ']', (size_t)(end - open));
    if (!close)
        return;
    umbel_slice address = {open + 1, (size_t)(close - open - 1)};
    if (address.len > 5 && strncasecmp(open + 1, "IPv6:", 5) == 0)
        address = (umbel_slice){open + 6, address.len - 5};
    copy_name(address, ".:", out, cap);
}

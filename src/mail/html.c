/*
 * html.c - HTML to text, as the Pyzor client does it.
 *
 * The client uses Python's html.parser (of 3.11) and feeds it the page without
 * saying that it ends: whatever might go on, such as a tag without '>', stops
 * the reading. Every rule here follows from that parser's expressions; a tag's
 * name matters only for script and style, whose content is no text. Nothing is
 * nested, so depth costs nothing, and each byte is looked at a bounded number
 * of times: a search that found nothing is not repeated.
 */
#include "mail/html.h"

#include "mail/chars.h"
#include "mail/entity.h"

#include <strings.h>

typedef struct html {
    um_buffer *out;
    const uint8_t *at, *end;
    size_t begin;     /* of the text in out */
    const char *raw;  /* "script" or "style" while inside one, else NULL */
    bool no_quote[2]; /* no ' and no " follows */
} html;

enum { TAIL = 34 }; /* characters in which the last reference may be cut */

static bool is_letter(uint8_t c)
{
    c |= 0x20;
    return c >= 'a' && c <= 'z';
}

/* --- white space ---------------------------------------------------------- */

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        um_char c = um_char_at(at, (size_t)(end - at));

        if (!um_char_is_space(c.code))
            break;
        at += c.len;
    }
    return at;
}

/* Bytes of the white space at the place; 0: something else is there. */
static unsigned space_at(const uint8_t *at, const uint8_t *end)
{
    um_char c = um_char_at(at, (size_t)(end - at));

    return um_char_is_space(c.code) ? c.len : 0;
}

/* Returns true if white space ends at the place. */
static bool space_before(const uint8_t *begin, const uint8_t *at)
{
    const uint8_t *from = at - 1;

    while (from > begin && (*from & 0xc0) == 0x80)
        from--;
    return um_char_is_space(um_char_at(from, (size_t)(at - from)).code);
}

/* --- pieces --------------------------------------------------------------- */

/* Trims what lies in out from there, and takes it away if nothing is left. */
static void end_piece(html *h, size_t from)
{
    const uint8_t *first = h->out->data + from, *end;
    const uint8_t *last = h->out->data + h->out->len;

    end = last;
    first = skip_space(first, end);
    while (last > first && space_before(first, last)) {
        do
            last--;
        while ((*last & 0xc0) == 0x80);
    }
    size_t len = (size_t)(last - first);
    memmove(h->out->data + from, first, len);
    h->out->len = len ? from + len : from - (from > h->begin);
}

/* Appends a piece of text, behind a blank unless it is the first. */
static bool write_piece(html *h, const uint8_t *text, size_t len, bool decode)
{
    if (!um_buffer_reserve(h->out, um_entity_room(len) + 1))
        return false;
    if (h->out->len > h->begin)
        um_buffer_append(h->out, " ", 1);
    size_t from = h->out->len;
    if (decode)
        um_entity_decode(h->out, text, len);
    else
        um_buffer_append(h->out, text, len);
    end_piece(h, from);
    return true;
}

/* --- tags ----------------------------------------------------------------- */

/* Skips the value behind '=' at e; a quoted one that does not end is none. */
static const uint8_t *skip_value(html *h, const uint8_t *equals,
                                 const uint8_t *e)
{
    const uint8_t *v = skip_space(e, h->end), *close;

    if (v < h->end && (*v == '\'' || *v == '"')) {
        bool *none = &h->no_quote[*v == '"'];

        close = *none ? NULL : memchr(v + 1, *v, (size_t)(h->end - v - 1));
        if (close)
            return close + 1;
        *none = true;
        if (v > e)
            return v; /* an empty value, and white space */
        if (e - equals < 2)
            return NULL;
        v = e - 1; /* the value begins with the last '=' */
    }
    while (v < h->end && *v != '>' && !space_at(v, h->end))
        v++;
    return v;
}

static const uint8_t *skip_gap(const html *h, const uint8_t *at)
{
    for (;;) {
        at = skip_space(at, h->end);
        if (at == h->end || *at != '/' || (at + 1 < h->end && at[1] == '>'))
            return at;
        at++;
    }
}

static bool may_begin_attribute(const html *h, const uint8_t *at)
{
    uint8_t before = at[-1];

    if (at == h->end || *at == '/' || *at == '>' || space_at(at, h->end))
        return false;
    return before == '\'' || before == '"' || before == '/' ||
           space_before(h->at, at);
}

static const uint8_t *skip_attribute(html *h, const uint8_t *at)
{
    const uint8_t *equals, *e;

    at++;
    while (at < h->end && *at != '/' && *at != '=' && *at != '>' &&
           !space_at(at, h->end))
        at++;
    equals = skip_space(at, h->end);
    for (e = equals; e < h->end && *e == '=';)
        e++;
    if (e > equals) {
        const uint8_t *v = skip_value(h, equals, e);

        if (v)
            at = v;
    }
    return skip_gap(h, at);
}

/* Where the name of a tag ends that begins at the place. */
static const uint8_t *skip_name(const html *h, const uint8_t *at)
{
    while (at < h->end && !memchr("\t\n\r\f />", *at, 8))
        at++;
    return at;
}

static void begin_raw(html *h, const uint8_t *name, size_t len)
{
    static const char *const raw[] = {"script", "style"};

    for (size_t i = 0; i < 2; i++)
        if (len == strlen(raw[i]) &&
            strncasecmp((const char *)name, raw[i], len) == 0)
            h->raw = raw[i];
}

/* <x: false if the tag does not end, or without memory. */
static bool parse_start_tag(html *h, bool *ok)
{
    const uint8_t *name_end = skip_name(h, h->at + 1), *at = name_end;
    bool empty;

    while (at < h->end && (*at == '/' || space_at(at, h->end)))
        at += *at == '/' ? 1 : space_at(at, h->end);
    empty = at[-1] == '/'; /* an attribute takes the '/' for its value */
    for (; may_begin_attribute(h, at); empty = false)
        at = skip_attribute(h, at);
    at = skip_space(at, h->end);
    if (at == h->end)
        return false;
    if (*at == '>') {
        if (!empty)
            begin_raw(h, h->at + 1, (size_t)(name_end - h->at - 1));
        h->at = at + 1;
        return true;
    }
    if (*at == '/' && at + 1 < h->end && at[1] == '>') {
        h->at = at + 2;
        return true;
    }
    if (*at == '/' || *at == '=' || is_letter(*at))
        return false;
    *ok = write_piece(h, h->at, (size_t)(at - h->at), false); /* no tag */
    h->at = at;
    return *ok;
}

/* Moves behind the next '>' from there on. */
static bool skip_to_close(html *h, size_t from)
{
    const uint8_t *close;

    if ((size_t)(h->end - h->at) < from)
        return false;
    close = memchr(h->at + from, '>', (size_t)(h->end - h->at) - from);
    if (close)
        h->at = close + 1;
    return close;
}

/* Moves behind the text, white space and '>', from there on. */
static bool skip_past(html *h, size_t from, const char *text)
{
    const uint8_t *at = h->at + from;

    while (at < h->end &&
           (at = memchr(at, text[0], (size_t)(h->end - at))) != NULL) {
        const uint8_t *rest = at + 1;

        if (text[1] == '-')
            rest = rest < h->end && *rest == '-' ? rest + 1 : NULL;
        else if (text[1]) {
            rest = skip_space(rest, h->end);
            rest = rest < h->end && *rest == ']' ? rest + 1 : NULL;
        }
        if (rest)
            rest = skip_space(rest, h->end);
        if (rest && rest < h->end && *rest == '>') {
            h->at = rest + 1;
            return true;
        }
        at++;
    }
    return false;
}

/* <![if ...]> of word processors, and <![CDATA[ ... ]]>. */
static bool skip_section(html *h)
{
    static const struct {
        const char *name, *close;
    } rows[] = {{"temp", "]]"},    {"cdata", "]]"},  {"ignore", "]]"},
                {"include", "]]"}, {"rcdata", "]]"}, {"if", "]"},
                {"else", "]"},     {"endif", "]"}};
    const uint8_t *name = h->at + 3, *at = name;

    while (at < h->end && (is_letter(*at) || *at == '-' || *at == '_' ||
                           *at == '.' || (*at >= '0' && *at <= '9')))
        at++;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((size_t)(at - name) == strlen(rows[i].name) &&
            strncasecmp((const char *)name, rows[i].name,
                        strlen(rows[i].name)) == 0)
            return skip_past(h, 3, rows[i].close);
    return false;
}

/* --- the page ------------------------------------------------------------- */

static bool begins_with(const html *h, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(h->end - h->at) >= len &&
           strncasecmp((const char *)h->at, text, len) == 0;
}

/* At '<': returns false where reading stops. */
static bool parse_markup(html *h, bool *ok)
{
    if (h->at + 1 == h->end)
        return false;
    if (is_letter(h->at[1]))
        return parse_start_tag(h, ok);
    if (h->at[1] == '/')
        return skip_to_close(h, 1);
    if (begins_with(h, "<!--"))
        return skip_past(h, 4, "--");
    if (begins_with(h, "<!["))
        return skip_section(h);
    if (begins_with(h, "<!doctype"))
        return skip_to_close(h, 9);
    if (h->at[1] == '!' || h->at[1] == '?')
        return skip_to_close(h, 2);
    *ok = write_piece(h, h->at, 1, false);
    h->at++;
    return *ok;
}

/* In script or style: moves to behind its end tag. */
static bool skip_raw(html *h)
{
    size_t len = strlen(h->raw);

    while (h->at < h->end &&
           (h->at = memchr(h->at, '<', (size_t)(h->end - h->at))) != NULL) {
        const uint8_t *at = h->at + 1;

        h->at++;
        if (at == h->end || *at != '/')
            continue;
        at = skip_space(at + 1, h->end);
        if ((size_t)(h->end - at) < len ||
            strncasecmp((const char *)at, h->raw, len) != 0)
            continue;
        at = skip_space(at + len, h->end);
        if (at == h->end || *at != '>')
            continue;
        h->at = at + 1;
        h->raw = NULL;
        return true;
    }
    return false;
}

/* Returns true if the page may end inside a reference. */
static bool is_cut(const uint8_t *text, const uint8_t *end)
{
    const uint8_t *at = end, *amp = NULL;

    for (unsigned n = 0; at > text && n < TAIL; n++) {
        do
            at--;
        while (at > text && (*at & 0xc0) == 0x80);
        if (*at == '&' && !amp)
            amp = at;
    }
    if (!amp)
        return false;
    for (at = amp; at < end; at += um_char_at(at, (size_t)(end - at)).len)
        if (*at == ';' || space_at(at, end))
            return false;
    return true;
}

/* Text up to the next '<'. */
static bool parse_text(html *h)
{
    const uint8_t *open = memchr(h->at, '<', (size_t)(h->end - h->at));
    const uint8_t *text = h->at;

    h->at = open ? open : h->end;
    if (h->at == text || (!open && is_cut(text, h->end)))
        return true;
    return write_piece(h, text, (size_t)(h->at - text), true);
}

bool um_html_to_text(um_buffer *out, const uint8_t *page, size_t len)
{
    html h = {.out = out, .at = page, .end = page + len, .begin = out->len};
    bool ok = true;

    while (ok && h.at && h.at < h.end) {
        if (h.raw) {
            if (!skip_raw(&h))
                break;
            continue;
        }
        ok = parse_text(&h);
        if (ok && h.at < h.end && !parse_markup(&h, &ok))
            break;
    }
    return ok;
}

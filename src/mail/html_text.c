/*
 * html_text.c - HTML to text, as the Pyzor client does it.
 *
 * The client uses Python's html.parser (3.11) and never signals the end of the
 * page: anything that might continue, such as a tag without '>', stops the
 * parsing. Every rule here follows from that parser's regular expressions; the
 * name of a tag matters only for script and style, whose content is not text.
 * Nothing is nested, so depth costs nothing, and each byte is read a bounded
 * number of times: a search that found nothing is not repeated.
 *
 * A named character reference ends at its semicolon. A hundred old names need
 * none; then the longest name that the text begins with is used: &notit; is
 * "¬it;".
 */
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "mail/internal.h"

#include <strings.h>

enum {
    NAME = 32,    /* longest name of a reference in Python, characters */
    OLD_NAME = 6, /* longest name that needs no semicolon */
    LAST_CODE = 0x10ffff,
    TAIL = 34 /* characters at the end that may be a cut reference */
};

/* --- character references ------------------------------------------------- */

typedef struct entity {
    char name[NAME];
    char text[7];
    uint8_t old;
} entity;

static const entity entities[] = {
#include "mail/entity_rows.inc"
};

/* Codes 128..159, which browsers interpret as windows-1252. */
static const uint16_t windows[32] = {
    0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
    0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
    0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
    0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

static const entity *find_entity(const uint8_t *name, size_t len)
{
    size_t low = 0, high = UM_COUNT(entities);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = entities[middle].name;
        size_t other_len = strnlen(other, NAME);
        int order = memcmp(name, other, len < other_len ? len : other_len);

        if (order == 0 && len == other_len)
            return &entities[middle];
        if (order < 0 || (order == 0 && len < other_len))
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static bool is_alphanumeric(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* Decodes a named reference. Returns its length, including '&', or 0 if it is
 * not a reference. */
static size_t decode_name(um_buffer *out, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *name = at + 1;
    const entity *e = NULL;
    size_t n = 0, used;

    while (n < NAME && name + n < end && is_alphanumeric(name[n]))
        n++;
    if (name + n < end && name[n] == ';')
        e = find_entity(name, n);
    used = n + 2;
    for (size_t i = n < OLD_NAME ? n : OLD_NAME; !e && i >= 2; i--) {
        e = find_entity(name, i);
        if (e && !e->old)
            e = NULL;
        used = i + 1;
    }
    if (!e)
        return 0;
    um_buffer_append(out, e->text, strnlen(e->text, sizeof e->text));
    return used;
}

static bool is_invalid(uint32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) ||
           c == 0x7f || (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe;
}

static void write_number(um_buffer *out, uint32_t c)
{
    if (c == 0 || (c >= 0xd800 && c <= 0xdfff) || c > LAST_CODE)
        um_append_char(out, 0xfffd);
    else if (c >= 0x80 && c <= 0x9f)
        um_append_char(out, windows[c - 0x80]);
    else if (!is_invalid(c))
        um_append_char(out, c);
}

/* Decodes &# and a number; returns as decode_name. */
static size_t decode_number(um_buffer *out, const uint8_t *at,
                            const uint8_t *end)
{
    const uint8_t *from = at + 2, *digit;
    unsigned base = 10;
    uint32_t c = 0;

    if (from < end && (*from == 'x' || *from == 'X')) {
        base = 16;
        from++;
    }
    for (digit = from; digit < end; digit++) {
        int value = um_hex_value(*digit);
        if (value < 0 || value >= (int)base)
            break;
        if (c <= LAST_CODE)
            c = c * base + (uint32_t)value;
    }
    if (digit == from)
        return 0;
    write_number(out, c);
    return (size_t)(digit - at) + (digit < end && *digit == ';');
}

/* Appends the text with its references replaced, by the rules of HTML 5 as
 * Python applies them. The buffer has space for 2 * len more bytes, because no
 * reference is shorter than half of its text. */
static void decode_references(um_buffer *out, const uint8_t *text, size_t len)
{
    const uint8_t *end = text + len;

    while (text < end) {
        const uint8_t *amp = memchr(text, '&', (size_t)(end - text));
        size_t plain = (size_t)((amp ? amp : end) - text), used;

        um_buffer_append(out, text, plain);
        text += plain;
        if (!amp)
            return;
        used = amp + 1 < end && amp[1] == '#' ? decode_number(out, amp, end)
                                              : decode_name(out, amp, end);
        if (!used) {
            um_buffer_append(out, "&", 1);
            used = 1;
        }
        text += used;
    }
}

/* --- the parser ----------------------------------------------------------- */

typedef struct html {
    um_buffer *out;
    const uint8_t *at, *end;
    size_t begin;     /* of the text in out */
    const char *raw;  /* "script" or "style" while inside one, otherwise NULL */
    bool no_quote[2]; /* no ' and no " follows */
} html;

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

/* Returns the length of the white space character at `at`, or 0 if it is
 * another character. */
static unsigned space_at(const uint8_t *at, const uint8_t *end)
{
    um_char c = um_char_at(at, (size_t)(end - at));

    return um_char_is_space(c.code) ? c.len : 0;
}

/* Returns true if white space ends right before `at`. */
static bool space_before(const uint8_t *begin, const uint8_t *at)
{
    const uint8_t *from = at - 1;

    while (from > begin && (*from & 0xc0) == 0x80)
        from--;
    return um_char_is_space(um_char_at(from, (size_t)(at - from)).code);
}

/* --- pieces --------------------------------------------------------------- */

/* Trims the text in out from `from` on, and removes it if nothing is left. */
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

/* Appends a piece of text, after a blank unless it is the first. */
static bool write_piece(html *h, const uint8_t *text, size_t len, bool decode)
{
    if (!um_buffer_reserve(h->out, 2 * len + 1))
        return false;
    if (h->out->len > h->begin)
        um_buffer_append(h->out, " ", 1);
    size_t from = h->out->len;
    if (decode)
        decode_references(h->out, text, len);
    else
        um_buffer_append(h->out, text, len);
    end_piece(h, from);
    return true;
}

/* --- tags ----------------------------------------------------------------- */

/* Skips the value after '=' at e; an unterminated quoted value is not one. */
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

/* Returns the end of the tag name that begins at `at`. */
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

/* Parses a start tag. Returns false if it does not end, or if memory runs
 * out. */
static bool parse_start_tag(html *h, bool *ok)
{
    const uint8_t *name_end = skip_name(h, h->at + 1), *at = name_end;
    bool empty;

    while (at < h->end && (*at == '/' || space_at(at, h->end)))
        at += *at == '/' ? 1 : space_at(at, h->end);
    empty = at[-1] == '/'; /* an attribute would use the '/' as its value */
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
    *ok = write_piece(h, h->at, (size_t)(at - h->at), false); /* not a tag */
    h->at = at;
    return *ok;
}

/* Moves past the next '>'. */
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

/* Moves past the text, white space and '>'. */
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

/* Skips <![if ...]> of word processors and <![CDATA[ ... ]]>. */
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

/* Parses markup at '<'; returns false where parsing stops. */
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

/* Moves past the end tag of script or style. */
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

/* Parses text up to the next '<'. */
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

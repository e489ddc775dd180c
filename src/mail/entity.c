/*
 * entity.c - character references of HTML.
 *
 * A name ends at its semicolon. A hundred old names need none, and then the
 * longest one that the text begins with counts: &notit; is "¬it;".
 */
#include "mail/entity.h"

#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "mail/chars.h"

enum {
    LONGEST = 32,    /* characters that Python takes for a name */
    LONGEST_OLD = 6, /* of a name that needs no semicolon */
    LAST_CODE = 0x10ffff
};

typedef struct entity {
    char name[LONGEST];
    char text[7];
    uint8_t old;
} entity;

static const entity entities[] = {
#include "mail/entity_rows.h"
};

/* What 128..159 mean, because browsers read them as windows-1252. */
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
        size_t other_len = strnlen(other, LONGEST);
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

/* Returns the bytes that the reference takes, '&' included; 0: not a
 * reference. */
static size_t decode_name(um_buffer *out, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *name = at + 1;
    const entity *e = NULL;
    size_t n = 0, used;

    while (n < LONGEST && name + n < end && is_alphanumeric(name[n]))
        n++;
    if (name + n < end && name[n] == ';')
        e = find_entity(name, n);
    used = n + 2;
    for (size_t i = n < LONGEST_OLD ? n : LONGEST_OLD; !e && i >= 2; i--) {
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

static bool is_nonsense(uint32_t c)
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
    else if (!is_nonsense(c))
        um_append_char(out, c);
}

/* The same for &# and a number. */
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

void um_entity_decode(um_buffer *out, const uint8_t *text, size_t len)
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

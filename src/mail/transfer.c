/*
 * transfer.c - base64, quoted-printable and uuencode.
 */
#include "base/error.h"
#include "base/hex.h"
#include "mail/internal.h"

/* --- base64 --------------------------------------------------------------- */

/* Values of the alphabet; 64: any other byte. */
typedef struct alphabet {
    uint8_t value[256];
} alphabet;

#define X64 64, 64, 64, 64, 64, 64, 64, 64
#define SEQ(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
static const alphabet base64 = {
    {X64, X64, X64, X64, X64, 64,      64,      64,      62,      64,  64,  64,
     63,  52,  53,  54,  55,  56,      57,      58,      59,      60,  61,  64,
     64,  64,  64,  64,  64,  64,      SEQ(0),  SEQ(8),  SEQ(16), 24,  25,  64,
     64,  64,  64,  64,  64,  SEQ(26), SEQ(34), SEQ(42), 50,      51,  64,  64,
     64,  64,  64,  X64, X64, X64,     X64,     X64,     X64,     X64, X64, X64,
     X64, X64, X64, X64, X64, X64,     X64}};

/* Copies the text without line ends. */
static void join_lines(um_buffer *out, const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != '\n' && text[i] != '\r')
            out->data[out->len++] = text[i];
}

void um_base64_decode(um_buffer *out, const uint8_t *text, size_t len)
{
    uint8_t *to = out->data + out->len;
    uint32_t bits = 0;
    unsigned have = 0, pads = 0;

    for (size_t i = 0; i < len; i++) {
        uint8_t v = base64.value[text[i]];

        if (v == 64) {
            if (text[i] == '=' && have >= 2 && have + ++pads >= 4)
                break;
            continue;
        }
        pads = 0;
        bits = bits << 6 | v;
        if (++have == 4) {
            to[0] = (uint8_t)(bits >> 16);
            to[1] = (uint8_t)(bits >> 8);
            to[2] = (uint8_t)bits;
            to += 3;
            have = 0;
        }
    }
    if (have == 1) { /* like Python, keep the encoded text */
        join_lines(out, text, len);
        return;
    }
    if (have >= 2)
        *to++ = (uint8_t)(bits >> (have == 2 ? 4 : 10));
    if (have == 3)
        *to++ = (uint8_t)(bits >> 2);
    out->len = (size_t)(to - out->data);
}

/* --- quoted-printable ----------------------------------------------------- */

/* Decodes the characters after '='; returns their number. */
static size_t decode_quoted(um_buffer *out, const uint8_t *at, size_t left)
{
    size_t n = 0;

    if (left == 0)
        return 0;
    if (*at == '\n')
        return 1;
    if (*at == '\r') {
        while (n < left && at[n] != '\n')
            n++;
        return n < left ? n + 1 : n;
    }
    if (left >= 2 && um_hex_decode(at, 2, out->data + out->len)) {
        out->len++;
        return 2;
    }
    out->data[out->len++] = '=';
    return *at == '=';
}

void um_quoted_decode(um_buffer *out, const uint8_t *text, size_t len)
{
    const uint8_t *end = text + len;

    while (text < end) {
        const uint8_t *equals = memchr(text, '=', (size_t)(end - text));
        size_t plain = (size_t)((equals ? equals : end) - text);

        um_buffer_append(out, text, plain);
        text += plain;
        if (equals)
            text +=
                1 + decode_quoted(out, equals + 1, (size_t)(end - equals - 1));
    }
}

/* --- uuencode ------------------------------------------------------------- */

/* Cuts off the next line, without its end. */
static umbel_slice next_line(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *from = *at, *to = from;

    while (to < end && *to != '\n' && *to != '\r')
        to++;
    *at = to;
    if (to < end)
        *at += *to == '\r' && to + 1 < end && to[1] == '\n' ? 2 : 1;
    return (umbel_slice){from, (size_t)(to - from)};
}

static bool is_begin(umbel_slice line)
{
    const char *text = line.data;
    size_t i = 6;

    if (line.len < 7 || memcmp(text, "begin ", 6) != 0)
        return false;
    while (i < line.len && text[i] >= '0' && text[i] <= '7')
        i++;
    return i > 6 && (i == line.len || text[i] == ' ');
}

static bool is_end(umbel_slice line)
{
    const char *text = line.data;

    while (line.len && strchr(" \t\r\n\f", text[line.len - 1]))
        line.len--;
    while (line.len && strchr(" \t\r\n\f", *text)) {
        text++;
        line.len--;
    }
    return line.len == 3 && memcmp(text, "end", 3) == 0;
}

/* Decodes a line: its length, then four characters for three bytes; missing
 * ones at the end are zeroes. Returns false for other characters. */
static bool decode_uu_line(um_buffer *out, umbel_slice line)
{
    const uint8_t *in = line.data;
    size_t n = (in[0] - 32u) & 63, have = 0, left = line.len - 1;
    uint32_t bits = 0;

    for (in++; n > 0; in += left > 0, left -= left > 0) {
        uint32_t v = left > 0 ? *in : ' ';

        if (v < 32 || v > 96)
            return false;
        bits = bits << 6 | ((v - 32) & 63);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out->data[out->len++] = (uint8_t)(bits >> have);
            n--;
        }
    }
    return true;
}

static bool decode_uu(um_buffer *out, const uint8_t *at, const uint8_t *end)
{
    /* Short lines may claim to encode long ones; more than this is not
     * uuencode. */
    size_t max = out->len + 2 * (size_t)(end - at);
    umbel_slice line = {0};

    while (at < end && !is_begin(line))
        line = next_line(&at, end);
    if (!is_begin(line))
        return false;
    while (at < end) {
        line = next_line(&at, end);
        if (line.len == 0)
            return false;
        if (is_end(line))
            return true;
        if (out->len > max || !um_buffer_reserve(out, 64) ||
            !decode_uu_line(out, line))
            return false;
    }
    return true;
}

void um_uu_decode(um_buffer *out, const uint8_t *text, size_t len)
{
    size_t from = out->len;

    if (decode_uu(out, text, text + len))
        return;
    out->len = from; /* damaged: use the body as it is */
    um_buffer_append(out, text, len);
}

/* --- the table ------------------------------------------------------------ */

um_transfer *um_transfer_find(umbel_slice name)
{
    static const struct {
        const char *name;
        um_transfer *decode;
    } rows[] = {
        {"base64", um_base64_decode}, {"quoted-printable", um_quoted_decode},
        {"x-uuencode", um_uu_decode}, {"uuencode", um_uu_decode},
        {"uue", um_uu_decode},        {"x-uue", um_uu_decode}};

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (um_slice_is(name, rows[i].name))
            return rows[i].decode;
    return NULL;
}

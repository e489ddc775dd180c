/*
 * pyzor_digest.c - the digest of the Pyzor client: SHA-1 over a few lines.
 *
 * A line loses words of ten characters or more, then addresses (x@y), then
 * URLs (letters, a colon, anything), then white space. Lines with eight
 * characters left are kept. Up to four lines: all count. Else three from a
 * fifth of the text on, and three from three fifths on.
 *
 * The number of kept lines is known only at the end, so the text is read twice,
 * and nothing is stored. A word that is not dropped at once has nine characters
 * at most, so that the rules for addresses and URLs see a small buffer.
 */
#include "mail/pyzor_digest.h"

#include "mail/chars.h"

#include <sha1.h>

_Static_assert((int)UM_SIGNATURE_LEN == SHA1_DIGEST_LENGTH, "a SHA-1");

enum {
    LONG_WORD = 10, /* characters, from which on a word is dropped */
    SHORT_LINE = 8, /* characters, below which a line is dropped */
    FEW_LINES = 4,  /* that are digested whole */
    PIECE = 3       /* lines */
};

/* --- words ---------------------------------------------------------------- */

typedef struct word {
    um_char c[LONG_WORD];
    unsigned n; /* characters; LONG_WORD: that many, or more */
} word;

/* As [a-z] of re with IGNORECASE. */
static bool is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == 0x130 ||
           c == 0x131 || c == 0x17f || c == 0x212a;
}

static bool is_address(const word *w)
{
    for (unsigned i = 1; i + 1 < w->n; i++)
        if (w->c[i].code == '@')
            return true;
    return false;
}

/* Characters before a URL, which reaches to the end of the word. */
static unsigned before_url(const word *w)
{
    for (unsigned i = 1; i + 1 < w->n; i++) {
        unsigned begin = i;
        if (w->c[i].code != ':')
            continue;
        while (begin && is_letter(w->c[begin - 1].code))
            begin--;
        if (begin < i)
            return begin;
    }
    return w->n;
}

/* Returns the number of characters that stay. */
static unsigned count_kept(const word *w)
{
    return w->n == LONG_WORD || is_address(w) ? 0 : before_url(w);
}

/* Reads white space and the word after it; returns the bytes of both. *begin is
 * where the word begins. */
static size_t next_word(umbel_slice line, word *w, size_t *begin)
{
    const uint8_t *s = line.data;
    size_t at = 0;

    w->n = 0;
    *begin = 0;
    while (at < line.len) {
        um_char c = um_char_at(s + at, line.len - at);
        if (um_char_is_space(c.code)) {
            if (w->n)
                break;
        } else if (w->n < LONG_WORD) {
            *begin = w->n ? *begin : at;
            w->c[w->n++] = c;
        }
        at += c.len;
    }
    return at;
}

/* --- lines ---------------------------------------------------------------- */

static umbel_slice slice_from(umbel_slice s, size_t at)
{
    return (umbel_slice){(const uint8_t *)s.data + at, s.len - at};
}

/* Returns the number of characters of a normalised line. to NULL: only that. */
static size_t digest_line(umbel_slice line, SHA1_CTX *to)
{
    size_t chars = 0;

    while (line.len) {
        word w = {.n = 0};
        size_t begin, end = next_word(line, &w, &begin), len = 0;
        unsigned kept = count_kept(&w);

        for (unsigned i = 0; i < kept; i++)
            len += w.c[i].len;
        if (to)
            SHA1Update(to, (const uint8_t *)line.data + begin, len);
        chars += kept;
        line = slice_from(line, end);
    }
    return chars;
}

typedef struct walk {
    const umbel_slice *part;
    size_t n;
    umbel_slice left; /* of the part before part */
} walk;

/* Lines do not reach over the end of a part. */
static bool next_line(walk *w, umbel_slice *line)
{
    size_t at = 0;

    while (!w->left.len) {
        if (!w->n--)
            return false;
        w->left = *w->part++;
    }
    *line = w->left;
    while (at < line->len) {
        um_char c =
            um_char_at((const uint8_t *)line->data + at, line->len - at);
        at += c.len;
        if (um_char_ends_line(c.code))
            break;
    }
    line->len = at;
    w->left = slice_from(w->left, at);
    return true;
}

/* --- the digest ----------------------------------------------------------- */

/* Lines at the end of a piece and the begin of the next count twice. */
static unsigned times_taken(size_t line, size_t lines)
{
    size_t first = lines * 20 / 100, second = lines * 60 / 100;

    if (lines <= FEW_LINES)
        return 1;
    return (line >= first && line < first + PIECE ? 1u : 0u) +
           (line >= second && line < second + PIECE ? 1u : 0u);
}

static size_t count_lines(walk w)
{
    umbel_slice line;
    size_t lines = 0;

    while (next_line(&w, &line))
        lines += digest_line(line, NULL) >= SHORT_LINE;
    return lines;
}

size_t um_pyzor_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN])
{
    walk w = {parts, n, {NULL, 0}};
    size_t lines = count_lines(w), at = 0, chars = 0;
    umbel_slice line;
    SHA1_CTX ctx;

    SHA1Init(&ctx);
    while (next_line(&w, &line)) {
        if (digest_line(line, NULL) < SHORT_LINE)
            continue;
        for (unsigned i = times_taken(at++, lines); i; i--)
            chars += digest_line(line, &ctx);
    }
    SHA1Final(out, &ctx);
    return chars;
}

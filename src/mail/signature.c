/*
 * signature.c - the three signatures of a mail, and its other facts.
 *
 * Exact: SHA-1 of the text without white space. Mail software breaks lines
 * differently, so white space is all that differs between unchanged copies of
 * one mail.
 *
 * Pyzor: SHA-1 over a few lines, as the Pyzor client computes it. A line loses
 * words of ten characters or more, then addresses (x@y), then URLs (letters, a
 * colon, anything), then white space. Lines with at least eight characters left
 * are kept. If there are up to four lines, all are digested; otherwise three
 * from a fifth of the text on, and three from three fifths on. The number of
 * kept lines is known only at the end, so the text is read twice, and nothing
 * is stored. A word that is not dropped at once has at most nine characters, so
 * the rules for addresses and URLs need only a small buffer.
 *
 * Shingles: super-shingles (Broder 1997), that is words, windows of three
 * words, 32 minima over different hashes of all windows, eight groups of four
 * minima.
 *
 *   words     the quick brown fox   ->  windows  the-quick-brown
 *                                                quick-brown-fox
 *   minimum i    min over windows w of hash_i(w)
 *   shingle g    hash of minima 4g to 4g + 3
 *
 * Each minimum is the same in two texts with probability s, their resemblance
 * (windows in both / windows in either). A changed word changes three windows.
 * A word is a run of letters, ASCII letters in lower case. Digits are ignored,
 * because they differ between copies: dates, prices, order numbers. Characters
 * of scripts that are written without spaces are a word each. Words longer than
 * WORD_MAX bytes are ignored, too.
 */
#include "mail/internal.h"

#include <sha1.h>
#include <string.h>
#include <xxhash.h>

_Static_assert((int)UM_SIGNATURE_LEN == SHA1_DIGEST_LENGTH, "a SHA-1");

/* --- exact ---------------------------------------------------------------- */

static size_t digest_part(umbel_slice part, SHA1_CTX *to)
{
    const uint8_t *s = part.data;
    size_t chars = 0, begin = 0, at = 0;

    while (at < part.len) {
        um_char c = um_char_at(s + at, part.len - at);
        bool space = um_char_is_space(c.code);
        if (space) {
            SHA1Update(to, s + begin, at - begin);
            begin = at + c.len;
        }
        chars += !space;
        at += c.len;
    }
    if (part.len)
        SHA1Update(to, s + begin, part.len - begin);
    return chars;
}

size_t um_exact_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN])
{
    SHA1_CTX ctx;
    size_t chars = 0;

    SHA1Init(&ctx);
    for (size_t i = 0; i < n; i++)
        chars += digest_part(parts[i], &ctx);
    SHA1Final(out, &ctx);
    return chars;
}

/* --- Pyzor ---------------------------------------------------------------- */

enum {
    LONG_WORD = 10, /* words of this many characters are dropped */
    SHORT_LINE = 8, /* lines with fewer characters are dropped */
    FEW_LINES = 4,  /* up to this number, all lines are digested */
    PIECE = 3       /* lines */
};

typedef struct word {
    um_char c[LONG_WORD];
    unsigned n; /* characters; LONG_WORD: this many or more */
} word;

/* Returns true for [a-z] of re with IGNORECASE. */
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

/* Returns the number of characters before a URL, which extends to the end of
 * the word. */
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

/* Reads white space and the word after it; returns the length of both. *begin
 * is the offset of the word. */
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

static umbel_slice slice_from(umbel_slice s, size_t at)
{
    return (umbel_slice){(const uint8_t *)s.data + at, s.len - at};
}

/* Digests a normalised line, unless to is NULL; returns its number of
 * characters. */
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

/* Returns the next line; the end of a part ends a line. */
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

/* Returns how often a line is digested: twice where both pieces overlap. */
static unsigned times_digested(size_t line, size_t lines)
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
        for (unsigned i = times_digested(at++, lines); i; i--)
            chars += digest_line(line, &ctx);
    }
    SHA1Final(out, &ctx);
    return chars;
}

/* --- shingles ------------------------------------------------------------- */

enum { WINDOW = 3, GROUP = 4, MINIMA = UM_SHINGLES * GROUP, WORD_MAX = 64 };

typedef struct shingler {
    uint64_t factor[MINIMA], minimum[MINIMA];
    uint64_t window[WINDOW]; /* hashes of the last words, newest first */
    size_t words;
    uint8_t word[WORD_MAX];
    size_t len; /* of the word; above WORD_MAX: it is ignored */
} shingler;

/* Returns a pseudorandom odd number: splitmix64. */
static uint64_t factor_of(unsigned i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) | 1;
}

static void init_shingler(shingler *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < MINIMA; i++) {
        s->factor[i] = factor_of(i);
        s->minimum[i] = UINT64_MAX;
    }
}

/* Updates the minima with a window. Each factor orders the windows, whose
 * hashes are random already, differently. */
static void add_window(shingler *s)
{
    uint64_t x = XXH3_64bits(s->window, sizeof s->window);

    for (unsigned i = 0; i < MINIMA; i++) {
        uint64_t y = (x ^ s->factor[i] >> 7) * s->factor[i];
        s->minimum[i] = y < s->minimum[i] ? y : s->minimum[i];
    }
}

static void end_word(shingler *s)
{
    if (s->len && s->len <= WORD_MAX) {
        memmove(s->window + 1, s->window, sizeof s->window - sizeof *s->window);
        s->window[0] = XXH3_64bits(s->word, s->len);
        if (++s->words >= WINDOW)
            add_window(s);
    }
    s->len = 0;
}

static void add_char(shingler *s, const uint8_t *bytes, unsigned len)
{
    if (s->len + len > WORD_MAX) {
        s->len = WORD_MAX + 1;
        return;
    }
    for (unsigned i = 0; i < len; i++) {
        bool capital = bytes[i] >= 'A' && bytes[i] <= 'Z';
        s->word[s->len++] = (uint8_t)(bytes[i] | (capital ? 0x20 : 0));
    }
}

/* Returns true for letters, also of other scripts, accents and signs within
 * words: everything except spaces and punctuation blocks. */
static bool is_in_word(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c >= 0xc0 && !(c >= 0x2000 && c <= 0x2bff) &&
           !(c >= 0x3000 && c <= 0x303f) && c != 0xfffd;
}

/* Returns true for characters that are a word each: Han, kana and related
 * blocks. */
static bool is_word(uint32_t c)
{
    return (c >= 0x2e80 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

static void shingle_text(shingler *s, umbel_slice text)
{
    const uint8_t *bytes = text.data;

    for (size_t at = 0; at < text.len;) {
        um_char c = um_char_at(bytes + at, text.len - at);
        bool alone = is_word(c.code);

        if (alone || !is_in_word(c.code))
            end_word(s);
        if (is_in_word(c.code))
            add_char(s, bytes + at, c.len);
        if (alone)
            end_word(s);
        at += c.len;
    }
    end_word(s);
}

size_t um_shingle(const umbel_slice *parts, size_t n, uint64_t out[UM_SHINGLES])
{
    shingler s;

    init_shingler(&s);
    for (size_t i = 0; i < n; i++)
        shingle_text(&s, parts[i]);
    for (unsigned g = 0; g < UM_SHINGLES; g++)
        out[g] = s.words < WINDOW
                     ? 0
                     : XXH3_64bits_withSeed(s.minimum + (size_t)g * GROUP,
                                            GROUP * sizeof *s.minimum, g);
    return s.words;
}

/* --- facts ---------------------------------------------------------------- */

void um_mail_sign(const um_mail *m, um_mail_facts *out)
{
    size_t words = um_shingle(m->texts, m->ntexts, out->shingle);

    out->exact.present = um_exact_digest(m->leaves, m->nleaves,
                                         out->exact.digest) >= UM_EXACT_CHARS;
    out->pyzor.present = um_pyzor_digest(m->leaves, m->nleaves,
                                         out->pyzor.digest) >= UM_PYZOR_CHARS;
    out->nshingles = words >= UM_SHINGLE_WORDS ? UM_SHINGLES : 0;
}

/* Appends text as one line: white space and control characters become one
 * blank. Returns false when the sample is full. */
static bool sample_text(umbel_slice text, char *out, size_t *n)
{
    const uint8_t *at = text.data, *end = at + text.len;

    for (um_char c; at < end; at += c.len) {
        c = um_char_at(at, (size_t)(end - at));
        bool blank = um_char_is_space(c.code) || c.code < 0x20 ||
                     (c.code >= 0x7f && c.code < 0xa0);

        if (blank && (*n == 0 || out[*n - 1] == ' '))
            continue;
        if (*n + c.len >= UM_MAIL_SAMPLE)
            return false;
        memcpy(out + *n, blank ? (const uint8_t *)" " : at, blank ? 1 : c.len);
        *n += blank ? 1 : c.len;
    }
    return true;
}

void um_mail_describe(const um_mail *m, um_mail_facts *out)
{
    size_t n = 0;
    bool space = true;

    memcpy(out->from_domain, m->from_domain, sizeof out->from_domain);
    memcpy(out->list_id, m->list_id, sizeof out->list_id);
    memcpy(out->received, m->received, sizeof out->received);
    memset(out->sample, 0, sizeof out->sample);
    out->parts = (uint32_t)m->nleaves;
    out->notes = m->notes;
    out->text_bytes = 0;
    for (size_t i = 0; i < m->ntexts; i++) {
        out->text_bytes += m->texts[i].len;
        if (space && n && out->sample[n - 1] != ' ' && n + 1 < UM_MAIL_SAMPLE)
            out->sample[n++] = ' ';
        space = space && sample_text(m->texts[i], out->sample, &n);
    }
    if (n && out->sample[n - 1] == ' ')
        out->sample[n - 1] = '\0';
}

/*
 * shingle.c - super-shingles (Broder 1997): words, windows of three words, 32
 * minima over different hashes of all windows, eight groups of four minima.
 *
 *   words     the quick brown fox   ->  windows  the-quick-brown
 *                                                quick-brown-fox
 *   minimum i    min over windows w of hash_i(w)
 *   shingle g    hash of minima 4g to 4g + 3
 *
 * Each minimum is the same in two texts with probability s, their resemblance
 * (windows in both / windows in either). A changed word changes three windows.
 *
 * A word is a run of letters, without regard to case for ASCII. Digits are left
 * out, since they are what differs between copies: dates, prices, numbers of
 * orders. Characters of scripts that are written without spaces are a word
 * each. Words that no language has (longer than LONGEST bytes) are left out,
 * too.
 */
#include "mail/shingle.h"

#include "mail/chars.h"

#include <string.h>
#include <xxhash.h>

enum { WINDOW = 3, GROUP = 4, MINIMA = UM_SHINGLES * GROUP, LONGEST = 64 };

typedef struct shingler {
    uint64_t factor[MINIMA], minimum[MINIMA];
    uint64_t window[WINDOW]; /* hashes of the last words, newest first */
    size_t words;
    uint8_t word[LONGEST];
    size_t len; /* of the word; more than LONGEST: it is left out */
} shingler;

/* --- windows -------------------------------------------------------------- */

/* An odd number that looks random: splitmix64. */
static uint64_t factor_of(unsigned i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) | 1;
}

static void init(shingler *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < MINIMA; i++) {
        s->factor[i] = factor_of(i);
        s->minimum[i] = UINT64_MAX;
    }
}

/* Each factor puts the windows, whose hashes are random already, in another
 * order. */
static void add_window(shingler *s)
{
    uint64_t x = XXH3_64bits(s->window, sizeof s->window);

    for (unsigned i = 0; i < MINIMA; i++) {
        uint64_t y = (x ^ s->factor[i] >> 7) * s->factor[i];
        s->minimum[i] = y < s->minimum[i] ? y : s->minimum[i];
    }
}

/* --- words ---------------------------------------------------------------- */

static void end_word(shingler *s)
{
    if (s->len && s->len <= LONGEST) {
        memmove(s->window + 1, s->window, sizeof s->window - sizeof *s->window);
        s->window[0] = XXH3_64bits(s->word, s->len);
        if (++s->words >= WINDOW)
            add_window(s);
    }
    s->len = 0;
}

static void add_char(shingler *s, const uint8_t *bytes, unsigned len)
{
    if (s->len + len > LONGEST) {
        s->len = LONGEST + 1;
        return;
    }
    for (unsigned i = 0; i < len; i++) {
        bool capital = bytes[i] >= 'A' && bytes[i] <= 'Z';
        s->word[s->len++] = (uint8_t)(bytes[i] | (capital ? 0x20 : 0));
    }
}

/* Letters of other scripts, accents and signs that words have: everything but
 * spaces and the blocks of punctuation. */
static bool is_in_word(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c >= 0xc0 && !(c >= 0x2000 && c <= 0x2bff) &&
           !(c >= 0x3000 && c <= 0x303f) && c != 0xfffd;
}

/* Han, kana and what stands beside them. */
static bool is_word(uint32_t c)
{
    return (c >= 0x2e80 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

static void add_text(shingler *s, umbel_slice text)
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

    init(&s);
    for (size_t i = 0; i < n; i++)
        add_text(&s, parts[i]);
    for (unsigned g = 0; g < UM_SHINGLES; g++)
        out[g] = s.words < WINDOW
                     ? 0
                     : XXH3_64bits_withSeed(s.minimum + (size_t)g * GROUP,
                                            GROUP * sizeof *s.minimum, g);
    return s.words;
}

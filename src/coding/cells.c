/*
 * cells.c - many cells at once.
 *
 * A word is loaded, or stored, once for all cells in it. Cell after cell would
 * wait for its store before: neighbours share a word.
 */
#include "coding/cells.h"

/* Cells that fill words, the last first. */
static inline size_t words_before(const um_packed *c, uint64_t end, size_t n,
                                  uint64_t *out, unsigned bits)
{
    const unsigned per = 64 / bits;
    const uint64_t max = um_packed_max(c);
    const uint8_t *at = c->at + end / per * 8;
    size_t done = 0;

    for (; n - done >= per; done += per) {
        uint64_t word = um_load64(at -= 8);
        for (unsigned i = 0; i < per; i++)
            out[done + i] = word >> (64 - bits - i * bits) & max;
    }
    return done;
}

/* Whole words of cells before end: of the usual widths, which unroll. */
static size_t whole_before(const um_packed *c, uint64_t end, size_t n,
                           uint64_t *out)
{
    if (64 % c->bits != 0 || end * c->bits % 64 != 0)
        return 0;
    return c->bits == 4    ? words_before(c, end, n, out, 4)
           : c->bits == 8  ? words_before(c, end, n, out, 8)
           : c->bits == 16 ? words_before(c, end, n, out, 16)
           : c->bits == 32 ? words_before(c, end, n, out, 32)
                           : words_before(c, end, n, out, c->bits);
}

void um_packed_before(const um_packed *c, uint64_t end, size_t n, uint64_t *out)
{
    if (!c->at) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    size_t done = whole_before(c, end, n, out);
    end -= done, out += done, n -= done;
    const unsigned bits = c->bits;
    const uint64_t max = um_packed_max(c), first = (end - n) * bits;
    const uint8_t *at = c->at + (first >> 6) * 8;
    unsigned have = 64 - (unsigned)(first & 63); /* bits left in word */
    uint64_t word = n ? um_load64(at) >> (first & 63) : 0;

    while (n) {
        uint64_t x = word;
        if (have < bits) {
            word = um_load64(at += 8);
            x |= word << have;
            word = word >> 1 >> (bits - have - 1);
            have += 64;
        } else {
            word = word >> 1 >> (bits - 1);
        }
        have -= bits;
        out[--n] = x & max;
    }
}

void um_packed_append(const um_packed *c, uint64_t i, const uint64_t *values,
                      size_t n)
{
    const unsigned bits = c->bits;
    uint8_t *at = c->at + (i * bits >> 6) * 8;
    unsigned have = (unsigned)(i * bits & 63); /* bits of word so far */
    uint64_t word = have ? um_load64(at) & (((uint64_t)1 << have) - 1) : 0;

    for (size_t j = 0; j < n; j++) {
        word |= values[j] << have;
        have += bits;
        if (have >= 64) {
            um_store64(at, word);
            at += 8;
            have -= 64;
            word = have ? values[j] >> (bits - have) : 0;
        }
    }
    if (have)
        um_store64(at, word | (um_load64(at) >> have << have));
}

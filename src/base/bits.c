/*
 * bits.c - counting ones.
 */
#include "base/bits.h"

static uint64_t low_mask(uint64_t nbits)
{
    return nbits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << nbits) - 1;
}

/* Loads the last word of an array without reading past its last byte. */
static uint64_t load_tail(const uint8_t *p, uint64_t nbits)
{
    uint64_t word = 0;
    memcpy(&word, p, (size_t)((nbits + 7) / 8));
    return um_le64(word) & low_mask(nbits);
}

uint64_t um_popcount(const uint8_t *bits, uint64_t from, uint64_t nbits)
{
    uint64_t sum = 0;

    for (; nbits && from & 7; from++, nbits--)
        sum += um_bit(bits, from);
    const uint8_t *p = bits + from / 8;
    for (; nbits >= 64; nbits -= 64, p += 8)
        sum += um_ones(um_load64(p));
    if (nbits)
        sum += um_ones(load_tail(p, nbits));
    return sum;
}

uint64_t um_popcount_or(const uint8_t *a, const uint8_t *b, uint64_t nbits)
{
    uint64_t sum = 0;

    for (; nbits >= 64; nbits -= 64, a += 8, b += 8)
        sum += um_ones(um_load64(a) | um_load64(b));
    if (nbits)
        sum += um_ones(load_tail(a, nbits) | load_tail(b, nbits));
    return sum;
}

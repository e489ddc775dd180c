/*
 * bits.h - little-endian words, arrays of bits, wide products.
 *
 * Bit i of an array lives in byte i/8 at 1 << i%8, which is bit i%64 of the
 * little-endian word i/64: the same bytes on every machine.
 */
#ifndef UM_BASE_BITS_H
#define UM_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { UM_LINE = 64 }; /* bytes of a cache line */

__extension__ typedef unsigned __int128 um_u128;

#ifndef __BYTE_ORDER__
#error "the compiler does not tell the byte order"
#endif

static inline uint64_t um_le64(uint64_t x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(x);
#else
    return x;
#endif
}

static inline uint64_t um_load64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return um_le64(x);
}

static inline void um_store64(void *p, uint64_t x)
{
    x = um_le64(x);
    memcpy(p, &x, sizeof x);
}

/* Maps a uniform x to 0 .. n-1, without a division and with negligible bias. */
static inline uint64_t um_scale(uint64_t x, uint64_t n)
{
    return (uint64_t)((um_u128)x * n >> 64);
}

static inline bool um_bit(const uint8_t *bits, uint64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

/* Sets bit i; returns true if it was clear. */
static inline bool um_set_bit(uint8_t *bits, uint64_t i)
{
    uint8_t mask = (uint8_t)(1u << (i & 7));
    bool clear = !(bits[i >> 3] & mask);
    bits[i >> 3] |= mask;
    return clear;
}

/*
 * Reads or writes a field of width bits that begins at a bit, lowest first, and
 * may span two words; max is 2^width - 1. Accesses whole words.
 */
static inline uint64_t um_get_field(const uint8_t *at, uint64_t bit,
                                    unsigned width, uint64_t max)
{
    uint64_t shift = bit & 63;
    const uint8_t *word = at + (bit >> 6) * 8;
    uint64_t x = um_load64(word) >> shift;

    if (shift + width > 64)
        x |= um_load64(word + 8) << (-shift & 63);
    return x & max;
}

static inline void um_set_field(uint8_t *at, uint64_t bit, unsigned width,
                                uint64_t max, uint64_t value)
{
    uint64_t shift = bit & 63;
    uint8_t *word = at + (bit >> 6) * 8;

    um_store64(word, (um_load64(word) & ~(max << shift)) | value << shift);
    if (shift + width > 64) {
        uint64_t done = -shift & 63; /* in the first word */
        um_store64(word + 8,
                   (um_load64(word + 8) & ~(max >> done)) | value >> done);
    }
}

/* Counts the ones in a word. Without popcnt, the compiler's builtin is a
 * call. */
static inline uint64_t um_ones(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return x * 0x0101010101010101 >> 56;
}

/* Counts the ones among nbits bits, starting at bit from. */
uint64_t um_popcount(const uint8_t *bits, uint64_t from, uint64_t nbits);
/* Counts the ones of a OR b, both of nbits bits from bit 0. */
uint64_t um_popcount_or(const uint8_t *a, const uint8_t *b, uint64_t nbits);

/*
 * Functions that the compiler inlines into their callers.
 *
 * The loops over many keys are written once, with constants as arguments, and
 * inlined for each set of constants. They stay ordinary functions without
 * optimisation; under a sanitizer, whose checks make each copy ten times as
 * large (one file took a minute to compile, and now takes a second); and with
 * UM_NO_COPIES, which is for emulated instructions.
 */

#if defined(UM_NO_COPIES)
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UM_NO_COPIES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UM_NO_COPIES 1
#endif
#endif

#if defined(__OPTIMIZE__) && !defined(UM_NO_COPIES)
#define UM_INLINE static inline __attribute__((always_inline))
#else
#define UM_INLINE static inline
#endif

#endif

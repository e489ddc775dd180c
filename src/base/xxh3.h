/*
 * xxh3.h - XXH3-64 of short keys, for loops that fuse it.
 *
 * Bit for bit what the library gives; tests hold them together. The library
 * chooses between its ways for each length by a call, which costs a short key
 * more than its arithmetic.
 */
#ifndef UM_BASE_XXH3_H
#define UM_BASE_XXH3_H

#include "base/bits.h"

/* From XXH3's default secret: what keys of 4 to 8 and of 9 to 16 bytes meet. */
#define UM_XXH3_SECRET UINT64_C(0xc73ab174c5ecd5a2)
#define UM_XXH3_SECRET_LOW UINT64_C(0x6782737bea4239b9)
#define UM_XXH3_SECRET_HIGH UINT64_C(0xaf56bc3b0996523a)
/* ... and the factors that mix them. */
#define UM_XXH3_FACTOR UINT64_C(0x9FB21C651E98DF25)
#define UM_XXH3_FACTOR_16 UINT64_C(0x165667919E3779F9)

/* What the seed makes of the secret, for 4 to 8 bytes. */
static inline uint64_t um_xxh3_flip(uint64_t seed)
{
    seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    return UM_XXH3_SECRET - seed;
}

static inline uint64_t um_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* key as a little-endian number. */
static inline uint64_t um_xxh3_8(uint64_t key, uint64_t flip)
{
    uint64_t x = um_rotate(key, 32) ^ flip;

    x ^= um_rotate(x, 49) ^ um_rotate(x, 24);
    x *= UM_XXH3_FACTOR;
    x ^= (x >> 35) + 8;
    x *= UM_XXH3_FACTOR;
    return x ^ x >> 28;
}

/* 9 to 16 bytes. */
static inline uint64_t um_xxh3_16(const uint8_t *key, size_t len, uint64_t seed)
{
    uint64_t low = um_load64(key) ^ (UM_XXH3_SECRET_LOW + seed);
    uint64_t high = um_load64(key + len - 8) ^ (UM_XXH3_SECRET_HIGH - seed);
    um_u128 product = (um_u128)low * high;
    uint64_t x = len + __builtin_bswap64(low) + high;

    x += (uint64_t)product ^ (uint64_t)(product >> 64);
    x = (x ^ x >> 37) * UM_XXH3_FACTOR_16;
    return x ^ x >> 32;
}

static inline bool um_xxh3_is_short(size_t len)
{
    return len >= 8 && len <= 16;
}

static inline uint64_t um_xxh3_short(const void *key, size_t len, uint64_t seed)
{
    if (len == 8)
        return um_xxh3_8(um_load64(key), um_xxh3_flip(seed));
    return um_xxh3_16(key, len, seed);
}

/* The library's own, for any length. */
uint64_t um_xxh3_any(const void *key, size_t len, uint64_t seed);

static inline uint64_t um_xxh3(const void *key, size_t len, uint64_t seed)
{
    return um_xxh3_is_short(len) ? um_xxh3_short(key, len, seed)
                                 : um_xxh3_any(key, len, seed);
}

#endif

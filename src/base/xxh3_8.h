/*
 * xxh3_8.h - XXH3-64 of keys of 8 bytes, for loops that fuse it.
 *
 * Bit for bit what hash.c gets from the library; tests hold them together.
 */
#ifndef UM_BASE_XXH3_8_H
#define UM_BASE_XXH3_8_H

#include <stdint.h>

/* The words of XXH3's default secret that 4 to 8 bytes meet, and its factor. */
#define UM_XXH3_SECRET UINT64_C(0xc73ab174c5ecd5a2)
#define UM_XXH3_FACTOR UINT64_C(0x9FB21C651E98DF25)

/* What the seed makes of the secret. */
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

#endif

/*
 * xxh3.h - XXH3-64 of short keys, for loops that fuse it.
 *
 * Bit for bit what the library gives; tests hold them together. The library
 * chooses between its ways for each length by a call, which costs a short key
 * more than its arithmetic. What a user's loop needs, too, is in
 * umbel/inline.h.
 */
#ifndef UM_BASE_XXH3_H
#define UM_BASE_XXH3_H

#include "base/bits.h"

#include <umbel/inline.h>

/* From XXH3's default secret: what keys of 4 to 8 bytes meet; and the factor
 * that mixes them. */
#define UM_XXH3_SECRET UINT64_C(0xc73ab174c5ecd5a2)
#define UM_XXH3_FACTOR UINT64_C(0x9FB21C651E98DF25)

/* What the seed makes of the secret, for 4 to 8 bytes. */
static inline uint64_t um_xxh3_flip(uint64_t seed)
{
    seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    return UM_XXH3_SECRET - seed;
}

/* key as a little-endian number. */
static inline uint64_t um_xxh3_8(uint64_t key, uint64_t flip)
{
    return umbel_inline_xxh3_8(key, flip);
}

/* 9 to 16 bytes. */
static inline uint64_t um_xxh3_16(const uint8_t *key, size_t len, uint64_t seed)
{
    return umbel_inline_xxh3_16(key, len, seed);
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

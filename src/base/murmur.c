/*
 * murmur.c - MurmurHash2 in 64 and 32 bits; words are little-endian.
 */
#include "base/murmur.h"

#include "base/bits.h"

#define FACTOR UINT64_C(0xC6A4A7935BD1E995)

static uint32_t load32(const uint8_t *at)
{
    uint32_t x;

    memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap32(x);
#endif
    return x;
}

/* The last bytes of a key, 1 to 7 of them; where they are read twice, they are
 * the same bits. */
static uint64_t load_tail(const uint8_t *at, size_t len)
{
    if (len >= 4)
        return load32(at) | (uint64_t)load32(at + len - 4) << 8 * (len - 4);
    return at[0] | (uint64_t)at[len / 2] << 8 * (len / 2) |
           (uint64_t)at[len - 1] << 8 * (len - 1);
}

uint64_t um_murmur64a(const void *key, size_t len, uint64_t seed)
{
    const uint64_t m = FACTOR;
    const uint8_t *at = key;
    uint64_t h = seed ^ len * m;

    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word = um_load64(at) * m;
        h = (h ^ (word ^ word >> 47) * m) * m;
    }
    if (len)
        h = (h ^ load_tail(at, len)) * m;
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}

umbel_digest um_murmur_digest(const void *key, size_t len)
{
    uint64_t first = um_murmur64a(key, len, FACTOR);

    return (umbel_digest){first, um_murmur64a(key, len, first)};
}

uint32_t um_murmur32(const void *key, size_t len, uint32_t seed)
{
    const uint32_t m = 0x5BD1E995;
    const uint8_t *at = key;
    uint32_t h = seed ^ (uint32_t)len;

    for (; len >= 4; at += 4, len -= 4) {
        uint32_t word = load32(at) * m;
        h = h * m ^ (word ^ word >> 24) * m;
    }
    if (len)
        h = (h ^ (uint32_t)load_tail(at, len)) * m;
    h = (h ^ h >> 13) * m;
    return h ^ h >> 15;
}

/*
 * hash.h - from keys to digests: one row per family.
 */
#ifndef UM_BASE_HASH_H
#define UM_BASE_HASH_H

#include "base/bits.h"

#include <umbel/base.h>
#include <umbel/inline.h>

enum { UM_SECRET_LEN = 16 };

/*
 * Keys of the family "integer" lie below this prime, the p of the papers'
 * ((cx + d) mod p) mod m.
 */
#define UM_INTEGER_PRIME UINT64_C(2100000011)

typedef struct um_hasher um_hasher;

typedef struct um_hash {
    const char *name; /* on the wire; never reused */
    const char *summary;
    bool keyed;       /* needs a secret */
    bool seeded;      /* takes a seed other than 0 */
    bool implied;     /* chosen by an addressing, never by itself */
    bool fused;       /* XXH3-64 with the hasher's seed: fast paths know it */
    bool former;      /* of older files; another row is better */
    bool identity;    /* the key itself: its cells do not look random */
    unsigned entropy; /* bits of a digest that are independent */
    int part; /* hi is the hash of a part of the key: of field part, or of its
                 first -part bytes; 0: it is not. Never chosen by itself */

    /* Make ready after seed and secret are in place; NULL: nothing to do. */
    void (*prepare)(um_hasher *h);
    /* E_KEY, naming the first key that it does not take; NULL: takes all. */
    umbel_status (*accept)(const umbel_slice *keys, size_t n, umbel_error *err);
    /* Of keys that were accepted. */
    void (*digest)(const um_hasher *h, const umbel_slice *keys, size_t n,
                   umbel_digest *out);
} um_hash;

/* A secret, bound to the hasher's seed. */
typedef struct um_secret {
    uint8_t bytes[UM_SECRET_LEN];
    bool ready; /* it is here */
} um_secret;

struct um_hasher {
    const um_hash *row;
    uint64_t seed; /* as prepared */
    union {
        uint64_t flip;     /* of fused rows: um_xxh3_flip(seed) */
        um_secret *secret; /* of keyed ones */
    };
};

#define UM_DEFAULT_HASH "xxh3-64" /* the first row */

/* NULL when no family has that name, or i is past the end. Families of parts
 * are found by name only. */
const um_hash *um_hash_find(const char *name);
const um_hash *um_hash_row(size_t i);
/* The family whose hi is the hash of that part of the key, or NULL. */
const um_hash *um_hash_of_part(int part);

/* Makes a hasher whose secret, if it needs one, comes later, into room. */
void um_hasher_init(um_hasher *h, const um_hash *row, uint64_t seed,
                    um_secret *room);
/* Give it the secret. */
void um_hasher_unlock(um_hasher *h, const uint8_t *secret);
/* Gives it that of another, of the same row and seed. */
void um_hasher_copy_secret(um_hasher *to, const um_hasher *from);
/* Returns false if it needs a secret, which is not here. */
static inline bool um_hasher_ready(const um_hasher *h)
{
    return !h->row->keyed || h->secret->ready;
}
/* Forget the secret. */
void um_hasher_fini(um_hasher *h);
/* The name of a secret: safe to publish, never 0. */
uint64_t um_secret_id(const uint8_t *secret);

/*
 * A bijection of 64-bit numbers whose every output bit depends on many input
 * bits; on the wire: part of what a digest means.
 */
static inline uint64_t um_remix(uint64_t x)
{
    x *= 0xD6E8FEB86659FD93;
    return x ^ x >> 32;
}

/* XXH3-64 of bytes, the checksum of files. */
uint64_t um_checksum(const void *data, size_t len);
/* The same, a piece after the other; done gets each when it was read. */
uint64_t um_checksum_pieces(const uint8_t *data, size_t len, size_t piece,
                            void (*done)(const void *at, size_t len));

/*
 * XXH3-64 of short keys, for loops that fuse it.
 *
 * Bit for bit what the library gives; tests hold them together. The library
 * chooses between its ways for each length by a call, which costs a short key
 * more than its arithmetic. What a user's loop needs, too, is in
 * umbel/inline.h.
 */

/* From XXH3's default secret: what keys of 4 to 8 bytes meet; and the factor
 * that mixes them. */
#define UM_XXH3_SECRET UINT64_C(0xc73ab174c5ecd5a2)
#define UM_XXH3_FACTOR UINT64_C(0x9FB21C651E98DF25)

/* Mixes the seed into the secret, for keys of 4 to 8 bytes. */
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

/*
 * MurmurHash2 (Austin Appleby, public domain), as RedisBloom uses it: 64 bits
 * ("64A") for Bloom filters, 32 bits for count-min sketches.
 *
 * Its constants are public and anyone can compute keys that collide: only for
 * formats of others.
 */

uint64_t um_murmur64a(const void *key, size_t len, uint64_t seed);
/* RedisBloom's pair: the first hash is the seed of the second. */
umbel_digest um_murmur_digest(const void *key, size_t len);
uint32_t um_murmur32(const void *key, size_t len, uint32_t seed);

#endif

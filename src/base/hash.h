/*
 * hash.h - from keys to digests: one row per hash family.
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
    bool seeded;      /* accepts a seed other than 0 */
    bool implied;     /* chosen by an addressing, not by the user */
    bool fused;       /* XXH3-64 with the hasher's seed: fast paths compute it
                         themselves */
    bool former;      /* only for older files; superseded by another row */
    bool identity;    /* the digest is the key itself: its cells do not look
                         random */
    unsigned entropy; /* independent bits of a digest */
    int part; /* hi is the hash of a part of the key: of field `part`, or of its
                 first -part bytes; 0: of neither. Never a default */

    /* Prepares h once seed and secret are set; NULL: nothing to do. */
    void (*prepare)(um_hasher *h);
    /* Returns E_KEY and names the first key it rejects; NULL: accepts all. */
    umbel_status (*accept)(const umbel_slice *keys, size_t n, umbel_error *err);
    /* Digests keys that were accepted. */
    void (*digest)(const um_hasher *h, const umbel_slice *keys, size_t n,
                   umbel_digest *out);
} um_hash;

/* A secret, bound to the hasher's seed. */
typedef struct um_secret {
    uint8_t bytes[UM_SECRET_LEN];
    bool ready; /* the secret was set */
} um_secret;

struct um_hasher {
    const um_hash *row;
    uint64_t seed; /* as changed by prepare */
    union {
        uint64_t flip;     /* for fused rows: um_xxh3_flip(seed) */
        um_secret *secret; /* for keyed rows */
    };
};

#define UM_DEFAULT_HASH "xxh3-64" /* the first row */

/* Return NULL when no family has this name, or i is past the end. Families with
 * a part are found only by name. */
const um_hash *um_hash_find(const char *name);
const um_hash *um_hash_row(size_t i);
/* Returns the family whose hi is the hash of this part of the key, or NULL. */
const um_hash *um_hash_of_part(int part);

/* Initializes a hasher. If it needs a secret, room is where um_hasher_unlock
 * stores it. */
void um_hasher_init(um_hasher *h, const um_hash *row, uint64_t seed,
                    um_secret *room);
/* Sets the secret. */
void um_hasher_unlock(um_hasher *h, const uint8_t *secret);
/* Copies the secret of another hasher with the same row and seed. */
void um_hasher_copy_secret(um_hasher *to, const um_hasher *from);
/* Returns false if h needs a secret and does not have it. */
static inline bool um_hasher_ready(const um_hasher *h)
{
    return !h->row->keyed || h->secret->ready;
}
/* Wipes the secret. */
void um_hasher_fini(um_hasher *h);
/* Returns the identifier of a secret: safe to publish, never 0. */
uint64_t um_secret_id(const uint8_t *secret);

/*
 * Mixes x by a bijection in which every output bit depends on many input bits.
 * On the wire: part of the definition of a digest.
 */
static inline uint64_t um_remix(uint64_t x)
{
    x *= 0xD6E8FEB86659FD93;
    return x ^ x >> 32;
}

/* Returns the XXH3-64 of bytes, the checksum of files. */
uint64_t um_checksum(const void *data, size_t len);
/* Computes um_checksum piece by piece; calls done for each piece after reading
 * it. */
uint64_t um_checksum_pieces(const uint8_t *data, size_t len, size_t piece,
                            void (*done)(const void *at, size_t len));

/*
 * XXH3-64 of short keys, for loops that fuse it.
 *
 * Gives the same results as the library, which tests check. The library chooses
 * between its variants for each length by a call, which costs a short key more
 * than the arithmetic does. The parts that inlined user code needs are in
 * umbel/inline.h.
 */

/* Word of XXH3's default secret for keys of 4 to 8 bytes, and its
 * multiplier. */
#define UM_XXH3_SECRET UINT64_C(0xc73ab174c5ecd5a2)
#define UM_XXH3_FACTOR UINT64_C(0x9FB21C651E98DF25)

/* Mixes the seed into the secret, for keys of 4 to 8 bytes. */
static inline uint64_t um_xxh3_flip(uint64_t seed)
{
    seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    return UM_XXH3_SECRET - seed;
}

/* Hashes a key of 8 bytes, given as a little-endian number. */
static inline uint64_t um_xxh3_8(uint64_t key, uint64_t flip)
{
    return umbel_inline_xxh3_8(key, flip);
}

/* Hashes a key of 9 to 16 bytes. */
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

/* Hashes a key of any length with the library. */
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
 * Its constants are public and anyone can compute keys that collide: use it
 * only for RedisBloom's formats.
 */

uint64_t um_murmur64a(const void *key, size_t len, uint64_t seed);
/* Computes RedisBloom's pair of hashes: the first is the seed of the second. */
umbel_digest um_murmur_digest(const void *key, size_t len);
uint32_t um_murmur32(const void *key, size_t len, uint32_t seed);

/* Computes MurmurHash3 (x64, 128 bits, seed 0), as Guava uses it. */
umbel_digest um_murmur3(const void *key, size_t len);

#endif

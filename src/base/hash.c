/*
 * hash.c - hash families: how a key becomes a digest.
 */
#define XXH_INLINE_ALL
#include "base/hash.h"

#include "base/bits.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/rng.h"

#include <md5.h>
#include <sodium.h>
#include <string.h>
#include <xxhash.h>

/* --- the families of hash functions, and their table ---------------------- */

/*
 * xxh3-64 is the default: 64 bits of XXH3, and hi made from lo in registers, so
 * a digest costs a third of the 128-bit function. The price, which plan
 * reports: two keys share a digest with probability 2^-64, which adds n/2^64 to
 * the error.
 *
 * XXH3 mixes its seed into short keys by XOR alone: two seeds that differ only
 * in bits where the keys differ merely permute the keys and give the same
 * filter. So the seed is mixed first. xxh3 and xxh128, in older files, do not
 * mix it.
 *
 * sip is for keys that an attacker may choose: without the secret, nobody can
 * find keys for a given cell. The seed is bound to the secret with BLAKE2b, so
 * that filters of different seed hash independently.
 *
 * The remaining hashes are implied by an addressing: integer and md5 by those
 * of the papers, fnv1 by that of DCSO's files, murmur64a by that of RedisBloom,
 * murmur3 by those of Guava.
 *
 * xxh3-fieldN and xxh3-firstN are xxh3-64 for keys in partitions: hi is the
 * hash of field N of the key (fields end at tabs), or of its first N bytes.
 */

uint64_t um_xxh3_any(const void *key, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(key, len, seed);
}

static void xxh3(const um_hasher *h, const umbel_slice *keys, size_t n,
                 umbel_digest *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i].lo = um_xxh3(keys[i].data, keys[i].len, h->seed);
        out[i].hi = um_remix(out[i].lo);
    }
}

/* Mixes the seed. 0 stays 0: without a seed the digests are those of XXH3. */
static void mix_seed(um_hasher *h)
{
    h->seed = um_mix(h->seed);
}

static void xxh128(const um_hasher *h, const umbel_slice *keys, size_t n,
                   umbel_digest *out)
{
    for (size_t i = 0; i < n; i++) {
        XXH128_hash_t x =
            XXH3_128bits_withSeed(keys[i].data, keys[i].len, h->seed);
        out[i] = (umbel_digest){x.low64, x.high64};
    }
}

static void sip_prepare(um_hasher *h)
{
    uint8_t seed[8], bound[UM_SECRET_LEN];

    um_store64(seed, h->seed);
    crypto_generichash(bound, sizeof bound, seed, sizeof seed, h->secret->bytes,
                       sizeof h->secret->bytes);
    memcpy(h->secret->bytes, bound, sizeof bound);
    sodium_memzero(bound, sizeof bound);
}

static void sip(const um_hasher *h, const umbel_slice *keys, size_t n,
                umbel_digest *out)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t mac[crypto_shorthash_siphashx24_BYTES];
        crypto_shorthash_siphashx24(mac, keys[i].data, keys[i].len,
                                    h->secret->bytes);
        out[i] = (umbel_digest){um_load64(mac), um_load64(mac + 8)};
    }
}

static void md5(const um_hasher *h, const umbel_slice *keys, size_t n,
                umbel_digest *out)
{
    (void)h;
    for (size_t i = 0; i < n; i++) {
        MD5_CTX ctx;
        uint8_t sum[MD5_DIGEST_LENGTH];
        MD5Init(&ctx);
        if (keys[i].len)
            MD5Update(&ctx, keys[i].data, keys[i].len);
        MD5Final(sum, &ctx);
        /* The sum is a big-endian number: its first bytes are the high half. */
        out[i].hi = __builtin_bswap64(um_load64(sum));
        out[i].lo = __builtin_bswap64(um_load64(sum + 8));
    }
}

static umbel_status accept_integers(const umbel_slice *keys, size_t n,
                                    umbel_error *err)
{
    uint64_t x;

    for (size_t i = 0; i < n; i++)
        if (!um_decimal_read(keys[i].data, keys[i].len, UM_INTEGER_PRIME - 1,
                             &x))
            return um_fail(err, UMBEL_E_KEY,
                           "this filter takes decimal integers below "
                           "2100000011 only, got \"%.*s\"; use another "
                           "addressing for other keys",
                           keys[i].len > 40 ? 40 : (int)keys[i].len,
                           (const char *)keys[i].data);
    return UMBEL_OK;
}

static void integer(const um_hasher *h, const umbel_slice *keys, size_t n,
                    umbel_digest *out)
{
    (void)h;
    for (size_t i = 0; i < n; i++) {
        out[i] = (umbel_digest){0, 0};
        um_decimal_read(keys[i].data, keys[i].len, UM_INTEGER_PRIME - 1,
                        &out[i].lo);
    }
}

/* Computes 64-bit FNV-1: multiply, then XOR the byte. */
static void fnv1(const um_hasher *h, const umbel_slice *keys, size_t n,
                 umbel_digest *out)
{
    (void)h;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *key = keys[i].data;
        uint64_t x = 14695981039346656037u;
        for (size_t j = 0; j < keys[i].len; j++)
            x = x * 1099511628211u ^ key[j];
        out[i] = (umbel_digest){x, um_remix(x)};
    }
}

static void murmur64a(const um_hasher *h, const umbel_slice *keys, size_t n,
                      umbel_digest *out)
{
    (void)h;
    for (size_t i = 0; i < n; i++)
        out[i] = um_murmur_digest(keys[i].data, keys[i].len);
}

static void murmur3(const um_hasher *h, const umbel_slice *keys, size_t n,
                    umbel_digest *out)
{
    (void)h;
    for (size_t i = 0; i < n; i++)
        out[i] = um_murmur3(keys[i].data, keys[i].len);
}

/* Returns field n of a key, counted from 1; an empty slice if it has fewer. */
static umbel_slice field_of(const umbel_slice *key, int n)
{
    const char *at = key->data, *end = at + key->len, *tab;

    while ((tab = at < end ? memchr(at, '\t', (size_t)(end - at)) : NULL)) {
        if (--n == 0)
            return (umbel_slice){at, (size_t)(tab - at)};
        at = tab + 1;
    }
    return n == 1 ? (umbel_slice){at, (size_t)(end - at)}
                  : (umbel_slice){key->data, 0};
}

static umbel_slice part_of(const umbel_slice *key, int part)
{
    size_t most = part < 0 ? (size_t)-part : 0;

    if (!key->len)
        return *key;
    return part > 0
               ? field_of(key, part)
               : (umbel_slice){key->data, key->len < most ? key->len : most};
}

static void xxh3_part(const um_hasher *h, const umbel_slice *keys, size_t n,
                      umbel_digest *out)
{
    for (size_t i = 0; i < n; i++) {
        umbel_slice part = part_of(&keys[i], h->row->part);
        out[i].lo = um_xxh3(keys[i].data, keys[i].len, h->seed);
        out[i].hi = um_xxh3(part.data, part.len, h->seed);
    }
}

#define PARTED(text, n)                                                        \
    {                                                                          \
        .name = text, .summary = "xxh3-64 of keys in partitions",              \
        .seeded = true, .entropy = 64, .part = (n), .prepare = mix_seed,       \
        .digest = xxh3_part                                                    \
    }
#define FIELD(n) PARTED("xxh3-field" #n, n)
#define FIRST(n) PARTED("xxh3-first" #n, -(n))

static const um_hash parted[] = {
    FIELD(1),  FIELD(2),  FIELD(3),  FIELD(4),  FIELD(5),  FIELD(6),
    FIELD(7),  FIELD(8),  FIELD(9),  FIRST(1),  FIRST(2),  FIRST(3),
    FIRST(4),  FIRST(5),  FIRST(6),  FIRST(7),  FIRST(8),  FIRST(9),
    FIRST(10), FIRST(11), FIRST(12), FIRST(13), FIRST(14), FIRST(15),
    FIRST(16), FIRST(20), FIRST(24), FIRST(32), FIRST(40), FIRST(64)};

static const um_hash table[] = {
    {.name = UM_DEFAULT_HASH,
     .summary = "XXH3, 64 bits stretched to 128; the default",
     .seeded = true,
     .fused = true,
     .entropy = 64,
     .prepare = mix_seed,
     .digest = xxh3},
    {.name = "xxh3-128",
     .summary = "XXH3, 128 bits: for errors below n/2^64",
     .seeded = true,
     .entropy = 128,
     .prepare = mix_seed,
     .digest = xxh128},
    {.name = "sip",
     .summary = "SipHash-2-4, 128 bits, secret key: for keys that an attacker "
                "may choose",
     .keyed = true,
     .seeded = true,
     .entropy = 128,
     .prepare = sip_prepare,
     .digest = sip},
    {.name = "integer",
     .summary = "the decimal key itself (comes with universal)",
     .seeded = true,
     .implied = true,
     .identity = true,
     .entropy = 128,
     .accept = accept_integers,
     .digest = integer},
    {.name = "md5",
     .summary = "MD5, 128 bits (comes with chunks-md5)",
     .implied = true,
     .entropy = 128,
     .digest = md5},
    {.name = "fnv1",
     .summary = "FNV-1, 64 bits (comes with dcso)",
     .implied = true,
     .entropy = 64,
     .digest = fnv1},
    {.name = "murmur64a",
     .summary = "MurmurHash64A, twice (comes with redisbloom)",
     .implied = true,
     .entropy = 64,
     .digest = murmur64a},
    {.name = "murmur3",
     .summary = "MurmurHash3, 128 bits (comes with guava and guava32)",
     .implied = true,
     .entropy = 64, /* guava32 uses half of it */
     .digest = murmur3},
    {.name = "xxh3",
     .summary = "older files: xxh3-64, but seeds do little to short keys",
     .seeded = true,
     .fused = true,
     .former = true,
     .entropy = 64,
     .digest = xxh3},
    {.name = "xxh128",
     .summary = "older files: xxh3-128, but seeds do little to short keys",
     .seeded = true,
     .former = true,
     .entropy = 128,
     .digest = xxh128},
};

const um_hash *um_hash_row(size_t i)
{
    return i < UM_COUNT(table) ? &table[i] : NULL;
}

const um_hash *um_hash_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    for (size_t i = 0; i < UM_COUNT(parted); i++)
        if (strcmp(parted[i].name, name) == 0)
            return &parted[i];
    return NULL;
}

const um_hash *um_hash_of_part(int part)
{
    for (size_t i = 0; part && i < UM_COUNT(parted); i++)
        if (parted[i].part == part)
            return &parted[i];
    return NULL;
}

void um_hasher_init(um_hasher *h, const um_hash *row, uint64_t seed,
                    um_secret *room)
{
    *h = (um_hasher){.row = row, .seed = seed};
    if (row->keyed)
        h->secret = room;
    else if (row->prepare)
        row->prepare(h);
    if (row->fused)
        h->flip = um_xxh3_flip(h->seed);
}

void um_hasher_unlock(um_hasher *h, const uint8_t *secret)
{
    memcpy(h->secret->bytes, secret, sizeof h->secret->bytes);
    if (h->row->prepare)
        h->row->prepare(h);
    h->secret->ready = true;
}

void um_hasher_copy_secret(um_hasher *to, const um_hasher *from)
{
    if (to->row->keyed)
        *to->secret = *from->secret;
}

void um_hasher_fini(um_hasher *h)
{
    if (h->row && h->row->keyed)
        sodium_memzero(h->secret, sizeof *h->secret);
}

uint64_t um_secret_id(const uint8_t *secret)
{
    static const uint8_t purpose[] = "umbel secret id";
    uint8_t sum[16];

    crypto_generichash(sum, sizeof sum, purpose, sizeof purpose - 1, secret,
                       UM_SECRET_LEN);
    uint64_t id = um_load64(sum);
    return id ? id : 1;
}

uint64_t um_checksum(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

uint64_t um_checksum_pieces(const uint8_t *data, size_t len, size_t piece,
                            void (*done)(const void *at, size_t len))
{
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    for (size_t at = 0, some; at < len; at += some) {
        some = len - at < piece ? len - at : piece;
        XXH3_64bits_update(&state, data + at, some);
        done(data + at, some);
    }
    return XXH3_64bits_digest(&state);
}

/* --- MurmurHash2 in 64 and 32 bits; words are little-endian --------------- */

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

/* Loads the last 1 to 7 bytes of a key. Overlapping reads OR the same bits. */
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

/* --- MurmurHash3 in 128 bits ---------------------------------------------- */

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static uint64_t finish3(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    x = (x ^ x >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return x ^ x >> 33;
}

/* Return what a word adds to each half. */
static uint64_t low_word3(uint64_t x)
{
    return rotate(x * UINT64_C(0x87C37B91114253D5), 31) *
           UINT64_C(0x4CF5AD432745937F);
}

static uint64_t high_word3(uint64_t x)
{
    return rotate(x * UINT64_C(0x4CF5AD432745937F), 33) *
           UINT64_C(0x87C37B91114253D5);
}

umbel_digest um_murmur3(const void *key, size_t len)
{
    const uint8_t *at = key;
    uint64_t lo = 0, hi = 0;
    size_t left = len;

    for (; left >= 16; at += 16, left -= 16) {
        lo ^= low_word3(um_load64(at));
        lo = (rotate(lo, 27) + hi) * 5 + 0x52DCE729;
        hi ^= high_word3(um_load64(at + 8));
        hi = (rotate(hi, 31) + lo) * 5 + 0x38495AB5;
    }
    uint8_t tail[16] = {0}; /* a word of zeros adds nothing */
    if (left)
        memcpy(tail, at, left);
    lo ^= low_word3(um_load64(tail)) ^ len;
    hi ^= high_word3(um_load64(tail + 8)) ^ len;
    lo += hi;
    hi += lo;
    lo = finish3(lo);
    hi = finish3(hi);
    lo += hi;
    hi += lo;
    return (umbel_digest){lo, hi};
}

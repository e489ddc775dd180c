/*
 * internal.h - buckets of entries: functions that scalable.c and its fast path
 * share, each compiling them for different instructions.
 */
#ifndef UM_KINDS_SCALABLE_INTERNAL_H
#define UM_KINDS_SCALABLE_INTERNAL_H

#include "base/batch.h"
#include "filter/kind.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

enum {
    SLOTS = 16,     /* of a bucket; on the wire */
    LOAD = 15,      /* entries per bucket, on average, at which the buckets
                       double */
    HEAD_BITS = 16, /* of an entry */
    REACH = 64,     /* places searched for a digest, at most */
    AHEAD = 24      /* buckets prefetched */
};

enum {
    IN_BUCKETS = 0,
    IN_SPILL = 8,
    STATE_LEN = 16
}; /* byte offsets in the
      state */

typedef struct scalable {
    uint8_t *head, *tail, *state, *spill;
    uint64_t buckets, spill_len;
    uint32_t bits; /* of an entry */
    size_t done;   /* keys that the last add processed */
} scalable;

/* --- entries -------------------------------------------------------------- */

static inline uint16_t load16(const uint8_t *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap16(x);
#endif
    return x;
}

static inline void store16(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
}

/* Returns entry i of all; bits may be a compile-time constant. */
static inline uint32_t entry_at(const scalable *t, uint64_t i, uint32_t bits)
{
    uint32_t head = load16(t->head + 2 * i);

    if (bits == 16)
        return head;
    return bits == 24 ? head << 8 | t->tail[i]
                      : head << 16 | load16(t->tail + 2 * i);
}

static inline void set_entry(const scalable *t, uint64_t i, uint32_t e)
{
    store16(t->head + 2 * i, e >> (t->bits - HEAD_BITS));
    if (t->bits == 24)
        t->tail[i] = (uint8_t)e;
    else if (t->bits == 32)
        store16(t->tail + 2 * i, e);
}

/* The place of a digest: a bucket, and the fingerprint. */
typedef struct place {
    uint64_t bucket;
    uint32_t print;
} place;

static inline place place_of(const scalable *t, uint64_t lo, uint32_t bits)
{
    um_u128 product = (um_u128)lo * t->buckets;
    return (place){(uint64_t)(product >> 64),
                   (uint32_t)((uint64_t)product >> (64 - bits))};
}

/* The result of searching a bucket for a fingerprint. */
typedef struct look {
    uint32_t match; /* 0: no entry matches */
    uint32_t used;  /* number of entries */
} look;

/* Searches a bucket of short entries. An entry is compared above its lowest 1
 * bit, which ends the fingerprint. */
#ifdef __AVX2__
static inline look look_into_short(const uint8_t *bucket, uint16_t print)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i e = _mm256_loadu_si256((const void *)bucket);
    __m256i end = _mm256_and_si256(e, _mm256_sub_epi16(zero, e));
    __m256i above = _mm256_sub_epi16(zero, _mm256_add_epi16(end, end));
    __m256i differ = _mm256_xor_si256(e, _mm256_set1_epi16((short)print));
    __m256i same = _mm256_cmpeq_epi16(_mm256_and_si256(differ, above), zero);
    __m256i open = _mm256_cmpeq_epi16(e, zero);
    uint32_t match =
        (uint32_t)_mm256_movemask_epi8(_mm256_andnot_si256(open, same));
    uint32_t used = ~(uint32_t)_mm256_movemask_epi8(open);

    return (look){match, (uint32_t)um_ones(used) / 2};
}
#else
static inline look look_into_short(const uint8_t *bucket, uint16_t print)
{
    look found = {0, 0};

    for (size_t i = 0; i < SLOTS; i++) {
        uint32_t e = load16(bucket + 2 * i), end = e & (0 - e);
        uint32_t differ = (e ^ print) & (0 - (end << 1));
        found.used += e != 0;
        found.match += e != 0 && differ == 0;
    }
    return found;
}
#endif

static inline look look_into(const scalable *t, place p, uint32_t bits)
{
    look found = {0, 0};

    if (bits == HEAD_BITS)
        return look_into_short(t->head + p.bucket * 2 * SLOTS,
                               (uint16_t)p.print);
    for (uint64_t i = 0; i < SLOTS; i++) {
        uint32_t e = entry_at(t, p.bucket * SLOTS + i, bits);
        uint32_t end = e & (0 - e), above = 0 - (end << 1);
        uint32_t taken = e != 0, same = ((e ^ p.print) & above) == 0;
        found.used += taken;
        found.match += taken & same;
    }
    return found;
}

/* Does the same if bits is not a constant: three specialized loops. */
static inline look look_at(const scalable *t, place p)
{
    return t->bits == 16   ? look_into(t, p, 16)
           : t->bits == 24 ? look_into(t, p, 24)
                           : look_into(t, p, 32);
}

/* --- digests of keys whose bucket is full --------------------------------- */

static inline uint64_t spilled_form(uint64_t lo)
{
    return lo ? lo : 1; /* 0: a free place */
}

/* Returns the place of the digest, or the free one where it belongs; NULL:
 * neither is within reach. */
static inline uint8_t *find_spilled(const scalable *t, uint64_t lo)
{
    uint64_t x = spilled_form(lo), i;

    i = um_scale(um_remix(x), t->spill_len);
    for (int looks = 0; looks < REACH; looks++) {
        uint8_t *at = t->spill + 8 * i;
        uint64_t found = um_load64(at);
        if (found == x || found == 0)
            return at;
        i = i + 1 < t->spill_len ? i + 1 : 0;
    }
    return NULL;
}

static inline bool is_spilled(const scalable *t, uint64_t lo)
{
    const uint8_t *at = find_spilled(t, lo);
    return at && um_load64(at);
}

static inline void count_in(const scalable *t, size_t where)
{
    um_store64(t->state + where, um_load64(t->state + where) + 1);
}

/* Stores a digest; at most three quarters of the places are used. */
static inline bool write_spilled(const scalable *t, uint64_t lo)
{
    uint64_t used = um_load64(t->state + IN_SPILL);
    uint8_t *at = find_spilled(t, lo);

    if (!at || used >= t->spill_len - t->spill_len / 4)
        return false;
    um_store64(at, spilled_form(lo));
    count_in(t, IN_SPILL);
    return true;
}

/* --- many keys ------------------------------------------------------------ */

/* Returns a free slot of a bucket. Entries are contiguous, so it is the one
 * after them; a forged file may have gaps, where it is not free. */
static inline uint64_t free_slot(const scalable *t, uint64_t bucket,
                                 uint32_t used)
{
    uint64_t slot = used;

    for (uint32_t i = 0; i < SLOTS; i++) {
        if (entry_at(t, bucket * SLOTS + slot, t->bits) == 0)
            break;
        slot = (slot + 1) % SLOTS;
    }
    return bucket * SLOTS + slot;
}

/* Stores a key. Returns false if there is no space: then the filter must
 * grow. */
static inline bool write_key(const scalable *t, uint64_t lo, place p,
                             uint32_t used)
{
    if (used >= SLOTS)
        return write_spilled(t, lo);
    set_entry(t, free_slot(t, p.bucket, used), p.print | 1);
    count_in(t, IN_BUCKETS);
    return true;
}

static inline bool is_full(const scalable *t)
{
    uint64_t in_buckets = um_load64(t->state + IN_BUCKETS);
    uint64_t in_spill = um_load64(t->state + IN_SPILL);
    uint64_t room = LOAD * t->buckets;

    return in_buckets >= room || in_spill >= room - in_buckets;
}

static inline void fetch(const scalable *t, const umbel_digest *d)
{
    uint64_t at = um_scale(d->lo, t->buckets) * SLOTS;

    __builtin_prefetch(t->head + 2 * at);
    if (t->tail)
        __builtin_prefetch(t->tail + at * (t->bits - HEAD_BITS) / 8);
}

/* Prefetches the first buckets; each key then prefetches a later one. */
static inline void fetch_first(const scalable *t, const umbel_digest *d,
                               size_t n)
{
    for (size_t i = 0; i < AHEAD && i < n; i++)
        fetch(t, &d[i]);
}

/* Adds keys until there is no space for one. */
static inline size_t add_keys(void *self, const umbel_digest *d, size_t n,
                              bool *fresh)
{
    scalable *t = self;
    size_t added = 0;

    fetch_first(t, d, n);
    for (t->done = 0; t->done < n; t->done++) {
        size_t i = t->done;
        if (i + AHEAD < n)
            fetch(t, &d[i + AHEAD]);
        place p = place_of(t, d[i].lo, t->bits);
        look found = look_at(t, p);
        bool known =
            found.match || (found.used == SLOTS && is_spilled(t, d[i].lo));
        if (!known && (is_full(t) || !write_key(t, d[i].lo, p, found.used)))
            break;
        added += !known;
        if (fresh)
            fresh[i] = !known;
    }
    return added;
}

static inline void query_of(const scalable *t, const umbel_digest *d, size_t n,
                            bool *hit, uint32_t bits)
{
    fetch_first(t, d, n);
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            fetch(t, &d[i + AHEAD]);
        look found = look_into(t, place_of(t, d[i].lo, bits), bits);
        hit[i] = found.match || (found.used == SLOTS && is_spilled(t, d[i].lo));
    }
}

static inline void query_keys(const void *self, const umbel_digest *d, size_t n,
                              bool *hit)
{
    const scalable *t = self;

    if (t->bits == 16)
        query_of(t, d, n, hit, 16);
    else if (t->bits == 24)
        query_of(t, d, n, hit, 24);
    else
        query_of(t, d, n, hit, 32);
}

#endif

/*
 * bloom_blocked_avx512.c - bloom on blocked256 and blocked512 with AVX-512.
 *
 * The loops are those of blocked_avx512.h. What is new to masks:
 *
 *   vprolv            1 rotated by a number takes only its low bits, so a mask
 *                     is one shift and one rotation
 *   mask registers    the last hashes, fewer than 8, cost no instruction of
 *                     their own: the rotation leaves out the lanes not used
 *
 * No processor with AVX-512 is needed to test this file: tests/emulate.
 */
#include "filter/handle.h"
#include "kinds/blocked_avx512.h"
#include "kinds/bloom.h"

/* --- a key against its block ---------------------------------------------- */

/* One cell in each used lane of 32: 5 bits of its half of the word. */
UM_INLINE __m256i lanes256(uint64_t word, __mmask8 used)
{
    __m256i v =
        _mm256_srlv_epi32(_mm256_set1_epi64x((long long)word),
                          _mm256_setr_epi32(27, 27, 22, 22, 17, 17, 12, 12));
    return _mm256_maskz_rolv_epi32(used, _mm256_set1_epi32(1), v);
}

/* The same with lanes of 64, and 6 bits of the word. */
UM_INLINE __m512i lanes512(uint64_t word, __mmask8 used)
{
    __m512i v = _mm512_srlv_epi64(
        all(word), _mm512_setr_epi64(58, 52, 46, 40, 34, 28, 22, 16));
    return _mm512_maskz_rolv_epi64(used, all(1), v);
}

UM_INLINE __m256i mask256(key k, int groups)
{
    __m256i m = lanes256(k.last, k.used);
    return groups == 2 ? _mm256_or_si256(m, lanes256(k.first, 0xFF)) : m;
}

UM_INLINE __m512i mask512(key k, int groups)
{
    __m512i m = lanes512(k.last, k.used);
    return groups == 2 ? _mm512_or_si512(m, lanes512(k.first, 0xFF)) : m;
}

UM_INLINE bool query256(const target *t, key k, int groups)
{
    __m256i m = mask256(k, groups);
    const void *p = t->bits + k.at;
    return _mm256_testc_si256(_mm256_loadu_si256(p), m);
}

UM_INLINE bool query512(const target *t, key k, int groups)
{
    __m512i m = mask512(k, groups);
    __m512i set = _mm512_and_si512(m, _mm512_loadu_si512(t->bits + k.at));
    __mmask8 missing = _mm512_cmpneq_epi64_mask(set, m);
    return _kortestz_mask8_u8(missing, missing);
}

UM_INLINE bool add256(const target *t, key k, int groups)
{
    __m256i m = mask256(k, groups);
    void *p = t->bits + k.at;
    __m256i old = _mm256_loadu_si256(p);

    _mm256_storeu_si256(p, _mm256_or_si256(old, m));
    return !_mm256_testc_si256(old, m);
}

UM_INLINE bool add512(const target *t, key k, int groups)
{
    __m512i m = mask512(k, groups);
    void *p = t->bits + k.at;
    __m512i old = _mm512_loadu_si512(p), now = _mm512_or_si512(old, m);
    __mmask8 changed = _mm512_cmpneq_epi64_mask(old, now);

    _mm512_storeu_si512(p, now);
    return !_kortestz_mask8_u8(changed, changed);
}

UM_INLINE target aim(const um_bloom *b, uint64_t seed, uint32_t block_shift)
{
    return target_of(b->layout, b->bits, seed, block_shift);
}

/* The functions of a row, for blocks of that many bits. */
#define ROW(block, block_shift)                                                \
    static void query_keys##block(const void *self, uint64_t seed,             \
                                  const uint64_t *keys, size_t n, bool *hit)   \
    {                                                                          \
        job j = {aim(self, seed, block_shift), (const uint8_t *)keys,          \
                 sizeof *keys, n, hit};                                        \
        walk_keys(&j, query##block);                                           \
    }                                                                          \
    static size_t add_keys##block(void *self, uint64_t seed,                   \
                                  const uint64_t *keys, size_t n, bool *fresh) \
    {                                                                          \
        job j = {aim(self, seed, block_shift), (const uint8_t *)keys,          \
                 sizeof *keys, n, fresh};                                      \
        return walk_keys(&j, add##block);                                      \
    }                                                                          \
    static void query_digests##block(const void *self, const umbel_digest *d,  \
                                     size_t n, bool *hit)                      \
    {                                                                          \
        job j = {aim(self, 0, block_shift), (const uint8_t *)d, sizeof *d, n,  \
                 hit};                                                         \
        walk_digests(&j, query##block);                                        \
    }                                                                          \
    static size_t add_digests##block(void *self, const umbel_digest *d,        \
                                     size_t n, bool *fresh)                    \
    {                                                                          \
        job j = {aim(self, 0, block_shift), (const uint8_t *)d, sizeof *d, n,  \
                 fresh};                                                       \
        return walk_digests(&j, add##block);                                   \
    }                                                                          \
    UM_INLINE bool query_hash##block(const umbel_filter *f, uint64_t lo)       \
    {                                                                          \
        umbel_digest d = {lo, um_remix(lo)};                                   \
        return one_key(aim(f->self, 0, block_shift), &d, query##block);        \
    }                                                                          \
    static __attribute__((noinline)) umbel_status query_long##block(           \
        const umbel_filter *f, const void *text, size_t len, bool *hit)        \
    {                                                                          \
        *hit = query_hash##block(f, um_xxh3_any(text, len, f->shape.seed));    \
        return UMBEL_OK;                                                       \
    }                                                                          \
    /* Apart from the rest, which would cost a short key a frame. */           \
    static umbel_status query_key##block(const umbel_filter *f,                \
                                         const void *text, size_t len,         \
                                         bool *hit, umbel_error *err)          \
    {                                                                          \
        (void)err;                                                             \
        if (!um_xxh3_is_short(len))                                            \
            return query_long##block(f, text, len, hit);                       \
        *hit = query_hash##block(f, um_xxh3_short(text, len, f->shape.seed));  \
        return UMBEL_OK;                                                       \
    }                                                                          \
    const um_fast um_fast_bloom_blocked##block##_avx512 = {                    \
        .name = "avx512",                                                      \
        .kind = "bloom",                                                       \
        .addressing = "blocked" #block,                                        \
        .usable = usable,                                                      \
        .add = add_digests##block,                                             \
        .query = query_digests##block,                                         \
        .query_key = query_key##block,                                         \
        .add_keys8 = add_keys##block,                                          \
        .query_keys8 = query_keys##block,                                      \
    };

ROW(256, 5)
ROW(512, 6)

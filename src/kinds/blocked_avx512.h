/*
 * blocked_avx512.h - loops over keys in blocks with AVX-512, for kinds that
 * know their cells.
 *
 * The plan of blocked_avx2.h: eight keys a step are hashed and their blocks
 * fetched, while the batch before is tested, in one loop. What is new comes
 * from the instructions: vpmullq and vprolq make XXH3 of 8 bytes as it is
 * written down, eight at a time.
 *
 * A file that includes this brings what serves a key: serve_one.
 */
#ifndef UM_KINDS_BLOCKED_AVX512_H
#define UM_KINDS_BLOCKED_AVX512_H

#include "base/cpu.h"
#include "base/inline.h"
#include "base/xxh3.h"
#include "filter/handle.h"

#include <immintrin.h>

enum { STEP = 8, BATCH = 32, MOST_HASHES = 16 };
enum { XOR3 = 0x96 }; /* truth table of a ^ b ^ c */

/* What a batch of keys asks for. */
typedef struct batch {
    _Alignas(64) uint64_t word[2][BATCH]; /* of the first and second 8 hashes */
    _Alignas(64) uint64_t at[BATCH];      /* byte where the block begins */
    _Alignas(64) uint64_t used[BATCH];    /* low 8 bits: lanes of the last */
} batch;

/* A filter as the loops see it. */
typedef struct target {
    uint8_t *bits;
    uint64_t blocks;
    uint64_t run;         /* a row of runs */
    uint64_t flip;        /* what XXH3 does with the seed, for 8-byte keys */
    uint32_t block_shift; /* log2 of a block's bytes */
    bool two;             /* groups of hashes: more than 8 */
    bool far;             /* the memory, from the second cache */
} target;

/* The operation. out gets hits, or new keys; it may be NULL when adding. */
typedef struct job {
    target t;
    const uint8_t *items; /* keys of 8 bytes, or digests */
    size_t item_len, n;
    bool *out;
} job;

/* One key of a batch. */
typedef struct key {
    uint64_t first, last; /* words of its groups of hashes; first of two */
    uint64_t at;
    __mmask8 used;
} key;

/* Eight items from p on become digests. */
typedef void take_eight(const target *t, const uint8_t *p, __m512i *lo,
                        __m512i *hi);
/* A key meets its block. */
typedef bool serve_one(const target *t, key k, int groups);

/* --- eight keys a step ---------------------------------------------------- */

UM_INLINE __m512i all(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* um_remix */
UM_INLINE __m512i remix(__m512i x)
{
    x = _mm512_mullo_epi64(x, all(UINT64_C(0xD6E8FEB86659FD93)));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
}

/* um_xxh3_8 */
UM_INLINE __m512i xxh3(__m512i x, uint64_t flip)
{
    const __m512i factor = all(UM_XXH3_FACTOR);

    x = _mm512_xor_si512(_mm512_rol_epi64(x, 32), all(flip));
    x = _mm512_ternarylogic_epi64(x, _mm512_rol_epi64(x, 49),
                                  _mm512_rol_epi64(x, 24), XOR3);
    x = _mm512_mullo_epi64(x, factor);
    x = _mm512_xor_si512(x, _mm512_add_epi64(_mm512_srli_epi64(x, 35), all(8)));
    x = _mm512_mullo_epi64(x, factor);
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 28));
}

UM_INLINE void take_keys(const target *t, const uint8_t *p, __m512i *lo,
                         __m512i *hi)
{
    *lo = xxh3(_mm512_loadu_si512(p), t->flip);
    *hi = remix(*lo);
}

/* In memory lo and hi take turns. */
UM_INLINE void take_digests(const target *t, const uint8_t *p, __m512i *lo,
                            __m512i *hi)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);

    (void)t;
    *lo = _mm512_permutex2var_epi64(a, even, b);
    *hi = _mm512_permutex2var_epi64(a, odd, b);
}

/*
 * High half of lo * blocks, with fewer than 2^32 blocks, as a byte offset.
 * Volatile: when clang 14 takes the number out of the loop, it forgets that its
 * upper half is 0, and multiplies 64 bits.
 */
UM_INLINE __m512i block_of(const target *t, __m512i lo)
{
    __m512i blocks = all(*(const volatile uint64_t *)&t->blocks);
    __m512i a = _mm512_mul_epu32(lo, blocks);
    __m512i b = _mm512_mul_epu32(_mm512_srli_epi64(lo, 32), blocks);

    b = _mm512_add_epi64(_mm512_srli_epi64(a, 32), b);
    return _mm512_sll_epi64(_mm512_srli_epi64(b, 32),
                            _mm_cvtsi32_si128((int)t->block_shift));
}

/*
 * The last hashes, r of them, go to r neighbouring lanes from lane word & 7 on:
 * r bits of 8, rotated by word. Written eight times in a row, they may as well
 * be rotated by the whole word; the low 8 bits are the lanes.
 */
#define RUN(r) (((UINT64_C(1) << (r)) - 1) * UINT64_C(0x0101010101010101))
static const uint64_t runs[STEP] = {RUN(8), RUN(1), RUN(2), RUN(3),
                                    RUN(4), RUN(5), RUN(6), RUN(7)};

/* Items i .. i+7 of a batch. */
UM_INLINE void prepare(const target *t, const uint8_t *items, size_t item_len,
                       batch *b, size_t i, take_eight *take, int groups,
                       bool far)
{
    __m512i lo, last;

    take(t, items + i * item_len, &lo, &last);
    _mm512_store_si512(&b->word[0][i], last);
    if (groups == 2) {
        last = remix(_mm512_add_epi64(last, lo));
        _mm512_store_si512(&b->word[1][i], last);
    }
    _mm512_store_si512(&b->used[i], _mm512_rolv_epi64(all(t->run), last));
    _mm512_store_si512(&b->at[i], block_of(t, lo));
    for (size_t j = i; far && j < i + STEP; j++)
        __builtin_prefetch(t->bits + b->at[j]);
}

/* --- loops ---------------------------------------------------------------- */

UM_INLINE key key_of(const batch *b, size_t i, int groups)
{
    return (key){.first = b->word[0][i],
                 .last = b->word[groups - 1][i],
                 .at = b->at[i],
                 .used = (__mmask8)b->used[i]};
}

/*
 * A batch is made ready while the one before is served. The last items, fewer
 * than a batch, are padded with zeros, which nobody serves. Returns how often
 * serve said yes.
 */
UM_INLINE size_t walk(const job *j, take_eight *take, serve_one *serve,
                      int groups, bool far)
{
    const size_t len = j->item_len;
    batch b[2];
    uint8_t tail[BATCH * sizeof(umbel_digest)] = {0};
    bool unwanted[BATCH], *out = j->out ? j->out : unwanted, yes;
    size_t left = j->n, count = 0, turn = 0;
    const uint8_t *next = left < BATCH ? tail : j->items;

    if (left % BATCH)
        memcpy(tail, j->items + (left - left % BATCH) * len,
               left % BATCH * len);
    for (size_t i = 0; i < BATCH && i < left; i += STEP)
        prepare(&j->t, next, len, &b[0], i, take, groups, far);
    for (; left > BATCH; left -= BATCH, turn ^= 1) {
        next = left < (size_t)2 * BATCH ? tail : next + BATCH * len;
        for (size_t i = 0; i < BATCH; i += STEP) {
            prepare(&j->t, next, len, &b[!turn], i, take, groups, far);
            for (size_t k = i; k < i + STEP; k++) {
                out[k] = yes =
                    serve(&j->t, key_of(&b[turn], k, groups), groups);
                count += yes;
            }
        }
        out += j->out ? BATCH : 0;
    }
    for (size_t i = 0; i < left; i++) {
        out[i] = yes = serve(&j->t, key_of(&b[turn], i, groups), groups);
        count += yes;
    }
    return count;
}

UM_INLINE target target_of(const um_layout *l, uint8_t *bits, uint64_t seed,
                           uint32_t block_shift)
{
    return (target){.bits = bits,
                    .blocks = l->blocks,
                    .run = runs[l->hashes % STEP],
                    .flip = um_xxh3_flip(seed),
                    .block_shift = block_shift,
                    .two = l->hashes > STEP,
                    .far = l->far};
}

/* Every loop for one and for two groups of hashes; keys, near and far. */
UM_INLINE size_t walk_keys(const job *j, serve_one *serve)
{
    if (j->t.far)
        return j->t.two ? walk(j, take_keys, serve, 2, true)
                        : walk(j, take_keys, serve, 1, true);
    return j->t.two ? walk(j, take_keys, serve, 2, false)
                    : walk(j, take_keys, serve, 1, false);
}

UM_INLINE size_t walk_digests(const job *j, serve_one *serve)
{
    return j->t.two ? walk(j, take_digests, serve, 2, true)
                    : walk(j, take_digests, serve, 1, true);
}

/* A key on its own: the same masks, with nothing around them. */
UM_INLINE bool one_key(target t, const umbel_digest *d, serve_one *serve)
{
    uint64_t last = t.two ? um_remix(d->hi + d->lo) : d->hi;
    key k = {.first = d->hi,
             .last = last,
             .at = um_scale(d->lo, t.blocks) << t.block_shift,
             .used = (__mmask8)(t.run >> (8 - (last & 7)))};

    return t.two ? serve(&t, k, 2) : serve(&t, k, 1);
}

static bool usable(const um_layout *l)
{
    return um_has_avx512() && l->hashes <= MOST_HASHES &&
           l->blocks <= UINT32_MAX;
}

/*
 * The functions of a row, for blocks of that many bits, and the row. The file
 * has aim, and query and add of a key in such a block.
 */
#define UM_AVX512_ROW(kind_name, block, block_shift, takes_fn)                 \
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
    const um_fast um_fast_##kind_name##_blocked##block##_avx512 = {            \
        .name = "avx512",                                                      \
        .kind = #kind_name,                                                    \
        .addressing = "blocked" #block,                                        \
        .usable = usable,                                                      \
        .takes = takes_fn,                                                     \
        .add = add_digests##block,                                             \
        .query = query_digests##block,                                         \
        .query_key = query_key##block,                                         \
        .add_keys8 = add_keys##block,                                          \
        .query_keys8 = query_keys##block,                                      \
    };

#endif

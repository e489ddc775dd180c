/*
 * blocked_avx512.h - loops over keys in blocks with AVX-512, for bloom and
 * generalized.
 *
 * As in blocked_avx2.h, one loop hashes eight keys per step and prefetches
 * their blocks while it tests the previous batch. The instructions vpmullq and
 * vprolq compute XXH3 of 8 bytes as it is defined, eight at a time.
 *
 * A file that includes this defines serve and aim.
 */
#ifndef UM_KINDS_BLOCKED_AVX512_H
#define UM_KINDS_BLOCKED_AVX512_H

#include "base/cpu.h"
#include "kinds/blocked/fast_row.h"

#include <immintrin.h>

enum { STEP = 8, BATCH = 32, MAX_HASHES = 16 };
enum { XOR3 = 0x96 }; /* truth table of a ^ b ^ c */

/* The hashes and blocks of a batch of keys. */
typedef struct batch {
    _Alignas(64) uint64_t word[2][BATCH]; /* of the first and second 8 hashes */
    _Alignas(64) uint64_t at[BATCH];      /* byte offset of the block */
    _Alignas(64) uint64_t used[BATCH];    /* low 8 bits: lanes of the last
                                             hashes */
} batch;

/* The parameters of a filter that the loops need. */
typedef struct target {
    uint8_t *bits;
    uint64_t blocks;
    uint64_t run;  /* a row of runs */
    uint64_t flip; /* um_xxh3_flip of the seed, for 8-byte keys */
    bool two;      /* two groups of hashes: more than 8 */
    bool far;      /* the memory exceeds the L2 cache */
} target;

/* The operation. out receives hits, or which keys are new; it may be NULL when
 * adding. */
typedef struct job {
    target t;
    const uint8_t *items; /* keys of 8 bytes, or digests */
    size_t n;
    bool *out;
} job;

/* Properties of a loop, known at compile time. */
typedef struct loop {
    int sort, verb;
    int shift;  /* a block has 2^shift bytes */
    int groups; /* of hashes */
    bool far;
} loop;

/* One key of a batch. */
typedef struct key {
    uint64_t first, last; /* words of its groups of hashes; first is used if
                             there are two */
    uint64_t at;
    __mmask8 used;
} key;

/* Applies a key to its block: returns true if it matches or, when adding, is
 * new. */
UM_INLINE bool serve(const target *t, key k, loop how);
/* Describe the kind's bits. */
UM_INLINE target aim(const void *self, uint64_t seed);
UM_INLINE uint8_t *bits_of_self(const void *self);

/* --- eight keys per step -------------------------------------------------- */

UM_INLINE __m512i all(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* Computes um_remix of eight words. */
UM_INLINE __m512i remix(__m512i x)
{
    x = _mm512_mullo_epi64(x, all(UINT64_C(0xD6E8FEB86659FD93)));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
}

/* Computes um_xxh3_8 of eight keys. */
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

/* Converts the eight items at p to digests. In an array of digests, lo and hi
 * alternate. */
UM_INLINE void consume_eight(const target *t, const uint8_t *p, loop how,
                             __m512i *lo, __m512i *hi)
{
    if (how.sort == UM_KEYS8) {
        *lo = xxh3(_mm512_loadu_si512(p), t->flip);
        *hi = remix(*lo);
        return;
    }
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);

    *lo = _mm512_permutex2var_epi64(a, even, b);
    *hi = _mm512_permutex2var_epi64(a, odd, b);
}

/*
 * Returns the high half of lo * blocks, with fewer than 2^32 blocks, as a byte
 * offset. Volatile: when clang 14 hoists the number out of the loop, it forgets
 * that its upper half is 0, and multiplies 64 bits.
 */
UM_INLINE __m512i block_of(const target *t, __m512i lo, loop how)
{
    __m512i blocks = all(*(const volatile uint64_t *)&t->blocks);
    __m512i a = _mm512_mul_epu32(lo, blocks);
    __m512i b = _mm512_mul_epu32(_mm512_srli_epi64(lo, 32), blocks);

    b = _mm512_add_epi64(_mm512_srli_epi64(a, 32), b);
    return _mm512_sll_epi64(_mm512_srli_epi64(b, 32),
                            _mm_cvtsi32_si128(how.shift));
}

/*
 * The last r hashes use r consecutive lanes, starting at lane word & 7: r bits
 * of 8, rotated by word. Repeated eight times, the pattern can be rotated by
 * the whole word; the low 8 bits are the lanes.
 */
#define RUN(r) (((UINT64_C(1) << (r)) - 1) * UINT64_C(0x0101010101010101))
static const uint64_t runs[STEP] = {RUN(8), RUN(1), RUN(2), RUN(3),
                                    RUN(4), RUN(5), RUN(6), RUN(7)};

UM_INLINE size_t item_len(loop how)
{
    return how.sort == UM_KEYS8 ? sizeof(uint64_t) : sizeof(umbel_digest);
}

/* Prepares items i .. i+7 of a batch. */
UM_INLINE void prepare(const target *t, const uint8_t *items, batch *b,
                       size_t i, loop how)
{
    __m512i lo, last;

    consume_eight(t, items + i * item_len(how), how, &lo, &last);
    _mm512_store_si512(&b->word[0][i], last);
    if (how.groups == 2) {
        last = remix(_mm512_add_epi64(last, lo));
        _mm512_store_si512(&b->word[1][i], last);
    }
    _mm512_store_si512(&b->used[i], _mm512_rolv_epi64(all(t->run), last));
    _mm512_store_si512(&b->at[i], block_of(t, lo, how));
    for (size_t j = i; how.far && j < i + STEP; j++)
        if (how.verb == UM_ADD) /* as in blocked_avx2.h */
            __builtin_prefetch(t->bits + b->at[j], 1);
        else
            __builtin_prefetch(t->bits + b->at[j]);
}

/* --- loops ---------------------------------------------------------------- */

UM_INLINE key key_of(const batch *b, size_t i, loop how)
{
    return (key){.first = b->word[0][i],
                 .last = b->word[how.groups - 1][i],
                 .at = b->at[i],
                 .used = (__mmask8)b->used[i]};
}

/*
 * Prepares a batch while the previous one is processed. The last batch is
 * padded with zeros, which are not processed. Returns how often serve returned
 * true.
 */
UM_INLINE size_t walk(const job *j, loop how)
{
    const size_t len = item_len(how);
    batch b[2];
    uint8_t tail[BATCH * sizeof(umbel_digest)] = {0};
    bool unwanted[BATCH], *out = j->out ? j->out : unwanted, yes;
    size_t left = j->n, count = 0, turn = 0;
    const uint8_t *next = left < BATCH ? tail : j->items;

    if (left % BATCH)
        memcpy(tail, j->items + (left - left % BATCH) * len,
               left % BATCH * len);
    for (size_t i = 0; i < BATCH && i < left; i += STEP)
        prepare(&j->t, next, &b[0], i, how);
    for (; left > BATCH; left -= BATCH, turn ^= 1) {
        next = left < (size_t)2 * BATCH ? tail : next + BATCH * len;
        for (size_t i = 0; i < BATCH; i += STEP) {
            prepare(&j->t, next, &b[!turn], i, how);
            for (size_t k = i; k < i + STEP; k++) {
                out[k] = yes = serve(&j->t, key_of(&b[turn], k, how), how);
                count += yes;
            }
        }
        out += j->out ? BATCH : 0;
    }
    for (size_t i = 0; i < left; i++) {
        out[i] = yes = serve(&j->t, key_of(&b[turn], i, how), how);
        count += yes;
    }
    return count;
}

UM_INLINE target target_of(const um_layout *l, uint8_t *bits, uint64_t seed)
{
    return (target){.bits = bits,
                    .blocks = l->blocks,
                    .run = runs[l->hashes % STEP],
                    .flip = um_xxh3_flip(seed),
                    .two = l->hashes > STEP,
                    .far = l->far};
}

UM_INLINE loop loop_of(int sort, int verb, int block, int groups, bool far)
{
    return (loop){.sort = sort,
                  .verb = verb,
                  .shift = block == 512 ? 6 : 5,
                  .groups = groups,
                  .far = far};
}

/* Processes all keys, in separate loops for one and two groups of hashes, and
 * for near and far memory. */
UM_INLINE size_t serve_all(const void *self, uint64_t seed, int sort,
                           const void *keys, size_t n, void *out, int verb,
                           int block)
{
    job j = {aim(self, seed), keys, n, out};

    if (sort == UM_DIGESTS || j.t.far)
        return j.t.two ? walk(&j, loop_of(sort, verb, block, 2, true))
                       : walk(&j, loop_of(sort, verb, block, 1, true));
    return j.t.two ? walk(&j, loop_of(sort, verb, block, 2, false))
                   : walk(&j, loop_of(sort, verb, block, 1, false));
}

UM_INLINE bool serve_one(const umbel_filter *f, uint64_t lo, int verb,
                         int block, int groups)
{
    const loop how = loop_of(UM_KEYS8, verb, block, groups, false);
    const target t = target_of(&f->layout, bits_of_self(um_self(f)), 0);
    uint64_t hi = um_remix(lo), last = groups == 2 ? um_remix(hi + lo) : hi;
    key k = {.first = hi,
             .last = last,
             .at = um_scale(lo, t.blocks) << how.shift,
             .used = (__mmask8)(t.run >> (8 - (last & 7)))};

    return serve(&t, k, how);
}

static bool usable(const um_layout *l)
{
    return um_use_avx512() && l->hashes <= MAX_HASHES &&
           l->blocks <= UINT32_MAX;
}

#endif

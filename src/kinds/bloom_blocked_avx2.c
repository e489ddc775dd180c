/*
 * bloom_blocked_avx2.c - bloom on blocked256 and blocked512 with AVX2.
 *
 * Keys of a batch are hashed eight at a time (XXH3 of 8 bytes, bit for bit),
 * their blocks fetched ahead, while the batch before is tested: one loop, so
 * that the memory is busy while the arithmetic goes on. A test is one mask a
 * group of eight hashes, made by shifts (addressing/blocked.c), against the
 * whole block.
 */
#include "base/xxh3_8.h"
#include "filter/fast.h"
#include "kinds/bloom.h"

#include <immintrin.h>
#include <unistd.h>

enum { BATCH = 64, MANY = 256, MOST_HASHES = 16 };

#define INLINE static inline __attribute__((always_inline))

/* What a batch of keys asks for. */
typedef struct batch {
    _Alignas(32) uint64_t word[2][MANY]; /* of the first and second 8 hashes */
    _Alignas(32) uint64_t at[MANY];      /* byte where the block begins */
} batch;

/* A filter as the loops see it. */
typedef struct target {
    uint8_t *bits;
    uint64_t blocks;
    uint32_t hashes;
    uint32_t block_shift; /* log2 of a block's bytes */
    uint64_t flip;        /* what XXH3 does with the seed, for 8-byte keys */
} target;

/* --- hashing ------------------------------------------------------------- */

#define REMIX_FACTOR UINT64_C(0xD6E8FEB86659FD93) /* um_remix */

/* Two vectors go through every step together: one alone would wait. */
enum { PAIR = 2 };
#define EACH for (int g = 0; g < PAIR; g++)

/* x * factor mod 2^64: AVX2 has only products of 32-bit halves. */
INLINE void multiply(__m256i x[PAIR], uint64_t factor)
{
    const __m256i low = _mm256_set1_epi64x((long long)(factor & UINT32_MAX));
    const __m256i high = _mm256_set1_epi64x((long long)(factor >> 32));
    __m256i a[PAIR], b[PAIR];

    EACH a[g] = _mm256_srli_epi64(x[g], 32);
    EACH b[g] = _mm256_mul_epu32(x[g], high);
    EACH a[g] = _mm256_mul_epu32(a[g], low);
    EACH x[g] = _mm256_mul_epu32(x[g], low);
    EACH a[g] = _mm256_slli_epi64(_mm256_add_epi64(a[g], b[g]), 32);
    EACH x[g] = _mm256_add_epi64(x[g], a[g]);
}

INLINE void remix(__m256i x[PAIR])
{
    multiply(x, REMIX_FACTOR);
    EACH x[g] = _mm256_xor_si256(x[g], _mm256_srli_epi64(x[g], 32));
}

/* x is the key with its halves swapped; it becomes the hash. */
INLINE void xxh3(__m256i x[PAIR], uint64_t flip)
{
    const __m256i rotate24 =
        _mm256_setr_epi8(5, 6, 7, 0, 1, 2, 3, 4, 13, 14, 15, 8, 9, 10, 11, 12,
                         5, 6, 7, 0, 1, 2, 3, 4, 13, 14, 15, 8, 9, 10, 11, 12);
    const __m256i len = _mm256_set1_epi64x(8);
    __m256i a[PAIR], b[PAIR];

    EACH x[g] = _mm256_xor_si256(x[g], _mm256_set1_epi64x((long long)flip));
    EACH a[g] = _mm256_xor_si256(_mm256_slli_epi64(x[g], 49),
                                 _mm256_srli_epi64(x[g], 15));
    EACH b[g] = _mm256_shuffle_epi8(x[g], rotate24);
    EACH x[g] = _mm256_xor_si256(x[g], _mm256_xor_si256(a[g], b[g]));
    multiply(x, UM_XXH3_FACTOR);
    EACH a[g] = _mm256_add_epi64(_mm256_srli_epi64(x[g], 35), len);
    EACH x[g] = _mm256_xor_si256(x[g], a[g]);
    multiply(x, UM_XXH3_FACTOR);
    EACH x[g] = _mm256_xor_si256(x[g], _mm256_srli_epi64(x[g], 28));
}

/* High half of lo * blocks, with fewer than 2^32 blocks, as a byte offset. */
INLINE __m256i block_of(const target *t, __m256i lo)
{
    __m256i blocks = _mm256_set1_epi64x((long long)t->blocks);
    __m256i a = _mm256_srli_epi64(_mm256_mul_epu32(lo, blocks), 32);
    __m256i b = _mm256_mul_epu32(_mm256_srli_epi64(lo, 32), blocks);

    b = _mm256_srli_epi64(_mm256_add_epi64(a, b), 32);
    return _mm256_sll_epi64(b, _mm_cvtsi32_si128((int)t->block_shift));
}

INLINE void fetch(const target *t, const batch *b, size_t i, size_t n)
{
    for (size_t j = i; j < i + n; j++)
        _mm_prefetch((const char *)t->bits + b->at[j], _MM_HINT_T0);
}

/* Keys i .. i+7 of a batch. */
INLINE void hash_keys(const target *t, const uint64_t *keys, batch *b, size_t i,
                      int groups)
{
    __m256i lo[PAIR], word[PAIR];

    EACH lo[g] =
        _mm256_loadu_si256((const __m256i *)(const void *)(keys + i) + g);
    EACH lo[g] = _mm256_shuffle_epi32(lo[g], 0xB1);
    xxh3(lo, t->flip);
    EACH word[g] = lo[g];
    remix(word);
    EACH _mm256_store_si256((__m256i *)(void *)&b->word[0][i] + g, word[g]);
    EACH _mm256_store_si256((__m256i *)(void *)&b->at[i] + g,
                            block_of(t, lo[g]));
    if (groups == 2) {
        EACH word[g] = _mm256_add_epi64(word[g], lo[g]);
        remix(word);
        EACH _mm256_store_si256((__m256i *)(void *)&b->word[1][i] + g, word[g]);
    }
}

/* --- masks --------------------------------------------------------------- */

/*
 * The last hashes, r of them, go to r neighbouring lanes from lane word & 7 on:
 * lane i is used when (i - start) mod 8 < r. Written twice in a row, a load
 * from entry 8 - start on gives the lanes in their order.
 */
#define USED(i, r) ((i) < (r) ? ~UINT64_C(0) : 0)
#define EIGHT(T, r)                                                            \
    (T) USED(0, r), (T)USED(1, r), (T)USED(2, r), (T)USED(3, r),               \
        (T)USED(4, r), (T)USED(5, r), (T)USED(6, r), (T)USED(7, r)
#define TWICE(T, r)                                                            \
    {                                                                          \
        EIGHT(T, r), EIGHT(T, r)                                               \
    }
#define ALL_R(T)                                                               \
    {                                                                          \
        TWICE(T, 8), TWICE(T, 1), TWICE(T, 2), TWICE(T, 3), TWICE(T, 4),       \
            TWICE(T, 5), TWICE(T, 6), TWICE(T, 7)                              \
    }

static const uint32_t used256[8][16] = ALL_R(uint32_t);
static const uint64_t used512[8][16] = ALL_R(uint64_t);

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* One cell in each of eight lanes of 32. */
INLINE __m256i lanes256(uint64_t word)
{
    __m256i v = _mm256_sllv_epi64(_mm256_set1_epi64x((long long)word),
                                  _mm256_setr_epi64x(0, 5, 10, 15));
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(v, 27));
}

/* Four of the eight lanes of 64. */
INLINE __m256i lanes512(uint64_t word, __m256i shifts)
{
    __m256i v = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), shifts);
    v = _mm256_and_si256(v, _mm256_set1_epi64x(63));
    return _mm256_sllv_epi64(_mm256_set1_epi64x(1), v);
}

/* The cells of a key in its block: one vector, or two. */
typedef struct mask {
    __m256i part[2];
} mask;

INLINE mask mask256(const batch *b, size_t i, int groups, uint32_t rest)
{
    uint64_t last = b->word[groups - 1][i];
    __m256i m = lanes256(last);

    m = _mm256_and_si256(m, load(&used256[rest][8 - (last & 7)]));
    if (groups == 2)
        m = _mm256_or_si256(m, lanes256(b->word[0][i]));
    return (mask){{m, _mm256_setzero_si256()}};
}

INLINE mask mask512(const batch *b, size_t i, int groups, uint32_t rest)
{
    const __m256i first = _mm256_setr_epi64x(58, 52, 46, 40);
    const __m256i second = _mm256_setr_epi64x(34, 28, 22, 16);
    uint64_t last = b->word[groups - 1][i];
    const uint64_t *used = &used512[rest][8 - (last & 7)];
    __m256i m = _mm256_and_si256(lanes512(last, first), load(used));
    __m256i n = _mm256_and_si256(lanes512(last, second), load(used + 4));

    if (groups == 2) {
        uint64_t word = b->word[0][i];
        m = _mm256_or_si256(m, lanes512(word, first));
        n = _mm256_or_si256(n, lanes512(word, second));
    }
    return (mask){{m, n}};
}

/* --- a key against its block ---------------------------------------------- */

typedef struct work {
    const target *t;
    bool *out;    /* hit or fresh; may be NULL when adding */
    size_t added; /* when adding */
} work;

typedef void one_key(work *w, const batch *b, size_t i, size_t out, int groups,
                     uint32_t rest);

INLINE void query256(work *w, const batch *b, size_t i, size_t out, int groups,
                     uint32_t rest)
{
    mask m = mask256(b, i, groups, rest);
    w->out[out] = _mm256_testc_si256(load(w->t->bits + b->at[i]), m.part[0]);
}

INLINE void query512(work *w, const batch *b, size_t i, size_t out, int groups,
                     uint32_t rest)
{
    mask m = mask512(b, i, groups, rest);
    const uint8_t *p = w->t->bits + b->at[i];
    __m256i x = _mm256_andnot_si256(load(p), m.part[0]);
    __m256i y = _mm256_andnot_si256(load(p + 32), m.part[1]);

    x = _mm256_or_si256(x, y);
    w->out[out] = _mm256_testz_si256(x, x);
}

INLINE void put(uint8_t *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

INLINE void note_fresh(work *w, size_t out, bool fresh)
{
    w->added += fresh;
    if (w->out)
        w->out[out] = fresh;
}

INLINE void add256(work *w, const batch *b, size_t i, size_t out, int groups,
                   uint32_t rest)
{
    mask m = mask256(b, i, groups, rest);
    uint8_t *p = w->t->bits + b->at[i];
    __m256i old = load(p);

    put(p, _mm256_or_si256(old, m.part[0]));
    note_fresh(w, out, !_mm256_testc_si256(old, m.part[0]));
}

INLINE void add512(work *w, const batch *b, size_t i, size_t out, int groups,
                   uint32_t rest)
{
    mask m = mask512(b, i, groups, rest);
    uint8_t *p = w->t->bits + b->at[i];
    __m256i x = load(p), y = load(p + 32);
    __m256i new_bits = _mm256_or_si256(_mm256_andnot_si256(x, m.part[0]),
                                       _mm256_andnot_si256(y, m.part[1]));

    put(p, _mm256_or_si256(x, m.part[0]));
    put(p + 32, _mm256_or_si256(y, m.part[1]));
    note_fresh(w, out, !_mm256_testz_si256(new_bits, new_bits));
}

/* --- loops ---------------------------------------------------------------- */

/* Keys of 8 bytes: hash and fetch the next batch while this one is served. */
INLINE void walk_keys(work *w, const uint64_t *keys, size_t n, one_key *serve,
                      int groups, bool ahead)
{
    const uint32_t rest = w->t->hashes % 8;
    batch b[2];
    uint64_t tail[BATCH] = {0};
    size_t whole = n / BATCH * BATCH;

    memcpy(tail, keys + whole, (n - whole) * sizeof *keys);
    for (size_t i = 0; i < BATCH; i += 8)
        hash_keys(w->t, whole ? keys : tail, &b[0], i, groups);
    for (size_t done = 0, turn = 0; done < n; done += BATCH, turn ^= 1) {
        size_t next = done + BATCH;
        const uint64_t *k = next < whole ? keys + next : tail;
        size_t some = n - done < BATCH ? n - done : BATCH;
        for (size_t i = 0; i < some; i += 8) {
            size_t stop = some - i < 8 ? some - i : 8;
            if (next < n) {
                hash_keys(w->t, k, &b[!turn], i, groups);
                if (ahead)
                    fetch(w->t, &b[!turn], i, 8);
            }
            for (size_t j = i; j < i + stop; j++)
                serve(w, &b[turn], j, done + j, groups, rest);
        }
    }
}

/* Digests that somebody else made. */
INLINE void walk_digests(work *w, const umbel_digest *d, size_t n,
                         one_key *serve, int groups)
{
    const uint32_t rest = w->t->hashes % 8;
    batch b;

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < MANY ? n - done : MANY;
        for (size_t i = 0; i < some; i++) {
            const umbel_digest *x = &d[done + i];
            b.word[0][i] = x->hi;
            b.word[1][i] = um_remix(x->hi + x->lo);
            b.at[i] = um_scale(x->lo, w->t->blocks) << w->t->block_shift;
            _mm_prefetch((const char *)w->t->bits + b.at[i], _MM_HINT_T0);
        }
        for (size_t i = 0; i < some; i++)
            serve(w, &b, i, done + i, groups, rest);
    }
}

/* A key on its own: the same masks, with nothing around them. */
INLINE void one_batch(const um_bloom *b, const umbel_digest *d,
                      uint32_t block_shift, batch *out)
{
    out->word[0][0] = d->hi;
    out->at[0] = um_scale(d->lo, b->layout->blocks) << block_shift;
    if (b->layout->hashes > 8)
        out->word[1][0] = um_remix(d->hi + d->lo);
}

static bool query_one256(const void *self, const umbel_digest *d)
{
    const um_bloom *b = self;
    uint32_t hashes = b->layout->hashes;
    batch key;

    one_batch(b, d, 5, &key);
    mask m = hashes > 8 ? mask256(&key, 0, 2, hashes % 8)
                        : mask256(&key, 0, 1, hashes % 8);
    return _mm256_testc_si256(load(b->bits + key.at[0]), m.part[0]);
}

static bool query_one512(const void *self, const umbel_digest *d)
{
    const um_bloom *b = self;
    uint32_t hashes = b->layout->hashes;
    batch key;

    one_batch(b, d, 6, &key);
    mask m = hashes > 8 ? mask512(&key, 0, 2, hashes % 8)
                        : mask512(&key, 0, 1, hashes % 8);
    const uint8_t *p = b->bits + key.at[0];
    return _mm256_testc_si256(load(p), m.part[0]) &
           _mm256_testc_si256(load(p + 32), m.part[1]);
}

static bool is_large(const target *t)
{
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    uint64_t bytes = t->blocks << t->block_shift;
    return bytes > (uint64_t)(cache > 0 ? cache : 256 << 10);
}

static target target_of(const um_bloom *b, uint64_t seed)
{
    const um_layout *l = b->layout;
    return (target){.bits = b->bits,
                    .blocks = l->blocks,
                    .hashes = l->hashes,
                    .block_shift = l->width == 64 ? 6 : 5,
                    .flip = um_xxh3_flip(seed)};
}

/* Every loop for one and for two groups of hashes, near and far memory. */
#define WALK_KEYS(w, keys, n, serve)                                           \
    do {                                                                       \
        bool two = (w)->t->hashes > 8, far = is_large((w)->t);                 \
        if (two && far)                                                        \
            walk_keys(w, keys, n, serve, 2, true);                             \
        else if (two)                                                          \
            walk_keys(w, keys, n, serve, 2, false);                            \
        else if (far)                                                          \
            walk_keys(w, keys, n, serve, 1, true);                             \
        else                                                                   \
            walk_keys(w, keys, n, serve, 1, false);                            \
    } while (0)
#define WALK_DIGESTS(w, d, n, serve)                                           \
    do {                                                                       \
        if ((w)->t->hashes > 8)                                                \
            walk_digests(w, d, n, serve, 2);                                   \
        else                                                                   \
            walk_digests(w, d, n, serve, 1);                                   \
    } while (0)

#define VARIANTS(block)                                                        \
    static void query_keys##block(const void *self, uint64_t seed,             \
                                  const uint64_t *keys, size_t n, bool *hit)   \
    {                                                                          \
        target t = target_of(self, seed);                                      \
        work w = {&t, hit, 0};                                                 \
        WALK_KEYS(&w, keys, n, query##block);                                  \
    }                                                                          \
    static size_t add_keys##block(void *self, uint64_t seed,                   \
                                  const uint64_t *keys, size_t n, bool *fresh) \
    {                                                                          \
        target t = target_of(self, seed);                                      \
        work w = {&t, fresh, 0};                                               \
        WALK_KEYS(&w, keys, n, add##block);                                    \
        return w.added;                                                        \
    }                                                                          \
    static void query_digests##block(const void *self, const umbel_digest *d,  \
                                     size_t n, bool *hit)                      \
    {                                                                          \
        target t = target_of(self, 0);                                         \
        work w = {&t, hit, 0};                                                 \
        WALK_DIGESTS(&w, d, n, query##block);                                  \
    }                                                                          \
    static size_t add_digests##block(void *self, const umbel_digest *d,        \
                                     size_t n, bool *fresh)                    \
    {                                                                          \
        target t = target_of(self, 0);                                         \
        work w = {&t, fresh, 0};                                               \
        WALK_DIGESTS(&w, d, n, add##block);                                    \
        return w.added;                                                        \
    }

VARIANTS(256)
VARIANTS(512)

static bool usable(const um_layout *l)
{
    return __builtin_cpu_supports("avx2") && l->hashes <= MOST_HASHES &&
           l->blocks <= UINT32_MAX;
}

const um_fast um_fast_bloom_blocked256_avx2 = {
    .name = "avx2",
    .kind = "bloom",
    .addressing = "blocked256",
    .usable = usable,
    .add = add_digests256,
    .query = query_digests256,
    .query_one = query_one256,
    .add_keys8 = add_keys256,
    .query_keys8 = query_keys256,
};

const um_fast um_fast_bloom_blocked512_avx2 = {
    .name = "avx2",
    .kind = "bloom",
    .addressing = "blocked512",
    .usable = usable,
    .add = add_digests512,
    .query = query_digests512,
    .query_one = query_one512,
    .add_keys8 = add_keys512,
    .query_keys8 = query_keys512,
};

/*
 * bloom_blocked_avx2.c - bloom on blocked256 and blocked512 with AVX2.
 *
 * Keys of a batch are hashed eight at a time (XXH3 of 8 bytes, bit for bit),
 * their blocks fetched ahead, while the batch before is tested: one loop, so
 * that the memory is busy while the arithmetic goes on. A test is one mask a
 * group of eight hashes, made by shifts (addressing/blocked.c), against the
 * whole block.
 *
 * In cache the shifts are what is scarce (two units do them and all shuffles),
 * so products avoid them, blocks are found by the scalar multiplier beside, and
 * four keys are judged at once.
 */
#include "filter/handle.h"
#include "kinds/bloom.h"
#include "kinds/xxh3_avx2.h"

#include <unistd.h>

enum { BATCH = 64, MANY = 256, MOST_HASHES = 16 };

/* What a batch of keys asks for. */
typedef struct batch {
    _Alignas(32) uint64_t lo[MANY];
    _Alignas(32) uint64_t word[2][MANY]; /* of the first and second 8 hashes */
    uint64_t at[MANY]; /* byte where the block begins, if fetched ahead */
} batch;

/* A filter as the loops see it. */
typedef struct target {
    uint8_t *bits;
    uint64_t blocks;
    uint32_t hashes;
    uint64_t flip; /* what XXH3 does with the seed, for 8-byte keys */
} target;

typedef struct work {
    target t;
    bool *out;    /* hit or fresh; may be NULL when adding */
    size_t added; /* when adding */
} work;

/* What a loop does, known when it is compiled. */
typedef struct way {
    bool adds;
    bool wide;  /* blocks of 512 */
    bool ahead; /* the memory is far: fetch what comes next */
    int groups; /* of eight hashes, the last may be fewer */
} way;

/* --- hashing ------------------------------------------------------------- */

UM_INLINE uint64_t block_of(const target *t, uint64_t lo, way how)
{
    return um_scale(lo, t->blocks) << (how.wide ? 6 : 5);
}

UM_INLINE void fetch(const target *t, batch *b, size_t i, way how)
{
    b->at[i] = block_of(t, b->lo[i], how);
    _mm_prefetch((const char *)t->bits + b->at[i], _MM_HINT_T0);
}

/* Keys i .. i+7 of a batch. */
UM_INLINE void hash_keys(const target *t, const uint64_t *keys, batch *b,
                         size_t i, way how)
{
    __m256i lo[UM_PAIR], word[UM_PAIR];

    um_xxh3_avx2(keys + i, t->flip, lo);
    UM_EACH word[g] = lo[g];
    um_remix_avx2(word);
    um_store_avx2(&b->word[0][i], word);
    um_store_avx2(&b->lo[i], lo);
    if (how.groups == 2) {
        UM_EACH word[g] = _mm256_add_epi64(word[g], lo[g]);
        um_remix_avx2(word);
        um_store_avx2(&b->word[1][i], word);
    }
    for (size_t j = i; how.ahead && j < i + 8; j++)
        fetch(t, b, j, how);
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

UM_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* One cell in each of eight lanes of 32. */
UM_INLINE __m256i lanes256(uint64_t word)
{
    __m256i v = _mm256_sllv_epi64(_mm256_set1_epi64x((long long)word),
                                  _mm256_setr_epi64x(0, 5, 10, 15));
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(v, 27));
}

/* Four of the eight lanes of 64. */
UM_INLINE __m256i lanes512(uint64_t word, __m256i shifts)
{
    __m256i v = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), shifts);
    v = _mm256_and_si256(v, _mm256_set1_epi64x(63));
    return _mm256_sllv_epi64(_mm256_set1_epi64x(1), v);
}

/* The cells of a key in its block: one vector, or two. */
typedef struct mask {
    __m256i part[2];
} mask;

UM_INLINE mask mask256(uint64_t first, uint64_t last, uint32_t rest, int groups)
{
    __m256i m = lanes256(last);

    m = _mm256_and_si256(m, load(&used256[rest][8 - (last & 7)]));
    if (groups == 2)
        m = _mm256_or_si256(m, lanes256(first));
    return (mask){{m, _mm256_setzero_si256()}};
}

UM_INLINE mask mask512(uint64_t first, uint64_t last, uint32_t rest, int groups)
{
    const __m256i low = _mm256_setr_epi64x(58, 52, 46, 40);
    const __m256i high = _mm256_setr_epi64x(34, 28, 22, 16);
    const uint64_t *used = &used512[rest][8 - (last & 7)];
    __m256i m = _mm256_and_si256(lanes512(last, low), load(used));
    __m256i n = _mm256_and_si256(lanes512(last, high), load(used + 4));

    if (groups == 2) {
        m = _mm256_or_si256(m, lanes512(first, low));
        n = _mm256_or_si256(n, lanes512(first, high));
    }
    return (mask){{m, n}};
}

/* --- a key against its block ---------------------------------------------- */

UM_INLINE void put(uint8_t *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

/* The cells of a key that are clear; when adding, they were. */
UM_INLINE __m256i clear256(uint8_t *p, mask m, bool adds)
{
    __m256i old = load(p);

    if (adds)
        put(p, _mm256_or_si256(old, m.part[0]));
    return _mm256_andnot_si256(old, m.part[0]);
}

UM_INLINE __m256i clear512(uint8_t *p, mask m, bool adds)
{
    __m256i x = load(p), y = load(p + 32);

    if (adds) {
        put(p, _mm256_or_si256(x, m.part[0]));
        put(p + 32, _mm256_or_si256(y, m.part[1]));
    }
    return _mm256_or_si256(_mm256_andnot_si256(x, m.part[0]),
                           _mm256_andnot_si256(y, m.part[1]));
}

UM_INLINE __m256i clear_at(const target *t, uint64_t at, uint64_t first,
                           uint64_t last, way how)
{
    uint32_t rest = t->hashes % 8;
    uint8_t *p = t->bits + at;

    if (how.wide)
        return clear512(p, mask512(first, last, rest, how.groups), how.adds);
    return clear256(p, mask256(first, last, rest, how.groups), how.adds);
}

UM_INLINE __m256i clear_of(const target *t, const batch *b, size_t i, way how)
{
    uint64_t at = how.ahead ? b->at[i] : block_of(t, b->lo[i], how);
    return clear_at(t, at, b->word[0][i], b->word[how.groups - 1][i], how);
}

/* --- answers ---------------------------------------------------------------
 */

/* Bit j tells whether x[j] is zero. Packing keeps what is not zero so. */
UM_INLINE unsigned zeros(const __m256i x[4])
{
    __m256i a = _mm256_packs_epi32(x[0], x[1]);
    __m256i b = _mm256_packs_epi32(x[2], x[3]);
    __m256i four = _mm256_packs_epi16(a, b);
    __m256i zero = _mm256_cmpeq_epi32(four, _mm256_setzero_si256());
    unsigned halves = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zero));

    return halves & halves >> 4 & 15;
}

/* Four bits as four bytes. */
UM_INLINE void spread(bool out[4], unsigned bits)
{
    uint32_t bytes = bits * 0x00204081u & 0x01010101u;
    memcpy(out, &bytes, sizeof bytes);
}

UM_INLINE void serve4(work *w, const batch *b, size_t i, size_t out, way how)
{
    __m256i clear[4] = {clear_of(&w->t, b, i, how)}; /* one after another */

    clear[1] = clear_of(&w->t, b, i + 1, how);
    clear[2] = clear_of(&w->t, b, i + 2, how);
    clear[3] = clear_of(&w->t, b, i + 3, how);
    unsigned answer = zeros(clear) ^ (how.adds ? 15 : 0);
    if (how.adds)
        w->added += (size_t)__builtin_popcount(answer);
    if (w->out)
        spread(w->out + out, answer);
}

UM_INLINE void serve(work *w, const batch *b, size_t i, size_t out, way how)
{
    __m256i clear = clear_of(&w->t, b, i, how);
    bool answer = _mm256_testz_si256(clear, clear) ^ how.adds;

    w->added += how.adds && answer;
    if (w->out)
        w->out[out] = answer;
}

UM_INLINE void serve_all(work *w, const batch *b, size_t from, size_t n,
                         size_t out, way how)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        serve4(w, b, from + i, out + i, how);
    for (; i < n; i++)
        serve(w, b, from + i, out + i, how);
}

/* --- loops ---------------------------------------------------------------- */

/* Keys of 8 bytes: hash and fetch the next batch while this one is served. */
UM_INLINE void walk_keys(work *w, const uint64_t *keys, size_t n, way how)
{
    batch b[2];
    uint64_t tail[BATCH] = {0};
    size_t whole = n / BATCH * BATCH;

    memcpy(tail, keys + whole, (n - whole) * sizeof *keys);
    for (size_t i = 0; i < BATCH; i += 8)
        hash_keys(&w->t, whole ? keys : tail, &b[0], i, how);
    for (size_t done = 0, turn = 0; done < n; done += BATCH, turn ^= 1) {
        size_t next = done + BATCH;
        const uint64_t *k = next < whole ? keys + next : tail;
        if (next > n) {
            serve_all(w, &b[turn], 0, n - done, done, how);
            break;
        }
        for (size_t i = 0; i < BATCH; i += 8) {
            hash_keys(&w->t, k, &b[!turn], i, how);
            serve_all(w, &b[turn], i, 8, done + i, how);
        }
    }
}

UM_INLINE void take_digests(const target *t, const umbel_digest *d, size_t n,
                            batch *b, size_t i, way how)
{
    for (size_t j = 0; j < n; j++) {
        b->lo[i + j] = d[j].lo;
        b->word[0][i + j] = d[j].hi;
        if (how.groups == 2)
            b->word[1][i + j] = um_remix(d[j].hi + d[j].lo);
        if (how.ahead)
            fetch(t, b, i + j, how);
    }
}

/* Digests that somebody else made: some are fetched while others are served. */
UM_INLINE void walk_digests(work *w, const umbel_digest *d, size_t n, way how)
{
    enum { LEAD = 64, STEP = 8 };
    batch b;

    for (size_t done = 0, some; done < n; done += some) {
        size_t taken = 0;
        some = n - done < MANY ? n - done : MANY;
        for (size_t i = 0; i < some; i += STEP) {
            size_t until = i + LEAD < some ? i + LEAD : some;
            size_t now = some - i < STEP ? some - i : STEP;
            take_digests(&w->t, d + done + taken, until - taken, &b, taken,
                         how);
            taken = until;
            serve_all(w, &b, i, now, done + i, how);
        }
    }
}

UM_INLINE target target_of(const um_bloom *b, uint64_t seed)
{
    const um_layout *l = b->layout;
    return (target){.bits = b->bits,
                    .blocks = l->blocks,
                    .hashes = l->hashes,
                    .flip = um_xxh3_flip(seed)};
}

/* A key on its own: the same masks, with nothing around them. */
UM_INLINE bool query_hash(const umbel_filter *f, uint64_t lo, bool wide)
{
    const target t = target_of(f->self, 0);
    uint64_t hi = um_remix(lo), next = um_remix(hi + lo);
    way how = {.wide = wide, .groups = t.hashes > 8 ? 2 : 1};
    uint64_t at = block_of(&t, lo, how);
    __m256i clear = how.groups == 2 ? clear_at(&t, at, hi, next, how)
                                    : clear_at(&t, at, hi, hi, how);

    return _mm256_testz_si256(clear, clear);
}

static bool is_large(const target *t, bool wide)
{
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    uint64_t bytes = t->blocks << (wide ? 6 : 5);
    return bytes > (uint64_t)(cache > 0 ? cache : 256 << 10);
}

/* Every loop for one and for two groups of hashes, near and far memory. */
#define FOR_EACH_WAY(w, walk, input, n, adds, wide)                            \
    do {                                                                       \
        bool two = (w)->t.hashes > 8, far = is_large(&(w)->t, wide);           \
        if (two && far)                                                        \
            walk(w, input, n, (way){adds, wide, true, 2});                     \
        else if (two)                                                          \
            walk(w, input, n, (way){adds, wide, false, 2});                    \
        else if (far)                                                          \
            walk(w, input, n, (way){adds, wide, true, 1});                     \
        else                                                                   \
            walk(w, input, n, (way){adds, wide, false, 1});                    \
    } while (0)

#define VARIANTS(block, wide)                                                  \
    static void query_keys##block(const void *self, uint64_t seed,             \
                                  const uint64_t *keys, size_t n, bool *hit)   \
    {                                                                          \
        work w = {target_of(self, seed), hit, 0};                              \
        FOR_EACH_WAY(&w, walk_keys, keys, n, false, wide);                     \
    }                                                                          \
    static size_t add_keys##block(void *self, uint64_t seed,                   \
                                  const uint64_t *keys, size_t n, bool *fresh) \
    {                                                                          \
        work w = {target_of(self, seed), fresh, 0};                            \
        FOR_EACH_WAY(&w, walk_keys, keys, n, true, wide);                      \
        return w.added;                                                        \
    }                                                                          \
    static void query_digests##block(const void *self, const umbel_digest *d,  \
                                     size_t n, bool *hit)                      \
    {                                                                          \
        work w = {target_of(self, 0), hit, 0};                                 \
        FOR_EACH_WAY(&w, walk_digests, d, n, false, wide);                     \
    }                                                                          \
    static size_t add_digests##block(void *self, const umbel_digest *d,        \
                                     size_t n, bool *fresh)                    \
    {                                                                          \
        work w = {target_of(self, 0), fresh, 0};                               \
        FOR_EACH_WAY(&w, walk_digests, d, n, true, wide);                      \
        return w.added;                                                        \
    }                                                                          \
    static __attribute__((noinline)) umbel_status query_long##block(           \
        const umbel_filter *f, const void *key, size_t len, bool *hit)         \
    {                                                                          \
        *hit = query_hash(f, um_xxh3_any(key, len, f->shape.seed), wide);      \
        return UMBEL_OK;                                                       \
    }                                                                          \
    /* Apart from the rest, which would cost a short key a frame. */           \
    static umbel_status query_key##block(const umbel_filter *f,                \
                                         const void *key, size_t len,          \
                                         bool *hit, umbel_error *err)          \
    {                                                                          \
        (void)err;                                                             \
        if (!um_xxh3_is_short(len))                                            \
            return query_long##block(f, key, len, hit);                        \
        *hit = query_hash(f, um_xxh3_short(key, len, f->shape.seed), wide);    \
        return UMBEL_OK;                                                       \
    }

VARIANTS(256, false)
VARIANTS(512, true)

static bool usable(const um_layout *l)
{
    return __builtin_cpu_supports("avx2") && l->hashes <= MOST_HASHES;
}

const um_fast um_fast_bloom_blocked256_avx2 = {
    .name = "avx2",
    .kind = "bloom",
    .addressing = "blocked256",
    .usable = usable,
    .add = add_digests256,
    .query = query_digests256,
    .query_key = query_key256,
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
    .query_key = query_key512,
    .add_keys8 = add_keys512,
    .query_keys8 = query_keys512,
};

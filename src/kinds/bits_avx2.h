/*
 * bits_avx2.h - loops over keys in blocks of bits, for kinds that know their cells.
 *
 * Keys of a batch are hashed eight at a time (XXH3 of 8 bytes, bit for bit),
 * their blocks fetched ahead, while the batch before is tested: one loop, so
 * that the memory is busy while the arithmetic goes on.
 *
 * A file that includes this defines misfits: what a kind makes of a key and its
 * block. All else is here, and compiled anew for each.
 */
#ifndef UM_KINDS_BITS_AVX2_H
#define UM_KINDS_BITS_AVX2_H

#include "filter/fast.h"
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

/*
 * Bits of a key's block that are not as the key wants them, none when it
 * matches. When adding, they were not, and now are.
 */
UM_INLINE __m256i misfits(const target *t, uint64_t at, uint64_t first,
                          uint64_t last, way how);

/* What misfits wants the last word of a key to be; the same for one key. */
UM_INLINE __m256i tidy(__m256i last, way how);
UM_INLINE uint64_t tidy_one(uint64_t last, way how);

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
    um_store_avx2(&b->lo[i], lo);
    if (how.groups == 2) {
        um_store_avx2(&b->word[0][i], word);
        UM_EACH word[g] = _mm256_add_epi64(word[g], lo[g]);
        um_remix_avx2(word);
    }
    UM_EACH word[g] = tidy(word[g], how);
    um_store_avx2(&b->word[how.groups - 1][i], word);
    for (size_t j = i; how.ahead && j < i + 8; j++)
        fetch(t, b, j, how);
}

UM_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

UM_INLINE void put(uint8_t *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

UM_INLINE __m256i misfits_of(const target *t, const batch *b, size_t i, way how)
{
    uint64_t at = how.ahead ? b->at[i] : block_of(t, b->lo[i], how);
    return misfits(t, at, b->word[0][i], b->word[how.groups - 1][i], how);
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
    __m256i x[4] = {misfits_of(&w->t, b, i, how)}; /* one after another */

    x[1] = misfits_of(&w->t, b, i + 1, how);
    x[2] = misfits_of(&w->t, b, i + 2, how);
    x[3] = misfits_of(&w->t, b, i + 3, how);
    unsigned answer = zeros(x) ^ (how.adds ? 15 : 0);
    if (how.adds)
        w->added += (size_t)__builtin_popcount(answer);
    if (w->out)
        spread(w->out + out, answer);
}

UM_INLINE void serve(work *w, const batch *b, size_t i, size_t out, way how)
{
    __m256i x = misfits_of(&w->t, b, i, how);
    bool answer = _mm256_testz_si256(x, x) ^ how.adds;

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

UM_INLINE uint64_t last_word(umbel_digest d, way how)
{
    return how.groups == 2 ? um_remix(d.hi + d.lo) : d.hi;
}

UM_INLINE void take_digests(const target *t, const umbel_digest *d, size_t n,
                            batch *b, size_t i, way how)
{
    for (size_t j = 0; j < n; j++) {
        b->lo[i + j] = d[j].lo;
        b->word[0][i + j] = d[j].hi;
        b->word[how.groups - 1][i + j] = tidy_one(last_word(d[j], how), how);
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

#endif

/*
 * classic_avx2.c - bloom on classic with AVX2.
 *
 * Vector registers hash eight keys at a time (keys of 8 bytes) and compute
 * their cells; scalar instructions, which have their own ports, then set and
 * test bits without a branch.
 *
 * Each cell rejects half of the remaining non-members. So the first two cells
 * of all keys are tested, then the next few of the survivors, again eight at a
 * time. For far memory, queries work as in classic_walk.h, and adds prefetch.
 */
#include "base/batch.h"
#include "filter/kind.h"
#include "kinds/blocked/xxh3_avx2.h"
#include "kinds/bloom/classic_walk.h"
#include "kinds/rows.h"

enum { SORT_KEYS8, SORT_DIGESTS };

/* A source of keys. */
typedef struct source {
    int sort; /* a constant */
    const void *keys;
    uint64_t flip; /* um_xxh3_flip of the seed, for keys of 8 bytes */
} source;

/* Eight keys in their sequences of cells: the current states and the
 * increments. */
typedef struct walk8 {
    __m256i x[UM_PAIR], hi[UM_PAIR];
} walk8;

UM_INLINE void consume_keys8(const uint64_t *keys, uint64_t flip, walk8 *w)
{
    um_xxh3_avx2(keys, flip, w->x);
    UM_EACH w->hi[g] = w->x[g];
    um_remix_avx2(w->hi);
}

UM_INLINE void consume_whole(const source *s, const void *p, walk8 *w)
{
    if (s->sort == SORT_KEYS8)
        consume_keys8(p, s->flip, w);
    else
        um_split_digests(p, w->x, w->hi);
}

/* Loads fewer than eight keys, padded with zeros. */
static __attribute__((noinline)) void copy_rest(const source *s, const void *p,
                                                size_t len, walk8 *w)
{
    umbel_digest copy[8] = {{0, 0}};

    memcpy(copy, p, len);
    consume_whole(s, copy, w);
}

/* Loads eight of n keys, starting at index `from`. */
UM_INLINE void take8(const source *s, size_t from, size_t n, walk8 *w)
{
    size_t size =
        s->sort == SORT_KEYS8 ? sizeof(uint64_t) : sizeof(umbel_digest);
    const uint8_t *p = (const uint8_t *)s->keys + from * size;

    if (n - from >= 8)
        consume_whole(s, p, w);
    else
        copy_rest(s, p, (n - from) * size, w);
}

/* --- cells ---------------------------------------------------------------- */

/* The position of the i-th of eight keys in the output of cells_of. */
static const uint8_t slot[8] = {0, 1, 4, 5, 2, 3, 6, 7};

/* Computes the cells of eight keys, with fewer than 2^32 cells: the high halves
 * of x * cells. */
UM_INLINE __m256i cells_of(const walk8 *w, uint64_t cells)
{
    const __m256i m = _mm256_set1_epi64x((long long)cells);
    __m256i a[UM_PAIR], b[UM_PAIR];

    UM_EACH a[g] = _mm256_srli_epi64(_mm256_mul_epu32(w->x[g], m), 32);
    UM_EACH b[g] = _mm256_mul_epu32(_mm256_srli_epi64(w->x[g], 32), m);
    UM_EACH b[g] = _mm256_add_epi64(a[g], b[g]);
    __m256 high = _mm256_shuffle_ps(_mm256_castsi256_ps(b[0]),
                                    _mm256_castsi256_ps(b[1]), 0xDD);
    return _mm256_castps_si256(high);
}

UM_INLINE void step8(walk8 *w)
{
    um_multiply_avx2(w->x, UM_CLASSIC_FACTOR);
    UM_EACH w->x[g] = _mm256_add_epi64(w->x[g], w->hi[g]);
}

/* Computes the next cells of eight keys, grouped by step. */
UM_INLINE void next_cells(const um_bloom *b, walk8 *w, uint32_t steps,
                          uint32_t *out)
{
    uint64_t cells = b->layout->cells;

    for (uint32_t j = 0; j < steps; j++, out += 8) {
        _mm256_storeu_si256((__m256i *)(void *)out, cells_of(w, cells));
        step8(w);
    }
}

/* Returns the payload as words: it is aligned to 64 bytes, and its size is a
 * multiple of that. */
UM_INLINE uint64_t *words_of(const um_bloom *b)
{
    return (uint64_t *)(void *)b->bits;
}

/* Returns 1 in bit 0 if n cells of a key, a constant number, are all set. */
UM_INLINE uint64_t test_some(const uint64_t *words, const uint32_t *cell,
                             uint32_t n)
{
    uint64_t all = 1;

    for (uint32_t j = 0; j < n; j++, cell += 8)
        all &= words[*cell / 64] >> *cell % 64;
    return all;
}

/* Does the same, and sets the cells. */
UM_INLINE uint64_t set_some(uint64_t *words, const uint32_t *cell, uint32_t n)
{
    uint64_t all = 1;

    for (uint32_t j = 0; j < n; j++, cell += 8) {
        uint64_t *word = &words[*cell / 64], old = *word;
        all &= old >> *cell % 64;
        *word = old | (uint64_t)1 << *cell % 64;
    }
    return all;
}

/* Processes n cells in loops of constant length: a fifth faster. */
#define IN_PIECES(some)                                                        \
    uint64_t all = 1;                                                          \
    for (; n >= 8; n -= 8, cell += 64)                                         \
        all &= some(words, cell, 8);                                           \
    if (n & 4)                                                                 \
        all &= some(words, cell, 4), cell += 32;                               \
    if (n & 2)                                                                 \
        all &= some(words, cell, 2), cell += 16;                               \
    if (n & 1)                                                                 \
        all &= some(words, cell, 1);                                           \
    return all & 1

/* Returns 1 if n cells of a key are all set. */
UM_INLINE uint64_t test_cells(const uint64_t *words, const uint32_t *cell,
                              uint32_t n)
{
    IN_PIECES(test_some);
}

/* Does the same, and sets the cells. */
UM_INLINE uint64_t set_cells(uint64_t *words, const uint32_t *cell, uint32_t n)
{
    IN_PIECES(set_some);
}

/* --- queries -------------------------------------------------------------- */

/* Computes the high half of x * cells, with fewer than 2^32 cells. */
UM_INLINE void scale8(const walk8 *w, uint64_t cells, uint64_t *out)
{
    const __m256i m = _mm256_set1_epi64x((long long)cells);
    __m256i a[UM_PAIR], b[UM_PAIR];

    UM_EACH a[g] = _mm256_srli_epi64(_mm256_mul_epu32(w->x[g], m), 32);
    UM_EACH b[g] = _mm256_mul_epu32(_mm256_srli_epi64(w->x[g], 32), m);
    UM_EACH b[g] = _mm256_srli_epi64(_mm256_add_epi64(a[g], b[g]), 32);
    um_store_avx2(out, b);
}

/* Computes the first two cells of eight keys, and stores the state for the
 * third in v. */
UM_INLINE void two_cells8(const um_bloom *b, walk8 *w, um_walkers *v, size_t i,
                          uint64_t second[])
{
    um_store_avx2(&v->hi[i], w->hi);
    scale8(w, b->layout->cells, &v->cell[i]);
    step8(w);
    scale8(w, b->layout->cells, &second[i]);
    step8(w);
    um_store_avx2(&v->at[i], w->x);
}

UM_INLINE void two_tests(const um_bloom *b, um_walkers *v,
                         const uint64_t second[])
{
    v->left = 0;
    for (size_t i = 0; i < v->n; i++) {
        v->alive[v->left] = (uint8_t)i;
        v->left += (size_t)um_bit(b->bits, v->cell[i]) &
                   (size_t)um_bit(b->bits, second[i]);
    }
}

enum { SEVERAL = 6 }; /* cells of a survivor tested at a time */

UM_INLINE __m256i pick4(const uint64_t *from, const uint8_t *i)
{
    return _mm256_setr_epi64x((long long)from[i[0]], (long long)from[i[1]],
                              (long long)from[i[2]], (long long)from[i[3]]);
}

/* Tests the next cells of all survivors, and keeps those whose cells are all
 * set. */
UM_INLINE void go_on(const um_bloom *b, um_walkers *v, uint32_t steps)
{
    const uint64_t *words = words_of(b);
    uint32_t cell[UM_WALKERS / 8][SEVERAL * 8];
    size_t left = 0;

    memset(v->alive + v->left, v->alive[0], 8);
    for (size_t i = 0; i < v->left; i += 8) {
        const uint8_t *alive = v->alive + i;
        walk8 w;
        UM_EACH w.x[g] = pick4(v->at, alive + 4 * g);
        UM_EACH w.hi[g] = pick4(v->hi, alive + 4 * g);
        next_cells(b, &w, steps, cell[i / 8]);
        uint64_t x[8];
        um_store_avx2(x, w.x);
        for (size_t j = 0; j < 8 && i + j < v->left; j++)
            v->at[alive[j]] = x[j];
    }
    for (size_t i = 0; i < v->left; i++) {
        v->alive[left] = v->alive[i];
        left += test_cells(words, &cell[i / 8][slot[i % 8]], steps);
    }
    v->left = left;
}

/* Tests keys that have passed the first tests. If most did, they are probably
 * members and pass the others, too. */
UM_INLINE void walk_members(const um_bloom *b, um_walkers *v, uint32_t k)
{
    uint32_t hashes = b->layout->hashes;

    for (uint32_t steps; k < hashes && v->left; k += steps) {
        steps = hashes - k < SEVERAL ? hashes - k : SEVERAL;
        go_on(b, v, steps);
    }
    um_walk_end(v);
}

UM_INLINE void query_near(const um_bloom *b, const source *s, size_t n,
                          bool *hit)
{
    um_walkers v;
    uint64_t second[UM_WALKERS];

    for (size_t done = 0; done < n; done += v.n) {
        v.n = um_walk_batch(n, done, UM_WALKERS);
        v.hit = hit + done;
        for (size_t i = 0; i < v.n; i += 8) {
            walk8 w;
            take8(s, done + i, done + v.n, &w);
            two_cells8(b, &w, &v, i, second);
        }
        two_tests(b, &v, second);
        if (2 * v.left > v.n)
            walk_members(b, &v, 2);
        else
            um_walk_rest(b, &v, 2);
    }
}

UM_INLINE void start_keys8(const void *from_keys, size_t from, size_t n,
                           um_walkers *w)
{
    source s = *(const source *)from_keys;

    s.sort = SORT_KEYS8;
    for (size_t i = 0; i < n; i += 8) {
        walk8 eight;
        take8(&s, from + i, from + n, &eight);
        um_store_avx2(&w->at[i], eight.x);
        um_store_avx2(&w->hi[i], eight.hi);
    }
}

static void query_keys8(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit)
{
    source s = {SORT_KEYS8, keys, um_xxh3_flip(seed)};

    if (um_walk_is_far(self))
        um_walk_far(self, &s, n, hit, start_keys8);
    else
        query_near(self, &s, n, hit);
}

static void query_digests(const void *self, const umbel_digest *d, size_t n,
                          bool *hit)
{
    source s = {SORT_DIGESTS, d, 0};

    if (um_walk_is_far(self))
        um_bloom_classic_query(self, d, n, hit);
    else
        query_near(self, &s, n, hit);
}

/* --- adds ----------------------------------------------------------------- */

/*
 * Each cell of a key depends on the one before by a multiplication, which has
 * latency, and setting the cells of eight keys takes too many instructions for
 * the processor to overlap with it. So the loop alternates: it computes one
 * cell of each of eight keys, then sets all cells of one earlier key. For far
 * memory, cells are prefetched four keys before they are set; eight keys before
 * was 14 % slower at 10^8 keys.
 */

/* The parameters of a filter for adding: copies, so that writes to the cells
 * cannot alias them. */
typedef struct place {
    uint64_t *words;
    uint64_t cells;
    uint32_t hashes;
    bool ahead; /* a constant: prefetch */
} place;

/* Computes the next cells of eight keys. */
UM_INLINE void find_next(place p, walk8 *w, uint32_t *out)
{
    _mm256_storeu_si256((__m256i *)(void *)out, cells_of(w, p.cells));
    step8(w);
}

/* Computes all cells of eight keys, starting at index `from`. */
UM_INLINE void find_all(place p, const source *s, size_t from, size_t n,
                        uint32_t *out)
{
    walk8 w;

    take8(s, from, n, &w);
    for (size_t j = 0; j < p.hashes; j++)
        find_next(p, &w, out + 8 * j);
}

enum { FETCHED_KEYS = 4 };

/* Prefetches the cells of the key FETCHED_KEYS after the i-th of `now`. */
UM_INLINE void fetch_cells(place p, const uint32_t *now, const uint32_t *next,
                           size_t i)
{
    const uint32_t *cell = i + FETCHED_KEYS < 8 ? &now[slot[i + FETCHED_KEYS]]
                                                : &next[slot[i - FETCHED_KEYS]];

    for (uint32_t j = 0; j < p.hashes; j++, cell += 8)
        _mm_prefetch((const char *)(p.words + *cell / 64), _MM_HINT_T0);
}

/* Sets the cells of the i-th key of `now`; returns 1 if it was new. */
UM_INLINE size_t set_one(place p, const uint32_t *now, const uint32_t *next,
                         size_t i, bool *fresh)
{
    if (p.ahead)
        fetch_cells(p, now, next, i);
    uint64_t all = set_cells(p.words, &now[slot[i]], p.hashes);
    if (fresh)
        fresh[i] = !all;
    return 1 - (size_t)all;
}

/* Sets the cells of eight keys, `now`, and computes those of w meanwhile. */
UM_INLINE size_t set_eight(place p, const uint32_t *now, const uint32_t *next,
                           walk8 *w, uint32_t *found, bool *fresh)
{
    size_t added = 0;
    const size_t both = p.hashes < 8 ? p.hashes : 8;

    for (size_t j = 0; j < both; j++) {
        find_next(p, w, found + 8 * j);
        added += set_one(p, now, next, j, fresh);
    }
    for (size_t j = both; j < p.hashes; j++)
        find_next(p, w, found + 8 * j);
    for (size_t j = both; j < 8; j++)
        added += set_one(p, now, next, j, fresh);
    return added;
}

UM_INLINE size_t add_eights(place p, const source *s, size_t n, bool *fresh)
{
    uint32_t cell[3][UM_MAX_HASHES * 8]; /* used in rotation */
    uint32_t *now = cell[0], *next = cell[1], *later = cell[2];
    size_t added = 0, i = 0;

    find_all(p, s, 0, n, now);
    if (n > 8)
        find_all(p, s, 8, n, next);
    for (; n - i > 16; i += 8) {
        walk8 w;
        uint32_t *was = now;
        take8(s, i + 16, n, &w);
        added += set_eight(p, now, next, &w, later, fresh ? fresh + i : NULL);
        now = next;
        next = later;
        later = was;
    }
    p.ahead = false;
    for (; i < n; i += 8, now = next)
        for (size_t j = 0; j < 8 && i + j < n; j++)
            added += set_one(p, now, next, j, fresh ? fresh + i : NULL);
    return added;
}

UM_INLINE size_t add_all(const um_bloom *b, const source *s, size_t n,
                         bool *fresh)
{
    place p = {words_of(b), b->layout->cells, b->layout->hashes, true};

    if (n == 0)
        return 0;
    if (um_walk_is_far(b))
        return add_eights(p, s, n, fresh);
    p.ahead = false;
    return add_eights(p, s, n, fresh);
}

static size_t add_keys8(void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *fresh)
{
    source s = {SORT_KEYS8, keys, um_xxh3_flip(seed)};
    return add_all(self, &s, n, fresh);
}

static size_t add_digests(void *self, const umbel_digest *d, size_t n,
                          bool *fresh)
{
    source s = {SORT_DIGESTS, d, 0};
    return add_all(self, &s, n, fresh);
}

static bool usable(const um_layout *l)
{
    return um_use_avx2() && l->hashes >= 2 && l->cells <= UINT32_MAX;
}

const um_fast um_fast_bloom_classic_avx2 = {
    .name = "avx2",
    .kind = "bloom",
    .addressing = "classic",
    .usable = usable,
    .add = add_digests,
    .query = query_digests,
    .add_keys8 = add_keys8,
    .query_keys8 = query_keys8,
};

/*
 * bits_avx2.h - blocks of bits that match a key or do not, in the loops of
 * blocked_avx2.h.
 *
 * A file that includes this defines misfits, what its kind makes of a key and
 * its block, and trim_of. Four keys are judged at once; all of it is compiled
 * anew for each kind.
 */
#ifndef UM_KINDS_BITS_AVX2_H
#define UM_KINDS_BITS_AVX2_H

#include "filter/handle.h"
#include "kinds/blocked_avx2.h"

enum { MOST_HASHES = 16, SHIFT256 = 5, SHIFT512 = 6 };
enum { QUERY, ADD }; /* um_loop_config.verb */

/*
 * Bits of a key's block at p that are not as the key wants them, none when it
 * matches. When adding, they were not, and now are.
 */
UM_INLINE __m256i misfits(const um_target *t, uint8_t *p, uint64_t first,
                          uint64_t last, um_loop_config how);

/* What misfits wants done to the last word. */
UM_INLINE um_trim trim_of(int groups);

UM_INLINE um_loop_config way_of(int verb, int shift, bool far, int groups)
{
    return (um_loop_config){.verb = verb,
                            .shift = shift,
                            .ahead = far,
                            .groups = groups,
                            .trim = trim_of(groups)};
}

/* --- answers ---------------------------------------------------------------
 */

/* Bit j is set if x[j] is zero. Packing keeps nonzero words nonzero. */
UM_INLINE unsigned zeros(const __m256i x[4])
{
    __m256i a = _mm256_packs_epi32(x[0], x[1]);
    __m256i b = _mm256_packs_epi32(x[2], x[3]);
    __m256i four = _mm256_packs_epi16(a, b);
    __m256i zero = _mm256_cmpeq_epi32(four, _mm256_setzero_si256());
    unsigned halves = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zero));

    return halves & halves >> 4 & 15;
}

UM_INLINE __m256i misfits_of(const um_target *t, const um_eight *e, size_t i,
                             um_loop_config how)
{
    return misfits(t, um_block_at(t, e, i, how), e->word[0][i],
                   e->word[how.groups - 1][i], how);
}

/* The n keys from the i-th on: four, or one. */
UM_INLINE void serve4(um_work *w, const um_eight *e, size_t i, size_t n,
                      size_t out, um_loop_config how)
{
    __m256i first = misfits_of(&w->t, e, i, how),
            x[4] = {first, first, first, first};

    for (size_t j = 1; j < n; j++) /* one after another */
        x[j] = misfits_of(&w->t, e, i + j, how);
    unsigned answer = zeros(x) ^ (how.verb == ADD ? 15 : 0);
    if (how.verb == ADD)
        w->added += (size_t)__builtin_popcount(answer & ((1u << n) - 1));
    if (w->out)
        um_tell_bits((bool *)w->out + out, answer, n);
}

UM_INLINE void serve(um_work *w, const um_eight *e, size_t n, size_t out,
                     um_loop_config how)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        serve4(w, e, i, 4, out + i, how);
    for (; i < n; i++)
        serve4(w, e, i, 1, out + i, how);
}

/* A key on its own: the same cells, with nothing around them. */
UM_INLINE bool matches_so(const um_target *t, uint64_t lo, um_loop_config how)
{
    uint8_t *p = t->memory + um_block_of(t, lo, how);
    uint64_t hi = um_remix(lo), last = um_last_word(lo, hi, how);
    __m256i x = misfits(t, p, hi, last, how);

    return _mm256_testz_si256(x, x);
}

UM_INLINE bool matches(um_target t, uint64_t lo, int shift)
{
    if (t.hashes > 8)
        return matches_so(&t, lo, way_of(QUERY, shift, false, 2));
    return matches_so(&t, lo, way_of(QUERY, shift, false, 1));
}

/* Every loop for one and for two groups of hashes, near and far memory. */
#define FOR_EACH_WAY(w, walk, input, n, verb, shift)                           \
    do {                                                                       \
        bool two = (w)->t.hashes > 8, far = (w)->t.far;                        \
        if (two && far)                                                        \
            walk(w, input, n, way_of(verb, shift, true, 2), serve);            \
        else if (two)                                                          \
            walk(w, input, n, way_of(verb, shift, false, 2), serve);           \
        else if (far)                                                          \
            walk(w, input, n, way_of(verb, shift, true, 1), serve);            \
        else                                                                   \
            walk(w, input, n, way_of(verb, shift, false, 1), serve);           \
    } while (0)

static bool bits_usable(const um_layout *l)
{
    return __builtin_cpu_supports("avx2") && l->hashes <= MOST_HASHES;
}

/*
 * The functions of a row, for blocks of that many bits, and the row. The file
 * has work_on: the um_work of its kind, a seed and the answers.
 */
#define UM_BITS_ROW(kind_name, block, shift, takes_fn)                         \
    static void query_keys##block(const void *self, uint64_t seed,             \
                                  const uint64_t *keys, size_t n, bool *hit)   \
    {                                                                          \
        um_work w = work_on(self, seed, hit);                                  \
        FOR_EACH_WAY(&w, um_walk_keys, keys, n, QUERY, shift);                 \
    }                                                                          \
    static size_t add_keys##block(void *self, uint64_t seed,                   \
                                  const uint64_t *keys, size_t n, bool *fresh) \
    {                                                                          \
        um_work w = work_on(self, seed, fresh);                                \
        FOR_EACH_WAY(&w, um_walk_keys, keys, n, ADD, shift);                   \
        return w.added;                                                        \
    }                                                                          \
    static void query_digests##block(const void *self, const umbel_digest *d,  \
                                     size_t n, bool *hit)                      \
    {                                                                          \
        um_work w = work_on(self, 0, hit);                                     \
        FOR_EACH_WAY(&w, um_walk_digests, d, n, QUERY, shift);                 \
    }                                                                          \
    static size_t add_digests##block(void *self, const umbel_digest *d,        \
                                     size_t n, bool *fresh)                    \
    {                                                                          \
        um_work w = work_on(self, 0, fresh);                                   \
        FOR_EACH_WAY(&w, um_walk_digests, d, n, ADD, shift);                   \
        return w.added;                                                        \
    }                                                                          \
    static __attribute__((noinline)) umbel_status query_long##block(           \
        const umbel_filter *f, const void *key, size_t len, bool *hit)         \
    {                                                                          \
        *hit = matches(work_on(f->self, 0, NULL).t,                            \
                       um_xxh3_any(key, len, f->shape.seed), shift);           \
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
        *hit = matches(work_on(f->self, 0, NULL).t,                            \
                       um_xxh3_short(key, len, f->shape.seed), shift);         \
        return UMBEL_OK;                                                       \
    }                                                                          \
    const um_fast um_fast_##kind_name##_blocked##block##_avx2 = {              \
        .name = "avx2",                                                        \
        .kind = #kind_name,                                                    \
        .addressing = "blocked" #block,                                        \
        .usable = bits_usable,                                                 \
        .takes = takes_fn,                                                     \
        .add = add_digests##block,                                             \
        .query = query_digests##block,                                         \
        .query_key = query_key##block,                                         \
        .add_keys8 = add_keys##block,                                          \
        .query_keys8 = query_keys##block,                                      \
    };

#endif

/*
 * counting_blocked_avx2.c - counting on blocked128 with AVX2: cells of 4 bits
 * and of 8 bits, plain and refined (kinds/counting/lines_avx2.h).
 *
 * Keys are taken in their order, since the next may go to the same block. What
 * cells held before is judged for four keys together.
 */
#include "kinds/counting/counting.h"
#include "kinds/counting/lines_avx2.h"

enum { MAX_HASHES = 8, SHIFT4 = 6, SHIFT8 = 7 };
enum { ADD_REFINED = UM_ADD + 1 }; /* a verb; UM_ADD is plain */

/* --- answers ------------------------------------------------------------- */

/* What the key's cells are, or were before it was added. */
UM_INLINE __m256i touch(const um_target *t, uint8_t *p, uint64_t word,
                        um_loop_config how)
{
    int change = how.verb == UM_ADD        ? UM_LINE_ADD
                 : how.verb == ADD_REFINED ? UM_LINE_RAISE
                                           : UM_LINE_READ;

    if (how.shift == SHIFT8)
        return um_line8(p, word, t->hashes, change);
    return um_line4(p, word, t->hashes, change);
}

UM_INLINE unsigned zeros(const __m256i cells[4], um_loop_config how)
{
    return how.shift == SHIFT8 ? um_line8_zeros(cells) : um_line4_zeros(cells);
}

UM_INLINE __m128i least(const __m256i cells[4], um_loop_config how)
{
    return how.shift == SHIFT8 ? um_line8_least(cells) : um_line4_least(cells);
}

UM_INLINE void tell_counts(uint64_t *out, __m128i counts, size_t n)
{
    uint64_t four[4];

    um_write_avx2(four, _mm256_cvtepu32_epi64(counts));
    memcpy(out, four, n * sizeof *out);
}

/* Returns which of keys i .. i+3 match: cells of 4 bits need not be shifted. */
UM_INLINE unsigned has4(const um_target *t, const um_eight *e, size_t i,
                        um_loop_config how)
{
    uint8_t *p[4];

    for (size_t j = 0; j < 4; j++)
        p[j] = um_block_at(t, e, i + j, how);
    return um_line4_has(p, e->word[0] + i, t->hashes);
}

UM_INLINE __m256i touch_of(const um_target *t, const um_eight *e, size_t i,
                           um_loop_config how)
{
    return touch(t, um_block_at(t, e, i, how), e->word[0][i], how);
}

/* The n keys from the i-th on, at most four. */
UM_INLINE void serve4(um_work *w, const um_eight *e, size_t i, size_t n,
                      size_t out, um_loop_config how)
{
    __m256i cells[4];

    if (how.verb == UM_QUERY && how.shift == SHIFT4) {
        um_tell_bits((bool *)w->out + out, has4(&w->t, e, i, how), n);
        return;
    }
    cells[0] = touch_of(&w->t, e, i, how);
    cells[1] = cells[2] = cells[3] = cells[0];
    for (size_t j = 1; j < n; j++) /* one after another */
        cells[j] = touch_of(&w->t, e, i + j, how);
    if (how.verb == UM_COUNT) {
        tell_counts((uint64_t *)w->out + out, least(cells, how), n);
        return;
    }
    unsigned fresh = zeros(cells, how);
    if (how.verb != UM_QUERY)
        w->added += (size_t)__builtin_popcount(fresh & ((1u << n) - 1));
    if (w->out)
        um_tell_bits((bool *)w->out + out,
                     how.verb == UM_QUERY ? fresh ^ 15 : fresh, n);
}

UM_INLINE void serve(um_work *w, const um_eight *e, size_t n, size_t out,
                     um_loop_config how)
{
    for (size_t i = 0; i < n; i += 4)
        serve4(w, e, i, n - i < 4 ? n - i : 4, out + i, how);
}

/* --- the row -------------------------------------------------------------- */

UM_INLINE um_work work_on(const um_counting *c, uint64_t seed, void *out)
{
    return (um_work){
        .t = um_target_of(c->layout, c->cells.at, um_xxh3_flip(seed)),
        .out = out};
}

UM_INLINE um_loop_config way_of(int verb, int shift)
{
    return (um_loop_config){
        .verb = verb, .shift = shift, .apart = true, .groups = 1};
}

/* One loop for both widths, and for either update. */
UM_INLINE size_t serve_all(const void *self, uint64_t seed, int sort,
                           const void *keys, size_t n, void *out, int verb,
                           int block)
{
    const um_counting *c = self;
    um_work w = work_on(c, seed, out);
    bool raises = verb == UM_ADD && c->refined;

    (void)block;
    if (c->cells.width == 8 && raises)
        um_walk(&w, sort, keys, n, way_of(ADD_REFINED, SHIFT8), serve);
    else if (c->cells.width == 8)
        um_walk(&w, sort, keys, n, way_of(verb, SHIFT8), serve);
    else if (raises)
        um_walk(&w, sort, keys, n, way_of(ADD_REFINED, SHIFT4), serve);
    else
        um_walk(&w, sort, keys, n, way_of(verb, SHIFT4), serve);
    return w.added;
}

/* Returns true if a cell is, or was, zero. */
UM_INLINE bool lacks(const um_target *t, uint64_t lo, um_loop_config how)
{
    uint8_t *p = t->memory + um_block_of(t, lo, how);
    __m256i cells = touch(t, p, um_remix(lo), how);
    const __m256i four[4] = {cells, cells, cells, cells};

    return zeros(four, how) & 1;
}

UM_INLINE bool serve_one(const umbel_filter *f, uint64_t lo, int verb,
                         int block, int groups)
{
    const um_counting *c = um_self(f);
    const um_target t = um_target_of(&f->layout, c->cells.at, 0);
    bool wide = c->cells.width == 8;

    (void)block, (void)groups; /* more than eight hashes are not taken */
    if (verb == UM_ADD && c->refined)
        return wide ? lacks(&t, lo, way_of(ADD_REFINED, SHIFT8))
                    : lacks(&t, lo, way_of(ADD_REFINED, SHIFT4));
    bool lacked = wide ? lacks(&t, lo, way_of(verb, SHIFT8))
                       : lacks(&t, lo, way_of(verb, SHIFT4));
    return lacked == (verb == UM_ADD);
}

static void count_digests(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *counts)
{
    serve_all(self, 0, UM_DIGESTS, d, n, counts, UM_COUNT, 128);
}

static bool usable(const um_layout *l)
{
    return um_use_avx2() && l->hashes <= MAX_HASHES;
}

static bool takes(const um_shape *s)
{
    uint64_t bits = s->setting[UM_COUNTING_BITS];
    return bits == 4 || bits == 8;
}

UM_FAST_ROW(avx2, counting, 128, takes, count_digests, )

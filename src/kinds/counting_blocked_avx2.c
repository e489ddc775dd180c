/*
 * counting_blocked_avx2.c - counting on blocked128 with AVX2: cells of 4 bits
 * and of 8 bits, plain and refined (kinds/counting_lines_avx2.h).
 *
 * Keys are taken in their order, since the next may go to the same block. What
 * cells held before is judged for four keys together.
 */
#include "filter/handle.h"
#include "kinds/counting.h"
#include "kinds/counting_lines_avx2.h"

enum { MOST_HASHES = 8, SHIFT4 = 6, SHIFT8 = 7 };
enum { QUERY, COUNT, ADD_PLAIN, ADD_REFINED }; /* um_loop_config.verb */

/* --- answers ---------------------------------------------------------------
 */

/* What the key's cells are, or were before it was added. */
UM_INLINE __m256i touch(const um_target *t, uint8_t *p, uint64_t word,
                        um_loop_config how)
{
    int change = how.verb == ADD_PLAIN     ? UM_LINE_ADD
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

    um_put_avx2(four, _mm256_cvtepu32_epi64(counts));
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

    if (how.verb == QUERY && how.shift == SHIFT4) {
        um_tell_bits((bool *)w->out + out, has4(&w->t, e, i, how), n);
        return;
    }
    cells[0] = touch_of(&w->t, e, i, how);
    cells[1] = cells[2] = cells[3] = cells[0];
    for (size_t j = 1; j < n; j++) /* one after another */
        cells[j] = touch_of(&w->t, e, i + j, how);
    if (how.verb == COUNT) {
        tell_counts((uint64_t *)w->out + out, least(cells, how), n);
        return;
    }
    unsigned fresh = zeros(cells, how);
    if (how.verb != QUERY)
        w->added += (size_t)__builtin_popcount(fresh & ((1u << n) - 1));
    if (w->out)
        um_tell_bits((bool *)w->out + out,
                     how.verb == QUERY ? fresh ^ 15 : fresh, n);
}

UM_INLINE void serve(um_work *w, const um_eight *e, size_t n, size_t out,
                     um_loop_config how)
{
    for (size_t i = 0; i < n; i += 4)
        serve4(w, e, i, n - i < 4 ? n - i : 4, out + i, how);
}

/* --- the row ---------------------------------------------------------------
 */

UM_INLINE um_work work_on(const um_counting *c, uint64_t seed, void *out)
{
    return (um_work){.t = um_target_of(c->layout, c->cells.at, seed),
                     .out = out};
}

/* Near memory is served apart. */
UM_INLINE um_loop_config way_of(int verb, int shift, bool far)
{
    return (um_loop_config){
        .verb = verb, .shift = shift, .ahead = far, .apart = !far, .groups = 1};
}

/* Every loop for both widths, near and far memory. */
#define FOR_EACH_WAY(c, w, walk, input, n, verb)                               \
    do {                                                                       \
        if ((c)->cells.width == 8 && (w)->t.far)                               \
            walk(w, input, n, way_of(verb, SHIFT8, true), serve);              \
        else if ((c)->cells.width == 8)                                        \
            walk(w, input, n, way_of(verb, SHIFT8, false), serve);             \
        else if ((w)->t.far)                                                   \
            walk(w, input, n, way_of(verb, SHIFT4, true), serve);              \
        else                                                                   \
            walk(w, input, n, way_of(verb, SHIFT4, false), serve);             \
    } while (0)

static void query_keys(const void *self, uint64_t seed, const uint64_t *keys,
                       size_t n, bool *hit)
{
    um_work w = work_on(self, seed, hit);
    FOR_EACH_WAY((const um_counting *)self, &w, um_walk_keys, keys, n, QUERY);
}

static size_t add_keys(void *self, uint64_t seed, const uint64_t *keys,
                       size_t n, bool *fresh)
{
    const um_counting *c = self;
    um_work w = work_on(c, seed, fresh);

    if (c->refined)
        FOR_EACH_WAY(c, &w, um_walk_keys, keys, n, ADD_REFINED);
    else
        FOR_EACH_WAY(c, &w, um_walk_keys, keys, n, ADD_PLAIN);
    return w.added;
}

static void query_digests(const void *self, const umbel_digest *d, size_t n,
                          bool *hit)
{
    um_work w = work_on(self, 0, hit);
    FOR_EACH_WAY((const um_counting *)self, &w, um_walk_digests, d, n, QUERY);
}

static void count_digests(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *counts)
{
    um_work w = work_on(self, 0, counts);
    FOR_EACH_WAY((const um_counting *)self, &w, um_walk_digests, d, n, COUNT);
}

static size_t add_digests(void *self, const umbel_digest *d, size_t n,
                          bool *fresh)
{
    const um_counting *c = self;
    um_work w = work_on(c, 0, fresh);

    if (c->refined)
        FOR_EACH_WAY(c, &w, um_walk_digests, d, n, ADD_REFINED);
    else
        FOR_EACH_WAY(c, &w, um_walk_digests, d, n, ADD_PLAIN);
    return w.added;
}

/* A key on its own, with nothing around it. */
static umbel_status query_key(const umbel_filter *f, const void *key,
                              size_t len, bool *hit, umbel_error *err)
{
    const um_counting *c = f->self;
    const um_target t = work_on(c, 0, NULL).t;
    uint64_t lo = um_xxh3(key, len, f->shape.seed);
    um_loop_config how =
        way_of(QUERY, c->cells.width == 8 ? SHIFT8 : SHIFT4, false);

    (void)err;
    __m256i cells =
        touch(&t, t.memory + um_block_of(&t, lo, how), um_remix(lo), how);
    const __m256i four[4] = {cells, cells, cells, cells};
    *hit = !zeros(four, how);
    return UMBEL_OK;
}

static bool usable(const um_layout *l)
{
    return __builtin_cpu_supports("avx2") && l->hashes <= MOST_HASHES;
}

static bool takes(const um_shape *s)
{
    uint64_t bits = s->setting[UM_COUNTING_BITS];
    return bits == 4 || bits == 8;
}

const um_fast um_fast_counting_blocked128_avx2 = {
    .name = "avx2",
    .kind = "counting",
    .addressing = "blocked128",
    .usable = usable,
    .takes = takes,
    .add = add_digests,
    .query = query_digests,
    .count = count_digests,
    .query_key = query_key,
    .add_keys8 = add_keys,
    .query_keys8 = query_keys,
};

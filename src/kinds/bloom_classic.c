/*
 * bloom_classic.c - queries of bloom on classic, many keys at a time.
 *
 * A key that is not in meets a clear cell after two probes on average, and each
 * such end is a branch that nobody can predict. So a batch goes through the
 * probes together: every round tests one cell of each key that is left and
 * moves the survivors up, without a branch, while the cells of the next round
 * are being fetched. Idea of the survivors: Boost.Bloom's bulk look-up.
 */
#include "addressing/classic.h"
#include "base/xxh3.h"
#include "filter/fast.h"
#include "kinds/bloom.h"
#include "kinds/rows.h"

enum { BATCH = 64 };

/* The keys of a batch: where they are on their walk. */
typedef struct walkers {
    uint64_t at[BATCH], hi[BATCH];
    uint8_t alive[BATCH]; /* numbers of those whose cells were all set */
    size_t n;
} walkers;

/* One probe of every walker that is left. */
static void probe(const um_bloom *b, walkers *w)
{
    uint64_t cells = b->layout->cells;
    size_t left = 0;

    for (size_t j = 0; j < w->n; j++) {
        uint8_t i = w->alive[j];
        uint64_t cell = um_scale(w->at[i], cells);
        w->at[i] = um_classic_step(w->at[i], w->hi[i]);
        w->alive[left] = i;
        left += um_bit(b->bits, cell);
    }
    w->n = left;
}

static void fetch(const um_bloom *b, const walkers *w)
{
    for (size_t j = 0; j < w->n; j++)
        __builtin_prefetch(
            b->bits + (um_scale(w->at[w->alive[j]], b->layout->cells) >> 3));
}

static void walk(const um_bloom *b, walkers *w, size_t n, bool *hit)
{
    static const uint8_t everybody[BATCH] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    bool far = b->layout->cells > (uint64_t)8 << 18; /* past 256 KiB */

    w->n = n;
    memcpy(w->alive, everybody, sizeof everybody);
    for (uint32_t k = 0; k < b->layout->hashes && w->n; k++) {
        if (far)
            fetch(b, w);
        probe(b, w);
    }
    memset(hit, 0, n * sizeof *hit);
    for (size_t j = 0; j < w->n; j++)
        hit[w->alive[j]] = true;
}

static size_t batch_of(size_t left)
{
    return left < BATCH ? left : BATCH;
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    walkers w;

    for (size_t done = 0, some; done < n; done += some) {
        some = batch_of(n - done);
        for (size_t i = 0; i < some; i++) {
            w.at[i] = d[done + i].lo;
            w.hi[i] = d[done + i].hi;
        }
        walk(self, &w, some, hit + done);
    }
}

static void query_keys8(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit)
{
    uint64_t flip = um_xxh3_flip(seed);
    walkers w;

    for (size_t done = 0, some; done < n; done += some) {
        some = batch_of(n - done);
        for (size_t i = 0; i < some; i++) {
            w.at[i] = um_xxh3_8(um_le64(keys[done + i]), flip);
            w.hi[i] = um_remix(w.at[i]);
        }
        walk(self, &w, some, hit + done);
    }
}

static size_t add(void *self, const umbel_digest *d, size_t n, bool *fresh)
{
    return um_kind_bloom.add(self, d, n, fresh);
}

static bool usable(const um_layout *l)
{
    (void)l;
    return true;
}

const um_fast um_fast_bloom_classic = {
    .name = "portable",
    .kind = "bloom",
    .addressing = "classic",
    .usable = usable,
    .add = add,
    .query = query,
    .query_keys8 = query_keys8,
};

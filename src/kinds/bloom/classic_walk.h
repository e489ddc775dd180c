/*
 * classic_walk.h - queries of bloom on classic, many keys at a time.
 *
 * A non-member has a clear cell after two probes on average, and each such end
 * would be a branch that cannot be predicted. So the keys of a batch are probed
 * together: every round tests one cell of each remaining key and compacts the
 * survivors, without a branch. The idea of the survivors is from Boost.Bloom's
 * bulk look-up.
 *
 * If the memory is far, several batches are in flight, one round apart: the
 * cells of a round are prefetched while the other batches are tested.
 */
#ifndef UM_KINDS_CLASSIC_WALK_H
#define UM_KINDS_CLASSIC_WALK_H

#include "base/bits.h"
#include "filter/addressing/addressing.h"
#include "filter/kind.h"
#include "kinds/bloom/bloom.h"

/* Batches are small if the memory is far, so that prefetched lines stay in the
 * cache; large if it is near, because every round ends with a mispredicted
 * branch. */
enum { UM_WALKERS = 256, UM_WALKERS_FAR = 64, UM_UNDER_WAY = 8 };

/* The keys of a batch and their current states. */
typedef struct um_walkers {
    _Alignas(32) uint64_t at[UM_WALKERS]; /* states from which the next cells
                                             are computed */
    _Alignas(32) uint64_t hi[UM_WALKERS];
    uint64_t cell[UM_WALKERS];     /* to be tested */
    uint8_t alive[UM_WALKERS + 8]; /* indices of the survivors */
    size_t left;                   /* number of survivors */
    size_t n;
    bool *hit;
} um_walkers;

/* Sets at and hi of n walkers from the keys of a source, starting at index
 * `from`. */
typedef void um_walk_start(const void *source, size_t from, size_t n,
                           um_walkers *w);

/* A source of keys of 8 bytes; flip is um_xxh3_flip of the seed. */
typedef struct um_walk_keys8 {
    const uint64_t *key;
    uint64_t flip;
} um_walk_keys8;

UM_INLINE void um_walk_everybody(um_walkers *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->alive[i] = (uint8_t)i;
    w->left = w->n;
}

/* Computes the next cell of each survivor, and optionally prefetches it. */
UM_INLINE void um_walk_step(const um_bloom *b, um_walkers *w, bool fetch)
{
    uint64_t cells = b->layout->cells;

    for (size_t j = 0; j < w->left; j++) {
        uint8_t i = w->alive[j];
        w->cell[i] = um_scale(w->at[i], cells);
        w->at[i] = um_classic_step(w->at[i], w->hi[i]);
        if (fetch)
            __builtin_prefetch(b->bits + (w->cell[i] >> 3));
    }
}

/* Tests the cells, and keeps the survivors. */
UM_INLINE void um_walk_test(const um_bloom *b, um_walkers *w)
{
    size_t left = 0;

    for (size_t j = 0; j < w->left; j++) {
        uint8_t i = w->alive[j];
        w->alive[left] = i;
        left += um_bit(b->bits, w->cell[i]);
    }
    w->left = left;
}

UM_INLINE void um_walk_end(um_walkers *w)
{
    memset(w->hit, 0, w->n * sizeof *w->hit);
    for (size_t j = 0; j < w->left; j++)
        /* NOLINTNEXTLINE(clang-analyzer-*): left counts what was set */
        w->hit[w->alive[j]] = true;
}

/* Does both at once, without waiting for memory. */
UM_INLINE void um_walk_probe(const um_bloom *b, um_walkers *w)
{
    uint64_t cells = b->layout->cells;
    size_t left = 0;

    for (size_t j = 0; j < w->left; j++) {
        /* NOLINTNEXTLINE(clang-analyzer-*): left counts what was set */
        uint8_t i = w->alive[j];
        uint64_t at = w->at[i];
        w->at[i] = um_classic_step(at, w->hi[i]);
        w->alive[left] = i;
        left += um_bit(b->bits, um_scale(at, cells));
    }
    w->left = left;
}

/* Does all rounds from probe `first` on. */
UM_INLINE void um_walk_rest(const um_bloom *b, um_walkers *w, uint32_t first)
{
    for (uint32_t k = first; k < b->layout->hashes && w->left; k++)
        um_walk_probe(b, w);
    um_walk_end(w);
}

UM_INLINE size_t um_walk_batch(size_t n, size_t done, size_t most)
{
    return n - done < most ? n - done : most;
}

UM_INLINE void um_walk_near(const um_bloom *b, const void *source, size_t n,
                            bool *hit, um_walk_start *start)
{
    um_walkers w;

    for (size_t done = 0; done < n; done += w.n) {
        w.n = um_walk_batch(n, done, UM_WALKERS);
        w.hit = hit + done;
        start(source, done, w.n, &w);
        um_walk_everybody(&w);
        um_walk_rest(b, &w, 0);
    }
}

/* Does one round of a batch whose cells were prefetched in the previous
 * round. */
UM_INLINE void um_walk_round(const um_bloom *b, um_walkers *w, bool last,
                             uint32_t done)
{
    um_walk_test(b, w);
    if (last)
        um_walk_rest(b, w, done);
    else
        um_walk_step(b, w, true);
}

UM_INLINE void um_walk_far(const um_bloom *b, const void *source, size_t n,
                           bool *hit, um_walk_start *start)
{
    um_walkers w[UM_UNDER_WAY];
    uint32_t hashes = b->layout->hashes;
    uint32_t rounds = hashes < UM_UNDER_WAY ? hashes : UM_UNDER_WAY - 1;
    size_t batches = (n + UM_WALKERS_FAR - 1) / UM_WALKERS_FAR;

    for (size_t i = 0; i < UM_UNDER_WAY; i++)
        w[i].n = w[i].left = 0, w[i].hit = hit;
    for (size_t turn = 0; turn < batches + rounds; turn++) {
        for (uint32_t r = rounds; r >= 1; r--)
            if (turn >= r && turn - r < batches)
                um_walk_round(b, &w[(turn - r) % UM_UNDER_WAY], r == rounds, r);
        if (turn < batches) {
            um_walkers *fresh = &w[turn % UM_UNDER_WAY];
            size_t from = turn * UM_WALKERS_FAR;
            fresh->n = um_walk_batch(n, from, UM_WALKERS_FAR);
            fresh->hit = hit + from;
            start(source, from, fresh->n, fresh);
            um_walk_everybody(fresh);
            um_walk_step(b, fresh, true);
        }
    }
}

/* Returns true if the loop for far memory is faster: measured at 5 MB, near 7.8
 * and far 9.7 ns a key, at 10 MB 27 and 11.5. */
static inline bool um_walk_is_far(const um_bloom *b)
{
    return b->layout->cells / 8 > (uint64_t)6 << 20;
}

/* The kind's query on classic (bloom.c). */
um_query_fn um_bloom_classic_query;

#endif

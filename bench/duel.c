/*
 * duel.c - compares kind tally with plain 8-bit cells under classic addressing.
 *
 * Both get the same stream in the same order: keys with heavy-tailed counts,
 * P(count >= x) = 1/x up to 1,000, shuffled. Then both are queried for all
 * keys, and for as many that never occurred. A round clears the filters and
 * repeats all of this; for every chunk of the stream the best time counts.
 */
#include "base/cpu.h"
#include "base/error.h"
#include "base/rng.h"
#include "bench/cases.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>

enum { MAX_TIMES = 1000, TALLY = 0, OTHER = 1, BOTH = 2 };

/* The keys to process, and the best time of each chunk. */
typedef struct work {
    uint64_t *keys;
    size_t n, nchunks;
    double *best[BOTH];
} work;

typedef struct duel_state {
    umbel_filter *filter[BOTH];
    uint64_t counts[UM_BENCH_CHUNK];
    umbel_slice slices[UM_BENCH_CHUNK];
    work adds, asks;
} duel_state;

/* --- keys ----------------------------------------------------------------- */

static void shuffle(uint64_t *keys, size_t n, um_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)um_random_below(rng, i);
        uint64_t key = keys[i - 1];
        keys[i - 1] = keys[j];
        keys[j] = key;
    }
}

static bool work_init(work *w, size_t n)
{
    w->n = n;
    w->nchunks = (n + UM_BENCH_CHUNK - 1) / UM_BENCH_CHUNK;
    w->keys = calloc(n, sizeof *w->keys);
    for (size_t i = 0; i < BOTH; i++) {
        w->best[i] = malloc(w->nchunks * sizeof *w->best[i]);
        for (size_t c = 0; w->best[i] && c < w->nchunks; c++)
            w->best[i][c] = INFINITY;
    }
    return w->keys && w->best[TALLY] && w->best[OTHER];
}

static void work_fini(work *w)
{
    free(w->keys);
    free(w->best[TALLY]);
    free(w->best[OTHER]);
}

static uint64_t times_of(uint64_t seed, uint64_t key)
{
    um_rng rng = {seed ^ key};
    double u = (double)((um_random(&rng) >> 11) + 1) * 0x1p-53;

    return (uint64_t)fmin(1 / u, MAX_TIMES);
}

/* Draws the keys from one sequence: the first half of asks occurs in the
 * stream, the rest does not. */
static bool draw(duel_state *d, uint64_t keys, uint64_t seed)
{
    um_rng rng = {seed};
    size_t sum = 0, at = 0;

    if (!work_init(&d->asks, 2 * (size_t)keys))
        return false;
    for (size_t i = 0; i < d->asks.n; i++)
        d->asks.keys[i] = um_random(&rng);
    for (size_t i = 0; i < keys; i++)
        sum += times_of(seed, d->asks.keys[i]);
    if (!work_init(&d->adds, sum))
        return false;
    for (size_t i = 0; i < keys; i++)
        for (uint64_t j = times_of(seed, d->asks.keys[i]); j; j--)
            d->adds.keys[at++] = d->asks.keys[i];
    shuffle(d->adds.keys, d->adds.n, &rng);
    shuffle(d->asks.keys, d->asks.n, &rng);
    return true;
}

static umbel_status open_both(duel_state *d, uint64_t keys, umbel_error *err)
{
    static const umbel_setting set[] = {{"cell_bits", 8}, {"update", 0}};
    umbel_params tally = UMBEL_PARAMS_INIT, other = UMBEL_PARAMS_INIT;

    tally.capacity = keys;
    other.addressing = "classic";
    other.cells = 8 * keys;
    other.hashes = 4;
    other.settings = set;
    other.nsettings = UM_COUNT(set);
    umbel_status status = umbel_create("tally", &tally, &d->filter[TALLY], err);
    if (status == UMBEL_OK)
        status = umbel_create("counting", &other, &d->filter[OTHER], err);
    return status;
}

/* --- the clock ------------------------------------------------------------ */

static umbel_status serve(duel_state *d, size_t who, bool counts,
                          const uint64_t *keys, size_t n, umbel_error *err)
{
    if (!counts)
        return umbel_add_fixed(d->filter[who], keys, sizeof *keys, n, NULL,
                               err);
    return umbel_count_many(d->filter[who], d->slices, n, d->counts, err);
}

static umbel_status pass(duel_state *d, size_t who, bool counts,
                         umbel_error *err)
{
    work *w = counts ? &d->asks : &d->adds;
    umbel_status status = UMBEL_OK;

    for (size_t c = 0; status == UMBEL_OK && c < w->nchunks; c++) {
        size_t from = c * UM_BENCH_CHUNK, left = w->n - from;
        size_t n = left < UM_BENCH_CHUNK ? left : UM_BENCH_CHUNK;
        for (size_t i = 0; counts && i < n; i++)
            d->slices[i] = (umbel_slice){&w->keys[from + i], sizeof *w->keys};
        double start = um_seconds();
        status = serve(d, who, counts, w->keys + from, n, err);
        w->best[who][c] = fmin(w->best[who][c], um_seconds() - start);
    }
    return status;
}

static umbel_status play_round(duel_state *d, bool counts, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t who = 0; status == UMBEL_OK && who < BOTH; who++) {
        status = umbel_clear(d->filter[who], err);
        if (status == UMBEL_OK)
            status = pass(d, who, false, err);
        if (status == UMBEL_OK && counts)
            status = pass(d, who, true, err);
    }
    return status;
}

static double ns_a_key(const work *w, size_t who)
{
    double sum = 0;

    for (size_t c = 0; c < w->nchunks; c++)
        sum += w->best[who][c];
    return sum / (double)w->n * 1e9;
}

static void retain_best(um_times *best, const work *w)
{
    best->ns = fmin(best->ns, ns_a_key(w, TALLY));
    best->rival = fmin(best->rival, ns_a_key(w, OTHER));
}

static umbel_status play(bool counts, uint64_t keys, uint64_t rounds,
                         uint64_t seed, um_times *best, umbel_error *err)
{
    duel_state *d = calloc(1, sizeof *d);
    umbel_status status;

    if (!d || !draw(d, keys, seed))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for the keys");
    else
        status = open_both(d, keys, err);
    for (uint64_t i = 0; status == UMBEL_OK && i < rounds; i++)
        status = play_round(d, counts, err);
    if (status == UMBEL_OK)
        retain_best(best, counts ? &d->asks : &d->adds);
    if (d) {
        umbel_close(d->filter[TALLY]);
        umbel_close(d->filter[OTHER]);
        work_fini(&d->adds);
        work_fini(&d->asks);
    }
    free(d);
    return status;
}

umbel_status um_bench_tally_adds(uint64_t keys, uint64_t rounds, uint64_t seed,
                                 um_times *best, umbel_error *err)
{
    return play(false, keys, rounds, seed, best, err);
}

umbel_status um_bench_tally_counts(uint64_t keys, uint64_t rounds,
                                   uint64_t seed, um_times *best,
                                   umbel_error *err)
{
    return play(true, keys, rounds, seed, best, err);
}

/*
 * fill.c - fills a shared filter with all its keys, with one thread and with
 * two.
 *
 * Every key is new, from an empty filter to a full one: this measures the cost
 * of writing to a shared filter.
 */
#include "base/cpu.h"
#include "base/error.h"
#include "base/rng.h"
#include "bench/cases.h"

#include <umbel/describe.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>

enum {
    LEAST_KEYS = 3000000, /* per round, in several fills */
    MAX_CHUNKS = 128
};

static const um_bench_subject subject = {
    .kind = "bloom", .addressing = "blocked512", .shares = true};

/* The filter to fill, and its keys. */
typedef struct fill {
    um_bench bench;
    uint64_t *keys;
    size_t n;
    um_pair_work *add;
} fill;

static void add_batch(void *ctx, size_t from, size_t n)
{
    fill *x = ctx;
    umbel_add_fixed(x->bench.shared, x->keys + from, 8, n, NULL, NULL);
}

static void add_single(void *ctx, size_t from, size_t n)
{
    fill *x = ctx;

    for (size_t i = from; i < from + n; i++)
        umbel_add(x->bench.shared, x->keys + i, 8, NULL, NULL);
}

static void time_chunk(fill *x, um_pair *pair, size_t from, double *best)
{
    size_t n = x->n - from < UM_BENCH_CHUNK ? x->n - from : UM_BENCH_CHUNK;
    double start = um_seconds();

    if (pair)
        um_pair_run(pair, x->add, x, from, n);
    else
        x->add(x, from, n);
    double t = um_seconds() - start;
    *best = t < *best ? t : *best;
}

/* Fills the filter several times; best has the smallest time of each chunk,
 * over all rounds. */
static double fill_all(fill *x, um_pair *pair, double best[MAX_CHUNKS])
{
    double sum = 0;

    for (size_t done = 0; done < LEAST_KEYS; done += x->n) {
        if (umbel_clear(x->bench.shared, NULL) != UMBEL_OK)
            abort(); /* cannot fail: in our own memory */
        for (size_t from = 0; from < x->n; from += UM_BENCH_CHUNK)
            time_chunk(x, pair, from, &best[from / UM_BENCH_CHUNK]);
    }
    for (size_t from = 0; from < x->n; from += UM_BENCH_CHUNK)
        sum += best[from / UM_BENCH_CHUNK];
    return sum / (double)x->n * 1e9;
}

static umbel_status open_fill(fill *x, uint64_t n, uint64_t seed,
                              umbel_error *err)
{
    um_rng rng = {seed};
    umbel_status status = um_bench_init(&x->bench, &subject, n, seed, err);

    if (status != UMBEL_OK)
        return status;
    x->n = (size_t)n;
    x->keys = malloc(x->n * sizeof *x->keys);
    if (!x->keys)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", x->n);
    for (size_t i = 0; i < x->n; i++)
        x->keys[i] = um_random(&rng);
    return UMBEL_OK;
}

/* Measures memory alone, with one thread and with two. */
static void time_lines(fill *x, um_pair *pair, um_times *best)
{
    for (size_t i = 0; i < 2; i++) {
        x->bench.pair = i ? pair : NULL;
        double t = um_bench_raw_shared(&x->bench, true);
        best->lines[i] = t < best->lines[i] ? t : best->lines[i];
    }
    x->bench.pair = NULL;
}

static umbel_status time_fill(fill *x, uint64_t rounds, bool two,
                              um_times *best, umbel_error *err)
{
    double one[MAX_CHUNKS], both[MAX_CHUNKS];
    um_pair *pair = two ? um_pair_open() : NULL;

    if (two && !pair)
        return um_fail(err, UMBEL_E_NOMEM, "no second thread to be had");
    for (size_t i = 0; i < MAX_CHUNKS; i++)
        one[i] = both[i] = INFINITY;
    for (uint64_t i = 0; i < rounds; i++) {
        double limit = um_bench_raw_write(&x->bench);
        best->limit = limit < best->limit ? limit : best->limit;
        *(two ? &best->one : &best->ns) = fill_all(x, NULL, one);
        if (two) {
            best->ns = fill_all(x, pair, both);
            time_lines(x, pair, best);
        }
    }
    best->path = umbel_fast_path(x->bench.shared);
    um_pair_close(pair);
    return UMBEL_OK;
}

static umbel_status run_fill(um_pair_work *add, bool two, uint64_t keys,
                             uint64_t rounds, uint64_t seed, um_times *best,
                             umbel_error *err)
{
    fill x = {.add = add};
    umbel_status status = open_fill(&x, keys, seed, err);

    if (status == UMBEL_OK)
        status = time_fill(&x, rounds, two, best, err);
    um_bench_fini(&x.bench);
    free(x.keys);
    return status;
}

#define FILL(name, add, two)                                                   \
    umbel_status um_bench_##name(uint64_t keys, uint64_t rounds,               \
                                 uint64_t seed, um_times *best,                \
                                 umbel_error *err)                             \
    {                                                                          \
        return run_fill(add, two, keys, rounds, seed, best, err);              \
    }

FILL(fill_batch, add_batch, false)
FILL(fill_batch_two, add_batch, true)
FILL(fill_single, add_single, false)
FILL(fill_single_two, add_single, true)

/*
 * build.c - measures how long static filters take to build.
 */
#include "base/cpu.h"
#include "base/error.h"
#include "base/rng.h"
#include "bench/cases.h"

#include <umbel/build.h>
#include <umbel/filter.h>
#include <umbel/keys.h>
#include <umbel/umbel.h>

#include <stdlib.h>

static umbel_status draw(uint64_t n, uint64_t seed, uint64_t **out,
                         umbel_error *err)
{
    uint64_t *keys = malloc((size_t)n * sizeof *keys);
    um_rng rng = {seed};

    if (!keys)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for keys");
    for (uint64_t i = 0; i < n; i++)
        keys[i] = um_random(&rng);
    *out = keys;
    return UMBEL_OK;
}

static umbel_status build(const char *kind, const umbel_params *params,
                          const uint64_t *keys, size_t n, umbel_filter **out,
                          umbel_error *err)
{
    umbel_digest *d = malloc(n * sizeof *d);
    umbel_filter *empty = NULL;
    umbel_status status = umbel_build(kind, params, NULL, NULL, &empty, err);

    if (status == UMBEL_OK && !d)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for keys");
    if (status == UMBEL_OK)
        status = umbel_digest_fixed(empty, keys, sizeof *keys, n, d, err);
    umbel_key_list members = UMBEL_KEY_LIST(d, n);
    if (status == UMBEL_OK)
        status = umbel_build(kind, params, &members, NULL, out, err);
    umbel_close(empty);
    free(d);
    return status;
}

umbel_status um_bench_build(const char *kind, const umbel_params *params,
                            uint64_t n, uint64_t seed, umbel_filter **out,
                            umbel_error *err)
{
    uint64_t *keys;
    umbel_status status = draw(n, seed, &keys, err);

    if (status != UMBEL_OK)
        return status;
    status = build(kind, params, keys, (size_t)n, out, err);
    free(keys);
    return status;
}

static void retain_least(double *best, double seconds, uint64_t n)
{
    double ns = seconds * 1e9 / (double)n;
    *best = ns < *best ? ns : *best;
}

static umbel_status time_classic(const uint64_t *keys, uint64_t n, double *best,
                                 umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = "classic";
    p.fpr = UM_BENCH_FPR;
    p.capacity = n;
    umbel_status status = umbel_create(NULL, &p, &f, err);
    double start = um_seconds();
    if (status == UMBEL_OK)
        status = umbel_add_fixed(f, keys, sizeof *keys, (size_t)n, NULL, err);
    retain_least(best, um_seconds() - start, n);
    umbel_close(f);
    return status;
}

static umbel_status time_both(uint64_t n, uint64_t seed, um_times *best,
                              umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    uint64_t *keys;
    umbel_status status = draw(n, seed, &keys, err);

    if (status != UMBEL_OK)
        return status;
    p.fpr = UM_BENCH_FPR;
    double start = um_seconds();
    status = build("ribbon", &p, keys, (size_t)n, &f, err);
    retain_least(&best->ns, um_seconds() - start, n);
    umbel_close(f);
    if (status == UMBEL_OK)
        status = time_classic(keys, n, &best->plain, err);
    free(keys);
    return status;
}

/* Measures builds. The limit is reading and writing one line per key; the rival
 * is adding the same keys to a classic bloom filter. */
umbel_status um_bench_ribbon_builds(uint64_t keys, uint64_t rounds,
                                    uint64_t seed, um_times *best,
                                    umbel_error *err)
{
    static const um_bench_subject ribbon = {.kind = "ribbon"};
    uint64_t most = keys > 100000 ? 3 : 300;
    um_bench b;
    umbel_status status = um_bench_init(&b, &ribbon, keys, seed, err);

    if (status == UMBEL_OK)
        best->limit = um_bench_raw_write(&b);
    um_bench_fini(&b);
    rounds = keys > 100000 ? rounds : 30 * rounds;
    for (uint64_t i = 0; status == UMBEL_OK && i < rounds && i < most; i++)
        status = time_both(keys, seed, best, err);
    return status;
}

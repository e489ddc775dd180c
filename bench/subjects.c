/*
 * subjects.c - creates the filters that cases are timed on: full ones, and keys
 * that are not in them.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "bench/cases.h"

#include <umbel/build.h>
#include <umbel/describe.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20, MAX_KEYS = 4000000 };

static size_t keys_for(size_t lines)
{
    size_t n = lines * 4 / UM_BENCH_CHUNK * UM_BENCH_CHUNK;

    if (n < UM_BENCH_CHUNK)
        return UM_BENCH_CHUNK;
    return n < MAX_KEYS ? n : MAX_KEYS;
}

static void fill_keys(um_bench *b, uint64_t seed)
{
    um_rng rng = {seed};
    size_t n = b->nkeys + UM_BENCH_SPARE;

    for (size_t i = 0; i < n; i++) {
        char text[UM_BENCH_STRING + 1];
        b->keys[i] = um_random(&rng);
        snprintf(text, sizeof text, "%016" PRIx64, b->keys[i]);
        memcpy(b->strings + i * UM_BENCH_STRING, text, UM_BENCH_STRING);
    }
}

/* Mixes members, in unpredictable places, with other keys. The members are the
 * first that fill_filter adds. */
static void mix_keys(um_bench *b, uint64_t n, uint64_t seed)
{
    um_rng members = {~seed}, coins = {seed + 1};
    size_t some = n < b->nkeys ? (size_t)n : b->nkeys;

    for (size_t i = 0; i < b->nkeys; i++) {
        if (i % some == 0)
            members.state = ~seed;
        uint64_t member = um_random(&members);
        b->mixed[i] = um_random(&coins) >> 63 ? member : b->keys[i];
    }
}

void um_bench_fini(um_bench *b)
{
    umbel_close(b->filter);
    umbel_close(b->shared);
    umbel_close(b->other);
    free(b->keys);
    free(b->mixed);
    free(b->strings);
    free(b->hit);
    free(b->memory);
}

static bool get_memory(um_bench *b)
{
    size_t bytes = b->lines * 64, n = b->nkeys + UM_BENCH_SPARE;
    void *memory = NULL;

    b->keys = malloc(n * sizeof *b->keys);
    b->mixed = malloc(n * sizeof *b->mixed);
    b->strings = malloc(n * UM_BENCH_STRING);
    b->hit = malloc(UM_BENCH_CHUNK * sizeof *b->hit);
    if (posix_memalign(&memory, HUGE_PAGE, bytes) != 0)
        memory = NULL;
    b->memory = memory;
    if (!b->keys || !b->mixed || !b->strings || !b->hit || !b->memory)
        return false;
    if (bytes >= HUGE_FROM)
        um_use_huge_pages(memory, bytes, true);
    memset(memory, 1, bytes);
    return true;
}

/* Fills a filter with keys that are not queried, drawn and added in batches. */
static umbel_status fill_filter(um_bench *b, umbel_filter *f, uint64_t n,
                                uint64_t seed, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    um_rng rng = {~seed};

    for (uint64_t done = 0, some; status == UMBEL_OK && done < n;
         done += some) {
        some = n - done < b->nkeys ? n - done : b->nkeys;
        for (uint64_t i = 0; i < some; i++)
            b->keys[i] = um_random(&rng);
        status = umbel_add_fixed(f, b->keys, 8, some, NULL, err);
    }
    return status;
}

/* Creates a filter of a subject; cells 0 means as many as n keys need. */
static umbel_status open_subject(const um_bench_subject *subject, uint64_t n,
                                 uint64_t cells, umbel_filter **out,
                                 umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = subject->addressing;
    p.capacity = n;
    p.cells = cells;
    p.fpr = UM_BENCH_FPR;
    p.settings = subject->set;
    while (p.nsettings < UM_COUNT(subject->set) &&
           subject->set[p.nsettings].name)
        p.nsettings++;
    return umbel_create(subject->kind, &p, out, err);
}

static umbel_status open_both(um_bench *b, const um_bench_subject *subject,
                              uint64_t n, uint64_t seed, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t cells = 0;
    umbel_status status = UMBEL_OK;

    p.fpr = UM_BENCH_FPR;
    if (umbel_is_static(subject->kind))
        return um_bench_build(subject->kind, &p, n, ~seed, &b->filter, err);
    if (subject->beside) {
        status = open_subject(subject->beside, n, 0, &b->other, err);
        cells = status == UMBEL_OK ? umbel_cells(b->other) : 0;
    }
    if (status == UMBEL_OK)
        status = open_subject(subject, n, cells, &b->filter, err);
    return status;
}

static umbel_status share_copy(um_bench *b, umbel_error *err)
{
    umbel_status status = umbel_copy(b->filter, &b->shared, err);
    return status == UMBEL_OK ? umbel_share(b->shared, err) : status;
}

umbel_status um_bench_init(um_bench *b, const um_bench_subject *subject,
                           uint64_t n, uint64_t seed, umbel_error *err)
{
    *b = (um_bench){.filter = NULL};
    umbel_status status = open_both(b, subject, n, seed, err);
    if (status != UMBEL_OK)
        return status;
    b->lines = umbel_encoded_len(b->filter) / 64;
    b->nkeys = keys_for(b->lines);
    if (!get_memory(b))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu lines", b->lines);
    if (!umbel_is_static(subject->kind))
        status = fill_filter(b, b->filter, n, seed, err);
    if (status == UMBEL_OK && subject->beside)
        status = fill_filter(b, b->other, n, seed, err);
    if (status == UMBEL_OK && subject->shares)
        status = share_copy(b, err);
    if (status != UMBEL_OK)
        return status;
    fill_keys(b, seed);
    mix_keys(b, n, seed);
    return UMBEL_OK;
}

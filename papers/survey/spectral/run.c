/*
 * run.c - survey-spectral: counts of a multiset (section 9, spectral Bloom
 * filters): kinds counting and countmin.
 */
#include "papers/survey/filters.h"

#include <umbel/base.h>
#include <umbel/counting.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>

enum { KEYS = 10000, CELLS = 80000, HASHES = 4 };
enum { PLAIN_WRONG, MINIMAL_WRONG, PLAIN_OVER, MINIMAL_OVER, TOO_LOW, WIDTH };

/* Returns the count of item i, which falls as 1 / rank, from 1001 towards 1. */
static uint64_t count_of(size_t i)
{
    return 1 + 1000 / (1 + i);
}

static umbel_status fill(um_round *r, unsigned update, const uint64_t *keys,
                         umbel_filter **out, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {{"cell_bits", 16}, {"update", update}};

    p.addressing = "classic";
    p.cells = CELLS;
    p.hashes = HASHES;
    p.seed = um_random(&r->rng);
    p.settings = settings;
    p.nsettings = 2;
    umbel_status status = umbel_create("counting", &p, out, err);
    for (size_t i = 0; status == UMBEL_OK && i < KEYS; i++) {
        umbel_slice key = {&keys[i], sizeof keys[i]};
        uint64_t amount = count_of(i);
        status = umbel_add_amounts(*out, &key, &amount, 1, NULL, err);
    }
    return status;
}

static umbel_status measure(const umbel_filter *f, const uint64_t *keys,
                            double *wrong, double *over, double *low,
                            umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < KEYS; i++) {
        umbel_slice key = {&keys[i], sizeof keys[i]};
        uint64_t got = 0, want = count_of(i);
        status = umbel_count_many(f, &key, 1, &got, err);
        *wrong += got != want ? 1. / KEYS : 0;
        *over += got > want ? (double)(got - want) / KEYS : 0;
        *low += got < want ? 1 : 0;
    }
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    static const int wrong[] = {PLAIN_WRONG, MINIMAL_WRONG};
    static const int over[] = {PLAIN_OVER, MINIMAL_OVER};
    uint64_t keys[KEYS];
    umbel_status status = UMBEL_OK;

    um_survey_draw(&r->rng, keys, KEYS);
    for (size_t i = 0; i < WIDTH; i++)
        out[i] = 0;
    for (unsigned update = 0; status == UMBEL_OK && update < 2; update++) {
        umbel_filter *f = NULL;
        status = fill(r, update, keys, &f, err);
        if (status == UMBEL_OK)
            status = measure(f, keys, &out[wrong[update]], &out[over[update]],
                             &out[TOO_LOW], err);
        umbel_close(f);
    }
    return status;
}

static void conclude(um_study *s)
{
    um_mean plain = um_column(s, PLAIN_WRONG);

    um_check_value(s, "counts that are too low", um_column(s, TOO_LOW).value,
                   NAN);
    um_check_mean(s, "share of wrong counts, minimum of the counters", &plain);
    um_check_value(s, "wrong counts, minimum over minimal increase",
                   plain.value / um_column(s, MINIMAL_WRONG).value, NAN);
    um_check_value(
        s, "mean excess, minimum over minimal increase",
        um_column(s, PLAIN_OVER).value / um_column(s, MINIMAL_OVER).value, NAN);
    um_record_note(&s->record,
                   "Spectral filters answer with the minimum of the counters "
                   "(kind counting, update plain) or raise only the least "
                   "(update refined; kind countmin for larger counts). Their "
                   "second filter, for keys with a single minimum, is not in "
                   "the library: kind tally keeps frequent keys exactly "
                   "instead (spam-split).");
}

const um_paper um_paper_survey_spectral = {
    .name = "survey-spectral",
    .source = SURVEY_SOURCE "section 9",
    .claim = "spectral filters count multisets; minimal increase errs less",
    .rounds = 100,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

/*
 * run.c - forgeries: a search for filters that pass admission and match too
 * much.
 *
 * A round forges one filter of every target, encodes it, and submits what the
 * receiver decodes for admission with the target's budget, 0.1 % for most.
 * Admitted filters are queried with random keys: a filter is a hole if more of
 * them match than five sigma above twice the budget.
 */
#include "papers/forgeries/forge.h"

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/handle.h"
#include "papers/frame/paper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED (-1.0)

enum { FEW = 1024, MANY = 4096 * FEW, BATCH = 256 };

/* Results of a try. */
enum { SHARE, HOLE, READS, NUMBERS };

/* --- random keys -------------------------------------------------------------
 *
 * In kind near only digests with the print of a stored name can match, 1 in 16
 * million for each. Random keys are drawn among those, and weighted
 * accordingly.
 */

typedef struct crowd {
    const umbel_filter *f;
    um_rng *rng;
    uint32_t *print; /* NULL: any */
    size_t nprints;
    double weight; /* share of all digests that are drawn from */
} crowd;

static umbel_status crowd_init(crowd *c, const umbel_filter *f, um_rng *rng,
                               umbel_error *err)
{
    *c = (crowd){.f = f, .rng = rng, .weight = 1};
    if (strcmp(umbel_kind(f), "near") != 0)
        return UMBEL_OK;
    c->print = calloc((size_t)f->layout.cells, sizeof *c->print);
    if (!c->print)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for prints");
    c->nprints = near_prints(f, c->print);
    c->weight = ldexp((double)c->nprints, -24);
    return UMBEL_OK;
}

static umbel_status draw_strangers(const crowd *c, umbel_digest d[BATCH],
                                   umbel_error *err)
{
    uint64_t keys[BATCH];

    for (size_t i = 0; c->print && i < BATCH; i++)
        d[i] = near_stranger(c->print, c->nprints, c->rng);
    if (c->print)
        return UMBEL_OK;
    for (size_t i = 0; i < BATCH; i++) {
        keys[i] = um_random_key(c->rng);
        d[i] = (umbel_digest){um_random_below(c->rng, UM_INTEGER_PRIME), 0};
    }
    return c->f->hasher.row->identity
               ? UMBEL_OK
               : umbel_digest_fixed(c->f, keys, sizeof *keys, BATCH, d, err);
}

static umbel_status ask(const crowd *c, size_t n, double *share,
                        umbel_error *err)
{
    umbel_digest d[BATCH];
    bool hit[BATCH];
    size_t hits = 0;

    for (size_t i = 0; i < n; i += BATCH) {
        UM_TRY(draw_strangers(c, d, err));
        UM_TRY(umbel_query_digests(c->f, d, BATCH, hit, err));
        for (size_t j = 0; j < BATCH; j++)
            hits += hit[j];
    }
    *share = c->weight * (double)hits / (double)n;
    return UMBEL_OK;
}

/* Measures the share of random keys that match. A few keys are enough to clear
 * most harmless filters. */
static umbel_status measure(const target *t, const umbel_filter *f, um_rng *rng,
                            double out[NUMBERS], umbel_error *err)
{
    double too_many = 2 * t->budget, share = 1;
    umbel_status status;
    crowd c;

    UM_TRY(crowd_init(&c, f, rng, err));
    status = UMBEL_OK;
    for (size_t n = FEW; status == UMBEL_OK && n <= MANY && share > too_many;
         n *= 16)
        status = ask(&c, n, &share, err);
    out[SHARE] = share;
    out[HOLE] = share > too_many + 5 * sqrt(too_many * c.weight / MANY);
    free(c.print);
    return status;
}

/* --- rounds ----------------------------------------------------------------*/

/* Encodes and decodes a filter, as a receiver would get it. */
static umbel_status send_over(const umbel_filter *f, umbel_filter **out,
                              umbel_error *err)
{
    size_t len = umbel_encoded_len(f);
    uint8_t *bytes = malloc(len);

    if (!bytes)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a file");
    umbel_status status = umbel_encode(f, bytes, len, &len, err);
    if (status == UMBEL_OK)
        status = umbel_decode(bytes, len, NULL, out, err);
    free(bytes);
    return status;
}

static umbel_status try_one(const target *t, um_rng *rng, double out[NUMBERS],
                            umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_filter *forged = NULL, *f = NULL;
    umbel_ruling ruling;
    uint64_t reads = 0;

    UM_TRY(t->forge(t, rng, &forged, err));
    umbel_status status = send_over(forged, &f, err);
    umbel_close(forged);
    UM_TRY(status);
    wants.max_error = t->budget;
    out[SHARE] = REFUSED;
    out[HOLE] = 0;
    status = um_admit_counted(f, &wants, &ruling, &reads, err);
    out[READS] = (double)reads / (double)um_max_reads(f);
    if (status == UMBEL_OK && ruling.admitted)
        status = measure(t, f, rng, out, err);
    umbel_close(f);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    for (size_t i = 0; i < TARGETS; i++)
        UM_TRY(try_one(&targets[i], &r->rng, &out[i * NUMBERS], err));
    return UMBEL_OK;
}

/* --- conclusions -----------------------------------------------------------*/

typedef struct score {
    uint64_t admitted, holes;
    double most;  /* largest share of random keys that match */
    double reads; /* largest share of the allowed reads that was charged */
} score;

static score score_of(const um_study *s, size_t t)
{
    score sum = {0, 0, 0, 0};

    for (uint64_t i = 0; i < s->rounds; i++) {
        const double *one = &s->numbers[(i * TARGETS + t) * NUMBERS];
        sum.admitted += one[SHARE] >= 0;
        sum.holes += one[HOLE] > 0;
        sum.most = fmax(sum.most, one[SHARE]);
        sum.reads = fmax(sum.reads, one[READS]);
    }
    return sum;
}

static void conclude(um_study *s)
{
    const char *heads[] = {
        "target",       "tries", "admitted", "most strangers",
        "most charged", "holes", NULL};
    um_sheet *sheet = um_record_sheet(
        &s->record, "tries", "filters forged to pass admission", heads);

    for (size_t t = 0; t < TARGETS; t++) {
        score sum = score_of(s, t);
        um_sheet_cell(sheet, "%s", targets[t].name);
        um_sheet_cell(sheet, "%llu", (unsigned long long)s->rounds);
        um_sheet_cell(sheet, "%llu", (unsigned long long)sum.admitted);
        um_sheet_cell(sheet, "%.3g %%", 100 * sum.most);
        um_sheet_cell(sheet, "%.3g %%", 100 * sum.reads);
        um_sheet_cell(sheet, "%llu", (unsigned long long)sum.holes);
        um_check_value(s, targets[t].name, (double)sum.holes, 0);
    }
    um_record_note(
        &s->record,
        "A hole is an admitted filter that matches more of %d random "
        "keys than five sigma above twice the budget. If at most "
        "twice the budget of %d keys match, or of 16 or 256 times "
        "as many, no more are queried. The budget is %.3g %%, for "
        "near %.3g %%. Admission may read %d cells for each byte "
        "and %d more; of these it charged the share printed.",
        MANY, FEW, 100 * BUDGET, 100 * targets[TARGETS - 1].budget,
        UM_ADMIT_BYTE, UM_ADMIT_READS);
}

const um_paper um_paper_forgeries = {
    .name = "forgeries",
    .source = "ours",
    .claim = "no forged filter passes admission and matches more strangers "
             "than twice the error allowed",
    .rounds = 1000,
    .width = (size_t)TARGETS * NUMBERS,
    .round = run_round,
    .conclude = conclude,
};

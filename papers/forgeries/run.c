/*
 * run.c - forgeries: a search for filters that pass admission and match too
 * much.
 *
 * A round forges one filter of every target and submits it for admission with a
 * budget of 0.1 %. Admitted filters are queried with random keys: a filter is a
 * hole if more of them match than five sigma above twice the budget.
 */
#include "papers/forgeries/forge.h"

#include "base/error.h"
#include "filter/handle.h"
#include "papers/frame/paper.h"

#include <umbel/admit.h>

#include <math.h>
#include <stdio.h>

#define REFUSED (-1.0)
#define TOO_MANY (2 * BUDGET)

enum { FEW = 1024, MANY = 4096 * FEW, BATCH = 256 };

/* --- strangers -------------------------------------------------------------*/

static umbel_status draw_strangers(const umbel_filter *f, um_rng *rng,
                                   umbel_digest d[BATCH], umbel_error *err)
{
    uint64_t keys[BATCH];

    for (size_t i = 0; i < BATCH; i++) {
        keys[i] = um_random_key(rng);
        d[i] = (umbel_digest){um_random_below(rng, UM_INTEGER_PRIME), 0};
    }
    return f->hasher.row->identity
               ? UMBEL_OK
               : umbel_digest_fixed(f, keys, sizeof *keys, BATCH, d, err);
}

static umbel_status ask(const umbel_filter *f, um_rng *rng, size_t n,
                        double *share, umbel_error *err)
{
    umbel_digest d[BATCH];
    bool hit[BATCH];
    size_t hits = 0;

    for (size_t i = 0; i < n; i += BATCH) {
        UM_TRY(draw_strangers(f, rng, d, err));
        UM_TRY(umbel_query_digests(f, d, BATCH, hit, err));
        for (size_t j = 0; j < BATCH; j++)
            hits += hit[j];
    }
    *share = (double)hits / (double)n;
    return UMBEL_OK;
}

/* Measures the share of random keys that match. A few keys are enough to clear
 * most harmless filters. */
static umbel_status measure(const umbel_filter *f, um_rng *rng, double *share,
                            umbel_error *err)
{
    *share = 1;
    for (size_t n = FEW; n <= MANY && *share > TOO_MANY; n *= 16)
        UM_TRY(ask(f, rng, n, share, err));
    return UMBEL_OK;
}

static bool is_hole(double share)
{
    return share > TOO_MANY + 5 * sqrt(TOO_MANY / MANY);
}

/* --- rounds ----------------------------------------------------------------*/

static umbel_status try_one(const target *t, um_rng *rng, double *out,
                            umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_filter *f = NULL;
    umbel_ruling ruling;

    UM_TRY(forge(t, rng, &f, err));
    wants.max_error = BUDGET;
    *out = REFUSED;
    umbel_status status = umbel_admit(f, &wants, &ruling, err);
    if (status == UMBEL_OK && ruling.admitted)
        status = measure(f, rng, out, err);
    umbel_close(f);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    for (size_t i = 0; i < TARGETS; i++)
        UM_TRY(try_one(&targets[i], &r->rng, &out[i], err));
    return UMBEL_OK;
}

/* --- conclusions -----------------------------------------------------------*/

typedef struct score {
    uint64_t admitted, holes;
    double most; /* largest share of random keys that match */
} score;

static score score_of(const um_study *s, size_t t)
{
    score sum = {0, 0, 0};

    for (uint64_t i = 0; i < s->rounds; i++) {
        double share = s->numbers[i * TARGETS + t];
        sum.admitted += share >= 0;
        sum.holes += is_hole(share);
        sum.most = fmax(sum.most, share);
    }
    return sum;
}

static void conclude(um_study *s)
{
    const char *heads[] = {"target",         "tries", "admitted",
                           "most strangers", "holes", NULL};
    um_sheet *sheet = um_record_sheet(&s->record, "tries",
                                      "filters forged to pass 0.1 %", heads);
    char item[UM_TEXT_LEN];

    for (size_t t = 0; t < TARGETS; t++) {
        score sum = score_of(s, t);
        snprintf(item, sizeof item, "%s on %s%s", targets[t].kind,
                 targets[t].addressing, targets[t].groups ? ", groups" : "");
        um_sheet_cell(sheet, "%s", item);
        um_sheet_cell(sheet, "%llu", (unsigned long long)s->rounds);
        um_sheet_cell(sheet, "%llu", (unsigned long long)sum.admitted);
        um_sheet_cell(sheet, "%.3g %%", 100 * sum.most);
        um_sheet_cell(sheet, "%llu", (unsigned long long)sum.holes);
        um_check_value(s, item, (double)sum.holes, 0);
    }
    um_record_note(&s->record,
                   "A hole is an admitted filter of which more strangers match "
                   "than %.3g %% would by five sigma, of %d. Where no more "
                   "than %.3g %% of %d match, or of 16 or 256 times as many, "
                   "no more are asked.",
                   100 * TOO_MANY, MANY, 100 * TOO_MANY, FEW);
}

const um_paper um_paper_forgeries = {
    .name = "forgeries",
    .source = "ours",
    .claim = "no filter that is forged passes admission at 0.1 % and matches "
             "more than 0.2 % of strangers",
    .rounds = 1000,
    .width = TARGETS,
    .round = run_round,
    .conclude = conclude,
};

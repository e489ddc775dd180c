/*
 * survey-reconcile - approximate set reconciliation (section 5.2): B sends a
 * filter of what it has, A sends what does not match.
 */
#include "papers/survey/filters.h"

#include <math.h>

enum { COMMON = 9000, MISSING = 1000, BITS = 8 * COMMON, HASHES = 6 };
enum { SENT, NEEDLESS, RATE, WIDTH };

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    uint64_t common[COMMON], missing[MISSING];
    umbel_filter *f;
    double known = 0, matching = 0;
    umbel_status status = um_survey_open("bloom", BITS, HASHES, NULL,
                                         um_random(&r->rng), &f, err);

    if (status != UMBEL_OK)
        return status;
    um_survey_draw(&r->rng, common, COMMON);
    um_survey_draw(&r->rng, missing, MISSING);
    status = umbel_add_fixed(f, common, sizeof *common, COMMON, NULL, err);
    if (status == UMBEL_OK)
        status = um_share_matching(f, common, COMMON, &known, err);
    if (status == UMBEL_OK)
        status = um_share_matching(f, missing, MISSING, &matching, err);
    out[SENT] = 1 - matching;
    out[NEEDLESS] = 1 - known;
    out[RATE] = umbel_predict(f);
    umbel_close(f);
    return status;
}

static void conclude(um_study *s)
{
    um_mean sent = um_column(s, SENT);

    um_check_mean(s, "share of the difference that is sent", &sent);
    um_check_value(s, "items sent that B has", um_column(s, NEEDLESS).value,
                   NAN);
    um_check_value(s, "bits sent per item of B", 8. * COMMON / COMMON, NAN);
    um_record_note(&s->record,
                   "B's filter is umbel build, A's answer umbel check -v. The "
                   "approximate reconciliation trees of Byers and others "
                   "(search trees whose nodes are hashed into a filter) save "
                   "time if the difference is small, not bits; between peers "
                   "that keep state, umbel sync exchanges only what changed, "
                   "and exactly.");
}

const um_paper um_paper_survey_reconcile = {
    .name = "survey-reconcile",
    .source = SURVEY_SOURCE "section 5.2",
    .claim = "a filter of 8 bits per item finds all but f of what is missing",
    .rounds = 200,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

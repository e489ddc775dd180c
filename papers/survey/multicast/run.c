/*
 * run.c - survey-multicast: a filter of group addresses for each interface
 * (section 7.3); leaving a group requires counters.
 */
#include "papers/survey/filters.h"

#include <umbel/base.h>
#include <umbel/counting.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>

enum {
    INTERFACES = 8,
    GROUPS = 500, /* joined at each interface */
    LEFT = 100,   /* number that are left again */
    OTHERS = 2000,
    CELLS = 8 * (GROUPS - LEFT),
    HASHES = 6
};
enum { MISSED, SPURIOUS, EXPECTED, WIDTH };

static umbel_status join_and_leave(umbel_filter *f, const uint64_t *group,
                                   umbel_error *err)
{
    umbel_status status =
        umbel_add_fixed(f, group, sizeof *group, GROUPS, NULL, err);

    for (size_t i = 0; status == UMBEL_OK && i < LEFT; i++) {
        umbel_slice key = {&group[i], sizeof group[i]};
        status = umbel_remove_many(f, &key, 1, err);
    }
    return status;
}

static umbel_status run_interface(um_round *r, double *out, umbel_error *err)
{
    uint64_t group[GROUPS], other[OTHERS];
    double forwarded = 0, spurious = 0;
    umbel_filter *f;
    umbel_status status = um_survey_open("counting", CELLS, HASHES, NULL,
                                         um_random(&r->rng), &f, err);

    if (status != UMBEL_OK)
        return status;
    um_survey_draw(&r->rng, group, GROUPS);
    um_survey_draw(&r->rng, other, OTHERS);
    status = join_and_leave(f, group, err);
    if (status == UMBEL_OK)
        status =
            um_share_matching(f, group + LEFT, GROUPS - LEFT, &forwarded, err);
    if (status == UMBEL_OK)
        status = um_share_matching(f, other, OTHERS, &spurious, err);
    out[MISSED] += (1 - forwarded) / INTERFACES;
    out[SPURIOUS] += spurious / INTERFACES;
    out[EXPECTED] += umbel_predict(f) / INTERFACES;
    umbel_close(f);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    out[MISSED] = out[SPURIOUS] = out[EXPECTED] = 0;
    for (size_t i = 0; status == UMBEL_OK && i < INTERFACES; i++)
        status = run_interface(r, out, err);
    return status;
}

static void conclude(um_study *s)
{
    um_mean spurious = um_column(s, SPURIOUS);

    um_check_value(s, "groups that are not forwarded",
                   um_column(s, MISSED).value, NAN);
    um_check_mean(s, "spurious forwards of an interface", &spurious);
    um_record_note(&s->record,
                   "Kind counting serves it: the survey leaves leaving a group "
                   "open, and suggests counters. Its bits alone "
                   "(umbel_to_bloom) are what a forwarding plane needs.");
}

const um_paper um_paper_survey_multicast = {
    .name = "survey-multicast",
    .source = SURVEY_SOURCE "section 7.3",
    .claim = "a filter per interface forwards every group, and few others",
    .rounds = 100,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

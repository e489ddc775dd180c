/*
 * run.c - survey-reconcile: approximate set reconciliation (section 5.2): B
 * sends a filter of its items, and A sends the items that do not match; or B
 * sends the filters of a tree, and A searches only where the trees differ.
 */
#include "papers/survey/filters.h"
#include "papers/survey/reconcile/tree.h"

#include <umbel/base.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <string.h>

enum { COMMON = 9000, MISSING = 1000, BITS = 8 * COMMON, HASHES = 6 };
/* For the tree: a small difference, and half of the bits for nodes. */
enum { FEW = 50, TREE_BITS = 4 * COMMON, TREE_HASHES = 3 };
enum { SENT, NEEDLESS, RATE, TREE_SENT, TREE_ASKED, WIDTH };

/* Measures the share of a small difference that the tree finds, and the number
 * of nodes looked up, as a share of the items. */
static umbel_status run_tree(um_round *r, const uint64_t *common, double *out,
                             umbel_error *err)
{
    um_item of_b[COMMON], of_a[COMMON + FEW];
    uint64_t keys[COMMON + FEW], found = 0, asked = 0;
    um_tree_filters f = {0};

    memcpy(keys, common, COMMON * sizeof *keys);
    um_survey_draw(&r->rng, keys + COMMON, FEW);
    um_tree_items(common, COMMON, of_b);
    um_tree_items(keys, COMMON + FEW, of_a);
    umbel_status status = um_survey_open("bloom", TREE_BITS, TREE_HASHES, NULL,
                                         um_random(&r->rng), &f.nodes, err);
    if (status == UMBEL_OK)
        status = um_survey_open("bloom", TREE_BITS, TREE_HASHES, NULL,
                                um_random(&r->rng), &f.leaves, err);
    if (status == UMBEL_OK)
        status = um_tree_send(of_b, COMMON, &f, err);
    if (status == UMBEL_OK)
        status = um_tree_search(of_a, COMMON + FEW, &f, &found, &asked, err);
    out[TREE_SENT] = (double)found / FEW;
    out[TREE_ASKED] = (double)asked / (COMMON + FEW);
    umbel_close(f.nodes);
    umbel_close(f.leaves);
    return status;
}

/*
 * Returns the share that the tree should find: the leaf must not match falsely,
 * nor two consecutive nodes above it. At depth j the path to an item branches
 * if the other half has one of the n others; a node on that path matches
 * falsely at the rate of the filter.
 */
static double tree_finds(void)
{
    double f =
        pow(-expm1(-(double)TREE_HASHES * COMMON / TREE_BITS), TREE_HASHES);
    double none = 1, one = 0; /* probabilities of not having given up, after
                                 this many consecutive matches */

    for (int depth = 0; depth < 60; depth++) {
        double branch = -expm1((COMMON + FEW - 1) * log1p(-pow(2, -depth - 1)));
        double next = none * f * branch + one * (1 - branch);
        none = none * (1 - f * branch) + one * branch * (1 - f);
        one = next;
    }
    return (none + one) * (1 - f);
}

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
    return status == UMBEL_OK ? run_tree(r, common, out, err) : status;
}

static void conclude(um_study *s)
{
    um_mean sent = um_column(s, SENT);

    um_check_mean(s, "share of the difference that is sent", &sent);
    um_check_value(s, "items sent that B has", um_column(s, NEEDLESS).value,
                   NAN);
    um_check_value(s, "bits sent per item of B", 8. * COMMON / COMMON, NAN);
    um_mean tree = um_column(s, TREE_SENT);
    um_check_mean(s, "tree: share of the difference that is sent", &tree);
    um_check_value(s, "tree: nodes asked for, per item",
                   um_column(s, TREE_ASKED).value, NAN);
    um_check_value(s, "tree: what a model of it expects", tree_finds(), NAN);
    um_record_note(&s->record,
                   "B's filter is umbel build, A's answer umbel check -v. The "
                   "approximate reconciliation tree has 8 bits per item, too, "
                   "and 50 items differ: it asks for fewer nodes than there "
                   "are items, and finds less of the difference. It is no "
                   "command: between peers that keep state, umbel sync "
                   "exchanges only what changed, and exactly.");
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

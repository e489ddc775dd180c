/*
 * run.c - rbf-fig5: how many bits the algorithms of 2006 reset (Fig. 5).
 */
#include "papers/rbf/experiment.h"

#include <umbel/base.h>

#include <math.h>

/* Max FP and Ratio count either the false positives in B, or all of them. */
static const um_rbf_curve curves[] = {
    {"random", "Random Selection", {.method = "random"}},
    {"min-fn", "Minimum FN", {.method = "min-fn"}},
    {"max-fp over B", "Maximum FP, v_B over B", {.method = "max-fp"}},
    {"max-fp over all",
     "Maximum FP, v_B over F_P",
     {.method = "max-fp", .count_outside = true}},
    {"ratio over B", "Ratio, v_B over B", {.method = "ratio"}},
    {"ratio over all",
     "Ratio, v_B over F_P",
     {.method = "ratio", .count_outside = true}},
};
enum { CURVES = sizeof curves / sizeof *curves };
enum { RANDOM, MIN_FN, MAX_FP_B, MAX_FP, RATIO_B, RATIO };
enum { WIDTH = CURVES * RBF_BETAS * RBF_NUMBERS };

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    return um_rbf_sweep(&r->rng, curves, CURVES, out, err);
}

static double reset(const um_study *s, size_t curve, size_t beta)
{
    return um_column(s, um_rbf_column(curve, beta, RBF_RESET)).value;
}

/* Returns the smallest surplus of one curve over another, in percent, from beta
 * 5 % on. */
static double least_surplus(const um_study *s, size_t more, size_t less)
{
    double least = INFINITY;

    for (size_t j = 2; j < RBF_BETAS; j++)
        least = fmin(least, 100 * (reset(s, more, j) / reset(s, less, j) - 1));
    return least;
}

static void conclude(um_study *s)
{
    um_figure *f = um_rbf_draw(s, "bits", "Fig. 5: number of bits reset",
                               "bits reset", curves, CURVES, RBF_RESET);
    if (f)
        f->log_y = true;
    um_rbf_check(s, curves, CURVES, RBF_RESET);
    um_check_value(s, "random above ratio, least, %",
                   least_surplus(s, RANDOM, RATIO), NAN);
    um_check_value(s, "min-fn above max-fp, least, %",
                   least_surplus(s, MIN_FN, MAX_FP), NAN);
    um_check_value(s, "ratio above max-fp, least, %",
                   least_surplus(s, RATIO, MAX_FP), NAN);
    um_record_note(&s->record,
                   "The paper prints no numbers for Fig. 5; it says that "
                   "Random and Minimum FN reset more bits than the other two, "
                   "and Ratio somewhat more than Maximum FP. Bars are those of "
                   "an independent implementation, 15 runs.");
}

const um_paper um_paper_rbf_fig5 = {
    .name = "rbf-fig5",
    .source = "Donnet, Baynat, Friedman 2006, Fig. 5",
    .claim = "Random and Minimum FN reset more bits than Maximum FP and Ratio",
    .rounds = 15,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

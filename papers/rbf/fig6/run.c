/*
 * run.c - rbf-fig6: false positives removed per false negative made (Fig. 6),
 * the claims of section IV, and clearing at random (section III-B, chi = 1).
 */
#include "papers/rbf/experiment.h"

#include "base/error.h"

#include <umbel/experimental/retouch.h>

#include <math.h>
#include <stdio.h>

static const um_rbf_curve curves[] = {
    {"random", "Random Selection", {.method = "random"}},
    {"min-fn", "Minimum FN", {.method = "min-fn"}},
    {"max-fp over all",
     "Maximum FP, v_B over F_P",
     {.method = "max-fp", .count_outside = true}},
    {"ratio over all",
     "Ratio, v_B over F_P",
     {.method = "ratio", .count_outside = true}},
    {"max-fp over B", "Maximum FP, v_B over B", {.method = "max-fp"}},
    {"ratio over B", "Ratio, v_B over B", {.method = "ratio"}},
};
enum { CURVES = sizeof curves / sizeof *curves };
enum { RANDOM, MIN_FN, MAX_FP, RATIO, MAX_FP_B, RATIO_B };

/* Numbers of bits cleared at random. */
static const uint64_t cleared[] = {400, 1600, 6400};
enum { CLEARED = sizeof cleared / sizeof *cleared };
enum { AFTER_CURVES = CURVES * RBF_BETAS * RBF_NUMBERS };
/* Numbers for each: chi, and the share removed relative to equation 16. */
enum { CHI, OVER_EQUATION, CLEARED_NUMBERS };

/* Computes equation 16: 1 - (1 - s / (p1 m))^k. */
static double equation_16(double s)
{
    double kn = (double)RBF_HASHES * RBF_MEMBERS;
    double ones = RBF_BITS * (1 - exp(kn * log1p(-1.0 / RBF_BITS)));

    return 1 - pow(1 - s / ones, RBF_HASHES);
}

static umbel_status clear_at_random(const um_rbf *x, uint64_t bits, double *out,
                                    umbel_error *err)
{
    umbel_retouch_params how = {
        .method = "random-bits", .beta = 1, .moves = bits};
    umbel_retouch_result bill;
    umbel_status status = um_rbf_retouch(x, &how, &bill, err);

    if (status != UMBEL_OK)
        return status;
    out[CHI] = bill.chi;
    out[OVER_EQUATION] = (double)bill.removed / (double)bill.matched /
                         equation_16((double)bill.bits_cleared);
    return UMBEL_OK;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    um_rbf x;
    umbel_status status = um_rbf_sweep(&r->rng, curves, CURVES, out, err);

    if (status != UMBEL_OK)
        return status;
    status = um_rbf_init(&x, &r->rng, err);
    out += AFTER_CURVES;
    for (size_t i = 0; status == UMBEL_OK && i < CLEARED; i++)
        status =
            clear_at_random(&x, cleared[i], out + i * CLEARED_NUMBERS, err);
    um_rbf_fini(&x);
    return status;
}

static um_mean chi(const um_study *s, size_t curve, size_t beta)
{
    return um_column(s, um_rbf_column(curve, beta, RBF_CHI));
}

/* Checks "Ratio Selection does best, followed by Maximum FP, Minimum FN, and
 * Random": returns the smallest gap between neighbours over all beta. */
static double least_gap(const um_study *s, size_t ratio, size_t max_fp)
{
    const size_t order[] = {ratio, max_fp, MIN_FN, RANDOM};
    double least = INFINITY;

    for (size_t i = 0; i + 1 < UM_COUNT(order); i++)
        for (size_t j = 0; j < RBF_BETAS; j++)
            least = fmin(least, chi(s, order[i], j).value -
                                    chi(s, order[i + 1], j).value);
    return least;
}

static double least_chi(const um_study *s)
{
    double least = INFINITY;

    for (size_t i = 0; i < CURVES; i++)
        for (size_t j = 0; j < RBF_BETAS; j++)
            least = fmin(least, chi(s, i, j).value);
    return least;
}

/* Returns the decrease from beta 1 % to 100 %, in percent. */
static double fall(const um_study *s, size_t curve)
{
    return 100 *
           (1 - chi(s, curve, RBF_BETAS - 1).value / chi(s, curve, 0).value);
}

static void check_text(um_study *s)
{
    um_mean random = chi(s, RANDOM, RBF_BETAS - 1);
    um_mean best = chi(s, RATIO, RBF_BETAS - 1);

    um_check_value(s, "fall of ratio over all, %", fall(s, RATIO), NAN);
    um_check_value(s, "fall of ratio over B, %", fall(s, RATIO_B), NAN);
    um_check_value(s, "least gap in the paper's order, over all",
                   least_gap(s, RATIO, MAX_FP), NAN);
    um_check_value(s, "least gap in the paper's order, over B",
                   least_gap(s, RATIO_B, MAX_FP_B), NAN);
    um_check_mean(s, "text: chi of random", &random);
    um_check_mean(s, "text: chi of ratio", &best);
    um_check_value(s, "text: chi always above 1", least_chi(s), NAN);
}

static void check_cleared(um_study *s)
{
    char item[UM_TEXT_LEN];

    for (size_t i = 0; i < CLEARED; i++) {
        size_t at = AFTER_CURVES + i * CLEARED_NUMBERS;
        um_mean c = um_column(s, at + CHI),
                e = um_column(s, at + OVER_EQUATION);
        snprintf(item, sizeof item, "%u random bits: chi",
                 (unsigned)cleared[i]);
        um_check_mean(s, item, &c);
        snprintf(item, sizeof item, "%u random bits: removed over equation 16",
                 (unsigned)cleared[i]);
        um_check_mean(s, item, &e);
    }
}

static void conclude(um_study *s)
{
    um_rbf_check(s, curves, CURVES, RBF_CHI);
    check_text(s);
    check_cleared(s);
    um_rbf_draw(s, "chi", "Fig. 6: effect on chi", "chi", curves, CURVES,
                RBF_CHI);
    um_rbf_draw(s, "lost", "the price: members lost", "share of members lost",
                curves, CURVES, RBF_LOST);
    um_record_note(
        &s->record,
        "Our reading: v_B counts all false positives, not B alone as the "
        "paper's CREATEFV(B) is printed. Only so does Ratio fall by 31 %%, and "
        "do the algorithms come in the paper's order at every beta. Both "
        "readings are measured.");
    um_record_note(
        &s->record,
        "Errata: \"followed by Maximum FP, Minimum FN, and Ratio Selection\" "
        "must end in Random Selection. \"Above 1.4\" and \"above 1.8\" are "
        "1.36 "
        "and 1.79, rounded. Zeroing v_A, v_B and r after a clear changes "
        "nothing: keys of a cleared bit are never compared again.");
    um_record_note(&s->record,
                   "The paper prints no numbers for the points of Fig. 6; bars "
                   "are those of an independent implementation, 15 runs.");
}

const um_paper um_paper_rbf_fig6 = {
    .name = "rbf-fig6",
    .source = "Donnet, Baynat, Friedman 2006, Fig. 6, sections III-B and IV-B",
    .claim = "chi of four algorithms against beta; 1 when bits go at random",
    .rounds = 15,
    .width = AFTER_CURVES + CLEARED * CLEARED_NUMBERS,
    .round = run_round,
    .conclude = conclude,
};

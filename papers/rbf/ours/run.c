/*
 * run.c - rbf-ours: how far our methods go beyond the papers, and alternatives
 * to retouching.
 *
 * It has four parts: our methods compared with the papers' in the experiment of
 * section IV; a bound of what any method can reach; the weight that is left if
 * some keys cost more than others and the loss is limited; and retouching
 * compared with groups and an anti-filter of equal size.
 */
#include "base/error.h"
#include "papers/rbf/experiment.h"
#include "papers/rbf/ours/trade.h"

#include <umbel/experimental/retouch.h>
#include <umbel/filter.h>
#include <umbel/keys.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- part 1: methods ------------------------------------------------------ */

static const struct method {
    const char *id;
    umbel_retouch_params how;
} methods[] = {
    {"ratio", {.method = "ratio"}},
    {"ratio with closure", {.method = "ratio", .closure = true}},
    {"ratio-tracked", {.method = "ratio-tracked"}},
    {"greedy", {.method = "greedy"}},
    {"anneal, 3M moves", {.method = "anneal", .moves = 3000000}},
    {"anneal, 20M moves", {.method = "anneal", .moves = 20000000}},
};
static const double betas[] = {0.01, 1};

enum { METHODS = 6, BETAS = 2 };
enum { CHI, LOST, LEFT, RESET, SECONDS, METHOD_NUMBERS };

static size_t method_column(size_t method, size_t beta, size_t what)
{
    return (method * BETAS + beta) * METHOD_NUMBERS + what;
}

static umbel_status run_methods(const um_rbf *x, double *out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    umbel_retouch_result bill;

    for (size_t i = 0; i < (size_t)METHODS * BETAS; i++) {
        umbel_retouch_params how = methods[i / BETAS].how;
        how.beta = betas[i % BETAS];
        status = um_rbf_retouch(x, &how, &bill, err);
        if (status != UMBEL_OK)
            break;
        out[CHI] = bill.chi;
        out[LOST] = bill.lost_share;
        out[LEFT] = (double)bill.left;
        out[RESET] = (double)bill.bits_cleared;
        out[SECONDS] = bill.seconds;
        out += METHOD_NUMBERS;
    }
    return status;
}

/* --- part 2: a bound of all methods ----------------------------------------
 *
 * Clearing bits keeps a set K of the n members, and the bits of K at most. If
 * no false positive is left, no other key has all its bits among the Q bits of
 * K. The expected number of sets K of a given size for which that holds bounds
 * the probability that there is one (first moment). With d places of members on
 * a bit, of which m P(d) have d (Poisson, mean kn/m), the number of ways to
 * choose R = k |K| places on exactly Q bits is a coefficient of a generating
 * function, and at most
 *
 *     prod_d (1 + y ((1+x)^d - 1))^(m P(d)) / (x^R y^Q)    for any x, y > 0;
 *
 * K occurs with C(n, |K|) / C(kn, R) of them. The logarithm is convex in log x
 * and log y, so a few Newton steps find the least bound; any step is valid.
 */

enum { MAX_DEGREE = 24, NEWTON_STEPS = 60 };

static double log_choose(double n, double r)
{
    return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1);
}

/* The logarithm of the bound above at x = e^a, y = e^b, its gradient and its
 * second derivatives (aa, ab, bb). */
static double log_ways(double places, double bits, const double at[2],
                       double gradient[2], double second[3])
{
    const double mean = (double)RBF_HASHES * RBF_MEMBERS / RBF_BITS;
    double x = exp(at[0]), y = exp(at[1]);
    double sum = -places * at[0] - bits * at[1], weight = exp(-mean) * RBF_BITS;

    gradient[0] = -places;
    gradient[1] = -bits;
    second[0] = second[1] = second[2] = 0;
    for (int d = 1; d < MAX_DEGREE; d++) {
        double u = y * (pow(1 + x, d) - 1), all = 1 + u;
        double ua = y * d * x * pow(1 + x, d - 1) / all;
        double uaa = ua + y * d * (d - 1) * x * x * pow(1 + x, d - 2) / all;
        weight *= mean / d;
        sum += weight * log1p(u);
        gradient[0] += weight * ua;
        gradient[1] += weight * u / all;
        second[0] += weight * (uaa - ua * ua);
        second[1] += weight * (ua - ua * u / all);
        second[2] += weight * u / all / all;
    }
    return sum;
}

static double least_log_ways(double places, double bits)
{
    double at[2] = {0, 0}, g[2], h[3], least = INFINITY;

    for (int i = 0; i < NEWTON_STEPS; i++) {
        least = fmin(least, log_ways(places, bits, at, g, h));
        double det = h[0] * h[2] - h[1] * h[1];
        double step[2] = {(h[1] * g[1] - h[2] * g[0]) / det,
                          (h[1] * g[0] - h[0] * g[1]) / det};
        double longest = fmax(1, fmax(fabs(step[0]), fabs(step[1])));
        if (!(det > 0) || fabs(step[0]) + fabs(step[1]) < 1e-9)
            break;
        for (int j = 0; j < 2; j++)
            at[j] = fmax(-15, fmin(15, at[j] + step[j] / longest));
    }
    return least;
}

/* The logarithm of the expected number of sets of `kept` members that use that
 * many bits and match no other key. */
static double log_expected(double kept, double bits)
{
    double places = RBF_HASHES * kept;

    return log_choose(RBF_MEMBERS, kept) + least_log_ways(places, bits) -
           log_choose((double)RBF_HASHES * RBF_MEMBERS, places) +
           (RBF_UNIVERSE - RBF_MEMBERS) *
               log1p(-pow(bits / RBF_BITS, RBF_HASHES));
}

/* Returns true if some number of bits makes the expectation at least 1; it has
 * one maximum, which golden section finds. */
static bool may_keep(double kept)
{
    const double golden = (sqrt(5) - 1) / 2;
    double mean = (double)RBF_HASHES * RBF_MEMBERS / RBF_BITS;
    double high = fmin(RBF_HASHES * kept, RBF_BITS * -expm1(-mean));
    double low = 0.3 * high, best = -INFINITY;

    while (high - low > 1) {
        double a = high - golden * (high - low), b = low + high - a;
        double at_a = log_expected(kept, a), at_b = log_expected(kept, b);
        best = fmax(best, fmax(at_a, at_b));
        if (at_a > at_b)
            high = b;
        else
            low = a;
    }
    return best >= 0;
}

/* Returns the share of members that every method loses, almost surely, if it
 * removes all false positives of the experiment. */
static double least_lost(void)
{
    double low = 0.5 * RBF_MEMBERS, high = 0.95 * RBF_MEMBERS;

    while (high - low > 0.1) {
        double middle = (low + high) / 2;
        if (may_keep(middle))
            low = middle;
        else
            high = middle;
    }
    return 1 - low / RBF_MEMBERS;
}

/* --- part 3: weights and a limit ------------------------------------------ */

static const double limits[] = {0.01, 0.05, 0.10};

enum { LIMITS = 3 };

/* Measures the weight left under limits. The false positives are in random
 * order, so weights by rank may follow it. */
static umbel_status run_limits(const um_rbf *x, double *out, umbel_error *err)
{
    double *weight = malloc(x->npositives * sizeof *weight);
    umbel_key_list members = UMBEL_KEY_LIST(x->members, RBF_MEMBERS);
    umbel_key_list never = UMBEL_KEY_LIST(x->positives, x->npositives);
    umbel_status status = UMBEL_OK;

    if (!weight)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    never.weights = weight;
    for (size_t i = 0; i < x->npositives; i++)
        weight[i] = fmin(10000, 90000 / (double)(i + 1));
    for (size_t i = 0; status == UMBEL_OK && i < LIMITS; i++) {
        umbel_retouch_params how = {.size = sizeof how,
                                    .max_fn = limits[i],
                                    .beta = 1,
                                    .seed = x->seed};
        umbel_retouch_result bill;
        umbel_filter *f = NULL;
        status = umbel_copy(x->filter, &f, err);
        if (status == UMBEL_OK)
            status = umbel_retouch(f, &members, &never, &how, &bill, NULL, err);
        if (status == UMBEL_OK)
            out[i] = bill.left_weight / bill.matched_weight;
        umbel_close(f);
    }
    free(weight);
    return status;
}

/* --- part 4: equal bytes -------------------------------------------------- */

static const trade_way ways[] = {
    {.id = "plain, k = 5", .hashes = 5},
    {.id = "plain, best k", .best = true},
    {.id = "two groups, k = 5", .hashes = 5, .groups = 2},
    {.id = "two groups, k = 3", .hashes = 3, .groups = 2},
    {.id = "retouched, all", .hashes = 5, .method = "greedy", .max_fn = 1},
    {.id = "retouched, 1 %", .hashes = 5, .method = "greedy", .max_fn = 0.01},
    {.id = "anti-filter", .hashes = 5, .anti = true},
};
static const uint64_t sizes[] = {100000, 60000, 40000};

enum { WAYS = 7, SIZES = 3, BEST_K = 1, GROUPS_5 = 2, GROUPS_3 = 3 };
enum { SHARE_LEFT, SHARE_LOST, BACKGROUND };
enum {
    METHODS_END = METHODS * BETAS * METHOD_NUMBERS,
    LIMITS_END = METHODS_END + LIMITS,
    WIDTH = LIMITS_END + SIZES * WAYS * TRADE_NUMBERS
};

static size_t way_column(size_t size, size_t which, size_t what)
{
    return LIMITS_END + (size * WAYS + which) * TRADE_NUMBERS + what;
}

static umbel_status run_trades(um_rng *rng, double *out, umbel_error *err)
{
    trade t;
    umbel_status status = trade_init(&t, rng, err);

    for (size_t i = 0; status == UMBEL_OK && i < (size_t)SIZES * WAYS; i++) {
        trade_result r;
        status = trade_run(&t, &ways[i % WAYS], sizes[i / WAYS], &r, err);
        if (status != UMBEL_OK)
            break;
        out[SHARE_LEFT] = r.left;
        out[SHARE_LOST] = r.lost;
        out[BACKGROUND] = r.background;
        out += TRADE_NUMBERS;
    }
    trade_fini(&t);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    um_rbf x;
    umbel_status status = um_rbf_init(&x, &r->rng, err);

    if (status == UMBEL_OK)
        status = run_methods(&x, out, err);
    if (status == UMBEL_OK)
        status = run_limits(&x, out + METHODS_END, err);
    um_rbf_fini(&x);
    if (status == UMBEL_OK)
        status = run_trades(&r->rng, out + LIMITS_END, err);
    return status;
}

/* --- results -------------------------------------------------------------- */

static void check_column(um_study *s, const char *item, size_t column)
{
    um_mean m = um_column(s, column);
    um_check_mean(s, item, &m);
}

/* Returns the smallest time of all rounds, relative to that of ratio. */
static double times_ratio(const um_study *s, size_t method)
{
    double best = INFINITY, ratio = INFINITY;

    for (uint64_t i = 0; i < s->rounds; i++) {
        const double *row = s->numbers + i * WIDTH;
        best = fmin(best, row[method_column(method, 1, SECONDS)]);
        ratio = fmin(ratio, row[method_column(0, 1, SECONDS)]);
    }
    return best / ratio;
}

static void tabulate_methods(um_study *s)
{
    static const char *const heads[] = {
        "method",      "chi, 1 %",    "lost, 1 %",   "chi, 100 %",
        "lost, 100 %", "left, 100 %", "bits, 100 %", NULL};
    um_sheet *sheet = um_record_sheet(&s->record, "methods",
                                      "methods at beta 1 % and 100 %", heads);

    for (size_t i = 0; i < METHODS; i++) {
        um_sheet_cell(sheet, "%s", methods[i].id);
        for (size_t j = 0; j < BETAS; j++) {
            um_sheet_cell(sheet, "%.3f",
                          um_column(s, method_column(i, j, CHI)).value);
            um_sheet_cell(sheet, "%.4f",
                          um_column(s, method_column(i, j, LOST)).value);
        }
        um_sheet_cell(sheet, "%.1f",
                      um_column(s, method_column(i, 1, LEFT)).value);
        um_sheet_cell(sheet, "%.0f",
                      um_column(s, method_column(i, 1, RESET)).value);
    }
}

static void check_methods(um_study *s)
{
    double left = 0, most = 0;

    check_column(s, "chi of greedy, beta 100 %", method_column(3, 1, CHI));
    check_column(s, "chi of anneal 3M, beta 100 %", method_column(4, 1, CHI));
    check_column(s, "chi of anneal 20M, beta 100 %", method_column(5, 1, CHI));
    check_column(s, "chi of greedy, beta 1 %", method_column(3, 0, CHI));
    check_column(s, "lost by greedy, beta 1 %", method_column(3, 0, LOST));
    check_column(s, "chi of ratio with closure, beta 1 %",
                 method_column(1, 0, CHI));
    for (size_t i = 0; i < METHODS; i++) {
        left += um_column(s, method_column(i, 0, LEFT)).value +
                um_column(s, method_column(i, 1, LEFT)).value;
        most = fmax(most, um_column(s, method_column(i, 1, CHI)).value);
    }
    um_check_value(s, "keys of B left, all methods", left, NAN);
    um_check_value(s, "largest chi, beta 100 %", most, NAN);
    um_check_value(s, "least lost by any method, beta 100 %", least_lost(),
                   NAN);
    if (!s->timed)
        return;
    um_check_value(s, "time of greedy over ratio", times_ratio(s, 3), NAN);
    um_check_value(s, "time of anneal 3M over ratio", times_ratio(s, 4), NAN);
    um_check_value(s, "time of anneal 20M over ratio", times_ratio(s, 5), NAN);
}

static void check_limits(um_study *s)
{
    char item[UM_TEXT_LEN];

    for (size_t i = 0; i < LIMITS; i++) {
        snprintf(item, sizeof item, "Zipf: weight left at %.0f %% lost",
                 100 * limits[i]);
        check_column(s, item, METHODS_END + i);
    }
}

static void tabulate_trades(um_study *s)
{
    static const char *const heads[] = {
        "bits",         "way",        "probes", "weight left",
        "members lost", "background", NULL};
    um_sheet *sheet = um_record_sheet(
        &s->record, "trades", "20,000 unwanted keys, at equal bytes", heads);

    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 0; j < WAYS; j++) {
            um_sheet_cell(sheet, "%u", (unsigned)sizes[i]);
            um_sheet_cell(sheet, "%s", ways[j].id);
            um_sheet_cell(sheet, "%u",
                          (unsigned)trade_probes(&ways[j], sizes[i]));
            for (size_t what = 0; what < TRADE_NUMBERS; what++)
                um_sheet_cell(sheet, "%.3g",
                              um_column(s, way_column(i, j, what)).value);
        }
}

static void draw_trades(um_study *s)
{
    um_figure *f = um_record_figure(
        &s->record, "trades-left", "20,000 unwanted keys, at equal bytes",
        "bits", "share of the unwanted weight that matches");

    if (f)
        f->log_y = true;
    for (size_t j = 0; j < WAYS; j++) {
        um_series *c = um_figure_series(f, ways[j].id);
        for (size_t i = 0; i < SIZES; i++) {
            um_mean m = um_column(s, way_column(i, j, SHARE_LEFT));
            um_series_point(c, (double)sizes[i], m.value, m.error);
        }
    }
}

static void check_trades(um_study *s)
{
    char item[UM_TEXT_LEN];
    double lost = 0;

    for (size_t i = 0; i < SIZES; i++) {
        snprintf(item, sizeof item, "groups: weight left, m = %u",
                 (unsigned)sizes[i]);
        check_column(s, item, way_column(i, GROUPS_5, SHARE_LEFT));
        for (size_t j = GROUPS_5; j <= GROUPS_3; j++)
            lost += um_column(s, way_column(i, j, SHARE_LOST)).value;
    }
    um_check_value(s, "groups: members lost", lost, NAN);
    check_column(s, "groups: background, m = 100000",
                 way_column(0, GROUPS_5, BACKGROUND));
    um_check_value(s, "groups of 6 probes over plain of 7: weight left",
                   um_column(s, way_column(0, GROUPS_3, SHARE_LEFT)).value /
                       um_column(s, way_column(0, BEST_K, SHARE_LEFT)).value,
                   NAN);
}

static void conclude(um_study *s)
{
    check_methods(s);
    check_limits(s);
    check_trades(s);
    tabulate_methods(s);
    tabulate_trades(s);
    draw_trades(s);
    um_record_note(&s->record,
                   "chi below beta 100 %% rewards keys that were removed "
                   "without being asked for: read it beside the loss. At beta "
                   "100 %% every method loses at least %.4f of the members, so "
                   "no way of clearing bits can pass chi %.3f (a first-moment "
                   "bound).",
                   least_lost(), 1 / least_lost());
    um_record_note(&s->record,
                   "Probes: the most bits that a query looks at. An "
                   "anti-filter takes its bits from the same total, shared "
                   "out so that weight left and members lost are least; it "
                   "lists the heaviest keys, one in ten of its bits. Read what "
                   "is left beside the background: few hashes in two groups "
                   "keep listed keys out and let more others in.");
}

const um_paper um_paper_rbf_ours = {
    .name = "rbf-ours",
    .source = "beyond the papers: methods, weights, groups, anti-filter",
    .claim = "removing the same keys for fewer members, or for none",
    .rounds = 15,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

/*
 * run.c - gbf-traceback: the paper's motivation: who sent this packet?
 *
 * Every router on the path marks the 256-bit filter in the packet, whose
 * initial bits the attacker has chosen. The victim tests its neighbours, then
 * theirs, and follows every router that the filter accepts.
 */
#include "base/error.h"
#include "papers/frame/paper.h"
#include "papers/gbf/model/figure.h"
#include "papers/gbf/traceback/packet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const way ways[] = {
    {"standard, k = 4", 0, 4, false}, {"1 + 1 as defined", 1, 1, false},
    {"1 + 1 distinct", 1, 1, true},   {"2 + 2 as defined", 2, 2, false},
    {"2 + 2 distinct", 2, 2, true},   {"2 + 3 as defined", 2, 3, false},
    {"2 + 3 distinct", 2, 3, true},   {"4 + 4 as defined", 4, 4, false},
    {"4 + 4 distinct", 4, 4, true}};

static const start starts[] = {
    {"all zeros", 0, false},   {"quarter ones", 0.25, false},
    {"half ones", 0.5, false}, {"3/4 ones", 0.75, false},
    {"all ones", 1, false},    {"worst share", -1, false},
    {"random bits", 0.5, true}};

enum {
    WAYS = UM_COUNT(ways),
    STARTS = UM_COUNT(starts),
    SWEPT = 5, /* starts along the x axis of a figure */
    LAST_START = STARTS - 1,
    /* Numbers of a round for each way and start. */
    TESTS = 0,
    BRANCHES,
    EXPECTED,
    ACCEPTED,
    MISSED,
    FOUND,
    WILD_BRANCHES,
    WILD_FOUND,
    ONE_BRANCHES,
    ONE_FOUND,
    NUMBERS,
    /* Then, for each way, whether the nearest router is missed, ... */
    BY_HOP = WAYS * STARTS * NUMBERS,
    WIDTH = BY_HOP + WAYS * HOPS
};

static size_t column(size_t w, size_t s, size_t number)
{
    return (w * STARTS + s) * NUMBERS + number;
}

/* --- rounds ----------------------------------------------------------------*/

static umbel_status prepare(um_study *s, umbel_error *err)
{
    um_rng rng = um_round_stream(s->seed, "gbf-traceback graph", 0);
    graph *g = calloc(1, sizeof *g);

    if (!g)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the routers");
    s->shared = g;
    graph_make(g, &rng);
    return UMBEL_OK;
}

static void release(um_study *s)
{
    free(s->shared);
    s->shared = NULL;
}

static void retain(const trace *t, size_t w, size_t s, double *out)
{
    double *to = out + column(w, s, 0);

    to[TESTS] = t->tests;
    to[BRANCHES] = t->branches;
    to[EXPECTED] = t->expected;
    to[ACCEPTED] = t->asked / ASKED;
    to[MISSED] = t->missed / HOPS;
    to[FOUND] = t->found;
    to[WILD_BRANCHES] = t->wild_branches;
    to[WILD_FOUND] = t->wild_found;
    to[ONE_BRANCHES] = t->one_branches;
    to[ONE_FOUND] = t->one_found;
    for (size_t i = 0; s == LAST_START && i < HOPS; i++)
        out[BY_HOP + w * HOPS + i] = t->lost[i];
}

/* Runs a round: one source, and one packet for every way and start. */
static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    const graph *g = r->study->shared;
    uint16_t path[HOPS];
    umbel_status status = UMBEL_OK;

    graph_path(g, g->far[um_random_below(&r->rng, g->nfar)], path);
    for (size_t i = 0; status == UMBEL_OK && i < (size_t)WAYS * STARTS; i++) {
        size_t w = i / STARTS, s = i % STARTS;
        trace t;
        status = packet_trace(g, path, &ways[w], &starts[s], &r->rng, &t, err);
        retain(&t, w, s, out);
    }
    return status;
}

/* --- formulas --------------------------------------------------------------*/

/* Computes equations 7 and 16. */
static double accepted_by_formula(const way *w, const start *s)
{
    um_gbf g = way_model(w, s);

    return um_gbf_accepts(&g, w->distinct ? um_gbf_zeros_distinct(&g)
                                          : um_gbf_zeros(&g));
}

/* Computes equation 11, and the hole if there is one. */
static double missed_by_formula(const way *w, uint32_t later)
{
    um_gbf g = way_model(w, &starts[0]);

    return w->distinct ? um_gbf_fn_distinct_at(&g, later)
                       : um_gbf_fn_defined_at(&g, later);
}

static double missed_on_average(const way *w)
{
    double sum = 0;

    for (uint32_t i = 0; i < HOPS; i++)
        sum += missed_by_formula(w, i);
    return sum / HOPS;
}

/* Returns the largest share that any content can make it accept; with distinct
 * places a little more than equation 19. */
static double bound_of(const way *w)
{
    um_gbf g = way_model(w, &starts[0]);
    double most = um_gbf_fp_bound(&g);

    for (uint32_t zeros = 0; w->distinct && zeros <= BITS; zeros++)
        most = fmax(most, um_gbf_accepts_distinct(&g, zeros));
    return most;
}

/* --- checks ----------------------------------------------------------------*/

static void check_farthest(um_study *s, const char *what, const way *w,
                           double worst)
{
    char item[UM_TEXT_LEN];

    snprintf(item, sizeof item, "%s, %s", what, w->name);
    um_check_value(s, item, worst, NAN);
}

/* Returns the deviation of the routers followed from the number expected, given
 * the zeros that arrived, in standard errors. */
static double branches_off(const um_study *s, size_t w, size_t at)
{
    um_mean seen = um_column(s, column(w, at, BRANCHES));
    um_mean expected = um_column(s, column(w, at, EXPECTED));
    double events = expected.value * expected.n;

    if (events < UM_RARE_EVENTS)
        return um_poisson_test(round(seen.value * seen.n), events) <
                       UM_POISSON_LIMIT
                   ? INFINITY
                   : 0;
    return fabs(seen.value - expected.value) * sqrt(seen.n) /
           sqrt(expected.value);
}

static double accepted_off(const um_study *s, size_t w, size_t at)
{
    um_mean m = um_column(s, column(w, at, ACCEPTED));

    return um_gbf_sigmas(&m, accepted_by_formula(&ways[w], &starts[at]), ASKED);
}

static double missed_off(const um_study *s, size_t w, size_t at)
{
    um_mean m = um_column(s, column(w, at, MISSED));

    return um_gbf_sigmas(&m, missed_on_average(&ways[w]), HOPS);
}

static double above_bound(const um_study *s, size_t w, size_t at)
{
    um_mean m = um_column(s, column(w, at, ACCEPTED));
    double bound = bound_of(&ways[w]);

    return m.value > bound ? um_gbf_sigmas(&m, bound, ASKED) : 0;
}

static double farthest(const um_study *s, size_t w,
                       double (*off)(const um_study *, size_t, size_t))
{
    double worst = 0;

    for (size_t at = 0; at < STARTS; at++)
        worst = fmax(worst, off(s, w, at));
    return worst;
}

static void check_way(um_study *s, size_t w)
{
    check_farthest(s, "branches, in sigmas", &ways[w],
                   farthest(s, w, branches_off));
    check_farthest(s, "accepted, in sigmas", &ways[w],
                   farthest(s, w, accepted_off));
    check_farthest(s, "missed, in sigmas", &ways[w],
                   farthest(s, w, missed_off));
    check_farthest(s, "above the bound, in sigmas", &ways[w],
                   farthest(s, w, above_bound));
}

/* Checks the router nearest to the victim, after which no other marked the
 * packet. */
static void check_nearest(um_study *s, size_t w)
{
    char item[UM_TEXT_LEN];
    um_mean m = um_column(s, BY_HOP + w * HOPS);

    snprintf(item, sizeof item, "nearest router missed, %s", ways[w].name);
    um_check_events(s, item, &m, 1 / (double)s->rounds);
}

/* --- reports ---------------------------------------------------------------*/

static void list(um_study *s)
{
    static const char *const heads[] = {
        "filter",    "start",     "branches",  "by the zeros",    "accepted, %",
        "by eq. 16", "missed, %", "by eq. 11", "source found, %", NULL};
    um_record *r = &s->record;
    um_sheet *sheet = um_record_sheet(
        r, "packets", "what a victim finds in a packet of 256 bits, 12 hops",
        heads);

    for (size_t w = 0; w < WAYS; w++)
        for (size_t at = 0; at < STARTS; at++) {
            um_sheet_cell(sheet, "%s", ways[w].name);
            um_sheet_cell(sheet, "%s", starts[at].name);
            for (size_t i = BRANCHES; i <= EXPECTED; i++)
                um_sheet_cell(sheet, "%.3f",
                              um_column(s, column(w, at, i)).value);
            um_sheet_cell(sheet, "%.3f",
                          100 * um_column(s, column(w, at, ACCEPTED)).value);
            um_sheet_cell(sheet, "%.3f",
                          100 * accepted_by_formula(&ways[w], &starts[at]));
            um_sheet_cell(sheet, "%.2f",
                          100 * um_column(s, column(w, at, MISSED)).value);
            um_sheet_cell(sheet, "%.2f", 100 * missed_on_average(&ways[w]));
            um_sheet_cell(sheet, "%.1f",
                          100 * um_column(s, column(w, at, FOUND)).value);
        }
}

/* Lists, for random bits, the paper's reconstruction with wildcards, and
 * footnote 1. */
static void list_kinder(um_study *s)
{
    static const char *const heads[] = {"filter",        "source found, %",
                                        "false routers", "wildcards: found",
                                        "false routers", "one inverted: found",
                                        "false routers", NULL};
    um_sheet *sheet =
        um_record_sheet(&s->record, "wildcards",
                        "Overwritten cells as wildcards; random bits", heads);

    for (size_t w = 0; w < WAYS; w++) {
        static const size_t what[] = {FOUND,         BRANCHES,  WILD_FOUND,
                                      WILD_BRANCHES, ONE_FOUND, ONE_BRANCHES};
        um_sheet_cell(sheet, "%s", ways[w].name);
        for (size_t i = 0; i < UM_COUNT(what); i++) {
            double x = um_column(s, column(w, LAST_START, what[i])).value;
            um_sheet_cell(sheet, i % 2 ? "%.2f" : "%.1f", i % 2 ? x : 100 * x);
        }
    }
}

/* Checks that with distinct cells the true path survives wildcards
 * completely. */
static void check_kinder(um_study *s)
{
    char item[UM_TEXT_LEN];

    for (size_t w = 0; w < WAYS; w++) {
        if (!ways[w].k0 || !ways[w].distinct)
            continue;
        snprintf(item, sizeof item, "source found with wildcards, %s",
                 ways[w].name);
        um_check_value(s, item,
                       um_column(s, column(w, LAST_START, WILD_FOUND)).value,
                       NAN);
        if (ways[w].k0 > 1)
            continue; /* hardly any source is found without them */
        snprintf(item, sizeof item, "one inverted, found over none, %s",
                 ways[w].name);
        um_check_value(s, item,
                       um_column(s, column(w, LAST_START, ONE_FOUND)).value /
                           um_column(s, column(w, LAST_START, FOUND)).value,
                       NAN);
    }
}

static void draw_branches(um_study *s)
{
    um_figure *f = um_record_figure(
        &s->record, "branches",
        "false routers a packet, by the attacker's bits",
        "share of ones that the attacker sends", "false routers");

    if (f)
        f->log_y = true;
    for (size_t w = 0; w < WAYS; w++) {
        if (ways[w].k0 && !ways[w].distinct)
            continue; /* the curve would hardly differ */
        um_series *c = um_figure_series(f, ways[w].name);
        for (size_t at = 0; at < SWEPT; at++) {
            um_mean m = um_column(s, column(w, at, BRANCHES));
            um_series_point(c, starts[at].ones, m.value, m.error);
        }
    }
}

/* Draws the equation as a line, and simulated points for the definition and for
 * distinct places. */
static void draw_misses(um_study *s)
{
    um_figure *f = um_record_figure(&s->record, "misses",
                                    "routers that are missed, by distance",
                                    "hops from the victim", "share missed");

    for (size_t w = 1; w < WAYS; w++) {
        um_series *line = um_figure_series(f, ways[w].name);
        if (line)
            line->faint = true;
        for (uint32_t i = 0; i < HOPS; i++)
            um_series_point(line, i + 1, missed_by_formula(&ways[w], i), NAN);
        um_series *dots = um_figure_series(f, "simulated");
        if (dots)
            dots->dots = true;
        for (uint32_t i = 0; i < HOPS; i++) {
            um_mean m = um_column(s, BY_HOP + w * HOPS + i);
            um_series_point(dots, i + 1, m.value, m.error);
        }
    }
}

static void conclude(um_study *s)
{
    size_t plain = 0, all_ones = SWEPT - 1;

    um_check_value(s, "false routers, standard, all ones",
                   um_column(s, column(plain, all_ones, BRANCHES)).value, NAN);
    for (size_t w = 0; w < WAYS; w++)
        check_way(s, w);
    for (size_t w = 1; w < WAYS; w++)
        check_nearest(s, w);
    check_kinder(s);
    list(s);
    list_kinder(s);
    draw_branches(s);
    draw_misses(s);
    um_record_note(
        &s->record,
        "Our reading: the routers are synthetic, %d of them, and every packet "
        "passes %d. Places are random ones, other ones in every packet. "
        "Branches are held to the zeros that arrived, by which a router off "
        "the path is accepted with a known probability; a sample of %d others "
        "to equations 7 and 16, which know only the mean.",
        ROUTERS, HOPS, ASKED);
}

const um_paper um_paper_gbf_traceback = {
    .name = "gbf-traceback",
    .source = GBF_SOURCE "sections 1 and 6",
    .claim = "an attacker blinds a standard filter in his packets, not a "
             "generalized one",
    .rounds = 2000,
    .width = WIDTH,
    .prepare = prepare,
    .release = release,
    .round = run_round,
    .conclude = conclude,
};

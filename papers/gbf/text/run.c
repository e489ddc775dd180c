/*
 * run.c - gbf-text: numbers in the text, besides tables and figures.
 *
 * Two filters of section 4.2 are computed and simulated, each from two starts;
 * the rest are numbers that the text derives from equations or tables.
 */
#include "base/error.h"
#include "papers/gbf/model/table.h"

#include <math.h>
#include <stdio.h>

static const um_gbf_case cases[] = {
    {"2 + 2, m/n = 128, p0 = 0", {0, 2, 2, 32768, 256}},
    {"2 + 2, m/n = 128, p0 = 25 %", {0.25, 2, 2, 32768, 256}},
    {"2 + 3, m/n = 256, p0 = 0", {0, 2, 3, 65536, 256}},
    {"2 + 3, m/n = 256, p0 = 25 %", {0.25, 2, 3, 65536, 256}}};
enum { CASES = 4, QUERIES = GBF_QUERIES, FP = 0, FN, NUMBERS };

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    um_gbf_space space;
    umbel_status status = um_gbf_space_init(&space, 65536, 256, err);

    for (size_t i = 0; status == UMBEL_OK && i < CASES; i++) {
        um_gbf_found found =
            um_gbf_simulate(&cases[i].filter, QUERIES, &space, &r->rng);
        out[i * NUMBERS + FP] = found.fp;
        out[i * NUMBERS + FN] = found.fn;
    }
    um_gbf_space_fini(&space);
    return status;
}

static void check(um_study *s, const char *what, const char *where, double ours)
{
    char item[UM_TEXT_LEN];

    snprintf(item, sizeof item, "%s, %s", what, where);
    um_check_value(s, item, ours, NAN);
}

static void check_simulated(um_study *s, const char *what, size_t i,
                            size_t number, double asked)
{
    char item[UM_TEXT_LEN];
    um_mean m = um_column(s, i * NUMBERS + number);

    m.value *= 100;
    m.sd *= 100;
    m.error *= 100;
    snprintf(item, sizeof item, "%s, %s", what, cases[i].name);
    um_check_events(s, item, &m, 100 / (asked * (double)s->rounds));
}

static void check_case(um_study *s, size_t i)
{
    const um_gbf_case *c = &cases[i];

    if (i % 2 == 0) { /* these do not depend on the start */
        check(s, "F_p, %", c->name, 100 * um_gbf_fp_bound(&c->filter));
        check(s, "F_n, %", c->name, 100 * um_gbf_fn_bound(&c->filter));
        check(s, "f_n, %", c->name, 100 * um_gbf_fn(&c->filter));
    }
    check(s, "f_p, %", c->name, 100 * um_gbf_fp(&c->filter));
    check_simulated(s, "simulated f_p, %", i, FP, QUERIES);
    check_simulated(s, "simulated f_n, %", i, FN, c->filter.n);
}

/* Checks section 4.1: the bound decreases with the number of functions. */
static void check_bounds(um_study *s)
{
    static const char *const name[] = {"k0 = k1 = 2", "k0 = k1 = 3",
                                       "k0 = k1 = 4"};

    for (unsigned k = 2; k <= 4; k++) {
        um_gbf g = {.k0 = k, .k1 = k, .m = 65536, .n = 256};
        check(s, "F_p, %", name[k - 2], 100 * um_gbf_fp_bound(&g));
    }
}

/* Returns ln f divided by the bits per element, of a standard filter with k n /
 * m = load. */
static double ln_standard(double load)
{
    return load * log(-expm1(-load));
}

/* Checks section 2: finds the load that minimises f by search. */
static void check_standard(um_study *s)
{
    double low = 0.1, high = 2;

    while (high - low > 1e-9) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (ln_standard(a) < ln_standard(b))
            high = b;
        else
            low = a;
    }
    um_check_value(s, "least f, to the power n/m", exp(ln_standard(low)), NAN);
    um_check_value(s, "its share of ones", -expm1(-low), NAN);
}

/* Checks section 4: the largest half-width of a 95 % interval over 1000
 * rounds. */
static void check_spread(um_study *s)
{
    double widest = 0;

    if (s->rounds < 2)
        return;
    for (size_t i = 0; i < (size_t)CASES * NUMBERS; i++)
        widest = fmax(widest, 1.96 * um_column(s, i).sd / sqrt(1000));
    um_check_value(s, "largest half-width of a 95 % interval", widest, NAN);
}

/* Checks section 5 on Table 8: what an almost saturated filter accepts. */
static void check_saturated(um_study *s)
{
    um_gbf small = {0.01, 1, 22, 8192, 256},
           large = {0.01, 1, 355, 131072, 256};

    check(s, "standard f_p, %", "Table 8, first row",
          100 * um_gbf_plain_fp(&small));
    check(s, "standard f_p, %", "Table 8, last row",
          100 * um_gbf_plain_fp(&large));
    check(s, "f_p, %", "Table 8, first row", 100 * um_gbf_fp(&small));
    check(s, "f_p, %", "Table 8, last row", 100 * um_gbf_fp(&large));
}

static void list_holes(um_study *s)
{
    static const char *const heads[] = {"m", "k0 + k1", "hole, %",
                                        "f_n of the last by equation 11", NULL};
    static const um_gbf holes[] = {{0, 2, 2, 65536, 256}, {0, 2, 2, 8192, 256},
                                   {0, 1, 22, 8192, 256}, {0, 2, 2, 512, 8},
                                   {0, 4, 4, 512, 8},     {0, 4, 4, 256, 8}};
    um_sheet *sheet = um_record_sheet(
        &s->record, "hole", "elements that are never recognised", heads);

    for (size_t i = 0; i < UM_COUNT(holes); i++) {
        const um_gbf *g = &holes[i];
        um_sheet_cell(sheet, "%u", g->m);
        um_sheet_cell(sheet, "%u + %u", g->k0, g->k1);
        um_sheet_cell(sheet, "%.4f", 100 * um_gbf_hole(g));
        um_sheet_cell(sheet, "%.0f", um_gbf_fn_at(g, 0));
    }
}

static void conclude(um_study *s)
{
    check_standard(s);
    check_bounds(s);
    for (size_t i = 0; i < CASES; i++)
        check_case(s, i);
    check_spread(s);
    check_saturated(s);
    list_holes(s);
    um_record_note(
        &s->record,
        "Errata: \"for the last inserted element the false-negative "
        "probability "
        "is always zero\" does not follow from the definition. Where a g and "
        "an "
        "h of one element hit the same bit, that bit is 0 and a query for it "
        "asks for 0 and for 1: about k0 k1 / m of all elements are never "
        "recognised. Drawing k0 + k1 different places leaves none.");
}

const um_paper um_paper_gbf_text = {
    .name = "gbf-text",
    .source = GBF_SOURCE "sections 2, 4 and 5",
    .claim = "the numbers of the text: bounds, examples, what saturation does",
    .rounds = 1000,
    .width = (size_t)CASES * NUMBERS,
    .round = run_round,
    .conclude = conclude,
};

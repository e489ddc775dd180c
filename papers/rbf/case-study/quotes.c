/*
 * quotes.c - compares the numbers and sentences of section V with the runs.
 */
#include "base/error.h"
#include "papers/rbf/case-study/study.h"

#include <math.h>
#include <stdlib.h>

const quoted_setting case_quoted[QUOTED] = {
    {"Bloom filter, m = 10,000", 10000, 0},
    {"Bloom filter, m = 60,000", 60000, 0},
    {"Bloom filter, m = 100,000", 100000, 0},
    {"Ratio, beta 0.1, m = 60,000", 60000, 0.1},
    {"Ratio, beta 0.24, m = 60,000", 60000, 0.24},
    {"Ratio, beta 0.3, m = 60,000", 60000, 0.3},
    {"Ratio, beta 1, m = 60,000", 60000, 1},
    {"Ratio, beta 0.25, m = 10,000", 10000, 0.25},
    {"Ratio, beta 0.25, m = 100,000", 100000, 0.25},
};

enum { ONE = 6, SMALL = 7, LARGE = 8 }; /* rows of case_quoted */

const alternative case_alternatives[ALTERNATIVES] = {
    {"k = 5", 5, "ratio", OF_PROBING},
    {"k = 1, B learned", 1, "ratio", OF_LEARNING},
    {"k = 5, tracked (2010)", 5, "ratio-tracked", OF_PROBING},
};

/* What section V quotes: rates of settings; by how much Ratio cuts stopping
 * short; the best beta; false positives that are on 10,000 traces. */
typedef struct quote {
    const char *item;
    enum { RATE, CUT, BEST_BETA, HEAVIEST } sort;
    size_t setting, what; /* of a rate; of a cut: Ratio */
    size_t from;          /* of a cut: the plain filter */
} quote;

static const quote quotes[] = {
    {"success, Bloom filter, m = 100,000", RATE, 2, SUCCESS, 0},
    {"success, Ratio, beta 0.1, m = 60,000", RATE, 3, SUCCESS, 0},
    {"success, Ratio, beta 0.24, m = 60,000", RATE, 4, SUCCESS, 0},
    {"success, Ratio, beta 0.3, m = 60,000", RATE, 5, SUCCESS, 0},
    {"success, Ratio, beta 1, m = 60,000", RATE, ONE, SUCCESS, 0},
    {"success, Ratio, beta 0.25, m = 100,000", RATE, LARGE, SUCCESS, 0},
    {"short, Bloom filter, m = 10,000", RATE, 0, SHORT, 0},
    {"short, Bloom filter, m = 60,000", RATE, 1, SHORT, 0},
    {"short, Bloom filter, m = 100,000", RATE, 2, SHORT, 0},
    {"short, Ratio, beta 0.1, m = 60,000", RATE, 3, SHORT, 0},
    {"short, Ratio, beta 0.3, m = 60,000", RATE, 5, SHORT, 0},
    {"short, Ratio, beta 1, m = 60,000", RATE, ONE, SHORT, 0},
    {"cut of short, Ratio, beta 0.25, m = 10,000", CUT, SMALL, SHORT, 0},
    {"cut of short, Ratio, beta 0.25, m = 100,000", CUT, LARGE, SHORT, 2},
    {"collision, Bloom filter, m = 60,000", RATE, 1, COLLISION, 0},
    {"collision, Ratio, beta 0.1, m = 60,000", RATE, 3, COLLISION, 0},
    {"collision, Ratio, beta 0.3, m = 60,000", RATE, 5, COLLISION, 0},
    {"collision, Ratio, beta 1, m = 60,000", RATE, ONE, COLLISION, 0},
    {"Fig. 13: beta of the best success", BEST_BETA, 0, 0, 0},
    {"Fig. 9: false positives on 10,000 traces", HEAVIEST, 0, 0, 0},
};

/* Returns which setting of the grid, or of the sweep, a quoted one is. */
static size_t setting_of(const quoted_setting *q)
{
    bool swept = q->bits == 60000 && q->beta > 0;

    return swept ? GRID + (size_t)lround(100 * q->beta) - 1
                 : (q->bits / 10000 - 1) * WAYS +
                       (q->beta > 0 ? RATIO_25 : PLAIN);
}

static double rate_in(const double *round, size_t setting, size_t what)
{
    const double *o = round + setting * OUTCOME;

    return what == SUCCESS ? o[GENUINE] + o[LUCKY] : o[what];
}

static double best_beta(const double *round)
{
    size_t best = GRID;

    for (size_t i = GRID; i < GRID + SWEEP; i++)
        if (rate_in(round, i, SUCCESS) > rate_in(round, best, SUCCESS))
            best = i;
    return 0.01 * (double)(best - GRID + 1);
}

/* Returns a quoted value in one round; with an alternative, 1 to ALTERNATIVES,
 * in its reading. NAN if that has none. */
static double quoted_in(const double *round, const quote *q, size_t other)
{
    size_t at = other ? GRID + SWEEP + (other - 1) * QUOTED + q->setting
                      : setting_of(&case_quoted[q->setting]);
    size_t from = other ? GRID + SWEEP + (other - 1) * QUOTED + q->from
                        : setting_of(&case_quoted[q->from]);

    if (q->sort == RATE)
        return rate_in(round, at, q->what);
    if (q->sort == CUT)
        return 1 - rate_in(round, at, SHORT) / rate_in(round, from, SHORT);
    if (other)
        return NAN;
    return q->sort == BEST_BETA ? best_beta(round) : round[HEAVY];
}

static um_mean quoted_mean(const um_study *s, const quote *q, size_t other)
{
    double *value = malloc(s->rounds * sizeof *value);
    um_mean m = {.n = 0, .value = NAN, .sd = NAN, .error = NAN};

    if (!value)
        return m; /* NAN passes no check */
    for (size_t i = 0; i < s->rounds; i++)
        value[i] = quoted_in(s->numbers + i * WIDTH, q, other);
    m = um_mean_of(value, s->rounds, 1);
    free(value);
    return m;
}

static void cell_or_dash(um_sheet *sheet, double x)
{
    if (isnan(x))
        um_sheet_cell(sheet, "-");
    else
        um_sheet_cell(sheet, "%.4f", x);
}

/* Checks a quoted value, and adds its row. Returns true if it holds. */
static bool check_quote(um_study *s, const quote *q, um_sheet *sheet)
{
    um_mean m = quoted_mean(s, q, 0);
    double spread = um_single_spread(&m);

    um_check_single(s, q->item, &m);
    if (!s->record.nchecks)
        return false; /* no memory */
    const um_check *c = &s->record.check[s->record.nchecks - 1];
    um_sheet_cell(sheet, "%s%s", q->item, c->errata ? " (errata)" : "");
    cell_or_dash(sheet, c->paper);
    cell_or_dash(sheet, m.value);
    double low = fmax(m.value - spread, 0); /* NAN becomes 0 */
    double high = m.value + spread;
    high = c->share ? fmin(high, 1) : high;
    cell_or_dash(sheet, low);
    cell_or_dash(sheet, high);
    cell_or_dash(sheet, high - low);
    um_sheet_cell(sheet, c->pass ? "yes" : "no");
    for (size_t i = 1; i <= ALTERNATIVES; i++)
        cell_or_dash(sheet, quoted_mean(s, q, i).value);
    return c->pass;
}

/* Checks what tracking (2010) changes where Ratio is used, k = 5. */
static void check_tracked(um_study *s)
{
    const quote success = {"", RATE, ONE, SUCCESS, 0};

    um_check_value(s, "2010: success of tracked Ratio over Ratio, beta 1",
                   quoted_mean(s, &success, 3).value /
                       quoted_mean(s, &success, 1).value,
                   NAN);
}

void case_check_quotes(um_study *s)
{
    static const char *const heads[] = {
        "value", "paper", "ours",  "95 % from",        "to",
        "width", "holds", "k = 5", "k = 1, B learned", "k = 5, tracked (2010)",
        NULL};
    size_t n = 0;
    um_sheet *sheet = um_record_sheet(
        &s->record, "quoted",
        "Numbers of section V; 95 % of single rounds; other readings do not "
        "count",
        heads);

    for (size_t i = 0; i < UM_COUNT(quotes); i++)
        n += check_quote(s, &quotes[i], sheet);
    um_record_note(&s->record,
                   "Quoted: %zu of %zu numbers of section V hold in the %s "
                   "world.",
                   n, UM_COUNT(quotes), world_shapes[s->world].name);
    check_tracked(s);
}

/* Returns the smallest rise of a rate between 10,000, 40,000, 70,000 and
 * 100,000 bits. */
static double least_rise(const um_study *s, size_t which, size_t what)
{
    double least = INFINITY;

    for (size_t i = 3; i < SIZES; i += 3)
        least = fmin(least, case_at_size(s, i, which, what).value -
                                case_at_size(s, i - 3, which, what).value);
    return least;
}

/* Returns the smallest rise of a rate between beta 0.01, 0.1, 0.3 and 1 in Fig.
 * 13. */
static double least_rise_by_beta(const um_study *s, size_t what, double sign)
{
    static const size_t at[] = {0, 9, 29, 99};
    double least = INFINITY;

    for (size_t i = 1; i < UM_COUNT(at); i++)
        least =
            fmin(least, sign * (case_rate(s, GRID + at[i], what).value -
                                case_rate(s, GRID + at[i - 1], what).value));
    return least;
}

static double times_missed(const um_study *s, size_t what)
{
    return case_at_size(s, 5, PLAIN, what).value /
           case_at_size(s, 5, RATIO_25, what).value;
}

/* Returns the smallest share that the plain filter misses below 70,000 bits;
 * the text says above 80 %. */
static double least_missed(const um_study *s, size_t what)
{
    double least = 1;

    for (size_t i = 0; size_at(i) < 70000; i++)
        least = fmin(least, case_at_size(s, i, PLAIN, what).value);
    return least;
}

/* Returns the number of sizes at which beta 0.10 collides less often than the
 * list. */
static double sizes_below_list(const um_study *s, double list)
{
    size_t n = 0;

    for (size_t i = 0; i < SIZES; i++)
        n += case_at_size(s, i, RATIO_10, COLLISION).value < list;
    return (double)n;
}

/* Checks the shapes of the figures, as numbers. */
void case_check_figures(um_study *s)
{
    const outcome *list = &((const case_world *)s->shared)->of_list;

    um_check_value(s, "Fig. 8: least rise of the filter's success",
                   least_rise(s, PLAIN, SUCCESS), NAN);
    um_check_value(s, "Fig. 8: ratio 0.25 less filter, m = 60,000",
                   case_at_size(s, 5, RATIO_25, SUCCESS).value -
                       case_at_size(s, 5, PLAIN, SUCCESS).value,
                   NAN);
    um_check_value(s, "Fig. 11: nodes missed, filter over ratio 0.25",
                   times_missed(s, NODES), NAN);
    um_check_value(s, "Fig. 11: links missed, filter over ratio 0.25",
                   times_missed(s, LINKS), NAN);
    um_check_value(s, "Fig. 8: success of ratio 0.25, m = 10,000",
                   case_at_size(s, 0, RATIO_25, SUCCESS).value, NAN);
    um_check_value(s, "Fig. 11: least nodes missed below 70,000 bits",
                   least_missed(s, NODES), NAN);
    um_check_value(s, "Fig. 11: least links missed below 70,000 bits",
                   least_missed(s, LINKS), NAN);
    um_check_value(s, "Fig. 12: sizes where ratio 0.10 collides less",
                   sizes_below_list(s, list->collision), NAN);
    um_check_value(s, "Fig. 13: least fall of stopping short",
                   least_rise_by_beta(s, SHORT, -1), NAN);
    um_check_value(s, "Fig. 13: least rise of collisions",
                   least_rise_by_beta(s, COLLISION, 1), NAN);
}

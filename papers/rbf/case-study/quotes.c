/*
 * quotes.c - compares the numbers and sentences of section V with the runs.
 */
#include "base/error.h"
#include "papers/rbf/case-study/study.h"

#include <math.h>
#include <stdio.h>

/* Some numbers are derived: the text gives the success at beta 0.1 and 0.3 as
 * 0.7015 to 0.7218, and the short traces at 10,000 and 100,000 bits with beta
 * 0.25 as cuts by 76.17 % and 84.35 % from 0.9981 and 0.7668. */
const quote case_quotes[QUOTES] = {
    {"Bloom filter, m = 10,000", 10000, 0, NAN, 0.9981, NAN},
    {"Bloom filter, m = 60,000", 60000, 0, 0.3077, 0.6842, 0.0081},
    {"Bloom filter, m = 100,000", 100000, 0, 0.2446, 0.7668, NAN},
    {"Ratio, beta 0.1, m = 60,000", 60000, 0.1, 0.7015, 0.2355, 0.1073},
    {"Ratio, beta 0.24, m = 60,000", 60000, 0.24, 0.642, NAN, NAN},
    {"Ratio, beta 0.3, m = 60,000", 60000, 0.3, 0.7218, 0.1168, 0.1987},
    {"Ratio, beta 1, m = 60,000", 60000, 1, 0.4575, 0.0038, 0.5387},
    {"Ratio, beta 0.25, m = 10,000", 10000, 0.25, NAN, 0.2379, NAN},
    {"Ratio, beta 0.25, m = 60,000", 60000, 0.25, NAN, NAN, NAN},
    {"Ratio, beta 0.25, m = 100,000", 100000, 0.25, 0.7564, 0.12, NAN},
};

const reading case_readings[READINGS] = {
    {"k = 5", 5, false, false},
    {"k = 1", 1, false, false},
    {"k = 5, wide core", 5, true, false},
    {"k = 1, wide core", 1, true, false},
    {"k = 5, tracked (2010)", 5, false, true},
};

static const struct {
    const char *name;
    size_t what;
} rates[] = {
    {"success", SUCCESS}, {"stopping short", SHORT}, {"collision", COLLISION}};

static double quoted(const quote *q, size_t rate)
{
    const double value[] = {q->success, q->shorter, q->collision};
    return value[rate];
}

static um_mean found(const um_study *s, size_t reading_of, size_t quote_of,
                     size_t rate)
{
    return case_rate(s, GRID + SWEEP + reading_of * QUOTES + quote_of,
                     rates[rate].what);
}

/* Checks a quoted rate. The tracked methods do not affect a plain filter, and
 * the paper of 2006 does not have them, so they are only shown. */
static void check_quote(um_study *s, size_t i, size_t rate)
{
    char item[UM_TEXT_LEN];

    for (size_t r = 0; r < READINGS; r++) {
        if (case_readings[r].tracked)
            continue;
        snprintf(item, sizeof item, "%s: %s, %s", case_readings[r].name,
                 case_quotes[i].what, rates[rate].name);
        um_check_value(s, item, found(s, r, i, rate).value, NAN);
    }
}

static void cell_or_dash(um_sheet *sheet, double x)
{
    if (isnan(x))
        um_sheet_cell(sheet, "-");
    else
        um_sheet_cell(sheet, "%.4f", x);
}

static void list_quotes(um_study *s, size_t rate)
{
    static const char *const heads[] = {"setting",
                                        "paper",
                                        "k=5",
                                        "k=1",
                                        "k=5, wide",
                                        "k=1, wide",
                                        "k=5, tracked (2010)",
                                        NULL};
    char title[UM_TEXT_LEN], id[UM_TEXT_LEN];

    snprintf(title, sizeof title, "Rates that the text quotes: %s",
             rates[rate].name);
    snprintf(id, sizeof id, "quoted-%zu", rate + 1);
    um_sheet *sheet = um_record_sheet(&s->record, id, title, heads);
    for (size_t i = 0; i < QUOTES; i++) {
        um_sheet_cell(sheet, "%s", case_quotes[i].what);
        cell_or_dash(sheet, quoted(&case_quotes[i], rate));
        for (size_t r = 0; r < READINGS; r++)
            cell_or_dash(sheet, found(s, r, i, rate).value);
    }
}

/* Checks what tracking (2010) changes where Ratio is used, k = 5. */
static void check_tracked(um_study *s)
{
    enum { FIVE = 0, TRACKED = 4, ALL_GONE = 6 };
    double ratio = found(s, FIVE, ALL_GONE, 0).value;
    double tracked = found(s, TRACKED, ALL_GONE, 0).value;

    um_check_value(s, "2010: success of tracked Ratio over Ratio, beta 1",
                   tracked / ratio, NAN);
}

void case_check_quotes(um_study *s)
{
    for (size_t rate = 0; rate < UM_COUNT(rates); rate++) {
        for (size_t i = 0; i < QUOTES; i++)
            if (!isnan(quoted(&case_quotes[i], rate)))
                check_quote(s, i, rate);
        list_quotes(s, rate);
    }
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

static double best_beta(const um_study *s)
{
    size_t best = 0;

    for (size_t i = 1; i < SWEEP; i++)
        if (case_rate(s, GRID + i, SUCCESS).value >
            case_rate(s, GRID + best, SUCCESS).value)
            best = i;
    return 0.01 * (double)(best + 1);
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
    const outcome *list = &((const shared *)s->shared)->tuned.of_list;

    um_check_value(s, "Fig. 8: least rise of the filter's success",
                   least_rise(s, PLAIN, SUCCESS), NAN);
    um_check_value(s, "Fig. 8: list less filter, m = 100,000",
                   list->genuine - case_at_size(s, 9, PLAIN, SUCCESS).value,
                   NAN);
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
    um_check_value(s, "Fig. 13: beta of the best success", best_beta(s), NAN);
}

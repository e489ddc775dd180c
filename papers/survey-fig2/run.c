/*
 * survey-fig2 - a conservative update (Fig. 2), and how far counters grow
 * (section 2.5): four bits suffice.
 */
#include "base/error.h"
#include "papers/frame/paper.h"
#include "papers/spam/cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    COUNTERS = 1000000,
    FIRST = 2, /* shares of counters of at least 2 .. 7 are measured */
    LAST = 7,
    SHARES = LAST - FIRST + 1,
    GREATEST = SHARES, /* the column of the greatest counter */
    WIDTH = SHARES + 1,
    OVERFLOW = 16 /* of 4 bits */
};

static const double load = 0.69314718055994530942; /* ln 2: the best k */

/* m ln 2 increments, anywhere. */
static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    uint8_t *counter = calloc(COUNTERS, 1);

    if (!counter)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    for (size_t i = 0; i < (size_t)(load * COUNTERS); i++)
        counter[um_random_below(&r->rng, COUNTERS)]++;
    for (size_t i = 0; i < WIDTH; i++)
        out[i] = 0;
    for (size_t i = 0; i < COUNTERS; i++) {
        for (unsigned j = FIRST; j <= LAST; j++)
            out[j - FIRST] += counter[i] >= j ? 1. / COUNTERS : 0;
        out[GREATEST] = fmax(out[GREATEST], counter[i]);
    }
    free(counter);
    return UMBEL_OK;
}

static double bound(double j)
{
    return pow(exp(1) * load / j, j);
}

/* P(X >= j), X ~ Poisson(ln 2): from its largest term, so that nothing is lost
 * to rounding. */
static double tail(double j)
{
    double term = exp(j * log(load) - load - lgamma(j + 1)), sum = 0;

    while (term > 1e-20 * sum) {
        sum += term;
        term *= load / ++j;
    }
    return sum;
}

static void check_example(um_study *s)
{
    static const uint32_t own[] = {0, 1, 2};
    um_spam_list flow = {own, 3};
    uint8_t counter[] = {2, 3, 8}; /* the text tells only the least */

    um_spam_add_refined(counter, flow, 4, UINT8_MAX);
    um_check_value(s, "Fig. 2: least counter", um_spam_count(counter, flow),
                   NAN);
    um_check_value(s, "Fig. 2: counter that was between", counter[1], NAN);
    um_check_value(s, "Fig. 2: counter that was above", counter[2], NAN);
}

static double greatest(const um_study *s)
{
    double most = 0;

    for (size_t i = 0; i < s->rounds; i++)
        most = fmax(most, s->numbers[i * WIDTH + GREATEST]);
    return most;
}

static void conclude(um_study *s)
{
    char item[UM_TEXT_LEN];

    check_example(s);
    um_check_value(s, "bound of an overflow at 16", bound(OVERFLOW), NAN);
    um_check_value(s, "probability of an overflow at 16", tail(OVERFLOW), NAN);
    for (unsigned j = FIRST; j <= LAST; j++) {
        um_mean m = um_column(s, j - FIRST);
        snprintf(item, sizeof item, "share of counters of at least %u", j);
        um_check_events(s, item, &m, 1. / COUNTERS / (double)s->rounds);
        snprintf(item, sizeof item, "the same over its bound, %u", j);
        um_check_value(s, item, m.value / bound(j), NAN);
    }
    um_check_value(s, "greatest counter", greatest(s), NAN);
    um_record_note(&s->record,
                   "The bound is loose by a factor of 19: P(c >= 16) is "
                   "7.1e-17 a counter. Our reading: Fig. 2 is known from its "
                   "caption; counters other than the least are ours.");
}

const um_paper um_paper_survey_fig2 = {
    .name = "survey-fig2",
    .source = "Broder, Mitzenmacher 2004, Fig. 2 and section 2.5",
    .claim = "2 bytes and 4 new ones make 6; four bits a counter overflow with "
             "probability 1.37e-15 m",
    .rounds = 100,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};

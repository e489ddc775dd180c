/*
 * plan_counts.c - how often a key that never came seems to have come T times.
 *
 * A cell is hit by a Poisson number of keys, on average L = k n / m, and each
 * of them brings its count: its content is compound Poisson. With p_j the share
 * of keys that came j times, Panjer's recursion gives the chance g_s of content
 * s:
 *
 *     g_0 = exp(-L),   g_s = L/s  sum over j of  j p_j g_(s-j)
 *
 * and a key with k cells reaches T with chance P(content >= T)^k. In blocks the
 * load varies from block to block, and one key that came often may hold several
 * cells of another (held.h): the mean over both. For plain counts that is an
 * estimate; refined cells hold less, so for them, where there are no blocks, an
 * upper bound.
 *
 * Equation (4) of Yan and Cho 2006 lets every key come once; it is told beside,
 * as theirs. The survey's 2.5 asks when a cell overflows, for keys that come
 * once, too.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "ops/block_collisions.h"

#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MOST_THRESHOLD = 1024, /* the recursion takes its square */
    WIDE = 12              /* standard deviations of a block's load */
};

/* Below this a sum from 1 downwards has lost too many digits. */
#define CANCELS 1e-7
/* exp(-L) would be 0. */
#define MOST_LOAD 700

/* times[j] is the share of keys that came j times; the last: that or more. */
typedef struct shares {
    double times[MOST_THRESHOLD + 1];
    uint64_t keys; /* that came at all */
} shares;

static void fill_shares(const uint64_t *counts, size_t n, uint64_t threshold,
                        shares *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        out->times[counts[i] < threshold ? counts[i] : threshold]++;
        out->keys += counts[i] > 0;
    }
    for (uint64_t j = 0; j <= threshold; j++)
        out->times[j] /= out->keys ? (double)out->keys : 1;
}

/*
 * P(content >= T) by keys that came less often than T, when all keys together
 * bring that load. Where little is missing to 1 the tail is followed upwards
 * instead, from the counts below T.
 */
static double adds_up(const shares *p, uint64_t threshold, double load)
{
    double g[2 * MOST_THRESHOLD], below = 0, tail = 0;

    if (load > MOST_LOAD)
        return 1;
    g[0] = exp(-load * (1 - p->times[threshold]));
    for (uint64_t s = 0; s < 2 * threshold; s++) {
        double sum = 0;
        for (uint64_t j = 1; j <= s && j < threshold; j++)
            sum += (double)j * p->times[j] * g[s - j];
        g[s] = s ? load / (double)s * sum : g[0];
        if (s < threshold)
            below += g[s];
        else
            tail += g[s];
    }
    return 1 - below > CANCELS ? 1 - below : tail;
}

/* A count of T or more is enough by itself. */
static double reaches(const shares *p, uint64_t threshold, double load)
{
    double alone = -expm1(-load * p->times[threshold]);

    return alone + (1 - alone) * adds_up(p, threshold, load);
}

/*
 * Keys that came T times or more hold cells of the query, several at once; the
 * spare ones must add up from the others, whose number is different from block
 * to block, and independent of the first.
 */
static double over_blocks(const um_layout *l, const shares *p,
                          uint64_t threshold)
{
    double spare[UM_MAX_HASHES + 1], sum = 0, total = 0;
    double keys = (double)p->keys / (double)l->blocks;
    double rare = 1 - p->times[threshold], mean = keys * rare;
    double cells = (double)l->cells / (double)l->blocks;
    double reach = WIDE * sqrt(mean) + WIDE;
    double from = floor(fmax(0, mean - reach)), to = ceil(mean + reach);
    double step = fmax(1, floor((to - from) / 256));
    double load = rare > 0 ? um_cells_of_key(l) / cells / rare : 0;

    um_cells_spare(l, keys - mean, spare);
    for (int i = 0; from + i * step <= to; i++) {
        double j = from + i * step;
        double weight =
            mean > 0 ? exp(j * log(mean) - mean - lgamma(j + 1)) : j == 0;
        double cell = adds_up(p, threshold, load * j), all = 0, power = 1;
        for (uint32_t u = 0; u <= l->hashes; u++, power *= cell)
            all += spare[u] * power;
        sum += weight * all;
        total += weight;
    }
    return total > 0 ? sum / total : 0;
}

static double compound(const um_layout *l, const shares *p, uint64_t threshold)
{
    double load = (double)p->keys * l->hashes / (double)l->cells;

    if (p->keys == 0)
        return 0;
    if (l->blocks > 1)
        return over_blocks(l, p, threshold);
    return pow(reaches(p, threshold, load), l->hashes);
}

/* P(X >= j), X ~ Binomial(n, p): from the first term on, which is the largest
 * where it matters. */
static double binomial_tail(double n, double p, double j)
{
    double term, sum = 0;

    if (j > n)
        return 0;
    if (j <= n * p) { /* most of it: what is below, from 1 */
        term = exp(n * log1p(-p));
        for (uint64_t i = 0; i < (uint64_t)j; i++) {
            sum += term;
            term *= (n - (double)i) / ((double)i + 1) * p / (1 - p);
        }
        return fmax(0, 1 - sum);
    }
    term = exp(lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(p) +
               (n - j) * log1p(-p));
    for (; j <= n && term > sum * 1e-17; j++) {
        sum += term;
        term *= (n - j) / (j + 1) * p / (1 - p);
    }
    return fmin(sum, 1);
}

/* Survey 2.5: m (e L / j)^j, where L is at most ln 2 for a good filter. */
static double overflow_bound(double cells, double load, double j)
{
    return fmin(1, cells * exp(j * log(exp(1) * fmax(load, log(2)) / j)));
}

static umbel_status want_counts(const um_shape *s, uint64_t threshold,
                                umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];

    if (!s->kind->counting)
        return um_cannot_count(s->kind, err);
    s->kind->sections(s, section);
    uint64_t limit = UINT64_MAX >> (64 - section[0].cell_bits);
    if (threshold == 0 || threshold > limit)
        return um_fail(err, UMBEL_E_RANGE,
                       "the threshold must be 1..%" PRIu64 ", as far as cells "
                       "of %" PRIu32 " bits count; got %" PRIu64,
                       limit, section[0].cell_bits, threshold);
    if (threshold > MOST_THRESHOLD)
        return um_fail(err, UMBEL_E_RANGE,
                       "thresholds above %d are not worked out",
                       MOST_THRESHOLD);
    return UMBEL_OK;
}

/* Such counts hold less than all that came: nothing can be taken back. */
static bool raises_the_least(const um_shape *s)
{
    const um_row_counting *row = s->kind->counting;
    return row->may_remove && row->may_remove(s, NULL) != UMBEL_OK;
}

umbel_status umbel_plan_counts(const char *kind, const umbel_params *params,
                               uint64_t threshold, const uint64_t *counts,
                               size_t n, umbel_count_plan *out,
                               umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];
    um_layout l;
    um_shape s;
    shares p;

    UM_TRY(um_shape_from_params(kind, params, &s, err));
    UM_TRY(want_counts(&s, threshold, err));
    UM_TRY(um_solve_size(&s, err));
    um_layout_init(&l, s.addressing, s.cells, s.hashes, s.seed);
    fill_shares(counts, n, threshold, &p);
    s.kind->sections(&s, section);
    double throws = (double)p.keys * s.hashes, cells = (double)s.cells;
    double full = ldexp(1, (int)section[0].cell_bits);
    *out = (umbel_count_plan){
        .keys = p.keys,
        .f_compound = compound(&l, &p, threshold),
        .is_bound = raises_the_least(&s) && l.blocks == 1,
        .f_paper =
            pow(binomial_tail(throws, 1 / cells, (double)threshold), s.hashes),
        .overflow = fmin(1, cells * binomial_tail(throws, 1 / cells, full)),
        .overflow_bound = overflow_bound(cells, throws / cells, full),
    };
    return UMBEL_OK;
}

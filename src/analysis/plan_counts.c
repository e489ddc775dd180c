/*
 * plan_counts.c - the probability that a key that was never added has a count
 * of T or more.
 *
 * A cell is hit by a Poisson number of keys, with mean L = k n / m, and each
 * adds its count, so the content of the cell is compound Poisson. With p_j the
 * share of keys that were added j times, Panjer's recursion gives the
 * probability g_s of content s:
 *
 *     g_0 = exp(-L),   g_s = L/s  sum over j of  j p_j g_(s-j)
 *
 * and a key with k cells reaches T with probability P(content >= T)^k. In
 * blocks the load varies from block to block, and one key that was added often
 * may hold several cells of another (see below); the result is the mean over
 * both. For plain counts this is an estimate. Refined cells contain less, so
 * without blocks it is an upper bound for them.
 *
 * Equation (4) of Yan and Cho 2006, which assumes that every key is added once,
 * is reported, too. Section 2.5 of the survey gives the probability that a cell
 * overflows, also for keys that are added once.
 */
#include "analysis/analysis.h"

#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MAX_THRESHOLD = UM_MAX_THRESHOLD,
    N = UM_MAX_HASHES + 1,
    WIDE = 12 /* standard deviations of a block's load */
};

#define NOTHING 1e-15

/* Below this, 1 minus a sum has lost too many digits. */
#define CANCELS 1e-7
/* Beyond this load exp(-L) would underflow. */
#define MAX_LOAD 700

/* --- cells of a key that other keys of its block hold --------------------- */

/*
 * Keys of a block share few cells, so one of them holds several cells of
 * another more often than if cells were independent. Here the other keys are
 * added one after the other. The number of the key's cells that each of them
 * hits follows from the lanes that both use; which ones is assumed random.
 */

/* Adds a lane to the distribution; its balls may share cells. */
static void join_lane(double cells[N], uint32_t balls, double width)
{
    double lane[N + 1] = {1}, sum[N] = {0};

    for (uint32_t b = 0; b < balls; b++)
        for (uint32_t d = b + 2; d-- > 0;)
            lane[d] = lane[d] * d / width +
                      (d ? lane[d - 1] * (1 - (d - 1) / width) : 0);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t d = 0; d <= balls && i + d < N; d++)
            sum[i + d] += cells[i] * lane[d];
    memcpy(cells, sum, sizeof sum);
}

/* Computes the distribution of the number of cells of a key. */
static void count_cells(const um_layout *l, double cells[N])
{
    memset(cells, 0, N * sizeof *cells);
    cells[0] = 1;
    for (uint32_t i = 0; i < l->lanes; i++)
        join_lane(cells, l->throws + (i < l->extra), (double)l->width);
}

/* Returns the mean number of cells of a key: two of its hashes may choose the
 * same. */
static double cells_of_key(const um_layout *l)
{
    double cells[N], mean = 0;

    count_cells(l, cells);
    for (uint32_t i = 0; i < N; i++)
        mean += i * cells[i];
    return mean;
}

/* Returns the number of lanes in which both keys have extra cells, if the other
 * key begins `further` lanes later. */
static uint32_t shared_lanes(const um_layout *l, uint32_t further)
{
    uint32_t e = l->extra, back = l->lanes - further;

    return (e > further ? e - further : 0) + (e > back ? e - back : 0);
}

static void add_binomial(double n, double p, double weight, double out[N])
{
    double term = weight * pow(1 - p, n);

    for (uint32_t i = 0; i <= (uint32_t)n; i++) {
        out[i] += term;
        term *= (n - i) / (i + 1) * p / (1 - p);
    }
}

/* Sets hits[i] to the probability that another key hits i of the cells. */
static void count_hits(const um_layout *l, uint32_t cells, double hits[N])
{
    double width = (double)l->width, t = l->throws, e = l->extra;
    double often = 1 - pow(1 - 1 / width, t + 1);
    double seldom = 1 - pow(1 - 1 / width, t);

    memset(hits, 0, N * sizeof *hits);
    for (uint32_t i = 0; i < l->lanes; i++) {
        double both = shared_lanes(l, i);
        double many = both * (t + 1) + (e - both) * t; /* cells hit often */
        double p = (many * often + (l->hashes - many) * seldom) / l->hashes;
        if (l->throws)
            add_binomial(cells, p, 1.0 / l->lanes, hits);
        else
            add_binomial(both, often, 1.0 / l->lanes, hits);
    }
}

static double ln_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Sets to[v] to the probability that v of u spare cells stay spare after one
 * more key. */
static void fill_row(const double hits[N], uint32_t cells, uint32_t u,
                     double to[N])
{
    memset(to, 0, N * sizeof *to);
    for (uint32_t h = 0; h <= cells; h++)
        for (uint32_t c = 0; c <= h && c <= u; c++)
            if (h - c <= cells - u)
                to[u - c] += hits[h] *
                             exp(ln_choose(u, c) + ln_choose(cells - u, h - c) -
                                 ln_choose(cells, h));
}

static void one_more(double step[N][N], uint32_t cells, double now[N])
{
    double next[N] = {0};

    for (uint32_t u = 0; u <= cells; u++)
        for (uint32_t v = 0; v <= u; v++)
            next[v] += now[u] * step[u][v];
    memcpy(now, next, sizeof next);
}

static double poisson(double mean, double n)
{
    return mean > 0 ? exp(n * log(mean) - mean - lgamma(n + 1)) : n == 0;
}

/* Adds the distribution of spare cells for keys with that many cells. Ends when
 * no cell is spare, since further keys change nothing then. */
static void add_spare(const um_layout *l, uint32_t cells, double mean,
                      double weight, double spare[N])
{
    double hits[N], step[N][N], now[N] = {0}, later = 1;
    double most = mean + WIDE * sqrt(mean) + WIDE;

    count_hits(l, cells, hits);
    for (uint32_t u = 0; u <= cells; u++)
        fill_row(hits, cells, u, step[u]);
    now[cells] = 1;
    for (uint64_t keys = 0; (double)keys <= most && 1 - now[0] > NOTHING;
         keys++) {
        double chance = poisson(mean, (double)keys);
        later -= chance;
        for (uint32_t u = 0; u <= cells; u++)
            spare[u] += weight * chance * now[u];
        one_more(step, cells, now);
    }
    if (1 - now[0] <= NOTHING)
        spare[0] += weight * fmax(0, later);
}

/*
 * Sets spare[u] to the probability that u cells of a key are not held by any
 * other key of its block; their number is Poisson distributed with that mean.
 */
static void count_spare(const um_layout *l, double mean, double spare[N])
{
    double cells[N];

    memset(spare, 0, N * sizeof *spare);
    count_cells(l, cells);
    for (uint32_t i = 1; i < N; i++)
        if (cells[i] > 0)
            add_spare(l, i, mean, cells[i], spare);
}

/* --- contents of cells ---------------------------------------------------- */

/* times[j] is the share of keys that were added j times; the last one: j or
 * more. */
typedef struct shares {
    double times[MAX_THRESHOLD + 1];
    uint64_t keys; /* added at least once */
} shares;

static void fill_shares(const uint64_t *times, uint64_t threshold, shares *out)
{
    memset(out, 0, sizeof *out);
    for (uint64_t j = 1; j <= threshold; j++)
        out->keys += times[j];
    for (uint64_t j = 0; j <= threshold; j++)
        out->times[j] = (double)times[j] / (out->keys ? (double)out->keys : 1);
}

/*
 * Returns P(content >= T) caused by keys that were added less than T times, if
 * all keys together cause that load. If the result is close to 0, the terms
 * from T on are summed instead, to avoid cancellation.
 */
static double adds_up(const shares *p, uint64_t threshold, double load)
{
    double g[2 * MAX_THRESHOLD], below = 0, tail = 0;

    if (load > MAX_LOAD)
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

/* Returns P(content >= T): a single count of T or more suffices. */
static double reaches(const shares *p, uint64_t threshold, double load)
{
    double alone = -expm1(-load * p->times[threshold]);

    return alone + (1 - alone) * adds_up(p, threshold, load);
}

/*
 * Returns the mean over blocks. Keys that were added T times or more hold cells
 * of the queried key, several at once; its spare cells must reach T from the
 * other keys, whose number varies from block to block, independently of the
 * first.
 */
static double over_blocks(const um_layout *l, const shares *p,
                          uint64_t threshold)
{
    double spare[N], sum = 0, total = 0;
    double keys = (double)p->keys / (double)l->blocks;
    double rare = 1 - p->times[threshold], mean = keys * rare;
    double cells = (double)l->cells / (double)l->blocks;
    double reach = WIDE * sqrt(mean) + WIDE;
    double from = floor(fmax(0, mean - reach)), to = ceil(mean + reach);
    double step = fmax(1, floor((to - from) / 256));
    double load = rare > 0 ? cells_of_key(l) / cells / rare : 0;

    count_spare(l, keys - mean, spare);
    for (int i = 0; from + i * step <= to; i++) {
        double j = from + i * step;
        double weight = poisson(mean, j);
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

/* Returns P(X >= j), X ~ Binomial(n, p). Sums from the first term on, which is
 * the largest unless j is below the mean. */
static double binomial_tail(double n, double p, double j)
{
    double term, sum = 0;

    if (j > n)
        return 0;
    if (j <= n * p) { /* below the mean: 1 minus the lower terms */
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

/* Returns the bound of survey 2.5, m (e L / j)^j; L is at most ln 2 for a good
 * filter. */
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
    if (threshold > MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_RANGE,
                       "thresholds above %d are not worked out", MAX_THRESHOLD);
    return UMBEL_OK;
}

/* Returns true if an addition raises only the smallest cells of a key. Such
 * counts contain less than all additions, so keys cannot be removed. */
static bool raises_the_least(const um_shape *s)
{
    const um_row_counting *row = s->kind->counting;
    return row->may_remove && row->may_remove(s, NULL) != UMBEL_OK;
}

/* Plans kinds that store entries: a key that was never added is taken for any
 * of the others. */
static umbel_count_plan plan_entries(const um_shape *s, const shares *p,
                                     uint64_t threshold)
{
    double error = um_shape_error(s, (double)p->keys);

    return (umbel_count_plan){.keys = p->keys,
                              .f_compound = error * p->times[threshold],
                              .f_paper = NAN,
                              .overflow = NAN,
                              .overflow_bound = NAN};
}

umbel_status um_plan_times(const um_shape *s, uint64_t threshold,
                           const uint64_t *times, umbel_count_plan *out,
                           umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];
    um_layout l;
    shares p;

    UM_TRY(want_counts(s, threshold, err));
    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    fill_shares(times, threshold, &p);
    if (s->kind->entries) {
        *out = plan_entries(s, &p, threshold);
        return UMBEL_OK;
    }
    s->kind->sections(s, section);
    double throws = (double)p.keys * s->hashes, cells = (double)s->cells;
    double full = ldexp(1, (int)section[0].cell_bits);
    *out = (umbel_count_plan){
        .keys = p.keys,
        .f_compound = compound(&l, &p, threshold),
        .is_bound = raises_the_least(s) && l.blocks == 1,
        .f_paper =
            pow(binomial_tail(throws, 1 / cells, (double)threshold), s->hashes),
        .overflow = fmin(1, cells * binomial_tail(throws, 1 / cells, full)),
        .overflow_bound = overflow_bound(cells, throws / cells, full),
    };
    return UMBEL_OK;
}

umbel_status umbel_plan_counts(const char *kind, const umbel_params *params,
                               uint64_t threshold, const uint64_t *counts,
                               size_t n, umbel_count_plan *out,
                               umbel_error *err)
{
    uint64_t times[UM_MAX_THRESHOLD + 1] = {0};
    um_shape s;

    UM_TRY(um_shape_from_params(kind, params, &s, err));
    UM_TRY(want_counts(&s, threshold, err));
    UM_TRY(um_solve_size(&s, err));
    for (size_t i = 0; i < n; i++)
        times[counts[i] < threshold ? counts[i] : threshold]++;
    return um_plan_times(&s, threshold, times, out, err);
}

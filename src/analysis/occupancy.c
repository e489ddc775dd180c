/*
 * occupancy.c - bounds on the tails of the number of cells in use.
 *
 * P(U >= u) <= E exp(xU) exp(-xu) for every x > 0 (Chernoff). The expectation
 * has to be known, or bounded from above:
 *
 * Balls in a lane. N balls fall on w cells. With S the Stirling numbers of the
 * second kind, the exponential generating function over N of E exp(xU) is (1 +
 * e^x (e^y - 1))^w, and a coefficient of a power series with positive terms is
 * at most its value divided by the power, at any y > 0. At the best y this
 * loses a factor of about sqrt(2 pi N), but nothing in the exponent. For narrow
 * lanes there is a table of the exact distribution instead, computed ball by
 * ball. (If some cells are likelier than others, fewer cells are used, so the
 * table for equal cells is a bound there, too.)
 *
 * Lanes in a block of j keys. The numbers of balls in the lanes add up to j k.
 * ln E exp(xU) of a lane is concave in its balls: one more ball multiplies it
 * by 1 + (e^x - 1) (1 - u/w), where u is the mean of U under the weights
 * exp(xU), and u grows with the balls since the table S is totally positive. So
 * the value of a block is largest if its balls are spread evenly, which is
 * assumed.
 *
 * Blocks of a filter. Keys fall on blocks as balls on cells: the same series,
 * over the keys that a block may get.
 *
 * Too few. Replacing a key changes U by at most k: McDiarmid's inequality. If
 * all throws are independent, it is applied to throws instead of keys. The same
 * inequality bounds too many, if the cells of a key depend on each other.
 *
 * The mean error of blocks. The loads of blocks are negatively associated, and
 * so are the probabilities of their errors, which grow with the load; so
 * Chernoff's bound holds as if they were independent. Their moments come from
 * the table, with Hoelder's inequality if keys choose lanes; the largest
 * probability from the fill that um_occupancy_block allows. (Two moments would
 * be Bennett's inequality, and allow small filters twice as much.)
 */
#include "analysis/analysis.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

#define TWO_PI 6.283185307179586
/* Throws per cell beyond which all cells are assumed to be in use. */
#define CROWDED 12.0

enum { NARROW = 64 }; /* most cells of a lane that has a table */

/* --- tables --------------------------------------------------------------- */

/* Returns the number of keys in a block beyond which all its cells are assumed
 * to be in use. */
static double max_load(const um_layout *l, double keys)
{
    double mean = keys / (double)l->blocks;

    return l->blocks == 1 ? keys
                          : fmin(keys, ceil(mean + 12 * sqrt(mean) + 60));
}

static void fill_lane(const um_occupancy *t)
{
    size_t width = (size_t)t->layout->width;
    double w = (double)width;

    t->lane[0] = 1;
    for (size_t n = 1; n < t->rows; n++) {
        const double *before = t->lane + (n - 1) * (width + 1);
        double *now = t->lane + n * (width + 1);
        for (size_t u = 1; u <= width; u++)
            now[u] = before[u] * (double)u / w +
                     before[u - 1] * (double)(width - u + 1) / w;
    }
}

/* Fills the binomial distribution of the keys of a block. */
static void fill_loads(const um_occupancy *t)
{
    double p = 1 / (double)t->layout->blocks, n = t->keys;
    double ln_odds = log(p) - log1p(-p), ln = n * log1p(-p);

    for (size_t j = 0; j < t->loads; j++) {
        double x = (double)j;
        t->ln_load[j] = ln;
        t->ln_factorial[j] = j ? t->ln_factorial[j - 1] + log(x) : 0;
        ln += ln_odds + log((n - x) / (x + 1));
    }
}

static void lay_out(um_occupancy *t, size_t lane_len)
{
    t->lane = t->memory;
    t->ln_load = t->lane + lane_len;
    t->ln_factorial = t->ln_load + t->loads;
    t->ln_block = t->ln_factorial + t->loads;
    t->moment[0] = t->ln_block + t->loads;
    t->moment[1] = t->moment[0] + t->rows;
}

/* Limits the number of keys: more would not use more cells. */
static double at_most_enough(const um_layout *l, double keys)
{
    return floor(fmin(keys, ceil(CROWDED * (double)l->cells / l->hashes)));
}

umbel_status um_occupancy_init(um_occupancy *t, const um_layout *l, double keys,
                               const umbel_alloc *alloc, umbel_error *err)
{
    *t = (um_occupancy){.layout = l, .keys = at_most_enough(l, keys)};
    t->full = keys > t->keys + 1;
    t->alloc = *alloc;
    if (l->width > NARROW) {
        t->full |= l->blocks > 1; /* no table, no limit */
        return UMBEL_OK;
    }
    t->loads = (size_t)max_load(l, t->keys) + 1;
    t->rows = (t->loads - 1) * (l->throws + (l->extra > 0)) + 2;
    size_t lane_len = t->rows * ((size_t)l->width + 1);
    t->memory_len = (lane_len + 3 * t->loads + 2 * t->rows) * sizeof *t->memory;
    t->memory = um_get(alloc, t->memory_len);
    if (!t->memory)
        return um_no_memory(err, t->memory_len);
    lay_out(t, lane_len);
    fill_lane(t);
    if (l->blocks > 1)
        fill_loads(t);
    return UMBEL_OK;
}

void um_occupancy_fini(um_occupancy *t)
{
    um_put(&t->alloc, t->memory, t->memory_len);
    t->memory = NULL;
}

/* --- minimising ----------------------------------------------------------- */

typedef double curve(const void *ctx, double x);

/*
 * Minimises a curve that falls, then rises (golden section). Every value of the
 * curve is a valid bound, so an imprecise minimum makes the bound weaker, not
 * wrong.
 */
static double least(curve *f, const void *ctx, double low, double high)
{
    const double golden = 0.6180339887498949;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double fa = f(ctx, a), fb = f(ctx, b);

    for (int i = 0; i < 40; i++) {
        if (fa <= fb) { /* if both are infinite: left */
            high = b, b = a, fb = fa;
            a = high - golden * (high - low), fa = f(ctx, a);
        } else {
            low = a, a = b, fa = fb;
            b = low + golden * (high - low), fb = f(ctx, b);
        }
    }
    return fmin(fa, fb);
}

/* Returns an upper bound of ln(n! (e/n)^n). */
static double stirling(double n)
{
    return 0.5 * log(TWO_PI * n) + 1 / (12 * n);
}

/* --- moments: ln E exp(xU) ------------------------------------------------ */

/* A lane of equally likely cells, except for those that some addressings
 * prefer. */
typedef struct wide_lane {
    double x, balls;
    struct {
        double cells, chance;
    } part[2];
} wide_lane;

/* Returns the bound of the series at exp(s) times the number of balls. */
static double wide_at(const void *ctx, double s)
{
    const wide_lane *w = ctx;
    double sum = stirling(w->balls) + w->balls * (expm1(s) - s);

    for (int i = 0; i < 2; i++)
        sum +=
            w->part[i].cells *
            log1p(expm1(w->x) * -expm1(-w->part[i].chance * w->balls * exp(s)));
    return sum;
}

static double wide_moment(const um_layout *l, double balls, double x)
{
    uint64_t hot = um_model_hot(l), turns = um_range(l) / l->width;
    double range = (double)um_range(l), often = (double)turns;
    wide_lane w = {.x = x,
                   .balls = balls,
                   .part = {{(double)(l->width - hot), 1 / (double)l->width}}};

    if (um_range(l)) {
        w.part[0].chance = often / range;
        w.part[1].cells = (double)hot;
        w.part[1].chance = (often + 1) / range;
    }
    return least(wide_at, &w, -x, 0);
}

/* Returns ln E exp(xU) of a narrow lane: at most 64 cells, x at most MAX_X. */
static double lane_moment(const um_occupancy *t, size_t balls, double x)
{
    size_t width = (size_t)t->layout->width;
    const double *row = t->lane + balls * (width + 1);
    double sum = 0, step = exp(x), power = 1;

    for (size_t u = 0; u <= width; u++, power *= step)
        sum += row[u] * power;
    return log(sum);
}

/* Returns ln E exp(xU) of a block whose balls are spread evenly. */
static double block_moment(const um_occupancy *t, size_t keys, double x)
{
    const um_layout *l = t->layout;
    size_t balls = keys * l->hashes, more = balls % l->lanes;
    double even = lane_moment(t, balls / l->lanes, x);

    if (more == 0)
        return l->lanes * even;
    return (double)(l->lanes - more) * even +
           (double)more * lane_moment(t, balls / l->lanes + 1, x);
}

static void fill_moments(const um_occupancy *t, double x)
{
    for (size_t j = 0; j < t->loads; j++)
        t->ln_block[j] = block_moment(t, j, x);
}

typedef struct many_blocks {
    const um_occupancy *t;
    double x;
} many_blocks;

/* Returns exp(a) (exp(b) - 1), without cancellation and early overflow. */
static double less_one(double a, double b)
{
    return b < 1 ? exp(a) * expm1(b) : exp(a + b) - exp(a);
}

/* Returns the bound of the series at exp(s) times the number of keys. */
static double blocks_at(const void *ctx, double s)
{
    const many_blocks *m = ctx;
    const um_occupancy *t = m->t;
    double blocks = (double)t->layout->blocks;
    double load = t->keys / blocks * exp(s), ln_load = log(load), sum = 0;

    for (size_t j = 1; j < t->loads; j++)
        sum += less_one((double)j * ln_load - load - t->ln_factorial[j],
                        t->ln_block[j]);
    if ((double)t->loads <= t->keys) { /* loads beyond the table */
        double j = (double)t->loads;
        double rest = j * ln_load - load - t->ln_factorial[t->loads - 1] -
                      log(j) - log1p(-load / (j + 1));
        sum += exp(rest + m->x * (double)t->layout->cells / blocks);
    }
    return stirling(t->keys) + t->keys * (expm1(s) - s) + blocks * log1p(sum);
}

static double moment(const um_occupancy *t, double x)
{
    const um_layout *l = t->layout;

    if (!t->lane)
        return l->lanes * wide_moment(l, t->keys * l->throws, x);
    if (l->blocks == 1)
        return block_moment(t, (size_t)t->keys, x);
    fill_moments(t, x);
    return least(blocks_at, &(many_blocks){t, x}, -x * l->hashes, 0);
}

/* --- tails ---------------------------------------------------------------- */

#define LEAST_X 1e-10
#define MAX_X 8.0 /* exp(64 * 8) does not overflow */

typedef struct above {
    const um_occupancy *t;
    double used;
} above;

static double above_at(const void *ctx, double ln_x)
{
    const above *a = ctx;
    double x = exp(ln_x);

    return moment(a->t, x) - x * a->used;
}

/* Bounds the probability that U deviates by `off` or more to one side
 * (McDiarmid). */
static double strays(const um_layout *l, double keys, double off)
{
    double k = l->hashes;
    bool single = l->blocks == 1 && l->extra == 0 && !um_classes(l, NULL);

    return off > 0 ? -2 * off * off / (keys * (single ? k : k * k)) : 0;
}

static double mean_used(const um_layout *l, double keys)
{
    return um_model_fill(l, keys) * (double)l->cells;
}

double um_occupancy_above(const um_occupancy *t, uint64_t used)
{
    above a = {t, (double)used};

    if (t->full)
        return 0;
    if (a.used > t->keys * t->layout->hashes)
        return -INFINITY;
    if (um_classes(t->layout, NULL))
        return strays(t->layout, t->keys,
                      a.used - mean_used(t->layout, t->keys));
    return fmin(least(above_at, &a, log(LEAST_X), log(MAX_X)), 0);
}

double um_occupancy_below(const um_layout *l, double keys, uint64_t used)
{
    double n = at_most_enough(l, keys);

    return strays(l, n, mean_used(l, n) - (double)used);
}

static double block_at(const void *ctx, double ln_x)
{
    const above *a = ctx;
    const um_occupancy *t = a->t;
    double x = exp(ln_x), sum = 0;

    fill_moments(t, x);
    for (size_t j = 0; j < t->loads; j++)
        sum += exp(t->ln_load[j] + t->ln_block[j] - x * a->used);
    return sum > 0 ? log(sum) : -INFINITY;
}

/* Bounds the probability that a block has more keys than the table covers. */
static double rest_of_loads(const um_occupancy *t)
{
    double last = (double)t->loads - 1,
           mean = t->keys / (double)t->layout->blocks;

    if (last >= t->keys)
        return 0;
    return exp(t->ln_load[t->loads - 1]) / (1 - mean / (last + 1));
}

double um_occupancy_block(const um_occupancy *t, uint64_t used)
{
    above a = {t, (double)used};

    if (t->full)
        return 0;
    double ln = least(block_at, &a, log(LEAST_X), log(MAX_X));
    return fmin(log(exp(ln) + rest_of_loads(t)), 0);
}

/* --- errors --------------------------------------------------------------- */

/* Returns the smallest number of used cells for which a block is refused, or
 * all its cells. */
static uint64_t max_used(const um_occupancy *t)
{
    double limit = log(UM_TAIL_BLOCKS / (double)t->layout->blocks);
    uint64_t low = 0, high = t->layout->cells / t->layout->blocks;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (um_occupancy_block(t, mid) < limit)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/*
 * Returns the largest probability of an error in a block with `used` cells in
 * use. The product of powers of the lanes' fills is largest if the fills are
 * proportional to their exponents.
 */
static double max_chance(const um_occupancy *t, uint64_t used)
{
    const um_layout *l = t->layout;
    double k = l->hashes, once = l->throws, more = once + 1, e = l->extra;
    double ln = k * log((double)used / ((double)l->width * k));

    ln += e * more * log(more);
    if (once > 0)
        ln += (l->lanes - e) * once * log(once);
    return fmin(exp(ln), 1);
}

/* Sets out[n] to ln of the mean of the power-th power of the fill of a lane
 * with n balls. */
static void fill_powers(const um_occupancy *t, double *out, double power)
{
    size_t width = (size_t)t->layout->width;
    double fill[NARROW + 1];

    for (size_t u = 0; u <= width; u++)
        fill[u] = pow((double)u / (double)width, power); /* 0^0 is 1 */
    for (size_t n = 0; n < t->rows; n++) {
        double sum = 0;
        for (size_t u = 0; u <= width; u++)
            sum += t->lane[n * (width + 1) + u] * fill[u];
        out[n] = log(sum);
    }
}

/*
 * Returns the mean of a lane's moment, to the power of the number of lanes,
 * over the number of extra balls that j keys throw into it. The rare tails are
 * bounded by 1.
 */
static double over_extra(const um_occupancy *t, const double *ln_moment,
                         size_t j)
{
    const um_layout *l = t->layout;
    double p = l->extra / (double)l->lanes, n = (double)j;
    double reach = 12 * sqrt(n * p * (1 - p)) + 40, sum = 0, inside = 0;
    size_t from = n * p > reach ? (size_t)(n * p - reach) : 0;

    if (l->extra == 0)
        return exp(l->lanes * ln_moment[j * l->throws]);
    double ln = t->ln_factorial[j] - t->ln_factorial[from] -
                t->ln_factorial[j - from] + (double)from * log(p) +
                (n - (double)from) * log1p(-p);
    for (size_t i = from; i <= j && (double)i <= n * p + reach; i++) {
        inside += exp(ln);
        sum += exp(ln + l->lanes * ln_moment[j * l->throws + i]);
        ln += log((n - (double)i) / ((double)i + 1)) + log(p) - log1p(-p);
    }
    return sum + fmax(1 - inside, 0);
}

/* Returns the mean of the power-th power of the probability of an error in a
 * block. */
static double mean_power(const um_occupancy *t, double power)
{
    const um_layout *l = t->layout;
    double share = l->extra / (double)l->lanes, sum = rest_of_loads(t);

    fill_powers(t, t->moment[0], power * l->throws);
    fill_powers(t, t->moment[1], power * (l->throws + 1));
    for (size_t j = 1; j < t->loads; j++) {
        double mean = pow(over_extra(t, t->moment[1], j), share) *
                      pow(over_extra(t, t->moment[0], j), 1 - share);
        sum += exp(t->ln_load[j]) * mean;
    }
    return sum;
}

enum { POWERS = 8 };

/* Moments of the probability of an error in a block, whose maximum is most. */
typedef struct chances {
    double blocks, error, most;
    double power[POWERS + 1]; /* [i]: divided by most^i */
} chances;

/*
 * Bounds E exp(xg): the first terms of the series exactly; all other terms,
 * powers of g/most below 1, with the last known moment.
 */
static double chances_at(const void *ctx, double ln_x)
{
    const chances *c = ctx;
    double x = exp(ln_x) * c->most, term = 1, rest = expm1(x), sum = 0;

    for (int i = 1; i < POWERS; i++) {
        term *= x / i;
        rest -= term;
        sum += term * c->power[i];
    }
    sum += fmax(rest, 0) * c->power[POWERS];
    return c->blocks * (log1p(sum) - exp(ln_x) * c->error);
}

double um_occupancy_error(const um_occupancy *t, double error)
{
    double mean = um_model_error(t->layout, t->keys);
    chances c = {.blocks = (double)t->layout->blocks, .error = error};

    if (t->full || error <= mean)
        return 0;
    c.most = max_chance(t, max_used(t));
    c.power[1] = mean / c.most;
    for (int i = 2; i <= POWERS; i++)
        c.power[i] = fmin(mean_power(t, i) / pow(c.most, i), c.power[i - 1]);
    return fmin(least(chances_at, &c, log(1e-6 / c.most), log(64 / c.most)), 0);
}

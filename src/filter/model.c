/*
 * model.c - what follows from how keys fall on cells.
 *
 * The layout's numbers (filter/addressing.h) give, for one key that went
 * to a block, the chance that it leaves one cell of a lane alone, or two cells
 * of one lane, or one cell in each of two lanes:
 *
 *     one   = (1 - 1/w)^t  (1 - e/(L w))            w width, t throws,
 *     twin  = (1 - 2/w)^t  (1 - 2e/(L w))           e extra, L lanes
 *     apart = (1 - 1/w)^2t (1 - 2e/(L w) + e(e-1)/(L(L-1) w^2))
 *
 * Keys are independent, so after n of them these are powers; with more than one
 * block a key comes by with chance 1/blocks. From there: the error, summed
 * exactly over the loads a block may have; the fill; and the covariance of the
 * unused cells of two filters, summed exactly over all pairs of cells.
 *
 * What is not exact: inside a lane the u-th moment of the fill is exact for
 * u <= 2 (so up to 16 hashes in blocks) and else taken as if the logarithm of
 * the fill were normal. That overstates the error of filters for a handful of
 * keys, up to 1.8 times for a single one, and understated it in no case tried.
 * Lanes are taken as independent where keys choose extra lanes and extra.c does
 * not reach. Covariances take the mean over the distances of two lanes, and
 * leave out the bias of addressings that reduce mod m.
 */
#include "filter/classes.h"
#include "filter/extra.h"

#include <math.h>

/* Below this error the exact sum loses too many digits. */
#define EXACT_FROM 1e-12
/* Keys in a block of at most 512 cells from which on all blocks are alike. */
#define CROWDED 1e5
/* A load so much rarer than the commonest does not matter. */
#define NEGLIGIBLE 1e-20

/* Logarithms of one, twin and apart. */
typedef struct avoid {
    double one, twin, apart;
} avoid;

static avoid avoidance(const um_layout *l)
{
    double w = (double)l->width, t = l->throws, lanes = l->lanes;
    double e = l->extra / lanes;
    double both = lanes > 1 ? e * (l->extra - 1.0) / (lanes - 1) : 0;

    if (l->extra == 0)
        both = 0;
    return (avoid){
        .one = t * log1p(-1 / w) + log1p(-e / w),
        .twin = t * log1p(-2 / w) + log1p(-2 * e / w),
        .apart = 2 * t * log1p(-1 / w) + log1p(-2 * e / w + both / (w * w)),
    };
}

/* exp(x * y), where y = -inf (a lane of one cell) and x = 0 give 1. */
static double power(double x, double y)
{
    return x == 0 ? 1 : exp(x * y);
}

/*
 * Cells that come as a uniform number below range, mod width, are not alike:
 * the first (range mod width), the hot ones, are likelier than the others.
 */
typedef struct bias {
    double hot, cold;     /* how many */
    double p_hot, p_cold; /* chance of one of them, per throw */
} bias;

static bias bias_of(const um_layout *l)
{
    uint64_t turns = um_range(l) / l->width;
    double range = (double)um_range(l), often = (double)turns;
    double hot = (double)(um_range(l) % l->width);

    return (bias){hot, (double)l->width - hot, (often + 1) / range,
                  often / range};
}

/* Returns the probability that a throw hits a used cell after n throws. */
static double biased_hit(const um_layout *l, double throws)
{
    bias b = bias_of(l);
    return b.hot * b.p_hot * -expm1(throws * log1p(-b.p_hot)) +
           b.cold * b.p_cold * -expm1(throws * log1p(-b.p_cold));
}

/* Returns the expected share of used cells after n throws. */
static double biased_fill(const um_layout *l, double throws)
{
    bias b = bias_of(l);
    return (b.hot * -expm1(throws * log1p(-b.p_hot)) +
            b.cold * -expm1(throws * log1p(-b.p_cold))) /
           (double)l->width;
}

uint64_t um_model_hot(const um_layout *l)
{
    return um_range(l) ? um_range(l) % l->width : 0;
}

double um_model_hit(const um_layout *l, uint64_t used_hot, uint64_t used)
{
    if (!um_range(l))
        return (double)used / (double)l->width;
    bias b = bias_of(l);
    return (double)used_hot * b.p_hot + (double)(used - used_hot) * b.p_cold;
}

/* Chance that u throws of a query all meet used cells of a lane. */
static double lane_hit(double fill, double variance, uint32_t u)
{
    if (u == 0)
        return 1;
    if (fill <= 0)
        return 0;
    double hit = pow(fill, u), more = variance / (fill * fill);
    if (u == 2)
        hit *= 1 + more;
    else
        hit *= exp(u * (u - 1.0) / 2 * more);
    return hit < 1 ? hit : 1;
}

/* Chance that all throws of a query meet used cells in a block of load keys. */
static double block_hit(const um_layout *l, const avoid *a, double load)
{
    double w = (double)l->width;
    double empty = power(load, a->one), twin = power(load, a->twin);
    double variance = empty / w + (1 - 1 / w) * twin - empty * empty;
    double fill =
        um_range(l) ? biased_hit(l, load * l->throws) : -expm1(load * a->one);

    if (load == 0)
        return 0;
    if (variance < 0)
        variance = 0;
    return pow(lane_hit(fill, variance, l->throws + 1), l->extra) *
           pow(lane_hit(fill, variance, l->throws), l->lanes - l->extra);
}

/*
 * Mean of block_hit over the binomial distribution of a block's load, from its
 * middle outwards until the rest cannot matter. The weights are relative to the
 * middle's, and their sum divides in the end: their own formula would lose
 * digits in large filters.
 */
static double over_loads(const um_layout *l, const avoid *a, double keys)
{
    double p = 1 / (double)l->blocks, odds = p / (1 - p);
    double mode = floor(keys * p);

    if (mode > CROWDED)
        return block_hit(l, a, mode);
    double sum = 0, total = 0, weight = 1;
    for (double j = mode; j >= 0 && weight > NEGLIGIBLE; j--) {
        sum += weight * block_hit(l, a, j);
        total += weight;
        weight *= j / ((keys - j + 1) * odds);
    }
    weight = 1;
    for (double j = mode; j < keys && weight > NEGLIGIBLE;) {
        weight *= (keys - j) / (j + 1) * odds;
        j++;
        sum += weight * block_hit(l, a, j);
        total += weight;
    }
    return sum / total;
}

double um_model_error(const um_layout *l, double keys)
{
    avoid a = avoidance(l);

    if (keys <= 0)
        return 0;
    if (keys < 1) /* the variance would be that of rounding */
        return keys * um_model_error(l, 1);
    double sum = l->blocks == 1 ? block_hit(l, &a, keys)
                                : over_loads(l, &a, floor(keys));
    if (um_extra_can(l) && sum > EXACT_FROM)
        sum = um_extra_error(l, floor(keys), sum);
    if (um_classes(l, NULL))
        sum = um_classes_error(l, keys, sum);
    return sum < 1 ? sum : 1;
}

/* ln of the chance that one key leaves a given cell of all blocks alone. */
static double ln_untouched(const um_layout *l, double ln_in_block)
{
    if (l->blocks == 1)
        return ln_in_block;
    return log1p(expm1(ln_in_block) / (double)l->blocks);
}

double um_model_fill(const um_layout *l, double keys)
{
    avoid a = avoidance(l);

    if (keys <= 0)
        return 0;
    if (um_range(l))
        return biased_fill(l, keys * l->throws);
    return -expm1(keys * ln_untouched(l, a.one));
}

/* The same backwards; without bias there is a formula. */
static double biased_keys(const um_layout *l, double fill)
{
    double low = 0, high = 1;

    while (um_model_fill(l, high) < fill && high < 1e18)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        double mid = (low + high) / 2;
        if (um_model_fill(l, mid) < fill)
            low = mid;
        else
            high = mid;
    }
    return high;
}

double um_model_keys(const um_layout *l, uint64_t used)
{
    avoid a = avoidance(l);

    if (used >= l->cells)
        return INFINITY;
    if (um_range(l) && used)
        return biased_keys(l, (double)used / (double)l->cells);
    return log1p(-(double)used / (double)l->cells) / ln_untouched(l, a.one);
}

double um_model_slope(const um_layout *l, double keys)
{
    avoid a = avoidance(l);
    double ln_one = ln_untouched(l, a.one);

    return 1 / ((double)l->cells * power(keys, ln_one) * ln_one);
}

/*
 * Where classes follow from each other: what pairs of cells whose classes are d
 * steps apart add. A key that has the one, with k - d others behind it, has the
 * other with chance 1/q instead of about none.
 */
static double along_cycle(const um_layout *l, double shared)
{
    double m = (double)l->cells, q = m / (double)um_classes(l, NULL), sum = 0;

    for (uint32_t d = 1; d < l->hashes && d < um_classes(l, NULL); d++)
        sum += 2 * q * expm1(shared * (l->hashes - d) / (m * q));
    return sum;
}

double um_model_covariance(const um_layout *l, double a, double b,
                           double shared)
{
    avoid v = avoidance(l);
    double m = (double)l->cells, w = (double)l->width;
    double block = w * l->lanes;
    double one = ln_untouched(l, v.one);
    const struct {
        double pairs, ln_both;
    } classes[] = {
        {1, one}, /* a cell and itself */
        {w - 1, ln_untouched(l, v.twin)},
        {block - w, ln_untouched(l, v.apart)},
        {m - block,
         l->blocks > 1 ? log1p(2 * expm1(v.one) / (double)l->blocks) : 2 * one},
    };

    double sum = 0;
    for (size_t i = 0; i < 4; i++)
        if (classes[i].pairs > 0)
            sum += classes[i].pairs *
                   expm1(shared * (classes[i].ln_both - 2 * one));
    if (um_classes(l, NULL))
        sum += along_cycle(l, shared);
    return m * sum * power(a + b, one);
}

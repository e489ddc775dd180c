/*
 * model.c - predicts error and fill from how keys are mapped to cells.
 *
 * The layout (addressing.h) gives, for one key in a block, the probability that
 * it misses one given cell of a lane, or two cells of one lane, or one cell in
 * each of two lanes:
 *
 *     one   = (1 - 1/w)^t  (1 - e/(L w))            w width, t throws,
 *     twin  = (1 - 2/w)^t  (1 - 2e/(L w))           e extra, L lanes
 *     apart = (1 - 1/w)^2t (1 - 2e/(L w) + e(e-1)/(L(L-1) w^2))
 *
 * Keys are independent, so after n of them these are powers; with several
 * blocks, a key selects a block with probability 1/blocks. From these follow
 * the error, summed exactly over the loads a block may have; the fill; and the
 * covariance of the unused cells of two filters, summed exactly over all pairs
 * of cells.
 *
 * Approximations: inside a lane the u-th moment of the fill is exact for u <= 2
 * (so up to 16 hashes in blocks); above, the logarithm of the fill is assumed
 * to be normal. That overstates the error of filters with a handful of keys, up
 * to 1.8 times for a single one, and understated it in no case tried. Lanes are
 * assumed to be independent if keys choose extra lanes and the exact sum below
 * is too long. Covariances use the mean over the distances of two lanes, and
 * ignore the bias of addressings that reduce mod m.
 */
#include "filter/addressing/addressing.h"

#include <math.h>

/* --- the exact error if keys choose lanes for their extra throws -----------
 *
 * Such lanes are not independent: a key that hits one misses another, so the
 * product of single lanes (below) is up to 1.3 % too low or 4 % too high, as
 * measured. Inclusion and exclusion is exact. In a lane of width w, the
 * probability that u throws of a query hit used cells is a sum of powers of the
 * probability that a key's throw misses s given cells:
 *
 *     u = 1:  1 - a(1)^t              a(s) = 1 - s/w, after t throws
 *     u = 2:  1 - (2 - 1/w) a(1)^t + (1 - 1/w) a(2)^t
 *
 * Multiplied over the lanes this is a sum of terms c * g^load, where g is the
 * mean of products over the lanes a key may start at; and the mean of g^load
 * over the loads of a block has the closed form (1 - (1-g)/blocks)^keys. The
 * terms nearly cancel, so they are summed in long double.
 */

enum { LANES = 8, MAX_THROWS = 2 };

typedef struct expansion {
    const um_layout *layout;
    double keys;
    bool tiny; /* the result is tiny, so every digit counts */
    long double coefficient[MAX_THROWS + 1][MAX_THROWS + 1]; /* [u][s] */
    long double sum; /* of terms that nearly cancel */
} expansion;

/* A choice of s for each lane before this one. */
typedef struct term {
    long double coefficient;
    long double base;         /* product of a(s)^throws */
    long double extra[LANES]; /* per start: product of a(s) over its lanes */
} term;

/* Returns the mean of g^load. exp and log1p in double suffice for errors that
 * are not tiny, and cost a tenth. */
static long double mean_power(const expansion *x, long double g)
{
    long double part = (g - 1) / (long double)x->layout->blocks;

    if (x->tiny)
        return expl(x->keys * log1pl(part));
    return exp(x->keys * log1p((double)part));
}

static void add_term(expansion *x, const term *t)
{
    long double g = 0;

    for (int start = 0; start < LANES; start++)
        g += t->extra[start];
    x->sum += t->coefficient * mean_power(x, g * t->base / LANES);
}

static bool covers(const um_layout *l, int start, int lane)
{
    return (uint32_t)((lane - start + LANES) % LANES) < l->extra;
}

/* Adds all terms from this lane on. The query starts at lane 0, without loss of
 * generality. */
static void expand(expansion *x, const term *before, int lane)
{
    const um_layout *l = x->layout;

    if (lane == LANES) {
        add_term(x, before);
        return;
    }
    uint32_t u = l->throws + covers(l, 0, lane);
    for (uint32_t s = 0; s <= u; s++) {
        long double alone = 1 - s / (long double)l->width;
        term t = *before;
        t.coefficient *= x->coefficient[u][s];
        for (uint32_t i = 0; i < l->throws; i++)
            t.base *= alone;
        for (int start = 0; start < LANES; start++)
            if (covers(l, start, lane))
                t.extra[start] *= alone;
        expand(x, &t, lane + 1);
    }
}

bool um_extra_can(const um_layout *l)
{
    return l->extra && l->lanes == LANES && l->throws + 1 <= MAX_THROWS;
}

double um_extra_error(const um_layout *l, double keys, double about)
{
    long double w = (long double)l->width;
    expansion x = {.layout = l,
                   .keys = keys,
                   .tiny = about < 1e-6,
                   .coefficient = {{1}, {1, -1}, {1, -(2 - 1 / w), 1 - 1 / w}}};
    term one = {.coefficient = 1, .base = 1};

    for (int start = 0; start < LANES; start++)
        one.extra[start] = 1;
    expand(&x, &one, 0);
    return (double)x.sum;
}

/* --- error of layouts whose classes depend on each other -------------------
 *
 * Classes form cycles, and a key's cells are in k consecutive classes of one
 * cycle. Let X_i be the number of keys that begin in class i: Poisson with mean
 * n/classes. Class j has a cell of each key that began in j-k+1 .. j, L_j in
 * all, and each of its q cells is unused with probability t^L_j, t = 1 - 1/q.
 * So a key that begins in class 1 matches with probability
 *
 *     E prod_j (1 - t^L_j) = sum over A of (-1)^|A| E t^(sum of L_j in A)
 *
 * over the sets A of classes 1 .. k. X_i counts in as many L_j as A has classes
 * among i .. i+k-1, which are the first few or the last few of A, so that
 *
 *     E t^(sum) = product over i of g(number in A),  g(a) = exp(-mean(1 - t^a))
 *
 * and sets of the same size can be summed class by class. The terms of large
 * sets cancel; beyond MAX_CLASSES classes each further one is assumed to match
 * with the same conditional probability as the last one.
 */

enum {
    MAX_CLASSES = 24,
    CLASS_CROWDED = 1000 /* keys that begin in a class, per hash, above which
                            all classes are alike */
};

typedef struct cycle {
    double mean, t;
    uint32_t hashes;
    double g[MAX_CLASSES + 1];
} cycle;

/*
 * Sums the sets of a among the first n classes. Keys that begin before class 1
 * see 1, 2, .. n classes, n as often as the cycle has room for; those after it
 * see n - 1 .. 1.
 */
static double sets_of(const cycle *c, uint32_t n, uint32_t a)
{
    double sum[MAX_CLASSES + 2] = {1};

    for (uint32_t i = 1; i <= n; i++)
        for (uint32_t have = i < a ? i : a; have <= a; have--) {
            double with = have ? sum[have - 1] : 0;
            double often = i < n ? 1 : (double)(c->hashes - n) + 1;
            sum[have] = (sum[have] + with) * pow(c->g[have], often) *
                        (i < n ? c->g[a - have] : 1);
        }
    return sum[a];
}

/* Returns the probability that the first n cells of a key are in use. */
static double classes_chance(const cycle *c, uint32_t n)
{
    double sum = 0;

    for (uint32_t a = 0; a <= n; a++)
        sum += a % 2 ? -sets_of(c, n, a) : sets_of(c, n, a);
    return fmin(fmax(sum, 0), 1);
}

static double chance_of_singles(double mean, double k)
{
    return (k - 1) * exp(-mean * k) * expm1(-mean) - expm1(-mean * k);
}

static double classes_error(const um_layout *l, double keys, double independent)
{
    cycle c = {.mean = keys / (double)um_classes(l, NULL),
               .t = 1 - (double)um_classes(l, NULL) / (double)l->cells,
               .hashes = l->hashes};
    uint32_t n = l->hashes < MAX_CLASSES ? l->hashes : MAX_CLASSES;

    /* For most numbers of classes, a cycle contains a quarter of them. */
    if (c.mean > (double)CLASS_CROWDED * l->hashes ||
        um_classes(l, NULL) / 8 < l->hashes)
        return independent;
    if (um_classes(l, NULL) == l->cells)
        return fmax(chance_of_singles(c.mean, l->hashes), independent);
    for (uint32_t a = 0; a <= MAX_CLASSES; a++)
        c.g[a] = exp(-c.mean * (1 - pow(c.t, a)));
    double all = classes_chance(&c, n),
           before = n > 1 ? classes_chance(&c, n - 1) : 1;
    if (all > 0 && before > all)
        all *= pow(all / before, l->hashes - n);
    return fmax(all, independent);
}

/* --- the model ------------------------------------------------------------ */

/* Below this error the exact sum loses too many digits. */
#define EXACT_FROM 1e-12
/* Keys per block of at most 512 cells above which all blocks are alike. */
#define CROWDED 1e5
/* Loads this much rarer than the most common one are ignored. */
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

/* Returns exp(x * y), and 1 for x = 0 even if y = -inf (a lane of one cell). */
static double power(double x, double y)
{
    return x == 0 ? 1 : exp(x * y);
}

/*
 * If a cell is a uniform number below range, mod width, the first (range mod
 * width) cells, the hot ones, are more likely than the others.
 */
typedef struct bias {
    double hot, cold;     /* numbers of cells */
    double p_hot, p_cold; /* probability of each of them, per throw */
} bias;

static bias bias_of(const um_layout *l)
{
    uint64_t turns = um_range(l) / l->width;
    double range = (double)um_range(l), often = (double)turns;
    double hot = (double)(um_range(l) % l->width);

    return (bias){hot, (double)l->width - hot, (often + 1) / range,
                  often / range};
}

/* Returns the probability that a throw hits a used cell after this many
 * throws. */
static double biased_hit(const um_layout *l, double throws)
{
    bias b = bias_of(l);
    return b.hot * b.p_hot * -expm1(throws * log1p(-b.p_hot)) +
           b.cold * b.p_cold * -expm1(throws * log1p(-b.p_cold));
}

/*
 * Returns the expected share of used cells after n keys. A hash function of
 * universal permutes the numbers below range: different keys have different
 * ones. So a cell that r numbers lead to is unused if no key has one of them.
 */
static double biased_fill(const um_layout *l, double keys)
{
    bias b = bias_of(l);
    double range = (double)um_range(l);
    double ln_hot = keys * log1p(-b.p_hot), ln_cold = keys * log1p(-b.p_cold);

    if (l->row->permutes) {
        double absent = log1p(-fmin(keys / range, 1));
        ln_hot = b.p_hot * range * absent;
        ln_cold = b.p_cold * range * absent;
    }
    return (b.hot * -expm1(l->throws * ln_hot) +
            b.cold * -expm1(l->throws * ln_cold)) /
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

/* Returns the probability that u throws of a query all hit used cells of a
 * lane. */
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

/* Returns the probability that all throws of a query hit used cells in a block
 * with `load` keys. */
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
 * Returns the mean of block_hit over the binomial distribution of a block's
 * load, summed from the mode outwards until the rest is negligible. The weights
 * are relative to that of the mode and normalized at the end: their own formula
 * would lose digits in large filters.
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
    if (keys < 1) /* the variance would be rounding noise */
        return keys * um_model_error(l, 1);
    double sum = l->blocks == 1 ? block_hit(l, &a, keys)
                                : over_loads(l, &a, floor(keys));
    if (um_extra_can(l) && sum > EXACT_FROM)
        sum = um_extra_error(l, floor(keys), sum);
    if (um_classes(l, NULL))
        sum = classes_error(l, keys, sum);
    return sum < 1 ? sum : 1;
}

/* Returns ln of the probability that one key misses a given cell of all
 * blocks. */
static double ln_untouched(const um_layout *l, double ln_in_block)
{
    if (l->blocks == 1)
        return ln_in_block;
    return log1p(expm1(ln_in_block) / (double)l->blocks);
}

/*
 * Returns ln of the probability that a key leaves a given cell of its block
 * unused, also where the formula above is not exact: if hi follows from lo, the
 * second word of a key in blocks depends on the first (addressing.c). With C
 * the factor of um_remix, y = C lo and z = C (hi + lo) = C hi + y:
 *
 *     W0 = y ^ y >> 32                W1 = z ^ z >> 32
 *     high half of z = (1 + C) (high half of y) + what the low half adds
 *
 * 1 + C is a multiple of 4, and the lowest bits of these halves choose the
 * first lane of the extra throws and also, in two lanes of 64 cells and in one
 * of 16, part of the cell. So in these lanes the extra throw does not hit the
 * cell of the first one 1 time in w: with 9 hashes in blocks of 512, never in
 * lane 5. Counting over all values of those bits gives the mean number of cells
 * that a key hits twice. (Lanes of 32 cells do not use those bits, and further
 * words do not depend on each other in this way.)
 */
static double ln_one(const um_layout *l)
{
    static const uint8_t twice64[] = {0, 27, 68, 97, 130, 159, 198, 225};
    static const uint8_t twice16[] = {0, 14, 29, 43, 62, 76, 93, 107};
    double cells = (double)l->width * LANES;

    if (!l->hi_follows || l->lanes != LANES || l->throws != 1)
        return avoidance(l).one;
    if (l->width == 64)
        return log1p(-(l->hashes - twice64[l->extra] / 2048.0) / cells);
    if (l->width == 16)
        return log1p(-(l->hashes - twice16[l->extra] / 256.0) / cells);
    return avoidance(l).one;
}

double um_model_fill(const um_layout *l, double keys)
{
    if (keys <= 0)
        return 0;
    if (um_range(l))
        return biased_fill(l, keys);
    return -expm1(keys * ln_untouched(l, ln_one(l)));
}

/* Inverts biased_fill by bisection; without bias there is a formula. */
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
    if (used >= l->cells)
        return INFINITY;
    if (um_range(l) && used)
        return biased_keys(l, (double)used / (double)l->cells);
    return log1p(-(double)used / (double)l->cells) / ln_untouched(l, ln_one(l));
}

double um_model_slope(const um_layout *l, double keys)
{
    double one = ln_untouched(l, ln_one(l));

    return 1 / ((double)l->cells * power(keys, one) * one);
}

/*
 * Returns the covariance of pairs of cells whose classes are d steps apart on a
 * cycle. A key that has the first one, with k - d cells after it, has the other
 * with probability 1/q instead of almost none.
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
        {1, one}, /* a cell with itself */
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

/*
 * formulas.c - error rates of generalized filters: the equations of the 2011
 * paper, and exact ones for distinct cells.
 */
#include "kinds/generalized/generalized.h"

#include <umbel/experimental/generalized.h>

#include <math.h>

/* --- the equations of the 2011 paper ---------------------------------------
 *
 * Equation numbers are those of the paper. Exponents are k0 and k1 as in (16),
 * not b0 and b1 as in (8) and (11): k0 and k1 reproduce all printed values, b0
 * and b1 do not. The paper's functions may coincide; a bit that one clears and
 * another sets is then clear. Our filters draw distinct cells, for which the
 * model below is exact; with thousands of bits there is no difference.
 */

static bool is_filter(const umbel_generalized *g)
{
    return g->bits >= 1 && g->reset + g->set > 0 && g->zeros >= 0 &&
           g->zeros <= 1 && g->keys >= 0;
}

/* Returns the probability that a bit touched by an insertion becomes 0. (4) to
 * (6) */
static double cleared(const umbel_generalized *g)
{
    double left = log1p(-1 / g->bits);

    if (g->bits <= 1)
        return g->reset ? 1 : 0;
    return expm1(g->reset * left) / expm1((g->reset + g->set) * left);
}

/* Returns the probability that a bit is touched by n keys: 1 - (6)^n. */
static double touched(const umbel_generalized *g, double n)
{
    if (n == 0)
        return 0;
    return -expm1(n * (g->reset + g->set) * log1p(-1 / g->bits));
}

/* Returns a^n; 1 for n = 0, whatever a is. */
static double power(double a, uint32_t n)
{
    return n ? pow(a, n) : 1;
}

double umbel_generalized_zeros(const umbel_generalized *g)
{
    if (!is_filter(g))
        return NAN;
    double t = touched(g, g->keys);
    return g->zeros * (1 - t) + cleared(g) * t;
}

double umbel_generalized_fp(const umbel_generalized *g)
{
    double p = umbel_generalized_zeros(g);

    if (isnan(p))
        return NAN;
    return power(p, g->reset) * power(1 - p, g->set);
}

/* Computes (9) and (10): a bit of a key, touched again with probability t, is
 * as the key left it. */
static double false_negative(double t, double w, uint32_t reset, uint32_t set)
{
    double p00 = reset ? reset * log1p(-(1 - w) * t) : 0;
    double p11 = set ? set * log1p(-w * t) : 0;

    return -expm1(p00 + p11);
}

double umbel_generalized_fn_at(const umbel_generalized *g, double position)
{
    if (!is_filter(g) || !(position >= 0 && position <= g->keys))
        return NAN;
    return false_negative(touched(g, g->keys - position), cleared(g), g->reset,
                          g->set);
}

/* Returns the sum 1 + x + x^2 + .. of n terms, where x = exp(log_x). */
static double geometric(double log_x, double n)
{
    return log_x < 0 ? expm1(n * log_x) / expm1(log_x) : n;
}

static double choose(uint32_t n, uint32_t k)
{
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0));
}

/*
 * The product p00^k0 p11^k1 is a polynomial in x = (6)^i, whose powers sum over
 * all keys as geometric series.
 */
double umbel_generalized_fn(const umbel_generalized *g)
{
    double w = cleared(g), known = 0;
    double step = (g->reset + g->set) * log1p(-1 / g->bits);

    if (!is_filter(g))
        return NAN;
    if (g->keys < 1 || g->reset == 0 || g->set == 0)
        return 0;
    for (uint32_t u = 0; u <= g->reset; u++)
        for (uint32_t v = 0; v <= g->set; v++)
            known += choose(g->reset, u) * pow(w, g->reset - u) *
                     pow(1 - w, u) * choose(g->set, v) *
                     pow(1 - w, g->set - v) * pow(w, v) *
                     geometric((u + v) * step, g->keys);
    return fmax(0, 1 - known / g->keys);
}

double umbel_generalized_fp_bound(uint32_t reset, uint32_t set)
{
    double k = (double)reset + set;

    if (k == 0)
        return NAN;
    return power(reset / k, reset) * power(set / k, set);
}

double umbel_generalized_fn_bound(uint32_t reset, uint32_t set,
                                  double bits_per_key)
{
    double k = (double)reset + set;

    if (k == 0 || !(bits_per_key > 0))
        return NAN;
    return false_negative(-expm1(-k / bits_per_key), reset / k, reset, set);
}

double um_distinct_chance(double z, double n, uint32_t reset, uint32_t set)
{
    double p = 1;

    for (uint32_t i = 0; i < reset; i++)
        p *= (z > i ? z - i : 0) / (n - i);
    for (uint32_t i = 0; i < set; i++)
        p *= (n - z > i ? n - z - i : 0) / (n - reset - i);
    return p;
}

/* Finds the z at the maximum: where one more zero no longer increases it. */
double umbel_generalized_distinct_bound(uint64_t cells, uint32_t reset,
                                        uint32_t set)
{
    double c = (double)cells, k = (double)reset + set;

    if (k == 0)
        return NAN;
    if (c < k)
        return 0;
    double z = fmax(reset, floor((reset * c - set) / k) + 1);
    return um_distinct_chance(z, c, reset, set);
}

/* --- the probability that distinct cells are as a key wants them -----------
 *
 * Go back from the latest key. Of the cells that are queried, a must be clear
 * and b set, and no key has touched them yet. A key that draws its k0 + k1
 * cells from the c of the block clears i of the a and sets j of the b, and does
 * not spoil any of the others, with probability
 *
 *     C(a,i) C(b,j) M(c-a-b; k0-i, k1-j) / M(c; k0, k1)
 *
 * where M(n; x, y) counts the ways to choose x and then y of n. So (a, b)
 * becomes (a-i, b-j) going back. Cells left in the end are as they were before
 * the first key: that gives the probability of a false positive. Of a key's own
 * cells, those that are left are right: that gives the probability that it
 * still matches.
 *
 * Keys fall into a block at random, so the mean is taken over their number.
 * Lanes (generalized.c) are drawn independently of each other: a lane is such a
 * block with one cell of each role, and the probabilities multiply.
 *
 * If there would be too many states, or the array is not in blocks, the
 * equations of the paper are good enough, block by block.
 */

enum { MAX_CELLS = 8, SIDE = MAX_CELLS + 1, MAX_BLOCK = 4096 };

/* Probabilities, by the numbers of cells left that must be clear, and set. */
typedef struct state {
    double at[SIDE][SIDE];
} state;

typedef struct chain {
    uint32_t reset, set; /* in a lane */
    uint32_t lanes;
    double cells; /* of a lane */
    double move[SIDE][SIDE][SIDE][SIDE];
} chain;

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Returns log M(n; x, y); -INFINITY if x + y > n. */
static double log_ways(double n, double x, double y)
{
    return x + y > n ? -INFINITY : log_choose(n, x) + log_choose(n - x, y);
}

static bool chain_init(chain *c, const um_roles *r)
{
    *c = (chain){.reset = r->reset / r->lanes,
                 .set = r->set / r->lanes,
                 .lanes = r->lanes,
                 .cells = (double)r->cells / r->lanes};
    if (c->reset > MAX_CELLS || c->set > MAX_CELLS || r->cells > MAX_BLOCK)
        return false;
    double all = log_ways(c->cells, c->reset, c->set);
    for (uint32_t a = 0; a <= c->reset; a++)
        for (uint32_t b = 0; b <= c->set; b++)
            for (uint32_t i = 0; i <= a; i++)
                for (uint32_t j = 0; j <= b; j++)
                    c->move[a][b][i][j] = exp(
                        log_choose(a, i) + log_choose(b, j) +
                        log_ways(c->cells - a - b, c->reset - i, c->set - j) -
                        all);
    return true;
}

/* Goes back by one key. Smaller numbers come first, so it works in place. */
static void step(const chain *c, state *s)
{
    for (uint32_t a = 0; a <= c->reset; a++)
        for (uint32_t b = 0; b <= c->set; b++) {
            double sum = 0;
            for (uint32_t i = 0; a + i <= c->reset; i++)
                for (uint32_t j = 0; b + j <= c->set; j++)
                    sum += s->at[a + i][b + j] * c->move[a + i][b + j][i][j];
            s->at[a][b] = sum;
        }
}

/* Returns the probability of a match after these steps. ones < 0: cells that
 * are left are right. */
static double value(const chain *c, const state *s, double ones)
{
    double sum = 0;

    for (uint32_t a = 0; a <= c->reset; a++)
        for (uint32_t b = 0; b <= c->set; b++) {
            double left = 1;
            for (uint32_t i = 0; ones >= 0 && i < a; i++)
                left *= 1 - ones;
            for (uint32_t i = 0; ones >= 0 && i < b; i++)
                left *= ones;
            sum += s->at[a][b] * left;
        }
    return pow(sum, c->lanes);
}

/* Returns the limit for infinitely many keys: every cell was touched. */
static double settled(const chain *c)
{
    double v[SIDE][SIDE] = {{0}};

    for (uint32_t a = 0; a <= c->reset; a++)
        for (uint32_t b = 0; b <= c->set; b++) {
            double sum = 0;
            for (uint32_t i = 0; i <= a; i++)
                for (uint32_t j = 0; j <= b; j++)
                    if (i + j)
                        sum += c->move[a][b][i][j] * v[a - i][b - j];
            /* a key that touches a and b may spoil them */
            double touch =
                1 - exp(log_ways(c->cells - a - b, c->reset, c->set) -
                        log_ways(c->cells, c->reset, c->set));
            v[a][b] = a + b ? sum / touch : 1;
        }
    return pow(v[c->reset][c->set], c->lanes);
}

/* Returns the log of the probability that j of n keys fall into one block. */
static double log_share(double n, double blocks, double j)
{
    double mean = n / blocks;

    if (blocks > MAX_BLOCK)
        return j * log(mean) - mean - lgamma(j + 1);
    return log_choose(n, j) - j * log(blocks) + (n - j) * log1p(-1 / blocks);
}

/* Returns a number of keys that a block hardly ever exceeds. */
static uint64_t max_in_block(double keys, double mean)
{
    double most = fmin(keys, ceil(mean + 12 * sqrt(mean) + 12));
    return most < 1e9 ? (uint64_t)most : 0; /* converged long before */
}

/* Computes value by the paper's equations, after this many keys in a block. */
static double paper_value(const um_roles *r, double ones, double keys)
{
    umbel_generalized g = {.bits = (double)r->cells,
                           .reset = r->reset,
                           .set = r->set,
                           .zeros = ones < 0 ? 0 : 1 - ones,
                           .keys = keys};

    if (ones < 0)
        return 1 - umbel_generalized_fn_at(&g, 0);
    return umbel_generalized_fp(&g);
}

/* Averages over the numbers of keys in a block. */
static double over_blocks(const um_roles *r, double ones, double keys)
{
    chain c;
    state s = {{{0}}};
    double blocks = (double)r->blocks, mean = fmax(keys, 0) / blocks;
    double sum = 0, all = 0;
    bool exact = chain_init(&c, r), one = r->blocks <= 1 || keys <= 0;
    bool settles = mean * (r->reset + r->set) > 40 * (double)r->cells;

    if (!exact && (one || settles))
        return paper_value(r, ones, mean);
    if (settles)
        return settled(&c);
    if (exact)
        s.at[c.reset][c.set] = 1;
    for (uint64_t j = 0; one && j < (uint64_t)mean; j++)
        step(&c, &s);
    if (one)
        return value(&c, &s, ones);
    uint64_t last = max_in_block(keys, mean);
    for (uint64_t j = 0; j <= last; j++) {
        double weight = exp(log_share(keys, blocks, (double)j));
        sum += weight *
               (exact ? value(&c, &s, ones) : paper_value(r, ones, (double)j));
        all += weight;
        if (exact)
            step(&c, &s);
    }
    return sum / all;
}

double um_roles_fp(const um_roles *r, double ones, double keys)
{
    return over_blocks(r, ones, keys);
}

double um_roles_fn(const um_roles *r, double later)
{
    return 1 - over_blocks(r, -1, later);
}

double um_roles_bound(const um_roles *r)
{
    if (r->lanes > 1)
        return um_pair_bound(r->cells / r->lanes, r->lanes);
    return umbel_generalized_distinct_bound(r->cells, r->reset, r->set);
}

/*
 * block_collisions.c - cells of a key that other keys of its block hold.
 *
 * Keys of a block share few cells, so that one of them holds several cells of
 * another more often than if cells were independent. Here the others come one
 * after the other. How many of the key's cells one of them hits follows from
 * the lanes that both use; which ones is taken for chance.
 */
#include "ops/block_collisions.h"

#include <math.h>
#include <string.h>

enum {
    N = UM_MAX_HASHES + 1,
    WIDE = 12 /* standard deviations of the number of keys */
};

#define NOTHING 1e-15

/* --- the key --- */

/* Adds a lane: some of its balls may share a cell. */
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

/* How many cells a key has. */
static void count_cells(const um_layout *l, double cells[N])
{
    memset(cells, 0, N * sizeof *cells);
    cells[0] = 1;
    for (uint32_t i = 0; i < l->lanes; i++)
        join_lane(cells, l->throws + (i < l->extra), (double)l->width);
}

double um_cells_of_key(const um_layout *l)
{
    double cells[N], mean = 0;

    count_cells(l, cells);
    for (uint32_t i = 0; i < N; i++)
        mean += i * cells[i];
    return mean;
}

/* --- one other key --- */

/* Returns the lanes that both keys use for extra cells, when the other key
 * begins that many lanes further on. */
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

/* hits[i]: chance that the other key hits i of the cells. */
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

/* to[v]: chance that v of u spare cells stay spare. */
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

/* --- all of them --- */

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

/* Once no cell is spare, further keys change nothing. */
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

void um_cells_spare(const um_layout *l, double mean, double spare[N])
{
    double cells[N];

    memset(spare, 0, N * sizeof *spare);
    count_cells(l, cells);
    for (uint32_t i = 1; i < N; i++)
        if (cells[i] > 0)
            add_spare(l, i, mean, cells[i], spare);
}

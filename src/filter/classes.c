/*
 * classes.c - error of layouts whose classes follow from each other.
 *
 * Classes lie on cycles, and a key's cells are in k neighbouring classes of
 * one. Let X_i be the keys that begin in class i: Poisson with mean n/classes.
 * Class j got a cell of each key that began in j-k+1 .. j, L_j in all, and a
 * cell of its q is unused with chance t^L_j, t = 1 - 1/q. So a key that begins
 * in class 1 matches with chance
 *
 *     E prod_j (1 - t^L_j) = sum over A of (-1)^|A| E t^(sum of L_j in A)
 *
 * over the sets A of classes 1 .. k. X_i counts in as many L_j as A has classes
 * among i .. i+k-1, which are the first few or the last few of A, so that
 *
 *     E t^(sum) = product over i of g(number in A),  g(a) = exp(-mean(1 - t^a))
 *
 * and sets of the same size can be summed class by class. The terms of large
 * sets cancel; beyond MOST classes each further one is taken to match with the
 * chance that the last one had, given those before.
 */
#include "filter/classes.h"

#include <math.h>

enum {
    MOST = 24,
    CROWDED = 1000 /* keys that begin in a class, per hash: all are alike */
};

typedef struct cycle {
    double mean, t;
    uint32_t hashes;
    double g[MOST + 1];
} cycle;

/*
 * The sets of a among the first n classes. Beginnings before class 1 see 1, 2,
 * .. n classes, the last number as often as there is room; those behind it see
 * n - 1 .. 1.
 */
static double sets_of(const cycle *c, uint32_t n, uint32_t a)
{
    double sum[MOST + 2] = {1};

    for (uint32_t i = 1; i <= n; i++)
        for (uint32_t have = i < a ? i : a; have <= a; have--) {
            double with = have ? sum[have - 1] : 0;
            double often = i < n ? 1 : (double)(c->hashes - n) + 1;
            sum[have] = (sum[have] + with) * pow(c->g[have], often) *
                        (i < n ? c->g[a - have] : 1);
        }
    return sum[a];
}

/* That the first n cells of a key are in use. */
static double chance(const cycle *c, uint32_t n)
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

double um_classes_error(const um_layout *l, double keys, double independent)
{
    cycle c = {.mean = keys / (double)um_classes(l, NULL),
               .t = 1 - (double)um_classes(l, NULL) / (double)l->cells,
               .hashes = l->hashes};
    uint32_t n = l->hashes < MOST ? l->hashes : MOST;

    /* The cycles of most classes have a quarter of their number. */
    if (c.mean > (double)CROWDED * l->hashes ||
        um_classes(l, NULL) / 8 < l->hashes)
        return independent;
    if (um_classes(l, NULL) == l->cells)
        return fmax(chance_of_singles(c.mean, l->hashes), independent);
    for (uint32_t a = 0; a <= MOST; a++)
        c.g[a] = exp(-c.mean * (1 - pow(c.t, a)));
    double all = chance(&c, n), before = n > 1 ? chance(&c, n - 1) : 1;
    if (all > 0 && before > all)
        all *= pow(all / before, l->hashes - n);
    return fmax(all, independent);
}

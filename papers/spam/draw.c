/*
 * draw.c - computes how much the drawn counts contribute to the spread of a
 * rate, by the delta method.
 *
 * A rate is a function R of the shares p(c) of keys that have count c. A draw
 * of n counts changes R by the mean of n terms psi(c), where psi, the influence
 * function, is the derivative of R when a little of p moves to c; so the
 * variance over draws is E(psi^2) / n. If the number of zeros and the sum of
 * the counts are given, only the residual of psi counts, after a linear
 * regression on c among c > 0.
 *
 * The plain filter miscounts a key if every cell has another owner, the refined
 * one surely if every cell has an owner with a larger count. With a = k n / m
 * owners per cell, of which the share S(c) matters to a key of count c:
 *
 *   q(c) = (1 - exp(-a S(c)))^k        plain: S(c) = P(C > 0)
 *   R = sum c p(c) q(c) / sum c p(c)   refined: S(c) = P(C > c)
 *
 * That is all of the plain rate (2.02e-2 where Table VI has 2.019e-2), and a
 * third of the refined one; others of its errors come from the order, and
 * depend on the counts in much the same way: simulated with uniform counts up
 * to 20, the spread of the refined rate over draws is 1.04 (+- 0.05) times what
 * this says (tests/unit/papers/spam.c).
 */
#include "papers/spam/draw.h"

#include <math.h>

enum { VALUES = SPAM_CAP + 1 };

static void shares(const um_spam_experiment *e, double p[VALUES])
{
    for (int c = 0; c < VALUES; c++)
        p[c] = e->law ? e->law(c, e->parameter) - e->law(c - 1, e->parameter)
               : c <= (int)e->parameter ? 1. / (e->parameter + 1)
                                        : 0;
}

/* Returns the share of the keys that matter to a key of count c. */
static double rivals(const double p[VALUES], int c, bool refined)
{
    double s = 0;

    for (int j = refined ? c + 1 : 1; j < VALUES; j++)
        s += p[j];
    return s;
}

/* Computes psi(v) of one filter, as a share of the rate. */
static void influence(const double p[VALUES], double k, double a, bool refined,
                      double psi[VALUES])
{
    double mean = 0, wrong = 0, s[VALUES], q[VALUES], slope[VALUES];

    for (int c = 0; c < VALUES; c++) {
        s[c] = rivals(p, c, refined);
        double hit = 1 - exp(-a * s[c]);
        q[c] = pow(hit, k);
        slope[c] = k * pow(hit, k - 1) * a * exp(-a * s[c]);
        mean += c * p[c];
        wrong += c * p[c] * q[c];
    }
    for (int v = 0; v < VALUES; v++) {
        double moved = v * q[v] - wrong;
        for (int c = 0; c < VALUES; c++)
            moved += c * p[c] * slope[c] * ((refined ? v > c : v > 0) - s[c]);
        psi[v] = moved / wrong - (v - mean) / mean;
    }
}

/* Replaces psi by its residual when the number of zeros and the sum are
 * known. */
static void parse_known_out(const double p[VALUES], double psi[VALUES])
{
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;

    for (int v = 1; v < VALUES; v++) {
        w += p[v];
        x += p[v] * v;
        y += p[v] * psi[v];
        xx += p[v] * v * v;
        xy += p[v] * v * psi[v];
    }
    double slope = (xy - x * y / w) / (xx - x * x / w);
    for (int v = 1; v < VALUES; v++)
        psi[v] -= y / w + slope * (v - x / w);
    psi[0] = 0;
}

double um_spam_draw_spread(const um_spam_experiment *e, size_t shape,
                           um_spam_quantity q, bool given)
{
    double p[VALUES], plain[VALUES], refined[VALUES], psi[VALUES], square = 0;
    double k = um_spam_k(shape), a = k * SPAM_KEYS / um_spam_size(e, shape);

    if (!e->weighted)
        return 0;
    shares(e, p);
    influence(p, k, a, false, plain);
    influence(p, k, a, true, refined);
    for (int v = 0; v < VALUES; v++)
        psi[v] = q == SPAM_OF_PLAIN     ? plain[v]
                 : q == SPAM_OF_REFINED ? refined[v]
                                        : plain[v] - refined[v];
    if (given)
        parse_known_out(p, psi);
    for (int v = 0; v < VALUES; v++)
        square += p[v] * psi[v] * psi[v];
    return sqrt(square / SPAM_KEYS);
}

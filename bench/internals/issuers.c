/*
 * issuers.c - certificates of issuers, some of them revoked; bench/partitions
 * runs it.
 *
 * bench_issuers ALL REVOKED [SEED [SIGMA]]: writes 8,160,000 lines "issuer,
 * tab, serial" to the file ALL, and 117,000 of them to REVOKED; prints the
 * bytes that a set of any 117,000, and one of as many of each issuer as these,
 * takes at least. 200 issuers have certificates by Zipf's law (exponent 1). The
 * share that is revoked is log-normal with SIGMA (1.5), scaled to that sum.
 */
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ISSUERS = 200, ALL = 8160000, REVOKED = 117000 };

typedef struct issuer {
    uint64_t all, revoked;
    double weight; /* of its share */
} issuer;

static double uniform(um_rng *rng)
{
    return ldexp((double)(um_random(rng) >> 11) + 0.5, -53);
}

static double normal(um_rng *rng)
{
    double r = sqrt(-2 * log(uniform(rng)));
    return r * cos(2 * acos(-1) * uniform(rng));
}

static uint64_t share_of(const issuer *x, double scale)
{
    return (uint64_t)(fmin(scale * x->weight, 1) * (double)x->all);
}

static uint64_t sum_at(const issuer *x, double scale)
{
    uint64_t sum = 0;

    for (int i = 0; i < ISSUERS; i++)
        sum += share_of(&x[i], scale);
    return sum;
}

/* What rounding leaves over goes to the first that have room. */
static void scale_shares(issuer *x)
{
    double low = 0, high = 1e9;

    for (int i = 0; i < 200; i++) {
        double mid = (low + high) / 2;
        if (sum_at(x, mid) > REVOKED)
            high = mid;
        else
            low = mid;
    }
    uint64_t left = REVOKED - sum_at(x, low);
    for (int i = 0; i < ISSUERS; i++) {
        x[i].revoked = share_of(&x[i], low);
        uint64_t room = x[i].all - x[i].revoked,
                 more = left < room ? left : room;
        x[i].revoked += more;
        left -= more;
    }
}

static void draw(issuer *x, um_rng *rng, double sigma)
{
    double harmonic = 0;
    uint64_t left = ALL;

    for (int i = 1; i <= ISSUERS; i++)
        harmonic += 1.0 / i;
    for (int i = ISSUERS; i-- > 0;) {
        x[i].all = i ? (uint64_t)(ALL / harmonic / (i + 1)) : left;
        left -= x[i].all;
        x[i].weight = exp(sigma * normal(rng));
    }
    scale_shares(x);
}

/* log2 of n over k, in bytes. */
static double entropy(double n, double k)
{
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2) / 8;
}

static void write_keys(const issuer *x, um_rng *rng, FILE *all, FILE *revoked)
{
    for (int i = 0; i < ISSUERS; i++)
        for (uint64_t j = 0; j < x[i].all; j++) {
            uint64_t serial = um_random(rng);
            fprintf(all, "issuer %d\t%016" PRIx64 "\n", i + 1, serial);
            if (j < x[i].revoked)
                fprintf(revoked, "issuer %d\t%016" PRIx64 "\n", i + 1, serial);
        }
}

static int write_all(FILE *all, FILE *revoked, uint64_t seed, double sigma)
{
    static issuer issuers[ISSUERS];
    um_rng rng = {seed};
    double bound = 0;

    draw(issuers, &rng, sigma);
    write_keys(issuers, &rng, all, revoked);
    for (int i = 0; i < ISSUERS; i++)
        bound += entropy((double)issuers[i].all, (double)issuers[i].revoked);
    printf("%.0f %.0f\n", entropy(ALL, REVOKED), bound);
    return ferror(all) || ferror(revoked);
}

static FILE *create(const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f) {
        perror(path);
        exit(2);
    }
    return f;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: bench_issuers ALL REVOKED [SEED [SIGMA]]\n", stderr);
        return 2;
    }
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    double sigma = argc > 4 ? strtod(argv[4], NULL) : 1.5;
    FILE *all = create(argv[1]), *revoked = create(argv[2]);
    int failed = write_all(all, revoked, seed, sigma);
    failed |= fclose(all) != 0;
    failed |= fclose(revoked) != 0;
    return failed;
}

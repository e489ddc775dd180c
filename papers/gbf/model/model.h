/*
 * model.h - the equations of the generalized Bloom filter (Laufer, Velloso,
 * Duarte 2011), as printed, and the effects of the definition that they leave
 * out.
 *
 * Each element resets the bits of k0 functions g and sets those of k1 functions
 * h; a bit that both hit is reset. An element is recognised if all its g are 0
 * and all its h are 1.
 */
#ifndef UM_GBF_MODEL_H
#define UM_GBF_MODEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct um_gbf {
    double p0;       /* share of zeros before the first element */
    unsigned k0, k1; /* functions that reset, that set */
    uint32_t m, n;   /* bits, elements */
} um_gbf;

#define GBF_SOURCE "Laufer, Velloso, Duarte 2011, "

/* Returns the share p of zeros after n elements (equation 7). */
double um_gbf_zeros(const um_gbf *g);
/* Returns the false positive rate for a share p of zeros: p^k0 (1 - p)^k1
 * (equation 16). */
double um_gbf_accepts(const um_gbf *g, double p);
/*
 * Returns f_p by equation 16, which the tables use, or by equation 8. The
 * exponents of equation 8 are the numbers of bits that an element changes on
 * average, a little less than k0 and k1; but a query reads k0 + k1 places
 * whether they differ or not, so equation 16 is right.
 */
double um_gbf_fp(const um_gbf *g);
double um_gbf_fp_eq8(const um_gbf *g);
/* Returns F_p, the bound of f_p (equation 19). */
double um_gbf_fp_bound(const um_gbf *g);
/* Returns the false positive rate of a standard filter of k1 functions with the
 * same p0 (equation 2). */
double um_gbf_plain_fp(const um_gbf *g);

/* Returns f_n(n - i) of an element that `later` others follow (equation 11,
 * exponents k). */
double um_gbf_fn_at(const um_gbf *g, uint32_t later);
/* Returns f_n, their mean (equation 12), or F_n, its bound (equation 24). */
double um_gbf_fn(const um_gbf *g);
double um_gbf_fn_bound(const um_gbf *g);

/*
 * Returns the probability of the hole: a g and an h of one element hit the same
 * bit, which is then 0, so that the element is never recognised, not even the
 * last one. About k0 k1 / m; the equations leave it out.
 */
double um_gbf_hole(const um_gbf *g);
/* Returns f_n(n - i), or f_n, by the unchanged definition, including the
 * hole. */
double um_gbf_fn_defined_at(const um_gbf *g, uint32_t later);
double um_gbf_fn_defined(const um_gbf *g);

/* Does the same for a filter in which all k0 + k1 places of an element
 * differ. */
double um_gbf_zeros_distinct(const um_gbf *g);
double um_gbf_fn_distinct_at(const um_gbf *g, uint32_t later);
/* Returns the exact share of keys that is accepted with that number of
 * zeros. */
double um_gbf_accepts_distinct(const um_gbf *g, uint32_t zeros);

#endif

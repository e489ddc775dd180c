/*
 * model.h - the equations of the generalized Bloom filter (Laufer, Velloso,
 * Duarte 2011), as printed, and what the definition says that they do not.
 *
 * Each element resets the bits of k0 functions g and sets those of k1 functions
 * h; where both hit one bit it is reset. An element is recognised when all its
 * g are 0 and all its h are 1.
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

/* The share p of zeros after n elements (equation 7). */
double um_gbf_zeros(const um_gbf *g);
/* What p gives away: p^k0 (1 - p)^k1 (equation 16). */
double um_gbf_accepts(const um_gbf *g, double p);
/*
 * f_p: equation 16, which the tables use. Equation 8 has the bits that an
 * element changes on average for exponents, a little less than k0 and k1; but a
 * query looks at k0 + k1 places whether they differ or not, so 16 is right.
 */
double um_gbf_fp(const um_gbf *g);
double um_gbf_fp_eq8(const um_gbf *g);
/* F_p, the bound of f_p (equation 19). */
double um_gbf_fp_bound(const um_gbf *g);
/* The same for a standard filter of k1 functions on the same p0 (2). */
double um_gbf_plain_fp(const um_gbf *g);

/* f_n(n - i), of an element that `later` others follow (11, exponents k). */
double um_gbf_fn_at(const um_gbf *g, uint32_t later);
/* f_n, their mean (12), and F_n, its bound (24). */
double um_gbf_fn(const um_gbf *g);
double um_gbf_fn_bound(const um_gbf *g);

/*
 * The hole: a g and an h of one element on the same bit, which is 0 then, so
 * that the element is never recognised, not even the last one. About k0 k1 / m;
 * the equations leave it out.
 */
double um_gbf_hole(const um_gbf *g);
/* f_n(n - i) and f_n of the unchanged definition, hole included. */
double um_gbf_fn_defined_at(const um_gbf *g, uint32_t later);
double um_gbf_fn_defined(const um_gbf *g);

/* The same of a filter whose k0 + k1 places of an element all differ. */
double um_gbf_zeros_distinct(const um_gbf *g);
double um_gbf_fn_distinct_at(const um_gbf *g, uint32_t later);
/* Share of keys that content with that share of zeros then accepts: exact. */
double um_gbf_accepts_distinct(const um_gbf *g, uint32_t zeros);

#endif

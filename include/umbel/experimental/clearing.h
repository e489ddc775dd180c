/*
 * clearing.h - the expected cost of clearing bits at random.
 *
 * Experimental: this header may change in any release.
 *
 * Donnet, Baynat and Friedman 2006, section III. Every method of retouch.h does
 * better.
 */
#ifndef UMBEL_EXPERIMENTAL_CLEARING_H
#define UMBEL_EXPERIMENTAL_CLEARING_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What clearing bits would cost; numbers in parentheses are equations of the
 * paper. */
typedef struct umbel_clearing {
    double bits_set;     /* p1 m: expected with all keys added */
    double cleared;      /* s: bits that are cleared */
    double kept;         /* r_s (16): share of keys that keep all their bits */
    double fp_removed;   /* share of false positives removed: (10), (14) */
    double fn_gained;    /* share of members lost: (11), (15) */
    double error;        /* false positive rate afterwards: (8), f_P r_s */
    double members_lost; /* keys times fn_gained: (9) */
    double chi;          /* fp_removed / fn_gained: (12); NAN without losses */
} umbel_clearing;

/*
 * Predicts the cost for a filter described by kind, params and bytes as for
 * umbel_plan_size. bits is the number of bits to clear; if bits is 0, share is
 * the share of the false positives to remove, 0 to 1.
 */
UMBEL_API umbel_status umbel_plan_clearing(const char *kind,
                                           const umbel_params *params,
                                           uint64_t bytes, uint64_t bits,
                                           double share, umbel_clearing *out,
                                           umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

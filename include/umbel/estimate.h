/*
 * estimate.h - estimate the number of keys in a filter, or the overlap of two.
 *
 * Broder and Mitzenmacher's survey, section 2.4, extended to every addressing:
 * mean and variance of the number of set cells follow from how keys are mapped
 * to cells.
 */
#ifndef UMBEL_ESTIMATE_H
#define UMBEL_ESTIMATE_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value and its 99 % interval. INFINITY when the filter is full. */
typedef struct umbel_interval {
    double value, low, high;
} umbel_interval;

/* Estimates the number of different keys from the number of set cells. */
UMBEL_API umbel_status umbel_estimate_keys(const umbel_filter *f,
                                           umbel_interval *out,
                                           umbel_error *err);

typedef struct umbel_overlap {
    umbel_interval both_or_one; /* keys of the union */
    umbel_interval both;        /* keys of the intersection */
    umbel_interval jaccard;     /* intersection / union */
} umbel_overlap;

/* Estimates the overlap of two filters of the same shape (umbel_same_shape). */
UMBEL_API umbel_status umbel_estimate_overlap(const umbel_filter *a,
                                              const umbel_filter *b,
                                              umbel_overlap *out,
                                              umbel_error *err);

/* Returns the 99 % Clopper-Pearson interval for the rate hits / trials. */
UMBEL_API umbel_interval umbel_rate_interval(uint64_t hits, uint64_t trials);

#ifdef __cplusplus
}
#endif
#endif

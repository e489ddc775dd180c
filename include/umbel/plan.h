/*
 * plan.h - compute the size, error or capacity of a filter before building it.
 */
#ifndef UMBEL_PLAN_H
#define UMBEL_PLAN_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct umbel_size_plan {
    uint64_t keys;   /* capacity */
    uint64_t cells;  /* bits, for bloom */
    uint32_t hashes; /* cells per key */
    uint64_t bytes;  /* of the whole file */
    double bits_per_key;
    double error;        /* false positive rate with all keys in it */
    double digest_error; /* the part of error that comes from digest
                            collisions */
} umbel_size_plan;

/*
 * Computes the parameter that params leave open: the size from capacity and
 * fpr, the error from capacity and size, or the capacity from size and fpr.
 * Fields mean what they mean to umbel_create; bytes, when not 0, is the size of
 * the whole file instead of cells.
 */
UMBEL_API umbel_status umbel_plan_size(const char *kind,
                                       const umbel_params *params,
                                       uint64_t bytes, umbel_size_plan *out,
                                       umbel_error *err);

/* A coded filter for few bytes on the wire: larger and sparser than usual. */
typedef struct umbel_wire_plan {
    umbel_size_plan plan; /* bytes is the size of its raw file, about its
                             memory */
    uint64_t wire_bytes;  /* maximum size of its coded file, almost surely */
    double fill;          /* expected share of ones */
    double raw_error;     /* of the best filter whose raw file has wire_bytes;
                             NAN: no filter is that small */
} umbel_wire_plan;

/*
 * Finds the shape with the lowest error whose coded file takes at most wire
 * bytes and whose raw file at most memory bytes (0 means what decoders allow: 4
 * MiB plus 1024 times wire, at most 256 MiB). params->capacity is the number of
 * keys; params->hashes may be set, params->cells must be 0. Kind bloom only.
 */
UMBEL_API umbel_status umbel_plan_wire(const char *kind,
                                       const umbel_params *params,
                                       uint64_t wire, uint64_t memory,
                                       umbel_wire_plan *out, umbel_error *err);

/* Predicted reliability of counts. */
typedef struct umbel_count_plan {
    uint64_t keys;         /* with a count above 0 */
    double f_compound;     /* probability that a key that was never added
                              reaches the threshold: compound Poisson */
    bool is_bound;         /* f_compound is an upper bound: update refined, and
                              countmin, outside blocks */
    double f_paper;        /* the same by Yan and Cho 2006, equation (4), which
                              assumes that every key is added once. This and the
                              following are NAN for kind table, which has no
                              cells */
    double overflow;       /* probability that a cell exceeds its limit when
                              every key is added once: survey, section 2.5 */
    double overflow_bound; /* the survey's bound; 1.37e-15 per cell for 4
                              bits */
} umbel_count_plan;

/*
 * Predicts errors of counts when key i is added counts[i] times. params
 * describe a counting filter as for umbel_create. E_RANGE when the threshold is
 * above what its cells can count, or above 1024.
 */
UMBEL_API umbel_status umbel_plan_counts(
    const char *kind, const umbel_params *params, uint64_t threshold,
    const uint64_t *counts, size_t n, umbel_count_plan *out, umbel_error *err);

/*
 * Creates a filter for an unknown number of keys: it takes at most bytes bytes,
 * and its size has many divisors. Add the keys, then call umbel_fit. In params,
 * capacity and cells must be 0.
 */
UMBEL_API umbel_status umbel_create_unsized(const char *kind,
                                            const umbel_params *params,
                                            uint64_t bytes, umbel_filter **out,
                                            umbel_error *err);

/*
 * Creates the smallest fold of f that keeps its fpr with the keys added so far.
 * E_LIMIT when there are too many keys for f.
 */
UMBEL_API umbel_status umbel_fit(const umbel_filter *f, umbel_filter **out,
                                 umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

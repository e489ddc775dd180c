/*
 * plan.h - compute size, error or capacity of a filter before building it.
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
    double digest_error; /* the part of it that comes from the digest */
} umbel_size_plan;

/*
 * Computes what params leave open: the size from capacity and fpr, the error
 * from capacity and size, or the capacity from size and fpr. Fields mean what
 * they mean to umbel_create; bytes, when not 0, is the size of the whole file
 * instead of cells.
 */
UMBEL_API umbel_status umbel_plan_size(const char *kind,
                                       const umbel_params *params,
                                       uint64_t bytes, umbel_size_plan *out,
                                       umbel_error *err);

/* A filter for few bytes on the wire: larger and sparser than usual, coded. */
typedef struct umbel_wire_plan {
    umbel_size_plan plan; /* bytes is its raw file, about its memory */
    uint64_t wire_bytes;  /* of its coded file, almost surely at most */
    double fill;          /* expected share of ones */
    double raw_error;     /* of the best filter whose raw file has wire_bytes;
                             NAN: none is that small */
} umbel_wire_plan;

/*
 * Finds the shape with the lowest error whose coded file takes at most wire
 * bytes and whose raw file at most memory bytes (0 means what
 * decoders allow: 4 MiB and 1024 times wire, at most 256 MiB). params->capacity
 * is the number of keys; hashes may be given, cells not. Kind bloom only.
 */
UMBEL_API umbel_status umbel_plan_wire(const char *kind,
                                       const umbel_params *params,
                                       uint64_t wire, uint64_t memory,
                                       umbel_wire_plan *out, umbel_error *err);

/* How reliable counts will be. */
typedef struct umbel_count_plan {
    uint64_t keys;         /* with a count above 0 */
    double f_compound;     /* probability that a key that never came reaches
                              the threshold: compound Poisson */
    bool is_bound;         /* f_compound is an upper bound: update refined, and
                              countmin, outside blocks */
    double f_paper;        /* the same by Yan and Cho 2006, equation (4), which
                              assumes that every key comes once. This and the
                              rest: NAN for kind table, which has no cells */
    double overflow;       /* probability that a cell exceeds its limit when
                              every key comes once: survey, section 2.5 */
    double overflow_bound; /* the bound given there; 1.37e-15 per cell for 4
                              bits */
} umbel_count_plan;

/*
 * Predicts errors of counts, when key i comes counts[i] times. params describe
 * a filter that counts, as to umbel_create. E_RANGE when the threshold is above
 * what its cells can count, or above 1024.
 */
UMBEL_API umbel_status umbel_plan_counts(
    const char *kind, const umbel_params *params, uint64_t threshold,
    const uint64_t *counts, size_t n, umbel_count_plan *out, umbel_error *err);

/*
 * Creates a filter for an unknown number of keys: it takes at most bytes bytes,
 * and its size has many divisors. Add the keys, then call umbel_fit. params say
 * fpr and the rest; capacity and cells must be 0.
 */
UMBEL_API umbel_status umbel_create_unsized(const char *kind,
                                            const umbel_params *params,
                                            uint64_t bytes, umbel_filter **out,
                                            umbel_error *err);

/*
 * Makes the smallest fold of f that keeps its fpr with the keys that were
 * added. E_LIMIT when there are too many keys for f.
 */
UMBEL_API umbel_status umbel_fit(const umbel_filter *f, umbel_filter **out,
                                 umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

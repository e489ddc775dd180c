/*
 * plan.h - how large must it be, how wrong will it be, how much goes in.
 */
#ifndef UMBEL_PLAN_H
#define UMBEL_PLAN_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct umbel_plan {
    uint64_t keys;   /* that it holds */
    uint64_t cells;  /* bits, for bloom */
    uint32_t hashes; /* cells per key */
    uint64_t bytes;  /* of the whole file */
    double bits_per_key;
    double error;        /* chance that a key never added matches, at keys */
    double digest_error; /* the part of it that comes from the digest alone */
} umbel_plan;

/*
 * Work out what params leave open. Enough are: capacity with an error or a
 * size; size with an error. capacity, fpr, cells and hashes mean what they mean
 * to umbel_open; bytes, when not 0, is a size as bytes of the whole file.
 */
UMBEL_API umbel_status umbel_make_plan(const char *kind,
                                       const umbel_params *params,
                                       uint64_t bytes, umbel_plan *out,
                                       umbel_error *err);

/* A filter for few bytes on the wire: coded, larger and sparser than usual. */
typedef struct umbel_wire_plan {
    umbel_plan plan;     /* bytes is its raw file: what it takes in memory */
    uint64_t wire_bytes; /* of its coded file: at most, but for bad luck */
    double fill;         /* expected share of ones */
    double raw_error;    /* of the best filter whose raw file has wire bytes;
                            NAN: there is none */
} umbel_wire_plan;

/*
 * The shape that errs least of those whose coded file takes at most wire bytes
 * and whose raw one at most memory (0: 256 MiB, what decoders allow).
 * params->capacity says how many keys; hashes may be given, cells not. Kind
 * bloom only.
 */
UMBEL_API umbel_status umbel_plan_wire(const char *kind,
                                       const umbel_params *params,
                                       uint64_t wire, uint64_t memory,
                                       umbel_wire_plan *out, umbel_error *err);

/* What counts will be worth, when counts[i] is how often key i comes. */
typedef struct umbel_count_plan {
    uint64_t keys;     /* that come at all */
    double f_compound; /* chance that a key which never came reaches the
                          threshold: compound Poisson */
    bool is_bound;     /* ... an upper bound: with update refined, and for
                          countmin, not in blocks */
    double f_paper;    /* the same by Yan and Cho 2006, equation (4), which
                          lets every key come once */
    double overflow;   /* chance that a cell passes its limit, when every
                          key comes once: survey 2.5 */
    double
        overflow_bound; /* its loose bound there; 1.37e-15 a cell of 4 bits */
} umbel_count_plan;

/*
 * params say the shape as to umbel_open, its kind counts. E_RANGE when the
 * threshold is more than its cells can count, or more than 1024.
 */
UMBEL_API umbel_status umbel_plan_counts(
    const char *kind, const umbel_params *params, uint64_t threshold,
    const uint64_t *counts, size_t n, umbel_count_plan *out, umbel_error *err);

/*
 * When nobody knows how many keys will come: open a filter of at most bytes
 * bytes whose size has many divisors, add keys, then fit it. params say fpr and
 * the rest; capacity and cells must be 0.
 */
UMBEL_API umbel_status umbel_open_unsized(const char *kind,
                                          const umbel_params *params,
                                          uint64_t bytes, umbel_filter **out,
                                          umbel_error *err);

/*
 * The smallest fold of f that keeps its error within the fpr it was opened
 * with, for the keys that it has been given. E_LIMIT when there are too many.
 */
UMBEL_API umbel_status umbel_fit(const umbel_filter *f, umbel_filter **out,
                                 umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

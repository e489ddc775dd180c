/*
 * unless.h - a filter with a second filter of exceptions.
 *
 * Experimental: this header may change in any release.
 *
 * The anti-filter of Donnet, Baynat and Friedman 2006 (section I), used by
 * Razor for revocation: a second, smaller filter holds the keys that the first
 * one matches wrongly. A false positive of the second is a false negative of
 * the pair.
 */
#ifndef UMBEL_EXPERIMENTAL_UNLESS_H
#define UMBEL_EXPERIMENTAL_UNLESS_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which filter is queried first; the other is queried only if needed. */
typedef enum umbel_unless_order {
    UMBEL_FILTER_FIRST,    /* best when few keys match */
    UMBEL_EXCEPTIONS_FIRST /* best when most keys match, or many are excepted */
} umbel_unless_order;

/* Lookups so far; start with zeros. */
typedef struct umbel_unless_cost {
    uint64_t keys, asked_filter, asked_exceptions;
} umbel_unless_cost;

/*
 * Queries both filters: hit[i] is true if keys[i] matches f and does not match
 * exceptions. The two may differ in kind, shape and hash; if they use the same
 * hash, keys are hashed once. The order changes the cost, never the answer.
 * Adds the number of lookups to *cost, which may be NULL.
 */
UMBEL_API umbel_status umbel_query_unless(const umbel_filter *f,
                                          const umbel_filter *exceptions,
                                          umbel_unless_order first,
                                          const umbel_slice *keys, size_t n,
                                          bool *hit, umbel_unless_cost *cost,
                                          umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

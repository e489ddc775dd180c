/*
 * unless.h - a filter with exceptions: in this one, unless in that one.
 *
 * The anti-filter of Donnet, Baynat and Friedman 2006 (section I), Razor's
 * revocation: a second, smaller filter overrides the first where that errs. A
 * false positive of the second denies a member of the first.
 */
#ifndef UMBEL_UNLESS_H
#define UMBEL_UNLESS_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which is asked first; the other is asked only where that leaves it open. */
typedef enum umbel_unless_order {
    UMBEL_FILTER_FIRST, /* few keys match */
    UMBEL_REVOKED_FIRST /* most keys match, or many are revoked */
} umbel_unless_order;

/* Look-ups so far; start with zeros. */
typedef struct umbel_unless_cost {
    uint64_t keys, asked_filter, asked_revoked;
} umbel_unless_cost;

/*
 * hit[i] tells whether keys[i] matches f and not revoked. The two may differ in
 * kind, shape and hash; where they hash alike, keys are hashed once. The order
 * changes the cost, never the answer. cost, when given, grows.
 */
UMBEL_API umbel_status umbel_query_unless(const umbel_filter *f,
                                          const umbel_filter *revoked,
                                          umbel_unless_order first,
                                          const umbel_slice *keys, size_t n,
                                          bool *hit, umbel_unless_cost *cost,
                                          umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

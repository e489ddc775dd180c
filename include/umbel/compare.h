/*
 * compare.h - keys that must not match: every way to that, at equal bytes.
 *
 * A list of keys outside a set can be kept from matching by clearing bits
 * (retouch.h), by choosing between groups (choose.h), by a second filter of
 * exceptions (unless.h) or by a static set that knows them (exact.h). What each
 * is worth depends on the lists, so it is built and asked.
 */
#ifndef UMBEL_COMPARE_H
#define UMBEL_COMPARE_H

#include <umbel/retouch.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UMBEL_MAX_STRATEGIES = 8 };

/* What one way comes to. Where status is not OK the numbers are 0. */
typedef struct umbel_strategy {
    const char *name;    /* see umbel_strategy_at */
    umbel_status status; /* not OK: it cannot be had so, and reason says why */
    umbel_error reason;
    uint64_t bytes;      /* of the whole file, or of both together */
    uint64_t lost;       /* members that it denies */
    double weight_left;  /* of the listed keys that match */
    double unseen;       /* chance that a key of neither list matches */
    uint32_t probes;     /* cells that a query looks at, at most */
    bool readers_change; /* who reads a plain filter cannot read this */
    /* To build the same: shape of the filter, and of the second, if any, with
     * the keys in that. */
    uint64_t cells, second_cells, second_keys;
    uint32_t hashes, second_hashes;
} umbel_strategy;

typedef struct umbel_comparison {
    uint64_t bytes;      /* that no way exceeds */
    uint64_t members;    /* different ones */
    uint64_t listed;     /* different keys that must not match */
    double weight;       /* of these */
    double plain_left;   /* ... that a plain filter leaves, NAN: there is */
    double plain_unseen; /* none so small; and its error */
    size_t n, best;      /* best is n when no way can be had */
    umbel_strategy way[UMBEL_MAX_STRATEGIES];
} umbel_comparison;

/*
 * Build members in every way, in files of at most bytes bytes, so that keys of
 * never do not match; ask for both lists. With bytes 0, as many as a plain
 * filter of params.fpr takes. params say addressing, hash, seed and secret of
 * the filters, and must not say a size; digests are those of these. Members
 * count once and have no weights; a listed key that stands twice weighs twice.
 *
 * The best loses no member, if any way does; among such it leaves the least
 * weight, then loses the fewest members, then has the least error on unseen
 * keys, then the fewest probes. E_KEY when a key of never is a member; E_RANGE
 * when a list is empty.
 */
UMBEL_API umbel_status umbel_compare_strategies(
    const umbel_params *params, uint64_t bytes, const umbel_keyset *members,
    const umbel_keyset *never, umbel_comparison *out, umbel_error *err);

/* The ways: false when i is past the end. summary may be NULL. */
UMBEL_API bool umbel_strategy_at(size_t i, const char **name,
                                 const char **summary);

#ifdef __cplusplus
}
#endif
#endif

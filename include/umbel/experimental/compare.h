/*
 * compare.h - compare strategies against known negatives at equal file size.
 *
 * Experimental: this header may change in any release.
 *
 * Negatives can be kept from matching by clearing bits (retouch.h), by choosing
 * between groups (choose.h), by a second filter of exceptions (unless.h), by a
 * static filter that knows them (exact.h), or by a static filter that does not,
 * but has a lower error. Which is best depends on the lists, so
 * umbel_compare_strategies builds and measures each of them.
 */
#ifndef UMBEL_EXPERIMENTAL_COMPARE_H
#define UMBEL_EXPERIMENTAL_COMPARE_H

#include <umbel/filter.h>
#include <umbel/keys.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UMBEL_MAX_STRATEGIES = 8 };

/* What one strategy achieves. Unless status is OK the numbers are 0. */
typedef struct umbel_strategy {
    const char *name;    /* see umbel_strategy_at */
    umbel_status status; /* not OK: not possible here, and reason says why */
    umbel_error reason;
    uint64_t bytes;      /* of the file, or of both files together */
    uint64_t next_bytes; /* bytes that readers fetch for the next edition if one
                            member in 1,000 is replaced; 0: not measured */
    uint64_t lost;       /* members that do not match */
    double weight_left;  /* of the negatives that match */
    double unseen;       /* false positive rate on keys in neither list */
    uint32_t probes;     /* cells that a query reads, at most */
    bool readers_change; /* readers of a plain filter cannot read this one */
    /* Parameters of the filter, and of the second one if any, to build it
     * again; second_keys is the number of keys in the second one. */
    uint64_t cells, second_cells, second_keys;
    uint32_t hashes, second_hashes;
    const char *addressing; /* NULL: as requested */
    uint64_t second_lines;  /* entries of never in the second filter: the
                               heaviest that match; 0: all that match */
    uint32_t sample; /* n > 1: estimated from every n-th member and negative,
                        without next_bytes, because the lists are long */
} umbel_strategy;

typedef struct umbel_comparison {
    uint64_t bytes;      /* limit for all strategies */
    uint64_t members;    /* different members */
    uint64_t listed;     /* different negatives */
    double weight;       /* of the negatives */
    double plain_left;   /* that a plain filter leaves; NAN: none is so small */
    double plain_unseen; /* false positive rate of a plain filter; NAN
                            likewise */
    uint64_t plain_next_bytes; /* of a plain filter; 0: not measured */
    size_t n, best;            /* number of strategies; best is n when none is
                                  possible */
    umbel_strategy way[UMBEL_MAX_STRATEGIES];
} umbel_comparison;

/*
 * Builds filters of the members with every strategy, in files of at most bytes
 * bytes, so that the negatives in never do not match, and queries both lists.
 * With bytes 0, the limit is the size of a plain filter with params.fpr. params
 * give addressing, hash, seed and secret, but no size. Weights of members are
 * ignored.
 *
 * Choosing between groups for a long list takes minutes, so it is tried on a
 * sample first, and on the whole list only if it comes near the best: the
 * figures of the best strategy are never an estimate. Without
 * params.addressing, every strategy is also tried with the addressing
 * "classic".
 *
 * The best strategy loses no member, if any strategy achieves that. Further
 * criteria, in order: least weight left, fewest members lost, lowest rate on
 * other keys, fewest probes. E_KEY when a negative is a member; E_RANGE when a
 * list is empty.
 */
UMBEL_API umbel_status umbel_compare_strategies(
    const umbel_params *params, uint64_t bytes, const umbel_key_list *members,
    const umbel_key_list *never, umbel_comparison *out, umbel_error *err);

/* Returns the name and summary of strategy i; false when i is past the end.
 * summary may be NULL. */
UMBEL_API bool umbel_strategy_at(size_t i, const char **name,
                                 const char **summary);

#ifdef __cplusplus
}
#endif
#endif

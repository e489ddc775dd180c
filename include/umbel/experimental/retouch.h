/*
 * retouch.h - clear bits of a filter so that known false positives go away.
 *
 * Experimental: this header may change in any release.
 *
 * Given the members of a filter and keys that must not match (negatives), bits
 * are cleared until the negatives no longer match (Donnet, Baynat, Friedman
 * 2006). Size, format and query stay the same. The price is false negatives:
 * some members no longer match. The result reports how many, and the file
 * records the number (umbel_known_false_negatives).
 *
 * Works on kinds whose cells are single bits (bloom), on any addressing.
 */
#ifndef UMBEL_EXPERIMENTAL_RETOUCH_H
#define UMBEL_EXPERIMENTAL_RETOUCH_H

#include <umbel/filter.h>
#include <umbel/keys.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Progress of a call: numbers and weights of keys so far. */
typedef struct umbel_retouch_step {
    uint64_t lost, removed; /* members lost; negatives that no longer match */
    double lost_weight, removed_weight;
} umbel_retouch_step;

/*
 * Receives the progress after every move, many times a second while annealing.
 * Members that will be restored at the end still count as lost here. If it
 * returns false, the call stops and succeeds: the filter has the best state so
 * far, and stopped is set in the result.
 */
typedef bool umbel_retouch_watch(void *ctx, const umbel_retouch_step *step);

/*
 * How to retouch. Start with UMBEL_RETOUCH_INIT, which sets max_fn and beta to
 * their defaults; in all other fields zero is the default.
 */
typedef struct umbel_retouch_params {
    size_t size;        /* sizeof(umbel_retouch_params): lets it grow */
    const char *method; /* NULL means "greedy": umbel_retouch_method_at */
    double max_fn;      /* largest share of the members that may be lost; 0:
                           none, 1: no limit, 0.01 by UMBEL_RETOUCH_INIT. The
                           methods of the papers end at the first bit that
                           exceeds it */
    double cost;        /* stop when a step loses more weight of members than
                           this times the weight of negatives it removes; 0:
                           never */
    double beta;        /* share of the matching negatives to remove, above 0;
                           1 by UMBEL_RETOUCH_INIT */
    bool heaviest;      /* remove the heaviest first; else in random order */
    bool count_outside; /* methods that count negatives include those that beta
                           leaves out */
    bool closure;       /* clear bits that no member needs any more; greedy and
                           anneal always do */
    bool allow_members; /* negatives may be members, which are then lost */
    bool force;         /* skip the check that members are those of the
                           filter */
    uint64_t moves;     /* anneal: moves to try, 0 means 500 per member;
                           random-bits: bits to clear, 0 means no limit */
    double seconds;     /* anneal: instead of moves; not reproducible */
    uint64_t seed;      /* same input, same seed: same bits */
    umbel_retouch_watch *watch; /* NULL: none */
    void *ctx;                  /* passed to watch */
} umbel_retouch_params;

#ifdef __cplusplus
#define UMBEL_RETOUCH_INIT                                                     \
    {                                                                          \
        sizeof(umbel_retouch_params), 0, 0.01, 0, 1, false, false, false,      \
            false, false, 0, 0, 0, 0, 0                                        \
    }
#else
#define UMBEL_RETOUCH_INIT                                                     \
    {                                                                          \
        .size = sizeof(umbel_retouch_params), .max_fn = 0.01, .beta = 1        \
    }
#endif

typedef struct umbel_retouch_result {
    uint64_t never;           /* different negatives given */
    uint64_t matched;         /* of them matched and should be removed */
    uint64_t removed, left;   /* of these no longer match; still match */
    uint64_t outside;         /* matched, but were left out by beta */
    uint64_t outside_removed; /* of these no longer match either */
    uint64_t members;         /* different members given that matched */
    uint64_t
        false_negatives_before; /* different members given that did not match */
    uint64_t lost;              /* members that matched and no longer do */
    double lost_share;          /* lost / members; 0 without members */
    double matched_weight, left_weight;
    double members_weight, lost_weight;
    uint64_t bits_cleared;
    /*
     * Share of the known false positives removed / share of the members lost,
     * the papers' chi. NAN if no member was lost. It counts negatives that beta
     * left out, so read it together with lost.
     */
    double chi;
    double seconds;
    bool stopped; /* by watch */
} umbel_retouch_result;

/*
 * Clears bits of f so that the negatives in never no longer match. members must
 * be all keys of f; f must not be mapped. lost[i], when lost is given, is set
 * to true if members->digests[i] matched before and no longer does. params may
 * be NULL.
 *
 * E_KEY when a negative is a member. E_MISMATCH when members are not those of
 * f: more of them fail to match than f records as false negatives, or f has
 * more keys. E_UNSUPPORTED for other kinds. f is untouched when the call fails.
 */
UMBEL_API umbel_status umbel_retouch(umbel_filter *f,
                                     const umbel_key_list *members,
                                     const umbel_key_list *never,
                                     const umbel_retouch_params *params,
                                     umbel_retouch_result *result, bool *lost,
                                     umbel_error *err);

/*
 * Finds negatives that are members: both[i] is set to true if never->digests[i]
 * is one, and *n is their number. Memory comes from the allocator of f.
 */
UMBEL_API umbel_status umbel_find_conflicts(const umbel_filter *f,
                                            const umbel_key_list *members,
                                            const umbel_key_list *never,
                                            bool *both, size_t *n,
                                            umbel_error *err);

/* Returns the name and summary of method i; false when i is past the end.
 * summary may be NULL. */
UMBEL_API bool umbel_retouch_method_at(size_t i, const char **name,
                                       const char **summary);

#ifdef __cplusplus
}
#endif
#endif

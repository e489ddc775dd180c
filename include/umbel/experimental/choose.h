/*
 * choose.h - add members so that known negatives do not match.
 *
 * Experimental: this header may change in any release.
 *
 * A bloom filter with the setting groups > 1 has several digests for each key,
 * and each member is added with one of them. umbel_choose decides which, for
 * all members together. No member is lost and the file does not grow.
 */
#ifndef UMBEL_EXPERIMENTAL_CHOOSE_H
#define UMBEL_EXPERIMENTAL_CHOOSE_H

#include <umbel/filter.h>
#include <umbel/keys.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to choose. Start with UMBEL_CHOOSE_INIT. */
typedef struct umbel_choose_params {
    size_t size;        /* sizeof(umbel_choose_params): lets it grow */
    uint32_t rounds;    /* number of times every choice is reconsidered, at most
                           1000; UMBEL_CHOOSE_INIT sets 5. With more than 2^19
                           members, each chooses once; afterwards only members
                           near negatives move */
    bool allow_members; /* negatives that are members may match */
    const umbel_filter *like; /* an older filter of the same shape: members keep
                                 the groups they had there, unless that makes a
                                 negative match. NULL: none */
} umbel_choose_params;

#ifdef __cplusplus
#define UMBEL_CHOOSE_INIT                                                      \
    {                                                                          \
        sizeof(umbel_choose_params), 5, false, nullptr                         \
    }
#else
#define UMBEL_CHOOSE_INIT                                                      \
    {                                                                          \
        .size = sizeof(umbel_choose_params), .rounds = 5                       \
    }
#endif

/* The outcome. "Before" is the same filter with one group. */
typedef struct umbel_choose_result {
    uint64_t members; /* entries of the list */
    uint64_t lost;    /* of them do not match, as measured: always 0 */
    uint64_t moved;   /* members that were moved from their first choice to
                         another group because a negative matched */
    uint64_t kept;    /* members whose first choice was that of params.like */
    uint64_t never;   /* different negatives, without members */
    uint64_t never_members;            /* negatives that are members, ignored */
    uint64_t matched_before, matched;  /* negatives that match */
    double weight;                     /* of all negatives */
    double weight_before, weight_left; /* of the negatives that match */
    double share_left;   /* weight_left / weight; 0 when weight is 0 */
    double error_before; /* false positive rate on other keys, predicted */
    double error;
} umbel_choose_result;

/*
 * Adds members to f, which may hold keys already, so that as little weight of
 * the negatives in never as possible matches. The first choice is the group
 * that umbel_add would use, or that of params.like; only members that share
 * cells with matching negatives are moved. Equal input gives equal cells.
 * params may be NULL. When a negative is a member the call fails with E_KEY and
 * f is untouched, unless params allow it; E_MISMATCH when params.like has
 * another shape.
 *
 * In addition to its arguments, the call needs a byte of memory per member,
 * twice the size of the filter (six times for up to 2^19 members), 36 bytes per
 * negative, and for each member that shares cells with matching negatives about
 * 40 bytes plus 60 for each of its cells.
 */
UMBEL_API umbel_status umbel_choose(umbel_filter *f,
                                    const umbel_key_list *members,
                                    const umbel_key_list *never,
                                    const umbel_choose_params *params,
                                    umbel_choose_result *out, umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

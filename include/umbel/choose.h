/*
 * choose.h - members added so that keys known to be outside do not match.
 *
 * A bloom filter with the setting groups > 1 gives every key several digests.
 * A member needs to be added by one of them only; this call chooses which, for
 * all members together. No member is lost, the file grows by nothing.
 */
#ifndef UMBEL_CHOOSE_H
#define UMBEL_CHOOSE_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default everywhere; start with UMBEL_CHOOSE_INIT. */
typedef struct umbel_choose_params {
    size_t size;        /* sizeof(umbel_choose_params): lets it grow */
    uint32_t rounds;    /* of choosing again, up to 1000; 0 means 5 */
    bool allow_members; /* unwanted keys that are members: let them match */
} umbel_choose_params;

#ifdef __cplusplus
#define UMBEL_CHOOSE_INIT                                                      \
    {                                                                          \
        sizeof(umbel_choose_params), 0, false                                  \
    }
#else
#define UMBEL_CHOOSE_INIT                                                      \
    {                                                                          \
        .size = sizeof(umbel_choose_params)                                    \
    }
#endif

/* What came of it. "Before" is the same filter with one group. */
typedef struct umbel_choose_bill {
    uint64_t members;       /* given */
    uint64_t lost;          /* of them denied, when asked: none */
    uint64_t never;         /* different unwanted keys, without members */
    uint64_t never_members; /* unwanted keys that are members, left alone */
    uint64_t matched_before, matched;  /* unwanted keys that match */
    double weight;                     /* of all unwanted keys */
    double weight_before, weight_left; /* ... of those that match */
    double share_left;   /* weight_left / weight; 0 when weight is 0 */
    double error_before; /* chance that a key of nobody's matches */
    double error;
} umbel_choose_bill;

/*
 * Add members to f, which may hold keys already, so that as little weight as
 * possible of the unwanted keys matches. weights may be NULL: 1 each; they are
 * 0, or from 1e-100 to 1e100, and a key that stands twice weighs twice. Digests
 * are those of f (umbel_digest_many). Equal input gives equal cells. When an
 * unwanted key is a member the call fails with E_KEY and f stays as it is,
 * unless params allow it. Memory: about 16 bytes a member, 50 for each cell of
 * an unwanted key, and 10 times the filter.
 */
UMBEL_API umbel_status umbel_choose(umbel_filter *f,
                                    const umbel_digest *members, size_t n,
                                    const umbel_digest *never,
                                    const double *weights, size_t nnever,
                                    const umbel_choose_params *params,
                                    umbel_choose_bill *out, umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

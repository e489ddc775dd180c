/*
 * verify.h - measure the error rates of a filter on known keys.
 *
 * Pass all members first, then keys that are not members, in batches of any
 * size. A member takes about 32 bytes of memory, so that it is not counted as a
 * false positive when it is also among the other keys; those take none.
 */
#ifndef UMBEL_VERIFY_H
#define UMBEL_VERIFY_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct umbel_verifier umbel_verifier;

typedef struct umbel_verdict {
    uint64_t members;         /* queried */
    uint64_t false_negatives; /* of them do not match */
    uint64_t outside;         /* other keys queried, without dropped */
    uint64_t false_positives; /* of them match */
    uint64_t dropped;         /* other keys that are members */
    double rate, low, high;   /* false_positives / outside, 99 % interval */
    double predicted;         /* from the cells: umbel_predict */
} umbel_verdict;

/* Begins a verification. f must outlive it and stay unchanged. */
UMBEL_API umbel_status umbel_verify_open(const umbel_filter *f,
                                         umbel_verifier **out,
                                         umbel_error *err);
/* Queries members. */
UMBEL_API umbel_status umbel_verify_members(umbel_verifier *v,
                                            const umbel_slice *keys, size_t n,
                                            umbel_error *err);
/* Queries keys that are not members; wrong[i], when wrong is given, is set to
 * true if keys[i] is a false positive. */
UMBEL_API umbel_status umbel_verify_outside(umbel_verifier *v,
                                            const umbel_slice *keys, size_t n,
                                            bool *wrong, umbel_error *err);
/* Returns the results so far in *out. */
UMBEL_API void umbel_verify_result(const umbel_verifier *v, umbel_verdict *out);
/* Frees a verifier. NULL is accepted. */
UMBEL_API void umbel_verify_close(umbel_verifier *v);

#ifdef __cplusplus
}
#endif
#endif

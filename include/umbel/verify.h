/*
 * verify.h - count a filter's errors on keys whose truth is known.
 *
 * Give all members first, then the keys from outside, in batches of any size.
 * Members cost about 32 bytes of memory each, so that a member which also
 * stands among the outside keys is not taken for an error; outside keys cost
 * none.
 */
#ifndef UMBEL_VERIFY_H
#define UMBEL_VERIFY_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct umbel_verifier umbel_verifier;

typedef struct umbel_verdict {
    uint64_t members;         /* asked */
    uint64_t false_negatives; /* of them denied */
    uint64_t outside;         /* asked, without those dropped */
    uint64_t false_positives; /* of them matching */
    uint64_t dropped;         /* outside keys that were members after all */
    double rate, low, high;   /* false_positives / outside, 99 % interval */
    double predicted;         /* from the cells: umbel_predict */
} umbel_verdict;

/* f must outlive the verifier and stay as it is. */
UMBEL_API umbel_status umbel_verify_open(const umbel_filter *f,
                                         umbel_verifier **out,
                                         umbel_error *err);
UMBEL_API umbel_status umbel_verify_members(umbel_verifier *v,
                                            const umbel_slice *keys, size_t n,
                                            umbel_error *err);
/* wrong[i], when wrong is given, tells whether keys[i] matched falsely. */
UMBEL_API umbel_status umbel_verify_outside(umbel_verifier *v,
                                            const umbel_slice *keys, size_t n,
                                            bool *wrong, umbel_error *err);
UMBEL_API void umbel_verify_result(const umbel_verifier *v, umbel_verdict *out);
UMBEL_API void umbel_verify_close(umbel_verifier *v);

#ifdef __cplusplus
}
#endif
#endif

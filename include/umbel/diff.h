/*
 * diff.h - what makes a new filter of an old one, in few bytes.
 *
 * For readers who hold yesterday's filter: the difference carries the new head
 * and which cells changed, coded given the old cells. It names both ends, so
 * that a wrong base is refused and the result is the new filter, bit for bit.
 */
#ifndef UMBEL_DIFF_H
#define UMBEL_DIFF_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UMBEL_CONTENT_LEN = 32 };

/*
 * BLAKE2b-256 of the filter's file in its raw form: the same for the same
 * filter, whether its file is raw or coded.
 */
UMBEL_API void umbel_content_name(const umbel_filter *f,
                                  uint8_t out[UMBEL_CONTENT_LEN]);

/* What a difference costs, and what it is about. */
typedef struct umbel_diff_result {
    uint64_t bytes;   /* of the difference */
    uint64_t changed; /* cells */
    /*
     * Sum over old values v of m_v H(changed_v / m_v): least that it takes to
     * tell where cells changed, if they did at random; for bits, that is all.
     */
    double shannon_bytes;
} umbel_diff_result;

/* Bytes that umbel_diff wants to have: somewhat more than now has. */
UMBEL_API size_t umbel_diff_room(const umbel_filter *now);

/*
 * Write the difference to out, of cap bytes, which are umbel_diff_room or more;
 * bill->bytes tells how many it took. E_MISMATCH when the two are not of the
 * same shape; the text names the field.
 */
UMBEL_API umbel_status umbel_diff(const umbel_filter *old,
                                  const umbel_filter *now, void *out,
                                  size_t cap, umbel_diff_result *bill,
                                  umbel_error *err);

/*
 * The new filter, from the old one and a difference of any origin, in the form
 * (raw, coded) that the new one had. E_MISMATCH when the difference is for
 * another old filter. It takes as much memory as old, and for data that came to
 * it 256 MiB at most (E_LIMIT); a keyed one is locked.
 */
UMBEL_API umbel_status umbel_patch(const umbel_filter *old, const void *bytes,
                                   size_t len, umbel_filter **out,
                                   umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

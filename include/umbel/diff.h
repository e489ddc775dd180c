/*
 * diff.h - compact differences between two filters.
 *
 * For readers that hold yesterday's filter. A difference contains the new head
 * and the changed cells, coded relative to the old cells. It identifies both
 * filters, so a wrong base is refused and the result is the new filter, bit for
 * bit.
 */
#ifndef UMBEL_DIFF_H
#define UMBEL_DIFF_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UMBEL_CONTENT_LEN = 32 };

/*
 * Computes the BLAKE2b-256 of the filter's raw file: equal for equal filters,
 * raw or coded.
 */
UMBEL_API void umbel_content_name(const umbel_filter *f,
                                  uint8_t out[UMBEL_CONTENT_LEN]);

/* Size and content of a difference. */
typedef struct umbel_diff_result {
    uint64_t bytes;   /* of the difference */
    uint64_t changed; /* cells */
    /*
     * Entropy of the changed positions if cells change at random: the sum over
     * old values v of m_v H(changed_v / m_v). For bits this is the whole
     * information.
     */
    double shannon_bytes;
} umbel_diff_result;

/* Returns the buffer size that umbel_diff needs: slightly more than the file of
 * now. */
UMBEL_API size_t umbel_diff_bound(const umbel_filter *now);

/*
 * Writes the difference from old to now to out, which has cap bytes, at least
 * umbel_diff_bound; result->bytes is its length. E_MISMATCH when the two differ
 * in shape; the text names the field.
 */
UMBEL_API umbel_status umbel_diff(const umbel_filter *old,
                                  const umbel_filter *now, void *out,
                                  size_t cap, umbel_diff_result *result,
                                  umbel_error *err);

/*
 * Creates the new filter from the old one and a difference, which may come from
 * anyone. The result has the form (raw or coded) of the new filter. E_MISMATCH
 * when the difference was made from another old filter. Takes as much memory as
 * old; added data may take at most 4 MiB plus 1024 times len, up to 256 MiB
 * (E_LIMIT). A keyed filter comes out locked.
 */
UMBEL_API umbel_status umbel_patch(const umbel_filter *old, const void *bytes,
                                   size_t len, umbel_filter **out,
                                   umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

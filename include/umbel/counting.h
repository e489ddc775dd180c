/*
 * counting.h - the verbs of kinds that count: "counting", "tally", "countmin".
 *
 * Settings of kind "counting": cell_bits (2 to 32, 4 unless set) and update (0
 * plain, 1 refined); of "tally": heavy (room for keys that come more than 15
 * times, in 100 lines of cells; 100 unless set); of "countmin": cell_bits (32,
 * or 64). Other kinds answer E_UNSUPPORTED.
 *
 * Threads may add amounts to a shared filter, and count with it, together; all
 * else here is as umbel_share says.
 */
#ifndef UMBEL_COUNTING_H
#define UMBEL_COUNTING_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if filters of that kind count. */
UMBEL_API bool umbel_is_counting(const char *kind);

/*
 * Add keys[i] amounts[i] times, which may be 0. fresh[i], when fresh is given,
 * tells whether the key was certainly not there before and is now. When a key
 * is refused (E_KEY) none has been added. umbel_add and the like add once.
 */
UMBEL_API umbel_status umbel_add_amounts(umbel_filter *f,
                                         const umbel_slice *keys,
                                         const uint64_t *amounts, size_t n,
                                         bool *fresh, umbel_error *err);

/*
 * counts[i] is how often keys[i] came, or more, as long as nothing was removed
 * that was not in; from umbel_count_limit on it means "at least".
 */
UMBEL_API umbel_status umbel_count_many(const umbel_filter *f,
                                        const umbel_slice *keys, size_t n,
                                        uint64_t *counts, umbel_error *err);
UMBEL_API umbel_status umbel_count_digests(const umbel_filter *f,
                                           const umbel_digest *digests,
                                           size_t n, uint64_t *counts,
                                           umbel_error *err);
/*
 * The largest count that f can tell; 0 when its kind does not count. That of
 * "tally" falls to 15 when its table of frequent keys is full.
 */
UMBEL_API uint64_t umbel_count_limit(const umbel_filter *f);

/*
 * Take each of the keys back once. E_RANGE when one is not in, because a cell
 * of it is zero; then none has been taken back. (One that was never added but
 * matches by chance is taken for one that was: remove only what you added.)
 * E_UNSUPPORTED under update refined, for tally and countmin. Wants the filter
 * alone, shared or not.
 */
UMBEL_API umbel_status umbel_remove_many(umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         umbel_error *err);

/*
 * The bloom filter of the same keys, bit for bit: counts for those who maintain
 * them, bits for those who only ask (Summary Cache). Release *out with
 * umbel_close.
 */
UMBEL_API umbel_status umbel_to_bloom(const umbel_filter *f, umbel_filter **out,
                                      umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

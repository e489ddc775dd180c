/*
 * counting.h - filters that count: kinds "counting", "tally", "countmin",
 * "table".
 *
 * Settings of "counting": cell_bits (1 to 32, default 4) and update (0 plain, 1
 * refined). Of "tally": heavy (space for keys that are added more than 15
 * times, per 100 cache lines of cells; default 100). Of "countmin": cell_bits
 * (32 or 64). Of "table": cell_bits (1 to 32, default 14: the minimum width of
 * a count). Other kinds return E_UNSUPPORTED.
 *
 * Threads may add amounts to a shared filter and count with it at the same
 * time; for the rest see umbel_share.
 */
#ifndef UMBEL_COUNTING_H
#define UMBEL_COUNTING_H

#include <umbel/umbel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if filters of this kind count. */
UMBEL_API bool umbel_is_counting(const char *kind);

/*
 * Adds keys[i] amounts[i] times, which may be 0. fresh[i], when fresh is given,
 * is set to true if keys[i] was certainly not in f before and now is. If a key
 * is refused (E_KEY), none is added. umbel_add and its variants add each key
 * once.
 */
UMBEL_API umbel_status umbel_add_amounts(umbel_filter *f,
                                         const umbel_slice *keys,
                                         const uint64_t *amounts, size_t n,
                                         bool *fresh, umbel_error *err);
/* Adds digests (umbel_digest_many) with amounts, as umbel_add_amounts adds
 * keys. */
UMBEL_API umbel_status umbel_add_digest_amounts(umbel_filter *f,
                                                const umbel_digest *digests,
                                                const uint64_t *amounts,
                                                size_t n, bool *fresh,
                                                umbel_error *err);

/* Counts digests, as umbel_count_many counts keys. */
UMBEL_API umbel_status umbel_count_digests(const umbel_filter *f,
                                           const umbel_digest *digests,
                                           size_t n, uint64_t *counts,
                                           umbel_error *err);
/*
 * Returns the largest count that f can hold; 0 when its kind does not count.
 * For "tally" it drops to 15 when the table of frequent keys is full.
 */
UMBEL_API uint64_t umbel_count_limit(const umbel_filter *f);

/*
 * Removes each key once. If a key is not in f, returns E_RANGE and removes
 * none. Remove only keys that you added: removing a false positive makes the
 * counts of other keys too low. E_UNSUPPORTED with update refined, and for
 * tally and countmin. Needs exclusive access to the filter, even if it is
 * shared.
 */
UMBEL_API umbel_status umbel_remove_many(umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         umbel_error *err);

/*
 * Turns a difference (UMBEL_MINUS) into plain counts, which can be added to any
 * filter of the same shape, for example to the sum of several servers. Adding
 * them twice is no longer detected. No effect on other filters.
 */
UMBEL_API void umbel_to_counting(umbel_filter *f);

/*
 * Creates the Bloom filter of the same keys, bit for bit: the maintainer keeps
 * the counts, readers get the bits (Summary Cache). Release *out with
 * umbel_close.
 */
UMBEL_API umbel_status umbel_to_bloom(const umbel_filter *f, umbel_filter **out,
                                      umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif

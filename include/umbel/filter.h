/*
 * filter.h - more functions for all kinds: copies, fixed-width keys, digests,
 * threads, folding.
 */
#ifndef UMBEL_FILTER_H
#define UMBEL_FILTER_H

#include <umbel/umbel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies f. The copy of a mapped filter is in memory and can be changed. */
UMBEL_API umbel_status umbel_copy(const umbel_filter *f, umbel_filter **out,
                                  umbel_error *err);

/* Removes all keys and keeps the shape. E_UNSUPPORTED for static kinds. */
UMBEL_API umbel_status umbel_clear(umbel_filter *f, umbel_error *err);

/*
 * Gives a keyed filter its secret of UMBEL_SECRET_LEN bytes. E_SECRET when the
 * filter was created with another secret. A locked filter can be described,
 * merged and saved, but not queried or added to.
 */
UMBEL_API umbel_status umbel_unlock(umbel_filter *f, const uint8_t *secret,
                                    umbel_error *err);

/*
 * Shares f: from now on any number of threads may add to it (amounts too),
 * query it, count with it, hash with it and call umbel_added at the same time.
 * Answers and cells stay the same.
 *
 * A thread finds the keys that it added, and those that another thread added
 * before the two synchronized (by a lock or a join). Counts are never too low.
 * If threads add the same new key at the same time, at least one of them gets
 * fresh = true, perhaps several. With update "refined" the cells depend on the
 * order in which threads add.
 *
 * Calls that read the filter as a whole (copy, save, describe, predict, merge
 * it into another) must not run while a thread adds: pass them a snapshot
 * (umbel_snapshot). Calls that change it in other ways (remove, merge into it,
 * clear, unlock, close, and this one) need exclusive access.
 *
 * Copies, and filters made from f, are not shared. A mapped filter may be
 * shared and stays read-only. E_UNSUPPORTED for kinds that cannot be shared,
 * for bloom with groups, and for counters whose width does not divide 64.
 */
UMBEL_API umbel_status umbel_share(umbel_filter *f, umbel_error *err);

/*
 * Copies a shared filter while threads add to it, query it and take snapshots.
 * *out is f at one moment during the call: every key whose add returned before
 * the call is in it, none that was added after it, and umbel_added agrees with
 * its cells. Of an add that runs at the same time it contains the first few
 * keys, any number of them; no key is in it partially.
 *
 * Adds wait while the cells are copied; queries do not. The copy is not shared.
 * For a filter that is not shared this is umbel_copy. E_UNSUPPORTED in a child
 * of the process that shared f: take the snapshot before fork.
 */
UMBEL_API umbel_status umbel_snapshot(const umbel_filter *f, umbel_filter **out,
                                      umbel_error *err);

/* Adds n keys of width bytes each, one after the other in memory. */
UMBEL_API umbel_status umbel_add_fixed(umbel_filter *f, const void *keys,
                                       size_t width, size_t n, bool *fresh,
                                       umbel_error *err);
/* Adds keys by their digests (umbel_digest_many). */
UMBEL_API umbel_status umbel_add_digests(umbel_filter *f,
                                         const umbel_digest *digests, size_t n,
                                         bool *fresh, umbel_error *err);

/*
 * Rotates the generations of a filter of kind "aging" now instead of when the
 * active one is full: the older one is dropped, and new keys go into an empty
 * one. Called every hour, it makes the filter contain at least the keys of the
 * last hour and at most those of the last two, unless more keys than its
 * capacity were added. E_UNSUPPORTED for other kinds.
 */
UMBEL_API umbel_status umbel_rotate(umbel_filter *f, umbel_error *err);

/* Queries n keys of width bytes each. */
UMBEL_API umbel_status umbel_query_fixed(const umbel_filter *f,
                                         const void *keys, size_t width,
                                         size_t n, bool *hit, umbel_error *err);
/* Queries keys by their digests. */
UMBEL_API umbel_status umbel_query_digests(const umbel_filter *f,
                                           const umbel_digest *digests,
                                           size_t n, bool *hit,
                                           umbel_error *err);

/*
 * Hashes keys as f does; the digests serve all filters with the same hash, seed
 * and secret. May run at the same time as any call except umbel_unlock and
 * umbel_close, even if f is not shared.
 */
UMBEL_API umbel_status umbel_digest_many(const umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         umbel_digest *out, umbel_error *err);
UMBEL_API umbel_status umbel_digest_fixed(const umbel_filter *f,
                                          const void *keys, size_t width,
                                          size_t n, umbel_digest *out,
                                          umbel_error *err);

/*
 * Converts a key as people write it to the key that f stores, by the form that
 * the file records (umbel_key_form_of): hexadecimal digits to the bytes that
 * they stand for, folded text to lower case, text to its digest, a domain name
 * to lower case and A-labels, an address or network to its prefix; keys of
 * other forms stay as they are. *out points to key, or into space, which has
 * UMBEL_FORM_SPACE(len) bytes. E_KEY if key does not have the form. This is the
 * key to add; to find out whether f matches what a user wrote, call umbel_ask.
 *
 *     char space[UMBEL_FORM_SPACE(sizeof text)];
 *     umbel_form_key(f, text, strlen(text), space, &key, &err);
 *     umbel_add(f, key.data, key.len, NULL, &err);
 */
#define UMBEL_FORM_SPACE(len) ((len) + 256)
UMBEL_API umbel_status umbel_form_key(const umbel_filter *f, const void *key,
                                      size_t len, void *space, umbel_slice *out,
                                      umbel_error *err);

/*
 * Asks f what a user wrote. The form that the file records decides which keys
 * are asked, with one call: a domain name and each of its parents, an address
 * or network with each prefix length that f has, the digest of the text and, if
 * it has as many hexadecimal digits as one, the text as a digest. Other forms
 * have one key.
 *
 * matched, which may be NULL, receives what matched: the domain, the network,
 * "plain key" or "digest". It is empty for forms with one key, and if *hit is
 * false. E_KEY if the text does not have the form.
 */
enum { UMBEL_MATCHED_LEN = 256 };
UMBEL_API umbel_status umbel_ask(const umbel_filter *f, const void *text,
                                 size_t len, bool *hit,
                                 char matched[UMBEL_MATCHED_LEN],
                                 umbel_error *err);

/* Checks that two filters can be merged, as umbel_merge does. */
UMBEL_API umbel_status umbel_same_shape(const umbel_filter *a,
                                        const umbel_filter *b,
                                        umbel_error *err);

/*
 * Creates a filter that is `by` times smaller with the same keys: bit for bit
 * the filter that would result from building it at that size, unless f has
 * groups or was retouched. by must divide umbel_fold_parts. The false positive
 * rate grows accordingly.
 */
UMBEL_API umbel_status umbel_fold(const umbel_filter *f, uint64_t by,
                                  umbel_filter **out, umbel_error *err);
/* Returns the number that `by` must divide, of blocks or cells; 0 if f cannot
 * be folded. */
UMBEL_API uint64_t umbel_fold_parts(const umbel_filter *f);
/*
 * Returns the largest `by` that keeps the false positive rate with this many
 * keys within fpr; 0 when f itself exceeds it.
 */
UMBEL_API uint64_t umbel_fold_best(const umbel_filter *f, uint64_t keys,
                                   double fpr);

#ifdef __cplusplus
}
#endif
#endif

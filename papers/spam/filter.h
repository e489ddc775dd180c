/*
 * filter.h - the filters of the experiments: kind counting on addressing
 * universal, as the library ships them.
 *
 * A key with a cell that no other key has is always counted exactly, under both
 * updates: only the key's own insertions increment that cell, by one each, and
 * no cell of a key is ever below its count. So only keys that share every cell
 * with others can be miscounted: exactly those that the plain filter miscounts.
 * Their counts after refined updates depend on their cells and on the keys that
 * have one of them. um_spam_relevant finds those keys; a filter that gets only
 * their insertions makes the same errors as one that gets all of them, and a
 * round takes a tenth of the time (tests/unit/papers/spam.c compares them).
 */
#ifndef UM_SPAM_FILTER_H
#define UM_SPAM_FILTER_H

#include <umbel/umbel.h>

enum { SPAM_PLAIN_UPDATE, SPAM_REFINED_UPDATE }; /* the setting update */

/* Creates a filter of `cells` counters of `bits` bits with `hashes` functions
 * ((c x + d) mod p) mod m, p = 2,100,000,011, drawn by the seed. */
umbel_status um_spam_open(uint64_t cells, unsigned hashes, unsigned bits,
                          unsigned update, uint64_t seed, umbel_filter **out,
                          umbel_error *err);

/* Returns the digest of an integer key under universal: the key itself. */
static inline umbel_digest um_spam_digest(uint64_t key)
{
    return (umbel_digest){.lo = key};
}

/* Returns, or sets, counter i of such a filter; set them to begin a worked
 * example. */
uint64_t um_spam_counter(const umbel_filter *f, uint64_t i);
void um_spam_set_counter(umbel_filter *f, uint64_t i, uint64_t value);

/* Computes the cells of a digest, umbel_hashes of them. */
void um_spam_cells(const umbel_filter *f, umbel_digest d, uint64_t *cells);
/* Returns the first key whose cells are all different. */
umbel_digest um_spam_spread_key(const umbel_filter *f);

/*
 * Finds the keys that have a cell of a suspect, including the suspects: kept[i]
 * for digest d[i]. mark has one byte per cell.
 */
void um_spam_relevant(const umbel_filter *f, const umbel_digest *d, size_t n,
                      const bool *suspect, uint8_t *mark, bool *kept);

#endif

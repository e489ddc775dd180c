/*
 * filter.h - the filters of the experiments: kind counting on addressing
 * universal, as the library ships them.
 *
 * A key with a cell of its own is always counted exactly, under both updates:
 * that cell is raised only by the key's own insertions, by one each, and no
 * cell of a key is ever below its count. So only keys that share every cell
 * with somebody can be miscounted: just those that the plain filter miscounts.
 * What these read after refined updates depends on their cells and on the keys
 * that own one of them. um_spam_relevant finds those keys; a filter that gets
 * only their insertions makes the same errors as one that gets all of them, and
 * a round takes a tenth of the time (tests/unit/papers/spam.c compares them).
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

/* The digest of an integer key under universal: the key itself. */
static inline umbel_digest um_spam_digest(uint64_t key)
{
    return (umbel_digest){.lo = key};
}

/* Counter i of such a filter; and sets it, to begin a worked example. */
uint64_t um_spam_counter(const umbel_filter *f, uint64_t i);
void um_spam_set_counter(umbel_filter *f, uint64_t i, uint64_t value);

/* The cells of a digest, umbel_hashes of them. */
void um_spam_cells(const umbel_filter *f, umbel_digest d, uint64_t *cells);
/* The first key whose cells are all different. */
umbel_digest um_spam_spread_key(const umbel_filter *f);

/*
 * Finds the keys that own a cell of a suspect, which include the suspects:
 * kept[i] of digest d[i]. mark has room for a byte a cell.
 */
void um_spam_relevant(const umbel_filter *f, const umbel_digest *d, size_t n,
                      const bool *suspect, uint8_t *mark, bool *kept);

#endif

/*
 * counts.h - the counts that clients are told. Fronts, `why` and `forget` take
 * them from here and from nowhere else, so all of them say the same.
 */
#ifndef UM_CLEARINGHOUSE_COUNTS_H
#define UM_CLEARINGHOUSE_COUNTS_H

#include "clearinghouse/house.h"

/* Begins to fetch what um_house_count will read, for a request that asks
 * several lists. */
void um_house_fetch(const um_house *h, unsigned list, const umbel_digest *d,
                    size_t n);
/*
 * Counts of one list: of the store, and of all origins that count here
 * (umbel_sync_count_with). 0 for digests that were forgotten.
 */
void um_house_count(const um_house *h, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count);
/* When a digest was first and last counted, as um_store_times; false: never. */
bool um_house_times(const um_house *h, unsigned list, const umbel_digest *d,
                    uint64_t *entered, uint64_t *updated);

#endif

/*
 * counts.h - the counts that clients are told. Fronts, `why` and `forget` take
 * them from here and from nowhere else, so all of them say the same.
 */
#ifndef UM_CLEARINGHOUSE_COUNTS_H
#define UM_CLEARINGHOUSE_COUNTS_H

#include "clearinghouse/server/server.h"

/* Begins to fetch what um_server_count will read, for a request that asks
 * several lists. */
void um_server_fetch(const um_server *h, unsigned list, const umbel_digest *d,
                     size_t n);
/*
 * Counts of one list: of the store, and of all origins that count here
 * (umbel_sync_count_with). 0 for digests that were forgotten.
 */
void um_server_count(const um_server *h, unsigned list, const umbel_digest *d,
                     size_t n, uint64_t *count);
/*
 * Sets reached[i] if um_server_count would give digest i at least that
 * count, 1 or more; of a list that is not one of mails. Takes less time where
 * few do, and there are peers.
 */
void um_server_reaches(const um_server *h, unsigned list, const umbel_digest *d,
                       size_t n, uint64_t threshold, bool *reached);
/* When a digest was first and last counted, as um_store_times; false: never. */
bool um_server_times(const um_server *h, unsigned list, const umbel_digest *d,
                     uint64_t *entered, uint64_t *updated);

/* Walks the copies of other servers that count here, and of our own older
 * incarnations; *at is 0 at first. */
bool um_server_next_copy(const um_server *h, unsigned list, size_t *at,
                         umbel_sync_replica *out);

enum { UM_ORIGIN_NAME = 128 };

/* An origin as people know it: the name of the peer, or eight digits. */
void um_server_origin_name(const um_server *h, const uint8_t *origin,
                           char out[UM_ORIGIN_NAME]);

#endif

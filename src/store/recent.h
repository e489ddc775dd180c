/*
 * recent.h - when digests came that were first seen within the last hour, to
 * ten seconds.
 *
 * Lists know the epoch in which a digest came. This table knows more for an
 * hour: for each of two columns (reports, and whitelisting) when the digest was
 * entered and when it was updated last. Its size is fixed. When it is full, a
 * digest that was entered long ago makes room, and its times are those of its
 * epoch from then on.
 *
 * Time advances with the calls. A table is for one thread.
 */
#ifndef UM_STORE_RECENT_H
#define UM_STORE_RECENT_H

#include "store/pieces.h"

enum {
    UM_RECENT_COLUMNS = 2,
    UM_RECENT_TICK = 10,   /* seconds */
    UM_RECENT_SPAN = 3600, /* seconds that a digest stays */
    UM_RECENT_BATCH = 256
};

typedef struct um_recent um_recent;

/* Returns the bytes that a table for that many digests takes. */
uint64_t um_recent_bytes(uint64_t capacity);
/* Makes a table for that many digests; alloc NULL: the C library's. */
umbel_status um_recent_open(uint64_t capacity, const umbel_alloc *alloc,
                            um_recent **out, umbel_error *err);
/* NULL is accepted. */
void um_recent_close(um_recent *r);

/*
 * Digests came in a column at a time in seconds, at most UM_RECENT_BATCH of
 * them; count[i] is how often d[i] had come there before. Those that are in the
 * table are updated, and those that had never come are entered.
 */
void um_recent_append(um_recent *r, unsigned column, const umbel_digest *d,
                      const uint64_t *count, size_t n, uint64_t now);

/* Gives both times of a digest that was entered within the last hour, rounded
 * down to ten seconds; false if it was not. */
bool um_recent_times(const um_recent *r, unsigned column, const umbel_digest *d,
                     uint64_t now, uint64_t *entered, uint64_t *updated);

typedef struct um_recent_stats {
    uint64_t digests; /* in the table, including some that are over */
    uint64_t slots;
    uint64_t pushed; /* that made room for others since it was opened */
    uint64_t bytes;  /* of memory */
} um_recent_stats;

void um_recent_stats_get(const um_recent *r, um_recent_stats *out);

/* Writes the table: 8 bytes a digest, and a byte for each line of 8 slots. */
umbel_status um_recent_encode(const um_recent *r, const um_sink *to,
                              umbel_error *err);
/*
 * Replaces the content of r by what um_recent_encode wrote, from bytes of any
 * origin. A table of another capacity is read and forgotten. When it fails, r
 * is empty.
 */
umbel_status um_recent_decode(um_recent *r, um_feed *from, umbel_error *err);

#endif

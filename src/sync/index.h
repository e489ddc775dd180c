/*
 * sync_index.h - what makes look-ups in many copies fast; see sync_columns.c
 * and sync_sums.c. A part of sync_inside.h.
 */
#ifndef UM_EXCHANGE_SYNC_INDEX_H
#define UM_EXCHANGE_SYNC_INDEX_H

#include "filter/kind.h"

#include <umbel/sync.h>

typedef struct um_copy um_copy;
typedef struct um_staging um_staging;
typedef struct um_sync_of_list um_sync_of_list;

/* Which copies of a list may hold a digest; at NULL: it is not known. */
typedef struct um_sync_columns {
    um_filter_index bits;
    uint16_t copies[UM_INDEX_MAX]; /* that share a column */
    uint64_t used;                 /* columns that are not free */
    uint64_t old, clearing;        /* of them left behind, and cleared now */
    size_t cleared;                /* bytes */
} um_sync_columns;

/* What the copies of others in a list count together, at most; at NULL: it is
 * not known. */
typedef struct um_sync_sums {
    um_count_totals cells;
    size_t cleared; /* bytes of them */
    bool stale;     /* a copy has gone: they are larger than they need be */
} um_sync_sums;

/* Copies for which there must be memory beside an index. */
enum { UM_INDEX_SPARE_COPIES = 4 };

/* Counts the copies of a list that are not our own. */
size_t um_index_copies(const umbel_sync *s, size_t list);

/* --- columns -------------------------------------------------------------- */

/* Returns true if um_columns_find says whether a copy may hold a digest. */
bool um_columns_know(const umbel_sync *s, const um_copy *c);
/* mask[i] has the bit of each column that may hold digest i. */
void um_columns_find(const um_sync_of_list *l, const umbel_digest *d, size_t n,
                     uint64_t *mask);
/* Notes what an update changed. */
void um_columns_update(umbel_sync *s, um_copy *c, const um_staging *g);
/* A copy goes. */
void um_columns_leave(umbel_sync *s, const um_copy *c);
/* Goes on with the work that is left, for about `bytes` of it. Returns how many
 * of them were not needed. */
size_t um_columns_work(umbel_sync *s, size_t bytes);
void um_columns_fini(umbel_sync *s, um_sync_of_list *l);
/* Releases the memory of all of them, for copies that need it. */
void um_columns_pass_up(umbel_sync *s);

/* --- sums ------------------------------------------------------------------
 */

/* Returns true if um_sums_bound has all copies of others in it. */
bool um_sums_know(const umbel_sync *s, size_t list);
/* most[i] is at least what these count together of digest i; UM_TOTAL_MAX: or
 * more. */
void um_sums_bound(const um_sync_of_list *l, const umbel_digest *d, size_t n,
                   uint8_t *most);
/* The same, in the same places, as of columns. An update has been taken: its
 * staging holds the pages as they were. */
void um_sums_update(umbel_sync *s, um_copy *c, const um_staging *g);
void um_sums_leave(umbel_sync *s, const um_copy *c);
size_t um_sums_work(umbel_sync *s, size_t bytes);
void um_sums_fini(umbel_sync *s, um_sync_of_list *l);
void um_sums_pass_up(umbel_sync *s);

#endif

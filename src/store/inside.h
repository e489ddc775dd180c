/*
 * inside.h - the store's own memory, for its files: store.c changes the state,
 * upkeep.c takes snapshots, opening.c opens and closes.
 */
#ifndef UM_STORE_INSIDE_H
#define UM_STORE_INSIDE_H

#include "base/hash.h"
#include "store/journal.h"
#include "store/state.h"
#include "store/store.h"
#include "store/worker.h"

enum {
    UM_STORE_BUFFER = 1 << 20,        /* blocks that are not written yet */
    UM_STORE_JOURNAL_BYTES = 1 << 20, /* before a snapshot, at least */
    UM_STORE_JOURNAL_MOST = 8 /* times its limit, and changes are refused */
};

/*
 * Where a snapshot is: the worker prepares a journal, then a child writes.
 * While it starts the store waits for its first journal; changes are kept in
 * memory.
 */
typedef enum um_phase {
    UM_IDLE,
    UM_STARTING,
    UM_PREPARING,
    UM_WRITING
} um_phase;

struct um_store {
    um_disk *disk;
    um_worker *worker;
    uint8_t secret[UMBEL_SECRET_LEN];
    um_hasher hasher;
    um_secret hasher_secret;
    um_state state;
    um_store_watch watch;
    uint64_t sums_bytes;
    int event[2];
    uint64_t now;    /* the latest tick: a clock set back stands still */
    uint64_t ticked; /* the last tick, by the clock */
    uint64_t age;    /* seconds between ticks; what upkeep counts by */

    /* The journal. */
    um_durability durability;
    int file; /* -1: none */
    uint64_t number, end;
    uint64_t seq;       /* of the last block that was begun */
    uint64_t written;   /* of the last that was written */
    uint64_t old_bytes; /* of earlier journals that are still needed */
    uint64_t old_files;
    uint64_t least_bytes;
    uint64_t marked; /* age when the last mark was asked for */
    uint64_t marked_seq;
    uint64_t lists_id;

    /* Blocks that are not written yet; the last one may be open. */
    uint8_t *buffer;
    size_t used, block;
    uint64_t block_time;

    /* The snapshot. */
    um_phase phase;
    pid_t child;
    uint64_t snapshot_seq;
    uint64_t retry_at, retry_after; /* an age, seconds */

    um_store_stats stats;
    bool open;   /* a block */
    bool wanted; /* a snapshot */
    bool noting; /* before_snapshot runs */
    bool has_failed;
    char reason[197];
};

/* From here on changes are refused, until a snapshot is written. */
void um_store_fail(um_store *s, int number, const char *what);
/* Leaves the journal to the worker, which syncs and closes it. */
void um_store_retire(um_store *s);
/* Waits before the next snapshot is tried, each time longer. */
void um_store_append_off(um_store *s);

/* Gives room for len bytes of records at that time, in an open block. */
umbel_status um_store_begin_records(um_store *s, size_t len, uint64_t now,
                                    umbel_error *err);
/* Begins a new epoch of a list; there is room for the record. */
umbel_status um_store_turn(um_store *s, unsigned list, umbel_error *err);

/* Returns the time of the next record at least: never before a tick or another
 * record, whatever the clock does. */
uint64_t um_store_time(const um_store *s);

/* Returns the length of the journal from which on a snapshot is taken. */
uint64_t um_store_journal_limit(const um_store *s);
/* Returns true if the next tick should begin a snapshot. */
bool um_store_is_due(const um_store *s);
/* Lets the watch put its notes into the state that a snapshot keeps. */
void um_store_before_snapshot(um_store *s);
/* Writes snapshot-number of the present state; returns a number of errno.h. */
int um_store_write_snapshot(const um_store *s, uint64_t number,
                            uint64_t *bytes);

#endif

/*
 * state.h - what the store holds, and how a record changes it.
 *
 * The state changes by records only, and a record's effect depends on nothing
 * but the state, the record and its time. So the snapshot and the journal
 * behind it give the same state again.
 */
#ifndef UM_STORE_STATE_H
#define UM_STORE_STATE_H

#include "store/list.h"
#include "store/notes.h"
#include "store/once.h"
#include "store/recent.h"
#include "store/record.h"
#include "store/snapshot.h"
#include "store/store.h"

typedef struct um_state {
    size_t nlists;
    um_list *list[UM_STORE_MAX_LISTS];
    char name[UM_STORE_MAX_LISTS][UM_LIST_MAX_NAME];
    unsigned times[UM_STORE_MAX_LISTS]; /* column of recent, from 1 on */
    um_recent *recent;                  /* NULL: no list has times */
    um_once once;
    um_notes notes;
    uint64_t time; /* of the last record */
} um_state;

/* Names the lists, and makes those that are missing. */
umbel_status um_state_fill(um_state *st, const um_store_config *c,
                           const uint8_t *secret, uint64_t now,
                           umbel_error *err);
void um_state_fini(um_state *st);

/* Checksum of the names of n lists: those at these places, in this order. */
uint64_t um_state_lists_id(const um_store_config *c, const uint8_t *order,
                           size_t n);

/* Counts n digests, at most UM_LIST_BATCH, in a list that has room. */
umbel_status um_state_count(um_state *st, unsigned list, const umbel_digest *d,
                            const uint32_t *amount, size_t n, uint64_t time,
                            umbel_error *err);
umbel_status um_state_turn(um_state *st, unsigned list, uint64_t time,
                           umbel_error *err);

/* Empties all lists and gives a note a value. When it fails nothing has
 * changed. */
umbel_status um_state_renew(um_state *st, umbel_slice name, umbel_slice value,
                            uint64_t time, umbel_error *err);

/* Writes the state, with the names of its lists; the times come last, if there
 * are any (recent is not NULL). */
umbel_status um_state_encode(const um_state *st, const um_sink *to,
                             umbel_error *err);
/*
 * Reads the state of a snapshot with that head into st, which is empty.
 * order[i] is the place in the configuration of list i of the data. E_MISMATCH
 * names a list that the configuration lacks.
 */
umbel_status um_state_decode(um_state *st, const um_store_config *c,
                             const uint8_t *secret, um_feed *from,
                             const um_snapshot_head *head,
                             uint8_t order[UM_STORE_MAX_LISTS],
                             umbel_error *err);

/* Returns true if the note is to be shown. NULL is accepted. */
bool um_watch_wants(const um_store_watch *w, umbel_slice name);
bool um_watch_has_prefix(const um_store_watch *w, umbel_slice name);
/* Shows one note; a value without data: it was removed. */
umbel_status um_watch_show(const um_store_watch *w, const um_state *st,
                           size_t nlists, umbel_slice name, umbel_slice value,
                           umbel_error *err);
/* Shows all watched notes of a snapshot, the leader first. */
umbel_status um_watch_show_all(const um_store_watch *w, const um_state *st,
                               size_t nlists, umbel_error *err);

/* Replays blocks: counts are collected, since many at once cost less. */
typedef struct um_replay {
    um_state *state;
    const uint8_t *order; /* of the lists in the journal */
    uint32_t nlists;
    const um_store_watch *watch; /* NULL: none; set it after um_replay_init */
    size_t configured;           /* lists, for the watch */
    uint64_t records;
    uint64_t time; /* of what is collected: times are entered in order */
    struct um_replay_batch {
        size_t n;
        umbel_digest digest[UM_LIST_BATCH];
        uint32_t amount[UM_LIST_BATCH];
    } * batch; /* one a list */
} um_replay;

umbel_status um_replay_init(um_replay *p, um_state *st, const uint8_t *order,
                            uint32_t nlists, umbel_error *err);
/* Applies the records of a block. E_FORMAT when they make no sense. */
umbel_status um_replay_block(um_replay *p, const uint8_t *records, size_t len,
                             uint64_t time, umbel_error *err);
/* Applies what was collected; after the last block. */
umbel_status um_replay_flush(um_replay *p, umbel_error *err);
void um_replay_fini(um_replay *p);

#endif

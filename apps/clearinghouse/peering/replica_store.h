/*
 * replica_store.h - replicas of other origins on disk: one file per replica,
 * and one for everything else that the engine of umbel/experimental/sync.h
 * knows.
 *
 *     DATA/peers/1f2e3d4c-*.umbel   a replica: a coded filter from
 *                                   umbel_sync_export
 *     DATA/peers/state              logs, contradictions, origin status
 *
 * A child process, which has the memory of the moment it was forked, writes
 * new files and renames them: the server goes on, and a crash leaves the old
 * version. Replicas of our own current incarnation are not stored here: they
 * are in the store of reports.
 *
 * A file that is damaged, expired or foreign is logged and removed: peers send
 * the replica again.
 */
#ifndef UM_CLEARINGHOUSE_REPLICA_STORE_H
#define UM_CLEARINGHOUSE_REPLICA_STORE_H

#include "store/disk.h"

#include <umbel/experimental/sync.h>

#define UM_REPLICA_STATE "state" /* name of the state file */

typedef struct um_replica_store um_replica_store;

typedef struct um_replica_store_config {
    const char *dir; /* created if missing; its parent exists */
    um_disk *disk;   /* instead of dir; closed with the store */
    umbel_sync *machine;
    const char *(*list)(size_t i); /* names of its lists */
    uint64_t interval; /* seconds between saves of replicas; 0 means 600 */
    uint64_t memory;   /* largest filter that is read; 0 means 1 GiB */
    void (*log)(void *ctx, const char *text); /* or NULL */
    void *ctx;
} um_replica_store_config;

/* Opens the store of replicas. Release *out with um_replica_store_close. */
umbel_status um_replica_store_open(const um_replica_store_config *c,
                                   um_replica_store **out, umbel_error *err);
/*
 * Imports what was saved: first the state, then replicas. Call it at the
 * start, after umbel_sync_tick and after our own log was loaded. Returns E_IO
 * if the directory cannot be read.
 */
umbel_status um_replica_store_load(um_replica_store *p, umbel_error *err);

/* Starts the jobs that are due, and collects those that ended. Call it once a
 * second, and when a child has ended (SIGCHLD), which commands wait for. */
void um_replica_store_tick(um_replica_store *p, uint64_t now);

/* Starts a save of the state. Returns its ticket. */
uint64_t um_replica_store_save_state(um_replica_store *p);
/* Returns the last ticket whose state is on disk, or the last one that was
 * tried. Tickets between them failed, and are tried again. */
uint64_t um_replica_store_saved(const um_replica_store *p);
uint64_t um_replica_store_tried(const um_replica_store *p);
/* Saves the state at the next tick. For callbacks of the engine, which may be
 * in the middle of a change. */
void um_replica_store_note_change(um_replica_store *p);
/* Starts a save of replicas in the background, before it is due. */
void um_replica_store_save_begin(um_replica_store *p);
/* The same, but at once, and again if a save is running. */
void um_replica_store_save_now(um_replica_store *p);
/* Returns true while a save is running, or is about to. */
bool um_replica_store_saving(const um_replica_store *p);
/* Ends a save that is running, and saves the state if it changed: at a clean
 * shutdown. */
umbel_status um_replica_store_finish_state(um_replica_store *p,
                                           umbel_error *err);
/* Saves what changed and waits for it. */
umbel_status um_replica_store_save(um_replica_store *p, umbel_error *err);

typedef struct um_replica_store_stats {
    uint64_t files;  /* of replicas */
    uint64_t saves;  /* of replicas, since the start */
    uint64_t saved;  /* when the last one was complete; 0 if never */
    uint64_t bad;    /* files that the start removed */
    int error;       /* errno of the last save; 0 if it worked */
    bool state_lost; /* the saved state was damaged: drops and mutes are lost */
} um_replica_store_stats;

void um_replica_store_stats_get(const um_replica_store *p,
                                um_replica_store_stats *out);

/* Stops a save that is running. Accepts NULL. */
void um_replica_store_close(um_replica_store *p);

#endif

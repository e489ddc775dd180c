/*
 * peers_store.h - what others said, on disk: a file for each copy, and one for
 * everything else that the machine of umbel/sync.h knows.
 *
 *     DATA/peers/1f2e3d4c-*.umbel   a copy: a coded filter, as
 *                                   umbel_sync_export makes it
 *     DATA/peers/state              logs, contradictions, standings
 *
 * Files are written beside the old ones and renamed, by a child process with
 * the memory of that moment: the server goes on, and a crash leaves the old
 * version. Copies of our own present incarnation are not here: the store of
 * reports has them.
 *
 * A copy that is damaged, expired or not ours is logged and removed: peers send
 * it again.
 */
#ifndef UM_CLEARINGHOUSE_PEERS_STORE_H
#define UM_CLEARINGHOUSE_PEERS_STORE_H

#include "store/disk.h"

#include <umbel/sync.h>

typedef struct um_peers_store um_peers_store;

typedef struct um_peers_store_config {
    const char *dir; /* made if it is not there; in a directory that is */
    um_disk *disk;   /* instead of dir, closed with the store */
    umbel_sync *machine;
    const char *(*list)(size_t i); /* names of its lists */
    uint64_t interval; /* seconds between two saves of copies; 0: 600 */
    uint64_t memory;   /* the largest filter that is read; 0: 1 GiB */
    void (*log)(void *ctx, const char *text); /* or NULL */
    void *ctx;
} um_peers_store_config;

/* Release *out with um_peers_store_close. */
umbel_status um_peers_store_open(const um_peers_store_config *c,
                                 um_peers_store **out, umbel_error *err);
/*
 * Gives the machine what was saved: first the state, then copies. Call it at
 * the start, once the time was told (umbel_sync_tick) and our own log is in the
 * machine. E_IO: the directory cannot be read.
 */
umbel_status um_peers_store_load(um_peers_store *p, umbel_error *err);

/* Begins what is due, and sees what has ended. Call it once a second, and when
 * a child has ended (SIGCHLD), which commands wait for. */
void um_peers_store_tick(um_peers_store *p, uint64_t now);

/* Asks for a save of the state, which has begun then. Returns its ticket. */
uint64_t um_peers_store_save_state(um_peers_store *p);
/* Returns the last ticket whose state is on disk, and the last that was tried:
 * those between could not be saved, and are tried again. */
uint64_t um_peers_store_saved(const um_peers_store *p);
uint64_t um_peers_store_tried(const um_peers_store *p);
/* The same at the next tick, for events of the machine: it may be amid a
 * change. */
void um_peers_store_note_change(um_peers_store *p);
/* Asks for a save of copies before it is due, in the background. */
void um_peers_store_save_begin(um_peers_store *p);
/* Saves what changed now, and waits for it: at a clean end. */
umbel_status um_peers_store_save(um_peers_store *p, umbel_error *err);

typedef struct um_peers_store_stats {
    uint64_t files;  /* of copies */
    uint64_t saves;  /* of copies, since the start */
    uint64_t saved;  /* when the last one was whole; 0: never */
    uint64_t bad;    /* files that were removed at the start */
    int error;       /* of the last save, a number of errno.h; 0: none */
    bool state_lost; /* the saved state was damaged: drops and mutes are gone */
} um_peers_store_stats;

void um_peers_store_stats_get(const um_peers_store *p,
                              um_peers_store_stats *out);

/* Ends a save that is under way. NULL is accepted. */
void um_peers_store_close(um_peers_store *p);

#endif

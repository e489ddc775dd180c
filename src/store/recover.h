/*
 * recover.h - from the files of a directory to the state.
 */
#ifndef UM_STORE_RECOVER_H
#define UM_STORE_RECOVER_H

#include "store/state.h"

/* What the directory holds. */
typedef struct um_found {
    um_disk *disk;
    const char *dir;   /* for messages */
    uint64_t snapshot; /* the newest; 0: there is none */
    uint64_t *journal; /* those from there on, ascending */
    size_t n, cap;
    uint64_t last; /* the largest number of any file */
    umbel_status status;
} um_found;

/* What recovery has seen. */
typedef struct um_recovered {
    uint64_t seq;  /* of the last block */
    uint64_t time; /* of the snapshot */
    uint64_t snapshot_bytes, journal_bytes;
    uint64_t records, torn;
    bool rewrite; /* a new snapshot must come before new records */
} um_recovered;

/* Lists the directory. Release with um_found_fini. */
umbel_status um_found_init(um_found *f, um_disk *disk, const char *dir,
                           umbel_error *err);
void um_found_fini(um_found *f);

/* Opens the snapshot, if there is one, and checks that it was made with this
 * secret. Reads only its head. */
umbel_status um_found_check(const um_found *f, const uint8_t *secret,
                            umbel_error *err);

/*
 * Reads the snapshot and replays the journals. What is read may have been
 * written by a process that was killed, and need not be durable yet. st is
 * empty.
 */
umbel_status um_recover(const um_found *f, const um_store_config *c,
                        const uint8_t *secret, um_state *st, um_recovered *out,
                        umbel_error *err);

#endif

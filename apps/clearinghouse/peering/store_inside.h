/*
 * peers_store_inside.h - what peers_store.c and peers_load.c share.
 */
#ifndef UM_CLEARINGHOUSE_PEERS_STORE_INSIDE_H
#define UM_CLEARINGHOUSE_PEERS_STORE_INSIDE_H

#include "clearinghouse/peering/files.h"
#include "clearinghouse/peering/store.h"

enum {
    UM_PEERS_NAMES = 4096 /* of a directory that are looked at in one go */
};

typedef enum um_peers_job {
    UM_IDLE_JOB,
    UM_STATE_JOB,
    UM_COPIES_JOB,
    UM_PEERS_JOBS
} um_peers_job;

/* A copy, and its file. */
typedef struct um_saved_copy {
    um_copy_name name; /* the first: arrays are sorted by it */
    uint64_t version;
    size_t at;    /* for umbel_sync_export */
    bool changed; /* the file is older, or not there */
} um_saved_copy;

typedef struct um_saved_copies {
    um_saved_copy *item;
    size_t n;
} um_saved_copies;

struct um_peers_store {
    um_peers_store_config set;
    um_disk *disk;
    um_peers_job job; /* of the child */
    pid_t child;
    um_saved_copies saved;  /* what files have */
    um_saved_copies wanted; /* what they have after the job */
    bool copies_due;
    uint8_t *state; /* that the job writes ... */
    size_t state_len;
    uint64_t state_sum, job_sum; /* checksums of the state, saved and wanted */
    uint64_t asked, begun, tried, done; /* tickets */
    uint64_t now, next, retry_at, retry_after;
    int error[UM_PEERS_JOBS]; /* of the last one; 0: none */
    um_peers_store_stats stats;
};

void um_saved_free(um_saved_copies *c);
/* c is sorted. */
const um_saved_copy *um_saved_find(const um_saved_copies *c, const char *name);
/* Lists copies that belong on disk, sorted; false: no memory. */
bool um_saved_list(const um_peers_store *p, um_saved_copies *out);
__attribute__((format(printf, 2, 3))) void
um_peers_store_log(const um_peers_store *p, const char *format, ...);

#endif

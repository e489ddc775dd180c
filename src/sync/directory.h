/*
 * sync_dir.h - a directory with one filter for each origin (umbel sync).
 *
 *   sync               what it is: a name, our incarnation, and the terms
 *   key, key.pub       our origin
 *   shape.umb          an empty filter
 *   copy-ORIGIN-INCARNATION-EPOCH.umb
 *                      a filter of an origin; it carries what was signed
 *   state              logs, and who was dropped
 *
 * Every file is replaced whole. The directory is locked while it is open.
 */
#ifndef UM_EXCHANGE_SYNC_DIR_H
#define UM_EXCHANGE_SYNC_DIR_H

#include "sync/terms.h"

#include <limits.h>

typedef struct um_sync_dir {
    char path[PATH_MAX];
    char name[UMBEL_SYNC_MAX_NAME];
    int lock;
    uint64_t incarnation;
    um_sync_terms terms;
    umbel_filter *shape;
    umbel_sync *machine;
    char
        differs[256]; /* why the other side has another shape; "": it has not */
    struct um_saved_copy {
        uint8_t origin[UMBEL_ORIGIN_LEN];
        uint64_t incarnation, epoch, version;
    } * saved;
    size_t nsaved;
} um_sync_dir;

bool um_is_sync_dir(const char *path);

/* Makes a directory, which does not exist or is empty, and a key. */
umbel_status um_sync_dir_create(const char *path, const char *name,
                                const umbel_filter *shape,
                                const um_sync_terms *terms, uint64_t now,
                                umbel_error *err);
umbel_status um_sync_dir_open(um_sync_dir *d, const char *path, uint64_t now,
                              umbel_error *err);
/* Reads the public key of a directory, which is not open. */
umbel_status um_sync_dir_origin(const char *path, uint8_t out[UMBEL_ORIGIN_LEN],
                                umbel_error *err);
/* Reads the key that signs. */
umbel_status um_sync_dir_key(const um_sync_dir *d,
                             uint8_t out[UMBEL_ORIGIN_SECRET_LEN],
                             umbel_error *err);
/* Saves what changed. */
umbel_status um_sync_dir_save(um_sync_dir *d, umbel_error *err);
void um_sync_dir_close(um_sync_dir *d);

/* A copy of our own filter of the present epoch, empty if it has no keys. */
umbel_status um_sync_dir_own(const um_sync_dir *d, umbel_filter **out,
                             umbel_error *err);

/* Takes what our own filter says now. */
umbel_status um_sync_dir_publish(um_sync_dir *d, const umbel_filter *f,
                                 umbel_error *err);

/* The files of copies that count now; *n of them, to be freed one by one, then
 * all. */
umbel_status um_sync_dir_files(const char *path, uint64_t now, char ***files,
                               size_t *n, umbel_error *err);

#endif

/*
 * directory.h - a directory with one filter for each origin (umbel sync).
 *
 *   sync               what it is: a name, our incarnation, and the parameters
 *   key, key.pub       our origin
 *   shape.umb          an empty filter
 *   copy-ORIGIN-INCARNATION-EPOCH.umb
 *                      a replica: the filter of an origin with what was signed
 *   state              logs, and which origins were dropped
 *
 * Every file is replaced whole. The directory is locked while it is open.
 *
 * The parameters of the exchange are the properties of a list other than its
 * shape, and the server to connect to. They are text, in the directory and as
 * the data of an empty filter that 'umbel-clearinghouse shape' writes.
 */
#ifndef UM_SYNC_DIRECTORY_H
#define UM_SYNC_DIRECTORY_H

#include <umbel/experimental/sync.h>

#include <limits.h>

enum { UM_SYNC_PARAMETERS_TEXT = 512 };

typedef struct um_sync_parameters {
    char list[UMBEL_SYNC_MAX_NAME];
    uint64_t epoch_seconds, origin_cap;
    uint32_t epochs, page_bytes, quorum;
    char agree[UMBEL_SYNC_MAX_AGREE]; /* may be "" */
    bool has_server;
    uint8_t server[UMBEL_ORIGIN_LEN]; /* its public key */
} um_sync_parameters;

/* Parameters for directories that sync with each other: one list, one epoch. */
extern const um_sync_parameters um_sync_parameters_standard;

/* Formats the parameters as text; returns its length. */
size_t um_sync_parameters_print(const um_sync_parameters *p,
                                char out[UM_SYNC_PARAMETERS_TEXT]);
/* Parses text that um_sync_parameters_print has formatted; returns false for
 * anything else. */
bool um_sync_parameters_read(const char *text, um_sync_parameters *out);

/* Reads the parameters attached to a filter, or the standard ones if it has no
 * data. E_FORMAT if its data are something else. */
umbel_status um_sync_parameters_of(const umbel_filter *f,
                                   um_sync_parameters *out, umbel_error *err);
umbel_status um_sync_parameters_attach(const um_sync_parameters *p,
                                       umbel_filter *f, umbel_error *err);

typedef struct um_sync_dir {
    char path[PATH_MAX];
    char name[UMBEL_SYNC_MAX_NAME];
    int lock;
    uint64_t incarnation;
    um_sync_parameters parameters;
    umbel_filter *shape;
    umbel_sync *machine;
    char differs[256]; /* how the peer's shape differs; "": it does not */
    struct um_saved_replica {
        uint8_t origin[UMBEL_ORIGIN_LEN];
        uint64_t incarnation, epoch, version;
    } * saved;
    size_t nsaved;
} um_sync_dir;

bool um_is_sync_dir(const char *path);

/* Creates a directory, which must not exist or be empty, and a key. */
umbel_status um_sync_dir_create(const char *path, const char *name,
                                const umbel_filter *shape,
                                const um_sync_parameters *parameters,
                                uint64_t now, umbel_error *err);
umbel_status um_sync_dir_open(um_sync_dir *d, const char *path, uint64_t now,
                              umbel_error *err);
/* Reads the public key of a directory without opening it. */
umbel_status um_sync_dir_origin(const char *path, uint8_t out[UMBEL_ORIGIN_LEN],
                                umbel_error *err);
/* Reads the signing key. */
umbel_status um_sync_dir_key(const um_sync_dir *d,
                             uint8_t out[UMBEL_ORIGIN_SECRET_LEN],
                             umbel_error *err);
/* Saves all changes. */
umbel_status um_sync_dir_save(um_sync_dir *d, umbel_error *err);
void um_sync_dir_close(um_sync_dir *d);

/* Copies our own filter of the current epoch; an empty filter if there is
 * none. */
umbel_status um_sync_dir_own(const um_sync_dir *d, umbel_filter **out,
                             umbel_error *err);

/* Publishes our own filter. */
umbel_status um_sync_dir_publish(um_sync_dir *d, const umbel_filter *f,
                                 umbel_error *err);

/* Lists the *n files of replicas that count now. Free each name, then the
 * array. */
umbel_status um_sync_dir_files(const char *path, uint64_t now, char ***files,
                               size_t *n, umbel_error *err);

#endif

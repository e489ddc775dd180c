/*
 * directory.h - a directory with one filter for each origin (umbel sync).
 *
 *   sync               what it is: a name, our incarnation, and the parameters
 *   key, key.pub       our origin
 *   shape.umb          an empty filter
 *   copy-ORIGIN-INCARNATION-EPOCH.umb
 *                      a replica: the filter of an origin with what was signed
 *   state              logs, and which origins were dropped or banned
 *   local              limits, what the operator has to learn, and which file
 *                      this one is on its disk
 *   kept-ORIGIN-INCARNATION-EPOCH.umb
 *                      a replica of a dropped or banned origin: not used
 *
 * Every file is replaced whole. The directory is locked while it is open.
 *
 * A directory that was restored from a backup, or copied, must not sign other
 * versions under numbers that it gave out before. Its file `local` has another
 * inode then, or another time of birth, than it recorded: the directory
 * continues as a new incarnation. Where that cannot be seen (a snapshot of the
 * file system), the exchange finds out.
 *
 * The parameters of the exchange are the properties of a list other than its
 * shape, and the server to connect to. They are text, in the directory and as
 * the data of an empty filter that 'umbel-clearinghouse shape' writes.
 */
#ifndef UM_SYNC_DIRECTORY_H
#define UM_SYNC_DIRECTORY_H

#include "base/text.h"

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

/* What an exchange did not accept. */
typedef struct um_sync_refusal {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    bool banned; /* it signed two roots for a version; else it was refused */
    umbel_sync_reason reason;
    char text[200];
} um_sync_refusal;

enum {
    UM_SYNC_ORIGINS = 16, /* the default of max_origins */
    UM_SYNC_MAX_ORIGINS = 65536,
    UM_SYNC_MAX_FILTERS = 256, /* of one origin and epoch */
    UM_SYNC_MAX_REFUSALS = 64  /* that are recorded */
};

typedef struct um_sync_dir {
    char path[PATH_MAX];
    char name[UMBEL_SYNC_MAX_NAME];
    int lock;
    uint64_t incarnation;
    um_sync_parameters parameters;
    umbel_filter *shape;
    umbel_sync *machine;
    uint64_t max_memory; /* to read a compressed filter */
    uint32_t max_origins;
    uint32_t many;     /* filters of one origin and epoch: they are joined */
    bool strict;       /* only origins that were allowed */
    bool is_open;      /* events from now on are news */
    bool renewed;      /* it continues as a new incarnation */
    bool was_renewed;  /* ... since the last exchange, by another process */
    bool exchanged;    /* an exchange is over */
    uint64_t resigned; /* as in the engine when it was saved */
    char differs[256]; /* how the peer's shape differs; "": it does not */
    um_sync_refusal *refusal; /* one for each origin */
    size_t nrefusals, unrecorded;
    /* Origins of which another version than ours was refused, since the last
     * exchange without a refusal. */
    uint8_t conflict[UM_SYNC_MAX_REFUSALS][UMBEL_ORIGIN_LEN];
    size_t nconflicts;
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
/* The same, with at most max_memory bytes to read a compressed filter; 0: the
 * default. */
umbel_status um_sync_dir_open_within(um_sync_dir *d, const char *path,
                                     uint64_t now, uint64_t max_memory,
                                     umbel_error *err);
/* Reads the public key of a directory without opening it. */
umbel_status um_sync_dir_origin(const char *path, uint8_t out[UMBEL_ORIGIN_LEN],
                                umbel_error *err);
/* Reads the signing key. */
umbel_status um_sync_dir_key(const um_sync_dir *d,
                             uint8_t out[UMBEL_ORIGIN_SECRET_LEN],
                             umbel_error *err);
/* Saves all changes. Renames files of origins that were dropped or banned to
 * kept-*. */
umbel_status um_sync_dir_save(um_sync_dir *d, umbel_error *err);
/* Receives a message. If filters of ours were signed anew, this is saved before
 * they can be sent: after a kill, others must not have what we do not know. */
umbel_status um_sync_dir_receive(um_sync_dir *d, int peer, umbel_slice message,
                                 uint64_t now, umbel_error *err);
/* Ends an exchange and saves. Records claims of the peer about our filters that
 * it did not prove. If an origin has many filters, because it was restored or
 * copied many times, those whose keys are in a later one are removed. */
umbel_status um_sync_dir_end_exchange(um_sync_dir *d, int peer,
                                      umbel_error *err);
void um_sync_dir_close(um_sync_dir *d);

/* Copies our own filter of the current epoch. Without one the copy is empty; or
 * it has the keys of all our filters, if there are many of them, so that these
 * can be removed. */
umbel_status um_sync_dir_own(const um_sync_dir *d, umbel_filter **out,
                             umbel_error *err);

/* Publishes our own filter. */
umbel_status um_sync_dir_publish(um_sync_dir *d, const umbel_filter *f,
                                 umbel_error *err);

/* Merges the filters of all origins: the union, or the sum of counts. */
umbel_status um_sync_dir_merge(const char *path, uint64_t now,
                               uint64_t max_memory, umbel_filter **out,
                               umbel_error *err);

/* From the first allow on, only allowed origins are accepted; filters of others
 * are kept, but not used. */
umbel_status um_sync_dir_allow(um_sync_dir *d,
                               const uint8_t origin[UMBEL_ORIGIN_LEN],
                               umbel_error *err);
/* Accepts an origin that was dropped again, and uses its filters that were
 * kept. Those of a banned incarnation become filters of ours, as nobody accepts
 * them from its origin. If none were kept and another version was refused
 * because it has less, all filters of the origin become filters of ours, so
 * that the other version can be accepted. *n is how many there were. */
umbel_status um_sync_dir_restore(um_sync_dir *d,
                                 const uint8_t origin[UMBEL_ORIGIN_LEN],
                                 size_t *n, umbel_error *err);
/* Sets how many origins may have filters here, ours included. */
void um_sync_dir_limit(um_sync_dir *d, uint32_t max_origins);

/* Counts the origins that have filters here. */
size_t um_sync_dir_count_origins(const um_sync_dir *d);
bool um_sync_dir_has_origin(const um_sync_dir *d,
                            const uint8_t origin[UMBEL_ORIGIN_LEN]);
/* Walks origins that were dropped or banned; *at is 0 at first. */
bool um_sync_dir_next_dropped(const um_sync_dir *d, size_t *at,
                              uint8_t out[UMBEL_ORIGIN_LEN]);
/* Counts the filters that a peer refused after an exchange. */
size_t um_sync_dir_count_refused(const um_sync_dir *d, int peer);
/* Counts the files kept-*. */
size_t um_sync_dir_count_kept(const um_sync_dir *d);

/* Counts the origins all of whose filters were banned, and are kept. Takes no
 * lock, and needs no key. */
umbel_status um_sync_dir_count_missing(const char *path, size_t *n,
                                       umbel_error *err);

/* Lists the files of replicas that count now. */
umbel_status um_sync_dir_files(const char *path, uint64_t now, um_texts *files,
                               umbel_error *err);

#endif

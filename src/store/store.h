/*
 * store.h - counts and key-value pairs that survive crashes.
 *
 * The store holds lists of counts (list.h), the times of recent digests, a
 * replay guard for signed requests, and a key-value table. Every change is
 * appended to a journal; from time to time a child process writes a snapshot,
 * and the journal before it is removed.
 *
 *     um_store_add, um_store_set   change the state, record it in memory
 *     um_store_flush               writes all records with one call, at the end
 *                                  of an iteration of the event loop
 *     um_store_committed           replies with tickets up to it may be sent
 *     um_store_tick                call it when um_store_event is readable, and
 *                                  once a second
 *
 * A committed change survives if the process is killed; with
 * UM_DURABILITY_ALWAYS it survives a power failure as well.
 *
 * If the disk fails, the store refuses changes (E_IO) and still answers
 * queries; um_store_failure returns the reason. um_store_tick then tries to
 * write a snapshot to new files. When that succeeds, changes are accepted
 * again. After a full disk it is enough that the journal is
 * writable again.
 *
 * A store must be used by one thread. It has a thread of its own for fdatasync.
 */
#ifndef UM_STORE_STORE_H
#define UM_STORE_STORE_H

#include "store/disk.h"
#include "store/list.h"

enum {
    UM_STORE_MAX_LISTS = 64,
    UM_STORE_BATCH = UM_LIST_BATCH, /* entries of one um_store_add */
    UM_STORE_RECENT = 1000000,      /* digests with times of the last hour */
    UM_RECENT_COLUMNS = 2,          /* see um_list_config.recent_column */
    UM_KV_MAX_BYTES = 16 << 20,     /* of all keys and values together */
    /* Number of signed requests that the replay guard remembers (a power of
     * two), for how long, and their memory. */
    UM_REPLAY_GUARD_SECONDS = 600,
    UM_REPLAY_GUARD_MAX = 1 << 20,
    UM_REPLAY_GUARD_MAX_BYTES = 2 * UM_REPLAY_GUARD_MAX * 16
};

/* Returns the memory needed for the times of that many digests. */
uint64_t um_recent_times_bytes(uint64_t capacity);

/* The condition under which a change is committed. */
typedef enum um_durability {
    UM_DURABILITY_ALWAYS,   /* after fdatasync */
    UM_DURABILITY_INTERVAL, /* when written; fdatasync every second */
    UM_DURABILITY_NONE      /* when written; the system decides when to sync */
} um_durability;

/* Finds "always", "interval" or "none"; returns false for any other name. */
bool um_durability_find(const char *name, um_durability *out);
const char *um_durability_name(um_durability d);

typedef struct um_store um_store;

typedef struct um_entry {
    unsigned list; /* index in the configuration */
    uint32_t amount;
    umbel_digest digest;
    uint64_t request_id; /* for the replay guard: a digest of a signed request,
                            or 0 */
    uint16_t reporter;   /* tag of the network of a client without an account
                            (um_store_network_tag); 0: anybody else */
} um_entry;

/* What becomes of a new report. */
typedef enum um_store_admission {
    UM_ADMIT,        /* it is counted */
    UM_ADMIT_SHARED, /* so is this one, in the part of an epoch that clients
                        without an account share */
    UM_REFUSE_SHARE, /* that part is full */
    UM_REFUSE_RATE,  /* these clients report too many new digests at once; the
                        store does not return this */
    UM_REFUSE_FULL   /* the list is full */
} um_store_admission;

/*
 * Observes keys, for data that a start rebuilds from them and from the lists,
 * such as the versions published to peers. When the store is opened, on_value
 * is called for reset_key and then for each key that begins with prefix, as
 * they are in the snapshot, and then for each change of them in the journal, in
 * order. At each call the lists (indexed as in the configuration; NULL: did not
 * exist yet) are byte for byte what they were when um_store_set was called. A
 * value without data means that the key was removed. If on_value does not
 * return UMBEL_OK, um_store_open fails with its status.
 *
 * before_snapshot is called right before the moment that a snapshot captures.
 * Changes that it makes with um_store_set are part of the snapshot, and succeed
 * even while the disk fails. It must not add counts. um_store_open may call it,
 * after all calls of on_value. is_ready is called before, once a second, unless
 * the disk has failed: while it returns false, the snapshot is postponed, so
 * that before_snapshot has little left to do.
 *
 * on_count is called for each count of the journal, in order with on_value, and
 * for each count that is added; on_mail the same for mails.
 */
typedef struct um_store_observer {
    const char *reset_key; /* set by um_store_reset */
    const char *prefix;
    umbel_status (*on_value)(void *ctx, const um_list *const *lists,
                             size_t nlists, umbel_slice key, umbel_slice value,
                             umbel_error *err);
    void (*before_snapshot)(void *ctx, um_store *s);
    bool (*is_ready)(void *ctx);                    /* NULL: always */
    void (*on_count)(void *ctx, const um_entry *e); /* NULL: not called */
    void (*on_mail)(void *ctx, unsigned list, const um_near_write *w);
    void *ctx;
} um_store_observer;

typedef struct um_store_config {
    const char *dir;    /* created (mode 0700) if absent */
    const char *secret; /* file of `umbel keygen`; NULL: DIR/secret.
                           Created (mode 0600) if absent, unless the directory
                           contains data */
    um_durability durability;
    const um_list_config *lists;
    size_t nlists;
    /*
     * A snapshot is taken when the journal is longer than this, and longer than
     * a 16th of the last snapshot, so that a restart takes little longer
     * than reading the files. 0: 1 MiB.
     */
    uint64_t journal_bytes;
    /* Digests whose times are remembered for an hour. 0: UM_STORE_RECENT. */
    uint64_t recent;
    um_store_observer observer; /* zeroed: none */
    uint64_t totals_bytes;      /* memory for um_store_build_totals */
    uint64_t extra_bytes; /* memory for further filters of epochs that are full,
                             of all lists together */

    /* For tests: a disk instead of dir, which the store then owns, and a secret
     * of UMBEL_SECRET_LEN bytes instead of a file. */
    um_disk *disk;
    const uint8_t *secret_bytes;
} um_store_config;

/*
 * Opens the directory: locks it, reads the snapshot, replays the journal. now
 * is in seconds since 1970. On failure *err names the file and what to do:
 * E_REFUSED, another process holds the lock; E_VERSION, E_SECRET; E_FORMAT,
 * E_CHECKSUM, a damaged snapshot or journal; E_MISMATCH, the data contain a
 * list that the configuration does not.
 */
umbel_status um_store_open(const um_store_config *c, uint64_t now,
                           um_store **out, umbel_error *err);
/*
 * Checks what um_store_open would need, without creating or locking anything:
 * the directory, the secret, and that the newest snapshot was made with it. The
 * counts and the journal are not read.
 */
umbel_status um_store_check_dir(const um_store_config *c, umbel_error *err);
/*
 * Reads the secret of a data directory, from path or (NULL) DIR/secret. If the
 * file does not exist, *found is false; E_SECRET if the directory has data, and
 * E_IO if um_store_open could not create the file.
 */
umbel_status um_secret_check(const char *dir, const char *path, bool has_data,
                             bool *found, uint8_t out[UMBEL_SECRET_LEN],
                             umbel_error *err);
/* What a backup contains. */
typedef struct um_backup {
    uint64_t files, bytes, snapshot; /* snapshot: its number */
} um_backup;

/*
 * Copies the snapshot and the journals of a data directory to an empty one,
 * also while a server uses it; dir is for messages. All that was acknowledged
 * before the call is copied. The secret is not.
 */
umbel_status um_store_backup(um_disk *from, const char *dir, um_disk *to,
                             um_backup *out, umbel_error *err);
/* Flushes, syncs and frees the store; NULL is accepted. */
void um_store_close(um_store *s);

/* Returns the secret of all lists, UMBEL_SECRET_LEN bytes, derived from the one
 * in the file. */
const uint8_t *um_store_secret(const um_store *s);
/* Hashes keys for all lists. */
void um_store_digest(const um_store *s, const umbel_slice *keys, size_t n,
                     umbel_digest *out);

/*
 * Counts up to UM_STORE_BATCH digests. The counts change at once; do not
 * acknowledge them before um_store_committed has reached *ticket. If it fails
 * (E_IO: the disk has failed; E_LIMIT: too many signed requests; E_FULL: an
 * entry that um_store_accepts refuses; E_NOMEM), nothing is counted.
 */
umbel_status um_store_add(um_store *s, const um_entry *e, size_t n,
                          uint64_t now, uint64_t *ticket, umbel_error *err);
/*
 * Writes a mail to a list of kind near, otherwise as um_store_add. The same
 * write to the same state gives the same bytes again.
 */
umbel_status um_store_write_mail(um_store *s, unsigned list,
                                 const um_near_write *w, uint64_t now,
                                 uint64_t *ticket, umbel_error *err);
/*
 * Returns true if um_store_add would count a digest for somebody with an
 * account: the list is not full, or contains it, or gets another filter within
 * extra_bytes, or ends its epoch early (not with um_list_config.hold).
 */
bool um_store_accepts(const um_store *s, unsigned list, const umbel_digest *d,
                      uint64_t now);
/*
 * Decides the same for any reporter (um_entry.reporter). Clients without an
 * account share a part of an epoch, `share` of its capacity (1: no limit, and
 * up to half of extra_bytes for further filters), and end none
 * early. A network that reported everything in the list so far may exceed its
 * share, unless that is 0, as long as others can be counted when the epoch is
 * full: with half of extra_bytes or, without um_list_config.hold, by dropping
 * its own oldest counts.
 */
um_store_admission um_store_admits(const um_store *s, unsigned list,
                                   const umbel_digest *d, uint16_t reporter,
                                   double share, uint64_t now);
/* Returns the tag of a client's network, never 0. Two networks have the same
 * one with a chance of 1 in 65,535, which others cannot aim for. */
uint16_t um_store_network_tag(const um_store *s, const void *network,
                              size_t len);
/* Writes the records in memory to the journal. E_IO: the disk has failed. */
umbel_status um_store_flush(um_store *s, umbel_error *err);
/* Returns the largest committed ticket. May be called by any thread. */
uint64_t um_store_committed(const um_store *s);
/* Returns the ticket of the last change or, after a start, of the last replayed
 * one, which may not be durable yet if the process was killed. */
uint64_t um_store_last_ticket(const um_store *s);
/* Returns a descriptor that is readable when um_store_tick should be called. */
int um_store_event(const um_store *s);
/* Collects the results of the thread and the child, advances lists whose epoch
 * is over, and begins snapshots, including those that end a failure. */
void um_store_tick(um_store *s, uint64_t now);
/* Requests a snapshot at the next tick, however short the journal is. */
void um_store_request_snapshot(um_store *s);
/* Returns why changes are refused, NULL if they are not. */
const char *um_store_failure(const um_store *s);

/* Counts digests in one list. */
void um_store_count(const um_store *s, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count);
/* Sets bound[i] to the count of digest i and returns true, or to an upper bound
 * of it and returns false: see um_list_upper_bound. */
bool um_store_upper_bound(const um_store *s, unsigned list,
                          const umbel_digest *d, size_t n, uint64_t *bound);
/* Continues, for a short time, to add up the totals that make
 * um_store_upper_bound fast. Returns true if there is more to do. */
bool um_store_build_totals(um_store *s);
/* Finds times as um_list_times, but to ten seconds for digests first seen
 * within the last hour. */
bool um_store_times(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now, uint64_t *entered, uint64_t *updated);
const um_list *um_store_list(const um_store *s, unsigned list);
/* As um_list_stats_get and um_list_fullness_get; `held` takes the memory for
 * further filters into account, and `sole` means that one network without an
 * account may exceed its share. */
void um_store_list_stats(const um_store *s, unsigned list, um_list_stats *out);
void um_store_list_fullness(const um_store *s, unsigned list,
                            um_list_stats *out);

/* Returns true if a request with this id was added within the last
 * UM_REPLAY_GUARD_SECONDS. */
bool um_store_is_replay(const um_store *s, uint64_t request_id, uint64_t now);

/*
 * Sets the value of a key; a value without data (data NULL) removes the key.
 * Keys have 1 to 255 bytes, values up to 65,535, all together up to
 * UM_KV_MAX_BYTES.
 */
umbel_status um_store_set(um_store *s, umbel_slice key, umbel_slice value,
                          uint64_t now, uint64_t *ticket, umbel_error *err);
/*
 * Empties all lists, removes the keys with the observer's prefix and sets its
 * reset_key, all in one block of the journal: a crash leaves all or none of it.
 * If it fails (also E_LIMIT: too many keys to remove at once), nothing has
 * changed.
 */
umbel_status um_store_reset(um_store *s, umbel_slice value, uint64_t now,
                            uint64_t *ticket, umbel_error *err);
/* Finds the value of a key, valid until the key changes. */
bool um_store_get(const um_store *s, umbel_slice key, umbel_slice *value);
/* Walks all keys, in no particular order; *at is 0 at first. */
bool um_store_next(const um_store *s, size_t *at, umbel_slice *key,
                   umbel_slice *value);

typedef struct um_store_stats {
    um_durability durability;
    const char *failed;      /* the reason; NULL: the disk has not failed */
    uint64_t journal_bytes;  /* of all journals that a restart would read */
    uint64_t journal_limit;  /* size at which a snapshot is taken */
    uint64_t journal_max;    /* size at which changes are refused */
    uint64_t snapshot_bytes; /* of the last one */
    uint64_t snapshot_time;  /* when it was taken */
    uint64_t snapshots;      /* taken since the start */
    int snapshot_error;      /* errno; 0: the last one succeeded */
    uint64_t snapshot_need;  /* bytes that the next one takes, about */
    bool lacks_space;        /* failed, but only until the journal has space: */
    uint64_t journal_need;   /* bytes that it takes, about */
    uint64_t last_number;    /* of a journal or snapshot */
    uint64_t failures;       /* of the disk, since the start */
    bool snapshot_running;
    uint64_t blocks;         /* written since the start */
    uint64_t syncs;          /* fdatasync of the journal */
    uint64_t recent_digests; /* with times of the last hour */
    uint64_t recent_bytes;   /* memory of these times */
    uint64_t recent_pushed;  /* digests replaced by newer ones */
    uint64_t replayed;       /* records, at the start */
    uint64_t torn;  /* bytes of an incomplete write before a crash, dropped */
    uint64_t ahead; /* seconds that the data are ahead of the clock: until then
                       the store's time stands still, and no epoch ends */
    size_t kv_pairs, kv_bytes;
} um_store_stats;

void um_store_stats_get(const um_store *s, um_store_stats *out);

#endif

/*
 * store.h - counts, marks and notes that survive crashes.
 *
 * The store holds lists of counts (list.h), the times of recent digests
 * (recent.h), marks of signed requests and notes. Every change is appended to a
 * journal; from time to time a child process writes a snapshot, and the journal
 * before it goes.
 *
 *     um_store_append, um_store_put   change the state, note it in memory
 *     um_store_flush                  writes all of that at once: at the end of
 *                                     a turn of the loop
 *     um_store_committed              answers with tickets up to it may go out
 *     um_store_tick                   when um_store_event is readable, and once
 *                                     a second
 *
 * Nothing that was committed is lost when the process is killed; with
 * UM_DURABILITY_ALWAYS nothing when the power fails either.
 *
 * When the disk fails, changes are refused (E_IO) and everything else goes on;
 * um_store_failed says why. um_store_tick then tries to write a snapshot to new
 * files. Once that succeeds, changes are accepted again.
 *
 * A store is for one thread. It has a thread of its own for fdatasync.
 */
#ifndef UM_STORE_STORE_H
#define UM_STORE_STORE_H

#include "store/disk.h"
#include "store/list.h"

enum {
    UM_STORE_MAX_LISTS = 64,
    UM_STORE_BATCH = UM_LIST_BATCH, /* entries of one um_store_append */
    UM_STORE_RECENT = 1000000 /* digests whose times are known for an hour */
};

/* When a change is committed. */
typedef enum um_durability {
    UM_DURABILITY_ALWAYS,   /* after fdatasync */
    UM_DURABILITY_INTERVAL, /* when written; fdatasync every second */
    UM_DURABILITY_NONE      /* when written; the system syncs when it likes */
} um_durability;

/* "always", "interval", "none"; false if the name is none of them. */
bool um_durability_find(const char *name, um_durability *out);
const char *um_durability_name(um_durability d);

typedef struct um_store um_store;

typedef struct um_entry {
    unsigned list; /* its place in the configuration */
    uint32_t amount;
    umbel_digest digest;
    uint64_t once; /* mark of a signed request, or 0 */
} um_entry;

/*
 * Watches notes, for something that is rebuilt at a start from them and from
 * the lists: versions of a list that were given to others. When the store is
 * opened, note is called for the leader and then for each note that begins
 * with prefix, as they are in the snapshot, and then for each of them in the
 * journal, in order. Each time the lists (places as in the configuration; NULL:
 * was not there yet) are byte for byte what they were when um_store_put was
 * called. A value without data: the note was removed. What note returns, if not
 * UMBEL_OK, is what um_store_open returns.
 *
 * before_snapshot is called right before the moment that a snapshot keeps. Its
 * um_store_put are in the snapshot, and succeed even while the disk fails. It
 * must not append. It may be called by um_store_open, after all notes. ready is
 * asked before, once a second, unless the disk fails: false puts the snapshot
 * off, so that before_snapshot has little left to do.
 *
 * counted is called for each count of the journal, in order with the notes, and
 * for each that is appended; written the same for mails.
 */
typedef struct um_store_watch {
    const char *leader; /* a note's name, which um_store_renew changes */
    const char *prefix;
    umbel_status (*note)(void *ctx, const um_list *const *lists, size_t nlists,
                         umbel_slice name, umbel_slice value, umbel_error *err);
    void (*before_snapshot)(void *ctx, um_store *s);
    bool (*ready)(void *ctx);                      /* NULL: always */
    void (*counted)(void *ctx, const um_entry *e); /* NULL: of no interest */
    void (*written)(void *ctx, unsigned list, const um_near_write *w);
    void *ctx;
} um_store_watch;

typedef struct um_store_config {
    const char *dir;    /* made (mode 0700) if absent */
    const char *secret; /* file of `umbel keygen --secret`; NULL: DIR/secret.
                           Made (mode 0600) if absent, unless there are data
                           already */
    um_durability durability;
    const um_list_config *lists;
    size_t nlists;
    /*
     * A snapshot is taken when the journal is longer than this, and longer than
     * a 16th of the last snapshot, so that a restart takes little longer
     * than reading the files. 0: 1 MiB.
     */
    uint64_t journal_bytes;
    /* Digests of lists with times that are remembered for an hour. 0:
     * UM_STORE_RECENT. */
    uint64_t recent;
    um_store_watch watch; /* zeroed: none */
    uint64_t sums_bytes;  /* memory for um_store_sum */

    /* For tests: a disk other than dir, which the store takes over, and a
     * secret of UMBEL_SECRET_LEN bytes that needs no file. */
    um_disk *disk;
    const uint8_t *secret_bytes;
} um_store_config;

/*
 * Opens the directory: locks it, reads the snapshot, replays the journal. now
 * is in seconds since 1970. Refused, with the file and what to do in *err:
 * E_REFUSED, another process has the lock; E_VERSION, E_SECRET; E_FORMAT,
 * E_CHECKSUM, a damaged snapshot or journal; E_MISMATCH, a list in the data
 * that the configuration does not have.
 */
umbel_status um_store_open(const um_store_config *c, uint64_t now,
                           um_store **out, umbel_error *err);
/*
 * Checks what um_store_open would need, without making or locking anything: the
 * directory, the secret, and that the newest snapshot was made with it. The
 * counts and the journal are not read.
 */
umbel_status um_store_examine(const um_store_config *c, umbel_error *err);
/* Flushes, syncs, releases. NULL is accepted. */
void um_store_close(um_store *s);

/* The secret that all lists are made with, UMBEL_SECRET_LEN bytes: not that of
 * the file, but derived from it. */
const uint8_t *um_store_secret(const um_store *s);
/* Hashes keys for all lists. */
void um_store_digest(const um_store *s, const umbel_slice *keys, size_t n,
                     umbel_digest *out);

/*
 * Counts up to UM_STORE_BATCH digests. The counts are changed at once; *ticket
 * is what um_store_committed has to reach before anybody is told. When it fails
 * (E_IO: failed; E_LIMIT: too many marks; E_FULL: an entry that um_store_takes
 * refuses; E_NOMEM) nothing is counted.
 */
umbel_status um_store_append(um_store *s, const um_entry *e, size_t n,
                             uint64_t now, uint64_t *ticket, umbel_error *err);
/*
 * Writes a mail to a list of kind near, as um_store_append. The same write at
 * the same state gives the same bytes again.
 */
umbel_status um_store_write(um_store *s, unsigned list, const um_near_write *w,
                            uint64_t now, uint64_t *ticket, umbel_error *err);
/* Returns false if the list is full, held until its epoch is over, and does not
 * have the digest. */
bool um_store_takes(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now);
/* Writes what was appended. E_IO: the store has failed. */
umbel_status um_store_flush(um_store *s, umbel_error *err);
/* May be called by any thread. */
uint64_t um_store_committed(const um_store *s);
/* The ticket of the last change, or after a start of the last that was
 * replayed: a process that was killed may have left it not durable. */
uint64_t um_store_last_ticket(const um_store *s);
/* A descriptor, readable when um_store_tick should be called. */
int um_store_event(const um_store *s);
/* Takes note of what the thread and the child did; turns lists; begins
 * snapshots, also those that end a failure. */
void um_store_tick(um_store *s, uint64_t now);
/* Asks for a snapshot at the next tick, however short the journal is. */
void um_store_snapshot(um_store *s);
/* Returns why changes are refused, NULL if they are not. */
const char *um_store_failed(const um_store *s);

/* Counts of one list. */
void um_store_count(const um_store *s, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count);
/* Returns true, and counts, or false, and a number for each digest that its
 * count does not exceed: see um_list_bound. */
bool um_store_bound(const um_store *s, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *most);
/* Goes on, for a short time, with what makes um_store_bound fast. Returns true
 * if there is more to do. */
bool um_store_sum(um_store *s);
/* As um_list_times, but to ten seconds for digests first seen within the
 * hour. */
bool um_store_times(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now, uint64_t *entered, uint64_t *updated);
const um_list *um_store_list(const um_store *s, unsigned list);

/* Returns true if the mark was appended within the last 600 s. */
bool um_store_seen(const um_store *s, uint64_t once, uint64_t now);

/*
 * Notes: small named byte strings. A NULL value (data NULL) removes the note.
 * Names have 1 to 255 bytes, values up to 65,535, all together up to 16 MiB.
 */
umbel_status um_store_put(um_store *s, umbel_slice name, umbel_slice value,
                          uint64_t now, uint64_t *ticket, umbel_error *err);
/*
 * Empties all lists, removes the notes with the watch's prefix and gives its
 * leader a value, all in one block of the journal: a crash leaves all of it or
 * nothing. When it fails (also E_LIMIT: too many notes to remove at once)
 * nothing has changed.
 */
umbel_status um_store_renew(um_store *s, umbel_slice value, uint64_t now,
                            uint64_t *ticket, umbel_error *err);
/* The value is valid until the note changes. */
bool um_store_get(const um_store *s, umbel_slice name, umbel_slice *value);
/* Walks all notes, in no order; *at is 0 at first. */
bool um_store_next_note(const um_store *s, size_t *at, umbel_slice *name,
                        umbel_slice *value);

typedef struct um_store_stats {
    um_durability durability;
    const char *failed;      /* NULL: it has not */
    uint64_t journal_bytes;  /* of all journals that a restart would read */
    uint64_t journal_limit;  /* a snapshot is taken when they have more */
    uint64_t journal_most;   /* changes are refused when they have more */
    uint64_t snapshot_bytes; /* of the last one */
    uint64_t snapshot_time;  /* when it was taken */
    uint64_t snapshots;      /* taken since the start */
    int snapshot_error;      /* number of errno.h; 0: the last one succeeded */
    uint64_t last_number;    /* of a journal or snapshot */
    uint64_t failures;       /* of the disk, since the start */
    bool snapshot_running;
    uint64_t blocks;         /* written since the start */
    uint64_t syncs;          /* fdatasync of the journal */
    uint64_t recent_digests; /* whose times of the last hour are known */
    uint64_t recent_bytes;   /* of memory, for that */
    uint64_t recent_pushed;  /* that made room for others */
    uint64_t replayed;       /* records, at the start */
    uint64_t torn;  /* bytes that a crash left behind and were dropped */
    uint64_t ahead; /* seconds that the data are ahead of the clock: its time
                       stands still until then, and no epoch ends */
    size_t notes, note_bytes;
} um_store_stats;

void um_store_stats_get(const um_store *s, um_store_stats *out);

#endif

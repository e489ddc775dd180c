/*
 * internal.h - what the modules of the store share.
 *
 * From bottom to top: streams of bytes; the replay guard, the key-value table
 * and the times of recent digests; the state made of them and of the lists;
 * snapshots; the files of the data directory; the worker's thread; recovery;
 * the store itself.
 */
#ifndef UM_STORE_INTERNAL_H
#define UM_STORE_INTERNAL_H

#include "base/hash.h"
#include "store/journal.h"
#include "store/store.h"

/* --- streams (snapshot.c) ------------------------------------------------- */

/*
 * Streams, because the state may be too large to be held in one buffer. The
 * parts of the store write themselves to a sink and read themselves from a
 * feed, which belong to a snapshot or to a buffer.
 */
typedef struct um_sink {
    void *ctx;
    umbel_status (*write)(void *ctx, const void *bytes, size_t len,
                          umbel_error *err);
} um_sink;

typedef struct um_feed {
    void *ctx;
    /* Reads exactly len bytes, or fails. */
    umbel_status (*read)(void *ctx, void *out, size_t len, umbel_error *err);
    uint64_t left; /* bytes; a reader allocates no more than this */
    bool checked;  /* these bytes have a checksum, and it was right */
} um_feed;

umbel_status um_sink_write(const um_sink *to, const void *bytes, size_t len,
                           umbel_error *err);
/* Reads exactly len bytes. E_FORMAT if fewer are left. */
umbel_status um_feed_get(um_feed *from, void *out, size_t len,
                         umbel_error *err);

/* --- lists (list.c) ------------------------------------------------------- */

/*
 * Writes the list's epochs. Memory is not copied: a forked child may write
 * while its parent continues.
 */
umbel_status um_list_encode(const um_list *l, const um_sink *to,
                            umbel_error *err);
/*
 * Creates a list from untrusted bytes, with the current configuration: changes
 * of kind, capacity, error and cell_bits apply from the next epoch on; surplus
 * epochs are dropped. E_SECRET if it was made with another secret; E_FORMAT,
 * E_VERSION and E_CHECKSUM as umbel_decode. Allocates at most from->left bytes
 * and one epoch of the configuration.
 */
umbel_status um_list_decode(const um_list_config *c, const uint8_t *secret,
                            um_feed *from, um_list **out, umbel_error *err);

/* --- the replay guard (replay_guard.c) ------------------------------------ */

/* Ids of recent signed requests. Zero-initialise. */
typedef struct um_replay_guard {
    struct um_replay_guard_slot {
        uint64_t request_id, time;
    } * slot;
    size_t cap;       /* a power of two, or 0 */
    size_t used;      /* expired ones included */
    uint64_t full_at; /* time when it last held UM_REPLAY_GUARD_MAX live ids */
} um_replay_guard;

void um_replay_guard_fini(um_replay_guard *g);
/* Returns true if the id was added within UM_REPLAY_GUARD_SECONDS. */
bool um_replay_guard_seen(const um_replay_guard *g, uint64_t request_id,
                          uint64_t now);
/* Reserves space for n more ids. E_LIMIT beyond UM_REPLAY_GUARD_MAX, E_NOMEM.
 */
umbel_status um_replay_guard_reserve(um_replay_guard *g, size_t n, uint64_t now,
                                     umbel_error *err);
/* Adds an id, for which space was reserved. */
void um_replay_guard_add(um_replay_guard *g, uint64_t request_id, uint64_t now);

umbel_status um_replay_guard_encode(const um_replay_guard *g, uint64_t now,
                                    const um_sink *to, umbel_error *err);
/* Decodes into g, which must be empty. */
umbel_status um_replay_guard_decode(um_replay_guard *g, um_feed *from,
                                    umbel_error *err);

/* --- the key-value table (key_value.c) ------------------------------------ */

typedef struct um_kv_pair um_kv_pair;

/* Zero-initialise. */
typedef struct um_kv_table {
    um_kv_pair **slot;
    size_t cap; /* a power of two, or 0 */
    size_t n;
    size_t bytes; /* of keys and values */
} um_kv_table;

void um_kv_fini(um_kv_table *t);
/* Finds the value of a key, valid until the key changes. */
bool um_kv_get(const um_kv_table *t, umbel_slice key, umbel_slice *value);
/*
 * Sets the value of a key. E_RANGE if the key (1 to UM_KV_KEY_MAX bytes) or the
 * value (UM_KV_VALUE_MAX) is too long, E_LIMIT beyond UM_KV_MAX_BYTES; then
 * nothing has changed.
 */
umbel_status um_kv_set(um_kv_table *t, umbel_slice key, umbel_slice value,
                       umbel_error *err);
/* Removes a key; returns false if it does not exist. */
bool um_kv_remove(um_kv_table *t, umbel_slice key);
/* Walks all keys, in no particular order; *at is 0 at first. */
bool um_kv_next(const um_kv_table *t, size_t *at, umbel_slice *key,
                umbel_slice *value);

umbel_status um_kv_encode(const um_kv_table *t, const um_sink *to,
                          umbel_error *err);
/* Decodes into t, which must be empty. */
umbel_status um_kv_decode(um_kv_table *t, um_feed *from, umbel_error *err);

/* --- times of recent digests (recent_times.c) ----------------------------- */

enum {
    UM_RECENT_TICK = 10,   /* seconds */
    UM_RECENT_SPAN = 3600, /* seconds that a digest stays */
    UM_RECENT_BATCH = 256
};

typedef struct um_recent_times um_recent_times;

/* Creates a table for that many digests; alloc may be NULL (malloc). */
umbel_status um_recent_times_open(uint64_t capacity, const umbel_alloc *alloc,
                                  um_recent_times **out, umbel_error *err);
/* Frees the table; NULL is accepted. */
void um_recent_times_close(um_recent_times *r);

/*
 * Records that up to UM_RECENT_BATCH digests were reported in a column at a
 * time in seconds; count[i] is the count of d[i] before. Digests in the table
 * are updated, and those with count 0 are entered.
 */
void um_recent_times_add(um_recent_times *r, unsigned column,
                         const umbel_digest *d, const uint64_t *count, size_t n,
                         uint64_t now);

/* Finds both times of a digest that was entered within the last hour, rounded
 * down to ten seconds; returns false if it was not. */
bool um_recent_times_find(const um_recent_times *r, unsigned column,
                          const umbel_digest *d, uint64_t now,
                          uint64_t *entered, uint64_t *updated);

typedef struct um_recent_times_stats {
    uint64_t digests; /* in the table, including some that have expired */
    uint64_t slots;
    uint64_t pushed; /* digests replaced by newer ones since it was opened */
    uint64_t bytes;  /* of memory */
} um_recent_times_stats;

void um_recent_times_stats_get(const um_recent_times *r,
                               um_recent_times_stats *out);

/* Writes the table: 8 bytes a digest, and a byte for each line of 8 slots. */
umbel_status um_recent_times_encode(const um_recent_times *r, const um_sink *to,
                                    umbel_error *err);
/*
 * Replaces the content of r by untrusted bytes that um_recent_times_encode
 * wrote. A table of another capacity is read and discarded. If it fails, r is
 * empty.
 */
umbel_status um_recent_times_decode(um_recent_times *r, um_feed *from,
                                    umbel_error *err);

/* --- snapshots (snapshot.c) ----------------------------------------------- */

enum {
    UM_SNAPSHOT_VERSION = 1,
    UM_SNAPSHOT_HEAD = 64,
    UM_PIECE_HEAD = 16,
    UM_PIECE_MAX = 1 << 18 /* bytes of the stream in one piece */
};

typedef struct um_snapshot_head {
    uint64_t number;
    uint64_t secret_id;
    uint64_t seq;  /* of the last block whose records it contains */
    uint64_t time; /* when it was taken */
    uint32_t lists;
    bool has_times; /* the times of the last hour follow at the end of the
                       stream */
} um_snapshot_head;

typedef struct um_snapshot_writer {
    um_disk *disk;
    int file;
    uint64_t at, synced;
    uint64_t piece;  /* number of the next one */
    uint8_t *buffer; /* the head of a piece, and its bytes */
    size_t used;
    int number; /* the first errno */
    char name[UM_DISK_NAME];
    um_sink sink;
} um_snapshot_writer;

/*
 * Creates snapshot-N.new. Write the state to w->sink, then finish. Release with
 * um_snapshot_writer_fini, which removes the file unless it was finished.
 */
umbel_status um_snapshot_create(um_snapshot_writer *w, um_disk *disk,
                                const um_snapshot_head *head, umbel_error *err);
umbel_status um_snapshot_finish(um_snapshot_writer *w, umbel_error *err);
void um_snapshot_writer_fini(um_snapshot_writer *w);

typedef struct um_snapshot_reader {
    um_disk *disk;
    int file;
    uint64_t at, size;
    uint64_t piece;
    uint8_t *buffer;
    size_t used, len; /* of the current piece */
    bool last;
    um_snapshot_head head;
    um_feed feed; /* the state */
} um_snapshot_reader;

/* Opens a snapshot, checks its head. Release with um_snapshot_reader_fini. */
umbel_status um_snapshot_open(um_snapshot_reader *r, um_disk *disk,
                              const char *name, umbel_error *err);
/* Checks that the reader is at the end of the stream. */
umbel_status um_snapshot_check_end(um_snapshot_reader *r, umbel_error *err);
void um_snapshot_reader_fini(um_snapshot_reader *r);

/* --- the state (store_state.c) -------------------------------------------- */

/*
 * The state changes only by records, and the effect of a record depends only on
 * the state, the record and its time. A snapshot and the journal after it
 * therefore reproduce the same state.
 */
typedef struct um_state {
    size_t nlists;
    um_list *list[UM_STORE_MAX_LISTS];
    char name[UM_STORE_MAX_LISTS][UM_LIST_MAX_NAME];
    unsigned recent_column[UM_STORE_MAX_LISTS]; /* from 1 on; 0: none */
    um_recent_times *recent;                    /* NULL: no list has times */
    um_replay_guard guard;
    um_kv_table kv;
    uint64_t time; /* of the last record */
} um_state;

/* Sets the names of the lists, and creates missing lists. */
umbel_status um_state_fill(um_state *st, const um_store_config *c,
                           const uint8_t *secret, uint64_t now,
                           umbel_error *err);
void um_state_fini(um_state *st);

/* Returns a checksum of the names of n lists: those with these indices, in this
 * order. */
uint64_t um_state_lists_id(const um_store_config *c, const uint8_t *order,
                           size_t n);

/* Counts n digests, at most UM_LIST_BATCH, in a list that has space. */
umbel_status um_state_count(um_state *st, unsigned list, const umbel_digest *d,
                            const uint32_t *amount, const uint16_t *reporter,
                            size_t n, uint64_t time, umbel_error *err);

/* Empties all lists and sets a key. If it fails, nothing has changed. */
umbel_status um_state_reset(um_state *st, umbel_slice key, umbel_slice value,
                            uint64_t time, umbel_error *err);

/* Writes the state, with the names of its lists; the times come last, if there
 * are any (recent is not NULL). */
umbel_status um_state_encode(const um_state *st, const um_sink *to,
                             umbel_error *err);
/*
 * Reads the state of a snapshot with that head into st, which is empty.
 * order[i] is the index in the configuration of list i of the data. E_MISMATCH
 * names a list that the configuration lacks.
 */
umbel_status um_state_decode(um_state *st, const um_store_config *c,
                             const uint8_t *secret, um_feed *from,
                             const um_snapshot_head *head,
                             uint8_t order[UM_STORE_MAX_LISTS],
                             umbel_error *err);

/* --- the files of the directory (data_files.c) ---------------------------- */

/* The files that a start needs. */
typedef struct um_data_files {
    um_disk *disk;
    const char *dir;   /* for messages */
    uint64_t snapshot; /* number of the newest; 0: none */
    uint64_t *journal; /* numbers from there on, ascending */
    size_t n, cap;
    uint64_t last; /* the largest number of any file */
    umbel_status status;
} um_data_files;

/* Lists the directory. Release with um_data_files_fini. */
umbel_status um_data_files_scan(um_data_files *f, um_disk *disk,
                                const char *dir, umbel_error *err);
void um_data_files_fini(um_data_files *f);

/* Parses "snapshot-12" or "journal-12"; sets *unfinished if ".new" follows. */
bool um_data_file_parse(const char *name, const char *kind, uint64_t *number,
                        bool *unfinished);
/* Creates journal-N and makes its name and head durable. */
int um_journal_create(um_disk *disk, const um_journal_head *head, int *file);
/* Removes snapshots and journals below that number; if unfinished is set, also
 * all files NAME.new. */
int um_data_files_remove(um_disk *disk, uint64_t below, bool unfinished);
/* Makes journals from that number on durable; removes older and unfinished
 * files. */
int um_journals_make_durable(um_disk *disk, uint64_t from);

/* --- the worker (worker.c) ------------------------------------------------ */

/*
 * A thread that waits for the disk in the store's place: it syncs the journal,
 * prepares the next one, and removes old files. Each kind of work has one slot:
 * a sync requested while another one runs covers all that was written until it
 * starts, which is the group commit.
 *
 * With a disk without threads (um_disk_ops.threads), um_worker_run does the
 * work in the caller.
 */
typedef struct um_worker um_worker;

/* A journal file, written up to end with blocks up to seq. */
typedef struct um_written {
    int file;
    uint64_t end, seq;
} um_written;

/* The work done since the last um_worker_collect. */
typedef struct um_work_done {
    int sync_error; /* of a journal; 0: none */
    bool prepared;  /* the next journal is ready, unless prepare_error is set */
    int prepare_error;
    int file; /* of the next journal */
    uint64_t syncs;
} um_work_done;

/* Creates the worker, which writes a byte to event after each piece of work. */
umbel_status um_worker_open(um_disk *disk, int event, um_worker **out,
                            umbel_error *err);
/* Finishes all requested work. NULL is accepted. */
void um_worker_close(um_worker *w);

/* Requests a sync of a journal; if head is set, durable_end in its head is
 * updated afterwards. */
void um_worker_sync(um_worker *w, um_written what, bool head);
/* Requests the last sync of a journal that is complete, then closes it. */
void um_worker_retire(um_worker *w, um_written what);
/*
 * Requests a new journal. Unless replayed is 0, the journals from that number
 * on are first made durable: a start has just read them, and a process that was
 * killed may have written them a moment ago.
 */
void um_worker_prepare(um_worker *w, const um_journal_head *head,
                       uint64_t replayed);
/* Requests the removal of snapshots and journals below that number. */
void um_worker_remove_old(um_worker *w, uint64_t below);

/* Does the requested work if the disk has no threads, otherwise nothing. */
void um_worker_run(um_worker *w);
/* Returns the results and clears them. */
void um_worker_collect(um_worker *w, um_work_done *out);
/* Returns the last block that is durable. May be called by any thread. */
uint64_t um_worker_durable(const um_worker *w);
/*
 * Declares all blocks up to seq durable, because a snapshot contains them.
 * After a failed sync, all further syncs fail until this call.
 */
void um_worker_set_durable(um_worker *w, uint64_t seq);

/* --- recovery (recovery.c) ------------------------------------------------ */

/* Returns true if the key begins with the observer's prefix. */
bool um_observer_has_prefix(const um_store_observer *o, umbel_slice key);

/* Replays blocks. Counts are collected, because one call for many is faster. */
typedef struct um_replay {
    um_state *state;
    const uint8_t *order; /* of the lists in the journal */
    uint32_t nlists;
    const um_store_observer *observer; /* set it after um_replay_init */
    size_t configured;                 /* lists, for the observer */
    uint64_t records;
    uint64_t time; /* of the collected counts */
    struct um_replay_batch {
        size_t n;
        umbel_digest digest[UM_LIST_BATCH];
        uint32_t amount[UM_LIST_BATCH];
        uint16_t reporter[UM_LIST_BATCH];
    } * batch; /* one for each list */
} um_replay;

umbel_status um_replay_init(um_replay *p, um_state *st, const uint8_t *order,
                            uint32_t nlists, umbel_error *err);
/* Applies the records of a block. E_FORMAT if they are not valid. */
umbel_status um_replay_block(um_replay *p, const uint8_t *records, size_t len,
                             uint64_t time, umbel_error *err);
/* Applies the collected counts; call it after the last block. */
umbel_status um_replay_flush(um_replay *p, umbel_error *err);
void um_replay_fini(um_replay *p);

/* Figures of a recovery. */
typedef struct um_recovered {
    uint64_t seq;  /* of the last block */
    uint64_t time; /* of the snapshot */
    uint64_t snapshot_bytes, journal_bytes;
    uint64_t records, torn;
    bool rewrite; /* a new snapshot must be written before new records */
} um_recovered;

/* Opens the snapshot, if there is one, and checks that it was made with this
 * secret. Reads only its head. */
umbel_status um_data_files_check_secret(const um_data_files *f,
                                        const uint8_t *secret,
                                        umbel_error *err);
/*
 * Reads the snapshot and replays the journals into st, which is empty. These
 * bytes may not be durable yet, if the process that wrote them was killed.
 */
umbel_status um_recover(const um_data_files *f, const um_store_config *c,
                        const uint8_t *secret, um_state *st, um_recovered *out,
                        umbel_error *err);

/* --- the secret (secret.c) ------------------------------------------------ */

/*
 * Reads the secret of a data directory, from path or (NULL) DIR/secret. If the
 * file does not exist, creates it with mode 0600, unless the directory has
 * data: they were made with another secret.
 */
umbel_status um_secret_find(const char *dir, const char *path, bool has_data,
                            uint8_t out[UMBEL_SECRET_LEN], umbel_error *err);

/* --- the store (store.c; tests use it, too) ------------------------------- */

/*
 * The phase of compaction: the worker prepares a journal, then a child writes
 * the snapshot. In UM_STARTING the store waits for its first journal and keeps
 * changes in memory.
 */
typedef enum um_phase {
    UM_IDLE,
    UM_STARTING,
    UM_PREPARING,
    UM_WRITING
} um_phase;

struct um_store {
    um_disk *disk;
    um_worker *worker;
    uint8_t secret[UMBEL_SECRET_LEN];
    um_hasher hasher;
    um_secret hasher_secret;
    um_state state;
    um_store_observer observer;
    uint64_t totals_bytes, extra_bytes;
    int event[2];
    uint64_t now; /* time of the latest tick; stands still if the clock is set
                     back */
    uint64_t ticked; /* clock at the last tick */
    uint64_t age;    /* seconds between ticks, for compaction */

    /* The journal. */
    um_durability durability;
    int file; /* -1: none */
    uint64_t number, end;
    uint64_t seq;       /* of the last block that was begun */
    uint64_t written;   /* of the last that was written */
    uint64_t old_bytes; /* of earlier journals that are still needed */
    uint64_t old_files;
    uint64_t min_bytes; /* journal size before a snapshot is taken */
    uint64_t synced_at; /* age when the last periodic sync was requested */
    uint64_t synced_seq;
    uint64_t lists_id;

    /* Blocks that are not written yet; the last one may be open. */
    uint8_t *buffer;
    size_t used, block;
    uint64_t block_time;

    /* The snapshot. */
    um_phase phase;
    pid_t child;
    uint64_t snapshot_seq;
    uint64_t retry_at, retry_after; /* an age, seconds */

    um_store_stats stats;
    bool open;               /* a block is open */
    bool wanted;             /* a snapshot was requested */
    bool in_before_snapshot; /* the observer's callback is running */
    bool has_failed;
    bool lacks_space;  /* has_failed, until blocks in memory are written, or the
                          first journal is created */
    uint64_t replayed; /* for the first journal: um_worker_prepare */
    char reason[197];
};

#endif

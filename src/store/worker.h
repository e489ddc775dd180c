/*
 * worker.h - the thread that waits for the disk in the store's place.
 *
 * It syncs the journal, makes the next journal ready, and removes old files.
 * There is one place for each kind of work: a sync that is asked for while
 * another one runs covers all that was written until it starts, which is the
 * group commit.
 *
 * With a disk that says so (um_disk_ops.threads) there is no thread, and
 * um_worker_run does the work.
 */
#ifndef UM_STORE_WORKER_H
#define UM_STORE_WORKER_H

#include "store/disk.h"
#include "store/journal.h"

typedef struct um_worker um_worker;

/* A journal file, written up to end with blocks up to seq. */
typedef struct um_written {
    int file;
    uint64_t end, seq;
} um_written;

/* What was done since the last time. */
typedef struct um_work_done {
    int sync_error; /* of a journal; 0: none */
    bool prepared;  /* the next journal is ready, or prepare_error says why */
    int prepare_error;
    int file; /* of the next journal */
    uint64_t syncs;
} um_work_done;

/* Each result writes a byte to event. */
umbel_status um_worker_open(um_disk *disk, int event, um_worker **out,
                            umbel_error *err);
/* Finishes what was asked for. NULL is accepted. */
void um_worker_close(um_worker *w);

/* Syncs a journal; mark: and writes the mark of its head. */
void um_worker_sync(um_worker *w, um_written what, bool mark);
/* The last sync of a journal that is not written any more; closes it. */
void um_worker_retire(um_worker *w, um_written what);
/*
 * Creates a journal and its name, durable. settle: before that makes durable
 * what a start has read, journals from number settle on, which a process that
 * was killed may have written a moment ago; and removes what is older or was
 * not finished.
 */
void um_worker_prepare(um_worker *w, const um_journal_head *head,
                       uint64_t settle);
/* Removes snapshots and journals below that number. */
void um_worker_clean(um_worker *w, uint64_t below);

/* Without a thread: does what was asked for. Else nothing. */
void um_worker_run(um_worker *w);
/* Takes the results. */
void um_worker_collect(um_worker *w, um_work_done *out);
/* The last block that is durable. May be called by any thread. */
uint64_t um_worker_durable(const um_worker *w);
/*
 * Says that a snapshot has all blocks up to seq, durable. After a failed sync
 * all others fail until then.
 */
void um_worker_mend(um_worker *w, uint64_t seq);

/* Also used when a store is opened: creates journal-N, durable. */
int um_journal_create(um_disk *disk, const um_journal_head *head, int *file);
/* Also then: as um_worker_clean, at once; unfinished: and all NAME.new. */
int um_store_clean(um_disk *disk, uint64_t below, bool unfinished);
/* Makes journals from that number on durable, and removes what is older or was
 * not finished. */
int um_store_settle(um_disk *disk, uint64_t from);

/* Reads "snapshot-12" or "journal-12"; *unfinished: with ".new" behind. */
bool um_store_parse_name(const char *name, const char *kind, uint64_t *number,
                         bool *unfinished);

#endif

/*
 * upkeep.c - what the store does once a second: syncs, epochs, snapshots.
 *
 * A snapshot has three steps: the worker makes journal-N ready; we begin to
 * write to it, and at that moment fork; the child writes snapshot-N. Whatever
 * happens between, the old snapshot and all journals since are there. Then the
 * worker removes what is older than N.
 */
#include "store/inside.h"

#include "store/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
    SNAPSHOT_SHARE = 16, /* of the snapshot that the journal may reach */
    JOURNAL_FILES = 16   /* restarts each leave one */
};

/* --- snapshots ----------------------------------------------------------- */

uint64_t um_store_journal_limit(const um_store *s)
{
    uint64_t share = s->stats.snapshot_bytes / SNAPSHOT_SHARE;

    return share > s->least_bytes ? share : s->least_bytes;
}

bool um_store_is_due(const um_store *s)
{
    if (s->phase != UM_IDLE || s->age < s->retry_at)
        return false;
    return s->wanted || s->has_failed || s->old_files >= JOURNAL_FILES ||
           s->old_bytes + s->end > um_store_journal_limit(s);
}

void um_store_snapshot(um_store *s)
{
    s->wanted = true;
}

/* Journals may grow while a snapshot fails, but not for ever. */
static void check_growth(um_store *s)
{
    if (s->old_bytes + s->end >
            UM_STORE_JOURNAL_MOST * um_store_journal_limit(s) &&
        s->stats.snapshot_error)
        um_store_fail(
            s, s->stats.snapshot_error,
            "the journal is too long, and no snapshot could be written");
}

int um_store_write_snapshot(const um_store *s, uint64_t number, uint64_t *bytes)
{
    um_snapshot_head head = {.number = number,
                             .secret_id = um_secret_id(s->secret),
                             .seq = s->seq,
                             .time = um_store_time(s),
                             .lists = (uint32_t)s->state.nlists,
                             .has_times = s->state.recent != NULL};
    um_snapshot_writer w;

    umbel_status status = um_snapshot_create(&w, s->disk, &head, NULL);
    if (status == UMBEL_OK)
        status = um_state_encode(&s->state, &w.sink, NULL);
    if (status == UMBEL_OK)
        status = um_snapshot_finish(&w, NULL);
    *bytes = w.at;
    int result = status == UMBEL_OK ? 0 : w.number ? w.number : ENOMEM;
    um_snapshot_writer_fini(&w);
    return result;
}

/* In the child. */
static int snapshot_job(void *arg)
{
    const um_store *s = arg;
    uint64_t bytes;
    int result = um_store_write_snapshot(s, s->number, &bytes);

    /* Wakes the parent, if its pipe is not full already. */
    if (write(s->event[1], "", 1) < 0)
        errno = 0;
    return result;
}

static bool is_ready(const um_store *s)
{
    return s->has_failed || !s->watch.ready || s->watch.ready(s->watch.ctx);
}

static void begin_snapshot(um_store *s)
{
    um_journal_head head = {.number = ++s->stats.last_number,
                            .secret_id = um_secret_id(s->secret),
                            .lists_id = s->lists_id};

    s->phase = UM_PREPARING;
    s->wanted = false;
    um_worker_prepare(s->worker, &head, 0);
}

static void snapshot_failed(um_store *s, int number)
{
    s->phase = UM_IDLE;
    s->wanted = true;
    s->stats.snapshot_error = number;
    um_store_append_off(s);
}

/* From now on journal-N is written; the child has the state until here. */
static void switch_journal(um_store *s, int file)
{
    um_store_before_snapshot(s);
    um_store_flush(s, NULL);
    um_store_retire(s);
    s->old_bytes += s->end;
    s->old_files++;
    s->file = file;
    s->end = UM_JOURNAL_HEAD;
    s->number = s->stats.last_number;
    s->snapshot_seq = s->seq;
    int number = s->disk->ops->start(s->disk, snapshot_job, s, &s->child);
    if (number)
        snapshot_failed(s, number);
    else
        s->phase = UM_WRITING;
}

static uint64_t size_of_snapshot(um_store *s)
{
    char name[UM_DISK_NAME];
    uint64_t size = 0;
    int file;

    snprintf(name, sizeof name, "snapshot-%" PRIu64, s->number);
    if (s->disk->ops->open(s->disk, name, UM_DISK_READ, &file) != 0)
        return s->stats.snapshot_bytes;
    s->disk->ops->size(s->disk, file, &size);
    s->disk->ops->close(s->disk, file);
    return size;
}

static void snapshot_done(um_store *s)
{
    s->phase = UM_IDLE;
    s->stats.snapshots++;
    s->stats.snapshot_error = 0;
    s->stats.snapshot_time = s->now;
    s->stats.snapshot_bytes = size_of_snapshot(s);
    s->old_bytes = 0;
    s->old_files = 0;
    s->retry_after = 1;
    um_worker_clean(s->worker, s->number);
    if (s->has_failed && s->file >= 0) { /* else it failed again since */
        s->has_failed = false;
        s->written = s->snapshot_seq;
        um_worker_mend(s->worker, s->snapshot_seq);
    }
}

/* --- once a second, and when something happened -------------------------- */

/* The first journal is there, or not: all that the start has read is. */
static void start_journal(um_store *s, int file, int number)
{
    s->phase = UM_IDLE;
    if (number) {
        um_store_fail(s, number, "the journal could not be begun");
        return;
    }
    um_worker_mend(s->worker, s->written);
    s->file = file;
    s->end = UM_JOURNAL_HEAD;
    um_store_flush(s, NULL);
}

static void collect_work(um_store *s)
{
    um_work_done done;

    um_worker_run(s->worker);
    um_worker_collect(s->worker, &done);
    s->stats.syncs += done.syncs;
    if (done.sync_error)
        um_store_fail(s, done.sync_error, "the journal could not be synced");
    if (done.prepared && s->phase == UM_STARTING)
        start_journal(s, done.file, done.prepare_error);
    else if (done.prepared && done.prepare_error == 0)
        switch_journal(s, done.file);
    else if (done.prepared)
        snapshot_failed(s, done.prepare_error);
}

static void collect_child(um_store *s)
{
    int result;

    if (s->phase != UM_WRITING ||
        !s->disk->ops->ended(s->disk, s->child, &result))
        return;
    if (result)
        snapshot_failed(s, result);
    else
        snapshot_done(s);
}

/*
 * Turns lists whose epoch is over. While the store has failed that is not
 * written down: the next snapshot has it, or a restart turns again. A snapshot
 * that is being written does not have it, and its journal has no room yet: the
 * turn waits.
 */
static void turn_all(um_store *s, uint64_t now)
{
    if (s->has_failed && s->phase == UM_WRITING)
        return;
    for (unsigned i = 0; i < s->state.nlists; i++) {
        if (!um_list_due(s->state.list[i], now))
            continue;
        if (s->has_failed)
            um_state_turn(&s->state, i, now, NULL);
        else if (um_store_begin_records(s, UM_RECORD_TURN_LEN, now, NULL) ==
                 UMBEL_OK)
            um_store_turn(s, i, NULL);
    }
}

/* The sync of `interval`, and the mark in the journal's head. */
static void sync_each_second(um_store *s)
{
    if (s->file < 0 || s->has_failed || s->durability == UM_DURABILITY_NONE ||
        s->marked == s->age || s->marked_seq == s->written)
        return;
    s->marked = s->age;
    s->marked_seq = s->written;
    um_worker_sync(s->worker, (um_written){s->file, s->end, s->written}, true);
}

static void drain(int fd)
{
    char bytes[64];

    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

void um_store_tick(um_store *s, uint64_t now)
{
    if (now > s->ticked)
        s->age += now - s->ticked;
    s->ticked = now;
    if (now > s->now)
        s->now = now;
    drain(s->event[0]);
    collect_work(s);
    collect_child(s);
    turn_all(s, s->now);
    um_store_flush(s, NULL);
    sync_each_second(s);
    check_growth(s);
    if (um_store_is_due(s) && is_ready(s))
        begin_snapshot(s);
}

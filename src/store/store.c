/*
 * store.c - counts, marks and notes that survive crashes.
 *
 * The journal. A change is applied and appended to a block in memory; at the
 * end of a turn of the loop all blocks are written with one call, and the
 * worker's thread syncs them, as many as have come by then.
 *
 * A snapshot has three steps: the worker makes journal-N ready; we begin to
 * write to it, and at that moment fork; the child writes snapshot-N. Whatever
 * happens between, the old snapshot and all journals since are there. Then the
 * worker removes what is older than N.
 *
 * A failed write, or sync, leaves a journal whose end nobody knows. It is not
 * written again. The state in memory has all that was acknowledged and more, so
 * the next snapshot repairs everything, with new files.
 */
#define _GNU_SOURCE /* pipe2 */
#include "store/store.h"

#include "base/error.h"
#include "base/hash.h"
#include "store/journal.h"
#include "store/recover.h"
#include "store/secret.h"
#include "store/snapshot.h"
#include "store/state.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER = 1 << 20,
    JOURNAL_BYTES = 4 << 20, /* before a snapshot is taken, at least */
    SNAPSHOT_SHARE = 4,      /* and that part of the snapshot */
    JOURNAL_FILES = 16,      /* restarts each leave one */
    JOURNAL_MOST = 8,        /* times that, and reports are refused */
    RETRY_MOST = 16          /* seconds between tries to write a snapshot */
};

typedef enum phase { IDLE, PREPARING, WRITING } phase;

struct um_store {
    um_disk *disk;
    um_worker *worker;
    um_hasher hasher;
    um_durability durability;
    um_state state;
    int event[2];
    uint64_t now;

    /* The journal. */
    int file; /* -1: none */
    uint64_t number, end;
    uint64_t seq;       /* of the last block that was begun */
    uint64_t written;   /* of the last that was written */
    uint64_t old_bytes; /* of earlier journals that are still needed */
    unsigned old_files;
    uint64_t least_bytes;
    uint64_t marked; /* when the last mark was asked for */
    uint64_t marked_seq;
    uint64_t lists_id;

    /* Blocks that are not written yet; the last one may be open. */
    uint8_t *buffer;
    size_t used, block;
    bool open;
    uint64_t block_time;

    /* The snapshot. */
    phase phase;
    bool wanted;
    pid_t child;
    uint64_t snapshot_seq;
    uint64_t retry_at, retry_after;

    bool has_failed;
    char reason[200];
    um_store_stats stats;
};

static const char *const durabilities[] = {"always", "interval", "none"};

bool um_durability_find(const char *name, um_durability *out)
{
    for (size_t i = 0; i < UM_COUNT(durabilities); i++)
        if (strcmp(name, durabilities[i]) == 0) {
            *out = (um_durability)i;
            return true;
        }
    return false;
}

const char *um_durability_name(um_durability d)
{
    return durabilities[d];
}

/* --- failure ------------------------------------------------------------- */

static void put_off(um_store *s)
{
    s->retry_at = s->now + s->retry_after;
    if (s->retry_after < RETRY_MOST)
        s->retry_after *= 2;
}

static void retire(um_store *s)
{
    if (s->file >= 0)
        um_worker_retire(s->worker, (um_written){s->file, s->end, s->written});
    s->file = -1;
}

/* From here on changes are refused, until a snapshot is written. */
static void fail(um_store *s, int number, const char *what)
{
    if (s->has_failed)
        return;
    s->has_failed = true;
    s->stats.failures++;
    snprintf(s->reason, sizeof s->reason, "%s: %s", what, strerror(number));
    s->used = 0;
    s->open = false;
    s->retry_after = 1;
    put_off(s);
    retire(s);
}

const char *um_store_failed(const um_store *s)
{
    return s->has_failed ? s->reason : NULL;
}

static umbel_status check_accepting(const um_store *s, umbel_error *err)
{
    if (!s->has_failed)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO, "changes are refused: %s", s->reason);
}

/* --- blocks -------------------------------------------------------------- */

static void seal(um_store *s)
{
    um_block b = {.seq = s->seq,
                  .durable = um_worker_durable(s->worker),
                  .time = s->block_time,
                  .len = s->used - s->block - UM_BLOCK_HEAD};

    if (s->open)
        um_block_seal(&b, s->buffer + s->block);
    s->stats.blocks += s->open;
    s->open = false;
}

umbel_status um_store_flush(um_store *s, umbel_error *err)
{
    seal(s);
    if (s->used && !s->has_failed) {
        int number =
            s->disk->ops->write(s->disk, s->file, s->end, s->buffer, s->used);
        if (number)
            fail(s, number, "the journal could not be written");
    }
    UM_TRY(check_accepting(s, err));
    if (s->used == 0)
        return UMBEL_OK;
    s->end += s->used;
    s->used = 0;
    s->written = s->seq;
    if (s->durability == UM_DURABILITY_ALWAYS)
        um_worker_sync(s->worker, (um_written){s->file, s->end, s->written},
                       false);
    return UMBEL_OK;
}

/* Gives room for len bytes of records at that time, in an open block. */
static umbel_status begin_records(um_store *s, size_t len, uint64_t now,
                                  umbel_error *err)
{
    UM_TRY(check_accepting(s, err));
    if (now < s->state.time)
        now = s->state.time;
    if (s->open && (s->block_time != now ||
                    s->used - s->block - UM_BLOCK_HEAD + len > UM_BLOCK_MAX))
        seal(s);
    if (s->used + UM_BLOCK_HEAD + len > BUFFER)
        UM_TRY(um_store_flush(s, err));
    if (!s->open) {
        s->open = true;
        s->seq++;
        s->block = s->used;
        s->used += UM_BLOCK_HEAD;
        s->block_time = now;
        s->state.time = now;
    }
    return UMBEL_OK;
}

/* For which there is room. */
static void add_record(um_store *s, const um_record *r)
{
    um_writer w = {s->buffer + s->used, s->buffer + BUFFER, false};

    um_record_encode(r, &w);
    s->used = (size_t)(w.at - s->buffer);
}

/* --- changes ------------------------------------------------------------- */

static umbel_status turn(um_store *s, unsigned list, umbel_error *err)
{
    UM_TRY(um_state_turn(&s->state, list, s->block_time, err));
    add_record(s, &(um_record){.type = UM_RECORD_TURN, .list = list});
    return UMBEL_OK;
}

static umbel_status check_entries(const um_store *s, const um_entry *e,
                                  size_t n, umbel_error *err)
{
    if (n > UM_STORE_BATCH)
        return um_fail(err, UMBEL_E_RANGE, "at most %d entries, got %zu",
                       UM_STORE_BATCH, n);
    for (size_t i = 0; i < n; i++)
        if (e[i].list >= s->state.nlists)
            return um_fail(err, UMBEL_E_RANGE, "there is no list %u",
                           e[i].list);
    return UMBEL_OK;
}

/* Turns the lists that need it, so that all entries find room. */
static umbel_status turn_due(um_store *s, const um_entry *e, size_t n,
                             umbel_error *err)
{
    uint64_t checked = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned list = e[i].list;
        if (checked >> list & 1)
            continue;
        checked |= UINT64_C(1) << list;
        if (um_list_due(s->state.list[list], s->block_time))
            UM_TRY(turn(s, list, err));
    }
    return UMBEL_OK;
}

/* Counts the run of entries of one list that e begins with. */
static umbel_status count_run(um_store *s, const um_entry *e, size_t n,
                              umbel_error *err)
{
    umbel_digest digest[UM_STORE_BATCH];
    uint32_t amount[UM_STORE_BATCH];

    for (size_t i = 0; i < n; i++) {
        digest[i] = e[i].digest;
        amount[i] = e[i].amount;
    }
    return um_state_count(&s->state, e->list, digest, amount, n, s->block_time,
                          err);
}

static void add_entry(um_store *s, const um_entry *e, uint64_t *mark)
{
    if (e->once && e->once != *mark) {
        add_record(s, &(um_record){.type = UM_RECORD_ONCE, .once = e->once});
        um_once_put(&s->state.once, e->once, s->block_time);
        *mark = e->once;
    }
    add_record(s, &(um_record){.type = UM_RECORD_COUNT,
                               .list = e->list,
                               .amount = e->amount,
                               .digest = e->digest});
}

umbel_status um_store_append(um_store *s, const um_entry *e, size_t n,
                             uint64_t now, uint64_t *ticket, umbel_error *err)
{
    size_t most = n * (UM_RECORD_ONCE_LEN + UM_RECORD_COUNT_LEN) +
                  UM_STORE_MAX_LISTS * UM_RECORD_TURN_LEN;
    uint64_t mark = 0;

    UM_TRY(check_entries(s, e, n, err));
    UM_TRY(begin_records(s, most, now, err));
    UM_TRY(um_once_reserve(&s->state.once, n, s->block_time, err));
    UM_TRY(turn_due(s, e, n, err));
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && e[i + run].list == e[i].list;)
            run++;
        UM_TRY(count_run(s, e + i, run, err));
        for (size_t k = 0; k < run; k++)
            add_entry(s, &e[i + k], &mark);
    }
    *ticket = s->seq;
    return UMBEL_OK;
}

umbel_status um_store_put(um_store *s, umbel_slice name, umbel_slice value,
                          uint64_t now, uint64_t *ticket, umbel_error *err)
{
    um_record r = {.type = value.data ? UM_RECORD_NOTE : UM_RECORD_DROP,
                   .name = name,
                   .value = value};

    UM_TRY(begin_records(s, UM_RECORD_MAX, now, err));
    if (value.data)
        UM_TRY(um_notes_put(&s->state.notes, name, value, err));
    else if (!um_notes_drop(&s->state.notes, name))
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no such note");
    add_record(s, &r);
    *ticket = s->seq;
    return UMBEL_OK;
}

/* --- questions ----------------------------------------------------------- */

void um_store_digest(const um_store *s, const umbel_slice *keys, size_t n,
                     umbel_digest *out)
{
    s->hasher.row->digest(&s->hasher, keys, n, out);
}

uint64_t um_store_committed(const um_store *s)
{
    return s->durability == UM_DURABILITY_ALWAYS ? um_worker_durable(s->worker)
                                                 : s->written;
}

int um_store_event(const um_store *s)
{
    return s->event[0];
}

void um_store_count(const um_store *s, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count)
{
    um_list_count(s->state.list[list], d, n, count);
}

bool um_store_times(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now, uint64_t *entered, uint64_t *updated)
{
    return um_list_times(s->state.list[list], d, now, entered, updated);
}

const um_list *um_store_list(const um_store *s, unsigned list)
{
    return list < s->state.nlists ? s->state.list[list] : NULL;
}

bool um_store_seen(const um_store *s, uint64_t once, uint64_t now)
{
    return um_once_seen(&s->state.once, once, now);
}

bool um_store_get(const um_store *s, umbel_slice name, umbel_slice *value)
{
    return um_notes_get(&s->state.notes, name, value);
}

bool um_store_next_note(const um_store *s, size_t *at, umbel_slice *name,
                        umbel_slice *value)
{
    return um_notes_next(&s->state.notes, at, name, value);
}

void um_store_stats_get(const um_store *s, um_store_stats *out)
{
    *out = s->stats;
    out->durability = s->durability;
    out->failed = um_store_failed(s);
    out->journal_bytes = s->old_bytes + s->end;
    out->snapshot_running = s->phase != IDLE;
    out->notes = s->state.notes.n;
    out->note_bytes = s->state.notes.bytes;
}

/* --- snapshots ----------------------------------------------------------- */

static uint64_t journal_limit(const um_store *s)
{
    uint64_t share = s->stats.snapshot_bytes / SNAPSHOT_SHARE;

    return share > s->least_bytes ? share : s->least_bytes;
}

static bool is_due(const um_store *s)
{
    if (s->phase != IDLE || s->now < s->retry_at)
        return false;
    return s->wanted || s->has_failed || s->old_files >= JOURNAL_FILES ||
           s->old_bytes + s->end > journal_limit(s);
}

void um_store_snapshot(um_store *s)
{
    s->wanted = true;
}

/* Journals may grow while a snapshot fails, but not for ever. */
static void check_growth(um_store *s)
{
    if (s->old_bytes + s->end > JOURNAL_MOST * journal_limit(s) &&
        s->stats.snapshot_error)
        fail(s, s->stats.snapshot_error,
             "the journal is too long, and no snapshot could be written");
}

static int write_snapshot(const um_store *s, uint64_t number, uint64_t *bytes,
                          umbel_error *err)
{
    um_snapshot_head head = {.number = number,
                             .secret_id = um_secret_id(s->hasher.secret),
                             .seq = s->seq,
                             .time = s->state.time,
                             .lists = (uint32_t)s->state.nlists};
    um_snapshot_writer w;

    umbel_status status = um_snapshot_create(&w, s->disk, &head, err);
    if (status == UMBEL_OK)
        status = um_state_encode(&s->state, &w.sink, err);
    if (status == UMBEL_OK)
        status = um_snapshot_finish(&w, err);
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
    int result = write_snapshot(s, s->number, &bytes, NULL);

    /* Wakes the parent, if its pipe is not full already. */
    if (write(s->event[1], "", 1) < 0)
        errno = 0;
    return result;
}

static void begin_snapshot(um_store *s)
{
    um_journal_head head = {.number = ++s->stats.last_number,
                            .secret_id = um_secret_id(s->hasher.secret),
                            .lists_id = s->lists_id};

    s->phase = PREPARING;
    um_worker_prepare(s->worker, &head);
}

static void snapshot_failed(um_store *s, int number)
{
    s->phase = IDLE;
    s->stats.snapshot_error = number;
    put_off(s);
}

/* From now on journal-N is written; the child has the state until here. */
static void switch_journal(um_store *s, int file)
{
    um_store_flush(s, NULL);
    retire(s);
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
        s->phase = WRITING;
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
    s->phase = IDLE;
    s->wanted = false;
    s->stats.snapshots++;
    s->stats.snapshot_error = 0;
    s->stats.snapshot_time = s->now;
    s->stats.snapshot_bytes = size_of_snapshot(s);
    s->old_bytes = 0;
    s->old_files = 0;
    s->retry_after = 1;
    um_worker_clean(s->worker, s->number);
    if (s->has_failed) {
        s->has_failed = false;
        s->written = s->snapshot_seq;
        um_worker_mend(s->worker, s->snapshot_seq);
    }
}

/* --- once a second, and when something happened -------------------------- */

static void collect_work(um_store *s)
{
    um_work_done done;

    um_worker_run(s->worker);
    um_worker_collect(s->worker, &done);
    s->stats.syncs += done.syncs;
    if (done.sync_error)
        fail(s, done.sync_error, "the journal could not be synced");
    if (done.prepared && done.prepare_error == 0)
        switch_journal(s, done.file);
    else if (done.prepared)
        snapshot_failed(s, done.prepare_error);
}

static void collect_child(um_store *s)
{
    int result;

    if (s->phase != WRITING || !s->disk->ops->ended(s->disk, s->child, &result))
        return;
    if (result)
        snapshot_failed(s, result);
    else
        snapshot_done(s);
}

/*
 * Turns lists whose epoch is over. While the store has failed that is not
 * written down: the next snapshot has it, or a restart turns again.
 */
static void turn_all(um_store *s, uint64_t now)
{
    for (unsigned i = 0; i < s->state.nlists; i++) {
        if (!um_list_due(s->state.list[i], now))
            continue;
        if (s->has_failed)
            um_state_turn(&s->state, i, now, NULL);
        else if (begin_records(s, UM_RECORD_TURN_LEN, now, NULL) == UMBEL_OK)
            turn(s, i, NULL);
    }
}

/* The sync of `interval`, and the mark in the journal's head. */
static void sync_each_second(um_store *s)
{
    if (s->file < 0 || s->has_failed || s->durability == UM_DURABILITY_NONE ||
        s->marked == s->now || s->marked_seq == s->written)
        return;
    s->marked = s->now;
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
    if (now > s->now)
        s->now = now;
    drain(s->event[0]);
    collect_work(s);
    collect_child(s);
    turn_all(s, s->now);
    um_store_flush(s, NULL);
    sync_each_second(s);
    check_growth(s);
    if (is_due(s))
        begin_snapshot(s);
}

/* --- open and close ------------------------------------------------------ */

static umbel_status check_config(const um_store_config *c, umbel_error *err)
{
    if (c->nlists > UM_STORE_MAX_LISTS)
        return um_fail(err, UMBEL_E_RANGE, "%zu lists, more than %d", c->nlists,
                       UM_STORE_MAX_LISTS);
    for (size_t i = 0; i < c->nlists; i++) {
        const char *name = c->lists[i].name;
        if (!*name || strlen(name) >= UM_LIST_MAX_NAME)
            return um_fail(err, UMBEL_E_RANGE,
                           "the name of a list has 1 to %d bytes: \"%.40s\"",
                           UM_LIST_MAX_NAME - 1, name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, c->lists[k].name) == 0)
                return um_fail(err, UMBEL_E_RANGE, "two lists \"%s\"", name);
    }
    return UMBEL_OK;
}

static umbel_status lock_directory(const um_store *s, const char *dir,
                                   umbel_error *err)
{
    int number = s->disk->ops->lock(s->disk, "lock");

    if (number == EWOULDBLOCK)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s is in use by another server: stop that one, or "
                       "choose another directory",
                       dir);
    return um_disk_status(number, dir, err);
}

static umbel_status take_secret(um_store *s, const um_store_config *c,
                                const um_found *found, umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];

    if (c->secret_bytes)
        memcpy(secret, c->secret_bytes, sizeof secret);
    else
        UM_TRY(um_store_secret(c->dir, c->secret, found->snapshot != 0, secret,
                               err));
    um_hasher_unlock(&s->hasher, secret);
    return UMBEL_OK;
}

/* Begins journal-N, after snapshot-N if the data need one. */
static int begin_journal(um_store *s, bool snapshot)
{
    um_journal_head head = {.number = s->number,
                            .secret_id = um_secret_id(s->hasher.secret),
                            .lists_id = s->lists_id};
    int number = 0;

    if (snapshot) {
        number = write_snapshot(s, s->number, &s->stats.snapshot_bytes, NULL);
        s->old_bytes = 0;
        s->old_files = 0;
        s->stats.snapshot_time = s->now;
    }
    if (number == 0)
        number = um_journal_create(s->disk, &head, &s->file);
    if (number)
        s->file = -1;
    s->end = UM_JOURNAL_HEAD;
    return number;
}

static umbel_status load(um_store *s, const um_store_config *c,
                         const um_found *found, umbel_error *err)
{
    uint8_t same[UM_STORE_MAX_LISTS];
    um_recovered got = {.rewrite = true};
    int number = 0;

    for (uint8_t i = 0; i < UM_STORE_MAX_LISTS; i++)
        same[i] = i;
    s->lists_id = um_state_lists_id(c, same, c->nlists);
    if (found->snapshot)
        UM_TRY(um_recover(found, c, s->hasher.secret, &s->state, &got, &number,
                          err));
    UM_TRY(um_state_fill(&s->state, c, s->hasher.secret, s->now, err));
    s->seq = s->written = got.seq;
    s->old_bytes = got.journal_bytes;
    s->old_files = (unsigned)found->n;
    s->wanted = got.torn != 0;
    s->stats.snapshot_bytes = got.snapshot_bytes;
    s->stats.snapshot_time = got.time;
    s->stats.replayed = got.records;
    s->stats.torn = got.torn;
    s->number = s->stats.last_number = found->last + 1;
    um_worker_mend(s->worker, s->seq);
    if (number == 0)
        number = um_store_clean(s->disk, found->snapshot, true);
    if (number == 0)
        number = begin_journal(s, got.rewrite);
    if (number && !found->snapshot)
        return um_disk_status(number, found->dir, err);
    if (number)
        fail(s, number, "the journal could not be begun");
    return UMBEL_OK;
}

static umbel_status open_store(um_store *s, const um_store_config *c,
                               umbel_error *err)
{
    const char *dir = c->dir ? c->dir : "data";
    um_found found = {0};

    s->disk = c->disk;
    UM_TRY(check_config(c, err));
    if (!s->disk)
        UM_TRY(um_disk_open(dir, &s->disk, err));
    s->buffer = malloc(BUFFER);
    if (!s->buffer)
        return um_no_memory(err, BUFFER);
    if (pipe2(s->event, O_NONBLOCK | O_CLOEXEC) != 0)
        return um_fail_errno(err, "no pipe");
    UM_TRY(lock_directory(s, dir, err));
    UM_TRY(um_worker_open(s->disk, s->event[1], &s->worker, err));
    umbel_status status = um_found_init(&found, s->disk, dir, err);
    if (status == UMBEL_OK)
        status = take_secret(s, c, &found, err);
    if (status == UMBEL_OK)
        status = load(s, c, &found, err);
    um_found_fini(&found);
    return status;
}

umbel_status um_store_open(const um_store_config *c, uint64_t now,
                           um_store **out, umbel_error *err)
{
    um_store *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    s->file = s->event[0] = s->event[1] = -1;
    s->now = now;
    s->retry_after = 1;
    s->durability = c->durability;
    s->least_bytes = c->journal_bytes ? c->journal_bytes : JOURNAL_BYTES;
    um_hasher_init(&s->hasher, um_hash_find("sip"), 0);
    umbel_status status = open_store(s, c, err);
    if (status == UMBEL_OK)
        *out = s;
    else
        um_store_close(s);
    return status;
}

void um_store_close(um_store *s)
{
    if (!s)
        return;
    if (s->worker) {
        um_store_flush(s, NULL);
        if (s->phase == WRITING)
            s->disk->ops->stop(s->disk, s->child);
        retire(s);
        um_worker_close(s->worker);
    }
    um_state_fini(&s->state);
    um_hasher_fini(&s->hasher);
    um_disk_close(s->disk);
    for (int i = 0; i < 2; i++)
        if (s->event[i] >= 0)
            close(s->event[i]);
    free(s->buffer);
    free(s);
}

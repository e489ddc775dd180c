/*
 * store.c - the store: changes and commits, compaction, open and close.
 *
 * A change is applied to the state and appended to a block in memory. At the
 * end of an iteration of the loop all blocks are written with one call, and the
 * worker's thread syncs everything written by then.
 *
 * If a write finds no space, the store repeats it, the same blocks at the same
 * place, until there is space; meanwhile changes are refused. After any other
 * failed write, and a failed sync, the end of the journal is unknown, and it is
 * never appended to again. The state in memory contains everything that was
 * acknowledged, so the next snapshot, in new files, repairs everything.
 *
 * Compaction, the snapshot that replaces journals, has three steps: the worker
 * prepares journal-N; the store begins to write to it and forks at that moment;
 * the child writes snapshot-N. Until that is complete, the old snapshot and all
 * journals since are kept. Then the worker removes files older than N.
 */
#define _GNU_SOURCE /* pipe2 */
#include "store/store.h"

#include "base/error.h"
#include "store/internal.h"
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER = 1 << 20, /* blocks that are not written yet */
    MEGABYTE = 1000000,
    JOURNAL_BYTES = 1 << 20, /* smallest journal that triggers a snapshot */
    JOURNAL_MAX = 8,         /* changes are refused at this multiple of the
                                journal's limit */
    RETRY_MAX = 16,          /* seconds between attempts to write a snapshot */
    TOTALS_STEP = 32 << 10,  /* bytes of epochs added up in one call */
    SNAPSHOT_SHARE = 16, /* largest journal, as a fraction of the snapshot */
    JOURNAL_FILES = 16,  /* largest number; each restart leaves one */
    CHECK_TRIES = 3      /* see um_store_check_dir */
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

/* --- failure -------------------------------------------------------------- */

/* Postpones the next attempt to write a snapshot, each time longer. */
static void postpone_retry(um_store *s)
{
    s->retry_at = s->age + s->retry_after;
    if (s->retry_after < RETRY_MAX)
        s->retry_after *= 2;
}

/* Leaves the journal to the worker, which syncs and closes it. A journal
 * without blocks proves nothing about earlier ones, which may have failed. */
static void retire_journal(um_store *s)
{
    uint64_t seq = s->end > UM_JOURNAL_HEAD ? s->written : 0;

    if (s->file >= 0)
        um_worker_retire(s->worker, (um_written){s->file, s->end, seq});
    s->file = -1;
}

/* Records that changes are refused from here on. */
static void set_failed(um_store *s, int number, const char *what)
{
    if (!s->has_failed) {
        s->stats.failures++;
        s->retry_after = 1;
    }
    s->has_failed = true;
    snprintf(s->reason, sizeof s->reason, "%s: %s", what, strerror(number));
    postpone_retry(s);
}

/* Refuses changes until a snapshot is written. */
static void fail(um_store *s, int number, const char *what)
{
    if (s->has_failed && !s->lacks_space)
        return;
    set_failed(s, number, what);
    s->lacks_space = false;
    s->used = 0;
    s->open = false;
    retire_journal(s);
}

/* The same, but if the disk is full, only until there is space for the blocks
 * in memory, or for the first journal. */
static void fail_write(um_store *s, int number, const char *what)
{
    if (number != ENOSPC && number != EDQUOT) {
        fail(s, number, what);
        return;
    }
    set_failed(s, number, what);
    s->lacks_space = true;
}

const char *um_store_failure(const um_store *s)
{
    return s->has_failed ? s->reason : NULL;
}

static umbel_status check_accepting(const um_store *s, umbel_error *err)
{
    if (!s->has_failed)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO, "changes are refused: %s", s->reason);
}

/* --- blocks --------------------------------------------------------------- */

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

/* Writes the blocks in memory. If that fails, it may be tried again. */
static void write_blocks(um_store *s)
{
    int number =
        s->disk->ops->write(s->disk, s->file, s->end, s->buffer, s->used);

    if (number) {
        fail_write(s, number, "the journal could not be written");
        return;
    }
    s->has_failed = s->lacks_space = false;
    s->end += s->used;
    s->used = 0;
    s->written = s->seq;
    if (s->durability == UM_DURABILITY_ALWAYS)
        um_worker_sync(s->worker, (um_written){s->file, s->end, s->written},
                       false);
}

umbel_status um_store_flush(um_store *s, umbel_error *err)
{
    seal(s);
    if (s->phase != UM_STARTING && s->used && !s->has_failed)
        write_blocks(s);
    return check_accepting(s, err);
}

/* Returns the earliest time of the next record, that of the last tick or
 * record, even if the clock was set back. Snapshots carry this time, and later
 * records must not be older. */
static uint64_t min_time(const um_store *s)
{
    return s->now > s->state.time ? s->now : s->state.time;
}

/* Reserves len bytes for records at that time, in an open block. */
static umbel_status begin_records(um_store *s, size_t len, uint64_t now,
                                  umbel_error *err)
{
    UM_TRY(check_accepting(s, err));
    if (now < min_time(s))
        now = min_time(s);
    if (s->open && (s->block_time != now ||
                    s->used - s->block - UM_BLOCK_HEAD + len > UM_BLOCK_MAX))
        seal(s);
    if (s->used + UM_BLOCK_HEAD + len > BUFFER)
        UM_TRY(um_store_flush(s, err));
    if (s->used + UM_BLOCK_HEAD + len > BUFFER)
        return um_fail(err, UMBEL_E_IO, "the journal is not ready yet");
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

/* Appends a record, for which space was reserved. */
static void add_record(um_store *s, const um_record *r)
{
    um_writer w = {s->buffer + s->used, s->buffer + BUFFER, false};

    um_record_encode(r, &w);
    s->used = (size_t)(w.at - s->buffer);
}

/* --- changes -------------------------------------------------------------- */

/* Begins a new epoch of a list; space for the record was reserved. */
static umbel_status advance_list(um_store *s, unsigned list, umbel_error *err)
{
    UM_TRY(um_list_advance(s->state.list[list], s->block_time, err));
    add_record(s, &(um_record){.type = UM_RECORD_ADVANCE, .list = list});
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

/* Returns true if a full list may get another filter. Strangers use half of the
 * memory at most, so that some is left for others. The next filter is hardly
 * larger than the newest one, and never twice as large. */
static bool can_extend(const um_store *s, const um_list *l, bool stranger)
{
    uint64_t max = stranger ? s->extra_bytes / 2 : s->extra_bytes;
    uint64_t used = 2 * um_list_newest_bytes(l);

    if (!um_list_can_extend(l))
        return false;
    for (size_t i = 0; i < s->state.nlists; i++)
        used += um_list_extra_bytes(s->state.list[i]);
    return used <= max;
}

/* Returns true if a full list may begin its next epoch early, which drops its
 * oldest counts: only for reporters who lose nothing but their own. */
static bool can_end_early(const um_list *l, uint16_t reporter)
{
    return !um_list_holds(l) &&
           (!reporter || um_list_is_sole(l, reporter, true));
}

/* Returns true if the network (0: any) is alone and may exceed its share. Once
 * the epoch is full, others must still be counted: in another filter, or in the
 * next epoch, for which the network's own counts are dropped. */
static bool may_exceed(const um_store *s, const um_list *l, uint16_t network)
{
    return um_list_is_sole(l, network, false) &&
           (can_extend(s, l, true) ||
            (!um_list_holds(l) && um_list_is_sole(l, network, true)));
}

um_store_admission um_store_admits(const um_store *s, unsigned list,
                                   const umbel_digest *d, uint16_t reporter,
                                   double share, uint64_t now)
{
    const um_list *l = s->state.list[list];
    bool shares = reporter && (share <= 0 || !may_exceed(s, l, reporter));
    double used = 0;

    if (now < min_time(s))
        now = min_time(s);
    bool over = um_list_is_over(l, now), full = !over && um_list_is_full(l);
    if (!shares && !full)
        return UM_ADMIT;
    if (!over) {
        used = (double)um_list_anonymous(l);
        if (um_list_newest_contains(l, d))
            return UM_ADMIT;
    }
    if (shares && share < 1 && used >= share * (double)um_list_capacity(l))
        return UM_REFUSE_SHARE;
    if (full && !can_extend(s, l, reporter) && !can_end_early(l, reporter))
        return UM_REFUSE_FULL;
    return shares ? UM_ADMIT_SHARED : UM_ADMIT;
}

bool um_store_accepts(const um_store *s, unsigned list, const umbel_digest *d,
                      uint64_t now)
{
    return um_store_admits(s, list, d, 0, 1, now) == UM_ADMIT;
}

uint16_t um_store_network_tag(const um_store *s, const void *network,
                              size_t len)
{
    umbel_slice key = {network, len};
    umbel_digest d;

    um_store_digest(s, &key, 1, &d);
    return (uint16_t)(1 + d.lo % UINT16_MAX);
}

static umbel_status fail_full(const um_store *s, unsigned list,
                              umbel_error *err)
{
    return um_fail(err, UMBEL_E_FULL,
                   "list %s is full until its epoch is over: raise its "
                   "capacity, or memory",
                   s->state.name[list]);
}

/* The share of strangers is the caller's affair. */
static umbel_status check_accepted(const um_store *s, const um_entry *e,
                                   size_t n, umbel_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (um_store_admits(s, e[i].list, &e[i].digest, e[i].reporter, INFINITY,
                            s->block_time) == UM_REFUSE_FULL)
            return fail_full(s, e[i].list, err);
    return UMBEL_OK;
}

/* Gives a full list another filter, or ends its epoch early. */
static umbel_status extend_or_advance(um_store *s, unsigned list,
                                      uint16_t reporter, umbel_error *err)
{
    um_list *l = s->state.list[list];

    /* Another list of the same report may have taken the space. */
    if (!can_extend(s, l, reporter))
        return can_end_early(l, reporter) ? advance_list(s, list, err)
                                          : fail_full(s, list, err);
    UM_TRY(um_list_extend(l, s->block_time, err));
    add_record(s, &(um_record){.type = UM_RECORD_EXTEND, .list = list});
    return UMBEL_OK;
}

/* Advances the lists that are due, so that all entries have space: one record
 * for each list. */
static umbel_status reserve_space(um_store *s, const um_entry *e, size_t n,
                                  umbel_error *err)
{
    uint64_t checked = 0;

    for (size_t i = 0; i < n; i++) {
        const um_list *l = s->state.list[e[i].list];
        uint64_t bit = UINT64_C(1) << e[i].list;
        if (checked & bit)
            continue;
        if (um_list_is_over(l, s->block_time)) {
            UM_TRY(advance_list(s, e[i].list, err));
        } else if (um_list_is_full(l)) {
            if (um_list_newest_contains(l, &e[i].digest))
                continue;
            UM_TRY(extend_or_advance(s, e[i].list, e[i].reporter, err));
        }
        checked |= bit;
    }
    return UMBEL_OK;
}

/* Counts the run of entries of one list that e begins with. */
static umbel_status count_run(um_store *s, const um_entry *e, size_t n,
                              umbel_error *err)
{
    umbel_digest digest[UM_STORE_BATCH];
    uint32_t amount[UM_STORE_BATCH];
    uint16_t reporter[UM_STORE_BATCH];

    for (size_t i = 0; i < n; i++) {
        digest[i] = e[i].digest;
        amount[i] = e[i].amount;
        reporter[i] = e[i].reporter;
    }
    return um_state_count(&s->state, e->list, digest, amount, reporter, n,
                          s->block_time, err);
}

static void add_entry(um_store *s, const um_entry *e, uint64_t *last_id)
{
    if (e->request_id && e->request_id != *last_id) {
        add_record(s, &(um_record){.type = UM_RECORD_REQUEST,
                                   .request_id = e->request_id});
        um_replay_guard_add(&s->state.guard, e->request_id, s->block_time);
        *last_id = e->request_id;
    }
    add_record(s, &(um_record){.type = UM_RECORD_COUNT,
                               .list = e->list,
                               .amount = e->amount,
                               .reporter = e->reporter,
                               .digest = e->digest});
    if (s->observer.on_count)
        s->observer.on_count(s->observer.ctx, e);
}

/* Returns the number of entries with a request id, repeated ones included. */
static size_t count_request_ids(const um_entry *e, size_t n)
{
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++)
        n_ids += e[i].request_id != 0;
    return n_ids;
}

umbel_status um_store_add(um_store *s, const um_entry *e, size_t n,
                          uint64_t now, uint64_t *ticket, umbel_error *err)
{
    size_t max = n * (UM_RECORD_REQUEST_LEN + UM_RECORD_COUNT_LEN) +
                 UM_STORE_MAX_LISTS * (size_t)UM_RECORD_ADVANCE_LEN;
    uint64_t last_id = 0;

    UM_TRY(check_entries(s, e, n, err));
    UM_TRY(begin_records(s, max, now, err));
    UM_TRY(check_accepted(s, e, n, err));
    UM_TRY(um_replay_guard_reserve(&s->state.guard, count_request_ids(e, n),
                                   s->block_time, err));
    UM_TRY(reserve_space(s, e, n, err));
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && e[i + run].list == e[i].list;)
            run++;
        UM_TRY(count_run(s, e + i, run, err));
        for (size_t k = 0; k < run; k++)
            add_entry(s, &e[i + k], &last_id);
    }
    *ticket = s->seq;
    return UMBEL_OK;
}

umbel_status um_store_write_mail(um_store *s, unsigned list,
                                 const um_near_write *w, uint64_t now,
                                 uint64_t *ticket, umbel_error *err)
{
    UM_TRY(check_entries(s, &(um_entry){.list = list}, 1, err));
    UM_TRY(
        begin_records(s, UM_RECORD_MAIL_LEN + UM_RECORD_ADVANCE_LEN, now, err));
    um_list *l = s->state.list[list];
    if (um_list_is_over(l, s->block_time))
        UM_TRY(advance_list(s, list, err));
    else if (um_list_is_full(l) && !um_list_has_space(l, w)) {
        if (um_list_is_held(l) && !can_extend(s, l, false))
            return fail_full(s, list, err);
        UM_TRY(extend_or_advance(s, list, 0, err));
    }
    UM_TRY(um_list_write_mail(l, w, err));
    add_record(s,
               &(um_record){.type = UM_RECORD_MAIL, .list = list, .mail = w});
    if (s->observer.on_mail)
        s->observer.on_mail(s->observer.ctx, list, w);
    *ticket = s->seq;
    return UMBEL_OK;
}

/* Sets or removes a key, for which space was reserved. Writes no record while
 * the store has failed. */
static umbel_status change_key(um_store *s, umbel_slice key, umbel_slice value,
                               umbel_error *err)
{
    um_record r = {.type = value.data ? UM_RECORD_SET : UM_RECORD_REMOVE,
                   .key = key,
                   .value = value};

    if (value.data)
        UM_TRY(um_kv_set(&s->state.kv, key, value, err));
    else if (!um_kv_remove(&s->state.kv, key))
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no such key");
    if (!s->has_failed)
        add_record(s, &r);
    return UMBEL_OK;
}

/* Reserves space for a key. Within before_snapshot this succeeds even while the
 * store has failed: the snapshot that ends the failure commits the change, with
 * a ticket that was not committed yet. */
static umbel_status begin_key(um_store *s, uint64_t now, umbel_error *err)
{
    umbel_status status = begin_records(s, UM_RECORD_MAX, now, err);

    if (status == UMBEL_OK || !s->in_before_snapshot || !s->has_failed ||
        s->lacks_space)
        return status;
    if (s->seq <= um_store_committed(s))
        s->seq++;
    return UMBEL_OK;
}

umbel_status um_store_set(um_store *s, umbel_slice key, umbel_slice value,
                          uint64_t now, uint64_t *ticket, umbel_error *err)
{
    UM_TRY(begin_key(s, now, err));
    UM_TRY(change_key(s, key, value, err));
    *ticket = s->seq;
    return UMBEL_OK;
}

/* Returns the length of the records of a reset; 0: they do not fit into a
 * block. */
static size_t reset_len(const um_store *s, size_t value_len)
{
    size_t len = um_record_kv_len(strlen(s->observer.reset_key), value_len);
    umbel_slice key, value;

    for (size_t at = 0; um_kv_next(&s->state.kv, &at, &key, &value);)
        if (um_observer_has_prefix(&s->observer, key))
            len += um_record_kv_len(key.len, 0);
    return len <= UM_BLOCK_MAX ? len : 0;
}

/* Removes the keys with the prefix. The walk starts over after each, because a
 * removal moves others. */
static void remove_observed(um_store *s)
{
    umbel_slice key, value;

    for (size_t at = 0; um_kv_next(&s->state.kv, &at, &key, &value);) {
        if (!um_observer_has_prefix(&s->observer, key))
            continue;
        add_record(s, &(um_record){.type = UM_RECORD_REMOVE, .key = key});
        um_kv_remove(&s->state.kv, key);
        at = 0;
    }
}

umbel_status um_store_reset(um_store *s, umbel_slice value, uint64_t now,
                            uint64_t *ticket, umbel_error *err)
{
    if (!s->observer.reset_key)
        return um_fail(err, UMBEL_E_UNSUPPORTED, "the store has no observer");
    umbel_slice key = {s->observer.reset_key, strlen(s->observer.reset_key)};
    size_t len = reset_len(s, value.len);
    if (!len)
        return um_fail(err, UMBEL_E_LIMIT, "too many keys to remove at once");
    UM_TRY(begin_records(s, len, now, err));
    UM_TRY(um_state_reset(&s->state, key, value, s->block_time, err));
    remove_observed(s);
    add_record(
        s, &(um_record){.type = UM_RECORD_RESET, .key = key, .value = value});
    *ticket = s->seq;
    return UMBEL_OK;
}

/* --- queries -------------------------------------------------------------- */

const uint8_t *um_store_secret(const um_store *s)
{
    return s->secret;
}

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

uint64_t um_store_last_ticket(const um_store *s)
{
    return s->seq;
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

bool um_store_upper_bound(const um_store *s, unsigned list,
                          const umbel_digest *d, size_t n, uint64_t *bound)
{
    return um_list_upper_bound(s->state.list[list], d, n, bound);
}

/* Builds totals within one memory limit for all lists; the first lists come
 * first. */
bool um_store_build_totals(um_store *s)
{
    const um_state *st = &s->state;
    uint64_t used = 0;

    for (size_t i = 0; i < st->nlists; i++)
        used += um_list_totals_bytes(st->list[i]);
    for (size_t i = 0; i < st->nlists; i++) {
        uint64_t space = s->totals_bytes > used ? s->totals_bytes - used : 0;
        size_t had = um_list_totals_bytes(st->list[i]);
        if (um_list_build_totals(st->list[i], space, TOTALS_STEP))
            return true;
        used += um_list_totals_bytes(st->list[i]) - had;
    }
    return false;
}

bool um_store_times(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now, uint64_t *entered, uint64_t *updated)
{
    const um_state *st = &s->state;

    if (!um_list_times(st->list[list], d, now, entered, updated))
        return false;
    if (st->recent_column[list])
        um_recent_times_find(st->recent, st->recent_column[list] - 1, d, now,
                             entered, updated);
    return true;
}

const um_list *um_store_list(const um_store *s, unsigned list)
{
    return list < s->state.nlists ? s->state.list[list] : NULL;
}

/* Takes the memory for further filters into account. */
static void adjust_stats(const um_store *s, const um_list *l,
                         um_list_stats *out)
{
    out->held = out->held && !can_extend(s, l, false);
    out->sole = may_exceed(s, l, 0);
}

void um_store_list_stats(const um_store *s, unsigned list, um_list_stats *out)
{
    const um_list *l = s->state.list[list];

    um_list_stats_get(l, out);
    adjust_stats(s, l, out);
}

void um_store_list_fullness(const um_store *s, unsigned list,
                            um_list_stats *out)
{
    const um_list *l = s->state.list[list];

    um_list_fullness_get(l, out);
    adjust_stats(s, l, out);
}

bool um_store_is_replay(const um_store *s, uint64_t request_id, uint64_t now)
{
    return um_replay_guard_seen(&s->state.guard, request_id, now);
}

bool um_store_get(const um_store *s, umbel_slice key, umbel_slice *value)
{
    return um_kv_get(&s->state.kv, key, value);
}

bool um_store_next(const um_store *s, size_t *at, umbel_slice *key,
                   umbel_slice *value)
{
    return um_kv_next(&s->state.kv, at, key, value);
}

/* --- compaction ----------------------------------------------------------- */

/* Lets the observer set its keys in the state that a snapshot captures. */
static void call_before_snapshot(um_store *s)
{
    if (!s->observer.before_snapshot)
        return;
    s->in_before_snapshot = true;
    s->observer.before_snapshot(s->observer.ctx, s);
    s->in_before_snapshot = false;
}

/* Returns the journal length at which a snapshot is taken. */
static uint64_t journal_limit(const um_store *s)
{
    uint64_t share = s->stats.snapshot_bytes / SNAPSHOT_SHARE;

    return share > s->min_bytes ? share : s->min_bytes;
}

/* Returns true if this tick should begin a snapshot. */
static bool is_snapshot_due(const um_store *s)
{
    if (s->phase != UM_IDLE || s->age < s->retry_at || s->lacks_space)
        return false;
    return s->wanted || s->has_failed || s->old_files >= JOURNAL_FILES ||
           s->old_bytes + s->end > journal_limit(s);
}

void um_store_request_snapshot(um_store *s)
{
    s->wanted = true;
}

/* Refuses changes if snapshots keep failing and the journals grow too large. */
static void check_growth(um_store *s)
{
    if (!s->has_failed &&
        s->old_bytes + s->end > JOURNAL_MAX * journal_limit(s) &&
        s->stats.snapshot_error)
        fail(s, s->stats.snapshot_error,
             "the journal is too long, and no snapshot could be written");
}

/* Writes snapshot-number of the current state; returns an errno. */
static int write_snapshot(const um_store *s, uint64_t number, uint64_t *bytes)
{
    um_snapshot_head head = {.number = number,
                             .secret_id = um_secret_id(s->secret),
                             .seq = s->seq,
                             .time = min_time(s),
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

/* Writes the snapshot in the child process. */
static int snapshot_job(void *arg)
{
    const um_store *s = arg;
    uint64_t bytes;
    int result = write_snapshot(s, s->number, &bytes);

    /* Wakes the parent; if the pipe is full, it will wake up anyway. */
    if (write(s->event[1], "", 1) < 0)
        errno = 0;
    return result;
}

static bool is_ready(const um_store *s)
{
    return s->has_failed || !s->observer.is_ready ||
           s->observer.is_ready(s->observer.ctx);
}

/* Returns about the bytes of a snapshot: filters, requests, keys and times. */
static uint64_t snapshot_need(const um_store *s)
{
    uint64_t bytes =
        s->state.kv.bytes + 8 * s->state.kv.n + 16 * s->state.guard.used;
    um_recent_times_stats recent;

    for (size_t i = 0; i < s->state.nlists; i++)
        bytes += um_list_filter_bytes(s->state.list[i]);
    if (s->state.recent) {
        um_recent_times_stats_get(s->state.recent, &recent);
        bytes += 8 * recent.digests + recent.slots / 8;
    }
    return bytes;
}

/* Returns the bytes with which a full disk accepts changes again, about: blocks
 * in memory and, at the start, copies of journals that were not synced. */
static uint64_t journal_need(const um_store *s)
{
    return MEGABYTE + (s->file < 0 ? s->old_bytes : 0);
}

/* Returns true if a snapshot fits on the disk, as far as that is known. One
 * that does not fit would take the journal's space. */
static bool has_space(const um_store *s)
{
    uint64_t bytes;

    return !s->disk->ops->space || s->disk->ops->space(s->disk, &bytes) != 0 ||
           bytes >= snapshot_need(s);
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
    postpone_retry(s);
}

/* Switches to journal-N and starts the child that writes the current state. Not
 * while blocks must go to the old journal first: then journal-N stays empty. */
static void switch_journal(um_store *s, int file)
{
    if (!s->lacks_space) {
        call_before_snapshot(s);
        um_store_flush(s, NULL);
    }
    if (s->lacks_space) { /* perhaps only now */
        s->phase = UM_IDLE;
        s->wanted = true;
        s->disk->ops->close(s->disk, file);
        return;
    }
    retire_journal(s);
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
    um_worker_remove_old(s->worker, s->number);
    if (s->lacks_space)
        return; /* blocks behind the snapshot are not written yet */
    if (s->has_failed && s->file >= 0) { /* else it failed again */
        s->has_failed = false;
        s->written = s->snapshot_seq;
        um_worker_set_durable(s->worker, s->snapshot_seq);
    }
}

void um_store_stats_get(const um_store *s, um_store_stats *out)
{
    *out = s->stats;
    out->durability = s->durability;
    out->failed = um_store_failure(s);
    out->journal_bytes = s->old_bytes + s->end;
    out->journal_limit = journal_limit(s);
    out->journal_max = JOURNAL_MAX * out->journal_limit;
    out->ahead = min_time(s) - s->ticked;
    out->lacks_space = s->lacks_space;
    out->journal_need = journal_need(s);
    out->snapshot_need = snapshot_need(s);
    out->snapshot_running = s->phase != UM_IDLE;
    out->kv_pairs = s->state.kv.n;
    out->kv_bytes = s->state.kv.bytes;
    if (s->state.recent) {
        um_recent_times_stats recent;
        um_recent_times_stats_get(s->state.recent, &recent);
        out->recent_digests = recent.digests;
        out->recent_bytes = recent.bytes;
        out->recent_pushed = recent.pushed;
    }
}

/* --- the tick ------------------------------------------------------------- */

/* Requests journal-N from the worker, so that the caller need not wait for the
 * disk. */
static void begin_journal(um_store *s, uint64_t replayed)
{
    um_journal_head head = {.number = s->number,
                            .secret_id = um_secret_id(s->secret),
                            .lists_id = s->lists_id};

    s->phase = UM_STARTING;
    s->replayed = replayed;
    um_worker_prepare(s->worker, &head, replayed);
}

/* Begins the first journal: everything that was replayed is durable now. */
static void start_journal(um_store *s, int file, int number)
{
    s->phase = UM_IDLE;
    if (number) {
        fail_write(s, number, "the journal could not be created");
        return;
    }
    um_worker_set_durable(s->worker, s->written);
    s->file = file;
    s->end = UM_JOURNAL_HEAD;
    s->has_failed = s->lacks_space = false;
    um_store_flush(s, NULL);
}

/* Tries again what found no space. */
static void retry_write(um_store *s)
{
    if (!s->lacks_space || s->age < s->retry_at || s->phase == UM_STARTING)
        return;
    if (s->file < 0)
        begin_journal(s, s->replayed);
    else
        write_blocks(s);
}

static void collect_work(um_store *s)
{
    um_work_done done;

    um_worker_run(s->worker);
    um_worker_collect(s->worker, &done);
    s->stats.syncs += done.syncs;
    if (done.sync_error)
        fail(s, done.sync_error, "the journal could not be synced");
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
 * Advances lists whose epoch is over. While the store has failed, the advance
 * is not recorded: the next snapshot contains it, or a restart repeats it. A
 * list does not advance while such a snapshot is being written, because neither
 * the snapshot nor its journal could contain the advance, nor while the journal
 * lacks space.
 */
static void advance_all(um_store *s, uint64_t now)
{
    if (s->has_failed && (s->phase == UM_WRITING || s->lacks_space))
        return;
    for (unsigned i = 0; i < s->state.nlists; i++) {
        if (!um_list_is_over(s->state.list[i], now))
            continue;
        if (s->has_failed)
            um_list_advance(s->state.list[i], now, NULL);
        else if (begin_records(s, UM_RECORD_ADVANCE_LEN, now, NULL) == UMBEL_OK)
            advance_list(s, i, NULL);
    }
}

/* Requests the sync of durability `interval`, once a second, with an update of
 * durable_end in the journal's head. */
static void sync_each_second(um_store *s)
{
    if (s->file < 0 || s->has_failed || s->durability == UM_DURABILITY_NONE ||
        s->synced_at == s->age || s->synced_seq == s->written)
        return;
    s->synced_at = s->age;
    s->synced_seq = s->written;
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
    retry_write(s);
    advance_all(s, s->now);
    um_store_flush(s, NULL);
    sync_each_second(s);
    check_growth(s);
    if (is_snapshot_due(s) && is_ready(s)) {
        if (has_space(s))
            begin_snapshot(s);
        else
            snapshot_failed(s, ENOSPC);
    }
}

/* --- open and close ------------------------------------------------------- */

static umbel_status check_config(const um_store_config *c, umbel_error *err)
{
    if (c->nlists > UM_STORE_MAX_LISTS)
        return um_fail(err, UMBEL_E_RANGE, "%zu lists, more than %d", c->nlists,
                       UM_STORE_MAX_LISTS);
    for (size_t i = 0; i < c->nlists; i++) {
        const char *name = c->lists[i].name;
        if (!*name || strlen(name) >= UM_LIST_MAX_NAME)
            return um_fail(err, UMBEL_E_RANGE,
                           "names of lists have 1 to %d bytes: \"%.40s\"",
                           UM_LIST_MAX_NAME - 1, name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, c->lists[k].name) == 0)
                return um_fail(err, UMBEL_E_RANGE, "two lists are named \"%s\"",
                               name);
    }
    return UMBEL_OK;
}

static umbel_status lock_directory(const um_store *s, const char *dir,
                                   umbel_error *err)
{
    pid_t holder = 0;
    int number = s->disk->ops->lock(s->disk, "lock", &holder);

    if (number == EWOULDBLOCK && holder)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s is in use by another server (process %ld): stop it, "
                       "or choose another directory",
                       dir, (long)holder);
    if (number == EWOULDBLOCK)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s is in use by another server: stop it, or "
                       "choose another directory",
                       dir);
    return um_disk_status(number, dir, err);
}

static umbel_status apply_secret(um_store *s, const um_store_config *c,
                                 const um_data_files *found, umbel_error *err)
{
    if (c->secret_bytes)
        memcpy(s->secret, c->secret_bytes, sizeof s->secret);
    else
        UM_TRY(um_secret_find(c->dir, c->secret, found->snapshot != 0,
                              s->secret, err));
    um_hasher_unlock(&s->hasher, s->secret);
    return UMBEL_OK;
}

/* Writes snapshot-N at once, if no snapshot exists or it has other lists. */
static umbel_status
write_first_snapshot(um_store *s, const um_data_files *found, umbel_error *err)
{
    s->phase = UM_STARTING; /* changes wait in memory */
    if (found->snapshot)
        call_before_snapshot(s);
    s->phase = UM_IDLE;
    s->open = false;
    s->used = 0; /* the snapshot contains them */
    int number = write_snapshot(s, s->number, &s->stats.snapshot_bytes);

    s->stats.snapshot_time = s->now;
    s->old_bytes = 0;
    s->old_files = 0;
    if (number == ENOSPC && !found->snapshot)
        return um_fail(err, UMBEL_E_IO,
                       "%s: %s; the first snapshot takes about %.1f MB: free "
                       "space, or lower capacity or epochs of a list",
                       found->dir, strerror(number),
                       (double)snapshot_need(s) / MEGABYTE + 0.1);
    if (number && !found->snapshot)
        return um_disk_status(number, found->dir, err);
    if (number)
        fail(s, number, "no snapshot could be written");
    else
        um_worker_set_durable(s->worker, s->written = s->seq);
    return UMBEL_OK;
}

static umbel_status load(um_store *s, const um_store_config *c,
                         const um_data_files *found, umbel_error *err)
{
    uint8_t same[UM_STORE_MAX_LISTS];
    um_recovered got = {.rewrite = true};

    for (size_t i = 0; i < UM_STORE_MAX_LISTS; i++)
        same[i] = (uint8_t)i;
    s->lists_id = um_state_lists_id(c, same, c->nlists);
    if (found->snapshot)
        UM_TRY(um_recover(found, c, s->secret, &s->state, &got, err));
    UM_TRY(um_state_fill(&s->state, c, s->secret, s->now, err));
    s->seq = s->written = got.seq;
    s->old_bytes = got.journal_bytes;
    s->old_files = found->n;
    s->wanted = got.torn != 0;
    s->stats.snapshot_bytes = got.snapshot_bytes;
    s->stats.snapshot_time = got.time;
    s->stats.replayed = got.records;
    s->stats.torn = got.torn;
    s->number = s->stats.last_number = found->last + 1;
    if (got.rewrite)
        UM_TRY(write_first_snapshot(s, found, err));
    if (!s->has_failed)
        begin_journal(s, got.rewrite ? s->number : found->snapshot);
    return UMBEL_OK;
}

static umbel_status open_store(um_store *s, const um_store_config *c,
                               umbel_error *err)
{
    const char *dir = c->dir ? c->dir : "data";
    um_data_files found = {0};

    s->disk = c->disk;
    UM_TRY(check_config(c, err));
    if (!s->disk)
        UM_TRY(um_disk_open(dir, &s->disk, err));
    s->buffer = malloc(BUFFER);
    if (!s->buffer)
        return um_no_memory(err, BUFFER);
    if (pipe2(s->event, O_NONBLOCK | O_CLOEXEC) != 0)
        return um_fail_errno(err, "cannot create a pipe");
    UM_TRY(lock_directory(s, dir, err));
    UM_TRY(um_worker_open(s->disk, s->event[1], &s->worker, err));
    umbel_status status = um_data_files_scan(&found, s->disk, dir, err);
    if (status == UMBEL_OK)
        status = apply_secret(s, c, &found, err);
    if (status == UMBEL_OK)
        status = load(s, c, &found, err);
    um_data_files_fini(&found);
    return status;
}

umbel_status um_store_open(const um_store_config *c, uint64_t now,
                           um_store **out, umbel_error *err)
{
    um_store *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    s->file = s->event[0] = s->event[1] = -1;
    s->now = s->ticked = now;
    s->retry_after = 1;
    s->durability = c->durability;
    s->observer = c->observer;
    s->totals_bytes = c->totals_bytes;
    s->extra_bytes = c->extra_bytes;
    s->min_bytes = c->journal_bytes ? c->journal_bytes : JOURNAL_BYTES;
    um_hasher_init(&s->hasher, um_hash_find("sip"), 0, &s->hasher_secret);
    umbel_status status = open_store(s, c, err);
    if (status == UMBEL_OK)
        *out = s;
    else
        um_store_close(s);
    return status;
}

/* Waits for the first journal, so that changes can be written. Does nothing if
 * opening the store failed: there may be no lists. */
static void finish_start(um_store *s)
{
    struct pollfd event = {.fd = s->event[0], .events = POLLIN};

    while (s->phase == UM_STARTING) {
        um_store_tick(s, s->now);
        if (s->phase == UM_STARTING)
            poll(&event, 1, -1);
    }
}

void um_store_close(um_store *s)
{
    if (!s)
        return;
    s->observer = (um_store_observer){.ctx = NULL}; /* it may no longer exist */
    if (s->worker) {
        finish_start(s);
        um_store_flush(s, NULL);
        if (s->lacks_space && s->file >= 0)
            write_blocks(s); /* there may be space now */
        if (s->phase == UM_WRITING)
            s->disk->ops->stop(s->disk, s->child);
        retire_journal(s);
        um_worker_close(s->worker);
    }
    um_state_fini(&s->state);
    um_hasher_fini(&s->hasher);
    sodium_memzero(s->secret, sizeof s->secret);
    um_disk_close(s->disk);
    for (int i = 0; i < 2; i++)
        if (s->event[i] >= 0)
            close(s->event[i]);
    free(s->buffer);
    free(s);
}

/* --- check ---------------------------------------------------------------- */

static umbel_status check_existing(const um_store_config *c, um_disk *disk,
                                   umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    um_data_files found;
    bool has_secret = false;
    umbel_status status = um_data_files_scan(&found, disk, c->dir, err);

    if (status == UMBEL_OK)
        status = um_secret_check(c->dir, c->secret, found.snapshot != 0,
                                 &has_secret, secret, err);
    if (status == UMBEL_OK && has_secret)
        status = um_data_files_check_secret(&found, secret, err);
    um_data_files_fini(&found);
    return status;
}

static umbel_status check_new(const um_store_config *c, umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    bool has_secret;

    UM_TRY(um_check_creatable(c->dir, err));
    return um_secret_check(c->dir, c->secret, false, &has_secret, secret, err);
}

umbel_status um_store_check_dir(const um_store_config *c, umbel_error *err)
{
    um_disk *disk;
    umbel_status status = UMBEL_E_IO;

    if (access(c->dir, F_OK) != 0 && errno == ENOENT)
        return check_new(c, err);
    UM_TRY(um_disk_open(c->dir, &disk, err));
    /* A running server may replace the snapshot between listing and reading. */
    for (int i = 0; status == UMBEL_E_IO && i < CHECK_TRIES; i++)
        status = check_existing(c, disk, err);
    um_disk_close(disk);
    if (status == UMBEL_OK && access(c->dir, W_OK | X_OK) != 0)
        return um_fail_path(err, c->dir);
    return status;
}

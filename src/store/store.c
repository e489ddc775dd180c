/*
 * store.c - changes of the state, and the journal's blocks.
 *
 * A change is applied and appended to a block in memory; at the end of a turn
 * of the loop all blocks are written with one call, and the worker's thread
 * syncs them, as many as have come by then.
 *
 * A failed write, or sync, leaves a journal whose end nobody knows. It is not
 * written again. The state in memory has all that was acknowledged and more, so
 * the next snapshot repairs everything, with new files.
 */
#include "store/inside.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum {
    RETRY_MOST = 16,     /* seconds between tries to write a snapshot */
    SUM_BYTES = 32 << 10 /* of epochs that are added up in one call */
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

void um_store_append_off(um_store *s)
{
    s->retry_at = s->age + s->retry_after;
    if (s->retry_after < RETRY_MOST)
        s->retry_after *= 2;
}

/* A journal without blocks says nothing about those before it: they may be what
 * has failed. */
void um_store_retire(um_store *s)
{
    uint64_t seq = s->end > UM_JOURNAL_HEAD ? s->written : 0;

    if (s->file >= 0)
        um_worker_retire(s->worker, (um_written){s->file, s->end, seq});
    s->file = -1;
}

void um_store_fail(um_store *s, int number, const char *what)
{
    if (s->has_failed)
        return;
    s->has_failed = true;
    s->stats.failures++;
    snprintf(s->reason, sizeof s->reason, "%s: %s", what, strerror(number));
    s->used = 0;
    s->open = false;
    s->retry_after = 1;
    um_store_append_off(s);
    um_store_retire(s);
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
    if (s->phase == UM_STARTING)
        return check_accepting(s, err);
    if (s->used && !s->has_failed) {
        int number =
            s->disk->ops->write(s->disk, s->file, s->end, s->buffer, s->used);
        if (number)
            um_store_fail(s, number, "the journal could not be written");
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

/* A snapshot has this time: what is journaled after it must not be older. */
uint64_t um_store_time(const um_store *s)
{
    return s->now > s->state.time ? s->now : s->state.time;
}

umbel_status um_store_begin_records(um_store *s, size_t len, uint64_t now,
                                    umbel_error *err)
{
    UM_TRY(check_accepting(s, err));
    if (now < um_store_time(s))
        now = um_store_time(s);
    if (s->open && (s->block_time != now ||
                    s->used - s->block - UM_BLOCK_HEAD + len > UM_BLOCK_MAX))
        seal(s);
    if (s->used + UM_BLOCK_HEAD + len > UM_STORE_BUFFER)
        UM_TRY(um_store_flush(s, err));
    if (s->used + UM_BLOCK_HEAD + len > UM_STORE_BUFFER)
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

/* For which there is room. */
static void add_record(um_store *s, const um_record *r)
{
    um_writer w = {s->buffer + s->used, s->buffer + UM_STORE_BUFFER, false};

    um_record_encode(r, &w);
    s->used = (size_t)(w.at - s->buffer);
}

/* --- changes ------------------------------------------------------------- */

umbel_status um_store_turn(um_store *s, unsigned list, umbel_error *err)
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

bool um_store_takes(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now)
{
    const um_list *l = s->state.list[list];

    if (now < um_store_time(s))
        now = um_store_time(s);
    return um_list_takes(l, d) || um_list_due(l, now);
}

static umbel_status check_room(const um_store *s, const um_entry *e, size_t n,
                               umbel_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!um_store_takes(s, e[i].list, &e[i].digest, s->block_time))
            return um_fail(err, UMBEL_E_FULL,
                           "list %s is full until its epoch is over",
                           s->state.name[e[i].list]);
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
            UM_TRY(um_store_turn(s, list, err));
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
        um_once_append(&s->state.once, e->once, s->block_time);
        *mark = e->once;
    }
    add_record(s, &(um_record){.type = UM_RECORD_COUNT,
                               .list = e->list,
                               .amount = e->amount,
                               .digest = e->digest});
    if (s->watch.counted)
        s->watch.counted(s->watch.ctx, e);
}

/* Marks that the entries have, or more: one of several entries counts again. */
static size_t count_marks(const um_entry *e, size_t n)
{
    size_t marks = 0;

    for (size_t i = 0; i < n; i++)
        marks += e[i].once != 0;
    return marks;
}

umbel_status um_store_append(um_store *s, const um_entry *e, size_t n,
                             uint64_t now, uint64_t *ticket, umbel_error *err)
{
    size_t most = n * (UM_RECORD_ONCE_LEN + UM_RECORD_COUNT_LEN) +
                  UM_STORE_MAX_LISTS * (size_t)UM_RECORD_TURN_LEN;
    uint64_t mark = 0;

    UM_TRY(check_entries(s, e, n, err));
    UM_TRY(um_store_begin_records(s, most, now, err));
    UM_TRY(check_room(s, e, n, err));
    UM_TRY(
        um_once_reserve(&s->state.once, count_marks(e, n), s->block_time, err));
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

umbel_status um_store_write(um_store *s, unsigned list, const um_near_write *w,
                            uint64_t now, uint64_t *ticket, umbel_error *err)
{
    UM_TRY(check_entries(s, &(um_entry){.list = list}, 1, err));
    UM_TRY(um_store_begin_records(s, UM_RECORD_MAIL_LEN + UM_RECORD_TURN_LEN,
                                  now, err));
    um_list *l = s->state.list[list];
    if (um_list_due(l, s->block_time))
        UM_TRY(um_store_turn(s, list, err));
    if (!um_list_has_room(l, w))
        return um_fail(err, UMBEL_E_FULL,
                       "list %s is full until its epoch is over",
                       s->state.name[list]);
    UM_TRY(um_list_write(l, w, err));
    add_record(s,
               &(um_record){.type = UM_RECORD_MAIL, .list = list, .mail = w});
    if (s->watch.written)
        s->watch.written(s->watch.ctx, list, w);
    *ticket = s->seq;
    return UMBEL_OK;
}

/* For which there is room; while the store has failed there is no journal. */
static umbel_status change_note(um_store *s, umbel_slice name,
                                umbel_slice value, umbel_error *err)
{
    um_record r = {.type = value.data ? UM_RECORD_NOTE : UM_RECORD_DROP,
                   .name = name,
                   .value = value};

    if (value.data)
        UM_TRY(um_notes_append(&s->state.notes, name, value, err));
    else if (!um_notes_drop(&s->state.notes, name))
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no such note");
    if (!s->has_failed)
        add_record(s, &r);
    return UMBEL_OK;
}

/* The snapshot that ends a failure commits what comes before it: its ticket is
 * one that was not committed yet. */
static umbel_status begin_note(um_store *s, uint64_t now, umbel_error *err)
{
    umbel_status status = um_store_begin_records(s, UM_RECORD_MAX, now, err);

    if (status == UMBEL_OK || !s->noting || !s->has_failed)
        return status;
    if (s->seq <= um_store_committed(s))
        s->seq++;
    return UMBEL_OK;
}

umbel_status um_store_put(um_store *s, umbel_slice name, umbel_slice value,
                          uint64_t now, uint64_t *ticket, umbel_error *err)
{
    UM_TRY(begin_note(s, now, err));
    UM_TRY(change_note(s, name, value, err));
    *ticket = s->seq;
    return UMBEL_OK;
}

void um_store_before_snapshot(um_store *s)
{
    if (!s->watch.before_snapshot)
        return;
    s->noting = true;
    s->watch.before_snapshot(s->watch.ctx, s);
    s->noting = false;
}

/* Room for the records of a renewal; 0: they do not fit into a block. */
static size_t renewal_len(const um_store *s, size_t value_len)
{
    size_t len = um_record_note_len(strlen(s->watch.leader), value_len);
    umbel_slice name, value;

    for (size_t at = 0; um_notes_next(&s->state.notes, &at, &name, &value);)
        if (um_watch_has_prefix(&s->watch, name))
            len += um_record_note_len(name.len, 0);
    return len <= UM_BLOCK_MAX ? len : 0;
}

/* The walk begins again after each: what is removed moves others. */
static void drop_watched(um_store *s)
{
    umbel_slice name, value;

    for (size_t at = 0; um_notes_next(&s->state.notes, &at, &name, &value);) {
        if (!um_watch_has_prefix(&s->watch, name))
            continue;
        add_record(s, &(um_record){.type = UM_RECORD_DROP, .name = name});
        um_notes_drop(&s->state.notes, name);
        at = 0;
    }
}

umbel_status um_store_renew(um_store *s, umbel_slice value, uint64_t now,
                            uint64_t *ticket, umbel_error *err)
{
    if (!s->watch.leader)
        return um_fail(err, UMBEL_E_UNSUPPORTED, "the store has no watch");
    umbel_slice leader = {s->watch.leader, strlen(s->watch.leader)};
    size_t len = renewal_len(s, value.len);
    if (!len)
        return um_fail(err, UMBEL_E_LIMIT, "too many notes to remove at once");
    UM_TRY(um_store_begin_records(s, len, now, err));
    UM_TRY(um_state_renew(&s->state, leader, value, s->block_time, err));
    drop_watched(s);
    add_record(s, &(um_record){
                      .type = UM_RECORD_RENEW, .name = leader, .value = value});
    *ticket = s->seq;
    return UMBEL_OK;
}

/* --- questions ----------------------------------------------------------- */

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

bool um_store_bound(const um_store *s, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *most)
{
    return um_list_bound(s->state.list[list], d, n, most);
}

/* Lists share the memory; the first ones get it. */
bool um_store_sum(um_store *s)
{
    const um_state *st = &s->state;
    uint64_t used = 0;

    for (size_t i = 0; i < st->nlists; i++)
        used += um_list_sums_bytes(st->list[i]);
    for (size_t i = 0; i < st->nlists; i++) {
        uint64_t room = s->sums_bytes > used ? s->sums_bytes - used : 0;
        size_t had = um_list_sums_bytes(st->list[i]);
        if (um_list_sum(st->list[i], room, SUM_BYTES))
            return true;
        used += um_list_sums_bytes(st->list[i]) - had;
    }
    return false;
}

bool um_store_times(const um_store *s, unsigned list, const umbel_digest *d,
                    uint64_t now, uint64_t *entered, uint64_t *updated)
{
    const um_state *st = &s->state;

    if (!um_list_times(st->list[list], d, now, entered, updated))
        return false;
    if (st->times[list])
        um_recent_times(st->recent, st->times[list] - 1, d, now, entered,
                        updated);
    return true;
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
    out->journal_limit = um_store_journal_limit(s);
    out->journal_most = UM_STORE_JOURNAL_MOST * out->journal_limit;
    out->ahead = um_store_time(s) - s->ticked;
    out->snapshot_running = s->phase != UM_IDLE;
    out->notes = s->state.notes.n;
    out->note_bytes = s->state.notes.bytes;
    if (s->state.recent) {
        um_recent_stats recent;
        um_recent_stats_get(s->state.recent, &recent);
        out->recent_digests = recent.digests;
        out->recent_bytes = recent.bytes;
        out->recent_pushed = recent.pushed;
    }
}

/*
 * recovery.c - rebuilds the state from a directory: reads the snapshot, replays
 * the journals.
 *
 * The newest snapshot is read, and the journals from its number on. Blocks are
 * numbered without gaps, so each file must continue where the previous one
 * ended:
 *
 *     ... 7 8 9 |    | 10 11 12 ...      complete
 *     ... 7 8 9 x    | 10 11 12 ...      incomplete end, rewritten later
 *     ... 7 x        | 10 11 12 ...      8 and 9 are lost, 10 cannot be applied
 *
 * In the last case the files after the gap are ignored if 8 was never durable,
 * as after a power failure without fdatasync. If anything proves that it was,
 * the journal is damaged and recovery refuses it.
 *
 * Replay collects the counts of a list over many blocks: a list prefetches
 * memory for a batch, and a restart should take little longer than reading the
 * files. Collected counts are applied before a new epoch, a new time or a
 * change of an observed key. The counts of one list keep their order, so that
 * the observer sees the bytes that were there when the key was set.
 */
#include "base/error.h"
#include "store/internal.h"
#include "store/journal.h"
#include "store/list.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the observer --------------------------------------------------------- */

static bool is_reset_key(const um_store_observer *o, umbel_slice key)
{
    return o->reset_key && key.len == strlen(o->reset_key) &&
           memcmp(key.data, o->reset_key, key.len) == 0;
}

bool um_observer_has_prefix(const um_store_observer *o, umbel_slice key)
{
    return o->prefix && key.len >= strlen(o->prefix) &&
           memcmp(key.data, o->prefix, strlen(o->prefix)) == 0;
}

/* Returns true if changes of the key are reported. o may be NULL. */
static bool is_observed(const um_store_observer *o, umbel_slice key)
{
    return o && o->on_value &&
           (is_reset_key(o, key) || um_observer_has_prefix(o, key));
}

/* Reports one key; a value without data means that it was removed. */
static umbel_status report_key(const um_store_observer *o, const um_state *st,
                               size_t nlists, umbel_slice key,
                               umbel_slice value, umbel_error *err)
{
    const um_list *lists[UM_STORE_MAX_LISTS];

    for (size_t i = 0; i < nlists; i++)
        lists[i] = st->list[i];
    return o->on_value(o->ctx, lists, nlists, key, value, err);
}

/* Reports all observed keys of a snapshot, the reset key first. */
static umbel_status report_all(const um_store_observer *o, const um_state *st,
                               size_t nlists, umbel_error *err)
{
    umbel_slice key, value;

    if (!o->on_value)
        return UMBEL_OK;
    if (o->reset_key) {
        key = (umbel_slice){o->reset_key, strlen(o->reset_key)};
        if (um_kv_get(&st->kv, key, &value))
            UM_TRY(report_key(o, st, nlists, key, value, err));
    }
    for (size_t at = 0; um_kv_next(&st->kv, &at, &key, &value);)
        if (um_observer_has_prefix(o, key))
            UM_TRY(report_key(o, st, nlists, key, value, err));
    return UMBEL_OK;
}

/* --- replay --------------------------------------------------------------- */

umbel_status um_replay_init(um_replay *p, um_state *st, const uint8_t *order,
                            uint32_t nlists, umbel_error *err)
{
    *p = (um_replay){.state = st, .order = order, .nlists = nlists};
    p->batch = calloc(nlists ? nlists : 1, sizeof *p->batch);
    return p->batch ? UMBEL_OK : um_no_memory(err, nlists * sizeof *p->batch);
}

void um_replay_fini(um_replay *p)
{
    free(p->batch);
    p->batch = NULL;
}

/*
 * Sets *some to how many of n digests certainly fit into the list, at least
 * one. If the list has no space left, it contains the first digest, which a
 * held list still counts; otherwise its capacity was larger when the record was
 * written, and it advances.
 */
static umbel_status reserve(um_replay *p, unsigned list, const umbel_digest *d,
                            size_t n, size_t *some, umbel_error *err)
{
    const um_list *l = p->state->list[list];

    *some = um_list_space(l);
    if (*some == 0 && !um_list_newest_contains(l, d))
        UM_TRY(um_list_advance(p->state->list[list], p->time, err));
    *some = *some == 0 ? 1 : *some < n ? *some : n;
    return UMBEL_OK;
}

static umbel_status apply_batch(um_replay *p, unsigned list, umbel_error *err)
{
    struct um_replay_batch *b = &p->batch[list];
    unsigned to = p->order[list];
    size_t n = b->n;

    b->n = 0;
    for (size_t i = 0, some; i < n; i += some) {
        UM_TRY(reserve(p, to, b->digest + i, n - i, &some, err));
        UM_TRY(um_state_count(p->state, to, b->digest + i, b->amount + i,
                              b->reporter + i, some, p->time, err));
    }
    return UMBEL_OK;
}

umbel_status um_replay_flush(um_replay *p, umbel_error *err)
{
    for (unsigned i = 0; i < p->nlists; i++)
        UM_TRY(apply_batch(p, i, err));
    return UMBEL_OK;
}

static umbel_status collect(um_replay *p, const um_record *r, uint64_t time,
                            umbel_error *err)
{
    struct um_replay_batch *b = &p->batch[r->list];

    if (p->time != time)
        UM_TRY(um_replay_flush(p, err));
    p->time = time;
    if (b->n == UM_LIST_BATCH)
        UM_TRY(apply_batch(p, r->list, err));
    b->digest[b->n] = r->digest;
    b->reporter[b->n] = r->reporter;
    b->amount[b->n++] = r->amount;
    if (p->observer && p->observer->on_count &&
        p->order[r->list] < p->configured)
        p->observer->on_count(p->observer->ctx,
                              &(um_entry){.list = p->order[r->list],
                                          .amount = r->amount,
                                          .digest = r->digest,
                                          .reporter = r->reporter});
    return UMBEL_OK;
}

/* Reports a change of a key to the observer, with the lists as they were
 * then. */
static umbel_status report_change(um_replay *p, const um_record *r,
                                  umbel_error *err)
{
    umbel_slice value = r->value;

    if (!is_observed(p->observer, r->key))
        return UMBEL_OK;
    if (r->type == UM_RECORD_REMOVE)
        value.data = NULL;
    UM_TRY(um_replay_flush(p, err));
    return report_key(p->observer, p->state, p->configured, r->key, value, err);
}

static umbel_status apply_renew(um_replay *p, const um_record *r, uint64_t time,
                                umbel_error *err)
{
    UM_TRY(um_replay_flush(p, err)); /* extra filters outlive the reset */
    UM_TRY(um_state_reset(p->state, r->key, r->value, time, err));
    return report_change(p, r, err);
}

/* Applies a mail. The list may have no space if its capacity was larger when
 * the record was written. */
static umbel_status apply_mail(um_replay *p, const um_record *r, uint64_t time,
                               umbel_error *err)
{
    unsigned list = p->order[r->list];
    um_near_write w;

    um_record_mail(r, &w);
    if (!um_list_space(p->state->list[list]) &&
        !um_list_has_space(p->state->list[list], &w))
        UM_TRY(um_list_advance(p->state->list[list], time, err));
    if (p->observer && p->observer->on_mail && list < p->configured)
        p->observer->on_mail(p->observer->ctx, list, &w);
    return um_list_write_mail(p->state->list[list], &w, err);
}

static umbel_status apply_record(um_replay *p, const um_record *r,
                                 uint64_t time, umbel_error *err)
{
    um_state *st = p->state;

    if (r->list >= p->nlists &&
        (r->type == UM_RECORD_COUNT || r->type == UM_RECORD_ADVANCE ||
         r->type == UM_RECORD_EXTEND || r->type == UM_RECORD_MAIL))
        return um_fail(err, UMBEL_E_FORMAT,
                       "a record of list %u, but there are %u lists", r->list,
                       p->nlists);
    switch (r->type) {
    case UM_RECORD_COUNT:
        return collect(p, r, time, err);
    case UM_RECORD_ADVANCE:
        UM_TRY(apply_batch(p, r->list, err));
        return um_list_advance(st->list[p->order[r->list]], time, err);
    case UM_RECORD_EXTEND:
        UM_TRY(apply_batch(p, r->list, err));
        return um_list_extend(st->list[p->order[r->list]], time, err);
    case UM_RECORD_REQUEST:
        UM_TRY(um_replay_guard_reserve(&st->guard, 1, time, err));
        um_replay_guard_add(&st->guard, r->request_id, time);
        return UMBEL_OK;
    case UM_RECORD_SET:
        UM_TRY(um_kv_set(&st->kv, r->key, r->value, err));
        return report_change(p, r, err);
    case UM_RECORD_REMOVE:
        um_kv_remove(&st->kv, r->key);
        return report_change(p, r, err);
    case UM_RECORD_RESET:
        return apply_renew(p, r, time, err);
    case UM_RECORD_MAIL:
        return apply_mail(p, r, time, err);
    }
    return UMBEL_OK;
}

umbel_status um_replay_block(um_replay *p, const uint8_t *records, size_t len,
                             uint64_t time, umbel_error *err)
{
    um_reader from = {records, records + len, false};
    um_record r;

    if (time < p->state->time)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a block older than the one before it");
    p->state->time = time;
    while (from.at < from.end) {
        if (!um_record_decode(&from, &r))
            return um_fail(err, UMBEL_E_FORMAT, "not a valid record");
        UM_TRY(apply_record(p, &r, time, err));
        p->records++;
    }
    return UMBEL_OK;
}

/* --- the snapshot --------------------------------------------------------- */

/* Appends to the message what to do about a damaged file. */
static umbel_status advise(umbel_status status, umbel_error *err)
{
    char text[160];

    if (!err || (status != UMBEL_E_FORMAT && status != UMBEL_E_CHECKSUM))
        return status;
    snprintf(text, sizeof text, "%.159s", err->text);
    return um_fail(err, status, "%s: restore the directory from a backup",
                   text);
}

static umbel_status check_secret(uint64_t made_with, const uint8_t *secret,
                                 umbel_error *err)
{
    if (made_with == um_secret_id(secret))
        return UMBEL_OK;
    return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG,
                          "made with another secret: start with that one, or "
                          "with an empty directory");
}

static umbel_status open_snapshot(const um_data_files *f, const uint8_t *secret,
                                  um_snapshot_reader *r, umbel_error *err)
{
    char name[UM_DISK_NAME];

    snprintf(name, sizeof name, "snapshot-%" PRIu64, f->snapshot);
    UM_TRY(um_snapshot_open(r, f->disk, name, err));
    if (r->head.number != f->snapshot)
        return um_fail(err, UMBEL_E_FORMAT, "its head has number %" PRIu64,
                       r->head.number);
    return check_secret(r->head.secret_id, secret, err);
}

/* Releases the reader. After a failure, adds the file's name and advice to the
 * message. */
static umbel_status close_snapshot(const um_data_files *f,
                                   um_snapshot_reader *r, umbel_status status,
                                   umbel_error *err)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/snapshot-%" PRIu64, f->dir, f->snapshot);
    um_snapshot_reader_fini(r);
    return um_name_file(advise(status, err), path, err);
}

umbel_status um_data_files_check_secret(const um_data_files *f,
                                        const uint8_t *secret, umbel_error *err)
{
    um_snapshot_reader r;

    if (!f->snapshot)
        return UMBEL_OK;
    return close_snapshot(f, &r, open_snapshot(f, secret, &r, err), err);
}

static umbel_status read_state(um_snapshot_reader *r, const um_store_config *c,
                               const uint8_t *secret, um_state *st,
                               uint8_t *order, umbel_error *err)
{
    UM_TRY(um_state_decode(st, c, secret, &r->feed, &r->head, order, err));
    st->time = r->head.time;
    return um_snapshot_check_end(r, err);
}

static umbel_status read_snapshot(const um_data_files *f,
                                  const um_store_config *c,
                                  const uint8_t *secret, um_state *st,
                                  um_snapshot_head *head, uint8_t *order,
                                  um_recovered *out, umbel_error *err)
{
    um_snapshot_reader r;
    umbel_status status = open_snapshot(f, secret, &r, err);

    if (status == UMBEL_OK)
        status = read_state(&r, c, secret, st, order, err);
    *head = r.head;
    out->snapshot_bytes = r.size;
    return close_snapshot(f, &r, status, err);
}

/* --- the journals --------------------------------------------------------- */

typedef struct journal_file {
    um_disk *disk;
    int file;
} journal_file;

static int read_journal_file(void *ctx, uint64_t at, void *out, size_t len,
                             size_t *got)
{
    const journal_file *j = ctx;
    return j->disk->ops->read(j->disk, j->file, at, out, len, got);
}

/* The state of replaying all journals in turn. */
typedef struct chain {
    um_replay replay;
    uint64_t secret_id, lists_id;
    uint64_t seq; /* of the last block */
    um_recovered *out;
} chain;

static umbel_status check_head(const chain *ch, const um_journal_head *head,
                               uint64_t number, umbel_error *err)
{
    if (head->number != number)
        return um_fail(err, UMBEL_E_FORMAT, "its head has number %" PRIu64,
                       head->number);
    if (head->secret_id != ch->secret_id || head->lists_id != ch->lists_id)
        return um_fail(err, UMBEL_E_FORMAT, "does not belong to the snapshot");
    return UMBEL_OK;
}

static umbel_status replay_blocks(chain *ch, um_journal_walk *w,
                                  umbel_error *err)
{
    um_block b;
    bool found;

    for (;;) {
        UM_TRY(um_journal_next(w, ch->seq + 1, &b, &found, err));
        if (!found)
            return UMBEL_OK;
        UM_TRY(um_replay_block(&ch->replay, b.records, b.len, b.time, err));
        ch->seq = b.seq;
    }
}

static umbel_status replay_file(chain *ch, um_journal_source source,
                                uint64_t number, uint64_t size,
                                umbel_error *err)
{
    um_journal_walk w;
    bool damaged = false;

    umbel_status status = um_journal_begin(&w, source, err);
    if (status == UMBEL_OK)
        status = check_head(ch, &w.head, number, err);
    status = advise(status, err);
    if (status == UMBEL_OK)
        status = replay_blocks(ch, &w, err);
    if (status == UMBEL_OK &&
        w.at < (w.head.durable_end > size ? w.head.durable_end : size))
        status = um_journal_is_damaged(&w, ch->seq + 1, &damaged, err);
    if (damaged)
        status =
            um_fail(err, UMBEL_E_CHECKSUM,
                    "damaged at byte %" PRIu64 ", block %" PRIu64
                    ": restore the directory from a backup, or cut the file "
                    "there and remove later journals",
                    w.at, ch->seq + 1);
    if (status == UMBEL_OK) {
        ch->out->journal_bytes += w.at;
        ch->out->torn += size > w.at ? size - w.at : 0;
    }
    um_journal_end(&w);
    return status;
}

/* Replays one file. */
static umbel_status replay_journal(chain *ch, const um_data_files *f,
                                   uint64_t number, umbel_error *err)
{
    const um_disk_ops *ops = f->disk->ops;
    char name[UM_DISK_NAME], path[PATH_MAX];
    journal_file j = {.disk = f->disk};
    uint64_t size = 0;

    snprintf(name, sizeof name, "journal-%" PRIu64, number);
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    UM_TRY(um_disk_status(ops->open(f->disk, name, UM_DISK_READ, &j.file), path,
                          err));
    umbel_status status =
        um_disk_status(ops->size(f->disk, j.file, &size), "size", err);
    if (status == UMBEL_OK)
        status = replay_file(ch, (um_journal_source){&j, read_journal_file},
                             number, size, err);
    ops->close(f->disk, j.file);
    return um_name_file(status, path, err);
}

static umbel_status replay_all(chain *ch, const um_data_files *f,
                               umbel_error *err)
{
    for (size_t i = 0; i < f->n; i++)
        UM_TRY(replay_journal(ch, f, f->journal[i], err));
    UM_TRY(um_name_file(um_replay_flush(&ch->replay, err), f->dir, err));
    return UMBEL_OK;
}

static bool is_same_order(const uint8_t *order, size_t n, size_t configured)
{
    for (size_t i = 0; i < n; i++)
        if (order[i] != i)
            return false;
    return n == configured;
}

umbel_status um_recover(const um_data_files *f, const um_store_config *c,
                        const uint8_t *secret, um_state *st, um_recovered *out,
                        umbel_error *err)
{
    uint8_t order[UM_STORE_MAX_LISTS] = {0};
    um_snapshot_head head;

    *out = (um_recovered){0};
    UM_TRY(read_snapshot(f, c, secret, st, &head, order, out, err));
    chain ch = {.secret_id = head.secret_id,
                .lists_id = um_state_lists_id(c, order, head.lists),
                .seq = head.seq,
                .out = out};
    umbel_status status =
        um_replay_init(&ch.replay, st, order, head.lists, err);
    ch.replay.observer = &c->observer;
    ch.replay.configured = c->nlists;
    if (status == UMBEL_OK)
        status = report_all(&c->observer, st, c->nlists, err);
    if (status == UMBEL_OK)
        status = replay_all(&ch, f, err);
    um_replay_fini(&ch.replay);
    out->seq = ch.seq;
    out->time = head.time;
    out->records = ch.replay.records;
    out->rewrite = !is_same_order(order, head.lists, c->nlists);
    return status;
}

/*
 * replay.c - blocks of the journal, applied to the state.
 *
 * The counts of a list are collected over many blocks: a list fetches memory
 * ahead for a batch, and a restart is to take little longer than reading the
 * files. A turn, another time and a watched note apply what was collected
 * before. The counts of one list keep their order, so that a watched note sees
 * the bytes that were there when it was written.
 */
#include "base/error.h"
#include "store/state.h"

#include <stdlib.h>

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
 * Gives how many of n digests the list takes for sure, at least one. When it is
 * quite full it has the first one, which a held list still counts, or else its
 * capacity was larger when this was written.
 */
static umbel_status reserve(um_replay *p, unsigned place, const umbel_digest *d,
                            size_t n, size_t *some, umbel_error *err)
{
    const um_list *l = p->state->list[place];

    *some = um_list_room(l);
    if (*some == 0 && !um_list_newest_has(l, d))
        UM_TRY(um_state_turn(p->state, place, p->time, err));
    *some = *some == 0 ? 1 : *some < n ? *some : n;
    return UMBEL_OK;
}

static umbel_status count_batch(um_replay *p, unsigned place,
                                const struct um_replay_batch *b, size_t n,
                                umbel_error *err)
{
    for (size_t i = 0, some; i < n; i += some) {
        UM_TRY(reserve(p, place, b->digest + i, n - i, &some, err));
        UM_TRY(um_state_count(p->state, place, b->digest + i, b->amount + i,
                              some, p->time, err));
    }
    return UMBEL_OK;
}

static umbel_status apply_batch(um_replay *p, unsigned list, umbel_error *err)
{
    struct um_replay_batch *b = &p->batch[list];
    size_t n = b->n;

    b->n = 0;
    unsigned place = p->order[list];

    if (n == 0)
        return UMBEL_OK;
    return count_batch(p, place, b, n, err);
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
    b->amount[b->n++] = r->amount;
    if (p->watch && p->watch->counted && p->order[r->list] < p->configured)
        p->watch->counted(p->watch->ctx, &(um_entry){.list = p->order[r->list],
                                                     .amount = r->amount,
                                                     .digest = r->digest});
    return UMBEL_OK;
}

/* Shows a note with the lists of that moment. */
static umbel_status show_note(um_replay *p, const um_record *r,
                              umbel_error *err)
{
    umbel_slice value = r->value;

    if (!um_watch_wants(p->watch, r->name))
        return UMBEL_OK;
    if (r->type == UM_RECORD_DROP)
        value.data = NULL;
    UM_TRY(um_replay_flush(p, err));
    return um_watch_show(p->watch, p->state, p->configured, r->name, value,
                         err);
}

static umbel_status apply_renew(um_replay *p, const um_record *r, uint64_t time,
                                umbel_error *err)
{
    for (unsigned i = 0; i < p->nlists; i++)
        p->batch[i].n = 0;
    UM_TRY(um_state_renew(p->state, r->name, r->value, time, err));
    return show_note(p, r, err);
}

/* A list whose capacity was larger when this was written may have no room. */
static umbel_status write_mail(um_replay *p, const um_record *r, uint64_t time,
                               umbel_error *err)
{
    unsigned place = p->order[r->list];
    um_near_write w;

    um_record_mail(r, &w);
    if (!um_list_room(p->state->list[place]) &&
        !um_list_has_room(p->state->list[place], &w))
        UM_TRY(um_state_turn(p->state, place, time, err));
    if (p->watch && p->watch->written && place < p->configured)
        p->watch->written(p->watch->ctx, place, &w);
    return um_list_write(p->state->list[place], &w, err);
}

static umbel_status apply_record(um_replay *p, const um_record *r,
                                 uint64_t time, umbel_error *err)
{
    um_state *st = p->state;

    if (r->list >= p->nlists &&
        (r->type == UM_RECORD_COUNT || r->type == UM_RECORD_TURN ||
         r->type == UM_RECORD_MAIL))
        return um_fail(err, UMBEL_E_FORMAT, "a record of list %u of %u",
                       r->list, p->nlists);
    switch (r->type) {
    case UM_RECORD_COUNT:
        return collect(p, r, time, err);
    case UM_RECORD_TURN:
        UM_TRY(apply_batch(p, r->list, err));
        return um_state_turn(st, p->order[r->list], time, err);
    case UM_RECORD_ONCE:
        UM_TRY(um_once_reserve(&st->once, 1, time, err));
        um_once_append(&st->once, r->once, time);
        return UMBEL_OK;
    case UM_RECORD_NOTE:
        UM_TRY(um_notes_append(&st->notes, r->name, r->value, err));
        return show_note(p, r, err);
    case UM_RECORD_DROP:
        um_notes_drop(&st->notes, r->name);
        return show_note(p, r, err);
    case UM_RECORD_RENEW:
        return apply_renew(p, r, time, err);
    case UM_RECORD_MAIL:
        return write_mail(p, r, time, err);
    }
    return UMBEL_OK;
}

umbel_status um_replay_block(um_replay *p, const uint8_t *records, size_t len,
                             uint64_t time, umbel_error *err)
{
    um_reader from = {records, records + len, false};
    um_record r;

    if (time < p->state->time)
        return um_fail(err, UMBEL_E_FORMAT, "a block before its time");
    p->state->time = time;
    while (from.at < from.end) {
        if (!um_record_decode(&from, &r))
            return um_fail(err, UMBEL_E_FORMAT, "a record that is none");
        UM_TRY(apply_record(p, &r, time, err));
        p->records++;
    }
    return UMBEL_OK;
}

/*
 * sync_work.c - updates that take several calls.
 *
 * An update has up to some hundred pages, each of which is compared, coded and
 * hashed: milliseconds, in which a server answers nobody. With slice_pages a
 * call does that many pages, and the next one goes on. Nothing that is not
 * complete can be seen: pages that came are staged, and a message that is made
 * is not given out. So others may count meanwhile, publish, expire or drop; if
 * the copy is not what it was afterwards, the work is given up, and the update
 * comes again.
 *
 * There is one piece of work at a time, since there is one coder.
 */
#include "sync/internal.h"

/* A message that is given up begins anew, some other time. */
static void abandon_making(umbel_sync *s)
{
    um_sync_work *w = &s->work;
    um_peer *p = &s->peer[w->peer];

    w->kind = UM_WORK_NONE;
    if (w->slot < p->ncopies)
        p->copy[w->slot].part = p->copy[w->slot].page = p->copy[w->slot].sent =
            0;
}

/* --- taking --------------------------------------------------------------- */

static bool has_changed(const umbel_sync *s, const um_sync_work *w)
{
    const um_sync_id *id = &w->head.id;
    const um_copy *c = um_copy_find(s, id, NULL);

    return (c ? c->now.version : 0) != w->have ||
           s->rules->is_expired(id->epoch, s->list[id->list].oldest) ||
           um_standing_of(s, id->origin) == UM_DROPPED ||
           um_is_contradicted(s, id->origin, id->incarnation);
}

static umbel_status apply_more(umbel_sync *s, uint64_t pages, umbel_error *err)
{
    um_sync_work *w = &s->work;
    um_staging *g = &s->peer[w->peer].staging;
    umbel_sync_reason reason = UMBEL_SYNC_MEMORY;
    umbel_error why;
    bool more;

    if (has_changed(s, w)) {
        w->kind = UM_WORK_NONE;
        um_staging_fini(s, g);
        um_answer_update(s, w->peer, &w->head, false, UMBEL_OK);
        return UMBEL_OK;
    }
    umbel_status status =
        um_update_get_more(s, g, &w->in, pages, &more, &reason, &why);
    if (!status && more)
        return UMBEL_OK;
    w->kind = UM_WORK_NONE;
    status = um_end_part(s, w->peer, &w->head, reason, status, &why, err);
    um_answer_update(s, w->peer, &w->head, true, status);
    return status;
}

umbel_status um_work_begin_apply(umbel_sync *s, int peer,
                                 const um_update_head *h, uint64_t have,
                                 const um_reader *r, umbel_error *err)
{
    um_sync_work *w = &s->work;

    if (w->kind == UM_WORK_MADE)
        abandon_making(s);
    w->kind = UM_WORK_TAKE;
    w->peer = peer;
    w->head = *h;
    w->have = have;
    um_update_get(s, &s->peer[peer].staging, &w->in, *r);
    return apply_more(s, um_slice_pages(s), err);
}

/* --- making --------------------------------------------------------------- */

/* The copy has gone, or does not reach back as far any more. */
static bool is_gone(const umbel_sync *s, const um_sync_work *w)
{
    const um_peer *p = &s->peer[w->peer];
    const um_copy *c = um_copy_find(s, &w->out.id, NULL);

    return !c || s->copy[w->slot] != c || w->slot >= p->ncopies ||
           !um_copy_statement(c, w->out.base) ||
           !um_copy_statement(c, w->out.version);
}

static void end_making(umbel_sync *s)
{
    um_sync_work *w = &s->work;
    um_peer_copy *pc = &s->peer[w->peer].copy[w->slot];
    uint8_t last = pc->page == s->list[w->out.id.list].pages.n;

    s->out.at[w->last_at] = last;
    pc->part = last ? 0 : pc->part + 1;
    pc->retry = s->now + s->limit.retry_seconds;
    w->kind = UM_WORK_MADE;
}

static bool create_more(umbel_sync *s, uint64_t pages)
{
    um_sync_work *w = &s->work;
    um_peer *p = &s->peer[w->peer];
    bool more, fine = !is_gone(s, w);

    if (fine)
        fine = um_update_append_more(s, &w->out, &p->copy[w->slot].page, pages,
                                     &p->stats.changed_out, &more,
                                     NULL) == UMBEL_OK;
    if (!fine)
        abandon_making(s);
    else if (!more)
        end_making(s);
    return fine;
}

bool um_work_begin_create(umbel_sync *s, int peer, size_t slot, size_t last_at,
                          size_t room)
{
    um_sync_work *w = &s->work;
    um_peer *p = &s->peer[peer];
    um_peer_copy *pc = &p->copy[slot];
    bool more;

    w->kind = UM_WORK_MAKE;
    w->peer = peer;
    w->slot = slot;
    w->last_at = last_at;
    w->out = (um_update_writer){
        .id = s->copy[slot]->id, .base = pc->from, .version = pc->sent};
    if (um_update_append(s, &w->out, &pc->page, room, &p->stats.changed_out,
                         &more, NULL)) {
        abandon_making(s);
        return false;
    }
    if (more)
        return create_more(s, um_slice_pages(s));
    end_making(s);
    return true;
}

/* --- both ----------------------------------------------------------------- */

bool umbel_sync_busy(const umbel_sync *s)
{
    return s->work.kind == UM_WORK_TAKE || s->work.kind == UM_WORK_MAKE;
}

static void work_on(umbel_sync *s, uint64_t pages)
{
    if (s->work.kind == UM_WORK_TAKE)
        apply_more(s, pages, NULL);
    else if (s->work.kind == UM_WORK_MAKE)
        create_more(s, pages);
}

bool umbel_sync_work(umbel_sync *s)
{
    work_on(s, um_slice_pages(s));
    return umbel_sync_busy(s);
}

void um_work_finish(umbel_sync *s)
{
    work_on(s, UINT64_MAX);
}

void um_work_yield(umbel_sync *s, int peer)
{
    um_work_finish(s);
    if (s->work.kind == UM_WORK_MADE && s->work.peer != peer)
        abandon_making(s);
}

void um_work_cancel(umbel_sync *s, int peer)
{
    if (s->work.peer == peer)
        s->work.kind = UM_WORK_NONE;
}

/*
 * sync_version.c - UPDATE: a version that a peer lacks, in one or more parts.
 *
 * Both ways begin here, and go on in sync_work.c.
 */
#include "base/error.h"
#include "sync/internal.h"

enum {
    MARGIN = 512,        /* of a message, for what stands before the pages */
    JUDGED_SECONDS = 60, /* between two admissions, after a refusal */
    UPDATE_BYTES =
        8 << 20,       /* of pages, that one step of versions changes ... */
    UPDATE_SLICES = 16 /* ... or so many slices of them, since they are taken at
                          once */
};

/* --- sending -------------------------------------------------------------- */

static uint64_t update_pages(const umbel_sync *s, const um_copy *c)
{
    return s->limit.slice_pages
               ? (uint64_t)UPDATE_SLICES * s->limit.slice_pages
               : UPDATE_BYTES / s->list[c->id.list].pages.max_page;
}

/* What is to be sent of a copy: from where, and which version. */
static bool plan_update(const umbel_sync *s, const um_copy *c, um_peer_copy *pc)
{
    bool going_on = pc->part && um_copy_statement(c, pc->sent);

    if (going_on)
        return true;
    pc->part = pc->page = 0;
    if (!c->now.version || c->now.version <= pc->acked ||
        c->now.version <= pc->refused || (pc->sent && s->now < pc->retry))
        return false;
    pc->from = pc->acked;
    pc->sent = um_copy_reach(c, pc->acked, update_pages(s, c));
    return true;
}

/* Begins the message: all that stands before the pages. */
static bool write_update_of(umbel_sync *s, um_peer *p, size_t slot)
{
    const um_copy *c = s->copy[slot];
    um_peer_copy *pc = &p->copy[slot];
    const um_statement *st = um_copy_statement(c, pc->sent),
                       *base = um_copy_statement(c, pc->from);
    uint8_t none[UM_ROOT_WORD] = {0}, last = 0;
    um_bytes *b = &s->out;

    um_message_begin(b, UM_MSG_UPDATE);
    um_bytes_u64(b, p->own_session);
    um_write_id(b, s, &c->id);
    um_bytes_varint(b, pc->from);
    um_bytes_append(b, base && pc->from ? base->root : none, UM_ROOT_WORD);
    um_bytes_varint(b, st->version);
    um_bytes_varint(b, st->keys);
    um_bytes_varint(b, pc->part);
    size_t last_at = b->len;
    um_bytes_append(b, &last, 1);
    um_bytes_append(b, st->signature, UM_SIGNATURE_LEN);
    return um_work_begin_create(s, (int)(p - s->peer), slot, last_at,
                                s->limit.message_bytes - MARGIN);
}

bool um_send_update(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->ncopies && i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        if (c && !p->copy[i].disputed && um_peer_has_list(p, c) &&
            um_peer_wants(p, c->id.origin) && plan_update(s, c, &p->copy[i]) &&
            write_update_of(s, p, i))
            return true;
    }
    return false;
}

/* --- taking --------------------------------------------------------------- */

static umbel_status check_epoch(umbel_sync *s, int peer, const um_sync_id *id,
                                umbel_error *err)
{
    const um_sync_of_list *l = &s->list[id->list];
    uint64_t seconds = l->set.epoch_seconds;

    if (s->rules->is_expired(id->epoch, l->oldest))
        return um_sync_refuse(s, peer, UMBEL_SYNC_EPOCH, id, UMBEL_E_REFUSED,
                              "an epoch that is over", err);
    if (seconds ? id->epoch > (s->now + s->limit.clock_skew) / seconds
                : id->epoch > 0)
        return um_sync_refuse(s, peer, UMBEL_SYNC_EPOCH, id, UMBEL_E_REFUSED,
                              "an epoch that has not begun: a clock is wrong",
                              err);
    return UMBEL_OK;
}

static umbel_status get_update_head(umbel_sync *s, int peer, um_reader *r,
                                    um_update_head *h, umbel_error *err)
{
    umbel_error why;

    h->session = um_get_u64(r);
    umbel_status status = um_get_id(r, s, &h->id, &why);
    h->base = um_get_varint(r);
    um_get_bytes(r, h->word, sizeof h->word);
    h->version = um_get_varint(r);
    h->keys = um_get_varint(r);
    h->part = um_get_varint(r);
    um_get_bytes(r, &h->last, 1);
    um_get_bytes(r, h->signature, sizeof h->signature);
    if (r->bad || status == UMBEL_E_FORMAT || h->last > 1)
        return um_fail(err, UMBEL_E_FORMAT, "an update is cut short");
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LIST, NULL, status, why.text,
                              err);
    UM_TRY(um_check_origin(s, peer, &h->id, err));
    UM_TRY(check_epoch(s, peer, &h->id, err));
    if (h->version == 0 || h->version == UINT64_MAX)
        return um_sync_refuse(s, peer, UMBEL_SYNC_VERSION, &h->id,
                              UMBEL_E_REFUSED, "a version out of range", err);
    return UMBEL_OK;
}

static bool goes_on(const um_staging *g, const um_update_head *h, uint64_t have)
{
    return g->active && um_same_id(&g->id, &h->id) && g->have == have &&
           g->base == h->base && g->version == h->version &&
           g->keys == h->keys && g->next_part == h->part;
}

static umbel_status begin_staging(umbel_sync *s, um_staging *g,
                                  const um_update_head *h, uint64_t have,
                                  umbel_error *err)
{
    um_staging_fini(s, g);
    *g = (um_staging){.active = true,
                      .id = h->id,
                      .base = h->base,
                      .version = h->version,
                      .keys = h->keys};
    memcpy(g->signature, h->signature, sizeof g->signature);
    return um_staging_begin(s, g, have, err);
}

/* Begins to stage a part; *begun: its pages are to be read. */
static umbel_status begin_part(umbel_sync *s, int peer, const um_update_head *h,
                               uint64_t have, bool *begun, umbel_error *err)
{
    um_staging *g = &s->peer[peer].staging;
    umbel_error why;

    *begun = true;
    if (h->part) {
        *begun = goes_on(g, h, have); /* or one was lost: it comes again */
        return UMBEL_OK;
    }
    umbel_status status = begin_staging(s, g, h, have, &why);
    if (!status)
        return UMBEL_OK;
    um_staging_fini(s, g);
    return um_sync_refuse(s, peer, UMBEL_SYNC_MEMORY, &h->id, status, why.text,
                          err);
}

umbel_status um_end_part(umbel_sync *s, int peer, const um_update_head *h,
                         umbel_sync_reason reason, umbel_status status,
                         const umbel_error *why, umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    um_staging *g = &p->staging;

    if (status)
        status =
            um_sync_refuse(s, peer, reason, &h->id, status, why->text, err);
    g->next_part++;
    if (!status && h->last) {
        status = um_copy_apply(s, peer, g, err);
        if (!status)
            p->stats.changed_in += g->changed;
    }
    if (status || h->last)
        um_staging_fini(s, g);
    return status;
}

/* The peer has the version that we have; or another one of that number. */
static void note_sent_version(const um_copy *c, um_peer_copy *pc,
                              const um_update_head *h)
{
    if (memcmp(c->now.signature, h->signature, UM_SIGNATURE_LEN) != 0)
        um_peer_prove(pc, h->version);
    else if (pc->acked < h->version)
        pc->acked = h->version;
}

void um_answer_update(umbel_sync *s, int peer, const um_update_head *h,
                      bool wanted, umbel_status status)
{
    um_peer *p = &s->peer[peer];
    size_t slot;
    const um_copy *c = um_copy_find(s, &h->id, &slot);

    if (!c || !um_peer_retain_up(s, p))
        return;
    p->copy[slot].tell |= !wanted || h->last || status;
    if (!status && h->last && c->now.version == h->version &&
        s->rules->same_session(p->session, h->session))
        note_sent_version(c, &p->copy[slot], h);
}

/* Returns true if the update begins where the copy is, and leads on. */
static bool is_wanted(umbel_sync *s, um_peer *p, const um_update_head *h,
                      const um_copy *c, size_t slot)
{
    uint64_t have = c ? c->now.version : 0;

    if (!s->rules->is_newer(have, h->version) ||
        !s->rules->fits_base(have, h->base))
        return false;
    if (!c || !h->base || um_all_zero(h->word, UM_ROOT_WORD) ||
        memcmp(c->now.root, h->word, UM_ROOT_WORD) == 0)
        return true;
    if (um_peer_retain_up(s, p) && !c->own)
        um_peer_prove(&p->copy[slot], have);
    return false;
}

umbel_status um_get_update_message(umbel_sync *s, int peer, um_reader *r,
                                   umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    umbel_status status = UMBEL_OK;
    um_update_head h;
    size_t slot = 0;
    bool begun;

    UM_TRY(get_update_head(s, peer, r, &h, err));
    const um_copy *c = um_copy_find(s, &h.id, &slot);
    uint64_t have = c ? c->now.version : 0;
    bool wanted = is_wanted(s, p, &h, c, slot);
    /* Admission looks at all cells: an origin that is refused cannot ask for it
     * with each message. */
    if (wanted && c && c->judged && s->now < c->judged + JUDGED_SECONDS)
        return um_sync_refuse(s, peer, UMBEL_SYNC_ADMISSION, &h.id,
                              UMBEL_E_REFUSED,
                              "it was refused less than a minute ago", err);
    if (wanted) {
        status = begin_part(s, peer, &h, have, &begun, err);
        if (!status && begun)
            return um_work_begin_apply(s, peer, &h, have, r, err);
    }
    um_answer_update(s, peer, &h, wanted, status);
    return status;
}

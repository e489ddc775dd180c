/*
 * sync_proof.c - STATEMENT and CONTRADICTION: what an origin signed, and that
 * it signed two things.
 */
#include "base/error.h"
#include "sync/internal.h"

bool um_send_statement(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->ncopies && i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        const um_statement *st;
        um_peer_copy *pc = &p->copy[i];
        if (!c || !(pc->prove || (pc->again && s->now >= pc->again)))
            continue;
        pc->prove = false;
        pc->again = s->now + s->limit.retry_seconds;
        st = um_copy_statement(c, pc->proof);
        if (!st || !st->version) {
            pc->again = 0;
            continue;
        }
        um_message_begin(&s->out, UM_MSG_STATEMENT);
        um_write_id(&s->out, s, &c->id);
        um_write_statement(&s->out, st);
        return true;
    }
    return false;
}

umbel_status um_get_statement_message(umbel_sync *s, int peer, um_reader *r,
                                      umbel_error *err)
{
    um_sync_id id;
    um_statement st;
    umbel_error why;
    umbel_status status = um_get_id(r, s, &id, &why);

    um_get_statement(r, &st);
    if (r->bad || status == UMBEL_E_FORMAT)
        return um_fail(err, UMBEL_E_FORMAT, "a statement is cut short");
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LIST, NULL, status, why.text,
                              err);
    const um_copy *c = um_copy_find(s, &id, NULL);
    const um_statement *ours = c ? um_copy_statement(c, st.version) : NULL;
    if (!ours || memcmp(ours->root, st.root, UM_HASH_LEN) == 0)
        return UMBEL_OK;
    if (!um_statement_holds(s, &id, &st))
        return um_sync_refuse(s, peer, UMBEL_SYNC_ROOT, &id, UMBEL_E_REFUSED,
                              "a statement is not signed by its origin", err);
    if (c->own) { /* nobody has ours yet: we were restored from a backup */
        um_sync_rescue(s, false);
        um_sync_renew(s, peer);
        return UMBEL_OK;
    }
    um_statement mine = *ours;
    return um_contradiction_add(s, &id, &mine, &st, peer, err);
}

bool um_send_contradiction(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->nproved && i < s->ncontradictions; i++) {
        const um_contradiction *c = &s->contradiction[i];
        if (p->proved[i] == UM_HAS_IT || s->now + 1 < p->proved[i])
            continue;
        p->proved[i] = s->now + 1 + s->limit.retry_seconds;
        um_message_begin(&s->out, UM_MSG_CONTRADICTION);
        um_write_id(&s->out, s, &c->id);
        um_write_statement(&s->out, &c->one);
        um_write_statement(&s->out, &c->other);
        return true;
    }
    return false;
}

umbel_status um_get_contradiction_message(umbel_sync *s, int peer, um_reader *r,
                                          umbel_error *err)
{
    um_sync_id id;
    um_statement one, other;
    umbel_error why;
    umbel_status status = um_get_id(r, s, &id, &why);

    um_get_statement(r, &one);
    um_get_statement(r, &other);
    if (r->bad || status == UMBEL_E_FORMAT)
        return um_fail(err, UMBEL_E_FORMAT, "a contradiction is cut short");
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LIST, NULL, status, why.text,
                              err);
    s->peer[peer].tell_rules = true;
    if (um_is_contradicted(s, id.origin, id.incarnation))
        return UMBEL_OK;
    if (one.version != other.version ||
        memcmp(one.root, other.root, UM_HASH_LEN) == 0 ||
        !um_statement_holds(s, &id, &one) ||
        !um_statement_holds(s, &id, &other))
        return um_sync_refuse(s, peer, UMBEL_SYNC_ROOT, &id, UMBEL_E_REFUSED,
                              "a contradiction that is none", err);
    return um_contradiction_add(s, &id, &one, &other, peer, err);
}

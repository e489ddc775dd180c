/*
 * sync_entries.c - LOG: entries of logs that a peer lacks.
 */
#include "base/error.h"
#include "sync/internal.h"

#include <stdlib.h>

static size_t write_entries(const um_sync_log *log, uint64_t from, size_t room,
                            um_bytes *b)
{
    size_t n = 0;

    for (uint64_t i = from; i < log->n && (!n || b->len < room); i++, n++) {
        const um_log_entry *e = &log->entry[i];
        um_bytes_append(b, &e->type, 1);
        um_bytes_varint(b, e->len);
        um_bytes_append(b, e->body, e->len);
        um_bytes_append(b, e->signature, sizeof e->signature);
    }
    return n;
}

bool um_send_log(umbel_sync *s, um_peer *p)
{
    um_bytes part = {.len = 0};

    for (size_t i = 0; i < p->nlogs && i < s->nlogs; i++) {
        const um_sync_log *log = &s->log[i];
        uint64_t from = p->log[i].acked;
        if (from >= log->n || !um_peer_wants(p, log->origin) ||
            (p->log[i].sent && s->now < p->log[i].retry))
            continue;
        size_t n = write_entries(log, from, s->limit.message_bytes / 4, &part);
        um_message_begin(&s->out, UM_MSG_LOG);
        um_bytes_u64(&s->out, p->own_session);
        um_bytes_append(&s->out, log->origin, UMBEL_ORIGIN_LEN);
        um_bytes_u64(&s->out, log->incarnation);
        um_bytes_varint(&s->out, from + 1);
        um_bytes_varint(&s->out, n);
        um_bytes_append(&s->out, part.at, part.len);
        p->log[i].sent = from + n;
        p->log[i].retry = s->now + s->limit.retry_seconds;
        s->out.failed |= part.failed;
        um_bytes_fini(&part);
        return true;
    }
    return false;
}

umbel_status um_get_log_message(umbel_sync *s, int peer, um_reader *r,
                                umbel_error *err)
{
    um_sync_id id = {.list = 0};
    umbel_status status = UMBEL_OK;
    umbel_error why;
    bool same = true;

    uint64_t session = um_get_u64(r);
    um_get_bytes(r, id.origin, sizeof id.origin);
    id.incarnation = um_get_u64(r);
    uint64_t seq = um_get_varint(r), n = um_get_varint(r);
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a log is cut short");
    UM_TRY(um_check_standing(s, peer, &id, err));
    for (uint64_t i = 0; i < n && !status; i++) {
        um_log_entry e;
        um_get_bytes(r, &e.type, 1);
        uint64_t len = um_get_varint(r);
        if (r->bad || len > (uint64_t)(r->end - r->at))
            return um_fail(err, UMBEL_E_FORMAT, "a log is cut short");
        uint8_t *body = malloc((size_t)len + 1);
        if (!body)
            return um_no_memory(err, len);
        um_get_bytes(r, body, (size_t)len);
        um_get_bytes(r, e.signature, sizeof e.signature);
        e.body = body;
        e.len = (uint32_t)len;
        e.taken_back = false;
        status = um_fail(&why, UMBEL_E_FORMAT, "a log is cut short");
        if (!r->bad)
            status = um_log_apply(s, peer, id.origin, id.incarnation, seq + i,
                                  &e, &why);
        free(body);
        same = same && !status &&
               um_log_has(um_log_find(s, id.origin, id.incarnation, false),
                          seq + i, &e);
    }
    um_peer *p = &s->peer[peer];
    const um_sync_log *log = um_log_find(s, id.origin, id.incarnation, false);
    if (log && um_peer_retain_up(s, p)) {
        size_t i = (size_t)(log - s->log);
        p->log[i].tell = true;
        if (!status && !same) /* ours stay: it should have them */
            p->log[i].acked = p->log[i].sent = 0;
        else if (!status && s->rules->same_session(p->session, session) &&
                 seq + n - 1 > p->log[i].acked)
            p->log[i].acked = seq + n - 1 < log->n ? seq + n - 1 : log->n;
    }
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LOG, &id, status, why.text,
                              err);
    return UMBEL_OK;
}

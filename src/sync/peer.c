/*
 * sync_peer.c - what to send to a peer, and what came from it.
 *
 * Per peer there is a version for each copy: what the peer has, as it said.
 * Whatever it lacks is sent, as a difference from that. Nothing is queued: the
 * next message is made when it can be sent. What is not answered within
 * retry_seconds is sent again.
 *
 * Each side has another session with each connection. What the other had before
 * is forgotten, and messages of an old session are ignored.
 */
#include "base/error.h"
#include "base/rng.h"
#include "sync/internal.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* What a peer keeps is taken for lost. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum { MINUTE = 60 };

/* --- peers ---------------------------------------------------------------- */

static uint64_t next_session(umbel_sync *s)
{
    uint64_t n = s->connections++;

    return n ? um_mix(um_mix(s->set.session) + n) | 1 : s->set.session;
}

umbel_status umbel_sync_connect(umbel_sync *s, int *peer, umbel_error *err)
{
    size_t i = 0;

    while (i < s->npeers && s->peer[i].used)
        i++;
    if (i >= s->limit.peers)
        return um_fail(err, UMBEL_E_LIMIT,
                       "there are %u peers already: raise the limit peers",
                       s->limit.peers);
    if (i == s->npeers) {
        um_peer *all = um_grow_array(s->peer, &s->npeers, sizeof *all);
        if (!all)
            return um_no_memory(err, sizeof *all);
        s->peer = all;
    }
    s->peer[i] = (um_peer){.used = true, .greet = true};
    s->peer[i].own_session = next_session(s);
    *peer = (int)i;
    return UMBEL_OK;
}

void um_peer_forget(umbel_sync *s, um_peer *p)
{
    um_work_cancel(s, (int)(p - s->peer));
    um_staging_fini(s, &p->staging);
    free(p->copy);
    free(p->log);
    free(p->proved);
    free(p->unwanted);
    p->copy = NULL;
    p->log = NULL;
    p->proved = NULL;
    p->unwanted = NULL;
    p->ncopies = p->nlogs = p->nproved = p->nunwanted = 0;
    p->known = p->done = p->said_done = false;
}

void um_peers_restart(umbel_sync *s)
{
    for (size_t i = 0; i < s->npeers; i++) {
        um_peer *p = &s->peer[i];
        if (!p->used)
            continue;
        um_peer_forget(s, p);
        p->own_session = next_session(s);
        p->session = 0; /* so that it greets us at once */
        p->greet = true;
    }
}

void umbel_sync_disconnect(umbel_sync *s, int peer)
{
    um_peer *p = &s->peer[peer];

    if (!p->used)
        return;
    um_peer_forget(s, p);
    *p = (um_peer){.used = false};
}

static void *extend(void *array, size_t *have, size_t want, size_t size)
{
    if (*have >= want)
        return array;
    void *all = realloc(array, want * size);
    if (!all)
        return NULL;
    memset((uint8_t *)all + *have * size, 0, (want - *have) * size);
    *have = want;
    return all;
}

/* As many places as there are things to talk about. */
bool um_peer_retain_up(const umbel_sync *s, um_peer *p)
{
    void *copy = extend(p->copy, &p->ncopies, s->ncopies, sizeof *p->copy);
    if (copy || !s->ncopies)
        p->copy = copy;
    void *log = extend(p->log, &p->nlogs, s->nlogs, sizeof *p->log);
    if (log || !s->nlogs)
        p->log = log;
    void *proved =
        extend(p->proved, &p->nproved, s->ncontradictions, sizeof *p->proved);
    if (proved || !s->ncontradictions)
        p->proved = proved;
    return p->ncopies >= s->ncopies && p->nlogs >= s->nlogs &&
           p->nproved >= s->ncontradictions;
}

/* When the version after that one came, or one that is not much younger. */
static uint64_t replaced_at(const um_copy *c, uint64_t version)
{
    uint64_t since = c->seen;

    for (size_t i = c->nsteps; i && c->step[i - 1].from.version >= version; i--)
        if (c->step[i - 1].ended)
            since = c->step[i - 1].ended;
    return since;
}

void umbel_sync_peer_stats_get(const umbel_sync *s, int peer,
                               umbel_sync_peer_stats *out)
{
    const um_peer *p = &s->peer[peer];

    *out = p->stats;
    out->known = p->known;
    out->ahead = false;
    out->behind = out->lacks_since = 0;
    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        uint64_t acked = i < p->ncopies ? p->copy[i].acked : 0;
        out->ahead |= c && c->own && acked > c->now.version;
        if (!c || c->now.version <= acked ||
            (p->session && !um_peer_has_list(p, c)))
            continue;
        uint64_t since = replaced_at(c, acked);
        out->behind++;
        if (!out->lacks_since || since < out->lacks_since)
            out->lacks_since = since;
    }
}

bool um_peer_wants(const um_peer *p, const uint8_t *origin)
{
    for (size_t i = 0; i < p->nunwanted; i++)
        if (memcmp(p->unwanted[i], origin, UMBEL_ORIGIN_LEN) == 0)
            return false;
    return true;
}

void um_peer_prove(um_peer_copy *pc, uint64_t version)
{
    pc->prove = true;
    pc->proof = version;
}

/* --- refusing ------------------------------------------------------------- */

umbel_status um_sync_refuse(umbel_sync *s, int peer, umbel_sync_reason reason,
                            const um_sync_id *id, umbel_status status,
                            const char *text, umbel_error *err)
{
    char copy[sizeof err->text];
    um_peer *p = peer >= 0 ? &s->peer[peer] : NULL;

    snprintf(copy, sizeof copy, "%s", text);
    um_set_error(err, status, "%s", copy);
    if (p) {
        p->stats.refused[reason]++;
        if (p->logged[reason] && s->now < p->logged[reason] + MINUTE)
            return status;
        p->logged[reason] = s->now + !s->now;
    }
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_REFUSED,
                                        .peer = peer,
                                        .origin = id ? id->origin : NULL,
                                        .incarnation = id ? id->incarnation : 0,
                                        .epoch = id ? id->epoch : 0,
                                        .list = id ? (int)id->list : -1,
                                        .reason = reason,
                                        .text = copy});
    return status;
}

/* What an incarnation said in its log stays when its filters are out. */
umbel_status um_check_standing(umbel_sync *s, int peer, const um_sync_id *id,
                               umbel_error *err)
{
    if (um_standing_of(s, id->origin) == UM_DROPPED) {
        s->peer[peer].tell_rules = true;
        return um_sync_refuse(s, peer, UMBEL_SYNC_ORIGIN, id, UMBEL_E_REFUSED,
                              "an origin that was dropped, or is not allowed",
                              err);
    }
    return UMBEL_OK;
}

umbel_status um_check_origin(umbel_sync *s, int peer, const um_sync_id *id,
                             umbel_error *err)
{
    UM_TRY(um_check_standing(s, peer, id, err));
    if (um_is_contradicted(s, id->origin, id->incarnation)) {
        s->peer[peer].tell_rules = true;
        return um_sync_refuse(s, peer, UMBEL_SYNC_INCARNATION, id,
                              UMBEL_E_REFUSED,
                              "an incarnation that contradicted itself", err);
    }
    return UMBEL_OK;
}

/* --- the two verbs -------------------------------------------------------- */

static um_get_message *const getters[] = {
    [UM_MSG_HELLO] = um_get_hello_message,
    [UM_MSG_HAVE] = um_get_have_message,
    [UM_MSG_UPDATE] = um_get_update_message,
    [UM_MSG_STATEMENT] = um_get_statement_message,
    [UM_MSG_CONTRADICTION] = um_get_contradiction_message,
    [UM_MSG_LOG] = um_get_log_message};

umbel_status umbel_sync_receive(umbel_sync *s, int peer, const void *message,
                                size_t len, uint64_t now, umbel_error *err)
{
    um_message_type type;
    umbel_error why;
    um_reader r;
    um_peer *p = &s->peer[peer];

    um_work_finish(s);
    umbel_sync_tick(s, now);
    p->idle = false;
    p->stats.messages_in++;
    p->stats.bytes_in += len;
    if (s->limit.slice_pages) { /* it is read after this call, too */
        um_bytes_reset(&s->work.message);
        um_bytes_append(&s->work.message, message, len);
        if (s->work.message.failed)
            return um_no_memory(err, len);
        message = s->work.message.at;
    }
    umbel_status status = um_message_open(s, message, len, &type, &r, &why);
    if (!status) {
        uint64_t refused = 0, after = 0;
        for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
            refused += p->stats.refused[i];
        status = getters[type](s, peer, &r, &why);
        for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
            after += p->stats.refused[i];
        if (status && after != refused) { /* it has been counted */
            um_set_error(err, status, "%s", why.text);
            return status;
        }
    }
    if (status)
        return um_sync_refuse(s, peer,
                              status == UMBEL_E_CHECKSUM ? UMBEL_SYNC_CHECKSUM
                                                         : UMBEL_SYNC_FORMAT,
                              NULL, status, why.text, err);
    return UMBEL_OK;
}

static bool create_message(umbel_sync *s, um_peer *p)
{
    if (p->greet ||
        (!p->known && s->now + 1 >= p->greeted + s->limit.retry_seconds)) {
        um_send_hello(s, p);
        return true;
    }
    if (!p->session || !um_peer_retain_up(s, p))
        return false;
    if (um_send_have(s, p, false))
        return true;
    if (p->known && (um_send_contradiction(s, p) || um_send_statement(s, p) ||
                     um_send_log(s, p) || um_send_update(s, p)))
        return true;
    if (!s->set.announce || p->said_done ||
        !umbel_sync_settled(s, (int)(p - s->peer)))
        return false;
    p->said_done = true;
    return um_send_have(s, p, true);
}

/* Nothing was to be sent, and neither time nor anything else has changed. */
static bool is_idle(const umbel_sync *s, const um_peer *p)
{
    return p->idle && p->idle_at == s->now && p->idle_changes == s->changes;
}

bool umbel_sync_next(umbel_sync *s, int peer, uint64_t now,
                     umbel_slice *message)
{
    um_peer *p = &s->peer[peer];

    umbel_sync_tick(s, now);
    if (!p->used || is_idle(s, p) || umbel_sync_busy(s))
        return false;
    um_work_yield(s, peer);
    if (s->work.kind != UM_WORK_MADE && !create_message(s, p)) {
        p->idle = true;
        p->idle_at = s->now;
        p->idle_changes = s->changes;
        return false;
    }
    if (umbel_sync_busy(s))
        return false;
    s->work.kind = UM_WORK_NONE;
    um_message_end(&s->out);
    if (s->out.failed)
        return false;
    *message = (umbel_slice){s->out.at, s->out.len};
    p->stats.messages_out++;
    p->stats.bytes_out += s->out.len;
    return true;
}

bool umbel_sync_settled(const umbel_sync *s, int peer)
{
    const um_peer *p = &s->peer[peer];

    if (!p->known || um_peer_has_news(p) || p->greet ||
        p->nproved < s->ncontradictions)
        return false;
    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        const um_peer_copy *pc = i < p->ncopies ? &p->copy[i] : NULL;
        if (c && c->now.version && um_peer_has_list(p, c) &&
            um_peer_wants(p, c->id.origin) &&
            (!pc || pc->prove ||
             (pc->acked < c->now.version && pc->refused < c->now.version)))
            return false;
    }
    for (size_t i = 0; i < s->nlogs; i++)
        if (s->log[i].n && um_peer_wants(p, s->log[i].origin) &&
            (i >= p->nlogs || p->log[i].acked < s->log[i].n))
            return false;
    for (size_t i = 0; i < p->nproved; i++)
        if (p->proved[i] != UM_HAS_IT)
            return false;
    return true;
}

bool umbel_sync_finished(const umbel_sync *s, int peer)
{
    const um_peer *p = &s->peer[peer];

    return p->done && p->said_done && umbel_sync_settled(s, peer);
}

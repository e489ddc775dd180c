/*
 * accept.c - decides what the engine accepts: signatures, versions, epochs,
 * sessions and origins.
 *
 * Each of the first seven functions guards one invariant of the exchange. They
 * are separate functions so that tests can replace them at link time (ld
 * --wrap) and check that breaking an invariant is noticed.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer reports memory owned by a peer as leaked. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

#include "base/error.h"
#include "sync/internal.h"

#include <sodium.h>
#include <stdio.h>

enum { MINUTE = 60 }; /* seconds between events for one peer and reason */

/* --- invariants ----------------------------------------------------------- */

bool um_sync_is_signed(const uint8_t *origin, const void *text, size_t len,
                       const uint8_t *signature)
{
    return crypto_sign_verify_detached(signature, text, len, origin) == 0;
}

void um_sync_sign(const uint8_t *key, const void *text, size_t len,
                  uint8_t *signature)
{
    crypto_sign_detached(signature, NULL, text, len, key);
}

bool um_sync_is_newer(uint64_t have, uint64_t version)
{
    return version > have;
}

bool um_sync_fits_base(uint64_t have, uint64_t base)
{
    return base == 0 || base == have;
}

bool um_sync_has_grown(um_growth_page *page)
{
    return um_growth_check(page);
}

bool um_sync_is_expired(uint64_t epoch, uint64_t oldest)
{
    return epoch < oldest;
}

bool um_sync_is_session(uint64_t expected, uint64_t session)
{
    return expected == session;
}

/* --- origins -------------------------------------------------------------- */

um_origin_status um_origin_status_of(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return s->rule[i].status;
    return s->set.strict && memcmp(origin, s->origin, UMBEL_ORIGIN_LEN) != 0
               ? UM_DROPPED
               : UM_ALLOWED;
}

bool um_is_allowed_by_name(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return s->rule[i].status == UM_ALLOWED;
    return false;
}

bool um_is_contradicted(const umbel_sync *s, const uint8_t *origin,
                        uint64_t incarnation)
{
    for (size_t i = 0; i < s->ncontradictions; i++)
        if (s->contradiction[i].id.incarnation == incarnation &&
            memcmp(s->contradiction[i].id.origin, origin, UMBEL_ORIGIN_LEN) ==
                0)
            return true;
    return false;
}

/* --- refusals ------------------------------------------------------------- */

static const char *const reason_names[] = {
#define UM_REASON_NAME(name, text) [UMBEL_SYNC_##name] = text,
    UMBEL_SYNC_REASON_LIST(UM_REASON_NAME)
#undef UM_REASON_NAME
};

const char *umbel_sync_reason_name(umbel_sync_reason reason)
{
    return reason < UMBEL_SYNC_REASONS ? reason_names[reason] : "unknown";
}

/* Reports to a peer that we do not want this origin in this session, so that an
 * exchange with less than all of its origins can end. */
static void decline(const umbel_sync *s, um_peer *p, const uint8_t *origin)
{
    p->report_rules = true;
    for (size_t i = 0; i < p->ndeclined; i++)
        if (memcmp(p->declined[i], origin, UMBEL_ORIGIN_LEN) == 0)
            return;
    /* They must fit into a HAVE: with more, the exchange does not end. */
    if (p->ndeclined < s->limit.message_bytes / (8 * UMBEL_ORIGIN_LEN) &&
        um_array_resize(&p->declined, p->ndeclined + 1, UMBEL_ORIGIN_LEN))
        memcpy(p->declined[p->ndeclined++], origin, UMBEL_ORIGIN_LEN);
}

umbel_status um_sync_refuse(umbel_sync *s, int peer, umbel_sync_reason reason,
                            const um_sync_id *id, umbel_status status,
                            const char *text, umbel_error *err)
{
    char copy[sizeof err->text];
    um_peer *p = peer >= 0 ? &s->peer[peer] : NULL;

    snprintf(copy, sizeof copy, "%s", text);
    um_set_error(err, status, "%s", copy);
    if (p && id && s->set.announce &&
        (reason == UMBEL_SYNC_ORIGIN || reason == UMBEL_SYNC_MEMORY ||
         reason == UMBEL_SYNC_LIMIT || reason == UMBEL_SYNC_INCARNATIONS))
        decline(s, p, id->origin);
    if (p) {
        p->stats.refused[reason]++;
        if (p->logged[reason] && s->now < p->logged[reason] + MINUTE &&
            !s->set.announce)
            return status;
        p->logged[reason] = s->now + !s->now;
    }
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_REFUSED,
                                        .peer = peer,
                                        .origin = id ? id->origin : NULL,
                                        .incarnation = id ? id->incarnation : 0,
                                        .epoch = id ? id->epoch : 0,
                                        .list = id ? (int)id->list : -1,
                                        .reason = reason,
                                        .text = copy});
    return status;
}

/* Refuses an origin that was dropped or is not allowed. Contradicted
 * incarnations are checked separately: their log entries stay valid although
 * their filters are rejected. */
umbel_status um_check_origin(umbel_sync *s, int peer, const um_sync_id *id,
                             umbel_error *err)
{
    if (um_origin_status_of(s, id->origin) == UM_DROPPED) {
        s->peer[peer].report_rules = true;
        return um_sync_refuse(s, peer, UMBEL_SYNC_ORIGIN, id, UMBEL_E_REFUSED,
                              "an origin that was dropped, or is not allowed",
                              err);
    }
    return UMBEL_OK;
}

umbel_status um_check_incarnation(umbel_sync *s, int peer, const um_sync_id *id,
                                  umbel_error *err)
{
    UM_TRY(um_check_origin(s, peer, id, err));
    if (um_is_contradicted(s, id->origin, id->incarnation)) {
        s->peer[peer].report_rules = true;
        return um_sync_refuse(s, peer, UMBEL_SYNC_INCARNATION, id,
                              UMBEL_E_REFUSED,
                              "an incarnation that contradicted itself", err);
    }
    return UMBEL_OK;
}

/*
 * sync_standing.c - who is out: origins that were dropped or muted, and
 * incarnations that contradicted themselves.
 */
#include "base/error.h"
#include "sync/internal.h"

um_standing um_standing_of(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return s->rule[i].standing;
    return s->set.strict && memcmp(origin, s->origin, UMBEL_ORIGIN_LEN) != 0
               ? UM_DROPPED
               : UM_ALLOWED;
}

bool um_is_allowed_by_name(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return s->rule[i].standing == UM_ALLOWED;
    return false;
}

static umbel_status set_standing(umbel_sync *s, const uint8_t *origin,
                                 um_standing standing, umbel_error *err)
{
    um_origin_rule *all;

    s->log_changes++;
    s->changes++;
    for (size_t i = 0; i < s->npeers; i++)
        s->peer[i].tell_rules = true;
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0) {
            s->rule[i].standing = standing;
            return UMBEL_OK;
        }
    all = um_grow_array(s->rule, &s->nrules, sizeof *all);
    if (!all)
        return um_no_memory(err, sizeof *all);
    s->rule = all;
    memcpy(s->rule[s->nrules - 1].origin, origin, UMBEL_ORIGIN_LEN);
    s->rule[s->nrules - 1].standing = standing;
    return UMBEL_OK;
}

void um_forget_origin(umbel_sync *s, const uint8_t *origin,
                      const uint64_t *incarnation)
{
    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        if (c && memcmp(c->id.origin, origin, UMBEL_ORIGIN_LEN) == 0 &&
            (!incarnation || c->id.incarnation == *incarnation))
            um_copy_free(s, i);
    }
    for (size_t i = 0; i < s->nlogs && !incarnation; i++)
        if (memcmp(s->log[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            um_log_forget(s, &s->log[i]);
}

umbel_status umbel_sync_drop(umbel_sync *s, const uint8_t *origin, bool notice,
                             umbel_error *err)
{
    uint8_t name[UMBEL_ORIGIN_LEN]; /* origin may lie in what is freed */

    memcpy(name, origin, sizeof name);
    if (memcmp(name, s->origin, sizeof name) == 0)
        return um_fail(err, UMBEL_E_RANGE, "we cannot drop ourselves");
    UM_TRY(set_standing(s, name, UM_DROPPED, err));
    um_forget_origin(s, name, NULL);
    return notice ? umbel_sync_log_append(s, UMBEL_SYNC_LOG_DROP,
                                          (umbel_slice){name, sizeof name},
                                          NULL, err)
                  : UMBEL_OK;
}

umbel_status umbel_sync_mute(umbel_sync *s, const uint8_t *origin,
                             umbel_error *err)
{
    return set_standing(s, origin, UM_MUTED, err);
}

umbel_status umbel_sync_allow(umbel_sync *s, const uint8_t *origin,
                              umbel_error *err)
{
    bool was_dropped = um_standing_of(s, origin) == UM_DROPPED;

    UM_TRY(set_standing(s, origin, UM_ALLOWED, err));
    if (was_dropped) /* peers believe that we still have what they sent */
        um_peers_restart(s);
    return UMBEL_OK;
}

bool umbel_sync_next_standing(const umbel_sync *s, size_t *at,
                              umbel_sync_standing *out)
{
    if (*at >= s->nrules)
        return false;
    const um_origin_rule *r = &s->rule[(*at)++];
    *out = (umbel_sync_standing){.origin = r->origin,
                                 .dropped = r->standing == UM_DROPPED,
                                 .muted = r->standing == UM_MUTED};
    return true;
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

umbel_status um_contradiction_add(umbel_sync *s, const um_sync_id *id,
                                  const um_statement *a, const um_statement *b,
                                  int peer, umbel_error *err)
{
    um_sync_id out = *id; /* id may lie in what is freed */
    um_contradiction *all, both = {out, *a, *b};

    if (um_is_contradicted(s, id->origin, id->incarnation))
        return UMBEL_OK;
    if (s->ncontradictions >= (size_t)s->limit.origins * s->limit.incarnations)
        return um_fail(err, UMBEL_E_LIMIT, "too many contradictions");
    all = um_grow_array(s->contradiction, &s->ncontradictions, sizeof *all);
    if (!all)
        return um_no_memory(err, sizeof *all);
    s->contradiction = all;
    s->contradiction[s->ncontradictions - 1] = both;
    s->changes++;
    bool own = memcmp(out.origin, s->origin, UMBEL_ORIGIN_LEN) == 0 &&
               out.incarnation == s->incarnation;
    if (own)
        um_sync_rescue(s, true);
    um_forget_origin(s, out.origin, &out.incarnation);
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_CONTRADICTED,
                                        .peer = peer,
                                        .origin = out.origin,
                                        .incarnation = out.incarnation,
                                        .epoch = out.epoch,
                                        .list = (int)out.list,
                                        .version = both.one.version});
    if (own)
        um_sync_renew(s, peer);
    return UMBEL_OK;
}

/*
 * sync_log.c - what filters cannot hold: signed entries, and who is out.
 *
 * An entry is signed with its number, so it can be neither changed nor moved.
 * Entries are taken in order: what is there has no gaps.
 *
 * An origin that was restored from a backup may sign another entry with a
 * number that it had given out. Everyone keeps the same one of the two: a
 * notice, or else the one whose hash is smaller.
 */
#include "base/error.h"
#include "exchange/sync_inside.h"

#include <sodium.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* What the machine keeps is taken for lost, and arrays that are as long as
 * their number says for NULL. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* --- entries -------------------------------------------------------------- */

static void entry_text(uint64_t incarnation, uint64_t seq,
                       const um_log_entry *e, um_bytes *out)
{
    um_bytes_put(out, "umbel-slog-1", 12);
    um_bytes_u64(out, incarnation);
    um_bytes_u64(out, seq);
    um_bytes_put(out, &e->type, 1);
    um_bytes_put(out, e->body, e->len);
}

um_sync_log *um_log_find(umbel_sync *s, const uint8_t *origin,
                         uint64_t incarnation, bool make)
{
    for (size_t i = 0; i < s->nlogs; i++)
        if (s->log[i].incarnation == incarnation &&
            memcmp(s->log[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return &s->log[i];
    if (!make || s->nlogs >= (size_t)s->limit.origins * s->limit.incarnations)
        return NULL;
    um_sync_log *all = um_grow_array(s->log, &s->nlogs, sizeof *all);
    if (!all)
        return NULL;
    s->log = all;
    s->log_changes++; /* names of origins have moved */
    um_sync_log *log = &s->log[s->nlogs - 1];
    memcpy(log->origin, origin, UMBEL_ORIGIN_LEN);
    log->incarnation = incarnation;
    return log;
}

/* Who else said that this origin is to be dropped. */
static size_t count_notices(const umbel_sync *s, const uint8_t *origin)
{
    size_t n = 0;
    umbel_sync_entry e;

    for (size_t at = 0; umbel_sync_next_entry(s, &at, &e);)
        n += e.type == UMBEL_SYNC_LOG_DROP && e.body.len == UMBEL_ORIGIN_LEN &&
             memcmp(e.body.data, origin, UMBEL_ORIGIN_LEN) == 0;
    return n;
}

static void heed_notice(umbel_sync *s, int peer, const um_log_entry *e)
{
    if (e->len != UMBEL_ORIGIN_LEN || !s->set.drop_quorum ||
        memcmp(e->body, s->origin, UMBEL_ORIGIN_LEN) == 0 ||
        um_standing_of(s, e->body) == UM_DROPPED ||
        count_notices(s, e->body) < s->set.drop_quorum)
        return;
    umbel_sync_drop(s, e->body, false, NULL);
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_DROPPED,
                                        .peer = peer,
                                        .origin = e->body,
                                        .list = -1});
}

static void heed_take_back(umbel_sync *s, const uint8_t *origin,
                           const um_log_entry *e)
{
    if (e->len != 16)
        return;
    um_sync_log *log = um_log_find(s, origin, um_load64(e->body), false);
    uint64_t seq = um_load64(e->body + 8);
    if (log && seq >= 1 && seq <= log->n)
        log->entry[seq - 1].taken_back = true;
}

/* An entry may be taken back before it comes. */
static bool was_taken_back(const umbel_sync *s, const um_sync_log *log,
                           uint64_t seq)
{
    for (size_t i = 0; i < s->nlogs; i++) {
        const um_sync_log *l = &s->log[i];
        if (memcmp(l->origin, log->origin, UMBEL_ORIGIN_LEN) != 0)
            continue;
        for (size_t j = 0; j < l->n; j++) {
            const um_log_entry *e = &l->entry[j];
            if (e->type == UMBEL_SYNC_LOG_TAKE_BACK && e->len == 16 &&
                um_load64(e->body) == log->incarnation &&
                um_load64(e->body + 8) == seq)
                return true;
        }
    }
    return false;
}

static void hash_entry(const um_sync_log *log, uint64_t seq, um_log_entry *e)
{
    uint8_t out[UM_HASH_LEN], numbers[17];
    crypto_generichash_state h;

    um_store64(numbers, log->incarnation);
    um_store64(numbers + 8, seq);
    numbers[16] = e->type;
    crypto_generichash_init(&h, NULL, 0, sizeof out);
    crypto_generichash_update(&h, log->origin, UMBEL_ORIGIN_LEN);
    crypto_generichash_update(&h, numbers, sizeof numbers);
    crypto_generichash_update(&h, e->body, e->len);
    crypto_generichash_final(&h, out, sizeof out);
    e->hash[0] = um_load64(out);
    e->hash[1] = um_load64(out + 8);
}

static umbel_status append_entry(umbel_sync *s, um_sync_log *log,
                                 const um_log_entry *e, umbel_error *err)
{
    um_log_entry *all;
    uint8_t *body;

    if (log->n >= s->limit.log_entries || e->len > s->limit.log_entry_bytes ||
        e->len > s->limit.log_bytes - s->log_bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a log is full: raise log_entries, log_entry_bytes or "
                       "log_bytes");
    body = malloc(e->len ? e->len : 1);
    all = body ? um_grow_array(log->entry, &log->n, sizeof *all) : NULL;
    if (!all) {
        free(body);
        return um_no_memory(err, e->len);
    }
    log->entry = all;
    um_log_entry *to = &log->entry[log->n - 1];
    *to = *e;
    to->body = body;
    if (e->len)
        memcpy(body, e->body, e->len);
    s->log_bytes += e->len;
    s->log_changes++;
    s->changes++;
    to->taken_back = was_taken_back(s, log, log->n);
    hash_entry(log, log->n, to);
    return UMBEL_OK;
}

static bool outranks(const um_log_entry *a, const um_log_entry *b)
{
    bool one = a->type == UMBEL_SYNC_LOG_DROP,
         other = b->type == UMBEL_SYNC_LOG_DROP;

    return one != other ? one : a->hash[0] < b->hash[0];
}

static bool is_signed(const umbel_sync *s, const um_sync_log *log, uint64_t seq,
                      const um_log_entry *e)
{
    um_bytes text = {.len = 0};

    entry_text(log->incarnation, seq, e, &text);
    bool right = !text.failed && s->rules->signed_by(log->origin, text.at,
                                                     text.len, e->signature);
    um_bytes_fini(&text);
    return right;
}

/* Puts e in the place of an entry of the same number. */
static umbel_status replace_entry(umbel_sync *s, const um_sync_log *log,
                                  uint64_t seq, const um_log_entry *e,
                                  umbel_error *err)
{
    um_log_entry *to = &log->entry[seq - 1];

    if (e->len > s->limit.log_entry_bytes ||
        e->len > s->limit.log_bytes - (s->log_bytes - to->len))
        return um_fail(err, UMBEL_E_LIMIT,
                       "a log is full: raise log_entry_bytes or log_bytes");
    uint8_t *body = malloc((size_t)e->len + 1);
    if (!body)
        return um_no_memory(err, e->len);
    if (e->len)
        memcpy(body, e->body, e->len);
    free(to->body);
    s->log_bytes += e->len - (uint64_t)to->len;
    s->log_changes++;
    s->changes++;
    *to = *e;
    to->body = body;
    for (size_t i = 0; i < s->nlogs; i++)
        for (size_t j = 0; j < s->log[i].n; j++)
            s->log[i].entry[j].taken_back =
                was_taken_back(s, &s->log[i], j + 1);
    return UMBEL_OK;
}

umbel_status um_log_take(umbel_sync *s, int peer, const uint8_t *origin,
                         uint64_t incarnation, uint64_t seq,
                         const um_log_entry *given, umbel_error *err)
{
    um_sync_log *log = um_log_find(s, origin, incarnation, false),
                named = {.incarnation = incarnation};
    uint64_t n = log ? log->n : 0;
    um_log_entry e = *given;

    if (!seq || seq > n + 1)
        return um_fail(err, UMBEL_E_FORMAT, "an entry of a log out of turn");
    memcpy(named.origin, origin, UMBEL_ORIGIN_LEN);
    hash_entry(&named, seq, &e);
    const um_log_entry *here = log && seq <= n ? &log->entry[seq - 1] : NULL;
    if (here && !outranks(&e, here))
        return UMBEL_OK; /* the same, or ours stays */
    if (!is_signed(s, &named, seq, &e))
        return um_fail(err, UMBEL_E_REFUSED,
                       "an entry of a log is not signed by its origin");
    if (!log)
        log = um_log_find(s, origin, incarnation, true);
    if (!log)
        return um_fail(err, UMBEL_E_LIMIT, "too many logs: raise origins");
    UM_TRY(here ? replace_entry(s, log, seq, &e, err)
                : append_entry(s, log, &e, err));
    if (memcmp(origin, s->origin, UMBEL_ORIGIN_LEN) == 0 &&
        incarnation == s->incarnation && peer >= 0)
        um_sync_renew(s, peer);
    um_log_entry kept = log->entry[seq - 1];
    if (kept.type == UMBEL_SYNC_LOG_TAKE_BACK)
        heed_take_back(s, origin, &kept);
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_LOGGED,
                                        .peer = peer,
                                        .origin = origin,
                                        .incarnation = incarnation,
                                        .list = -1,
                                        .seq = seq,
                                        .type = kept.type,
                                        .body = {kept.body, kept.len}});
    if (kept.type == UMBEL_SYNC_LOG_DROP)
        heed_notice(s, peer, &kept);
    return UMBEL_OK;
}

umbel_status umbel_sync_log_append(umbel_sync *s, uint8_t type,
                                   umbel_slice body, uint64_t *seq,
                                   umbel_error *err)
{
    um_bytes text = {.len = 0};
    um_log_entry e = {.type = type, .len = (uint32_t)body.len};

    if (!s->set.sign_key)
        return um_fail(err, UMBEL_E_RANGE,
                       "without a key that signs there is no log");
    if (body.len > s->limit.log_entry_bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "an entry of %zu bytes, "
                       "log_entry_bytes is %u",
                       body.len, s->limit.log_entry_bytes);
    um_sync_log *log = um_log_find(s, s->origin, s->incarnation, true);
    if (!log)
        return um_no_memory(err, sizeof *log);
    e.body = malloc(body.len + 1);
    if (!e.body)
        return um_no_memory(err, body.len);
    if (body.len)
        memcpy(e.body, body.data, body.len);
    entry_text(s->incarnation, log->n + 1, &e, &text);
    if (!text.failed)
        s->rules->sign(s->sign_key, text.at, text.len, e.signature);
    umbel_status status = um_no_memory(err, body.len);
    if (!text.failed)
        status = append_entry(s, log, &e, err);
    if (!status) {
        if (type == UMBEL_SYNC_LOG_TAKE_BACK)
            heed_take_back(s, s->origin, &e);
        if (seq)
            *seq = log->n;
    }
    um_bytes_fini(&text);
    free(e.body);
    return status;
}

static bool is_counted(const um_log_entry *e)
{
    return !e->taken_back && e->type != UMBEL_SYNC_LOG_TAKE_BACK;
}

bool umbel_sync_next_entry(const umbel_sync *s, size_t *at,
                           umbel_sync_entry *out)
{
    size_t first = 0; /* entries of the logs before */

    for (size_t j = 0; j < s->nlogs; first += s->log[j++].n) {
        const um_sync_log *l = &s->log[j];
        if (*at >= first + l->n || um_standing_of(s, l->origin) != UM_ALLOWED)
            continue;
        for (size_t k = *at > first ? *at - first : 0; k < l->n; k++) {
            const um_log_entry *e = &l->entry[k];
            if (!is_counted(e))
                continue;
            *out = (umbel_sync_entry){
                l->origin, l->incarnation, k + 1, e->type, {e->body, e->len}};
            *at = first + k + 1;
            return true;
        }
    }
    return false;
}

uint64_t umbel_sync_log_changes(const umbel_sync *s)
{
    return s->log_changes;
}

bool um_log_has(const um_sync_log *log, uint64_t seq, const um_log_entry *e)
{
    return log && seq && seq <= log->n &&
           memcmp(log->entry[seq - 1].signature, e->signature,
                  UM_SIGNATURE_LEN) == 0;
}

uint64_t um_log_word(const um_sync_log *log, uint64_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n && i < log->n; i++)
        sum += log->entry[i].hash[0];
    return sum;
}

void um_log_sum(const umbel_sync *s, uint64_t sum[2])
{
    sum[0] = sum[1] = 0;
    for (size_t j = 0; j < s->nlogs; j++) {
        const um_sync_log *l = &s->log[j];
        if (um_standing_of(s, l->origin) != UM_ALLOWED)
            continue;
        for (size_t k = 0; k < l->n; k++)
            for (size_t i = 0; i < 2 && is_counted(&l->entry[k]); i++)
                sum[i] += l->entry[k].hash[i];
    }
}

/* --- who is out ----------------------------------------------------------- */

um_standing um_standing_of(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return s->rule[i].standing;
    return s->set.strict && memcmp(origin, s->origin, UMBEL_ORIGIN_LEN) != 0
               ? UM_DROPPED
               : UM_ALLOWED;
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

static void forget_log(umbel_sync *s, um_sync_log *log)
{
    s->log_changes++;
    for (size_t i = 0; i < log->n; i++) {
        s->log_bytes -= log->entry[i].len;
        free(log->entry[i].body);
    }
    free(log->entry);
    log->entry = NULL;
    log->n = 0;
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
            forget_log(s, &s->log[i]);
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

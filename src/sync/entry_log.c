/*
 * entry_log.c - signed log entries, for data that filters cannot hold.
 *
 * An entry is signed with its number, so it can be neither changed nor moved.
 * Entries are accepted in order, so a log has no gaps.
 *
 * An origin that was restored from a backup may sign another entry with a
 * number that it had used before. Every server keeps the same one of the two: a
 * drop notice if only one is a notice, otherwise the one with the smaller hash.
 */
#include "base/error.h"
#include "sync/internal.h"

#include <sodium.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer reports memory owned by the engine as leaked, and arrays whose
 * length is in another member as NULL. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static void entry_text(uint64_t incarnation, uint64_t seq,
                       const um_log_entry *e, um_buffer *out)
{
    um_buffer_append(out, "umbel-slog-1", 12);
    um_append_u64(out, incarnation);
    um_append_u64(out, seq);
    um_buffer_append(out, &e->type, 1);
    um_buffer_append(out, e->body, e->len);
}

um_sync_log *um_log_find(umbel_sync *s, const uint8_t *origin,
                         uint64_t incarnation, bool create)
{
    for (size_t i = 0; i < s->nlogs; i++)
        if (s->log[i].incarnation == incarnation &&
            memcmp(s->log[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return &s->log[i];
    if (!create ||
        (s->nlogs >= (size_t)s->limit.origins * s->limit.incarnations &&
         !um_is_our_origin(s, origin)))
        return NULL;
    um_sync_log *all = um_grow_array(s->log, &s->nlogs, sizeof *all);
    if (!all)
        return NULL;
    s->log = all;
    s->log_changes++; /* the array of logs has moved */
    um_sync_log *log = &s->log[s->nlogs - 1];
    memcpy(log->origin, origin, UMBEL_ORIGIN_LEN);
    log->incarnation = incarnation;
    return log;
}

static void honour_retraction(umbel_sync *s, const uint8_t *origin,
                              const um_log_entry *e)
{
    if (e->len != 16)
        return;
    um_sync_log *log = um_log_find(s, origin, um_load64(e->body), false);
    uint64_t seq = um_load64(e->body + 8);
    if (log && seq >= 1 && seq <= log->n)
        log->entry[seq - 1].retracted = true;
}

/* Returns true if the origin has retracted entry seq. The retraction may arrive
 * before the entry. */
static bool is_retracted(const umbel_sync *s, const um_sync_log *log,
                         uint64_t seq)
{
    for (size_t i = 0; i < s->nlogs; i++) {
        const um_sync_log *l = &s->log[i];
        if (!l->retractions ||
            memcmp(l->origin, log->origin, UMBEL_ORIGIN_LEN) != 0)
            continue;
        for (size_t j = 0; j < l->n; j++) {
            const um_log_entry *e = &l->entry[j];
            if (e->type == UMBEL_SYNC_LOG_RETRACT && e->len == 16 &&
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

/* Returns the memory that an entry takes, even without a body. */
static uint64_t entry_bytes(const um_log_entry *e)
{
    return sizeof *e + e->len;
}

/* Returns true if the log has space for e, which replaces an entry of
 * `replaced` bytes (0: none). The limit on all logs does not apply to our
 * own. */
static bool has_space(const umbel_sync *s, const um_sync_log *log,
                      const um_log_entry *e, uint64_t replaced)
{
    return e->len <= s->limit.log_entry_bytes &&
           (um_is_our_origin(s, log->origin) ||
            s->log_bytes - replaced + entry_bytes(e) <= s->limit.log_bytes);
}

/* Updates the running sums (word) of the entries from seq on. */
static void sum_words(const um_sync_log *log, uint64_t seq)
{
    for (uint64_t i = seq - 1; i < log->n; i++)
        log->entry[i].word =
            (i ? log->entry[i - 1].word : 0) + log->entry[i].hash[0];
}

static umbel_status append_entry(umbel_sync *s, um_sync_log *log,
                                 const um_log_entry *e, umbel_error *err)
{
    um_log_entry *all;
    uint8_t *body;

    if (log->n >= s->limit.log_entries || !has_space(s, log, e, 0))
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
    s->log_bytes += entry_bytes(e);
    s->log_changes++;
    s->changes++;
    log->retractions += e->type == UMBEL_SYNC_LOG_RETRACT;
    to->retracted = is_retracted(s, log, log->n);
    hash_entry(log, log->n, to);
    sum_words(log, log->n);
    return UMBEL_OK;
}

static bool outranks(const um_log_entry *a, const um_log_entry *b)
{
    bool one = a->type == UMBEL_SYNC_LOG_DROP,
         other = b->type == UMBEL_SYNC_LOG_DROP;

    return one != other ? one : a->hash[0] < b->hash[0];
}

static bool is_signed(const um_sync_log *log, uint64_t seq,
                      const um_log_entry *e)
{
    um_buffer text = {.len = 0};

    entry_text(log->incarnation, seq, e, &text);
    bool right = !text.failed && um_sync_is_signed(log->origin, text.data,
                                                   text.len, e->signature);
    um_buffer_fini(&text);
    return right;
}

/* Recomputes whether the entry that `gone` retracted is still retracted. */
static void undo_retraction(umbel_sync *s, const uint8_t *origin,
                            const um_log_entry *gone)
{
    if (gone->type != UMBEL_SYNC_LOG_RETRACT || gone->len != 16)
        return;
    const um_sync_log *log =
        um_log_find(s, origin, um_load64(gone->body), false);
    uint64_t seq = um_load64(gone->body + 8);
    if (log && seq >= 1 && seq <= log->n)
        log->entry[seq - 1].retracted = is_retracted(s, log, seq);
}

/* Replaces entry seq by e. */
static umbel_status replace_entry(umbel_sync *s, um_sync_log *log, uint64_t seq,
                                  const um_log_entry *e, umbel_error *err)
{
    um_log_entry *to = &log->entry[seq - 1], gone = *to;

    if (!has_space(s, log, e, entry_bytes(to)))
        return um_fail(err, UMBEL_E_LIMIT,
                       "a log is full: raise log_entry_bytes or log_bytes");
    uint8_t *body = malloc((size_t)e->len + 1);
    if (!body)
        return um_no_memory(err, e->len);
    if (e->len)
        memcpy(body, e->body, e->len);
    *to = *e;
    to->body = body;
    s->log_bytes += entry_bytes(e) - entry_bytes(&gone);
    s->log_changes++;
    s->changes++;
    log->retractions += e->type == UMBEL_SYNC_LOG_RETRACT;
    log->retractions -= gone.type == UMBEL_SYNC_LOG_RETRACT;
    to->retracted = is_retracted(s, log, seq);
    undo_retraction(s, log->origin, &gone);
    sum_words(log, seq);
    free(gone.body);
    return UMBEL_OK;
}

umbel_status um_log_apply(umbel_sync *s, int peer, const uint8_t *origin,
                          uint64_t incarnation, uint64_t seq,
                          const um_log_entry *given, bool *applied,
                          umbel_error *err)
{
    um_sync_log *log = um_log_find(s, origin, incarnation, false),
                named = {.incarnation = incarnation};
    uint64_t n = log ? log->n : 0;
    um_log_entry e = *given;

    *applied = false;
    if (!seq || seq > n + 1)
        return um_fail(err, UMBEL_E_FORMAT, "an entry of a log out of turn");
    memcpy(named.origin, origin, UMBEL_ORIGIN_LEN);
    hash_entry(&named, seq, &e);
    const um_log_entry *here = log && seq <= n ? &log->entry[seq - 1] : NULL;
    if (here && !outranks(&e, here))
        return UMBEL_OK; /* the same entry, or ours outranks it */
    if (!is_signed(&named, seq, &e))
        return um_fail(err, UMBEL_E_REFUSED,
                       "an entry of a log is not signed by its origin");
    if (!log)
        log = um_log_find(s, origin, incarnation, true);
    if (!log)
        return um_fail(err, UMBEL_E_LIMIT, "too many logs: raise origins");
    UM_TRY(here ? replace_entry(s, log, seq, &e, err)
                : append_entry(s, log, &e, err));
    *applied = true;
    um_log_entry kept = log->entry[seq - 1];
    if (kept.type == UMBEL_SYNC_LOG_RETRACT)
        honour_retraction(s, origin, &kept);
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_LOGGED,
                                        .peer = peer,
                                        .origin = origin,
                                        .incarnation = incarnation,
                                        .list = -1,
                                        .seq = seq,
                                        .type = kept.type,
                                        .body = {kept.body, kept.len}});
    return UMBEL_OK;
}

umbel_status umbel_sync_log_append(umbel_sync *s, uint8_t type,
                                   umbel_slice body, uint64_t *seq,
                                   umbel_error *err)
{
    um_buffer text = {.len = 0};
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
        um_sync_sign(s->sign_key, text.data, text.len, e.signature);
    umbel_status status = um_no_memory(err, body.len);
    if (!text.failed)
        status = append_entry(s, log, &e, err);
    if (!status) {
        if (type == UMBEL_SYNC_LOG_RETRACT)
            honour_retraction(s, s->origin, &e);
        if (seq)
            *seq = log->n;
    }
    um_buffer_fini(&text);
    free(e.body);
    return status;
}

static bool is_counted(const um_log_entry *e)
{
    return !e->retracted && e->type != UMBEL_SYNC_LOG_RETRACT;
}

bool umbel_sync_next_entry(const umbel_sync *s, size_t *at,
                           umbel_sync_entry *out)
{
    size_t first = 0; /* number of entries in earlier logs */

    for (size_t j = 0; j < s->nlogs; first += s->log[j++].n) {
        const um_sync_log *l = &s->log[j];
        if (*at >= first + l->n ||
            um_origin_status_of(s, l->origin) != UM_ALLOWED)
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
    uint64_t last = n < log->n ? n : log->n;

    return last ? log->entry[last - 1].word : 0;
}

void um_log_sum(const umbel_sync *s, uint64_t sum[2])
{
    sum[0] = sum[1] = 0;
    for (size_t j = 0; j < s->nlogs; j++) {
        const um_sync_log *l = &s->log[j];
        if (um_origin_status_of(s, l->origin) != UM_ALLOWED)
            continue;
        for (size_t k = 0; k < l->n; k++)
            for (size_t i = 0; i < 2 && is_counted(&l->entry[k]); i++)
                sum[i] += l->entry[k].hash[i];
    }
}

void um_log_forget(umbel_sync *s, um_sync_log *log)
{
    s->log_changes++;
    for (size_t i = 0; i < log->n; i++) {
        s->log_bytes -= entry_bytes(&log->entry[i]);
        free(log->entry[i].body);
    }
    free(log->entry);
    log->entry = NULL;
    log->n = log->retractions = 0;
}

/*
 * exceptions.c - digests that were forgotten: records in the store's key-value
 * table, and entries in the logs of all servers.
 *
 *   name   "forget/LIST/" and the digest as the store hashes it, 16 bytes
 *   value  when it was made, the begin of the newest epoch with a count, 8
 *          bytes each, little-endian; and the digest as text
 *
 * It has the list's name, not its number, because the table of lists may
 * change.
 *
 *   type 16   when it was made, the begin of the newest epoch with a count, the
 *             digest as the lists hash it (16), the length of the list's name
 *             (1), the name, and the digest as text; numbers have 8 bytes,
 *             little-endian
 *
 * The set of logged exceptions is rebuilt from the sync engine whenever entries
 * have changed.
 */
#include "clearinghouse/lists/internal.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "clearinghouse/runtime/digest_text.h"

#include <umbel/counting.h>

#include <stdlib.h>
#include <string.h>

#define PREFIX "forget/"
enum {
    PREFIX_LEN = sizeof PREFIX - 1,
    DIGEST_LEN = 16,
    NAME_MAX_LEN = PREFIX_LEN + UM_LIST_MAX_NAME + 1 + DIGEST_LEN,
    TIMES_LEN = 16,
    FIXED_LEN = 33, /* bytes of an entry before the name */
    MAX_LEN = FIXED_LEN + UM_LIST_MAX_NAME + UM_DIGEST_TEXT,
    SWEEP = 256 /* exceptions that a tick removes at most */
};

/* --- log entries ---------------------------------------------------------- */

static umbel_slice write_body(const um_exception *e, uint8_t out[MAX_LEN])
{
    const char *list = um_list_name(e->list);
    um_writer w = {out, out + MAX_LEN, false};
    uint8_t len = (uint8_t)strlen(list);

    um_write_u64(&w, e->made);
    um_write_u64(&w, e->begin);
    um_write_u64(&w, e->digest.lo);
    um_write_u64(&w, e->digest.hi);
    um_write_bytes(&w, &len, 1);
    um_write_bytes(&w, list, len);
    um_write_bytes(&w, e->text.data, e->text.len);
    return (umbel_slice){out, (size_t)(w.at - out)};
}

/* Parses an entry; false if it is malformed, as other servers may write
 * anything. */
static bool read_entry(const umbel_sync_entry *from, um_exception *out)
{
    um_reader r = {from->body.data,
                   (const uint8_t *)from->body.data + from->body.len, false};
    char list[UM_LIST_MAX_NAME + 1] = "", text[UM_DIGEST_TEXT];
    uint8_t len = 0;

    if (from->type != UM_LOG_FORGET)
        return false;
    *out = (um_exception){.origin = from->origin,
                          .incarnation = from->incarnation,
                          .seq = from->seq};
    out->made = um_get_u64(&r);
    out->begin = um_get_u64(&r);
    out->digest.lo = um_get_u64(&r);
    out->digest.hi = um_get_u64(&r);
    um_get_bytes(&r, &len, 1);
    if (r.bad || len >= sizeof list)
        return false;
    um_get_bytes(&r, list, len);
    out->list = (unsigned)um_list_find(list);
    out->text = (umbel_slice){r.at, (size_t)(r.end - r.at)};
    return !r.bad && um_list_name(out->list) &&
           um_signature_read(out->text, text, NULL) == UMBEL_OK;
}

/* --- the set of logged exceptions ----------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const um_exception *a, const um_exception *b)
{
    int lo = compare_numbers(a->digest.lo, b->digest.lo);
    int hi = compare_numbers(a->digest.hi, b->digest.hi);

    return lo ? lo : hi ? hi : compare_numbers(a->list, b->list);
}

/* Sorts by key, then by origin. */
static int compare_exceptions(const void *a, const void *b)
{
    const um_exception *one = a, *other = b;
    int keys = compare_keys(one, other);

    return keys ? keys : memcmp(one->origin, other->origin, UMBEL_ORIGIN_LEN);
}

static void read_all(um_exception_set *x)
{
    umbel_sync_entry entry;
    um_exception e;
    size_t cap = 0;

    x->n = 0;
    free(x->item);
    x->item = NULL;
    for (size_t at = 0; umbel_sync_next_entry(x->machine, &at, &entry);) {
        if (!read_entry(&entry, &e))
            continue;
        if (!um_array_reserve(&x->item, &cap, x->n + 1, sizeof *x->item))
            break;
        x->item[x->n++] = e;
    }
    if (x->n)
        qsort(x->item, x->n, sizeof *x->item, compare_exceptions);
}

/* Returns the current set, rebuilt if entries have changed; NULL without peers
 * or memory. */
static const um_exception_set *present_set(const um_lists *l)
{
    um_exception_set *x = l->logged;

    if (!l->machine || !x)
        return NULL;
    if (x->machine != l->machine ||
        x->changes != umbel_sync_log_changes(l->machine)) {
        x->machine = l->machine;
        x->changes = umbel_sync_log_changes(l->machine);
        read_all(x);
    }
    return x;
}

static size_t first_of(const um_exception_set *x, const um_exception *key)
{
    size_t low = 0, high = x->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_keys(&x->item[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool um_logged_next(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t *at, um_exception *out)
{
    const um_exception_set *x = present_set(l);
    um_exception key = {.list = list};

    if (!x)
        return false;
    if (d)
        key.digest = *d;
    if (d && *at == 0)
        *at = first_of(x, &key);
    if (*at >= x->n || (d && compare_keys(&x->item[*at], &key) != 0))
        return false;
    *out = x->item[(*at)++];
    return true;
}

bool um_logged_none(const um_lists *l)
{
    const um_exception_set *x = present_set(l);

    return !x || !x->n;
}

static umbel_status append_entry(um_lists *l, const um_exception *e,
                                 uint64_t *ticket, umbel_error *err)
{
    uint8_t body[MAX_LEN];

    return l->append(l->append_ctx, UM_LOG_FORGET, write_body(e, body), ticket,
                     err);
}

static umbel_status undo_entries(um_lists *l, unsigned list,
                                 const umbel_digest *d, size_t *n,
                                 uint64_t *ticket, umbel_error *err)
{
    const uint8_t *ours = umbel_sync_origin(l->machine);
    um_exception e;
    uint8_t body[16];

    *n = 0;
    for (size_t at = 0; um_logged_next(l, list, d, &at, &e);) {
        if (memcmp(e.origin, ours, UMBEL_ORIGIN_LEN) != 0)
            continue;
        um_store64(body, e.incarnation);
        um_store64(body + 8, e.seq);
        UM_TRY(l->append(l->append_ctx, UMBEL_SYNC_LOG_RETRACT,
                         (umbel_slice){body, sizeof body}, ticket, err));
        ++*n;
        at = 0; /* the set was rebuilt */
    }
    return UMBEL_OK;
}

/* --- records -------------------------------------------------------------- */

typedef struct note_name {
    uint8_t bytes[NAME_MAX_LEN];
    size_t len;
} note_name;

static umbel_slice name_slice(const note_name *n)
{
    return (umbel_slice){n->bytes, n->len};
}

static note_name name_of(unsigned list, const umbel_digest *d)
{
    note_name n;
    um_writer w = {n.bytes, n.bytes + sizeof n.bytes, false};
    const char *name = um_list_name(list);

    um_write_bytes(&w, PREFIX, PREFIX_LEN);
    um_write_bytes(&w, name, strlen(name));
    um_write_bytes(&w, "/", 1);
    um_write_u64(&w, d->lo);
    um_write_u64(&w, d->hi);
    n.len = (size_t)(w.at - n.bytes);
    return n;
}

/* Finds the list in a name "forget/LIST/..."; false if we have no such list. */
static bool list_of(umbel_slice name, unsigned *list)
{
    char text[UM_LIST_MAX_NAME + 1] = "";
    const char *bytes = name.data;
    size_t len = name.len - (PREFIX_LEN + 1 + DIGEST_LEN);

    if (name.len <= PREFIX_LEN + 1 + DIGEST_LEN || len >= sizeof text ||
        memcmp(bytes, PREFIX, PREFIX_LEN) != 0)
        return false;
    memcpy(text, bytes + PREFIX_LEN, len);
    *list = (unsigned)um_list_find(text);
    return um_list_name(*list);
}

static bool read_note(umbel_slice name, umbel_slice value, um_exception *out)
{
    if (value.len < TIMES_LEN || !list_of(name, &out->list))
        return false;
    const uint8_t *end = (const uint8_t *)name.data + name.len;
    const uint8_t *text = (const uint8_t *)value.data + TIMES_LEN;
    um_reader n = {end - DIGEST_LEN, end, false};
    um_reader v = {value.data, text, false};
    out->digest.lo = um_get_u64(&n);
    out->digest.hi = um_get_u64(&n);
    out->made = um_get_u64(&v);
    out->begin = um_get_u64(&v);
    out->text = (umbel_slice){text, value.len - TIMES_LEN};
    out->origin = NULL;
    return true;
}

static umbel_status write_note(um_lists *l, const um_exception *e,
                               uint64_t *ticket, umbel_error *err)
{
    uint8_t bytes[TIMES_LEN + UM_DIGEST_TEXT];
    um_writer w = {bytes, bytes + sizeof bytes, false};
    note_name name = name_of(e->list, &e->digest);

    um_write_u64(&w, e->made);
    um_write_u64(&w, e->begin);
    um_write_bytes(&w, e->text.data, e->text.len);
    return um_store_set(l->store, name_slice(&name),
                        (umbel_slice){bytes, (size_t)(w.at - bytes)},
                        l->clock->now, ticket, err);
}

static umbel_status drop_note(um_lists *l, const um_exception *e,
                              uint64_t *ticket, umbel_error *err)
{
    note_name name = name_of(e->list, &e->digest);

    UM_TRY(um_store_set(l->store, name_slice(&name), (umbel_slice){NULL, 0},
                        l->clock->now, ticket, err));
    l->exceptions--;
    return UMBEL_OK;
}

/* --- queries -------------------------------------------------------------- */

/* Returns true while an epoch that contained the counts still exists. Epochs of
 * all servers expire by their numbers. */
static bool is_live(const um_lists *l, const um_exception *e)
{
    if (l->machine) {
        um_list_config c = um_list_config_of(l->opened, e->list);
        return !c.epoch_seconds || e->begin / c.epoch_seconds + c.epochs >
                                       umbel_sync_epoch(l->machine, e->list);
    }
    return um_list_oldest_begin(um_store_list(l->store, e->list)) <= e->begin;
}

/* Finds the record of a digest in a list. */
static bool find_note(const um_lists *l, unsigned list, const umbel_digest *d,
                      um_exception *out)
{
    umbel_slice value;

    if (!l->exceptions)
        return false;
    note_name name = name_of(list, d);
    return um_store_get(l->store, name_slice(&name), &value) &&
           read_note(name_slice(&name), value, out) && is_live(l, out);
}

static bool is_ours(const um_lists *l, const um_exception *e)
{
    return memcmp(e->origin, umbel_sync_origin(l->machine), UMBEL_ORIGIN_LEN) ==
           0;
}

/* Counts the servers that have forgotten a digest, including this one. */
static size_t count_servers(const um_lists *l, unsigned list,
                            const umbel_digest *d)
{
    const uint8_t *last = NULL;
    um_exception e;
    bool ours = find_note(l, list, d, &e);
    size_t others = 0;

    for (size_t at = 0; um_logged_next(l, list, d, &at, &e);) {
        if (!is_live(l, &e))
            continue;
        if (is_ours(l, &e))
            ours = true;
        else if (!last || memcmp(last, e.origin, UMBEL_ORIGIN_LEN) != 0)
            others++;
        last = e.origin;
    }
    return others + ours;
}

bool um_forgotten(const um_lists *l, unsigned list, const umbel_digest *d)
{
    if (um_forget_none(l))
        return false;
    size_t servers = count_servers(l, list, d);
    return servers && servers >= um_forget_quorum(l);
}

size_t um_forget_quorum(const um_lists *l)
{
    return l->machine ? (size_t)l->config->peers.revoke_quorum : 1;
}

size_t um_forget_count(const um_lists *l)
{
    return l->exceptions;
}

bool um_forget_none(const um_lists *l)
{
    return !l->exceptions && um_logged_none(l);
}

static bool next_exception(const um_lists *l, size_t *at, um_exception *out)
{
    umbel_slice name, value;

    while (um_store_next(l->store, at, &name, &value))
        if (read_note(name, value, out))
            return true;
    return false;
}

bool um_forget_next(const um_lists *l, um_forget_walk *at, um_exception *out)
{
    while (next_exception(l, &at->note, out))
        if (is_live(l, out))
            return true;
    while (um_logged_next(l, 0, NULL, &at->other, out))
        if (is_live(l, out) && !is_ours(l, out))
            return true;
    return false;
}

/* --- changes -------------------------------------------------------------- */

static umbel_digest digest_of(const um_lists *l, const char *text)
{
    umbel_slice key = {text, strlen(text)};
    umbel_digest d;

    um_store_digest(l->store, &key, 1, &d);
    return d;
}

/* Returns when our newest epoch with a count of the digest began; 0 if there is
 * none. */
static uint64_t newest_of_ours(const um_lists *l, unsigned list,
                               const umbel_digest *d)
{
    const um_list *own = um_store_list(l->store, list);
    uint64_t count[UM_LIST_MAX_FILTERS];
    unsigned n = um_list_count_epochs(own, d, count);
    um_list_stats stats;

    um_list_stats_get(own, &stats);
    for (unsigned i = 0; i < n; i++)
        if (count[i])
            return stats.epoch[i].begin;
    return 0;
}

/* Finds when the newest epoch with a count of the digest began, of any server;
 * false if there is none. */
static bool newest_count(const um_lists *l, unsigned list,
                         const umbel_digest *d, uint64_t *begin)
{
    umbel_sync_replica c;
    uint64_t count;

    *begin = newest_of_ours(l, list, d);
    for (size_t at = 0; um_lists_next_replica(l, list, &at, &c);)
        if (c.begin > *begin &&
            umbel_count_digests(c.filter, d, 1, &count, NULL) == UMBEL_OK &&
            count)
            *begin = c.begin;
    return *begin;
}

/* Returns true if our log has it already. */
static bool is_logged(const um_lists *l, const um_exception *e)
{
    um_exception old;

    for (size_t at = 0; um_logged_next(l, e->list, &e->digest, &at, &old);)
        if (is_ours(l, &old) && old.begin >= e->begin)
            return true;
    return false;
}

static umbel_status forget_in(um_lists *l, um_exception *e, uint64_t *ticket,
                              umbel_error *err)
{
    note_name name = name_of(e->list, &e->digest);
    umbel_slice old; /* may have expired */
    bool known = um_store_get(l->store, name_slice(&name), &old);

    if (!known && l->exceptions >= UM_FORGET_MAX)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%zu digests are forgotten already, and there is no "
                       "room for more; welcome their senders instead",
                       l->exceptions);
    if (l->append && !is_logged(l, e))
        UM_TRY(append_entry(l, e, ticket, err));
    UM_TRY(write_note(l, e, ticket, err));
    l->exceptions += !known;
    return UMBEL_OK;
}

static umbel_status forget_where(um_lists *l, const char *text, bool revoked,
                                 size_t *lists, uint64_t *ticket,
                                 umbel_error *err)
{
    um_exception e = {.digest = digest_of(l, text),
                      .made = l->clock->now,
                      .text = {text, strlen(text)}};

    *lists = 0;
    for (; e.list < UM_LISTS; e.list++)
        if ((!revoked || um_list_rows[e.list].revokes) &&
            newest_count(l, e.list, &e.digest, &e.begin)) {
            UM_TRY(forget_in(l, &e, ticket, err));
            ++*lists;
        }
    if (*lists)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN, "no list has a count of %s", text);
}

umbel_status um_forget(um_lists *l, const char *text, size_t *lists,
                       uint64_t *ticket, umbel_error *err)
{
    return forget_where(l, text, false, lists, ticket, err);
}

umbel_status um_forget_revoked(um_lists *l, const char *text, size_t *lists,
                               uint64_t *ticket, umbel_error *err)
{
    return forget_where(l, text, true, lists, ticket, err);
}

/* Undoes our own exception of a digest in a list; *done is false if there is
 * none. */
static umbel_status undo_in(um_lists *l, unsigned list, const umbel_digest *d,
                            bool *done, uint64_t *ticket, umbel_error *err)
{
    um_exception e;
    size_t entries = 0;

    *done = find_note(l, list, d, &e);
    if (*done)
        UM_TRY(drop_note(l, &e, ticket, err));
    if (l->append)
        UM_TRY(undo_entries(l, list, d, &entries, ticket, err));
    *done = *done || entries;
    return UMBEL_OK;
}

umbel_status um_forget_undo(um_lists *l, const char *text, size_t *lists,
                            uint64_t *ticket, umbel_error *err)
{
    umbel_digest d = digest_of(l, text);
    bool done, others = false;

    *lists = 0;
    for (unsigned i = 0; i < UM_LISTS; i++) {
        UM_TRY(undo_in(l, i, &d, &done, ticket, err));
        *lists += done;
        others = others || um_forgotten(l, i, &d);
    }
    if (*lists)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN,
                   others
                       ? "%s was forgotten by other servers, not by this one: "
                         "umbel clearinghouse forget --list names them"
                       : "%s is not forgotten",
                   text);
}

/* --- expiry --------------------------------------------------------------- */

void um_forget_open(um_lists *l)
{
    um_exception e;

    l->exceptions = 0;
    for (size_t at = 0; next_exception(l, &at, &e);)
        l->exceptions++;
    um_forget_tick(l);
}

/* Returns a sum that changes whenever an epoch expires. */
static uint64_t oldest_epochs(const um_lists *l)
{
    uint64_t sum = 1;

    for (unsigned i = 0; i < UM_LISTS; i++)
        sum += um_list_oldest_begin(um_store_list(l->store, i));
    return sum;
}

/* Logs some exceptions that our log lacks: they were made before there were
 * peers, or just before a crash. */
static void share_some(um_lists *l)
{
    um_exception e, some[SWEEP] = {{.list = 0}};
    uint64_t ticket;
    size_t n = 0;

    for (size_t at = 0; n < SWEEP && next_exception(l, &at, &e);)
        if (is_live(l, &e) && !is_logged(l, &e))
            some[n++] = e;
    for (size_t i = 0; i < n; i++) /* appending moves no text */
        if (append_entry(l, &some[i], &ticket, NULL) != UMBEL_OK)
            return;
    l->shared = n < SWEEP;
}

void um_forget_tick(um_lists *l)
{
    um_exception e, over[SWEEP] = {{.list = 0}};
    uint64_t oldest = oldest_epochs(l), ticket;
    size_t n = 0;

    if (l->exceptions && l->log_read && !l->shared)
        share_some(l);
    if (!l->exceptions || oldest == l->swept)
        return;
    for (size_t at = 0; n < SWEEP && next_exception(l, &at, &e);)
        if (!is_live(l, &e))
            over[n++] = e;
    for (size_t i = 0; i < n; i++)
        if (drop_note(l, &over[i], &ticket, NULL) != UMBEL_OK)
            return;
    if (n < SWEEP)
        l->swept = oldest;
}

/*
 * forget.c - exceptions, as notes of the store.
 *
 *   name   "forget/LIST/" and the digest as the store hashes it, 16 bytes
 *   value  when it was made, the begin of the newest epoch with a count, 8
 *          bytes each, little-endian; and the digest as text
 *
 * The name of the list, not its number: the table of fronts may change.
 */
#include "clearinghouse/lists/forget.h"

#include "base/bytes.h"
#include "base/error.h"
#include "clearinghouse/lists/counts.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/runtime/digest_text.h"

#include <umbel/counting.h>

#include <string.h>

#define PREFIX "forget/"
enum {
    PREFIX_LEN = sizeof PREFIX - 1,
    DIGEST_LEN = 16,
    NAME_MAX_LEN = PREFIX_LEN + UM_LIST_MAX_NAME + 1 + DIGEST_LEN,
    TIMES_LEN = 16,
    SWEEP = 256 /* exceptions that a tick removes */
};

/* --- notes ---------------------------------------------------------------- */

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
    const char *name = um_protocol_list(list);

    um_write_bytes(&w, PREFIX, PREFIX_LEN);
    um_write_bytes(&w, name, strlen(name));
    um_write_bytes(&w, "/", 1);
    um_write_u64(&w, d->lo);
    um_write_u64(&w, d->hi);
    n.len = (size_t)(w.at - n.bytes);
    return n;
}

/* The list of a name "forget/LIST/..."; false: of no list that we have. */
static bool list_of(umbel_slice name, unsigned *list)
{
    char text[UM_LIST_MAX_NAME + 1] = "";
    const char *bytes = name.data;
    size_t len = name.len - (PREFIX_LEN + 1 + DIGEST_LEN);

    if (name.len <= PREFIX_LEN + 1 + DIGEST_LEN || len >= sizeof text ||
        memcmp(bytes, PREFIX, PREFIX_LEN) != 0)
        return false;
    memcpy(text, bytes + PREFIX_LEN, len);
    *list = (unsigned)um_protocol_list_find(text);
    return um_protocol_list(*list);
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

static umbel_status write_note(um_server *h, const um_exception *e,
                               uint64_t *ticket, umbel_error *err)
{
    uint8_t bytes[TIMES_LEN + UM_DIGEST_TEXT];
    um_writer w = {bytes, bytes + sizeof bytes, false};
    note_name name = name_of(e->list, &e->digest);

    um_write_u64(&w, e->made);
    um_write_u64(&w, e->begin);
    um_write_bytes(&w, e->text.data, e->text.len);
    return um_store_set(h->store, name_slice(&name),
                        (umbel_slice){bytes, (size_t)(w.at - bytes)}, h->now,
                        ticket, err);
}

static umbel_status drop_note(um_server *h, const um_exception *e,
                              uint64_t *ticket, umbel_error *err)
{
    note_name name = name_of(e->list, &e->digest);

    UM_TRY(um_store_set(h->store, name_slice(&name), (umbel_slice){NULL, 0},
                        h->now, ticket, err));
    h->exceptions--;
    return UMBEL_OK;
}

/* --- questions ------------------------------------------------------------ */

/* Returns true while an epoch that held the counts is there. Epochs of all
 * servers end by their numbers. */
static bool is_live(const um_server *h, const um_exception *e)
{
    if (h->machine) {
        um_list_config c = um_server_list_config(&h->opened, e->list);
        return !c.epoch_seconds || e->begin / c.epoch_seconds + c.epochs >
                                       umbel_sync_epoch(h->machine, e->list);
    }
    return um_list_oldest_begin(um_store_list(h->store, e->list)) <= e->begin;
}

/* Finds the note of a digest in a list. */
static bool find_note(const um_server *h, unsigned list, const umbel_digest *d,
                      um_exception *out)
{
    umbel_slice value;

    if (!h->exceptions)
        return false;
    note_name name = name_of(list, d);
    return um_store_get(h->store, name_slice(&name), &value) &&
           read_note(name_slice(&name), value, out) && is_live(h, out);
}

static bool is_ours(const um_server *h, const um_exception *e)
{
    return memcmp(e->origin, umbel_sync_origin(h->machine), UMBEL_ORIGIN_LEN) ==
           0;
}

/* Servers that took a digest back, this one among them. */
static size_t count_servers(const um_server *h, unsigned list,
                            const umbel_digest *d)
{
    const uint8_t *last = NULL;
    um_exception e;
    bool ours = find_note(h, list, d, &e);
    size_t others = 0;

    for (size_t at = 0; um_exceptions_next(h, list, d, &at, &e);) {
        if (!is_live(h, &e))
            continue;
        if (is_ours(h, &e))
            ours = true;
        else if (!last || memcmp(last, e.origin, UMBEL_ORIGIN_LEN) != 0)
            others++;
        last = e.origin;
    }
    return others + ours;
}

bool um_forgotten(const um_server *h, unsigned list, const umbel_digest *d)
{
    if (um_forget_none(h))
        return false;
    size_t servers = count_servers(h, list, d);
    return servers && servers >= um_forget_quorum(h);
}

size_t um_forget_quorum(const um_server *h)
{
    return h->machine ? (size_t)h->config.peers.revoke_quorum : 1;
}

bool um_forget_none(const um_server *h)
{
    return !h->exceptions && um_exceptions_none(h);
}

static bool next_exception(const um_server *h, size_t *at, um_exception *out)
{
    umbel_slice name, value;

    while (um_store_next(h->store, at, &name, &value))
        if (read_note(name, value, out))
            return true;
    return false;
}

bool um_forget_next(const um_server *h, um_forget_walk *at, um_exception *out)
{
    while (next_exception(h, &at->note, out))
        if (is_live(h, out))
            return true;
    while (um_exceptions_next(h, 0, NULL, &at->other, out))
        if (is_live(h, out) && !is_ours(h, out))
            return true;
    return false;
}

/* --- changes -------------------------------------------------------------- */

static umbel_digest digest_of(const um_server *h, const char *text)
{
    umbel_slice key = {text, strlen(text)};
    umbel_digest d;

    um_store_digest(h->store, &key, 1, &d);
    return d;
}

/* The begin of the newest epoch of ours that has a count; 0: none has. */
static uint64_t newest_of_ours(const um_server *h, unsigned list,
                               const umbel_digest *d)
{
    const um_list *l = um_store_list(h->store, list);
    uint64_t count[UM_LIST_MAX_EPOCHS];
    unsigned n = um_list_count_epochs(l, d, count);
    um_list_stats stats;

    um_list_stats_get(l, &stats);
    for (unsigned i = 0; i < n; i++)
        if (count[i])
            return stats.epoch[i].begin;
    return 0;
}

/* Finds the begin of the newest epoch that has a count, of any server; false:
 * none has. */
static bool newest_count(const um_server *h, unsigned list,
                         const umbel_digest *d, uint64_t *begin)
{
    umbel_sync_replica c;
    uint64_t count;

    *begin = newest_of_ours(h, list, d);
    for (size_t at = 0; um_server_next_copy(h, list, &at, &c);)
        if (c.begin > *begin &&
            umbel_count_digests(c.filter, d, 1, &count, NULL) == UMBEL_OK &&
            count)
            *begin = c.begin;
    return *begin;
}

/* Returns true if our log says so already. */
static bool is_logged(const um_server *h, const um_exception *e)
{
    um_exception old;

    for (size_t at = 0; um_exceptions_next(h, e->list, &e->digest, &at, &old);)
        if (is_ours(h, &old) && old.begin >= e->begin)
            return true;
    return false;
}

static umbel_status forget_in(um_server *h, um_exception *e, uint64_t *ticket,
                              umbel_error *err)
{
    note_name name = name_of(e->list, &e->digest);
    umbel_slice old; /* maybe one that is over */
    bool known = um_store_get(h->store, name_slice(&name), &old);

    if (!known && h->exceptions >= UM_FORGET_MAX)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%zu digests are forgotten already, and there is no "
                       "room for more; welcome their senders instead",
                       h->exceptions);
    if (h->peers && !is_logged(h, e))
        UM_TRY(um_exceptions_append(h, e, ticket, err));
    UM_TRY(write_note(h, e, ticket, err));
    h->exceptions += !known;
    return UMBEL_OK;
}

static umbel_status forget_where(um_server *h, const char *text, bool revoked,
                                 size_t *lists, uint64_t *ticket,
                                 umbel_error *err)
{
    um_exception e = {.digest = digest_of(h, text),
                      .made = h->now,
                      .text = {text, strlen(text)}};

    *lists = 0;
    for (; um_protocol_list(e.list); e.list++)
        if ((!revoked || um_protocol_list_revokes(e.list)) &&
            newest_count(h, e.list, &e.digest, &e.begin)) {
            UM_TRY(forget_in(h, &e, ticket, err));
            ++*lists;
        }
    if (*lists)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN, "no list has a count of %s", text);
}

umbel_status um_forget(um_server *h, const char *text, size_t *lists,
                       uint64_t *ticket, umbel_error *err)
{
    return forget_where(h, text, false, lists, ticket, err);
}

umbel_status um_forget_revoked(um_server *h, const char *text, size_t *lists,
                               uint64_t *ticket, umbel_error *err)
{
    return forget_where(h, text, true, lists, ticket, err);
}

/* *done: it was forgotten there by us. */
static umbel_status undo_in(um_server *h, unsigned list, const umbel_digest *d,
                            bool *done, uint64_t *ticket, umbel_error *err)
{
    um_exception e;
    size_t entries = 0;

    *done = find_note(h, list, d, &e);
    if (*done)
        UM_TRY(drop_note(h, &e, ticket, err));
    if (h->peers)
        UM_TRY(um_exceptions_undo(h, list, d, &entries, ticket, err));
    *done = *done || entries;
    return UMBEL_OK;
}

umbel_status um_forget_undo(um_server *h, const char *text, size_t *lists,
                            uint64_t *ticket, umbel_error *err)
{
    umbel_digest d = digest_of(h, text);
    bool done, others = false;

    *lists = 0;
    for (unsigned i = 0; um_protocol_list(i); i++) {
        UM_TRY(undo_in(h, i, &d, &done, ticket, err));
        *lists += done;
        others = others || um_forgotten(h, i, &d);
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

/* --- upkeep --------------------------------------------------------------- */

void um_forget_open(um_server *h)
{
    um_exception e;

    h->others_exceptions = um_exceptions_create();
    h->exceptions = 0;
    for (size_t at = 0; next_exception(h, &at, &e);)
        h->exceptions++;
    um_forget_tick(h);
}

void um_forget_close(um_server *h)
{
    um_exceptions_free(h->others_exceptions);
    h->others_exceptions = NULL;
}

/* Changes whenever an epoch goes. */
static uint64_t oldest_epochs(const um_server *h)
{
    uint64_t sum = 1;

    for (unsigned i = 0; um_protocol_list(i); i++)
        sum += um_list_oldest_begin(um_store_list(h->store, i));
    return sum;
}

/* Logs some of those that other servers do not know: they were made before
 * there were peers, or a crash came between. */
static void share_some(um_server *h)
{
    um_exception e, some[SWEEP] = {{.list = 0}};
    uint64_t ticket;
    size_t n = 0;

    for (size_t at = 0; n < SWEEP && next_exception(h, &at, &e);)
        if (is_live(h, &e) && !is_logged(h, &e))
            some[n++] = e;
    for (size_t i = 0; i < n; i++) /* what is logged moves no text of a note */
        if (um_exceptions_append(h, &some[i], &ticket, NULL) != UMBEL_OK)
            return;
    h->shared = n < SWEEP;
}

void um_forget_tick(um_server *h)
{
    um_exception e, over[SWEEP] = {{.list = 0}};
    uint64_t oldest = oldest_epochs(h), ticket;
    size_t n = 0;

    if (h->exceptions && h->origins && !h->shared) /* the log was read */
        share_some(h);
    if (!h->exceptions || oldest == h->swept)
        return;
    for (size_t at = 0; n < SWEEP && next_exception(h, &at, &e);)
        if (!is_live(h, &e))
            over[n++] = e;
    for (size_t i = 0; i < n; i++)
        if (drop_note(h, &over[i], &ticket, NULL) != UMBEL_OK)
            return;
    if (n < SWEEP)
        h->swept = oldest;
}

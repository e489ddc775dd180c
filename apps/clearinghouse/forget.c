/*
 * forget.c - exceptions, as notes of the store.
 *
 *   name   "forget/LIST/" and the digest as the store hashes it, 16 bytes
 *   value  when it was made, the begin of the newest epoch with a count, 8
 *          bytes each, little-endian; and the digest as text
 *
 * The name of the list, not its number: the table of fronts may change.
 */
#include "clearinghouse/forget.h"

#include "base/bytes.h"
#include "base/error.h"
#include "clearinghouse/digest_text.h"

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
    const char *name = um_front_list(list);

    um_put_bytes(&w, PREFIX, PREFIX_LEN);
    um_put_bytes(&w, name, strlen(name));
    um_put_bytes(&w, "/", 1);
    um_put_u64(&w, d->lo);
    um_put_u64(&w, d->hi);
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
    *list = (unsigned)um_front_list_find(text);
    return um_front_list(*list);
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
    return true;
}

static umbel_status write_note(um_house *h, const um_exception *e,
                               uint64_t *ticket, umbel_error *err)
{
    uint8_t bytes[TIMES_LEN + UM_DIGEST_TEXT];
    um_writer w = {bytes, bytes + sizeof bytes, false};
    note_name name = name_of(e->list, &e->digest);

    um_put_u64(&w, e->made);
    um_put_u64(&w, e->begin);
    um_put_bytes(&w, e->text.data, e->text.len);
    return um_store_put(h->store, name_slice(&name),
                        (umbel_slice){bytes, (size_t)(w.at - bytes)}, h->now,
                        ticket, err);
}

static umbel_status drop_note(um_house *h, const um_exception *e,
                              uint64_t *ticket, umbel_error *err)
{
    note_name name = name_of(e->list, &e->digest);

    UM_TRY(um_store_put(h->store, name_slice(&name), (umbel_slice){NULL, 0},
                        h->now, ticket, err));
    h->exceptions--;
    return UMBEL_OK;
}

/* --- questions ------------------------------------------------------------ */

/* Returns true while an epoch that held the counts is there. */
static bool is_live(const um_house *h, const um_exception *e)
{
    return um_list_oldest(um_store_list(h->store, e->list)) <= e->begin;
}

bool um_forget_find(const um_house *h, unsigned list, const umbel_digest *d,
                    um_exception *out)
{
    umbel_slice value;

    if (!h->exceptions)
        return false;
    note_name name = name_of(list, d);
    return um_store_get(h->store, name_slice(&name), &value) &&
           read_note(name_slice(&name), value, out) && is_live(h, out);
}

bool um_forgotten(const um_house *h, unsigned list, const umbel_digest *d)
{
    um_exception e;

    return um_forget_find(h, list, d, &e);
}

static bool next_exception(const um_house *h, size_t *at, um_exception *out)
{
    umbel_slice name, value;

    while (um_store_next_note(h->store, at, &name, &value))
        if (read_note(name, value, out))
            return true;
    return false;
}

bool um_forget_next(const um_house *h, size_t *at, um_exception *out)
{
    while (next_exception(h, at, out))
        if (is_live(h, out))
            return true;
    return false;
}

/* --- changes -------------------------------------------------------------- */

static umbel_digest digest_of(const um_house *h, const char *text)
{
    umbel_slice key = {text, strlen(text)};
    umbel_digest d;

    um_store_digest(h->store, &key, 1, &d);
    return d;
}

/* Finds the begin of the newest epoch that has a count; false: none has. */
static bool newest_count(const um_house *h, unsigned list,
                         const umbel_digest *d, uint64_t *begin)
{
    const um_list *l = um_store_list(h->store, list);
    uint64_t count[UM_LIST_MAX_EPOCHS];
    unsigned n = um_list_count_epochs(l, d, count);
    um_list_stats stats;

    um_list_stats_get(l, &stats);
    for (unsigned i = 0; i < n; i++)
        if (count[i]) {
            *begin = stats.epoch[i].begin;
            return true;
        }
    return false;
}

static umbel_status forget_in(um_house *h, um_exception *e, uint64_t *ticket,
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
    UM_TRY(write_note(h, e, ticket, err));
    h->exceptions += !known;
    return UMBEL_OK;
}

static umbel_status forget_where(um_house *h, const char *text, bool revoked,
                                 size_t *lists, uint64_t *ticket,
                                 umbel_error *err)
{
    um_exception e = {.digest = digest_of(h, text),
                      .made = h->now,
                      .text = {text, strlen(text)}};

    *lists = 0;
    for (; um_front_list(e.list); e.list++)
        if ((!revoked || um_front_list_revokes(e.list)) &&
            newest_count(h, e.list, &e.digest, &e.begin)) {
            UM_TRY(forget_in(h, &e, ticket, err));
            ++*lists;
        }
    if (*lists)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN, "no list has a count of %s", text);
}

umbel_status um_forget(um_house *h, const char *text, size_t *lists,
                       uint64_t *ticket, umbel_error *err)
{
    return forget_where(h, text, false, lists, ticket, err);
}

umbel_status um_forget_revoked(um_house *h, const char *text, size_t *lists,
                               uint64_t *ticket, umbel_error *err)
{
    return forget_where(h, text, true, lists, ticket, err);
}

umbel_status um_forget_undo(um_house *h, const char *text, size_t *lists,
                            uint64_t *ticket, umbel_error *err)
{
    umbel_digest d = digest_of(h, text);
    um_exception e = {.list = 0};

    *lists = 0;
    for (unsigned i = 0; um_front_list(i); i++)
        if (um_forget_find(h, i, &d, &e)) {
            UM_TRY(drop_note(h, &e, ticket, err));
            ++*lists;
        }
    if (*lists)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN, "%s is not forgotten", text);
}

/* --- upkeep --------------------------------------------------------------- */

void um_forget_open(um_house *h)
{
    um_exception e;

    h->exceptions = 0;
    for (size_t at = 0; next_exception(h, &at, &e);)
        h->exceptions++;
    um_forget_tick(h);
}

/* Changes whenever an epoch goes. */
static uint64_t oldest_epochs(const um_house *h)
{
    uint64_t sum = 1;

    for (unsigned i = 0; um_front_list(i); i++)
        sum += um_list_oldest(um_store_list(h->store, i));
    return sum;
}

void um_forget_tick(um_house *h)
{
    um_exception e, over[SWEEP] = {{.list = 0}};
    uint64_t oldest = oldest_epochs(h), ticket;
    size_t n = 0;

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

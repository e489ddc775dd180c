/*
 * shared.c - accounts in the logs of all servers, sorted by name.
 */

#include "clearinghouse/protocols/razor/internal.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "clearinghouse/peering/peers.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIXED_LEN = 9,
    MAX_LEN = FIXED_LEN + UM_RAZOR_NAME + UM_RAZOR_PASSWORD,
    SLICE = 64 /* entries signed per call */
};

/* An account in a log; the texts belong to the sync engine. */
typedef struct shared_account {
    uint64_t made;
    umbel_slice name, password;
    const uint8_t *origin;
    bool own;
    bool logged; /* in our current log */
} shared_account;

struct um_razor_shared {
    const umbel_sync *machine; /* the engine that they were read from */
    uint64_t changes;
    shared_account *item; /* sorted by name, the valid one first */
    size_t n;
    uint64_t incarnation; /* whose log has all our accounts; 0 if none */
};

/* --- entries -------------------------------------------------------------- */

umbel_status um_razor_shared_append(const um_environment *env, umbel_slice name,
                                    umbel_slice password, uint64_t *ticket,
                                    umbel_error *err)
{
    uint8_t body[MAX_LEN], len = (uint8_t)name.len;
    um_writer w = {body, body + sizeof body, false};

    um_write_u64(&w, env->clock->now);
    um_write_bytes(&w, &len, 1);
    um_write_bytes(&w, name.data, name.len);
    um_write_bytes(&w, password.data, password.len);
    if (w.bad)
        return um_fail(err, UMBEL_E_RANGE, "a name or password is too long");
    return um_peers_append(env->peers, UM_LOG_RAZOR_ACCOUNT,
                           (umbel_slice){body, (size_t)(w.at - body)}, ticket,
                           err);
}

/* Parses an entry; false if it is malformed, as other servers may write
 * anything. */
static bool read_account(const umbel_sync_entry *from, shared_account *out)
{
    um_reader r = {from->body.data,
                   (const uint8_t *)from->body.data + from->body.len, false};
    uint8_t len = 0;

    if (from->type != UM_LOG_RAZOR_ACCOUNT)
        return false;
    *out = (shared_account){.origin = from->origin};
    out->made = um_get_u64(&r);
    um_get_bytes(&r, &len, 1);
    if (r.bad || len > (size_t)(r.end - r.at))
        return false;
    out->name = (umbel_slice){r.at, len};
    out->password = (umbel_slice){r.at + len, (size_t)(r.end - r.at) - len};
    return um_razor_is_name(out->name) && um_razor_is_name(out->password) &&
           out->password.len <= UM_RAZOR_PASSWORD;
}

/* --- the set -------------------------------------------------------------- */

static int compare_names(umbel_slice a, umbel_slice b)
{
    int bytes = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

    return bytes ? bytes : (a.len > b.len) - (a.len < b.len);
}

static int compare_accounts(const void *a, const void *b)
{
    const shared_account *x = a, *y = b;
    int names = compare_names(x->name, y->name);

    if (names)
        return names;
    if (x->made != y->made)
        return x->made < y->made ? -1 : 1;
    return memcmp(x->origin, y->origin, UMBEL_ORIGIN_LEN);
}

static bool add_account(um_razor_shared *s, size_t *cap,
                        const shared_account *a)
{
    if (!um_array_reserve(&s->item, cap, s->n + 1, sizeof *s->item))
        return false;
    s->item[s->n++] = *a;
    return true;
}

static void forget_all(um_razor_shared *s)
{
    free(s->item);
    s->item = NULL;
    s->n = 0;
    s->machine = NULL;
}

/* Reads all accounts; false without memory. A partial set could not tell who
 * has no account. */
static bool read_all(um_razor_shared *s)
{
    const uint8_t *ours = umbel_sync_origin(s->machine);
    umbel_sync_entry entry;
    shared_account a;
    size_t cap = 0;

    for (size_t at = 0; umbel_sync_next_entry(s->machine, &at, &entry);) {
        if (!read_account(&entry, &a))
            continue;
        a.own = ours && memcmp(a.origin, ours, UMBEL_ORIGIN_LEN) == 0;
        a.logged =
            a.own && entry.incarnation == umbel_sync_incarnation(s->machine);
        if (!add_account(s, &cap, &a))
            return false;
    }
    if (s->n)
        qsort(s->item, s->n, sizeof *s->item, compare_accounts);
    return true;
}

/* Updates the set if the logs have changed; false without peers or memory. */
static bool read_present(um_razor_shared *s, const um_environment *env)
{
    if (!s || !um_peers_machine(env->peers))
        return false;
    if (s->machine == um_peers_machine(env->peers) &&
        s->changes == umbel_sync_log_changes(um_peers_machine(env->peers)))
        return true;
    forget_all(s);
    s->machine = um_peers_machine(env->peers);
    s->changes = umbel_sync_log_changes(um_peers_machine(env->peers));
    if (read_all(s))
        return true;
    forget_all(s);
    return false;
}

/* Returns the index of the first account with this name or a larger one. */
static size_t first_of(const um_razor_shared *s, umbel_slice name)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_names(s->item[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_named(const um_razor_shared *s, size_t i, umbel_slice name)
{
    return i < s->n && compare_names(s->item[i].name, name) == 0;
}

bool um_razor_shared_find(um_razor_shared *s, const um_environment *env,
                          umbel_slice name, umbel_slice *password)
{
    if (!read_present(s, env))
        return false;
    size_t i = first_of(s, name);
    if (!is_named(s, i, name))
        return false;
    *password = s->item[i].password;
    return true;
}

size_t um_razor_shared_count(um_razor_shared *s, const um_environment *env)
{
    size_t n = 0;

    if (!read_present(s, env))
        return 0;
    for (size_t i = 0; i < s->n; i++)
        n += !s->item[i].own &&
             (i == 0 || compare_names(s->item[i - 1].name, s->item[i].name));
    return n;
}

/* --- our own -------------------------------------------------------------- */

static bool is_logged(const um_razor_shared *s, umbel_slice name)
{
    for (size_t i = first_of(s, name); is_named(s, i, name); i++)
        if (s->item[i].logged)
            return true;
    return false;
}

/* Appends up to SLICE of our accounts that the log lacks. They are collected
 * first, because appending changes the log, and the set would be rebuilt each
 * time. */
static umbel_status append_some(um_razor_shared *s, const um_environment *env,
                                size_t *found, umbel_error *err)
{
    umbel_slice name, password, kept[SLICE][2];
    char room[SLICE][UM_RAZOR_NAME + UM_RAZOR_PASSWORD];
    size_t n = 0;
    uint64_t ticket;

    for (size_t at = 0; n < SLICE && um_razor_account_next(env->store, &at,
                                                           &name, &password);) {
        if (is_logged(s, name))
            continue;
        memcpy(room[n], name.data, name.len);
        memcpy(room[n] + name.len, password.data, password.len);
        kept[n][0] = (umbel_slice){room[n], name.len};
        kept[n][1] = (umbel_slice){room[n] + name.len, password.len};
        n++;
    }
    *found = n;
    for (size_t i = 0; i < n; i++)
        UM_TRY(
            um_razor_shared_append(env, kept[i][0], kept[i][1], &ticket, err));
    return UMBEL_OK;
}

umbel_status um_razor_shared_publish(um_razor_shared *s,
                                     const um_environment *env,
                                     umbel_error *err)
{
    size_t lacking;

    if (!um_peers_machine(env->peers) ||
        s->incarnation == umbel_sync_incarnation(um_peers_machine(env->peers)))
        return UMBEL_OK;
    if (!read_present(s, env))
        return um_no_memory(err, sizeof *s->item);
    UM_TRY(append_some(s, env, &lacking, err));
    if (!lacking)
        s->incarnation = umbel_sync_incarnation(um_peers_machine(env->peers));
    return UMBEL_OK;
}

void um_razor_shared_again(um_razor_shared *s)
{
    s->incarnation = 0;
}

/* --- memory --------------------------------------------------------------- */

um_razor_shared *um_razor_shared_create(void)
{
    return calloc(1, sizeof(um_razor_shared));
}

void um_razor_shared_free(um_razor_shared *s)
{
    if (s)
        free(s->item);
    free(s);
}

/*
 * fuzzy_mails.c - mails of rspamd's fuzzy storage: combines the records of all
 * servers, and writes and deletes mails.
 *
 * A stamp is a time in seconds. It is moved past the stamp of a known record
 * over which the change must win: a write over a deletion, a flag over another
 * flag. So the latest write wins on every server, as far as clocks and messages
 * allow.
 */
#include "clearinghouse/lists/fuzzy_mails.h"

#include "clearinghouse/lists/internal.h"
#include "clearinghouse/runtime/digest_text.h"

#include <stdio.h>
#include <string.h>

enum {
    FOUND = 128, /* records of one mail that are used, at most: the time grows
                    with the square */
    SKEW = 3600  /* seconds that the clock of a peer may be ahead */
};

typedef struct found {
    const uint8_t *origin;
    um_near_record record;
    bool live;   /* written, and not deleted since */
    bool first;  /* the first live one of its server with that flag */
    bool counts; /* live, and enough servers have its flag */
} found;

void um_fuzzy_look(um_fuzzy_view *v, const um_lists *l, unsigned list)
{
    const um_list *own = um_store_list(l->store, list);
    umbel_sync_replica c;

    v->lists = l;
    v->n = 0;
    for (unsigned i = 0; i < um_list_epochs(own); i++)
        v->source[v->n++].filter = um_list_filter(own, i);
    v->own = v->n;
    for (size_t i = 0; i < v->n; i++)
        v->source[i].origin = NULL;
    for (size_t at = 0;
         v->n < UM_FUZZY_SOURCES && um_lists_next_replica(l, list, &at, &c);)
        if (um_is_near(c.filter))
            v->source[v->n++] = (struct um_fuzzy_source){c.filter, c.origin};
}

/* Returns true if a peer's stamp is too far in the future: it would win over
 * everything written until then. */
static bool is_ahead(const um_fuzzy_view *v, const found *f)
{
    return f->origin && f->record.stamp > v->lists->clock->now + SKEW;
}

static size_t find_all(const um_fuzzy_view *v, const umbel_digest *d,
                       const uint8_t *name, found out[FOUND])
{
    size_t n = 0;

    for (size_t i = 0; i < v->n && n < FOUND; i++)
        if (um_near_find(v->source[i].filter, d, name, &out[n].record)) {
            out[n].origin = v->source[i].origin;
            n += !is_ahead(v, &out[n]);
        }
    return n;
}

static bool same_origin(const uint8_t *a, const uint8_t *b)
{
    return a == b || (a && b && memcmp(a, b, UMBEL_ORIGIN_LEN) == 0);
}

/* Returns the stamp of record i if that is the latest deletion by its server,
 * otherwise 0. */
static uint32_t last_deletion(const found *f, size_t n, size_t i)
{
    for (size_t k = 0; f[i].record.gone && k < n; k++)
        if (k != i && f[k].record.gone &&
            same_origin(f[k].origin, f[i].origin) &&
            (f[k].record.stamp > f[i].record.stamp ||
             (k < i && f[k].record.stamp == f[i].record.stamp)))
            return 0;
    return f[i].record.gone ? f[i].record.stamp : 0;
}

/*
 * Returns the stamp up to which the mail is deleted, or 0: the quorum-th latest
 * of the servers' last deletions.
 */
static uint32_t deletion_of(const found *f, size_t n, uint64_t quorum)
{
    uint32_t last[FOUND];
    uint64_t servers = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t stamp = last_deletion(f, n, i);
        size_t at = servers;
        if (!stamp)
            continue;
        for (; at && last[at - 1] < stamp; at--)
            last[at] = last[at - 1];
        last[at] = stamp;
        servers++;
    }
    return quorum && quorum <= servers ? last[quorum - 1] : 0;
}

/* Returns true if a live record is the first of its server with that flag. */
static bool is_first(const found *f, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (f[k].live && f[k].record.flag == f[i].record.flag &&
            same_origin(f[k].origin, f[i].origin))
            return false;
    return f[i].live;
}

static bool has_quorum(const found *f, size_t n, uint8_t flag, uint64_t quorum)
{
    uint64_t servers = 0;

    for (size_t i = 0; i < n && servers < quorum; i++)
        servers += f[i].record.flag == flag && f[i].first;
    return servers >= quorum;
}

/* Marks the records that count. A flag that too few servers have neither hides
 * nor changes another one. If no flag has a quorum, all count, but the mail is
 * not a hit. */
static void find_counting(found *f, size_t n, uint64_t quorum, um_fuzzy_mail *m)
{
    bool some = false;

    for (size_t i = 0; i < n; i++) {
        f[i].live = !f[i].record.gone && f[i].record.stamp > m->deleted;
        f[i].first = is_first(f, i);
        m->written |= f[i].live;
    }
    for (size_t i = 0; i < n; i++) {
        f[i].counts = f[i].live && has_quorum(f, n, f[i].record.flag, quorum);
        some |= f[i].counts;
    }
    for (size_t i = 0; i < n && !some; i++)
        f[i].counts = f[i].live;
}

static void find_flag(const found *f, size_t n, um_fuzzy_mail *m)
{
    for (size_t i = 0; i < n; i++) {
        if (f[i].record.stamp > m->latest)
            m->latest = f[i].record.stamp;
        if (f[i].counts && f[i].record.stamp > m->stamp) {
            m->stamp = f[i].record.stamp;
            m->flag = f[i].record.flag;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (f[i].counts && f[i].record.flag != m->flag &&
            f[i].record.stamp > m->other)
            m->other = f[i].record.stamp;
}

static int64_t value_of(const found *f, uint64_t cap)
{
    int64_t value = f->record.value,
            most = cap > INT32_MAX ? INT32_MAX : (int64_t)cap;

    if (!f->origin || !cap)
        return value;
    return value > most ? most : value < -most ? -most : value;
}

static void sum_values(const found *f, size_t n, const um_peers_settings *s,
                       um_fuzzy_mail *m)
{
    int64_t sum = 0;
    uint64_t servers = 0;

    for (size_t i = 0; i < n; i++) {
        bool counts = f[i].counts && f[i].record.flag == m->flag &&
                      f[i].record.stamp > m->other;
        if (!counts)
            continue;
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= f[k].counts && f[k].record.flag == m->flag &&
                     f[k].record.stamp > m->other &&
                     same_origin(f[k].origin, f[i].origin);
        servers += !again;
        sum += value_of(&f[i], s->origin_cap);
    }
    m->value = sum > INT32_MAX   ? INT32_MAX
               : sum < INT32_MIN ? INT32_MIN
                                 : (int32_t)sum;
    m->there = servers >= s->quorum;
}

void um_fuzzy_ask(const um_fuzzy_view *v, const umbel_digest *d,
                  const uint8_t *name, um_fuzzy_mail *out)
{
    const um_peers_settings *s = &v->lists->config->peers;
    bool alone = !v->lists->machine;
    um_peers_settings none = {.quorum = 1, .revoke_quorum = 1};
    found f[FOUND];
    size_t n = find_all(v, d, name, f);

    *out = (um_fuzzy_mail){0};
    if (!n)
        return;
    if (alone)
        s = &none;
    out->deleted = deletion_of(f, n, s->revoke_quorum);
    find_counting(f, n, s->quorum, out);
    find_flag(f, n, out);
    if (out->written)
        sum_values(f, n, s, out);
}

umbel_digest um_fuzzy_digest(const um_lists *l, const uint8_t *name)
{
    char text[UM_DIGEST_TEXT];
    umbel_slice key = um_fuzzy_print_name(name, text);
    umbel_digest d;

    um_store_digest(l->store, &key, 1, &d);
    return d;
}

/* --- changes -------------------------------------------------------------- */

void um_fuzzy_secrets(const um_lists *l, uint64_t out[UM_NEAR_SHINGLES])
{
    for (unsigned i = 0; i < UM_NEAR_SHINGLES; i++) {
        char text[32];
        int len = snprintf(text, sizeof text, "fuzzy position %u", i);
        umbel_slice key = {text, (size_t)len};
        umbel_digest d;

        um_store_digest(l->store, &key, 1, &d);
        out[i] = d.lo;
    }
}

bool um_fuzzy_is_never(const um_lists *l, unsigned list, const umbel_digest *d,
                       const uint8_t *name)
{
    char text[UM_DIGEST_TEXT];

    if (!um_forget_none(l) && um_forgotten(l, list, d))
        return true;
    if (!um_welcome_has(l->welcome, UM_WELCOME_DIGEST))
        return false;
    return um_lists_welcomes(l, um_fuzzy_print_name(name, text));
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Returns the stamp of a change: the time of an imported mail, but never later
 * than now. */
static uint32_t stamp_of(const um_lists *l, const um_fuzzy_change *c)
{
    return c->stamp && c->stamp < l->clock->now ? c->stamp
                                                : (uint32_t)l->clock->now;
}

/* Returns true if an imported mail is older than the stored one, which then
 * wins. */
static bool is_superseded(const um_fuzzy_change *c, const um_fuzzy_mail *m)
{
    return c->stamp &&
           (c->stamp <= m->deleted ||
            (m->written && m->flag != c->flag && c->stamp <= m->stamp));
}

/* Makes the stamp of a write later than a deletion, and than any write with
 * another flag. */
static void stamp_write(um_near_write *w, const um_fuzzy_mail *m)
{
    uint32_t over = m->deleted;

    if (m->written)
        over = later(over, m->flag != w->flag ? m->stamp : m->other);
    w->stamp = later(w->stamp, m->written && m->flag == w->flag ? m->stamp : 0);
    if (over && w->stamp <= over)
        w->stamp = over < UINT32_MAX ? over + 1 : over;
}

/* Returns true if the mail's record in our own newest epoch no longer counts:
 * it is not later than a deletion, or than a write with another flag. */
static bool is_renewed(const um_list *own, const um_near_write *w,
                       const um_fuzzy_mail *m)
{
    uint32_t over = later(
        m->deleted, m->written && m->flag != w->flag ? m->stamp : m->other);
    um_near_record r;

    return over &&
           um_near_find(um_list_mail_filter(own, w), &w->digest, w->name, &r) &&
           r.stamp <= over;
}

umbel_status um_fuzzy_write(um_lists *l, unsigned list, um_fuzzy_view *v,
                            const um_fuzzy_change *c, uint64_t *ticket)
{
    um_near_write w = {.digest = um_fuzzy_digest(l, c->name),
                       .flag = c->flag,
                       .gone = c->gone,
                       .amount = c->amount,
                       .stamp = stamp_of(l, c),
                       .has_shingles = c->shingle && !c->gone};
    um_fuzzy_mail m;

    *ticket = 0;
    if (um_store_failure(l->store))
        return UMBEL_E_IO;
    memcpy(w.name, c->name, sizeof w.name);
    um_fuzzy_look(v, l, list);
    um_fuzzy_ask(v, &w.digest, w.name, &m);
    if (c->gone && !m.written)
        return UMBEL_OK;
    if (!c->gone &&
        (is_superseded(c, &m) || um_fuzzy_is_never(l, list, &w.digest, w.name)))
        return UMBEL_OK;
    if (c->shingle && w.has_shingles)
        memcpy(w.shingle, c->shingle, sizeof w.shingle);
    if (c->gone) {
        w.stamp = later(w.stamp, m.latest);
        w.amount = 0;
    } else {
        stamp_write(&w, &m);
        w.renewed = is_renewed(um_store_list(l->store, list), &w, &m);
    }
    umbel_status status =
        um_store_write_mail(l->store, list, &w, l->clock->now, ticket, NULL);
    um_fuzzy_look(v, l, list);
    return status;
}

/*
 * fuzzy_write.c - mails that are written and deleted.
 *
 * Stamps are seconds, moved on where a change has to win over one that a server
 * knows already: a write over a deletion, a flag over another one. So what came
 * last counts on every server, as far as clocks and messages allow.
 */
#include "clearinghouse/lists/forget.h"
#include "clearinghouse/protocols/fuzzy/row.h"

#include "clearinghouse/runtime/digest_text.h"

#include <string.h>

bool um_fuzzy_is_never(const um_server *h, unsigned list, const umbel_digest *d,
                       const uint8_t *name)
{
    char text[UM_DIGEST_TEXT];

    if (!um_forget_none(h) && um_forgotten(h, list, d))
        return true;
    if (!um_welcome_has(h->welcome, UM_WELCOME_DIGEST))
        return false;
    umbel_slice digest = um_fuzzy_print_name(name, text);
    um_welcome_mail mail = {.digest = &digest, .ndigests = 1};
    return um_welcome_match(h->welcome, &mail, NULL);
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* A file that is imported may have any time; none is later than now. */
static uint32_t stamp_of(const um_server *h, const um_fuzzy_change *c)
{
    return c->stamp && c->stamp < h->now ? c->stamp : (uint32_t)h->now;
}

/* What is imported does not win over what came later. */
static bool is_superseded(const um_fuzzy_change *c, const um_fuzzy_mail *m)
{
    return c->stamp &&
           (c->stamp <= m->deleted ||
            (m->written && m->flag != c->flag && c->stamp <= m->stamp));
}

/* A new write is later than a deletion, and than what has another flag. */
static void stamp_write(um_near_write *w, const um_fuzzy_mail *m)
{
    uint32_t over = m->deleted;

    if (m->written)
        over = later(over, m->flag != w->flag ? m->stamp : m->other);
    w->stamp = later(w->stamp, m->written && m->flag == w->flag ? m->stamp : 0);
    if (over && w->stamp <= over)
        w->stamp = over < UINT32_MAX ? over + 1 : over;
}

/* What our own newest epoch has of it does not count any more, if it is not
 * later than that. */
static bool is_renewed(const um_fuzzy_view *v, const um_near_write *w,
                       const um_fuzzy_mail *m)
{
    uint32_t over = later(
        m->deleted, m->written && m->flag != w->flag ? m->stamp : m->other);
    um_near_record r;

    return over && um_near_find(v->source[0].filter, &w->digest, w->name, &r) &&
           r.stamp <= over;
}

static um_fuzzy_outcome store(um_server *h, unsigned list,
                              const um_near_write *w, uint64_t *ticket)
{
    umbel_status status =
        um_store_write_mail(h->store, list, w, h->now, ticket, NULL);

    return status == UMBEL_OK       ? UM_FUZZY_OK
           : status == UMBEL_E_FULL ? UM_FUZZY_LIST_FULL
                                    : UM_FUZZY_NOT_STORED;
}

um_fuzzy_outcome um_fuzzy_write(um_server *h, unsigned list, um_fuzzy_view *v,
                                const um_fuzzy_change *c, uint64_t *ticket)
{
    um_near_write w = {.digest = um_fuzzy_digest(h, c->name),
                       .flag = c->flag,
                       .gone = c->gone,
                       .amount = c->amount,
                       .stamp = stamp_of(h, c),
                       .has_shingles = c->shingle && !c->gone};
    um_fuzzy_mail m;

    *ticket = 0;
    if (um_store_failure(h->store))
        return UM_FUZZY_NOT_STORED;
    memcpy(w.name, c->name, sizeof w.name);
    um_fuzzy_look(v, h, list);
    um_fuzzy_ask(v, &w.digest, w.name, &m);
    if (c->gone && !m.written)
        return UM_FUZZY_OK;
    if (!c->gone &&
        (is_superseded(c, &m) || um_fuzzy_is_never(h, list, &w.digest, w.name)))
        return UM_FUZZY_OK;
    if (w.has_shingles)
        memcpy(w.shingle, c->shingle, sizeof w.shingle);
    if (c->gone) {
        w.stamp = later(w.stamp, m.latest);
        w.amount = 0;
    } else {
        stamp_write(&w, &m);
        w.renewed = is_renewed(v, &w, &m);
    }
    um_fuzzy_outcome outcome = store(h, list, &w, ticket);
    um_fuzzy_look(v, h, list);
    return outcome;
}

/*
 * pyzor_count.c - reports: what is counted, and what is not.
 *
 * Not counted, but answered like the others: the digest of an empty text, one
 * that is welcome or forgotten, a signed request that comes again, reports of
 * accounts with weight 0, and with once_per_reporter a digest that the reporter
 * has reported lately.
 */
#include "base/hex.h"
#include "clearinghouse/lists/forget.h"
#include "clearinghouse/protocols/pyzor/row.h"

#include <stdlib.h>
#include <string.h>

/* The mark of a signed request: from its signature, never 0. */
static uint64_t mark_of(const um_pyzor_job *job)
{
    uint64_t mark = 0;

    if (!job->judged.is_signed)
        return 0;
    um_hex_number(job->request.sig.data, &mark);
    return mark | 1;
}

bool um_pyzor_is_never(const um_pyzor_service *f, umbel_slice digest)
{
    um_welcome_mail mail = {.digest = &digest, .ndigests = 1};

    return um_pyzor_is_empty_text(digest) ||
           um_welcome_match(f->house->welcome, &mail, NULL);
}

/* Digests of one request on their way into the store. */
typedef struct counting {
    um_pyzor_service *front;
    um_reporter reporter;
    uint32_t amount;
    uint64_t mark; /* goes with the first entry */
    umbel_slice key[UM_STORE_BATCH];
    um_entry entry[UM_STORE_BATCH];
    uint64_t ticket;
    bool full; /* a digest was left out: the list has no room for it */
} counting;

/* Reads up to a batch of digests; returns how many. */
static size_t next_keys(counting *c, um_pyzor_walk *w)
{
    size_t n = 0;

    while (n < UM_STORE_BATCH && um_pyzor_next_digest(w, &c->key[n]))
        if (!um_pyzor_is_never(c->front, c->key[n]))
            n++;
    return n;
}

/* Returns true if once_per_reporter leaves out a digest: it was reported
 * before, or is among the n entries of this request. */
static bool is_repeated(const counting *c, const umbel_digest *d, size_t n)
{
    if (!c->front->once)
        return false;
    for (size_t i = 0; i < n; i++)
        if (c->entry[i].digest.lo == d->lo && c->entry[i].digest.hi == d->hi)
            return true;
    return um_pyzor_once_seen(c->front->once, &c->reporter, d);
}

/* Makes entries of those digests that count; returns how many. */
static size_t create_entries(counting *c, size_t n)
{
    um_server *h = c->front->house;
    umbel_digest digest[UM_STORE_BATCH];
    size_t made = 0;

    um_store_digest(h->store, c->key, n, digest);
    for (size_t i = 0; i < n; i++) {
        if (is_repeated(c, &digest[i], made) ||
            um_forgotten(h, c->reporter.list, &digest[i]))
            continue;
        if (um_store_accepts(h->store, c->reporter.list, &digest[i], h->now))
            c->entry[made++] = (um_entry){.list = c->reporter.list,
                                          .digest = digest[i],
                                          .amount = c->amount};
        else
            c->full = true;
    }
    return made;
}

static umbel_status append_entries(counting *c, size_t n)
{
    um_server *h = c->front->house;

    c->entry[0].request_id = c->mark;
    umbel_status status =
        um_store_add(h->store, c->entry, n, h->now, &c->ticket, NULL);
    if (status != UMBEL_OK)
        return status;
    c->mark = 0;
    for (size_t i = 0; c->front->once && i < n; i++)
        um_pyzor_once_add(c->front->once, &c->reporter, &c->entry[i].digest);
    return UMBEL_OK;
}

static um_pyzor_outcome count_all(counting *c, umbel_slice text)
{
    um_pyzor_walk w = um_pyzor_begin(text);
    size_t n;

    while ((n = next_keys(c, &w))) {
        n = create_entries(c, n);
        if (n && append_entries(c, n) != UMBEL_OK)
            return UM_PYZOR_NOT_STORED;
    }
    return c->full ? UM_PYZOR_LIST_FULL : UM_PYZOR_OK;
}

um_pyzor_outcome um_pyzor_count(um_pyzor_service *f, const um_pyzor_job *job,
                                uint64_t *ticket)
{
    um_server *h = f->house;
    const um_pyzor_account *account = job->judged.account;
    counting c = {.front = f,
                  .amount = account->weight,
                  .mark = mark_of(job),
                  .reporter = {.list = f->list}};

    *ticket = 0;
    if (um_store_failure(h->store))
        return UM_PYZOR_NOT_STORED;
    if (c.amount == 0)
        return UM_PYZOR_OK;
    if (c.mark && um_store_is_replay(h->store, c.mark, h->now)) {
        *ticket = f->last_ticket; /* the first one may still wait */
        return UM_PYZOR_OK;
    }
    if (job->judged.op == UM_PYZOR_WHITELIST)
        c.reporter.list += UM_PYZOR_WHITELISTED;
    if (job->judged.is_signed)
        c.reporter.account = account->name;
    else
        c.reporter.network = um_limits_network(h->limits, job->datagram->from);
    um_pyzor_outcome outcome = count_all(&c, job->request.text);
    if (c.ticket)
        *ticket = f->last_ticket = c.ticket;
    return outcome;
}

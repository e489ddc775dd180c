/*
 * fuzzy_batch.c - a batch of datagrams: writes are noted, look-ups answered.
 */
#include "clearinghouse/protocols/fuzzy/row.h"

#include "base/bytes.h"

#include <string.h>

static void send_bytes(um_fuzzy_service *f, um_datagrams *to,
                       const um_address *client, unsigned op,
                       um_fuzzy_outcome outcome, const um_fuzzy_reply *r)
{
    um_fuzzy_print(r, um_datagrams_reserve(to));
    um_datagrams_append(to, client, UM_FUZZY_REPLY);
    um_protocol_count(f->stats, op, outcome);
}

/* Whoever is refused is told 403, as rspamd's own storage does, and nothing if
 * the request is none or a flood may have forged the sender. */
static bool is_told(um_fuzzy_outcome outcome)
{
    return outcome == UM_FUZZY_FORBIDDEN || outcome == UM_FUZZY_NOT_STORED ||
           outcome == UM_FUZZY_LIST_FULL;
}

static void refuse(um_fuzzy_service *f, um_datagrams *to,
                   const um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;
    const um_address *client = job->datagram->from;

    if (is_told(job->outcome))
        send_bytes(f, to, client, q->op, job->outcome,
                   &(um_fuzzy_reply){
                       .value = (int32_t)um_fuzzy_verdicts[job->outcome].code,
                       .flag = q->flag,
                       .tag = q->tag,
                       .digest = q->digest});
    else
        um_protocol_count(f->stats, q->op, job->outcome);
    um_server_log_refusal(f->house, &um_protocol_fuzzy, job->outcome, client,
                          NULL);
}

/* --- judging -------------------------------------------------------------- */

static bool may_write(const um_fuzzy_service *f, const um_address *client)
{
    um_network n = um_address_network(client, &(um_prefixes){32, 128});

    for (size_t i = 0; i < f->nwriters; i++)
        if (um_network_equal(um_network_mask(n, f->writer[i].bits),
                             f->writer[i].network))
            return true;
    return false;
}

static bool is_change(const um_fuzzy_request *q)
{
    return q->op == UM_FUZZY_WRITE || q->op == UM_FUZZY_DELETE;
}

static um_fuzzy_outcome judge(um_fuzzy_service *f, um_fuzzy_job *job)
{
    um_server *h = f->house;
    const um_datagram *d = job->datagram;

    job->request = (um_fuzzy_request){.op = UM_FUZZY_OTHER};
    if (!um_limits_consume(h->limits, d->from, UM_LIMIT_REQUESTS, 1,
                           um_server_ms(h)))
        return UM_FUZZY_RATE_LIMIT;
    if (d->cut)
        return UM_FUZZY_LONG;
    um_fuzzy_outcome outcome = um_fuzzy_parse(d->data, d->len, &job->request);
    if (outcome != UM_FUZZY_OK || !is_change(&job->request))
        return outcome;
    if (!may_write(f, d->from))
        return UM_FUZZY_FORBIDDEN;
    return um_limits_consume(h->limits, d->from, UM_LIMIT_REPORTS, 1,
                             um_server_ms(h))
               ? UM_FUZZY_OK
               : UM_FUZZY_RATE_LIMIT;
}

static void hash_shingles(const um_fuzzy_service *f, um_fuzzy_request *q)
{
    for (size_t i = 0; q->has_shingles && i < UM_NEAR_SHINGLES; i++)
        q->shingle[i] = um_near_shingle(q->shingle[i], f->secret[i]);
}

/* --- changes -------------------------------------------------------------- */

static void parse_change(um_fuzzy_service *f, um_datagrams *to,
                         um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;
    um_fuzzy_change c = {.name = q->digest,
                         .gone = q->op == UM_FUZZY_DELETE,
                         .flag = q->flag,
                         .amount = q->value,
                         .shingle = q->has_shingles ? q->shingle : NULL};
    um_fuzzy_reply r = {
        .flag = q->flag, .tag = q->tag, .probability = 1, .digest = q->digest};
    uint8_t note[UM_FUZZY_REPLY];
    uint64_t ticket = 0;

    job->outcome =
        um_pending_full(&f->net.pending)
            ? UM_FUZZY_NOT_STORED
            : um_fuzzy_write(f->house, f->list, &f->view, &c, &ticket);
    if (job->outcome != UM_FUZZY_OK) {
        refuse(f, to, job);
        return;
    }
    um_server_count_reports(f->house, &um_protocol_fuzzy, NULL,
                            job->datagram->from, 1);
    if (ticket <= um_store_committed(f->house->store)) {
        send_bytes(f, to, job->datagram->from, q->op, UM_FUZZY_OK, &r);
        return;
    }
    um_fuzzy_print(&r, note);
    um_pending_append(&f->net.pending,
                      &(um_answer){.to = to,
                                   .client = *job->datagram->from,
                                   .ticket = ticket,
                                   .op = q->op},
                      (umbel_slice){note, sizeof note});
}

/* A reply that waited, or that it cannot be stored. */
static void answer_one(um_fuzzy_service *f, const um_answer *a, bool stored)
{
    uint8_t *room = um_datagrams_reserve(a->to);
    um_writer w = {room, room + UM_FUZZY_REPLY, false};

    memcpy(room, a->note, UM_FUZZY_REPLY);
    if (!stored) {
        um_write_u32(&w, um_fuzzy_verdicts[UM_FUZZY_NOT_STORED].code);
        memset(room + 12, 0, 4); /* the probability */
    }
    um_datagrams_append(a->to, &a->client, UM_FUZZY_REPLY);
    um_protocol_count(f->stats, a->op,
                      stored ? UM_FUZZY_OK : UM_FUZZY_NOT_STORED);
}

void um_fuzzy_answer_pending(void *state)
{
    um_fuzzy_service *f = state;
    const um_answer *a;
    bool stored;

    while ((a = um_protocol_datagram_ready(&f->net, &stored))) {
        answer_one(f, a, stored);
        um_pending_drop(&f->net.pending);
    }
}

/* --- look-ups ------------------------------------------------------------- */

static bool is_hit(const um_fuzzy_service *f, const um_fuzzy_mail *m,
                   const umbel_digest *d, const uint8_t *name)
{
    return m->there && !um_fuzzy_is_never(f->house, f->list, d, name);
}

static void fill_hit(um_fuzzy_reply *r, const um_fuzzy_mail *m,
                     const uint8_t *name, unsigned shared)
{
    r->value = m->value;
    r->flag = m->flag;
    r->time = m->stamp;
    r->digest = name;
    r->probability = (float)shared / UM_NEAR_SHINGLES;
}

/* The mail of one filter that has most of the shingles; of all filters the one
 * with most, and of these the latest. */
static void search(const um_fuzzy_service *f, const um_fuzzy_request *q,
                   um_fuzzy_reply *r)
{
    unsigned most = 0;

    for (size_t i = 0; i < f->view.n; i++) {
        um_near_record found;
        um_fuzzy_mail m;
        unsigned shared =
            um_near_search(f->view.source[i].filter, q->shingle, &found);
        if (!shared || shared < most)
            continue;
        umbel_digest d = um_fuzzy_digest(f->house, found.name);
        um_fuzzy_ask(&f->view, &d, found.name, &m);
        if (!is_hit(f, &m, &d, found.name) ||
            (shared == most && m.stamp < r->time))
            continue;
        most = shared;
        fill_hit(r, &m, found.name, shared);
    }
}

static void check_mail(um_fuzzy_service *f, um_datagrams *to,
                       const um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;
    um_fuzzy_reply r = {.tag = q->tag, .digest = q->digest};
    um_fuzzy_mail m;

    um_fuzzy_ask(&f->view, &job->digest, q->digest, &m);
    if (is_hit(f, &m, &job->digest, q->digest))
        fill_hit(&r, &m, q->digest, UM_NEAR_SHINGLES);
    else if (q->has_shingles &&
             !um_fuzzy_is_never(f->house, f->list, &job->digest, q->digest))
        search(f, q, &r);
    f->stats->hits += r.probability > 0;
    send_bytes(f, to, job->datagram->from, q->op, UM_FUZZY_OK, &r);
}

/* Mails of this server; rspamd's storage has their number there, too. */
static uint32_t count_mails(const um_fuzzy_service *f)
{
    um_list_stats s;

    um_list_stats_get(um_store_list(f->house->store, f->list), &s);
    return s.digests < UINT32_MAX ? (uint32_t)s.digests : UINT32_MAX;
}

static void answer_plain(um_fuzzy_service *f, um_datagrams *to,
                         const um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;

    send_bytes(f, to, job->datagram->from, q->op, UM_FUZZY_OK,
               &(um_fuzzy_reply){.flag = q->op == UM_FUZZY_STAT ? count_mails(f)
                                                                : q->flag,
                                 .tag = q->tag,
                                 .probability = 1,
                                 .digest = q->digest});
}

/* --- the batch ------------------------------------------------------------ */

/* Begins to fetch what the look-ups of the batch will read. */
static void fetch(um_fuzzy_service *f, um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;

    job->digest = um_fuzzy_digest(f->house, q->digest);
    for (size_t i = 0; i < f->view.n; i++)
        um_near_fetch(f->view.source[i].filter, &job->digest,
                      q->has_shingles ? q->shingle : NULL);
}

static void parse_job(um_fuzzy_service *f, um_datagrams *to, um_fuzzy_job *job)
{
    if (job->outcome != UM_FUZZY_OK)
        refuse(f, to, job);
    else if (job->request.op == UM_FUZZY_CHECK)
        check_mail(f, to, job);
    else if (is_change(&job->request))
        parse_change(f, to, job);
    else
        answer_plain(f, to, job);
}

void um_fuzzy_take(void *ctx, const um_datagram *d, size_t n)
{
    const um_protocol_socket *s = ctx;
    um_fuzzy_service *f = s->owner;

    um_fuzzy_look(&f->view, f->house, f->list);
    for (size_t i = 0; i < n; i++) {
        um_fuzzy_job *job = &f->job[i];
        job->datagram = &d[i];
        job->outcome = judge(f, job);
        hash_shingles(f, &job->request);
        if (job->outcome == UM_FUZZY_OK && job->request.op == UM_FUZZY_CHECK)
            fetch(f, job);
    }
    for (size_t i = 0; i < n; i++)
        parse_job(f, s->datagrams, &f->job[i]);
}

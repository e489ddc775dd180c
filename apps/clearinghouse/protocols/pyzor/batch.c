/*
 * pyzor_batch.c - a batch of datagrams: judge all, count reports, then hash and
 * query all look-ups at once, so that their memory fetches overlap.
 */
#include "clearinghouse/lists/counts.h"
#include "clearinghouse/protocols/pyzor/row.h"

void um_pyzor_send(um_pyzor_service *f, um_datagrams *to,
                   const um_address *client, unsigned op,
                   um_pyzor_outcome outcome, const um_server_claim *claim,
                   um_pyzor_reply *r)
{
    uint8_t *room = um_datagrams_reserve(to);

    r->code = um_pyzor_verdicts[outcome].code;
    r->diag = um_pyzor_verdicts[outcome].diag;
    um_datagrams_append(to, client, um_pyzor_print(r, (char *)room));
    um_protocol_count(f->stats, op, outcome);
    if (outcome != UM_PYZOR_OK)
        um_server_log_refusal(f->house, &um_protocol_pyzor, outcome, client,
                              claim);
}

static um_server_claim claim_of(const um_pyzor_job *job)
{
    return (um_server_claim){job->request.op, job->request.user};
}

static void send_job(um_pyzor_service *f, um_datagrams *to,
                     const um_pyzor_job *job, um_pyzor_reply *r)
{
    um_server_claim claim = claim_of(job);

    r->thread = job->request.thread;
    um_pyzor_send(f, to, job->datagram->from, job->judged.op, job->outcome,
                  &claim, r);
}

/* --- judging -------------------------------------------------------------- */

static bool is_report(const um_pyzor_job *job)
{
    return job->outcome == UM_PYZOR_OK &&
           (job->judged.op == UM_PYZOR_REPORT ||
            job->judged.op == UM_PYZOR_WHITELIST);
}

static um_pyzor_outcome judge_datagram(um_pyzor_service *f, um_pyzor_job *job)
{
    um_server *h = f->house;
    const um_datagram *d = job->datagram;

    job->judged = (um_pyzor_judged){.op = UM_PYZOR_OPS};
    job->request = (um_pyzor_request){0};
    if (!um_limits_consume(h->limits, d->from, UM_LIMIT_REQUESTS, 1,
                           um_server_ms(h)))
        return UM_PYZOR_RATE_LIMIT;
    if (d->cut)
        return UM_PYZOR_TOO_LONG;
    um_pyzor_parse(d->data, d->len, &job->request);
    return um_pyzor_judge(&job->request, &f->accounts, h->now, &job->judged);
}

/* Reports have a limit of their own, by the digests they name. */
static void judge_job(um_pyzor_service *f, um_pyzor_job *job)
{
    um_server *h = f->house;

    job->outcome = judge_datagram(f, job);
    if (is_report(job) && job->request.ndigests &&
        !um_limits_consume(h->limits, job->datagram->from, UM_LIMIT_REPORTS,
                           job->request.ndigests, um_server_ms(h)))
        job->outcome = UM_PYZOR_RATE_LIMIT;
}

/* --- reports -------------------------------------------------------------- */

static void parse_report(um_pyzor_service *f, um_datagrams *to,
                         um_pyzor_job *job)
{
    um_pyzor_reply r = {0};
    uint64_t ticket = 0;

    job->outcome = um_pending_full(&f->net.pending)
                       ? UM_PYZOR_NOT_STORED
                       : um_pyzor_count(f, job, &ticket);
    if (job->outcome == UM_PYZOR_OK)
        um_server_count_reports(
            f->house, &um_protocol_pyzor,
            job->judged.is_signed ? job->judged.account->name : NULL,
            job->datagram->from, job->request.ndigests);
    if (job->outcome == UM_PYZOR_OK &&
        ticket > um_store_committed(f->house->store))
        um_pending_append(&f->net.pending,
                          &(um_answer){.to = to,
                                       .client = *job->datagram->from,
                                       .ticket = ticket,
                                       .op = job->judged.op},
                          job->request.thread);
    else
        send_job(f, to, job, &r);
}

void um_pyzor_answer_pending(void *state)
{
    um_pyzor_service *f = state;
    const um_answer *a;
    bool stored;

    while ((a = um_protocol_datagram_ready(&f->net, &stored))) {
        um_pyzor_reply r = {.thread = {a->note, a->note_len}};
        um_pyzor_send(f, a->to, &a->client, a->op,
                      stored ? UM_PYZOR_OK : UM_PYZOR_NOT_STORED, NULL, &r);
        um_pending_drop(&f->net.pending);
    }
}

/* --- look-ups ------------------------------------------------------------- */

/* Look-ups of a batch: counts[i] belongs to job[i]. */
typedef struct lookups {
    um_pyzor_job *job[UM_DATAGRAM_BATCH];
    umbel_slice key[UM_DATAGRAM_BATCH];
    umbel_digest digest[UM_DATAGRAM_BATCH];
    uint64_t count[2][UM_DATAGRAM_BATCH];
    size_t n;
} lookups;

static bool is_lookup(const um_pyzor_job *job)
{
    return job->outcome == UM_PYZOR_OK && job->request.ndigests &&
           (job->judged.op == UM_PYZOR_CHECK ||
            job->judged.op == UM_PYZOR_INFO);
}

static void query_all(const um_pyzor_service *f, lookups *l)
{
    const um_server *h = f->house;

    um_store_digest(h->store, l->key, l->n, l->digest);
    for (unsigned i = 0; i < 2; i++)
        um_server_fetch(h, f->list + i, l->digest, l->n);
    for (unsigned i = 0; i < 2; i++)
        um_server_count(h, f->list + i, l->digest, l->n, l->count[i]);
}

/* The times of the counts that the client is told. */
static um_pyzor_times times_of(const um_pyzor_service *f, const umbel_digest *d,
                               const um_pyzor_reply *r)
{
    const um_server *h = f->house;
    um_pyzor_times t = {0};

    if (r->count)
        um_server_times(h, f->list + UM_PYZOR_REPORTS, d, &t.entered,
                        &t.updated);
    if (r->wl_count)
        um_server_times(h, f->list + UM_PYZOR_WHITELISTED, d, &t.wl_entered,
                        &t.wl_updated);
    return t;
}

static void answer_lookup(um_pyzor_service *f, um_datagrams *to,
                          const lookups *l, size_t i)
{
    um_pyzor_reply r = {.body = UM_PYZOR_COUNTS};
    const um_pyzor_job *job = l->job[i];

    if (!um_pyzor_is_never(f, job->request.digest)) {
        r.count = l->count[UM_PYZOR_REPORTS][i];
        r.wl_count = l->count[UM_PYZOR_WHITELISTED][i];
    }
    if (job->judged.op == UM_PYZOR_INFO) {
        r.body = UM_PYZOR_TIMES_AND_COUNTS;
        r.times = times_of(f, &l->digest[i], &r);
    } else {
        f->stats->hits += r.count > 0;
    }
    send_job(f, to, job, &r);
}

/* Answers of servers would come back, and a flood may have forged senders. */
static bool is_silent(um_pyzor_outcome outcome)
{
    return outcome == UM_PYZOR_RATE_LIMIT || outcome == UM_PYZOR_ANSWER;
}

/* Ping, pong, look-ups without a digest, and refusals. */
static void answer_plain(um_pyzor_service *f, um_datagrams *to,
                         const um_pyzor_job *job)
{
    um_pyzor_reply r = {0};
    um_server_claim claim = claim_of(job);

    if (is_silent(job->outcome)) {
        um_protocol_count(f->stats, job->judged.op, job->outcome);
        um_server_log_refusal(f->house, &um_protocol_pyzor, job->outcome,
                              job->datagram->from, &claim);
        return;
    }
    if (job->outcome == UM_PYZOR_OK && job->judged.op == UM_PYZOR_PONG &&
        job->request.ndigests) {
        r.body = UM_PYZOR_COUNTS;
        r.count = INT64_MAX;
    }
    send_job(f, to, job, &r);
}

/* --- the batch ------------------------------------------------------------ */

void um_pyzor_take(void *ctx, const um_datagram *d, size_t n)
{
    const um_protocol_socket *s = ctx;
    um_pyzor_service *f = s->owner;
    lookups l = {.n = 0};

    for (size_t i = 0; i < n; i++) {
        um_pyzor_job *job = &f->job[i];
        job->datagram = &d[i];
        judge_job(f, job);
        if (is_report(job)) {
            parse_report(f, s->datagrams, job);
        } else if (is_lookup(job)) {
            l.key[l.n] = job->request.digest;
            l.job[l.n++] = job;
        } else {
            answer_plain(f, s->datagrams, job);
        }
    }
    query_all(f, &l);
    for (size_t i = 0; i < l.n; i++)
        answer_lookup(f, s->datagrams, &l, i);
}

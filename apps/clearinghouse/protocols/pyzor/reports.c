/*
 * reports.c - handles a batch of datagrams: verifies all, counts reports, then
 * hashes and queries all look-ups at once, so that their memory fetches
 * overlap.
 *
 * Some reports are answered like others, but not counted: of the digest of an
 * empty text, of welcome or forgotten digests, replayed signed requests, those
 * of accounts with weight 0, and with once_per_reporter digests that the
 * reporter has recently reported. Each report counts as often as the weight of
 * its account (set by load_accounts in protocol.c).
 */
#include "clearinghouse/protocols/pyzor/internal.h"

#include "base/hex.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"
#include "clearinghouse/runtime/digest_text.h"

#include <stdlib.h>
#include <string.h>

/* --- what is counted ------------------------------------------------------ */

/* Returns the mark of a signed request for the replay guard: from its
 * signature, never 0. 0 if it is not signed. */
static uint64_t mark_of(const um_pyzor_job *job)
{
    uint64_t mark = 0;

    if (!job->decision.is_signed)
        return 0;
    um_hex_number(job->request.sig.data, &mark);
    return mark | 1;
}

static bool is_never(const um_pyzor_service *f, umbel_slice digest)
{
    return um_digest_is_empty_text(digest) ||
           um_lists_welcomes(f->env->lists, digest);
}

/* The digests of one report, on their way into the store. */
typedef struct counting {
    um_pyzor_service *service;
    um_reporter reporter;
    uint32_t amount;
    uint64_t mark; /* stored with the first entry */
    umbel_slice key[UM_STORE_BATCH];
    um_entry entry[UM_STORE_BATCH];
    uint64_t ticket;
    uint16_t stranger;        /* um_entry.reporter */
    um_pyzor_outcome outcome; /* of the last digest that was left out */
} counting;

/* Reads up to a batch of digests; returns their number. */
static size_t next_keys(counting *c, um_pyzor_walk *w)
{
    size_t n = 0;

    while (n < UM_STORE_BATCH && um_pyzor_next_digest(w, &c->key[n]))
        if (!is_never(c->service, c->key[n]))
            n++;
    return n;
}

/* Returns true if once_per_reporter leaves out a digest: it was reported
 * before, or is among the n entries of this request. */
static bool is_repeated(const counting *c, const umbel_digest *d, size_t n)
{
    if (!c->service->once)
        return false;
    for (size_t i = 0; i < n; i++)
        if (c->entry[i].digest.lo == d->lo && c->entry[i].digest.hi == d->hi)
            return true;
    return um_duplicates_seen(c->service->once, &c->reporter, d);
}

static const um_pyzor_outcome outcomes[] = {
    [UM_ADMIT] = UM_PYZOR_OK,
    [UM_ADMIT_SHARED] = UM_PYZOR_OK,
    [UM_REFUSE_SHARE] = UM_PYZOR_SHARE_FULL,
    [UM_REFUSE_RATE] = UM_PYZOR_NEW_LIMIT,
    [UM_REFUSE_FULL] = UM_PYZOR_LIST_FULL};

/* Creates entries for the digests that count; returns their number. */
static size_t create_entries(counting *c, size_t n)
{
    const um_environment *env = c->service->env;
    umbel_digest digest[UM_STORE_BATCH];
    size_t made = 0;

    um_store_digest(env->store, c->key, n, digest);
    for (size_t i = 0; i < n; i++) {
        if (is_repeated(c, &digest[i], made) ||
            um_forgotten(env->lists, c->reporter.list, &digest[i]))
            continue;
        um_store_admission a = um_lists_admits(env->lists, c->reporter.list,
                                               &digest[i], c->stranger);
        if (outcomes[a] == UM_PYZOR_OK)
            c->entry[made++] = (um_entry){.list = c->reporter.list,
                                          .digest = digest[i],
                                          .amount = c->amount,
                                          .reporter = c->stranger};
        else
            c->outcome = outcomes[a];
    }
    return made;
}

static umbel_status append_entries(counting *c, size_t n)
{
    const um_environment *env = c->service->env;

    c->entry[0].request_id = c->mark;
    umbel_status status = um_store_add(env->store, c->entry, n, env->clock->now,
                                       &c->ticket, NULL);
    if (status != UMBEL_OK)
        return status;
    c->mark = 0;
    for (size_t i = 0; c->service->once && i < n; i++)
        um_duplicates_add(c->service->once, &c->reporter, &c->entry[i].digest);
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
    return c->outcome;
}

static um_pyzor_outcome count_report(um_pyzor_service *f,
                                     const um_pyzor_job *job, uint64_t *ticket)
{
    const um_environment *env = f->env;
    const um_pyzor_account *account = job->decision.account;
    counting c = {.service = f,
                  .amount = account->weight,
                  .mark = mark_of(job),
                  .reporter = {.list = UM_LIST_PYZOR_REPORTS}};

    *ticket = 0;
    if (um_store_failure(env->store))
        return UM_PYZOR_NOT_STORED;
    if (c.amount == 0)
        return UM_PYZOR_OK;
    if (c.mark && um_store_is_replay(env->store, c.mark, env->clock->now)) {
        *ticket = f->last_ticket; /* the first one may still be pending */
        return UM_PYZOR_OK;
    }
    if (job->decision.op == UM_PYZOR_WHITELIST)
        c.reporter.list = UM_LIST_PYZOR_WHITELIST;
    if (job->decision.is_signed) {
        c.reporter.account = account->name;
    } else {
        c.reporter.network =
            um_limits_network(env->limits, job->datagram->from);
        c.stranger = um_env_reporter(env, job->datagram->from);
    }
    um_pyzor_outcome outcome = count_all(&c, job->request.text);
    if (c.ticket)
        *ticket = f->last_ticket = c.ticket;
    return outcome;
}

/* --- replies -------------------------------------------------------------- */

static void send_reply(um_pyzor_service *f, um_datagrams *to,
                       const um_address *client, unsigned op,
                       um_pyzor_outcome outcome, const um_claim *claim,
                       um_pyzor_reply *r)
{
    uint8_t *room = um_datagrams_reserve(to);

    r->code = um_pyzor_verdicts[outcome].code;
    r->diag = um_pyzor_verdicts[outcome].diag;
    um_datagrams_append(to, client, um_pyzor_print(r, (char *)room));
    um_service_count(f->stats, op, outcome);
    if (outcome != UM_PYZOR_OK)
        um_service_log_refusal(f->stats, outcome, client, claim);
}

static um_claim claim_of(const um_pyzor_job *job)
{
    return (um_claim){job->request.op, job->request.user};
}

static void send_job(um_pyzor_service *f, um_datagrams *to,
                     const um_pyzor_job *job, um_pyzor_reply *r)
{
    um_claim claim = claim_of(job);

    r->thread = job->request.thread;
    send_reply(f, to, job->datagram->from, job->decision.op, job->outcome,
               &claim, r);
}

/* --- verdicts ------------------------------------------------------------- */

static bool is_report(const um_pyzor_job *job)
{
    return job->outcome == UM_PYZOR_OK &&
           (job->decision.op == UM_PYZOR_REPORT ||
            job->decision.op == UM_PYZOR_WHITELIST);
}

static um_pyzor_outcome judge_datagram(um_pyzor_service *f, um_pyzor_job *job)
{
    const um_environment *env = f->env;
    const um_datagram *d = job->datagram;

    job->decision = (um_pyzor_decision){.op = UM_PYZOR_OPS};
    job->request = (um_pyzor_request){0};
    if (!um_limits_consume(env->limits, d->from, UM_LIMIT_REQUESTS, 1,
                           um_clock_ms(env->clock)))
        return UM_PYZOR_RATE_LIMIT;
    if (d->cut)
        return UM_PYZOR_TOO_LONG;
    um_pyzor_parse(d->data, d->len, &job->request);
    return um_pyzor_decide(&job->request, &f->accounts, env->clock->now,
                           &job->decision);
}

/* Checks a request, and the limit on the digests that reports contain. */
static void judge_job(um_pyzor_service *f, um_pyzor_job *job)
{
    const um_environment *env = f->env;

    job->outcome = judge_datagram(f, job);
    if (is_report(job) && job->request.ndigests &&
        !um_limits_consume(env->limits, job->datagram->from, UM_LIMIT_REPORTS,
                           job->request.ndigests, um_clock_ms(env->clock)))
        job->outcome = UM_PYZOR_RATE_LIMIT;
}

/* --- reports -------------------------------------------------------------- */

static void handle_report(um_pyzor_service *f, um_datagrams *to,
                          um_pyzor_job *job)
{
    um_pyzor_reply r = {0};
    uint64_t ticket = 0;

    job->outcome = um_pending_full(&f->net.pending)
                       ? UM_PYZOR_NOT_STORED
                       : count_report(f, job, &ticket);
    if (job->outcome == UM_PYZOR_OK)
        um_env_count_reports(
            f->env, f->stats->service,
            job->decision.is_signed ? job->decision.account->name : NULL,
            job->datagram->from, job->request.ndigests);
    if (job->outcome == UM_PYZOR_OK &&
        ticket > um_store_committed(f->env->store))
        um_pending_append(&f->net.pending,
                          &(um_answer){.to = to,
                                       .client = *job->datagram->from,
                                       .ticket = ticket,
                                       .op = job->decision.op},
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
        send_reply(f, a->to, &a->client, a->op,
                   stored ? UM_PYZOR_OK : UM_PYZOR_NOT_STORED, NULL, &r);
        um_pending_drop(&f->net.pending);
    }
}

enum { SHORTEST = 80 }; /* bytes: the refusal has 74, a client's ping 98 */

/* --- look-ups ------------------------------------------------------------- */

/* The look-ups of a batch: count[0][i] and count[1][i] belong to job[i]. */
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
           (job->decision.op == UM_PYZOR_CHECK ||
            job->decision.op == UM_PYZOR_INFO);
}

static void query_all(const um_pyzor_service *f, lookups *l)
{
    const um_environment *env = f->env;

    um_store_digest(env->store, l->key, l->n, l->digest);
    for (unsigned i = 0; i < 2; i++)
        um_lists_fetch(env->lists, UM_LIST_PYZOR_REPORTS + i, l->digest, l->n);
    for (unsigned i = 0; i < 2; i++)
        um_lists_count(env->lists, UM_LIST_PYZOR_REPORTS + i, l->digest, l->n,
                       l->count[i]);
}

/* Returns the times for the counts that are sent. */
static um_pyzor_times times_of(const um_pyzor_service *f, const umbel_digest *d,
                               const um_pyzor_reply *r)
{
    const um_environment *env = f->env;
    um_pyzor_times t = {0};

    if (r->count)
        um_lists_times(env->lists, UM_LIST_PYZOR_REPORTS, d, &t.entered,
                       &t.updated);
    if (r->wl_count)
        um_lists_times(env->lists, UM_LIST_PYZOR_WHITELIST, d, &t.wl_entered,
                       &t.wl_updated);
    return t;
}

static void answer_lookup(um_pyzor_service *f, um_datagrams *to,
                          const lookups *l, size_t i)
{
    um_pyzor_reply r = {.body = UM_PYZOR_COUNTS};
    const um_pyzor_job *job = l->job[i];

    if (!is_never(f, job->request.digest)) {
        r.count = l->count[0][i];
        r.wl_count = l->count[1][i];
    }
    if (job->decision.op == UM_PYZOR_INFO) {
        r.body = UM_PYZOR_TIMES_AND_COUNTS;
        r.times = times_of(f, &l->digest[i], &r);
    } else {
        f->stats->hits += r.count > 0;
    }
    send_job(f, to, job, &r);
}

/* Returns true if a request is not answered: a flood may have forged senders,
 * the answers of servers would come back, and what is no request and shorter
 * than the refusal would have it sent to a forged sender. */
static bool is_silent(const um_pyzor_job *job)
{
    return job->outcome == UM_PYZOR_RATE_LIMIT ||
           job->outcome == UM_PYZOR_ANSWER ||
           (job->outcome == UM_PYZOR_BAD_VERSION &&
            job->datagram->len < SHORTEST);
}

/* Answers ping, pong, look-ups without a digest, and refused requests. */
static void answer_plain(um_pyzor_service *f, um_datagrams *to,
                         const um_pyzor_job *job)
{
    um_pyzor_reply r = {0};
    um_claim claim = claim_of(job);

    if (is_silent(job)) {
        um_service_count(f->stats, job->decision.op, job->outcome);
        um_service_log_refusal(f->stats, job->outcome, job->datagram->from,
                               &claim);
        return;
    }
    if (job->outcome == UM_PYZOR_OK && job->decision.op == UM_PYZOR_PONG &&
        job->request.ndigests) {
        r.body = UM_PYZOR_COUNTS;
        r.count = INT64_MAX;
    }
    send_job(f, to, job, &r);
}

/* --- the batch ------------------------------------------------------------ */

void um_pyzor_handle_batch(void *ctx, const um_datagram *d, size_t n)
{
    const um_protocol_socket *s = ctx;
    um_pyzor_service *f = s->owner;
    lookups l = {.n = 0};

    for (size_t i = 0; i < n; i++) {
        um_pyzor_job *job = &f->job[i];
        job->datagram = &d[i];
        judge_job(f, job);
        if (is_report(job)) {
            handle_report(f, s->datagrams, job);
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

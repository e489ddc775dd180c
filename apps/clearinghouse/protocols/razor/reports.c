/*
 * reports.c - checks, reports and revocations: section III of Yan and Cho,
 * CS-TR-973, 2006.
 *
 * There are two lists: signatures of spam, and signatures that were revoked. A
 * signature is spam if it is in the first and not in the second. Neither list
 * supports removal; a revocation lasts until its epoch expires. The verdict
 * does not depend on which list is looked up first, but the cost does. Spam
 * that was not revoked takes two look-ups in either order; ordinary mail takes
 * one if the spam list comes first, and revoked mail takes one if the other
 * does.
 *
 * A report of weight 1 adds f->unit to a count: 1 in a Bloom filter, whose
 * counters stop there, 100 in larger counters. The confidence is the count in
 * hundredths of the unit, at most 100. A revocation takes effect at one unit.
 */
#include "clearinghouse/protocols/razor/internal.h"

#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 16 }; /* one request in SAMPLE looks up both lists */

static const um_address *client_of(const um_razor_session *s)
{
    return um_stream_peer(s->stream);
}

/* --- queries -------------------------------------------------------------- */

static um_razor_op op_of(umbel_slice action)
{
    if (um_razor_is(action, "c"))
        return UM_RAZOR_OP_CHECK;
    if (um_razor_is(action, "r"))
        return UM_RAZOR_OP_REPORT;
    return um_razor_is(action, "revoke") ? UM_RAZOR_OP_REVOKE
                                         : UM_RAZOR_OP_OTHER;
}

/* Returns true if the client used another seed. Clients send the seed with
 * checks and reports, but not with revocations. */
static bool is_other_seed(const um_razor_service *f, const um_razor_query *q)
{
    umbel_slice seed = q->value[UM_RAZOR_EP4];

    return seed.data && !um_razor_is(seed, f->seed);
}

static um_razor_outcome judge_query(const um_razor_session *s,
                                    const um_razor_query *q, um_razor_op op,
                                    uint8_t digest[UM_DIGEST_BYTES])
{
    if (q->malformed)
        return UM_RAZOR_MALFORMED;
    if (op == UM_RAZOR_OP_OTHER)
        return UM_RAZOR_NO_ACTION;
    if (op != UM_RAZOR_OP_CHECK && !s->authenticated)
        return UM_RAZOR_NOT_AUTHENTICATED;
    if (!um_razor_is(q->value[UM_RAZOR_E], "4"))
        return q->value[UM_RAZOR_E].len ? UM_RAZOR_NO_ENGINE
                                        : UM_RAZOR_MALFORMED;
    if (is_other_seed(s->service, q))
        return UM_RAZOR_WRONG_SEED;
    return um_razor_decode(q->value[UM_RAZOR_S], digest) ? UM_RAZOR_OK
                                                         : UM_RAZOR_MALFORMED;
}

void um_razor_add(const um_razor_session *s, const um_razor_query *q,
                  um_razor_job *job)
{
    um_razor_item *item = &job->item[job->n];
    uint8_t digest[UM_DIGEST_BYTES] = {0};

    *item = (um_razor_item){.op = op_of(q->value[UM_RAZOR_A])};
    item->answer.is_check = item->op == UM_RAZOR_OP_CHECK;
    item->answer.outcome = judge_query(s, q, item->op, digest);
    job->key[job->n] = um_signature_print(digest, job->text[job->n]);
    job->n++;
}

/* --- checks --------------------------------------------------------------- */

/* Signatures to look up; pick[i] is the index of the item. */
typedef struct lookups {
    size_t n;
    size_t pick[UM_RAZOR_BATCH];
    umbel_digest digest[UM_RAZOR_BATCH];
    uint64_t count[UM_RAZOR_LISTS][UM_RAZOR_BATCH];
} lookups;

/* Returns true if the count in the first list does not decide the verdict. */
static bool is_open(const um_razor_service *f, unsigned first, uint64_t count)
{
    return first == UM_RAZOR_SPAM ? count > 0 : count < f->unit;
}

/* Looks up signatures in one of the lists. For revocations only the threshold
 * matters: the count is the unit, or 0. */
static void ask_list(const um_razor_service *f, unsigned which,
                     const umbel_digest *d, size_t n, uint64_t *count)
{
    bool revoked[UM_RAZOR_BATCH];

    if (which == UM_RAZOR_SPAM) {
        um_lists_count(f->env->lists, UM_LIST_RAZOR_SPAM + which, d, n, count);
        return;
    }
    um_lists_reaches(f->env->lists, UM_LIST_RAZOR_SPAM + which, d, n, f->unit,
                     revoked);
    for (size_t i = 0; i < n; i++)
        count[i] = revoked[i] ? f->unit : 0;
}

/* Looks up the signatures that the first list left open, or all of them, in the
 * other list. Returns their number. */
static size_t ask_other(const um_razor_service *f, lookups *l, unsigned first,
                        bool all)
{
    unsigned other = first == UM_RAZOR_SPAM ? UM_RAZOR_REVOKED : UM_RAZOR_SPAM;
    umbel_digest digest[UM_RAZOR_BATCH];
    uint64_t count[UM_RAZOR_BATCH];
    size_t open[UM_RAZOR_BATCH], n = 0;

    for (size_t i = 0; i < l->n; i++) {
        l->count[other][i] = 0;
        if (all || is_open(f, first, l->count[first][i])) {
            open[n] = i;
            digest[n++] = l->digest[i];
        }
    }
    ask_list(f, other, digest, n, count);
    for (size_t i = 0; i < n; i++)
        l->count[other][open[i]] = count[i];
    return n;
}

/* Adds what either order would have cost, for signatures that were looked up in
 * both lists. */
static void sample_costs(um_razor_service *f, const lookups *l)
{
    f->lookups.sampled += l->n;
    for (unsigned first = 0; first < UM_RAZOR_ORDERS; first++)
        for (size_t i = 0; i < l->n; i++)
            f->lookups.cost[first] +=
                1u + is_open(f, first, l->count[first][i]);
}

static void ask_lists(um_razor_service *f, lookups *l)
{
    unsigned first = um_razor_settings_of(f)->order;
    bool sample = f->requests++ % SAMPLE == 0;

    ask_list(f, first, l->digest, l->n, l->count[first]);
    f->lookups.signatures += l->n;
    f->lookups.done += l->n + ask_other(f, l, first, sample);
    if (sample)
        sample_costs(f, l);
}

static uint8_t confidence_of(const um_razor_service *f, const lookups *l,
                             size_t i)
{
    uint64_t spam = l->count[UM_RAZOR_SPAM][i];

    if (l->count[UM_RAZOR_REVOKED][i] >= f->unit)
        return 0;
    return (uint8_t)(spam >= f->unit ? 100 : spam * 100 / f->unit);
}

static void check_all(um_razor_service *f, um_razor_job *job)
{
    lookups l = {.n = 0};

    for (size_t i = 0; i < job->n; i++)
        if (job->item[i].op == UM_RAZOR_OP_CHECK &&
            job->item[i].answer.outcome == UM_RAZOR_OK &&
            !um_lists_welcomes(f->env->lists, job->key[i])) {
            l.pick[l.n] = i;
            l.digest[l.n++] = job->digest[i];
        }
    if (!l.n)
        return;
    ask_lists(f, &l);
    for (size_t i = 0; i < l.n; i++) {
        uint8_t confidence = confidence_of(f, &l, i);
        job->item[l.pick[i]].answer.confidence = confidence;
        f->stats->hits += confidence > 0;
    }
}

/* --- reports and revocations ---------------------------------------------- */

static unsigned list_of(um_razor_op op)
{
    return op == UM_RAZOR_OP_REVOKE ? UM_LIST_RAZOR_REVOKED
                                    : UM_LIST_RAZOR_SPAM;
}

/* Returns true if a signature counts: it is not welcome, not forgotten, and
 * with weights below 1 not one that this account has reported before. */
static bool counts(const um_razor_session *s, const um_razor_job *job, size_t i)
{
    const um_razor_service *f = s->service;
    um_reporter who = {.account = s->user, .list = list_of(job->item[i].op)};

    return !um_lists_welcomes(f->env->lists, job->key[i]) &&
           !um_forgotten(f->env->lists, who.list, &job->digest[i]) &&
           !(f->once && um_duplicates_seen(f->once, &who, &job->digest[i]));
}

static void remember(const um_razor_session *s, const um_entry *e)
{
    um_reporter who = {.account = s->user, .list = e->list};

    if (s->service->once)
        um_duplicates_add(s->service->once, &who, &e->digest);
}

static bool is_report(const um_razor_item *item)
{
    return item->answer.outcome == UM_RAZOR_OK &&
           (item->op == UM_RAZOR_OP_REPORT || item->op == UM_RAZOR_OP_REVOKE);
}

static void set_outcome(um_razor_job *job, um_razor_outcome outcome)
{
    for (size_t i = 0; i < job->n; i++)
        if (is_report(&job->item[i])) {
            job->item[i].answer.outcome = outcome;
            job->item[i].counted = false;
        }
}

/* Anybody may register, so an account is worth no more than the client's
 * network while registration is open, unless the configuration names it. */
static uint16_t reporter_of(const um_razor_session *s)
{
    const um_razor_service *f = s->service;

    if (um_razor_settings_of(f)->registration ||
        um_config_has_account(f->env->config, s->user))
        return 0;
    return um_env_reporter(f->env, client_of(s));
}

static const um_razor_outcome outcomes[] = {
    [UM_ADMIT] = UM_RAZOR_OK,
    [UM_ADMIT_SHARED] = UM_RAZOR_OK,
    [UM_REFUSE_SHARE] = UM_RAZOR_SHARE_FULL,
    [UM_REFUSE_RATE] = UM_RAZOR_NEW_LIMIT,
    [UM_REFUSE_FULL] = UM_RAZOR_LIST_FULL};

static size_t create_entries(const um_razor_session *s, um_razor_job *job,
                             uint16_t reporter, um_entry *entry)
{
    const um_razor_service *f = s->service;
    uint64_t weight = um_config_weight_percent(f->env->config, s->user,
                                               um_razor_settings_of(f)->weight);
    uint32_t amount = (uint32_t)(weight * f->unit / 100);
    size_t n = 0;

    for (size_t i = 0; amount && i < job->n; i++) {
        unsigned list = list_of(job->item[i].op);
        if (!is_report(&job->item[i]) || !counts(s, job, i))
            continue;
        job->item[i].answer.outcome = outcomes[um_lists_admits(
            f->env->lists, list, &job->digest[i], reporter)];
        if (job->item[i].answer.outcome != UM_RAZOR_OK)
            continue;
        job->item[i].counted = true;
        entry[n++] = (um_entry){.list = list,
                                .digest = job->digest[i],
                                .amount = amount,
                                .reporter = reporter};
    }
    return n;
}

void um_razor_count_reports(um_razor_session *s, um_razor_job *job)
{
    um_razor_service *f = s->service;
    const um_environment *env = f->env;
    um_entry entry[UM_RAZOR_BATCH];
    size_t reports = 0;

    for (size_t i = 0; i < job->n; i++)
        reports += is_report(&job->item[i]);
    if (!reports)
        return;
    if (!um_limits_consume(env->limits, client_of(s), UM_LIMIT_REPORTS, reports,
                           um_clock_ms(env->clock))) {
        set_outcome(job, UM_RAZOR_RATE_LIMIT);
        return;
    }
    uint16_t reporter = reporter_of(s);
    size_t n = create_entries(s, job, reporter, entry);
    if (um_store_failure(env->store) ||
        (n && um_store_add(env->store, entry, n, env->clock->now, &job->ticket,
                           NULL) != UMBEL_OK)) {
        set_outcome(job, UM_RAZOR_NOT_STORED);
        return;
    }
    for (size_t i = 0; i < n; i++)
        remember(s, &entry[i]);
    um_env_count_reports(env, f->stats->service, reporter ? NULL : s->user,
                         client_of(s), reports);
}

/* --- the request ---------------------------------------------------------- */

/* Copies a report, to be counted when its mail arrives. */
static void copy_report(um_razor_job *to, const um_razor_job *job, size_t i)
{
    to->item[to->n] = job->item[i];
    memcpy(to->text[to->n], job->text[i], sizeof to->text[0]);
    to->key[to->n] = (umbel_slice){to->text[to->n], job->key[i].len};
    to->digest[to->n++] = job->digest[i];
}

static bool needs_mail(const um_razor_item *item)
{
    return is_report(item) && item->op == UM_RAZOR_OP_REPORT;
}

/* With mails = true, asks the client for the mail before its reports count. */
static void ask_for_mail(um_razor_session *s, um_razor_job *job)
{
    bool needed = false;

    for (size_t i = 0; i < job->n; i++)
        needed |= needs_mail(&job->item[i]);
    if (!needed || !um_razor_settings_of(s->service)->mails)
        return;
    if (!s->asked && !(s->asked = malloc(sizeof *s->asked))) {
        set_outcome(job, UM_RAZOR_NOT_STORED);
        return;
    }
    s->asked->n = 0;
    s->asked->ticket = 0;
    for (size_t i = 0; i < job->n; i++)
        if (needs_mail(&job->item[i])) {
            copy_report(s->asked, job, i);
            job->item[i].answer.outcome = UM_RAZOR_WANTS_MAIL;
        }
}

void um_razor_run(um_razor_session *s, um_razor_job *job)
{
    um_razor_service *f = s->service;

    um_store_digest(f->env->store, job->key, job->n, job->digest);
    ask_for_mail(s, job);
    um_razor_count_reports(s, job);
    check_all(f, job);
}

/*
 * session.c - a connection of dccifd: envelope, mail, facts, counts, answer.
 *
 * One mail per connection. The mail is buffered until the client has sent all
 * of it, within a limit per mail and one for all mails. Then a worker
 * (mail/pool.h) reads it, its signatures are counted, and the answer is sent
 * when the store has committed them.
 *
 * A mail has up to ten keys: its exact signature in the list body, Pyzor's in
 * fuz1, eight super-shingles in fuz2.
 */
#include "clearinghouse/protocols/dccifd/internal.h"

#include "base/bytes.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/mails.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)UM_DCCIFD_SUM_BODY == (int)UM_KEY_EXACT &&
                   (int)UM_DCCIFD_SUM_FUZ1 == (int)UM_KEY_PYZOR &&
                   (int)UM_DCCIFD_SUM_FUZ2 == (int)UM_KEY_SHINGLE,
               "the order of the lists");

/* --- counting ------------------------------------------------------------- */

static uint64_t amount_of(const um_dccifd_job *job)
{
    const um_dccifd_settings *s = um_dccifd_settings_of(job->service);

    if (job->envelope.words & UM_DCCIFD_SPAM)
        return job->service->many;
    return s->count == UM_DCCIFD_PER_RECIPIENT ? job->envelope.recipients : 1;
}

/* Creates entries for the digests that may be counted; returns their number.
 * *outcome: the worst reason to leave one out. */
static size_t create_entries(const um_dccifd_job *job, const um_mail_counts *k,
                             um_entry *entry, um_dccifd_outcome *outcome)
{
    static const um_dccifd_outcome outcomes[] = {
        [UM_ADMIT] = UM_DCCIFD_OK,
        [UM_ADMIT_SHARED] = UM_DCCIFD_OK,
        [UM_REFUSE_SHARE] = UM_DCCIFD_SHARE_FULL,
        [UM_REFUSE_RATE] = UM_DCCIFD_NEW_LIMIT,
        [UM_REFUSE_FULL] = UM_DCCIFD_LIST_FULL};
    const um_environment *env = job->service->env;
    uint64_t amount = amount_of(job);
    uint16_t reporter = um_env_reporter(env, &job->client);
    size_t n = 0;

    for (size_t i = 0; i < k->keys.n; i++) {
        unsigned list = UM_LIST_BODY + k->keys.kind[i];
        if (um_forgotten(env->lists, list, &k->digest[i]))
            continue;
        um_dccifd_outcome o = outcomes[um_lists_admits(
            env->lists, list, &k->digest[i], reporter)];
        if (o == UM_DCCIFD_OK)
            entry[n++] = (um_entry){.list = list,
                                    .digest = k->digest[i],
                                    .amount = (uint32_t)amount,
                                    .reporter = reporter};
        else if (o > *outcome)
            *outcome = o;
    }
    return n;
}

/* Copies entries without those that another program of the client's host has
 * counted. */
static size_t leave_out_counted(const um_dccifd_job *job, const um_entry *entry,
                                size_t n, um_entry *out)
{
    um_dccifd_service *f = job->service;
    uint64_t now = um_clock_ms(f->env->clock);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        out[kept] = entry[i];
        if (!(job->envelope.words & UM_DCCIFD_SPAM))
            out[kept].amount =
                (uint32_t)um_same_mail_amount(f->same, job, &entry[i], now);
        kept += out[kept].amount > 0;
    }
    return kept;
}

static um_dccifd_outcome count_keys(um_dccifd_job *job, const um_mail_counts *k)
{
    um_dccifd_service *f = job->service;
    const um_environment *env = f->env;
    um_entry entry[UM_MAIL_KEYS], counted[UM_MAIL_KEYS];
    um_dccifd_outcome outcome = UM_DCCIFD_OK;
    size_t n = create_entries(job, k, entry, &outcome);
    size_t n_counted = leave_out_counted(job, entry, n, counted);
    umbel_status status =
        n_counted ? um_store_add(env->store, counted, n_counted,
                                 env->clock->now, &job->ticket, NULL)
                  : UMBEL_OK;

    if (status != UMBEL_OK)
        return status == UMBEL_E_FULL ? UM_DCCIFD_LIST_FULL
                                      : UM_DCCIFD_NOT_STORED;
    for (size_t i = 0; i < n && !(job->envelope.words & UM_DCCIFD_SPAM); i++)
        um_same_mail_record(f->same, job, &entry[i], um_clock_ms(env->clock));
    if (!n_counted)
        return outcome;
    job->reply.reported = amount_of(job);
    um_env_count_reports(env, f->stats->service, NULL, &job->client, 1);
    return outcome;
}

/* --- counts --------------------------------------------------------------- */

static void fill_reply(um_dccifd_reply *r, const um_mail_facts *facts,
                       const um_mail_counts *k)
{
    um_dccifd_count *fuz2 = &r->sum[UM_DCCIFD_SUM_FUZ2];
    um_writer w = {fuz2->checksum, fuz2->checksum + sizeof fuz2->checksum,
                   false};
    size_t i = 0;

    for (; i < k->keys.n && k->keys.kind[i] != UM_KEY_SHINGLE; i++) {
        um_dccifd_count *c = &r->sum[k->keys.kind[i]];
        const um_signature *s =
            k->keys.kind[i] == UM_KEY_EXACT ? &facts->exact : &facts->pyzor;
        c->present = true;
        c->count = k->count[i];
        memcpy(c->checksum, s->digest, sizeof c->checksum);
    }
    fuz2->present = i < k->keys.n;
    fuz2->count = um_mail_counts_of(k, UM_KEY_SHINGLE);
    um_write_u64(&w, facts->shingle[0]);
    um_write_u64(&w, facts->shingle[1]);
}

static um_dccifd_outcome count_mail(um_dccifd_job *job,
                                    const um_mail_facts *facts)
{
    const um_dccifd_envelope *e = &job->envelope;
    const um_environment *env = job->service->env;
    um_dccifd_outcome outcome = UM_DCCIFD_OK;
    um_mail_counts c;

    um_mail_counts_init(&c, env->lists, facts);
    if (um_mail_is_welcome(env->lists, facts, &c.keys, e->sender, e->client,
                           NULL)) {
        job->reply.welcome = true;
        return UM_DCCIFD_OK;
    }
    if (!um_dccifd_is_query(e))
        outcome = count_keys(job, &c);
    um_mail_counts_ask(&c, env->lists);
    fill_reply(&job->reply, facts, &c);
    return outcome;
}

/* --- memory --------------------------------------------------------------- */

/* Frees a job whose stream is closed and whose mail no worker has. */
static void free_job(um_dccifd_job *job)
{
    um_mail_in_drop(&job->mail);
    free(job->copy);
    job->service->budget.used -= job->copied;
    free(job);
}

/*
 * Buffers as much as workers read, and one byte more, which shows them that the
 * mail continues. A mail that is sent back must be complete.
 */
static um_dccifd_outcome retain_mail(um_dccifd_job *job, const uint8_t *bytes,
                                     size_t len)
{
    static const um_dccifd_outcome outcomes[] = {
        [UM_MAIL_IN_FINE] = UM_DCCIFD_OK,
        [UM_MAIL_IN_LARGE] = UM_DCCIFD_LARGE,
        [UM_MAIL_IN_BUSY] = UM_DCCIFD_BUSY};
    uint64_t largest = um_dccifd_settings_of(job->service)->largest;
    bool whole = job->envelope.words & UM_DCCIFD_BODY;
    uint64_t keep = whole ? largest : job->service->env->opened->mail.bytes + 1;

    return outcomes[um_mail_in_append(&job->mail, bytes, len, (size_t)keep,
                                      largest)];
}

/* --- answers -------------------------------------------------------------- */

static void note_answer(const um_dccifd_job *job, const char *text)
{
    um_dccifd_service *f = job->service;
    um_log *log = f->env->log;
    const char *header = strstr(text, "; ");
    char client[UM_ADDRESS_TEXT];

    if (job->envelope.words & UM_DCCIFD_LOG && header &&
        um_log_wants(log, &f->answers))
        um_log_limited(log, &f->answers, "dccifd: answered %s: %.*s",
                       um_address_print(&job->client, client),
                       (int)strcspn(header + 2, "\n"), header + 2);
}

static void send_answer(um_dccifd_job *job)
{
    char text[UM_DCCIFD_REPLY + 1];
    size_t len =
        um_dccifd_print(&job->reply, &job->envelope, job->service->host, text);

    text[len] = '\0';
    note_answer(job, text);
    um_stream_write(job->stream, (umbel_slice){text, len});
    if (job->copy && !job->reply.failed)
        um_stream_write(job->stream, (umbel_slice){job->copy, job->copied});
    /* The stream has its own buffer of what the client has not read; copied
     * still counts it. */
    free(job->copy);
    job->copy = NULL;
}

/* A milter that runs without the server has its figures from its first mail
 * on. */
static void count_milter(const um_dccifd_service *f)
{
    um_service_stats *s = um_statistics_of(f->env->statistics, f->milter);

    if (s)
        um_service_count(s, UM_MILTER_OP_MAIL, UM_MILTER_FINE);
}

/* Counts and logs the outcome, and answers unless the client is gone. */
static void finish(um_dccifd_job *job, um_dccifd_outcome outcome)
{
    um_dccifd_service *f = job->service;

    um_mail_in_drop(&job->mail);
    um_service_count(f->stats, um_dccifd_op_of(&job->envelope), outcome);
    if (job->envelope.words & UM_DCCIFD_MILTER)
        count_milter(f);
    if (um_dccifd_is_bulk(&job->reply))
        f->stats->hits++;
    if (outcome != UM_DCCIFD_OK)
        um_service_log_refusal(f->stats, outcome, &job->client, NULL);
    if (!job->stream) {
        free_job(job);
        return;
    }
    if (outcome != UM_DCCIFD_MALFORMED && outcome != UM_DCCIFD_ENVELOPE)
        send_answer(job);
    um_stream_end(job->stream, UM_END_DONE);
}

/* Answers with a temporary failure, so that the client may try again. */
static void finish_failed(um_dccifd_job *job, um_dccifd_outcome outcome)
{
    job->reply.failed = true;
    finish(job, outcome);
}

/* --- the store ------------------------------------------------------------ */

static void wait_for_store(um_dccifd_job *job)
{
    um_dccifd_service *f = job->service;

    job->waiting = true;
    if (f->last)
        f->last->next = job;
    else
        f->first = job;
    f->last = job;
}

static void finish_stored(um_dccifd_job *job, bool stored)
{
    if (stored)
        finish(job, job->outcome);
    else if (job->envelope.words & UM_DCCIFD_SPAM)
        finish_failed(job, UM_DCCIFD_NOT_STORED);
    else
        finish(job, UM_DCCIFD_NOT_STORED);
}

void um_dccifd_answer_pending(um_dccifd_service *f)
{
    const um_store *store = f->env->store;
    uint64_t committed = um_store_committed(store);
    bool failed = um_store_failure(store);

    while (f->first && (failed || f->first->ticket <= committed)) {
        um_dccifd_job *job = f->first;

        f->first = job->next;
        job->waiting = false;
        if (!f->first)
            f->last = NULL;
        finish_stored(job, job->ticket <= committed);
    }
}

/* --- the mail ------------------------------------------------------------- */

static void on_facts(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    um_dccifd_job *job = arg;
    um_dccifd_service *f = job->service;

    job->reading = false;
    f->reading--;
    if (!facts) {
        if (why == UM_MAIL_FAIL_CLOSING || why == UM_MAIL_FAIL_BUSY)
            finish_failed(job, UM_DCCIFD_BUSY);
        else
            finish(job, UM_DCCIFD_UNREADABLE);
        return;
    }
    job->outcome = count_mail(job, facts);
    if (job->outcome == UM_DCCIFD_NOT_STORED)
        finish_stored(job, false);
    else if (job->ticket > um_store_committed(f->env->store))
        wait_for_store(job);
    else
        finish(job, job->outcome);
}

/* Copies the mail for the word body; false if there is no memory. */
static bool copy_mail(um_dccifd_job *job)
{
    um_dccifd_service *f = job->service;

    if (!(job->envelope.words & UM_DCCIFD_BODY) || !job->mail.len)
        return true;
    if (f->budget.used + job->mail.len > f->budget.max)
        return false;
    job->copy = malloc(job->mail.len);
    if (!job->copy)
        return false;
    memcpy(job->copy, job->mail.bytes, job->mail.len);
    job->copied = job->mail.len;
    f->budget.used += job->mail.len;
    return true;
}

static bool is_within_limits(const um_dccifd_job *job)
{
    const um_environment *env = job->service->env;

    return um_limits_consume(env->limits, &job->client, UM_LIMIT_REQUESTS, 1,
                             um_clock_ms(env->clock)) &&
           (um_dccifd_is_query(&job->envelope) ||
            um_limits_consume(env->limits, &job->client, UM_LIMIT_REPORTS, 1,
                              um_clock_ms(env->clock)));
}

static void ask_worker(um_dccifd_job *job)
{
    um_dccifd_service *f = job->service;
    size_t len;

    if (!copy_mail(job)) {
        finish_failed(job, UM_DCCIFD_BUSY);
        return;
    }
    uint8_t *mail = um_mail_in_release(&job->mail, &len);
    job->reading = true;
    f->reading++;
    if (um_mail_pool_submit(f->env->pool, mail, len, on_facts, job) !=
        UMBEL_OK) {
        job->reading = false;
        f->reading--;
        finish_failed(job, UM_DCCIFD_BUSY);
    }
}

/* --- the stream ----------------------------------------------------------- */

static void opened(um_stream *s)
{
    um_dccifd_job *job = calloc(1, sizeof *job);

    if (!job) {
        um_stream_close(s, UM_END_MEMORY);
        return;
    }
    job->service = um_protocol_stream_owner(s);
    job->mail.budget = &job->service->budget;
    job->stream = s;
    job->client = *um_stream_peer(s);
    job->reply.many = job->service->many;
    um_stream_set_data(s, job);
}

static size_t parse_envelope(um_dccifd_job *job, const uint8_t *bytes,
                             size_t len)
{
    size_t taken = um_dccifd_parse(&job->envelope, bytes, len);
    um_dccifd_state state = job->envelope.state;

    if (state == UM_DCCIFD_TOO_LONG || state == UM_DCCIFD_NO_TEXT)
        finish(job, state == UM_DCCIFD_TOO_LONG ? UM_DCCIFD_ENVELOPE
                                                : UM_DCCIFD_MALFORMED);
    return taken;
}

/* Buffers the next bytes of a mail. A refused mail is also read to its end,
 * because clients read no answer before. */
static void append_mail(um_dccifd_job *job, const uint8_t *bytes, size_t len)
{
    if (job->outcome == UM_DCCIFD_OK)
        job->outcome = retain_mail(job, bytes, len);
    if (job->outcome != UM_DCCIFD_OK)
        um_mail_in_drop(&job->mail);
}

/* Answers a refused mail. If the client wants the mail back, an answer without
 * it would lose the mail, so that is a temporary failure. */
static void refuse_mail(um_dccifd_job *job)
{
    if (job->outcome == UM_DCCIFD_LARGE &&
        !(job->envelope.words & UM_DCCIFD_BODY))
        finish(job, job->outcome);
    else
        finish_failed(job, job->outcome);
}

static size_t consume(um_stream *s, const uint8_t *bytes, size_t len)
{
    um_dccifd_job *job = um_stream_data(s);

    if (job->envelope.state == UM_DCCIFD_MORE)
        return parse_envelope(job, bytes, len);
    append_mail(job, bytes, len);
    return len;
}

static void last(um_stream *s, const uint8_t *bytes, size_t len)
{
    um_dccifd_job *job = um_stream_data(s);

    (void)bytes;
    (void)len;
    if (job->envelope.state != UM_DCCIFD_DONE)
        finish(job, UM_DCCIFD_MALFORMED);
    else if (!is_within_limits(job))
        finish_failed(job, UM_DCCIFD_RATE_LIMIT);
    else if (job->outcome != UM_DCCIFD_OK)
        refuse_mail(job);
    else
        ask_worker(job);
}

static void closed(um_stream *s)
{
    um_dccifd_job *job = um_stream_data(s);

    if (!job)
        return;
    job->stream = NULL;
    if (!job->reading && !job->waiting)
        free_job(job);
}

const um_stream_protocol um_dccifd_protocol = {opened, consume, last, closed};

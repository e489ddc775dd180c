/*
 * session.c - a connection of a Razor2 client: greeting, requests, mails.
 */
#include "clearinghouse/protocols/razor/internal.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MAIL = 1 << 20 }; /* bytes; clients send at most 128 KiB */

/* --- signatures ----------------------------------------------------------- */

/* Prints the answers of a job, as they are if the store commits it (stored) or
 * fails. */
static size_t print_answers(const um_razor_job *job, bool batch, bool stored,
                            char out[UM_RAZOR_REPLY])
{
    size_t len = 0;

    if (batch)
        out[len++] = '-';
    for (size_t i = 0; i < job->n; i++) {
        um_razor_answer a = job->item[i].answer;
        if (job->item[i].counted && !stored)
            a.outcome = UM_RAZOR_NOT_STORED;
        len += um_razor_print(&a, out + len);
    }
    if (batch)
        len += (size_t)snprintf(out + len, UM_RAZOR_REPLY - len, ".\r\n");
    return len;
}

static void answer_job(um_razor_session *s, const um_razor_job *job)
{
    um_razor_service *f = s->service;
    uint8_t counted[UM_RAZOR_OPS] = {0};
    char text[UM_RAZOR_REPLY], failed[UM_RAZOR_REPLY];
    bool batch = job->n > 1; /* clients misread a batch of one */
    umbel_slice reply = {text, print_answers(job, batch, true, text)};

    for (size_t i = 0; i < job->n; i++)
        s->malformed |= um_razor_is_malformed(job->item[i].answer.outcome);
    for (size_t i = 0; i < job->n; i++)
        if (job->item[i].counted)
            counted[job->item[i].op]++;
        else
            um_razor_note(f, job->item[i].op, job->item[i].answer.outcome,
                          um_stream_peer(s->stream), um_razor_user_of(s));
    if (job->ticket)
        um_razor_send_committed(
            s, job->ticket, counted, reply,
            (umbel_slice){failed, print_answers(job, batch, false, failed)});
    else
        um_razor_send(s, reply);
}

static bool is_within_limits(um_razor_session *s, size_t n)
{
    const um_environment *env = s->service->env;

    return um_limits_consume(env->limits, um_stream_peer(s->stream),
                             UM_LIMIT_REQUESTS, n, um_clock_ms(env->clock));
}

static void handle_signatures(um_razor_session *s, const um_razor_request *r)
{
    um_razor_job *job = &s->service->job;
    um_razor_walk w = um_razor_begin(r);
    um_razor_query q;

    job->n = 0;
    job->ticket = 0;
    while (um_razor_next(&w, &q)) {
        if (job->n == UM_RAZOR_BATCH) {
            um_razor_refuse(s, UM_RAZOR_OP_OTHER, UM_RAZOR_TOO_MANY);
            return;
        }
        um_razor_add(s, &q, job);
    }
    if (!job->n || !is_within_limits(s, job->n)) {
        um_razor_refuse(s, UM_RAZOR_OP_OTHER,
                        job->n ? UM_RAZOR_RATE_LIMIT : UM_RAZOR_MALFORMED);
        return;
    }
    um_razor_run(s, job);
    answer_job(s, job);
}

/* --- lines ---------------------------------------------------------------- */

static void describe_state(const um_razor_service *f, um_razor_state *out,
                           const char *place[UM_MAX_ADDRESSES])
{
    const um_razor_settings *set = um_razor_settings_of(f);
    size_t n;
    const um_listen_address *own = um_addresses_all(f->env->addresses, &n);

    *out = (um_razor_state){.seed = f->seed,
                            .serial = f->serial,
                            .confidence = f->confidence,
                            .address = place};
    for (size_t i = 0; i < set->announce.n && i < UM_MAX_ADDRESSES; i++)
        place[out->naddresses++] = set->announce.item[i];
    for (size_t i = 0; !set->announce.n && i < n; i++)
        if (own[i].service == f->stats->service)
            place[out->naddresses++] = own[i].text;
}

static void tell_state(um_razor_session *s, const um_razor_query *q)
{
    const char *place[UM_MAX_ADDRESSES];
    char text[UM_RAZOR_REPLY];
    umbel_slice what = q->value[UM_RAZOR_PM];
    um_razor_state state;
    size_t len = 0;

    describe_state(s->service, &state, place);
    if (um_razor_is(what, "state"))
        len = um_razor_print_state(&state, text);
    else if (um_razor_is(what, "csl") || um_razor_is(what, "nsl"))
        len = um_razor_print_addresses(
            &state, um_razor_is(what, "csl") ? "csl" : "nsl", text);
    if (!len) {
        um_razor_refuse(s, UM_RAZOR_OP_STATE, UM_RAZOR_NO_ACTION);
        return;
    }
    um_razor_note(s->service, UM_RAZOR_OP_STATE, UM_RAZOR_OK,
                  um_stream_peer(s->stream), (umbel_slice){NULL, 0});
    um_razor_send(s, (umbel_slice){text, len});
}

typedef struct action {
    const char *name;
    um_razor_op op;
    void (*run)(um_razor_session *s, const um_razor_query *q);
} action;

static const action actions[] = {
    {"g", UM_RAZOR_OP_STATE, tell_state},
    {"ai", UM_RAZOR_OP_LOGIN, um_razor_challenge},
    {"auth", UM_RAZOR_OP_LOGIN, um_razor_authenticate},
    {"reg", UM_RAZOR_OP_REGISTER, um_razor_register},
};

static const action *find_action(const um_razor_query *q)
{
    for (size_t i = 0; i < UM_COUNT(actions); i++)
        if (um_razor_is(q->value[UM_RAZOR_A], actions[i].name))
            return &actions[i];
    return NULL;
}

static void handle_line(um_razor_session *s, const um_razor_request *r)
{
    um_razor_query q = um_razor_begin(r).first;
    const action *a = q.malformed ? NULL : find_action(&q);

    if (!q.malformed && um_razor_is(q.value[UM_RAZOR_A], "q"))
        um_stream_end(s->stream, UM_END_DONE);
    else if (!q.malformed && !q.value[UM_RAZOR_A].data &&
             q.value[UM_RAZOR_CN].data)
        ; /* the client sends its name, and reads no reply */
    else if (!a)
        handle_signatures(s, r);
    else if (is_within_limits(s, 1))
        a->run(s, &q);
    else
        um_razor_refuse(s, a->op, UM_RAZOR_RATE_LIMIT);
}

/* --- mails ---------------------------------------------------------------- */

/* Counts the reports that waited for a mail. The mail itself is not stored. */
static void finish_mail(um_razor_session *s)
{
    um_razor_job *job = s->asked;
    const um_razor_answer accepted = {.outcome = UM_RAZOR_OK};
    const um_razor_answer failed = {.outcome = UM_RAZOR_NOT_STORED};
    uint8_t counted[UM_RAZOR_OPS] = {0};
    char text[2][UM_RAZOR_REPLY];
    um_razor_outcome outcome = UM_RAZOR_OK;

    s->in_mail = false;
    if (!job || !job->n) {
        um_razor_refuse(s, UM_RAZOR_OP_REPORT,
                        s->authenticated ? UM_RAZOR_NO_SIGNATURE
                                         : UM_RAZOR_NOT_AUTHENTICATED);
        return;
    }
    um_razor_count_reports(s, job);
    for (size_t i = 0; i < job->n; i++)
        outcome =
            job->item[i].answer.outcome ? job->item[i].answer.outcome : outcome;
    counted[UM_RAZOR_OP_REPORT] = 1;
    uint64_t ticket = job->ticket;
    job->n = 0;
    if (outcome != UM_RAZOR_OK)
        um_razor_refuse(s, UM_RAZOR_OP_REPORT, outcome);
    else
        um_razor_send_committed(
            s, ticket, counted,
            (umbel_slice){text[0], um_razor_print(&accepted, text[0])},
            (umbel_slice){text[1], um_razor_print(&failed, text[1])});
}

static size_t skip_mail(um_razor_session *s, const uint8_t *bytes, size_t len)
{
    bool over;
    size_t taken = um_razor_skip_mail(bytes, len, &s->matched, &over);

    s->mail_bytes += taken;
    if (over)
        finish_mail(s);
    else if (s->mail_bytes > MAX_MAIL)
        um_stream_end(s->stream, UM_END_TOO_LONG);
    return taken;
}

static void begin_mail(um_razor_session *s)
{
    s->in_mail = true;
    s->matched = UM_RAZOR_MAIL_BEGIN;
    s->mail_bytes = 0;
}

/* --- the stream ----------------------------------------------------------- */

static void opened(um_stream *stream)
{
    um_razor_service *f = um_protocol_stream_owner(stream);
    um_razor_session *s = calloc(1, sizeof *s);
    const char *place[UM_MAX_ADDRESSES];
    char text[UM_RAZOR_REPLY];
    um_razor_state state;

    if (!s) {
        um_stream_close(stream, UM_END_MEMORY);
        return;
    }
    s->service = f;
    s->stream = stream;
    um_stream_set_data(stream, s);
    describe_state(f, &state, place);
    um_razor_send(s,
                  (umbel_slice){text, um_razor_print_greeting(&state, text)});
}

static size_t consume(um_stream *stream, const uint8_t *bytes, size_t len)
{
    um_razor_session *s = um_stream_data(stream);

    if (s->in_mail)
        return skip_mail(s, bytes, len);
    um_razor_request r = um_razor_find(bytes, len);
    s->malformed = false;
    if (r.form == UM_RAZOR_LINE)
        handle_line(s, &r);
    else if (r.form == UM_RAZOR_BATCHED)
        handle_signatures(s, &r);
    else if (r.form == UM_RAZOR_MAIL)
        begin_mail(s);
    if (r.len && (s->nmalformed = s->malformed ? s->nmalformed + 1 : 0) ==
                     UM_RAZOR_MALFORMED_MAX)
        um_stream_end(s->stream, UM_END_BAD);
    return r.len;
}

static void closed(um_stream *stream)
{
    um_razor_session *s = um_stream_data(stream);

    if (!s)
        return;
    if (s->pending)
        s->pending->session = NULL;
    free(s->asked);
    free(s);
}

const um_stream_protocol um_razor_protocol = {opened, consume, NULL, closed};
